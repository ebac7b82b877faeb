"""The C target: a Program, or a Grouped one, as standalone C99 without allocation, globals or compiler extensions.

    NAME_setup(parameters, derived)                          once for each set of parameters
    NAME(inputs..., derived, outputs..., status)             at every call

`derived` holds what depends on parameters only, and the parameters that a call reads. `work` follows where the program
is cut into several functions, `externals` where it calls functions from outside. A Grouped program has NAME_step, which
fills the workspace, and one function a group. NAME_parameters holds the default parameters.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from symbody.basics.errors import DefinitionError
from symbody.codegen.c.c_language import (
    HELPERS,
    REALS,
    SINCOS,
    C,
    c_language,
    columns,
    comment,
    external_definition,
    kind_of,
    table_arrays,
)
from symbody.codegen.c.header import header
from symbody.codegen.printer.heading import Heading, default_parameters, head_lines
from symbody.codegen.printer.language import Language
from symbody.codegen.printer.module_layout import CHUNK, EmittedModule, ModulePart, module_name, plan
from symbody.codegen.printer.module_layout import part_names as names_of_parts
from symbody.codegen.printer.write import write
from symbody.symbolic.expr.function_row import FUNCTIONS
from symbody.symbolic.lower.groups import Grouped
from symbody.symbolic.lower.program import Program

WIDTH = 120  # of lines with several definitions


def emit_c(
    program: Program | Grouped,
    *,
    reuse_names: bool = False,
    certificate: str | None = None,
    chunk: int = CHUNK,
    precision: str = "double",
    heading: Heading | None = None,
    project: bool = False,
    batch: bool = False,
    own_trig: bool = True,
    names: str = "plain",
    single_header: bool = False,
) -> dict[str, str]:
    """Header and source, by file name; the same text for the same Program.

    reuse_names: variables shared by liveness in place of one constant a value.
    certificate: a text for the head of both files.
    chunk: the number of operations above which a function is cut into several.
    precision: double or single.
    heading: names of components and the like for the comments.
    batch: also NAME_batch, a loop over a structure of arrays.
    names: plain, staged or compact, see `printer/module_layout.py`.
    single_header: everything in one header, with bounds of what calls take of the stack.
    own_trig: sines and cosines of several angles by a function of the text, in vectors and to two units in the last
        place, not by those of the C library.
    project: also a test program with stored values, a Makefile and a wrapper for Python.
    """
    told = heading or Heading()
    module = c_module(program, c_language(precision, own_trig), reuse_names, chunk, names, told)
    head = comment("\n".join(head_lines(module, Heading(told.labels, told.units, told.origins, certificate))))
    real = REALS[precision]
    prototype = text = ""
    if batch:
        from symbody.codegen.c.batch_function import batch_function

        if isinstance(program, Grouped):
            raise DefinitionError("a loop over many states is written for a whole System; leave out groups or batch.")
        prototype, text = batch_function(program, precision, real)
    files = {
        f"{module.name}.h": header(module, told, head, real, prototype),
        f"{module.name}.c": _text(module, head, real, text),
    }
    if project:
        from symbody.codegen.c.project import c_project

        files |= c_project(module, real)
    if single_header:
        from symbody.codegen.c.single_header import single_header as joined

        files = joined(files, module)
    return files


def c_module(
    program: Program | Grouped,
    language: Language,
    reuse_names: bool = False,
    chunk: int = CHUNK,
    names: str = "plain",
    heading: Heading | None = None,
) -> EmittedModule:
    """The functions of a C module, written."""
    if chunk < 1:
        raise DefinitionError(f"chunk is {chunk}; expected a positive number of operations.")
    module = plan(program, language, chunk, reuse_names, names)
    write(module, heading)
    return module


def c_name(program: Program) -> str:
    """The identifier of a Program: prefix of all that its files define."""
    return module_name(program, C)


def part_names(grouped: Grouped) -> dict[str, str]:
    """The C function of each group."""
    return names_of_parts(grouped, C)


def definition(module: EmittedModule, part: ModulePart, real: str, restrict: str = "restrict ") -> str:
    """The text of a public function, its static parts before it."""
    assert part.text is not None
    arguments = ", ".join(f"{kind_of(a, real, module.name)} *{restrict}{a.name}" for a in part.arguments.values())
    frames = [module.language.frame(function, module) for function in part.functions]
    lines = chained(part.text.lines, real) if module.compact else part.text.lines
    return "\n".join([*frames, f"void {part.name}({arguments})", "{", *lines, "}", ""])


def chained(lines: Sequence[str], real: str) -> list[str]:
    """Neighbouring definitions as one declaration."""
    found: list[str] = []
    run: list[str] = []
    pattern = re.compile(rf"    const {real} (\w+ = [^;]*);")

    def end() -> None:
        line = f"    const {real}"
        for k, text in enumerate(run):
            if len(line) + len(text) > WIDTH:
                found.append(line)
                line = "       "
            line += f" {text}{',' if k < len(run) - 1 else ';'}"
        found.extend([line] if run else [])
        run.clear()

    for line in lines:
        match = pattern.fullmatch(line)
        if match:
            run.append(match[1])
        else:
            end()
            found.append(line)
    end()
    return found


def support(module: EmittedModule, bodies: str, real: str) -> str:
    """Only the helpers, tables and externals that the bodies call."""
    name, source, adapt = module.name, module.source, module.language.adapt
    helpers = ""
    for external, short in zip(source.externals, module.externals):
        called = f"{name}_external_{short}"
        if external.c_body is not None and f"{called}(" in bodies:
            helpers += external_definition(external, called) + "\n"
    for k, table in enumerate(source.tables):
        if f"{name}_x{k}," in bodies:
            helpers += table_arrays(k, table, f"{name}_", module.language, real) + "\n"
    for row in sorted(FUNCTIONS.values(), key=lambda row: -row.arity):
        if row.c_helper and f"{name}_{row.name}(" in bodies:
            helpers += adapt(row.c_helper.format(p=name)) + "\n"
    for helper, text in HELPERS.items():
        if f"{name}_{helper}(" in bodies:
            helpers += adapt(text.format(name)) + "\n"
    trig = ""
    for helper, text in SINCOS.items():
        if f"{name}_{helper}(" in bodies + trig:
            trig = adapt(text.format(name)) + "\n" + trig
    return helpers + trig


def _text(module: EmittedModule, head: str, real: str, batch: str = "") -> str:
    name = module.name
    bodies = "".join(f"/* ==== {part.name} ==== */\n\n{definition(module, part, real)}\n" for part in module.every)
    bodies += batch
    includes = f'#include "{name}.h"\n\n#include <math.h>\n\n'
    defaults = ""
    if module.source.parameter_size:
        numbers = columns(map(module.language.literal, default_parameters(module)))
        defaults = f"const {real} {name}_parameters[{module.source.parameter_size}] = {{\n{numbers}}};\n\n"
    helpers = f"/* ==== helpers ==== */\n\n{support(module, bodies, real)}"
    return f"{head}\n{includes}{defaults}{helpers}{bodies}".rstrip("\n") + "\n"
