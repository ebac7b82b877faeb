"""A Mechanism for the eye: its skeleton as a figure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from symbody.assembly.guess import guessed
from symbody.drawing.closed import closed_coordinates
from symbody.drawing.planar import draw_planar, plane_of
from symbody.drawing.poses import body_poses, checked, numbers
from symbody.drawing.skeleton import skeleton
from symbody.drawing.spatial import draw_spatial
from symbody.model.record.mechanism import Mechanism

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["body_poses", "show"]


def show(mechanism: Mechanism, q: Any = None, parameters: Mapping[str, float] | None = None) -> Figure:
    """A matplotlib Figure: a planar mechanism in its plane, any other in space.

    q: (nq,) or {joint: numbers}; if it is not given zero, unit quaternions, and as little as closes the loops;
    parameters: values in place of the defaults.
    """
    made = numbers(mechanism, parameters)
    if isinstance(q, Mapping):
        q = guessed(mechanism, q)[0]
    body = skeleton(made, closed_coordinates(made) if q is None else checked(mechanism, q))
    plane = plane_of(body)
    return draw_spatial(body, mechanism.name) if plane is None else draw_planar(body, plane, mechanism.name)
