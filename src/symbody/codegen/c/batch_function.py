"""Many states in one call: one loop over a structure of arrays, which compilers turn into vector instructions.

Sines and cosines of angles that come from inputs are written into the loop (`SINCOS` in `c_language.py`): library
functions would keep it from being one of vectors. States whose angles are too large are computed again, one by one.
"""

from __future__ import annotations

from dataclasses import replace

from symbody.basics.errors import CompileError
from symbody.codegen.c.c_language import c_language, comment
from symbody.codegen.printer.module_layout import ModulePart, plan
from symbody.codegen.printer.write import write
from symbody.symbolic.lower.program import Program

SHARED_NAMES = ("derived", "work", "status", "parameters", "sn", "cs")  # not one for each state


def batch_function(program: Program, precision: str, real: str) -> tuple[str, str]:
    """Prototype and definition of NAME_batch: component k of state i stands at [k*n + i] of every argument."""
    if program.blocks or program.externals:
        raise CompileError(
            f"'{program.name}' has solve blocks or functions from outside; a loop over many states is written for "
            "programs without them. Call the function for each state."
        )
    base = c_language(precision)
    language = replace(base, element=_element, few_angles=1, taken=base.taken | {"n", "i", "k", "far"})
    if language.angles:
        angles = (f"{real} sn[{{n}}], cs[{{n}}];", "@far |= {p}turn({angle}, sn + {k}, cs + {k});")
        language = replace(language, angles=angles)
    module = plan(program, language, chunk=None)
    write(module)
    part = module.parts[0]
    assert part.text is not None
    shown = [a for a in part.arguments.values() if a.role in ("input", "derived", "output")]
    arguments = ", ".join(f"{'' if a.written else 'const '}{real} *restrict {a.name}" for a in shown)
    head = f"void {part.name}_batch(int n, {arguments})"
    body = ["int far = 0;"] if part.angles else []
    # results do not overlap arguments: gcc finds out by itself for short loops only
    body += ["#if defined(__GNUC__) && !defined(__clang__)", "#pragma GCC ivdep", "#endif"]
    body += ["for (int i = 0; i < n; ++i) {"]
    body += [line for line in part.text.lines if line.strip() not in ("(void)status;", "(void)derived;")]
    body += ["}", *(_again(part, real) if part.angles else [])]
    unused = "    (void)derived;\n" if "    (void)derived;" in part.text.lines and not part.angles else ""
    told = comment(f"{part.name}_batch: n states; component k of state i stands at [k*n + i]")
    lines = "\n".join(line if line.startswith("#") else f"    {line}" for line in body)
    return f"{told}{head.replace('*restrict ', '*')};\n", f"{head}\n{{\n{lines}\n{unused}}}\n"


def _element(name: str, k: int) -> str:
    if name in SHARED_NAMES:
        return f"{name}[{k}]"
    return f"{name}[{k}*n + i]" if k else f"{name}[i]"


def _again(part: ModulePart, real: str) -> list[str]:
    """Statements that compute states with large angles once more, by the function of one state."""
    inputs, outputs = part.of("input"), part.of("output")
    small = [f"fabs({angle}) < 1e5" for angle in part.angles]
    lines = ["for (int i = 0; far && i < n; ++i) {"]
    lines += [f"    {real} {a.name}_i[{max(a.size, 1)}];" for a in (*inputs, *outputs)]
    lines += ["    int status[1];"] if part.of("status") else []
    joined = "\n            && ".join(small)
    lines += [f"    if ({joined})", "        continue;"]
    for a in inputs:
        lines += [f"    for (int k = 0; k < {a.size}; ++k)", f"        {a.name}_i[k] = {a.name}[k*n + i];"]
    given = [f"{a.name}_i" if a.role in ("input", "output") else a.name for a in part.arguments.values()]
    lines += [f"    {part.name}({', '.join(given)});"]
    for a in outputs:
        lines += [f"    for (int k = 0; k < {a.size}; ++k)", f"        {a.name}[k*n + i] = {a.name}_i[k];"]
    return [*lines, "}"]
