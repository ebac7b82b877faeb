"""MJCF tendons: springs and dampers on lines through sites, or on sums of joint coordinates; constraints on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from symbody.basics.errors import nearest
from symbody.model.build.builder import Builder
from symbody.model.files.file_values import FileValues
from symbody.model.files.mjcf_springs import curve
from symbody.model.files.mjcf_tree import BodyRecord, TreeReader, frame_name
from symbody.model.files.xml_file import XmlElement
from symbody.model.record.mechanism import WORLD
from symbody.model.record.pose import Pose

Point = tuple[str, str]


class Added(Protocol):
    """What actuators add to a tendon, see `mjcf_actuators.Reflected`."""

    armature: float
    damping: tuple[float, float, float]


class Actuated(Protocol):
    """The actuators of the file."""

    def on(self, what: str, name: str) -> Added: ...


@dataclass(eq=False)
class Tendon:
    """A tendon: sites with divisors of the stretches between them, or joints with coefficients."""

    name: str
    element: XmlElement
    sites: list[tuple[BodyRecord, Pose, str]] = field(default_factory=list)
    divisors: list[float] = field(default_factory=list)
    joints: dict[str, float] = field(default_factory=dict)
    problem: str = ""  # why it cannot be a force element

    @property
    def fixed(self) -> bool:
        return self.element.tag == "fixed"

    def length(self, coordinates: Mapping[str, float], poses: Mapping[BodyRecord, Pose]) -> float:
        """At coordinates of joints (those not named are 0), and poses of bodies in the world."""
        if self.fixed:
            return sum(c * coordinates.get(j, 0.0) for j, c in self.joints.items())
        places = [poses[body].rotation @ at.position + poses[body].position for body, at, _ in self.sites]
        pairs = zip(places, places[1:], self.divisors)
        return sum(float(np.linalg.norm(a - b)) / d for a, b, d in pairs if d)


def read_tendons(section: XmlElement, tree: TreeReader) -> dict[str, Tendon]:
    """All tendons by name."""
    out: dict[str, Tendon] = {}
    joints = {j.name: j for b in tree.bodies for j in b.joints}
    for number, written in enumerate(section.children, 1):
        if written.tag not in ("fixed", "spatial"):
            raise written.error(f"<{written.tag}> is no tendon; expected fixed or spatial.")
        element = tree.defaults.apply(written, "", "tendon")
        name = element.get("name") or f"tendon{number}"
        if name in out:
            raise element.error(f"a second tendon {name!r}; expected unique names.")
        tendon = out[name] = Tendon(name, element)
        divisor = branch = 1.0
        for part in element.children:
            if part.tag == "joint" and tendon.fixed:
                joint = part.name("joint")
                if joint not in joints:
                    raise part.error(f"tendon {name!r} names the joint {joint!r}. {nearest(joint, joints)}")
                if joints[joint].kind not in ("hinge", "slide"):
                    raise part.error(
                        f"tendon {name!r} acts on the {joints[joint].kind} joint {joint!r}; expected hinges."
                    )
                tendon.joints[joint] = tendon.joints.get(joint, 0.0) + part.number("coef")
            elif part.tag == "site" and not tendon.fixed:
                site = part.name("site")
                if site not in tree.sites:
                    raise part.error(f"tendon {name!r} goes through site {site!r}. {nearest(site, tree.sites)}")
                body, pose = tree.sites[site]
                if tendon.sites:
                    tendon.divisors.append(divisor)
                tendon.sites.append((body, pose, frame_name(site)))
                divisor = branch
            elif part.tag == "pulley" and not tendon.fixed:
                branch = part.number("divisor")
                if branch <= 0:
                    raise part.error(f"pulley has the divisor {branch:g}; expected one above zero.")
                divisor = 0.0  # no line from the last site of one branch to the first of the next
            elif part.tag == "geom" and not tendon.fixed:
                tendon.problem = f"it wraps around geom {part.get('geom')!r}"
            else:
                raise part.error(f"<{part.tag}> in tendon {name!r} is not known; expected sites, pulleys or joints.")
    return out


class TendonForces:
    """Springs and dampers of tendons as force elements."""

    def __init__(
        self,
        tendons: dict[str, Tendon],
        tree: TreeReader,
        builder: Builder,
        values: FileValues,
        held: Mapping[str, Mapping[str, Any]],
    ) -> None:
        """held: what equalities say of joints that follow others or are locked."""
        self.tendons, self.tree, self.builder, self.values, self.held = tendons, tree, builder, values, held
        self.references = tree.spring_references()
        self.springs = tree.poses(self.references)
        self.joints = {j.name: b for b in tree.bodies for j in b.joints}
        self.start = {j.name: tree.coordinate(j, "ref") for b in tree.bodies for j in b.joints if j.axial}
        self.order = {b: k for k, b in enumerate(tree.bodies)}
        self.world = {b: b.world for b in tree.bodies}

    def write(self, springs: bool, dampers: bool, friction: bool, actuators: Actuated) -> None:
        """Into the Builder; with `springs` or `dampers` False the file's flags switch them off."""
        quiet: list[str] = []
        still: list[str] = []
        for tendon in self.tendons.values():
            e, added = tendon.element, actuators.on("tendon", tendon.name)
            spring = curve(e, "stiffness") if springs else [0.0] * 3
            damper = [x + y for x, y in zip(curve(e, "damping"), added.damping)] if dampers else [0.0] * 3
            for what, value in (("stiffness", spring[0]), ("damping", damper[0])):
                if value < 0:
                    raise e.error(f"tendon {tendon.name!r} has {what} {value:g}; expected zero or more.")
            if any(spring) and e.number("springyield", 0.0) > 0:
                raise e.error(
                    f"tendon {tendon.name!r} has springyield, by which its spring is stretched for good; expected "
                    "elastic springs. Set springyield='0'."
                )
            if self.moves_nothing(tendon):
                still.append(_named(tendon))
                continue
            if friction and e.number("frictionloss", 0.0):
                raise e.error(
                    f"tendon {tendon.name!r} has frictionloss, which is not supported; expected it on joints."
                )
            armature = e.number("armature", 0.0) + added.armature
            if armature:
                self._armature(tendon, armature)
            if any(spring) or any(damper):
                self._spring(tendon, spring, damper)
            elif not armature:
                quiet.append(_named(tendon))
        limited = [_named(t) for t in self.tendons.values() if t.element.get("range")]
        if limited:
            self.builder.note(f"{self._file}: ranges of tendons were left out: {_listed(limited)}")
        if quiet:
            self.builder.note(f"{self._file}: tendons without spring and damper act on nothing: {_listed(quiet)}")
        if still:
            self.builder.note(f"{self._file}: tendons whose length never changes act on nothing: {_listed(still)}")

    def moves_nothing(self, tendon: Tendon) -> bool:
        """Whether every stretch of a line lies on one rigid body."""
        carriers = [_rigid(body) for body, _, _ in tendon.sites]
        return not tendon.fixed and all(a is b or not d for a, b, d in zip(carriers, carriers[1:], tendon.divisors))

    def _armature(self, tendon: Tendon, size: float) -> None:
        """Inertia on the rate of a sum of coordinates: a massless chain on the world whose joints follow them in turn
        about one axis ends in a body with that moment of inertia."""
        e = tendon.element
        if not tendon.fixed:
            raise e.error(
                f"tendon {tendon.name!r} through sites has armature, which is not supported; expected it on joints or "
                "fixed tendons. Set armature='0'."
            )
        bodies = [self.joints[j] for j, c in tendon.joints.items() if c]
        bodies.sort(key=self.order.__getitem__)
        if not all(_carries(a, b) for a, b in pairwise(bodies)):
            raise e.error(
                f"tendon {tendon.name!r} has armature and acts on joints of several branches, of which MuJoCo keeps a "
                "part; expected joints of one chain. Give them armature of their own."
            )
        parent, shares = WORLD, [(j, c) for j, c in tendon.joints.items() if c]
        for k, (joint, coefficient) in enumerate(shares):
            last = k == len(shares) - 1
            name = self.tree.new_name(f"{tendon.name}_armature{'' if last else k + 1}")
            inertia = self.values.scalar(size, f"armature_{tendon.name}", "kg m^2", e.origin) if last else 0
            self.builder.body(name, inertia=[0, 0, inertia], origin=e.origin)
            follows = self._followed(joint, coefficient)
            self.builder.joint(f"{name}_joint", "revolute", parent, name, axis="z", origin=e.origin, **follows)
            parent = name
        self.builder.note(
            f"{e.origin}: armature {size:g} of tendon {tendon.name!r} was made the body {parent!r}, which turns as the "
            "tendon's length changes"
        )

    def _followed(self, joint: str, coefficient: float) -> dict[str, Any]:
        """A joint that turns by the coefficient times another: a follower has its leader's coordinate, a locked one
        none."""
        held = self.held.get(joint, {})
        if "value" in held:
            return {"mode": "locked", "value": 0.0}
        leader, ratio, offset = held.get("mimic", (joint, 1.0, 0.0))
        return {"mimic": (leader, coefficient * ratio, coefficient * offset)}

    @property
    def _file(self) -> str:
        return next(iter(self.tendons.values())).element.file

    def _spring(self, tendon: Tendon, spring: list[float], damper: list[float]) -> None:
        e = tendon.element
        low, high = self.free_lengths(tendon)
        numbers = {"stiffness": spring[0], "damping": damper[0], "length": low, "slack": high - low}
        named = {
            k: self.values.scalar(v, f"{k}_{tendon.name}", unit, e.origin)
            for (k, v), unit in zip(numbers.items(), ("N/m", "N s/m", "m", "m"))
            if v
        }
        curved = {"stiffness2": spring[1], "stiffness3": spring[2], "damping2": damper[1], "damping3": damper[2]}
        named |= {k: self.values.scalar(v, f"{k}_{tendon.name}", "", e.origin) for k, v in curved.items() if v}
        self.force(tendon, tendon.name, named, e.origin)

    def free_lengths(self, tendon: Tendon) -> tuple[float, float]:
        """Between which the spring is free: those given, else the length at the springs' reference."""
        given = tendon.element.numbers("springlength", (1, 2), (-1.0,))
        if given[0] == -1 and len(set(given)) == 1:
            at = tendon.length(self.references, self.springs)
            return at, at
        return given[0], given[-1]

    def force(self, tendon: Tendon, name: str, values: dict[str, Any], origin: str) -> None:
        """A force element on the tendon."""
        if tendon.problem:
            raise tendon.element.error(
                f"tendon {tendon.name!r} cannot be a force element: {tendon.problem}; expected sites and pulleys. Put "
                "a site where it touches the geom, or set its stiffness and damping to 0."
            )
        if tendon.fixed:
            where = {"joints": list(tendon.joints), "coefficients": list(tendon.joints.values())}
            self.builder.force(name, "tendon", (), {**where, **values}, origin=origin)
            return
        if len(set(tendon.divisors)) > 1 or any(d != 1 for d in tendon.divisors):
            values = {"divisors": tendon.divisors, **values}
        self.builder.force(name, "tendon", self.points(tendon), values, origin=origin)

    def points(self, tendon: Tendon) -> list[Point]:
        return [
            (body.name, frame) if body.parent is not None else self.values.ground(frame, pose, tendon.element.origin)
            for body, pose, frame in tendon.sites
        ]

    def equality(self, name: str, element: XmlElement, length: Callable[[Tendon], str]) -> None:
        """L1 - L1(0) = a0 + a1 x + ... + a4 x^4 with x = L2 - L2(0), or x = 0 without a second tendon: a coupling of
        fixed tendons, or a rod between two sites. Lengths (0) are those of the file's configuration."""
        first = self._tendon(element, "tendon1")
        second = self._tendon(element, "tendon2") if element.get("tendon2") else None
        polynomial = [*element.numbers("polycoef", range(1, 6), (0, 1, 0, 0, 0)), 0, 0, 0, 0][:5]
        if first.fixed and (second is None or second.fixed):
            x = "0" if second is None else f"({length(second)} - ({self._start(second)!r}))"
            terms = " + ".join(f"({c!r})*{x}^{k}" if k else f"({c!r})" for k, c in enumerate(polynomial) if c or not k)
            expression = f"{length(first)} - ({self._start(first)!r}) - ({terms})"
            self.builder.coupling(name, expression, origin=element.origin)
        elif second is None and len(first.sites) == 2 and not first.problem:
            size = (self._start(first) + polynomial[0]) * first.divisors[0]
            made = self.values.scalar(size, f"length_{name}", "m", element.origin, True)
            start, end = self.points(first)
            self.builder.cut(name, "rod", start, end, made, origin=element.origin)
        else:
            raise element.error(
                f"equality of tendons {name!r} is not supported for lines through more than two sites; expected fixed "
                "tendons, or one line between two sites."
            )

    def _tendon(self, element: XmlElement, attribute: str) -> Tendon:
        name = element.name(attribute)
        if name not in self.tendons:
            raise element.error(f"equality has {attribute}={name!r}, no tendon. {nearest(name, self.tendons)}")
        return self.tendons[name]

    def _start(self, tendon: Tendon) -> float:
        """The length in the file's configuration."""
        return tendon.length(self.start, self.world)


def _rigid(body: BodyRecord) -> BodyRecord:
    """The body that moves a body: itself, or one that it is fixed to; the world's record where nothing does."""
    while body.parent is not None and not body.joints:
        body = body.parent
    return body


def _carries(body: BodyRecord, other: BodyRecord) -> bool:
    """Whether a body is another, or carries it."""
    at: BodyRecord | None = other
    while at is not None and at is not body:
        at = at.parent
    return at is body


def _named(tendon: Tendon) -> str:
    return f"{tendon.element.tag} {tendon.name!r}"


def _listed(names: list[str]) -> str:
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
