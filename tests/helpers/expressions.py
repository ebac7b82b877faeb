"""Seeded random expressions for property tests."""

from __future__ import annotations

import random
from fractions import Fraction

import symbody as sb
from symbody.symbolic.expr.node import Node

SMOOTH = (sb.sin, sb.cos, sb.exp, sb.tanh, sb.atan)


def random_expressions(
    seed: int, size: int = 40, outputs: int = 4, inputs: int = 4, parameters: int = 3, rational: bool = False
) -> tuple[list[Node], list[Node], list[Node]]:
    """(outputs, inputs, parameters) in the current Graph. Divisors stay away from zero for arguments in [0.5, 1.5].

    With `rational` only + - * / and integer powers occur, over exact numbers.
    """
    rnd = random.Random(seed)
    xs = [sb.symbol(f"x{i}", "velocity" if i % 2 else "input") for i in range(inputs)]
    ps = [sb.symbol(f"p{i}", "parameter", default=1.0 + i) for i in range(parameters)]
    pool: list[Node] = [*xs, *ps]
    for _ in range(size):
        a, b = rnd.choice(pool[-25:]), rnd.choice(pool)
        kind = rnd.random()
        if kind < 0.3:
            new = a * b
        elif kind < 0.5:
            new = a + b
        elif kind < 0.65:
            new = a - b
        elif kind < 0.75:
            c = rnd.choice([2, 3, -2, Fraction(1, 3), Fraction(-5, 2)] + ([] if rational else [0.25, -1.5]))
            new = c * a + rnd.choice([0, 1, -3])
        elif kind < 0.85:
            new = a**2 if rnd.random() < 0.6 else rnd.choice(xs) ** rnd.choice([3, 4, 5])
        elif kind < 0.92 or rational:
            new = a / (rnd.choice(xs) + 2) ** rnd.choice([1, 1, 2])
        else:
            new = rnd.choice(SMOOTH)(rnd.choice(xs) + rnd.choice(ps) * rnd.choice([0, 1]))
        # keep numbers of a size that doubles can compare
        if not rational and rnd.random() < 0.4:
            new = sb.tanh(new)
        pool.append(new)
    return pool[-outputs:], xs, ps
