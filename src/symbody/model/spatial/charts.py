"""Charts of rotations under one contract: coordinates to matrix and back, rates to angular velocity and back.

    chart.matrix(q)             (3, 3) R_ab, b-coordinates to a-coordinates
    chart.coordinates(R)        (n,)
    chart.velocity_map(q, axes) (3, n) omega = B(q) qd, `axes` is "body" or "reference"
    chart.rate_map(q, axes)     (n, 3) qd = N(q) omega
    chart.singularity(q)        a scalar that vanishes on the singular set, which `chart.singular_set` describes

Every function holds over floats, complex numbers, nodes and, where a formula has no branch, dual numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from symbody.basics.errors import ExpressionError, NameLookupError, nearest
from symbody.model.spatial import euler as _euler
from symbody.model.spatial import quaternion as _quaternion
from symbody.model.spatial import rodrigues as _rodrigues
from symbody.model.spatial import rotation_vector as _vector
from symbody.model.spatial.rotations import exponential
from symbody.symbolic.expr.arrays import Array


@dataclass(frozen=True)
class Chart:
    """One way to give coordinates to rotations."""

    name: str
    size: int
    matrix: Callable[[Any], Array]
    coordinates: Callable[[Any], Array]
    velocity_map: Callable[..., Array]
    rate_map: Callable[..., Array]
    singularity: Callable[[Any], Any]
    singular_set: str


def euler(sequence: str) -> Chart:
    """Three angles in turn about moved axes, such as "zyz" (Euler) or "xyz" (Cardan)."""
    i, _, k = _euler.axes_of(sequence)
    return Chart(
        f"euler_{sequence}",
        3,
        partial(_euler.matrix_from_angles, sequence),
        partial(_euler.angles_from_matrix, sequence),
        partial(_euler.velocity_map, sequence),
        partial(_euler.rate_map, sequence),
        partial(_euler.singularity, sequence),
        "second angle 0 or pi: only the sum or difference of the others is known"
        if i == k
        else "second angle +-pi/2: only the sum or difference of the others is known",
    )


# Yaw, pitch and roll, R = R_z R_y R_x, are the Bryant angles of MEDUSA (eq. 3.22), listed in the order of rotation.
BRYANT = euler("zyx")

QUATERNION = Chart(
    "quaternion", 4, _quaternion.matrix_from_quaternion, _quaternion.quaternion_from_matrix, _quaternion.velocity_map,
    _quaternion.rate_map, _quaternion.singularity, "none; |q| = 1 must be kept, and q and -q are one rotation",
)  # fmt: skip

RODRIGUES = Chart(
    "rodrigues", 3, _rodrigues.matrix_from_rodrigues, _rodrigues.rodrigues_from_matrix, _rodrigues.velocity_map,
    _rodrigues.rate_map, _rodrigues.singularity, "half turns: the parameters are infinite",
)  # fmt: skip

ROTATION_VECTOR = Chart(
    "rotation_vector", 3, exponential, _vector.logarithm, _vector.velocity_map, _vector.rate_map, _vector.singularity,
    "full turns other than none: |v| = 2 pi n, n > 0",
)  # fmt: skip

_NAMED = {"bryant": BRYANT, "quaternion": QUATERNION, "rodrigues": RODRIGUES, "rotation_vector": ROTATION_VECTOR}


def chart(name: str) -> Chart:
    """A chart by name: bryant, quaternion, rodrigues, rotation_vector, or a sequence of axes such as "zyz"."""
    if name in _NAMED:
        return _NAMED[name]
    try:
        return euler(name)
    except ExpressionError:
        known = [*_NAMED, "xyz", "zyx", "zyz", "zxz"]
        raise NameLookupError(f"no chart of rotations is called {name!r}. {nearest(name, known)}") from None


def is_singular(member: Chart, q: Any, tolerance: float = 1e-9) -> bool:
    """Whether numeric coordinates lie on the chart's singular set."""
    return bool(abs(member.singularity(q)) < tolerance)
