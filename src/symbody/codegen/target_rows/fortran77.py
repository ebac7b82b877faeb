"""The target "fortran77": fixed form, 72 columns, at most 9 continuation lines, every variable declared."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from symbody.codegen.printer.heading import Heading, argument_lines, default_parameters, head_lines, parameter_lines
from symbody.codegen.printer.language import FunctionText, Language
from symbody.codegen.printer.module_layout import Argument, EmittedModule, ModulePart, plan
from symbody.codegen.printer.test_program import driver
from symbody.codegen.printer.write import write
from symbody.codegen.target_row import Source, Target, needs
from symbody.codegen.target_rows.fortran_text import (
    TAKEN,
    called,
    element,
    helper_functions,
    literal_with,
    marked,
    numbers,
    stub_lines,
    table_call,
    table_statements,
)

LAST, FIRST = 72, 6  # columns: statements stand in 7 to 72


def _base(precision: str) -> Language:
    single = precision == "single"
    suffix = "e" if single else "d"
    one = f"1.0{suffix}0"
    return Language(
        functions="fortran",
        taken=TAKEN,
        one_case=True,
        literal=literal_with(suffix, single),
        element=element,
        define="{0} = {1}",
        variable="{0} = {1}",
        assign="{0} = {1}",
        remark="!c {0}",
        idle="if (.not. ({0}(1) .le. {0}(1))) continue",
        call="call {0}({1})",
        loop=("do {n} {k} = 1, {limit}",),
        end_loop=("{n}@continue", "{after}@continue"),
        stop="goto {after}",
        when="if ({0}) then",
        end_when="end if",
        both=" .and. ",
        either=" .or. ",
        compare="{0} {1} {2}",
        negate=".not. ({0})",
        finite=f"abs({{0}}) .le. {'3.4028235e38' if single else '1.7976931348623157d308'}",
        small=f"abs({{0}}) .le. {{3}}*({one} + min(abs({{1}}), {{2}}))",
        below="abs({0}) .le. {1}",
        above="abs({0}) .gt. {1}",
        nan="{0}nan()",
        array=" ",
        extern="call {0}({1}, {2})",
        table=table_call,
        linked=True,
        spare=True,
        indent="  ",
        width=100,
        tolerance=4e-6 if single else 0.0,
        adapt=numbers(suffix),
        frame=_frame,
    )


def _statement(text: str) -> list[str]:
    """A statement in fixed form: its label in front, cut at blanks, commas and operators."""
    text, _, remark = text.partition("!c ")
    lines = [f"c     {remark}"[:LAST]] if remark else []
    if not text.strip():
        return lines
    label, _, rest = text.strip().partition("@") if re.match(r"\s*\d+@", text) else ("", "", text.rstrip())
    room = LAST - FIRST
    first = True
    while rest:
        piece = rest[:room]
        if len(rest) > room:
            # a cut after a comma, a blank or an operator; ** and numbers stay in one piece
            cut = max(
                (m.end() for m in re.finditer(r"(?<=[\w)]),|\s|(?<![deDE*])[-+*/](?!\*)|\(", piece)), default=room
            )
            piece = rest[: cut if cut > room // 2 else room]
        lines.append((f"{label:<5} " if first else "     $") + piece.rstrip())
        rest, first = rest[len(piece) :].lstrip(), False
    return [line.rstrip() for line in lines]


def _relations(line: str) -> str:
    """Relations between integers in the words of Fortran 77."""
    for sign, word in ((" == ", " .eq. "), (" < ", " .lt. "), (" > ", " .gt. ")):
        line = line.replace(sign, word)
    return line


def _names(kind: str, names: Sequence[str]) -> list[str]:
    return [f"{kind} {', '.join(names[k : k + 6])}" for k in range(0, len(names), 6)]


def _kind(module: EmittedModule) -> str:
    return "real" if module.language.tolerance else "double precision"


def _declarations(arguments: Sequence[Argument], kind: str) -> list[str]:
    lines = []
    for a in arguments:
        lines.append(f"{'integer' if a.role == 'status' else kind} {a.name}({max(a.size, 1)})")
    return lines


def _subroutine(module: EmittedModule, function: FunctionText, remarks: Sequence[str]) -> str:
    kind = _kind(module)
    lines = [marked(_relations(line), module.prefix) for line in function.lines]
    head = f"subroutine {function.name}({', '.join(a.name for a in function.arguments)})"
    out = [f"c     {remark}"[:LAST].rstrip() for remark in remarks]
    statements = [head, *_declarations(function.arguments, kind)]
    arrays = [f"{name}({size})" for name, size in function.arrays]
    statements += _names(kind, [*dict.fromkeys(function.reals), *arrays])
    statements += _names("integer", function.integers)
    code = [line.partition("!c ")[0] for line in lines]
    helpers = called(module, code)
    statements += _names(kind, helpers)
    outside = [w for w in (f"{name}" for name in module.externals) if re.search(rf"\bcall {w}\(", "\n".join(code))]
    statements += _names("external", outside + helpers)
    for statement in [*statements, *lines, "end"]:
        out += _statement(statement)
    return "\n".join(out) + "\n"


def _frame(function: FunctionText, module: EmittedModule) -> str:
    return _subroutine(module, function, [f"a part of solve {function.block}"] if function.block else [])


def _function(name: str, arguments: str, lines: Sequence[str], more: Sequence[str], real: str) -> str:
    """A helper function: `r` of the lines is its result."""
    text = [re.sub(r"\br\b", name, line) for line in lines]
    statements = [f"{real} function {name}({arguments})"]
    statements += [f"{real} {arguments}"] if arguments else []
    return "\n".join(s for line in [*statements, *more, *text, "end"] for s in _statement(line)) + "\n"


def _support(module: EmittedModule, bodies: str) -> str:
    kind = _kind(module)
    texts = []
    for k, table in enumerate(module.source.tables):
        name = f"{module.prefix}table{k}"
        if f"{name}(" in bodies:
            flat = [c for row in table.c for c in row]
            more = [f"{kind} x({len(table.x)}), c({len(flat)}), s", "integer i, k", "save x, c"]
            for array, values in (("x", table.x), ("c", flat)):
                for start in range(0, len(values), 12):
                    some = values[start : start + 12]
                    place = f"({array}(k), k = {start + 1}, {start + len(some)})"
                    more.append(f"data {place} /{', '.join(module.language.literal(v).strip('()') for v in some)}/")
            texts.append(_function(name, "at", table_statements(table), more, kind))
    for name, arguments, lines in helper_functions(module, bodies):
        texts.append(_function(name, arguments, lines, [], kind))
    if f"{module.prefix}no_number(" in bodies:
        nan = f"{module.prefix}nan"
        lines = [
            f"subroutine {module.prefix}no_number(values, n)",
            "integer n, k",
            f"{kind} values(n), {nan}",
            f"external {nan}",
            "do 10 k = 1, n",
            f"  values(k) = {nan}()",
            "10@continue",
            "end",
        ]
        texts.append("\n".join(s for line in lines for s in _statement(line)) + "\n")
        if f"{nan}(" not in bodies:
            texts.append(_function(nan, "", ["r = 0.0", "r = r/r"], [], kind))
    return "\n".join(texts)


def emit_fortran77(
    source: Source, *, precision: str = "double", certificate: str | None = None, project: bool = False
) -> dict[str, str]:
    """NAME.f, and with project a test program, stubs of external functions and a Makefile."""
    module = plan(source.parts, _base(precision))
    write(module, source.heading)
    heading = replace(source.heading, certificate=certificate)
    head = ["c", *(f"c     {line}"[:LAST].rstrip() for line in _wrapped(head_lines(module, heading))), "c"]
    table = parameter_lines(module, base=1)
    texts = ["\n".join([*head, *(f"c     {line}"[:LAST].rstrip() for line in table), ""])]
    bodies = ""
    for part in module.every:
        assert part.text is not None
        for function in part.functions:
            bodies += module.language.frame(function, module) + "\n"
        bodies += _subroutine(module, part.text, _remarks(part, heading)) + "\n"
    defaults = _defaults(module)
    files = {f"{module.name}.f": "\n".join([*texts, defaults, bodies]) + _support(module, bodies)}
    if project:
        files |= _project(module)
    return files


def _wrapped(lines: Sequence[str]) -> list[str]:
    import textwrap

    return [piece for line in lines for piece in (textwrap.wrap(line, 64, subsequent_indent="  ") or [""])]


def _remarks(part: ModulePart, heading: Heading) -> list[str]:
    told = "what depends on parameters only" if part.setup else "at every call"
    return ["", f"{part.name}: {told}", *argument_lines(part, heading, base=1, width=62), ""]


def _defaults(module: EmittedModule) -> str:
    """A subroutine that fills in the default parameters."""
    size = module.source.parameter_size
    if not size:
        return ""
    kind, values = _kind(module), default_parameters(module)
    lines = [f"subroutine {module.name}_defaults(parameters)", f"{kind} parameters({size})"]
    texts = [marked(module.language.literal(v), module.prefix) for v in values]
    if any("nan()" in t for t in texts):
        lines += [f"{kind} {module.prefix}nan", f"external {module.prefix}nan"]
    lines += [f"parameters({k + 1}) = {text}" for k, text in enumerate(texts)]
    return "\n".join(s for line in [*lines, "end"] for s in _statement(line)) + "\n"


def _project(module: EmittedModule) -> dict[str, str]:
    """A test program with stored values, stubs, and a Makefile."""
    name, kind, language = module.name, _kind(module), module.language
    test = driver(
        module,
        lambda part, names: language.call.format(part.name, ", ".join(names)),
        "call t_compare({0}, {1}, worst)",
    )
    lines = [f"program t_{name}", f"{kind} worst"]
    lines += [f"{kind} {n}({size})" for n, size in test.arrays.items()]
    lines += [f"integer status({test.status})"] if test.status else []
    if any("@nan@" in line for line in test.lines):
        lines += [f"{kind} {module.prefix}nan", f"external {module.prefix}nan"]
    calls = ["worst = 0", *(marked(line, module.prefix) for line in test.lines)]
    after = [
        f"if (.not. (worst .le. {language.literal(test.bound)})) then",
        "  write (*, *) 'differs from the stored values by', worst",
        "  stop 1",
        "end if",
        "write (*, *) 'agrees with the stored values to', worst",
        "end",
    ]
    compare = [
        "subroutine t_compare(found, stored, worst)",
        f"{kind} found, stored, worst, d",
        f"d = abs(found - stored)/({language.literal(1)} + abs(stored))",
        "if (.not. (found .le. found) .and. .not. (stored .le. stored)) d = 0",
        "if (.not. (d .le. worst)) worst = d",
        "end",
    ]
    program = "\n".join(s for line in [*lines, *calls, *after, *compare] for s in _statement(line)) + "\n"
    files = {f"test_{name}.f": program}
    sources = [f"{name}.f"]
    stubs = ""
    for external, short in zip(module.source.externals, module.externals):
        sizes = f"x({max(external.arity, 1)}), y({max(external.results, 1)})"
        body = [f"subroutine {short}(x, y)", f"{kind} {sizes}", *stub_lines(external, language)]
        stubs += "\n".join(s for line in [*body, "end"] for s in _statement(line)) + "\n"
    if stubs:
        files[f"{name}_stubs.f"] = "c     stubs of the functions from outside, for the test program\n" + stubs
        sources.append(f"{name}_stubs.f")
    files["Makefile"] = (
        "# emitted by symbody\nFC = gfortran\nFFLAGS = -std=legacy -O2 -Wall -Wextra -Werror -fimplicit-none\n\n"
        f"test_{name}: test_{name}.f {' '.join(sources)}\n\t$(FC) $(FFLAGS) -o $@ $^\n\n"
        f"test: test_{name}\n\t./test_{name}\n\n.PHONY: test\n"
    )
    return files


def _emit(source: Source, **options: Any) -> dict[str, str]:
    return emit_fortran77(source, **options)


FORTRAN77 = Target(
    name="fortran77",
    about="Fortran 77 in fixed form: subroutines without common blocks",
    emit=_emit,
    shown=".f",
    certificate=True,
    lacks=needs("gfortran", "make"),
    check=(("make", "-s", "test"),),
    precisions=("double", "single"),
)
