"""Energy as a product: kinetic + potential = h(q, qd) pi, with the parameters of `regressor.py`.

A body has 1/2 m v.v + s.(v x w) + 1/2 w.I w - g.(m p + R s), which is linear in m, s = m c and I about its origin.
Friction stores nothing: its columns are zero. Along a motion d/dt (h pi) = qd^T Y pi but for those.
"""

from __future__ import annotations

from typing import Any

from symbody.mechanics.formalisms.link_motion import Twist
from symbody.mechanics.formalisms.link_poses import poses
from symbody.mechanics.formalisms.regressor import TENSOR, columns, joint_columns
from symbody.mechanics.formalisms.sweeps import sweep_outward
from symbody.mechanics.formalisms.tree import Link, Tree
from symbody.mechanics.formalisms.tree_energy import HALF, link_twist
from symbody.mechanics.formalisms.vec3 import ZERO, Vec, cross, dot, mat, minus, plus, times, vec
from symbody.model.record.mechanism import Joint
from symbody.symbolic.expr.arrays import Array, zeros

Fall = tuple[Vec, Any]  # gravity in Link axes, and its product with the position of the origin


def energy_row(tree: Tree) -> Array:
    """h (p,) J per unit of each parameter."""
    places = poses(tree)

    def fall(link: Link, parent: Fall) -> Fall:
        g, depth = parent
        pose = places[link.index]
        return pose.from_stem(pose.parent_to_stem(g)), plus(depth, dot(g, pose.arm))

    twists = sweep_outward(tree, lambda link, h: link_twist(link, places[link.index], h), (ZERO, ZERO))
    falls = sweep_outward(tree, fall, (vec(tree.gravity), 0))
    out = zeros(len(columns(tree.mechanism)))
    for b, body in enumerate(tree.mechanism.bodies):
        index, rotation, origin = tree.places[body.name]
        if index < 0:
            continue
        turn = None if rotation is None else mat(rotation)
        out[10 * b : 10 * b + 10] = _body(twists[index], falls[index], turn, vec(origin))
    at = 10 * len(tree.mechanism.bodies)
    for joint in tree.mechanism.joints:
        for name in joint_columns(joint):
            out[at] = _joint(tree, joint, name, twists)
            at += 1
    return out


def _body(twist: Twist, falls: Fall, rotation: Any, origin: Vec) -> list[Any]:
    (w, v), (g, depth) = twist, falls
    v, depth = v + cross(w, origin), plus(depth, dot(g, origin))
    if rotation is not None:
        w, v, g = (rotation.T @ x for x in (w, v, g))
    moment = [minus(x, y) for x, y in zip(cross(v, w), g)]
    tensor = [
        times(HALF, times(w[i], w[i])) if i == k else times(w[i], w[k]) for i, k in TENSOR
    ]  # fmt: skip
    return [minus(times(HALF, dot(v, v)), depth), *moment, *tensor]


def _joint(tree: Tree, joint: Joint, name: str, twists: list[Twist]) -> Any:
    if name not in ("rotor", "stiffness", "elastic_stiffness"):
        return 0
    if name == "rotor":
        assert joint.rotor is not None
        first = next(link for link in tree.links if link.joint == joint.name)
        spin = next((link for link in tree.links if link.joint == f"{joint.name}.rotor"), None)
        if spin is None:
            speed = times(tree.node(joint.rotor.ratio), first.qd)
            return times(HALF, times(speed, speed))
        # spinning on its carrier, less the same rotor at rest there
        own = twists[spin.index][0][spin.axis]
        carrier = twists[spin.parent][0]
        if spin.rotation is not None:
            carrier = mat(spin.rotation).T @ carrier
        rest = carrier[spin.axis]
        return times(HALF, minus(times(own, own), times(rest, rest)))
    total: Any = 0
    for stretch in _stretches(tree, joint, name):
        total = plus(total, times(HALF, times(stretch, stretch)))
    return total


def _stretches(tree: Tree, joint: Joint, name: str) -> list[Any]:
    slots = {s.owner: s for s in tree.mechanism.slots}
    rest = 0 if joint.rest is None else tree.node(joint.rest)
    if joint.mimic is not None:
        leader = slots[joint.mimic.joint]
        q = tree.node(joint.mimic.ratio) * tree.q[leader.iq] + tree.node(joint.mimic.offset)
        return [minus(q, rest)]
    slot = slots[joint.name]
    if name == "elastic_stiffness":
        return [tree.q[slot.iq + slot.nq - 1]]
    own = range(slot.nv - (joint.elastic is not None))
    return [minus(tree.q[slot.iq + k], rest) for k in own]
