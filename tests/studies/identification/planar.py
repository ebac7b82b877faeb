"""The planar 3R arm of the thesis (symofros 4.3, 4.4): axes z, theta from the downward vertical."""

from __future__ import annotations

import numpy as np

import symbody as sb

LENGTHS = (0.3, 0.1)
TRUE = np.array([9.30, 1.71, 4.00, 0.31, 0.30, 0.02])  # base parameters of Table 4.2


def planar_arm():
    b = sb.Mechanism.builder("planar", gravity=(9.81, 0, 0))
    parent, place = "world", (0, 0, 0)
    for k in (1, 2, 3):
        b.body(f"link{k}", 1.0, (0.1, 0, 0), (0.01, 0.01, 0.01))
        b.joint(f"j{k}", "revolute", parent, f"link{k}", position=place, axis="z")
        parent, place = f"link{k}", ((*LENGTHS, 0.1)[k - 1], 0, 0)
    return b.done()


def thesis_columns(model):
    """The six columns of the thesis among the base parameters: mx and Izz of each link."""
    wanted = [f"link{k}.{x}" for k in (1, 2, 3) for x in ("mx", "Izz")]
    return [model.base_names.index(n) for n in wanted]


def motion(w=(1.0, 1.0, 1.0), samples=252, period=0.25):
    t = period * np.arange(samples)
    a = np.pi / 4
    w = np.asarray(w)
    phase = np.outer(t, w)
    return t, a * np.sin(phase), a * w * np.cos(phase), -a * w**2 * np.sin(phase)
