"""The Flow of a System with states."""

from __future__ import annotations

from typing import Any

import numpy as np

from symbody.basics.errors import DefinitionError
from symbody.motion.flow.event_rules import mode_start
from symbody.motion.flow.flow import Flow, shared_inputs
from symbody.symbolic.system.system import System


def system_flow(system: System) -> Flow:
    """The Flow of any System with states: what it puts out besides their rates is recorded; guards come along."""
    if not system.states:
        raise DefinitionError(
            f"System {system.name!r} has no states to integrate; expected states={{'x': 'x_dot'}}, an input each and "
            "the output that is its rate."
        )
    for state, rate in system.states.items():
        if system.inputs[state].shape != system.outputs[rate].shape:
            shapes = f"{system.inputs[state].shape} and {system.outputs[rate].shape}"
            raise DefinitionError(f"System {system.name!r}: state {state!r} and rate {rate!r} have shapes {shapes}.")
    system.check_modes()
    inputs = shared_inputs(system)
    # each state has an output of its own, even if two have the same rate
    rates = {
        n: rate if list(system.states.values()).count(rate) == 1 else f"{n}_dot" for n, rate in system.states.items()
    }
    rest = {n: a for n, a in system.outputs.items() if n not in system.states.values()}
    keep: dict[str, Any] = {"parameters": system.parameters, "defaults": system.defaults}
    flow_rates = System(
        f"{system.name}_rates",
        inputs=inputs,
        outputs={rate: system.outputs[system.states[n]] for n, rate in rates.items()},
        states=rates,
        **keep,
    )
    record = System(f"{system.name}_record", inputs=inputs, outputs=rest, **keep) if rest else None
    guards = None
    if system.guards:
        flat = np.concatenate([a.reshape(-1) for a in system.guards.values()])
        guards = System(f"{system.name}_guards", inputs=inputs, outputs={"guard": flat}, **keep)
    units: dict[str, str | tuple[str, ...]] = dict(system.units)
    start = {n: mode_start(system, n) for n in system.modes if n in system.inputs}
    return Flow(flow_rates, record=record, guards=guards, units=units, start=start, name=system.name)
