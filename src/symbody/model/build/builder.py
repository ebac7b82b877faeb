"""Builder: a Mechanism piece by piece, from code or from a reader of files; `done` validates and freezes it."""

from __future__ import annotations

import math
from collections import ChainMap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from symbody.basics import words
from symbody.basics.arguments import declared
from symbody.basics.errors import ModelError
from symbody.basics.words import nearest_word
from symbody.model.build import piece_forms as pieces
from symbody.model.build.piece_forms import identifier, is_auto
from symbody.model.build.rotation_forms import axis_vector, rotation_matrix
from symbody.model.library.force_elements import FORCE_ELEMENTS
from symbody.model.record.couplings import COUPLING_KINDS, quote_coordinates
from symbody.model.record.frame_names import known_end
from symbody.model.record.joint_value import read_value
from symbody.model.record.joints import KINDS
from symbody.model.record.keyframes import check_keyframe
from symbody.model.record.mechanism import (
    WORLD,
    Body,
    Coupling,
    Cut,
    Force,
    Joint,
    Keyframe,
    Mechanism,
    Mimic,
    Placement,
    Sensor,
    Shape,
)
from symbody.model.record.numbers import AUTO, Checked, frozen_array, number_of, sequence_of, to_node
from symbody.model.record.origin import fault, is_name, place, readable, shown
from symbody.model.record.units import ANY, declared_unit, quantities
from symbody.model.record.validate import MODES, check_finite, validate
from symbody.symbolic.expr.graph import Graph
from symbody.symbolic.expr.node import Node
from symbody.symbolic.expr.walk import free_symbols

ARGUMENTS = ("q", "qd", "qdd", "tau", "qdd_driven", "workspace")  # of the equations
RESERVED = ("t", "pi", "deg", "inf", "nan", AUTO, "True", "False", "and", "or", "not", *ARGUMENTS)


class Builder:
    """Collects parameters, bodies, joints and the rest, in any order; the methods that add a piece return self.

    name, gravity (3,) m/s^2 in world axes, source: file or publication. `origin` of a piece is its file:line.
    """

    def __init__(self, name: str, gravity: Any = (0, 0, -9.81), source: str = "", origin: str = "") -> None:
        if not isinstance(name, str) or not name.strip():
            raise fault(place(origin, "name"), f"the name of the mechanism is {shown(name)}; expected a text.")
        self.name = readable(name)  # that of the file, where it has none
        self.source = readable(source)
        self.graph = Graph(self.name)
        self.time = self.graph.symbol("t", "time", unit="s")
        self.names: dict[str, Node] = {}  # parameters and definitions
        self._followers: dict[str, Node] = {}  # parameters whose default is an expression of others
        self.notes: list[str] = []
        self._checked = Checked()
        self._bodies: dict[str, Body] = {}
        self._joints: dict[str, Joint] = {}
        self._cuts: dict[str, Cut] = {}
        self._couplings: dict[str, Coupling] = {}
        self._forces: dict[str, Force] = {}
        self._sensors: dict[str, Sensor] = {}
        self._keyframes: dict[str, Keyframe] = {}
        self.gravity = gravity  # (3,); read last: it may name parameters
        self._gravity_origin = place(origin, "gravity")

    # -- parameters and numbers

    @declared
    def parameter(
        self, name: str, default: Any = None, unit: str = "", nonzero: bool = False, origin: str = ""
    ) -> Node:
        """A symbol that stays in the equations; `nonzero` lets programs divide by it."""
        self._new_name(name, origin)
        value = None
        try:
            declared_unit(unit, f"parameter {name!r}")
        except ModelError as error:
            raise fault(origin, str(error)) from None
        if default is not None:
            node = self.number(default, origin=origin, what=f"default of parameter {name!r}", unit=unit)
            value = number_of(node)
            if free_symbols([node]):
                self._followers[name] = node
            if value is None or not math.isfinite(value):
                raise fault(origin, f"parameter {name!r} has default {shown(default)}; expected a finite number.")
            if nonzero and value == 0:
                raise fault(origin, f"parameter {name!r} is declared nonzero and has default 0.")
        symbol = self.graph.symbol(
            name, "parameter", scope=self.name, unit=unit, origin=str(origin), default=value, nonzero=bool(nonzero)
        )
        self.names[name] = symbol
        return symbol

    @declared
    def define(self, name: str, value: Any, origin: str = "") -> Node:
        """A name for an expression of parameters, for use in later expressions."""
        self._new_name(name, origin)
        self.names[name] = node = self.number(value, origin=origin, what=f"definition {name!r}")
        return node

    def number(
        self, value: Any, auto: str = "", origin: str = "", what: str = "a number", time: bool = False, unit: str = ""
    ) -> Node:
        """int, float, expression text, Node, or "auto": the parameter named by the argument `auto`.

        With `time` the name t in an expression is the time, s. unit: what an expression must be in, as far as its
        parameters say; a text may hold numbers with units, such as 400*mm.
        """
        if is_auto(value):
            if not auto:
                raise fault(origin, f"{what} is 'auto', which has no name here; expected a number or an expression.")
            return self.names[auto] if auto in self.names else self.parameter(auto, origin=origin)
        names = ChainMap({"t": self.time}, self.names) if time else self.names
        return to_node(value, self.graph, names, what, origin, unit, self._checked)

    def vector(self, value: Any, what: str, auto: str = "", origin: str = "", unit: str = "") -> np.ndarray:
        """(3,) nodes; "auto" for an entry names it <auto>x, <auto>y, <auto>z, and "auto" alone names all three."""
        entries = sequence_of((AUTO,) * 3 if is_auto(value) else value, 3, what, origin)
        return frozen_array(
            [self.number(v, auto and f"{auto}{k}", origin, what, unit=unit) for v, k in zip(entries, "xyz")], 3
        )

    def placement(self, position: Any, rotation: Any, owner: str, auto: str = "", origin: str = "") -> Placement:
        """Pose of a frame from a position (m) and a rotation in any form of `rotation_matrix`."""
        at = place(origin, "rotation")
        matrix = rotation_matrix(
            rotation, self.graph, self._plain_number(at, "rad"), self.notes.append, f"rotation of {owner}", at
        )
        return Placement(matrix, self.vector(position, f"position of {owner}", auto, place(origin, "position"), "m"))

    def _new_name(self, name: Any, origin: str) -> None:
        if not isinstance(name, str) or not name.isidentifier():
            raise fault(origin, f"a parameter is called {shown(name)}; expected a letter, then letters, digits and _.")
        if name in self.names:
            raise fault(origin, f"parameter {name!r} is given twice; expected different names.")
        if name in RESERVED:
            raise fault(origin, f"a parameter is called {name!r}, which has a meaning of its own; choose another name.")

    def _numbers(self, origin: str, unit: str = "") -> pieces.Number:
        return lambda value, auto, what: self.number(value, auto, origin, what, unit=unit)

    def _limit_numbers(self, origin: str, units: Mapping[str, str]) -> pieces.Number:
        def number(value: Any, auto: str, what: str) -> Node:
            written = isinstance(value, str) and quantities(value, self.names)[1]
            return self.number(
                value, auto, origin, what, unit=units.get(what.partition(" ")[0], "") if written else ANY
            )

        return number

    def _plain_number(self, origin: str, unit: str = "") -> Any:
        return lambda value, what: self.number(value, "", origin, what, unit=unit)

    # -- pieces

    @declared
    def body(
        self,
        name: str,
        mass: Any = 0,
        com: Any = (0, 0, 0),
        inertia: Any = 0,
        frames: Mapping[str, Any] | None = None,
        shapes: Sequence[Shape] = (),
        origin: str = "",
        physical: bool = True,
        coordinates: str = "",
    ) -> Builder:
        """A rigid body: mass (kg), com (3,) m, inertia about the com in body axes (kg m^2).

        inertia: 0 | 3 (diagonal) | 6 [Ixx, Ixy, Iyy, Ixz, Iyz, Izz] | 3 x 3. frames: name -> position (3,), or
        {"position":, "rotation":}, or Placement. "auto" makes m_<name>, c_<name>x.., I_<name>xx.., p_<name>_<frame>x..
        With `physical=False` a published tensor that no rigid body has is taken as it is.
        coordinates: name of a motion of the table that the body itself owns, see `Body`.
        """
        self._check_name("body", name, self._bodies, origin)
        if name == WORLD:
            raise fault(origin, f"a body is called {WORLD!r}, which is the ground; choose another name.")
        owner, tag = f"body {name!r}", identifier(name)
        at = {key: place(origin, key) for key in ("mass", "com", "inertia", "frames")}
        self._bodies[name] = Body(
            name,
            self.number(mass, f"m_{tag}", at["mass"], f"mass of {owner}", unit="kg"),
            self.vector(com, f"com of {owner}", f"c_{tag}", at["com"], "m"),
            pieces.inertia_tensor(
                inertia, self._numbers(at["inertia"], "kg m^2"), self.graph, owner, f"I_{tag}", at["inertia"]
            ),
            {
                k: self._frame(f, f"frame {k!r} of {owner}", f"p_{tag}_{identifier(str(k))}", at["frames"])
                for k, f in (frames or {}).items()
            },
            tuple(shapes),
            origin,
            physical,
            coordinates,
        )
        return self

    @declared
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

        value: one for each coordinate, a list where there are several: where a locked joint stands, laws of t of a
        driven one | mimic: (joint, ratio, offset) | limits: (lower, upper, velocity, effort) |
        rotor: (inertia, ratio, gyroscopic) | elastic: (stiffness, damping), or mappings of these names. `Joint` says
        the rest.
        """
        self._check_name("joint", name, self._joints, origin)
        owner, tag = f"joint {name!r}", identifier(name)

        def at(field: str) -> str:
            return place(origin, field)

        units = _units_of(kind)

        def law(x: Any, what: str, auto: str) -> Node | None:
            unit = units.get(what, "")
            return None if x is None else self.number(x, auto, at(what), f"{what} of {owner}", unit=unit)

        _one_of(kind, KINDS, "kind", owner, at("kind"), words.KINDS)
        _one_of(mode, MODES, "mode", owner, at("mode"))
        for what, body in (("parent", parent), ("child", child)):
            if not isinstance(body, str):
                raise fault(at(what), f"{owner} has {what} {shown(body)}; expected the name of a body.")
        made = Joint(
            name,
            kind,
            parent,
            child,
            self.placement(position, rotation, owner, f"d_{tag}", origin),
            axis_vector(axis, self.graph, self._plain_number(at("axis")), owner, at("axis"), self.notes.append),
            law(pitch, "pitch", f"h_{tag}"),
            pieces.sequence(sequence, kind, owner, at("sequence")),
            mode,
            None,
            pieces.mimic(mimic, self._numbers(at("mimic")), owner, at("mimic")),
            pieces.limits(limits, self._limit_numbers(at("limits"), units), owner, at("limits")),
            law(stiffness, "stiffness", f"k_{tag}"),
            law(rest, "rest", f"r_{tag}"),
            law(viscous, "viscous", f"fv_{tag}"),
            law(coulomb, "coulomb", f"fc_{tag}"),
            pieces.rotor(rotor, self._numbers(at("rotor")), owner, tag, at("rotor")),
            pieces.elastic(elastic, self._numbers(at("elastic")), owner, tag, at("elastic")),
            origin,
        )

        def entry(x: Any, auto: str, what: str) -> Node:
            return self.number(x, auto, at("value"), what, mode == "driven", units.get("value", ""))

        self._joints[name] = replace(made, value=read_value(made, value, entry, f"q_{tag}"))
        return self

    @declared
    def cut(
        self,
        name: str,
        kind: str,
        first: Any,
        second: Any,
        length: Any = None,
        rows: Sequence[int | str] = (),
        origin: str = "",
        axis: str = "z",
        axis2: str = "y",
        switched: bool = False,
    ) -> Builder:
        """A loop closure between two frames: body, "body.frame" or (body, frame). `Cut` says what the kinds mean.

        length (m) of a rod, which may depend on t | rows: of kind rows, numbers 0 to 5 or names x, y, z, rx, ry, rz |
        axis, axis2: x, y or z.
        """
        self._check_name("cut", name, self._cuts, origin)
        owner, at = f"cut {name!r}", place(origin, "length")
        size = None
        if length is not None:
            size = self.number(length, f"l_{identifier(name)}", at, f"length of {owner}", kind == "rod", "m")
        chosen = pieces.cut_rows(rows, owner, place(origin, "rows"))
        start, end = (pieces.point(p, owner, place(origin, "between")) for p in (first, second))
        self._cuts[name] = Cut(name, kind, start, end, size, chosen, axis, axis2, switched, origin)
        return self

    @declared
    def coordinate(self, joint: str, component: int | None = None, rate: bool = False) -> Node:
        """The symbol of a joint's coordinate (or, with `rate`, velocity) for use in couplings.

        component counts from 1 in a joint that has several.
        """
        tail = "" if component is None else f".{component}"
        return self._coordinate(f"{'qd' if rate else 'q'}.{joint}{tail}")

    @declared
    def coupling(
        self, name: str, expression: Any, kind: str = "position", switched: bool = False, origin: str = ""
    ) -> Builder:
        """A condition on coordinates: an expression that is zero. `Coupling` says what it may contain.

        expression: a text over q.<joint>, qd.<joint>, t and parameters, or a Node made with `coordinate`.
        """
        self._check_name("coupling", name, self._couplings, origin)
        what, at = f"expression of coupling {name!r}", place(origin, "expression")
        _one_of(kind, COUPLING_KINDS, "kind", f"coupling {name!r}", place(origin, "kind"))
        own: dict[str, Node] = {"t": self.time}
        if isinstance(expression, str):
            expression, found = quote_coordinates(expression)
            own |= {n: self._coordinate(n) for n in found}
        node = to_node(expression, self.graph, ChainMap(own, self.names), what, at, checked=self._checked)
        self._couplings[name] = Coupling(name, kind, node, switched, origin)
        return self

    @declared
    def force(
        self,
        name: str,
        kind: str,
        points: Sequence[Any] = (),
        values: Mapping[str, Any] | None = None,
        origin: str = "",
        **more: Any,
    ) -> Builder:
        """A force element: `kind` names a row of the library, points are bodies or (body, frame).

        On a joint: joint=its name, and no points. values (and further named arguments): parameters of the law. Numbers,
        expressions and lists of them become nodes; "auto" makes <key>_<name>; a name that is no parameter stays a text.
        """
        self._check_name("force", name, self._forces, origin)
        owner, tag = f"force {name!r}", identifier(name)
        named = {**(values or {}), **more}
        if not isinstance(points, (list, tuple)) or not (points or named.get("joint") or named.get("joints")):
            raise fault(place(origin, "points"), f"{owner} has points {shown(points)}; expected a list of them.")
        given: dict[str, Any] = {}
        for key, value in named.items():
            if key in ("function", "joint") and isinstance(value, str):
                given[key] = value  # the names in a function are those of the law: Z, Zd, t
                continue
            if key == "joints" and isinstance(value, (list, tuple)):
                given[key] = tuple(value)
                continue
            number = self._numbers(place(origin, key), _field_unit(kind, key, named, points))
            given[key] = pieces.force_value(value, number, self.names, f"{key} of {owner}", f"{key}_{tag}")
        ends = tuple(pieces.point(p, owner, place(origin, "points")) for p in points)
        self._forces[name] = Force(name, kind, ends, given, origin)
        return self

    @declared
    def sensor(self, name: str, body: str, frame: str = "", origin: str = "") -> Builder:
        """A frame whose motion is of interest."""
        self._check_name("sensor", name, self._sensors, origin)
        for what, text in (("body", body), ("frame", frame)):
            if not isinstance(text, str):
                raise fault(place(origin, what), f"sensor {name!r} has {what} {shown(text)}; expected a name.")
        self._sensors[name] = Sensor(name, body, frame, origin)
        return self

    @declared
    def keyframe(
        self, name: str, q: Mapping[str, Any] | None = None, qd: Mapping[str, Any] | None = None, origin: str = ""
    ) -> Builder:
        """A named state: joint -> number, or numbers where it has several, in the units of the coordinates."""
        self._check_name("keyframe", name, self._keyframes, origin)
        made: list[dict[str, tuple[float, ...]]] = []
        laws: dict[str, tuple[Node, ...]] = {}
        for key, given in (("q", q or {}), ("qd", qd or {})):
            at = place(origin, key)
            if not isinstance(given, Mapping):
                raise fault(at, f"keyframe {name!r} has {key} {shown(given)}; expected joints and numbers.")
            rows = {j: v if isinstance(v, (list, tuple, np.ndarray)) else (v,) for j, v in given.items()}
            what = f"{key} in keyframe {name!r}"
            made.append({j: tuple(self._float(x, f"{what} of {j!r}", at) for x in row) for j, row in rows.items()})
            for j, row in rows.items():
                if any(isinstance(x, (str, Node)) for x in row):
                    nodes = tuple(self.number(x, origin=at, what=f"{what} of {j!r}") for x in row)
                    if free_symbols(nodes):
                        laws[f"{key}.{j}"] = nodes
        self._keyframes[name] = Keyframe(name, made[0], made[1], origin, laws)
        return self

    def _float(self, value: Any, what: str, origin: str) -> float:
        found = number_of(self.number(value, origin=origin, what=what))
        if found is None or not math.isfinite(found):
            raise fault(origin, f"{what} is {shown(value)}; expected a finite number.")
        return found

    def _coordinate(self, name: str) -> Node:
        return self.graph.symbol(name, "velocity" if name.startswith("qd.") else "coordinate", scope=self.name)

    def note(self, text: str) -> Builder:
        """What a reader ignored or rounded."""
        self.notes.append(text)
        return self

    def done(self) -> Mechanism:
        """The validated Mechanism, joints in an order in which parents come first."""
        self._find_ends()
        gravity = self.vector(self.gravity, "gravity", "g", self._gravity_origin, "m/s^2")
        check_finite(gravity, "gravity", self._gravity_origin)
        mechanism = Mechanism(
            self.name,
            tuple(self._bodies.values()),
            self._led(),
            gravity,
            self.graph,
            tuple(self._cuts.values()),
            tuple(self._couplings.values()),
            tuple(self._forces.values()),
            tuple(self._sensors.values()),
            tuple(self.notes),
            self.source,
            tuple(self._keyframes.values()),
        )
        valid = validate(self._with_followers(mechanism))
        for keyframe in valid.keyframes:
            check_keyframe(keyframe, valid)
        return valid

    def _find_ends(self) -> None:
        """Ends of cuts, points of forces and places of sensors, now that all bodies are known: names may have dots."""
        bodies = self._bodies
        for n, c in self._cuts.items():
            self._cuts[n] = replace(c, first=known_end(bodies, c.first), second=known_end(bodies, c.second))
        for n, f in self._forces.items():
            points = tuple(known_end(bodies, p) for p in f.points)
            self._forces[n] = f if points == f.points else replace(f, points=points)
        for n, s in self._sensors.items():
            body, frame = known_end(bodies, (s.body, s.frame))
            self._sensors[n] = replace(s, body=body, frame=frame)

    def _with_followers(self, mechanism: Mechanism) -> Mechanism:
        """With the expressions of the parameters that it has, and of those that they read."""
        used, found = set(mechanism.parameters), dict[str, Node]()
        for name, node in reversed(self._followers.items()):
            if name in used:
                found[name] = node
                used |= {s.data.name for s in free_symbols([node])}
        return replace(mechanism, followers=dict(reversed(found.items()))) if found else mechanism

    def _led(self) -> tuple[Joint, ...]:
        """The joints; one that follows a follower follows the joint that leads them all instead."""
        led: dict[str, Mimic | None] = {}
        for name in self._joints:
            path: dict[str, Mimic] = {}
            at = name
            while at in self._joints and at not in led and at not in path:
                mimic = self._joints[at].mimic
                if mimic is None:
                    led[at] = None
                    break
                path[at] = mimic
                at = mimic.joint
            if at in path:  # a circle, which is refused later
                led.update(path)
                continue
            for follower, mimic in reversed(path.items()):
                top = led.get(mimic.joint)
                led[follower] = (
                    mimic
                    if top is None
                    else Mimic(top.joint, mimic.ratio * top.ratio, mimic.ratio * top.offset + mimic.offset)
                )
        return tuple(j if led[n] is j.mimic else replace(j, mimic=led[n]) for n, j in self._joints.items())

    def _check_name(self, what: str, name: Any, taken: Mapping[str, Any], origin: str) -> None:
        if not is_name(name):
            raise fault(origin, f"a {what} is called {shown(name)}; expected a text.")
        if name in taken:
            first = taken[name].origin
            where = f" (first at {first})" if first else ""
            raise fault(origin, f"{what} {name!r} is given twice{where}; expected different names.")

    def _frame(self, value: Any, owner: str, auto: str, origin: str) -> Placement:
        if isinstance(value, Placement):
            return value
        if not isinstance(value, Mapping):
            return self.placement(value, None, owner, auto, origin)
        for key in value:
            if key not in ("position", "rotation"):
                raise fault(origin, f"{owner} has the key {shown(key)}; expected position or rotation.")
        return self.placement(value.get("position", (0, 0, 0)), value.get("rotation"), owner, auto, origin)


def _units_of(kind: Any) -> dict[str, str]:
    """Units of a joint's laws, value and limits, where all its coordinates are angles, or all are lengths."""
    motions = (
        [motion for motion, _ in KINDS[kind].motions(_NO_SEQUENCE)] if isinstance(kind, str) and kind in KINDS else []
    )
    pitch = {"pitch": "m/rad"}
    if motions and all(m.is_turn for m in motions):
        x, effort = "rad", "N m"
    elif motions and all(m.is_slide for m in motions):
        x, effort = "m", "N"
    else:
        return pitch
    return {
        **pitch, "stiffness": f"{effort}/{x}", "rest": x, "viscous": f"{effort} s/{x}", "coulomb": effort, "value": x,
        "lower": x, "upper": x, "velocity": f"{x}/s", "effort": effort,
    }  # fmt: skip


class _NoSequence:
    sequence = ""


_NO_SEQUENCE = _NoSequence()


def _field_unit(kind: Any, key: str, given: Mapping[str, Any], points: Sequence[Any]) -> str:
    """Unit of a value of a force element, where it is declared and does not depend on a joint; else any."""
    row = FORCE_ELEMENTS.get(kind) if isinstance(kind, str) else None
    if row is None:
        return ""
    known = row.fields_for({k: v for k, v in given.items() if isinstance(v, str)})
    unit = known[key].unit if key in known else ""
    return ANY if not unit or ("{" in unit and len(points) != 2) else unit.format(x="m", F="N")


def _one_of(
    value: Any, known: Any, what: str, owner: str, origin: str, elsewhere: Mapping[str, str] = MappingProxyType({})
) -> None:
    if not isinstance(value, str) or value not in known:
        hint = nearest_word(str(value), known, elsewhere)
        hint = hint if hint.startswith(("Did", "Here")) and len(known) > 4 else ""  # all names stand before it
        raise fault(origin, f"{owner} has {what} {shown(value)}; expected one of {', '.join(known)}. {hint}".rstrip())
