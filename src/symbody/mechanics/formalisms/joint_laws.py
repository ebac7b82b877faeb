"""Laws of joints: springs, viscous and Coulomb friction, elasticity, at every coordinate on which one acts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from symbody.basics.errors import ModelError
from symbody.mechanics.formalisms.tree import Tree, first_places
from symbody.mechanics.formalisms.vec3 import minus, plus, times
from symbody.model.record.mechanism import Joint
from symbody.symbolic.expr.arrays import Array, is_zero, zeros
from symbody.symbolic.expr.call import call


@dataclass(frozen=True, eq=False)
class JointLaw:
    """The law of a joint at one coordinate: value, rate, and the law's constants (0 where there is none).

    velocity, factor   which velocity of the Mechanism the rate is made of, and how: rate = factor * qd[velocity]
    """

    q: Any
    qd: Any
    stiffness: Any
    rest: Any
    viscous: Any
    coulomb: Any
    velocity: int
    factor: Any = 1

    @property
    def effort(self) -> Any:
        """What a motor needs against the law: stiffness (q - rest) + viscous qd + coulomb sign(qd)."""
        effort: Any = 0
        if not is_zero(self.stiffness):
            effort = times(self.stiffness, minus(self.q, self.rest))
        effort = plus(effort, times(self.viscous, self.qd))
        if not is_zero(self.coulomb):
            effort = plus(effort, times(self.coulomb, call("sign", self.qd)))
        return effort


def coordinates_with_laws(tree: Tree) -> Iterator[JointLaw]:
    """Every coordinate on which a joint law may act, in the order of the joints.

    A joint that follows another has its law at its own coordinate, wherever its leader stands among the joints.
    """
    slots = {s.owner: s for s in tree.mechanism.slots if s.joint is not None}
    first = first_places(tree.mechanism)
    for joint in tree.mechanism.joints:
        if joint.name in slots:
            slot = slots[joint.name]
            iq, nq, iv, nv = slot.iq, slot.nq, slot.iv, slot.nv
            for k in range(nv - (joint.elastic is not None)):
                # a quaternion has no component for each velocity; stiffness there is refused below
                yield _law(tree, joint, tree.q[iq + k] if slot.plain else None, tree.qd[iv + k], iv + k)
            if joint.elastic is not None:
                stiffness, damping = (tree.node(x) for x in joint.elastic)
                yield JointLaw(tree.q[iq + nq - 1], tree.qd[iv + nv - 1], stiffness, 0, damping, 0, iv + nv - 1)
        elif joint.mimic is not None and joint.mode != "locked" and joint.kind != "ball":  # which has no laws
            iq, iv = first[joint.mimic.joint]
            ratio, offset = tree.node(joint.mimic.ratio), tree.node(joint.mimic.offset)
            yield _law(tree, joint, ratio * tree.q[iq] + offset, ratio * tree.qd[iv], iv, ratio)


def _law(tree: Tree, joint: Joint, q: Any, qd: Any, velocity: int, factor: Any = 1) -> JointLaw:
    if joint.stiffness is not None and q is None:
        raise ModelError(
            f"joint {joint.name!r} of kind {joint.kind!r} has a stiffness, but its coordinates are a quaternion. "
            "Use the kind 'spherical' or 'floating', or a force element."
        )
    k, rest, d, f = (
        0 if x is None else tree.node(x) for x in (joint.stiffness, joint.rest, joint.viscous, joint.coulomb)
    )
    return JointLaw(q, qd, k, rest, d, f, velocity, factor)


def joint_laws(tree: Tree) -> Array:
    """(nv,) efforts of the joints' own laws; a follower's acts on the velocity of its leader.

    Efforts of force elements (`tree.efforts`) are subtracted.
    """
    out = zeros(len(tree.qd))
    for law in coordinates_with_laws(tree):
        out[law.velocity] = plus(out[law.velocity], times(law.factor, law.effort))
    if tree.efforts is not None:
        for k, effort in enumerate(tree.efforts):
            out[k] = minus(out[k], effort)
    return out
