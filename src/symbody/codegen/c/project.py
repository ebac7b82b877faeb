"""What stands beside emitted C: a test program with stored values, a Makefile, and a wrapper for Python."""

from __future__ import annotations

from collections.abc import Sequence

from symbody.codegen.c.c_language import comment
from symbody.codegen.c.header import outside
from symbody.codegen.printer.module_layout import EmittedModule, ModulePart
from symbody.codegen.printer.stored_values import stub_terms
from symbody.codegen.printer.test_program import Driver, driver
from symbody.symbolic.expr.external import External

FLAGS = "-Wall -Wextra -pedantic -Werror"


def stub_text(external: External, name: str, suffix: str = "") -> str:
    """A C function that stands for an external one in tests."""
    lines = []
    for k in range(external.results):
        start, factors = stub_terms(external, k)
        terms = "".join(f" + in[{j}]*{factor!r}" for j, factor in enumerate(factors))
        lines.append(f"    out[{k}] = {start!r}{terms};")
    body = "\n".join(["    (void)in;", "    (void)out;", *lines])
    return f"static void {name}_stub(const double *in, double *out){suffix}\n{{\n{body}\n}}\n\n"


def compare_text(real: str, fabs: str = "fabs") -> str:
    """A function that keeps the largest difference; two NaN are equal."""
    return (
        f"static void compare({real} found, {real} stored, double *worst)\n{{\n"
        f"    const double d = {fabs}((double)found - (double)stored) / (1.0 + {fabs}((double)stored));\n"
        "    if (found != found && stored != stored)\n        return;\n"
        "    if (!(d <= *worst))\n        *worst = d;\n}\n\n"
    )


def main_text(test: Driver, real: str, before: Sequence[str] = (), lines: Sequence[str] | None = None) -> str:
    """main() of a test program."""
    declared = [f"{real} {name}[{size}] = {{0}};" for name, size in test.arrays.items()]
    declared += [f"int status[{test.status}] = {{0}};"] if test.status else []
    body = [*declared, "double worst = 0.0;", *before, *(test.lines if lines is None else lines)]
    body += [
        f"if (!(worst <= {test.bound!r})) {{",
        '    printf("differs from the stored values by %g\\n", worst);',
        "    return 1;",
        "}",
        'printf("agrees with the stored values to %g\\n", worst);',
        "return 0;",
    ]
    return "int main(void)\n{\n" + "\n".join(f"    {line}" for line in body) + "\n}\n"


def c_project(module: EmittedModule, real: str) -> dict[str, str]:
    """test_NAME.c, Makefile and NAME_ctypes.py."""
    name = module.name
    fields = outside(module)

    def call(part: ModulePart, names: list[str]) -> str:
        given = ["&externals" if n == "externals" else n for n in names]
        return f"{part.name}({', '.join(given)});"

    test = driver(module, call, "compare({0}, {1}, &worst);")
    head = comment(f"test of {name}: stored values, from symbody's interpreter")
    text = f'{head}#include "{name}.h"\n\n#include <math.h>\n#include <stdio.h>\n\n'
    before = []
    if fields:
        for external, short in zip(module.source.externals, module.externals):
            text += stub_text(external, short) if external.c_body is None else ""
        members = ", ".join(f"{short}_stub" for short in fields)
        before = [f"const {name}_externals externals = {{{members}}};"]
        before += [] if any("&externals" in line for line in test.lines) else ["(void)externals;"]
    text += compare_text(real) + main_text(test, real, before)
    make = (
        f"# emitted by symbody\nCC = cc\nCFLAGS = -std=c99 -O2 {FLAGS}\n\nall: lib{name}.so\n\n"
        f"lib{name}.so: {name}.c {name}.h\n\t$(CC) $(CFLAGS) -fPIC -shared -o $@ {name}.c -lm\n\n"
        f"test_{name}: test_{name}.c {name}.c {name}.h\n\t$(CC) $(CFLAGS) -o $@ test_{name}.c {name}.c -lm\n\n"
        f"test: test_{name}\n\t./test_{name}\n\n.PHONY: all test\n"
    )
    return {f"test_{name}.c": text, "Makefile": make, f"{name}_ctypes.py": ctypes_wrapper(module, real)}


def ctypes_wrapper(module: EmittedModule, real: str) -> str:
    """A Python module that calls the shared library: arrays in, arrays out."""
    name, kind = module.name, "c_double" if real == "double" else "c_float"
    lines = [
        f'"""{name} through its shared library: `make` builds lib{name}.so. Emitted by symbody."""',
        "",
        "import ctypes",
        "from pathlib import Path",
        "",
        f'_library = ctypes.CDLL(str(Path(__file__).with_name("lib{name}.so")))',
    ]
    size = module.source.parameter_size
    if size:
        lines += [f'defaults = list((ctypes.{kind} * {size}).in_dll(_library, "{name}_parameters"))']
    lines += ["", "", "def _array(values, size):", f"    array = (ctypes.{kind} * max(size, 1))()"]
    lines += ["    values = [values] if isinstance(values, (int, float)) else list(values)"]
    lines += ["    if len(values) != size:", '        raise ValueError(f"{len(values)} numbers; expected {size}")']
    lines += ["    array[: len(values)] = values", "    return array", ""]
    for part in module.every:
        given = [*part.of("parameters"), *part.of("input")]
        if not part.setup and part.of("derived"):
            given.append(part.of("derived")[0])
        results = [*part.of("output"), *(part.of("derived") if part.setup else [])]
        shown = ", ".join(f"{a.name}=defaults" if a.role == "parameters" and size else a.name for a in given)
        externals = ", externals=None" if part.of("externals") else ""
        lines += ["", f"def {part.name}({shown or '*_'}{externals}):"]
        lines += [f'    """({", ".join(f"{a.name} ({a.size})" for a in given)}) -> ' + _results(part) + '"""']
        for a in part.arguments.values():
            if a in given:
                lines.append(f"    {a.name} = _array({a.name}, {a.size})")
            elif a.role != "externals":
                element = "c_int" if a.role == "status" else kind
                lines.append(f"    {a.name} = (ctypes.{element} * {max(a.size, 1)})()")
        lines.append(f"    _library.{part.name}({', '.join(part.arguments)})")
        found = [f"list({a.name}[:{a.size}])" for a in [*results, *part.of("status")]]
        lines += [f"    return {', '.join(found)}", ""]
    return "\n".join(lines)


def _results(part: ModulePart) -> str:
    return ", ".join(
        a.name for a in [*part.of("output"), *(part.of("derived") if part.setup else []), *part.of("status")]
    )
