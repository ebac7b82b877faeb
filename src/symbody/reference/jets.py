"""Jets: a value with its first and second derivative along one curve, by Taylor arithmetic on NumPy arrays.

Velocities and accelerations of the reference come from jets of positions: no formula of relative motion is needed,
hence none can be wrong in the same way as in the programs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray


class Jet:
    """x(s), x'(s), x''(s) at one s; arrays of one shape but for leading dimensions, which broadcast.

    x2 is None where only the first derivative is wanted.
    """

    __slots__ = ("x", "x1", "x2")
    x: Array
    x1: Array
    x2: Any  # an Array, or None
    __array_ufunc__ = None  # array * jet is jet * array

    def __init__(self, x: Any, x1: Any, x2: Any = None) -> None:
        self.x, self.x1, self.x2 = np.asarray(x), np.asarray(x1), None if x2 is None else np.asarray(x2)

    def map(self, f: Callable[[Array], Array]) -> Jet:
        """A linear map of all three."""
        return Jet(f(self.x), f(self.x1), None if self.x2 is None else f(self.x2))

    def __getitem__(self, key: Any) -> Jet:
        return self.map(lambda a: a[key])

    def __neg__(self) -> Jet:
        return self.map(np.negative)

    def __add__(self, other: Any) -> Jet:
        o = constant(other, self)
        return Jet(self.x + o.x, self.x1 + o.x1, _both(self, o, lambda: self.x2 + o.x2))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Jet:
        return self + (-constant(other, self))

    def __rsub__(self, other: Any) -> Jet:
        return constant(other, self) - self

    def __mul__(self, other: Any) -> Jet:
        return product(np.multiply, self, constant(other, self))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Jet:
        return self * reciprocal(constant(other, self))

    def __rtruediv__(self, other: Any) -> Jet:
        return constant(other, self) * reciprocal(self)


def _both(a: Jet, b: Jet, make: Callable[[], Array]) -> Array | None:
    return None if a.x2 is None or b.x2 is None else make()


def constant(value: Any, like: Jet) -> Jet:
    """A Jet that does not change, of the order of another one."""
    if isinstance(value, Jet):
        return value
    x = np.asarray(value)
    zero = np.zeros_like(x, dtype=np.result_type(x, float))
    return Jet(x, zero, None if like.x2 is None else zero)


def product(times: Callable[[Array, Array], Array], a: Jet, b: Jet) -> Jet:
    """Any bilinear product, by Leibniz' rule."""
    x1 = times(a.x1, b.x) + times(a.x, b.x1)
    second = _both(a, b, lambda: times(a.x2, b.x) + 2 * times(a.x1, b.x1) + times(a.x, b.x2))
    return Jet(times(a.x, b.x), x1, second)


def compose(a: Jet, f: Array, slope: Array, bend: Array) -> Jet:
    """f(a) from the values of f and its first two derivatives at a.x."""
    second = None if a.x2 is None else bend * a.x1 * a.x1 + slope * a.x2
    return Jet(f, slope * a.x1, second)


def reciprocal(a: Jet) -> Jet:
    y = 1 / a.x
    return compose(a, y, -y * y, 2 * y * y * y)


def sin(a: Jet) -> Jet:
    s, c = np.sin(a.x), np.cos(a.x)
    return compose(a, s, c, -s)


def cos(a: Jet) -> Jet:
    s, c = np.sin(a.x), np.cos(a.x)
    return compose(a, c, -s, -c)


def sqrt(a: Jet) -> Jet:
    y = np.sqrt(a.x)
    return compose(a, y, 0.5 / y, -0.25 / (y * a.x))


def where(condition: Array, a: Any, b: Any, like: Jet) -> Jet:
    """a where the condition holds, else b, with all derivatives."""
    a, b = constant(a, like), constant(b, like)
    second = _both(a, b, lambda: np.where(condition, a.x2, b.x2))
    return Jet(np.where(condition, a.x, b.x), np.where(condition, a.x1, b.x1), second)


def stack(parts: list[Jet]) -> Jet:
    """Scalars (...,) to a vector (..., k)."""
    shape = np.broadcast_shapes(*(np.shape(p.x1) for p in parts))
    flat = np.broadcast_shapes(*(np.shape(p.x) for p in parts))

    def gather(pick: Callable[[Jet], Any], shape: tuple[int, ...]) -> Array:
        return np.stack([np.broadcast_to(pick(p), shape) for p in parts], axis=-1)

    second = None if any(p.x2 is None for p in parts) else gather(lambda p: p.x2, shape)
    return Jet(gather(lambda p: p.x, flat), gather(lambda p: p.x1, shape), second)


# -- vectors (..., 3) and matrices (..., 3, 3)


def apply(matrix: Jet, vector: Jet) -> Jet:
    """Matrix times vector."""
    return product(lambda m, v: np.einsum("...ij,...j->...i", m, v), matrix, vector)


def matmul(a: Jet, b: Jet) -> Jet:
    return product(np.matmul, a, b)


def transpose(a: Jet) -> Jet:
    return a.map(lambda m: np.swapaxes(m, -1, -2))


def dot(a: Jet, b: Jet) -> Jet:
    return product(lambda u, v: np.sum(u * v, axis=-1), a, b)


def cross(a: Jet, b: Jet) -> Jet:
    return product(np.cross, a, b)


def scaled(vector: Jet, factor: Jet) -> Jet:
    """Vector (..., 3) times scalar (...,)."""
    return product(lambda v, f: v * f[..., None], vector, factor)


def turn(axis: Array, angle: Jet) -> Jet:
    """(..., 3, 3) rotation about a unit vector (3,): 1 + sin K + (1 - cos) K^2 (Rodrigues)."""
    x, y, z = axis
    k = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    s, c = sin(angle), cos(angle)

    def spread(j: Jet) -> Jet:
        return j.map(lambda a: a[..., None, None])

    return spread(s) * k + spread(1 - c) * (k @ k) + np.eye(3)


def quaternion_turn(q: Jet) -> Jet:
    """(..., 3, 3) rotation of a unit quaternion (..., 4): w, x, y, z; from the two halves of q v q*."""
    w, v = q[..., 0], q[..., 1:]

    def times_identity(j: Jet) -> Jet:
        return j.map(lambda a: a[..., None, None] * np.eye(3))

    outer = product(lambda a, b: a[..., :, None] * b[..., None, :], v, v)
    spin = product(lambda a, b: a[..., None, None] * cross_matrix(b), w, v)
    return times_identity(w * w - dot(v, v)) + 2 * outer + 2 * spin


def cross_matrix(v: Array) -> Array:
    """(..., 3, 3) with cross_matrix(v) @ u = v x u."""
    zero = np.zeros_like(v[..., 0])
    x, y, z = v[..., 0], v[..., 1], v[..., 2]
    rows = [[zero, -z, y], [z, zero, -x], [-y, x, zero]]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def axial(m: Array) -> Array:
    """(..., 3) vector of the antisymmetric part of a matrix."""
    return (
        np.stack([m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1]], axis=-1) / 2
    )
