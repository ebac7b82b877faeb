"""Checkpoints of closed mechanisms, of one run and of the members of a batch: what was asked for, and the states.

The equations of such a run change on the way. They are not in the file: they are made again from the model, for the
partitions that the file names, and must be those that the file was written with. Each member is made ready as it was
at first, and then put where it was.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple
from functools import partial
from hashlib import sha256
from typing import Any

import numpy as np

from symbody.basics.errors import FormatError
from symbody.basics.memory import memory_of
from symbody.mechanics.assembly.conditioning import RowChoice
from symbody.mechanics.loops.partition.partition import Partition
from symbody.mechanics.memoised.model_memory import derived_of, numbers_key
from symbody.motion.events.events import Happened
from symbody.motion.events.log import Log
from symbody.motion.events.partition_choice import PartitionChoice
from symbody.motion.events.partition_watch import LoopWatch, Watch, Watched
from symbody.motion.events.passages import Passages
from symbody.motion.events.plan import Change, Plan, SwitchedEquations
from symbody.motion.events.queries import Asking
from symbody.motion.events.state import RunState, Segment
from symbody.motion.flow.flow import Flow
from symbody.motion.flow.loop_guards import Levels
from symbody.motion.flow.signals import Held
from symbody.motion.methods.stepper import check_memory
from symbody.motion.run.assembled_plan import replanned
from symbody.motion.run.batch import Batch
from symbody.motion.run.call_record import call_again, call_record, partition_again, partition_record
from symbody.motion.run.checkpoint_values import (
    came_to,
    check_counted,
    check_counts,
    check_ended,
    check_happened,
    check_held,
    check_instants,
    check_log,
    check_now,
    check_reached,
    check_recorded,
    check_samples,
    check_segments,
    check_ticks,
    due_samples,
    happened_again,
    impacts_again,
)
from symbody.motion.run.ensemble import GROUP, Ensemble, answered_together
from symbody.motion.run.loop import Reached
from symbody.motion.run.recording import RecordedEnd
from symbody.motion.run.side_by_side import SideBySide
from symbody.motion.trajectory.outcome import Outcome
from symbody.motion.trajectory.trajectory import EventRecord
from symbody.symbolic.system.save import record

ORIGIN = 4  # place in the record of a symbol


# -- writing


def closed_record(batch: Batch, runs: Sequence[RecordedEnd | None], single: bool) -> dict[str, Any]:
    """A run as lists, texts, numbers and arrays; None for one that was not started."""
    known: dict[int, int] = {}
    partitions: list[Any] = []

    def number(way: PartitionChoice) -> int:
        at = known.setdefault(id(way.partition), len(known))
        if at == len(partitions):
            partitions.append([partition_record(way.partition), equations_of(way.connected.flow)])
        return at

    members = [None if run is None or not run.anchor.state.inputs else _member(run, number) for run in runs]
    return {"call": stored_call(batch), "single": single, "members": members, "partitions": partitions}


def stored_call(batch: Batch) -> dict[str, Any]:
    """What was asked for, as data; DefinitionError where a file cannot hold it."""
    return memory_of(batch).get("record", (), lambda: call_record(batch))


def equations_of(flow: Flow) -> str:
    """A checksum of the equations of motion; where the model says so (file and line of a symbol) is no part of them."""

    def make() -> str:
        data = record(flow.rates)
        nodes = [
            [kind, [*rest[0][:ORIGIN], *rest[0][ORIGIN + 1 :]]] if kind == "symbol" else [kind, *rest]
            for kind, *rest in data["nodes"]
        ]
        return sha256(json.dumps({**data, "checksum": "", "nodes": nodes}).encode()).hexdigest()

    return memory_of(flow).get("checksum", (), make)


def _member(run: RecordedEnd, number: Callable[[PartitionChoice], int]) -> dict[str, Any]:
    plan, state = run.anchor.plan, run.anchor.state
    mark: Watched | None = state.marks.get("loops")
    happened: Happened | None = state.marks.get("events")
    held, levels, outcome = state.held, state.levels, run.last.outcome
    ways = () if mark is None else mark.choices
    flows = [way.connected.flow for way in ways] or [plan.flow]
    return {
        "t": float(state.t),
        "end": float(state.end),
        "reached": float(run.reached),
        "beyond": float(run.beyond),
        "outcome": None if outcome is None else outcome.name,
        "method": plan.settings.method,
        "equations": equations_of(plan.flow),
        "x": state.x,
        "samples": list(state.gathered()),
        "held": [held.values, list(held.ticks), [dict(memory) for memory in held.memories]],
        "inputs": [np.concatenate(parts) for parts in zip(*state.inputs, strict=True)],
        "memory": {n: np.asarray(a) for n, a in state.memory.items()},
        "levels": None if levels is None else [levels.down, levels.up],
        "counts": dict(state.counts),
        "events": [[e.t, e.name, e.text] for e in state.events],
        "notes": list(state.notes),
        "happened": None if happened is None else [happened.counts, happened.instants, sorted(happened.leaving)],
        "impacts": state.marks.get("impacts"),
        "ways": [number(way) for way in ways],
        "way": None if mark is None else ways.index(mark.choice),
        "watched": None if mark is None else [mark.regular, mark.stuck, mark.entered, list(astuple(mark.passages))],
        "segments": [[s.start, flows.index(s.flow), s.rates] for s in state.segments],
    }


# -- reading


def closed_again(data: Mapping[str, Any], functions: Callable[[str], Any], where: str) -> RecordedEnd | Ensemble:
    """The runs that go on where the file was written."""
    batch, members = call_again(data["call"], functions, where), data["members"]
    known = [(partition_again(partition), str(checksum)) for partition, checksum in data["partitions"]]
    if data["single"]:
        (one,) = members
        (ended,) = answered_together([_put(batch.making(), batch, one, known, where)])
        if ended is None:
            fresh = batch.made()
            assert not isinstance(fresh, SideBySide)
            ended = RecordedEnd(Reached(*fresh), Reached(*fresh))
        return RecordedEnd(ended.last, ended.anchor, batch)
    whole = batch.made(split=True)
    if not isinstance(whole, SideBySide) or whole.count != len(members):
        raise ValueError(f"{len(members)} members of another batch")
    asking = [_put(batch.making(k, whole), batch, one, known, where) for k, one in enumerate(members)]
    runs: list[RecordedEnd | None] = []
    for first in range(0, len(asking), GROUP):
        runs += answered_together(asking[first : first + GROUP])
    return Ensemble(batch, tuple(runs))


Known = Sequence[tuple[Partition, str]]


def _put(making: Asking[Any], batch: Batch, data: Any, known: Known, where: str) -> Asking[RecordedEnd | None]:
    """A run made ready, and put where the file says; None where it was not started."""
    if data is None:
        return None
    made = yield from making
    if isinstance(made, SideBySide):
        raise ValueError("one state of a batch")
    plan, state = made
    mark: Watched | None = state.marks.get("loops")
    marks: dict[str, Any] = {}
    flows = [plan.flow]
    if mark is not None:
        watch = next(hook.watch for hook in plan.hooks if isinstance(hook, LoopWatch))
        assert watch is not None
        ways = tuple(_partition_choices(watch, mark, [known[_place(k, len(known))] for k in data["ways"]], where))
        regular, (stuck, times), entered, passages = data["watched"]
        numbers = [regular, stuck, *([] if entered is None else entered), *passages[1:-1]]
        real = all(v.__class__ is float for v in numbers) and not math.isnan(regular + stuck)  # energies may be nan
        if not real or times.__class__ is not int:
            raise ValueError(f"loops watched by {data['watched']!r}")
        way = ways[_place(data["way"], len(ways))]
        marks["loops"] = Watched(
            way,
            ways,
            float(regular),
            (float(stuck), int(times)),
            None if entered is None else tuple(entered),
            Passages(*passages),
        )
        flows = [one.connected.flow for one in ways]
        other = way.connected is not plan.connected or data["method"] != plan.settings.method
        change = Change(equations=SwitchedEquations(way.connected, way.prepared), method=data["method"])
        plan = replanned(plan, change) if other else plan
    if data["method"] != batch.settings.method and not batch.settings.automatic:
        raise ValueError(f"method {data['method']!r} of a run by {batch.settings.method!r}")
    _check_equations(plan.flow, data["equations"], where)
    if data["happened"] is not None:
        marks["events"] = happened_again(data["happened"], 0 if plan.events is None else len(plan.events.events))
    if data["impacts"] is not None:
        marks["impacts"] = impacts_again(data["impacts"])
    _check_member(plan, batch, data)
    there = _state(data, flows, marks)
    check_memory(plan.stepper, there.begin())
    outcome = None if data["outcome"] is None else Outcome[data["outcome"]]
    return RecordedEnd(
        Reached(plan, came_to(there, data["reached"], data.get("beyond", 0)), outcome), Reached(plan, there)
    )


def _state(data: Mapping[str, Any], flows: Sequence[Flow], marks: Mapping[str, Any]) -> RunState:
    t, x = data["samples"]
    values, ticks, memories = data["held"]
    held = Held(values, tuple(map(int, ticks)), tuple(memories))
    levels = None if data["levels"] is None else Levels(*data["levels"])
    events = Log(EventRecord(float(at), *said) for at, *said in data["events"])
    segments = Log(Segment(int(start), flows[_place(k, len(flows))], rates) for start, k, rates in data["segments"])
    return RunState(
        float(data["t"]), data["x"], float(data["end"]), held, data["memory"], levels, marks, dict(data["counts"]),
        Log([(t, x)]), len(t), Log([tuple(data["inputs"])]), events,
        Log(data["notes"]), segments,
    )  # fmt: skip


def _partition_choices(watch: Watch, mark: Watched, known: Known, where: str) -> list[PartitionChoice]:
    """The partition choices of a run; the first is the one that it was prepared with."""
    found, out = mark.choice.constraints, []
    derived, numbers = derived_of(found.tree.mechanism), numbers_key(watch.conditioning.parameters)
    for k, (partition, checksum) in enumerate(known):
        if k < len(mark.choices):
            way = mark.choices[k]
        else:
            way = PartitionChoice(found, partition, *watch.remake(partition), whole=mark.choice.whole)
        _check_equations(way.connected.flow, checksum, where)
        if k >= len(mark.choices):
            # under the name that a run looks for it; not before its equations are found to be those of the file
            key = (RowChoice(tuple(sorted(partition.rows)), tuple(sorted(partition.dependent))), numbers)
            derived.get("partition_underway", key, partial(_itself, partition))
        out.append(way)
    if len(out) < len(mark.choices):
        raise ValueError(f"{len(out)} partitions of a run that starts with {len(mark.choices)}")
    return out


def _itself(partition: Partition) -> Partition:
    return partition


def _check_equations(flow: Flow, checksum: str, where: str) -> None:
    if equations_of(flow) != checksum:
        raise FormatError(
            f"{where} was written with other equations of {flow.name} than this symbody makes of its model; simulate "
            "it again."
        )


def _check_member(plan: Plan, batch: Batch, data: Mapping[str, Any]) -> None:
    """ValueError where numbers of a run are not ones that it can have."""
    start, now, end, reached = batch.settings.start, data["t"], data["end"], data["reached"]
    if not all(v.__class__ is float for v in (now, end, reached)):
        raise ValueError(f"it goes on at {now!r} s, from {reached!r} s in a run up to {end!r} s")
    (t, x), (at, u), (values, ticks, memories) = data["samples"], data["inputs"], data["held"]
    width, sampled = len(plan.connected.defaults), plan.signals.sampled
    arrays: list[tuple[str, Any, tuple[int, ...]]] = [
        ("x", data["x"], (plan.flow.nx,)),
        ("t", t, np.shape(t)[:1]),
        ("samples", x, (len(t), plan.flow.nx)),
        ("instants", at, np.shape(at)[:1]),
        ("inputs", u, (len(at), width)),
        ("held", values, (width,)),
        *(("rates", a, (len(a), plan.flow.nx)) for _, _, a in data["segments"] if a is not None),
    ]
    if (data["levels"] is None) != (plan.loops is None) or len(ticks) != len(sampled) or len(memories) != len(sampled):
        raise ValueError(f"levels {data['levels']!r}, ticks {ticks!r}")
    if plan.loops is not None:
        arrays += [("levels", a, (plan.loops.measures,)) for a in data["levels"]]
    for one, memory in zip(sampled, memories, strict=True):
        if set(memory) != set(one.memory):
            raise ValueError(f"a memory {sorted(memory)} of the controller for {one.line.text}")
        arrays += [(f"memory {n}", memory[n], np.shape(a)) for n, a in one.memory.items()]
    for name, found, expected in arrays:
        if not isinstance(found, np.ndarray) or found.shape != expected or found.dtype != float:
            raise ValueError(f"{name} has the shape {np.shape(found)}; expected numbers of shape {expected}")
    if not all(isinstance(a, np.ndarray) for a in data["memory"].values()):
        raise ValueError("a memory that is no array")
    if not np.isfinite([now, end, reached]).all() or not start <= now <= end or not now <= reached <= end:
        raise ValueError(f"it goes on at {now!r} s, from {reached!r} s in a run up to {end!r} s")
    check_reached(reached, now, batch.settings.step, batch.settings.max_steps)
    check_ended(data["outcome"], reached, end)
    check_instants(batch.settings.sampling.instants)
    check_log(at, now)
    check_happened([EventRecord(float(e), *said) for e, *said in data["events"]], start, now)
    due = due_samples(batch.settings.sampling, start, now, batch.settings.step, len(t))
    check_samples(t, due, [e[0] for e in data["events"]], now)
    check_counts(data["counts"], data["notes"])
    rules = () if plan.events is None else plan.events.events
    happened = happened_again(data["happened"], len(rules)).counts if data["happened"] else (0,) * len(rules)
    check_counted([EventRecord(float(e), *said) for e, *said in data["events"]], rules, happened)
    check_now(plan.flow, data["x"], data["x"])
    check_held(plan.connected.lines, values, u, now if now > start else None, np.full((), True))
    check_recorded(x, ())
    check_ticks([one.clock for one in sampled], ticks, now)
    starts, rates = [s for s, _, _ in data["segments"]], [r for _, _, r in data["segments"]]
    check_segments(starts, rates, len(t), plan.flow.nx)
    if plan.loops is not None:
        gap = plan.loops.measured(now, data["x"], plan.signals.at(now, values))[1]
        why = plan.loops.say_open(now, gap)
        if why:
            raise ValueError(why)


def _place(k: Any, size: int) -> int:
    """A place in a list of so many, counted from its beginning."""
    if k.__class__ is not int or not 0 <= k < size:
        raise ValueError(f"number {k!r} of {size}")
    return int(k)
