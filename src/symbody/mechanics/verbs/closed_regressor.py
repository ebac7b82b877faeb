"""The projected regressor of a closed mechanism at random closed states, and what numbers found there are in
symbols."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from symbody.basics.errors import ModelError, SymbodyError
from symbody.mechanics.formalisms.base_parameters import RelationTable
from symbody.mechanics.formalisms.regressor import columns
from symbody.mechanics.formalisms.tree import Tree
from symbody.mechanics.memoised.partitions import Chosen
from symbody.mechanics.verbs.assemble import assemble
from symbody.mechanics.verbs.closed_dynamics import closure
from symbody.mechanics.verbs.regressors import projected_regressor
from symbody.model.record.mechanism import Mechanism
from symbody.symbolic.expr.node import Node
from symbody.symbolic.expr.walk import free_symbols
from symbody.symbolic.lower.optimize import optimize_system
from symbody.symbolic.system.system import System

ROUNDING = 1e-11  # of the largest column: a column this small is zero
CLOSED = 1e-7  # of a column scaled to unit length: what loops that are closed to 1e-9 cannot tell from zero
STEPS = (0.5, 0.25, 0.1, 0.5, 0.25, 0.1)  # rad and m from one closed position to the next
CHANGE = 1e-3  # relative, of a length whose power in a coefficient is looked for
POWERS = 2  # largest power of a length in a coefficient
SIMPLE = 12  # largest denominator of the number before it
ENOUGH = 1e-5  # relative error of a coefficient that was recognised, at other lengths


class ClosedSamples:
    """Rows of the projected regressor of a Mechanism at random states on its assembled branch."""

    def __init__(self, mech: Mechanism, partition: Chosen = "auto") -> None:
        self.mech, self.partition = mech, partition
        every = list(range(len(columns(mech))))
        self.system: System = optimize_system(projected_regressor(mech, "setup", every, partition), "standard")
        self.kernel = self.system.compile()

    def rows(self, unknowns: int, values: Mapping[str, float] | None = None, seed: int = 0) -> np.ndarray:
        """(at least 2 * unknowns rows, p), at states that close with these parameters."""
        size = max(self.system.outputs["Y"].shape[0], 1)
        wanted = 2 * unknowns // size + 10
        rng = np.random.default_rng(seed)
        q = closed_positions(self.mech, self.partition, wanted, rng, values)
        given: dict[str, Any] = {"q": q, **{n: rng.uniform(-1, 1, (len(q), self.mech.nv)) for n in ("qd", "qdd")}}
        y = np.asarray(_at(self.system, self.kernel, given, values).Y)
        y = y[np.isfinite(y).all(axis=(1, 2))]
        if len(y) * size < 1.5 * unknowns:
            raise ModelError(
                f"{self.mech.name}: only {len(y)} of {wanted} random states near the assembled position close; base "
                "parameters need more. Give a model whose assembled position lies away from dead centres."
            )
        y = y.reshape(-1, y.shape[-1])
        size = np.linalg.norm(y, axis=0)
        y[:, size <= ROUNDING * np.max(size, initial=0.0)] = 0.0
        return y

    def geometry(
        self, tree: Tree, tolerance: float
    ) -> Callable[[Sequence[int], RelationTable], dict[tuple[int, int], Node]]:
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
        nodes = [x for link in tree.links for x in link.offset.flat if isinstance(x, Node)]
        found = {s.data.name: s for s in free_symbols(nodes) if s.data.role == "parameter" and s.data.default}
        return dict(sorted(found.items()))

    def _recognised(
        self, tree: Tree, symbols: Mapping[str, Node], kept: Sequence[int], found: RelationTable
    ) -> dict[tuple[int, int], Node]:
        if not symbols or len(symbols) > 24:
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
            if factor == 0 or abs(predicted - there[i]) > ENOUGH * abs(there[i]):
                continue
            node: Any = tree.graph.number(factor)
            for n, k in powers.items():
                node = node * symbols[n] ** k if k else node
            out[pair] = node
        return out

    def _weights(self, values: Mapping[str, float], kept: Sequence[int], found: RelationTable) -> np.ndarray:
        """The coefficients of the same relations in the model with other lengths."""
        y = self.rows(len(kept), values)[:, list(kept)]
        out = []
        for dependent, weights in found:
            used = list(weights)
            solved = np.linalg.lstsq(y[:, used], y[:, dependent], rcond=None)[0] if used else np.zeros(0)
            rest = y[:, dependent] - y[:, used] @ solved
            if np.linalg.norm(rest) > 100 * CLOSED * max(float(np.linalg.norm(y[:, dependent])), 1e-300):
                raise ModelError("the relation does not hold at other lengths")
            out.append(solved)
        return np.concatenate(out) if out else np.zeros(0)


def closed_positions(
    mech: Mechanism, partition: Chosen, wanted: int, rng: np.random.Generator, values: Mapping[str, float] | None = None
) -> np.ndarray:
    """(wanted, nq) or fewer, on the branch of the assembled position: steps from one to the next, further away."""
    found = assemble(mech, None, dict(values or {}))[None, :]
    system = closure(mech, partition)
    kernel = system.compile()
    for spread in STEPS:
        q = found[rng.integers(len(found), size=wanted)]
        for s in mech.slots:
            if s.plain:
                q[:, s.q] += rng.uniform(-spread, spread, (wanted, s.nq))
        closed = np.asarray(_at(system, kernel, {"q": q, "qd": np.zeros((wanted, mech.nv))}, values).q)
        found = np.concatenate([found, closed[np.isfinite(closed).all(axis=1)]])
    return found[-wanted:]


def _at(system: System, kernel: Any, given: Mapping[str, Any], values: Mapping[str, float] | None) -> Any:
    states = len(given["q"])
    full = {n: given.get(n, np.zeros((states, *a.shape))) for n, a in system.inputs.items()}
    own = {n: v for n, v in (values or {}).items() if n in system.parameters}
    return kernel(**full, parameters=own or None)
