"""Coordinates of a Mechanism: who owns which entries of q and qd, and all that follows from that.

A Slot is the span of coordinates of one owner, a joint or a body, of any length. Its Parts are elementary motions one
after the other (`elementary_motions.py`). The order of q exists here and nowhere else: that of the joints, and after
each joint the coordinates of the body that it carries.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from symbody.basics.errors import ShapeError
from symbody.basics.memory import memory_of
from symbody.model.record.elementary_motions import MOTIONS, Motion, rotation_vector
from symbody.model.record.joints import KINDS

if TYPE_CHECKING:
    from symbody.model.record.mechanism import Joint, Mechanism


@dataclass(frozen=True, eq=False)
class CoordinatePart:
    """One elementary motion of an owner: its row, axis ("u", "x", "y", "z" or ""), first coordinate and velocity."""

    motion: Motion
    axis: str
    iq: int
    iv: int
    owner: str

    @property
    def q(self) -> slice:
        """Its coordinates in q."""
        return slice(self.iq, self.iq + self.motion.nq)

    @property
    def v(self) -> slice:
        """Its velocities in qd."""
        return slice(self.iv, self.iv + self.motion.nv)

    @property
    def velocities(self) -> range:
        return range(self.iv, self.iv + self.motion.nv)

    @property
    def quaternion(self) -> range:
        """Places in q of its quaternion; empty without one."""
        first = self.motion.quaternion
        return range(0) if first is None else range(self.iq + first, self.iq + first + 4)

    def coordinates(self, k: int) -> Sequence[int]:
        """Coordinates that move with the velocity k: the one it is the rate of; else a quaternion, or a place."""
        if self.motion.plain:
            return range(self.iq + k - self.iv, self.iq + k - self.iv + 1)
        if self.motion.body_axes:
            return self.quaternion if k < self.iv + 3 else [self.iq + i for i in self.motion.places]
        return range(self.iq, self.iq + self.motion.nq)


@dataclass(frozen=True, eq=False)
class Slot:
    """The coordinates q[iq:iq + nq] and velocities qd[iv:iv + nv] of one owner, a joint or a body.

    labels       (nq) the owner's name, or <owner>.1, <owner>.2 ... where it has several coordinates
    rate_labels  (nv) likewise; units, rate_units: of the coordinates and of the velocities
    joint        the Joint that owns it, None if it is a body
    """

    owner: str
    joint: Joint | None
    iq: int
    iv: int
    nq: int
    nv: int
    labels: tuple[str, ...]
    rate_labels: tuple[str, ...]
    units: tuple[str, ...]
    rate_units: tuple[str, ...]
    parts: tuple[CoordinatePart, ...]

    @property
    def q(self) -> slice:
        return slice(self.iq, self.iq + self.nq)

    @property
    def v(self) -> slice:
        return slice(self.iv, self.iv + self.nv)

    @property
    def plain(self) -> bool:
        """Whether its velocities are the rates of its coordinates, one by one."""
        return all(p.motion.plain for p in self.parts)

    @property
    def mode(self) -> str:
        """Mode of the joint; "passive" for what a body owns."""
        return "passive" if self.joint is None else self.joint.mode


def has_coordinates(joint: Joint) -> bool:
    """Whether a joint has coordinates of its own: not if it is locked, fixed or follows another joint."""
    return joint.mode != "locked" and joint.mimic is None and joint.kind != "fixed"


def layout(mechanism: Mechanism) -> tuple[Slot, ...]:
    """Slots in the order of q; `Mechanism.slots` keeps them."""
    out: list[Slot] = []
    bodies = {b.name: b for b in mechanism.bodies if b.coordinates}
    iq = iv = 0
    for joint in mechanism.joints:
        owners: list[tuple[str, Any, list[tuple[Motion, str]]]] = []
        if has_coordinates(joint):
            motions = list(KINDS[joint.kind].motions(joint))
            # an elastic joint moves on the motor's side, and once more by its deflection
            owners.append((joint.name, joint, [*motions, *(motions[-1:] if joint.elastic is not None else ())]))
        if joint.child in bodies:
            owners.append((joint.child, None, [(MOTIONS[bodies[joint.child].coordinates], "")]))
        for name, of, motions in owners:
            out.append(_slot(name, of, motions, iq, iv))
            iq, iv = iq + out[-1].nq, iv + out[-1].nv
    return tuple(out)


def _slot(owner: str, joint: Any, motions: Sequence[tuple[Motion, str]], iq: int, iv: int) -> Slot:
    parts, at, by = [], iq, iv
    for motion, axis in motions:
        parts.append(CoordinatePart(motion, axis, at, by, owner))
        at, by = at + motion.nq, by + motion.nv
    nq, nv = at - iq, by - iv
    return Slot(
        owner, joint, iq, iv, nq, nv, numbered(owner, nq), numbered(owner, nv),
        tuple(u for p in parts for u in p.motion.units), tuple(u for p in parts for u in p.motion.rates), tuple(parts),
    )  # fmt: skip


def numbered(name: str, n: int) -> tuple[str, ...]:
    """The name where there is one component, <name>.1, <name>.2 ... where there are several."""
    return (name,) if n == 1 else tuple(f"{name}.{k + 1}" for k in range(n))


# -- the whole of q


def parts(mechanism: Mechanism) -> Iterator[CoordinatePart]:
    """Every elementary motion that owns coordinates, in the order of q."""
    return (p for s in mechanism.slots for p in s.parts)


def part_of(mechanism: Mechanism) -> dict[int, CoordinatePart]:
    """Velocity -> the elementary motion it belongs to."""
    return {k: p for p in parts(mechanism) for k in p.velocities}


def coordinate_labels(mechanism: Mechanism) -> tuple[str, ...]:
    """(nq) the owner's name, or <owner>.1, <owner>.2 ... where it has several."""
    return tuple(label for s in mechanism.slots for label in s.labels)


def velocity_labels(mechanism: Mechanism) -> tuple[str, ...]:
    """(nv) likewise."""
    return tuple(label for s in mechanism.slots for label in s.rate_labels)


def velocity_owners(mechanism: Mechanism) -> tuple[str, ...]:
    """(nv) the joint, or the body, that each velocity belongs to."""
    return tuple(s.owner for s in mechanism.slots for _ in range(s.nv))


def coordinate_units(mechanism: Mechanism) -> tuple[str, ...]:
    """(nq) "rad", "m", or "" of a quaternion."""
    return tuple(u for s in mechanism.slots for u in s.units)


def velocity_units(mechanism: Mechanism) -> tuple[str, ...]:
    """(nv) "rad/s", "m/s"."""
    return tuple(u for s in mechanism.slots for u in s.rate_units)


def sliding(mechanism: Mechanism) -> np.ndarray:
    """(nv,) bool: velocities in m/s, not rad/s."""

    def make() -> np.ndarray:
        out = np.array([u == "m/s" for u in velocity_units(mechanism)], dtype=bool)
        out.setflags(write=False)
        return out

    return memory_of(mechanism).get("sliding", (), make)


def with_mode(mechanism: Mechanism, *modes: str) -> list[int]:
    """Velocities of the owners of these modes: "driven", "actuated", ..."""
    return [k for s in mechanism.slots if s.mode in modes for k in range(s.iv, s.iv + s.nv)]


def neutral(mechanism: Mechanism) -> np.ndarray:
    """(nq,) zeros, and unit quaternions."""
    return np.array([x for p in parts(mechanism) for x in p.motion.neutral], dtype=float)


def checked(mechanism: Mechanism, q: Any) -> np.ndarray:
    """(nq,) numbers of the right shape, with quaternions of unit length."""
    out = np.array(q, dtype=float)
    if out.shape != (mechanism.nq,):
        raise ShapeError(f"q has shape {out.shape}; {mechanism.name} has nq = {mechanism.nq} coordinates.")
    for p in parts(mechanism):
        span = p.quaternion
        if span:
            out[span] /= np.linalg.norm(out[span])
    return out


def retract(mechanism: Mechanism, q: Any, d: Any) -> np.ndarray:
    """(..., nq) coordinates q moved by the tangent increments d (..., nv): where they would be after unit time at the
    constant velocities d. Plain coordinates add; ball and free joints follow the exponential of the twist d in child
    axes."""
    out, d = np.array(q, dtype=float), np.asarray(d, dtype=float)
    at, by, turned = memory_of(mechanism).get("retracted", (), lambda: _retracted(mechanism))
    for p in turned:
        out[..., p.q] = p.motion.retract(out[..., p.q], d[..., p.v])
    if len(at):
        out[..., at] += d[..., by]
    return out


def _retracted(mechanism: Mechanism) -> tuple[np.ndarray, np.ndarray, list[CoordinatePart]]:
    """Coordinates that add, the velocities that are added to them, and the parts that do not."""
    plain: list[tuple[int, int]] = []
    turned = [p for p in parts(mechanism) if p.motion.retracted is not None]
    for p in parts(mechanism):
        if p.motion.retracted is None:
            plain += zip(range(p.iq, p.iq + p.motion.nq), p.velocities)
    pairs = np.array(plain, dtype=int).reshape(-1, 2)
    return pairs[:, 0].copy(), pairs[:, 1].copy(), turned


def increment(mechanism: Mechanism, q: np.ndarray, goal: np.ndarray) -> np.ndarray:
    """(nv,) d with retract(q, d) = goal."""
    out = np.zeros(mechanism.nv)
    for p in parts(mechanism):
        out[p.v] = p.motion.increment(q[p.q], goal[p.q])
    return out


def coordinates_by_velocity(mechanism: Mechanism, q: np.ndarray) -> np.ndarray:
    """(nv,) a number for each velocity: the coordinate; of a quaternion the rotation vector, rad; then the position."""
    out = np.zeros(mechanism.nv)
    for p in parts(mechanism):
        motion = p.motion
        if motion.body_axes:
            out[p.iv : p.iv + 3] = rotation_vector(q[p.quaternion])
            out[p.iv + 3 : p.iv + motion.nv] = [q[p.iq + k] for k in motion.places]
        else:
            out[p.v] = motion.increment(motion.neutral, q[p.q])
    return out


def transport(mechanism: Mechanism, qd: np.ndarray) -> np.ndarray:
    """T (nv, nv) of the increments along a motion with velocities qd: d(dtheta)/dt = d(qd) + T dtheta.

    Zero for plain coordinates. Increments in child axes turn with them: T = -ad(qd), the bracket of twists. qd: numbers
    or nodes.
    """
    out = np.zeros((mechanism.nv, mechanism.nv), dtype=object if qd.dtype == object else float)
    for p in parts(mechanism):
        if not p.motion.plain:
            out[p.v, p.v] = -p.motion.bracket(qd[p.v])
    return out
