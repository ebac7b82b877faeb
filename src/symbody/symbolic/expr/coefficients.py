"""Numbers as constants and coefficients of nodes: coercion, folding, scaling, negation."""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from functools import lru_cache
from numbers import Integral, Rational, Real
from typing import Any, NoReturn, cast

from symbody.basics.errors import ExpressionError
from symbody.symbolic.expr.graph import Graph
from symbody.symbolic.expr.node import CONST, SCALE, Node, Number

LONGEST_EXACT = 4096  # bits of an exact number; without a bound, a product of products doubles them at every step
SMALL = 2**62
SMALLEST = sys.float_info.min  # below, doubles lose digits
FURTHEST = 2200  # an exponent of two that brings every double to zero, or beyond all doubles
STEP_OF_TWO = 1000  # the exponent of a factor that is a power of two, at most
FEW_BITS = 32  # of numbers that are written as fractions; those of floats have more
TWOS_OF_FLOATS = 24  # see `of_floats`
MANTISSA = sys.float_info.mant_dig
NEAR_ONE = 64  # exponents of two
EXPONENTS = sys.float_info.min_exp, sys.float_info.max_exp


def coerce(graph: Graph, value: Any) -> Node | None:
    """A number as a constant of `graph`, a Node as itself; None for what is neither (arrays, other types)."""
    kind = value.__class__
    if kind is float:
        return graph.number(as_written(value) if graph.exact else value)
    if kind is int or kind is Fraction or kind is bool:
        return graph.number(value)
    if kind is Node:
        return cast(Node, value)
    if isinstance(value, tuple):  # a vector multiplies itself
        return None
    if isinstance(value, Integral):
        return graph.number(int(value))
    if isinstance(value, Rational):
        return graph.number(Fraction(int(value.numerator), int(value.denominator)))
    if isinstance(value, Real) and not hasattr(value, "shape"):
        return coerce(graph, float(value))
    if getattr(value, "shape", None) == () and getattr(value, "dtype", None) is not None:  # NumPy scalar
        item = value.item()
        return coerce(graph, float(item) if item.__class__ is value.__class__ else item)
    return None


def mixed_graphs(a: Node, b: Node) -> NoReturn:
    raise ExpressionError(
        f"{a} belongs to {a.graph} and {b} to {b.graph}; an expression lives in one Graph. "
        "Make both symbols in the same `with sb.Graph():`, or bring one System into the other with system.apply(...)."
    )


def as_written(value: float) -> Number:
    """The rational number that the shortest text of a float says: 0.1 is 1/10, not the double next to it."""
    return Fraction(repr(value)) if math.isfinite(value) else value


def as_float(value: Number) -> float:
    """A number as a double; one beyond all doubles is infinite."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def times(a: Number, b: Number) -> Number:
    """The coefficient a * b: exact where both are, where no double holds it well, and of a number divided by a number.

    The last keeps 2*(x/49.0) a division where it must be one (`quotients`).
    """
    if a.__class__ is not float and b.__class__ is not float:
        return plain(a * b)
    product = as_float(a) * as_float(b)
    if not (a and b and _finite(a) and _finite(b)):
        return product
    doubles = is_double(a) and is_double(b)
    if doubles and SMALLEST <= abs(product) < math.inf:
        return product
    exact = Fraction(a) * Fraction(b)
    if not well_held(exact) or (not doubles and is_quotient(exact)):
        return plain(exact)
    return as_float(exact)


def plus(a: Number, b: Number) -> Number:
    """a + b; exact where both are, and where doubles cannot hold it."""
    if a.__class__ is float or b.__class__ is float:
        total = as_float(a) + as_float(b)
        return plain(Fraction(a) + Fraction(b)) if math.isinf(total) and _finite(a) and _finite(b) else total
    return plain(a + b)


def reciprocal_of(value: Number) -> Number:
    """The coefficient 1 / value, exact where no double is; value is not zero."""
    if value.__class__ is not float:
        return plain(Fraction(1) / value)
    if not math.isfinite(value):
        return 1 / value
    inverse = Fraction(1) / Fraction(value)
    return as_float(inverse) if is_double(inverse) else inverse


def _finite(value: Number) -> bool:
    return value.__class__ is not float or math.isfinite(value)


def well_held(value: Number) -> bool:
    """Whether the double next to a number has all its digits; 0, infinities and NaN are what they are."""
    return value.__class__ is float or not value or SMALLEST <= abs(as_float(value)) < math.inf


def is_double(value: Number) -> bool:
    """Whether a double is exactly this number, with a denominator that is a power of two."""
    return value.__class__ is float or (well_held(value) and as_float(value) == value)


def factors(value: Number) -> tuple[float, ...]:
    """Doubles by which x is multiplied in turn to give value * x: one, but for values out of their range."""
    if well_held(value):
        return (as_float(value),)
    exact = Fraction(value)
    shift = exact.numerator.bit_length() - exact.denominator.bit_length()
    # the size grows without rounding first, and shrinks last; no part of the way is further than its end
    shift += -1 if shift > 0 else 1
    last = float(exact / Fraction(2) ** shift)
    twos = []
    for step in (min(STEP_OF_TWO, abs(shift) - k) for k in range(0, abs(shift), STEP_OF_TWO)):
        twos.append(math.ldexp(1.0, step if shift > 0 else -step))
    return (*twos, last) if shift > 0 else (last, *twos)


def halves(value: Number) -> tuple[float, ...]:
    """Doubles that are added in turn for a number: one, but for the sum of two numbers that no double holds."""
    size = as_float(value)
    if value.__class__ is float or not math.isinf(size):
        return (size,)
    half = as_float(Fraction(value) / 2)
    return half, half


def is_quotient(value: Fraction) -> bool:
    """Whether a number is the quotient of two doubles, and no double itself."""
    if is_double(value):
        return False
    parts = (value.numerator, value.denominator)
    return all((part // (part & -part)).bit_length() <= MANTISSA for part in parts)


@lru_cache(maxsize=1000)
def over(value: Fraction) -> tuple[Number, Number] | None:
    """(n, d) with value = n / d > 0, both doubles, n = 1 where it can be; None for a double, or if there are none.

    All such pairs differ by powers of two; it is the one with the fewest digits: 10.0/0.3. Whole numbers are ints.
    """
    if not is_quotient(value):
        return None
    n, d = value.numerator, value.denominator
    ones, halves = (n & -n).bit_length() - 1, (d & -d).bit_length() - 1
    if n == 1 << ones and is_double(1 / value):
        whole = 1 / value
        return 1, whole.numerator if whole.denominator == 1 else as_float(whole)
    if n.bit_length() + d.bit_length() <= MANTISSA:
        return n, d
    n, d, twos = n >> ones, d >> halves, ones - halves
    # of n 2^(k + twos) and d 2^k; numbers are written near 1
    first = max(EXPONENTS[0] - min(n.bit_length() + twos, d.bit_length()), -d.bit_length() - NEAR_ONE)
    last = min(EXPONENTS[1] - max(n.bit_length() + twos, d.bit_length()), -d.bit_length() + NEAR_ONE)
    pairs = ((math.ldexp(n, k + twos), math.ldexp(d, k)) for k in range(first, last + 1))
    best = min(pairs, key=lambda pair: (_digits(pair), len(repr(pair)), pair), default=None)
    natural: tuple[Number, Number] = (value.numerator, value.denominator)
    if exact_bits(value) <= MANTISSA and (best is None or _digits(natural) <= _digits(best)):
        return natural
    return best


def _digits(pair: tuple[Number, Number]) -> int:
    """Significant digits of two numbers together."""
    return sum(len(repr(x).partition("e")[0].replace(".", "").strip("0")) for x in pair)


def split(node: Node) -> tuple[Number, Node]:
    """(coefficient, base) of a node that is not a constant."""
    if node.op is SCALE:
        return node.data, node.args[0]
    return 1, node


def scale(coefficient: Number, base: Node) -> Node:
    """coefficient * base, for any node."""
    if base.op is CONST:
        return base.graph.number(times(coefficient, base.data))
    if base.op is SCALE:
        coefficient, base = times(coefficient, base.data), base.args[0]
    if coefficient == 1:
        return base
    if coefficient == -1:
        return negate(base)
    if coefficient == 0:
        return base.graph.zero
    graph = base.graph
    if coefficient.__class__ is not float:
        coefficient = plain(coefficient)
        if coefficient.__class__ is Fraction and exact_bits(coefficient) > MANTISSA and not graph.exact:
            # divided by several floats in turn no single division gives it: x/0.3/0.7
            if well_held(coefficient) and not is_quotient(coefficient) and of_floats(coefficient):
                coefficient = as_float(coefficient)
    key = (coefficient.__class__, coefficient, base)
    node = graph.scales.get(key)
    if node is None:
        node = graph.scales[key] = Node(graph, SCALE, (base,), coefficient, base.flags)
    return node


def of_floats(value: Fraction) -> bool:
    """Whether an exact number was made by dividing by floats: it is written with them, or has many twos.

    Decimals have as many fives as twos.
    """
    if exact_bits(value) <= FEW_BITS:
        return False
    parts = over(abs(value))
    if parts is not None:
        return any(part.__class__ is float for part in parts)
    for part in (value.numerator, value.denominator):
        twos = (part & -part).bit_length() - 1
        if twos > TWOS_OF_FLOATS and part % 5 ** (twos // 2):
            return True
    return False


def negate(node: Node) -> Node:
    if node.minus is not None:
        return node.minus
    if node.op is CONST:
        return node.graph.number(-node.data)
    if node.op is SCALE:
        return scale(-node.data, node.args[0])
    minus = Node(node.graph, SCALE, (node,), -1, node.flags)
    node.minus = minus
    minus.minus = node
    return minus


def plain(value: Number) -> Number:
    """The result of folding as it is kept: a whole Fraction as int, an exact number of too many digits as a float."""
    if value.__class__ is Fraction and value.denominator == 1:
        value = value.numerator
    if value.__class__ is int and -SMALL < value < SMALL:  # nearly all of them: no bits are counted
        return value
    if value.__class__ is not float and exact_bits(value) > LONGEST_EXACT:
        return as_float(value) if well_held(value) else _shortened(Fraction(value))
    return value


def _shortened(value: Fraction) -> Number:
    """A number that no double holds well, with the digits of one."""
    shift = value.numerator.bit_length() - value.denominator.bit_length()
    size = Fraction(float(value / Fraction(2) ** shift))
    return size * Fraction(2) ** max(min(shift, FURTHEST), -FURTHEST)


def exact_bits(value: Number) -> int:
    """Size of an exact number, at least 1."""
    assert not isinstance(value, float)
    return max(value.numerator.bit_length(), value.denominator.bit_length())
