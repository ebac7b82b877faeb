"""MJCF keyframes as named states: qpos and qvel by joint, in the coordinates of the Mechanism.

`qpos0`, the configuration of the file itself, is one of them where it is not q = 0: bodies with free joints stand
somewhere, and joints may have a `ref`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from symbody.model.build.builder import Builder
from symbody.model.files.mjcf_tree import BodyRecord, JointRecord, TreeReader
from symbody.model.files.xml_file import XmlElement
from symbody.model.record.pose import from_quaternion
from symbody.model.spatial.quaternion import quaternion_from_matrix

POSITIONS = {"hinge": 1, "slide": 1, "ball": 4, "free": 7}
VELOCITIES = {"hinge": 1, "slide": 1, "ball": 3, "free": 6}
REFERENCE = "qpos0"
OTHERS = ("act", "ctrl", "mpos", "mquat")  # states of what is no part of a Mechanism


def read_keyframes(section: XmlElement, tree: TreeReader, held: Collection[str], builder: Builder) -> None:
    """All keyframes into the Builder. held: joints that have no coordinates, as equalities follow or lock them."""
    joints = [(body, joint) for body in tree.bodies for joint in body.joints]
    reference = {j.name: _reference(tree, body, j) for body, j in joints}
    names: set[str] = set()
    left: list[str] = []
    for number, key in enumerate(section.all("key")):
        name = key.get("name") or f"key{number}"
        if name in names:
            raise key.error(f"a second keyframe {name!r}; expected unique names.")
        names.add(name)
        qpos = _split(key, "qpos", joints, POSITIONS, reference)
        qvel = _split(key, "qvel", joints, VELOCITIES, {j.name: np.zeros(VELOCITIES[j.kind]) for _, j in joints})
        q, qd = {}, {}
        for _, joint in joints:
            if joint.name not in held:
                q[joint.name], qd[joint.name] = _state(key, joint, qpos[joint.name], qvel[joint.name])
        moving = {j: tuple(v) for j, v in qd.items() if v.any()}
        builder.keyframe(name, {j: tuple(v) for j, v in q.items()}, moving, origin=key.origin)
        if any(any(key.numbers(k, range(1, 100_000))) for k in OTHERS if key.get(k)):
            left.append(name)
    if left:
        listed = ", ".join(left[:8]) + (f" and {len(left) - 8} more" if len(left) > 8 else "")
        builder.note(f"{section.origin}: controls, activations and mocap poses of keyframes were left out: {listed}")
    free = [j for _, j in joints if j.name not in held]
    if REFERENCE not in names and not all(np.array_equal(reference[j.name], _neutral(j)) for j in free):
        own = {j.name: tuple(reference[j.name]) for j in free}
        builder.keyframe(REFERENCE, own, origin=tree.bodies[0].element.origin)


def _split(
    key: XmlElement,
    attribute: str,
    joints: list[tuple[BodyRecord, JointRecord]],
    sizes: Mapping[str, int],
    default: Mapping[str, np.ndarray],
) -> Mapping[str, np.ndarray]:
    """Numbers of an attribute by joint, in MuJoCo's order of the joints; where they end the default goes on."""
    if not key.get(attribute) or not joints:
        return default
    values = np.concatenate([default[j.name] for _, j in joints])
    count = len(key.get(attribute).split())
    if count > len(values):
        raise key.error(f"<key> has {count} values in {attribute}; expected {len(values)} at most.")
    values[:count] = key.numbers(attribute, count)
    out, at = {}, 0
    for _, joint in joints:
        out[joint.name] = values[at : at + sizes[joint.kind]]
        at += sizes[joint.kind]
    return out


def _reference(tree: TreeReader, body: BodyRecord, joint: JointRecord) -> np.ndarray:
    """Coordinates of a joint in the configuration of the file."""
    if joint.axial:
        return np.array([tree.coordinate(joint, "ref")])
    if joint.kind == "ball":
        return _neutral(joint)
    return np.array([*body.world.position, *np.asarray(quaternion_from_matrix(body.world.rotation), dtype=float)])


def _neutral(joint: JointRecord) -> np.ndarray:
    out = np.zeros(POSITIONS[joint.kind])
    if not joint.axial:
        out[-4] = 1.0
    return out


def _state(key: XmlElement, joint: JointRecord, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(q, qd) in symbody's coordinates: unit quaternions; the angular velocity of a free joint first, in body axes."""
    if joint.axial:
        return q, qd
    length = float(np.linalg.norm(q[-4:]))
    if length < 1e-10:
        raise key.error(f"the quaternion of joint {joint.name!r} is zero; expected unit length.")
    q = np.r_[q[:-4], q[-4:] / length]
    if joint.kind == "ball":
        return q, qd
    return q, np.r_[qd[3:], from_quaternion(list(q[-4:])).T @ qd[:3]]
