"""Where tendons act: on a line through several points, or on a sum of coordinates of joints.

The force F acts on the length Z: positive, it makes Z longer, and its power is F Zd.
"""

from __future__ import annotations

from typing import Any

from symbody.mechanics.formalisms.link_forces import Distance, distance, push_along_line
from symbody.mechanics.formalisms.tree import first_places
from symbody.mechanics.formalisms.vec3 import dot, plus, times
from symbody.mechanics.formalisms.wrenches import TreeElement
from symbody.model.library.force_element import Effect, Law
from symbody.model.record.force_kinds import tendon_joints
from symbody.symbolic.expr.arrays import is_zero
from symbody.symbolic.expr.call import call


def on_path(element: TreeElement, law: Law) -> Effect:
    """Z is the sum of the distances of points in turn, each over its divisor; the force acts on every stretch."""
    lines = _lines(element)
    element.x = sum((line.Z / divisor for line, divisor in lines), 0)
    element.v = sum((line.Zd / divisor for line, divisor in lines), 0)
    effect = _ask(element, law, "m")
    for line, divisor in lines:
        push_along_line(element, line, effect.force / divisor)
    return effect


def on_joints(element: TreeElement, law: Law) -> Effect:
    """Z is the sum of coefficients times coordinates; followers count by their leaders, locked joints stand still."""
    mechanism, tree = element.tree.mechanism, element.tree
    first = first_places(mechanism)
    shares: list[tuple[int, Any]] = []
    element.x = element.v = 0
    for joint, coefficient in zip(tendon_joints(element.force, mechanism), element.values("coefficients")):
        if joint.mode == "locked":
            q = tree.node(joint.values[0]) if joint.values else 0
        elif joint.mimic is not None:
            iq, iv = first[joint.mimic.joint]
            ratio = tree.node(joint.mimic.ratio)
            q = plus(times(ratio, tree.q[iq]), tree.node(joint.mimic.offset))
            shares.append((iv, times(coefficient, ratio)))
        else:
            iq, iv = first[joint.name]
            q = tree.q[iq]
            shares.append((iv, coefficient))
        element.x = plus(element.x, times(coefficient, q))
    for iv, gain in shares:
        element.v = plus(element.v, times(gain, tree.qd[iv]))
    effect = _ask(element, law, "")
    efforts = element.wrenches.efforts
    for iv, gain in shares:
        efforts[iv] = plus(efforts[iv], times(gain, effect.force))
    return effect


def _ask(element: TreeElement, law: Law, unit: str) -> Effect:
    element.observe("Z", element.x, unit)
    element.observe("Zd", element.v, f"{unit or '1'}/s")
    effect = law(element)
    assert effect is not None
    element.observe("F", effect.force, "N")
    return effect


def _lines(element: TreeElement) -> list[tuple[Distance, Any]]:
    """The stretches between points in turn, and what each is divided by; one on a single body stays as it is."""
    divisors = element.values("divisors") or (1,) * (len(element.frames) - 1)
    out = []
    for k, (first, second, divisor) in enumerate(zip(element.frames, element.frames[1:], divisors)):
        if is_zero(divisor):
            continue  # another branch begins
        if first.link == second.link:
            out.append((_still(first.position, second.position), divisor))
        else:
            out.append((distance(element, k), divisor))
    if all(not line.sides for line, _ in out):
        raise element.fault("has all its points on one rigid body, where it changes nothing; expected two bodies.")
    return out


def _still(first: Any, second: Any) -> Distance:
    """The distance of two points of one body."""
    z = first - second
    return Distance(call("sqrt", dot(z, z)), 0, z, ())
