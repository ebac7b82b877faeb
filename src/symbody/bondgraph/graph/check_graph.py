"""What a bond graph must obey before anything is computed from it; each error names the bonds."""

from __future__ import annotations

from collections.abc import Mapping

from symbody.basics.errors import nearest
from symbody.bondgraph.graph.bond_graph import (
    DETECTORS,
    OPEN,
    SOURCES,
    STORAGES,
    SWITCH,
    TWO_PORTS,
    Bond,
    BondGraph,
    Element,
)
from symbody.bondgraph.graph.power_ports import DOMAINS
from symbody.model.record.origin import fault


def check_graph(graph: BondGraph) -> None:
    """Raise a ModelError for the first thing that is wrong."""
    if not graph.elements:
        raise fault("", f"{graph.name} has no elements; expected some, and bonds between them.")
    ends: dict[str, list[Bond]] = {n: [] for n in graph.elements}
    for b in graph.bonds:
        for end in (b.tail, b.head):
            if end not in ends:
                raise fault(b.origin, f"bond {b} ends at {end!r}, which is no element. {nearest(end, ends)}")
            ends[end].append(b)
        if b.tail == b.head:
            raise fault(b.origin, f"bond {b} begins and ends at the same element; expected two.")
    for e in graph.elements.values():
        _check_ends(e, ends[e.name])
        _check_size(e, ends[e.name])
    _check_domains(graph, ends)
    _check_switches(graph, ends)
    _check_elements_exist(graph, ends)


def _list(bonds: list[Bond]) -> str:
    return ", ".join(str(b) for b in bonds)


def _check_ends(e: Element, bonds: list[Bond]) -> None:
    if not bonds:
        raise fault(e.origin, f"element {e.name!r} ({e.kind}) has no bond; expected it to be connected, or left out.")
    if e.is_junction:
        if len(bonds) < 2:
            raise fault(
                e.origin,
                f"junction {e.name!r} ({e.kind}) has one bond, {_list(bonds)}; expected two or more. "
                "Leave the junction out, or connect it.",
            )
        return
    if e.kind in TWO_PORTS:
        _check_two_port(e, bonds)
        return
    if e.kind in (*SOURCES, *DETECTORS, SWITCH, OPEN) and len(bonds) != 1:
        raise fault(
            e.origin,
            f"element {e.name!r} ({e.kind}) has {len(bonds)} bonds, {_list(bonds)}; expected one. "
            "Put a junction between.",
        )
    wrong = [b for b in bonds if e.kind != OPEN and (b.tail == e.name) != (e.kind in SOURCES)]
    if wrong:
        way = "away from a source" if e.kind in SOURCES else "into the element"
        raise fault(
            wrong[0].origin or e.origin,
            f"bond {wrong[0]} points the wrong way at {e.name!r} ({e.kind}): power is counted {way}. Turn the arrow.",
        )


def _check_two_port(e: Element, bonds: list[Bond]) -> None:
    if len(bonds) != 2:
        raise fault(e.origin, f"element {e.name!r} ({e.kind}) has {len(bonds)} bonds, {_list(bonds)}; expected two.")
    into = [b for b in bonds if b.head == e.name]
    if len(into) != 1:
        way = "into it" if len(into) == 2 else "out of it"
        raise fault(
            e.origin,
            f"bonds {_list(bonds)} of {e.name!r} ({e.kind}) both point {way}; expected one in, one "
            "out, so that power passes through. Turn one arrow.",
        )


def first_and_second(e: Element, bonds: list[Bond] | tuple[Bond, ...]) -> tuple[Bond, Bond]:
    """The bond into a TF or GY, and the bond out of it."""
    a, b = bonds
    return (a, b) if a.head == e.name else (b, a)


def _check_size(e: Element, bonds: list[Bond]) -> None:
    """Dimensions of bonds and of moduli."""
    if e.is_junction:
        odd = next((b for b in bonds if b.dimension != bonds[0].dimension), None)
        if odd is not None:
            raise fault(
                e.origin,
                f"bonds {bonds[0]} of dimension {bonds[0].dimension} and {odd} of dimension "
                f"{odd.dimension} meet at the junction {e.name!r}; expected equal dimensions.",
            )
        return
    n = sum(b.dimension for b in bonds)
    shape = () if e.value is None else e.value.shape
    if e.kind in TWO_PORTS:
        first, second = first_and_second(e, bonds)
        sizes = (second.dimension, first.dimension)
        if shape == () and sizes[0] != sizes[1]:
            raise fault(
                e.origin,
                f"element {e.name!r} ({e.kind}) has one modulus, but bonds {first} of dimension "
                f"{sizes[1]} and {second} of dimension {sizes[0]}; expected a matrix {sizes}.",
            )
        if shape != () and shape != sizes:
            raise fault(
                e.origin,
                f"element {e.name!r} ({e.kind}) has a modulus of shape {shape}; bonds {first} and "
                f"{second} need {sizes}: (dimension of the second, dimension of the first).",
            )
    elif e.law is not None:
        if len(e.law.results) != n:
            raise fault(
                e.origin,
                f"element {e.name!r} has a law of {len(e.law.results)} entries, bonds {_list(bonds)} "
                f"have {n} dimensions together; expected as many.",
            )
    elif shape not in ((), (n,)) and not (shape == (n, n) and e.kind in (*STORAGES, "R")):
        raise fault(
            e.origin,
            f"element {e.name!r} ({e.kind}) has a value of shape {shape}; bonds {_list(bonds)} of "
            f"{n} dimensions together need {(n, n)}, {(n,)} or a number.",
        )


def _check_domains(graph: BondGraph, ends: Mapping[str, list[Bond]]) -> None:
    """Bonds that meet at a junction are of one domain."""
    domain: dict[int, tuple[str, str]] = {}  # bond -> domain, and who says so

    def say(b: Bond, name: str, owner: str, origin: str) -> bool:
        if not name:
            return False
        known = domain.get(b.number)
        if known is None:
            domain[b.number] = (name, owner)
            return True
        if known[0] != name:
            raise fault(
                origin,
                f"bond {b} is {known[0]} by {known[1]!r} and {name} by {owner!r}; expected one domain. "
                f"A TF or GY leads from {known[0]} to {name}.",
            )
        return False

    for e in graph.elements.values():
        bonds = ends[e.name]
        if e.kind in TWO_PORTS:
            first, second = first_and_second(e, bonds)
            say(first, e.domain, e.name, e.origin)
            say(second, e.domain2, e.name, e.origin)
        else:
            for b in bonds:
                say(b, e.domain, e.name, e.origin)
    told: set[str] = set()  # junctions whose bonds are of one domain
    waiting = [e for e in graph.elements.values() if e.is_junction]
    while waiting:  # what one bond says, all bonds of the junction say
        e = waiting.pop()
        known = None if e.name in told else next((b for b in ends[e.name] if b.number in domain), None)
        if known is None:
            continue
        told.add(e.name)
        name, owner = domain[known.number]
        for other in ends[e.name]:
            beyond = graph.elements[other.other(e.name)]
            if say(other, name, owner, e.origin) and beyond.is_junction:
                waiting.append(beyond)


def _check_switches(graph: BondGraph, ends: Mapping[str, list[Bond]]) -> None:
    for e in graph.elements.values():
        if e.kind in DETECTORS:
            (b,) = ends[e.name]
            at = graph.elements[b.tail]
            kind, what = ("0", "effort") if e.kind == "De" else ("1", "flow")
            if at.is_junction and at.kind != kind:
                raise fault(
                    e.origin,
                    f"detector {e.name!r} ({e.kind}) reads the {what} at the {at.kind}-junction "
                    f"{at.name!r} by bond {b}, and would stop what passes there; expected a {kind}-junction. "
                    f"on: <element> puts one in.",
                )
        if e.domain and e.domain not in DOMAINS:
            raise fault(e.origin, f"element {e.name!r} has the domain {e.domain!r}. {nearest(e.domain, DOMAINS)}")


def _check_elements_exist(graph: BondGraph, ends: Mapping[str, list[Bond]]) -> None:
    """Every connected piece of the graph holds something that stores, gives, takes or opens."""
    seen: set[str] = set()
    for start in graph.elements:
        if start in seen:
            continue
        piece, stack = [], [start]
        seen.add(start)
        while stack:
            name = stack.pop()
            piece.append(name)
            for b in ends[name]:
                other = b.other(name)
                if other not in seen:
                    seen.add(other)
                    stack.append(other)
        inert = all(graph.elements[n].is_junction or graph.elements[n].kind in (*TWO_PORTS, *DETECTORS) for n in piece)
        if inert:
            bonds = sorted({b.number: b for n in piece for b in ends[n]}.items())
            raise fault(
                "",
                f"bonds {_list([b for _, b in bonds])} join junctions without an element; expected sources, "
                "storages or resistors among them.",
            )
