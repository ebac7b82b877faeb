"""Inverse dynamics as a product: tau = Y(q, qd, qdd) pi, with pi the parameters that enter linearly.

A body's wrench is linear in its ten inertial parameters (body_wrench of `newton_euler.py`). The effort on a velocity is
the power of that wrench on the twist that a unit of the velocity gives to the body (virtual power), so a column costs
one scalar product for each velocity on the body's path, and the kinematics are shared by all columns.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from symbody.basics.errors import ModelError
from symbody.mechanics.formalisms.link_motion import Twist, joint_twists
from symbody.mechanics.formalisms.link_poses import LinkPose, poses
from symbody.mechanics.formalisms.newton_euler import LinkMotion, motions, rate_matrix
from symbody.mechanics.formalisms.sweeps import sweep_outward
from symbody.mechanics.formalisms.tree import Link, Tree
from symbody.mechanics.formalisms.vec3 import (
    OTHERS,
    ZERO,
    Mat,
    Vec,
    axis_vector,
    cross,
    dot,
    is_null,
    mat,
    minus,
    plus,
    times,
    vec,
)
from symbody.model.record.mechanism import Joint, Mechanism
from symbody.model.spatial.inertia import from_com
from symbody.symbolic.expr.arrays import Array, zeros
from symbody.symbolic.expr.call import call

# the ten of a body, about the origin of its frame and in its axes, in Pinocchio's order; quantity -> unit
INERTIAL = {
    "m": "kg", "mx": "kg m", "my": "kg m", "mz": "kg m", "Ixx": "kg m^2", "Ixy": "kg m^2", "Iyy": "kg m^2",
    "Ixz": "kg m^2", "Iyz": "kg m^2", "Izz": "kg m^2",
}  # fmt: skip
TENSOR = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))  # entries of the tensor, in the same order

Twists = dict[int, Twist]  # velocity of the Mechanism -> twist of a frame for a unit of it, for those that move it


@dataclass(frozen=True)
class ParameterColumn:
    """A linear parameter: a quantity of a body or of a joint."""

    owner: str
    quantity: str
    unit: str = ""

    def __str__(self) -> str:
        return f"{self.owner}.{self.quantity}"


def columns(mechanism: Mechanism) -> list[ParameterColumn]:
    """What the entries of pi are: ten for every body, then those of the joints, both in document order.

    A body that is fixed to another keeps its own ten. A joint has those of rotor, viscous, coulomb, stiffness,
    elastic_stiffness and elastic_damping that the Mechanism gives it.
    """
    out = [ParameterColumn(body.name, name, unit) for body in mechanism.bodies for name, unit in INERTIAL.items()]
    for joint in mechanism.joints:
        out += [ParameterColumn(joint.name, name) for name in joint_columns(joint)]
    return out


def parameters(tree: Tree) -> list[Any]:
    """pi: the values of `columns`, as nodes of the Tree's Graph."""
    out: list[Any] = []
    for body in tree.mechanism.bodies:
        inertia = from_com(tree.node(body.mass), tree.node(body.com), tree.node(body.inertia))
        out += [inertia.mass, *inertia.moment, *(inertia.tensor[i, k] for i, k in TENSOR)]
    for joint in tree.mechanism.joints:
        out += [tree.node(value) for value in joint_columns(joint).values()]
    return out


def joint_columns(joint: Joint) -> dict[str, Any]:
    """Linear parameters of a joint that moves: quantity -> node of the Mechanism."""
    if joint.kind == "fixed" or joint.mode == "locked":
        return {}
    elastic = joint.elastic or (None, None)
    found = {
        "rotor": None if joint.rotor is None else joint.rotor.inertia,
        "viscous": joint.viscous,
        "coulomb": joint.coulomb,
        "stiffness": joint.stiffness,
        "elastic_stiffness": elastic[0],
        "elastic_damping": elastic[1],
    }
    return {name: value for name, value in found.items() if value is not None}


def regressor(tree: Tree, wanted: Collection[int] | None = None) -> Array:
    """Y (nv, p) with tau = Y pi; columns that are not in `wanted` stay zero and cost nothing.

    Force elements are no part of it: see `known_efforts`.
    """
    places = poses(tree)
    moves, twists = motions(tree, places), link_twists(tree, places)
    names = columns(tree.mechanism)
    wanted = range(len(names)) if wanted is None else set(wanted)
    out = zeros(len(tree.qd), len(names))
    for b, body in enumerate(tree.mechanism.bodies):
        index, rotation, origin = tree.places[body.name]
        mine = [k for k in range(10) if 10 * b + k in wanted]
        if index < 0 or not mine:
            continue
        turn = None if rotation is None else mat(rotation)
        motion, shares = _at(moves[index], twists[index], turn, vec(origin))
        forces, moments = wrench_columns(motion)
        for velocity, (angular, linear) in shares.items():
            for k in mine:
                out[velocity, 10 * b + k] = plus(dot(linear, forces[k]), dot(angular, moments[k]))
    laws = _Laws(tree, moves, twists)
    at = 10 * len(tree.mechanism.bodies)
    for joint in tree.mechanism.joints:
        for name in joint_columns(joint):
            if at in wanted:
                for velocity, value in laws.column(joint, name):
                    out[velocity, at] = plus(out[velocity, at], value)
            at += 1
    return out


def wrench_columns(m: LinkMotion) -> tuple[list[Vec], list[Vec]]:
    """Force and moment at a body's origin, in its axes, for a unit of each of the ten parameters.

    mass a + U s and J wd + w x J w + s x a; the second by entries of U (docs/theory.md).
    """
    forces = [m.a, *m.u.T, *[ZERO] * 6]
    moments = [ZERO, *(cross(axis_vector(k, 1), m.a) for k in range(3))]
    for i, k in TENSOR:
        n: list[Any] = [0, 0, 0]
        if i == k:
            b, c = OTHERS[i]
            n[i] = m.wd[i]
            n[b], n[c] = times(m.w[i], m.w[c]), minus(0, times(m.w[i], m.w[b]))
        else:
            c = 3 - i - k
            a, b = OTHERS[c]
            n[a], n[b] = minus(0, m.u[c][a]), m.u[c][b]
            n[c] = minus(times(m.w[a], m.w[a]), times(m.w[b], m.w[b]))
        moments.append(vec(n))
    return forces, moments


# -- twists


def link_twists(tree: Tree, places: list[LinkPose]) -> list[Twists]:
    """For the frame of every Link, the twists that a unit of each velocity on its path gives."""

    def outward(link: Link, parent: Twists) -> Twists:
        pose = places[link.index]
        out: Twists = {}
        for velocity, (angular, linear) in parent.items():
            linear = linear + cross(angular, pose.arm)
            out[velocity] = (
                pose.from_stem(pose.parent_to_stem(angular)),
                pose.from_stem(pose.parent_to_stem(linear)),
            )
        for (angular, linear), column in zip(joint_twists(link), link.columns):
            for velocity, factor in column:
                # joints that mimic one another share a velocity
                old = out.get(velocity, (ZERO, ZERO))
                out[velocity] = (
                    old[0] + factor * angular,
                    old[1] + factor * linear,
                )
        return out

    return sweep_outward(tree, outward, {})


def _at(m: LinkMotion, twists: Twists, rotation: Mat | None, origin: Vec) -> tuple[LinkMotion, Twists]:
    """Motion and twists of a frame on the Link: rotation takes its coordinates to the Link's, origin in Link axes."""
    if rotation is None and is_null(origin):
        return m, twists

    def back(v: Vec) -> Vec:
        return v if rotation is None else rotation.T @ v

    w, wd, a = back(m.w), back(m.wd), back(m.a + m.u @ origin)
    u = m.u if rotation is None else rate_matrix(w, wd)
    shifted = {
        velocity: (back(angular), back(linear + cross(angular, origin)))
        for velocity, (angular, linear) in twists.items()
    }
    return LinkMotion(w=w, wd=wd, a=a, u=u), shifted


# -- joints


class _Laws:
    """Columns of the joints' own parameters, as (velocity, value) pairs."""

    def __init__(self, tree: Tree, moves: list[LinkMotion], twists: list[Twists]) -> None:
        self.tree, self.moves, self.twists = tree, moves, twists
        self.slots = {s.owner: s for s in tree.mechanism.slots}
        self.first: dict[str, Link] = {}
        for link in tree.links:
            self.first.setdefault(link.joint, link)

    def column(self, joint: Joint, name: str) -> list[tuple[int, Any]]:
        if name == "rotor":
            return self._rotor(joint)
        if name.startswith("elastic"):
            slot = self.slots[joint.name]
            last = slot.iv + slot.nv - 1
            deflection = self.tree.q[slot.iq + slot.nq - 1]
            return [(last, deflection if name == "elastic_stiffness" else self.tree.qd[last])]
        out = []
        for velocity, factor, q, qd in self._coordinates(joint):
            if name == "stiffness":
                if q is None:
                    raise ModelError(
                        f"joint {joint.name!r} of kind {joint.kind!r} has a stiffness, but its coordinates are a "
                        "quaternion. Use the kind 'spherical' or 'floating', or a force element."
                    )
                rest = 0 if joint.rest is None else self.tree.node(joint.rest)
                value = minus(q, rest)
            else:
                value = qd if name == "viscous" else call("sign", qd)
            out.append((velocity, times(factor, value)))
        return out

    def _coordinates(self, joint: Joint) -> list[tuple[int, Any, Any, Any]]:
        """(velocity of the Mechanism, its factor, coordinate, speed) of each motion, elastic deflection excluded."""
        tree = self.tree
        if joint.mimic is not None:
            leader = self.slots[joint.mimic.joint]
            iq, iv = leader.iq, leader.iv
            ratio, shift = tree.node(joint.mimic.ratio), tree.node(joint.mimic.offset)
            return [(iv, ratio, ratio * tree.q[iq] + shift, ratio * tree.qd[iv])]
        slot = self.slots[joint.name]
        iq, iv = slot.iq, slot.iv
        own = range(slot.nv - (joint.elastic is not None))
        return [(iv + k, 1, tree.q[iq + k] if slot.plain else None, tree.qd[iv + k]) for k in own]

    def _rotor(self, joint: Joint) -> list[tuple[int, Any]]:
        """Reflected: ratio^2 qdd. Gyroscopic: spinning on the parent, less the same rotor at rest, as in `tree.py`."""
        assert joint.rotor is not None
        tree, link = self.tree, self.first[joint.name]
        spin = self.first.get(f"{joint.name}.rotor")
        if spin is None:
            ratio = tree.node(joint.rotor.ratio)
            value = times(ratio**2, link.qdd)
            return [(velocity, times(factor, value)) for velocity, factor in link.columns[0]]
        kind = TENSOR.index((spin.axis, spin.axis)) + 4
        rotation = None if spin.rotation is None else mat(spin.rotation)
        carrier, carried = _at(self.moves[spin.parent], self.twists[spin.parent], rotation, ZERO)
        out = []
        for sign, motion, twists in ((1, self.moves[spin.index], self.twists[spin.index]), (-1, carrier, carried)):
            moment = wrench_columns(motion)[1][kind]
            out += [(v, times(sign, dot(angular, moment))) for v, (angular, _) in twists.items()]
        return out


def known_efforts(tree: Tree) -> Array:
    """(nv,) what force elements and wrenches from outside add: tau = Y pi + known efforts."""
    out = zeros(len(tree.qd))
    places = poses(tree)
    twists = link_twists(tree, places)
    for index, (force, moment) in tree.wrenches.items():
        for velocity, (angular, linear) in twists[index].items():
            power = plus(dot(linear, vec(force)), dot(angular, vec(moment)))
            out[velocity] = minus(out[velocity], power)
    if tree.efforts is not None:
        out = np.array([minus(x, effort) for x, effort in zip(out, tree.efforts)], dtype=object)
    return out
