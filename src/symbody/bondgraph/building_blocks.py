"""Open ports of a graph closed by inputs, so that it can be simulated by itself or joined to something else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from symbody.bondgraph.record import Bond, BondGraph, Element
from symbody.bondgraph.validate import check_graph
from symbody.errors import NameLookupError, nearest, word_argument


def with_ports(graph: BondGraph, given: Mapping[str, str]) -> BondGraph:
    """Each named port becomes a source: "effort" or "flow" comes from outside, as an input of the port's name.

    What the graph answers is the other variable, graph.system(outputs=["f.<port>"]) or "e.<port>", with power counted
    into the graph: of a port whose bond leads outward the effort, or flow, is given as it is there and the answer has
    the opposite sign, that of the reaction.
    """
    ports = {p.name: p for p in graph.ports}
    elements, bonds = dict(graph.elements), list(graph.bonds)
    for name, way in given.items():
        if name not in ports:
            raise NameLookupError(f"{graph.name} has no open port {name!r}. {nearest(name, ports)}")
        word_argument("way", way, ("effort", "flow"))
        old = elements[name]
        elements[name] = Element(name, "Se" if way == "effort" else "Sf", domain=old.domain, origin=old.origin)
        if not ports[name].into:  # power was counted outward: the source counts it inward, with the sign of the flow
            k = next(i for i, b in enumerate(bonds) if name in (b.tail, b.head))
            bonds[k : k + 1] = _turned(bonds[k], name, elements)
    made = replace(graph, elements=elements, bonds=tuple(replace(b, number=i + 1) for i, b in enumerate(bonds)))
    check_graph(made)
    return made


def _turned(b: Bond, name: str, elements: dict[str, Element]) -> list[Bond]:
    """A junction in the bond, so that the source may count power inward: what is given is that of the bond outward."""
    kind = "1" if elements[name].kind == "Sf" else "0"
    at = f"{name}_at"
    elements[at] = Element(at, kind)
    return [replace(b, head=at), replace(b, tail=name, head=at)]
