"""Accelerations and multipliers at once, from the equations of the tree augmented by the constraints (robotran 3.14).

    [[M, J^T], [J, 0]] (qdd, -lam) = (tau - c, -bias - 2 alpha hd - beta^2 h)

The matrix is symmetric; eliminating the velocities leaf first, then the constraints, meets no zero pivot where M is
positive and the rows of J are independent. Positions and velocities are taken as they are given: Baumgarte's terms, or
a projection after each step, keep them closed. A loop that opens and closes has its row multiplied by its switch s, and
(1 - s) lam beside it: open, it is the equation lam = 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from symbody.basics.errors import ModelError, SymbodyError
from symbody.mechanics.assembly.assembly import closed_samples
from symbody.mechanics.assembly.constraints import ConstraintRow, Constraints
from symbody.mechanics.formalisms.vec3 import minus, plus, times
from symbody.mechanics.loops.closing.soundness import BRANCH, MEETING, VANISHING, bounds, guard, sound_rows
from symbody.symbolic.expr.arrays import Array, difference, is_zero, sum_of_products, zeros
from symbody.symbolic.expr.call import as_nodes, call
from symbody.symbolic.expr.evaluate import evaluate
from symbody.symbolic.expr.implicit import Condition
from symbody.symbolic.expr.linear_algebra import Symmetric, ldlt, lu, solve_ldlt, solve_lu
from symbody.symbolic.expr.magnitude import Magnitude
from symbody.symbolic.expr.node import BlockCheck, Node
from symbody.symbolic.expr.walk import at, free_symbols

SAMPLES = 3  # states at which M and pivots are judged
SINGULAR = 1e-12  # eigenvalue of M, scaled to a unit diagonal, that counts as none
FOLLOWED = 1e-4  # of its terms: what is left of a redundant row, of loops that drift apart a little
ROUNDING = 1e-9  # of its entries times all accelerations, or 1 m/s^2 or rad/s^2: what a redundant row may miss
SOFT = 1e-10  # by which switched rows yield that may follow from others, in the units of J M^-1 J^T


def switches(found: Constraints) -> dict[str, Node]:
    """Inputs s_<loop> of the loops that open and close: name -> symbol."""
    names = dict.fromkeys(row.switch for row in found.rows if row.switch is not None)
    return {name: found.tree.graph.symbol(name, "input") for name in names}


def augmented(
    found: Constraints,
    mass: Array,
    bias: Array,
    tau: Array,
    driven: Sequence[int],
    given: Array,
    rows: Sequence[int] | None = None,
    alpha: Any = 0,
    beta: Any = 0,
    soft: float = 0.0,
) -> tuple[Array, Array]:
    """(qdd (nv,), lam (m,)). driven velocities have their accelerations `given` (nv,); rows: those to keep (None: all).

    alpha, beta   of Baumgarte's stabilisation, 1/s: the gap of a loop obeys hdd + 2 alpha hd + beta^2 h = 0
    soft          of switched rows: J qdd + bias = -soft lam, so that rows which follow from others share their forces
    """
    n = len(tau)
    kept = list(range(len(found.rows))) if rows is None else list(rows)
    free = [k for k in range(n) if k not in set(driven)]
    size = len(free) + len(kept)
    matrix, right = zeros(size, size), zeros(size)
    matrix[: len(free), : len(free)] = mass[np.ix_(free, free)]
    for i, k in enumerate(free):
        right[i] = minus(minus(tau[k], bias[k]), sum_of_products((mass[k, j], given[j]) for j in driven))
    on = switches(found)
    for i, r in enumerate(kept, len(free)):
        row = found.rows[r]
        s = 1 if row.switch is None else on[row.switch]
        for j, k in enumerate(free):
            if k in row.J:
                matrix[i, j] = matrix[j, i] = times(s, row.J[k])
        if row.switch is not None:
            matrix[i, i] = s - (1 + soft)
        known = sum_of_products((row.J[k], given[k]) for k in driven if k in row.J)
        right[i] = times(s, difference(_right(found, row, alpha, beta), known))
    x = _solved(found, matrix, right, len(free), [found.rows[r] for r in kept], soft)
    qdd, lam = np.array(given, dtype=object), zeros(len(found.rows))
    qdd[free] = x[: len(free)]
    for i, r in enumerate(kept, len(free)):
        lam[r] = difference(0, x[i])
    left = [row for r, row in enumerate(found.rows) if r not in set(kept)]
    magnitude = bounds(found)
    fastest = sum_of_products((call("abs", x), 1) for x in qdd if isinstance(x, Node)) if left else 0
    conditions = [_followed(row, qdd, _right(found, row, alpha, beta), fastest, magnitude) for row in left]
    block = guard("same_branch", conditions, BRANCH)
    if block is None:
        return qdd, lam
    both = as_nodes([block, *qdd, *lam])[1:]
    tied = np.array([at(block, v) for v in both], dtype=object)
    return tied[:n], tied[n:]


def _followed(row: ConstraintRow, qdd: Array, right: Any, fastest: Any, size: Magnitude) -> Condition:
    """J qdd = right of a row that was left out: then these are the accelerations with all rows.

    fastest: the size of all accelerations; a row may bind joints that do not move at all, up to rounding.
    """
    terms = [times(e, qdd[k]) for k, e in row.J.items()]
    sizes = [call("abs", x) if isinstance(x, Node) else abs(x) for x in (*terms, right)]
    words = f"{row.name}, which was left out as redundant, does not follow from the other constraints here"
    value = difference(sum_of_products((x, 1) for x in terms), right)
    rounding = times(ROUNDING, sum_of_products((size(e), plus(1, fastest)) for e in row.J.values()))
    return (
        BlockCheck("below", words),
        value,
        plus(rounding, times(FOLLOWED, sum_of_products((x, 1) for x in sizes))),
    )


def _right(found: Constraints, row: ConstraintRow, alpha: Any, beta: Any) -> Any:
    """-bias - 2 alpha hd - beta^2 h; of a velocity constraint -bias - 2 alpha hd."""
    out = difference(0, row.bias)
    if not is_zero(alpha):
        rate = plus(sum_of_products((e, found.tree.qd[k]) for k, e in row.J.items()), row.ht)
        out = difference(out, times(2 * alpha, rate))
    if not is_zero(beta) and row.h is not None:
        out = difference(out, times(beta * beta, row.h))
    return out


def _solved(
    found: Constraints, matrix: Array, right: Array, velocities: int, rows: Sequence[ConstraintRow], soft: float
) -> Array:
    """The solution, which counts only where no pivot vanishes."""
    samples = _samples(found, matrix)
    heavy = not any(is_zero(matrix[k, k]) for k in range(velocities))
    # angles of a floating or spherical joint may make M singular at closed positions, or on a whole branch of them; a
    # joint that moves nothing with mass does everywhere
    anywhere = [*samples, *_samples(found, matrix, closed=False)]
    if heavy and (not anywhere or any(_is_positive(m[:velocities, :velocities]) for m in anywhere)):
        order = [*range(velocities - 1, -1, -1), *range(velocities, len(right))]
        factors = ldlt(matrix, order=order)
        return _guarded(solve_ldlt(factors, right), _sound(found, matrix, factors, samples, rows, soft))
    # joints that move nothing with mass: the constraints must hold them, and pivots come from off the diagonal
    if not samples:
        raise ModelError(
            "a joint moves nothing that has mass or inertia, and no pivot could be chosen. Give its body an inertia, "
            "or use formulation='reduced' with this joint dependent."
        )
    steps = lu(matrix, sample=np.array(samples))
    largest = np.abs(samples).max(axis=(0, 1))
    words = BlockCheck("above", "a pivot vanishes: the constraints do not hold all joints that move nothing with mass")
    conditions = [(words, s.pivot, VANISHING * float(largest[s.column])) for s in steps.steps]
    return _guarded(solve_lu(steps, right), conditions)


def _sound(
    found: Constraints,
    matrix: Array,
    factors: Symmetric,
    samples: Sequence[np.ndarray],
    rows: Sequence[ConstraintRow],
    soft: float,
) -> list[Condition]:
    """Pivots of the constraints, J M^-1 J^T less what earlier ones have of it, beside its largest part for one joint.

    Rows that yield (soft) may follow from others; a row of driven joints alone moves nothing.
    """
    magnitude, size = bounds(found, switches(found).values()), len(matrix)
    first = size - len(rows)
    place = {row: k for k, row in enumerate(factors.order)}
    kept, pivots, scales = [], [], []
    for i, row in enumerate(rows, first):
        entries = [k for k in range(first) if not is_zero(matrix[i, k])]
        if not entries or (row.switch is not None and soft):
            continue
        parts = {k: max((s[i, k] ** 2 / s[k, k] for s in samples), default=0.0) for k in entries}
        k = max(entries, key=lambda k: parts[k])
        kept.append(row)
        pivots.append(factors.pivots[place[i]])
        scales.append(times(magnitude(matrix[i, k]) ** 2, factors.inverses[place[k]]))
    return sound_rows(kept, pivots, scales)


def _guarded(x: Array, conditions: Sequence[Condition]) -> Array:
    """x, tied to the conditions."""
    entries = as_nodes([next(v for v in x if isinstance(v, Node)), *x])[1:]
    block = guard("sound_constraints", conditions, MEETING)
    return np.array(entries if block is None else [at(block, v) for v in entries], dtype=object)


def _is_positive(mass: np.ndarray) -> bool:
    """Whether a symmetric matrix is positive definite, whatever the units of its rows."""
    size = np.sqrt(np.abs(np.diag(mass)))
    return bool(np.all(size > 0) and np.linalg.eigvalsh(mass / np.outer(size, size)).min(initial=1.0) > SINGULAR)


def _samples(found: Constraints, matrix: Array, closed: bool = True) -> list[np.ndarray]:
    """Values of the matrix at closed states, where entries may vanish that elsewhere do not; or at any.

    Other symbols take their defaults, or a number in [0.2, 1.2]; so does q if the loops cannot be closed.
    """
    first = next(x for x in matrix.flat if isinstance(x, Node))
    nodes = as_nodes([first, *matrix.flat])[1:]
    try:
        positions = list(closed_samples(found, SAMPLES)) if closed else []
    except SymbodyError:
        positions = []
    out = []
    for draw in range(SAMPLES):
        rng = np.random.default_rng(draw)
        values = {s: rng.uniform(0.2, 1.2) if s.data.default is None else s.data.default for s in free_symbols(nodes)}
        if positions:
            at_q = dict(zip(found.tree.q, map(float, positions[draw % len(positions)]), strict=True))
            values.update({s: x for s, x in at_q.items() if s in values})
        try:
            value = np.array([float(v) for v in evaluate(nodes, values)]).reshape(matrix.shape)
        except SymbodyError:
            continue
        if np.all(np.isfinite(value)):
            out.append(value)
    return out
