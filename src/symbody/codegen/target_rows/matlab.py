"""The target "matlab": function files for MATLAB and Octave."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

from symbody.codegen.printer.heading import Heading, argument_lines, default_parameters, head_lines, parameter_lines
from symbody.codegen.printer.language import FunctionText, Language
from symbody.codegen.printer.module_layout import Argument, EmittedModule, ModulePart, plan
from symbody.codegen.printer.pieces import called_helpers, stub_sums
from symbody.codegen.printer.stored_values import samples
from symbody.codegen.printer.test_program import BOUND
from symbody.codegen.printer.write import write
from symbody.codegen.target_row import Source, Target, needs
from symbody.symbolic.expr.external import Piecewise

TAKEN = frozenset((
    "break", "case", "catch", "classdef", "continue", "do", "else", "elseif", "end", "endif", "endfor", "endfunction",
    "endwhile", "enumeration", "events", "for", "function", "global", "if", "methods", "otherwise", "parfor",
    "persistent", "properties", "return", "spmd", "switch", "try", "until", "unwind_protect", "while", "abs", "sin",
    "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "exp", "log",
    "sqrt", "min", "max", "mod", "rem", "floor", "ceil", "hypot", "zeros", "ones", "numel", "double", "single", "NaN",
    "Inf", "nan", "inf", "isfinite", "isinf", "isnan", "pi", "i", "j", "e", "I", "J", "eps", "ans", "find", "disp",
))  # fmt: skip

HELPERS = {
    "table": """function value = {p}_table(x, c, at)
  % the piece i with x(i) <= at < x(i+1); the first and the last extend outward; row k of c has the power k - 1
  i = find(~(at < x(1:end - 1)), 1, 'last');
  if isempty(i)
    i = 1;
  end
  t = at - x(i);
  value = c(end, i);
  for k = size(c, 1) - 1:-1:1
    value = value*t + c(k, i);
  end
end
""",
    "far": "function r = {p}_far(guess)\n  r = 1e6*(1 + abs(guess));\nend\n",
    "next": "function r = {p}_next(x, step)\n  r = x + step;\nend\n",
}


def literal(number: Any) -> str:
    value = float(number)
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Inf" if value > 0 else "(-Inf)"
    text = repr(value)
    return f"({text})" if text.startswith("-") else text


def _table(index: int, table: Piecewise, x: str, prefix: str) -> str:
    rows = "; ".join(", ".join(map(literal, row)) for row in table.c)
    return f"{prefix}table([{', '.join(map(literal, table.x))}], [{rows}], {x})"


def _no_frame(function: FunctionText, module: EmittedModule) -> str:
    raise AssertionError("functions of MATLAB are not cut into parts")


LANGUAGE = Language(
    functions="matlab",
    taken=TAKEN,
    literal=literal,
    element=lambda name, k: f"{name}({k + 1})",
    define="{0} = {1};",
    variable="{0} = {1};",
    assign="{0} = {1};",
    remark="% {0}",
    call="{0}({1});",
    loop=("for {k} = 1:{limit}",),
    end_loop=("end",),
    stop="break;",
    when="if {0}",
    end_when="end",
    negate="~({0})",
    finite="isfinite({0})",
    small="abs({0}) <= {3}*(1 + min(abs({1}), {2}))",
    below="abs({0}) <= {1}",
    above="abs({0}) > {1}",
    nan="NaN",
    extern="{2} = externals.{0}({3});",
    table=_table,
    indent="  ",
    frame=_no_frame,
)


def _results(part: ModulePart) -> list[Argument]:
    return part.of("derived") if part.setup else part.of("output")


def _file(part: ModulePart, module: EmittedModule, heading: Heading, head: list[str]) -> str:
    """One function file with the helpers that it calls."""
    assert part.text is not None
    results = _results(part)
    given = [a for a in part.arguments.values() if a not in results and a.role not in ("status", "work")]
    status = len(part.program.blocks)
    returned = ", ".join([*(a.name for a in results), "status"])
    lines = [f"function [{returned}] = {part.name}({', '.join(a.name for a in given)})"]
    lines += [f"  % {line}".rstrip() for line in (*head, "", *argument_lines(part, heading, base=1))]
    lines += [f"  {a.name} = zeros({a.size}, 1);" for a in results] + [f"  status = zeros({status}, 1);"]
    for line in part.text.lines:
        found = re.match(rf"(\s*){module.name}_no_number\((\w+), \d+\);", line)
        lines.append(f"{found[1]}{found[2]}(:) = NaN;" if found else line)
    text = "\n".join([*lines, "end", ""])
    return text + called_helpers(module, text, HELPERS, "\n{}".format)


def emit_matlab(source: Source, *, certificate: str | None = None, project: bool = False) -> dict[str, str]:
    """One file a function: NAME_setup.m, NAME.m or its groups; NAME_parameters.m gives the defaults."""
    module = plan(source.parts, LANGUAGE, chunk=None)
    write(module, source.heading)
    heading = replace(source.heading, certificate=certificate)
    head = head_lines(module, heading)
    files = {f"{part.name}.m": _file(part, module, heading, head) for part in module.every}
    values = default_parameters(module)
    listed = "; ".join(map(literal, values))
    table = "".join(f"  % {line}\n" for line in parameter_lines(module, base=1))
    files[f"{module.name}_parameters.m"] = (
        f"function parameters = {module.name}_parameters()\n  % the default parameters; emitted by symbody\n{table}"
        f"  parameters = [{listed}];\nend\n"
    )
    return files | ({f"test_{module.name}.m": _test(module)} if project else {})


def _test(module: EmittedModule) -> str:
    """A script that compares with stored values; exits with an error where they differ."""
    found, name = samples(module), module.name
    lines = [f"% test of {name}: stored values, from symbody's interpreter", "worst = 0;", "stubs = struct();"]
    for external, short in zip(module.source.externals, module.externals):
        xs = [f"x{k}" for k in range(external.arity)]
        lines.append(f"stubs.{short} = @({', '.join(xs)}) [{', '.join(stub_sums(external))}];")

    def call(part: ModulePart, place: dict[str, str], left: list[str]) -> str:
        results = _results(part)
        given = [a for a in part.arguments.values() if a not in results and a.role not in ("status", "work")]
        texts = ["stubs" if a.role == "externals" else place.get(a.name, a.name) for a in given]
        return f"[{', '.join([*left, 'status'])}] = {part.name}({', '.join(texts)});"

    lines.append(call(module.setup, {"parameters": f"[{'; '.join(map(literal, found.parameters))}]"}, ["derived"]))
    for inputs, outputs in zip(found.inputs, found.outputs):
        for part in module.parts:
            place, left = {}, []
            for a in part.of("input"):
                assert a.port is not None
                shared = a.port.name == "workspace"
                place[a.name] = "workspace" if shared else f"[{'; '.join(map(literal, inputs[a.port.name]))}]"
            for a in part.of("output"):
                assert a.port is not None
                left.append("workspace" if a.port.name == "workspace" else f"y_{a.name}")
            lines.append(call(part, place, left))
            for a in part.of("output"):
                assert a.port is not None
                if a.port.name != "workspace" and a.size:
                    stored = "; ".join(map(literal, outputs[a.port.name]))
                    lines += [f"stored = [{stored}];", f"d = abs(y_{a.name} - stored)./(1 + abs(stored));"]
                    lines += [
                        f"d(isnan(y_{a.name}) & isnan(stored)) = 0;",
                        "d(isnan(d)) = Inf;",
                        "worst = max([worst; d]);",
                    ]
    bound = BOUND[False]
    lines += [f"if ~(worst <= {bound!r})", "  error('differs from the stored values by %g', worst);", "end"]
    lines += ["fprintf('agrees with the stored values to %g\\n', worst);", ""]
    return "\n".join(lines)


MATLAB = Target(
    name="matlab",
    about="function files for MATLAB and Octave",
    emit=emit_matlab,
    shown="_setup.m",
    certificate=True,
    lacks=needs("octave-cli"),
    check=(("octave-cli", "--quiet", "--no-init-file", "test_{name}.m"),),
)
