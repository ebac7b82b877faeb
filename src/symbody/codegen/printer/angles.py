"""Sines and cosines taken together: of all angles that come from inputs by sums and products, before anything else.

A processor computes several in vectors, in hardly more time than one; a library function is called for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from symbody.codegen.printer.language import FEW_ANGLES
from symbody.symbolic.lower.program import Program, operands

TRIG = ("sin", "cos")
PLAIN = ("add", "sub", "neg", "mul")
DEPTH = 4  # operations that an angle may be made of


@dataclass(eq=False)
class Angles:
    """An item of a function: `values` are the angles, `of` the sines and cosines -> (function, number of the angle)."""

    values: list[int]
    of: dict[int, tuple[str, int]]


T = TypeVar("T")


def with_angles(program: Program, items: Sequence[T], few: int = FEW_ANGLES) -> list[T | int | Angles]:
    """The items, angles first, where there are at least `few` of them; sines and cosines elsewhere stay as they are."""
    ops, args = program.ops, program.args
    order: dict[int, int] = {v: k for k, v in enumerate(items) if isinstance(v, int)}
    inside = {v for block in program.blocks for v in (*block.body, *block.unknowns)}

    def parts(v: int, depth: int) -> set[int] | None:
        """Values of the items that an angle is made of; None where it is made of others than inputs."""
        if v not in order:
            return None if v in inside or ops[v] in ("solve", "result") else set()
        if ops[v] not in PLAIN or not depth:
            return None
        found: set[int] = {v}
        for a in operands(ops[v], args[v]):
            more = parts(a, depth - 1)
            if more is None:
                return None
            found |= more
        return found

    first: set[int] = set()
    angles = Angles([], {})
    for v in order:
        if ops[v] in TRIG:
            (angle,) = args[v]
            needed = parts(angle, DEPTH)
            if needed is not None:
                first |= needed
                if angle not in angles.values:
                    angles.values.append(angle)
                angles.of[v] = ops[v], angles.values.index(angle)
    if len(angles.values) < few:
        return list(items)
    gone = first | angles.of.keys()
    others = [item for item in items if not (isinstance(item, int) and item in gone)]
    return [*sorted(first, key=order.__getitem__), angles, *others]
