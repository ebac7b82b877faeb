"""Structural analysis: the examples of the thesis, and cases whose answers are known by hand."""

from __future__ import annotations

import numpy as np
import pytest

from symbody.bondgraph.graph.bond_graph import BondGraph


def supports(found) -> set[frozenset[str]]:
    return {frozenset(r.states) for r in found}


def test_the_structural_example_of_the_thesis():
    """Section 4.2 (T7): t = 2, rank A 4, [A B] 6, each source alone 5; the relations {I1, I4} and {I2, I3, I4}."""
    a = BondGraph.load("four_inertias").analysis()
    assert a.assignments.t == 2
    assert a.assignments.ts == 0
    assert a.zero_eigenvalues == 2
    assert (a.ranks["A"].value, a.ranks["[A B]"].value) == (4, 6)
    assert all(r.agreed for r in a.ranks.values())
    assert a.controllable
    assert a.assignments.by_sources.dualised == ("u1", "u2")
    assert supports(a.bound) == {frozenset(s) for s in (("I1", "I4"), ("I1", "I2", "I3"), ("I2", "I3", "I4"))}
    assert supports(a.by_source["u2"]) == {frozenset(("I1", "I4"))}
    assert supports(a.by_source["u1"]) == {frozenset(("I1", "I2", "I3", "I4"))}
    assert [m.alone for m in a.sources.members] == [5, 5]
    assert all(m.necessary and m.lost == 1 for m in a.sources.members)
    assert a.sources.minimal == (("u1", "u2"),)
    assert a.sources.least == 2
    assert a.observable
    assert not a.disagreements


def test_the_rank_stays_where_the_thesis_says_it_falls():
    """With a = 1 the thesis reports rank 2; the matrix of section 4.2 keeps rank 4 (its figure is lost)."""
    m = BondGraph.load("four_inertias").matrices().numbers({"a": 1.0})
    assert np.linalg.matrix_rank(m.A) == 4


def test_term_rank_does_not_see_that_two_inertias_share_a_resistor():
    """E1 (T8): term rank 2, true rank 1, a zero eigenvalue."""
    b = BondGraph.builder("shared")
    b.element("L1", "I"), b.element("L2", "I"), b.element("R", "R"), b.zero("n"), b.one("a", "c")
    b.bonds("a -> L1", "a -> n", "n -> c -> L2", "n -> R")
    a = b.done().analysis()
    assert a.ranks["A"].value == 1
    assert a.ranks["A"].term == 2
    assert a.ranks["A"].agreed
    assert a.zero_eigenvalues == 1
    assert supports(a.bound) == {frozenset(("L1", "L2"))}
    assert "does not see relations" in str(a)


def two_inertias(*detectors: str) -> BondGraph:
    """Two inertias on one spring, driven at both: E6's family."""
    b = BondGraph.builder("pair")
    b.element("u1", "Se"), b.element("u2", "Se"), b.one("v1", "v2"), b.zero("z")
    b.element("I1", "I"), b.element("I2", "I"), b.element("C", "C")
    b.bonds("u1 -> v1 -> I1", "v1 -> z -> C", "z -> v2 -> I2", "u2 -> v2")
    for k, on in enumerate(detectors):
        b.element(f"y{k + 1}", "De" if on == "z" else "Df", on=on)
    return b.done()


def test_two_outputs_of_two_inertias_follow_any_courses_and_two_of_one_do_not():
    a = two_inertias("v1", "v2").analysis()
    assert a.output_controllable
    assert a.functional
    assert a.zeros.infinite == (1, 1)
    twice = two_inertias("v1", "v1").analysis()
    assert not twice.output_controllable
    assert not twice.functional
    assert "repeat each other" in twice.refused[0]
    assert [m.redundant for m in twice.detectors.members] == [True, True]


def test_zeros_are_those_of_the_transfer_function():
    """Force to the velocity of the same mass: a zero at the frequency of the other one, and one at 0."""
    b = BondGraph.builder("zeros")
    b.element("u", "Se"), b.one("v1", "v2"), b.zero("z")
    b.element("I1", "I", 1.0), b.element("I2", "I", 2.0), b.element("C", "C", 0.5)
    b.bonds("u -> v1 -> I1", "v1 -> z -> C", "z -> v2 -> I2")
    b.element("y", "Df", on="v1")
    graph = b.done()
    a = graph.analysis()
    assert (a.zeros.finite, a.zeros.at_zero, a.zeros.infinite) == (2, 0, (1,))
    control = pytest.importorskip("control")
    zeros = control.zeros(graph.matrices().to_control())
    assert np.allclose(np.sort_complex(zeros), [-1j, 1j])
    far = BondGraph.load("mass_chain").analysis()
    assert far.zeros.infinite == (4,)
    assert far.zeros.finite == far.zeros.at_zero == 1


def test_an_uncontrollable_part_is_named():
    """A circuit beside another, with a source in one of them only."""
    b = BondGraph.builder("apart")
    b.element("u", "Se"), b.one("a", "c")
    b.element("L1", "I"), b.element("R1", "R"), b.element("L2", "I"), b.element("C2", "C")
    b.bonds("u -> a -> L1", "a -> R1", "c -> L2", "c -> C2")
    b.element("y", "Df", on="c")
    a = b.done().analysis()
    assert not a.controllable
    assert a.uncontrollable == ("L2", "C2")
    assert a.unobservable == ("L1",)
    assert (a.kalman.both, a.kalman.controllable, a.kalman.observable, a.kalman.neither) == (0, 1, 2, 0)
    assert a.kalman.states == {"L1": "controllable", "L2": "observable", "C2": "observable"}
    assert not a.disagreements


def test_the_condition_of_a_verdict_is_a_factored_polynomial():
    """Two equal circuits in parallel on one source are not controllable: L1 R2 = L2 R1."""
    pytest.importorskip("sympy")
    b = BondGraph.builder("twins")
    b.element("u", "Se"), b.zero("n"), b.one("a", "c")
    for k, j in ((1, "a"), (2, "c")):
        b.element(f"L{k}", "I"), b.element(f"R{k}", "R")
        b.bonds(f"{j} -> L{k}", f"{j} -> R{k}")
    b.bonds("u -> n -> a", "n -> c")
    graph = b.done()
    (condition,) = [c for c in graph.analysis().conditions if c.verdict == "controllable"]
    assert condition.factors in (("L1*R2 - L2*R1",), ("-L1*R2 + L2*R1",))
    assert not condition.open
    from symbody.studies.control.controllability import controllability

    equal = graph.matrices().numbers({"L1": 1.0, "R1": 2.0, "L2": 3.0, "R2": 6.0})
    other = graph.matrices().numbers({"L1": 1.0, "R1": 2.0, "L2": 3.0, "R2": 5.0})
    assert controllability(equal).rank == 1
    assert controllability(other).rank == 2


def test_a_minor_that_vanishes_alone_is_no_failure():
    """Where I3 c + I4 (a - 1) = 0 one choice of columns fails and another does not: the pair stays controllable."""
    pytest.importorskip("sympy")
    graph = BondGraph.load("four_inertias")
    (condition,) = [c for c in graph.analysis().conditions if c.verdict == "controllable"]
    assert condition.factors == ()
    assert condition.special == ("I3*c + I4*a - I4",)
    from symbody.studies.control.controllability import controllability

    values = {n: p.data.default for n, p in graph.parameters.items()}
    values["I4"] = -values["I3"] * values["c"] / (values["a"] - 1)
    assert controllability(graph.matrices().numbers(values)).complete


def test_a_loop_of_gain_one_is_reported_and_the_rank_accounts_for_it():
    """Two equal ways between two 1-junctions: in derivative causality a loop of gain 1 remains among the junctions."""
    b = BondGraph.builder("gain")
    b.one("a", "c"), b.zero("p", "q")
    b.element("C1", "C"), b.element("C2", "C"), b.element("I1", "I"), b.element("I2", "I")
    b.bonds("a -> p -> c", "a -> q -> c", "p -> C1", "q -> C2", "a -> I1", "c -> I2")
    graph = b.done()
    a = graph.analysis(expand=False)
    m = graph.matrices().numbers({"C1": 1.0, "C2": 2.0, "I1": 3.0, "I2": 5.0})
    assert np.linalg.matrix_rank(m.A) == a.ranks["A"].value == 2
    assert a.ranks["A"].agreed
    (loop, *_) = a.unsolvable
    assert not loop.solvable
    assert loop.gain.data == 1
    assert "cannot be solved" in str(loop)


def test_two_hundred_elements_are_analysed():
    b = BondGraph.builder("long")
    b.element("F", "Se")
    for k in range(1, 35):
        b.one(f"v{k}"), b.element(f"m{k}", "I"), b.bond(f"v{k}", f"m{k}")
        b.bond("F" if k == 1 else f"z{k - 1}", f"v{k}")
        if k < 34:
            b.zero(f"z{k}"), b.one(f"s{k}"), b.element(f"k{k}", "C"), b.element(f"d{k}", "R")
            b.bonds(f"v{k} -> z{k} -> s{k} -> k{k}", f"s{k} -> d{k}")
    b.element("y", "Df", on="m34")
    graph = b.done()
    assert len(graph.elements) > 200
    a = graph.analysis()
    assert a.controllable
    assert a.ranks["A"].value == 66
    assert a.zero_eigenvalues == 1
    assert [c.verdict for c in a.conditions] == [
        "controllable",
        "observable",
    ]  # modular, and it says so
    assert "holds at random values modulo a prime" in str(a)
    assert not a.disagreements


def test_indices_by_hand():
    """Chain of four storages from a force at its end: one more state at every power of A."""
    a = BondGraph.load("mass_chain").analysis()
    assert (a.reached.index, a.reached.paths) == (5, 5)
    assert a.digraph()["u"] == ["q_C1"]
    assert set(a.digraph()["p_I1"]) == {"q_C1", "q_C3"}


def test_sources_that_signals_feed_back_are_part_of_the_loop():
    """u = -k q of the spring drives a mass: no zero eigenvalue is left, and only the free source can be used."""
    b = BondGraph.builder("closed")
    b.one("v", "w"), b.zero("z"), b.element("m", "I"), b.element("n", "I"), b.element("c", "C"), b.element("F", "Se")
    b.parameter("k"), b.element("u", "Se", "-k*q_c - k*speed"), b.element("speed", "Df", on="v")
    b.bonds("F -> v -> m", "v -> z -> w -> n", "z -> c", "u -> w")
    a = b.done().analysis()
    assert a.zero_eigenvalues == 0
    assert a.bound == []
    assert [m.name for m in a.sources.members] == ["F"]
    assert a.controllable
    assert a.sample.fed == ("u",)
    assert not a.disagreements
    m = a.graph.matrices().numbers({"m": 1.0, "n": 2.0, "c": 0.5, "k": 3.0})
    assert np.linalg.matrix_rank(m.A) == a.ranks["A"].value == 3
    c = BondGraph.builder("alone")
    c.one("v"), c.element("m", "I", 2.0), c.element("u", "Se", "-3*speed"), c.element("speed", "Df", on="v")
    c.bonds("u -> v -> m")
    found = c.done().analysis()
    assert not found.controllable
    assert found.uncontrollable == ("m",)
    assert found.observable
