"""Files of graphs read back as the same graph; drawings without overlapping texts, strokes at the end that receives."""

from __future__ import annotations

import os
import pickle
import re
import shutil
import sys
import xml.etree.ElementTree as xml

import numpy as np
import pytest

import symbody as sb
from helpers.random_bond_graphs import random_graph
from symbody.bondgraph.graph import graph_files as files
from symbody.bondgraph.graph.bond_graph import BondGraph
from symbody.bondgraph.graph.graph_files import bundled_names, read_text, to_yaml
from symbody.show.drawing.bond_graph_drawing import draw
from symbody.show.drawing.digraph import draw_digraph


def test_there_are_ten_graphs_and_more_of_all_domains():
    assert len(bundled_names()) >= 10
    domains = {e.domain for n in bundled_names() for e in BondGraph.load(n).elements.values()}
    assert {"electrical", "translation", "rotation", "hydraulic", "thermal"} <= domains


@pytest.mark.parametrize("name", bundled_names())
def test_a_file_reads_back_as_the_same_graph(name, tmp_path):
    graph = BondGraph.load(name)
    path = graph.save(tmp_path / "copy.bond.yaml")
    again = sb.load(path)
    assert to_yaml(again) == to_yaml(graph)
    assert np.array_equal(again.matrices().numbers().A, graph.matrices().numbers().A)
    assert pickle.loads(pickle.dumps(graph)).matrices().states == graph.matrices().states


def test_laws_integrals_and_multibonds_read_back():
    text = """
name: all
parameters: {k: 3, r: {default: 0.2, unit: m}}
elements:
  F: Se
  v: 1
  M: {kind: I, value: [[k, 0], [0, 2]]}
  T: {kind: TF, value: [[1, r*sin(angle)]]}
  w: 1
  c: {kind: C, law: k*q + q^3, guess: 0.1}
  speed: Df
bonds:
  - {bond: F -> v, dimension: 2}
  - {bond: v -> M, dimension: 2}
  - {bond: v -> T, dimension: 2}
  - T -> w -> c
  - w -> speed
integrals: {angle: {rate: speed, unit: rad}}
"""
    graph = read_text(text)
    again = read_text(to_yaml(graph))
    x = np.linspace(0.1, 0.6, len(graph.system().inputs))
    ours, theirs = (g.system().compile().call_named(*x) for g in (graph, again))
    assert ours == theirs


def test_sub_models_lie_in_the_folder(tmp_path):
    (tmp_path / "rc.bond.yaml").write_text(
        "name: rc\nelements: {a: port, i: 1, R: {kind: R, value: 2}, C: {kind: C, value: 3}}\n"
        "bonds: [a -> i -> R, i -> C]\n"
    )
    main = tmp_path / "two.bond.yaml"
    main.write_text(
        "name: two\nmodels: {x: {file: rc.bond.yaml, R: 5}, y: {file: rc.bond.yaml}}\nelements: {u: Se, n: 0}\n"
        "bonds: [u -> n -> x, n -> y]\n"
    )
    graph = sb.load(main)
    assert graph.parameters["x_R"].data.default == 5
    assert graph.parameters["y_R"].data.default == 2
    assert np.allclose(graph.matrices().numbers().A, np.diag([-1 / 15, -1 / 6]))
    main.write_text("models: {x: {file: two.bond.yaml}}\nelements: {u: Se}\nbonds: [u -> x.a]\n")
    with pytest.raises(sb.SymbodyError, match="contains itself"):
        sb.load(main)


def lines_of(svg: str) -> list[list[tuple[float, float]]]:
    found = re.findall(r'<polyline points="([^"]+)"', svg)
    return [[tuple(map(float, p.split(","))) for p in way.split()] for way in found]


@pytest.mark.parametrize("name", bundled_names())
@pytest.mark.parametrize("prefer", ["integral", "derivative"])
def test_drawings_have_no_overlapping_texts(name, prefer):
    picture = BondGraph.load(name).show(prefer)
    xml.fromstring(picture.svg)  # well-formed
    labels = picture.labels
    assert not [(a.text, b.text) for i, a in enumerate(labels) for b in labels[:i] if a.overlaps(b)]
    numbers = [label.text for label in labels if label.text.isdigit() and label.half[1] < 8]
    assert sorted(map(int, numbers)) == list(range(1, len(BondGraph.load(name).bonds) + 1))


def test_drawings_of_random_graphs_have_no_overlapping_elements():
    """Rings and branches included; only numbers of bonds may be squeezed where a graph is dense."""
    drawn = 0
    for seed in range(40):
        graph = random_graph(seed, 40)
        if graph is None:
            continue
        labels = [x for x in graph.show().labels if x.half[1] > 8]
        assert len(labels) == len(graph.elements)
        assert not [(a.text, b.text) for i, a in enumerate(labels) for b in labels[:i] if a.overlaps(b)], seed
        drawn += 1
    assert drawn > 20


def test_strokes_stand_at_the_end_that_receives_the_effort():
    """u -> R: a source of effort, so the stroke is at R; of flow, at the source."""
    for kind in ("Se", "Sf"):
        b = BondGraph.builder("pair")
        b.element("u", kind), b.element("R", "R", 1.0), b.bonds("u -> R")
        graph = b.done()
        assert graph.causality().stroke(1) == ("R" if kind == "Se" else "u")
        picture = graph.show()
        stroke = lines_of(picture.svg)[-1]
        at = {x.text: x.at for x in picture.labels}
        middle = np.mean(stroke, axis=0)
        near = min(at, key=lambda n: np.hypot(*(np.array(at[n]) - middle)) if n != "1" else np.inf)
        assert near == ("R:R" if kind == "Se" else "Sf:u")


def test_strokes_obey_the_rules_of_junctions():
    for seed in range(30):
        graph = random_graph(seed, 40)
        if graph is None:
            continue
        strokes = graph.causality().strokes
        for e in graph.elements.values():
            here = sum(strokes[b.number, 0] == e.name for b in graph.bonds_of(e.name))
            many = len(graph.bonds_of(e.name))
            if e.kind == "0":
                assert here == 1
            elif e.kind == "1":
                assert here == many - 1
            elif e.kind == "TF":
                assert here == 1
            elif e.kind == "GY":
                assert here in (0, 2)


def test_the_structure_digraph_is_drawn():
    a = BondGraph.load("quarter_car").analysis(expand=False)
    picture = draw_digraph(a.digraph(), a.sample.labels("u"), a.sample.labels("y"), "quarter car")
    xml.fromstring(picture.svg)
    assert {x.text for x in picture.labels} == set(a.digraph())
    assert not [(p.text, q.text) for i, p in enumerate(picture.labels) for q in picture.labels[:i] if p.overlaps(q)]


@pytest.mark.skipif(shutil.which("neato") is None, reason="Graphviz is not installed")
@pytest.mark.parametrize("name", ["quarter_car", "four_inertias", "heated_house"])
def test_graphviz_places_elements_apart(name):
    """The same elements, numbers and strokes at other places; no two elements overlap."""
    graph = BondGraph.load(name)
    picture, own = graph.show(layout="graphviz"), graph.show()
    labels = [x for x in picture.labels if x.half[1] > 8]
    assert sorted(x.text for x in labels) == sorted(x.text for x in own.labels if x.half[1] > 8)
    assert not [(a.text, b.text) for i, a in enumerate(labels) for b in labels[:i] if a.overlaps(b)]
    assert {x.at for x in labels} != {x.at for x in own.labels if x.half[1] > 8}


def test_graphviz_that_is_missing_is_said(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(sb.SymbodyError, match="neato of Graphviz, which is not installed"):
        BondGraph.load("rlc").show(layout="graphviz")


@pytest.mark.skipif(sys.platform == "win32", reason="a program of POSIX")
@pytest.mark.parametrize("does", ["exit 3", "kill -9 $$", "true", "echo node 0", "echo node 0 nan 1", r"printf '\377'"])
def test_graphviz_that_fails_is_said(monkeypatch, tmp_path, does):
    (tmp_path / "neato").write_text(f"#!/bin/sh\n{does}\n")
    (tmp_path / "neato").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(sb.SymbodyError, match="gives no places"):
        BondGraph.load("rlc").show(layout="graphviz")


def test_what_cannot_be_drawn_is_refused():
    graph = BondGraph.load("rlc")
    with pytest.raises(sb.SymbodyError, match="expected one of integral, derivative"):
        draw(graph, "integrall")
    with pytest.raises(sb.SymbodyError, match=r"expected \.svg"):
        graph.show().save("x.png")


def test_sub_models_that_multiply_are_read_once_and_bounded(tmp_path, monkeypatch):
    """Ten sub-models in each of seven levels would be ten million files and twice as many elements."""
    read = []
    monkeypatch.setattr(files, "read_regular", lambda path, limit: read.append(path) or path.read_bytes())
    for level in range(7):
        models = "".join(f"  m{k}: {{file: b{level + 1}.bond.yaml}}\n" for k in range(10))
        (tmp_path / f"b{level}.bond.yaml").write_text(f"models:\n{models}")
    hundred = "".join(f"  u{k}: {{kind: Se}}\n  R{k}: {{kind: R}}\n" for k in range(100))
    bonds = ", ".join(f"u{k} -> R{k}" for k in range(100))
    (tmp_path / "b7.bond.yaml").write_text(f"elements:\n{hundred}bonds: [{bonds}]\n")
    with pytest.raises(sb.SymbodyError, match="at most 20000"):
        sb.load(tmp_path / "b0.bond.yaml")
    assert len(read) == 8
