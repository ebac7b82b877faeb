"""What a Mechanism must satisfy before it is one: trees, distinct names, bodies and frames that can exist.

Numbers are checked for the defaults of the parameters; by `check_values` again for those that a caller gives, which may
be batches: every check of numbers is one of arrays with loop dimensions in front.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from symbody.basics.errors import ModelError, nearest
from symbody.basics.memory import memory_of
from symbody.basics.words import PARENTS, nearest_word
from symbody.model.record.coordinates import coordinate_labels, has_coordinates, velocity_labels
from symbody.model.record.couplings import check_couplings
from symbody.model.record.elementary_motions import MOTIONS
from symbody.model.record.force_kinds import check_force
from symbody.model.record.joint_value import check_value
from symbody.model.record.joints import KINDS, coordinate_names
from symbody.model.record.mechanism import (
    WORLD,
    Body,
    Coupling,
    Cut,
    Force,
    Joint,
    Mechanism,
    Placement,
    Sensor,
)
from symbody.model.record.motion_check import check_motion
from symbody.model.record.numbers import numbers_of, value_of
from symbody.model.record.origin import fault, is_name, place, shown
from symbody.symbolic.expr.arrays import is_one, is_zero
from symbody.symbolic.expr.node import Node
from symbody.symbolic.expr.walk import free_symbols

CUT_KINDS = {  # and how many equations they are
    "ball": 3, "rod": 1, "solid": 6, "rows": "the chosen",
    "revolute": 5, "prismatic": 5, "universal": 4, "cylindrical": 4,
}  # fmt: skip
LARGEST = 1e60  # of masses, lengths and moments of inertia; those of stars are below 1e50
INERTIA_SLACK = 1e-6  # relative to the largest moment: published tables are rounded
ROTATION_SLACK = 1e-6  # of R R^T - 1
MODES = ("actuated", "passive", "locked", "driven")
PIECES = {"bodies": Body, "joints": Joint, "cuts": Cut, "couplings": Coupling, "forces": Force, "sensors": Sensor}

Given = Mapping[str, Any]  # parameter -> number, or batch (b,) of numbers
DEFAULTS: Given = MappingProxyType({})


def validate(mechanism: Mechanism, before: Mechanism | None = None) -> Mechanism:
    """The Mechanism with its joints sorted parents first; ModelError says what is wrong with it.

    before: a valid Mechanism that this one was made from. The numbers of pieces that it has too are not looked at
    again, for records never change; how the pieces fit together is.
    """
    _collections(mechanism)
    _distinct(mechanism)
    _tree(mechanism)
    mechanism = replace(mechanism, joints=_sorted(mechanism.joints))
    known = set() if before is None else {id(p) for p in (*before.bodies, *before.joints)}
    for body in mechanism.bodies:
        if id(body) not in known:
            _body(body)
    for joint in mechanism.joints:
        if id(joint) not in known:
            _joint(joint)
        if joint.mimic is not None:
            _mimic(joint, mechanism)
    _points(mechanism)
    _labels(mechanism)
    check_couplings(mechanism)
    check_finite(mechanism.gravity, f"gravity of {mechanism.name}", "")
    return mechanism


def check_values(mechanism: Mechanism, given: Given) -> None:
    """Checks, as `validate` does, numbers of bodies, joints and rods that contain some of the given parameters; the
    others are what they were when the Mechanism was made."""
    if not given:
        return
    memory, own = memory_of(mechanism), frozenset(given)

    def touched() -> list[tuple[set[str], Callable[[Given], None]]]:
        checks = memory.get("value_checks", (), lambda: _value_checks(mechanism))
        return [(names, check) for names, check in checks if names & own]

    for names, check in memory.get("value_checks_of", own, touched):
        _checked_given(given, {n: v for n, v in given.items() if n in names}, check)


def _value_checks(mechanism: Mechanism) -> list[tuple[set[str], Callable[[Given], None]]]:
    """Checks of numbers of bodies, joints and rods, each with the names of the parameters in them."""
    out: list[tuple[set[str], Callable[[Given], None]]] = []

    def add(nodes: Iterable[Node], check: Callable[..., None], *of: Any) -> None:
        names = _names(nodes)
        if names:
            out.append((names, lambda given: check(*of, given)))

    for body in mechanism.bodies:
        bare = replace(body, origin="")
        add([body.mass], _mass, bare)
        add(body.com.flat, _com, bare)
        add(body.inertia.flat, _inertia_of, bare)
        for name, frame in body.frames.items():
            add(_placed([frame]), _placement, frame, f"frame {name!r} of body {body.name!r}", "")
    for joint in mechanism.joints:
        owner, bare_joint = f"joint {joint.name!r}", replace(joint, origin="")
        add(_placed([joint.placement]), _placement, joint.placement, owner, "")
        add(joint.axis.flat, _axis, bare_joint)
        for what, law in _laws(joint).items():
            add([law], _law, owner, "", what, law)
    for cut in mechanism.cuts:
        if cut.length is not None:
            add([cut.length], _length, replace(cut, origin=""))
    return out


def _placed(placements: Iterable[Placement]) -> list[Node]:
    return [x for p in placements for x in (*p.rotation.flat, *p.position.flat)]


def _names(nodes: Iterable[Node]) -> set[str]:
    return {s.data.name for s in free_symbols(nodes)}


def _checked_given(given: Given, own: Given, check: Callable[[Given], None]) -> None:
    """A check whose error says which of the given numbers it comes from, and of a batch whose."""
    try:
        check(given)
    except ModelError as error:
        found, member = error, ""
        size = max((len(v) for v in own.values() if np.ndim(v) == 1), default=0)
        for k in range(size):  # a batch is refused by its first wrong member
            alone = {n: v[k] if np.ndim(v) == 1 and len(v) == size else v for n, v in given.items()}
            try:
                check(alone)
            except ModelError as wrong:
                found, own, member = wrong, {n: alone[n] for n in own}, f" of member {k} of the batch"
                break
        words = [f"{n} = {float(v):g}" if np.ndim(v) == 0 else f"{n}, a batch" for n, v in own.items()]
        raise ModelError(f"{found} This comes from the given {', '.join(words)}{member}; give another value.") from None


# -- structure


def _collections(mechanism: Mechanism) -> None:
    """Tuples of records of their own kind, which a file cannot get wrong and code can."""
    for what, kind in PIECES.items():
        pieces = getattr(mechanism, what)
        if not isinstance(pieces, tuple) or not all(isinstance(p, kind) for p in pieces):
            raise fault("", f"{what} of {mechanism.name} are {shown(pieces)}; expected a tuple of {kind.__name__}.")


def _distinct(mechanism: Mechanism) -> None:
    joints = {j.name for j in mechanism.joints}
    for body in mechanism.bodies:
        if body.coordinates and body.name in joints:
            raise fault(
                body.origin,
                f"body {body.name!r} owns coordinates, and a joint has the same name, which their labels would share; "
                "expected another name of one of them.",
            )
    for what in PIECES:
        pieces = getattr(mechanism, what)
        for name, count in Counter(p.name for p in pieces).items():
            if count > 1:
                origin = [p.origin for p in pieces if p.name == name][-1]
                raise fault(origin, f"{count} {what} are called {name!r}; expected different names.")


def _labels(mechanism: Mechanism) -> None:
    """No joint is called as a coordinate of another one is: j.1 and the first coordinate of a cylindrical joint j."""
    if not any("." in slot.owner for slot in mechanism.slots):
        return
    for labels in (coordinate_labels(mechanism), velocity_labels(mechanism)):
        for label, count in Counter(labels).items():
            if count > 1:
                origin = mechanism.joint_of[label].origin if label in mechanism.joint_of else ""
                raise fault(
                    origin,
                    f"{count} coordinates are called {label!r}: that of joint {label!r}, and one of joint "
                    f"{label.rpartition('.')[0]!r}, whose coordinates are counted from 1; expected another name.",
                )


def _tree(mechanism: Mechanism) -> None:
    """Every body hangs by one joint on the world or on another body, without cycles."""
    bodies = {b.name for b in mechanism.bodies}
    carried: dict[str, Joint] = {}
    for joint in mechanism.joints:
        owner = f"joint {joint.name!r}"
        if joint.parent not in bodies and joint.parent != WORLD:
            hint = nearest_word(joint.parent, [WORLD, *(b.name for b in mechanism.bodies)], PARENTS)
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
    for check in (_mass, _com, _inertia_of):
        check(body)
    if body.coordinates and body.coordinates not in MOTIONS:
        raise fault(
            place(at, "coordinates"),
            f"{owner} has coordinates {shown(body.coordinates)}; expected a motion: {', '.join(MOTIONS)}.",
        )
    if body.coordinates:
        for name in body.frames:
            check_motion(MOTIONS[body.coordinates], name)
    for name, frame in body.frames.items():
        if not is_name(name) or "." in name:
            raise fault(place(at, "frames"), f"{owner} has a frame called {name!r}; expected a text without a dot.")
        _placement(frame, f"frame {name!r} of {owner}", place(at, "frames"))


def _mass(body: Body, given: Given = DEFAULTS) -> None:
    owner, at = f"body {body.name!r}", place(body.origin, "mass")
    check_finite([body.mass], f"mass of {owner}", at, given)
    mass = numbers_of(body.mass, given)
    if mass is not None and np.any(mass < 0):
        raise fault(at, f"{owner} has mass {mass.min():g}; expected 0 or more, kg.")


def _com(body: Body, given: Given = DEFAULTS) -> None:
    check_finite(body.com, f"com of body {body.name!r}", place(body.origin, "com"), given)


def _inertia_of(body: Body, given: Given = DEFAULTS) -> None:
    owner, at = f"body {body.name!r}", place(body.origin, "inertia")
    check_finite(body.inertia, f"inertia of {owner}", at, given)
    tensor = numbers_of(body.inertia, given)
    if tensor is not None:
        _inertia(tensor.reshape(-1, 3, 3), body.physical, owner, at)


def _inertia(tensors: np.ndarray, physical: bool, owner: str, origin: str) -> None:
    """(b, 3, 3) tensors that some distribution of mass has: no moment is larger than the sum of the two others."""
    slack = INERTIA_SLACK * np.abs(tensors).max(axis=(1, 2))
    if np.any(np.abs(tensors - np.swapaxes(tensors, 1, 2)).max(axis=(1, 2)) > slack):
        raise fault(origin, f"{owner} has an inertia matrix that is not symmetric; expected Ixy = Iyx and so on.")
    if not physical:
        return
    moments = np.linalg.eigvalsh(tensors)
    negative = moments[:, 0] < -slack
    # of a planar model only one moment is known, and the others are not used
    known = np.count_nonzero(tensors, axis=(1, 2)) > 1
    uneven = known & (moments[:, 2] > moments[:, 0] + moments[:, 1] + slack)
    if negative.any():
        listed = _listed(moments[negative][0])
        raise fault(origin, f"{owner} has the principal moments of inertia {listed}; expected 0 or more, kg m^2.")
    if uneven.any():
        raise fault(
            origin,
            f"{owner} has the principal moments of inertia {_listed(moments[uneven][0])}, which violate the triangle "
            "inequality; expected none above the sum of the others, about the centre of mass. Set physical: false to "
            "take them as they are.",
        )


def _listed(moments: np.ndarray) -> str:
    return ", ".join(f"{m:.6g}" for m in moments)


def _placement(placement: Placement, owner: str, origin: str, given: Given = DEFAULTS) -> None:
    """Finite position, orthogonal and right-handed rotation, as far as they are numbers."""
    at = place(origin, "rotation")
    check_finite(placement.position, f"position of {owner}", place(origin, "position"), given)
    check_finite(placement.rotation, f"rotation of {owner}", at, given)
    matrix = numbers_of(placement.rotation, given)
    if matrix is None:
        return
    with np.errstate(all="ignore"):  # entries of 1e300 are no rotation, and that is said
        error = float(np.abs(matrix @ np.swapaxes(matrix, -1, -2) - np.eye(3)).max())
    if not error <= ROTATION_SLACK:
        raise fault(at, f"rotation of {owner} is not orthogonal (error {error:.2g}); expected a rotation matrix.")
    if np.any(np.linalg.det(matrix) < 0):
        raise fault(at, f"rotation of {owner} is left-handed (determinant -1); expected a right-handed one.")


def check_finite(nodes: Iterable[Node], what: str, origin: str, given: Given = DEFAULTS) -> None:
    """Values for the default parameters, or those given, have squares and products, as far as there are any."""
    for node in nodes if not isinstance(nodes, np.ndarray) else nodes.flat:
        value = value_of(node, given)
        if value is not None and not (np.abs(value) <= LARGEST).all():
            wrong = np.ravel(value)[~(np.abs(np.ravel(value)) <= LARGEST)][0]
            told = "given" if given else "default"
            raise fault(
                origin,
                f"{what} contains {node}, which is {wrong:g} for the {told} parameters; "
                f"expected numbers below {LARGEST:g}.",
            )


# -- joints


def _joint(joint: Joint) -> None:
    owner, at = f"joint {joint.name!r}", joint.origin
    for what, known in (("kind", KINDS), ("mode", MODES)):
        if getattr(joint, what) not in known:
            found = shown(getattr(joint, what))
            raise fault(place(at, what), f"{owner} has {what} {found}; expected one of {', '.join(known)}.")
    _joint_numbers(joint)
    if KINDS[joint.kind].pitched != (joint.pitch is not None):
        found = "no pitch" if joint.pitch is None else "a pitch"
        screws = " and ".join(name for name, kind in KINDS.items() if kind.pitched)
        raise fault(
            place(at, "pitch"), f"{owner} of kind {joint.kind!r} has {found}; expected one (m/rad) for {screws}."
        )
    check_value(joint)
    motions = KINDS[joint.kind].motions(joint)
    single = len(motions) == 1 and motions[0][0].axial
    for what in ("mimic", "rotor", "elastic"):
        copy = what == "mimic" and joint.kind == "ball"
        if getattr(joint, what) is not None and not (single or copy):
            raise fault(
                place(at, what), f"{owner} of kind {joint.kind!r} has {what}; expected a joint with one motion."
            )
    if motions and not single and any(x is not None for x in vars(joint.limits).values()):
        raise fault(
            place(at, "limits"),
            f"{owner} of kind {joint.kind!r} has limits, one pair for {', '.join(coordinate_names(joint))}; expected a "
            "joint with one coordinate. Write it as such joints in turn, each with limits of its own.",
        )


def _joint_numbers(joint: Joint) -> None:
    """Its frame, the length of its axis, and laws that take energy and do not make it."""
    owner = f"joint {joint.name!r}"
    _placement(joint.placement, owner, joint.origin)
    _axis(joint)
    for what, law in _laws(joint).items():
        _law(owner, joint.origin, what, law)


def _axis(joint: Joint, given: Given = DEFAULTS) -> None:
    axis = numbers_of(joint.axis, given)
    if axis is not None and not np.all(np.abs(np.linalg.norm(axis, axis=-1) - 1) < ROTATION_SLACK):
        told = f"joint {joint.name!r} has axis {axis.tolist()}; expected a vector of length 1."
        raise fault(place(joint.origin, "axis"), told)


def _law(owner: str, origin: str, what: str, law: Node, given: Given = DEFAULTS) -> None:
    value = numbers_of(law, given)
    if value is not None and not np.all(value >= 0):
        raise fault(place(origin, what.split()[0]), f"{owner} has {what} {value.min():g}; expected 0 or more.")


def _laws(joint: Joint) -> dict[str, Node]:
    """What must not be negative, by words that start with its key."""
    found = {what: getattr(joint, what) for what in ("stiffness", "viscous", "coulomb")}
    if joint.rotor is not None:
        found["rotor inertia"] = joint.rotor.inertia
    if joint.elastic is not None:
        found["elastic stiffness"], found["elastic damping"] = joint.elastic
    return {what: law for what, law in found.items() if law is not None}


def _mimic(joint: Joint, mechanism: Mechanism) -> None:
    """The joint follows one that has a coordinate of its own."""
    assert joint.mimic is not None
    owner, at = f"joint {joint.name!r}", place(joint.origin, "mimic")
    joints = mechanism.joint_of
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
    if joint.elastic is not None:
        raise fault(at, f"{owner} mimics {other.name!r} and is elastic; expected one of them.")
    if joint.kind == "ball":
        _copied(joint, other, owner, at)
    elif not has_coordinates(other) or KINDS[other.kind].nv(other) != 1:
        raise fault(at, f"{owner} mimics {other.name!r}, which has not one coordinate of its own; choose another.")


def _copied(joint: Joint, other: Joint, owner: str, at: str) -> None:
    """A ball joint turns as another one does, and has no laws of its own."""
    assert joint.mimic is not None
    if not has_coordinates(other) or other.kind != "ball":
        raise fault(at, f"{owner} of kind 'ball' mimics {other.name!r}; expected a ball joint with own coordinates.")
    if not is_one(joint.mimic.ratio) or not is_zero(joint.mimic.offset):
        raise fault(at, f"{owner} of kind 'ball' has a ratio or an offset; expected 1 and 0: it turns as its leader.")
    if _laws(joint):
        raise fault(at, f"{owner} of kind 'ball' follows and has {next(iter(_laws(joint)))}; expected its leader's.")


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
        check_force(force, mechanism)
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
        at = place(cut.origin, "length")
        raise fault(at, f"{owner} is a rod without a length; expected length, m, not zero. A ball joins two points.")
    _length(cut)
    wrong = any(isinstance(r, bool) or not isinstance(r, int) or not 0 <= r < 6 for r in cut.rows)
    if wrong or len(set(cut.rows)) < len(cut.rows) or (cut.kind == "rows" and not cut.rows):
        at = place(cut.origin, "rows")
        raise fault(at, f"{owner} has rows {list(cut.rows)}; expected different numbers 0 to 5.")


def _length(cut: Cut, given: Given = DEFAULTS) -> None:
    """A rod keeps two points apart; from length 0 on its one equation has no direction."""
    if cut.kind != "rod" or cut.length is None:
        return
    owner, at = f"cut {cut.name!r}", place(cut.origin, "length")
    check_finite([cut.length], f"length of {owner}", at, given)
    value = numbers_of(cut.length, given)
    if value is not None and np.any(value <= 0):
        raise fault(at, f"{owner} is a rod of length {value.min():g}; expected above 0, m. A ball joins two points.")
