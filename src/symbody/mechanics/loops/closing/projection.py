"""The nearest closed state: coordinates and velocities put back on the rows that are closed, with the least change.

    q  <- q  - J^T (J J^T)^-1 h      repeated: Newton's iteration inside the program
    qd <- qd - J^T (J J^T)^-1 (J qd + ht)

Least change is meant in the tangent coordinates, rad and m alike: after a step of an integrator it is as small as the
error of the step. An open row of a switched loop has s = 0: its equation reads mu = 0, and it moves nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from symbody.basics.errors import SymbodyError
from symbody.mechanics.assembly.assembly import assemble_constraints
from symbody.mechanics.assembly.constraints import Constraints
from symbody.mechanics.assembly.numeric import Numeric, usual_unit
from symbody.mechanics.formalisms.vec3 import plus, times
from symbody.mechanics.loops.closing.binding import Binder
from symbody.mechanics.loops.closing.soundness import MEETING, bounds, gap, guard, how_open, sound_rows
from symbody.mechanics.loops.closing.unknowns import stepped, unknowns
from symbody.mechanics.loops.equations.augmented import SOFT, switches
from symbody.model.record.coordinates import CoordinatePart, part_of
from symbody.symbolic.expr.arrays import Array, difference, is_zero, sum_of_products, zeros
from symbody.symbolic.expr.call import as_nodes
from symbody.symbolic.expr.functions import sqrt
from symbody.symbolic.expr.implicit import Condition
from symbody.symbolic.expr.linear_algebra import ldlt, solve_ldlt
from symbody.symbolic.expr.node import BlockCheck, Node
from symbody.symbolic.expr.walk import at, substitute
from symbody.symbolic.rewrite.presets import optimize

DEPENDENT = 1e-8  # of the largest singular value of J: below, rows count as dependent


def projected(
    found: Constraints, rows: Sequence[int], driven: Sequence[int], soft: float = 0.0, preset: str = "standard"
) -> tuple[Array, Array]:
    """(q (nq,), qd (nv,)) nearest to the Tree's q and qd that `rows` allow; driven velocities stay.

    soft: what is added to the diagonal of J J^T, where switched rows may follow from others (see `dependent`).
    """
    tree = found.tree
    held = set(driven)
    placed = [r for r in rows if found.rows[r].h is not None]
    moved, sound = _change(found, placed, held, [found.rows[r].h for r in placed], soft)
    rates = [plus(sum_of_products((e, tree.qd[k]) for k, e in found.rows[r].J.items()), found.rows[r].ht) for r in rows]
    slowed, sound_rates = _change(found, rows, held, rates, soft)
    qd = np.array([difference(v, slowed.get(k, 0)) for k, v in enumerate(tree.qd)], dtype=object)
    if not moved:
        return np.array(tree.q, dtype=object), _tied(qd, sound_rates)
    owners = part_of(tree.mechanism)
    # the three increments of a quaternion turn it together
    columns = sorted({j for k in moved for j in _whole(owners[k], k)} - held)
    w = {k: difference(0, moved.get(k, 0)) for k in columns}
    mine = unknowns(tree, columns, w, owners, usual_unit(found))
    n = len(columns)
    on = switches(found)
    for r in placed:
        row, (h, limit) = found.rows[r], gap(found, found.rows[r])
        if held.issuperset(row.J):
            continue
        h = h if row.switch is None else times(on[row.switch], h)
        mine.checks.append((BlockCheck("below", f"{row.name} stays {how_open(found)}"), h, limit))
    mine.checks += sound
    mine.remedy = MEETING
    watched = [x for _, *pair in mine.checks for x in pair]
    later = [] if len(placed) == len(rows) else sound_rates
    # the step vanishes where the loops are closed, and nowhere else: it is its own residual
    roots = [*mine.step, *watched, *(x for _, *pair in later for x in pair), *tree.q, *qd]
    nodes, _ = optimize(as_nodes([tree.graph.zero, *roots])[1:], preset)
    binder, m = Binder(), n + len(watched)
    binder.add_block("project_loops", [-x for x in nodes[:n]], nodes[:n], mine, nodes[n:m])
    out = binder.at_solution([*nodes[:n], *nodes[m:]])
    last, out = out[:n], out[n:]
    later = [(c, out[2 * k], out[2 * k + 1]) for k, (c, _, _) in enumerate(later)]
    found_q, found_qd = out[2 * len(later) :][: len(tree.q)], out[2 * len(later) + len(tree.q) :]
    q, qd = np.array(found_q, dtype=object), _tied(np.array(found_qd, dtype=object), later)
    for k, x in zip(columns, last, strict=True):
        if owners[k].motion.plain:
            (at_q,) = owners[k].coordinates(k)
            q[at_q] += x  # the iteration stops at its last step without taking it
    return q, qd


def iterated(found: Constraints, rows: Sequence[int], driven: Sequence[int], soft: float = 0.0) -> tuple[Array, Array]:
    """`projected` as a formula, with its arguments: two of Newton's steps for q, and qd there.

    From a gap as small as the error of a step the third would change nothing. A formula has derivatives; the iteration
    has none by where it begins, which the nearest state depends on.
    """
    tree, held = found.tree, set(driven)
    placed = [r for r in rows if found.rows[r].h is not None]
    moved, _ = _change(found, placed, held, [found.rows[r].h for r in placed], soft)
    rates = [plus(sum_of_products((e, tree.qd[k]) for k, e in found.rows[r].J.items()), found.rows[r].ht) for r in rows]
    slowed, _ = _change(found, rows, held, rates, soft)
    qd = [difference(v, slowed.get(k, 0)) for k, v in enumerate(tree.qd)]
    owners = part_of(tree.mechanism)
    columns = sorted({j for k in moved for j in _whole(owners[k], k)} - held)
    after = stepped(tree, {k: difference(0, moved.get(k, 0)) for k in columns}, owners)
    once = as_nodes([tree.graph.zero, *(after.get(s, s) for s in tree.q)])[1:]
    twice = substitute(once, dict(zip(tree.q, once, strict=True)))
    there = substitute(as_nodes([tree.graph.zero, *qd])[1:], dict(zip(tree.q, twice, strict=True)))
    return np.array(twice, dtype=object), np.array(there, dtype=object)


def _tied(qd: Array, conditions: Sequence[Condition]) -> Array:
    """Velocities that count only where the conditions hold."""
    block = guard("sound_rates", conditions, MEETING)
    return qd if block is None else np.array([at(block, x) for x in qd], dtype=object)


def _whole(part: CoordinatePart, k: int) -> Sequence[int]:
    """Velocities that must change together with k."""
    if part.motion.plain:
        return (k,)
    if not part.motion.body_axes:
        return part.velocities
    turn = range(part.iv, part.iv + 3)
    return turn if k in turn else range(part.iv + 3, part.iv + 6)


def _change(
    found: Constraints, rows: Sequence[int], held: set[int], right: Sequence[Any], soft: float
) -> tuple[dict[int, Any], list[Condition]]:
    """Velocity index -> J^T S (S J J^T S + 1 - S)^-1 S right over the velocities not held; and when that is sound."""
    if not rows:
        return {}, []
    on = switches(found)
    own = [found.rows[r] for r in rows]
    s = [1 if row.switch is None else on[row.switch] for row in own]
    free = [{k: times(s[i], e) for k, e in row.J.items() if k not in held} for i, row in enumerate(own)]
    matrix = zeros(len(own), len(own))
    for i, a in enumerate(free):
        for j in range(i + 1):
            matrix[i, j] = matrix[j, i] = sum_of_products((a[k], free[j][k]) for k in a if k in free[j])
        if own[i].switch is not None:
            matrix[i, i] = plus(matrix[i, i], 1 + soft - s[i])
    factors, magnitude = ldlt(matrix), bounds(found, on.values())
    mu = solve_ldlt(factors, np.array([times(a, b) for a, b in zip(s, right, strict=True)], dtype=object))
    # a row of driven joints alone moves nothing
    moving = [i for i, a in enumerate(free) if a]
    scales = [magnitude(matrix[i, i]) for i in moving]
    sound = sound_rows([own[i] for i in moving], [factors.pivots[i] for i in moving], scales)
    columns = sorted({k for a in free for k in a})
    out = {k: sum_of_products((a[k], x) for a, x in zip(free, mu, strict=True) if k in a) for k in columns}
    return {k: x for k, x in out.items() if not is_zero(x)}, sound


def softness(found: Constraints, rows: Sequence[int]) -> float:
    """SOFT where rows of switched loops depend on others when all are closed; else 0.

    Which rows follow from which depends on what is closed, so none can be left out: those of switched loops yield by a
    share that is small beside J J^T and large beside roundings.
    """
    chosen = found.select(rows)
    switched = list(dict.fromkeys(row.loop for row in chosen.rows if row.switch is not None))
    always = [row.loop for row in chosen.rows if row.switch is None]
    for together in ([*always, *switched], *([*always, name] for name in switched if len(switched) > 1)):
        try:
            q = assemble_constraints(found, loops=tuple(dict.fromkeys(together)), starts=3)
            J = Numeric(found.select([r for r in rows if found.rows[r].loop in together])).J(q)
        except SymbodyError:
            continue  # these cannot be closed at the same time, or a parameter has no number yet
        if np.linalg.matrix_rank(J, tol=DEPENDENT * np.linalg.norm(J, 2)) < len(J):
            return SOFT
    return 0.0


def gaps(found: Constraints) -> list[Any]:
    """How far each row is from closed, m or rad: of a rod the length by which its ends are too far apart."""
    tree = found.tree
    lengths = {cut.name: cut.length for cut in tree.mechanism.cuts if cut.length is not None}
    out: list[Any] = []
    for row in found.rows:
        if row.h is None or row.unit != "m^2":
            out.append(0 if row.h is None else row.h)
            continue
        length: Node = tree.node(lengths[row.loop])
        out.append(sqrt(length * length + 2 * row.h) - length)
    return out
