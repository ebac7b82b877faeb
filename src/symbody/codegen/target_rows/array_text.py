"""Modules of Python over arrays: what the targets python, jax, torch and casadi have in common.

A function returns its results and the outcomes of its solve blocks; nothing is assigned in place, so that arrays may be
numbers, batches (one array a component), tracers or symbols.
"""

from __future__ import annotations

import keyword
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from symbody.codegen.printer.heading import argument_lines, default_parameters, head_lines, parameter_lines
from symbody.codegen.printer.language import FunctionText, Language
from symbody.codegen.printer.module_layout import EmittedModule, ModulePart, plan
from symbody.codegen.printer.nested import NestedWriter
from symbody.codegen.printer.pieces import stub_sums
from symbody.codegen.printer.stored_values import samples
from symbody.codegen.printer.test_program import BOUND
from symbody.codegen.printer.write import write
from symbody.codegen.target_row import Source
from symbody.symbolic.expr.external import Piecewise
from symbody.symbolic.expr.function_row import FUNCTIONS

TAKEN = frozenset((
    *keyword.kwlist, *keyword.softkwlist, "abs", "max", "min", "np", "jnp", "jax", "torch", "ca", "math", "numba",
    "results", "failed", "list", "tuple", "range", "len", "float", "int", "sum", "zip", "print", "parameter_defaults",
))  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Flavour:
    """What tells one library of arrays from another.

    module      how its functions are called: np, jnp, torch, ca
    imports     lines at the head
    newton      text of the helpers {p}_newton, {p}_checked, {p}_kept
    table       text of the helper {p}_table(x, c, at), of lists of numbers
    stack       elements -> one array, {0} a list
    read        an argument -> something to index, {0} its name, {1} its size
    number      a result in the test program -> a float
    helpers     functions {p}_<name> beside those of the rows of functions, written where they are called
    """

    module: str
    imports: tuple[str, ...]
    newton: str
    table: str
    stack: str
    read: str = ""
    number: str = "float({0})"
    adapt: Callable[[str], str] = str
    failed: str = "{m}.where({0}, {m}.nan, {1})"
    status: str = "[{0}]"
    array: str = "{0}"
    helpers: Mapping[str, str] = field(default_factory=dict)


def literal(number: Any) -> str:
    value = float(number)
    if math.isnan(value):
        return "math.nan"
    if math.isinf(value):
        return "math.inf" if value > 0 else "(-math.inf)"
    text = repr(value)
    return f"({text})" if text.startswith("-") else text


def _table(index: int, table: Piecewise, x: str, prefix: str) -> str:
    return f"{prefix}table({prefix}x{index}, {prefix}c{index}, {x})"


def _no_frame(function: FunctionText, module: EmittedModule) -> str:
    raise AssertionError("array languages are not cut into parts")


def array_language(flavour: Flavour, single: bool = False) -> Language:
    return Language(
        functions="array",
        taken=TAKEN,
        literal=literal,
        element=lambda name, k: f"{name}_{k}" if name == "results" else f"{name}[{k}]",
        define="{0} = {1}",
        variable="{0} = {1}",
        assign="{0} = {1}",
        remark="# {0}",
        extern="{2} = externals.{0}({3})",
        table=_table,
        writer=NestedWriter,
        tolerance=4e-6 if single else 0.0,
        adapt=lambda text: flavour.adapt(text.replace("{m}", flavour.module)),
        frame=_no_frame,
    )


def _results(part: ModulePart) -> dict[str, int]:
    """Arrays that a function returns, with their sizes."""
    return {a.name: a.size for a in (part.of("derived") if part.setup else part.of("output"))}


def _function(part: ModulePart, module: EmittedModule, flavour: Flavour, told: list[str]) -> str:
    assert part.text is not None
    results = _results(part)
    given = [a for a in part.arguments.values() if a.name not in results and a.role != "status"]
    lines = [f"def {part.name}({', '.join(a.name for a in given)}):"]
    lines += [f'    """{told[0]}', "", *(f"    {line}" for line in told[1:]), '    """']
    for a in given:
        if flavour.read and a.role != "externals":
            lines.append("    " + flavour.read.format(a.name, a.size, p=module.name))
    lines += [f"    {name} = [0.0]*{size}" for name, size in results.items() if size]
    lines += part.text.lines
    blocks = [b for v in part.order if part.program.ops[v] == "solve" for b in _all_blocks(part, v)]
    if blocks:
        tests = " + ".join(f"1*(status{b} < 0)" for b in blocks)
        lines.append(f"    failed = {tests} > 0")
        for name, size in results.items():
            one = flavour.failed.replace("{m}", flavour.module).format("failed", "v", p=module.name)
            lines += [f"    {name} = [{one} for v in {name}]"] if size else []
    stacks = [flavour.stack.format(name if size else "[]", size, p=module.name) for name, size in results.items()]
    count = len(part.program.blocks)
    listed = ", ".join(f"status{b}" if b in blocks else "0" for b in range(count))
    lines.append(f"    return {', '.join([*stacks, flavour.status.format(listed)])}")
    return "\n".join(lines) + "\n"


def _all_blocks(part: ModulePart, v: int) -> list[int]:
    program, index = part.program, part.program.args[v][0]
    found = [index]
    for w in program.blocks[index].body:
        if program.ops[w] == "solve":
            found += _all_blocks(part, w)
    return found


def emit_arrays(
    source: Source, flavour: Flavour, certificate: str | None, project: bool, precision: str = "double", test: str = ""
) -> dict[str, str]:
    """NAME.py, and with project test_NAME.py."""
    single = precision == "single"
    module = plan(source.parts, array_language(flavour, single), chunk=None)
    write(module, source.heading)
    heading, name, p = replace(source.heading, certificate=certificate), module.name, module.name
    bodies = ""
    for part in module.every:
        told = [f"{part.name}: {'what depends on parameters only' if part.setup else 'at every call'}."]
        bodies += "\n\n" + _function(part, module, flavour, [*told, *argument_lines(part, heading)])
    support = ""
    for k, table in enumerate(module.source.tables):
        if f"{p}_x{k}," in bodies:
            listed = ", ".join(f"[{', '.join(map(literal, row))}]" for row in table.c)
            support += f"{p}_x{k} = [{', '.join(map(literal, table.x))}]\n{p}_c{k} = [{listed}]\n"
    for row in FUNCTIONS.values():
        text = row.helper_in("array")
        if text and f"{p}_{row.name}(" in bodies:
            support += "\n\n" + module.language.adapt(text).replace("{p}", p)
    if f"{p}_table(" in bodies:
        support += "\n\n" + flavour.table.replace("{p}", p).replace("{m}", flavour.module)
    if f"{p}_newton(" in bodies or f"{p}_checked(" in bodies:
        support += "\n\n" + flavour.newton.replace("{p}", p).replace("{m}", flavour.module)
    for called, text in flavour.helpers.items():
        if re.search(rf"\b{p}_{called}\b", bodies + support):
            support += "\n\n" + text.replace("{p}", p)
    imports = [i for i in flavour.imports if i != "import math" or "math." in bodies + support + "math."]
    head = "\n".join(line.rstrip() for line in [*head_lines(module, heading), "", *parameter_lines(module)])
    defaults = f"parameter_defaults = [{', '.join(map(literal, default_parameters(module)))}]\n"
    head = head.rstrip().replace("\\", "/").replace('"""', "'''")
    text = f'"""{head}\n"""\n\n' + "\n".join(imports) + f"\n\n{defaults}{support}{bodies}"
    files = {f"{name}.py": text}
    if project:
        files[f"test_{name}.py"] = _test(module, flavour, test)
    return files


def _test(module: EmittedModule, flavour: Flavour, setting: str) -> str:
    """A program that compares with stored values."""
    found, name = samples(module), module.name
    bound = BOUND[bool(module.language.tolerance)]
    lines = [
        f'"""Test of {name}: stored values, from symbody\'s interpreter."""',
        "",
        "import math",
        "import types",
        "",
    ]
    lines += [setting, ""] if setting else []
    lines += [f"import {name} as model", "", "worst = 0.0", "", "", "def compare(found, stored):", "    global worst"]
    lines += ["    for a, b in zip(found, stored, strict=True):", f"        a = {flavour.number.format('a')}"]
    lines += ["        if math.isnan(a) and math.isnan(b):", "            continue"]
    lines += ["        d = abs(a - b)/(1.0 + abs(b))", "        if not d <= worst:", "            worst = d", ""]
    members = []
    for external, short in zip(module.source.externals, module.externals):
        xs = [f"x{k}" for k in range(external.arity)]
        members.append(f"    {short}=lambda {', '.join(xs)}: ({', '.join(stub_sums(external))},),")
    lines += ["", "externals = types.SimpleNamespace(", *members, ")"] if members else []

    def call(part: ModulePart, place: dict[str, str]) -> str:
        results = _results(part)
        given = [a for a in part.arguments.values() if a.name not in results and a.role != "status"]
        texts = []
        for a in given:
            text = place.get(a.name, a.name)
            texts.append(flavour.array.format(text) if text not in ("derived", "externals", "workspace") else text)
        return f"model.{part.name}({', '.join(texts)})"

    parameters = f"[{', '.join(map(literal, found.parameters))}]"
    lines.append(f"derived, _ = {call(module.setup, {'parameters': parameters})}")
    for inputs, outputs in zip(found.inputs, found.outputs):
        for part in module.parts:
            place = {}
            for a in part.of("input"):
                assert a.port is not None
                shared = a.port.name == "workspace"
                place[a.name] = "workspace" if shared else f"[{', '.join(map(literal, inputs[a.port.name]))}]"
            names = []
            for a in part.of("output"):
                assert a.port is not None
                names.append("workspace" if a.port.name == "workspace" else f"y_{a.name}")
            lines.append(f"{', '.join([*names, '_'])} = {call(part, place)}")
            for a in part.of("output"):
                assert a.port is not None
                if a.port.name != "workspace":
                    stored = ", ".join(map(literal, outputs[a.port.name]))
                    lines.append(f"compare({_listed(flavour, f'y_{a.name}')}, [{stored}])")
    lines += [f"if not worst <= {bound!r}:", '    raise SystemExit(f"differs from the stored values by {worst}")']
    lines += ['print(f"agrees with the stored values to {worst}")', ""]
    return "\n".join(lines)


def _listed(flavour: Flavour, name: str) -> str:
    return f"{name}.elements()" if flavour.module == "ca" else name
