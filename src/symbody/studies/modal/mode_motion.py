"""A mode as a motion to look at: coordinates retracted along its shape over one or more periods."""

from __future__ import annotations

import numpy as np

from symbody.basics.errors import ModelError, ShapeError
from symbody.model.record.coordinates import coordinate_labels, retract, velocity_labels
from symbody.model.record.mechanism import Mechanism
from symbody.motion.trajectory.trajectory import Trajectory
from symbody.studies.modal.modes import Modes


def mode_trajectory(
    mech: Mechanism, modes: Modes, index: int, amplitude: float = 0.2, frames: int = 60, cycles: int = 1
) -> Trajectory:
    """q(t) = q0 moved by amplitude Re(shape exp(i phase)): mode number `index` (from 0), for animation.

    amplitude   of the largest coordinate of the shape, rad or m; decay is left out, so that the motion repeats
    The time is the mode's own, 1 s a cycle for rigid modes. Loops are kept to first order in the amplitude.
    """
    if not 0 <= index < len(modes):
        raise ModelError(f"mode {index} was asked for; there are {len(modes)}, numbered from 0.")
    shape = modes.shapes[:, index]
    if modes.E is not None:
        shape = modes.E @ shape
    if len(shape) != mech.nv or len(modes.q0) != mech.nq:
        raise ShapeError(
            f"the modes have {len(shape)} increments and {mech.name} has nv {mech.nv}; take its own modes."
        )
    rate = abs(modes.eigenvalues[index].imag)
    period = 2 * np.pi / rate if rate > 0 and not modes.rigid[index] else 1.0
    phases = np.linspace(0, 2 * np.pi * cycles, frames * cycles + 1)
    swing = amplitude * shape / np.abs(shape).max()
    q = np.array([retract(mech, modes.q0, np.real(swing * np.exp(1j * phase))) for phase in phases])
    qd = np.array([np.real(1j * (2 * np.pi / period) * swing * np.exp(1j * phase)) for phase in phases])
    return Trajectory(
        phases / (2 * np.pi) * period,
        {"q": q, "qd": qd},
        labels={"q": coordinate_labels(mech), "qd": velocity_labels(mech)},
        units={"t": "s"},
        model=mech.name,
        method=f"mode {index + 1}, {modes.frequencies[index]:.4g} Hz",
    )
