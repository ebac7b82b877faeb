"""Sampled motions: q with qd and qdd, the missing ones by splines of degree 5 (quaternions by their own kinematics)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from symbody.basics.errors import DefinitionError, ModelError, ShapeError, array_argument
from symbody.model.record.coordinates import parts
from symbody.model.record.mechanism import Mechanism
from symbody.motion.trajectory.trajectory import Trajectory

DEGREE = 5


@dataclass(frozen=True, eq=False)
class SampledMotion:
    """t (n,), q (n, nq), qd and qdd (n, nv), and what was done to get them."""

    t: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    notes: tuple[str, ...] = ()


def sampled_motion(mech: Mechanism, motion: Any, q: Any = None, qd: Any = None, qdd: Any = None) -> SampledMotion:
    """From a Trajectory, or from times and arrays; see `inverse_along`."""
    if isinstance(motion, Trajectory):
        if q is not None or qd is not None or qdd is not None:
            raise DefinitionError("a Trajectory was given, and q, qd or qdd besides; expected one of both.")
        if "q" not in motion.values:
            raise ModelError(
                f"the trajectory of {motion.model or 'a model'} has no q; it has {', '.join(motion.values)}."
            )
        motion, q, qd, qdd = (motion.t, motion["q"], motion.values.get("qd"), motion.values.get("qdd"))
    elif isinstance(motion, tuple) and q is None:
        motion, q, qd, qdd = (*motion, None, None, None)[:4]
    if q is None:
        raise DefinitionError("no q was given; expected a Trajectory, or t with q of shape (n, nq).")
    t = array_argument("motion", motion, "a Trajectory, or times (n,) in seconds")
    if t.ndim != 1 or not len(t) or not np.isfinite(t).all() or (np.diff(t) <= 0).any():
        raise DefinitionError(f"times of shape {t.shape}; expected (n,) finite, ascending seconds.")
    coordinates = _checked("q", q, (len(t), mech.nq))
    given_qd = None if qd is None else _checked("qd", qd, (len(t), mech.nv))
    given_qdd = None if qdd is None else _checked("qdd", qdd, (len(t), mech.nv))
    notes = []
    if given_qd is None or given_qdd is None:
        if len(t) <= DEGREE:
            raise DefinitionError(f"{len(t)} samples; expected more than {DEGREE} where rates come from splines.")
        made_qd, made_qdd = _differentiated(mech, t, coordinates, given_qd)
        names = [n for n, x in (("qd", given_qd), ("qdd", given_qdd)) if x is None]
        notes.append(f"{' and '.join(names)} come from splines of degree {DEGREE} through the samples.")
        given_qd = made_qd if given_qd is None else given_qd
        given_qdd = made_qdd if given_qdd is None else given_qdd
    return SampledMotion(t, coordinates, given_qd, given_qdd, tuple(notes))


def _checked(name: str, given: Any, shape: tuple[int, int]) -> np.ndarray:
    array = array_argument(name, given, f"numbers of shape {shape}")
    if array.ndim == 1 and shape[1] == 1:
        array = array[:, None]
    if array.shape != shape:
        raise ShapeError(f"{name} has shape {array.shape}; expected {shape}: instants by components.")
    if not np.isfinite(array).all():
        row = int(np.argmax(~np.isfinite(array).all(axis=1)))
        raise ModelError(f"{name} is not finite at sample {row}; expected numbers.")
    return np.ascontiguousarray(array)


def _differentiated(
    mech: Mechanism, t: np.ndarray, q: np.ndarray, qd: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """qd by the spline of q (N qd = q_dot), qdd by the second derivative, or by the spline of qd where q turns."""
    from scipy.interpolate import make_interp_spline

    q = _continuous(mech, q)
    curve = make_interp_spline(t, q, k=DEGREE, axis=0)
    rate = curve.derivative()(t)
    speeds, second = np.zeros((len(t), mech.nv)), np.zeros((len(t), mech.nv))
    bends = curve.derivative(2)(t)
    for p in parts(mech):
        if p.motion.plain:
            speeds[:, p.v], second[:, p.v] = rate[:, p.q], bends[:, p.q]
            continue
        pairs = zip(q[:, p.q], rate[:, p.q], strict=True)
        speeds[:, p.v] = [np.asarray(p.motion.velocities_of(x, dx), dtype=float) for x, dx in pairs]
        own = speeds if qd is None else qd
        second[:, p.v] = make_interp_spline(t, own[:, p.v], k=DEGREE, axis=0).derivative()(t)
    if qd is not None:
        second = make_interp_spline(t, qd, k=DEGREE, axis=0).derivative()(t)
    return speeds, second


def _continuous(mech: Mechanism, q: np.ndarray) -> np.ndarray:
    """Quaternions with the signs by which neighbours are near each other."""
    out = q.copy()
    for p in parts(mech):
        if p.quaternion:
            part = out[:, p.quaternion.start : p.quaternion.stop]
            flips = np.cumprod(np.where((part[1:] * part[:-1]).sum(axis=1) < 0, -1.0, 1.0))
            part[1:] *= flips[:, None]
    return out
