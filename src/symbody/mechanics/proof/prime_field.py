"""The field of the integers modulo the prime 2^61 - 1: numbers, roots, points of the circle, random elements.

The prime is 3 modulo 4, so -1 has no root in the field: 1 + t^2 is never zero, and of an element and its negative
exactly one has a root. The points (c, s) of the unit circle c^2 + s^2 = 1 form a cyclic group of order p + 1 = 2^61
under the addition of angles, in which every odd number can be divided by.
"""

from __future__ import annotations

from fractions import Fraction
from hashlib import blake2b
from typing import Any

from symbody.symbolic.expr.coefficients import as_float, as_written, of_floats, over
from symbody.symbolic.expr.node import Node, Number

BITS = 61
P = (1 << BITS) - 1
ORDER = P + 1  # of the circle
DIGITS = 14  # a float with more is taken for the rounded result of folding, with fewer for a number that was written

Circle = tuple[int, int]  # cosine and sine
RIGHT: Circle = (1, 0)  # the angle zero


class NoValue(ArithmeticError):
    """A divisor is zero at a point, or an element has no root: another point may do."""


def decimal(value: Number) -> Number:
    """A number of a formula: of a float, the one that its text says."""
    return as_written(value) if value.__class__ is float else value


def digits(value: Number) -> int:
    """How many digits the text of a float has; 0 of an exact number."""
    return sum(map(str.isdigit, repr(value).partition("e")[0])) if value.__class__ is float else 0


def coefficient(node: Node) -> Number:
    """The coefficient of a node: the quotient of two floats by what their texts say, or as a float if they are long.

    Outside of exact Graphs, 1/9.81 is kept as the exact reciprocal of a double.
    """
    value = node.data
    if value.__class__ is not Fraction or node.graph.exact or not of_floats(value):
        return value
    parts = over(abs(value))
    if parts is None:
        return value
    if max(map(digits, parts)) > DIGITS:
        return as_float(value)
    n, d = map(decimal, parts)
    return Fraction(n) / d * (-1 if value < 0 else 1)


def residue(value: Number) -> int:
    """A number of the rationals in the field."""
    if value.__class__ is int:
        return value % P
    exact = Fraction(decimal(value))
    below = exact.denominator % P
    if below == 0:
        raise NoValue(f"{value} has a denominator that the prime divides")
    return exact.numerator * pow(below, -1, P) % P


def inverse(value: int) -> int:
    if value % P == 0:
        raise NoValue("a divisor is zero")
    return pow(value, -1, P)


def is_square(value: int) -> bool:
    """Whether an element has a root (zero has)."""
    return value % P == 0 or pow(value, (P - 1) // 2, P) == 1


def root(value: int) -> int:
    """The root that has a root itself."""
    found = pow(value, (P + 1) // 4, P)
    if found * found % P != value % P:
        raise NoValue("an element has no root")
    return found


def draw(*key: Any) -> int:
    """A random element that depends on the key alone: an unknown function of what the key holds."""
    return int.from_bytes(blake2b(repr(key).encode(), digest_size=16).digest(), "big") % P


def turned(a: Circle, b: Circle) -> Circle:
    """The point of the sum of two angles."""
    return (a[0] * b[0] - a[1] * b[1]) % P, (a[0] * b[1] + a[1] * b[0]) % P


def multiple(a: Circle, k: int) -> Circle:
    """The point of k times an angle."""
    k %= ORDER
    if k > ORDER // 2:
        a, k = (a[0], -a[1] % P), ORDER - k
    out = RIGHT
    while k:
        if k & 1:
            out = turned(out, a)
        a = turned(a, a)
        k >>= 1
    return out


def circle(t: int) -> Circle:
    """The point of the circle over the parameter t, the tangent of half the angle."""
    over = pow(1 + t * t, -1, P)
    return (1 - t * t) * over % P, 2 * t * over % P


def unit_quaternion(u: tuple[int, int, int]) -> tuple[int, int, int, int]:
    """The quaternion (w, x, y, z) of length 1 over three parameters (stereographic projection)."""
    size = sum(x * x for x in u) % P
    over = inverse(1 + size)
    x, y, z = (2 * k * over % P for k in u)
    return (1 - size) * over % P, x, y, z


def rotation(quaternion: tuple[int, int, int, int]) -> tuple[int, ...]:
    """The nine entries of the rotation matrix of a unit quaternion, row by row."""
    w, x, y, z = quaternion
    return tuple(
        entry % P
        for entry in (
            1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w),
            2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w),
            2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y),
        )
    )  # fmt: skip
