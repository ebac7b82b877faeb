"""Symbolic matrices of a linear graph: x' = A x + B u, y = C x + D u (thesis II.1.4), by blocks and in other forms.

Entries are exact derivatives of the state equations; what is zero is known to be zero modulo a prime, so that no hidden
zero is left. x are energies (p of I, q of C) or co-energies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from symbody.basics.errors import ModelError, word_argument
from symbody.basics.lazy import imported
from symbody.bondgraph.causality.scalars import cleaned, residues
from symbody.bondgraph.equations.laws import slopes
from symbody.bondgraph.equations.second_order import SecondOrder, second_order
from symbody.bondgraph.equations.state_equations import StateEquations, in_coenergies, write_equations
from symbody.bondgraph.graph.bond_graph import BondGraph
from symbody.symbolic.expr.arrays import is_zero
from symbody.symbolic.expr.node import Node
from symbody.symbolic.expr.pickling import Packed
from symbody.symbolic.expr.walk import free_symbols, substitute
from symbody.symbolic.system.system import System, node_array


@dataclass(frozen=True, eq=False)
class Matrices(Packed):
    """A (n, n), B (n, m), C (q, n), D (q, m), D1 (q, m) by the rates of inputs; arrays of expressions of parameters.

    states, inputs, outputs   names; input kinds "Se" or "Sf" beside them
    shift                     state -> expression of inputs that was subtracted from the energy, where a source drives a
                              dependent storage
    """

    graph: BondGraph
    equations: StateEquations
    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    D1: np.ndarray
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    kinds: tuple[str, ...]

    @property
    def shift(self) -> dict[str, Node]:
        return self.equations.shift

    def blocks(self) -> dict[str, np.ndarray]:
        """A_pp, A_pq, A_qp, A_qq, and B_pe ... C_q: momenta p and displacements q, inputs of effort and of flow."""
        p = [k for k, n in enumerate(self.states) if n[0] in "pf"]
        q = [k for k, n in enumerate(self.states) if n[0] in "qe"]
        e = [k for k, kind in enumerate(self.kinds) if kind == "Se"]
        f = [k for k, kind in enumerate(self.kinds) if kind == "Sf"]
        out = {f"A_{a}{b}": self.A[np.ix_(i, j)] for a, i in (("p", p), ("q", q)) for b, j in (("p", p), ("q", q))}
        out |= {f"B_{a}{b}": self.B[np.ix_(i, j)] for a, i in (("p", p), ("q", q)) for b, j in (("e", e), ("f", f))}
        return out | {"C_p": self.C[:, p], "C_q": self.C[:, q]}

    def system(self) -> System:
        """A, B_ss, C, D as outputs of a System of parameters."""
        zero = self.graph.graph.zero
        made = {"A": self.A, "B_ss": self.B, "C": self.C, "D": self.D}
        return System(
            f"{self.graph.name}_matrices", {}, {n: node_array(m, zero.graph) for n, m in made.items() if m.size}
        )

    def numbers(self, parameters: Mapping[str, float] | None = None) -> Any:
        """The `StateSpace` for parameters by name, else their defaults: poles, step, Bode; python-control takes it."""
        given = dict(parameters or {})
        values = {}
        for name, matrix in (("A", self.A), ("B", self.B), ("C", self.C), ("D", self.D), ("D1", self.D1)):
            values[name] = _numbers(matrix, given, self.graph)
        made: Any = imported("studies.linear.state_space", "StateSpace")
        return made(**values, states=self.states, inputs=self.inputs, outputs=self.outputs)

    def to_control(self, parameters: Mapping[str, float] | None = None) -> Any:
        """A control.StateSpace of python-control."""
        return imported("codegen.interop.control_bridge", "to_control")(self.numbers(parameters))

    def kalman(self, parameters: Mapping[str, float] | None = None) -> Any:
        """Kalman's decomposition with numbers: T, and the model in its four parts; see `analyse.control.kalman`."""
        return imported("studies.control.kalman", "kalman_form")(self.numbers(parameters))

    def transfer(self, input: Any = 0, output: Any = 0) -> System:
        """Numerator and denominator of one channel as expressions, the highest power first."""
        made: System = imported("studies.control.symbolic_transfer", "symbolic_transfer")(self.motion(), input, output)
        return made

    def motion(self) -> System:
        """The state equations with these matrices as a System."""
        made: System = imported("bondgraph.equations.state_equations", "as_system")(self.equations)
        return made

    def second_order(self, of: str = "displacement") -> SecondOrder:
        """M x'' + R x' + K x = B u + J (integral of u), in displacements of I elements or impulses of C elements."""
        return second_order(self.equations, of)

    def __repr__(self) -> str:
        sizes = f"{len(self.states)} states, {len(self.inputs)} inputs, {len(self.outputs)} outputs"
        return f"Matrices of {self.graph.name}: {sizes}"


def matrices(graph: BondGraph, variables: str = "energy", first: Sequence[str] = ()) -> Matrices:
    """A, B, C, D of a linear graph; one with a nonlinear law, or moduli that move, is refused: linearise its System."""
    word_argument("variables", variables, ("energy", "coenergy"))
    made = write_equations(graph, (), first)
    if variables == "coenergy":
        made = in_coenergies(made)
    return matrices_of(made)


def matrices_of(made: StateEquations) -> Matrices:
    """Jacobians of written equations, which must not depend on the state."""
    graph = made.graph
    dots = {n: s for n, s in made.inputs.items() if n.endswith("_dot") and n[:-4] in made.inputs}
    inputs = {n: s for n, s in made.inputs.items() if n not in dots}
    x, u = list(made.x.values()), list(inputs.values())
    rates, y = list(made.rates.values()), list(made.outputs.values())
    A, B, C, D = (slopes(f, v) for f in (rates, y) for v in (x, u))
    if any(dots[d] in set(free_symbols(rates)) for d in dots):
        raise _moving(graph, "rates of sources enter by factors that are not constant")
    wanted = [dots.get(f"{n}_dot") for n in inputs]
    D1 = np.full((len(y), len(u)), 0, dtype=object)
    for k, d in enumerate(wanted):
        if d is not None:
            D1[:, k : k + 1] = slopes(y, [d])
    everything = [n for m in (A, B, C, D, D1) for n in m.flat if isinstance(n, Node)]
    moving = [s for s in free_symbols(everything) if s.data.role != "parameter"]
    if moving:
        raise _moving(graph, f"the equations are not linear in {moving[0].data.name!r}, or it moves their coefficients")
    if any(not is_zero(c) for c in _at_rest([*rates, *y], [*x, *made.inputs.values()], graph)):
        raise _moving(graph, "the equations have a constant part")
    A, B, C, D, D1 = (cleaned(m, graph.graph) for m in (A, B, C, D, D1))
    kinds = {p.label: p.kind for p in made.structure.groups["source"]}
    return Matrices(
        graph, made, A, B, C, D, D1, tuple(made.x), tuple(inputs), tuple(made.outputs), tuple(kinds[n] for n in inputs)
    )


def _moving(graph: BondGraph, why: str) -> ModelError:
    return ModelError(f"{graph.name} has no constant matrices: {why}. Take graph.system() and linearise it at a point.")


def _at_rest(nodes: Sequence[Node], symbols: Sequence[Node], graph: BondGraph) -> list[Node]:
    still = substitute(list(nodes), dict.fromkeys(symbols, graph.graph.zero))
    found = residues(still, graph.graph)
    return [n for n, r in zip(still, found) if r]


def _numbers(matrix: np.ndarray, given: Mapping[str, float], graph: BondGraph) -> np.ndarray:
    from symbody.model.record.numbers import numbers_of

    unknown = sorted(set(given) - set(graph.parameters))
    if unknown:
        raise ModelError(f"{graph.name} has no parameter {unknown[0]!r}.")
    if not matrix.size:
        return np.zeros(matrix.shape)
    found = numbers_of(matrix, given)
    if found is None:
        open_ones = sorted(
            {s.data.name for s in free_symbols(matrix.flat) if s.data.default is None and s.data.name not in given}
        )
        raise ModelError(f"{graph.name} needs numbers for {', '.join(open_ones)}: give parameters={{name: value}}.")
    return found
