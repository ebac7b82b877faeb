"""ROBOTRAN .mbs -> Mechanism: bodies with chains of elementary joints, points, cuts, links, external forces, sensors.

A body hangs on a point of its parent by joints T1..T3, R1..R3 in turn (translation along, rotation about x, y, z), with
massless bodies between them. Names and order are the file's. As in ROBOTRAN, a zero in the file is structure and every
other number a symbol.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from symbody.basics.errors import nearest
from symbody.model.build.builder import Builder
from symbody.model.files.file_values import FileValues, tensor_of
from symbody.model.files.xml_file import XmlElement, parse_numbers, read_xml
from symbody.model.record.mechanism import WORLD, Mechanism
from symbody.model.record.pose import Pose

BASE, ORIGIN = "base", "origin"
START = "initial"  # the keyframe of initial values
TYPES = {
    f"{letter}{k + 1}": (kind, "xyz"[k]) for letter, kind in (("T", "prismatic"), ("R", "revolute")) for k in range(3)
}
MODES = {
    "independent": "actuated",
    "dependent": "passive",  # moved by the loops: no effort of its own
    "driven": "driven",
    "forced": "driven",  # the word of older files
    "locked": "locked",
}
CUTS = ("ball", "rod", "solid")
_TOP = {"mbsname", "mbsyspad_version", "base", "bodytree", "cuts", "links"}
_DRAWN = {"graphics", "opengl", "comment", "x2D", "x3D", "viewpoints", "lights"}
_BODY = {"bodyname", "parent", "joint", "mass", "com", "inertia", "point"}
_POINT = {"pointname", "coordinates", "extforce", "sensor"}


def read(path: str | Path, symbolic: bool = True, functions: Mapping[str, Any] | None = None) -> Mechanism:
    """The Mechanism of a ROBOTRAN file; with `symbolic=False` its numbers stay numbers.

    functions  what ROBOTRAN has in user code, by the name of its link, external force or driven joint:
               of a link F(Z, Zd, t), N; of an external force (Fx, Fy, Fz[, Mx, My, Mz]) of p (3), v (3), R (9),
               omega (3) and t in world axes; of a driven joint a text, its law of the time t. Others stay inputs
    """
    path = Path(path)
    top = read_xml(path)
    if not top.tag.startswith("mbsDesc"):
        raise top.error(f"the file's root is <{top.tag}>; expected <mbsDescR7>, as ROBOTRAN has it.")
    return _MbsReader(top, path, symbolic, dict(functions or {})).read()


class _MbsReader:
    """Bodies first, because joints, cuts and forces name their points."""

    def __init__(self, top: XmlElement, path: Path, symbolic: bool, functions: dict[str, Any]) -> None:
        self.top = top
        self.functions = functions
        self.stubs: dict[str, str] = {}  # user functions of the file -> in words
        self.base = top.need("base")
        at = self.base.find("gravity")
        gravity = dict(zip(("gx", "gy", "gz"), _coordinates(at) if at is not None else (0.0, 0.0, -9.81)))
        names = [name if value and symbolic else value for name, value in gravity.items()]
        self.builder = Builder(top.content("mbsname", path.stem), names, source=path.name)
        self.values = FileValues(self.builder, symbolic)
        for name, value in gravity.items():
            self.values.scalar(float(value), name, "m/s^2", (at or self.base).origin, True)
        self.bodies = _by_name(top.need("bodytree"), "body", "bodyname")
        base_name = self.base.content("baseBodyName", "")
        self.base_names = {BASE} | ({base_name} if base_name not in self.bodies else set())
        if BASE in self.bodies or WORLD in self.bodies:
            raise self.bodies[BASE if BASE in self.bodies else WORLD].error(
                f"a body is called {BASE!r} or {WORLD!r}, which is the ground; expected another name."
            )
        self.points: dict[tuple[str, str], list[Any]] = {}  # (body, point) -> position
        self.grounded: dict[str, XmlElement] = {}  # points of the base
        self.start: dict[str, float] = {}  # initial values of joints

    def read(self) -> Mechanism:
        self.grounded = _by_name(self.base, "point", "pointname")
        frames = {name: self._points(name, body) for name, body in self.bodies.items()}
        for name, body in self.bodies.items():
            self._body(name, body, frames[name])
        for name, body in self.bodies.items():
            self._joints(name, body)
        for name, body in self.bodies.items():
            for point in body.all("point"):
                self._attached(point, name)
        for point in self.base.all("point"):
            self._attached(point, BASE)
        self._cuts()
        self._links()
        if self.start:
            self.builder.keyframe(START, self.start, origin=self.top.need("bodytree").origin)
        self._notes()
        return self.values.done()

    # -- bodies

    def _points(self, name: str, body: XmlElement) -> dict[str, list[Any]]:
        frames: dict[str, list[Any]] = {}
        for point, element in _by_name(body, "point", "pointname").items():
            position = self.values.vector(_coordinates(element), "p", f"{name}_{point}", element.origin)
            self.points[name, point] = frames[_frame(point)] = position
        return frames

    def _body(self, name: str, body: XmlElement, frames: dict[str, list[Any]]) -> None:
        mass = _value(body, "mass")
        if mass < 0:
            raise body.need("mass").error(f"body {name!r} has mass {mass:g}; expected zero or more.")
        com, inertia = body.find("com"), body.find("inertia")
        tensor = np.zeros((3, 3))
        if inertia is not None:
            tensor = tensor_of(*(_value(inertia, f"I{k}") for k in ("xx", "xy", "yy", "xz", "yz", "zz")))
            if min(np.diag(tensor)) < 0:
                raise inertia.error(f"body {name!r} has a negative moment of inertia; expected zero or more.")
        position = np.zeros(3) if com is None else _coordinates(com)
        self.values.body(name, mass, position, tensor, frames, origin=body.origin)

    # -- joints

    def _joints(self, name: str, body: XmlElement) -> None:
        carrier, position = self._parent(name, body)
        joints = list(_by_name(body, "joint", "jointname").items())
        if not joints:
            self.builder.joint(f"{name}_fixed", "fixed", carrier, name, position=position, origin=body.origin)
        for k, (joint, element) in enumerate(joints):
            written = element.content("type")
            if written not in TYPES:
                raise element.error(
                    f"joint {joint!r} has type {written!r}; expected one of {', '.join(TYPES)}. "
                    + nearest(written, TYPES)
                )
            nature = element.content("nature", "independent")
            if nature not in MODES:
                raise element.error(
                    f"joint {joint!r} has nature {nature!r}; expected one of {', '.join(MODES)}. "
                    + nearest(nature, MODES)
                )
            kind, axis = TYPES[written]
            child = name if k == len(joints) - 1 else self._between(name, k)
            if child != name:
                self.builder.body(child, origin=element.origin)
            self.builder.joint(
                joint,
                kind,
                carrier,
                child,
                position=position,
                axis=axis,
                mode=MODES[nature],
                value=self._value_of(joint, element, MODES[nature]),
                origin=element.origin,
            )
            carrier, position = child, [0, 0, 0]

    def _between(self, name: str, k: int) -> str:
        """A name for the massless body after the k-th joint of a chain."""
        between = f"{name}_{k + 1}"
        while between in self.bodies:
            between += "_"
        return between

    def _parent(self, name: str, body: XmlElement) -> tuple[str, list[Any]]:
        parent = body.need("parent")
        carrier, point = parent.content("bodyname"), parent.content("pointname", ORIGIN)
        if carrier in self.base_names:
            if point == ORIGIN and point not in self.grounded:
                return WORLD, [0, 0, 0]
            if point not in self.grounded:
                raise parent.error(
                    f"body {name!r} hangs on point {point!r}, which the base has not. {nearest(point, self.grounded)}"
                )
            element = self.grounded[point]
            return WORLD, self.values.vector(_coordinates(element), "p", f"{name}_{point}", element.origin)
        if carrier not in self.bodies:
            raise parent.error(f"body {name!r} hangs on {carrier!r}, which is no body. {nearest(carrier, self.bodies)}")
        if point == ORIGIN and (carrier, point) not in self.points:
            return carrier, [0, 0, 0]
        return carrier, self.points[carrier, self._known(parent, carrier, point)]

    def _value_of(self, joint: str, element: XmlElement, mode: str) -> float | str | None:
        """The value of a locked or driven joint; the initial value of any other belongs to the keyframe `initial`."""
        initial = element.find("initialvalue")
        q = _value(initial, "q") if initial is not None else 0.0
        if mode == "locked":
            return q
        if mode == "driven":
            given = self._function(joint, "driven joint q(t)")
            if given:
                return str(given["function"])
            self.builder.note(
                f"{element.origin}: joint {joint!r} is driven by user code; its value {q:g} was taken as constant"
            )
            return q
        if q:
            self.start[joint] = q
        return None

    # -- what hangs on points

    def _known(self, element: XmlElement, body: str, point: str) -> str:
        if (body, point) not in self.points:
            hint = nearest(point, [p for b, p in self.points if b == body])
            raise element.error(f"point {point!r} is named, which body {body!r} has not. {hint}")
        return point

    def _end(self, element: XmlElement, tag: str) -> tuple[str, str]:
        """(body, frame) of an endpoint."""
        end = element.need(tag)
        body, point = end.content("bodyname"), end.content("pointname", ORIGIN)
        if body in self.base_names:
            return self._ground(end, point)
        if body not in self.bodies:
            raise end.error(f"{element.tag} ends on {body!r}, which is no body. {nearest(body, self.bodies)}")
        if point == ORIGIN and (body, point) not in self.points:
            return body, ""
        return body, _frame(self._known(end, body, point))

    def _ground(self, element: XmlElement, point: str) -> tuple[str, str]:
        if point == ORIGIN and point not in self.grounded:
            return WORLD, ""
        if point not in self.grounded:
            raise element.error(f"point {point!r} is named, which the base has not. {nearest(point, self.grounded)}")
        place = Pose(np.eye(3), _coordinates(self.grounded[point]))
        return self.values.ground(_frame(point), place, self.grounded[point].origin)

    def _attached(self, point: XmlElement, body: str) -> None:
        """External forces and sensors at a point."""
        name = point.content("pointname")
        if not any(c.tag in ("extforce", "sensor") for c in point.children):
            return
        at = self._ground(point, name) if body == BASE else (body, _frame(name))
        for k, element in enumerate(c for c in point.children if c.tag in ("extforce", "sensor")):
            label = element.get("name") or f"{body}_{name}_{k + 1}"
            if element.tag == "extforce":
                given = self._function(label, "external force F, M(p, v, R, omega, t)")
                self.builder.force(label, "external", [at], given, origin=element.origin)
            else:
                self.builder.sensor(label, *at, origin=element.origin)

    def _cuts(self) -> None:
        section = self.top.find("cuts")
        for k, cut in enumerate(section.children if section is not None else (), 1):
            if cut.tag in _DRAWN:
                continue
            if cut.tag not in CUTS:
                raise cut.error(f"<{cut.tag}> is no cut; expected one of {', '.join(CUTS)}. {nearest(cut.tag, CUTS)}")
            name = cut.content("name", f"{cut.tag}{k}")
            length: Any = None
            if cut.tag == "rod":
                value = _value(cut, "length")
                if value <= 0:
                    raise cut.error(f"rod {name!r} has no <length> above zero; expected one, m.")
                length = self.values.scalar(value, f"length_{name}", "m", cut.origin, True)
            self.builder.cut(
                name, cut.tag, self._end(cut, "endpoint1"), self._end(cut, "endpoint2"), length, origin=cut.origin
            )

    def _links(self) -> None:
        section = self.top.find("links")
        for k, link in enumerate(section.all("link") if section is not None else (), 1):
            ends = [self._end(link, "endpoint1"), self._end(link, "endpoint2")]
            name = link.content("name", f"link{k}")
            given = self._function(name, "link F(Z, Zd, t)")
            self.builder.force(name, "external" if given else "link", ends, given, origin=link.origin)

    # -- user functions

    def _function(self, name: str, about: str) -> dict[str, Any]:
        """The user's function of a name, as a value of its force; the stub is remembered."""
        self.stubs[name] = about
        return {"function": self.functions[name]} if name in self.functions else {}

    def _check_functions(self) -> None:
        for name in self.functions:
            if name not in self.stubs:
                raise self.top.error(f"functions names {name!r}, which the file has not. {nearest(name, self.stubs)}")
        open_ = [
            f"{about.replace('(', f' {name!r} (', 1)}"
            for name, about in self.stubs.items()
            if name not in self.functions
        ]
        if open_:
            listed = ", ".join(open_[:8]) + (f" and {len(open_) - 8} more" if len(open_) > 8 else "")
            self.builder.note(f"{self.top.file}: user functions that functions={{...}} of sb.load may fill: {listed}")

    # -- what was left out

    def _notes(self) -> None:
        self._check_functions()
        dependent = [
            j.content("jointname")
            for b in self.bodies.values()
            for j in b.all("joint")
            if j.content("nature", "") == "dependent"
        ]
        if dependent:
            self.builder.note(f"{self.top.file}: dependent joints (passive here): {', '.join(dependent)}")
        for element in self.top.children:
            if element.tag == "user_models":
                names = [m.content("name", "?") for m in element.all("user_model")]
                self.builder.note(f"{element.origin}: user models were left out: {', '.join(names) or 'none'}")
            elif element.tag not in _TOP | _DRAWN:
                self.builder.note(f"{element.origin}: <{element.tag}> was left out")
        for body in self.bodies.values():
            for part in (body, *body.all("point")):
                for child in part.children:
                    if child.tag not in _BODY | _POINT | _DRAWN:
                        self.builder.note(f"{child.origin}: <{child.tag}> in <{part.tag}> was left out")


def _by_name(element: XmlElement, tag: str, name_tag: str) -> dict[str, XmlElement]:
    out: dict[str, XmlElement] = {}
    for child in element.all(tag):
        name = child.content(name_tag)
        if name in out:
            raise child.error(
                f"a second {tag} {name!r} (the first is on line {out[name].line}); expected unique names."
            )
        out[name] = child
    return out


def _value(element: XmlElement, tag: str) -> float:
    """The number in a child; 0 where there is none."""
    child = element.find(tag)
    return 0.0 if child is None else parse_numbers(child, "", child.text, (1,))[0]


def _coordinates(element: XmlElement) -> np.ndarray:
    """(3,) of <coordinates><x/><y/><z/></coordinates>; absent ones are 0."""
    child = element.find("coordinates")
    return np.zeros(3) if child is None else np.array([_value(child, k) for k in "xyz"])


def _frame(point: str) -> str:
    """The name of a frame: a dot would read as body.frame."""
    return point.replace(".", "_")
