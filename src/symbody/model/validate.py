"""What a Mechanism must satisfy before it is one: trees, distinct names, bodies and frames that can exist."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from symbody.errors import nearest
from symbody.expr.arrays import is_zero
from symbody.expr.node import Node
from symbody.model.couplings import check_coupling
from symbody.model.joints import KINDS
from symbody.model.mechanism import WORLD, Body, Cut, Joint, Mechanism, Placement, has_coordinates
from symbody.model.numbers import number_of, numbers_of
from symbody.model.origin import fault, place, shown

CUT_KINDS = {  # and how many equations they are
    "ball": 3, "rod": 1, "solid": 6, "rows": "the chosen",
    "revolute": 5, "prismatic": 5, "universal": 4, "cylindrical": 4,
}  # fmt: skip
INERTIA_SLACK = 1e-6  # relative to the largest moment: published tables are rounded
ROTATION_SLACK = 1e-6  # of R R^T - 1
SCREWS = ("helical", "y")


def validate(mechanism: Mechanism) -> Mechanism:
    """The Mechanism with its joints sorted parents first; ModelError says what is wrong with it."""
    _distinct(mechanism)
    _tree(mechanism)
    mechanism = mechanism.replace(joints=_sorted(mechanism.joints))
    for body in mechanism.bodies:
        _body(body)
    for joint in mechanism.joints:
        _joint(joint, mechanism)
    _points(mechanism)
    for coupling in mechanism.couplings:
        check_coupling(coupling, mechanism)
    check_finite(mechanism.gravity, f"gravity of {mechanism.name}", "")
    return mechanism


# -- structure


def _distinct(mechanism: Mechanism) -> None:
    for what in ("bodies", "joints", "cuts", "couplings", "forces", "sensors"):
        pieces = getattr(mechanism, what)
        for name, count in Counter(p.name for p in pieces).items():
            if count > 1:
                origin = [p.origin for p in pieces if p.name == name][-1]
                raise fault(origin, f"{count} {what} are called {name!r}; expected different names.")


def _tree(mechanism: Mechanism) -> None:
    """Every body hangs by one joint on the world or on another body, without cycles."""
    bodies = {b.name for b in mechanism.bodies}
    carried: dict[str, Joint] = {}
    for joint in mechanism.joints:
        owner = f"joint {joint.name!r}"
        if joint.parent not in bodies and joint.parent != WORLD:
            hint = nearest(joint.parent, [WORLD, *(b.name for b in mechanism.bodies)])
            raise fault(place(joint.origin, "parent"), f"{owner} has parent {joint.parent!r}, which is no body. {hint}")
        if joint.child not in bodies:
            hint = nearest(joint.child, [b.name for b in mechanism.bodies])
            raise fault(place(joint.origin, "child"), f"{owner} has child {joint.child!r}, which is no body. {hint}")
        if joint.child in carried:
            raise fault(
                place(joint.origin, "child"),
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
        path: dict[str, Joint] = {}
        at = joint
        while at.parent not in grounded:
            path[at.name] = at
            at = carried[at.parent]
            if at.name in path:
                cycle = list(path.values())[list(path).index(at.name) :]
                names = " -> ".join(j.child for j in reversed(cycle))
                raise fault(at.origin, f"the bodies {names} carry each other in a cycle; expected trees on {WORLD!r}.")
        grounded.update(j.child for j in [*path.values(), at])


def _sorted(joints: Sequence[Joint]) -> tuple[Joint, ...]:
    """Parents first; as they were written where that is so already, else depth first."""
    if _parents_first(joints):
        return tuple(joints)
    children: dict[str, list[Joint]] = {}
    for joint in joints:
        children.setdefault(joint.parent, []).append(joint)
    out: list[Joint] = []
    stack = children.get(WORLD, [])[::-1]
    while stack:
        out.append(stack.pop())
        stack.extend(reversed(children.get(out[-1].child, [])))
    return tuple(out)


def _parents_first(joints: Iterable[Joint]) -> bool:
    seen = {WORLD}
    for joint in joints:
        if joint.parent not in seen:
            return False
        seen.add(joint.child)
    return True


# -- bodies and frames


def _body(body: Body) -> None:
    owner, at = f"body {body.name!r}", body.origin
    check_finite([body.mass], f"mass of {owner}", place(at, "mass"))
    check_finite(body.com, f"com of {owner}", place(at, "com"))
    check_finite(body.inertia, f"inertia of {owner}", place(at, "inertia"))
    mass = number_of(body.mass)
    if mass is not None and mass < 0:
        raise fault(place(at, "mass"), f"{owner} has mass {mass:g}; expected 0 or more, kg.")
    tensor = numbers_of(body.inertia)
    if tensor is not None:
        _inertia(tensor, body.physical, owner, place(at, "inertia"))
    for name, frame in body.frames.items():
        if not isinstance(name, str) or not name or "." in name:
            raise fault(place(at, "frames"), f"{owner} has a frame called {name!r}; expected a text without a dot.")
        _placement(frame, f"frame {name!r} of {owner}", place(at, "frames"))


def _inertia(tensor: np.ndarray, physical: bool, owner: str, origin: str) -> None:
    """A tensor that some distribution of mass has: no principal moment is larger than the sum of the two others."""
    slack = INERTIA_SLACK * float(np.abs(tensor).max())
    if np.abs(tensor - tensor.T).max() > slack:
        raise fault(origin, f"{owner} has an inertia matrix that is not symmetric; expected Ixy = Iyx and so on.")
    if not physical or np.count_nonzero(tensor) <= 1:
        return  # of a planar model only one moment is known, and the others are not used
    moments = np.linalg.eigvalsh(tensor)
    listed = ", ".join(f"{m:.6g}" for m in moments)
    if moments[0] < -slack:
        raise fault(origin, f"{owner} has the principal moments of inertia {listed}; expected 0 or more, kg m^2.")
    if moments[2] > moments[0] + moments[1] + slack:
        raise fault(
            origin,
            f"{owner} has the principal moments of inertia {listed}, which violate the triangle inequality; expected "
            "none above the sum of the others, about the centre of mass. Set physical: false to take them as they are.",
        )


def _placement(placement: Placement, owner: str, origin: str) -> None:
    """Finite position, orthogonal and right-handed rotation, as far as they are numbers."""
    at = place(origin, "rotation")
    check_finite(placement.position, f"position of {owner}", place(origin, "position"))
    check_finite(placement.rotation, f"rotation of {owner}", at)
    matrix = numbers_of(placement.rotation)
    if matrix is None:
        return
    error = float(np.abs(matrix @ matrix.T - np.eye(3)).max())
    if error > ROTATION_SLACK:
        raise fault(at, f"rotation of {owner} is not orthogonal (error {error:.2g}); expected a rotation matrix.")
    if np.linalg.det(matrix) < 0:
        raise fault(at, f"rotation of {owner} is left-handed (determinant -1); expected a right-handed one.")


def check_finite(nodes: Iterable[Node], what: str, origin: str) -> None:
    """Values for the default parameters are finite, as far as there are any."""
    for node in nodes if not isinstance(nodes, np.ndarray) else nodes.flat:
        value = number_of(node)
        if value is not None and not np.isfinite(value):
            raise fault(origin, f"{what} contains {node}, which is {value:g} for the default parameters.")


# -- joints


def _joint(joint: Joint, mechanism: Mechanism) -> None:
    owner, at = f"joint {joint.name!r}", joint.origin
    _placement(joint.placement, owner, at)
    axis = numbers_of(joint.axis)
    if axis is not None and not abs(float(np.linalg.norm(axis)) - 1) < ROTATION_SLACK:
        raise fault(place(at, "axis"), f"{owner} has axis {axis.tolist()}; expected a vector of length 1.")
    if (joint.kind in SCREWS) != (joint.pitch is not None):
        found = "no pitch" if joint.pitch is None else "a pitch"
        screws = " and ".join(SCREWS)
        raise fault(
            place(at, "pitch"), f"{owner} of kind {joint.kind!r} has {found}; expected one (m/rad) for {screws}."
        )
    for what in ("stiffness", "viscous", "coulomb"):
        law = getattr(joint, what)
        value = None if law is None else number_of(law)
        if value is not None and not value >= 0:
            raise fault(place(at, what), f"{owner} has {what} {value:g}; expected 0 or more.")
    _mode(joint, owner)
    motions = KINDS[joint.kind].motions(joint)
    single = len(motions) == 1 and motions[0][0] in "RTH"
    for what in ("mimic", "rotor", "elastic"):
        if getattr(joint, what) is not None and not single:
            raise fault(
                place(at, what), f"{owner} of kind {joint.kind!r} has {what}; expected a joint with one motion."
            )
    if joint.mimic is not None:
        _mimic(joint, mechanism)


def _mode(joint: Joint, owner: str) -> None:
    at = place(joint.origin, "value")
    if joint.mode == "driven" and joint.value is None:
        raise fault(joint.origin, f"{owner} is driven and has no value; expected value, a law of the time t.")
    if joint.value is not None and joint.mode not in ("locked", "driven"):
        raise fault(at, f"{owner} has a value and mode {joint.mode!r}; expected mode locked or driven with it.")


def _mimic(joint: Joint, mechanism: Mechanism) -> None:
    """The joint follows one that has a coordinate of its own."""
    assert joint.mimic is not None
    owner, at = f"joint {joint.name!r}", place(joint.origin, "mimic")
    joints = {j.name: j for j in mechanism.joints}
    path = [joint.name]
    other = joint
    while other.mimic is not None:
        target = other.mimic.joint
        if target not in joints:
            raise fault(at, f"{owner} mimics {target!r}, which is no joint. {nearest(target, joints)}")
        if target in path:
            raise fault(at, f"{owner} mimics itself ({' -> '.join([*path, target])}); expected no cycle.")
        path.append(target)
        other = joints[target]
    if len(path) > 2:
        raise fault(at, f"{owner} mimics {path[1]!r}, which mimics {path[2]!r} in turn; expected {path[-1]!r}.")
    if not has_coordinates(other) or KINDS[other.kind].nv(other) != 1:
        raise fault(at, f"{owner} mimics {other.name!r}, which has not one coordinate of its own; choose another.")


# -- cuts, forces, sensors


def _points(mechanism: Mechanism) -> None:
    """Every point of cuts, forces and sensors is a body (or the world) and a frame that it has."""
    frames: dict[str, list[str]] = {WORLD: [], **{b.name: list(b.frames) for b in mechanism.bodies}}

    def check(body: str, frame: str, owner: str, origin: str) -> None:
        if body not in frames:
            raise fault(origin, f"{owner} is attached to {body!r}, which is no body. {nearest(body, frames)}")
        if frame and frame not in frames[body]:
            hint = nearest(frame, frames[body])
            raise fault(origin, f"{owner} is attached to frame {frame!r}, which body {body!r} has not. {hint}")

    for cut in mechanism.cuts:
        _cut(cut)
        for body, frame in (cut.first, cut.second):
            check(body, frame, f"cut {cut.name!r}", place(cut.origin, "between"))
    for force in mechanism.forces:
        if not isinstance(force.kind, str) or not force.kind:
            at = place(force.origin, "kind")
            raise fault(at, f"force {force.name!r} has kind {shown(force.kind)}; expected the name of a law.")
        for body, frame in force.points:
            check(body, frame, f"force {force.name!r}", place(force.origin, "points"))
    for sensor in mechanism.sensors:
        check(sensor.body, sensor.frame, f"sensor {sensor.name!r}", sensor.origin)


def _cut(cut: Cut) -> None:
    owner = f"cut {cut.name!r}"
    if not isinstance(cut.kind, str) or cut.kind not in CUT_KINDS:
        at = place(cut.origin, "kind")
        raise fault(at, f"{owner} has kind {shown(cut.kind)}; expected one of {', '.join(CUT_KINDS)}.")
    for what in ("axis", "axis2"):
        if getattr(cut, what) not in ("x", "y", "z"):
            at = place(cut.origin, what)
            raise fault(at, f"{owner} has {what} {shown(getattr(cut, what))}; expected x, y or z.")
    if not isinstance(cut.switched, bool):
        at = place(cut.origin, "switched")
        raise fault(at, f"{owner} has switched {shown(cut.switched)}; expected true or false.")
    if cut.first == cut.second:
        raise fault(place(cut.origin, "between"), f"{owner} is between a frame and itself; expected two frames.")
    if cut.kind == "rod" and (cut.length is None or is_zero(cut.length)):
        raise fault(place(cut.origin, "length"), f"{owner} is a rod without a length; expected length, m, not zero.")
    wrong = any(isinstance(r, bool) or not isinstance(r, int) or not 0 <= r < 6 for r in cut.rows)
    if wrong or len(set(cut.rows)) < len(cut.rows) or (cut.kind == "rows" and not cut.rows):
        at = place(cut.origin, "rows")
        raise fault(at, f"{owner} has rows {list(cut.rows)}; expected different numbers 0 to 5.")
