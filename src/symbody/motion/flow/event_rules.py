"""When: what happens at which instant of a simulation. A guard crosses zero; states jump, switches turn, the run stops.

    When("bounce", "q.z", direction=-1, reset={"qd.z": "-0.8*qd.z"})
    When("apex", "qd.z", direction=-1)                               recorded only
    When("hit", "q.arm - 1.2", stop=True)
    When("open", "t - 0.5", reset={"s_grip": 0})                     a signal becomes a switch

Expressions read t, <state>.<label>, <signal>.<label>, scalars by their name, and parameters. A signal that an event
sets is kept as a state of rate zero, so that every method and every recording treats it as any other state.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from symbody.basics.errors import (
    DefinitionError,
    NameLookupError,
    ShapeError,
    SymbodyError,
    array_argument,
    nearest,
    real_argument,
    shown,
    whole_argument,
    wrong_argument,
)
from symbody.basics.memory import memory_of
from symbody.motion.flow.flow import Flow, shared_inputs
from symbody.motion.flow.vector_field import VectorField
from symbody.symbolic.expr.evaluate import transplant
from symbody.symbolic.expr.external import External
from symbody.symbolic.expr.functions import extern
from symbody.symbolic.expr.node import Node
from symbody.symbolic.expr.parse import parse
from symbody.symbolic.expr.walk import free_symbols
from symbody.symbolic.system.names import components, stems
from symbody.symbolic.system.system import System, node_array

# f(t, values): values maps each state and signal to its array
Function = Callable[[float, Mapping[str, np.ndarray]], Any]
Expression = str | Node | float | Function


@dataclass(frozen=True, eq=False)
class When:
    """An event and what follows from it.

    guard      expression that crosses zero at the event, or a Python function of (t, values)
    direction  1: rising only, -1: falling only, 0: both
    reset      component -> its value after the event, from the values before; all at once
    stop       end the run there
    limit      end the run when it has happened so many times
    slowest    if the guard moves slower than this after its reset, it comes to rest: `rest` applies (per s)
    rest       reset that makes it rest (switches off what pulls it back); None: the run stops there
    """

    name: str
    guard: Expression
    direction: int = 0
    reset: Mapping[str, Expression] = field(default_factory=dict)
    stop: bool = False
    limit: int | None = None
    slowest: float = 0.0
    rest: Mapping[str, Expression] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise DefinitionError(f"an event has the name {shown(self.name)}; expected a text.")
        if not isinstance(self.direction, int | float | np.number) or self.direction not in (-1, 0, 1):
            raise DefinitionError(f"event {self.name!r} has direction {self.direction!r}; expected -1, 0 or 1.")
        owner = f"event {self.name!r}"
        put = lambda name, value: object.__setattr__(self, name, value)  # noqa: E731  the record is frozen
        put("direction", int(self.direction))
        if self.limit is not None:
            put("limit", whole_argument("limit", self.limit, 1, owner=owner))
        put("slowest", real_argument("slowest", self.slowest, "a rate of at least 0", least=0.0, owner=owner))
        for what, reset in (("reset", self.reset), ("rest", self.rest or {})):
            if not isinstance(reset, Mapping):
                raise wrong_argument(what, reset, "components with their values, in a dict", owner=owner)
        # as Python's numbers, which files hold
        for name, plain in (("direction", int), ("stop", bool), ("limit", int), ("slowest", float)):
            value = getattr(self, name)
            object.__setattr__(self, name, None if value is None else plain(value))

    @property
    def acts(self) -> bool:
        """Whether something follows from it; else it is recorded only, and the motion is the same without it."""
        return bool(self.reset) or self.stop or self.limit is not None


@dataclass(frozen=True, eq=False)
class PreparedEvents:
    """A Flow whose guards are those of the events, and the events in the order of the guards.

    switches   signals that have become states at the end of x; their values at the start are to be given there
    """

    flow: Flow
    events: tuple[When, ...]
    switches: tuple[str, ...]

    def reset(self, index: int, rest: bool = False) -> Reset | None:
        """What event `index` sets, or where it comes to rest; made once."""
        rule = self.events[index]
        wanted = rule.rest if rest else rule.reset or None
        if wanted is None:
            return None
        return memory_of(self).get("reset", (index, rest), lambda: Reset(wanted, self.flow))

    @property
    def directions(self) -> np.ndarray:
        """(ng,) of -1, 0, 1."""
        return np.array([e.direction for e in self.events], dtype=int)

    @property
    def passive(self) -> np.ndarray:
        """(ng,) events that only record."""
        return np.array([not e.acts for e in self.events], dtype=bool)


Change = Callable[[VectorField, float, np.ndarray], np.ndarray]


def prepare(flow: Flow, events: Iterable[When]) -> PreparedEvents:
    """Compile guards into the Flow. Guards that the Flow already has are recorded, under their labels."""
    events = list(events)
    names = [e.name for e in events]
    double = next((n for n in names if names.count(n) > 1), None)
    if double is not None:
        raise DefinitionError(f"two events are called {double!r}; expected a name for each.")
    switches = _switches(flow, events)
    if switches:
        flow = with_switches(flow, switches)
    if flow.guards is not None:
        size = flow.guards.output("guard").size
        labels = flow.labels.get("guard") or tuple(f"guard_{k + 1}" for k in range(size))
        own: list[When] = [When(label, 0.0) for label in labels]
    else:
        own = []
    if not events and not own:
        return PreparedEvents(flow, (), switches)
    return PreparedEvents(flow.replace(guards=_guards(flow, events)), (*own, *events), switches)


def system_events(system: System) -> list[When]:
    """The guards of a System with the resets that belong to them.

    resets are named <guard>.<state>, or <state> if they apply at every guard; the direction of a guard may stand in
    modes as <guard>.direction. An input that is named in modes, with its initial value, may be reset like a state.
    """
    out = []
    for name, nodes in system.guards.items():
        for k, node in enumerate(nodes.flat):
            reset: dict[str, Any] = {}
            for key, value in system.resets.items():
                owner, dot, state = key.rpartition(".")
                target = state if dot else key
                if owner not in ("", name):
                    continue
                check_reset(system, key, target)
                reset[target] = value
            direction = system.modes.get(f"{name}.direction", 0)
            out.append(When(name if nodes.size == 1 else f"{name}_{k + 1}", node, direction, reset))
    return out


def mode_start(system: System, name: str) -> np.ndarray:
    """The initial value of an input that is a mode."""
    value = array_argument(f"modes[{name!r}]", system.modes[name], "a number, its initial value", owner=system.name)
    shape = system.inputs[name].shape
    if value.size not in (1, math.prod(shape)) or not np.isfinite(value).all():
        raise wrong_argument(f"modes[{name!r}]", system.modes[name], "its initial value", owner=system.name)
    return np.resize(value, shape)


def check_reset(system: System, key: str, target: str) -> None:
    """A reset sets a state, or an input that is a mode."""
    modes = [n for n in system.modes if n in system.inputs]
    if target not in system.states and target not in modes:
        raise DefinitionError(
            f"System {system.name!r} has the reset {key!r}; expected <guard>.<state> or <state>. "
            f"{nearest(target, [*system.states, *modes])}"
        )


def element_events(flow: Flow) -> list[When]:
    """The events of a Flow's force elements and controllers, over the symbols of its rates."""
    if flow.events is None:
        return []
    resets: dict[str, dict[str, Any]] = {n: {} for n in flow.events.outputs if "." not in n}
    for key, value in flow.events.outputs.items():
        name, dot, target = key.partition(".")
        if dot:
            resets[name][target] = value.item()
    return [
        When(name, flow.events.outputs[name].item(), int(flow.events.modes[f"{name}.direction"]), reset)
        for name, reset in resets.items()
    ]


def with_switches(flow: Flow, names: Sequence[str]) -> Flow:
    """The Flow with some signals as states of rate zero, after its own states."""
    rates = flow.rates
    held = {n: np.full(rates.inputs[n].shape, rates.graph.zero, dtype=object) for n in names}
    states = {**rates.states, **{n: f"{n}_dot" for n in names}}
    changed = rates.replace(states=states, outputs={**rates.outputs, **{f"{n}_dot": a for n, a in held.items()}})
    changed = changed.replace(inputs=shared_inputs(changed))
    return flow.replace(rates=changed)


class Reset:
    """What states are set to; every new value is computed from the values before."""

    def __init__(self, reset: Mapping[str, Expression], flow: Flow) -> None:
        nodes: list[Node] = []
        self.nodes = nodes  # new values of the components `places`
        self.flow = flow
        self.places: list[int] = []
        self.functions: list[tuple[list[int], Function]] = []
        for key, value in reset.items():
            where = _places(flow, key)
            if callable(value):
                self.functions.append((where, value))
                continue
            values = np.array(value, dtype=object).reshape(-1)
            if values.size == 1 and len(where) > 1:
                values = np.repeat(values, len(where))
            if values.size != len(where):
                raise ShapeError(f"the reset of {key!r} has {values.size} values; expected {len(where)}.")
            nodes += [expression(flow, v, f"the reset of {key!r}") for v in values]
            self.places += where
        self.system: System | None = None
        if nodes:
            inputs, parameters = shared_inputs(flow.rates), _used(flow, nodes)
            self.system = System("reset", inputs=inputs, outputs={"x": node_array(nodes)}, parameters=parameters)

    def ready(self, field: VectorField) -> Change:
        """(field, t, x) -> x after the reset, with the parameters of `field`; the signals are those of the argument."""
        compute = None if self.system is None else field.function(self.system, target="quick")

        def change(field: VectorField, t: float, x: np.ndarray) -> np.ndarray:
            u = field.signals(t, x)
            out = np.array(x, dtype=float)
            if compute is not None:
                out[self.places] = compute(t, x, u)
            for where, function in self.functions:
                out[where] = np.asarray(function(t, _values(self.flow, x, u)), dtype=float).reshape(-1)
            return out

        return change


def expression(flow: Flow, value: Any, what: str) -> Node:
    """A guard or reset as a node over the symbols of the Flow's rates."""
    graph = flow.rates.graph
    if isinstance(value, str):
        try:
            return parse(value, names_of(flow), graph, strict=True)
        except SymbodyError as error:
            raise type(error)(f"{what}: {error}") from None
    if isinstance(value, Node):
        known = names_of(flow)
        own = {s for a in (*flow.rates.inputs.values(), *flow.rates.parameters.values()) for s in a.flat}
        given = {}
        for s in free_symbols([value]):
            if s in own:
                continue
            if s.data.name in known:
                given[s] = known[s.data.name]
            elif s.data.role != "parameter":
                raise NameLookupError(f"{what} reads {s.data.name!r}. {nearest(s.data.name, known)}")
        return transplant([value], given, graph)[0] if given or value.graph is not graph else value
    if isinstance(value, (int, float, np.number)):
        return graph.number(float(value))
    if callable(value):
        return _external(flow, value, what)
    raise DefinitionError(f"{what} is {value!r}; expected an expression, a number or a function of (t, values).")


def names_of(flow: Flow) -> dict[str, Any]:
    """What expressions may read: t, scalars, <name>.<label>, <name>.<number>, parameters."""
    rates = flow.rates
    out: dict[str, Any] = {}
    for name, symbols in {**flow.parameters, **rates.parameters}.items():
        if symbols.shape == ():
            symbol: Any = symbols[()]
            out[name] = rates.graph.intern(symbol.op, (), symbol.data, symbol.flags)
    for name, symbols in shared_inputs(rates).items():
        if symbols.shape == ():
            out[name] = symbols[()]
            continue
        for k, symbol in enumerate(symbols.flat):
            out[f"{name}.{k + 1}"] = symbol
        for label, symbol in zip(flow.labels.get(name, ()), symbols.flat):
            out[f"{name}.{label}"] = symbol
        if symbols.size == 1:
            out.setdefault(name, symbols.flat[0])
    return out


# -- parts


def _guards(flow: Flow, events: Sequence[When]) -> System:
    rates = flow.rates
    inputs = shared_inputs(rates)
    nodes: list[Node] = []
    if flow.guards is not None:
        found = flow.guards.apply(**{n: inputs[n] for n in flow.guards.inputs})
        nodes += np.array(found, dtype=object).flat
    nodes += [_awake(flow, e, expression(flow, e.guard, f"the guard of event {e.name!r}")) for e in events]
    return System(
        f"{rates.name}_guards", inputs=inputs, outputs={"guard": node_array(nodes)}, parameters=_used(flow, nodes)
    )


def _awake(flow: Flow, rule: When, guard: Node) -> Node:
    """The guard, held off zero while the loops that the event closes are closed: they keep it near zero."""
    loops = {f"s_{n}" for n in flow.labels.get("gap", ())}
    closes = [flow.rates.inputs[n].item() for n, v in rule.reset.items() if n in loops and _is_one(v)]
    if not closes:
        return guard
    shut = math.prod(closes[1:], start=closes[0])
    return guard * (1 - shut) - (rule.direction or 1) * shut


def _is_one(value: Any) -> bool:
    try:
        return isinstance(value, (int, float, str, np.number)) and float(value) == 1
    except ValueError:
        return False  # an expression


def _used(flow: Flow, nodes: Sequence[Node]) -> dict[str, np.ndarray]:
    """Parameters of the Flow that occur; others keep their own names."""
    found = set(free_symbols(nodes))
    return {n: a for n, a in flow.rates.parameters.items() if any(s in found for s in a.flat)}


def _switches(flow: Flow, events: Sequence[When]) -> tuple[str, ...]:
    """Signals that some event sets."""
    keys = [k for e in events for k in (*e.reset, *(e.rest or ()))]
    found = dict.fromkeys(k.partition(".")[0] for k in keys)
    return tuple(n for n in found if n in flow.signals)


def _places(flow: Flow, key: str) -> list[int]:
    """Components of x that a key means."""
    name, _, part = key.partition(".")
    if name in flow.states:
        at = flow.slices[name]
        if not part:
            return list(range(at.start, at.stop))
        found = components(flow.labels.get(name, ()), at.stop - at.start, part)
        if found:
            return [at.start + k for k in found]
    known = [*flow.states, *(f"{n}.{label}" for n in flow.states for label in stems(flow.labels.get(n, ())))]
    raise NameLookupError(f"an event sets {key!r}, which is no state. {nearest(key, known)}")


def _values(flow: Flow, x: np.ndarray, u: np.ndarray) -> dict[str, np.ndarray]:
    return {**flow.layout.split(x), **flow.layout.split_signals(u)}


def _external(flow: Flow, function: Function, what: str) -> Node:
    """A Python guard as an external function of t and all components, so that native code may call it too."""
    inputs = shared_inputs(flow.rates)
    order = ["t", *flow.states, *flow.signals]
    symbols = [s for n in order for s in inputs[n].flat]
    nx = flow.nx

    def one(*numbers: float) -> float:
        z = np.array(numbers[1:], dtype=float)
        return float(function(float(numbers[0]), _values(flow, z[:nx], z[nx:])))

    def call(*numbers: Any) -> Any:
        return np.vectorize(one)(*numbers) if any(np.ndim(n) for n in numbers) else one(*numbers)

    name = "".join(c if c.isalnum() else "_" for c in what)
    node: Node = extern(External(name, len(symbols), 1, call), *symbols)
    return node
