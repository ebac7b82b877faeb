"""The second-order form of a linear graph (thesis II.1.6-10): M x'' + R x' + K x = B u + J (integral of u).

x' are the co-energies z of one kind of storage, flows of I or efforts of C, w those of the other kind. Before dependent
storages are solved for, with H what junctions and resistors make of them,

    M z' = a z + b w + c u        W w' = d z + e w + h u        [a b; d e] = S11 + S13 N S31, [c; h] = S14 + S13 N S34

so that entries hold moduli once, as they are written by hand. Where e is not 0, w comes from z' through b.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from symbody.basics.errors import ModelError, word_argument
from symbody.bondgraph.causality.scalars import cleaned, residues
from symbody.bondgraph.equations.laws import products, slopes
from symbody.bondgraph.equations.losses import losses
from symbody.bondgraph.equations.state_equations import StateEquations, sources, with_signals
from symbody.bondgraph.equations.writing import Writing
from symbody.bondgraph.graph.bond_graph import BondGraph
from symbody.bondgraph.graph.flat import ScalarPort
from symbody.bondgraph.graph.symbols import coenergy_name, signal_symbol, state_name, state_symbol
from symbody.mechanics.proof.modular import rank
from symbody.symbolic.expr.arrays import is_zero, matmul
from symbody.symbolic.expr.lu import solve_lu
from symbody.symbolic.expr.pickling import Packed


@dataclass(frozen=True, eq=False)
class SecondOrder(Packed):
    """M x'' + R x' + K x = B u + J (integral of u).

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


def second_order(made: StateEquations, of: str = "displacement") -> SecondOrder:
    """The second-order form of written equations in energies; needs w from z' where e is not 0."""
    word_argument("of", of, ("displacement", "impulse"))
    own, other = ("I", "C") if of == "displacement" else ("C", "I")
    graph, ports = made.graph, made.structure.groups["integral"]
    z, w = [p for p in ports if p.kind == own], [p for p in ports if p.kind == other]
    if set(made.x) != {state_name(p) for p in ports} or not z:
        raise ModelError(
            f"{graph.name} has no second-order form in {of}s: expected energies as states, and {own} elements."
        )
    if made.shift:
        raise ModelError(f"{graph.name} has no second-order form: a source drives a dependent storage directly.")
    H, through, inputs = _before_storages(made, [*z, *w])
    n = len(z)
    a, b, d, e = H[:n, :n], H[:n, n:], H[n:, :n], H[n:, n:]
    c, h = through[:n], through[n:]
    mass = _inertia(made, [*z, *w])
    M, W = mass[:n, :n], mass[n:, n:]
    if not all(is_zero(v) for v in cleaned(mass[:n, n:], graph.graph).flat):
        raise ModelError(f"{graph.name} has no second-order form: a dependent storage is held by both kinds at once.")
    damping, stiffness, memory = a, matmul(b, _solve(W, d)), matmul(b, _solve(W, h))
    if not all(is_zero(v) for v in e.flat):
        turned = matmul(b, _solve(W, matmul(e, _left_inverse(b, graph))))
        damping, stiffness = a + matmul(turned, M), stiffness - matmul(turned, a)
        memory = memory - matmul(turned, c)
    found = (M, -damping, -stiffness, c, memory)
    M, R, K, B, J = (cleaned(np.asarray(x, dtype=object), graph.graph) for x in found)
    return SecondOrder(M, R, K, B, J, tuple(coenergy_name(p) for p in z), inputs)


def _before_storages(
    made: StateEquations, ports: Sequence[ScalarPort]
) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """[a b; d e] and [c; h]: what storages receive, by co-energies and by inputs; and the names of these."""
    w = Writing(made.graph, made.structure)
    sources(w)
    symbols = {p.index: signal_symbol(w.g, coenergy_name(p)) for p in ports}
    w.gives |= symbols
    for name in dict.fromkeys(p.element for p in ports):
        own = [p for p in ports if p.element == name]
        energies = products(made.graph.elements[name].matrix(len(own)), [symbols[p.index] for p in own])
        w.known |= {state_symbol(w.g, state_name(p)): x for p, x in zip(own, energies, strict=True)}
    losses(w)
    given = [*w.I, *w.R, *w.U]
    w.known |= {signal_symbol(w.g, p.label): w.received(p, given) for p in w.Y}
    received = with_signals(w, [w.received(p, given) for p in ports])
    by_inputs = slopes(received, list(w.inputs.values()))
    return cleaned(slopes(received, list(symbols.values())), w.g), cleaned(by_inputs, w.g), tuple(w.inputs)


def _inertia(made: StateEquations, ports: Sequence[ScalarPort]) -> np.ndarray:
    """Moduli of the storages, and S12 F_D^-1 S12^T, which dependent ones add."""
    s = made.structure
    out, late = _moduli(made.graph, ports), s.groups["derivative"]
    if late:
        order = [s.groups["integral"].index(p) for p in ports]
        push, bound = s.block("integral", "derivative")[order], s.block("derivative", "integral")[:, order]
        out = out - matmul(push, matmul(_moduli(made.graph, late), bound))
    return np.asarray(out, dtype=object)


def _moduli(graph: BondGraph, ports: Sequence[ScalarPort]) -> np.ndarray:
    out = np.full((len(ports), len(ports)), 0, dtype=object)
    for name in dict.fromkeys(p.element for p in ports):
        own = [k for k, p in enumerate(ports) if p.element == name]
        size = sum(b.dimension for b in graph.bonds_of(name))
        if len(own) != size:
            raise ModelError(f"{graph.name} has no second-order form: {name!r} is integral on some of its bonds only.")
        value = graph.elements[name].matrix(size)
        for i in own:
            for j in own:
                out[i, j] = value[ports[i].place, ports[j].place]
    return out


def _unit(n: int) -> np.ndarray:
    out = np.full((n, n), 0, dtype=object)
    for k in range(n):
        out[k, k] = 1
    return out


def _solve(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    if not len(matrix):
        return right
    n = len(matrix)
    if all(is_zero(matrix[i, j]) for i in range(n) for j in range(n) if i != j):
        return np.asarray(right / np.diag(matrix)[:, None], dtype=object)
    return np.asarray(solve_lu(matrix, right), dtype=object).reshape(right.shape)


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
