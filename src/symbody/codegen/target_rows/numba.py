"""The target "numba": compiled functions over NumPy arrays that are filled in place, without allocation."""

from __future__ import annotations

from dataclasses import replace

from symbody.codegen.printer.heading import argument_lines, default_parameters, head_lines, parameter_lines
from symbody.codegen.printer.language import FunctionText, Language
from symbody.codegen.printer.module_layout import EmittedModule, ModulePart, plan
from symbody.codegen.printer.pieces import called_helpers, called_tables, counted_table, stub_sums
from symbody.codegen.printer.test_program import driver
from symbody.codegen.printer.write import write
from symbody.codegen.target_row import Source, Target, needs_module
from symbody.codegen.target_rows.array_text import TAKEN, literal

HELPERS = {
    "table": """def {p}_table(x, c, pieces, terms, at):
    # the piece i with x[i] <= at < x[i+1]; the first and the last extend outward
    low, high = 0, pieces + 1
    while low < high:
        middle = (low + high)//2
        if at < x[middle]:
            high = middle
        else:
            low = middle + 1
    i = min(max(low - 1, 0), pieces - 1)
    t = at - x[i]
    value = c[(terms - 1)*pieces + i]
    for k in range(terms - 2, -1, -1):
        value = value*t + c[k*pieces + i]
    return value
""",
    "where": "def {p}_where(condition, a, b):\n    if condition:\n        return a*1.0\n    return b*1.0\n",
    "far": "def {p}_far(guess):\n    return 1e6*(1.0 + abs(guess))\n",
    "next": "def {p}_next(x, step):\n    return x + step\n",
    "no_number": "def {p}_no_number(values, size):\n    for k in range(size):\n        values[k] = np.nan\n",
}


def _frame(function: FunctionText, module: EmittedModule) -> str:
    arguments = ", ".join(a.name for a in function.arguments)
    lines = function.lines or ["    pass"]
    return f'@numba.njit(error_model="numpy")\ndef {function.name}({arguments}):\n' + "\n".join(lines) + "\n"


LANGUAGE = Language(
    functions="array",
    taken=TAKEN,
    literal=lambda x: literal(x).replace("math.", "np."),
    define="{0} = {1}",
    variable="{0} = {1}",
    assign="{0} = {1}",
    remark="# {0}",
    call="{0}({1})",
    loop=("for {k} in range(1, {limit} + 1):",),
    end_loop=("",),
    stop="break",
    when="if {0}:",
    end_when="",
    both=" and ",
    either=" or ",
    negate="not ({0})",
    finite="np.isfinite({0})",
    small="abs({0}) <= {3}*(1.0 + min(abs({1}), {2}))",
    below="abs({0}) <= {1}",
    above="abs({0}) > {1}",
    nan="np.nan",
    extern="{2} = externals_{0}({3})",
    linked=True,
    table=counted_table,
    adapt=lambda text: text.replace("{m}.where", "{p}_where").replace("{m}", "np"),
    frame=_frame,
)


def _emit(source: Source, *, certificate: str | None = None, project: bool = False) -> dict[str, str]:
    module = plan(source.parts, LANGUAGE)
    write(module, source.heading)
    heading, p = replace(source.heading, certificate=certificate), module.name
    bodies = ""
    for part in module.every:
        assert part.text is not None
        bodies += "".join("\n\n" + _frame(function, module) for function in part.functions)
        told = "\n".join(f"    {line}" for line in [*argument_lines(part, heading)])
        text = _frame(part.text, module)
        head, _, body = text.partition("):\n")
        bodies += f'\n\n{head}):\n    """{part.name}:\n\n{told}\n    """\n{body}'
    bodies = bodies.replace("{p}", p)
    support = "".join(
        f"{p}_x{k} = np.array([{', '.join(map(literal, x))}])\n{p}_c{k} = np.array([{', '.join(map(literal, c))}])\n"
        for k, x, c in called_tables(module, bodies)
    )
    support += called_helpers(module, bodies, HELPERS, '\n\n@numba.njit(error_model="numpy")\n{}'.format)
    outside = ""
    if module.externals:
        names = ", ".join(module.externals)
        outside = f"# functions from outside, compiled by numba: see {p}_stubs.py\nfrom {p}_externals import {names}\n"
        outside += "".join(f"externals_{n} = {n}\n" for n in module.externals)
    head = "\n".join(line.rstrip() for line in [*head_lines(module, heading), "", *parameter_lines(module)]).rstrip()
    head = head.replace("\\", "/").replace('"""', "'''")
    defaults = (
        f"parameter_defaults = np.array([{', '.join(LANGUAGE.literal(x) for x in default_parameters(module))}])\n"
    )
    text = f'"""{head}\n"""\n\nimport numba\nimport numpy as np\n\n{outside}\n{defaults}{support}{bodies}'
    files = {f"{p}.py": text}
    return files | (_project(module) if project else {})


def _project(module: EmittedModule) -> dict[str, str]:
    name = module.name

    def call(part: ModulePart, names: list[str]) -> str:
        return f"model.{part.name}({', '.join(names)})"

    test = driver(module, call, "compare({0}, {1})")
    lines = [f'"""Test of {name}: stored values, from symbody\'s interpreter."""', "", "import numpy as np", ""]
    lines += [f"import {name} as model", "", "worst = 0.0", "", "", "def compare(a, b):", "    global worst"]
    lines += ["    d = abs(a - b)/(1.0 + abs(b))", "    if not (d <= worst or (a != a and b != b)):"]
    lines += ["        worst = d", "", ""]
    lines += [f"{n} = np.zeros({size})" for n, size in test.arrays.items()]
    lines += [f"status = np.zeros({max(test.status, 1)}, dtype=np.int32)", *test.lines]
    lines += [f"if not worst <= {test.bound!r}:", '    raise SystemExit(f"differs from the stored values by {worst}")']
    lines += ['print(f"agrees with the stored values to {worst}")', ""]
    files = {f"test_{name}.py": "\n".join(lines)}
    if module.externals:
        stubs = ['"""Stubs of the functions from outside, for the test program."""', "", "import numba", ""]
        for external, short in zip(module.source.externals, module.externals):
            xs = [f"x{k}" for k in range(external.arity)]
            stubs += [
                "",
                "@numba.njit",
                f"def {short}({', '.join(xs)}):",
                f"    return ({', '.join(stub_sums(external))},)",
                "",
            ]
        files[f"{name}_externals.py"] = "\n".join(stubs)
    return files


NUMBA = Target(
    name="numba",
    about="functions that Numba compiles, over NumPy arrays that are filled in place",
    emit=_emit,
    shown=".py",
    certificate=True,
    lacks=needs_module("numba"),
    check=(("{python}", "test_{name}.py"),),
)
