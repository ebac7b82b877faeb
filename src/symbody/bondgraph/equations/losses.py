"""What resistors and switches give: one by one, or together where they form algebraic loops.

The unknown of a loop is the argument of a nonlinear law, whichever way the law is used, so that its guess starts the
iteration; of a linear element it is what it gives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from symbody.bondgraph.equations.laws import products, quotients
from symbody.bondgraph.equations.writing import Writing
from symbody.bondgraph.graph.bond_graph import SWITCH, Element
from symbody.bondgraph.graph.flat import ScalarPort
from symbody.symbolic.expr.functions import select
from symbody.symbolic.expr.node import Node
from symbody.symbolic.expr.walk import substitute


def losses(w: Writing) -> None:
    """Write what all losses give."""
    for group in groups(w):
        plain = {p.index: w.received(p, [*w.I, *w.U]) for p in group}
        loop = any(w.reads(p, q) for p in group for q in group)
        if loop or not direct(w, group, plain):
            together(w, group, plain)


def groups(w: Writing) -> list[list[ScalarPort]]:
    """Loss ports that read each other, or belong to one element."""
    home = {p.index: p.index for p in w.R}

    def root(k: int) -> int:
        while home[k] != k:
            k = home[k]
        return k

    for p in w.R:
        for q in w.R:
            if p.element == q.element or w.reads(p, q):
                home[root(p.index)] = root(q.index)
    out: dict[int, list[ScalarPort]] = {}
    for p in w.R:
        out.setdefault(root(p.index), []).append(p)
    return list(out.values())


def direct(w: Writing, group: Sequence[ScalarPort], given: Mapping[int, Node]) -> bool:
    """Give what a single element says of what it receives, where that is a formula."""
    e = w.graph.elements[group[0].element]
    way = {w.structure.causality.gives[p.label] for p in group}
    if e.kind == SWITCH or len({p.element for p in group}) > 1 or len(way) > 1:
        return False
    received = [given[p.index] for p in group]
    if e.law is not None:
        if e.law.gives not in way:
            return False
        found = substitute(e.law.results, dict(zip(e.law.arguments, received, strict=True)))
    else:
        matrix = e.matrix(len(group))
        found = products(matrix, received) if way == {"e"} else quotients(matrix, received)
    w.gives |= {p.index: node for p, node in zip(group, found, strict=True)}
    return True


def together(w: Writing, group: Sequence[ScalarPort], plain: Mapping[int, Node]) -> None:
    """Solve for what the ports of a group give, from what they receive besides each other."""
    unknown = {p.index: w.g.symbol(f"w_{p.label}", "input", scope="unknown") for p in group}
    elements = {name: [p for p in group if p.element == name] for name in dict.fromkeys(p.element for p in group)}
    for name, ports in elements.items():
        w.gives |= dict(zip((p.index for p in ports), _given(w, w.graph.elements[name], ports, unknown), strict=True))
    total = {p.index: plain[p.index] + w.received(p, group) for p in group}
    residual = [
        r for name, ports in elements.items() for r in _residual(w, w.graph.elements[name], ports, unknown, total)
    ]
    symbols = [unknown[p.index] for p in group]
    found = w.solved(residual, symbols, [_guess(w, p) for p in group], "algebraic loop", [p.label for p in group])
    table = dict(zip(symbols, found, strict=True))
    w.gives |= dict(zip((p.index for p in group), substitute([w.gives[p.index] for p in group], table), strict=True))


def _is_natural(w: Writing, e: Element, ports: Sequence[ScalarPort]) -> bool:
    """Whether a nonlinear law is used the way it is written."""
    return e.law is not None and all(w.structure.causality.gives[p.label] == e.law.gives for p in ports)


def _given(w: Writing, e: Element, ports: Sequence[ScalarPort], unknown: Mapping[int, Node]) -> list[Node]:
    """What an element gives, of the unknowns."""
    own = [unknown[p.index] for p in ports]
    if e.law is not None and _is_natural(w, e, ports):
        return substitute(e.law.results, dict(zip(e.law.arguments, own, strict=True)))
    return own


def _residual(
    w: Writing, e: Element, ports: Sequence[ScalarPort], unknown: Mapping[int, Node], total: Mapping[int, Node]
) -> list[Node]:
    """What must vanish: the law between efforts and flows, whichever of them is given."""
    way = w.structure.causality.gives
    if _is_natural(w, e, ports):
        return [unknown[p.index] - total[p.index] for p in ports]
    efforts = [unknown[p.index] if way[p.label] == "e" else total[p.index] for p in ports]
    flows = [unknown[p.index] if way[p.label] == "f" else total[p.index] for p in ports]
    return law_residual(w, e, efforts, flows)


def law_residual(w: Writing, e: Element, efforts: Sequence[Node], flows: Sequence[Node]) -> list[Node]:
    """What vanishes where the efforts and flows of a loss obey its law."""
    if e.kind == SWITCH:
        on = switch(w, e)
        return [on * a + (1 - on) * b for a, b in zip(efforts, flows)]
    if e.law is None:
        return [a - b for a, b in zip(efforts, products(e.matrix(len(flows)), flows))]
    known, asked = (flows, efforts) if e.law.gives == "e" else (efforts, flows)
    results = substitute(e.law.results, dict(zip(e.law.arguments, known, strict=True)))
    return [a - b for a, b in zip(asked, results)]


def _guess(w: Writing, port: ScalarPort) -> Node:
    law = w.graph.elements[port.element].law
    return w.g.zero if law is None else law.guess[port.place]


def switch(w: Writing, e: Element) -> Node:
    """1 where a switch is on: its condition, or a parameter s_<name>."""
    if e.value is None:
        return w.g.symbol(f"s_{e.name}", "parameter", default=1.0)
    condition: Node = e.value.item()
    if condition.op in ("lt", "le"):
        w.switches[e.name] = condition.args[1] - condition.args[0]
    one: Node = select(condition, w.g.one, w.g.zero)
    return one
