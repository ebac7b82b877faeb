"""Symbolic matrices of a linear graph: x' = A x + B u, y = C x + D u (thesis II.1.4), by blocks and in other forms.

Entries are exact derivatives of the state equations; what is zero is known to be zero modulo a prime, so that no hidden
zero is left. x are energies (p of I, q of C) or co-energies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from symbody.bondgraph.equations import Equations, in_coenergies, write_equations
from symbody.bondgraph.flat import ScalarPort
from symbody.bondgraph.modular import rank
from symbody.bondgraph.record import BondGraph, matrix_of
from symbody.bondgraph.scalars import residues
from symbody.errors import ModelError, word_argument
from symbody.expr.arrays import is_zero, matmul
from symbody.expr.derivative import jacobian
from symbody.expr.lu import solve_lu
from symbody.expr.node import Node
from symbody.expr.walk import free_symbols
from symbody.later import later
from symbody.system.system import System, node_array


@dataclass(frozen=True, eq=False)
class Matrices:
    """A (n, n), B (n, m), C (q, n), D (q, m), D1 (q, m) by the rates of inputs; arrays of expressions of parameters.

    states, inputs, outputs   names; input kinds "Se" or "Sf" beside them
    shift                     state -> expression of inputs that was subtracted from the energy, where a source drives a
                              dependent storage
    """

    graph: BondGraph
    equations: Equations
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
        made: Any = later("analyse.linear.state_space", "StateSpace")
        return made(**values, states=self.states, inputs=self.inputs, outputs=self.outputs)

    def to_control(self, parameters: Mapping[str, float] | None = None) -> Any:
        """A control.StateSpace of python-control."""
        return later("interop.control_bridge", "to_control")(self.numbers(parameters))

    def transfer(self, input: Any = 0, output: Any = 0) -> System:
        """Numerator and denominator of one channel as expressions, the highest power first."""
        made: System = later("analyse.control.symbolic_transfer", "symbolic_transfer")(self.motion(), input, output)
        return made

    def motion(self) -> System:
        """The state equations with these matrices as a System."""
        made: System = later("bondgraph.equations", "as_system")(self.equations)
        return made

    def second_order(self, of: str = "displacement") -> SecondOrder:
        """M x'' + R x' + K x = B u + J (integral of u), in displacements of I elements or impulses of C elements."""
        return second_order(self, of)

    def __repr__(self) -> str:
        sizes = f"{len(self.states)} states, {len(self.inputs)} inputs, {len(self.outputs)} outputs"
        return f"Matrices of {self.graph.name}: {sizes}"


@dataclass(frozen=True, eq=False)
class SecondOrder:
    """M x'' + R x' + K x = B u + J (integral of u) (thesis II.1.6-10).

    coordinates   names of x': the flows of I elements, or the efforts of C elements
    """

    M: np.ndarray
    R: np.ndarray
    K: np.ndarray
    B: np.ndarray
    J: np.ndarray
    coordinates: tuple[str, ...]
    inputs: tuple[str, ...]

    def phase(self) -> tuple[np.ndarray, np.ndarray]:
        """(A, B) of the phase form with state (x, x') and input (u, integral of u)."""
        n, m = len(self.coordinates), len(self.inputs)
        A = np.full((2 * n, 2 * n), 0, dtype=object)
        B = np.full((2 * n, 2 * m), 0, dtype=object)
        for k in range(n):
            A[k, n + k] = 1
        if n:
            A[n:, :n] = -_solve(self.M, self.K)
            A[n:, n:] = -_solve(self.M, self.R)
            B[n:] = _solve(self.M, np.concatenate([self.B, self.J], axis=1))
        return A, B


def matrices(graph: BondGraph, variables: str = "energy", first: Sequence[str] = ()) -> Matrices:
    """A, B, C, D of a linear graph; one with a nonlinear law, or moduli that move, is refused: linearise its System."""
    word_argument("variables", variables, ("energy", "coenergy"))
    made = write_equations(graph, (), first)
    if variables == "coenergy":
        made = in_coenergies(made)
    return matrices_of(made)


def matrices_of(made: Equations) -> Matrices:
    """Jacobians of written equations, which must not depend on the state."""
    graph = made.graph
    dots = {n: s for n, s in made.inputs.items() if n.endswith("_dot") and n[:-4] in made.inputs}
    inputs = {n: s for n, s in made.inputs.items() if n not in dots}
    x, u = list(made.x.values()), list(inputs.values())
    rates, y = list(made.rates.values()), list(made.outputs.values())
    A, B, C, D = (_jacobian(f, v) for f in (rates, y) for v in (x, u))
    if any(dots[d] in set(free_symbols(rates)) for d in dots):
        raise _moving(graph, "rates of sources enter by factors that are not constant")
    wanted = [dots.get(f"{n}_dot") for n in inputs]
    D1 = np.full((len(y), len(u)), 0, dtype=object)
    for k, d in enumerate(wanted):
        if d is not None:
            D1[:, k : k + 1] = _jacobian(y, [d])
    everything = [n for m in (A, B, C, D, D1) for n in m.flat if isinstance(n, Node)]
    moving = [s for s in free_symbols(everything) if s.data.role != "parameter"]
    if moving:
        raise _moving(graph, f"the equations are not linear in {moving[0].data.name!r}, or it moves their coefficients")
    if any(not is_zero(c) for c in _at_rest([*rates, *y], [*x, *made.inputs.values()], graph)):
        raise _moving(graph, "the equations have a constant part")
    A, B, C, D, D1 = (_cleaned(m, graph) for m in (A, B, C, D, D1))
    kinds = {p.label: p.kind for p in made.structure.groups["source"]}
    return Matrices(
        graph, made, A, B, C, D, D1, tuple(made.x), tuple(inputs), tuple(made.outputs), tuple(kinds[n] for n in inputs)
    )


def _moving(graph: BondGraph, why: str) -> ModelError:
    return ModelError(f"{graph.name} has no constant matrices: {why}. Take graph.system() and linearise it at a point.")


def _at_rest(nodes: Sequence[Node], symbols: Sequence[Node], graph: BondGraph) -> list[Node]:
    from symbody.expr.walk import substitute

    still = substitute(list(nodes), dict.fromkeys(symbols, graph.graph.zero))
    found = residues(still, graph.graph)
    return [n for n, r in zip(still, found) if r]


def _jacobian(f: Sequence[Node], x: Sequence[Node]) -> np.ndarray:
    if not f or not x:
        return np.full((len(f), len(x)), 0, dtype=object)
    made: np.ndarray = np.asarray(jacobian(f, x), dtype=object).reshape(len(f), len(x))
    return made


def _cleaned(matrix: np.ndarray, graph: BondGraph) -> np.ndarray:
    """Entries that are zero modulo the prime as zeros; all of them nodes."""
    nodes = node_array(matrix, graph.graph)
    for k, r in zip(np.ndindex(nodes.shape), residues(list(nodes.flat), graph.graph)):
        if not r:
            nodes[k] = graph.graph.zero
    return nodes


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


# -- second order


def second_order(m: Matrices, of: str = "displacement") -> SecondOrder:
    """The second-order form; needs q from p' where displacements have rates of their own (A_qq not 0)."""
    word_argument("of", of, ("displacement", "impulse"))
    own, other = ("I", "C") if of == "displacement" else ("C", "I")
    groups, graph = m.equations.structure.groups, m.graph
    letters = {"I": "p", "C": "q"}
    p = [k for k, n in enumerate(m.states) if n.startswith(f"{letters[own]}_")]
    q = [k for k, n in enumerate(m.states) if n.startswith(f"{letters[other]}_")]
    if len(p) + len(q) != len(m.states) or not p:
        raise ModelError(
            f"{graph.name} has no second-order form in {of}s: expected energies as states, and {own} elements."
        )
    if m.shift:
        raise ModelError(f"{graph.name} has no second-order form: a source drives a dependent storage directly.")
    ports = [s for s in groups["integral"] if s.kind == own]
    inverse = _moduli(graph, ports)  # Z^-1: energies of co-energies
    mass = inverse + _carried(m, ports, own)
    a, b, c = m.A[np.ix_(p, p)], m.A[np.ix_(p, q)], m.B[p]
    d, e, h = m.A[np.ix_(q, p)], m.A[np.ix_(q, q)], m.B[q]
    damping, stiffness, through, memory = a, matmul(b, d), c, matmul(b, h)
    if any(not is_zero(x) for x in e.flat):
        back = _left_inverse(b, graph)
        turned = matmul(b, matmul(e, back))
        damping = a + turned
        stiffness = stiffness - matmul(turned, a)
        memory = memory - matmul(turned, c)
    # p = inverse v and E v' = ... with mass = E inverse
    scale = matmul(mass, _solve(inverse, _unit(len(p))))
    made = [
        mass, -matmul(scale, matmul(damping, inverse)), -matmul(scale, matmul(stiffness, inverse)),
        matmul(scale, through), matmul(scale, memory),
    ]  # fmt: skip
    M, R, K, B, J = (_cleaned(np.asarray(x, dtype=object), graph) for x in made)
    z = "f" if own == "I" else "e"
    return SecondOrder(M, R, K, B, J, tuple(f"{z}_{s.label}" for s in ports), m.inputs)


def _moduli(graph: BondGraph, ports: Sequence[ScalarPort]) -> np.ndarray:
    out = np.full((len(ports), len(ports)), 0, dtype=object)
    for name in dict.fromkeys(p.element for p in ports):
        own = [k for k, p in enumerate(ports) if p.element == name]
        value = matrix_of(graph.elements[name].value, len(graph.bonds_of(name)) if len(own) == 1 else len(own))  # type: ignore[arg-type]
        size = max(ports[k].place for k in own) + 1
        if value.shape[0] != len(own) and size != len(own):
            raise ModelError(f"{graph.name} has no second-order form: {name!r} is integral on some of its bonds only.")
        for i in own:
            for j in own:
                out[i, j] = value[ports[i].place, ports[j].place]
    return out


def _carried(m: Matrices, ports: Sequence[ScalarPort], own: str) -> np.ndarray:
    """What dependent storages add to the inertia: S12 F_D^-1 S12^T of those of the same kind."""
    s = m.equations.structure
    late = s.groups["derivative"]
    if not late:
        return np.full((len(ports), len(ports)), 0, dtype=object)
    rows = [k for k, p in enumerate(s.groups["integral"]) if p.kind == own]
    push, bound = s.block("integral", "derivative")[rows], s.block("derivative", "integral")[:, rows]
    made: np.ndarray = np.asarray(-matmul(push, matmul(_moduli(m.graph, late), bound)), dtype=object)
    return made


def _unit(n: int) -> np.ndarray:
    out = np.full((n, n), 0, dtype=object)
    for k in range(n):
        out[k, k] = 1
    return out


def _solve(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    made: np.ndarray = np.asarray(solve_lu(matrix, right), dtype=object).reshape(right.shape)
    return made


def _left_inverse(b: np.ndarray, graph: BondGraph) -> np.ndarray:
    """b^+ with b^+ b = 1."""
    n = b.shape[1]
    values = np.array(residues(list(b.flat), graph.graph), dtype=object).reshape(b.shape)
    if rank(values) < n:
        raise ModelError(
            f"{graph.name} has no second-order form in these variables: the other storages lose energy by themselves, "
            "and cannot be found from the accelerations. Take the other variables."
        )
    if b.shape[0] == n:
        return _solve(b, _unit(n))
    made: np.ndarray = np.asarray(_solve(matmul(b.T, b), b.T), dtype=object)
    return made
