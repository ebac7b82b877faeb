"""Inertia of a rigid body about the origin of its frame, over any scalar."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from symbody.symbolic.expr.arrays import Array, is_zero, matmul, transpose, zeros


@dataclass(frozen=True, eq=False)
class Inertia:
    """mass (kg), moment (3,) = mass * centre of mass (kg m), tensor (3, 3) about the origin (kg m^2), in one frame."""

    mass: Any
    moment: Array
    tensor: Array


def no_inertia() -> Inertia:
    return Inertia(0, zeros(3), zeros(3, 3))


def is_massless(inertia: Inertia) -> bool:
    return all(is_zero(x) for x in (inertia.mass, *inertia.moment.flat, *inertia.tensor.flat))


def from_com(mass: Any, com: Any, tensor: Any) -> Inertia:
    """From the centre of mass (3,) and the tensor about it."""
    com = np.asarray(com, dtype=object)
    at_origin = np.asarray(tensor, dtype=object) + steiner(mass, com)
    moment = np.array([mass * c for c in com], dtype=object)
    return Inertia(mass, moment, at_origin)


def steiner(mass: Any, p: Any) -> Array:
    """mass (p.p 1 - p p^T), written so that squares that cancel are never formed."""
    out = zeros(3, 3)
    for a in range(3):
        b, c = (a + 1) % 3, (a + 2) % 3
        out[a, a] = mass * p[b] * p[b] + mass * p[c] * p[c]
        out[a, b] = out[b, a] = -(mass * p[a] * p[b])
    return out


def add(first: Inertia, second: Inertia) -> Inertia:
    """Inertia of two bodies together, about one frame."""
    return Inertia(first.mass + second.mass, first.moment + second.moment, first.tensor + second.tensor)


def rotated(inertia: Inertia, rotation: Any) -> Inertia:
    """In axes reached by `rotation`, which takes the present coordinates to the new ones."""
    if rotation is None:
        return inertia
    tensor = matmul(rotation, inertia.tensor, transpose(rotation))
    return Inertia(inertia.mass, matmul(rotation, inertia.moment), tensor)


def moved(inertia: Inertia, p: Any) -> Inertia:
    """About another origin: p (3,) leads from the new origin to the present one."""
    m, s = inertia.mass, inertia.moment
    tensor = inertia.tensor + steiner(m, p)
    for a in range(3):
        b, c = (a + 1) % 3, (a + 2) % 3
        tensor[a, a] = tensor[a, a] + 2 * (p[b] * s[b] + p[c] * s[c])
        off = p[a] * s[b] + p[b] * s[a]
        tensor[a, b] = tensor[a, b] - off
        tensor[b, a] = tensor[b, a] - off
    return Inertia(m, np.array([s[k] + m * p[k] for k in range(3)], dtype=object), tensor)
