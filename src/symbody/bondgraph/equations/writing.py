"""What is known while the equations of a graph are written: what each port gives, and what it receives from that."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from symbody.basics.errors import ModelError
from symbody.bondgraph.causality.junction_structure import JunctionStructure
from symbody.bondgraph.causality.scalars import residues
from symbody.bondgraph.graph.bond_graph import BondGraph
from symbody.bondgraph.graph.flat import ScalarPort
from symbody.bondgraph.graph.symbols import state_name, state_symbol
from symbody.mechanics.proof.modular import rank
from symbody.symbolic.expr.derivative import jacobian
from symbody.symbolic.expr.implicit import solve
from symbody.symbolic.expr.lu import solve_linear
from symbody.symbolic.expr.node import Node
from symbody.symbolic.expr.walk import free_symbols, substitute

ITERATIONS = 100  # of Newton's method for a nonlinear algebraic loop


class Writing:
    """Equations under way.

    I, D, R, U, Y   ports: integral and derivative storages, losses, sources, detectors
    x               port -> symbol of its state; xd: dependent energies, xd_dot: their rates
    gives           port -> what its element gives
    known           symbol of a signal or a dependent state -> what it stands for
    dots            symbol of an input -> symbol of its rate, where that is needed
    """

    def __init__(self, graph: BondGraph, structure: JunctionStructure) -> None:
        self.graph, self.structure, self.g = graph, structure, graph.graph
        groups = structure.groups
        self.I, self.D = groups["integral"], groups["derivative"]
        self.R, self.U, self.Y = groups["loss"], groups["source"], groups["detector"]
        self.x = {p.index: state_symbol(self.g, state_name(p)) for p in self.I}
        self.xd: dict[int, Node] = {}
        self.xd_dot: dict[int, Node] = {}
        self.gives: dict[int, Node] = {}
        self.known: dict[Node, Node] = {}
        self.inputs: dict[str, Node] = {}
        self.dots: dict[Node, Node] = {}
        self.switches: dict[str, Node] = {}
        self.integral_rates = {i.name: i.rate for i in graph.integrals}

    def received(self, port: ScalarPort, among: Iterable[ScalarPort]) -> Node:
        """What a port receives from those that give: a row of S times their values."""
        row = self.structure.entries[port.index]
        total = self.g.zero
        for p in among:
            c = row.get(p.index)
            if c:
                total = total + c.node * self.gives[p.index]
        return total

    def entry(self, a: ScalarPort, b: ScalarPort) -> Any:
        c = self.structure.entries[a.index].get(b.index)
        return c.node if c else 0

    def reads(self, a: ScalarPort, b: ScalarPort) -> bool:
        return b.index in self.structure.entries[a.index]

    def ports_of(self, name: str) -> list[ScalarPort]:
        return [p for p in (*self.I, *self.D, *self.R) if p.element == name]

    def solved(
        self, residual: Sequence[Node], unknown: Sequence[Node], guess: Sequence[Node], what: str, labels: Sequence[str]
    ) -> list[Node]:
        """The unknowns: by a linear system where the residuals are linear in them, else by an implicit block."""
        matrix = jacobian(residual, unknown)
        if rank(np.array(residues(list(matrix.flat), self.g), dtype=object).reshape(matrix.shape)) < len(unknown):
            raise ModelError(
                f"{self.graph.name}: the {what} of {', '.join(labels)} cannot be solved: its gain is 1, so that its "
                "values cancel. Change a modulus, put a storage into the loop, or make a field that only gyrates a GY."
            )
        if not set(unknown) & set(free_symbols(matrix.flat)):
            constant = substitute(residual, dict.fromkeys(unknown, self.g.zero))
            return solve_linear(matrix, [-c for c in constant])
        return list(solve(residual, unknown, guess, name=what.replace(" ", "_"), max_iterations=ITERATIONS).x)
