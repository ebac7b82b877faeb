"""Choices that long searches found for bundled models, kept in `tuned.json` under a key of the model's structure."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from symbody.mechanics.formalisms.formulation import QUANTITIES
from symbody.mechanics.formalisms.tree import Link, Tree
from symbody.mechanics.memoised.model_memory import derived_of
from symbody.model.record.mechanism import Mechanism
from symbody.symbolic.expr.arrays import is_zero
from symbody.symbolic.expr.evaluate import evaluate
from symbody.symbolic.expr.node import Node
from symbody.symbolic.expr.walk import free_symbols

TUNED = Path(__file__).with_name("tuned.json")


def pattern(tree: Tree, quantity: str) -> str:
    """Name, quantity, and a digest of the structure: kinds, axes, which parameters are 0, 1, numbers or symbols."""
    text = [quantity, "runtime" if tree.runtime else "setup", _sketch(tree.gravity)]
    text += [_link(link, link.index in tree.wrenches) for link in tree.links]
    return f"{tree.mechanism.name}/{quantity}/{hashlib.sha256(chr(10).join(text).encode()).hexdigest()[:16]}"


def _link(link: Link, loaded: bool) -> str:
    i = link.inertia
    parts = (link.rotation, link.offset, [i.mass], i.moment, i.tensor, [link.pitch, link.reflected])
    columns = [[(k, _mark(c)) for k, c in column] for column in link.columns]
    motion = f"{link.motion.key or link.motion.name}{link.axis}"
    return f"{link.parent} {motion} {' '.join(_sketch(p) for p in parts)} {columns} {loaded}"


def _sketch(values: Any) -> str:
    return "-" if values is None else "".join(_mark(x) for x in np.asarray(values, dtype=object).flat)


def _mark(x: Any) -> str:
    if is_zero(x):
        return "0"
    if not isinstance(x, Node) or not free_symbols([x]):
        value = float(evaluate(x, {})) if isinstance(x, Node) else float(x)
        return "1" if value == 1 else "m" if value == -1 else "n"
    return "s"


@cache
def tuned_choices() -> dict[str, dict[str, Any]]:
    """Key of `pattern` -> {"total": operations, "choice": Choice as a dict}."""
    if not TUNED.is_file():
        return {}
    rows: dict[str, dict[str, Any]] = json.loads(TUNED.read_text(encoding="utf-8"))
    return rows


def is_tuned(mech: Mechanism) -> bool:
    """Whether there is a choice on file for all of inverse, semi-explicit and forward dynamics of a tree."""
    if mech.cuts or mech.couplings:
        return False
    tree = derived_of(mech).loaded().tree
    return all(pattern(tree, quantity) in tuned_choices() for quantity in QUANTITIES)
