"""Operations of the reduction alone (robotran T13, table 2.1).

Counted: Mcal = M_uu + M_uv B + B^T (M_vu + M_vv B), its lower half, and Fcal = c'_u + B^T c'_v, given M, B and c' as
symbols. c' are the efforts at zero independent acceleration less the actuators', M b' included: the recursion that
makes c takes b' in its place. One symbol for each distinct entry (the six screws of the Stewart platform are alike and
share one; as six symbols the count is 344 instead of 329); entries that are 0 or +-1 by structure stay what they are.
"""

from typing import Any

import numpy as np
import pytest

import symbody as sb
from loops.closed_models import closed_state
from loops.light_models import light_delta, light_stewart
from symbody.expr.arrays import is_zero, transpose, zeros
from symbody.expr.node import CONST, Node
from symbody.formalisms.choices import Choice
from symbody.loops.inverse import actuated_velocities
from symbody.loops.opened import opened
from symbody.loops.reduced import add, product, symmetric
from symbody.verbs.loops import ClosedProblem


def dense(u: int, v: int) -> int:
    """Operations with full matrices (robotran 3.14)."""
    return 2 * u * v * (v + 2 * u) + 3 * u * v + u * u


def symbolic(entries: Any, stem: str) -> np.ndarray:
    """The array with one symbol for each distinct entry, in the Graph that is open."""
    known: dict[Any, Node] = {}
    out = np.empty(np.shape(entries), dtype=object)
    for i, x in enumerate(np.asarray(entries, dtype=object).flat):
        if isinstance(x, Node) and x.op is CONST and x.data in (1, -1):
            x = int(x.data)
        if is_zero(x) or x in (1, -1):
            out.flat[i] = 0 if is_zero(x) else x
            continue
        if x not in known:
            known[x] = sb.symbols(f"{stem}{len(known)}")
        out.flat[i] = known[x]
    return out


def reduction(mech: sb.Mechanism, partition: Any = "auto") -> tuple[int, int, int]:
    """(u, v, operations) of the reduction of a mechanism."""
    problem = ClosedProblem(mech, partition=partition)
    closure, tree = problem.closure(), problem.tree
    u, v = list(closure.u), list(closure.v)
    equations = opened(tree, Choice(grouping="base"))
    start = zeros(len(tree.qd))
    start[v] = closure.bias
    efforts = equations.efforts(start)
    for k in actuated_velocities(mech):
        efforts[k] = efforts[k] - tree.tau[k]
    with sb.Graph():
        mass, B, c = (symbolic(a, n) for a, n in ((equations.mass, "M"), (closure.B, "B"), (efforts, "c")))
        uu, uv, vv = mass[np.ix_(u, u)], mass[np.ix_(u, v)], mass[np.ix_(v, v)]
        reduced = symmetric(uu, uv, B, add(transpose(uv), product(vv, B)))
        force = add(c[u], product(transpose(B), c[v]))
        outputs = [*reduced[np.tril_indices(len(u))], *force]
        symbols = {x for a in (mass, B, c) for x in a.flat if isinstance(x, Node)}
        inputs = {str(s): [s] for s in sorted(symbols, key=str)}
        system = sb.System("reduction", inputs=inputs, outputs={"out": [x for x in outputs if isinstance(x, Node)]})
    return len(u), len(v), system.optimize("full").count().total


@pytest.mark.parametrize(
    ("make", "partition", "full", "published", "bound"),
    [
        (light_delta, ["platform"], 900, 60, 55),
        (light_delta, "auto", 900, 60, 57),
        (light_stewart, "auto", 6840, 330, 329),
        (lambda: sb.load("delta"), "auto", 900, None, 225),
        (lambda: sb.load("stewart"), "auto", 6840, None, 1056),
        (lambda: sb.load("car"), "auto", 78036, 1897, 828),
    ],
    ids=["delta", "delta-auto", "stewart", "heavy-delta", "heavy-stewart", "car"],
)
def test_the_reduction_takes_no_more_operations_than_published(make, partition, full, published, bound):
    """The published counts of Delta and Stewart fit links without mass; heavy ones have no published count."""
    u, v, found = reduction(make(), partition)
    assert dense(u, v) == full
    assert found <= bound
    assert published is None or found <= published


@pytest.mark.parametrize("make", [light_delta, light_stewart])
def test_what_is_counted_moves_as_the_reference_says(make):
    mech = make()
    world, q, qd, tau = closed_state(mech)
    want, _ = world.acceleration(q, qd, tau)
    found = sb.forward_dynamics(mech, "base", preset="none").compile("python")(q, qd, tau)
    np.testing.assert_allclose(found, want, rtol=1e-10, atol=1e-10 * np.abs(want).max())
