"""Storages in derivative causality: their energies from what the others force on them."""

from __future__ import annotations

from collections.abc import Sequence

from symbody.basics.errors import ModelError
from symbody.bondgraph.equations.laws import coenergies, products
from symbody.bondgraph.equations.writing import Writing
from symbody.bondgraph.graph.flat import ScalarPort
from symbody.bondgraph.graph.symbols import coenergy_name, signal_symbol, state_name, state_symbol
from symbody.symbolic.expr.node import Node
from symbody.symbolic.expr.walk import free_symbols, substitute


def dependent(w: Writing) -> None:
    """Energies of storages in derivative causality, from what they are forced to."""
    late = dict.fromkeys(p.element for p in w.D)
    given = [p for p in (*w.I, *w.U) if p.element not in late]
    hard: list[str] = []
    for name in late:
        e = w.graph.elements[name]
        ports = sorted(w.ports_of(name), key=lambda p: p.place)
        mixed = any(p.index in w.x for p in ports)
        leans = any(w.reads(p, q) for p in ports for q in w.I if q.element in late)
        if e.law is None and not mixed and not leans:
            z = [w.received(p, given) for p in ports]
            x = products(e.matrix(len(ports)), z)
            w.xd |= {p.index: node for p, node in zip(ports, x, strict=True)}
        else:
            hard.append(name)
    if hard:
        dependent_together(w, hard, given)
    for p in w.D:
        w.known[state_symbol(w.g, state_name(p))] = w.xd[p.index]
        w.known[signal_symbol(w.g, coenergy_name(p))] = w.received(p, (*w.I, *w.U))
    put_known_into_dependent(w)


def dependent_together(w: Writing, names: Sequence[str], given: Sequence[ScalarPort]) -> None:
    """Elements that are nonlinear, or integral on some bonds and derivative on others: one system of equations."""
    unknown: dict[int, Node] = {}
    for name in names:
        ports = sorted(w.ports_of(name), key=lambda p: p.place)
        for p in ports:
            if p.index not in w.x:
                unknown[p.index] = w.g.symbol(state_name(p), "input", scope="unknown")
        z = coenergies(w.graph.elements[name], [{**w.x, **unknown}[p.index] for p in ports])
        for p, node in zip(ports, z, strict=True):
            if p.index in w.x:
                w.gives[p.index] = node
            else:
                w.xd[p.index] = node  # what the law says of the unknown, for the residual
    ports = [p for p in w.D if p.index in unknown]
    own = [p for p in w.I if p.element in names]
    residual = [w.xd[p.index] - w.received(p, [*given, *own]) for p in ports]
    symbols = [unknown[p.index] for p in ports]
    guess = [guess_of(w, p) for p in ports]
    found = w.solved(residual, symbols, guess, "dependent storages", [p.label for p in ports])
    table = dict(zip(symbols, found, strict=True))
    for p, node in zip(ports, found, strict=True):
        w.xd[p.index] = node
    for p in own:
        w.gives[p.index] = substitute([w.gives[p.index]], table)[0]


def guess_of(w: Writing, port: ScalarPort) -> Node:
    law = w.graph.elements[port.element].law
    return w.g.zero if law is None else law.guess[port.place]


def put_known_into_dependent(w: Writing) -> None:
    """Dependent energies with the co-energies of states put in; other signals cannot stand there."""
    own = {s: n for s, n in w.known.items() if s.data.scope == "signal"}
    for p in w.D:
        node = substitute([w.xd[p.index]], own)[0]
        left = [s for s in free_symbols([node]) if s.data.scope == "signal" or is_dependent_state(w, s)]
        if left:
            raise ModelError(
                f"{w.graph.name}: the modulus that binds the dependent storage {p.label!r} reads "
                f"{left[0].data.name!r}, which depends on it. Let it read states that are integral."
            )
        w.xd[p.index] = node


def is_dependent_state(w: Writing, symbol: Node) -> bool:
    return symbol.data.role == "state" and any(state_name(p) == symbol.data.name for p in w.D)
