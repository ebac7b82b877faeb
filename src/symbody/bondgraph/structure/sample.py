"""A linear graph at a random point of its parameters, modulo a prime: exact ranks without symbols.

The matrices follow the thesis (II.1.4) from the blocks of S and the moduli of the elements, a second transcription
beside the symbolic equations:

    E = 1 - S12 F_D^-1 S21 F_I        N = L (1 - S33 L)^-1
    A = E^-1 (S11 + S13 N S31) F_I    B = E^-1 (S14 + S13 N S34)    C, D likewise

A nonlinear law counts as its tangent, any modulus; so does a switch. Elements that share a parameter keep the relation.
Sources that are fed back by signals are no inputs: A, B, C, D are tangents of the state equations then; blocks of S,
which do not know signals, say nothing of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from symbody.basics.errors import ModelError
from symbody.bondgraph.causality.causality import granted, prepare
from symbody.bondgraph.causality.relation import solved
from symbody.bondgraph.causality.scalars import residues
from symbody.bondgraph.equations.laws import slopes
from symbody.bondgraph.equations.state_equations import write_equations
from symbody.bondgraph.graph.bond_graph import DETECTORS, SOURCES, BondGraph
from symbody.bondgraph.graph.flat import ScalarPort, is_loss
from symbody.bondgraph.graph.symbols import state_name
from symbody.mechanics.proof.modular import product, solution
from symbody.mechanics.proof.prime_field import P, draw
from symbody.symbolic.expr.walk import free_symbols

Matrices = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class Sample:
    """Residues of S by blocks and of A, B, C, D; ports by group in their order.

    blocks   (group, group) -> residues; groups "x" (integral), "d" (derivative), "r" (losses), "u" (sources), "y"
    loss     (out, into): out d_out + into d_in = 0, the laws of the losses
    fed      sources that signals feed back; empty: A, B, C, D follow from the blocks
    """

    graph: BondGraph
    ports: dict[str, tuple[ScalarPort, ...]]
    blocks: Mapping[tuple[str, str], np.ndarray]
    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    loss: tuple[np.ndarray, np.ndarray]
    fed: tuple[str, ...] = ()

    def labels(self, group: str) -> tuple[str, ...]:
        return tuple(p.label for p in self.ports[group])


def sample_of(graph: BondGraph, seed: Any = 0) -> Sample:
    """The graph at the point of this seed."""
    ready = prepare(graph, seed)
    choice = granted(ready, "integral")
    entries = solved(ready.relation, choice.gives)
    groups: dict[str, tuple[ScalarPort, ...]] = {
        "x": tuple(p for p in ready.ports if p.is_storage and choice.gives[p.index] == p.natural),
        "d": tuple(p for p in ready.ports if p.is_storage and choice.gives[p.index] != p.natural),
        "r": tuple(p for p in ready.ports if is_loss(p)),
        "u": tuple(p for p in ready.ports if p.kind in SOURCES),
        "y": tuple(p for p in ready.ports if p.kind in DETECTORS),
    }
    places = {g: {p.index: k for k, p in enumerate(ports)} for g, ports in groups.items()}
    home = {p.index: g for g, ports in groups.items() for p in ports}
    blocks = {(a, b): np.full((len(groups[a]), len(groups[b])), 0, dtype=object) for a in groups for b in groups}
    for row, entry in entries.items():
        for column, value in entry.items():
            a, b = home[row], home[column]
            blocks[a, b][places[a][row], places[b][column]] = value.r
    moduli = _moduli(graph, ready.ports, seed)
    loss, fed = _laws(groups["r"], moduli, choice.gives), fed_back(graph)
    if not fed:
        return Sample(graph, groups, blocks, *_matrices(graph, groups, blocks, moduli, choice.gives), loss)
    kept = [k for k, p in enumerate(groups["u"]) if p.element not in fed]
    groups["u"] = tuple(groups["u"][k] for k in kept)
    blocks |= {(a, "u"): blocks[a, "u"][:, kept] for a in groups}
    blocks |= {("u", a): blocks["u", a][kept if a != "u" else slice(None)] for a in groups}
    return Sample(graph, groups, blocks, *_tangents(graph, groups, seed), loss, fed)


def fed_back(graph: BondGraph) -> tuple[str, ...]:
    """Sources whose values read states, detectors, inputs: all but parameters and time."""
    reads = {e.name: free_symbols(e.value.flat) for e in graph.of_kind(*SOURCES) if e.value is not None}
    return tuple(n for n, found in reads.items() if any(s.data.role not in ("parameter", "time") for s in found))


def _tangents(graph: BondGraph, groups: Mapping[str, Sequence[ScalarPort]], seed: Any) -> Matrices:
    """A, B, C, D at a random state, by the derivatives of the state equations."""
    made = write_equations(graph)
    if graph.integrals:
        raise ModelError(
            f"{graph.name} feeds signals back and has the integral {graph.integrals[0].name!r}; its structure is not "
            "analysed. Leave the sources as inputs, or linearise graph.system()."
        )
    x = [made.x[state_name(p)] for p in groups["x"]]
    u = [made.inputs.get(p.label) for p in groups["u"]]
    rows = ([made.rates[state_name(p)] for p in groups["x"]], [made.outputs[p.label] for p in groups["y"]])
    out: list[np.ndarray] = []
    for f in rows:
        for symbols in (x, [s for s in u if s is not None]):
            slope = slopes(f, symbols)
            found = residues([graph.graph.zero + v for v in slope.flat], graph.graph, seed)
            out.append(np.array(found, dtype=object).reshape(slope.shape))
    given = [k for k, s in enumerate(u) if s is not None]
    for k in (1, 3):  # a source of fixed value acts on nothing here
        wide = np.full((len(out[k]), len(u)), 0, dtype=object)
        wide[:, given] = out[k]
        out[k] = wide
    A, B, C, D = out
    return A, B, C, D


def _moduli(graph: BondGraph, ports: Sequence[ScalarPort], seed: Any) -> dict[str, np.ndarray]:
    """element -> residues of its modulus as a matrix: p/f, q/e, e/f."""
    own = {p.element: sum(q.element == p.element for q in ports) for p in ports if p.is_storage or is_loss(p)}
    nodes = {
        n: e.matrix(k)
        for n, k in own.items()
        if (e := graph.elements[n]).value is not None and e.kind in ("I", "C", "R")
    }
    flat = [x for m in nodes.values() for x in m.flat]
    values = iter(residues(flat, graph.graph, seed))
    out = {n: np.array([next(values) for _ in m.flat], dtype=object).reshape(m.shape) for n, m in nodes.items()}
    for n, k in own.items():  # a tangent that nothing is known of
        if n not in out:
            out[n] = np.array([[draw(seed, "modulus", n, i, j) for j in range(k)] for i in range(k)], dtype=object)
    return out


def _spread(ports: Sequence[ScalarPort], moduli: Mapping[str, np.ndarray]) -> np.ndarray:
    """One matrix over ports from those of their elements."""
    out = np.full((len(ports), len(ports)), 0, dtype=object)
    for i, p in enumerate(ports):
        for j, q in enumerate(ports):
            if p.element == q.element:
                out[i, j] = moduli[p.element][p.place, q.place]
    return out


def _unit(n: int) -> np.ndarray:
    out = np.full((n, n), 0, dtype=object)
    for k in range(n):
        out[k, k] = 1
    return out


def _matrices(
    graph: BondGraph,
    groups: Mapping[str, Sequence[ScalarPort]],
    s: Mapping[tuple[str, str], np.ndarray],
    moduli: Mapping[str, np.ndarray],
    gives: Sequence[str],
) -> Matrices:
    """A, B, C, D; rates of sources that drive dependent storages are removed by x* = x - b u."""
    x, d, r = groups["x"], groups["d"], groups["r"]
    n, nu = len(x), len(groups["u"])
    try:
        F = solution(_spread([*x, *d], moduli), _unit(n + len(d)))
        # z_d = F_dx x + F_dd x_d = s_dx z_x + s_du u   =>   x_d = T x + T_u u
        left = (F[n:, n:] - product(s["d", "x"], F[:n, n:])) % P
        T = solution(left, (product(s["d", "x"], F[:n, :n]) - F[n:, :n]) % P)
        Tu = solution(left, s["d", "u"])
        Z = (F[:n, :n] + product(F[:n, n:], T)) % P
        Zu = product(F[:n, n:], Tu)
        out, into = _laws(r, moduli, gives)
        N = solution((out + product(into, s["r", "r"])) % P, (-into) % P)  # d_in = given + S33 d_out
        E = (_unit(n) - product(s["x", "d"], T)) % P
        # rates of sources are taken out by x* = x - b u
        b = solution(E, product(s["x", "d"], Tu))
        inner = (s["x", "x"] + product(s["x", "r"], product(N, s["r", "x"]))) % P
        A = solution(E, product(inner, Z))
        through = (s["x", "u"] + product(s["x", "r"], product(N, s["r", "u"])) + product(inner, Zu)) % P
        B = (solution(E, through) + product(A, b)) % P
    except ZeroDivisionError:
        raise ModelError(
            f"{graph.name} has no state equations: moduli of storages or resistors cancel whatever their values."
        ) from None
    seen = (s["y", "x"] + product(s["y", "r"], product(N, s["r", "x"]))) % P
    xd = product(s["y", "d"], T)
    C = (product(seen, Z) + product(xd, A)) % P
    D = (s["y", "u"] + product(s["y", "r"], product(N, s["r", "u"])) + product(seen, Zu) + product(C, b)) % P
    if xd.size:
        D = (D + product(xd, (B - product(A, b)) % P)) % P
    if not nu:
        B, D = np.full((n, 0), 0, dtype=object), np.full((len(groups["y"]), 0), 0, dtype=object)
    return A, B, C, D


def _laws(
    r: Sequence[ScalarPort], moduli: Mapping[str, np.ndarray], gives: Sequence[str]
) -> tuple[np.ndarray, np.ndarray]:
    """e = R f row by row, as out d_out + into d_in = 0: nothing is divided where a field is used both ways."""
    n = len(r)
    R = _spread(r, moduli)
    out, into = np.full((n, n), 0, dtype=object), np.full((n, n), 0, dtype=object)
    for i in range(n):  # row: e_i - sum R_ij f_j = 0
        for j, q in enumerate(r):
            e, f = (out, into) if gives[q.index] == "e" else (into, out)
            e[i, j] = (e[i, j] + (i == j)) % P
            f[i, j] = (f[i, j] - R[i, j]) % P
    return out, into
