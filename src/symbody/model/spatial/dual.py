"""Dual numbers x1 + eps x2 with eps^2 = 0, over any scalar, and arrays of them.

A function extends canonically: f(x1 + eps x2) = f(x1) + eps x2 f'(x1) (MEDUSA, eq. 1.15). The ring has divisors of zero
and no order. Dual vectors and matrices are object arrays of Dual: `arrays.dot`, `cross` and `matmul` hold as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Number
from typing import Any

import numpy as np

from symbody.basics.errors import ExpressionError, ShapeError
from symbody.model.spatial.scalar import sqrt
from symbody.symbolic.expr.arrays import Array, as_array, dot, is_zero, matmul, transpose, unskew, zeros
from symbody.symbolic.expr.node import Node


@dataclass(frozen=True, slots=True, eq=False)
class Dual:
    """re + eps du; both parts are scalars of one type, or numbers."""

    re: Any
    du: Any = 0

    def extend(self, f: Callable[[Any], Any], df: Callable[[Any], Any]) -> Dual:
        """Canonical extension of f with derivative df (MEDUSA, eq. 1.15)."""
        return Dual(f(self.re), 0 if is_zero(self.du) else _times(self.du, df(self.re)))

    def extend_two(self, f: Callable[..., Any], partials: Callable[..., Any], *args: Any) -> Dual:
        """Canonical extension of a function of several arguments; `partials` gives one derivative per argument."""
        at = [real(a) for a in args]
        slopes = partials(*at)
        du: Any = 0
        for a, slope in zip(args, slopes, strict=True):
            du = _plus(du, _times(dual_part(a), slope))
        return Dual(f(*at), du)

    def __add__(self, other: Any) -> Dual:
        if isinstance(other, np.ndarray):
            return NotImplemented
        return Dual(_plus(self.re, real(other)), _plus(self.du, dual_part(other)))

    __radd__ = __add__

    def __neg__(self) -> Dual:
        return Dual(-self.re, -self.du)

    def __sub__(self, other: Any) -> Dual:
        return NotImplemented if isinstance(other, np.ndarray) else self + (-other)

    def __rsub__(self, other: Any) -> Dual:
        return -self + other

    def __mul__(self, other: Any) -> Dual:
        if isinstance(other, np.ndarray):
            return NotImplemented
        a, b = real(other), dual_part(other)
        return Dual(_times(self.re, a), _plus(_times(self.re, b), _times(self.du, a)))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Dual:
        return NotImplemented if isinstance(other, np.ndarray) else self * _inverse(other)

    def __rtruediv__(self, other: Any) -> Dual:
        return _inverse(self) * other

    def __pow__(self, n: Any) -> Dual:
        if isinstance(n, (Dual, Node)):
            raise ExpressionError(f"a dual number was raised to {n}; expected a number.")
        return self.extend(lambda x: x**n, lambda x: n * x ** (n - 1))

    # Equality is by value: 0 in a product makes no operation. There is no order, hence no < (MEDUSA, ch. 1).

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (Dual, Number, Node)):
            return NotImplemented
        return _same(self.re, real(other)) and _same(self.du, dual_part(other))

    def __hash__(self) -> int:
        return hash((self.re, self.du))

    def __repr__(self) -> str:
        return f"({self.re} + eps {self.du})"


EPS = Dual(0, 1)


def real(x: Any) -> Any:
    """Re x of a scalar; a scalar that is not dual is its own real part."""
    return x.re if isinstance(x, Dual) else x


def dual_part(x: Any) -> Any:
    """Du x of a scalar, 0 if it is not dual."""
    return x.du if isinstance(x, Dual) else 0


def extend(f: Callable[[Any], Any], df: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The canonical extension of any real function, as a function of dual numbers."""
    return lambda x: x.extend(f, df) if isinstance(x, Dual) else f(x)


def _same(a: Any, b: Any) -> bool:
    return is_zero(a - b)


def _plus(a: Any, b: Any) -> Any:
    return b if is_zero(a) else a if is_zero(b) else a + b


def _times(a: Any, b: Any) -> Any:
    return 0 if is_zero(a) or is_zero(b) else a * b


def _inverse(x: Any) -> Any:
    """1/x1 - eps x2/x1^2 (MEDUSA, eq. 1.5)."""
    if not isinstance(x, Dual):
        return 1 / x
    if is_zero(x.re):
        raise ExpressionError(f"the dual number {x} has no inverse: its real part is zero.")
    return x.extend(lambda t: 1 / t, lambda t: -1 / (t * t))


# -- arrays


def join(re: Any, du: Any) -> Array:
    """The array of dual numbers with these parts, both of one shape."""
    re, du = as_array(re), as_array(du)
    if re.shape != du.shape:
        raise ShapeError(f"a dual array was given parts of shape {re.shape} and {du.shape}; expected equal shapes.")
    out = np.empty(re.shape, dtype=object)
    for i, (a, b) in enumerate(zip(re.flat, du.flat, strict=True)):
        out.flat[i] = Dual(a, b)
    return out


def parts(array: Any) -> tuple[Array, Array]:
    """(Re, Du) of an array."""
    array = np.asarray(array, dtype=object)
    re, du = zeros(*array.shape), zeros(*array.shape)
    for i, x in enumerate(array.flat):
        re.flat[i], du.flat[i] = real(x), dual_part(x)
    return as_array(re.tolist()), as_array(du.tolist())


def norm(u: Any) -> Any:
    """Pseudo-norm |Re u| + eps Re u . Du u / |Re u| of a dual vector; 0 for u = 0 (MEDUSA, eqs. 1.26-1.28)."""
    u = np.asarray(u, dtype=object)
    if all(is_zero(x) for x in u):
        return 0
    if all(is_zero(real(x)) for x in u):
        raise ExpressionError("a dual vector whose real part is zero has no norm: it is a couple.")
    return sqrt(dot(u, u))


def inverse(matrix: Any) -> Array:
    """Inverse of a square dual matrix of numbers: Re^-1 - eps Re^-1 Du Re^-1 (MEDUSA, eq. 1.41)."""
    re, du = parts(matrix)
    first = np.linalg.inv(np.asarray(re, dtype=float))
    return join(first, -(first @ np.asarray(du, dtype=float) @ first))


def is_orthogonal(matrix: Any, tolerance: float = 1e-12) -> bool:
    """Whether A A^T = 1 for a dual 3 x 3 matrix of numbers: a displacement, or one with a reflection."""
    re, du = (np.asarray(p, dtype=float) for p in parts(matrix))
    rest = re @ du.T + du @ re.T
    return bool(np.allclose(re @ re.T, np.eye(3), atol=tolerance) and np.allclose(rest, 0, atol=tolerance))


def translation_of(matrix: Any) -> Array:
    """u with A = (1 + eps skew(u)) Re A, of an orthogonal dual 3 x 3 matrix over any scalar (MEDUSA, theorem 1.10)."""
    re, du = parts(matrix)
    return unskew(matmul(du, transpose(re)))
