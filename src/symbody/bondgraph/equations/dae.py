"""The implicit form of a graph, nonlinear ones too: F(t, x, x', w, u) = 0, with nothing solved for.

x are the energies of all storages, also of those in derivative causality, and the integrals; w is what resistors and
switches give. The rows are

    x_I' - S11 z_I - S12 x_D' - S13 w - S14 u = 0      rates
    z_D - S21 z_I - S24 u = 0                          what binds dependent storages: no x' stands there
    law(e, f) = 0                                      of every resistor and switch

z = z(x) by the laws of the storages. Differentiated once, the second rows give x' and w: the index is 1, which is
checked. `graph.system()` is the same with everything solved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from symbody.basics.errors import ModelError
from symbody.bondgraph.causality.junction_structure import junction_structure
from symbody.bondgraph.causality.scalars import residues
from symbody.bondgraph.equations.laws import coenergies, slopes
from symbody.bondgraph.equations.losses import law_residual
from symbody.bondgraph.equations.state_equations import arrays_of, sources, with_signals
from symbody.bondgraph.equations.writing import Writing
from symbody.bondgraph.graph.bond_graph import BondGraph
from symbody.bondgraph.graph.flat import ScalarPort
from symbody.bondgraph.graph.symbols import coenergy_name, input_symbol, signal_symbol, state_name, state_symbol
from symbody.mechanics.proof.modular import rank
from symbody.symbolic.expr.node import Node
from symbody.symbolic.expr.pickling import Packed
from symbody.symbolic.expr.walk import free_symbols
from symbody.symbolic.system.system import System


@dataclass(frozen=True, eq=False)
class Dae(Packed):
    """F(t, x, x', w, u) = 0.

    x, dx      (n,) energies and integrals, and their rates <x>_dot; w (k,) algebraic: e_<R> or f_<R>, what it gives
    inputs     (m,) u; outputs: detectors, of all of them
    rates      (n - d,) rows of states that are free; bounds (d,) rows that bind dependent storages; laws (k,) of losses
    index      differentiations that make it a differential equation of x: 0 where there are no bounds and no w, else 1
    """

    graph: BondGraph
    x: dict[str, Node]
    dx: dict[str, Node]
    w: dict[str, Node]
    inputs: dict[str, Node]
    rates: dict[str, Node]
    bounds: dict[str, Node]
    laws: dict[str, Node]
    outputs: dict[str, Node]
    index: int

    @property
    def residual(self) -> dict[str, Node]:
        """All rows of F by name."""
        return {**self.rates, **self.bounds, **self.laws}

    def system(self) -> System:
        """F and the detectors as a System without states: inputs x, x', w, u; compiles, differentiates, exports."""
        found = {**self.residual, **self.outputs}
        t = self.graph.graph.symbol("t", "time")
        time = {"t": t} if t in set(free_symbols(found.values())) else {}
        inputs = {**self.x, **self.dx, **self.w, **time, **self.inputs}
        return System(f"{self.graph.name}_dae", arrays_of(inputs), arrays_of(found))

    def __str__(self) -> str:
        lines = [f"0 = {row}" for row in self.residual.values()] + [f"{n} = {y}" for n, y in self.outputs.items()]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"Dae of {self.graph.name}: {len(self.x)} states, {len(self.w)} algebraic, index {self.index}"


def implicit_form(graph: BondGraph, first: Sequence[str] = ()) -> Dae:
    """The implicit form along the preferred integral causality; `first`: storages that get it before the others."""
    w = Writing(graph, junction_structure(graph, first))
    sources(w)
    storages = [*w.I, *w.D]
    x = {p.index: state_symbol(w.g, state_name(p)) for p in storages}
    dx = {p.index: input_symbol(w.g, f"{state_name(p)}_dot") for p in storages}
    z = _coenergies(w, storages, x)
    way = w.structure.causality.gives
    own = {p.index: input_symbol(w.g, f"{way[p.label]}_{p.label}") for p in w.R}
    w.gives |= {p.index: z[p.index] for p in w.I} | {p.index: dx[p.index] for p in w.D} | own
    everything = [*storages, *w.R, *w.U]
    w.known |= {signal_symbol(w.g, coenergy_name(p)): z[p.index] for p in storages}
    outputs = {p.label: w.received(p, everything) for p in w.Y}
    w.known |= {signal_symbol(w.g, n): y for n, y in outputs.items()}
    rates = {f"{state_name(p)}_rate": dx[p.index] - w.received(p, everything) for p in w.I}
    integrals = {i.name: state_symbol(w.g, i.name) for i in graph.integrals}
    slow = {n: input_symbol(w.g, f"{n}_dot") for n in integrals}
    rates |= {f"{i.name}_rate": slow[i.name] - i.rate for i in graph.integrals}
    bounds = {f"{state_name(p)}_bound": z[p.index] - w.received(p, everything) for p in w.D}
    laws = _laws(w, everything)
    groups = (rates, bounds, laws, outputs)
    flat = iter(with_signals(w, [node for group in groups for node in group.values()]))
    rates, bounds, laws, outputs = ({n: next(flat) for n in group} for group in groups)
    made = Dae(
        graph,
        {state_name(p): x[p.index] for p in storages} | integrals,
        {f"{state_name(p)}_dot": dx[p.index] for p in storages} | {f"{n}_dot": s for n, s in slow.items()},
        {s.data.name: s for s in own.values()},
        dict(w.inputs),
        rates,
        bounds,
        laws,
        outputs,
        1 if w.D or w.R else 0,
    )
    _check_index(made)
    return made


def _coenergies(w: Writing, storages: Sequence[ScalarPort], x: dict[int, Node]) -> dict[int, Node]:
    """port -> co-energy by the law of its element."""
    out: dict[int, Node] = {}
    for name in dict.fromkeys(p.element for p in storages):
        ports = sorted((p for p in storages if p.element == name), key=lambda p: p.place)
        found = coenergies(w.graph.elements[name], [x[p.index] for p in ports])
        out |= {p.index: node for p, node in zip(ports, found, strict=True)}
    return out


def _laws(w: Writing, everything: Sequence[ScalarPort]) -> dict[str, Node]:
    way = w.structure.causality.gives
    out: dict[str, Node] = {}
    for name in dict.fromkeys(p.element for p in w.R):
        ports = sorted((p for p in w.R if p.element == name), key=lambda p: p.place)
        got = {p.index: w.received(p, everything) for p in ports}
        efforts = [w.gives[p.index] if way[p.label] == "e" else got[p.index] for p in ports]
        flows = [w.gives[p.index] if way[p.label] == "f" else got[p.index] for p in ports]
        found = law_residual(w, w.graph.elements[name], efforts, flows)
        out |= {f"{p.label}_law": row for p, row in zip(ports, found, strict=True)}
    return out


def _check_index(made: Dae) -> None:
    """The rows, those of bounds differentiated, must give all rates and w."""
    dx, w, g = list(made.dx.values()), list(made.w.values()), made.graph.graph
    rows = [*made.rates.values(), *made.laws.values()]
    top = np.concatenate([slopes(rows, dx), slopes(rows, w)], axis=1)
    bound = list(made.bounds.values())
    low = np.concatenate([slopes(bound, list(made.x.values())), np.full((len(bound), len(w)), 0, dtype=object)], axis=1)
    matrix = np.concatenate([top, low], axis=0)
    if not matrix.size:
        return
    found = np.array(residues([g.zero + v for v in matrix.flat], g), dtype=object).reshape(matrix.shape)
    if rank(found) < len(matrix):
        raise ModelError(
            f"{made.graph.name} has no implicit form of index 1: its rows do not determine all rates and "
            f"{', '.join(made.w) or 'losses'}. A loop of gain 1, or moduli that cancel, may be the reason."
        )
