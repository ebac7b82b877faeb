"""State equations of a bond graph: nodes of the rates and outputs, and the System that they make.

Written along the causality: co-energies z of the states, what resistors give, rates. Storages in derivative causality
follow the others: x_D is a function of x_I, t and the sources, and its rate by the chain rule,

    (1 - S12 dx_D/dx_I) dx_I = S11 z_I + S13 d_out + S14 u + S12 (dx_D/du u' + dx_D/dt)

Algebraic loops are linear systems, or implicit blocks where a law is nonlinear. Where the derivative u' of a source
enters by constant factors b, the state is x* = x - b u, and u' is gone (thesis II.I.2); else u' is an input <u>_dot.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from symbody.basics.errors import ModelError, NameLookupError, nearest, word_argument
from symbody.bondgraph.causality.junction_structure import JunctionStructure, junction_structure
from symbody.bondgraph.equations.dependent import dependent
from symbody.bondgraph.equations.laws import coenergies, dot, products, quotients
from symbody.bondgraph.equations.losses import losses
from symbody.bondgraph.equations.rates import rates
from symbody.bondgraph.equations.writing import Writing
from symbody.bondgraph.graph.bond_graph import BondGraph
from symbody.bondgraph.graph.flat import ScalarPort
from symbody.bondgraph.graph.power_ports import DOMAINS
from symbody.bondgraph.graph.symbols import coenergy_name, input_symbol, signal_symbol, state_name, state_symbol
from symbody.mechanics.loops.partition.structure import strong_order
from symbody.symbolic.expr.arrays import is_zero, scalar_array
from symbody.symbolic.expr.derivative import jacobian
from symbody.symbolic.expr.node import Node
from symbody.symbolic.expr.walk import free_symbols, substitute
from symbody.symbolic.lower.optimize import optimize_system
from symbody.symbolic.system.system import System

VARIABLES = ("energy", "coenergy")


@dataclass(frozen=True, eq=False)
class StateEquations:
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


def as_system(made: StateEquations) -> System:
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


def _units(made: StateEquations) -> dict[str, str]:
    units: dict[str, str] = {}
    for p in (*made.structure.groups["integral"], *made.structure.groups["source"], *made.structure.groups["detector"]):
        domain = DOMAINS.get(made.graph.elements[p.element].domain)
        if domain is None:
            continue
        known = {
            f"p_{p.label}": domain.momentum,
            f"q_{p.label}": domain.displacement,
            f"f_{p.label}": domain.flow_unit,
            f"e_{p.label}": domain.effort_unit,
            p.label: domain.effort_unit if p.kind in ("Se", "De") else domain.flow_unit,
        }
        units |= {n: u for n, u in known.items() if n in made.x or n in made.inputs or n in made.outputs}
    units |= {i.name: i.unit for i in made.graph.integrals if i.unit}
    return units


def write_equations(graph: BondGraph, outputs: Sequence[str] = (), first: Sequence[str] = ()) -> StateEquations:
    """Nodes of rates and outputs in energy variables."""
    w = Writing(graph, junction_structure(graph, first))
    sources(w)
    states(w)
    dependent(w)
    losses(w)
    made = rates(w)
    return finished(w, made, readings(w, outputs))


def sources(w: Writing) -> None:
    for p in w.U:
        e = w.graph.elements[p.element]
        if e.value is None:
            w.inputs[p.label] = w.gives[p.index] = input_symbol(w.g, p.label)
        else:
            w.gives[p.index] = e.value.item() if e.value.ndim == 0 else e.value[p.place]
    for p in w.Y:
        w.gives[p.index] = w.g.zero


def states(w: Writing) -> None:
    """Co-energies of elements whose ports are all integral."""
    late = {p.element for p in w.D}
    for name in dict.fromkeys(p.element for p in w.I if p.element not in late):
        ports = sorted(w.ports_of(name), key=lambda p: p.place)
        z = coenergies(w.graph.elements[name], [w.x[p.index] for p in ports])
        for p, node in zip(ports, z, strict=True):
            w.gives[p.index] = node
            w.known[signal_symbol(w.g, coenergy_name(p))] = node


def readings(w: Writing, wanted: Sequence[str]) -> dict[str, Node]:
    w.gives |= w.xd_dot
    everything = [*w.I, *w.D, *w.R, *w.U]
    detected = {p.label: w.received(p, everything) for p in w.Y}
    out = dict(detected)
    ports = {p.label: p for p in (*everything, *w.Y)}
    for name in wanted:
        kind, _, label = str(name).partition(".")
        if kind in ("e", "f") and label:
            if label not in ports:
                raise NameLookupError(f"{w.graph.name} has no element {label!r}. {nearest(label, ports)}")
            out[f"{kind}_{label}"] = reading(w, ports[label], kind, everything)
        elif name == "energy":
            out[name] = energy(w, everything)
        elif name in ("power", "dissipated"):
            among = w.U if name == "power" else w.R
            pairs = [(reading(w, p, "e", everything), reading(w, p, "f", everything)) for p in among]
            out[name] = sum((a * b for a, b in pairs), w.g.zero)
        else:
            known = ["energy", "power", "dissipated", *(f"{k}.{n}" for n in ports for k in "ef")]
            raise NameLookupError(f"there is no output {name!r} of {w.graph.name}. {nearest(str(name), known)}")
    return out


def reading(w: Writing, port: ScalarPort, kind: str, everything: Sequence[ScalarPort]) -> Node:
    if w.structure.causality.gives[port.label] == kind:
        return w.gives[port.index]
    return w.received(port, everything)


def energy(w: Writing, everything: Sequence[ScalarPort]) -> Node:
    total = w.g.zero
    for p in (*w.I, *w.D):
        e = w.graph.elements[p.element]
        if e.law is not None:
            raise ModelError(f"the energy of {e.name!r}, whose law is nonlinear, is not known; leave 'energy' out.")
        x = w.x[p.index] if p.index in w.x else w.xd[p.index]
        z = reading(w, p, p.natural, everything)
        total = total + x * z / 2
    return total


def finished(w: Writing, rates: dict[str, Node], found: dict[str, Node]) -> StateEquations:
    """Signals put in, rates of sources removed."""
    rates = {**rates, **w.integral_rates}
    z = {state_name(p): w.gives[p.index] for p in w.I}
    for name, node in ((p.label, found[p.label]) for p in w.Y):
        w.known[signal_symbol(w.g, name)] = node
    names = [*rates, *found, *z, *w.switches]
    nodes = [*rates.values(), *found.values(), *z.values(), *w.switches.values()]
    nodes = with_signals(w, nodes)
    sizes = (len(rates), len(found), len(z), len(w.switches))
    starts = np.cumsum((0, *sizes))
    parts = [dict(zip(names[a:b], nodes[a:b])) for a, b in pairwise(starts)]
    x = {state_name(p): w.x[p.index] for p in w.I}
    x |= {i.name: state_symbol(w.g, i.name) for i in w.graph.integrals}
    made = StateEquations(w.graph, w.structure, x, parts[0], dict(w.inputs), parts[1], parts[2], switches=parts[3])
    return without_input_rates(made, w.dots)


def with_signals(w: Writing, nodes: Sequence[Node]) -> list[Node]:
    """Expressions with all signals and dependent states replaced by what they stand for.

    Signals that depend on each other at once (an amplifier that is fed back through resistors) are solved together.
    """
    table = w.known
    reads: dict[Node, list[Node]] = {}
    waiting = [s for s in free_symbols(nodes) if s in table]
    while waiting:
        s = waiting.pop()
        if s not in reads:
            reads[s] = [o for o in free_symbols([table[s]]) if o in table]
            waiting += reads[s]
    if not reads:
        return list(nodes)
    names = sorted(reads, key=lambda s: s.id)
    place = {s: k for k, s in enumerate(names)}
    needs = np.zeros((len(names), len(names)), dtype=bool)
    for s, found in reads.items():
        needs[place[s], [place[o] for o in found]] = True
    made: dict[Node, Node] = {}
    for ring in strong_order(needs):
        own = [names[k] for k in ring]
        values = substitute([table[s] for s in own], made)
        if needs[np.ix_(ring, ring)].any():
            labels = [s.data.name for s in own]
            residual = [s - v for s, v in zip(own, values, strict=True)]
            values = w.solved(residual, own, [w.g.zero] * len(own), "signal loop", labels)
        made |= dict(zip(own, values, strict=True))
    return substitute(nodes, made)


def without_input_rates(made: StateEquations, dots: Mapping[Node, Node]) -> StateEquations:
    """The equations with x* = x - b u for x, where rates u' of sources enter by constant factors b."""
    used = {u: d for u, d in dots.items() if d in set(free_symbols([*made.rates.values(), *made.outputs.values()]))}
    if not used:
        return made
    symbols, names = list(used.values()), list(made.rates)
    slopes = jacobian(list(made.rates.values()), symbols)
    moving = [s for s in free_symbols(slopes.flat) if s.data.role != "parameter"]
    known = {d.data.name: d for d in symbols}
    if moving:
        return StateEquations(
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
    return StateEquations(
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


def in_coenergies(made: StateEquations) -> StateEquations:
    """The equations with flows of I and efforts of C as states in place of momenta and displacements."""
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
        back = products(e.matrix(len(own)), z)
        table |= {made.x[state_name(p)]: b for p, b in zip(own, back, strict=True)}
        slopes = quotients(e.matrix(len(own)), [made.rates[state_name(p)] for p in own])
        x |= {coenergy_name(p): s for p, s in zip(own, z, strict=True)}
        rates |= {coenergy_name(p): r for p, r in zip(own, slopes, strict=True)}
    for i in made.graph.integrals:
        x[i.name], rates[i.name] = made.x[i.name], made.rates[i.name]
    put: Callable[[Mapping[str, Node]], dict[str, Node]] = lambda nodes: dict(  # noqa: E731
        zip(nodes, substitute(list(nodes.values()), table))
    )
    return StateEquations(
        made.graph, made.structure, x, put(rates), made.inputs, put(made.outputs), dict(x), {}, put(made.switches)
    )
