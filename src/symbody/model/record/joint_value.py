"""The value of a joint: where a locked one stands, the laws of time of a driven one; one for each coordinate."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from symbody.model.record.joints import coordinate_names, has_quaternion
from symbody.model.record.mechanism import Joint
from symbody.model.record.numbers import AUTO, value_of
from symbody.model.record.origin import fault, place, shown
from symbody.symbolic.expr.node import CONST, Node

Number = Callable[[Any, str, str], Node]  # a value, the name of the symbol if it is "auto", what it is -> Node
QUATERNION_SLACK = 1e-3  # of the length of a quaternion that is written with few digits
UNIT_SLACK = 1e-6  # of the length of one in a record


def read_value(joint: Joint, given: Any, number: Number, auto: str) -> Node | tuple[Node, ...] | None:
    """The value of `joint` from a number or expression, or a list with one for each coordinate.

    "auto" makes the parameter `auto`, and `auto`1, `auto`2 ... where there are several coordinates. A quaternion is
    normalised; so are the laws of one, when equations are made.
    """
    if given is None:
        return None
    n, what = len(coordinate_names(joint)), f"value of joint {joint.name!r}"
    if n > 1 and isinstance(given, str) and given.strip() == AUTO:
        given = [AUTO] * n
    if not isinstance(given, (list, tuple, np.ndarray)) or (isinstance(given, np.ndarray) and not given.ndim):
        return number(given, auto, what)
    nodes = [number(x, f"{auto}{k + 1}" if n > 1 else auto, what) for k, x in enumerate(given)]
    if joint.mode == "locked" and has_quaternion(joint) and len(nodes) == n:
        nodes[-4:] = _unit(nodes[-4:], joint)
    return nodes[0] if len(nodes) == n == 1 else tuple(nodes)


def check_value(joint: Joint) -> None:
    """A value where the mode needs one, and as many entries as the joint has coordinates."""
    owner, names = f"joint {joint.name!r}", coordinate_names(joint)
    at = place(joint.origin, "value")
    if joint.mode == "driven":
        _check_driven(joint, owner, names)
    if joint.value is None:
        return
    if joint.mode not in ("locked", "driven"):
        raise fault(at, f"{owner} has a value and mode {joint.mode!r}; expected mode locked or driven with it.")
    entries = joint.values
    if not all(isinstance(x, Node) for x in entries):
        raise fault(at, f"{owner} has value {shown(joint.value)}; expected expressions of the Mechanism's Graph.")
    if len(entries) != len(names):
        raise fault(at, f"{owner} of kind {joint.kind!r} has {_counted(joint)}; expected {_expected(names)}.")
    if joint.mode == "driven" and has_quaternion(joint):
        sizes = [value_of(x, {"t": 0.0}) for x in entries[-4:]]
        if all(x == 0 for x in sizes):
            raise fault(at, f"{owner} has laws of a quaternion that is zero at t = 0; expected any other length.")
    elif has_quaternion(joint):
        size = _length(entries[-4:], joint)
        if not abs(size - 1) < UNIT_SLACK:
            raise fault(at, f"{owner} has a value with a quaternion of length {size:.6g}; expected 1.")


def _check_driven(joint: Joint, owner: str, names: tuple[str, ...]) -> None:
    at = joint.origin
    if joint.mimic is not None:
        raise fault(place(at, "mode"), f"{owner} is driven and mimics {joint.mimic.joint!r}; expected one of them.")
    if joint.elastic is not None:
        raise fault(
            place(at, "mode"),
            f"{owner} is driven and elastic, and a law would prescribe the deflection too. Drive a rigid joint, and "
            "let a passive one with stiffness and viscous follow it.",
        )
    if joint.value is None:
        laws = "a law of the time t" if len(names) == 1 else f"laws of the time t: {_expected(names)}"
        raise fault(at, f"{owner} is driven and has no value; expected value, {laws}.")


def _counted(joint: Joint) -> str:
    if isinstance(joint.value, tuple):
        return f"a value of {len(joint.value)} {'entry' if len(joint.value) == 1 else 'entries'}"
    return f"the single value {shown(joint.value)}"


def _expected(names: tuple[str, ...]) -> str:
    if not names:
        return "none, for it does not move"
    return f"one for {names[0]}" if len(names) == 1 else f"a list of {len(names)}: {', '.join(names)}"


# -- quaternions


def _unit(entries: list[Node], joint: Joint) -> list[Node]:
    size = _length(entries, joint)
    if not abs(size - 1) < QUATERNION_SLACK:
        at = place(joint.origin, "value")
        raise fault(at, f"joint {joint.name!r} has a value with a quaternion of length {size:.6g}; expected 1.")
    if abs(size - 1) < 1e-15:  # of unit length already: what was written is read back to the last digit
        return entries
    return [x.graph.number(float(x.data) / size) for x in entries]


def _length(entries: Any, joint: Joint) -> float:
    if not all(x.op is CONST for x in entries):
        other = "spherical" if joint.kind == "ball" else "floating"
        raise fault(
            place(joint.origin, "value"),
            f"joint {joint.name!r} has a value with the quaternion {shown(list(entries))}; expected numbers. "
            f"Angles of kind {other} may be expressions.",
        )
    return math.hypot(*(float(x.data) for x in entries))
