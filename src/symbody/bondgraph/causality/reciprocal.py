"""Graphs made of a graph: the reciprocal one, whose time runs through integrals (thesis II.II), and the dual one.

Reciprocal (table II.2.1): 0 and 1 swapped, every modulus inverted, sources and detectors dualised. Its transfer matrix
is W(1/s), its poles are 1/lambda. Dual: effort and flow exchanged everywhere, the same motion: I <-> C, R -> 1/R.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from symbody.basics.errors import ModelError
from symbody.bondgraph.graph.bond_graph import SWITCH, TWO_PORTS, BondGraph, Element, Law
from symbody.bondgraph.graph.check_graph import check_graph
from symbody.symbolic.expr.lu import solve_lu

_SWAPPED = {"0": "1", "1": "0", "Se": "Sf", "Sf": "Se", "De": "Df", "Df": "De"}


def reciprocal(graph: BondGraph) -> BondGraph:
    """The reciprocal graph; twice reciprocal is the graph itself.

    A source of value v becomes one of the integral of v: as an input it keeps its name. Nonlinear laws have secant
    moduli, I = p/h(p), which are inverted (II.2.9-12): f = h(p) becomes f~ = p~^2/h(p~).
    """
    return _made(graph, f"{graph.name}_reciprocal", _reciprocal)


def dual(graph: BondGraph) -> BondGraph:
    """The dual graph: what was an effort is a flow now. The equations have the same eigenvalues."""
    return _made(graph, f"{graph.name}_dual", _dual)


def _made(graph: BondGraph, name: str, change: Callable[[Element, BondGraph], Element]) -> BondGraph:
    elements = {n: change(e, graph) for n, e in graph.elements.items()}
    made = replace(
        graph, name=name.removesuffix("_reciprocal_reciprocal").removesuffix("_dual_dual"), elements=elements
    )
    check_graph(made)
    return made


def _reciprocal(e: Element, graph: BondGraph) -> Element:
    if e.kind == SWITCH:
        raise ModelError(f"the reciprocal of the switch {e.name!r} is not defined; set its mode: graph.in_mode(...).")
    kind = _SWAPPED.get(e.kind, e.kind)
    value = e.value
    if e.kind in ("Se", "Sf") and value is not None:
        raise ModelError(f"the reciprocal of the source {e.name!r} needs its integral; leave its value out: an input.")
    law = e.law and _secant(e, e.law)
    if value is not None and e.kind not in ("Se", "Sf"):
        value = _inverse(e, value)
    return replace(e, kind=kind, value=value, law=law, domain="", domain2="")


def _secant(e: Element, law: Law) -> Law:
    """Inverted secant moduli: I = p/h(p) -> h(p)/p, so that f~ = p~ / I~ = p~^2 / h(p~)."""
    if len(law.arguments) != 1:
        raise ModelError(f"the reciprocal of {e.name!r}, a field with a nonlinear law, is not defined.")
    x = law.arguments[0]
    return replace(law, results=(x * x / law.results[0],))


def _inverse(e: Element, value: np.ndarray) -> np.ndarray:
    out = np.empty(value.shape, dtype=object)
    if value.ndim < 2:
        for k, v in np.ndenumerate(value):
            out[k] = 1 / v
        return out
    if value.shape[0] != value.shape[1]:
        raise ModelError(
            f"the modulus of {e.name!r} has shape {value.shape} and no inverse: there is no reciprocal graph."
        )
    unit = np.full(value.shape, 0, dtype=object)
    for i in range(len(value)):
        unit[i, i] = 1
    solved = solve_lu(value, unit)
    if e.kind in TWO_PORTS:
        solved = solved.T
    zero = value.flat[0].graph.zero
    for k, v in np.ndenumerate(solved):
        out[k] = zero + v
    return out


def _dual(e: Element, graph: BondGraph) -> Element:
    if e.kind == SWITCH:
        raise ModelError(f"the dual of the switch {e.name!r} is not defined; set its mode: graph.in_mode(...).")
    kind = {**_SWAPPED, "I": "C", "C": "I"}.get(e.kind, e.kind)
    law = e.law
    if law is not None:
        law = replace(law, gives="f" if law.gives == "e" else "e")
    value = e.value
    if value is not None and e.kind in ("R", *TWO_PORTS):
        value = _inverse(e, value)
    return replace(e, kind=kind, value=value, law=law, domain="", domain2="")
