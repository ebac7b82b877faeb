"""Velocities that wait on the way inward: each moves several Links, and not all of them have been met yet.

A joint that follows another, or a rotor that spins on the Link that carries its joint, shares a velocity with that
joint. The velocity cannot be eliminated at either of them, so its acceleration x stays in the equations of what the
recursion hands inward (the elimination of Featherstone 2008, 7.2, in another order):

    wrench = I a + p + sum_k K_k x_k        effort_i = K_i . a + sum_k H_ik x_k + r_i
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from symbody.mechanics.formalisms.vec3 import ZERO, Vec, cross, dot, minus, plus


@dataclass(frozen=True, slots=True)
class Pending:
    """Velocities by their index in qd; frame and origin are those of the articulated inertia that they belong to.

    wrenches  K: (moment, force) that a unit acceleration of the velocity takes
    inertia   H: effort on i for a unit acceleration of k, i <= k
    efforts   r: effort that the velocity takes at zero acceleration
    """

    wrenches: Mapping[int, tuple[Vec, Vec]] = field(default_factory=dict)
    inertia: Mapping[tuple[int, int], Any] = field(default_factory=dict)
    efforts: Mapping[int, Any] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.wrenches)

    def coupling(self, i: int, k: int) -> Any:
        """H_ik, 0 where there is none."""
        return self.inertia.get((min(i, k), max(i, k)), 0)

    def turned(self, turn: Callable[[Vec], Vec]) -> Pending:
        """In other axes."""
        return self._with_wrenches(lambda n, f: (turn(n), turn(f)))

    def shifted(self, p: Vec) -> Pending:
        """About another origin; p leads from it to the present one."""
        return self._with_wrenches(lambda n, f: (n + cross(p, f), f))

    def _with_wrenches(self, change: Callable[[Vec, Vec], tuple[Vec, Vec]]) -> Pending:
        if not self:
            return self
        return Pending({k: change(n, f) for k, (n, f) in self.wrenches.items()}, self.inertia, self.efforts)

    def carried(self, wd: Vec, a: Vec) -> Pending:
        """With the efforts at the acceleration (wd, a) instead of none."""
        if not self:
            return self
        felt = {k: plus(dot(n, wd), dot(f, a)) for k, (n, f) in self.wrenches.items()}
        return Pending(self.wrenches, self.inertia, {k: plus(r, felt[k]) for k, r in self.efforts.items()})

    def merged(self, other: Pending) -> Pending:
        """The waiting velocities of two bodies that move together."""
        if not self or not other:
            return self or other
        wrenches = dict(self.wrenches)
        for k, (n, f) in other.wrenches.items():
            n0, f0 = wrenches.get(k, (ZERO, ZERO))
            wrenches[k] = (n0 + n, f0 + f)
        return Pending(wrenches, _summed(self.inertia, other.inertia), _summed(self.efforts, other.efforts))

    def reduced(
        self,
        wrenches: Mapping[int, tuple[Vec, Vec]],
        less: Callable[[int, int], Any],
        more: Callable[[int], Any],
    ) -> Pending:
        """After the elimination of another motion: the wrenches that are left, H_ik - less(i, k), r_k + more(k)."""
        inertia = {(i, k): minus(self.coupling(i, k), less(i, k)) for i in wrenches for k in wrenches if i <= k}
        return Pending(wrenches, inertia, {k: plus(self.efforts[k], more(k)) for k in wrenches})


def _summed(a: Mapping[Any, Any], b: Mapping[Any, Any]) -> dict[Any, Any]:
    out = dict(a)
    for k, x in b.items():
        out[k] = plus(out.get(k, 0), x)
    return out


NONE = Pending()
