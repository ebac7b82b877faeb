"""The equations of a run: the Flow of a model with its inputs and its events, made once for the same texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from symbody.basics.errors import DefinitionError, ModelError, argument, wrong_argument
from symbody.basics.memory import memory_of
from symbody.model.record.mechanism import Mechanism
from symbody.motion.events.plan import Settings
from symbody.motion.flow.connect import Connected, connect
from symbody.motion.flow.dry_friction import SLOW
from symbody.motion.flow.event_rules import PreparedEvents, When, element_events, prepare, system_events, with_switches
from symbody.motion.flow.flow import Flow
from symbody.motion.flow.loop_treatment import Augmented
from symbody.motion.flow.of_mechanism import mechanism_flow
from symbody.motion.flow.of_system import system_flow
from symbody.motion.flow.sources import Assignment, Constant, Feedback, OfTime, read_inputs
from symbody.motion.methods.methods import METHODS
from symbody.symbolic.system.system import System

MOST_KEPT = 32  # sets of events of one Flow


@dataclass(frozen=True, eq=False)
class RunModel:
    """What a run is about: the model, how its equations are made, what is given and what is recorded."""

    model: Any
    formalism: str | None
    inputs: Any
    outputs: Any
    rules: tuple[When, ...]

    @property
    def mechanism(self) -> Mechanism | None:
        return self.model if isinstance(self.model, Mechanism) else None

    @property
    def closed(self) -> Mechanism | None:
        """The Mechanism, if it has closed loops."""
        mech = self.mechanism
        return mech if mech is not None and (mech.cuts or mech.couplings) else None


@dataclass(frozen=True, eq=False)
class Written:
    """Equations with inputs and events; what was assigned; initial values by state, those of switches too."""

    connected: Connected
    events: PreparedEvents | None
    assignments: tuple[Assignment, ...]
    given: Mapping[str, Any]


def written(model: RunModel, settings: Settings, given: Mapping[str, Any], partition: Any) -> Written:
    """The equations of a model, with dependent joints by `partition`."""
    unsolved = METHODS[settings.method].unsolved
    flow = open_flow(model.model, model.formalism, model.outputs, model.inputs, unsolved, partition, settings.slow)
    own = system_rules(model.model) if isinstance(model.model, System) else []
    rules = [*own, *model.rules]
    flow, inputs, values = _switched(flow, [*_element_rules(flow), *rules], model.inputs, given)
    assignments = tuple(read_inputs(flow, inputs))
    connected = connect(flow, assignments, _continuous(settings, assignments), settings.parameters)
    rules = [*_element_rules(connected.flow), *rules]
    if not rules:
        return Written(connected, None, assignments, values)
    events = _prepared(connected.flow, rules)
    return Written(replace(connected, flow=events.flow), events, assignments, values)


def system_rules(system: System) -> list[When]:
    """Events of a System, made once."""
    return memory_of(system).get("events", (), lambda: system_events(system))


def _element_rules(flow: Flow) -> list[When]:
    return memory_of(flow).get("element_events", (), lambda: element_events(flow)) if flow.events is not None else []


def _prepared(flow: Flow, rules: Sequence[When]) -> PreparedEvents:
    """Events compiled into the Flow, once for the same texts."""

    def make() -> PreparedEvents:
        events = prepare(flow, rules)
        # guards take the same parameters as the other Systems
        guards = events.flow.guards
        assert guards is not None
        guards = guards.replace(parameters={**events.flow.rates.parameters, **guards.parameters})
        return replace(events, flow=events.flow.replace(guards=guards))

    return memory_of(flow).get("prepared", tuple(_rule_key(rule) for rule in rules), make, MOST_KEPT)


def _rule_key(rule: When) -> Any:
    """What an event says: texts and numbers by their value, functions and nodes by identity."""

    def of(value: Any) -> Any:
        return type(value), value

    rest = None if rule.rest is None else tuple((n, of(v)) for n, v in rule.rest.items())
    reset = tuple((n, of(v)) for n, v in rule.reset.items())
    return rule.name, of(rule.guard), rule.direction, reset, rule.stop, rule.limit, rule.slowest, rest


def open_flow(
    mech: Any,
    formalism: str | None,
    outputs: Any,
    inputs: Any,
    balance: bool = False,
    partition: Any = None,
    slow: float = SLOW,
) -> Flow:
    """The Flow of a model with all its inputs open."""
    loops = isinstance(mech, Mechanism) and bool(mech.cuts or mech.couplings)
    if partition is not None and not loops:
        name = getattr(mech, "name", "this model")
        raise DefinitionError(argument("partition", partition), f" is for closed loops; {name} has none. Leave it out.")
    known = (Iterable, Augmented)
    if partition is not None and not (isinstance(partition, known) or hasattr(partition, "independent")):
        raise wrong_argument("partition", partition, "a list of independent joints, or how to choose them")
    if isinstance(mech, Flow):
        return mech
    if isinstance(mech, Mechanism):
        chosen = "auto" if partition is None else partition
        return mechanism_flow(mech, formalism, _measured(mech, outputs, inputs), balance, chosen, slow)
    if isinstance(mech, System):
        # `system_events` makes events of its guards
        return memory_of(mech).get("flow", (), lambda: system_flow(mech).replace(guards=None))
    raise ModelError(f"simulate was given {mech!r}; expected a Mechanism (sb.load), a System with states, or a Flow.")


def _measured(mech: Mechanism, outputs: Any, inputs: Any) -> Any:
    """Outputs, and what controllers read besides states: sensors and frames."""
    given = [inputs] if isinstance(inputs, System) else list(inputs.values()) if isinstance(inputs, Mapping) else []
    names = []
    for system in given:
        if isinstance(system, System):
            names += [
                n for n in system.inputs if n not in system.states and n.partition(".")[0] in ("p", "v", "omega", "R")
            ]
    if not names:
        return outputs
    known = [outputs] if isinstance(outputs, (str, Mapping)) else list(outputs or ())
    return [*known, *(n for n in dict.fromkeys(names) if n not in known)]


def _switched(
    flow: Flow, rules: Sequence[When], inputs: Any, given: Mapping[str, Any]
) -> tuple[Flow, Any, Mapping[str, Any]]:
    """Signals that events set become states; what `inputs` says of them is their value at the start."""
    keys = [k.partition(".")[0] for rule in rules for k in (*rule.reset, *(rule.rest or ()))]
    names = tuple(n for n in dict.fromkeys(keys) if n in flow.signals)
    if not names:
        return flow, inputs, given
    given, rest = dict(given), inputs
    if inputs is not None:
        rest = {} if isinstance(inputs, Mapping) else inputs
        for a in read_inputs(flow, inputs):
            if a.name not in names:
                if isinstance(inputs, Mapping):
                    rest[a.key] = inputs[a.key]
                continue
            if not isinstance(a.source, Constant) or a.source.values.ndim > 1:
                raise DefinitionError(f"an event sets {a.name!r}; expected a number for {a.key!r} at the start.")
            shape = flow.rates.inputs[a.name].shape
            start = given.setdefault(a.name, np.array(np.broadcast_to(flow.start.get(a.name, 0.0), shape), dtype=float))
            start.reshape(-1)[list(a.places)] = a.source.values
    switched = memory_of(flow).get("with_switches", names, lambda: with_switches(flow, names))
    return switched, rest, given


def _continuous(settings: Settings, assignments: Sequence[Assignment]) -> bool:
    """Whether Python functions are called inside of the equations: functions of time by adaptive and other methods."""
    feedback = any(isinstance(a.source, Feedback) for a in assignments)
    if feedback:
        return settings.period == 0
    of_time = any(isinstance(a.source, OfTime) for a in assignments)
    sampled = settings.step is not None and METHODS[settings.method].stages
    return of_time and not sampled
