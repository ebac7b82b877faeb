"""State equations of a bond graph: nodes of the rates and outputs, and the System that they make.

Written along the causality: co-energies z of the states, what resistors give, rates. Storages in derivative causality
follow the others: x_D is a function of x_I, t and the sources, and its rate by the chain rule,

    (1 - S12 dx_D/dx_I) dx_I = S11 z_I + S13 d_out + S14 u + S12 (dx_D/du u' + dx_D/dt)

Algebraic loops are linear systems, or implicit blocks where a law is nonlinear. Where the derivative u' of a source
enters by constant factors b, the state is x* = x - b u, and u' is gone (thesis II.I.2); else u' is an input <u>_dot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from symbody.bondgraph.builder import input_symbol, signal_symbol, state_symbol
from symbody.bondgraph.flat import ScalarPort
from symbody.bondgraph.junction_structure import JunctionStructure, junction_structure
from symbody.bondgraph.modular import rank
from symbody.bondgraph.ports import DOMAINS
from symbody.bondgraph.record import SWITCH, BondGraph, Element, matrix_of
from symbody.bondgraph.scalars import residues
from symbody.errors import ModelError, NameLookupError, nearest, word_argument
from symbody.expr.arrays import is_zero, scalar_array
from symbody.expr.derivative import jacobian
from symbody.expr.functions import select
from symbody.expr.implicit import solve
from symbody.expr.lu import solve_linear, solve_lu
from symbody.expr.node import Node
from symbody.expr.walk import free_symbols, substitute
from symbody.lower.optimize import optimize_system
from symbody.system.system import System

VARIABLES = ("energy", "coenergy")
Sum = list[tuple[Any, Any]]  # coefficient, value


@dataclass(frozen=True, eq=False)
class Equations:
    """Nodes of a graph's motion.

    x, rates    states with their rates; names p_<I>, q_<C>, and integrals
    inputs      name -> symbol; rates of inputs <u>_dot where they could not be removed
    outputs     detector or asked quantity -> node
    shift       state -> node that was subtracted from the energy to remove rates of sources
    z           state -> co-energy
    """

    graph: BondGraph
    structure: JunctionStructure
    x: dict[str, Node]
    rates: dict[str, Node]
    inputs: dict[str, Node]
    outputs: dict[str, Node]
    z: dict[str, Node]
    shift: dict[str, Node] = field(default_factory=dict)
    switches: dict[str, Node] = field(default_factory=dict)


def state_equations(
    graph: BondGraph,
    variables: str = "energy",
    outputs: Sequence[str] = (),
    first: Sequence[str] = (),
    optimize: str = "standard",
) -> System:
    """The motion as a System: states with rates <state>_dot, sources as inputs, detectors as outputs.

    variables   "energy": momenta p_<I> and displacements q_<C>; "coenergy": flows f_<I> and efforts e_<C>
    outputs     further ones: "e.<element>", "f.<element>", "energy", "power" (given by the sources), "dissipated"
    first       storages that should keep their states where not all can
    optimize    preset of `System.optimize`
    """
    word_argument("variables", variables, VARIABLES)
    made = write_equations(graph, outputs, first)
    if variables == "coenergy":
        made = in_coenergies(made)
    return optimize_system(as_system(made), optimize)


def as_system(made: Equations) -> System:
    """The System of written equations, as they are."""
    graph = made.graph
    rates = {f"{n}_dot": r for n, r in made.rates.items()}
    everything = [*made.rates.values(), *made.outputs.values(), *made.switches.values()]
    used = set(free_symbols(everything))
    t = graph.graph.symbol("t", "time")
    inputs = {**made.x, **({"t": t} if t in used else {}), **made.inputs}
    outputs = {**rates, **made.outputs}
    if not outputs:
        raise ModelError(f"{graph.name} has neither states nor detectors; expected storages, or something to read.")
    origins = {
        f"{n}_dot": f"state {n} is the energy variable minus ({made.shift[n]}), which removes rates of sources"
        for n in made.shift
    }
    guards = {f"{n}_switches": g for n, g in made.switches.items()}
    return System(
        graph.name,
        arrays_of(inputs),
        arrays_of(outputs),
        states={n: f"{n}_dot" for n in made.rates},
        origins=origins,
        guards=arrays_of(guards),
        units=_units(made),
    )


def arrays_of(nodes: Mapping[str, Node]) -> dict[str, np.ndarray]:
    """Scalars as a System takes them."""
    return {n: scalar_array(node) for n, node in nodes.items()}


def _units(made: Equations) -> dict[str, str]:
    units: dict[str, str] = {}
    for p in (*made.structure.groups["integral"], *made.structure.groups["source"], *made.structure.groups["detector"]):
        domain = DOMAINS.get(made.graph.elements[p.element].domain)
        if domain is None:
            continue
        known = {
            f"p_{p.label}": domain.momentum, f"q_{p.label}": domain.displacement, f"f_{p.label}": domain.flow_unit,
            f"e_{p.label}": domain.effort_unit,
            p.label: domain.effort_unit if p.kind in ("Se", "De") else domain.flow_unit,
        }  # fmt: skip
        units |= {n: u for n, u in known.items() if n in made.x or n in made.inputs or n in made.outputs}
    units |= {i.name: i.unit for i in made.graph.integrals if i.unit}
    return units


def state_name(port: ScalarPort) -> str:
    return f"{'p' if port.kind == 'I' else 'q'}_{port.label}"


def coenergy_name(port: ScalarPort) -> str:
    return f"{'f' if port.kind == 'I' else 'e'}_{port.label}"


def write_equations(graph: BondGraph, outputs: Sequence[str] = (), first: Sequence[str] = ()) -> Equations:
    """Nodes of rates and outputs in energy variables."""
    return _Writer(graph, junction_structure(graph, first)).write(outputs)


class _Writer:
    """One writing of one graph."""

    def __init__(self, graph: BondGraph, structure: JunctionStructure) -> None:
        self.graph, self.structure, self.g = graph, structure, graph.graph
        groups = structure.groups
        self.I, self.D = groups["integral"], groups["derivative"]
        self.R, self.U, self.Y = groups["loss"], groups["source"], groups["detector"]
        self.x = {p.index: state_symbol(self.g, state_name(p)) for p in self.I}
        self.gives: dict[int, Node] = {}  # port -> what its element gives
        self.known: dict[Node, Node] = {}  # signals and dependent states that are known, by their symbols
        self.inputs: dict[str, Node] = {}
        self.dots: dict[Node, Node] = {}
        self.switches: dict[str, Node] = {}

    # -- sums

    def received(self, port: ScalarPort, among: Iterable[ScalarPort]) -> Node:
        """What a port receives from those that give: a row of S times their values."""
        row = self.structure.entries[port.index]
        total = self.g.zero
        for p in among:
            c = row.get(p.index)
            if c:
                total = total + c.node * self.gives[p.index]
        return total

    def entry(self, a: ScalarPort, b: ScalarPort) -> Any:
        c = self.structure.entries[a.index].get(b.index)
        return c.node if c else 0

    def reads(self, a: ScalarPort, b: ScalarPort) -> bool:
        return b.index in self.structure.entries[a.index]

    # -- parts

    def write(self, wanted: Sequence[str]) -> Equations:
        self.sources()
        self.states()
        self.dependent()
        self.losses()
        rates = self.rates()
        found = self.readings(wanted)
        return self.finished(rates, found)

    def sources(self) -> None:
        for p in self.U:
            e = self.graph.elements[p.element]
            if e.value is None:
                self.inputs[p.label] = self.gives[p.index] = input_symbol(self.g, p.label)
            else:
                self.gives[p.index] = e.value.item() if e.value.ndim == 0 else e.value[p.place]
        for p in self.Y:
            self.gives[p.index] = self.g.zero

    def ports_of(self, name: str) -> list[ScalarPort]:
        return [p for p in (*self.I, *self.D, *self.R) if p.element == name]

    def states(self) -> None:
        """Co-energies of elements whose ports are all integral."""
        late = {p.element for p in self.D}
        for name in dict.fromkeys(p.element for p in self.I if p.element not in late):
            ports = sorted(self.ports_of(name), key=lambda p: p.place)
            z = coenergies(self.graph.elements[name], [self.x[p.index] for p in ports])
            for p, node in zip(ports, z, strict=True):
                self.gives[p.index] = node
                self.known[signal_symbol(self.g, coenergy_name(p))] = node

    def dependent(self) -> None:
        """Energies of storages in derivative causality, from what they are forced to."""
        self.xd: dict[int, Node] = {}
        late = dict.fromkeys(p.element for p in self.D)
        given = [p for p in (*self.I, *self.U) if p.element not in late]
        hard: list[str] = []
        for name in late:
            e = self.graph.elements[name]
            ports = sorted(self.ports_of(name), key=lambda p: p.place)
            mixed = any(p.index in self.x for p in ports)
            leans = any(self.reads(p, q) for p in ports for q in self.I if q.element in late)
            if e.law is None and not mixed and not leans:
                z = [self.received(p, given) for p in ports]
                x = products(matrix_of(e.value, len(ports)), z)  # type: ignore[arg-type]
                self.xd |= {p.index: node for p, node in zip(ports, x, strict=True)}
            else:
                hard.append(name)
        if hard:
            self.dependent_together(hard, given)
        for p in self.D:
            self.known[state_symbol(self.g, state_name(p))] = self.xd[p.index]
            self.known[signal_symbol(self.g, coenergy_name(p))] = self.received(p, (*self.I, *self.U))
        self.put_known_into_dependent()

    def dependent_together(self, names: Sequence[str], given: Sequence[ScalarPort]) -> None:
        """Elements that are nonlinear, or integral on some bonds and derivative on others: one system of equations."""
        unknown: dict[int, Node] = {}
        for name in names:
            ports = sorted(self.ports_of(name), key=lambda p: p.place)
            for p in ports:
                if p.index not in self.x:
                    unknown[p.index] = self.g.symbol(state_name(p), "input", scope="unknown")
            z = coenergies(self.graph.elements[name], [{**self.x, **unknown}[p.index] for p in ports])
            for p, node in zip(ports, z, strict=True):
                if p.index in self.x:
                    self.gives[p.index] = node
                else:
                    self.xd[p.index] = node  # what the law says of the unknown, for the residual
        ports = [p for p in self.D if p.index in unknown]
        own = [p for p in self.I if p.element in names]
        residual = [self.xd[p.index] - self.received(p, [*given, *own]) for p in ports]
        symbols = [unknown[p.index] for p in ports]
        guess = [self.guess(p) for p in ports]
        found = self.solved(residual, symbols, guess, "dependent storages", [p.label for p in ports])
        table = dict(zip(symbols, found, strict=True))
        for p, node in zip(ports, found, strict=True):
            self.xd[p.index] = node
        for p in own:
            self.gives[p.index] = substitute([self.gives[p.index]], table)[0]

    def guess(self, port: ScalarPort) -> Node:
        law = self.graph.elements[port.element].law
        return self.g.zero if law is None else law.guess[port.place]

    def put_known_into_dependent(self) -> None:
        """Dependent energies with the co-energies of states put in; other signals cannot stand there."""
        own = {s: n for s, n in self.known.items() if s.data.scope == "signal"}
        for p in self.D:
            node = substitute([self.xd[p.index]], own)[0]
            left = [s for s in free_symbols([node]) if s.data.scope == "signal" or self.is_dependent_state(s)]
            if left:
                raise ModelError(
                    f"{self.graph.name}: the modulus that binds the dependent storage {p.label!r} reads "
                    f"{left[0].data.name!r}, which depends on it. Let it read states that are integral."
                )
            self.xd[p.index] = node

    def is_dependent_state(self, symbol: Node) -> bool:
        return symbol.data.role == "state" and any(state_name(p) == symbol.data.name for p in self.D)

    def losses(self) -> None:
        """What resistors and switches give: one by one, or together where they form algebraic loops."""
        for group in self.groups():
            inside = {p.index for p in group}
            given = [*self.I, *self.U]
            plain = {p.index: self.received(p, given) for p in group}
            loop = any(self.reads(p, q) for p in group for q in group)
            if not loop and self.direct(group, plain):
                continue
            w = {p.index: self.g.symbol(f"w_{p.label}", "input", scope="unknown") for p in group}
            self.gives |= w
            total = {p.index: plain[p.index] + self.received(p, [q for q in group if q.index in inside]) for p in group}
            residual: list[Node] = []
            guess: dict[int, Node] = {}
            for name in dict.fromkeys(p.element for p in group):
                ports = [p for p in group if p.element == name]
                residual += self.relation(self.graph.elements[name], ports, w, total, guess)
            order = [p.index for p in group]
            found = self.solved(
                residual,
                [w[k] for k in order],
                [guess.get(k, self.g.zero) for k in order],
                "algebraic loop",
                [p.label for p in group],
            )
            self.gives |= dict(zip(order, found, strict=True))

    def groups(self) -> list[list[ScalarPort]]:
        """Loss ports that read each other, or belong to one element."""
        home = {p.index: p.index for p in self.R}

        def root(k: int) -> int:
            while home[k] != k:
                k = home[k]
            return k

        for p in self.R:
            for q in self.R:
                if p.element == q.element or self.structure.entries[p.index].get(q.index):
                    home[root(p.index)] = root(q.index)
        out: dict[int, list[ScalarPort]] = {}
        for p in self.R:
            out.setdefault(root(p.index), []).append(p)
        return list(out.values())

    def direct(self, group: list[ScalarPort], given: Mapping[int, Node]) -> bool:
        """Give what a single element says of what it receives, where that is a formula."""
        e = self.graph.elements[group[0].element]
        if e.kind == SWITCH or len({p.element for p in group}) > 1:
            return False
        way = {self.structure.causality.gives[p.label] for p in group}
        if len(way) > 1:
            return False
        given_in_order = [given[p.index] for p in group]
        if e.law is not None:
            if e.law.gives not in way:
                return False
            found = substitute(e.law.results, dict(zip(e.law.arguments, given_in_order, strict=True)))
        else:
            matrix = matrix_of(e.value, len(group))  # type: ignore[arg-type]
            found = products(matrix, given_in_order) if way == {"e"} else quotients(matrix, given_in_order)
        self.gives |= {p.index: node for p, node in zip(group, found, strict=True)}
        return True

    def relation(self, e: Element, ports: Sequence[ScalarPort], w: Mapping[int, Node], total: Mapping[int, Node],
                 guess: dict[int, Node]) -> list[Node]:  # fmt: skip
        """Residuals of an element between efforts and flows, whichever of them it gives."""
        way = self.structure.causality.gives
        efforts = [w[p.index] if way[p.label] == "e" else total[p.index] for p in ports]
        flows = [w[p.index] if way[p.label] == "f" else total[p.index] for p in ports]
        if e.kind == SWITCH:
            on = self.switch(e)
            return [on * a + (1 - on) * b for a, b in zip(efforts, flows)]
        if e.law is None:
            matrix = matrix_of(e.value, len(ports))  # type: ignore[arg-type]
            return [a - b for a, b in zip(efforts, products(matrix, flows))]
        known, asked = (flows, efforts) if e.law.gives == "e" else (efforts, flows)
        for p, start in zip(ports, e.law.guess):
            if way[p.label] != e.law.gives:
                guess[p.index] = start
        results = substitute(e.law.results, dict(zip(e.law.arguments, known, strict=True)))
        return [a - b for a, b in zip(asked, results)]

    def switch(self, e: Element) -> Node:
        """1 where a switch is on: its condition, or a parameter s_<name>."""
        if e.value is None:
            return self.g.symbol(f"s_{e.name}", "parameter", default=1.0)
        condition: Node = e.value.item()
        if condition.op in ("lt", "le"):
            self.switches[e.name] = condition.args[1] - condition.args[0]
        one: Node = select(condition, self.g.one, self.g.zero)
        return one

    def solved(self, residual: Sequence[Node], unknown: Sequence[Node], guess: Sequence[Node], what: str,
               labels: Sequence[str]) -> list[Node]:  # fmt: skip
        """The unknowns: by a linear system where the residuals are linear in them, else by an implicit block."""
        matrix = jacobian(residual, unknown)
        if rank(np.array(residues(list(matrix.flat), self.g), dtype=object).reshape(matrix.shape)) < len(unknown):
            raise ModelError(
                f"{self.graph.name}: the {what} of {', '.join(labels)} cannot be solved: its gain is 1, so that its "
                "values cancel. Change a modulus, or put a storage into the loop."
            )
        if not set(unknown) & set(free_symbols(matrix.flat)):
            constant = substitute(residual, dict.fromkeys(unknown, self.g.zero))
            return solve_linear(matrix, [-c for c in constant])
        return list(solve(residual, unknown, guess, name=what.replace(" ", "_")).x)

    # -- rates

    def rates(self) -> dict[str, Node]:
        given = [*self.I, *self.R, *self.U]
        right = {p.index: self.received(p, given) for p in self.I}
        self.integral_rates = {i.name: i.rate for i in self.graph.integrals}
        if not self.D:
            self.xd_dot: dict[int, Node] = {}
            return {state_name(p): right[p.index] for p in self.I}
        xd = [self.xd[p.index] for p in self.D]
        free = set(free_symbols(xd))
        columns = [p for p in self.I if self.x[p.index] in free]
        slopes = jacobian(xd, [self.x[p.index] for p in columns]) if columns else np.zeros((len(xd), 0), dtype=object)
        own = self.explicit_rates(xd, free)
        bound = [p for p in self.I if any(self.reads(p, d) for d in self.D)]
        push = np.array([[self.entry(p, d) for d in self.D] for p in bound], dtype=object)
        dx: dict[int, Node] = {p.index: right[p.index] for p in self.I if p not in bound}
        inside = [k for k, p in enumerate(columns) if p in bound]
        rest = [k for k, p in enumerate(columns) if p not in bound]
        known = list(own)
        for i in range(len(xd)):
            for k in rest:
                known[i] = known[i] + slopes[i, k] * dx[columns[k].index]
        if bound:
            place = {p.index: k for k, p in enumerate(bound)}
            matrix = np.full((len(bound), len(bound)), self.g.zero, dtype=object)
            vector = []
            for r, p in enumerate(bound):
                matrix[r, r] = self.g.one
                vector.append(right[p.index] + dot(push[r], known))
            for r in range(len(bound)):
                for k in inside:
                    c = place[columns[k].index]
                    matrix[r, c] = matrix[r, c] - dot(push[r], list(slopes[:, k]))
            self.check_rates(matrix, bound)
            for p, value in zip(bound, solve_lu(matrix, np.array(vector, dtype=object))):
                dx[p.index] = self.g.zero + value
        self.xd_dot = {
            d.index: known[i] + dot([slopes[i, k] for k in inside], [dx[columns[k].index] for k in inside])
            for i, d in enumerate(self.D)
        }
        return {state_name(p): dx[p.index] for p in self.I}

    def check_rates(self, matrix: np.ndarray, bound: Sequence[ScalarPort]) -> None:
        if rank(np.array(residues(list(matrix.flat), self.g), dtype=object).reshape(matrix.shape)) < len(matrix):
            names = ", ".join(p.label for p in (*bound, *self.D))
            raise ModelError(
                f"{self.graph.name}: the storages {names} are bound to each other so that their rates cancel: no state "
                "equations exist. A negative modulus among them may be the reason."
            )

    def explicit_rates(self, xd: Sequence[Node], free: set[Node]) -> list[Node]:
        """What changes dependent energies besides the storages: time, sources, integrals."""
        out = [self.g.zero for _ in xd]
        for symbol in sorted(free, key=lambda s: s.id):
            role, name = symbol.data.role, symbol.data.name
            if symbol in self.x.values() or role == "parameter":
                continue
            if role == "time":
                rate = self.g.one
            elif name in self.integral_rates:
                rate = self.integral_rates[name]
            else:
                rate = self.dots[symbol] = input_symbol(self.g, f"{name}_dot")
            slopes = jacobian(xd, [symbol])
            out = [a + slopes[i, 0] * rate for i, a in enumerate(out)]
        return out

    # -- readings

    def readings(self, wanted: Sequence[str]) -> dict[str, Node]:
        self.gives |= self.xd_dot
        everything = [*self.I, *self.D, *self.R, *self.U]
        self.detected = {p.label: self.received(p, everything) for p in self.Y}
        out = dict(self.detected)
        ports = {p.label: p for p in (*everything, *self.Y)}
        for name in wanted:
            kind, _, label = str(name).partition(".")
            if kind in ("e", "f") and label:
                if label not in ports:
                    raise NameLookupError(f"{self.graph.name} has no element {label!r}. {nearest(label, ports)}")
                out[f"{kind}_{label}"] = self.reading(ports[label], kind, everything)
            elif name == "energy":
                out[name] = self.energy(everything)
            elif name in ("power", "dissipated"):
                among = self.U if name == "power" else self.R
                pairs = [(self.reading(p, "e", everything), self.reading(p, "f", everything)) for p in among]
                out[name] = sum((a * b for a, b in pairs), self.g.zero)
            else:
                known = ["energy", "power", "dissipated", *(f"{k}.{n}" for n in ports for k in "ef")]
                raise NameLookupError(f"there is no output {name!r} of {self.graph.name}. {nearest(str(name), known)}")
        return out

    def reading(self, port: ScalarPort, kind: str, everything: Sequence[ScalarPort]) -> Node:
        if self.structure.causality.gives[port.label] == kind:
            return self.gives[port.index]
        return self.received(port, everything)

    def energy(self, everything: Sequence[ScalarPort]) -> Node:
        total = self.g.zero
        for p in (*self.I, *self.D):
            e = self.graph.elements[p.element]
            if e.law is not None:
                raise ModelError(f"the energy of {e.name!r}, whose law is nonlinear, is not known; leave 'energy' out.")
            x = self.x[p.index] if p.index in self.x else self.xd[p.index]
            z = self.reading(p, p.natural, everything)
            total = total + x * z / 2
        return total

    # -- the end

    def finished(self, rates: dict[str, Node], found: dict[str, Node]) -> Equations:
        """Signals put in, rates of sources removed."""
        rates = {**rates, **self.integral_rates}
        z = {state_name(p): self.gives[p.index] for p in self.I}
        for name, node in self.detected.items():
            self.known[signal_symbol(self.g, name)] = node
        names = [*rates, *found, *z, *self.switches]
        nodes = [*rates.values(), *found.values(), *z.values(), *self.switches.values()]
        nodes = self.with_signals(nodes)
        sizes = (len(rates), len(found), len(z), len(self.switches))
        starts = np.cumsum((0, *sizes))
        parts = [dict(zip(names[a:b], nodes[a:b])) for a, b in pairwise(starts)]
        x = {state_name(p): self.x[p.index] for p in self.I}
        x |= {i.name: state_symbol(self.g, i.name) for i in self.graph.integrals}
        made = Equations(
            self.graph, self.structure, x, parts[0], dict(self.inputs), parts[1], parts[2], switches=parts[3]
        )
        return without_input_rates(made, self.dots)

    def with_signals(self, nodes: Sequence[Node]) -> list[Node]:
        """Expressions with all signals and dependent states replaced by what they stand for."""
        table = dict(self.known)
        open_signals = lambda roots: [s for s in free_symbols(roots) if s in table]  # noqa: E731
        made: dict[Node, Node] = {}
        stack: list[tuple[Node, bool]] = [(s, False) for s in open_signals(nodes)]
        under_way: list[Node] = []
        while stack:
            s, leaving = stack.pop()
            if leaving:
                under_way.remove(s)
                made[s] = substitute([table[s]], made)[0]
                continue
            if s in made:
                continue
            if s in under_way:
                ring = ", ".join(n.data.name for n in under_way[under_way.index(s) :])
                raise ModelError(
                    f"{self.graph.name}: the signals {ring} depend on each other at once. Put an integral or a storage "
                    "into the loop, or write the law as that of an R."
                )
            under_way.append(s)
            stack.append((s, True))
            stack += [(o, False) for o in open_signals([table[s]]) if o not in made]
        return substitute(nodes, made)


def without_input_rates(made: Equations, dots: Mapping[Node, Node]) -> Equations:
    """The equations with x* = x - b u for x, where rates u' of sources enter by constant factors b."""
    used = {u: d for u, d in dots.items() if d in set(free_symbols([*made.rates.values(), *made.outputs.values()]))}
    if not used:
        return made
    symbols, names = list(used.values()), list(made.rates)
    slopes = jacobian(list(made.rates.values()), symbols)
    moving = [s for s in free_symbols(slopes.flat) if s.data.role != "parameter"]
    known = {d.data.name: d for d in symbols}
    if moving:
        return Equations(
            made.graph,
            made.structure,
            made.x,
            made.rates,
            {**made.inputs, **known},
            made.outputs,
            made.z,
            {},
            made.switches,
        )
    shift = {n: dot(slopes[i], list(used)) for i, n in enumerate(names) if not all(is_zero(c) for c in slopes[i])}
    still = {d: d.graph.zero for d in symbols}
    moved = {made.x[n]: made.x[n] + by for n, by in shift.items()}
    rates = substitute(substitute(list(made.rates.values()), still), moved)
    outputs = substitute(list(made.outputs.values()), moved)
    z = substitute(list(made.z.values()), moved)
    left = {n: d for n, d in known.items() if d in set(free_symbols(outputs))}
    return Equations(
        made.graph,
        made.structure,
        made.x,
        dict(zip(names, rates)),
        {**made.inputs, **left},
        dict(zip(made.outputs, outputs)),
        dict(zip(made.z, z)),
        shift,
        made.switches,
    )


def in_coenergies(made: Equations) -> Equations:
    """The same equations with flows of I and efforts of C as states."""
    ports = made.structure.groups["integral"]
    late = {p.element for p in made.structure.groups["derivative"]}
    table: dict[Node, Node] = {}
    x: dict[str, Node] = {}
    rates: dict[str, Node] = {}
    for name in dict.fromkeys(p.element for p in ports):
        e = made.graph.elements[name]
        own = [p for p in ports if p.element == name]
        if e.law is not None or name in late or made.shift:
            why = "a nonlinear law" if e.law is not None else "bonds in derivative causality"
            why = "a state that is shifted by a source" if made.shift else why
            raise ModelError(f"co-energies are no states of {made.graph.name}: {name!r} has {why}. Take energies.")
        z = [state_symbol(made.graph.graph, coenergy_name(p)) for p in own]
        back = products(matrix_of(e.value, len(own)), z)  # type: ignore[arg-type]
        table |= {made.x[state_name(p)]: b for p, b in zip(own, back, strict=True)}
        slopes = quotients(matrix_of(e.value, len(own)), [made.rates[state_name(p)] for p in own])  # type: ignore[arg-type]
        x |= {coenergy_name(p): s for p, s in zip(own, z, strict=True)}
        rates |= {coenergy_name(p): r for p, r in zip(own, slopes, strict=True)}
    for i in made.graph.integrals:
        x[i.name], rates[i.name] = made.x[i.name], made.rates[i.name]
    put: Callable[[Mapping[str, Node]], dict[str, Node]] = lambda nodes: dict(  # noqa: E731
        zip(nodes, substitute(list(nodes.values()), table))
    )
    return Equations(
        made.graph, made.structure, x, put(rates), made.inputs, put(made.outputs), dict(x), {}, put(made.switches)
    )


# -- laws


def coenergies(e: Element, x: Sequence[Node]) -> list[Node]:
    """z of the energies x of a storage: by its law, or its modulus M by z = M^-1 x."""
    if e.law is not None:
        return substitute(e.law.results, dict(zip(e.law.arguments, x, strict=True)))
    return quotients(matrix_of(e.value, len(x)), x)  # type: ignore[arg-type]


def products(matrix: np.ndarray, vector: Sequence[Node]) -> list[Node]:
    """matrix @ vector."""
    return [dot(row, vector) for row in matrix]


def quotients(matrix: np.ndarray, vector: Sequence[Node]) -> list[Node]:
    """matrix^-1 @ vector."""
    n = len(vector)
    if all(is_zero(matrix[i, j]) for i in range(n) for j in range(n) if i != j):
        return [v / matrix[k, k] for k, v in enumerate(vector)]
    zero = vector[0].graph.zero
    return [zero + x for x in solve_lu(matrix, np.array(list(vector), dtype=object))]


def dot(a: Iterable[Any], b: Sequence[Node]) -> Node:
    """Sum of products; zero coefficients make no operations."""
    total: Any = 0
    for c, v in zip(a, b):
        if not is_zero(c):
            total = c * v if total.__class__ is int else total + c * v
    return b[0].graph.zero if total.__class__ is int and len(b) else total
