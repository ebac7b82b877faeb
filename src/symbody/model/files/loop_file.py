"""Side files that close the loops of a tree: pairs of frames to be joined, and the joints that have motors.

URDF holds trees only. Collections of parallel robots (such as example-parallel-robots of Gepetto) therefore put the
rest into a YAML file beside it:

    closed_loop: [[shin_end, rod_end], [toe_end, heel_rod_end]]    # names of links, link.frame, or joints
    type: [6d, 3d]                                                 # 6d: weld, 3d: ball joint; 6d if it is not given
    name_mot: [hip, knee]                                          # the other joints are passive
    joint_name: [foot_ball]                                        # joints of the URDF that are of another type
    joint_type: [SPHERICAL]                                        # before the loops are closed
    tolerance: 1e-6                                                # m, rad: to which the data close (`close_gaps`)

A joint that is named in closed_loop stands for the frame that it moves, as in Pinocchio, whose programs the collection
is made for.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from symbody.basics.errors import nearest
from symbody.basics.regular_file import TooLarge, read_regular
from symbody.model.files.yaml_data import LONGEST, List, YamlMapping, read_yaml
from symbody.model.record.mechanism import Cut, Joint, Limits, Mechanism
from symbody.model.record.origin import fault, shown

TYPES = {"6d": "solid", "3d": "ball"}
KEYS = ("closed_loop", "type", "name_mot", "joint_name", "joint_type", "tolerance")
JOINT_TYPES = {
    "spherical": "ball",
    "revolute": "revolute",
    "prismatic": "prismatic",
    "fixed": "fixed",
    "freeflyer": "free",
}
LARGEST = 1e30  # of tolerances: whole numbers of YAML may be larger than any double
LAWS = ("stiffness", "rest", "coulomb", "rotor", "elastic", "mimic")  # of joints with one motion


def close_loops(mechanism: Mechanism, path: str | Path) -> Mechanism:
    """The Mechanism with the cuts loop1, loop2, ... of a side file, and with motors only where the file has them."""
    path = Path(path)
    data = _read(path)

    def at(key: str) -> str:
        return f"{path.name}:{data.lines[key]}"

    pairs = data.get("closed_loop") or List()
    if not isinstance(pairs, List) or not all(isinstance(p, List) and len(p) == 2 for p in pairs):
        raise fault(at("closed_loop"), f"closed_loop is {shown(pairs)}; expected a list of pairs of names.")
    places = _Places(mechanism)
    cuts = [
        Cut(name, kind, places.frame(pair[0], at("closed_loop")), places.frame(pair[1], at("closed_loop")),
            origin=at("closed_loop"))
        for name, kind, pair in zip(_names(mechanism, len(pairs)), _kinds(data, len(pairs), path.name), pairs)
    ]  # fmt: skip
    left = [key for key in data if key not in KEYS]
    notes = tuple(f"{at(key)}: {key!r} is not read from a file of loops and was left out" for key in left)
    joints, changed = _retyped(mechanism, data, path.name)
    if "name_mot" in data:
        motors = _motors(mechanism, data["name_mot"], at("name_mot"))
        joints = tuple(
            replace(j, mode="passive") if j.mode == "actuated" and j.name not in motors else j for j in joints
        )
    closed = mechanism.replace(cuts=(*mechanism.cuts, *cuts), joints=joints, notes=(*mechanism.notes, *notes, *changed))
    if "tolerance" not in data:
        return closed
    given = data["tolerance"]
    if isinstance(given, bool) or not isinstance(given, (int, float)) or not 0 < given < LARGEST:
        raise fault(at("tolerance"), f"tolerance is {shown(given)}; expected a number above zero, m and rad.")
    return closed.close_gaps(float(given))


def _read(path: Path) -> YamlMapping:
    try:
        text = read_regular(path, 4 * LONGEST).decode()
    except TooLarge as error:
        raise fault(path.name, f"the file has {error.size} bytes; expected {4 * LONGEST} at most.") from None
    except UnicodeDecodeError as error:
        raise fault(
            path.name, f"this is not a text in UTF-8: {error.reason} at byte {error.start}. Save it as UTF-8."
        ) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise fault(path.name, f"the file of loops cannot be read: {reason}. Give the path of a side file.") from None
    data = read_yaml(text, path.name)
    if not isinstance(data, YamlMapping) or not any(key in KEYS for key in data):
        raise fault(path.name, f"the file holds {shown(data)}; expected a mapping with {', '.join(KEYS)}.")
    return data


def _retyped(mechanism: Mechanism, data: YamlMapping, file: str) -> tuple[tuple[Joint, ...], list[str]]:
    """The joints, those of `joint_name` with the kind of `joint_type`, and what they lost thereby."""
    names, types = data.get("joint_name") or List(), data.get("joint_type") or List()
    at = f"{file}:{data.lines['joint_name'] if 'joint_name' in data else data.lines.get('joint_type', 1)}"
    if not isinstance(names, List) or not isinstance(types, List) or len(names) != len(types):
        raise fault(at, f"joint_name is {shown(names)}, joint_type {shown(types)}; expected two lists of one length.")
    joints = {j.name: j for j in mechanism.joints}
    notes = []
    unknown = [name for name in names if not isinstance(name, str) or name not in joints]
    if unknown:  # the collection's own program passes over them, too
        more = f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""
        left = "is no joint, and was" if len(unknown) == 1 else "are no joints, and were"
        hint = nearest(str(unknown[0]), joints)
        notes.append(f"{at}: joint_name names {shown(unknown[0])}{more}, which {left} left out. {hint}")
    for name, kind in zip(names, types):
        if not isinstance(name, str) or name not in joints:
            continue
        if not isinstance(kind, str) or kind.lower() not in JOINT_TYPES:
            raise fault(at, f"joint_type contains {shown(kind)}; expected one of {', '.join(JOINT_TYPES).upper()}.")
        joint, made = joints[name], JOINT_TYPES[kind.lower()]
        if made == joint.kind:
            continue
        single = made in ("revolute", "prismatic")
        dropped = [law for law in LAWS if not single and getattr(joint, law) is not None]
        if joint.limits != Limits() and not single:
            dropped.append("limits")
        plain: dict[str, Any] = dict.fromkeys(law for law in dropped if law != "limits")
        joints[name] = replace(joint, kind=made, limits=joint.limits if single else Limits(), **plain)
        lost = f"; it lost {', '.join(dropped)}" if dropped else ""
        notes.append(f"{at}: joint {name!r} of the model is {joint.kind}, the side file makes it {made}{lost}")
    return tuple(joints.values()), notes


def _names(mechanism: Mechanism, count: int) -> list[str]:
    """loop1, loop2, ..., without those that the Mechanism has already."""
    taken = {c.name for c in mechanism.cuts}
    free = (name for k in range(1, count + len(taken) + 1) if (name := f"loop{k}") not in taken)
    return [next(free) for _ in range(count)]


def _kinds(data: YamlMapping, count: int, file: str) -> list[str]:
    """Kinds of the cuts: one type for each pair, or one for all."""
    given = data.get("type")
    types: list[Any] = [given or "6d"] * count if not isinstance(given, List) else given
    at = f"{file}:{data.lines['type']}" if "type" in data else file
    if len(types) != count:
        raise fault(at, f"type has {len(types)} entries for {count} loops; expected one for each.")
    for entry in types:
        if not isinstance(entry, str) or entry.lower() not in TYPES:
            raise fault(at, f"type contains {shown(entry)}; expected one of {', '.join(TYPES)}.")
    return [TYPES[entry.lower()] for entry in types]


class _Places:
    """What the names of a file of loops stand for: owners of frames and children of joints, found at once."""

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = mechanism
        self.carried = {j.name: j.child for j in mechanism.joints}
        self.owners: dict[str, list[str]] = {}
        for body in mechanism.bodies:
            for frame in body.frames:
                self.owners.setdefault(frame, []).append(body.name)

    def frame(self, name: Any, origin: str) -> tuple[str, str]:
        """A body, body.frame, the name of a frame that only one body has, or a joint: the frame that it moves."""
        bodies = self.mechanism.body_of
        if not isinstance(name, str):
            raise fault(origin, f"closed_loop names {shown(name)}; expected the name of a body or frame.")
        body, _, frame = name.rpartition(".")
        if name in bodies:
            return name, ""
        if body in bodies and frame in bodies[body].frames:
            return body, frame
        owners = self.owners.get(name, [])
        if len(owners) == 1:
            return owners[0], name
        if name in self.carried and not owners:
            return self.carried[name], ""
        known = [*bodies, *(f"{b.name}.{f}" for b in self.mechanism.bodies for f in b.frames)]
        found = f"is a frame of {len(owners)} bodies" if owners else f"is no body or frame of {self.mechanism.name}"
        raise fault(origin, f"closed_loop names {name!r}, which {found}. {nearest(name, known)}")


def _motors(mechanism: Mechanism, names: Any, origin: str) -> set[str]:
    joints = {j.name for j in mechanism.joints}
    if not isinstance(names, List):
        raise fault(origin, f"name_mot is {shown(names)}; expected a list of joints.")
    for name in names:
        if not isinstance(name, str) or name not in joints:
            raise fault(origin, f"name_mot names {shown(name)}, which is no joint. {nearest(str(name), joints)}")
    return set(names)
