"""Implicit blocks: unknowns that make residuals zero, found by Newton's iteration inside the program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from symbody.basics.errors import ExpressionError, ShapeError, SymbodyError, real_argument, whole_argument
from symbody.symbolic.expr.call import as_nodes
from symbody.symbolic.expr.derivative import jacobian
from symbody.symbolic.expr.evaluate import evaluate
from symbody.symbolic.expr.lu import given_pivots, lu, solve_linear
from symbody.symbolic.expr.node import SYMBOL, BlockCheck, Node, Pivots, SolveInfo
from symbody.symbolic.expr.triangular import square_rows
from symbody.symbolic.expr.walk import at, free_symbols, solve_node, substitute

Condition = tuple[BlockCheck, Any, Any]  # a check, its value and its limit


@dataclass(frozen=True)
class Solution:
    """An implicit block and what may be read at its solution.

    x          (n,) unknowns at the solution
    node       the block itself
    """

    x: np.ndarray
    node: Node
    _names: dict[Node, Node]

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, index: Any) -> Any:
        return self.x[index]

    def at(self, expression: Any) -> Any:
        """An expression (node or array) of the symbols that were solved for, at the solution."""
        if isinstance(expression, Node):
            return at(self.node, substitute([expression], self._names)[0])
        array = np.asarray(expression, dtype=object)
        nodes = substitute(as_nodes([self.node, *array.flat])[1:], self._names)
        out = np.empty(array.shape, dtype=object)
        for i, n in enumerate(nodes):
            out.flat[i] = at(self.node, n)
        return out

    @property
    def residual(self) -> np.ndarray:
        """(n,) residuals at the solution."""
        n = len(self.x)
        return np.array([at(self.node, r) for r in self.node.args[:n]], dtype=object)

    @property
    def jacobian(self) -> np.ndarray:
        """(n, n) derivative of the residuals by the unknowns, at the solution."""
        n = len(self.x)
        inside = jacobian(self.node.args[:n], self.node.data.unknowns)
        out = np.empty((n, n), dtype=object)
        for i, e in enumerate(inside.flat):
            out.flat[i] = at(self.node, e)
        return out


def solve(
    residual: Any,
    unknowns: Any,
    guess: Any,
    *,
    name: str = "solve",
    tolerance: float = 1e-12,
    max_iterations: int = 25,
    pivots: str | Sequence[tuple[int, int]] | None = None,
) -> Solution:
    """The unknowns (symbols) for which the residuals vanish, near the guess.

    residual: n expressions that contain the unknowns; guess: n expressions or numbers that do not.
    The iteration stops when every step is below tolerance * (1 + min(|x|, 1e6 (1 + |guess|))): an angle that a nearly
    singular matrix threw to 1e16 rad is no solution, though every step is small beside it. What does not depend on
    the unknowns is computed once, outside of the iteration. Derivatives come from the implicit function theorem; the
    guess has none. Newton's linear systems above size 3 are solved by LU; `pivots` (pairs or
    "diagonal", as `lu` takes them) overrides the choice by structure.
    """
    whole_argument("max_iterations", max_iterations, 1)
    real_argument("tolerance", tolerance, "a number, 0 or more", least=0.0)
    xs = list(np.asarray(unknowns, dtype=object).flat)
    start = list(np.asarray(guess, dtype=object).flat)
    nodes = list(np.asarray(residual, dtype=object).flat)
    if not (len(xs) == len(start) == len(nodes)) or not xs:
        raise ShapeError(
            f"solve() was given {len(nodes)} residuals, {len(xs)} unknowns and {len(start)} guesses; "
            "expected equal numbers, at least one."
        )
    for x in xs:
        if not isinstance(x, Node) or x.op is not SYMBOL:
            raise ExpressionError(f"solve() was given the unknown {x}; expected symbols.")
    graph = xs[0].graph
    nodes = as_nodes([xs[0], *nodes])[1:]
    start = as_nodes([xs[0], *start])[1:]
    # fresh symbols, so that the same name outside means something else
    scope = f"{name}#{graph.size}"
    bound = [graph.symbol(x.data.name, "unknown", scope=scope, unit=x.data.unit) for x in xs]
    names = dict(zip(xs, bound, strict=True))
    inside = substitute(nodes, names)
    for g, s in zip(start, substitute(start, names), strict=True):
        if g is not s:
            raise ExpressionError(f"the guess {g} contains an unknown of the block {name!r}; expected other symbols.")
    matrix = jacobian(inside, bound)
    if isinstance(pivots, str):
        order = given_pivots(pivots, square_rows(matrix, "solve")[0]) if len(xs) > 3 else None
    else:
        order = _pivots(matrix, dict(zip(bound, start, strict=True))) if pivots is None else tuple(pivots)
    step = [-d for d in solve_linear(matrix, inside, order)]
    info = SolveInfo(name, tuple(bound), float(tolerance), int(max_iterations), order)
    node = solve_node((*inside, *start, *step), info)
    x = np.empty(len(xs), dtype=object)
    for i, b in enumerate(bound):
        x[i] = at(node, b)
    return Solution(x, node, names)


def check_block(name: str, conditions: Sequence[Condition], remedy: str = "") -> Node:
    """A block without unknowns: conditions, of nodes, that whatever is read `at` it depends on."""
    args = [x for _, value, limit in conditions for x in (value, limit)]
    checks = tuple(check for check, _, _ in conditions)
    return solve_node(tuple(args), SolveInfo(name, (), max_iterations=1, remedy=remedy, checks=checks))


def _pivots(matrix: np.ndarray, guess: dict[Node, Node]) -> Pivots | None:
    """Pivots of a large Newton matrix that are sound near the guess: chosen from values there, not from zeros alone.

    Symbols take their defaults, or a number in [0.5, 1.5]; three draws.
    """
    if len(matrix) <= 3:
        return None
    nodes = substitute(list(matrix.flat), guess)
    samples = []
    for draw in range(3):
        rng = np.random.default_rng(draw)
        values = {s: rng.uniform(0.5, 1.5) if s.data.default is None else s.data.default for s in free_symbols(nodes)}
        try:
            found = np.array([float(v) for v in evaluate(nodes, values)]).reshape(matrix.shape)
        except SymbodyError:
            continue
        if np.all(np.isfinite(found)):
            samples.append(found)
    if not samples:
        return None
    try:
        factors = lu(matrix, sample=np.array(samples))
    except ExpressionError:
        return None  # singular at the guess: leave the choice to the structure
    return factors.pivots
