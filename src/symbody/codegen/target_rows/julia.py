"""The target "julia": a module of functions that fill arrays in place, without packages.

Where a function of Julia throws (a sine of infinity, a root of a negative number), a helper gives NaN.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from symbody.codegen.printer.heading import argument_lines, default_parameters, head_lines, parameter_lines
from symbody.codegen.printer.language import FunctionText, Language
from symbody.codegen.printer.module_layout import EmittedModule, ModulePart, plan
from symbody.codegen.printer.pieces import called_helpers, called_tables, counted_table, stub_sums
from symbody.codegen.printer.test_program import driver
from symbody.codegen.printer.write import write
from symbody.codegen.target_row import Source, Target, needs

TAKEN = frozenset((
    "abstract", "as", "baremodule", "begin", "break", "catch", "const", "continue", "do", "else", "elseif", "end",
    "export", "false", "finally", "for", "function", "global", "if", "import", "in", "isa", "let", "local", "macro",
    "module", "mutable", "outer", "primitive", "quote", "return", "struct", "true", "try", "type", "using", "where",
    "while", "NaN", "Inf", "Float64", "Int", "pi", "im", "nothing", "missing", "abs", "sin", "cos", "tan", "asin",
    "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "exp", "log", "sqrt", "hypot", "floor", "ceil",
    "rem", "ifelse", "isfinite", "isnan", "min", "max", "fill", "zeros", "length", "trunc", "copysign", "clamp",
))  # fmt: skip

HELPERS = {
    "table": """function {p}_table(x, c, pieces, terms, at)
    # the piece i with x[i] <= at < x[i+1]; the first and the last extend outward
    low = 0
    high = pieces + 1
    while low < high
        middle = div(low + high, 2)
        if at < x[middle + 1]
            high = middle
        else
            low = middle + 1
        end
    end
    i = min(max(low, 1), pieces)
    t = at - x[i]
    value = c[(terms - 1)*pieces + i]
    for k in terms - 2:-1:0
        value = value*t + c[k*pieces + i]
    end
    return value
end
""",
    "far": "{p}_far(guess) = 1.0e6*(1.0 + abs(guess))\n",
    "next": "{p}_next(x, step) = x + step\n",
    "no_number!": """function {p}_no_number!(values, size)
    for k in 1:size
        values[k] = NaN
    end
end
""",
}


def literal(number: Any) -> str:
    value = float(number)
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Inf" if value > 0 else "(-Inf)"
    text = repr(value)
    return f"({text})" if text.startswith("-") else text


def _frame(function: FunctionText, module: EmittedModule, told: str = "") -> str:
    arguments = ", ".join(a.name for a in function.arguments)
    lines = [f"{told}function {function.name}!({arguments})", *function.lines, "    return nothing", "end", ""]
    return "\n".join(lines)


LANGUAGE = Language(
    functions="julia",
    taken=TAKEN,
    literal=literal,
    element=lambda name, k: f"{name}[{k + 1}]",
    define="{0} = {1}",
    variable="{0} = {1}",
    assign="{0} = {1}",
    early="local {0}::Float64",
    remark="# {0}",
    call="{0}!({1})",
    loop=("for {k} in 1:{limit}",),
    end_loop=("end",),
    stop="break",
    when="if {0}",
    end_when="end",
    negate="!({0})",
    small="abs({0}) <= {3}*(1.0 + min(abs({1}), {2}))",
    below="abs({0}) <= {1}",
    above="abs({0}) > {1}",
    nan="NaN",
    extern="{2} = externals.{0}({3})",
    table=counted_table,
    frame=_frame,
)


def _listed(values: list[float]) -> str:
    return f"Float64[{', '.join(map(literal, values))}]"


def emit_julia(source: Source, *, certificate: str | None = None, project: bool = False) -> dict[str, str]:
    """NAME.jl, a module; with project a test program."""
    module = plan(source.parts, LANGUAGE)
    write(module, source.heading)
    heading, p = replace(source.heading, certificate=certificate), module.name
    bodies = ""
    for part in module.every:
        assert part.text is not None
        bodies += "".join(_frame(function, module) + "\n" for function in part.functions)
        told = "".join(f"# {line}\n" for line in [f"{part.name}!:", *argument_lines(part, heading, base=1)])
        bodies += _frame(part.text, module, told) + "\n"
    support = "".join(
        f"const {p}_x{k} = {_listed(x)}\nconst {p}_c{k} = {_listed(c)}\n\n" for k, x, c in called_tables(module, bodies)
    )
    support += called_helpers(module, bodies, HELPERS)
    head = "".join(
        f"# {line}".rstrip() + "\n" for line in [*head_lines(module, heading), "", *parameter_lines(module, base=1)]
    )
    names = ", ".join(f"{part.name}!" for part in module.every)
    text = (
        f"{head}module {p}_module\n\nexport {p}_parameters, {names}\n\n# the default parameters\n"
        f"const {p}_parameters = {_listed(default_parameters(module))}\n\n{support}{bodies}end\n"
    )
    return {f"{p}.jl": text} | ({f"test_{p}.jl": _test(module)} if project else {})


def _test(module: EmittedModule) -> str:
    """A program that compares with stored values."""
    name = module.name

    def call(part: ModulePart, names: list[str]) -> str:
        return f"{part.name}!({', '.join(names)})"

    test = driver(module, call, "compare!(worst, {0}, {1})")
    lines = [f"# test of {name}: stored values, from symbody's interpreter", f'include("{name}.jl")']
    lines += [f"using .{name}_module", "", "function compare!(worst, found, stored)"]
    lines += [
        "    d = abs(found - stored)/(1.0 + abs(stored))",
        "    if !(isnan(found) && isnan(stored)) && !(d <= worst[1])",
    ]
    lines += ["        worst[1] = d", "    end", "end", "", "function main()", "    worst = [0.0]"]
    members = []
    for external, short in zip(module.source.externals, module.externals):
        xs = ", ".join(f"x{k}" for k in range(external.arity))
        members.append(f"{short} = ({xs}) -> [{', '.join(stub_sums(external))}]")
    lines += [f"    externals = ({', '.join(members)},)"] if members else []
    lines += [f"    {n} = zeros({size})" for n, size in test.arrays.items()]
    lines += [f"    status = zeros(Int, {test.status})"] if test.status else []
    lines += [f"    {line}" for line in test.lines]
    lines += [f"    if !(worst[1] <= {test.bound!r})", '        error("differs from the stored values by $(worst[1])")']
    lines += ["    end", '    println("agrees with the stored values to $(worst[1])")', "end", "", "main()", ""]
    return "\n".join(lines)


JULIA = Target(
    name="julia",
    about="a Julia module of functions that fill arrays in place",
    emit=emit_julia,
    shown=".jl",
    certificate=True,
    lacks=needs("julia"),
    check=(("julia", "--startup-file=no", "test_{name}.jl"),),
)
