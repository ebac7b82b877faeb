"""The joints of a Mechanism: which motions a kind has, and where its coordinates stand in q and qd.

The table is a second transcription of the words in docs/model_file.md, on purpose.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from symbody.basics.errors import ModelError
from symbody.model.record.mechanism import Joint, Mechanism
from symbody.reference.expressions import ParameterNumbers
from symbody.reference.jets import Array

X, Y, Z = np.eye(3)
UNIT = {"x": X, "y": Y, "z": Z}
SIZES = {"turn": (1, 1), "slide": (1, 1), "screw": (1, 1), "ball": (4, 3), "free": (7, 6)}  # coordinates, velocities


@dataclass(frozen=True, eq=False)
class JointStep:
    """One elementary motion: turn, slide or screw along `axis` (3,) of the frame reached so far; ball; free.

    first_q, first_v   its places in q and qd; -1: it has none (locked), or those of a leader
    scale, shift       its coordinate is scale * q + shift (a follower), and its rate scale * qd
    value              coordinates at which it is locked, else None
    """

    kind: str
    axis: Array
    pitch: float
    first_q: int
    first_v: int
    scale: float = 1.0
    shift: float = 0.0
    value: Array | None = None


@dataclass(frozen=True, eq=False)
class Places:
    """(first coordinate, how many, first velocity, how many) of every joint that owns some, in the order of q."""

    of: dict[str, tuple[int, int, int, int]]
    nq: int
    nv: int


def owns_coordinates(joint: Joint) -> bool:
    return joint.kind != "fixed" and joint.mimic is None and joint.mode != "locked"


def kinds_of(joint: Joint, axis: Array) -> list[tuple[str, Array]]:
    """The elementary motions of a kind, in turn."""
    slides = [("slide", X), ("slide", Y), ("slide", Z)]

    def turns(default: str) -> list[tuple[str, Array]]:
        return [("turn", UNIT[letter]) for letter in (joint.sequence or default)]

    table = {
        "fixed": [],
        "revolute": [("turn", axis)],
        "prismatic": [("slide", axis)],
        "helical": [("screw", axis)],
        "cylindrical": [("slide", axis), ("turn", axis)],
        "universal": turns("xy"),
        "translation2": slides[:2],
        "translation3": slides,
        "planar": [*slides[:2], ("turn", Z)],
        "spherical": turns("xyz"),
        "ball": [("ball", Z)],
        "y": [*slides[:2], ("screw", Z)],
        "schoenflies": [*slides, ("turn", Z)],
        "floating": [*slides, *turns("xyz")],
        "free": [("free", Z)],
    }
    if joint.kind not in table:
        raise ModelError(f"the reference does not know the kind {joint.kind!r} of joint {joint.name!r}.")
    found = table[joint.kind]
    # behind the motor stands the gear's deflection, along the same axis
    return [*found, found[-1]] if joint.elastic is not None else found


def places_of(mechanism: Mechanism) -> Places:
    """Coordinates are counted joint by joint, in the order of the record."""
    out, nq, nv = {}, 0, 0
    for joint in mechanism.joints:
        if owns_coordinates(joint):
            sizes = [SIZES[kind] for kind, _ in kinds_of(joint, Z)]
            count_q, count_v = sum(s[0] for s in sizes), sum(s[1] for s in sizes)
            out[joint.name] = (nq, count_q, nv, count_v)
            nq, nv = nq + count_q, nv + count_v
    return Places(out, nq, nv)


def steps_of(joint: Joint, places: Places, number: ParameterNumbers) -> list[JointStep]:
    """The motions of a joint with numbers, ready to be carried out."""
    axis = number(joint.axis)
    axis = axis / np.linalg.norm(axis)
    pitch = 0.0 if joint.pitch is None else number(joint.pitch)
    motions = kinds_of(joint, axis)
    if joint.kind == "fixed":
        return []
    if joint.mode == "locked":
        return _locked(joint, motions, pitch, number)
    if joint.mimic is not None:
        first_q, _, first_v, _ = places.of[joint.mimic.joint]
        scale, shift = number(joint.mimic.ratio), number(joint.mimic.offset)
        return [JointStep(kind, along, pitch, first_q, first_v, scale, shift) for kind, along in motions]
    at_q, _, at_v, _ = places.of[joint.name]
    out = []
    for kind, along in motions:
        out.append(JointStep(kind, along, pitch, at_q, at_v))
        at_q, at_v = at_q + SIZES[kind][0], at_v + SIZES[kind][1]
    return out


def _locked(joint: Joint, motions: list[tuple[str, Array]], pitch: float, number: ParameterNumbers) -> list[JointStep]:
    given = None if joint.value is None else list(number(joint.values))
    out = []
    for kind, along in motions:
        size = SIZES[kind][0]
        value = np.zeros(size)
        if kind in ("ball", "free"):
            value[-4] = 1.0
        if given:
            value, given = np.array(given[:size]), given[size:]
        if kind in ("ball", "free"):
            value[-4:] /= np.linalg.norm(value[-4:])
        out.append(JointStep(kind, along, pitch, -1, -1, value=value))
    return out
