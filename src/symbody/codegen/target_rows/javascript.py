"""The target "javascript": an ES module over typed arrays, without imports, and its types for TypeScript."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

from symbody.codegen.printer.heading import argument_lines, default_parameters, head_lines, parameter_lines
from symbody.codegen.printer.language import FunctionText, Language
from symbody.codegen.printer.module_layout import Argument, EmittedModule, ModulePart, plan
from symbody.codegen.printer.pieces import called_helpers, called_tables, counted_table, stub_sums
from symbody.codegen.printer.test_program import driver
from symbody.codegen.printer.write import write
from symbody.codegen.target_row import Source, Target, needs

TAKEN = frozenset((
    "abstract", "arguments", "await", "boolean", "break", "byte", "case", "catch", "char", "class", "const", "continue",
    "debugger", "default", "delete", "do", "double", "else", "enum", "eval", "export", "extends", "false", "final",
    "finally", "float", "for", "function", "goto", "if", "implements", "import", "in", "instanceof", "int", "interface",
    "let", "long", "native", "new", "null", "package", "private", "protected", "public", "return", "short", "static",
    "super", "switch", "synchronized", "this", "throw", "throws", "transient", "true", "try", "typeof", "undefined",
    "var", "void", "volatile", "while", "with", "yield", "Math", "NaN", "Infinity", "Number", "Object", "Array",
    "Float64Array", "Int32Array", "async", "of", "globalThis",
))  # fmt: skip

HELPERS = {
    "table": """function {p}_table(x, c, pieces, terms, at) {
  // the piece i with x[i] <= at < x[i+1]; the first and the last extend outward
  let low = 0;
  let high = pieces + 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (at < x[middle]) high = middle;
    else low = middle + 1;
  }
  const i = Math.min(Math.max(low - 1, 0), pieces - 1);
  const t = at - x[i];
  let value = c[(terms - 1) * pieces + i];
  for (let k = terms - 2; k >= 0; --k) value = value * t + c[k * pieces + i];
  return value;
}
""",
    "far": "function {p}_far(guess) {{\n  return 1e6 * (1 + Math.abs(guess));\n}}\n",
    "next": "function {p}_next(x, step) {{\n  return x + step;\n}}\n",
    "small": "function {p}_small(step, x, far, tolerance) {{\n"
    "  return Math.abs(step) <= tolerance * (1 + Math.min(Math.abs(x), far));\n}}\n",
    "below": "function {p}_below(value, limit) {{\n  return Math.abs(value) <= limit;\n}}\n",
    "above": "function {p}_above(value, limit) {{\n  return Math.abs(value) > limit;\n}}\n",
    "no_number": "function {p}_no_number(values, size) {{\n  values.fill(NaN, 0, size);\n}}\n",
}


def literal(number: Any) -> str:
    value = float(number)
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "(-Infinity)"
    text = repr(value)
    return f"({text})" if text.startswith("-") else text


def _frame(function: FunctionText, module: EmittedModule) -> str:
    arguments = ", ".join(a.name for a in function.arguments)
    return f"function {function.name}({arguments}) {{\n" + "\n".join(function.lines) + "\n}\n"


LANGUAGE = Language(
    functions="javascript",
    taken=TAKEN,
    literal=literal,
    define="const {0} = {1};",
    variable="let {0} = {1};",
    assign="{0} = {1};",
    early="let {0};",
    remark="// {0}",
    loop=("for (let {k} = 1; ; ++{k}) {{",),
    finite="Number.isFinite({0})",
    compare="{0} {1} {2}",
    nan="NaN",
    extern="const {2} = externals.{0}({3});",
    table=counted_table,
    indent="  ",
    frame=_frame,
)


def _typed(name: str, values: list[float]) -> str:
    return f"const {name} = new Float64Array([{', '.join(map(literal, values))}]);\n"


def emit_javascript(source: Source, *, certificate: str | None = None, project: bool = False) -> dict[str, str]:
    """NAME.mjs and its types NAME.d.mts; with project a test program and a package.json."""
    module = plan(source.parts, LANGUAGE)
    write(module, source.heading)
    heading, name = replace(source.heading, certificate=certificate), module.name
    bodies = ""
    for part in module.every:
        assert part.text is not None
        bodies += "".join(_frame(function, module) + "\n" for function in part.functions)
        told = "".join(f"// {line}\n" for line in [f"{part.name}:", *argument_lines(part, heading)])
        bodies += f"{told}export {_frame(part.text, module)}\n".replace(" == ", " === ")
    p = name
    support = "".join(_typed(f"{p}_x{k}", x) + _typed(f"{p}_c{k}", c) for k, x, c in called_tables(module, bodies))
    support += called_helpers(module, bodies, HELPERS)
    head = "".join(
        f"// {line}".rstrip() + "\n" for line in [*head_lines(module, heading), "", *parameter_lines(module)]
    )
    sizes = {"parameters": module.source.parameter_size, "derived": len(module.derived)}
    for part in module.parts:
        sizes |= {f"{part.name}.{a.name}": a.size for a in part.arguments.values() if a.role != "externals"}
    defaults = f"export const parameters = Object.freeze([{', '.join(map(literal, default_parameters(module)))}]);\n"
    constants = f"export const sizes = Object.freeze({json.dumps(sizes)});\n"
    files = {f"{name}.mjs": f"{head}\n{defaults}{constants}\n{support}{bodies}".rstrip("\n") + "\n"}
    files[f"{name}.d.mts"] = _types(module)
    return files | (_project(module) if project else {})


def _type(a: Argument, module: EmittedModule) -> str:
    if a.role == "externals":
        listed = zip(module.source.externals, module.externals)
        members = [f"{n}({', '.join(f'x{k}: number' for k in range(e.arity))}): ArrayLike<number>" for e, n in listed]
        return "{ " + "; ".join(members) + " }"
    if a.role == "status":
        return "Int32Array | number[]"
    return "Float64Array | number[]" if a.written else "ArrayLike<number>"


def _types(module: EmittedModule) -> str:
    lines = ["export declare const parameters: readonly number[];"]
    lines += ["export declare const sizes: Readonly<Record<string, number>>;"]
    for part in module.every:
        arguments = ", ".join(f"{a.name}: {_type(a, module)}" for a in part.arguments.values())
        lines.append(f"export declare function {part.name}({arguments}): void;")
    return "\n".join([*lines, ""])


def _project(module: EmittedModule) -> dict[str, str]:
    name = module.name

    def call(part: ModulePart, names: list[str]) -> str:
        return f"model.{part.name}({', '.join(names)});"

    test = driver(module, call, "compare({0}, {1});")
    lines = [f"// test of {name}: stored values, from symbody's interpreter", f'import * as model from "./{name}.mjs";']
    lines += ["", "let worst = 0;", "function compare(found, stored) {"]
    lines += ["  const d = Math.abs(found - stored) / (1 + Math.abs(stored));"]
    lines += ["  if (Number.isNaN(found) && Number.isNaN(stored)) return;", "  if (!(d <= worst)) worst = d;", "}", ""]
    if module.externals:
        members = []
        for external, short in zip(module.source.externals, module.externals):
            xs = [f"x{k}" for k in range(external.arity)]
            results = stub_sums(external, product="{0} * {1}")
            members.append(f"  {short}: ({', '.join(xs)}) => [{', '.join(results)}],")
        lines += ["const externals = {", *members, "};"]
    lines += [f"const {n} = new Float64Array({size});" for n, size in test.arrays.items()]
    lines += [f"const status = new Int32Array({test.status});"] if test.status else []
    lines += [*test.lines, f"if (!(worst <= {test.bound!r})) {{"]
    lines += ["  throw new Error(`differs from the stored values by ${worst}`);", "}"]
    lines += ["console.log(`agrees with the stored values to ${worst}`);", ""]
    package = {
        "name": name.lower(), "description": "emitted by symbody", "version": "1.0.0", "private": True,
        "type": "module", "main": f"{name}.mjs",
        "types": f"{name}.d.mts", "scripts": {"test": f"node test_{name}.mjs"},
    }  # fmt: skip
    return {f"test_{name}.mjs": "\n".join(lines), "package.json": json.dumps(package, indent=2) + "\n"}


JAVASCRIPT = Target(
    name="javascript",
    about="an ES module over typed arrays, with types for TypeScript",
    emit=emit_javascript,
    shown=".mjs",
    certificate=True,
    lacks=needs("npm", "node"),
    check=(("npm", "test", "--silent"),),
)
