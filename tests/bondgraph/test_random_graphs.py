"""Random graphs: equations against the implicit junction equations, structural ranks against numbers, power."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from helpers.random_bond_graphs import defaults, random_graph, response
from symbody.bondgraph.causality.scalars import residues
from symbody.mechanics.proof.modular import rank

QUICK, SLOW, PIECES = 50, 95, 10  # graphs: 50 + 95 * 10 = 1000


def graphs(first: int, count: int):
    """So many graphs with states, from this seed on; what is refused (a conflict of sources) is left out."""
    seeds = itertools.count(first)
    while count:
        seed = next(seeds)
        graph = random_graph(seed)
        if graph is not None and graph.of_kind("I", "C"):
            count -= 1
            yield seed, graph


def check_equations(graph) -> None:
    """The transfer matrix of A, B, C, D is that of all efforts and flows solved together."""
    m = graph.matrices().numbers()
    for s in (0.3 + 0.7j, -0.9 + 1.6j):
        ours = m.C @ np.linalg.solve(s * np.eye(len(m.A)) - m.A, m.B) + m.at_once(s)
        theirs, power = response(graph, s, defaults(graph))
        scale = 1 + np.abs(theirs).max(initial=0)
        assert np.abs(ours - theirs).max(initial=0) < 1e-8 * scale
        assert np.abs(power).max(initial=0) < 1e-9 * scale**2


def check_ranks(graph, seed: int) -> None:
    """Structural ranks are those at random parameters; engines agree, or the difference has its known reason."""
    found = graph.analysis(expand=False)
    rng = np.random.default_rng(seed)
    numbers = {n: rng.uniform(0.5, 2) for n in graph.parameters}
    m = graph.matrices().numbers(numbers)
    n = len(m.A)
    matrices = {"A": m.A, "[A B]": np.hstack([m.A, m.B]), "[A; C]": np.vstack([m.A, m.C]), "B": m.B, "C": m.C}
    for name, matrix in matrices.items():
        sizes = np.linalg.svd(matrix, compute_uv=False) if matrix.size else np.zeros(0)
        assert (sizes > 1e-9 * max(1.0, sizes.max(initial=0))).sum() == found.ranks[name].value, name
        assert found.ranks[name].term >= found.ranks[name].value
    for name in ("A", "[A B]", "[A; C]"):
        assert found.ranks[name].agreed, found.ranks[name]
    eigenvalues = np.linalg.eigvals(m.A) if n else np.zeros(0)
    assert (np.abs(eigenvalues) < 1e-5).sum() >= found.ranks["A"].rows - found.ranks["A"].value
    assert not found.disagreements, found.disagreements
    assert found.kalman.both + found.kalman.controllable + found.kalman.observable + found.kalman.neither == n


def check_power(graph, seed: int) -> None:
    """The junction structure neither makes nor takes power, whatever its ports are given."""
    structure = graph.structure()
    ports = [p for group in structure.groups.values() for p in group]
    rng = np.random.default_rng(seed)
    given = {p.index: int(rng.integers(1, 10**9)) for p in ports}
    total = 0
    for p in ports:
        answer = sum(value.r * given[k] for k, value in structure.entries[p.index].items())
        total += (-1 if p.kind in ("Se", "Sf") else 1) * given[p.index] * answer
    assert total % (2**61 - 1) == 0


def check(seed: int, graph) -> None:
    check_equations(graph)
    check_ranks(graph, seed)
    check_power(graph, seed)


def test_fifty_random_graphs():
    for seed, graph in graphs(0, QUICK):
        check(seed, graph)


@pytest.mark.slow
@pytest.mark.parametrize("piece", range(1, PIECES + 1))
def test_a_thousand_random_graphs(piece):
    """With the fifty: up to 60 elements, of every size between."""
    sizes = set()
    for seed, graph in graphs(1000 * piece, SLOW):
        check(seed, graph)
        sizes.add(len(graph.elements))
    assert min(sizes) < 16
    assert max(sizes) > 50


def test_the_symbolic_equations_are_those_of_the_thesis_modulo_a_prime():
    """Two transcriptions: derivatives of the state equations, and (II.1.4) from blocks of S."""
    from symbody.bondgraph.structure.sample import sample_of

    for _, graph in graphs(0, 20):
        m, s = graph.matrices(), sample_of(graph)
        for name in "ABCD":
            ours = np.array(residues(list(getattr(m, name).flat), graph.graph), dtype=object)
            assert (ours.reshape(getattr(s, name).shape) == getattr(s, name)).all(), (graph.name, name)
        assert rank(s.A) <= len(s.A)
