"""A Mechanism as one System with states, events and projections: what FMUs and stand-alone programs are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from symbody.basics.errors import ModelError

if TYPE_CHECKING:
    from symbody.codegen.target_row import Source
    from symbody.model.record.mechanism import Mechanism
    from symbody.motion.flow.flow import Flow
    from symbody.symbolic.expr.node import Node


def motion_source(
    mech: Mechanism,
    formalism: str | None,
    outputs: Sequence[str] | None,
    partition: Any,
    start: Mapping[str, Any],
) -> Source:
    """States q, qd and those of force elements, inputs as in `sb.simulate`, and the chosen outputs.

    start: name of a state -> its values as `sb.simulate` takes them, by joint or all; loops are closed near them.
    """
    from symbody.codegen.fmu.fmu_model import PROJECTION
    from symbody.codegen.target_row import Source
    from symbody.motion.flow.of_mechanism import mechanism_flow
    from symbody.symbolic.expr.walk import substitute
    from symbody.symbolic.system.names import identifier
    from symbody.symbolic.system.system import System

    flow = mechanism_flow(mech, formalism, list(outputs) if outputs else None, partition=partition)
    if flow.impact is not None:
        raise ModelError(f"{mech.name} has loops that open and close; they are simulated here, and not exported.")
    rates = flow.rates
    found: dict[str, np.ndarray] = dict(rates.outputs)
    if flow.record is not None:
        swap: dict[Node, Node] = {}
        for name, rate in flow.rated.items():
            if name in flow.record.inputs:
                swap.update(zip(flow.record.inputs[name].flat, rates.outputs[rate].flat))
        for name, array in flow.record.outputs.items():
            nodes = substitute(list(array.flat), swap) if swap else list(array.flat)
            made = np.empty(array.shape, dtype=object)
            for i, node in enumerate(nodes):
                made.flat[i] = node
            if name not in rates.inputs or list(made.flat) != list(rates.inputs[name].flat):
                found[name] = made
    origins = {}
    if flow.project is not None:
        for name, array in flow.project.outputs.items():
            found[f"project_{name}"] = array
            origins[f"project_{name}"] = PROJECTION
    guards: dict[str, np.ndarray] = {}
    resets: dict[str, np.ndarray] = {}
    modes: dict[str, Any] = {}
    if flow.events is not None:
        for name, array in flow.events.outputs.items():
            (resets if "." in name else guards)[name] = array
        modes |= flow.events.modes
    system = System(
        identifier(mech.name),
        inputs=rates.inputs,
        outputs=found,
        states=rates.states,
        guards=guards,
        resets=resets,
        modes=modes,
        origins=origins,
    )
    return Source(system, None, flow.labels, flow.units, {**flow.start, **_first_state(mech, flow, start)})


def _first_state(mech: Mechanism, flow: Flow, given: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """States as a run starts with them: given ones, the others at rest, loops closed by the least change."""
    from symbody.mechanics.verbs.system_of_tree import has_loops
    from symbody.motion.events.queries import answered
    from symbody.motion.flow.closed_start import closed_start
    from symbody.motion.flow.initial_state import initial_values

    given = {n: v for n, v in given.items() if v is not None}
    found, _ = initial_values(flow, given)
    if has_loops(mech):
        x = answered(closed_start(mech, flow, {}, given, flow.layout.vector(found, None), 0.0))
        found = {n: x[flow.slices[n]].reshape(a.shape) for n, a in found.items()}
    return found
