"""Loads: the record that force elements fill, and what an element sees of its BodyMotion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from symbody.basics.errors import ModelError
from symbody.model.record.mechanism import Force
from symbody.reference.bodies import WORLD, BodyPose, frame_pose
from symbody.reference.expressions import external
from symbody.reference.jets import Array, Jet, constant
from symbody.symbolic.expr.external import External
from symbody.symbolic.expr.graph import Graph
from symbody.symbolic.expr.node import Node
from symbody.symbolic.expr.parse import parse

if TYPE_CHECKING:
    from symbody.reference.body_dynamics import BodyMotion


@dataclass(eq=False)
class Loads:
    """Sums over all force elements at n states.

    wrenches   (n, bodies, 6) about the world's origin, world axes; sizes, turning: their forces and torques, unsigned
    efforts    (n, nv) on joints
    stored, storing   energy J and its rate W; given: power of sources, W; throughput: all powers, unsigned
    rates      time derivatives of states; observed: what elements show, by name
    events     guard_<event> of elements, and what states and modes become: reset_<event>_<state>
    foreign    laws of the user, which are taken as they are
    """

    wrenches: Array
    sizes: Array
    turning: Array
    efforts: Array
    stored: Array
    storing: Array
    given: Array
    throughput: Array
    rates: dict[str, Array] = field(default_factory=dict)
    observed: dict[str, Array] = field(default_factory=dict)
    events: dict[str, Array] = field(default_factory=dict)
    foreign: list[str] = field(default_factory=list)


def plain_name(name: str) -> str:
    """A name as part of the names of inputs and outputs."""
    return "".join(c if c.isalnum() else "_" for c in name)


class NumericElement:
    """A force element at the states of a BodyMotion: numbers of its values, poses of its points (first order)."""

    def __init__(self, motion: BodyMotion, force: Force, into: Loads) -> None:
        self.motion, self.force, self.into = motion, force, into
        self.name = plain_name(force.name)
        self.zero = Jet(np.zeros(motion.count), np.zeros(motion.count))
        self.points = [self._pose(body, frame) for body, frame in force.points]

    def _pose(self, body: str, frame: str) -> BodyPose:
        flat = [BodyPose(*(Jet(j.x, j.x1) for j in (p.rotation, p.position))) for p in self.motion.poses]
        found = frame_pose(self.motion.model, flat, body, frame, self.zero)
        n = self.motion.count

        def full(j: Jet, *shape: int) -> Jet:
            return j.map(lambda a: np.broadcast_to(a, (n, *shape)))

        return BodyPose(full(found.rotation, 3, 3), full(found.position, 3))

    # -- numbers

    def number(self, key: str, default: float | None = None) -> float:
        value = self.force.values.get(key)
        if value is None:
            if default is None:
                raise ModelError(f"force {self.force.name!r} has no {key!r}.")
            return default
        return float(self.motion.model.number(value))

    def has(self, key: str) -> bool:
        return self.force.values.get(key) is not None

    def word(self, key: str, default: str) -> str:
        return str(self.force.values.get(key) or default)

    def vector(self, key: str) -> Array:
        """(n, 3)"""
        given = self.motion.model.number(list(self.force.values[key]))
        return np.broadcast_to(given, (self.motion.count, 3))

    def input(self, name: str, size: int | None = None) -> Array:
        """(n,) or (n, size): an input from outside, or a state of the element."""
        shape = () if size is None else (size,)
        return np.broadcast_to(self.motion.inputs(name, shape), (self.motion.count, *shape))

    # -- what the element does

    def push(self, k: int, force: Array, moment: Array, at: Array | None = None) -> Array:
        """A force (n, 3) at a point (the origin of the k-th frame) and a moment; returns their power, W."""
        point = self.points[k].position.x if at is None else at
        wrench = np.concatenate([moment + np.cross(point, force), force], axis=-1)
        index = self.motion.model.index[self.force.points[k][0]]
        if index == WORLD:
            return np.zeros(self.motion.count)
        self.into.wrenches[:, index] += wrench
        self.into.sizes[:, index] += np.linalg.norm(force, axis=-1)
        centre = self.motion.centres[index].x
        lever = np.linalg.norm(point - centre, axis=-1) * np.linalg.norm(force, axis=-1)
        self.into.turning[:, index] += np.linalg.norm(moment, axis=-1) + lever
        power = np.sum(wrench * self.motion.poses[index].twist, axis=-1)
        twist = self.motion.poses[index].twist
        self.into.throughput += np.linalg.norm(force, axis=-1) * np.linalg.norm(
            twist[:, 3:] + np.cross(twist[:, :3], point), axis=-1
        ) + np.linalg.norm(moment, axis=-1) * np.linalg.norm(twist[:, :3], axis=-1)
        return power

    def effort(self, iv: int, effort: Array) -> None:
        self.into.efforts[:, iv] += effort
        self.into.throughput += np.abs(effort * self.motion.qd[:, iv])

    def store(self, energy: Jet) -> None:
        self.into.stored += energy.x
        self.into.storing += energy.x1
        self.into.throughput += np.abs(energy.x1)

    def give(self, power: Array) -> None:
        self.into.given += power
        self.into.throughput += np.abs(power)

    def show(self, name: str, value: Array) -> None:
        self.into.observed[f"{self.name}_{name}"] = np.broadcast_to(value, (self.motion.count,))

    def user(self, function: Any, names: dict[str, Array], size: int | None = None) -> list[Array]:
        """Results of a law of the user: an External, a text, or a Python function of nodes."""
        self.into.foreign.append(self.force.name)
        n = self.motion.count
        values = {k: constant(np.broadcast_to(v, (n,)), self.zero) for k, v in names.items()}
        if isinstance(function, External):
            return [j.x for j in external(function, list(values.values()), self.zero)]
        graph = Graph("user")
        symbols = {k: graph.symbol(k, "time" if k == "t" else "input") for k in names}
        with graph:
            if isinstance(function, str):
                made = parse(function, dict(symbols), graph, strict=True)
            else:
                made = function(*symbols.values())
        results: Sequence[Any] = made if isinstance(made, (list, tuple)) else [made]
        out = []
        for x in results:
            jet = self.motion.model.number.jet(x, values) if isinstance(x, Node) else constant(float(x), self.zero)
            out.append(np.broadcast_to(jet.x, (n,)))
        return out


class ForeignPlace:
    """What a law without a transcription sees: numbers of its element and motions, as arrays (n,) over the states."""

    def __init__(self, element: NumericElement) -> None:
        self.element, self.displacement = element, element.zero
        self.row = element.motion.model.foreign[element.force.kind]
        self.where: str = self.row.place_of(element.force.points, element.force.values)

    @property
    def x(self) -> Array:
        return self.displacement.x

    @property
    def v(self) -> Array:
        return self.displacement.x1

    @property
    def position(self) -> list[Array]:
        return list(self.element.points[0].position.x.T)

    @property
    def velocity(self) -> list[Array]:
        return list(self.element.points[0].position.x1.T)

    @property
    def omega(self) -> list[Array]:
        return list(self.element.points[0].omega.T)

    @property
    def rotation(self) -> list[list[Array]]:
        turn = self.element.points[0].rotation.x
        return [[turn[:, i, j] for j in range(3)] for i in range(3)]

    @property
    def time(self) -> float:
        return float(np.asarray(self.element.motion.t))

    def value(self, name: str) -> Any:
        return self.element.number(name) if self.element.has(name) else self._field(name).default

    def given(self, name: str) -> bool:
        return self.element.has(name)

    def option(self, name: str) -> str:
        return self.element.word(name, self._field(name).words[0])

    def _field(self, name: str) -> Any:
        return self.row.fields_for(self.element.force.values)[name]

    def full(self, letter: str, name: str = "") -> str:
        return f"{letter}_{self.element.name}_{name}" if name else f"{letter}_{self.element.name}"

    def state(self, name: str = "") -> Array:
        return self.element.input(self.full("x", name))

    def mode(self, name: str = "") -> Array:
        return self.element.input(self.full("m", name))

    def input(self, letter: str, unit: str = "") -> Array:
        return self.element.input(self.full(letter))

    def observe(self, name: str, value: Array, unit: str = "") -> None:
        self.element.show(name, value)
