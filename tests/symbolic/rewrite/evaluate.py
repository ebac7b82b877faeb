"""A small evaluator, apart from the library's own: doubles with an error scale, exact fractions, and a stable text."""

import math
from fractions import Fraction
from operator import truediv
from random import Random

from symbody.symbolic.expr.graph import Graph
from symbody.symbolic.expr.node import Node
from symbody.symbolic.expr.walk import topological


def point(roots: list[Node], seed: int) -> dict[str, float]:
    """Values of the symbols below the roots, between 0.3 and 1.5, the same for the same name."""
    return {n.name: Random(f"{seed} {n.name}").uniform(0.3, 1.5) for n in topological(roots) if n.op == "symbol"}


def rational_point(roots: list[Node], seed: int) -> dict[str, Fraction]:
    names = [n.name for n in topological(roots) if n.op == "symbol"]
    return {name: Fraction(Random(f"{seed} {name}").randint(1, 40), 13) for name in names}


def doubles(roots: list[Node], values: dict[str, float]) -> list[tuple[float, float]]:
    """(value, scale) of each root; the scale is what rounding errors are relative to."""
    got: dict[Node, tuple[float, float]] = {}
    for n in topological(roots):
        a = [got[x] for x in n.args]
        got[n] = _double(n, a, values)
    return [got[r] for r in roots]


def _double(n: Node, a: list[tuple[float, float]], values: dict[str, float]) -> tuple[float, float]:
    if n.op == "const":
        return float(n.data), abs(float(n.data))
    if n.op == "symbol":
        return values[n.name], abs(values[n.name])
    if n.op == "scale":
        return float(n.data) * a[0][0], abs(float(n.data)) * a[0][1]
    if n.op == "add":
        return math.fsum(v for v, _ in a), sum(s for _, s in a)
    if n.op == "mul":
        return math.prod(v for v, _ in a), math.prod(s for _, s in a)
    if n.op == "power":
        x, s = a[0]
        e = float(n.data)
        return x**e, abs(x**e) * max(s / abs(x), 1) ** max(abs(e), 1)
    if n.op == "alias":
        return a[0]
    if n.op == "select":
        return a[1] if a[0][0] else a[2]
    if n.op in ("lt", "le"):
        return float(a[0][0] < a[1][0] if n.op == "lt" else a[0][0] <= a[1][0]), 1.0
    if n.op == "sign":
        return float((a[0][0] > 0) - (a[0][0] < 0)), 1.0
    function = {"abs": abs, "max": max, "min": min, "quotient": truediv}.get(n.op) or getattr(math, n.op)
    value = function(*[v for v, _ in a])
    return value, abs(value) + sum(s for _, s in a) * (1 + abs(value))


def fractions(roots: list[Node], values: dict[str, Fraction]) -> list[Fraction]:
    """Exact values; sums, products and whole powers only."""
    got: dict[Node, Fraction] = {}
    for n in topological(roots):
        a = [got[x] for x in n.args]
        if n.op == "const":
            got[n] = Fraction(n.data)
        elif n.op == "symbol":
            got[n] = values[n.name]
        elif n.op == "scale":
            got[n] = Fraction(n.data) * a[0]
        elif n.op == "add":
            got[n] = sum(a, Fraction(0))
        elif n.op == "mul":
            got[n] = math.prod(a, start=Fraction(1))
        elif n.op == "power":
            got[n] = a[0] ** n.data
        else:
            raise AssertionError(n.op)
    return [got[r] for r in roots]


def same_values(before: list[Node], after: list[Node], seeds: range = range(3), tolerance: float = 1e-11) -> bool:
    """Whether the roots agree at random points, relative to the scale of their rounding errors."""
    for seed in seeds:
        values = point([*before, *after], seed)
        for (a, s), (b, t) in zip(doubles(before, values), doubles(after, values), strict=True):
            if not abs(a - b) <= tolerance * max(s, t, 1e-300):
                return False
    return True


def same_fractions(before: list[Node], after: list[Node], seeds: range = range(2)) -> bool:
    return all(
        fractions(before, values) == fractions(after, values)
        for values in (rational_point([*before, *after], seed) for seed in seeds)
    )


def serialise(roots: list[Node]) -> str:
    """Text of a graph that shows structure and sharing, and depends on nothing else."""
    number: dict[Node, int] = {}
    lines = []
    for n in topological(roots):
        number[n] = len(number)
        what = n.name if n.op == "symbol" else repr(n.data)
        lines.append(f"{number[n]} {n.op} {what} {[number[a] for a in n.args]}")
    return "\n".join([*lines, str([number[r] for r in roots])])


def random_graph(seed: int, size: int = 40, kind: str = "mixed") -> list[Node]:
    """Random sums, products, powers; `mixed` has floats, sines, cosines and quotients too, `rational` has not."""
    random = Random(seed)
    with Graph() as graph:
        made = [graph.symbol(f"p{k}", "parameter") for k in range(3)]
        made += [graph.symbol(f"q{k}", "coordinate") for k in range(3)]
        made += [graph.symbol(f"u{k}") for k in range(3)]
        if kind == "mixed":
            from symbody.symbolic.expr.call import call

            made += [call(f, made[3 + k]) for k in range(3) for f in ("sin", "cos")]
        symbols = len(made)
        scale = dict.fromkeys(made, 1)  # degree, kept small so that values stay moderate
        for _ in range(size):
            a, b, c = (made[min(int(random.expovariate(0.15)), len(made) - 1) - 0] for _ in range(3))
            if random.random() < 0.7:
                a, b = made[random.randrange(len(made))], made[random.randrange(len(made))]
            r = random.random()
            if r < 0.3 or scale[a] + scale[b] > 6:
                new = a + b if random.random() < 0.5 else a - b
                degree = max(scale[a], scale[b])
            elif r < 0.4:
                new, degree = a * b + c * b - a, max(scale[a], scale[c]) + scale[b]
            elif r < 0.75:
                new, degree = a * b, scale[a] + scale[b]
            elif r < 0.85:
                numbers = [2, -1, 3, Fraction(1, 2), Fraction(-2, 3)] + ([0.5, -1.25] if kind == "mixed" else [])
                new, degree = random.choice(numbers) * a, scale[a]
            elif r < 0.92:
                new, degree = a ** random.choice((2, 3)), 3 * scale[a]
            elif kind == "mixed":
                base = made[random.randrange(symbols)]
                new, degree = a / (base**2 + 1), scale[a] + 1
            else:
                new, degree = a - c, max(scale[a], scale[c])
            made.append(new)
            scale[new] = min(scale.get(new, 99), degree)
        return made[-max(4, size // 4) :]
