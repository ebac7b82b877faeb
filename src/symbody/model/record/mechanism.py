"""Mechanism: the frozen, validated description of a mechanical system. It knows nothing of equations.

Every number in it is a Node of the Mechanism's own Graph: a constant, a parameter (a symbol with a default value), or
an expression of parameters. Zeros and ones are exact constants, so that they vanish from equations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as _replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from symbody.basics.errors import ModelError, NameLookupError, nearest
from symbody.basics.lazy import imported
from symbody.basics.memory import memory_of
from symbody.model.record.coordinates import Slot, layout
from symbody.model.record.frozen import freeze
from symbody.symbolic.expr.graph import Graph
from symbody.symbolic.expr.node import Node
from symbody.symbolic.expr.pickling import Packed
from symbody.symbolic.expr.walk import free_symbols

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from symbody.model.build.builder import Builder

WORLD = "world"


@dataclass(frozen=True, eq=False)
class Placement:
    """Pose of a frame in the frame of its owner: `rotation` takes coordinates of the frame to those of the owner."""

    rotation: np.ndarray  # (3, 3) nodes
    position: np.ndarray  # (3,) nodes, m

    def __post_init__(self) -> None:
        freeze(self, "rotation", "position")


@dataclass(frozen=True, eq=False)
class Shape:
    """What a body looks like: box (x, y, z sizes), cylinder (radius, length along z), sphere (radius), mesh (file)."""

    kind: str
    size: tuple[float, ...] = ()
    placement: Placement | None = None
    file: str = ""
    colour: tuple[float, ...] = ()


@dataclass(frozen=True, eq=False)
class Body:
    """A rigid body. Its frame is the one of the joint that carries it, at the child's side.

    mass     kg
    com      (3,) centre of mass in the body frame, m
    inertia  (3, 3) inertia tensor about the centre of mass, in body axes, kg m^2
    frames   named frames fixed to the body (anchor points, sensors, tools)
    coordinates   name of a row of `motions.MOTIONS`: generalised coordinates that the body itself owns. They move its
             frame, with mass and all that it carries, on the joint frame, and each named frame by its own pose
    """

    name: str
    mass: Node
    com: np.ndarray
    inertia: np.ndarray
    frames: Mapping[str, Placement] = field(default_factory=dict)
    shapes: tuple[Shape, ...] = ()
    origin: str = ""
    physical: bool = True  # False: a published tensor that no rigid body has, taken as it is
    coordinates: str = ""

    def __post_init__(self) -> None:
        freeze(self, "com", "inertia", "frames")


@dataclass(frozen=True, eq=False)
class Rotor:
    """An actuator's rotor: inertia about its axis (kg m^2) and gear ratio (motor speed / joint speed).

    Reflected: adds ratio^2 inertia to the joint. Gyroscopic: a body that spins on the parent, coupled with its motion.
    """

    inertia: Node
    ratio: Node
    gyroscopic: bool = False


@dataclass(frozen=True, eq=False)
class Mimic:
    """The joint's coordinate is ratio * (coordinate of `joint`) + offset, and it has none of its own."""

    joint: str
    ratio: Node
    offset: Node


@dataclass(frozen=True, eq=False)
class Limits:
    """Bounds of coordinate, speed and effort; None where there is none."""

    lower: float | None = None
    upper: float | None = None
    velocity: float | None = None
    effort: float | None = None


@dataclass(frozen=True, eq=False)
class Joint:
    """A joint from `parent` to `child`. At q = 0 the child's frame coincides with the joint frame `placement`.

    kind       a name of `joints.KINDS`: a chain of elementary motions
    axis       (3,) direction in the joint frame, of unit length; for one-axis kinds
    pitch      m/rad, helical kinds
    sequence   order of elementary rotations of kinds that have several, such as "xyz"
    mode       actuated, passive (no effort), locked (at `value`), driven (prescribed: `value` is a law of time t)
    value      of one coordinate; a tuple where there are several, in the order of the coordinates (see `values`)
    stiffness, rest, viscous, coulomb   joint laws: tau = -stiffness (q - rest) - viscous qd - coulomb sign(qd)
    elastic    (stiffness, damping) between motor and link side: the joint gets a second, elastic coordinate
    """

    name: str
    kind: str
    parent: str
    child: str
    placement: Placement
    axis: np.ndarray
    pitch: Node | None = None
    sequence: str = ""
    mode: str = "actuated"
    value: Node | tuple[Node, ...] | None = None
    mimic: Mimic | None = None
    limits: Limits = Limits()
    stiffness: Node | None = None
    rest: Node | None = None
    viscous: Node | None = None
    coulomb: Node | None = None
    rotor: Rotor | None = None
    elastic: tuple[Node, Node] | None = None
    origin: str = ""

    def __post_init__(self) -> None:
        freeze(self, "axis")

    @property
    def values(self) -> tuple[Node, ...]:
        """`value` as one expression for each coordinate; () if there is none."""
        if self.value is None:
            return ()
        return self.value if isinstance(self.value, tuple) else (self.value,)


@dataclass(frozen=True, eq=False)
class Cut:
    """A loop closure between two frames (body, frame name), which coincide (or keep their distance) when it is closed.

    kind      solid (6 equations), ball (3), rod (1: the points keep the distance `length`, which may be an expression
              of parameters and the time t), revolute (5), prismatic (5), universal (4), cylindrical (4), or rows: the
              chosen ones of x, y, z, rx, ry, rz (0 to 5), which are displacements and small rotations of the second
              frame along and about the axes of the first
    axis      x, y or z: direction of the joint that was cut, an axis of both frames (of a universal one: the axis of
              the first frame, which stays perpendicular to the axis `axis2` of the second)
    switched  whether the loop opens and closes during motion: an input s_<name> says when (1 closed, 0 open)
    """

    name: str
    kind: str
    first: tuple[str, str]
    second: tuple[str, str]
    length: Node | None = None
    rows: tuple[int, ...] = ()
    axis: str = "z"
    axis2: str = "y"
    switched: bool = False
    origin: str = ""


@dataclass(frozen=True, eq=False)
class Coupling:
    """A condition on coordinates: a gear or screw, a prescribed relation, rolling without slip.

    kind        position: expression of q.<joint> and t that is zero; velocity: of q.<joint>, qd.<joint> and t, linear
                in the velocities, zero (non-holonomic)
    expression  node of the Mechanism's Graph; coordinates and velocities are symbols of role "coordinate" and
                "velocity" with these names, a joint of several coordinates counts them from 1: q.<joint>.2
    switched    as for a Cut
    """

    name: str
    kind: str
    expression: Node
    switched: bool = False
    origin: str = ""


@dataclass(frozen=True, eq=False)
class Force:
    """A force element: `kind` names a law of `library`, `points` are (body, frame) pairs, `values` its parameters."""

    name: str
    kind: str
    points: tuple[tuple[str, str], ...]
    values: Mapping[str, Any] = field(default_factory=dict)
    origin: str = ""

    def __post_init__(self) -> None:
        freeze(self, "values")


@dataclass(frozen=True, eq=False)
class Sensor:
    """A frame whose motion is of interest."""

    name: str
    body: str
    frame: str = ""
    origin: str = ""


@dataclass(frozen=True, eq=False)
class Keyframe:
    """A named state: q and qd of joints (or bodies that own coordinates), by name, as many numbers as each has, with
    parameters at their defaults."""

    name: str
    q: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    qd: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    origin: str = ""
    laws: Mapping[str, tuple[Node, ...]] = field(default_factory=dict)  # "q.<joint>" -> expressions of parameters

    def __post_init__(self) -> None:
        freeze(self, "q", "qd", "laws")


@dataclass(frozen=True, eq=False)
class Mechanism(Packed):
    """Bodies and joints as trees on the body "world". Joints stand in an order in which parents come first."""

    name: str
    bodies: tuple[Body, ...]
    joints: tuple[Joint, ...]
    gravity: np.ndarray  # (3,) acceleration of free fall in world axes, m/s^2
    graph: Graph
    cuts: tuple[Cut, ...] = ()
    couplings: tuple[Coupling, ...] = ()
    forces: tuple[Force, ...] = ()
    sensors: tuple[Sensor, ...] = ()
    notes: tuple[str, ...] = ()  # what a reader ignored or rounded
    source: str = ""  # file or publication
    keyframes: tuple[Keyframe, ...] = ()  # named states, which q0 and qd0 may name
    followers: Mapping[str, Node] = field(default_factory=dict)  # parameters whose default is an expression of others

    def __post_init__(self) -> None:
        freeze(self, "gravity", "followers")

    @cached_property
    def slots(self) -> tuple[Slot, ...]:
        """Who owns which coordinates: joints and bodies, in the order of q."""
        return layout(self)

    @cached_property
    def body_of(self) -> dict[str, Body]:
        """Bodies by name."""
        return {b.name: b for b in self.bodies}

    @cached_property
    def joint_of(self) -> dict[str, Joint]:
        """Joints by name."""
        return {j.name: j for j in self.joints}

    @cached_property
    def carried_by(self) -> dict[str, Joint]:
        """The joint that carries each body, by the body's name."""
        return {j.child: j for j in self.joints}

    @property
    def nq(self) -> int:
        """Number of coordinates q."""
        return sum(s.nq for s in self.slots)

    @property
    def nv(self) -> int:
        """Number of velocities qd."""
        return sum(s.nv for s in self.slots)

    @property
    def parameters(self) -> dict[str, Node]:
        """Symbols of role parameter that occur in the description, by name, in the order of their making."""

        def make() -> dict[str, Node]:
            return {s.data.name: s for s in free_symbols(self.values()) if s.data.role == "parameter"}

        return memory_of(self).get("parameters", (), make).copy()

    def values(self) -> Iterator[Node]:
        """Every node of the description."""
        yield from self.gravity.flat
        for b in self.bodies:
            yield b.mass
            yield from b.com.flat
            yield from b.inertia.flat
            for p in (*b.frames.values(), *(s.placement for s in b.shapes if s.placement is not None)):
                yield from p.rotation.flat
                yield from p.position.flat
        for j in self.joints:
            yield from j.placement.rotation.flat
            yield from j.placement.position.flat
            yield from j.axis.flat
            for x in (j.pitch, *j.values, j.stiffness, j.rest, j.viscous, j.coulomb, *(j.elastic or ())):
                if x is not None:
                    yield x
            if j.rotor is not None:
                yield from (j.rotor.inertia, j.rotor.ratio)
            if j.mimic is not None:
                yield from (j.mimic.ratio, j.mimic.offset)
        yield from (c.length for c in self.cuts if c.length is not None)
        yield from (c.expression for c in self.couplings)
        for f in self.forces:
            for v in f.values.values():
                yield from (x for x in np.array(v, dtype=object).flat if isinstance(x, Node))
        for k in self.keyframes:
            yield from (x for row in k.laws.values() for x in row)
        yield from self.followers.values()

    def body(self, name: str) -> Body:
        if name not in self.body_of:
            raise NameLookupError(f"{self.name} has no body {name!r}. {nearest(name, self.body_of)}")
        return self.body_of[name]

    def joint(self, name: str) -> Joint:
        if name not in self.joint_of:
            raise NameLookupError(f"{self.name} has no joint {name!r}. {nearest(name, self.joint_of)}")
        return self.joint_of[name]

    def keyframe(self, name: str) -> Keyframe:
        found = {k.name: k for k in self.keyframes}
        if name not in found:
            hint = nearest(name, found) if found else "It has none."
            raise NameLookupError(f"{self.name} has no keyframe {name!r}. {hint}")
        return found[name]

    def replace(self, **changes: Any) -> Mechanism:
        """A copy with some fields changed, validated again; pieces that stay the same are not looked at twice."""
        for name in changes:
            if name not in self.__dataclass_fields__:
                raise NameLookupError(f"a Mechanism has no field {name!r}. {nearest(name, self.__dataclass_fields__)}")
        valid: Mechanism = imported("model.record.validate", "validate")(_replace(self, **changes), self)
        return valid

    def with_loops(self, **closed: bool) -> Mechanism:
        """Switched cuts and couplings by name: True makes one permanent, False takes it away."""
        pieces: tuple[Any, ...] = (*self.cuts, *self.couplings)
        known = [p.name for p in pieces if p.switched]
        for name, value in closed.items():
            if name not in known:
                raise NameLookupError(f"{self.name} has no switched loop {name!r}. {nearest(name, known)}")
            if value not in (0, 1):
                raise ModelError(f"{self.name}: loop {name!r} was given {value!r}; expected True (closed) or False.")

        def held(pieces: tuple[Any, ...]) -> tuple[Any, ...]:
            kept = (p for p in pieces if closed.get(p.name, True))
            return tuple(_replace(p, switched=False) if p.name in closed else p for p in kept)

        return self.replace(cuts=held(self.cuts), couplings=held(self.couplings))

    def close_gaps(self, tolerance: float = 1e-6) -> Mechanism:
        """The Mechanism whose loops close exactly where they close to the tolerance (m, rad), as CAD data may do."""
        closed: Mechanism = imported("mechanics.loops.closing.gaps", "close_gaps")(self, tolerance)
        return closed

    @staticmethod
    def builder(name: str, gravity: Sequence[Any] = (0, 0, -9.81), source: str = "") -> Builder:
        """A Builder: `Mechanism.builder("arm").body(...).joint(...).done()`."""
        made: Builder = imported("model.build.builder", "Builder")(name, gravity, source)
        return made

    def __repr__(self) -> str:
        bodies = f"{len(self.bodies)} {'body' if len(self.bodies) == 1 else 'bodies'}"
        joints = f"{len(self.joints)} joint{'s' * (len(self.joints) != 1)}"
        sizes = f"{bodies}, {joints}, nq {self.nq}, nv {self.nv}"
        return f"Mechanism {self.name}: {sizes}"

    def _repr_markdown_(self) -> str:
        return f"```\n{imported('model.record.tree_text', 'tree_text')(self)}\n```"

    def show(self, q: Any = None, parameters: Mapping[str, float] | None = None) -> Figure:
        """A matplotlib figure at q, in its plane if the mechanism is planar. Without q: zero, with the loops closed."""
        figure: Figure = imported("show.drawing.show", "show")(self, q, parameters)
        return figure

    @property
    def elastic_coordinates(self) -> tuple[int, ...]:
        """Places in q of the deflections of elastic joints, so that they can be zeroed together."""
        return tuple(s.iq + s.nq - 1 for s in self.slots if s.joint is not None and s.joint.elastic is not None)

    @property
    def elastic_velocities(self) -> tuple[int, ...]:
        """Places in qd of the deflection rates of elastic joints."""
        return tuple(s.iv + s.nv - 1 for s in self.slots if s.joint is not None and s.joint.elastic is not None)
