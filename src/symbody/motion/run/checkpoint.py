"""Checkpoints: a RunState and the equations of its Plan as one file (npz with a JSON record).

A file is data: reading it runs nothing. It holds the last state that a longer run passes too, and how far the run was
asked to go; what lies between is computed again.
"""

from __future__ import annotations

import json
import math
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from symbody.basics.atomic_file import write_whole
from symbody.basics.errors import DefinitionError, FormatError, NameLookupError, SymbodyError, nearest
from symbody.basics.regular_file import missing
from symbody.motion.events.events import Happened
from symbody.motion.events.log import Log
from symbody.motion.events.plan import Plan, Settings
from symbody.motion.events.state import RunState, Segment
from symbody.motion.flow.connect import Connected, Inside, Line, numeric_function
from symbody.motion.flow.event_rules import PreparedEvents, When, element_events
from symbody.motion.flow.flow import Flow
from symbody.motion.flow.flow_kernels import FlowKernels
from symbody.motion.flow.signals import Held, InputSignals
from symbody.motion.flow.sources import Constant, Control, Feedback, OfTime, Source, TableSource, function_source
from symbody.motion.methods.sample_times import SampleTimes
from symbody.motion.methods.stepper import check_memory
from symbody.motion.run.assembled_plan import assembled, together
from symbody.motion.run.call_record import functions_of, other_arguments
from symbody.motion.run.checkpoint_values import (
    SLACK,
    came_to,
    check_counted,
    check_counts,
    check_ended,
    check_happened,
    check_held,
    check_instants,
    check_lines,
    check_log,
    check_members,
    check_names,
    check_now,
    check_reached,
    check_recorded,
    check_rules,
    check_samples,
    check_segments,
    check_steps,
    check_ticks,
    due_samples,
    happened_again,
    impacts_again,
)
from symbody.motion.run.closed_checkpoint import closed_again, closed_record
from symbody.motion.run.ensemble import Ensemble
from symbody.motion.run.loop import Reached
from symbody.motion.run.recording import RecordedEnd
from symbody.motion.run.settings import check_step_resolved
from symbody.motion.trajectory.array_file import checksum, npz_bytes, read_arrays
from symbody.motion.trajectory.outcome import Outcome
from symbody.motion.trajectory.trajectory import EventRecord
from symbody.symbolic.expr.external import External
from symbody.symbolic.expr.node import EXTERN
from symbody.symbolic.expr.walk import topological
from symbody.symbolic.system.save import from_record, record
from symbody.symbolic.system.system import System

FORMAT = "symbody-checkpoint"
VERSION = 4
MAX_BYTES = 1 << 33
# what reading wrong values raises
FAULTS = (
    ArithmeticError,
    AssertionError,
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
    RecursionError,
    MemoryError,
)
FLOW_TEXTS = ("second", "labels", "units", "rated", "prescribed", "name")
SETTINGS = ("method", "start", "step", "rtol", "atol", "max_steps", "period", "threads", "automatic")


# -- writing


def save_checkpoint(run: RecordedEnd | Ensemble, path: str | Path) -> Path:
    """Write a run; a file that stands there is replaced only when the new one is complete."""
    arrays: dict[str, np.ndarray] = {}
    if isinstance(run, Ensemble):
        content = {"closed": packed(closed_record(run.batch, run.runs, single=False), arrays)}
    elif run.batch is not None:
        content = {"closed": packed(closed_record(run.batch, [run], single=True), arrays)}
    else:
        content = _meta(run, arrays)
    meta = {"format": FORMAT, "version": VERSION, **content}
    meta["checksum"] = _checksum(meta, arrays)
    arrays["meta"] = np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8)
    return write_whole(path, npz_bytes(arrays))


def check_storable(plan: Plan) -> None:
    """DefinitionError where no file can hold the events or equations of a run: told before it begins."""
    for rule in () if plan.events is None else plan.events.events:
        _rule(rule, plan.flow)
    controllers = [line.source.system for line in plan.connected.lines if isinstance(line.source, Control)]
    given = {one.external for one in plan.connected.inside}
    for system in (*plan.flow.systems.values(), *controllers):
        called = [n.data for n in topological(system.expressions()) if n.op is EXTERN]
        outside = next((e for e in called if e not in given), None)
        if outside is not None:
            raise DefinitionError(
                f"{system.name} calls the external function {outside.name!r}, which a checkpoint cannot hold. Leave "
                "checkpoint out, or give the function itself as an input."
            )


def packed(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    """The value with a mapping {"@": [first, shape]} for each array of doubles, whose entries are appended to
    `arrays`."""
    parts: list[np.ndarray] = []
    size = 0

    def of(value: Any) -> Any:
        nonlocal size
        if isinstance(value, np.ndarray):
            value = value.astype(float) if value.dtype.kind == "f" else value
            if value.dtype != float:
                return {"@": [value.tolist(), value.dtype.str]}
            parts.append(value.reshape(-1))
            size += value.size
            return {"@": [size - value.size, list(value.shape)]}
        if isinstance(value, Mapping):
            return {n: of(v) for n, v in value.items()}
        return [of(v) for v in value] if isinstance(value, (list, tuple)) else value

    out = of(value)
    arrays["numbers"] = np.concatenate([*parts, np.zeros(0)])
    return out


def unpacked(value: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    """What was packed; tuples are lists. Each number belongs to one array, so that all take what the file takes."""
    numbers = arrays["numbers"]
    if numbers.ndim != 1 or numbers.dtype != float:
        raise ValueError(f"numbers of shape {numbers.shape}")
    used = 0

    def of(value: Any) -> Any:
        nonlocal used
        if isinstance(value, Mapping):
            if "@" not in value:
                return {n: of(v) for n, v in value.items()}
            first, shape = value["@"]
            if isinstance(shape, str):
                return np.array(first, dtype=_PLAIN[shape[1:2]])
            if first.__class__ is not int or first != used or not all(n.__class__ is int for n in shape):
                raise ValueError(f"an array at {first!r} of shape {shape!r}")
            if not all(0 <= n <= len(numbers) for n in shape):
                raise ValueError(f"an array of shape {shape!r} among {len(numbers)} numbers")
            used += math.prod(shape)
            return numbers[first:used].reshape(shape).copy()
        return [of(v) for v in value] if isinstance(value, list) else value

    return of(value)


_PLAIN: Mapping[str, Any] = {"i": np.int64, "u": np.int64, "b": np.bool_}  # arrays that are no doubles


def _checksum(meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> str:
    """Over everything but itself."""
    text = json.dumps({n: v for n, v in meta.items() if n != "checksum"})
    return checksum(text, sorted(arrays.items()))


def _meta(run: RecordedEnd, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """What JSON can hold; numbers go to `arrays`."""
    plan, state = run.anchor.plan, run.anchor.state
    flow, settings, sampling = plan.flow, plan.settings, plan.settings.sampling
    t, x = state.gathered()
    arrays.update(t=t, x=x, x_now=state.x)
    arrays.update({f"start.{n}": np.asarray(a) for n, a in flow.start.items()})
    arrays.update({f"parameter.{n}": np.asarray(v, dtype=float) for n, v in settings.parameters.items()})
    arrays.update({f"memory.{n}": np.asarray(a) for n, a in state.memory.items()})
    arrays["held"], arrays["ticks"] = state.held.values, np.array(state.held.ticks, dtype=np.int64)
    for i, memory in enumerate(state.held.memories):
        arrays.update({f"sampled{i}.{n}": np.asarray(a) for n, a in memory.items()})
    arrays["log_t"], arrays["log_u"] = (np.concatenate(parts) for parts in zip(*state.inputs, strict=True))
    arrays["defaults"] = plan.connected.defaults
    if sampling.instants is not None:
        arrays["instants"] = sampling.instants
    happened: Happened | None = state.marks.get("events")
    outcome = run.last.outcome
    return {
        "systems": {kind: record(system) for kind, system in flow.systems.items()},
        "flow": {n: getattr(flow, n) for n in FLOW_TEXTS},
        "settings": {n: getattr(settings, n) for n in SETTINGS},
        "spacing": sampling.spacing,
        "lines": [_line(line, i, arrays) for i, line in enumerate(plan.connected.lines)],
        "inside": [_inside(one) for one in plan.connected.inside],
        "events": None if plan.events is None else [_rule(rule, flow) for rule in plan.events.events],
        "switches": [] if plan.events is None else list(plan.events.switches),
        "happened": [[e.t, e.name, e.text, *([] if e.member is None else [e.member])] for e in state.events],
        "t": state.t,
        "end": state.end,
        "reached": run.reached,
        "beyond": run.beyond,
        "outcome": None if outcome is None else outcome.name,
        "outcomes": None if state.outcomes is None else [o.name for o in state.outcomes],
        "statistics": dict(state.counts),
        "notes": list(state.notes),
        "marks": {
            "events": None if happened is None else [happened.counts, happened.instants, sorted(happened.leaving)],
            "impacts": state.marks.get("impacts"),
        },
        "segments": [_segment(segment, i, arrays) for i, segment in enumerate(state.segments)],
    }


def _segment(segment: Segment, i: int, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Samples with equations of their own: those of another partition of closed loops, or rates that were continued."""
    if segment.rates is not None:
        arrays[f"segment{i}.rates"] = segment.rates
        return {"start": segment.start}
    return {"start": segment.start, "rates": record(segment.flow.rates)}


def _line(line: Line, i: int, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    source = line.source
    out: dict[str, Any] = {"kind": source.kind, "text": line.text, "columns": line.columns.tolist()}
    if isinstance(source, Constant):
        arrays[f"line{i}.values"] = source.values
    elif isinstance(source, TableSource):
        arrays[f"line{i}.times"], arrays[f"line{i}.values"] = source.times, source.values
        out["hold"] = source.hold
    elif isinstance(source, Control):
        out["system"], out["output"] = record(source.system), source.output
    return out


def _inside(one: Inside) -> dict[str, Any]:
    shapes = {n: list(shape) for n, shape in one.shapes.items()}
    return {
        "name": one.external.name,
        "arity": one.external.arity,
        "text": one.text,
        "size": one.size,
        "shapes": shapes,
    }


def _rule(rule: When, flow: Flow) -> dict[str, Any]:
    """An event as texts and numbers; one of a force element is part of the Flow, and named only."""
    if flow.events is not None and rule.name in flow.events.outputs:
        return {"element": rule.name}
    return {
        "name": rule.name,
        "guard": _text(rule.guard, rule.name),
        "direction": rule.direction,
        "reset": {n: _text(v, rule.name) for n, v in rule.reset.items()},
        "stop": rule.stop,
        "limit": rule.limit,
        "slowest": rule.slowest,
        "rest": None if rule.rest is None else {n: _text(v, rule.name) for n, v in rule.rest.items()},
    }


def _text(value: Any, name: str) -> Any:
    if isinstance(value, (str, int, float)) and not isinstance(value, bool):
        return value
    if isinstance(value, np.number) and np.isrealobj(value):
        return float(value)
    raise DefinitionError(
        f"event {name!r} holds {value!r}, which a checkpoint cannot; write guards and resets as texts."
    )


# -- reading


def load_checkpoint(path: str | Path, inputs: Any = None) -> RecordedEnd | Ensemble:
    """The run that goes on where the file was written. inputs: Python functions by the names of the first run."""
    arrays = _read(Path(path))
    try:
        meta = json.loads(bytes(arrays.pop("meta")).decode())
    except (KeyError, ValueError, RecursionError):
        raise FormatError(f"{path} is not a checkpoint of a simulation.") from None
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:
        raise FormatError(f"{path} is not a checkpoint: it does not say format {FORMAT!r}.")
    if meta.get("version") != VERSION:
        raise FormatError(
            f"{path} has format version {meta.get('version')!r}; this symbody reads version {VERSION}. "
            "Checkpoints of another version cannot be continued: run the simulation again."
        )
    try:
        if meta.get("checksum") != _checksum(meta, arrays):
            raise FormatError(f"{path} is damaged: its checksum does not match.")
        if "closed" in meta:
            data = unpacked(meta["closed"], arrays)
            given = _functions(functions_of(data["call"]), inputs)
            return closed_again(data, given.__getitem__, str(path))
        _check_fields(meta, arrays)
        return _run(meta, arrays, _functions(_needed(meta), inputs), str(path))
    except SymbodyError:
        raise
    except FAULTS as error:
        raise FormatError(f"{path} is damaged: {type(error).__name__}: {error}.") from None


def _check_fields(meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """ValueError where numbers of a run are not ones that a run can have: files are not only damaged but also made."""
    settings = meta["settings"]
    if settings["automatic"].__class__ is not bool:
        raise ValueError(f"automatic is {settings['automatic']!r}")
    for name in ("t", "x", "x_now", "held", "log_t", "log_u", "defaults"):
        if arrays[name].dtype != float:
            raise ValueError(f"{name} of type {arrays[name].dtype}")
    for name, positive in (("step", True), ("rtol", True), ("period", False), ("atol", False)):
        value = settings[name]
        if value is not None and not (_is_number(value) and (value > 0 if positive else value >= 0)):
            raise ValueError(f"{name} is {value!r}")
    for name in ("max_steps", "threads"):
        value = settings[name]
        if not (name == "threads" and value is None) and (value.__class__ is not int or value < 1):
            raise ValueError(f"{name} is {value!r}")
    t, now = arrays["t"], meta["t"]
    start, end = settings["start"], meta["end"]
    if not all(_is_number(v) for v in (start, end, now)):
        raise ValueError(f"a run from {start!r} s to {end!r} s, which has come to {now!r} s")
    if not start <= now <= end or not _is_number(meta["reached"]) or not now <= meta["reached"] <= end:
        raise ValueError(f"it goes on at {now!r} s, from {meta['reached']!r} s in a run up to {end!r} s")
    if settings["step"] is not None and settings["step"] > end - start + SLACK * (1 + abs(start) + abs(end)):
        raise ValueError(f"steps of {settings['step']:g} s in a run from {start:g} to {end:g} s")
    if settings["step"] is not None:
        check_step_resolved(settings["step"], start, end)
    check_reached(meta["reached"], now, settings["step"], settings["max_steps"])
    check_ended(meta["outcome"], meta["reached"], end)
    check_counts(meta["statistics"], meta["notes"])
    check_instants(arrays.get("instants"))
    check_log(arrays["log_t"], now)
    # what is recorded is what the sampling asks for
    spacing = meta["spacing"]
    if spacing is not None and not (_is_number(spacing) and spacing > 0):
        raise ValueError(f"samples {spacing!r} s apart")
    due = due_samples(SampleTimes(spacing, arrays.get("instants")), start, now, settings["step"], len(t))
    check_samples(t, due, [e[0] for e in meta["happened"]], now)


def _is_number(value: Any) -> bool:
    return value.__class__ in (int, float) and math.isfinite(value)


def _read(path: Path) -> dict[str, np.ndarray]:
    why = missing(path).replace("no file", "no checkpoint")
    if why:
        raise FormatError(f"{why}.")
    if path.stat().st_size > MAX_BYTES:
        raise FormatError(f"{path} has {path.stat().st_size} bytes; expected at most {MAX_BYTES}.")
    try:
        return read_arrays(path, MAX_BYTES, packed=False)
    except FormatError:
        raise
    except (
        OSError,
        ValueError,
        EOFError,
        zipfile.BadZipFile,
        AttributeError,
        TypeError,
        NotImplementedError,
        RuntimeError,
    ):
        raise FormatError(f"{path} is not a checkpoint of a simulation; expected a file that simulate wrote.") from None


def _needed(meta: Mapping[str, Any]) -> list[str]:
    """Names of the Python functions of a run."""
    needed = [one["text"] for one in meta["inside"]]
    return needed + [line["text"] for line in meta["lines"] if line["kind"] in ("OfTime", "Feedback")]


def _functions(needed: Sequence[str], inputs: Any) -> dict[str, Any]:
    """The Python functions that the run needs, by name; all must be given, and no others."""
    given = inputs if isinstance(inputs, Mapping) else {} if inputs is None else dict.fromkeys(needed, inputs)
    missing = [n for n in needed if n not in given]
    if missing:
        told = ", ".join(map(repr, missing))
        raise DefinitionError(
            f"the checkpoint needs the Python function of {told} again: resume(path, inputs={{...}})."
        )
    for name in given:
        if name not in needed:
            raise NameLookupError(f"the checkpoint takes no function for {name!r}. {nearest(str(name), needed)}")
    return dict(given)


def _run(
    meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray], functions: Mapping[str, Any], where: str
) -> RecordedEnd:
    inside = tuple(_inside_again(one, functions) for one in meta["inside"])
    externals = {one.external.name: one.external for one in inside}
    systems: dict[str, Any] = {kind: from_record(data, externals, where) for kind, data in meta["systems"].items()}
    texts = dict(meta["flow"])
    texts["second"] = tuple((q, qd) for q, qd in texts["second"])
    texts["labels"] = {n: _tuple(v) for n, v in texts["labels"].items()}
    texts["units"] = {n: v if isinstance(v, str) else _tuple(v) for n, v in texts["units"].items()}
    texts["prescribed"] = {n: _tuple(v) for n, v in texts["prescribed"].items()}
    flow = Flow(**systems, **texts, start=_part(arrays, "start"))
    lines = tuple(_line_again(data, i, arrays, functions, where) for i, data in enumerate(meta["lines"]))
    connected = Connected(flow, lines, np.array(arrays["defaults"]), inside)
    check_names(flow)
    _check_shapes(flow, connected, arrays)
    batch = arrays["x_now"].shape[:-1]
    check_lines(lines, len(arrays["defaults"]), batch)
    spacing = meta["spacing"]
    sampling = SampleTimes(None if spacing is None else float(spacing), arrays.get("instants"))
    parameters = {n: a if a.ndim else float(a) for n, a in _part(arrays, "parameter").items()}
    check_members(meta["outcomes"], batch, parameters)
    settings = Settings(**meta["settings"], sampling=sampling, parameters=parameters)
    x = np.array(arrays["x_now"])
    signals = InputSignals(connected, settings.start, settings.step, settings.period, len(x) if x.ndim == 2 else None)
    happened = [EventRecord(float(t), name, text, *member) for t, name, text, *member in meta["happened"]]
    check_happened(happened, settings.start, meta["t"], batch)
    events = None
    if meta["events"] is not None:
        own = {rule.name: rule for rule in element_events(flow)}
        made = tuple(own[r["element"]] if "element" in r else When(**r) for r in meta["events"])
        check_rules(flow, made)
        events = PreparedEvents(flow, made, tuple(meta["switches"]))
    check_recorded(arrays["x"], batch)
    if batch and not together(connected, events, settings, signals):
        raise ValueError(f"members of a batch that go apart, by {settings.method!r}")
    plan = assembled(connected, events, settings, signals)
    outcomes = meta["outcomes"]
    segments = [_segment_again(s, i, flow, arrays, externals, where) for i, s in enumerate(meta["segments"])]
    size = sum(flow.rates.inputs[n].size for n in flow.states)
    check_segments([s["start"] for s in meta["segments"]], [s.rates for s in segments], len(arrays["t"]), size, batch)
    state = RunState(
        float(meta["t"]), x, float(meta["end"]), _held(arrays, signals, meta["t"]), _part(arrays, "memory"), None,
        _marks(meta["marks"], events), dict(meta["statistics"]), Log([(arrays["t"], arrays["x"])]), len(arrays["t"]),
        Log([(np.array(arrays["log_t"], dtype=float), np.array(arrays["log_u"]))]),
        Log(happened), Log(meta["notes"]), Log(segments),
        None if outcomes is None else np.array([Outcome[o] for o in outcomes], dtype=object),
    )  # fmt: skip
    alive = np.full(batch, True) if state.outcomes is None else state.outcomes == Outcome.FINISHED
    check_held(lines, state.held.values, arrays["log_u"], state.t if state.t > settings.start else None, alive)
    rules, known = () if events is None else events.events, state.marks.get("events")
    check_counted(happened, rules, (0,) * len(rules) if known is None else known.counts, batch)
    if alive.all():
        check_steps(state.counts, settings, state.t, events is not None or signals.jumps, batch)
    check_memory(plan.stepper, state.begin())
    u = np.broadcast_to(signals.at(state.t, state.held.values), (*batch, signals.size))[alive]
    corrected = FlowKernels(flow, _alive(parameters, alive)).project(np.full(u.shape[:-1], state.t), x[alive], u)
    check_now(flow, x[alive], corrected)
    anchor = Reached(plan, state)
    outcome = None if meta["outcome"] is None else Outcome[meta["outcome"]]
    return RecordedEnd(Reached(plan, came_to(state, meta["reached"], meta.get("beyond", 0)), outcome), anchor)


def _tuple(value: Any) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise TypeError(f"list expected, not {value!r:.60}")
    return tuple(value)


def _alive(parameters: Mapping[str, Any], alive: np.ndarray) -> dict[str, Any]:
    """Parameters of the members that have not failed."""
    return {n: v[alive] if np.ndim(v) else v for n, v in parameters.items()}


def _held(arrays: Mapping[str, np.ndarray], signals: InputSignals, now: float) -> Held:
    check_ticks([one.clock for one in signals.sampled], arrays["ticks"].tolist(), now)
    ticks = tuple(map(int, arrays["ticks"]))
    memories = [_part(arrays, f"sampled{i}") for i in range(len(ticks))]
    for one, memory in zip(signals.sampled, memories, strict=True):
        wrong = set(memory) != set(one.memory)
        if wrong or any(memory[n].shape[memory[n].ndim - a.ndim :] != a.shape for n, a in one.memory.items()):
            raise ValueError(f"a memory {sorted(memory)} of the controller for {one.line.text}")
    return Held(np.array(arrays["held"]), ticks, tuple(memories))


def _marks(data: Mapping[str, Any], events: PreparedEvents | None) -> dict[str, Any]:
    out: dict[str, Any] = {}
    if data["events"] is not None:
        out["events"] = happened_again(data["events"], 0 if events is None else len(events.events))
    if data["impacts"] is not None:
        out["impacts"] = impacts_again(data["impacts"])
    return out


def _check_shapes(flow: Flow, connected: Connected, arrays: Mapping[str, np.ndarray]) -> None:
    """ValueError where the numbers of a run do not have the sizes of its equations."""
    size = sum(flow.rates.inputs[n].size for n in flow.states)
    now, log = arrays["x_now"], arrays["log_u"]
    batch = now.shape[:-1]
    signals = sum(len(line.columns) for line in connected.lines)
    expected = {
        "x_now": (*batch, size),
        "x": (*batch, len(arrays["t"]), size),
        "defaults": arrays["defaults"].shape[:1],
        "log_t": log.shape[:1],
        "held": log.shape[1:],
    }
    for name, shape in expected.items():
        if arrays[name].shape != shape:
            raise ValueError(f"{name} has the shape {arrays[name].shape}; expected {shape}")
    if (
        len(log) < 1
        or log.ndim not in (2, 3)
        or log.shape[-1] != len(arrays["defaults"])
        or len(arrays["defaults"]) < signals
        or len(arrays["defaults"]) != sum(flow.rates.inputs[n].size for n in flow.signals)
    ):
        raise ValueError(f"signals of shape {log.shape}")
    for name, start in flow.start.items():
        if name in flow.rates.inputs and np.shape(start) not in ((), flow.rates.inputs[name].shape):
            raise ValueError(f"start.{name} has the shape {np.shape(start)}")
    for name, rate in flow.rated.items():
        if not isinstance(name, str) or rate not in flow.rates.outputs:
            raise ValueError(f"{name!r} is the rate {rate!r}")


def _segment_again(
    data: Mapping[str, Any], i: int, flow: Flow, arrays: Mapping[str, np.ndarray], externals: Any, where: str
) -> Segment:
    if "rates" not in data:
        return Segment(int(data["start"]), flow, np.array(arrays[f"segment{i}.rates"]))
    return Segment(int(data["start"]), flow.replace(rates=from_record(data["rates"], externals, where)))


def _part(arrays: Mapping[str, np.ndarray], head: str) -> dict[str, np.ndarray]:
    return {n[len(head) + 1 :]: a for n, a in arrays.items() if n.startswith(f"{head}.")}


def _inside_again(data: Mapping[str, Any], functions: Mapping[str, Any]) -> Inside:
    shapes = {n: tuple(shape) for n, shape in data["shapes"].items()}
    source = function_source(functions[data["text"]], data["text"])
    call = numeric_function(source, shapes, data["size"], data["text"])
    return Inside(External(data["name"], data["arity"], data["size"], call), data["text"], shapes, data["size"])


def _line_again(
    data: Mapping[str, Any], i: int, arrays: Mapping[str, np.ndarray], functions: Mapping[str, Any], where: str
) -> Line:
    kind, text = data["kind"], data["text"]
    source: Source
    if kind == "Constant":
        source = Constant(np.array(arrays[f"line{i}.values"]))
    elif kind == "Table":
        source = TableSource(np.array(arrays[f"line{i}.times"]), np.array(arrays[f"line{i}.values"]), data["hold"])
    elif kind == "Control":
        system: System = from_record(data["system"], {}, where)
        source = Control(system, data["output"])
    else:
        source = function_source(functions[text], text)
        if source.kind != kind:
            raise other_arguments(text, kind)
        assert isinstance(source, (OfTime, Feedback))
    return Line(source, np.array(data["columns"], dtype=int), text)
