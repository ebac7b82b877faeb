"""Graphs that are wrong: one sentence that names the bonds, and says what to do."""

from __future__ import annotations

import time

import pytest

from symbody.basics.errors import ModelError, NameLookupError, SymbodyError
from symbody.bondgraph.graph.bond_graph import BondGraph
from symbody.bondgraph.graph.graph_files import read_text


def built(*chains: str, **elements):
    b = BondGraph.builder("bad")
    for name, kind in elements.items():
        b.element(name, *(kind if isinstance(kind, tuple) else (kind,)))
    b.bonds(*chains)
    return b.done()


def refused(words: list[str], *chains: str, **elements) -> None:
    with pytest.raises(SymbodyError) as found:
        built(*chains, **elements).causality()
    text = str(found.value)
    assert all(word in text for word in words), text
    assert "\n" not in text


def test_two_sources_in_conflict():
    refused(["'u1' (Se) on bond 1 (u1 -> n)", "'u2' (Se) on bond 2 (u2 -> n)"],
            "u1 -> n", "u2 -> n", "n -> R", u1="Se", u2="Se", n="0", R="R")  # fmt: skip
    refused(["'i1' (Sf) on bond 1", "'i2' (Sf) on bond 2"],
            "i1 -> j", "i2 -> j", "j -> L", i1="Sf", i2="Sf", j="1", L="I")  # fmt: skip
    refused(["'v' (Se)", "'u' (Se)"], "u -> a -> T -> b -> R", "v -> a", u="Se", v="Se", a="0", T="TF", b="1", R="R")


def test_a_junction_with_one_bond():
    refused(["junction 'n' (0) has one bond, 1 (u -> n)"], "u -> n", u="Se", n="0")


def test_a_loop_of_junctions_without_elements():
    words = ["bonds 1 (a -> b), 2 (a -> b), 3 (a -> b)"]
    refused(words, "a -> b", "a -> b", "a -> b", a="0", b="1")
    refused(["loop of junctions", "(a -> b)", "(b -> c)", "(a -> c)"],
            "a -> b -> c", "a -> c", "a -> R", "c -> C", a="0", b="0", c="0", R="R", C="C")  # fmt: skip


def test_directions():
    refused(["bond 1 (L -> j)", "into the element"], "L -> j", "u -> j", L="I", j="1", u="Se")
    refused(["bond 1 (j -> u)", "away from a source"], "j -> u", "j -> L", L="I", j="1", u="Se")
    refused(["bonds 1 (j -> T), 2 (k -> T)", "both point into it"], "j -> T", "k -> T", "j -> L", "k -> C",
            T="TF", j="1", k="1", L="I", C="C")  # fmt: skip


def test_ends_and_counts():
    refused(["bond 1 (u -> x) ends at 'x'", "no element"], "u -> x", u="Se", y="0")
    refused(["'L' (I) has no bond"], "u -> R", u="Se", R="R", L="I")
    refused(["'T' (TF) has 1 bonds, 1 (u -> T)"], "u -> T", u="Se", T="TF")
    refused(["'u' (Se) has 2 bonds", "Put a junction between"], "u -> R", "u -> L", u="Se", R="R", L="I")
    refused(["begins and ends at the same element"], "j -> j", "u -> j", u="Se", j="0")


def test_detectors_that_would_stop_what_they_measure():
    refused(["detector 'y' (De) reads the effort at the 1-junction 'j' by bond 3 (j -> y)"],
            "u -> j -> L", "j -> y", u="Se", j="1", L="I", y="De")  # fmt: skip


def test_domains_and_units():
    b = BondGraph.builder("mixed")
    b.element("u", "Se", domain="electrical"), b.one("j"), b.element("m", "I", 1.0, domain="translation")
    b.bonds("u -> j -> m")
    with pytest.raises(
        ModelError, match=r"bond 2 \(j -> m\) is (translation|electrical) by .* and .* A TF or GY leads"
    ):
        b.done()
    b = BondGraph.builder("unit")
    b.element("u", "Se"), b.element("R", "R", 1.0, domain="electrical", unit="N s/m"), b.bonds("u -> R")
    with pytest.raises(ModelError, match="has the unit 'N s/m'; in the electrical domain it is 'ohm'"):
        b.done()
    b = BondGraph.builder("heat")
    b.element("u", "Sf", domain="thermal"), b.zero("n"), b.element("I", "I", 1.0, domain="thermal")
    b.bonds("u -> n -> I")
    with pytest.raises(ModelError, match="the domain thermal has none"):
        b.done()


def test_dimensions():
    b = BondGraph.builder("sizes")
    b.element("u", "Se"), b.one("j"), b.element("L", "I", 1.0)
    b.bond("u", "j", 2), b.bond("j", "L", 3)
    with pytest.raises(ModelError, match=r"bonds 1 \(u -> j\) of dimension 2 and 2 \(j -> L\) of dimension 3 meet"):
        b.done()
    b = BondGraph.builder("field")
    b.element("u", "Se"), b.element("L", "I", [[1, 0, 0], [0, 1, 0], [0, 0, 1]]), b.bond("u", "L", 2)
    with pytest.raises(ModelError, match=r"'L' \(I\) has a value of shape \(3, 3\); bonds 1 \(u -> L\) of 2 dim"):
        b.done()
    b = BondGraph.builder("matrix")
    b.element("u", "Se"), b.element("T", "TF", [[1, 2]]), b.element("L", "I", 1.0)
    b.bond("u", "T", 2), b.bond("T", "L", 2)
    with pytest.raises(ModelError, match=r"has a modulus of shape \(1, 2\)"):
        b.done()


def test_an_algebraic_loop_of_gain_one():
    b = BondGraph.builder("negative")
    b.element("u", "Se"), b.one("i"), b.element("R1", "R", "R0"), b.element("R2", "R", "-R0"), b.parameter("R0", 1.0)
    b.zero("n"), b.element("C", "C", 1.0)
    b.bonds("u -> i -> R1", "i -> R2", "i -> n -> C", "n -> R3"), b.element("R3", "R", 1.0)
    with pytest.raises(ModelError, match="the algebraic loop of R1, R2 cannot be solved: its gain is 1"):
        b.done().system()


def test_files_name_the_line():
    text = "name: x\nelements:\n  u: Se\n  R: {kind: Rx}\nbonds: [u -> R]\n"
    with pytest.raises(ModelError, match=r"text:4: element 'R' has the kind 'Rx'"):
        read_text(text)
    with pytest.raises(ModelError, match=r"text:3: element 'R' has the unknown key 'valu'"):
        read_text("elements:\n  u: Se\n  R: {kind: R, valu: 3}\nbonds: [u -> R]\n")
    with pytest.raises(ModelError, match=r"text:2: the bond 'u - R' is not readable"):
        read_text("elements: {u: Se, R: R}\nbonds: [u - R]\n")
    with pytest.raises(ModelError, match=r"the unknown key 'bond'"):
        read_text("elements: {u: Se, R: R}\nbond: [u -> R]\n")
    with pytest.raises(ModelError, match="a text has no folder"):
        read_text("models: {m: {file: ../x.bond.yaml}}\nelements: {u: Se}\nbonds: []\n")
    with pytest.raises(ModelError, match="is 'x - ': "):
        read_text("elements: {u: Se, R: {kind: R, value: 'x - '}}\nbonds: [u -> R]\n")
    with pytest.raises(ModelError, match="cannot be read"):
        BondGraph.load("no/such.bond.yaml")
    with pytest.raises(NameLookupError, match="Did you mean 'rlc'"):
        BondGraph.load("rlcc")


def test_parts_say_what_they_need():
    with pytest.raises(ModelError, match="a dc_motor has no L; expected a value, H"):
        read_text("parts: {m: {kind: dc_motor, R: 1, K: 1, J: 1}}\nelements: {u: Se}\nbonds: [u -> m.electric]\n")
    with pytest.raises(ModelError, match=r"'m\.shaft' is not connected"):
        read_text("parts: {m: {kind: dc_motor, R: 1, K: 1, J: 1, L: 1}}\nelements: {u: Se}\nbonds: [u -> m.electric]\n")
    with pytest.raises(ModelError, match=r"points the wrong way: power of port 'g\.b' is counted out of"):
        read_text("parts: {g: {kind: gear, n: 2}}\nelements: {u: Se, J: {kind: I, value: 1}, j: 1}\n"
                  "bonds: [u -> g.a, j -> g.b, j -> J]\n")  # fmt: skip
    with pytest.raises(ModelError, match="R of a resistor is -1; expected a positive number, ohm"):
        read_text("parts: {r: {kind: resistor, R: -1}}\nelements: {u: Se}\nbonds: [u -> r]\n")


def test_junctions_with_many_bonds_between_them_are_checked_at_once():
    """Each bond was told to each other one, for each that was told."""
    count = 2000
    bonds = ", ".join(["u -> i", "j -> R", *["i -> j"] * count])
    text = "name: g\nelements: {u: {kind: Se, domain: electrical}, i: 1, j: 0, R: {kind: R, value: 1}}\n"
    start = time.process_time()
    assert len(read_text(f"{text}bonds: [{bonds}]\n").bonds) == count + 2
    assert time.process_time() - start < 5


def test_bonds_are_found_in_time_that_grows_with_the_size_of_a_graph_and_not_faster():
    """Every element asks for its bonds: with a look at all of them 4000 junctions took seven seconds to read."""

    def seconds(n: int) -> float:
        elements = "".join(f"  j{k}: '{k % 2}'\n  R{k}: {{kind: R, value: 1}}\n" for k in range(n))
        bonds = "".join(f"  - j{k} -> R{k}\n" + (f"  - j{k - 1} -> j{k}\n" if k else "") for k in range(n))
        graph = read_text(f"elements:\n  source: Se\n{elements}bonds:\n  - source -> j0\n{bonds}")
        start = time.process_time()
        found = [graph.bonds_of(name) for name in graph.elements]
        taken = time.process_time() - start
        assert found[1] == tuple(b for b in graph.bonds if "j0" in (b.tail, b.head))
        return taken

    assert min(seconds(2000) for _ in range(3)) < 50 * min(seconds(200) for _ in range(3))
