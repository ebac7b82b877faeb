"""Trajectories of joints that move together, within their limits: from one configuration to another, or through many.

All joints share one law of the path, so that they start and end together and stay on the straight line in joint space;
the joint with the tightest limits sets the pace (Khalil and Dombre 2002, 13.3).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from symbody.basics.arguments import declared
from symbody.basics.errors import DefinitionError, ModelError, NameLookupError, ShapeError, nearest, whole_argument
from symbody.model.library.motions import PEAKS, MotionLaw, bang_bang, cubic, quintic, spline, trapezoid
from symbody.model.record.coordinates import velocity_labels
from symbody.model.record.joint_limits import joint_limits
from symbody.model.record.mechanism import Mechanism
from symbody.motion.flow.coordinate_labels import labels_of, units_of
from symbody.motion.trajectory.trajectory import Trajectory
from symbody.studies.linear.operating_point import coordinates, velocities

LAWS = ("bang_bang", "trapezoid", "cubic", "quintic")


@declared
def point_to_point(
    mech: Mechanism,
    q0: Any,
    q1: Any,
    law: str = "quintic",
    duration: float | None = None,
    *,
    velocity: Any = None,
    acceleration: Any = None,
    samples: int = 201,
) -> Trajectory:
    """q, qd, qdd from q0 to q1, all joints together; the quickest within the limits unless a duration is given.

    law           "bang_bang", "trapezoid", "cubic" or "quintic"
    velocity      limits of |qd|: a number, (nv,) or {joint: number}; where none is given those of the joints
    acceleration  limits of |qdd|; "bang_bang" and "trapezoid" need them unless there is a duration
    """
    first, last = coordinates(mech, q0), coordinates(mech, q1)
    move = last - first
    path = path_law(
        mech,
        np.abs(move),
        law,
        duration,
        limits(mech, "velocity", velocity),
        limits(mech, "acceleration", acceleration),
    )
    t = _instants(path, samples)
    s, sd, sdd = path(t)[:, None], path.qd(t)[:, None], path.qdd(t)[:, None]
    # at the very end the law has come to rest; its last piece is what holds until then
    sdd[-1] = path.qdd(np.nextafter(t[-1], t[0]))
    return as_trajectory(mech, t, first + s * move, sd * move, sdd * move, law)


def through(
    mech: Mechanism, times: Sequence[float], points: Any, *, natural: bool = False, samples: int = 201
) -> Trajectory:
    """The cubic spline through configurations points (k, nq) at times (k,), from rest to rest (or natural)."""
    _plain(mech)
    y = np.asarray(points, dtype=float)
    if y.shape != (len(times), mech.nq):
        raise ShapeError(f"points have shape {y.shape}; expected ({len(times)}, {mech.nq}).")
    laws = [spline(times, y[:, k].tolist(), None if natural else (0.0, 0.0)) for k in range(mech.nq)]
    t = np.linspace(float(times[0]), float(times[-1]), samples)
    inside = np.minimum(t, np.nextafter(t[-1], t[0]))
    q, qd, qdd = (np.stack([getattr(law, n)(inside) for law in laws], axis=1) for n in ("__call__", "qd", "qdd"))
    return as_trajectory(mech, t, q, qd, qdd, "spline")


def path_law(
    mech: Mechanism, move: np.ndarray, law: str, duration: float | None, velocity: np.ndarray, acceleration: np.ndarray
) -> MotionLaw:
    """The law of s from 0 to 1 by which moves (nv,) of all joints respect their limits (inf: none)."""
    _plain(mech)
    if law not in LAWS:
        raise NameLookupError(f"there is no law {law!r} from point to point. {nearest(law, LAWS)}")
    moving = move > 0
    fastest = float(np.min(velocity[moving] / move[moving], initial=math.inf))
    sharpest = float(np.min(acceleration[moving] / move[moving], initial=math.inf))
    if not moving.any():
        return quintic(0.0, 1.0, 1.0 if duration is None else duration)
    if law == "trapezoid":
        if not (math.isfinite(fastest) and math.isfinite(sharpest)):
            names = _without(mech, move, velocity, acceleration)
            raise DefinitionError(f"law 'trapezoid' needs limits of velocity and acceleration; {names} has none.")
        return trapezoid(0.0, 1.0, fastest, sharpest, duration)
    peak, bend = PEAKS[law]
    quickest = max(peak / fastest, math.sqrt(bend / sharpest))
    if duration is None:
        if quickest == 0:
            raise DefinitionError(f"law {law!r} has neither a duration nor limits; give duration=, velocity= or both.")
        duration = quickest
    elif duration < quickest * (1 - 1e-12):
        raise DefinitionError(
            f"a duration of {duration:g} s is too short for the limits; expected {quickest:g} or more."
        )
    makers: dict[str, Any] = {"bang_bang": bang_bang, "cubic": cubic, "quintic": quintic}
    motion: MotionLaw = makers[law](0.0, 1.0, duration)
    return motion


def limits(mech: Mechanism, name: str, given: Any) -> np.ndarray:
    """(nv,) positive limits: given ones, else those of the joints, else inf."""
    out = np.full(mech.nv, math.inf)
    if name == "velocity":
        own = joint_limits(mech)
        for p in mech.slots:
            if p.owner in own and own[p.owner].velocity:
                out[p.v] = own[p.owner].velocity
    if given is None:
        return out
    if isinstance(given, Mapping):
        known = velocities(mech, name, given, np.full(mech.nv, -1.0))
        out = np.where(known == -1.0, out, known)
    else:
        out = velocities(mech, name, np.broadcast_to(given, mech.nv), np.zeros(mech.nv))
    if (out <= 0).any():
        worst = velocity_labels(mech)[int(np.argmax(out <= 0))]
        raise DefinitionError(f"the {name} limit of {worst!r} is {out[out <= 0][0]:g}; expected a positive number.")
    return out


def as_trajectory(
    mech: Mechanism, t: np.ndarray, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray, method: str
) -> Trajectory:
    """Samples with the labels and units of the Mechanism."""
    return Trajectory(
        t, {"q": q, "qd": qd, "qdd": qdd}, labels=labels_of(mech), units=units_of(mech), model=mech.name, method=method
    )


def _instants(path: MotionLaw, samples: int) -> np.ndarray:
    whole_argument("samples", samples, 2)
    return np.linspace(path.start, path.end, samples)


def _plain(mech: Mechanism) -> None:
    turned = [p.owner for p in mech.slots if not p.plain]
    if turned:
        raise ModelError(
            f"joint {turned[0]!r} of {mech.name} has a quaternion; these laws move plain coordinates only."
        )


def _without(mech: Mechanism, move: np.ndarray, velocity: np.ndarray, acceleration: np.ndarray) -> str:
    return next(
        repr(label)
        for label, d, v, a in zip(velocity_labels(mech), move, velocity, acceleration)
        if d > 0 and not (math.isfinite(v) and math.isfinite(a))
    )
