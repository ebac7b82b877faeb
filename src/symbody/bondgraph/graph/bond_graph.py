"""BondGraph: the frozen description. Elements, junctions, bonds; no causality and no equations.

A bond carries power from its tail to its head, the half arrow. One-port elements that store or dissipate take power in,
sources give it out, TF and GY have one bond in and one out. A bond of dimension d is d bonds side by side, a multibond.
Sources: Paynter 1961; Karnopp, Margolis, Rosenberg 2012.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from dataclasses import replace as _replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from symbody.basics.errors import ModelError, NameLookupError, nearest
from symbody.basics.lazy import imported
from symbody.bondgraph.graph.power_ports import PowerPort
from symbody.model.record.frozen import freeze
from symbody.symbolic.expr.graph import Graph
from symbody.symbolic.expr.node import Node
from symbody.symbolic.expr.pickling import Packed

if TYPE_CHECKING:
    from symbody.bondgraph.causality.causality import Causality
    from symbody.bondgraph.equations.dae import Dae
    from symbody.bondgraph.equations.state_matrices import Matrices
    from symbody.bondgraph.graph.graph_builder import GraphBuilder
    from symbody.symbolic.system.system import System

SOURCES, DETECTORS, STORAGES, JUNCTIONS = ("Se", "Sf"), ("De", "Df"), ("I", "C"), ("0", "1")
TWO_PORTS = ("TF", "GY")
OPEN = "port"  # an open port of a sub-model
SWITCH = "Sw"
KINDS = (*SOURCES, *STORAGES, "R", *TWO_PORTS, *JUNCTIONS, *DETECTORS, SWITCH, OPEN)


@dataclass(frozen=True, eq=False)
class Law:
    """A nonlinear law: results (n,) as expressions of arguments (n,), symbols of this law alone.

    gives   "e" or "f": what the element answers with. I: f of p, C: e of q, R: e of f or f of e.
    guess   (n,) where the iteration starts that inverts it, should the other direction be needed
    """

    arguments: tuple[Node, ...]
    results: tuple[Node, ...]
    gives: str
    guess: tuple[Node, ...]


@dataclass(frozen=True, eq=False)
class Element:
    """A node of the graph.

    kind     Se Sf I C R TF GY 0 1 De Df Sw port
    value    I, C, R: modulus () or matrix (n, n), the modulus p/f, q/e, e/f; TF, GY: () or (n2, n1); Se, Sf: () or (n,)
             expressions, None where the source is an input; Sw: () condition under which it is on, None: a parameter
    law      of a nonlinear I, C or R, in place of a value
    domain   a name of `ports.DOMAINS`, or ""; of TF and GY that of the first bond, `domain2` that of the second
    """

    name: str
    kind: str
    value: np.ndarray | None = None
    law: Law | None = None
    domain: str = ""
    domain2: str = ""
    origin: str = ""

    @property
    def is_junction(self) -> bool:
        return self.kind in JUNCTIONS

    def matrix(self, n: int) -> np.ndarray:
        """The modulus of an I, C or R as a matrix (n, n): a scalar one is the same on every bond of a multibond."""
        if self.value is None:
            raise ModelError(f"element {self.name!r} of kind {self.kind} has a law, and no modulus.")
        if self.value.ndim == 2:
            return self.value
        out = np.full((n, n), 0, dtype=object)
        for k in range(n):
            out[k, k] = self.value[()] if self.value.ndim == 0 else self.value[k]
        return out

    def __repr__(self) -> str:
        return f"{self.kind}:{self.name}"


@dataclass(frozen=True)
class Bond:
    """Power flows from tail to head; `number` counts from 1. signal: only information passes, to a detector."""

    number: int
    tail: str
    head: str
    dimension: int = 1
    signal: bool = False
    origin: str = ""

    def other(self, end: str) -> str:
        return self.head if end == self.tail else self.tail

    def __str__(self) -> str:
        return f"{self.number} ({self.tail} -> {self.head})"


@dataclass(frozen=True, eq=False)
class Integral:
    """A state that integrates an expression of detectors, states, inputs and t: an angle, a controller's memory."""

    name: str
    rate: Node
    unit: str = ""


@dataclass(frozen=True, eq=False)
class BondGraph(Packed):
    """Elements and bonds by name and number, in the order of the description; made by `BondGraph.builder(name)`.

    parameters   name -> symbol, with default and unit
    graph        the arena of all expressions; `notes`: what was changed while reading
    """

    name: str
    elements: Mapping[str, Element]
    bonds: tuple[Bond, ...]
    graph: Graph
    parameters: Mapping[str, Node] = field(default_factory=dict)
    integrals: tuple[Integral, ...] = ()
    source: str = ""
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        freeze(self, "elements", "parameters")

    @staticmethod
    def builder(name: str = "graph", **options: Any) -> GraphBuilder:
        """Collects elements and bonds; `done()` validates and gives the BondGraph."""
        made: GraphBuilder = imported("bondgraph.graph.graph_builder", "GraphBuilder")(name, **options)
        return made

    @staticmethod
    def load(name_or_path: str | Path) -> BondGraph:
        """A bundled graph ("rlc") or a .bond.yaml file."""
        made: BondGraph = imported("bondgraph.graph.graph_files", "load_graph")(name_or_path)
        return made

    def save(self, path: str | Path) -> Path:
        """Write the graph as a .bond.yaml file."""
        made: Path = imported("bondgraph.graph.graph_files", "save_graph")(self, path)
        return made

    def replace(self, **changes: Any) -> BondGraph:
        """A copy with some fields changed, validated again."""
        made = _replace(self, **changes)
        imported("bondgraph.graph.check_graph", "check_graph")(made)
        return made

    # -- access

    def element(self, name: str) -> Element:
        if name not in self.elements:
            raise NameLookupError(f"{self.name} has no element {name!r}. {nearest(name, self.elements)}")
        return self.elements[name]

    def of_kind(self, *kinds: str) -> tuple[Element, ...]:
        return tuple(e for e in self.elements.values() if e.kind in kinds)

    def bonds_of(self, name: str) -> tuple[Bond, ...]:
        return tuple(self._bonds_by_end.get(name, ()))

    @cached_property
    def _bonds_by_end(self) -> dict[str, list[Bond]]:
        """So that time grows with the size of a graph where every element asks for its bonds."""
        found: dict[str, list[Bond]] = {}
        for bond in self.bonds:
            for end in dict.fromkeys((bond.tail, bond.head)):
                found.setdefault(end, []).append(bond)
        return found

    @property
    def ports(self) -> tuple[PowerPort, ...]:
        """Open ports; power is counted into the graph."""
        out = []
        for element in self.of_kind(OPEN):
            (bond,) = self.bonds_of(element.name)
            out.append(PowerPort(element.name, element.domain, bond.dimension, bond.tail == element.name))
        return tuple(out)

    def __repr__(self) -> str:
        counts = {kind: len(self.of_kind(kind)) for kind in KINDS}
        parts = ", ".join(f"{n} {kind}" for kind, n in counts.items() if n)
        return f"BondGraph {self.name!r}: {len(self.bonds)} bonds; {parts}"

    # -- verbs, found when asked for

    def causality(self, prefer: str = "integral", **options: Any) -> Causality:
        """Strokes of all bonds: prefer "integral" or "derivative"; see `bondgraph.causality.assign`."""
        found: Causality = imported("bondgraph.causality.causality", "assign")(self, prefer, **options)
        return found

    def alternatives(self, prefer: str = "integral", most: int = 20, **options: Any) -> list[Causality]:
        """Causalities that are as good as the first one."""
        found: list[Causality] = imported("bondgraph.causality.causality", "alternatives")(
            self, prefer, most, **options
        )
        return found

    def structure(self, **options: Any) -> Any:
        """The junction-structure matrix S with its blocks; see `bondgraph.junction_structure`."""
        return imported("bondgraph.causality.junction_structure", "junction_structure")(self, **options)

    def system(self, **options: Any) -> System:
        """State equations as a System: compiles, simulates, linearises, exports; see `bondgraph.equations`."""
        made: System = imported("bondgraph.equations.state_equations", "state_equations")(self, **options)
        return made

    def dae(self, **options: Any) -> Dae:
        """The implicit form F(t, x, x', w, u) = 0, nothing solved for; see `bondgraph.dae`."""
        made: Dae = imported("bondgraph.equations.dae", "implicit_form")(self, **options)
        return made

    def matrices(self, **options: Any) -> Matrices:
        """Symbolic A, B, C, D of a linear graph; see `bondgraph.matrices`."""
        made: Matrices = imported("bondgraph.equations.state_matrices", "matrices")(self, **options)
        return made

    def loops(self, **options: Any) -> Any:
        """Causal loops with their gains; see `bondgraph.loops`."""
        return imported("bondgraph.causality.causal_loops", "causal_loops")(self, **options)

    def reciprocal(self) -> BondGraph:
        """The reciprocal graph: junctions swapped, moduli inverted, sources and detectors dualised."""
        made: BondGraph = imported("bondgraph.causality.reciprocal", "reciprocal")(self)
        return made

    def dual(self) -> BondGraph:
        """The dual graph: effort and flow exchanged; the same motion in the other variables."""
        made: BondGraph = imported("bondgraph.causality.reciprocal", "dual")(self)
        return made

    def inverse(self, **options: Any) -> Any:
        """The inverse model by bicausality: inputs that make the outputs what they should be."""
        return imported("bondgraph.equations.inverse_model", "inverse")(self, **options)

    def analysis(self, **options: Any) -> Any:
        """Structural ranks, controllability, observability, zeros; see `analyse.structure.analysis`."""
        return imported("bondgraph.structure.analysis", "analyse")(self, **options)

    def show(self, causality: Any = "integral", **options: Any) -> Any:
        """The drawing, with causal strokes; notebooks show it, `.svg` is its text."""
        return imported("show.drawing.bond_graph_drawing", "draw")(self, causality, **options)

    def in_mode(self, modes: Mapping[str, bool]) -> BondGraph:
        """The graph with its switches set: each becomes a source of zero."""
        made: BondGraph = imported("bondgraph.causality.switching", "in_mode")(self, modes)
        return made

    def with_ports(self, given: Mapping[str, str]) -> BondGraph:
        """Open ports closed by inputs: name -> "effort" or "flow", which comes from outside."""
        made: BondGraph = imported("bondgraph.equations.open_ports", "with_ports")(self, given)
        return made

    def drive(self, joints: Mapping[str, str]) -> System:
        """A System that drives joints of a Mechanism by open ports: port -> joint; see `bondgraph.open_ports`."""
        made: System = imported("bondgraph.equations.open_ports", "drive")(self, joints)
        return made
