"""A Mechanism for the eye: its skeleton as a figure.

What is drawn, points and directions at a configuration, comes from `skeleton.py`, which knows of no figure;
`planar.py` and `spatial.py` draw it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from symbody.basics.errors import ModelError
from symbody.mechanics.assembly.guess import guessed
from symbody.model.record.mechanism import Mechanism
from symbody.show.drawing.closed_coordinates import closed_coordinates
from symbody.show.drawing.numeric_poses import body_poses, checked, numbers
from symbody.show.drawing.planar import draw_planar, plane_of
from symbody.show.drawing.skeleton import skeleton
from symbody.show.drawing.spatial import draw_spatial

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FARTHEST = 1e30  # m; the squares of such lengths are drawn with

__all__ = ["body_poses", "show"]


def show(mechanism: Mechanism, q: Any = None, parameters: Mapping[str, float] | None = None) -> Figure:
    """A matplotlib Figure: a planar mechanism in its plane, any other in space.

    q: (nq,), {joint: numbers} or the name of a keyframe; if it is not given zero, unit quaternions, and as little as
    closes the loops; parameters: values in place of the defaults.
    """
    made = numbers(mechanism, parameters)
    if isinstance(q, Mapping | str):
        q = guessed(mechanism, q, parameters)[0]
    with np.errstate(over="ignore", invalid="ignore"):  # lengths beyond what is drawn are told below
        body = skeleton(made, closed_coordinates(made) if q is None else checked(mechanism, q))
    far = float(np.abs(body.points()).max())
    if not far < FARTHEST:
        raise ModelError(f"{mechanism.name} reaches {far:g} m; expected less than {FARTHEST:g} m in a drawing.")
    plane = plane_of(body)
    return draw_spatial(body, mechanism.name) if plane is None else draw_planar(body, plane, mechanism.name)
