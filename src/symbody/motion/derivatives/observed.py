"""What is differentiated: states and recorded quantities at instants, and integrals, as nodes over a Flow's symbols.

An integral is a state more, whose rate is the integrand: the steps of the method sum it as they sum the motion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from symbody.basics.errors import DefinitionError, NameLookupError, SymbodyError, nearest
from symbody.basics.memory import memory_of
from symbody.motion.derivatives.pullbacks import Pullback, pulled
from symbody.motion.flow.event_rules import names_of
from symbody.motion.flow.flow import Flow, shared_inputs
from symbody.symbolic.expr.arrays import scalar_array
from symbody.symbolic.expr.evaluate import transplant
from symbody.symbolic.expr.node import Node
from symbody.symbolic.expr.parse import parse
from symbody.symbolic.expr.walk import substitute
from symbody.symbolic.system.names import components
from symbody.symbolic.system.system import System, node_array

Texts = tuple[tuple[str, str], ...]
INTEGRAL = "integral_"  # begin of the names of states that are integrals


@dataclass(frozen=True)
class ObservedQuantity:
    """What is asked for under a name: its text where it is an expression of its own, and its shape."""

    name: str
    text: str | None
    shape: tuple[int, ...]


def recorded_nodes(flow: Flow) -> dict[str, np.ndarray]:
    """States, rates that are recorded, and recorded quantities, over the symbols of the rates."""
    return memory_of(flow).get("recorded_nodes", (), lambda: _recorded_nodes(flow))


def _recorded_nodes(flow: Flow) -> dict[str, np.ndarray]:
    rates = flow.rates
    out: dict[str, np.ndarray] = {n: rates.inputs[n] for n in flow.states}
    out |= {n: rates.outputs[rate] for n, rate in flow.rated.items()}
    record = flow.record
    if record is None:
        return out
    inputs = shared_inputs(rates)
    given = dict((*inputs.items(), *out.items()))
    swap = {
        s: new
        for n, symbols in record.inputs.items()
        for s, new in zip(symbols.flat, np.asarray(given[n]).flat, strict=True)
        if s is not new
    }
    nodes = [x for a in record.outputs.values() for x in a.flat]
    if record.graph is not rates.graph:
        found = transplant(nodes, swap, rates.graph)
    else:
        found = substitute(nodes, swap) if swap else nodes
    left = iter(found)
    for n, a in record.outputs.items():
        made = np.empty(a.shape, dtype=object)
        for k in range(a.size):
            made.flat[k] = next(left)
        out.setdefault(n, made)
    return out


def _names(flow: Flow) -> dict[str, object]:
    """What expressions may read: as those of events, and what is recorded."""
    out: dict[str, object] = dict(names_of(flow))
    for name, nodes in recorded_nodes(flow).items():
        if nodes.shape == ():
            out.setdefault(name, nodes[()])
            continue
        for k, node in enumerate(nodes.flat):
            out.setdefault(f"{name}.{k + 1}", node)
        for label, node in zip(flow.labels.get(name, ()), nodes.flat):
            out.setdefault(f"{name}.{label}", node)
    return out


def expression_node(flow: Flow, text: str, what: str) -> Node:
    """A text as a node over the symbols of the rates."""
    if not isinstance(text, str):
        raise DefinitionError(f"{what} is {text!r}; expected an expression as a text.")
    try:
        return parse(text, _names(flow), flow.rates.graph, strict=True)
    except SymbodyError as error:
        raise type(error)(f"{what}: {error}") from None


def quantity_nodes(flow: Flow, name: str, text: str | None) -> np.ndarray:
    """Nodes of a quantity: of an expression, or by its name, or one component of it."""
    if text is not None:
        return scalar_array(expression_node(flow, text, f"quantity {name!r}"))
    known = recorded_nodes(flow)
    if name in known:
        return known[name]
    head, _, part = name.partition(".")
    for stem, rest in ((head, part), tuple(name.rpartition(".")[::2])):
        if stem in known and rest:
            places = components(flow.labels.get(stem, ()), known[stem].size, rest)
            if places:
                nodes = known[stem].reshape(-1)[places]
                return nodes if len(places) > 1 else scalar_array(nodes[0])
    raise NameLookupError(f"{flow.name} records no {name!r} that could be differentiated. {nearest(name, known)}")


def with_integrals(flow: Flow, integrals: Texts) -> Flow:
    """The Flow with a state for each integral, after its own states."""
    if not integrals:
        return flow

    def make() -> Flow:
        rates = flow.rates
        graph = rates.graph
        inputs = shared_inputs(rates)
        own = {n: inputs[n] for n in flow.states}
        states, outputs = dict(rates.states), dict(rates.outputs)
        for name, text in integrals:
            state = INTEGRAL + name
            own[state] = scalar_array(graph.symbol(state, "state"))
            outputs[f"{state}_dot"] = scalar_array(expression_node(flow, text, f"integral {name!r}"))
            states[state] = f"{state}_dot"
        rest = {n: a for n, a in inputs.items() if n not in own}
        made = System(
            f"{rates.name}_integrals",
            inputs={**own, **rest},
            outputs=outputs,
            states=states,
            parameters=rates.parameters,
            defaults=rates.defaults,
        )
        project = flow.project
        if project is not None:  # integrals pass through it
            more = {INTEGRAL + n: scalar_array(project.graph.symbol(INTEGRAL + n, "state")) for n, _ in integrals}
            project = project.replace(inputs={**project.inputs, **more})
        nothing = dict.fromkeys(("record", "guards", "events", "balance", "impact", "watch"))
        return flow.replace(rates=made, project=project, **nothing)

    return memory_of(flow).get("with_integrals", (integrals,), make)


def observing(flow: Flow, wanted: Sequence[ObservedQuantity]) -> tuple[System, list[Node]]:
    """The System of all quantities end to end, and their nodes; over the Flow's states, t and signals."""
    pairs = tuple((q.name, q.text) for q in wanted)

    def make() -> tuple[System, list[Node]]:
        nodes = [x for name, text in pairs for x in quantity_nodes(flow, name, text).flat]
        graph = flow.rates.graph
        system = System(
            f"{flow.rates.name}_observed",
            inputs=shared_inputs(flow.rates),
            outputs={"y": node_array(nodes, graph)},
            parameters=flow.rates.parameters,
            defaults=flow.rates.defaults,
        )
        return system, nodes

    return memory_of(flow).get("observing", (pairs,), make)


def read_quantities(flow: Flow, of: object) -> tuple[ObservedQuantity, ...]:
    """A name, names, or name -> expression, read into quantities."""
    items: list[tuple[str, str | None]] = []
    for item in [of] if isinstance(of, (str, Mapping)) else list(of or ()):  # type: ignore[call-overload]
        items += [(str(n), t) for n, t in item.items()] if isinstance(item, Mapping) else [(item, None)]
    out: list[ObservedQuantity] = []
    for name, text in items:
        if any(q.name == name for q in out):
            raise DefinitionError(f"quantity {name!r} is asked for twice; expected once.")
        out.append(ObservedQuantity(name, text, quantity_nodes(flow, name, text).shape))
    return tuple(out)


def observed_pullback(flow: Flow, quantities: tuple[ObservedQuantity, ...]) -> Pullback:
    """Pullback of all quantities end to end."""
    system, nodes = observing(flow, quantities)
    return memory_of(system).get("pullback", (), lambda: pulled(flow, system, nodes, "pullback"))
