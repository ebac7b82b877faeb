"""What is changed: folders and files by the list they belong to, and the drawing of changes from a seed."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from mutants.operators import Change, changes, is_valid

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "symbody"

# what computes motion from a Mechanism: judged by the certificate
MECHANICS = (
    *("mechanics/formalisms", "mechanics/assembly", "mechanics/loops", "mechanics/memoised"),
    *("model/spatial", "model/library"),
)
# of model: what is used after the Mechanism exists
RECORDS = (
    "mechanism", "elementary_motions", "coordinates", "joints", "couplings", "parameter_values", "joint_value",
    "frozen",
    "numbers", "retracted_least_squares",
)  # fmt: skip
# what makes Mechanisms: judged by other programs that read the same files
READERS = (
    "builder", "piece_forms", "rotation_forms", "pose", "urdf", "xml_file", "mjcf", "mjcf_defaults",
    "mjcf_equality", "mjcf_tree",
)  # fmt: skip


def mechanics_files() -> list[str]:
    """Paths below src/symbody, sorted."""
    found = [p for folder in MECHANICS for p in (PACKAGE / folder).rglob("*.py")]
    found += [PACKAGE / "model" / "record" / f"{name}.py" for name in RECORDS]
    return _paths(found)


def reader_files() -> list[str]:
    return _paths(p for p in (PACKAGE / "model").rglob("*.py") if p.stem in READERS)


def _paths(found: Iterable[Path]) -> list[str]:
    return sorted(p.relative_to(PACKAGE).as_posix() for p in found if p.name != "__init__.py")


def chosen(files: list[str], patterns: list[str]) -> list[str]:
    """Files whose paths contain one of the texts; all where there is none."""
    return [f for f in files if not patterns or any(p in f for p in patterns)]


@dataclass(frozen=True)
class Mutant:
    """A change of one file, with its number in the run."""

    number: int
    file: str
    change: Change


def draw(files: list[str], seed: int, source: dict[str, str] | None = None) -> Iterable[Mutant]:
    """Endless: a random piece of syntax of the files, then a random change of it; none comes twice."""
    texts = source or {f: (PACKAGE / f).read_text(encoding="utf-8") for f in files}
    sites: list[tuple[str, list[Change]]] = []
    for file in files:
        by_site: dict[int, list[Change]] = {}
        for change in changes(texts[file]):
            by_site.setdefault(change.site, []).append(change)
        sites += [(file, group) for group in by_site.values()]
    rng, taken, number, left = random.Random(seed), set(), 0, sum(len(group) for _, group in sites)
    while len(taken) < left:
        file, group = sites[rng.randrange(len(sites))]
        # by kind first: numbers have many variants, and would crowd out the others
        operator = rng.choice(sorted({c.operator for c in group}))
        change = rng.choice([c for c in group if c.operator == operator])
        if (file, change) in taken:
            continue
        taken.add((file, change))
        if is_valid(texts[file], change):
            yield Mutant(number, file, change)
            number += 1
