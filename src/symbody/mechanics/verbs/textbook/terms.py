"""Expressions as sums of terms: number * monomial * cos or sin of a sum of angles.

Products of waves become waves of sums and differences, so that equal functions of the angles have equal terms:
cos(q1) cos(q2) - sin(q1) sin(q2) is the one term cos(q1 + q2). Whatever is no polynomial of symbols and waves (roots,
tables, functions of the user) is an atom, with its arguments brought to the same form.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from symbody.basics.errors import ModelError
from symbody.symbolic.expr.arithmetic import collect, multiply_all, power
from symbody.symbolic.expr.call import call
from symbody.symbolic.expr.graph import Graph
from symbody.symbolic.expr.node import ADD, ALIAS, AT, CONST, MUL, POW, SCALE, SOLVE, SYMBOL, Node, Number
from symbody.symbolic.expr.walk import rebuild, topological

MOST_TERMS = 1500  # of one expression while it is expanded
HIGHEST_POWER = 6  # of a sum that is multiplied out
ROUNDING = 1e-13  # of the magnitudes that were added: a smaller number is nothing but rounding
NICE = 16  # largest denominator of a float that is taken as the fraction it is

Angle = tuple[tuple[Node, Number], ...]  # symbols with their factors, by id; the first factor is positive
Monomial = tuple[tuple[Node, Number], ...]  # atoms with their exponents, by id


class TooLong(ModelError):
    """More terms than a page could hold."""


@dataclass(frozen=True, slots=True)
class Wave:
    """cos or sin of a sum of angles, rad."""

    kind: str
    angle: Angle


Key = tuple[Monomial, Wave | None]
Value = tuple[Number, float]  # a number, and the sum of the magnitudes that it was added from
Terms = dict[Key, Value]


def number(value: Number) -> Number:
    """An exact number where a float is one at sight."""
    if isinstance(value, float) and math.isfinite(value):
        exact = Fraction(value)
        if exact.denominator <= NICE:
            value = exact
    if isinstance(value, Fraction) and value.denominator == 1:
        return value.numerator
    return value


def constant(value: Number) -> Terms:
    value = number(value)
    return {((), None): (value, abs(float(value)))} if value else {}


def is_small(value: Value) -> bool:
    """Zero, or what is left of a sum that cancels."""
    return value[0] == 0 or (isinstance(value[0], float) and abs(value[0]) <= ROUNDING * value[1])


def add_all(parts: Iterable[tuple[Number, Terms]]) -> Terms:
    """Sum of terms times numbers."""
    out: Terms = {}
    for factor, terms in parts:
        for key, (value, size) in terms.items():
            old, before = out.get(key, (0, 0.0))
            out[key] = (number(old + factor * value), before + abs(float(factor)) * size)
    return _bounded({k: v for k, v in out.items() if not is_small(v)})


def multiply(a: Terms, b: Terms) -> Terms:
    """Products term by term; two waves give two."""
    out: Terms = {}
    for (m1, w1), (x, sx) in a.items():
        for (m2, w2), (y, sy) in b.items():
            monomial = _times(m1, m2)
            for factor, wave in _wave_product(w1, w2):
                old, before = out.get((monomial, wave), (0, 0.0))
                size = abs(float(factor)) * sx * sy
                out[monomial, wave] = (number(old + factor * x * y), before + size)
        _bounded(out)
    return {k: v for k, v in out.items() if not is_small(v)}


def _bounded(terms: Terms) -> Terms:
    if len(terms) > MOST_TERMS:
        raise TooLong(f"more than {MOST_TERMS} terms")
    return terms


def _times(a: Monomial, b: Monomial) -> Monomial:
    if not a or not b:
        return a or b
    powers = dict(a)
    for atom, exponent in b:
        powers[atom] = number(powers.get(atom, 0) + exponent)
    return tuple(sorted(((x, e) for x, e in powers.items() if e), key=lambda pair: pair[0].id))


def _wave_product(a: Wave | None, b: Wave | None) -> list[tuple[Number, Wave | None]]:
    if a is None or b is None:
        return [(1, a or b)]
    half = Fraction(1, 2)
    less, more = _angle_sum(a.angle, b.angle, -1), _angle_sum(a.angle, b.angle, 1)
    if a.kind == b.kind:
        sign = 1 if a.kind == "cos" else -1
        pairs = [(half, "cos", less), (sign * half, "cos", more)]
    else:
        sign = 1 if a.kind == "sin" else -1  # sin a cos b: sin(a + b) + sin(a - b)
        pairs = [(half, "sin", more), (sign * half, "sin", less)]
    out: list[tuple[Number, Wave | None]] = []
    for factor, kind, angle in pairs:
        turned, wave = wave_of(kind, angle)
        if turned:
            out.append((factor * turned, wave))
    return out


def _angle_sum(a: Angle, b: Angle, sign: int) -> Angle:
    out = dict(a)
    for symbol, factor in b:
        out[symbol] = number(out.get(symbol, 0) + sign * factor)
    return tuple(sorted(((s, f) for s, f in out.items() if f), key=lambda pair: pair[0].id))


def wave_of(kind: str, angle: Angle) -> tuple[int, Wave | None]:
    """(sign, wave) of cos or sin of any sum: the first factor becomes positive; (0, None) is nothing, sin(0)."""
    if not angle:
        return (1, None) if kind == "cos" else (0, None)
    if angle[0][1] > 0:
        return 1, Wave(kind, angle)
    return (1 if kind == "cos" else -1), Wave(kind, tuple((s, -f) for s, f in angle))


# -- from and to nodes


def terms_of(roots: Sequence[Node]) -> list[Terms]:
    """The terms of each node; named stages are opened. TooLong where that takes too many terms."""
    made: dict[Node, Terms] = {}
    for node in topological(list(roots)):
        if node.op is SOLVE:
            continue
        made[node] = _one(node, made)
    return [made[r] for r in roots]


def least_length(found: Iterable[Terms]) -> int:
    """Characters that terms take at least: an atom is written out in each entry it is in, with all that it repeats."""
    atoms = [{x for monomial, _ in terms for x, _ in monomial if x.op is not SYMBOL} for terms in found]
    sizes: dict[Node, int] = {}
    for node in topological(list(dict.fromkeys(x for own in atoms for x in own))):
        sizes[node] = max(1, sum(sizes[a] for a in node.args))
    return sum(sizes[x] for own in atoms for x in own)


def _one(node: Node, made: dict[Node, Terms]) -> Terms:
    op, args = node.op, node.args
    if op is CONST:
        return constant(node.data)
    if op is SYMBOL:
        return {(((node, 1),), None): (1, 1.0)}
    if op is ADD:
        return add_all((1, made[a]) for a in args)
    if op is SCALE:
        return add_all([(number(node.data), made[args[0]])])
    if op is MUL:
        out = made[args[0]]
        for a in args[1:]:
            out = multiply(out, made[a])
        return out
    if op is ALIAS:
        return made[args[0]]
    if op is AT and not args[0].data.unknowns:
        return made[args[1]]  # behind a check
    if op is POW:
        return _power(node, made[args[0]])
    if op in ("cos", "sin"):
        return _wave(node, made[args[0]])
    if op is AT:
        raise ModelError(f"the solution of {args[0].data.name!r} has no closed form.")
    inner = [to_node(made[a], node.graph) for a in args if a in made]
    return _atom(rebuild(node, tuple(inner)) if len(inner) == len(args) else node)


def _atom(node: Node) -> Terms:
    return {(((node, 1),), None): (1, 1.0)}


def _power(node: Node, base: Terms) -> Terms:
    exponent = node.data
    if isinstance(exponent, int) and len(base) == 1:
        [((monomial, wave), (value, _))] = base.items()
        if wave is None and (exponent > 0 or value):
            scaled = number((Fraction(value) if isinstance(value, int) else value) ** exponent)
            powers = tuple((x, number(e * exponent)) for x, e in monomial)
            return {(powers, None): (scaled, abs(float(scaled)))}
    if isinstance(exponent, int) and 1 < exponent <= HIGHEST_POWER:
        out = base
        for _ in range(exponent - 1):
            out = multiply(out, base)
        return out
    inner = to_node(base, node.graph)
    if not base:
        return _atom(node)
    return {(((inner, exponent),), None): (1, 1.0)} if inner.op is not CONST else _atom(power(inner, exponent))


def _wave(node: Node, inside: Terms) -> Terms:
    """cos or sin of a linear function with a coordinate in it; what else is inside makes it an atom."""
    angle: dict[Node, Number] = {}
    phase: Number = 0
    for (monomial, wave), (value, _) in inside.items():
        if wave is not None or len(monomial) > 1 or (monomial and monomial[0][1] != 1):
            return _atom(call(node.op, to_node(inside, node.graph)))
        if monomial:
            angle[monomial[0][0]] = value
        else:
            phase = value
    if not any(s.op is SYMBOL and s.data.role == "coordinate" for s in angle) or any(s.op is not SYMBOL for s in angle):
        return _atom(call(node.op, to_node(inside, node.graph))) if angle else constant(_of_number(node.op, phase))
    ordered: Angle = tuple(sorted(angle.items(), key=lambda pair: pair[0].id))
    out: Terms = {}
    # cos(x + p) = cos p cos x - sin p sin x, sin(x + p) = cos p sin x + sin p cos x
    other = {"cos": ("sin", -1), "sin": ("cos", 1)}[node.op]
    for kind, factor in ((node.op, _of_number("cos", phase)), (other[0], other[1] * _of_number("sin", phase))):
        sign, wave = wave_of(kind, ordered)
        if factor:
            out[(), wave] = (number(sign * factor), abs(float(factor)))
    return out


def _of_number(kind: str, x: Number) -> Number:
    if x == 0:
        return 1 if kind == "cos" else 0
    return math.cos(x) if kind == "cos" else math.sin(x)


def to_node(terms: Terms, graph: Graph) -> Node:
    """The sum as a node."""
    parts: list[tuple[Number, Node]] = []
    for (monomial, wave), (value, _) in terms.items():
        factors = [power(x, e) if e != 1 else x for x, e in monomial]
        if wave is not None:
            factors.append(wave_node(wave, graph))
        parts.append((value, multiply_all(factors, graph) if factors else graph.one))
    return collect(parts, graph) if parts else graph.zero


def wave_node(wave: Wave, graph: Graph) -> Node:
    return call(wave.kind, collect([(f, s) for s, f in wave.angle], graph))
