"""The projected regressor of a closed mechanism at states all along its assembled branch, and what numbers found there
are in symbols."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from symbody.basics.errors import ModelError, SymbodyError
from symbody.mechanics.assembly.numeric import rows_of
from symbody.mechanics.formalisms.base_parameters import (
    BaseParameters,
    RelationTable,
    find_base_parameters,
    parameter_numbers,
    residual_at,
)
from symbody.mechanics.formalisms.numeric_relations import singular_gap
from symbody.mechanics.formalisms.regressor import columns, regressor
from symbody.mechanics.formalisms.tree import Tree
from symbody.mechanics.loops.partition.branches import Space, close_all, differences
from symbody.mechanics.loops.partition.long_walks import long_walks, polished, rank_on, regular, singular_vectors
from symbody.mechanics.memoised.model_memory import derived_of
from symbody.mechanics.memoised.partitions import Chosen
from symbody.mechanics.verbs.assemble import assemble
from symbody.mechanics.verbs.closed_problem import closed_problem
from symbody.model.record.mechanism import Mechanism
from symbody.symbolic.expr.call import as_nodes
from symbody.symbolic.expr.evaluate import Evaluation, evaluate
from symbody.symbolic.expr.node import Node
from symbody.symbolic.expr.walk import free_symbols

ROUNDING = 1e-11  # of what a column has in the opened tree, or the largest has: a column this small is zero
CLOSED = 1e-8  # of a column scaled to unit length: relations that leave less of it hold
STEPS = (30, 120, 360)  # of walks: if the fewer do not decide the rank, the more
GAP = 1e6  # singular values that count over those that do not: at least, where the tolerance leaves room for it
ROOM = 0.1  # over the tolerance: the largest gap that can be asked for
GAINED = 10.0  # by longer walks: where a gap grows less, it is the mechanism's
NEAR = 0.3  # rad or mean lengths by which a position may change with the lengths
CHANGE = 1e-3  # relative, of a length whose power in a coefficient is looked for
POWERS = 2  # largest power of a length in a coefficient
SIMPLE = 12  # largest denominator of the number before it
SAME = 1e-8  # relative difference of that number from a fraction that it is taken for
MOST_LENGTHS = 32  # that are looked at
POWER_OF_LENGTH = {
    "m": 2.0,
    "mx": 1.0,
    "my": 1.0,
    "mz": 1.0,
}  # in efforts about joints, beside those of moments of inertia
ENOUGH = 1e-5  # relative error of a coefficient that was recognised, at other lengths


class ClosedSamples:
    """Rows of the projected regressor of a Mechanism at random states on its assembled branch.

    They are N^T Y: Y of the opened tree, N orthonormal velocities that keep the loops closed. No partition enters: at
    its dead points rows of B^T Y are large, and nothing is lost here.
    """

    def __init__(self, mech: Mechanism, partition: Chosen = "auto", seed: int = 0) -> None:
        """partition: is checked, and matters no further; seed: of the walks."""
        self.mech, derived = mech, derived_of(mech)
        problem = closed_problem(mech, partition=partition)
        problem.check_switches()
        if partition != "auto":
            problem.partition()
        self.branch = derived.branch_at(assemble(mech), None, (), 0.0)
        assert self.branch.space is not None  # of a Branch without a look at others
        self.rank, self._space = rank_on(self.branch), self.branch.space
        self.tree = derived.tree()
        self.constraints = derived.constraints()
        self._evaluation: Evaluation | None = None
        self.seed, self.steps = seed, STEPS[0]
        self._walked: dict[tuple[int, int], np.ndarray] = {}

    def base_parameters(self, chosen: Sequence[int] | None, tolerance: float) -> BaseParameters:
        """Those of the columns `chosen`, from one set of states; another set confirms the number and the groups."""
        considered = list(range(len(columns(self.mech)))) if chosen is None else sorted(set(chosen))
        decided: list[tuple[int, float, np.ndarray]] = []

        def sampled(unknowns: int) -> np.ndarray:
            rank, gap, rows, others = self._decided(unknowns, considered, tolerance)
            decided.append((rank, gap, others))
            return rows

        base = find_base_parameters(self.tree, chosen, tolerance, sampled=sampled, geometry=self.geometry(self.tree))
        rank, gap, others = decided[0]
        if rank != base.count:
            raise ModelError(self._doubt(f"{base.count} and {rank}", tolerance))
        return replace(base, gap=gap, residual=max(base.residual, residual_at(base, others)))

    def _decided(
        self, unknowns: int, chosen: Sequence[int], tolerance: float
    ) -> tuple[int, float, np.ndarray, np.ndarray]:
        """(rank of the columns `chosen`, gap, rows (n, p), others): two independent sets that agree, without doubt."""
        told, before = "", (-1, 0.0)
        for steps in STEPS:
            self.steps = steps
            sets = [self.rows(unknowns, seed=2 * self.seed + k) for k in (0, 1)]
            found = [singular_gap(y[:, list(chosen)], tolerance) for y in sets]
            gap = min(one.gap for one in found)
            if found[0].rank == found[1].rank and gap >= min(GAP, ROOM / tolerance):
                return found[0].rank, gap, sets[0], sets[1]
            told = " and ".join(f"{one.rank} (down to {one.last:.1e}, then {one.next:.1e})" for one in found)
            if found[0].rank == found[1].rank == before[0] and gap < GAINED * before[1]:
                break  # longer walks do not help
            before = found[0].rank, gap
        raise ModelError(self._doubt(told, tolerance))

    def _doubt(self, told: str, tolerance: float) -> str:
        return (
            f"{self.mech.name}: the number of base parameters is in doubt: at two sets of positions on the assembled "
            f"branch the singular values above the tolerance {tolerance:g} number {told}; expected the same number, "
            f"and a gap of {min(GAP, ROOM / tolerance):.0e} behind it. Lengths or directions are nearly special: write "
            "them exactly (pi/2, not 1.5708), or give a tolerance away from these values."
        )

    def rows(self, unknowns: int, values: Mapping[str, float] | None = None, seed: int = 0) -> np.ndarray:
        """(at least 2 * unknowns rows, p), at states that close with these parameters."""
        freedom = self.mech.nv - self.rank
        if not freedom:
            return np.zeros((1, len(columns(self.mech))))
        wanted = 3 * unknowns // freedom + 20
        q = self.positions(wanted, seed)
        space = self._space
        if values:
            space = Space(self.constraints, values, 0.0, self.branch.positions[0], 0)
            closed = close_all(space, q)
            with np.errstate(invalid="ignore"):
                q = closed[np.abs(differences(space, closed, q)).max(axis=1, initial=0.0) < NEAR]
            q = polished(space, q[regular(space, q, self.rank)], self.rank)
        if len(q) * freedom < 1.5 * unknowns:
            raise ModelError(
                f"{self.mech.name}: only {len(q)} of {wanted} positions along the assembled branch close; base "
                "parameters need more. Give a model whose assembled position lies away from dead centres."
            )
        return self._projected(space, q, values or {}, np.random.default_rng(seed))

    def positions(self, wanted: int, seed: int = 0) -> np.ndarray:
        """(k, nq), k <= wanted: on the branch of the assembled position, all along it."""
        key = self.steps, seed
        if key not in self._walked:
            q = polished(self._space, long_walks(self.branch, self.steps, seed), self.rank)
            self._walked[key] = q[regular(self._space, q, self.rank)]
        return self._walked[key][:wanted]

    def states(self, wanted: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Closed q (k, nq), qd, qdd (k, nv), k <= wanted."""
        q, rng = self.positions(wanted, seed), np.random.default_rng(seed)
        return q, *closed_motions(self._space, q, self.rank, self._rate(self._space, {}), rng)[1:]

    def _projected(
        self, space: Space, q: np.ndarray, values: Mapping[str, float], rng: np.random.Generator
    ) -> np.ndarray:
        """Rows at closed positions (k, nq), at random velocities and accelerations; columns of rounding are zero."""
        free, qd, qdd = closed_motions(space, q, self.rank, self._rate(space, values), rng)
        whole = self._tree_rows(q, qd, qdd, values)
        y = np.einsum("knu,knp->kup", free, whole).reshape(-1, whole.shape[2])
        size = np.linalg.norm(y, axis=0)
        # lengths in their unit make masses, first moments and moments of inertia comparable
        powers = [POWER_OF_LENGTH.get(c.quantity, 0.0) for c in columns(self.mech)]
        scale = np.power(space.length, powers)
        whole = (space.unit[:, None] * whole).reshape(-1, whole.shape[2])
        natural = np.linalg.norm(whole, axis=0)
        small = size <= ROUNDING * natural
        small |= size / scale <= ROUNDING * np.max(natural / scale, initial=0.0)
        y[:, small] = 0.0
        return y

    def _rate(self, space: Space, values: Mapping[str, float]) -> float:
        """1/s at which inertia and weight are comparable, at least 1."""
        nodes = as_nodes([self.tree.graph.zero, *self.tree.gravity])[1:]
        weight = np.linalg.norm([float(x) for x in evaluate(nodes, parameter_numbers(nodes, values))])
        return max(float(weight) / space.length, 1.0) ** 0.5

    def _tree_rows(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray, values: Mapping[str, float]) -> np.ndarray:
        """(k, nv, p) Y of the opened tree."""
        tree = self.tree
        if self._evaluation is None:
            self._shape = (y := regressor(tree)).shape
            self._evaluation = Evaluation(as_nodes([tree.graph.zero, *y.flat])[1:])
        at: dict[Any, Any] = {**parameter_numbers(self._evaluation.roots, values)}
        for symbols, numbers in ((tree.q, q), (tree.qd, qd), (tree.qdd, qdd)):
            at.update(zip(symbols, numbers.T, strict=True))
        out = np.zeros((len(q), len(self._evaluation.roots)))
        for k, value in enumerate(self._evaluation(at)):
            out[:, k] = value  # numbers broadcast over the states
        return out.reshape(len(q), *self._shape)

    def geometry(self, tree: Tree) -> Callable[[Sequence[int], RelationTable], dict[tuple[int, int], Node]]:
        """Recognises coefficients: a simple fraction times powers of the model's lengths.

        The power of a length is the logarithmic slope of the coefficient, which comes from the same relation at a
        slightly changed model; what was recognised must hold at other lengths too, all of them changed at once.
        """
        symbols = self._lengths(tree)

        def recognise(kept: Sequence[int], found: RelationTable) -> dict[tuple[int, int], Node]:
            try:
                return self._recognised(tree, symbols, kept, found)
            except SymbodyError:  # other lengths do not close: the numbers stay numbers
                return {}

        return recognise

    def _lengths(self, tree: Tree) -> dict[str, Node]:
        """Those of joints, and those that the loops depend on, such as of frames of cuts."""
        nodes = [x for link in tree.links for x in link.offset.flat if isinstance(x, Node)]
        known = self.mech.parameters
        nodes += [tree.node(known[n]) for n in rows_of(self.constraints).names if n in known]
        found = {s.data.name: s for s in free_symbols(nodes) if s.data.role == "parameter" and s.data.default}
        return dict(sorted(found.items()))

    def _recognised(
        self, tree: Tree, symbols: Mapping[str, Node], kept: Sequence[int], found: RelationTable
    ) -> dict[tuple[int, int], Node]:
        if not symbols or len(symbols) > MOST_LENGTHS:
            return {}
        base = {n: float(s.data.default) for n, s in symbols.items()}
        pairs = [(d, k) for d, weights in found for k in weights]
        now = np.array([w for _, weights in found for w in weights.values()])
        slopes = {}
        for name in symbols:
            changed = self._weights({**base, name: base[name] * (1 + CHANGE)}, kept, found)
            with np.errstate(divide="ignore", invalid="ignore"):
                slopes[name] = np.log(np.abs(changed / now)) / np.log1p(CHANGE)
        rng = np.random.default_rng(1)
        other = {n: v * (1 + 0.02 * rng.uniform(-1, 1)) for n, v in base.items()}
        there = self._weights(other, kept, found)
        out = {}
        for i, pair in enumerate(pairs):
            powers = {n: round(float(s[i])) for n, s in slopes.items() if np.isfinite(s[i])}
            if len(powers) < len(symbols) or any(
                abs(slopes[n][i] - k) > 0.05 or abs(k) > POWERS for n, k in powers.items()
            ):
                continue
            size = now[i] / float(np.prod([base[n] ** k for n, k in powers.items()]))
            factor = Fraction(size).limit_denominator(SIMPLE)
            predicted = float(factor) * float(np.prod([other[n] ** k for n, k in powers.items()]))
            if abs(float(factor) - size) > SAME * abs(size) or abs(predicted - there[i]) > ENOUGH * abs(there[i]):
                continue
            node: Any = tree.graph.number(factor)
            for n, k in powers.items():
                node = node * symbols[n] ** k if k else node
            out[pair] = node
        return out

    def _weights(self, values: Mapping[str, float], kept: Sequence[int], found: RelationTable) -> np.ndarray:
        """The coefficients of the same relations in the model with other lengths."""
        y = self.rows(len(kept), values, 2 * self.seed)[:, list(kept)]
        out = []
        for dependent, weights in found:
            used = list(weights)
            solved = np.linalg.lstsq(y[:, used], y[:, dependent], rcond=None)[0] if used else np.zeros(0)
            rest = y[:, dependent] - y[:, used] @ solved
            if np.linalg.norm(rest) > 100 * CLOSED * max(float(np.linalg.norm(y[:, dependent])), 1e-300):
                raise ModelError("the relation does not hold at other lengths")
            out.append(solved)
        return np.concatenate(out) if out else np.zeros(0)


def closed_motions(
    space: Space, q: np.ndarray, rank: int, rate: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """N (k, nv, u), and random qd, qdd (k, nv) that keep the loops closed at positions (k, nq).

    rate: 1/s, of velocities by lengths of the mechanism and radians
    """
    u, s, vh = singular_vectors(space, q)
    free = space.unit[:, None] * np.swapaxes(vh[:, rank:], 1, 2)

    def least(right: np.ndarray) -> np.ndarray:
        """(k, nv) of least norm with J x = right (k, m)."""
        share = np.einsum("kmr,km->kr", u[:, :, :rank], right / space.size) / s[:, :rank]
        return np.asarray(space.unit * np.einsum("krn,kr->kn", vh[:, :rank], share))

    own = rng.uniform(-1, 1, (2, len(q), free.shape[2]))
    qd = rate * np.einsum("knu,ku->kn", free, own[0]) - least(space.numeric.ht(q))
    qdd = rate**2 * np.einsum("knu,ku->kn", free, own[1]) - least(space.numeric.bias(q, qd))
    return free, qd, qdd
