"""Builder: a Mechanism piece by piece, from code or from a reader of files; `done` validates and freezes it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from symbody.errors import nearest
from symbody.expr.graph import Graph
from symbody.expr.node import Node
from symbody.model.joints import KINDS
from symbody.model.mechanism import (
    WORLD,
    Body,
    Cut,
    Force,
    Joint,
    Limits,
    Mechanism,
    Mimic,
    Placement,
    Rotor,
    Sensor,
    Shape,
)
from symbody.model.numbers import AUTO, fault, frozen_array, number_of, sequence_of, shown, to_node
from symbody.model.placing import axis_vector, rotation_matrix
from symbody.model.validate import checked_limits, validate

MODES = ("actuated", "passive", "locked", "driven")
INERTIA_NAMES = ("xx", "xy", "yy", "xz", "yz", "zz")


class Builder:
    """Collects parameters, bodies, joints and the rest, in any order; every method but `parameter` and `number` returns self.

    name, gravity (3,) m/s^2 in world axes, source: file or publication. `origin` of a piece is its file:line, for errors.
    """

    def __init__(self, name: str, gravity: Sequence[Any] = (0, 0, -9.81), source: str = "", origin: str = "") -> None:
        if not isinstance(name, str) or not name.strip():
            raise fault(origin, f"the name of the mechanism is {shown(name)}; expected a text.")
        self.name = name
        self.source = source
        self.graph = Graph(name)
        self.time = self.graph.symbol("t", "time", unit="s")
        self.names: dict[str, Node] = {}  # parameters and definitions, by name
        self.notes: list[str] = []
        self._bodies: dict[str, Body] = {}
        self._joints: dict[str, Joint] = {}
        self._cuts: dict[str, Cut] = {}
        self._forces: dict[str, Force] = {}
        self._sensors: dict[str, Sensor] = {}
        self._gravity: Any = gravity
        self._gravity_origin = origin

    # -- parameters and numbers

    def parameter(
        self, name: str, default: Any = None, unit: str = "", nonzero: bool = False, origin: str = ""
    ) -> Node:
        """A symbol that stays in the equations; `nonzero` lets programs divide by it."""
        self._new_name(name, origin)
        value = None if default is None else number_of(self.number(default, origin=origin, what=f"parameter {name!r}"))
        if default is not None and value is None:
            raise fault(origin, f"parameter {name!r} has default {shown(default)}, which is not a number.")
        if nonzero and value == 0:
            raise fault(origin, f"parameter {name!r} is declared nonzero and has default 0.")
        node = self.graph.symbol(
            name, "parameter", scope=self.name, unit=unit, origin=origin, default=value, nonzero=bool(nonzero)
        )
        self.names[name] = node
        return node

    def define(self, name: str, value: Any, origin: str = "") -> Node:
        """A name for an expression of parameters, for use in later expressions."""
        self._new_name(name, origin)
        self.names[name] = node = self.number(value, origin=origin, what=f"definition {name!r}")
        return node

    def number(self, value: Any, auto: str = "", origin: str = "", what: str = "a number", time: bool = False) -> Node:
        """int, float, expression text, Node, or "auto": the parameter named by the argument `auto`.

        With `time` the name t in an expression is the time, s.
        """
        if isinstance(value, str) and value.strip() == AUTO:
            if not auto:
                raise fault(
                    origin, f"{what} is 'auto', which is not possible here; expected a number or an expression."
                )
            return self.names.get(auto) or self.parameter(auto, origin=origin)
        names = {**self.names, "t": self.time} if time else self.names
        return to_node(value, self.graph, names, what, origin)

    def _new_name(self, name: str, origin: str) -> None:
        if not isinstance(name, str) or not name.isidentifier():
            raise fault(origin, f"a parameter is called {shown(name)}; expected a letter, then letters, digits and _.")
        if name in self.names:
            raise fault(origin, f"parameter {name!r} is given twice; expected different names.")
        if name in ("t", "pi", "deg", "inf", "nan", AUTO, "True", "False", "and", "or", "not"):
            raise fault(origin, f"a parameter is called {name!r}, a name with a meaning of its own; choose another.")

    def vector(self, value: Any, what: str, auto: str = "", origin: str = "") -> np.ndarray:
        """(3,) nodes; "auto" for an entry names it <auto>x, <auto>y, <auto>z, and "auto" alone names all three."""
        if isinstance(value, str) and value.strip() == AUTO:
            value = (AUTO,) * 3
        entries = sequence_of(value, 3, what, origin)
        nodes = [self.number(v, f"{auto}{k}" if auto else "", origin, what) for v, k in zip(entries, "xyz")]
        return frozen_array(nodes, 3)

    def placement(self, position: Any, rotation: Any, owner: str, auto: str = "", origin: str = "") -> Placement:
        """Pose of a frame from a position (m) and a rotation in any form of `rotation_matrix`."""
        matrix = rotation_matrix(
            rotation,
            self.graph,
            lambda v, what: self.number(v, origin=origin, what=what),
            self.notes.append,
            f"rotation of {owner}",
            origin,
        )
        return Placement(matrix, self.vector(position, f"position of {owner}", auto, origin))

    # -- pieces

    def body(
        self,
        name: str,
        mass: Any = 0,
        com: Any = (0, 0, 0),
        inertia: Any = 0,
        frames: Mapping[str, Any] | None = None,
        shapes: Sequence[Shape] = (),
        origin: str = "",
    ) -> Builder:
        """A rigid body: mass (kg), com (3,) m, inertia about the com in body axes (kg m^2).

        inertia: 0 | 3 (diagonal) | 6 [Ixx, Ixy, Iyy, Ixz, Iyz, Izz] | 3 x 3. frames: name -> position (3,), or
        {"position":, "rotation":}, or Placement. "auto" makes m_<name>, c_<name>x.., I_<name>xx..
        """
        self._check_name("body", name, self._bodies, origin)
        if name == WORLD:
            raise fault(origin, f"a body is called {WORLD!r}, which is the ground; choose another name.")
        tag = identifier(name)
        owner = f"body {name!r}"
        self._bodies[name] = Body(
            name,
            self.number(mass, f"m_{tag}", origin, f"mass of {owner}"),
            self.vector(com, f"com of {owner}", f"c_{tag}", origin),
            self._inertia(inertia, owner, f"I_{tag}", origin),
            {key: self._frame(f, f"frame {key!r} of {owner}", origin) for key, f in (frames or {}).items()},
            tuple(shapes),
            origin,
        )
        return self

    def joint(
        self,
        name: str,
        kind: str,
        parent: str,
        child: str,
        position: Any = (0, 0, 0),
        rotation: Any = None,
        axis: Any = "z",
        mode: str = "actuated",
        value: Any = None,
        pitch: Any = None,
        sequence: str = "",
        mimic: Any = None,
        limits: Any = None,
        stiffness: Any = None,
        rest: Any = None,
        viscous: Any = None,
        coulomb: Any = None,
        rotor: Any = None,
        elastic: Any = None,
        origin: str = "",
    ) -> Builder:
        """A joint from parent to child; position (3,) m and rotation place its frame in the parent's body frame.

        mimic: (joint, ratio, offset) | limits: (lower, upper) or a mapping | rotor: (inertia, ratio[, gyroscopic]) |
        elastic: (stiffness, damping). The names in `Joint` say the rest.
        """
        self._check_name("joint", name, self._joints, origin)
        owner = f"joint {name!r}"
        if kind not in KINDS:
            hint = nearest(str(kind), KINDS)
            raise fault(origin, f"{owner} has kind {shown(kind)}; expected one of {', '.join(KINDS)}. {hint}")
        if mode not in MODES:
            raise fault(origin, f"{owner} has mode {shown(mode)}; expected one of {', '.join(MODES)}.")
        tag = identifier(name)

        def law(x: Any, what: str, auto: str, time: bool = False) -> Node | None:
            return None if x is None else self.number(x, auto, origin, f"{what} of {owner}", time)

        self._joints[name] = Joint(
            name,
            kind,
            parent,
            child,
            self.placement(position, rotation, owner, f"d_{tag}", origin),
            axis_vector(axis, self.graph, lambda v, what: self.number(v, origin=origin, what=what), owner, origin),
            law(pitch, "pitch", f"h_{tag}"),
            _sequence(sequence, kind, owner, origin),
            mode,
            law(value, "value", "", time=mode == "driven"),
            self._mimic(mimic, owner, origin),
            checked_limits(limits, owner, origin),
            law(stiffness, "stiffness", f"k_{tag}"),
            law(rest, "rest", f"r_{tag}"),
            law(viscous, "viscous", f"fv_{tag}"),
            law(coulomb, "coulomb", f"fc_{tag}"),
            self._rotor(rotor, owner, tag, origin),
            self._elastic(elastic, owner, tag, origin),
            origin,
        )
        return self

    def cut(
        self,
        name: str,
        kind: str,
        first: Any,
        second: Any,
        length: Any = None,
        rows: Sequence[int] = (),
        origin: str = "",
    ) -> Builder:
        """A loop closure between two points: ball (3 equations), rod (1, needs length, m), solid (6), or chosen rows."""
        self._check_name("cut", name, self._cuts, origin)
        owner = f"cut {name!r}"
        size = None if length is None else self.number(length, f"l_{identifier(name)}", origin, f"length of {owner}")
        ends = point(first, owner, origin), point(second, owner, origin)
        self._cuts[name] = Cut(name, kind, *ends, size, tuple(rows), origin)
        return self

    def force(
        self,
        name: str,
        kind: str,
        points: Sequence[Any],
        values: Mapping[str, Any] | None = None,
        origin: str = "",
        **more: Any,
    ) -> Builder:
        """A force element: `kind` names a law of the library, points are bodies or (body, frame), values its parameters.

        Numbers, lists of numbers and expressions become Nodes; other texts stay texts.
        """
        self._check_name("force", name, self._forces, origin)
        owner, tag = f"force {name!r}", identifier(name)
        if isinstance(points, str) or not isinstance(points, Sequence):
            raise fault(
                origin, f"{owner} has points {shown(points)}; expected a list of bodies or [body, frame] pairs."
            )
        given = {
            key: self._force_value(v, f"{key} of {owner}", f"{key}_{tag}", origin)
            for key, v in {**(values or {}), **more}.items()
        }
        ends = tuple(point(p, owner, origin) for p in points)
        self._forces[name] = Force(name, kind, ends, given, origin)
        return self

    def sensor(self, name: str, body: str, frame: str = "", origin: str = "") -> Builder:
        """A frame whose motion is of interest."""
        self._check_name("sensor", name, self._sensors, origin)
        self._sensors[name] = Sensor(name, body, frame, origin)
        return self

    def note(self, text: str) -> Builder:
        """What a reader ignored or rounded."""
        self.notes.append(text)
        return self

    def done(self) -> Mechanism:
        """The validated Mechanism, joints in an order in which parents come first."""
        mechanism = Mechanism(
            self.name,
            tuple(self._bodies.values()),
            tuple(self._joints.values()),
            self.vector(self._gravity, "gravity", "g", self._gravity_origin),
            self.graph,
            tuple(self._cuts.values()),
            tuple(self._forces.values()),
            tuple(self._sensors.values()),
            tuple(self.notes),
            self.source,
        )
        return validate(mechanism)

    # -- parts of pieces

    def _check_name(self, what: str, name: Any, taken: Mapping[str, Any], origin: str) -> None:
        if not isinstance(name, str) or not name.strip():
            raise fault(origin, f"a {what} is called {shown(name)}; expected a text.")
        if name in taken:
            first = taken[name].origin
            where = f" (first at {first})" if first else ""
            raise fault(origin, f"{what} {name!r} is given twice{where}; expected different names.")

    def _inertia(self, value: Any, owner: str, auto: str, origin: str) -> np.ndarray:
        what, zero = f"inertia of {owner}", self.graph.zero

        def number(x: Any, suffix: str) -> Node:
            return self.number(x, f"{auto}{suffix}", origin, what)

        if isinstance(value, str) and value.strip() == AUTO:
            value = [AUTO] * 6
        if isinstance(value, np.ndarray):
            value = value.tolist()
        if isinstance(value, (list, tuple)) and len(value) == 3 and all(isinstance(r, (list, tuple)) for r in value):
            rows = [sequence_of(row, 3, f"a row of {what}", origin) for row in value]
            names = [["xx", "xy", "xz"], ["xy", "yy", "yz"], ["xz", "yz", "zz"]]
            return frozen_array([number(rows[i][j], names[i][j]) for i in range(3) for j in range(3)], 3, 3)
        if isinstance(value, (list, tuple)) and len(value) == 3:
            xx, yy, zz = (number(x, k) for x, k in zip(value, ("xx", "yy", "zz")))
            return frozen_array([xx, zero, zero, zero, yy, zero, zero, zero, zz], 3, 3)
        if isinstance(value, (list, tuple)) and len(value) == 6:
            xx, xy, yy, xz, yz, zz = (number(x, k) for x, k in zip(value, INERTIA_NAMES))
            return frozen_array([xx, xy, xz, xy, yy, yz, xz, yz, zz], 3, 3)
        if isinstance(value, (int, float)) and value == 0:
            return frozen_array([zero] * 9, 3, 3)
        raise fault(
            origin,
            f"{what} is {shown(value)}; expected 0, [Ixx, Iyy, Izz], [Ixx, Ixy, Iyy, Ixz, Iyz, Izz] or a 3 x 3 matrix.",
        )

    def _frame(self, value: Any, owner: str, origin: str) -> Placement:
        if isinstance(value, Placement):
            return value
        if isinstance(value, Mapping):
            if extra := set(value) - {"position", "rotation"}:
                raise fault(
                    origin, f"{owner} has the key {shown(min(map(str, extra)))}; expected position or rotation."
                )
            return self.placement(value.get("position", (0, 0, 0)), value.get("rotation"), owner, "", origin)
        return self.placement(value, None, owner, "", origin)

    def _mimic(self, value: Any, owner: str, origin: str) -> Mimic | None:
        if value is None or isinstance(value, Mimic):
            return value
        given = _fields(value, ("joint", "ratio", "offset"), f"mimic of {owner}", origin)
        if not isinstance(given.get("joint"), str):
            raise fault(origin, f"mimic of {owner} names no joint; expected joint, ratio and offset.")
        ratio, offset = (
            self.number(given.get(k, d), "", origin, f"mimic {k} of {owner}") for k, d in (("ratio", 1), ("offset", 0))
        )
        return Mimic(given["joint"], ratio, offset)

    def _rotor(self, value: Any, owner: str, tag: str, origin: str) -> Rotor | None:
        if value is None or isinstance(value, Rotor):
            return value
        given = _fields(value, ("inertia", "ratio", "gyroscopic"), f"rotor of {owner}", origin)
        gyroscopic = given.get("gyroscopic", False)
        if not isinstance(gyroscopic, bool):
            raise fault(origin, f"rotor of {owner} has gyroscopic {shown(gyroscopic)}; expected true or false.")
        inertia = self.number(given.get("inertia", 0), f"Jm_{tag}", origin, f"rotor inertia of {owner}")
        ratio = self.number(given.get("ratio", 1), f"G_{tag}", origin, f"gear ratio of {owner}")
        return Rotor(inertia, ratio, gyroscopic)

    def _elastic(self, value: Any, owner: str, tag: str, origin: str) -> tuple[Node, Node] | None:
        if value is None:
            return None
        given = _fields(value, ("stiffness", "damping"), f"elastic of {owner}", origin)
        stiffness = self.number(given.get("stiffness", 0), f"ke_{tag}", origin, f"elastic stiffness of {owner}")
        return stiffness, self.number(given.get("damping", 0), f"de_{tag}", origin, f"elastic damping of {owner}")

    def _force_value(self, value: Any, what: str, auto: str, origin: str) -> Any:
        if isinstance(value, (list, tuple, np.ndarray)):
            return tuple(self._force_value(v, what, f"{auto}{k + 1}", origin) for k, v in enumerate(value))
        if isinstance(value, (bool, type(None))):
            return value
        if isinstance(value, str) and value.strip() != AUTO and value.isidentifier() and value not in self.names:
            return value  # the name of a variant of the law
        return self.number(value, auto, origin, what)


def identifier(name: str) -> str:
    """A name as part of a parameter's name: letters, digits and underscores."""
    return "".join(c if c.isalnum() else "_" for c in name)


def point(value: Any, owner: str, origin: str) -> tuple[str, str]:
    """(body, frame) from "body", "body.frame" or a pair; the frame "" is the body's own."""
    if isinstance(value, str):
        body, _, frame = value.partition(".")
        return body, frame
    if isinstance(value, (list, tuple)) and len(value) == 2 and all(isinstance(v, str) for v in value):
        return value[0], value[1]
    raise fault(origin, f"{owner} has the point {shown(value)}; expected a body, body.frame or [body, frame].")


def _sequence(value: Any, kind: str, owner: str, origin: str) -> str:
    """The rotation axes of kinds that have several, checked: neighbours differ."""
    sizes = {"universal": 2, "spherical": 3, "floating": 3}
    if not value:
        return ""
    if kind not in sizes:
        raise fault(origin, f"{owner} has a sequence, which kind {kind!r} does not use; expected {', '.join(sizes)}.")
    text = str(value)
    if len(text) != sizes[kind] or any(c not in "xyz" for c in text) or any(a == b for a, b in zip(text, text[1:])):
        raise fault(
            origin,
            f"{owner} has sequence {shown(value)}; expected {sizes[kind]} letters x, y, z whose neighbours differ.",
        )
    return text


def _fields(value: Any, names: tuple[str, ...], what: str, origin: str) -> dict[str, Any]:
    """A mapping, a tuple in the order of `names`, or the first field alone."""
    if isinstance(value, Mapping):
        for key in value:
            if key not in names:
                raise fault(
                    origin, f"{what} has the key {shown(key)}; expected {', '.join(names)}. {nearest(str(key), names)}"
                )
        return dict(value)
    if isinstance(value, (list, tuple)):
        if not 1 <= len(value) <= len(names):
            raise fault(origin, f"{what} has {len(value)} entries; expected {', '.join(names)}.")
        return dict(zip(names, value))
    if isinstance(value, float) and not math.isfinite(value):
        raise fault(origin, f"{what} is {value}; expected finite numbers.")
    return {names[0]: value}
