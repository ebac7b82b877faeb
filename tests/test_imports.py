"""Who may import whom, without cycles, which names are public, and what `import symbody` loads, how quickly."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "symbody"

# The wings in the order of the journey: a wing imports from those above it.
WINGS = (
    "basics",
    "symbolic",
    "codegen",
    "model",
    "reference",
    "mechanics",
    "bondgraph",
    "motion",
    "studies",
    "show",
)
LEVEL = {name: level for level, name in enumerate(WINGS, start=1)}
# of the package itself: they re-export, attach System's delegates, start the command line, and enter authors' rows
EXEMPT = {"__init__.py", "__main__.py", "extend.py", "identify.py"}
NOT_LOADED = ("scipy", "matplotlib", "llvmlite", "yaml", "typer", "rich", "sympy", "symengine", "casadi")


def room_levels(wing: str) -> dict[str, int]:
    """The order inside a wing, as its door says it: room -> line."""
    rooms = getattr(import_module(f"symbody.{wing}"), "ROOMS", ())
    return {name: level for level, line in enumerate(rooms, start=1) for name in line.split()}


ROOMS = {wing: room_levels(wing) for wing in WINGS}


def drawing() -> str:
    """The wings as docs/architecture.md shows them, each with its rooms in their order."""
    lines = []
    for level, wing in enumerate(WINGS, start=1):
        rooms = getattr(import_module(f"symbody.{wing}"), "ROOMS", ())
        lines.append(f"{level:<3}{wing:<10} {' < '.join(rooms)}".rstrip())
    return "\n".join(lines)


def layer_of(path: Path) -> str:
    """The wing, or the single module, of the package to which a file belongs."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def room_of(path: Path) -> str:
    """The room of a wing to which a file belongs: a folder, or a module beside the folders."""
    return path.relative_to(PACKAGE).parts[1].removesuffix(".py")


def imported_modules(tree: ast.AST, package: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """Line and dotted name of every import, at the top or inside a function, relative ones resolved.

    `package` is the dotted package of the file. `from a import b` gives "a.b": b may be a module.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            base += tuple(node.module.split(".")) if node.module else ()
            for alias in node.names:
                yield node.lineno, ".".join((*base, alias.name))
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if called in ("import_module", "__import__") and isinstance(node.args[0].value, str):
                yield node.lineno, node.args[0].value


def violations(source: str, path: Path) -> list[str]:
    """What the imports of a file break, one sentence each."""
    own = layer_of(path)
    package = ("symbody", *path.relative_to(PACKAGE).parts[:-1])
    where = path.relative_to(ROOT)
    loaded = set(imported_modules(_WithoutTypes().visit(ast.parse(source)), package))
    found = []
    for line, name in imported_modules(ast.parse(source), package):
        head, *rest = name.split(".")
        if head != "symbody":
            continue
        target = rest[0] if rest else ""
        if target == own:
            found += _between_rooms(own, path, line, name) if (line, name) in loaded else []
            continue
        if target not in LEVEL:
            found.append(f"{where}:{line} imports {name}: name the module that defines it, not the package")
        elif LEVEL[target] > LEVEL[own]:
            found.append(
                f"{where}:{line} imports {name}: {target} (line {LEVEL[target]}) is below {own} (line {LEVEL[own]})"
            )
    return found


def _between_rooms(wing: str, path: Path, line: int, name: str) -> list[str]:
    """What an import inside a wing breaks of the order that its door says."""
    levels, parts = ROOMS[wing], name.split(".")
    if len(parts) < 3 or len(path.relative_to(PACKAGE).parts) < 2 or not levels:
        return []
    own, target = room_of(path), parts[2]
    if target == own or own == "__init__":
        return []
    where = f"{path.relative_to(ROOT)}:{line} imports {name}"
    missing = [room for room in (own, target) if room not in levels]
    if missing:
        return [f"{where}: {missing[0]} is not in ROOMS of symbody/{wing}/__init__.py"]
    if levels[target] > levels[own]:
        return [f"{where}: the room {target} (line {levels[target]}) is below {own} (line {levels[own]})"]
    if levels[target] == levels[own]:
        return [f"{where}: {target} and {own} are neighbours on line {levels[own]}"]
    return []


def source_files() -> list[Path]:
    return [p for p in sorted(PACKAGE.rglob("*.py")) if not (p.parent == PACKAGE and p.name in EXEMPT)]


# -- cycles


class _WithoutTypes(ast.NodeTransformer):
    """Leaves out what only checkers of types read."""

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        return node.orelse if ast.unparse(node.test).endswith("TYPE_CHECKING") else node


def module_name(path: Path) -> str:
    """Dotted name; that of the package for its `__init__`."""
    parts = ("symbody", *path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def import_graph(sources: Mapping[str, str]) -> dict[str, set[str]]:
    """Module -> modules among `sources` that it imports, at the top or inside functions. A package is no module."""
    graph: dict[str, set[str]] = {}
    for module, source in sources.items():
        tree = _WithoutTypes().visit(ast.parse(source))
        package = tuple(module.split(".")[:-1])
        names = [name for _, name in imported_modules(tree, package)]
        # "a.b" is the module, or b is a name in the module a
        graph[module] = {n if n in sources else n.rpartition(".")[0] for n in names} & set(sources)
    return graph


def first_cycle(graph: Mapping[str, set[str]]) -> list[str]:
    """Modules of a cycle in order, the first again at the end; none: []."""
    done: set[str] = set()

    def walk(module: str, way: list[str]) -> list[str]:
        if module in way:
            return [*way[way.index(module) :], module]
        if module in done:
            return []
        for other in sorted(graph[module]):
            found = walk(other, [*way, module])
            if found:
                return found
        done.add(module)
        return []

    for module in sorted(graph):
        found = walk(module, [])
        if found:
            return found
    return []


def test_no_import_cycle_even_inside_functions():
    files = [p for p in source_files() if p.name != "__init__.py"]
    cycle = first_cycle(import_graph({module_name(p): p.read_text(encoding="utf-8") for p in files}))
    assert not cycle, f"an import cycle: {' -> '.join(cycle)}. Move what both sides need into one of them, or a third."


@pytest.mark.parametrize(
    ("a", "b", "cycle"),
    [
        ("from symbody.b import f", "x = 1", []),
        ("from symbody.b import f", "def f():\n    from symbody.a import g", ["symbody.a", "symbody.b", "symbody.a"]),
        ("import symbody.b", "from symbody import a", ["symbody.a", "symbody.b", "symbody.a"]),
        ("from .b import f", "class C:\n    from . import a", ["symbody.a", "symbody.b", "symbody.a"]),
        ("def f():\n    from symbody.a import g", "", ["symbody.a", "symbody.a"]),
        ("from symbody.b import f", "if TYPE_CHECKING:\n    from symbody.a import G", []),
        (
            "from symbody.b import f",
            "if TYPE_CHECKING:\n    pass\nelse:\n    import symbody.a",
            ["symbody.a", "symbody.b", "symbody.a"],
        ),
    ],
)
def test_the_finder_of_cycles_sees_every_form(a, b, cycle):
    assert first_cycle(import_graph({"symbody.a": a, "symbody.b": b})) == cycle


def test_only_methods_of_records_find_functions_by_name():
    """`later` is no way around: a function imports what it needs."""
    found = []
    for path in source_files():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        inside = {id(x) for c in ast.walk(tree) if isinstance(c, ast.ClassDef) for x in ast.walk(c)}
        for x in ast.walk(tree):
            if isinstance(x, ast.Call) and getattr(x.func, "id", "") == "later" and id(x) not in inside:
                found.append(f"{path.relative_to(ROOT)}:{x.lineno}")
    assert not found, "\n".join(found)


# -- doors: the public names of a folder

DOORS = [
    p for p in (*PACKAGE.glob("*/__init__.py"), *PACKAGE.glob("*/*/__init__.py")) if "door(" in p.read_text("utf-8")
]
FOLDERS = sorted(".".join(p.parent.relative_to(PACKAGE).parts) for p in DOORS)


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_folder_says_what_it_holds_and_which_names_are_public(folder):
    package = import_module(f"symbody.{folder}")
    assert (package.__doc__ or "").rstrip().endswith(".")
    assert package.__all__
    assert package.__all__ == dir(package)
    for name in package.__all__:
        here = PACKAGE / Path(*folder.split(".")) / name
        is_module = here.is_dir() or here.with_suffix(".py").exists()
        # of a function and a module with one name, Python finds the module, as soon as it is loaded
        assert isinstance(getattr(package, name), ModuleType) is is_module, name
    with pytest.raises(AttributeError, match=f"symbody.{folder}.*no attribute 'unheard_of'"):
        package.unheard_of


def test_every_package_has_a_sentence():
    silent = [p.parent for p in PACKAGE.rglob("__init__.py") if not ast.get_docstring(ast.parse(p.read_text("utf-8")))]
    assert not silent


def test_opening_a_door_loads_nothing_behind_it():
    packages = [f"symbody.{folder}" for folder in FOLDERS]
    code = (
        f"import json, sys, symbody; before = set(sys.modules); import {', '.join(packages)}; "
        "print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    run = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True, timeout=60)
    assert set(json.loads(run.stdout)) <= set(packages)


def test_modules_import_from_where_a_name_is_defined():
    """Doors are for authors: inside, the module is named, so that the graph of imports says the truth."""
    modules = {module_name(p) for p in PACKAGE.rglob("*.py")}
    packages = {module_name(p) for p in PACKAGE.rglob("__init__.py")}
    found = []
    for path in source_files():
        package = ("symbody", *path.relative_to(PACKAGE).parts[:-1])
        for line, name in imported_modules(ast.parse(path.read_text(encoding="utf-8")), package):
            if name.rpartition(".")[0] in packages and name not in modules:
                found.append(f"{path.relative_to(ROOT)}:{line} imports {name}")
    assert not found, "\n".join(found)


# the reference judges what is made from a Mechanism: of the folders above it, it may read these modules alone
READ_BY_REFERENCE = (
    "symbody.basics.errors.",
    "symbody.basics.lazy.",
    "symbody.symbolic.expr.",
    "symbody.model.record.mechanism.",
    "symbody.reference.",
)


def test_the_reference_imports_nothing_that_it_judges():
    found = []
    for path in sorted((PACKAGE / "reference").glob("*.py")):
        for line, name in imported_modules(ast.parse(path.read_text(encoding="utf-8")), ("symbody", "reference")):
            if name.startswith("symbody") and not f"{name}.".startswith(READ_BY_REFERENCE):
                found.append(f"{path.name}:{line} imports {name}")
    assert not found, "\n".join(found)


def test_every_file_belongs_to_a_wing_and_a_room():
    strangers = {layer_of(p) for p in source_files()} - set(LEVEL)
    assert not strangers, f"not in the table of wings: {sorted(strangers)}"
    for wing, levels in ROOMS.items():
        rooms = {room_of(p) for p in source_files() if layer_of(p) == wing} - {"__init__"}
        assert not levels or rooms == set(levels), f"{wing}: {sorted(rooms ^ set(levels))}"


def test_the_first_listing_is_short():
    wings = [p for p in PACKAGE.iterdir() if p.is_dir() and p.name != "__pycache__"]
    assert {p.name for p in wings} == set(WINGS)
    assert len(wings) <= 10
    assert {p.name for p in PACKAGE.glob("*.py")} == EXEMPT


def test_imports_go_upward_only():
    found = [v for p in source_files() if layer_of(p) in LEVEL for v in violations(p.read_text(encoding="utf-8"), p)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("folder", "statement", "allowed"),
    [
        ("symbolic/lower", "from symbody.symbolic.expr.external import External", True),
        ("symbolic/lower", "from symbody import basics, symbolic", True),
        ("symbolic/lower", "from .program import Program", True),
        ("symbolic/lower", "from ..expr import external", True),
        ("symbolic/lower", "import numpy as np", True),
        ("symbolic/expr", "from symbody.symbolic.lower.program import Program", False),
        ("symbolic/expr", "from ..lower import program", False),
        ("symbolic/expr", "def f():\n    import symbody.symbolic.lower.program", False),
        ("symbolic/expr", "import importlib\nimportlib.import_module('symbody.symbolic.lower')", False),
        ("symbolic/rewrite", "from symbody.symbolic.system import System", False),
        ("symbolic/lower", "from symbody.motion.run.simulate import simulate", False),
        ("codegen", "import symbody", False),
        ("codegen", "from symbody import sin", False),
    ],
)
def test_the_reader_of_imports_sees_every_form(folder, statement, allowed):
    assert (not violations(statement, PACKAGE / folder / "module.py")) is allowed


def test_architecture_page_shows_the_same_order():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert f"```\n{drawing()}\n```" in page, f"docs/architecture.md should contain this drawing:\n{drawing()}"


def fresh_import() -> tuple[float, set[str]]:
    """CPU seconds of `import symbody` in a new interpreter (NumPy included), and the top packages it loads.

    Processor time, because other tests run beside this one.
    """
    code = (
        "import json, sys, time; start = time.process_time(); import symbody; took = time.process_time() - start; "
        "print(json.dumps([took, sorted({m.partition('.')[0] for m in sys.modules})]))"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OPENBLAS_NUM_THREADS": "1"}
    run = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True, timeout=60)
    took, modules = json.loads(run.stdout)
    return took, set(modules)


def test_import_loads_no_heavy_package():
    _, modules = fresh_import()
    assert not modules.intersection(NOT_LOADED)


def test_import_takes_less_than_300_ms():
    best = min(fresh_import()[0] for _ in range(5))
    assert best < 0.3, f"`import symbody` took {best:.3f} s at best"
