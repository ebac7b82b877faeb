"""What a Mechanism must satisfy before it is one: a tree, distinct names, bodies and frames that can exist."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from symbody.errors import nearest
from symbody.expr.arrays import is_zero
from symbody.model.joints import KINDS
from symbody.model.mechanism import WORLD, Body, Joint, Limits, Mechanism, Placement, has_coordinates
from symbody.model.numbers import fault, number_of, numbers_of, shown, to_node

CUT_KINDS = ("ball", "rod", "solid", "rows")
TOLERANCE = 1e-6  # of inertia tensors, relative to the largest moment; published tables are rounded
ORTHOGONAL = 1e-6  # of rotation matrices


def validate(mechanism: Mechanism) -> Mechanism:
    """The Mechanism with its joints sorted parents first; ModelError says what is wrong with it."""
    _tree(mechanism)
    mechanism = mechanism.replace(joints=_sorted(mechanism.joints))
    for body in mechanism.bodies:
        _body(body)
    for joint in mechanism.joints:
        _joint(joint, mechanism)
    _points(mechanism)
    _gravity(mechanism)
    return mechanism


# -- structure


def _tree(mechanism: Mechanism) -> None:
    """Every body hangs by one joint on the world or on another body, without cycles."""
    bodies = {b.name: b for b in mechanism.bodies}
    carried: dict[str, Joint] = {}
    for joint in mechanism.joints:
        owner = f"joint {joint.name!r}"
        if joint.parent not in bodies and joint.parent != WORLD:
            hint = nearest(str(joint.parent), [WORLD, *bodies])
            raise fault(joint.origin, f"{owner} has parent {shown(joint.parent)}, which is no body. {hint}")
        if joint.child not in bodies:
            hint = nearest(str(joint.child), bodies)
            raise fault(joint.origin, f"{owner} has child {shown(joint.child)}, which is no body. {hint}")
        if joint.child in carried:
            raise fault(
                joint.origin,
                f"{owner} carries body {joint.child!r}, which joint {carried[joint.child].name!r} carries already; "
                "expected one joint for each body. Close loops with cuts.",
            )
        carried[joint.child] = joint
    for body in mechanism.bodies:
        if body.name not in carried:
            raise fault(body.origin, f"body {body.name!r} has no joint; expected a joint whose child it is.")
    _no_cycle(mechanism.joints, carried)


def _no_cycle(joints: Sequence[Joint], carried: Mapping[str, Joint]) -> None:
    grounded = {WORLD}
    for joint in joints:
        path: list[Joint] = []
        at = joint
        while at.parent not in grounded:
            path.append(at)
            at = carried[at.parent]
            if at in path:
                names = " -> ".join(j.child for j in reversed(path[path.index(at) :]))
                raise fault(at.origin, f"the bodies {names} carry each other in a cycle; expected trees on {WORLD!r}.")
        grounded.update(j.child for j in [*path, at])


def _sorted(joints: Sequence[Joint]) -> tuple[Joint, ...]:
    """Parents first; otherwise in the order of writing."""
    children: dict[str, list[int]] = {}
    for k, joint in enumerate(joints):
        children.setdefault(joint.parent, []).append(k)
    if _parents_first(joints):
        return tuple(joints)
    out: list[Joint] = []
    stack = list(reversed(children.get(WORLD, [])))
    while stack:
        joint = joints[stack.pop()]
        out.append(joint)
        stack.extend(reversed(children.get(joint.child, [])))
    return tuple(out)


def _parents_first(joints: Sequence[Joint]) -> bool:
    seen = {WORLD}
    for joint in joints:
        if joint.parent not in seen:
            return False
        seen.add(joint.child)
    return True


# -- bodies


def _body(body: Body) -> None:
    owner = f"body {body.name!r}"
    mass = number_of(body.mass)
    if mass is not None and mass < 0:
        raise fault(body.origin, f"{owner} has mass {mass:g}; expected 0 or more, kg.")
    tensor = numbers_of(body.inertia)
    if tensor is not None:
        _inertia(tensor, owner, body.origin)
    for name, frame in body.frames.items():
        if not name or "." in name:
            raise fault(body.origin, f"{owner} has a frame called {name!r}; expected a text without a dot.")
        _rotation(frame, f"frame {name!r} of {owner}", body.origin)


def _inertia(tensor: np.ndarray, owner: str, origin: str) -> None:
    """A tensor about the centre of mass that some distribution of mass has: each principal moment at most the sum of the others."""
    scale = float(np.abs(tensor).max())
    slack = TOLERANCE * scale
    if np.abs(tensor - tensor.T).max() > slack:
        raise fault(origin, f"{owner} has an inertia matrix that is not symmetric; expected Ixy = Iyx and so on.")
    moments = np.linalg.eigvalsh(tensor)
    if moments[0] < -slack:
        raise fault(
            origin, f"{owner} has the principal moment of inertia {moments[0]:.6g}; expected 0 or more, kg m^2."
        )
    # about one axis only, as of planar models, is allowed: the missing moments are not used
    if np.count_nonzero(np.abs(tensor) > 0) == 1:
        return
    if moments[2] > moments[0] + moments[1] + slack:
        listed = ", ".join(f"{m:.6g}" for m in moments)
        raise fault(
            origin,
            f"{owner} has the principal moments of inertia {listed}, which violate the triangle inequality; "
            "expected each to be at most the sum of the other two. The tensor is taken about the centre of mass.",
        )


def _rotation(placement: Placement, owner: str, origin: str) -> None:
    matrix = numbers_of(placement.rotation)
    if matrix is None:
        return
    error = float(np.abs(matrix @ matrix.T - np.eye(3)).max())
    if error > ORTHOGONAL:
        raise fault(origin, f"rotation of {owner} is not orthogonal (error {error:.2g}); expected a rotation matrix.")
    if np.linalg.det(matrix) < 0:
        raise fault(origin, f"rotation of {owner} is left-handed (determinant -1); expected a right-handed one.")


# -- joints


def _joint(joint: Joint, mechanism: Mechanism) -> None:
    owner = f"joint {joint.name!r}"
    _rotation(joint.placement, owner, joint.origin)
    if joint.kind in ("helical", "y") and joint.pitch is None:
        raise fault(joint.origin, f"{owner} of kind {joint.kind!r} has no pitch; expected pitch, m/rad.")
    if joint.kind not in ("helical", "y") and joint.pitch is not None:
        raise fault(joint.origin, f"{owner} of kind {joint.kind!r} has a pitch; only helical and y joints have one.")
    motions = KINDS[joint.kind].motions(joint)
    for what in ("stiffness", "viscous", "coulomb"):
        law = getattr(joint, what)
        value = None if law is None else number_of(law)
        if value is not None and value < 0:
            raise fault(joint.origin, f"{owner} has {what} {value:g}; expected 0 or more.")
    if joint.mode == "driven" and joint.value is None:
        raise fault(joint.origin, f"{owner} is driven and has no value; expected value, a law of the time t.")
    single = len(motions) == 1 and motions[0][0] in "RTH"
    for what in ("mimic", "rotor", "elastic"):
        if getattr(joint, what) is not None and not single:
            raise fault(joint.origin, f"{owner} of kind {joint.kind!r} has {what}; expected a joint with one motion.")
    if joint.mimic is not None:
        _mimic(joint, mechanism)


def _mimic(joint: Joint, mechanism: Mechanism) -> None:
    assert joint.mimic is not None
    owner = f"joint {joint.name!r}"
    others = {j.name: j for j in mechanism.joints}
    seen = [joint.name]
    at = joint
    while at.mimic is not None:
        if at.mimic.joint not in others:
            hint = nearest(at.mimic.joint, others)
            raise fault(at.origin, f"joint {at.name!r} mimics {at.mimic.joint!r}, which is no joint. {hint}")
        at = others[at.mimic.joint]
        if at.name in seen:
            raise fault(
                joint.origin, f"{owner} mimics itself through {' -> '.join([*seen[1:], at.name])}; expected no cycle."
            )
        seen.append(at.name)
    if len(seen) > 2:
        raise fault(
            joint.origin,
            f"{owner} mimics {seen[1]!r}, which mimics {seen[2]!r}; expected a joint with its own coordinate.",
        )
    if not has_coordinates(at) or KINDS[at.kind].nv(at) != 1:
        raise fault(
            joint.origin, f"{owner} mimics {at.name!r}, which has not one coordinate of its own; choose another."
        )


def checked_limits(value: Any, owner: str, origin: str) -> Limits:
    """Limits from None, (lower, upper), a mapping or Limits; numbers only."""
    if value is None:
        return Limits()
    if not isinstance(value, Limits):
        if isinstance(value, (list, tuple)) and len(value) == 2:
            value = {"lower": value[0], "upper": value[1]}
        if not isinstance(value, Mapping):
            raise fault(
                origin,
                f"limits of {owner} are {shown(value)}; expected [lower, upper] or lower, upper, velocity, effort.",
            )
        value = Limits(**_limit_values(value, owner, origin))
    if value.lower is not None and value.upper is not None and not value.lower < value.upper:
        raise fault(origin, f"limits of {owner} are {value.lower:g} to {value.upper:g}; expected lower < upper.")
    for what in ("velocity", "effort"):
        bound = getattr(value, what)
        if bound is not None and not bound >= 0:
            raise fault(origin, f"{what} limit of {owner} is {bound:g}; expected 0 or more.")
    return value  # type: ignore[no-any-return]


def _limit_values(given: Mapping[str, Any], owner: str, origin: str) -> dict[str, float | None]:
    from symbody.expr.graph import Graph

    names = ("lower", "upper", "velocity", "effort")
    out: dict[str, float | None] = {}
    for key, value in given.items():
        if key not in names:
            raise fault(origin, f"limits of {owner} have the key {shown(key)}; expected {', '.join(names)}.")
        number = None if value is None else number_of(to_node(value, Graph(), {}, f"{key} limit of {owner}", origin))
        out[key] = number
    return out


# -- the rest


def _points(mechanism: Mechanism) -> None:
    """Every point of cuts, forces and sensors is a body (or the world) and a frame that it has."""
    frames = {WORLD: set(), **{b.name: set(b.frames) for b in mechanism.bodies}}

    def check(body: str, frame: str, owner: str, origin: str) -> None:
        if body not in frames:
            raise fault(origin, f"{owner} is attached to {shown(body)}, which is no body. {nearest(str(body), frames)}")
        if frame and frame not in frames[body]:
            hint = nearest(str(frame), frames[body])
            raise fault(origin, f"{owner} is attached to frame {shown(frame)}, which body {body!r} has not. {hint}")

    for cut in mechanism.cuts:
        owner = f"cut {cut.name!r}"
        if cut.kind not in CUT_KINDS:
            raise fault(cut.origin, f"{owner} has kind {shown(cut.kind)}; expected one of {', '.join(CUT_KINDS)}.")
        if cut.kind == "rod" and (cut.length is None or is_zero(cut.length)):
            raise fault(cut.origin, f"{owner} is a rod without a length; expected length, m, not zero.")
        if any(not isinstance(r, int) or not 0 <= r < 6 for r in cut.rows) or (cut.kind == "rows" and not cut.rows):
            raise fault(
                cut.origin,
                f"{owner} has rows {list(cut.rows)}; expected numbers 0 to 5 (rotations, then translations).",
            )
        for body, frame in (cut.first, cut.second):
            check(body, frame, owner, cut.origin)
    for force in mechanism.forces:
        if not isinstance(force.kind, str) or not force.kind:
            raise fault(force.origin, f"force {force.name!r} has kind {shown(force.kind)}; expected the name of a law.")
        for body, frame in force.points:
            check(body, frame, f"force {force.name!r}", force.origin)
    for sensor in mechanism.sensors:
        check(sensor.body, sensor.frame, f"sensor {sensor.name!r}", sensor.origin)


def _gravity(mechanism: Mechanism) -> None:
    for value in (number_of(x) for x in mechanism.gravity):
        if value is not None and not math.isfinite(value):
            raise fault("", f"gravity of {mechanism.name} is not finite.")
