"""Random expressions with choices, as trees, and an oracle of their derivatives that computes only the branch taken.

The oracle carries values, first and second derivatives by three variables, with the sums of the sizes of their terms,
and knows what is constant near a point: the derivative of a function of that is 0, whatever its formula says.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import symbody as sb

Tree = tuple[Any, ...]  # (operation, operands): "x" index, "number" value, or a name of the tables below
N = 3

Curve = Callable[[float], float]
# name -> value, first and second derivative where it is defined
CURVES: dict[str, tuple[Curve, Curve, Curve]] = {
    "sin": (math.sin, math.cos, lambda u: -math.sin(u)),
    "exp": (math.exp, math.exp, math.exp),
    "atan": (math.atan, lambda u: 1 / (1 + u * u), lambda u: -2 * u / (1 + u * u) ** 2),
    "abs": (abs, lambda u: math.copysign(1.0, u), lambda u: 0.0),
    "square": (lambda u: u * u, lambda u: 2 * u, lambda u: 2.0),
    "sqrt": (math.sqrt, lambda u: 0.5 * u**-0.5, lambda u: -0.25 * u**-1.5),
    "hertz": (lambda u: u**1.5, lambda u: 1.5 * u**0.5, lambda u: 0.75 * u**-0.5),
    "cube_root": (lambda u: u ** (1 / 3), lambda u: u ** (-2 / 3) / 3, lambda u: -2 / 9 * u ** (-5 / 3)),
    "log": (math.log, lambda u: 1 / u, lambda u: -1 / u**2),
    "inverse": (lambda u: 1 / u, lambda u: -1 / u**2, lambda u: 2 / u**3),
    "asin": (math.asin, lambda u: (1 - u * u) ** -0.5, lambda u: u * (1 - u * u) ** -1.5),
    "acosh": (math.acosh, lambda u: (u * u - 1) ** -0.5, lambda u: -u * (u * u - 1) ** -1.5),
}
NODES: dict[str, Callable[[Any], Any]] = {
    "sin": sb.sin, "exp": sb.exp, "atan": sb.atan, "abs": abs, "square": lambda u: u**2, "sqrt": sb.sqrt,
    "hertz": lambda u: u**1.5, "cube_root": lambda u: u ** (1 / 3), "log": sb.log, "inverse": lambda u: 1 / u,
    "asin": sb.asin, "acosh": sb.acosh,
}  # fmt: skip
SMOOTH = ("sin", "exp", "atan", "abs", "square")
# where a curve is defined, and numbers that keep its argument at the edge of that
GUARDED = {
    "sqrt": (0.0, math.inf), "hertz": (0.0, math.inf), "cube_root": (0.0, math.inf), "log": (0.0, math.inf),
    "inverse": (0.0, math.inf), "asin": (-1.0, 1.0), "acosh": (1.0, math.inf),
}  # fmt: skip


@dataclass
class Jet:
    """value, first (n,) and second (n, n) derivatives, and the sums of the sizes of their terms."""

    v: float
    g: np.ndarray
    h: np.ndarray
    gs: np.ndarray
    hs: np.ndarray
    fixed: bool = False  # constant near the point


def number(value: float) -> Jet:
    g, h = np.zeros(N), np.zeros((N, N))
    return Jet(value, g, h, g, h, True)


def through(curve: tuple[Curve, Curve, Curve], u: Jet) -> Jet:
    if u.fixed:
        return number(curve[0](u.v))
    f, d, dd = (c(u.v) for c in curve)
    square, sizes = np.outer(u.g, u.g), np.outer(u.gs, u.gs)
    return Jet(f, d * u.g, dd * square + d * u.h, abs(d) * u.gs, abs(dd) * sizes + abs(d) * u.hs)


def plus(a: Jet, b: Jet) -> Jet:
    return Jet(a.v + b.v, a.g + b.g, a.h + b.h, a.gs + b.gs, a.hs + b.hs, a.fixed and b.fixed)


def product(a: Jet, b: Jet) -> Jet:
    if (a.fixed and a.v == 0) or (b.fixed and b.v == 0) or (a.fixed and b.fixed):
        return number(a.v * b.v)
    cross, sizes = np.outer(a.g, b.g), np.outer(a.gs, b.gs)
    p, q = abs(a.v), abs(b.v)
    return Jet(
        a.v * b.v, a.v * b.g + b.v * a.g, a.v * b.h + b.v * a.h + cross + cross.T,
        p * b.gs + q * a.gs, p * b.hs + q * a.hs + sizes + sizes.T,
    )  # fmt: skip


def jet(tree: Tree, point: np.ndarray) -> Jet:
    op, *args = tree
    if op == "number":
        return number(args[0])
    if op == "x":
        found = number(point[args[0]])
        g = np.eye(N)[args[0]]
        return Jet(found.v, g, found.h, g, found.hs)
    if op == "select":
        return jet(args[1] if holds(args[0], point) else args[2], point)
    found = [jet(a, point) for a in args]
    if op in ("min", "max"):
        first, second = found
        return first if less(first, second) == (op == "min") else second
    if op == "+":
        return plus(*found)
    if op == "*":
        return product(*found)
    return through(CURVES[op], found[0])


def holds(condition: Tree, point: np.ndarray) -> bool:
    op, *args = condition
    if op == "not":
        return not holds(args[0], point)
    if op == "and":
        return all(holds(a, point) for a in args)
    return less(*(jet(x, point) for x in args))


def less(a: Jet, b: Jet) -> bool:
    """a < b; ArithmeticError where roundings decide."""
    gap = abs(a.v - b.v)
    if 0 < gap < 1e-9 * (1 + abs(a.v)) or (gap == 0 and not (a.fixed and b.fixed)):
        raise ArithmeticError("a tie")
    return a.v < b.v


def node_of(tree: Tree, xs: list[Any], made: dict[int, Any]) -> Any:
    """The expression of a tree; subtrees that are one object become one node."""
    if id(tree) not in made:
        op, *args = tree
        if op == "number":
            found = args[0]
        elif op == "x":
            found = xs[args[0]]
        else:
            below = [node_of(a, xs, made) for a in args]
            table = {
                "select": sb.select, "min": sb.minimum, "max": sb.maximum, "<": lambda a, b: a < b,
                "and": lambda a, b: a & b, "not": lambda a: ~a, "+": lambda a, b: a + b, "*": lambda a, b: a * b,
            }  # fmt: skip
            found = {**NODES, **table}[op](*below)
        made[id(tree)] = found
    return made[id(tree)]


def random_tree(rng: random.Random, size: int) -> Tree:
    """A tree over x0, x1, x2; functions are undefined only in branches that are not taken there, or clamped."""
    pool: list[Tree] = [("x", k) for k in range(N)]
    for _ in range(size):
        u, w = rng.choice(pool[-6:]), rng.choice(pool)
        kind = rng.random()
        if kind < 0.12:
            made: Tree = ("+", u, ("*", ("number", rng.choice([-1.0, 0.5, 2.0])), w))
        elif kind < 0.26:
            made = ("*", u, w)
        elif kind < 0.36:
            name = rng.choice(SMOOTH)
            made = (name, ("atan", u) if name == "exp" else u)
        elif kind < 0.42:
            made = (rng.choice(["min", "max"]), u, ("number", rng.choice([0.0, 0.5])) if rng.random() < 0.5 else w)
        else:
            made = _guarded(rng, u, w)
        pool.append(made)
    return pool[-1]


def _guarded(rng: random.Random, u: Tree, w: Tree) -> Tree:
    name = rng.choice(list(GUARDED))
    low, high = GUARDED[name]
    u = ("+", u, ("number", low)) if low == 1.0 else u
    if rng.random() < 0.3 and name not in ("log", "inverse"):
        inner: Tree = ("max", u, ("number", low))
        return (name, inner if high == math.inf else ("min", inner, ("number", high)))
    inside: Tree = ("<", ("number", low), u)
    if high < math.inf:
        inside = ("and", inside, ("<", u, ("number", high)))
    value: Tree = (name, u)
    if rng.random() < 0.5:
        value = ("*", value, rng.choice([w, value]))
    other = rng.choice([("number", 0.0), ("number", 1.0), w, u])
    return ("select", ("not", inside), other, value) if rng.random() < 0.4 else ("select", inside, value, other)
