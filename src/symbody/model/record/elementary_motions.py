"""The table of elementary motions: one row says all that coordinates, kinematics and programs must know of each.

A motion moves a child frame in a joint frame. It owns nq coordinates q and nv velocities qd, with q_dot = N(q) qd:

    pose     rotation (3, 3), child to joint axes, or None where it never turns; position (3,) of the child's origin
             in joint axes, m
    twist    of each velocity the angular and the linear part in child axes, (3,) and (3,): omega = sum of angular qd,
             v = sum of linear qd, the velocity of the child's origin
    retract  q moved by a tangent increment d (nv): where it would be after unit time at the constant velocity d

`pose` and `twist` work over any scalar (numbers, complex numbers, nodes). Most motions are plain: N is the identity and
retraction adds. Ball and free joints turn by a quaternion; their velocities are the components of the twist in child
axes, and their retraction is the exponential (docs/decisions/0015).

A new motion is one row, given to `symbody.extend.add_motion`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from symbody.basics.errors import NameLookupError, nearest
from symbody.model.record.pose import from_z
from symbody.model.spatial.quaternion import (
    conjugate,
    matrix_from_quaternion,
    multiply,
    normalise,
    rate_map,
    velocity_map,
)
from symbody.model.spatial.rotations import about_axis
from symbody.symbolic.expr.arrays import Array, identity, matmul, skew, transpose, zeros

Twist = tuple[Any, Any]  # angular (3,), linear (3,)


@dataclass(frozen=True)
class Setting:
    """Where a motion acts: axis 0, 1, 2 of the joint frame, the joint's pitch; of a body's motion the frame's name."""

    axis: int = 2
    pitch: Any = 0
    frame: str = ""


@dataclass(frozen=True, eq=False, kw_only=True)
class Motion:
    """A row of the table.

    units, rates     of the coordinates (nq) and of the velocities (nv): "rad", "m", "" and "rad/s", "m/s", "1/s"
    words            the coordinates in words (nq); {axis} stands for the axis
    pose, twist      (q, Setting) -> see above
    turns, slides    whether the child may turn, whether its origin may move
    axial            one coordinate: turns by q about an axis of the joint frame, slides along it by q, or by pitch q
    pitched          whether the joint must have a pitch
    quaternion       place of a unit quaternion (w, x, y, z) among the coordinates, None without one
    body_axes        velocities are the components of omega, or of omega and v, in child axes
    rate_map         N(q) (nq, nv); None: the identity
    velocities       (q, q_dot) -> qd; None: q_dot
    retracted        (q (..., nq), d (..., nv)) -> (..., nq), numbers; None: q + d
    difference       its inverse: the increment (nv,) from q to another; None: the difference
    key              what stands for it in keys of stored choices of programs; "": its name
    """

    name: str
    text: str
    units: tuple[str, ...]
    rates: tuple[str, ...]
    words: tuple[str, ...]
    pose: Callable[[Any, Setting], tuple[Any, Any]]
    twist: Callable[[Any, Setting], tuple[Twist, ...]]
    turns: bool = True
    slides: bool = True
    axial: bool = False
    pitched: bool = False
    quaternion: int | None = None
    body_axes: bool = False
    rate_map: Callable[[Any], Array] | None = None
    velocities: Callable[[Any, Any], Any] | None = None
    retracted: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None
    difference: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None
    key: str = ""

    def __reduce__(self) -> Any:
        """Travels by its name: the same row is there, or must be added there."""
        return motion_named, (self.name,)

    # -- sizes and questions

    @property
    def nq(self) -> int:
        return len(self.units)

    @property
    def nv(self) -> int:
        return len(self.rates)

    @property
    def plain(self) -> bool:
        """Whether velocities are the rates of the coordinates, one by one."""
        return self.rate_map is None

    @property
    def is_turn(self) -> bool:
        """A rotation about an axis, and nothing else."""
        return self.axial and not self.slides

    @property
    def is_slide(self) -> bool:
        """A translation along an axis, and nothing else."""
        return self.axial and not self.turns

    @property
    def about_axis(self) -> bool:
        """One coordinate, which turns about an axis."""
        return self.axial and self.turns

    @property
    def along_axis(self) -> bool:
        """One coordinate, which slides along an axis."""
        return self.axial and self.slides

    @property
    def all_turns(self) -> bool:
        """The velocities are the components of omega: no moment passes but the efforts."""
        return self.body_axes and self.nv == 3

    @property
    def all_motions(self) -> bool:
        """The velocities are those of omega and v: nothing passes but the efforts."""
        return self.body_axes and self.nv == 6

    @property
    def turning_axes(self) -> int:
        """About how many axes the child may turn, at most."""
        return 0 if not self.turns else 1 if self.axial else 3

    @cached_property
    def slide_rates(self) -> tuple[bool, ...]:
        """(nv,) which velocities are in m/s."""
        return tuple(unit == "m/s" for unit in self.rates)

    # -- coordinates

    @cached_property
    def neutral(self) -> tuple[float, ...]:
        """(nq,) zeros, and the quaternion (1, 0, 0, 0): the child frame stands on the joint frame."""
        return tuple(1.0 if k == self.quaternion else 0.0 for k in range(self.nq))

    @property
    def turned_by(self) -> slice | None:
        """Where the quaternion stands among the coordinates."""
        return None if self.quaternion is None else slice(self.quaternion, self.quaternion + 4)

    @property
    def places(self) -> tuple[int, ...]:
        """Coordinates of a motion with a quaternion that are none of it: the position of a free joint."""
        span = range(0, 0) if self.quaternion is None else range(self.quaternion, self.quaternion + 4)
        return tuple(k for k in range(self.nq) if k not in span)

    def normalise(self, q: Any) -> Any:
        """q (nq,), numbers or nodes, with its quaternion of unit length."""
        out = np.array(q, dtype=object if _symbolic(q) else float)
        if self.turned_by is not None:
            out[self.turned_by] = normalise(out[self.turned_by])
        return out

    def retract(self, q: Any, d: Any) -> np.ndarray:
        """(..., nq) numbers q (..., nq) moved by the increments d (..., nv)."""
        q, d = np.asarray(q, dtype=float), np.asarray(d, dtype=float)
        return q + d if self.retracted is None else self.retracted(q, d)

    def increment(self, q: Any, goal: Any) -> np.ndarray:
        """(nv,) d with retract(q, d) = goal; of turns the one of at most half a revolution."""
        q, goal = np.asarray(q, dtype=float), np.asarray(goal, dtype=float)
        return goal - q if self.difference is None else self.difference(q, goal)

    def map_of_rates(self, q: Any) -> Array:
        """N (nq, nv) with q_dot = N(q) qd."""
        return identity(self.nq) if self.rate_map is None else self.rate_map(q)

    def velocities_of(self, q: Any, rates: Any) -> Any:
        """(nv,) velocities from the rates q_dot (nq,) of the coordinates."""
        return rates if self.velocities is None else self.velocities(q, rates)

    def bracket(self, qd: Any) -> np.ndarray:
        """(nv, nv) ad of the velocities: increments in child axes turn with the child. Zero for plain motions."""
        out = np.zeros((self.nv, self.nv), dtype=object if _symbolic(qd) else float)
        if self.body_axes:
            for k in range(0, self.nv, 3):
                out[k : k + 3, k : k + 3] = skew(qd[:3])
            if self.nv == 6:
                out[3:, :3] = skew(qd[3:])
        return out

    def coordinate_words(self, axis: str) -> tuple[str, ...]:
        """The coordinates in words."""
        return tuple(w.format(axis="the axis" if axis == "u" else axis) for w in self.words)


def pose_along(motion: Motion, direction: Any, pitch: float, q: Any) -> tuple[np.ndarray, np.ndarray]:
    """(rotation (3, 3), position (3,)) in numbers of a motion whose axis is a direction (3,) of the joint frame, of
    unit length; None for a motion that has none."""
    align = np.eye(3) if direction is None else from_z(np.asarray(direction, dtype=float))
    assert align is not None  # unit length
    turn, shift = motion.pose(motion.normalise(q), Setting(0 if direction is None else 2, pitch))
    rotation = np.eye(3) if turn is None else align @ np.asarray(turn, dtype=float) @ align.T
    return rotation, align @ np.asarray(shift, dtype=float)


def _symbolic(q: Any) -> bool:
    return np.asarray(q).dtype == object


# -- motions about and along an axis


def _along(axis: int, value: Any) -> Array:
    out = zeros(3)
    out[axis] = value
    return out


def _turn_pose(q: Any, at: Setting) -> tuple[Array, Array]:
    return about_axis(at.axis, q[0]), zeros(3)


def _slide_pose(q: Any, at: Setting) -> tuple[None, Array]:
    return None, _along(at.axis, q[0])


def _screw_pose(q: Any, at: Setting) -> tuple[Array, Array]:
    return about_axis(at.axis, q[0]), _along(at.axis, at.pitch * q[0])


# -- quaternions


def _ball_pose(q: Any, at: Setting) -> tuple[Array, Array]:
    return matrix_from_quaternion(q), zeros(3)


def _free_pose(q: Any, at: Setting) -> tuple[Array, Array]:
    out = zeros(3)
    out[:] = list(q[:3])
    return matrix_from_quaternion(q[3:7]), out


def _units_of_twist(n: int) -> Callable[[Any, Setting], tuple[Twist, ...]]:
    columns = [(_along(k, 1), zeros(3)) for k in range(3)] + [(zeros(3), _along(k, 1)) for k in range(3)]
    return lambda q, at: tuple(columns[:n])


def _free_rates(q: Any) -> Array:
    out = zeros(7, 6)
    out[:3, 3:] = matrix_from_quaternion(q[3:7])
    out[3:, :3] = rate_map(q[3:7])
    return out


def _ball_velocities(q: Any, rates: Any) -> Any:
    """omega = 2 (conjugate of q) q_dot."""
    return matmul(velocity_map(q), rates)


def _free_velocities(q: Any, rates: Any) -> Any:
    turned = matmul(transpose(matrix_from_quaternion(q[3:7])), rates[:3])
    return np.concatenate([_ball_velocities(q[3:7], rates[3:7]), turned])


def turned(q: np.ndarray, turn: np.ndarray) -> np.ndarray:
    """(..., 4) quaternions q after the rotation vectors `turn` (..., 3) in child axes, of unit length."""
    w, u = q[..., :1], q[..., 1:]
    angle = np.linalg.norm(turn, axis=-1, keepdims=True)
    c, s = np.cos(angle / 2), (np.sinc(angle / 2 / np.pi) / 2) * turn
    out = np.concatenate([w * c - (u * s).sum(axis=-1, keepdims=True), w * s + c * u + np.cross(u, s)], axis=-1)
    unit: np.ndarray = out / np.linalg.norm(out, axis=-1, keepdims=True)
    return unit


def screw_slide(turn: np.ndarray, slide: np.ndarray) -> np.ndarray:
    """(..., 3) displacement, in the axes of the start, of a body whose twist (turn, slide) stays constant in its axes
    for unit time: V(turn) slide, V = 1 + c2 S + c3 S^2, S = skew(turn) (Murray, Li, Sastry 1994, eq. 2.36)."""
    square = (turn * turn).sum(axis=-1, keepdims=True)
    c2, c3 = _versine(square), _overtake(square)
    across = np.cross(turn, slide)
    out: np.ndarray = slide + c2 * across + c3 * np.cross(turn, across)
    return out


def _versine(x: np.ndarray) -> np.ndarray:
    """(1 - cos t) / t^2 of x = t^2, without cancellation: sin(t/2)^2 / (t^2 / 2)."""
    out: np.ndarray = np.sinc(np.sqrt(x) / (2 * np.pi)) ** 2 / 2
    return out


def _overtake(x: np.ndarray) -> np.ndarray:
    """(t - sin t) / t^3 of x = t^2; below x = 0.1 by its series, where the difference would lose digits."""
    series = (1 - x / 20 * (1 - x / 42 * (1 - x / 72 * (1 - x / 110)))) / 6
    safe = np.where(x < 0.1, 1.0, x)
    out: np.ndarray = np.where(x < 0.1, series, (1 - np.sinc(np.sqrt(safe) / np.pi)) / safe)
    return out


def _free_retracted(q: np.ndarray, d: np.ndarray) -> np.ndarray:
    """The exponential: the screw motion of the constant twist d in child axes."""
    move, w, u = screw_slide(d[..., :3], d[..., 3:]), q[..., 3:4], q[..., 4:7]
    place = q[..., :3] + move + 2 * w * np.cross(u, move) + 2 * np.cross(u, np.cross(u, move))
    return np.concatenate([place, turned(q[..., 3:], d[..., :3])], axis=-1)


def rotation_vector(q: np.ndarray) -> np.ndarray:
    """(3,) axis times angle of a unit quaternion; q and -q are the same turn, of at most half a revolution."""
    w, axis = q[0], np.asarray(q[1:4], dtype=float)
    sine = float(np.linalg.norm(axis))
    out: np.ndarray = axis * (2.0 * np.arctan2(sine, abs(w)) * np.copysign(1.0, w) / sine if sine > 0 else 0.0)
    return out


def _ball_difference(q: np.ndarray, goal: np.ndarray) -> np.ndarray:
    return rotation_vector(np.asarray(multiply(conjugate(q), goal), dtype=float))


def _free_difference(q: np.ndarray, goal: np.ndarray) -> np.ndarray:
    turn = _ball_difference(q[3:], goal[3:])
    V = np.column_stack([screw_slide(turn, e) for e in np.eye(3)])
    inside = np.asarray(matrix_from_quaternion(q[3:]), dtype=float).T @ (goal[:3] - q[:3])
    return np.concatenate([turn, np.linalg.solve(V, inside)])


# -- the table


TURN = Motion(
    name="turn", text="rotation by q about an axis", units=("rad",), rates=("rad/s",), words=("about {axis} (rad)",),
    pose=_turn_pose, twist=lambda q, at: ((_along(at.axis, 1), zeros(3)),), slides=False, axial=True, key="R",
)  # fmt: skip
SLIDE = Motion(
    name="slide", text="translation by q along an axis", units=("m",), rates=("m/s",), words=("along {axis} (m)",),
    pose=_slide_pose, twist=lambda q, at: ((zeros(3), _along(at.axis, 1)),), turns=False, axial=True, key="T",
)  # fmt: skip
SCREW = Motion(
    name="screw", text="rotation by q and translation by pitch q", units=("rad",), rates=("rad/s",),
    words=("about {axis} (rad)",), pose=_screw_pose,
    twist=lambda q, at: ((_along(at.axis, 1), _along(at.axis, at.pitch)),), axial=True, pitched=True, key="H",
)  # fmt: skip
BALL = Motion(
    name="ball", text="rotation by a quaternion", units=("",) * 4, rates=("rad/s",) * 3,
    words=tuple(f"{x} of the quaternion" for x in "wxyz"), pose=_ball_pose, twist=_units_of_twist(3), slides=False,
    quaternion=0, body_axes=True, rate_map=rate_map, velocities=_ball_velocities, retracted=turned,
    difference=_ball_difference,
    key="B",
)  # fmt: skip
FREE = Motion(
    name="free", text="position in the joint frame, then a quaternion", units=("m",) * 3 + ("",) * 4,
    rates=("rad/s",) * 3 + ("m/s",) * 3,
    words=(*(f"{x} (m)" for x in "xyz"), *(f"{x} of the quaternion" for x in "wxyz")), pose=_free_pose,
    twist=_units_of_twist(6), quaternion=3, body_axes=True, rate_map=_free_rates, velocities=_free_velocities,
    retracted=_free_retracted, difference=_free_difference, key="F",
)  # fmt: skip

TABLE: dict[str, Motion] = {row.name: row for row in (TURN, SLIDE, SCREW, BALL, FREE)}
MOTIONS: Mapping[str, Motion] = MappingProxyType(TABLE)


def motion_named(name: str) -> Motion:
    """The row of a name."""
    if name not in TABLE:
        raise NameLookupError(
            f"there is no motion {name!r} here. {nearest(name, TABLE)} One that was added in another process must be "
            "added in this one too: symbody.extend.add_motion."
        )
    return TABLE[name]


BUILT_IN = frozenset(TABLE)
