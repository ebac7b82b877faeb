"""Many states in one call: a loop over a structure of arrays, which compilers turn into vector instructions.

States are taken in strips. Sines and cosines of a strip come first, in loops of their own: a compiler joins a sine
and a cosine of one argument where it sees both, and has no vector form of what it makes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from symbody.codegen.c.text import c_language, comment
from symbody.codegen.printer.plan import plan
from symbody.codegen.printer.write import write
from symbody.errors import CompileError
from symbody.lower.program import Program
from symbody.system.ports import Port

OWN = ("derived", "work", "status", "parameters")  # the same for all states
TRIG = "trig_of_strip"
STRIP = 64


def batch_function(program: Program, precision: str, real: str) -> tuple[str, str]:
    """Prototype and definition of NAME_batch: component k of state i stands at [k*n + i] of every argument."""
    if program.blocks or program.externals:
        raise CompileError(
            f"'{program.name}' has solve blocks or functions from outside; a loop over many states is written for "
            "programs without them. Call the function for each state."
        )
    language = replace(c_language(precision), element=_element)
    cut, trig = _without_trig(program)
    module = plan(cut, language, chunk=None)
    write(module)
    part = module.parts[0]
    assert part.text is not None
    texts = _arguments(program, [a.name for a in part.of("input")])
    shown = [a for a in part.arguments.values() if a.role in ("input", "derived", "output") and a.name != TRIG]
    arguments = ", ".join(f"{'' if a.written else 'const '}{real} *restrict {a.name}" for a in shown)
    head = f"void {part.name}_batch(int n, {arguments})"
    body = [f"for (int at = 0; at < n; at += {STRIP}) {{"]
    body += [f"    const int most = n - at < {STRIP} ? n - at : {STRIP};"]
    body += [f"    {real} {TRIG}[{len(trig)}][{STRIP}];"] if trig else []
    for k, v in enumerate(trig):
        called = language.adapt(f"{program.ops[v]}({{0}})").format(texts(program.args[v][0]))
        body += ["    for (int i = 0; i < most; ++i)", f"        {TRIG}[{k}][i] = {called};"]
    # results do not overlap arguments: gcc finds out by itself for short loops only
    body += ["#if defined(__GNUC__) && !defined(__clang__)", "#pragma GCC ivdep", "#endif"]
    body += ["    for (int i = 0; i < most; ++i) {"]
    body += [f"    {line}" for line in part.text.lines if line.strip() != "(void)status;"]
    body += ["    }", "}"]
    told = comment(f"{part.name}_batch: n states; component k of state i stands at [k*n + i]")
    lines = "\n".join(line if line.startswith("#") else f"    {line}" for line in body)
    return f"{told}{head.replace('*restrict ', '*')};\n", f"{head}\n{{\n{lines}\n}}\n"


def _element(name: str, k: int) -> str:
    if name in OWN:
        return f"{name}[{k}]"
    if name == TRIG:
        return f"{name}[{k}][i]"
    return f"{name}[{k}*n + at + i]" if k else f"{name}[at + i]"


def _plain(program: Program, v: int, depth: int = 3) -> bool:
    """Whether a value is an input, or a short sum of some."""
    if program.ops[v] == "input":
        return True
    return (
        depth > 0 and program.ops[v] in ("add", "sub") and all(_plain(program, a, depth - 1) for a in program.args[v])
    )


def _without_trig(program: Program) -> tuple[Program, list[int]]:
    """The Program with sines and cosines of inputs as further inputs, and these values."""
    main = program.main()
    trig = [v for v in main if program.ops[v] in ("sin", "cos") and _plain(program, program.args[v][0])]
    if not trig:
        return program, []
    size = program.input_size
    ops, args = list(program.ops), list(program.args)
    for k, v in enumerate(trig):
        ops[v], args[v] = "input", (size + k,)
    gone = set(trig)
    ports = (*program.inputs, Port(TRIG, (len(trig),), size, "state"))
    step, call = ([v for v in run if v not in gone] for run in (program.step, program.call))
    return replace(program, inputs=ports, ops=ops, args=args, step=step, call=call), trig


def _arguments(program: Program, names: list[str]) -> Callable[[int], str]:
    """How an argument of a sine is written."""
    place: dict[int, str] = {}
    for name, port in zip(names, program.inputs):
        place |= {port.start + k: _element(name, k) for k in range(port.size)}

    def text(v: int) -> str:
        if program.ops[v] == "input":
            return place[program.args[v][0]]
        a, b = program.args[v]
        right = text(b) if program.ops[b] == "input" else f"({text(b)})"
        return f"{text(a)} {'+' if program.ops[v] == 'add' else '-'} {right}"

    return text
