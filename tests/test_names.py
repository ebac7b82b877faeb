"""Names of the field: each file and class name once, and none of the words that hid what they meant (decision 35)."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "symbody"
SOURCES = sorted(PACKAGE.rglob("*.py"))
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in SOURCES}

# no file, class, function, field or heading has one of these in its name
WORDS = {
    *(
        "herd",
        "herds",
        "apart",
        "asks",
        "asked",
        "way",
        "ways",
        "telling",
        "tellings",
        "tell",
        "told",
        "brief",
        "briefs",
    ),
    *("happening", "happenings", "happen", "happens", "found", "brought", "begun", "own", "owned", "later"),
}
# and these stand nowhere, in prose either
GONE = re.compile(r"\b(herds?|tellings?|happenings?|briefs?)\b", re.IGNORECASE)
PROTOCOLS = {("motion/trajectory/stream_file.py", "tell")}  # of Python's files
# files that share their name, and why
TWICE = dict.fromkeys(
    ("count", "equilibrium", "frequency", "identify", "linearize", "modes", "simulate", "verify"),
    "the command has the word of the verb that it calls",
)


def words_of(name: str) -> set[str]:
    return {w.lower() for w in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)}


def names(tree: ast.Module) -> Iterator[str]:
    """Classes, functions, fields, attributes that are set, and constants of a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
        if isinstance(node, ast.ClassDef | ast.Module):
            for part in node.body:
                targets = part.targets if isinstance(part, ast.Assign) else [getattr(part, "target", None)]
                yield from (t.id for t in targets if isinstance(t, ast.Name))


def test_no_name_has_a_word_that_hides_what_it_means():
    wrong = []
    for path in SOURCES:
        where = path.relative_to(PACKAGE).as_posix()
        known = {path.stem, *names(TREES[path])}
        wrong += [f"{where}: {n}" for n in sorted(known) if words_of(n) & WORDS and (where, n) not in PROTOCOLS]
    assert not wrong, "\n".join(wrong)


def test_no_heading_has_one_either():
    wrong = []
    for path in sorted(ROOT.glob("docs/**/*.md")):
        outside = "".join(path.read_text(encoding="utf-8").split("```")[::2])  # a comment of code is no heading
        lines = [line for line in outside.splitlines() if re.match("#+ ", line) and words_of(line) & WORDS]
        wrong += [f"{path.name}: {line}" for line in lines]
    assert not wrong, "\n".join(wrong)


def test_words_that_are_gone_stand_nowhere():
    pages = [p for p in (*ROOT.glob("docs/**/*.md"), ROOT / "README.md") if not p.name.startswith("0035-")]
    wrong = []
    for path in (*SOURCES, *pages, *ROOT.glob("examples/**/*.py"), *ROOT.glob("benchmarks/*.py")):
        lines = enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        wrong += [f"{path.relative_to(ROOT)}:{n}: {line.strip()}" for n, line in lines if GONE.search(line)]
    assert not wrong, "\n".join(wrong)


def test_each_class_has_a_name_of_its_own():
    homes = defaultdict(list)
    for path in SOURCES:
        for node in ast.walk(TREES[path]):
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(f"{path.relative_to(PACKAGE)}:{node.lineno}")
    twice = {name: where for name, where in homes.items() if len(where) > 1}
    assert not twice, twice


def test_each_file_has_a_name_of_its_own():
    homes = defaultdict(list)
    for path in SOURCES:
        if path.name != "__init__.py":
            homes[path.stem].append(path.relative_to(PACKAGE).as_posix())
    twice = {name: where for name, where in homes.items() if len(where) > 1}
    assert {n: w for n, w in twice.items() if n not in TWICE} == {}
    assert set(twice) == set(TWICE), "a name of TWICE stands once"
    assert all(len(w) == 2 and any(p.startswith("show/cli/commands/") for p in w) for w in twice.values())
