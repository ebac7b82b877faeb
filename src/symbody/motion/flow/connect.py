"""Flow with sources -> Flow whose remaining signals are numbers over time: laws and controllers become part of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from symbody.basics.errors import DefinitionError, NameLookupError, ShapeError, nearest
from symbody.basics.memory import memory_of
from symbody.motion.flow.controller_parameters import controller_parameters
from symbody.motion.flow.event_rules import mode_start, system_events
from symbody.motion.flow.flow import Flow
from symbody.motion.flow.recorded_quantities import expression, named_nodes
from symbody.motion.flow.sources import (
    Assignment,
    Control,
    ExpressionSource,
    Feedback,
    OfTime,
    Source,
    checked_values,
    label_of,
)
from symbody.symbolic.expr.arrays import scalar_array, symbols_in
from symbody.symbolic.expr.external import External
from symbody.symbolic.expr.functions import extern
from symbody.symbolic.expr.graph import Graph
from symbody.symbolic.expr.node import Node
from symbody.symbolic.expr.walk import free_symbols
from symbody.symbolic.system.system import System, node_array


@dataclass(frozen=True, eq=False)
class Line:
    """A source that stays outside of the equations, and the columns of the signal vector u that it fills.

    text: the name under which it was given
    """

    source: Source
    columns: np.ndarray
    text: str


@dataclass(frozen=True, eq=False)
class Inside:
    """A Python function that the equations call: the External, the name it was given under, what it reads, its size."""

    external: External
    text: str
    shapes: Mapping[str, tuple[int, ...]]
    size: int


@dataclass(frozen=True, eq=False)
class Connected:
    """A Flow, and where its remaining signals come from."""

    flow: Flow
    lines: tuple[Line, ...] = ()
    defaults: np.ndarray = field(default_factory=lambda: np.zeros(0))  # (nu,)
    inside: tuple[Inside, ...] = ()
    notes: tuple[str, ...] = ()  # on parameters of controllers


def connect(
    flow: Flow, assignments: Sequence[Assignment], continuous: bool = False, asked: Collection[str] = ()
) -> Connected:
    """The Flow with its inputs given. What nothing is given for is zero (or what `flow.start` says).

    continuous  whether Python functions are called inside the equations, at every evaluation, instead of from outside
    asked       parameters that values are given for: <controller>.<parameter> among them is the controller's own
    """
    for a in assignments:
        if isinstance(a.source, Control) and a.source.system.clocks and a.source.system.guards:
            raise DefinitionError(
                f"controller {a.source.system.name!r} has a clock and guards; expected one of them: events of sampled "
                "controllers are not followed."
            )
    systems = [a.source.system for a in assignments if isinstance(a.source, Control)]
    own = frozenset(n for n in asked if any(n.startswith(f"{s.name}.") for s in systems))
    key = (continuous, own, *(_key(a, continuous) for a in assignments))
    # what was connected in the same way is connected once: the numbers stay outside
    found = memory_of(flow).get(
        "connected", key, lambda: _Connecting(flow, assignments, continuous, own).done(), MOST_KEPT
    )
    outside = [a for a in assignments if stays_outside(a.source, continuous)]
    if not outside:
        return found
    lines = tuple(replace(line, source=a.source, text=a.key) for line, a in zip(found.lines, outside))
    return replace(found, lines=lines)


MOST_KEPT = 32


def _key(a: Assignment, continuous: bool) -> Any:
    """What of an assignment the equations depend on."""
    source = a.source
    if stays_outside(source, continuous):
        return a.name, a.places
    if isinstance(source, ExpressionSource):
        return a.name, a.places, tuple((type(v), v) for v in source.values)
    return a.name, a.places, a.key, source.system if isinstance(source, Control) else source


def stays_outside(source: Source, continuous: bool) -> bool:
    """Whether a source is a signal of the Flow, instead of a part of its equations."""
    if isinstance(source, (OfTime, Feedback)):
        return not continuous
    return not isinstance(source, ExpressionSource) and (not isinstance(source, Control) or bool(source.system.clocks))


def is_sampled(source: Source) -> bool:
    """Whether a source is asked at ticks and held in between."""
    return isinstance(source, Feedback) or (isinstance(source, Control) and bool(source.system.clocks))


class _Connecting:
    def __init__(self, flow: Flow, assignments: Sequence[Assignment], continuous: bool, own: Collection[str]) -> None:
        self.flow, self.continuous, self.separate = flow, continuous, own
        self.assignments = list(assignments)
        self.graph = Graph(flow.name)
        rates = flow.rates
        self.states = {n: symbols_in(self.graph, rates.inputs[n]) for n in flow.states}
        self.t = symbols_in(self.graph, rates.inputs["t"])
        self.symbols = {n: symbols_in(self.graph, rates.inputs[n]) for n in flow.signals}
        # values of all inputs of the original Flow, component by component
        self.values = {n: self._default(n) for n in flow.signals}
        self.kept: dict[str, dict[int, Assignment]] = {n: {} for n in flow.signals}
        self.extra_states: dict[str, np.ndarray] = {}
        self.extra_rates: dict[str, np.ndarray] = {}
        # of controllers: initial values of modes, guards and resets by event, directions
        self.extra_start: dict[str, np.ndarray] = {}
        self.extra_events: dict[str, np.ndarray] = {}
        self.extra_modes: dict[str, int] = {}
        self.inside: list[Inside] = []
        self.parameters = dict(flow.parameters)  # of the equations so far
        self.notes: list[str] = []

    def _default(self, name: str) -> np.ndarray:
        shape = self.flow.rates.inputs[name].shape
        return node_array(np.broadcast_to(self.flow.start.get(name, 0), shape), self.graph)

    def done(self) -> Connected:
        for a in self.assignments:
            if stays_outside(a.source, self.continuous):
                for k in a.places:
                    self.kept[a.name][k] = a
                    self.values[a.name].flat[k] = self.symbols[a.name].flat[k]
        for a in self.assignments:
            if not stays_outside(a.source, self.continuous) and not isinstance(a.source, Control):
                self._insert(a)
        # controllers last: they may read the other inputs
        controlled = [a for a in self.assignments if isinstance(a.source, Control)]
        self._insert_controllers([a for a in controlled if not stays_outside(a.source, self.continuous)])
        return self._finished()

    def _insert(self, a: Assignment) -> None:
        """Expressions, and Python functions as external ones."""
        if isinstance(a.source, ExpressionSource):
            names = {**self._names(), **self._parameters()}
            for k, value in zip(a.places, a.source.values):
                what = f"input {label_of(self.flow, a.name, k)!r}"
                self.values[a.name].flat[k] = expression(value, names, self.graph, what)
            return
        assert isinstance(a.source, (OfTime, Feedback))
        self._call(a, a.source)

    def _names(self) -> dict[str, Node]:
        arrays = {**self.states, "t": self.t}
        return named_nodes(arrays, self.flow.labels)

    def _parameters(self) -> dict[str, Node]:
        found = {}
        for name, symbols in self.flow.parameters.items():
            if symbols.shape == ():
                found[name] = symbols_in(self.graph, symbols).item()
        return found

    def _call(self, a: Assignment, source: OfTime | Feedback) -> None:
        """A Python function inside of the equations: exact at every evaluation, at the price of a call."""
        size = len(a.places)
        arguments: list[Node] = [self.t.item()]
        order = [] if isinstance(source, OfTime) else list(self.states)
        arguments += [x for n in order for x in self.states[n].flat]
        shapes = {n: self.states[n].shape for n in order}
        name = f"input_{a.name}_{a.places[0] + 1}"
        external = External(name, len(arguments), size, numeric_function(source, shapes, size, a.key))
        self.inside.append(Inside(external, a.key, shapes, size))
        found = extern(external, *arguments)
        for k, node in zip(a.places, [found] if size == 1 else found):
            self.values[a.name].flat[k] = node

    # -- controllers

    def _insert_controllers(self, assignments: Sequence[Assignment]) -> None:
        systems: dict[System, list[Assignment]] = {}
        for a in assignments:
            assert isinstance(a.source, Control)
            systems.setdefault(a.source.system, []).append(a)
        for system, own in systems.items():
            found = self._controlled(system, own)
            for a in own:
                assert isinstance(a.source, Control)
                for k, node in zip(a.places, np.asarray(found[a.source.output], dtype=object).reshape(-1)):
                    self.values[a.name].flat[k] = node

    def _controlled(self, system: System, own: Sequence[Assignment]) -> dict[str, Any]:
        """Outputs of a controller; its states, modes and events join the Flow."""
        modes = [n for n in system.modes if n in system.inputs]
        renamed = {
            n: n if n not in self.states and n not in self.extra_states else f"{system.name}_{n}"
            for n in (*system.states, *modes)
        }
        given: dict[str, Any] = {}
        for n, symbols in system.inputs.items():
            if n in renamed:
                given[n] = self.extra_states[renamed[n]] = _renamed(symbols, renamed[n], n, self.graph)
            else:
                given[n] = self._readable(n, symbols.shape, system, own)
        parameters, new, notes = controller_parameters(system, self.parameters, self.graph, self.separate)
        given |= parameters
        self.parameters |= new
        self.notes += notes
        found = system.apply(**given)
        if len(system.outputs) == 1:
            found = {next(iter(system.outputs)): found}
        for n, rate in system.states.items():
            self.extra_rates[renamed[n]] = node_array(found[rate], self.graph)
        for n in modes:
            self.extra_rates[renamed[n]] = np.full(system.inputs[n].shape, self.graph.zero, dtype=object)
            self.extra_start[renamed[n]] = mode_start(system, n)
        if system.guards:
            self._add_events(system, given, renamed)
        return dict(found)

    def _add_events(self, system: System, given: Mapping[str, Any], renamed: Mapping[str, str]) -> None:
        """The events of a controller, named <controller>_<guard>."""
        for rule in system_events(system):
            name = f"{system.name}_{rule.name}"
            nodes: dict[str, Any] = {name: rule.guard, **{f"{name}.{renamed[n]}": x for n, x in rule.reset.items()}}
            made = System(
                system.name, inputs=system.inputs, outputs=nodes, defaults=system.defaults, parameters=system.parameters
            ).apply(**given)
            found = made if len(nodes) > 1 else {name: made}
            self.extra_events |= {n: node_array(x, self.graph) for n, x in found.items()}
            self.extra_modes[f"{name}.direction"] = rule.direction

    def _readable(self, name: str, shape: tuple[int, ...], system: System, own: Sequence[Assignment]) -> np.ndarray:
        """What a controller reads under a name: t, a state, a component of one, a recorded quantity, another input."""
        arrays: dict[str, np.ndarray] = {"t": self.t, **self.states}
        found: Any = arrays.get(name)
        if found is None:
            single = named_nodes(arrays, self.flow.labels)
            found = scalar_array(single[name]) if name in single else None
        if found is None and self.flow.record is not None and name in self.flow.record.outputs:
            found = self._recorded(name, system, own)
        if found is None:
            known = [*arrays, *named_nodes(arrays, self.flow.labels)]
            raise NameLookupError(
                f"controller {system.name!r} reads {name!r}, which is no state or recorded quantity of "
                f"{self.flow.name}. {nearest(name, known)}"
            )
        if found.shape != shape:
            raise ShapeError(f"controller {system.name!r} reads {name!r} of shape {shape}; it has shape {found.shape}.")
        return np.asarray(found, dtype=object)

    def _recorded(self, name: str, system: System, own: Sequence[Assignment]) -> np.ndarray:
        record = self.flow.record
        assert record is not None
        rated = {n: symbols_in(self.graph, a) for n, a in record.inputs.items() if n in self.flow.rated}
        inputs = {**self.states, "t": self.t, **self.symbols, **rated}
        one = System(
            record.name, inputs=record.inputs, outputs={name: record.outputs[name]}, parameters=record.parameters
        )
        nodes = node_array(one.apply(**{n: inputs[n] for n in one.inputs}), self.graph)
        unknown = {s for a in own for s in self.symbols[a.name].flat[list(a.places)]}
        unknown |= {s for a in rated.values() for s in a.flat}
        if unknown & set(free_symbols(nodes.flat)):
            raise DefinitionError(
                f"controller {system.name!r} reads {name!r}, which depends at once on what it commands. "
                "Read states or positions, or put a filter between."
            )
        return nodes

    # -- the new Flow

    def _finished(self) -> Connected:
        flow = self.flow
        signals: dict[str, np.ndarray] = {}
        columns: dict[int, list[int]] = {}  # id of an assignment -> columns of u, in the order of its places
        defaults: list[float] = []
        for name, kept in self.kept.items():
            if not kept:
                continue
            places = sorted(kept)
            whole = len(places) == self.symbols[name].size
            signals[name] = self.symbols[name] if whole else self.symbols[name].reshape(-1)[places]
            for k in places:
                columns.setdefault(id(kept[k]), []).append(len(defaults))
                defaults.append(float(np.broadcast_to(flow.start.get(name, 0), self.symbols[name].shape).flat[k]))
        inputs = {**self.states, **self.extra_states, "t": self.t, **signals}
        # what is recorded comes last: the order of terms, and so their rounding, is that of making
        made = {k: self._part(k, flow.systems[k], inputs) for k in sorted(flow.systems, key=lambda k: k == "record")}
        parts = {kind: made[kind] for kind in flow.systems}
        if self.extra_events:
            old = parts.get("events")
            parts["events"] = System(
                f"{flow.rates.name}_events",
                inputs=inputs,
                outputs={**(old.outputs if old else {}), **self.extra_events},
                modes={**(old.modes if old else {}), **self.extra_modes},
            )
        # all Systems take the same parameters, so that one mapping serves them all
        parameters = {n: a for part in parts.values() for n, a in part.parameters.items()}
        parts = {
            kind: part if len(part.parameters) == len(parameters) else part.replace(parameters=parameters)
            for kind, part in parts.items()
        }
        lines = tuple(
            Line(a.source, np.array(sorted(columns[id(a)])), a.key) for a in self.assignments if id(a) in columns
        )
        start = {**flow.start, **self.extra_start}
        return Connected(
            flow.replace(**parts, start=start), lines, np.array(defaults), tuple(self.inside), tuple(self.notes)
        )

    def _part(self, kind: str, system: System, inputs: Mapping[str, np.ndarray]) -> System:
        """One of the Flow's Systems over the new inputs."""
        rated = {n: symbols_in(self.graph, a) for n, a in system.inputs.items() if n in self.flow.rated}
        given = {**self.states, "t": self.t, **self.values, **rated}
        found = system.apply(**{n: given[n] for n in system.inputs})
        if len(system.outputs) == 1:
            found = {next(iter(system.outputs)): found}
        outputs = {n: node_array(a, self.graph) for n, a in found.items()}
        states = dict(system.states)
        if kind == "rates":
            outputs.update({f"{n}_dot": a for n, a in self.extra_rates.items()})
            states.update({n: f"{n}_dot" for n in self.extra_rates})
            outputs = {rate: outputs[rate] for rate in states.values()}
        elif kind == "project":
            outputs = {n: outputs.get(n, a) for n, a in {**self.states, **self.extra_states}.items()}
        return System(
            system.name,
            inputs={**inputs, **rated},
            outputs=outputs,
            states=states,
            units={n: u for n, u in system.units.items() if n in outputs or n in inputs},
            modes=system.modes,
        )


def numeric_function(source: Any, shapes: Mapping[str, tuple[int, ...]], size: int, what: str) -> Any:
    """The function over plain numbers that an External wants."""
    function = source.function

    def call(*numbers: Any) -> Any:
        t = float(numbers[0])
        if isinstance(source, OfTime):
            value = function(t)
        else:
            states = split_flat(np.array(numbers[1:], dtype=float), shapes)
            value = function(t, *feedback_arguments(source, t, states))
        array = checked_values(value, size, what, t)
        return float(array[0]) if size == 1 else array.tolist()

    def each(*numbers: Any) -> Any:
        """`call` row by row, where the interpreter asks for many states at once."""
        if not any(np.ndim(n) for n in numbers):
            return call(*numbers)
        rows = np.broadcast_arrays(*numbers)
        found = np.array([call(*row) for row in zip(*(r.ravel() for r in rows))]).reshape(-1, size)
        return [column.reshape(rows[0].shape) for column in found.T] if size > 1 else found.reshape(rows[0].shape)

    return each


def split_flat(x: np.ndarray, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, np.ndarray]:
    """A flat vector as named arrays."""
    out, at = {}, 0
    for n, shape in shapes.items():
        size = int(np.prod(shape))
        out[n] = x[at : at + size].reshape(shape)
        at += size
    return out


def feedback_arguments(source: Feedback, t: float, states: Mapping[str, np.ndarray]) -> tuple[Any, ...]:
    """Arguments after t: a dict of states, or q and qd (the first two states)."""
    if source.by_name:
        return ({**states, "t": t},)
    if len(states) < 2:
        return (next(iter(states.values())), np.zeros(0))
    q, qd, *_ = states.values()
    return q, qd


def _renamed(symbols: np.ndarray, name: str, old: str, graph: Graph) -> np.ndarray:
    """Symbols of a controller's state: under another name where that one is taken."""
    if name == old:
        return symbols_in(graph, symbols)
    out = np.empty(symbols.shape, dtype=object)
    for i, s in enumerate(symbols.flat):
        out.flat[i] = graph.symbol(f"{name}_{i + 1}", "state", unit=s.data.unit)
    return out
