"""Sizes and degrees of freedom of the bundled models, kept beside them in `facts.json`: computing them takes seconds.

A row counts only while the files that it was made of are unchanged; otherwise its model is loaded and looked at again.
`python -m symbody.show.cli.bundled_facts` writes the file anew.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache
from typing import Any

from symbody.basics.atomic_file import write_whole
from symbody.basics.errors import ModelError
from symbody.model.load import FOLDER, bundled_names, load
from symbody.model.record.mechanism import Mechanism

FILE = FOLDER / "facts.json"


def facts(name: str) -> dict[str, Any]:
    """bodies, nv, mobility (None where the structure does not tell), closures and source of a bundled model."""
    row: dict[str, Any] = _kept().get(name, {})
    if row.get("digest") != _digest(name):
        return computed_facts(name)
    return {key: value for key, value in row.items() if key != "digest"}


def computed_facts(name: str) -> dict[str, Any]:
    """The facts of a bundled model, computed from the model itself."""
    mechanism = load(name)
    return {
        "bodies": len(mechanism.bodies),
        "nv": mechanism.nv,
        "mobility": mobility(mechanism),
        "closures": len(mechanism.cuts) + len(mechanism.couplings),
        "source": mechanism.source,
    }


def mobility(mechanism: Mechanism) -> int | None:
    """Degrees of freedom on the branch of the assembled position; None where there is no partition."""
    from symbody.mechanics.formalisms.solve_accelerations import driven_velocities
    from symbody.mechanics.memoised.model_memory import derived_of

    derived = derived_of(mechanism)
    driven = len(driven_velocities(derived.tree()))
    if not (mechanism.cuts or mechanism.couplings):
        return mechanism.nv - driven
    try:
        return len(derived.partition("heuristic").independent) - driven
    except ModelError:
        return None


def _digest(name: str) -> str:
    return hashlib.sha256((FOLDER / f"{name}.yaml").read_bytes() + _parts()).hexdigest()[:16]


@cache
def _parts() -> bytes:
    """All files that models may include, in order."""
    return b"".join(path.read_bytes() for path in sorted((FOLDER / "parts").rglob("*.yaml")))


@cache
def _kept() -> dict[str, dict[str, Any]]:
    if not FILE.is_file():
        return {}
    rows: dict[str, dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))
    return rows


def write() -> None:
    """Write the file from the models."""
    rows = {name: {"digest": _digest(name), **computed_facts(name)} for name in bundled_names()}
    lines = [f"{json.dumps(name)}: {json.dumps(row, ensure_ascii=False)}" for name, row in rows.items()]
    write_whole(FILE, ("{\n" + ",\n".join(lines) + "\n}\n").encode())


if __name__ == "__main__":
    write()
