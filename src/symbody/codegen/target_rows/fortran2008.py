"""The target "fortran2008": a module in free form, with the kind of its numbers, interfaces and intents."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from symbody.codegen.printer.heading import argument_lines, default_parameters, head_lines, parameter_lines
from symbody.codegen.printer.language import FunctionText, Language
from symbody.codegen.printer.module_layout import Argument, EmittedModule, plan
from symbody.codegen.printer.test_program import driver
from symbody.codegen.printer.write import write
from symbody.codegen.target_row import Source, Target, needs
from symbody.codegen.target_rows.fortran_text import (
    TAKEN,
    element,
    helper_functions,
    literal_with,
    marked,
    numbers,
    stub_lines,
    table_call,
    table_statements,
)

LAST = 110  # columns before a statement goes on in the next line


def _base(precision: str) -> Language:
    single = precision == "single"
    return Language(
        functions="fortran",
        taken=TAKEN,
        one_case=True,
        literal=literal_with("_wp", single),
        element=element,
        define="{0} = {1}",
        variable="{0} = {1}",
        assign="{0} = {1}",
        remark="! {0}",
        idle="if ({0}(1) <= {0}(1)) continue",
        call="call {0}({1})",
        loop=("loop{n}: do {k} = 1, {limit}",),
        end_loop=("end do loop{n}",),
        stop="exit loop{n}",
        when="if ({0}) then",
        end_when="end if",
        both=" .and. ",
        either=" .or. ",
        negate=".not. ({0})",
        finite="abs({0}) <= huge({0})",
        small="abs({0}) <= {3}*(1.0_wp + min(abs({1}), {2}))",
        below="abs({0}) <= {1}",
        above="abs({0}) > {1}",
        nan="{0}nan()",
        array=" ",
        extern="call {0}({1}, {2})",
        table=table_call,
        linked=True,
        spare=True,
        width=100,
        tolerance=4e-6 if single else 0.0,
        adapt=numbers("_wp"),
        frame=_frame,
    )


def _statement(text: str) -> list[str]:
    """A statement in free form, cut after blanks, commas, operators and parentheses."""
    lines: list[str] = []
    while len(text) > LAST:
        piece = text[:LAST]
        if piece.lstrip().startswith("!"):
            return [*lines, text]
        cut = max((m.end() for m in re.finditer(r",\s|\s|(?<=[\w)])[*/](?!\*)|\((?=\S)", piece)), default=LAST)
        lines.append(text[:cut].rstrip() + " &")
        text = "        " + text[cut:].lstrip()
    return [*lines, text]


def _intent(a: Argument, public: bool) -> str:
    if not a.written:
        return "in"
    return "out" if public and a.role == "output" else "inout"


def _subroutine(module: EmittedModule, function: FunctionText, remarks: Sequence[str], public: bool) -> str:
    out = [f"    ! {remark}".rstrip() for remark in remarks]
    arguments = ", ".join(a.name for a in function.arguments)
    head = [f"    subroutine {function.name}({arguments})"]
    for a in function.arguments:
        kind = "integer" if a.role == "status" else "real(wp)"
        head.append(f"        {kind}, intent({_intent(a, public)}) :: {a.name}({a.size})")
    locals_ = [*dict.fromkeys(function.reals), *(f"{name}({size})" for name, size in function.arrays)]
    head += [f"        real(wp) :: {', '.join(locals_[k : k + 8])}" for k in range(0, len(locals_), 8)]
    head += [f"        integer :: {', '.join(function.integers)}"] if function.integers else []
    body = [marked(f"    {line}", module.prefix) for line in function.lines]
    for line in [*head, *body, f"    end subroutine {function.name}"]:
        out += _statement(line)
    return "\n".join(out) + "\n"


def _frame(function: FunctionText, module: EmittedModule) -> str:
    remarks = [f"a part of solve {function.block}"] if function.block else []
    return _subroutine(module, function, remarks, False)


def _function(name: str, arguments: str, lines: Sequence[str], more: Sequence[str] = ()) -> str:
    plain = [re.sub(r"^(\d+)@continue$", r"\1 continue", line) for line in lines]
    given = [f"        real(wp), intent(in) :: {arguments}"] if arguments else []
    out = [f"    pure function {name}({arguments}) result(r)", *given, "        real(wp) :: r"]
    out += [*(f"        {line}" for line in (*more, *plain)), f"    end function {name}"]
    return "\n".join(s for line in out for s in _statement(line)) + "\n"


def _modern(lines: Sequence[str]) -> list[str]:
    """Labelled loops of table lookups as do ... end do."""
    out = []
    for line in lines:
        line = re.sub(r"^do \d+ ", "do ", line)
        out.append("end do" if re.fullmatch(r"\d+@continue", line) else line)
    return out


def _support(module: EmittedModule, bodies: str) -> str:
    texts, p, literal = [], module.prefix, module.language.literal
    for k, table in enumerate(module.source.tables):
        if f"{p}table{k}(" in bodies:
            flat = [c for row in table.c for c in row]
            more = ["integer :: i, k", "real(wp) :: s"]
            for array, values in (("x", table.x), ("c", flat)):
                listed = ", ".join(literal(v).strip("()") for v in values)
                more.append(f"real(wp), parameter :: {array}({len(values)}) = [{listed}]")
            texts.append(_function(f"{p}table{k}", "at", _modern(table_statements(table)), more))
    text = bodies
    if f"{p}no_number(" in bodies:
        text += f"{p}nan("
        texts.append(
            f"    subroutine {p}no_number(values, n)\n        integer, intent(in) :: n\n"
            f"        real(wp), intent(out) :: values(n)\n        values = {p}nan()\n"
            f"    end subroutine {p}no_number\n"
        )
    texts += [_function(name, arguments, lines) for name, arguments, lines in helper_functions(module, text)]
    return "\n".join(texts)


def emit_fortran2008(
    source: Source, *, precision: str = "double", certificate: str | None = None, project: bool = False
) -> dict[str, str]:
    """NAME.f90, and with project a test program, stubs of external functions and a Makefile."""
    module = plan(source.parts, _base(precision))
    write(module, source.heading)
    heading = replace(source.heading, certificate=certificate)
    name = f"{module.name}_module"
    head = [f"! {line}".rstrip() for line in (*head_lines(module, heading), "", *parameter_lines(module, base=1))]
    kind = "1.0e0" if precision == "single" else "1.0d0"
    lines = [*head, f"module {name}", "    implicit none", "    private"]
    lines += [f"    integer, parameter, public :: wp = kind({kind})"]
    lines += [f"    public :: {part.name}" for part in module.every]
    values = default_parameters(module)
    if values:
        # without a default: the largest number, so that its use is seen
        listed = ", ".join(module.language.literal(v) if v == v else "huge(1.0_wp)" for v in values)
        lines.append(f"    real(wp), parameter, public :: {module.name}_parameters({len(values)}) = [{listed}]")
    if module.externals:
        lines += ["    interface", "        ! functions from outside: pure, numbers in, numbers out"]
        for external, short in zip(module.source.externals, module.externals):
            lines += [
                f"        subroutine {short}(x, y)",
                "            import wp",
                f"            real(wp), intent(in) :: x({max(external.arity, 1)})",
                f"            real(wp), intent(out) :: y({max(external.results, 1)})",
                f"        end subroutine {short}",
            ]
        lines.append("    end interface")
    lines += ["contains", ""]
    bodies = ""
    for part in module.every:
        assert part.text is not None
        bodies += "".join(module.language.frame(function, module) + "\n" for function in part.functions)
        bodies += _subroutine(module, part.text, [f"{part.name}:", *argument_lines(part, heading, 1, 100)], True) + "\n"
    top = "\n".join(s for line in lines for s in _statement(line))
    files = {f"{module.name}.f90": f"{top}\n{bodies}{_support(module, bodies)}end module {name}\n"}
    return files | (_project(module) if project else {})


def _project(module: EmittedModule) -> dict[str, str]:
    name, language = module.name, module.language
    test = driver(
        module,
        lambda part, names: language.call.format(part.name, ", ".join(names)),
        "call compare({0}, {1})",
    )
    lines = [f"program test_{name}", f"    use {name}_module", "    implicit none", "    real(wp) :: worst"]
    lines += [f"    real(wp) :: {n}({size})" for n, size in test.arrays.items()]
    lines += [f"    integer :: status({test.status})"] if test.status else []
    lines += ["    worst = 0", *(f"    {line}" for line in test.lines)]
    lines += [
        f"    if (.not. worst <= {language.literal(test.bound)}) then",
        "        print *, 'differs from the stored values by', worst",
        "        error stop 1",
        "    end if",
        "    print *, 'agrees with the stored values to', worst",
        "contains",
        "    subroutine compare(found, stored)",
        "        real(wp), intent(in) :: found, stored",
        "        real(wp) :: d",
        "        d = abs(found - stored)/(1 + abs(stored))",
        "        if (.not. (found <= found .or. stored <= stored)) d = 0",
        "        if (.not. (d <= worst)) worst = d",
        "    end subroutine compare",
    ]
    if any("@" in line for line in lines):
        lines += [
            "    real(wp) function not_a_number() result(r)",
            "        r = 0",
            "        r = r/r",
            "    end function",
        ]
    text = "\n".join(s for line in [*lines, f"end program test_{name}"] for s in _statement(line)) + "\n"
    files = {f"test_{name}.f90": text.replace("@nan@", "not_a_number()")}
    stubs = []
    for external, short in zip(module.source.externals, module.externals):
        stubs += [
            f"subroutine {short}(x, y)",
            f"    use {name}_module, only: wp",
            "    implicit none",
            f"    real(wp), intent(in) :: x({max(external.arity, 1)})",
            f"    real(wp), intent(out) :: y({max(external.results, 1)})",
            *(f"    {line}" for line in stub_lines(external, language)),
            f"end subroutine {short}",
        ]
    more = ""
    if stubs:
        files[f"{name}_stubs.f90"] = "! stubs of the functions from outside, for the test program\n" + "\n".join(
            [*stubs, ""]
        )
        more = f" {name}_stubs.f90"
    files["Makefile"] = (
        "# emitted by symbody\nFC = gfortran\nFFLAGS = -std=f2008 -O2 -Wall -Wextra -Werror -pedantic\n\n"
        f"test_{name}: {name}.f90{more} test_{name}.f90\n\t$(FC) $(FFLAGS) -o $@ $^\n\n"
        f"test: test_{name}\n\t./test_{name}\n\n.PHONY: test\n"
    )
    return files


def _emit(source: Source, **options: Any) -> dict[str, str]:
    return emit_fortran2008(source, **options)


FORTRAN2008 = Target(
    name="fortran2008",
    about="Fortran 2008: a module with interfaces and intents",
    emit=_emit,
    shown=".f90",
    certificate=True,
    precisions=("double", "single"),
    lacks=needs("gfortran", "make"),
    check=(("make", "-s", "test"),),
)
