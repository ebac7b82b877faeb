"""Random points at which formulas are compared: a value for every argument, and the point of the circle of its angle.

Arguments are named by the key (name of the argument, place in it), so that Systems over different Graphs meet in the
same point. What the arguments obey is kept: quaternions have length 1, entries of rotations are orthonormal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from symbody.mechanics.proof.prime_field import Circle, circle, draw, multiple, rotation, unit_quaternion

Key = tuple[str, int]


@dataclass(frozen=True)
class Relations:
    """What arguments obey: pairs (cosine, sine), quadruples (unit quaternion), nines (rotation matrix by rows)."""

    circles: tuple[tuple[Key, Key], ...] = ()
    quaternions: tuple[tuple[Key, Key, Key, Key], ...] = ()
    rotations: tuple[tuple[Key, ...], ...] = ()

    def keys(self) -> Iterable[Key]:
        for group in (*self.circles, *self.quaternions, *self.rotations):
            yield from group


class RandomPoint:
    """One random point.

    given   values of arguments in place of random ones
    halved  base of an angle (as in Tape) -> how often it is halved: its point is that often the double of a finer one
    """

    def __init__(
        self,
        seed: Any,
        relations: Relations,
        given: Mapping[Key, int] | None = None,
        halved: Mapping[Any, int] | None = None,
    ) -> None:
        self.seed = seed
        self.halved = dict(halved or {})
        self.values: dict[Key, int] = {}
        self.parts: dict[Any, Circle] = {}
        self.angles: dict[Any, Circle] = {}
        for c, s in relations.circles:
            self.values[c], self.values[s] = circle(draw(seed, "circle", c))
        for four in relations.quaternions:
            self.values.update(zip(four, self._quaternion(four[0]), strict=True))
        for nine in relations.rotations:
            self.values.update(zip(nine, rotation(self._quaternion(nine[0])), strict=True))
        self.values.update(given or {})

    def _quaternion(self, key: Key) -> tuple[int, int, int, int]:
        x, y, z = (draw(self.seed, "quaternion", key, k) for k in range(3))
        return unit_quaternion((x, y, z))

    def value(self, key: Key) -> int:
        found = self.values.get(key)
        if found is None:
            found = self.values[key] = draw(self.seed, "value", key)
        return found

    def halvings(self, base: Any) -> int:
        return self.halved.get(base if base[0] != "value" else "value", 0)

    def angle(self, base: Any) -> Circle:
        """The point of the circle of an angle."""
        found = self.angles.get(base)
        if found is None:
            found = self.angles[base] = multiple(self.part(base), 1 << self.halvings(base))
        return found

    def part(self, base: Any) -> Circle:
        """The point of the finest part of the angle that is used."""
        found = self.parts.get(base)
        if found is None:
            found = self.parts[base] = circle(draw(self.seed, "angle", base))
        return found
