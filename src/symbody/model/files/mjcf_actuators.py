"""MJCF actuators as force elements: force = gain * control + b0 + b1 * length + b2 * velocity, times the gear.

motor, position, velocity and general with fixed gain and affine bias, on joints and tendons. The control is the input
u_<name>; what depends on length and velocity is a spring of the same joint or tendon.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from symbody.basics.errors import ModelError, nearest
from symbody.model.build.builder import Builder
from symbody.model.files.file_values import FileValues
from symbody.model.files.mjcf_defaults import Defaults, override
from symbody.model.files.mjcf_tendons import TendonForces
from symbody.model.files.mjcf_tree import TreeReader
from symbody.model.files.mjcf_weights import Felt
from symbody.model.files.xml_file import XmlElement

SHORTCUTS = (
    "general", "motor", "position", "velocity", "intvelocity", "orientation", "pid", "damper", "cylinder", "muscle",
    "adhesion", "dcmotor",
)  # fmt: skip
OF_GAIN = ("kp", "kv", "gainprm", "biasprm", "gaintype", "biastype", "dyntype", "dynprm", "timeconst", "dampratio")


class NotALaw(Exception):
    """Why an actuator cannot be a force element."""


@dataclass(frozen=True)
class ActuatorLaw:
    """The law of an actuator's force: gain, bias (b0, b1, b2), time constant (s) of a first-order lag (0: none)."""

    gain: float
    bias: tuple[float, float, float] = (0.0, 0.0, 0.0)
    time: float = 0.0


@dataclass
class Reflected:
    """What actuators add to a joint or tendon, whether or not they are driven: gear^2 times armature and damping."""

    armature: float = 0.0
    damping: tuple[float, float, float] = (0.0, 0.0, 0.0)


class Actuators:
    """The actuators of a file; `how` is "efforts" (they are only listed) or "laws"."""

    def __init__(self, section: XmlElement, tree: TreeReader, builder: Builder, values: FileValues, how: str) -> None:
        self.section, self.tree, self.builder, self.values, self.how = section, tree, builder, values, how
        self.joints = {j.name: j for b in tree.bodies for j in b.joints}
        self.reflected: dict[tuple[str, str], Reflected] = {}  # by ("joint" or "tendon", name)
        for written in section.children:
            if written.tag in SHORTCUTS or written.tag == "plugin":
                self._reflect(actuator_with_defaults(self.tree.defaults, written))

    def _reflect(self, element: XmlElement) -> None:
        armature = element.number("armature", 0.0)
        damping = [*element.numbers("damping", range(1, 4), (0.0,)), 0.0, 0.0][:3]
        if not armature and not any(damping):
            return
        joint = element.get("joint") or element.get("jointinparent")
        at = ("joint", joint) if joint else ("tendon", element.get("tendon"))
        if not at[1]:
            raise element.error(
                f"<{element.tag}> has armature or damping and acts on no joint and no tendon; expected one of them."
            )
        square = element.numbers("gear", range(1, 7), (1.0,))[0] ** 2
        sum_ = self.reflected.setdefault(at, Reflected())
        sum_.armature += square * armature
        a, b, c = (x + square * y for x, y in zip(sum_.damping, damping))
        sum_.damping = a, b, c

    def on(self, what: str, name: str) -> Reflected:
        """Armature and damping that actuators add to a joint or tendon."""
        return self.reflected.get((what, name), Reflected())

    def write(self, lines: TendonForces, felt: Callable[[], Felt]) -> None:
        """Into the Builder, when joints and tendons are there; felt: the inertia that damping ratios ask for."""
        self.felt = felt
        self._unknown = False
        left: list[str] = []
        ranges: list[str] = []
        taken: set[str] = set()
        for number, written in enumerate(self.section.children, 1):
            if written.tag not in SHORTCUTS and written.tag != "plugin":
                raise written.error(f"<{written.tag}> is no actuator. {nearest(written.tag, SHORTCUTS)}")
            name = written.get("name") or f"{written.tag}{number}"
            shown = f"{written.tag} {written.get('name')!r}" if written.get("name") else written.tag
            if self.how == "efforts":
                left.append(shown)
                continue
            if name in taken:
                raise written.error(f"a second actuator {name!r}; expected unique names.")
            taken.add(name)
            element = actuator_with_defaults(self.tree.defaults, written)
            try:
                self._add(element, name, lines)
            except NotALaw as reason:
                left.append(f"{shown} ({reason})")
            if any(element.get(k) for k in ("ctrlrange", "forcerange", "actrange")):
                ranges.append(name)
        if left:
            why = "joints take efforts" if self.how == "efforts" else "they have no force element"
            listed = ", ".join(left[:8]) + (f" and {len(left) - 8} more" if len(left) > 8 else "")
            self.builder.note(f"{self.section.origin}: <actuator> was left out ({why}): {listed}")
        if ranges:
            self.builder.note(f"{self.section.origin}: ranges of {len(ranges)} actuators were left out")

    def _add(self, element: XmlElement, name: str, lines: TendonForces) -> None:
        gear = element.numbers("gear", range(1, 7), (1.0,))[0]
        law = _law(element)
        if element.number("dampratio", 0.0):
            law = self._damped(element, law, gear, lines)
        b0, b1, b2 = law.bias
        if b1 > 0 or b2 > 0:
            raise NotALaw("its bias pushes along the motion")
        if b0 and not b1:
            raise NotALaw("its bias is a constant force")
        drive: dict[str, Any] = {"law": "actuator", "gain": law.gain * gear}
        if law.time:
            drive["time_constant"] = law.time
        spring: dict[str, Any] = {"law": "spring", "stiffness": -b1 * gear**2, "damping": -b2 * gear**2}
        if b0:
            spring["length"] = -b0 / (b1 * gear)
        parts = [(name, drive)] + ([(f"{name}_feedback", spring)] if b1 or b2 else [])
        for title, values in parts:
            self._force(element, title, values, lines)

    def _damped(self, element: XmlElement, law: ActuatorLaw, gear: float, lines: TendonForces) -> ActuatorLaw:
        """With damping in units of 2 sqrt(kp m), where m = 1 / (J M^-1 J') at the file's configuration."""
        joint, tendon = element.get("joint") or element.get("jointinparent"), lines.tendons.get(element.get("tendon"))
        if joint in self.joints and self.joints[joint].axial:
            shares = {joint: gear}
        elif tendon is not None and tendon.fixed:
            shares = {j: gear * c for j, c in tendon.joints.items()}
        else:
            raise NotALaw("its damping ratio asks for the inertia along a line through sites")
        try:
            mass = None if self._unknown else self.felt().by_sum(shares)
        except ModelError:
            mass = None
        if mass is None:
            self._unknown = True  # asked once
            raise NotALaw("its damping ratio asks for an inertia that is not determined")
        damping = 2 * element.number("dampratio") * float(np.sqrt(law.gain * mass))
        return ActuatorLaw(law.gain, (*law.bias[:2], -damping), law.time)

    def _force(self, element: XmlElement, title: str, values: dict[str, Any], lines: TendonForces) -> None:
        joint = element.get("joint") or element.get("jointinparent")
        if joint:
            found = self.joints.get(joint)
            if found is None:
                raise element.error(
                    f"an actuator acts on joint {joint!r}, which is none. {nearest(joint, self.joints)}"
                )
            if not found.axial:
                raise NotALaw(f"it acts on the {found.kind} joint {joint!r}")
            where = {"joints": [joint], "coefficients": [1.0]}
            self.builder.force(title, "tendon", (), {**where, **values}, origin=element.origin)
        elif element.get("tendon"):
            name = element.get("tendon")
            if name not in lines.tendons:
                raise element.error(
                    f"an actuator acts on tendon {name!r}, which is none. {nearest(name, lines.tendons)}"
                )
            if lines.tendons[name].problem:
                raise NotALaw(f"its tendon has no force element: {lines.tendons[name].problem}")
            if lines.moves_nothing(lines.tendons[name]):
                raise NotALaw("the length of its tendon never changes")
            lines.force(lines.tendons[name], title, values, element.origin)
        else:
            raise NotALaw("it acts on no joint and no tendon")


def actuator_with_defaults(defaults: Defaults, written: XmlElement) -> XmlElement:
    """All kinds of actuators share one default; laws that another kind gives do not reach this one."""
    merged: dict[str, str] = {}
    for tag in SHORTCUTS:
        given = defaults.apply(XmlElement(tag, {}, written.file, written.line), written.get("class"), tag)
        merged |= {k: v for k, v in given.attributes.items() if tag in (written.tag, "general") or k not in OF_GAIN}
    override(merged, written.attributes)
    return XmlElement(written.tag, merged, written.file, written.line)


def _law(e: XmlElement) -> ActuatorLaw:
    """The law of an actuator from its shortcut, or from its gain and bias."""
    if e.tag != "position" and e.get("dampratio"):
        raise NotALaw("its damping ratio depends on the inertia it moves")
    match e.tag:
        case "motor":
            return ActuatorLaw(1.0)
        case "position":
            kp, kv = e.number("kp", 1.0), e.number("kv", 0.0)
            return ActuatorLaw(kp, (0.0, -kp, -kv), e.number("timeconst", 0.0))
        case "velocity":
            kv = e.number("kv", 1.0)
            return ActuatorLaw(kv, (0.0, 0.0, -kv))
        case "general":
            return _general(e)
    raise NotALaw(f"a {e.tag} has a law of its own")


def _general(e: XmlElement) -> ActuatorLaw:
    dynamics = e.get("dyntype") or "none"
    if dynamics not in ("none", "filter", "filterexact"):
        raise NotALaw(f"its dyntype is {dynamics!r}")
    gain = [*e.numbers("gainprm", range(1, 11), (1.0,)), 0.0, 0.0][:3]
    if (e.get("gaintype") or "fixed") not in ("fixed", "affine") or (e.get("gaintype") == "affine" and any(gain[1:])):
        raise NotALaw(f"its gaintype is {e.get('gaintype')!r}")
    bias = [*e.numbers("biasprm", range(1, 11), (0.0,)), 0.0, 0.0][:3]
    kind = e.get("biastype") or "none"
    if kind not in ("none", "affine"):
        raise NotALaw(f"its biastype is {kind!r}")
    time = e.numbers("dynprm", range(1, 11), (1.0,))[0] if dynamics != "none" else 0.0
    return ActuatorLaw(gain[0], (bias[0], bias[1], bias[2]) if kind == "affine" else (0.0, 0.0, 0.0), time)
