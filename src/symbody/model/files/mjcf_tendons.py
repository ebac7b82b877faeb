"""MJCF tendons: springs and dampers on lines through sites, or on sums of joint coordinates; constraints on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from symbody.errors import nearest
from symbody.model.build.builder import Builder
from symbody.model.files.file_values import FileValues
from symbody.model.files.mjcf_tree import BodyRecord, TreeReader, frame_name
from symbody.model.files.xml_file import Element
from symbody.model.record.pose import Pose

Point = tuple[str, str]


@dataclass(eq=False)
class Tendon:
    """A tendon: sites with divisors of the stretches between them, or joints with coefficients."""

    name: str
    element: Element
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


def read_tendons(section: Element, tree: TreeReader) -> dict[str, Tendon]:
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

    def __init__(self, tendons: dict[str, Tendon], tree: TreeReader, builder: Builder, values: FileValues) -> None:
        self.tendons, self.tree, self.builder, self.values = tendons, tree, builder, values
        self.springs = tree.poses(tree.spring_references())

    def write(self, springs: bool, dampers: bool, friction: bool) -> None:
        """Into the Builder; with `springs` or `dampers` False the file's flags switch them off."""
        quiet: list[str] = []
        for tendon in self.tendons.values():
            e = tendon.element
            stiffness = e.number("stiffness", 0.0) if springs else 0.0
            damping = e.number("damping", 0.0) if dampers else 0.0
            for what, value in (("stiffness", stiffness), ("damping", damping)):
                if value < 0:
                    raise e.error(f"tendon {tendon.name!r} has {what} {value:g}; expected zero or more.")
            if friction and e.number("frictionloss", 0.0):
                raise e.error(
                    f"tendon {tendon.name!r} has frictionloss, which is not supported; expected it on joints."
                )
            if e.number("armature", 0.0):
                raise e.error(f"tendon {tendon.name!r} has armature, which is not supported; expected it on joints.")
            if stiffness or damping:
                self._spring(tendon, stiffness, damping)
            else:
                quiet.append(_named(tendon))
        limited = [_named(t) for t in self.tendons.values() if t.element.get("range")]
        if limited:
            self.builder.note(f"{self._file}: ranges of tendons were left out: {_listed(limited)}")
        if quiet:
            self.builder.note(f"{self._file}: tendons without spring and damper act on nothing: {_listed(quiet)}")

    @property
    def _file(self) -> str:
        return next(iter(self.tendons.values())).element.file

    def _spring(self, tendon: Tendon, stiffness: float, damping: float) -> None:
        e = tendon.element
        low, high = self.free_lengths(tendon)
        numbers = {"stiffness": stiffness, "damping": damping, "length": low, "slack": high - low}
        named = {
            k: self.values.scalar(v, f"{k}_{tendon.name}", unit, e.origin)
            for (k, v), unit in zip(numbers.items(), ("N/m", "N s/m", "m", "m"))
            if v
        }
        self.force(tendon, tendon.name, named, e.origin)

    def free_lengths(self, tendon: Tendon) -> tuple[float, float]:
        """Between which the spring is free: those given, else the length at the springs' reference."""
        given = tendon.element.numbers("springlength", (1, 2), (-1.0,))
        if given[0] == -1 and len(set(given)) == 1:
            at = tendon.length(self.tree.spring_references(), self.springs)
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

    def equality(self, name: str, element: Element, length: Callable[[Tendon], str]) -> None:
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

    def _tendon(self, element: Element, attribute: str) -> Tendon:
        name = element.name(attribute)
        if name not in self.tendons:
            raise element.error(f"equality has {attribute}={name!r}, no tendon. {nearest(name, self.tendons)}")
        return self.tendons[name]

    def _start(self, tendon: Tendon) -> float:
        """The length in the file's configuration."""
        at = {j.name: self.tree.coordinate(j, "ref") for b in self.tree.bodies for j in b.joints if j.axial}
        return tendon.length(at, {b: b.world for b in self.tree.bodies})


def _named(tendon: Tendon) -> str:
    return f"{tendon.element.tag} {tendon.name!r}"


def _listed(names: list[str]) -> str:
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
