"""The target "maple": procedures in the language of Maple, which fill Vectors in place.

Numbers are floats: set Digits to 16 or more. Outside of the real domain Maple goes on with complex numbers, where other
targets give NaN.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

from symbody.codegen.printer.heading import argument_lines, default_parameters, head_lines, parameter_lines
from symbody.codegen.printer.language import FunctionText, Language
from symbody.codegen.printer.module_layout import EmittedModule, ModulePart, plan
from symbody.codegen.printer.pieces import called_helpers, called_tables, counted_table, stub_sums
from symbody.codegen.printer.test_program import driver
from symbody.codegen.printer.write import write
from symbody.codegen.target_row import Source, Target, needs

# words of the language, and names that it protects
TAKEN = frozenset((
    "and", "assuming", "break", "by", "catch", "description", "do", "done", "elif", "else", "end", "error", "export",
    "fi", "finally", "for", "from", "global", "if", "implies", "in", "intersect", "local", "minus", "mod", "module",
    "next", "not", "od", "option", "options", "or", "proc", "quit", "read", "return", "save", "stop", "subset", "then",
    "to", "try", "union", "use", "uses", "while", "xor", "D", "I", "O", "Pi", "gamma", "Gamma", "Psi", "Zeta", "Beta",
    "Chi", "Shi", "Si", "Ci", "Ei", "Li", "abs", "sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh",
    "tanh", "arcsinh", "arccosh", "arctanh", "exp", "ln", "log", "sqrt", "floor", "ceil", "min", "max", "sign",
    "signum", "infinity", "undefined", "Float", "Digits", "Vector", "true", "false", "evalb", "NULL", "args", "nargs",
    "procname", "norm", "trace", "solve", "series", "order", "type", "name", "float", "list", "set", "table",
    "array", "Array",
))  # fmt: skip

HELPERS = {
    "table": """{p}_table := proc(x, c, pieces, terms, at)
  # the piece i with x[i] <= at < x[i+1]; the first and the last extend outward
  local i, k, t, value;
  i := 1;
  for k from 2 to pieces do
    if not (at < x[k]) then
      i := k;
    end if;
  end do;
  t := at - x[i];
  value := c[(terms - 1)*pieces + i];
  for k from terms - 2 by -1 to 0 do
    value := value*t + c[k*pieces + i];
  end do;
  return value;
end proc:
""",
    "far": "{p}_far := proc(guess) return 1.0e6*(1.0 + abs(guess)); end proc:\n",
    "next": "{p}_next := proc(x, step) return x + step; end proc:\n",
    "no_number": """{p}_no_number := proc(values, size)
  local k;
  for k from 1 to size do
    values[k] := Float(undefined);
  end do;
  return NULL;
end proc:
""",
}


def literal(number: Any) -> str:
    value = float(number)
    if math.isnan(value):
        return "Float(undefined)"
    if math.isinf(value):
        return "Float(infinity)" if value > 0 else "(-Float(infinity))"
    text = repr(value)
    return f"({text})" if text.startswith("-") else text


def _frame(function: FunctionText, module: EmittedModule, told: str = "") -> str:
    given = [a.name for a in function.arguments]
    made = dict.fromkeys(re.findall(r"^\s*(\w+) :=|^\s*for (\w+) from", "\n".join(function.lines), re.MULTILINE))
    local = [n for pair in made for n in pair if n and n not in given]
    lines = [f"{told}{function.name} := proc({', '.join(given)})"]
    lines += [f"  local {', '.join(local)};"] if local else []
    return "\n".join([*lines, *function.lines, "  return NULL;", "end proc:", ""])


LANGUAGE = Language(
    functions="maple",
    taken=TAKEN,
    literal=literal,
    element=lambda name, k: f"{name}[{k + 1}]",
    define="{0} := {1};",
    variable="{0} := {1};",
    assign="{0} := {1};",
    remark="# {0}",
    loop=("for {k} from 1 to {limit} do",),
    end_loop=("end do;",),
    stop="break;",
    when="if {0} then",
    end_when="end if;",
    both=" and ",
    either=" or ",
    negate="not ({0})",
    finite="abs({0}) <= 1.7976931348623157e308",
    small="abs({0}) <= {3}*(1.0 + min(abs({1}), {2}))",
    below="abs({0}) <= {1}",
    above="abs({0}) > {1}",
    nan="Float(undefined)",
    extern='{2} := externals["{0}"]({3});',
    table=counted_table,
    indent="  ",
    frame=_frame,
)


def _listed(values: list[float]) -> str:
    return f"[{', '.join(map(literal, values))}]"


def emit_maple(source: Source, *, certificate: str | None = None, project: bool = False) -> dict[str, str]:
    """NAME.mpl; with project a test program."""
    module = plan(source.parts, LANGUAGE)
    write(module, source.heading)
    heading, p = replace(source.heading, certificate=certificate), module.name
    bodies = ""
    for part in module.every:
        assert part.text is not None
        bodies += "".join(_frame(function, module) + "\n" for function in part.functions)
        told = "".join(f"# {line}\n" for line in [f"{part.name}:", *argument_lines(part, heading, base=1)])
        bodies += _frame(part.text, module, told).replace(" == ", " = ") + "\n"
    support = "".join(
        f"{p}_x{k} := {_listed(x)}:\n{p}_c{k} := {_listed(c)}:\n\n" for k, x, c in called_tables(module, bodies)
    )
    support += called_helpers(module, bodies, HELPERS)
    head = "".join(
        f"# {line}".rstrip() + "\n" for line in [*head_lines(module, heading), "", *parameter_lines(module, base=1)]
    )
    defaults = f"# the default parameters\n{p}_parameters := {_listed(default_parameters(module))}:\n"
    text = f"{head}\n{defaults}\n{support}{bodies}".rstrip("\n") + "\n"
    return {f"{p}.mpl": text} | ({f"test_{p}.mpl": _test(module)} if project else {})


def _test(module: EmittedModule) -> str:
    """A program that compares with stored values."""
    name = module.name

    def call(part: ModulePart, names: list[str]) -> str:
        return f"{part.name}({', '.join(names)});"

    test = driver(module, call, "compare({0}, {1});")
    lines = [f"# test of {name}: stored values, from symbody's interpreter", "Digits := 18:", f'read "{name}.mpl":']
    lines += ["worst := 0.0:", "", "compare := proc(found, stored)", "  global worst;", "  local d;"]
    lines += ["  d := abs(found - stored)/(1.0 + abs(stored));"]
    lines += [
        "  if not (type(found, undefined) and type(stored, undefined)) and not (d <= worst) then",
        "    worst := d;",
        "  end if;",
    ]
    lines += ["  return NULL;", "end proc:", ""]
    lines += ["externals := table():"] if module.externals else []
    for external, short in zip(module.source.externals, module.externals):
        xs = ", ".join(f"x{k}" for k in range(external.arity))
        lines.append(f'externals["{short}"] := proc({xs}) return [{", ".join(stub_sums(external))}]; end proc:')
    lines += [f"{n} := Vector({size}):" for n, size in test.arrays.items()]
    lines += [f"status := Vector({test.status}):"] if test.status else []
    lines += [line.removesuffix(";") + ":" for line in test.lines]
    lines += [
        f"if not (worst <= {test.bound!r}) then",
        '  error "differs from the stored values by %1", worst;',
        "end if:",
    ]
    lines += ['printf("agrees with the stored values to %g\\n", worst):', ""]
    return "\n".join(lines)


MAPLE = Target(
    name="maple",
    about="procedures in the language of Maple",
    emit=emit_maple,
    shown=".mpl",
    certificate=True,
    lacks=needs("maple"),
    check=(("maple", "-q", "test_{name}.mpl"),),
)
