"""The target "cpp": a C++11 class in one header; an object holds what setup made, and its calls allocate nothing."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from symbody.codegen.c.c_language import LIBM, REALS, c_frame, c_language, columns, comment
from symbody.codegen.c.c_source import c_module, definition, support
from symbody.codegen.c.header import outside
from symbody.codegen.c.project import FLAGS, compare_text, stub_text
from symbody.codegen.printer.heading import argument_lines, default_parameters, head_lines, parameter_lines
from symbody.codegen.printer.language import Language
from symbody.codegen.printer.module_layout import Argument, EmittedModule, ModulePart
from symbody.codegen.printer.test_program import Driver, driver
from symbody.codegen.target_row import Source, Target, needs

_CALLS = re.compile(rf"(?<![\w:])({'|'.join(LIBM)})(f?)\(")


def _standard(text: str) -> str:
    """Functions of the C library as those of C++; they are chosen by the type of their arguments."""
    return (
        _CALLS.sub(r"std::\1(", text).replace(" isfinite(", " std::isfinite(").replace("(isfinite(", "(std::isfinite(")
    )


def _language(precision: str) -> Language:
    base = c_language(precision)
    return replace(
        base,
        adapt=lambda text: _standard(base.adapt(text)),
        fused="std::fma({0}, {1}, {2})",
        finite="std::isfinite({0})",
        frame=c_frame(REALS[precision], "__restrict "),
    )


def emit_cpp(
    source: Source, *, precision: str = "double", certificate: str | None = None, project: bool = False
) -> dict[str, str]:
    """NAME.hpp: functions as in C in a namespace, and a class around them."""
    module, real = c_module(source.parts, _language(precision)), REALS[precision]
    heading = replace(source.heading, certificate=certificate)
    name = module.name
    bodies = ""
    for part in module.every:
        text = definition(module, part, real, "__restrict ")
        bodies += re.sub(rf"^void {part.name}\(", f"inline void {part.name}(", text, flags=re.MULTILINE) + "\n"
    bodies = bodies.replace("static void", "inline void")
    helpers = (
        _standard(support(module, bodies, real))
        .replace("static inline ", "inline ")
        .replace("static ", "inline ")
        .replace("inline const", "static const")
        .replace("*restrict ", "*__restrict ")
    )
    fields = outside(module)
    struct = "".join(f"    void (*{n})(const double *in, double *out);\n" for n in fields)
    struct = f"struct {name}_externals {{\n{struct}}};\n\n" if fields else ""
    guard = f"{name.upper()}_HPP"
    head = comment("\n".join([*head_lines(module, heading), "", *parameter_lines(module)]))
    text = (
        f"{head}#ifndef {guard}\n#define {guard}\n\n#include <cmath>\n\nnamespace {name}_detail {{\n\n{struct}{helpers}"
        f"{bodies}}} // namespace {name}_detail\n\n{_class(module, real, heading)}\n#endif // {guard}\n"
    )
    files = {f"{name}.hpp": text}
    return files | (_project(module, real) if project else {})


def _class(module: EmittedModule, real: str, heading: Any) -> str:
    """The class: setup in its constructor, one method a function, outcomes of solve blocks beside."""
    name, size = module.name, module.source.parameter_size
    detail, blocks = f"{name}_detail", max([1, *(len(p.program.blocks) for p in module.every)])
    work = max([1, *(p.work for p in module.every)])
    lines = [f"class {name} {{", "public:"]
    fields = outside(module)
    if fields:
        lines.append(f"    typedef {detail}::{name}_externals Externals;")
    if size:
        numbers = columns(map(module.language.literal, default_parameters(module)), "            ")
        lines += [
            "    /* the default parameters */",
            f"    static const {real} *defaults()",
            "    {",
            f"        static const {real} values[{size}] = {{\n{numbers}        }};",
            "        return values;",
            "    }",
            "",
        ]
    outer = "const Externals &externals" if fields else ""
    first = f"const {real} *parameters = defaults()" if size else ""
    given = ", ".join(x for x in (outer, first) if x)
    starts = ": externals_(externals), derived_(), status_(), work_()" if fields else ": derived_(), status_(), work_()"
    lines += [f"    {'explicit ' if given else ''}{name}({given}) {starts}", "    {"]
    lines += [f"        setup({'parameters' if size else ''});", "    }", ""]
    lines += ["    /* call it when parameters change */"]
    lines += [f"    bool setup({f'const {real} *parameters' if size else ''})", "    {"]
    lines += [_call(module, module.setup, detail, real, size), f"        return {_solved(module.setup)};", "    }", ""]
    for part in module.parts:
        shown = [a for a in part.arguments.values() if a.role in ("input", "output")]
        short = part.name[len(name) + 1 :] if part.name != name else "operator()"
        arguments = ", ".join(f"{'' if a.written else 'const '}{real} *{a.name}" for a in shown)
        told = comment("\n".join(["whether all solve blocks converged", *argument_lines(part, heading)])).rstrip()
        lines += ["    " + told.replace("\n", "\n    "), f"    bool {short}({arguments})", "    {"]
        lines += [_call(module, part, detail, real, size), f"        return {_solved(part)};", "    }", ""]
    lines += ["    /* outcome of a solve block of the last call: evaluations, negative: failed */"]
    lines += ["    int status(int block) const { return status_[block]; }", "", "private:"]
    lines += [f"    Externals externals_;"] if fields else []  # noqa: F541
    lines += [f"    {real} derived_[{max(len(module.derived), 1)}];", f"    int status_[{blocks}];"]
    lines += [f"    {real} work_[{work}];", "};", ""]
    return "\n".join(lines)


def _call(module: EmittedModule, part: ModulePart, detail: str, real: str, size: int) -> str:
    def given(a: Argument) -> str:
        if a.role == "externals":
            return "&externals_"
        if a.role == "parameters":
            return "parameters" if size else "work_"
        return f"{a.name}_" if a.role in ("derived", "status", "work") else a.name

    return f"        {detail}::{part.name}({', '.join(given(a) for a in part.arguments.values())});"


def _solved(part: ModulePart) -> str:
    blocks = len(part.program.blocks) if part.of("status") else 0
    return " && ".join(f"status_[{k}] >= 0" for k in range(blocks)) or "true"


def _project(module: EmittedModule, real: str) -> dict[str, str]:
    name, fields = module.name, outside(module)

    def call(part: ModulePart, names: list[str]) -> str:
        if part.setup:
            return "model.setup(parameters);" if module.source.parameter_size else "model.setup();"
        shown = [n for n, a in zip(names, part.arguments.values()) if a.role in ("input", "output")]
        method = "model" if part.name == name else f"model.{part.name[len(name) + 1 :]}"
        return f"{method}({', '.join(shown)});"

    test = driver(module, call, "compare({0}, {1}, &worst);")
    hidden = ("derived", "work") if module.source.parameter_size else ("derived", "work", "parameters")
    test = Driver({n: k for n, k in test.arrays.items() if n not in hidden}, 0, test.lines, test.bound)
    text = comment(f"test of {name}: stored values, from symbody's interpreter")
    text += f'#include "{name}.hpp"\n\n#include <cstdio>\n\n'
    stubs = [stub_text(e, short) for e, short in zip(module.source.externals, module.externals) if e.c_body is None]
    members = ", ".join(f"{n}_stub" for n in fields)
    before = [f"const {name}::Externals externals = {{{members}}};"] if fields else []
    before += [f"{name} model{'(externals)' if fields else ''};"]
    declared = [f"{real} {n}[{size}] = {{0}};" for n, size in test.arrays.items()]
    body = [*declared, "double worst = 0.0;", *before, *test.lines]
    body += [
        f"if (!(worst <= {test.bound!r})) {{",
        '    std::printf("differs from the stored values by %g\\n", worst);',
    ]
    body += ["    return 1;", "}", 'std::printf("agrees with the stored values to %g\\n", worst);', "return 0;"]
    text += "".join(stubs) + compare_text(real, "std::fabs") + "int main()\n{\n"
    text += "\n".join(f"    {line}" for line in body) + "\n}\n"
    make = (
        f"# emitted by symbody\nCXX = c++\nCXXFLAGS = -std=c++11 -O2 {FLAGS}\n\n"
        f"test_{name}: test_{name}.cpp {name}.hpp\n\t$(CXX) $(CXXFLAGS) -o $@ test_{name}.cpp\n\n"
        f"test: test_{name}\n\t./test_{name}\n\n.PHONY: test\n"
    )
    return {f"test_{name}.cpp": text, "Makefile": make}


CPP = Target(
    name="cpp",
    about="a C++11 class in one header, without allocation, for controllers",
    emit=emit_cpp,
    shown=".hpp",
    certificate=True,
    precisions=("double", "single"),
    lacks=needs("c++", "make"),
    check=(("make", "-s", "test"),),
)
