"""The report on a bond graph: drawings, equations, structure and motion in one HTML file that needs nothing else."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from symbody.basics.arguments import declared
from symbody.basics.atomic_file import write_whole
from symbody.basics.errors import FormatError, ModelError, SymbodyError, nearest, record_argument
from symbody.bondgraph.equations.state_equations import state_equations
from symbody.bondgraph.graph.bond_graph import BondGraph
from symbody.bondgraph.structure.analysis import Analysis, analyse
from symbody.show.drawing.bond_graph_drawing import draw
from symbody.show.drawing.digraph import draw_digraph
from symbody.show.drawing.svg import Picture
from symbody.show.report.mathml import to_mathml
from symbody.show.report.page import Section, facts, page, sentences, table, text
from symbody.show.report.sections import simulation_section
from symbody.symbolic.expr.latex_form import latex_name, to_latex

if TYPE_CHECKING:
    from symbody.motion.trajectory.trajectory import Trajectory

LARGEST = 30  # states whose digraph is drawn


@declared
def write_bond_graph_report(
    graph: BondGraph,
    path: str | Path,
    trajectory: Trajectory | None = None,
    *,
    parameters: Mapping[str, float] | None = None,
    title: str | None = None,
) -> Path:
    """Write a report on a bond graph, with the motion of its System if there is one, and return its path."""
    record_argument("write_bond_graph_report", graph, BondGraph, "a BondGraph, as sb.BondGraph.load(name) gives")
    if Path(path).suffix.lower() not in (".html", ".htm"):
        raise FormatError(f"{path} has the suffix {Path(path).suffix!r}; expected .html.")
    given = dict(parameters or {})
    for name in given:
        if name not in graph.parameters:
            raise ModelError(f"{graph.name} has no parameter {name!r}. {nearest(name, graph.parameters)}")
    found = analyse(graph)
    parts = [_drawings(graph), _equations(graph), _structure(found), _parameters(graph, given)]
    if trajectory is not None:
        parts.append(simulation_section(trajectory))
    lead = (f"<p>{text(graph.source)}</p>" if graph.source else "") + facts(
        [("elements", len(graph.elements)), ("bonds", len(graph.bonds)), ("states", len(found.states))]
    )
    html = page(title or graph.name, lead, parts, footer="Written by symbody. The file is complete: it loads nothing.")
    return write_whole(path, html.encode("utf-8", errors="replace"))


def picture_html(picture: Picture, alternative: str) -> str:
    """A drawing as an <img> in a world of its own."""
    data = base64.b64encode(picture.svg.encode()).decode()
    return f'<img class="figure" alt="{text(alternative)}" src="data:image/svg+xml;base64,{data}">'


def _drawings(graph: BondGraph) -> Section:
    html = ""
    for prefer in ("integral", "derivative"):
        html += f"<h3>Preferred {prefer} causality</h3>" + picture_html(draw(graph, prefer), f"{graph.name}, {prefer}")
    return Section(
        "graph", "Graph", html + sentences(["The stroke stands at the end that receives the effort."], "note hint")
    )


def _equations(graph: BondGraph) -> Section:
    try:
        system = state_equations(graph)
    except SymbodyError as error:
        return Section("equations", "Equations", sentences([error]))
    rows = []
    for name, array in system.outputs.items():
        state = next((s for s, rate in system.states.items() if rate == name), None)
        left = latex_name(name) if state is None else rf"\dot{{{latex_name(state)}}}"
        rows.append(f'<div class="equation">{to_mathml(f"{left} = {to_latex(array.item())}")}</div>')
    return Section("equations", "Equations", "".join(rows) + sentences(system.origins.values()))


def _structure(found: Analysis) -> Section:
    ranks = [(r.name, r.value, r.rows, r.blocks, r.causal, r.term) for r in found.ranks.values()]
    html = table(("matrix", "rank", "of", "blocks of S", "causality", "term rank"), ranks, range(1, 6))
    html += sentences(str(found).splitlines())
    if len(found.states) <= LARGEST:
        picture = draw_digraph(found.digraph(), found.sample.labels("u"), found.sample.labels("y"), found.graph.name)
        html += "<h3>Structure digraph</h3>" + picture_html(picture, f"structure digraph of {found.graph.name}")
    return Section("structure", "Structure", html)


def _parameters(graph: BondGraph, given: Mapping[str, float]) -> Section:
    rows = []
    for name, symbol in graph.parameters.items():
        value = given.get(name, symbol.data.default)
        rows.append((name, "open" if value is None else f"{value:.6g}", symbol.data.unit))
    return Section("parameters", "Parameters", table(("name", "value", "unit"), rows, (1,)))
