"""Builder of bond graphs: pieces in any order, expressions that may name what comes later, validated at the end.

    b = BondGraph.builder("rlc")
    b.element("u", "Se", domain="electrical")
    b.element("L", "I", 0.1), b.element("C", "C", 1e-3), b.element("R", "R", 5.0), b.one("i")
    b.bonds("u -> i -> L", "i -> C", "i -> R")
    b.element("v", "De", on="C")
    graph = b.done()

A number is the default of a parameter with the element's name; a text is an expression of parameters, t, inputs, states
(p_<I>, q_<C>), co-energies (f_<I>, e_<C>), detectors and integrals by name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from symbody.basics.errors import nearest
from symbody.basics.lazy import imported
from symbody.bondgraph.graph.bond_graph import (
    DETECTORS,
    JUNCTIONS,
    KINDS,
    OPEN,
    SOURCES,
    STORAGES,
    SWITCH,
    TWO_PORTS,
    Bond,
    BondGraph,
    Element,
    Integral,
    Law,
)
from symbody.bondgraph.graph.check_graph import check_graph
from symbody.bondgraph.graph.power_ports import DOMAINS, domain_named
from symbody.bondgraph.graph.symbols import input_symbol, signal_symbol, state_symbol
from symbody.model.record.numbers import to_node
from symbody.model.record.origin import fault, place, shown
from symbody.symbolic.expr.evaluate import transplant
from symbody.symbolic.expr.graph import Graph
from symbody.symbolic.expr.node import CONST, Node
from symbody.symbolic.expr.walk import free_symbols

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_RESERVED = {"t", "s", "pi", "deg"}
LARGEST = 20_000  # elements, and bonds; a graph that a person means has far fewer


@dataclass
class _Piece:
    """An element as it was given, before names are known."""

    kind: str
    value: Any = None
    law: Any = None
    guess: Any = None
    domain: str = ""
    domain2: str = ""
    unit: str = ""
    origin: str = ""
    made: Element | None = None  # of an included graph


@dataclass
class _Merged:
    """A port of an included graph: the bond inside that ends there, and whether it leads inward."""

    number: int
    inward: bool
    domain: str
    used: bool = False


def real(value: int | float, what: str, origin: str) -> float:
    """A number that a float can hold."""
    try:
        return float(value)
    except OverflowError:
        raise fault(origin, f"{what} is an integer beyond 1e308; expected a number that a float can hold.") from None


@dataclass
class GraphBuilder:
    """Collects pieces; `done()` gives the BondGraph."""

    name: str
    source: str = ""
    origin: str = ""
    graph: Graph = field(default_factory=lambda: Graph("bond graph"))

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            raise fault(
                place(self.origin, "name"),
                f"a graph has the name {shown(self.name)}; expected letters, digits and _, a letter first.",
            )
        self._pieces: dict[str, _Piece] = {}
        self._bonds: list[Bond] = []
        self._parameters: dict[str, Node] = {}
        self._integrals: dict[str, tuple[Any, str, str]] = {}
        self._made_integrals: list[Integral] = []
        self._ports: dict[str, _Merged] = {}
        self._on: dict[str, tuple[str, str]] = {}  # detector -> element whose bond it reads, origin
        self._notes: list[str] = []

    # -- pieces

    def parameter(
        self, name: str, default: Any = None, unit: str = "", nonzero: bool = False, origin: str = ""
    ) -> Node:
        """A symbol that expressions may name."""
        self._free(name, "parameter", origin)
        value = None if default is None else self._number(default, f"parameter {name!r}", origin)
        self._parameters[name] = self.graph.symbol(
            name, "parameter", unit=unit, origin=str(origin), default=value, nonzero=nonzero
        )
        return self._parameters[name]

    def element(
        self,
        name: str,
        kind: str,
        value: Any = None,
        *,
        law: Any = None,
        guess: Any = None,
        domain: str = "",
        domain2: str = "",
        unit: str = "",
        on: str = "",
        origin: str = "",
    ) -> str:
        """An element by kind; returns its name.

        value    modulus of I (p/f), C (q/e), R (e/f), TF, GY: a number, an expression, a list (n,) or a matrix; None is
                 a parameter without default. Of Se and Sf the value; None: an input.
        law      expression of p (I, gives f), q (C, gives e), f or e (R), of p1, p2, ... for several bonds (a list)
        on       of De and Df: the element whose bond is measured; a junction is put into that bond
        """
        kind = str(kind)
        written = isinstance(value, (str, Node, list, tuple, np.ndarray)) or law is not None
        self._free(name, f"element of kind {kind}", origin, kind not in (*SOURCES, *DETECTORS) and written)
        if kind not in KINDS:
            raise fault(place(origin, "kind"), f"element {name!r} has the kind {shown(kind)}. {nearest(kind, KINDS)}")
        domain_named(domain, f"element {name!r}", place(origin, "domain"))
        domain_named(domain2, f"element {name!r}", place(origin, "domain2"))
        if domain2 and kind not in TWO_PORTS:
            raise fault(origin, f"element {name!r} of kind {kind} has a second domain; only TF and GY have one.")
        if law is not None and (kind not in (*STORAGES, "R") or value is not None):
            raise fault(
                place(origin, "law"),
                f"element {name!r} of kind {kind} has a law; expected that of an I, C, R without a value.",
            )
        if value is not None and kind in (*JUNCTIONS, *DETECTORS, OPEN):
            raise fault(place(origin, "value"), f"element {name!r} of kind {kind} has a value; expected none.")
        if on and kind not in DETECTORS:
            raise fault(place(origin, "on"), f"element {name!r} of kind {kind} is on {on!r}; only De and Df are.")
        self._pieces[name] = _Piece(kind, value, law, guess, domain, domain2, unit, origin)
        if on:
            self._on[name] = (on, origin)
        return name

    def zero(self, *names: str) -> None:
        """0-junctions: one effort, flows add up to zero."""
        for name in names:
            self.element(name, "0")

    def one(self, *names: str) -> None:
        """1-junctions: one flow, efforts add up to zero."""
        for name in names:
            self.element(name, "1")

    def bond(self, tail: str, head: str, dimension: int = 1, origin: str = "") -> int:
        """A bond whose half arrow points to `head`; returns its number."""
        if isinstance(dimension, bool) or not isinstance(dimension, int) or not 1 <= dimension <= 1000:
            raise fault(origin, f"bond {tail} -> {head} has the dimension {shown(dimension)}; expected 1, 2, ...")
        self._fits(0, 1, origin)
        self._bonds.append(Bond(len(self._bonds) + 1, str(tail), str(head), dimension, False, origin))
        return len(self._bonds)

    def bonds(self, *chains: str, dimension: int = 1, origin: str = "") -> None:
        """Chains such as "u -> j -> L"; each arrow is a bond."""
        for chain in chains:
            if not isinstance(chain, str):
                raise fault(origin, f"a bond is {shown(chain)}; expected a text such as 'u -> j'.")
            names = [part.strip() for part in chain.split("->")]
            if len(names) < 2 or not all(names):
                raise fault(origin, f"the bond {shown(chain)} is not readable; expected names and arrows, as 'u -> j'.")
            for tail, head in pairwise(names):
                self.bond(tail, head, dimension, origin)

    def integral(self, name: str, rate: Any, unit: str = "", origin: str = "") -> None:
        """A state that integrates an expression of detectors, states, inputs and t."""
        self._free(name, "integral", origin)
        self._integrals[name] = (rate, unit, origin)

    def note(self, text: str) -> None:
        self._notes.append(text)

    def include(self, name: str, graph: BondGraph, values: Mapping[str, Any] | None = None, origin: str = "") -> None:
        """A sub-model: its elements become <name>_<element>, its ports <name>.<port>.

        values   parameter of the sub-model -> number or expression of this graph; the others become <name>_<parameter>
        """
        self._free(name, "sub-model", origin)
        self._fits(sum(e.kind != OPEN for e in graph.elements.values()), len(graph.bonds), origin)
        if len(self._made_integrals) + len(graph.integrals) > LARGEST:
            raise fault(origin, f"the graph has more than {LARGEST} integrals.")
        given = dict(values or {})
        for key in given:
            if key not in graph.parameters:
                raise fault(
                    place(origin, key), f"{graph.name} has no parameter {key!r}. {nearest(key, graph.parameters)}"
                )
        carry = self._carrier(name, graph, given, origin)
        ports = {p.name: p for p in graph.ports}
        for e in graph.elements.values():
            if e.kind != OPEN:
                made = replace(e, name=f"{name}_{e.name}", value=carry(e.value), law=carry(e.law))
                self._free(made.name, "element", origin)
                self._pieces[made.name] = _Piece(e.kind, domain=e.domain, domain2=e.domain2, origin=origin, made=made)
        for b in graph.bonds:
            ends = [f"{name}.{end}" if end in ports else f"{name}_{end}" for end in (b.tail, b.head)]
            self._bonds.append(replace(b, number=len(self._bonds) + 1, tail=ends[0], head=ends[1], origin=origin))
            for end, own in ((b.tail, ends[0]), (b.head, ends[1])):
                if end in ports:
                    self._ports[own] = _Merged(len(self._bonds), end == b.tail, ports[end].domain)
        self._made_integrals += [Integral(f"{name}_{i.name}", carry(i.rate), i.unit) for i in graph.integrals]

    def part(self, name: str, kind: str, origin: str = "", **values: Any) -> None:
        """A part of the library (`bondgraph.parts`) as a sub-model."""
        graph, given = imported("bondgraph.graph.parts", "part_graph")(kind, values, origin)
        self.include(name, graph, given, origin)

    # -- the end

    def _fits(self, elements: int, bonds: int, origin: str) -> None:
        """Whether so many more make a graph that is read."""
        if len(self._pieces) + elements > LARGEST:
            raise fault(origin, f"the graph has {len(self._pieces) + elements} elements; at most {LARGEST} are read.")
        if len(self._bonds) + bonds > LARGEST:
            raise fault(origin, f"the graph has more than {LARGEST} bonds.")

    def done(self) -> BondGraph:
        """The validated BondGraph."""
        self._merge_ports()
        for detector, (target, origin) in self._on.items():
            self._insert(detector, target, origin)
        self._fits(0, 0, self.origin)
        names = self._names()
        elements = {n: p.made or self._made(n, p, names) for n, p in self._pieces.items()}
        integrals = [
            Integral(n, self._node(rate, names, f"rate of {n!r}", origin), unit)
            for n, (rate, unit, origin) in self._integrals.items()
        ]
        bonds = tuple(
            replace(b, number=k, signal=any(e in elements and elements[e].kind in DETECTORS for e in (b.tail, b.head)))
            for k, b in enumerate(self._bonds, start=1)
        )
        used = {
            s
            for s in free_symbols(_nodes(elements.values(), [*self._made_integrals, *integrals]))
            if s.data.role == "parameter"
        }
        parameters = {**self._parameters, **{s.data.name: s for s in sorted(used, key=lambda s: s.id)}}
        made = BondGraph(
            self.name,
            elements,
            bonds,
            self.graph,
            parameters,
            (*self._made_integrals, *integrals),
            self.source,
            tuple(self._notes),
        )
        check_graph(made)
        return made

    # -- helpers

    def _free(self, name: Any, what: str, origin: str, shared: bool = False) -> None:
        """Refuse a name that is taken; an element whose value is written out may share that of a parameter."""
        if not isinstance(name, str) or not _NAME.fullmatch(name) or len(name) > 80:
            raise fault(
                origin, f"the {what} has the name {shown(name)}; expected letters, digits and _, a letter first."
            )
        if name in _RESERVED:
            raise fault(origin, f"the {what} has the name {name!r}, which means something else; choose another.")
        if name in self._pieces or (name in self._parameters and not shared) or name in self._integrals:
            raise fault(origin, f"the name {name!r} is given twice; expected different names.")

    def _number(self, value: Any, what: str, origin: str) -> float:
        node = to_node(value, self.graph, {}, what, origin)
        if node.op is not CONST:
            raise fault(origin, f"{what} is {shown(value)}; expected a number.")
        return float(node.data)

    def _node(self, value: Any, names: dict[str, Node], what: str, origin: str) -> Node:
        return to_node(value, self.graph, names, what, origin)

    def _names(self) -> dict[str, Node]:
        """What expressions may name."""
        g = self.graph
        names: dict[str, Node] = {"t": g.symbol("t", "time"), **self._parameters}
        for n, p in self._pieces.items():
            if p.kind in STORAGES:
                x, z = ("p", "f") if p.kind == "I" else ("q", "e")
                names.setdefault(f"{x}_{n}", state_symbol(g, f"{x}_{n}"))
                names.setdefault(f"{z}_{n}", signal_symbol(g, f"{z}_{n}"))
            elif p.kind in SOURCES and p.value is None and (p.made is None or p.made.value is None):
                names.setdefault(n, input_symbol(g, n))
            elif p.kind in DETECTORS:
                names.setdefault(n, signal_symbol(g, n))
        for n in [*self._integrals, *(i.name for i in self._made_integrals)]:
            names.setdefault(n, state_symbol(g, n))
        return names

    def _made(self, name: str, piece: _Piece, names: dict[str, Node]) -> Element:
        what, origin = f"element {name!r}", piece.origin
        unit = DOMAINS[piece.domain].unit_of(piece.kind) if piece.domain else ""
        if piece.unit and unit and piece.unit != unit:
            raise fault(
                place(origin, "unit"),
                f"{what} of kind {piece.kind} has the unit {piece.unit!r}; in the "
                f"{piece.domain} domain it is {unit!r}.",
            )
        if piece.domain and piece.kind in ("I", "C", "R") and not unit and piece.law is None:
            raise fault(place(origin, "domain"), f"{what} is of kind {piece.kind}; the domain {piece.domain} has none.")
        law = None if piece.law is None else self._law(name, piece, names)
        value = None if law is not None else self._value(name, piece, names, piece.unit or unit)
        return Element(name, piece.kind, value, law, piece.domain, piece.domain2, origin)

    def _value(self, name: str, piece: _Piece, names: dict[str, Node], unit: str) -> np.ndarray | None:
        kind, value, what = piece.kind, piece.value, f"value of element {name!r}"
        origin = place(piece.origin, "value")
        if kind in (*JUNCTIONS, *DETECTORS, OPEN):
            return None
        if kind in (*SOURCES, SWITCH) and value is None:
            return None
        if kind not in (*SOURCES, SWITCH) and not isinstance(value, (str, Node, list, tuple, np.ndarray)):
            if value in (1, -1) and kind in TWO_PORTS and not isinstance(value, bool):
                return _array(self.graph.number(int(value)))  # structure, no parameter
            default = None if value is None else self._number(value, what, origin)
            if default == 0:
                raise fault(origin, f"{what} is 0; expected another number. Leave the element out, or join its bonds.")
            return _array(
                self.graph.symbol(
                    name, "parameter", unit=unit, origin=str(origin), default=default, nonzero=kind in (*STORAGES, "R")
                )
            )
        if isinstance(value, (list, tuple, np.ndarray)):
            rows = np.array(value, dtype=object)
            if rows.ndim not in (1, 2) or any(isinstance(x, (list, tuple)) for x in rows.flat):
                raise fault(origin, f"{what} is {shown(value)}; expected a list or a matrix with rows of equal length.")
            made = np.empty(rows.shape, dtype=object)
            for k, x in np.ndenumerate(rows):
                made[k] = self._node(x, names, what, origin)
            return made
        node = self._node(value, names, what, origin)
        if node.op is CONST and node.data == 0 and kind not in (*SOURCES, SWITCH):
            raise fault(origin, f"{what} is 0; expected another number. Leave the element out, or join its bonds.")
        return _array(node)

    def _law(self, name: str, piece: _Piece, names: dict[str, Node]) -> Law:
        texts = piece.law if isinstance(piece.law, (list, tuple)) else [piece.law]
        origin, n = place(piece.origin, "law"), len(texts)
        letters = {"I": "p", "C": "q", "R": "fe"}[piece.kind]

        def arguments(letter: str) -> dict[str, Node]:
            labels = [letter] if n == 1 else [f"{letter}{k + 1}" for k in range(n)]
            return {x: self.graph.symbol(x, "input", scope=f"law of {name}") for x in labels}

        own = {x: s for letter in letters for x, s in arguments(letter).items()}
        results = tuple(self._node(x, {**names, **own}, f"law of element {name!r}", origin) for x in texts)
        read = {s for s in free_symbols(results) if s in own.values()}
        letter = next((c for c in letters if read & set(arguments(c).values())), letters[0])
        chosen = tuple(arguments(letter).values())
        if read - set(chosen):
            raise fault(origin, f"the law of element {name!r} names both e and f; expected e of f, or f of e.")
        if not read:
            expected = " or ".join(letters)
            raise fault(origin, f"the law of element {name!r} does not name {expected}; expected an expression of it.")
        gives = {"I": "f", "C": "e"}.get(piece.kind) or ("e" if letter == "f" else "f")
        given = piece.guess if isinstance(piece.guess, (list, tuple)) else [piece.guess] * n
        if len(given) != n:
            raise fault(place(piece.origin, "guess"), f"element {name!r} has {len(given)} guesses; expected {n}.")
        guess = tuple(
            self._node(0 if x is None else x, names, f"guess of element {name!r}", place(piece.origin, "guess"))
            for x in given
        )
        return Law(chosen, results, gives, guess)

    def _merge_ports(self) -> None:
        """Bonds that end at ports of sub-models become one with the bond inside."""
        self._name_only_ports()
        inner = {m.number for m in self._ports.values()}
        out: list[Bond] = []
        joined: dict[int, Bond | None] = {}  # None: the bond on the other side of two ports stays
        for b in self._bonds:
            ends = [e for e in (b.tail, b.head) if e in self._ports]
            if b.number in inner or not ends:
                continue
            if len(ends) == 2:
                joined_bond = self._through(b, ends[0], ends[1])
                joined[self._ports[ends[0]].number] = joined_bond
                joined[self._ports[ends[1]].number] = None
                continue
            port = self._ports[ends[0]]
            self._use(port, ends[0], b)
            inside = self._bonds[port.number - 1]
            self._check_direction(b, ends[0], port)
            if port.inward:
                joined[port.number] = replace(b, head=inside.head)
            else:
                joined[port.number] = replace(b, tail=inside.tail)
            if inside.dimension != b.dimension:
                raise fault(
                    b.origin,
                    f"bond {b.tail} -> {b.head} has dimension {b.dimension}; the port {ends[0]!r} "
                    f"has {inside.dimension}.",
                )
        for b in self._bonds:
            ends = [e for e in (b.tail, b.head) if e in self._ports]
            if b.number in joined:
                kept = joined[b.number]
                if kept is not None:
                    out.append(kept)
            elif b.number in inner:
                raise fault(b.origin, f"the port {ends[0]!r} is not connected; expected a bond to it.")
            elif not ends:
                out.append(b)
        self._bonds = out
        self._ports = {}

    def _name_only_ports(self) -> None:
        """A sub-model with one port may be named without it."""
        ports: dict[str, list[str]] = {}
        for own in self._ports:
            ports.setdefault(own.partition(".")[0], []).append(own)
        only = {name: found[0] for name, found in ports.items() if len(found) == 1 and name not in self._pieces}
        for k, b in enumerate(self._bonds):
            self._bonds[k] = replace(b, tail=only.get(b.tail, b.tail), head=only.get(b.head, b.head))

    def _use(self, port: _Merged, name: str, b: Bond) -> None:
        if port.used:
            raise fault(
                b.origin,
                f"bond {b.tail} -> {b.head} ends at the port {name!r}, which has a bond already. "
                "Put a junction between.",
            )
        port.used = True

    def _check_direction(self, b: Bond, name: str, port: _Merged) -> None:
        if (b.head == name) != port.inward:
            way = "into" if port.inward else "out of"
            raise fault(
                b.origin,
                f"bond {b.tail} -> {b.head} points the wrong way: power of port {name!r} is counted "
                f"{way} the sub-model. Turn the arrow.",
            )

    def _through(self, b: Bond, tail: str, head: str) -> Bond:
        first, second = self._ports[tail], self._ports[head]
        for name, port in ((tail, first), (head, second)):
            self._use(port, name, b)
            self._check_direction(b, name, port)
        start, end = self._bonds[first.number - 1], self._bonds[second.number - 1]
        return replace(b, tail=start.tail, head=end.head)

    def _insert(self, detector: str, target: str, origin: str) -> None:
        """Put a detector on the bond of an element: a junction into that bond, and a bond from it."""
        found = [k for k, b in enumerate(self._bonds) if target in (b.tail, b.head)]
        kind = "0" if self._pieces[detector].kind == "De" else "1"
        if target not in self._pieces:
            raise fault(
                place(origin, "on"),
                f"detector {detector!r} is on {target!r}, which is no element. {nearest(target, self._pieces)}",
            )
        if found and self._pieces[target].kind == kind:
            self._bonds.append(
                Bond(len(self._bonds) + 1, target, detector, self._bonds[found[0]].dimension, True, origin)
            )
            return
        if len(found) != 1:
            raise fault(
                place(origin, "on"),
                f"detector {detector!r} is on {target!r}, which has {len(found)} bonds; "
                f"expected an element with one bond, or a {kind}-junction.",
            )
        b = self._bonds[found[0]]
        at = next((e for e in (b.tail, b.head) if e in self._pieces and self._pieces[e].kind == kind), None)
        if at is None:
            at = f"{detector}_at"
            self._free(at, "junction", origin)
            self._pieces[at] = _Piece(kind, origin=origin)
            self._bonds[found[0]] = replace(b, head=at)
            self._bonds.insert(found[0] + 1, replace(b, tail=at))
        self._bonds.append(Bond(0, at, detector, b.dimension, True, origin))

    def _carrier(self, name: str, sub: BondGraph, given: Mapping[str, Any], origin: str) -> Any:
        """Nodes, arrays and laws of a sub-model in this Graph, with new names."""
        g = self.graph
        table: dict[Node, Node] = {}
        names = {"t": g.symbol("t", "time"), **self._parameters}
        for key, symbol in sub.parameters.items():
            if key in given:
                value = given[key]
                if isinstance(value, (int, float)) and not isinstance(value, bool):
                    default = real(value, f"{key} of {name!r}", place(origin, key))
                    data = replace(symbol.data, name=f"{name}_{key}", default=default)
                    table[symbol] = _symbol(g, data)
                else:
                    table[symbol] = self._node(value, names, f"{key} of {name!r}", place(origin, key))
            else:
                table[symbol] = _symbol(g, replace(symbol.data, name=f"{name}_{key}"))

        def renamed(node: Node) -> Node:
            for s in free_symbols([node]):
                if s not in table:
                    head, _, tail = s.data.name.partition("_")
                    if s.data.role == "time" or s.data.scope.startswith("law of"):
                        label = s.data.name
                    elif tail in sub.elements and head in ("p", "q", "e", "f"):
                        label = f"{head}_{name}_{tail}"
                    else:
                        label = f"{name}_{s.data.name}"
                    scope = s.data.scope.replace("law of ", f"law of {name}_")
                    table[s] = _symbol(g, replace(s.data, name=label, scope=scope))
            return transplant([node], table, g)[0]

        def carry(value: Any) -> Any:
            if value is None:
                return None
            if isinstance(value, Law):
                return Law(
                    tuple(map(renamed, value.arguments)),
                    tuple(map(renamed, value.results)),
                    value.gives,
                    tuple(map(renamed, value.guess)),
                )
            if isinstance(value, Node):
                return renamed(value)
            made = np.empty(value.shape, dtype=object)
            for k, x in np.ndenumerate(value):
                made[k] = renamed(x)
            return made

        return carry


def _symbol(graph: Graph, data: Any) -> Node:
    return graph.symbol(
        data.name,
        data.role,
        scope=data.scope,
        unit=data.unit,
        origin=data.origin,
        default=data.default,
        nonzero=data.nonzero,
    )


def _array(node: Node) -> np.ndarray:
    out = np.empty((), dtype=object)
    out[()] = node
    return out


def _nodes(elements: Any, integrals: Sequence[Integral]) -> list[Node]:
    out: list[Node] = [i.rate for i in integrals]
    for e in elements:
        if e.value is not None:
            out += list(e.value.flat)
        if e.law is not None:
            out += [*e.law.results, *e.law.guess]
    return out
