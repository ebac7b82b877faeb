"""What is in a checkpoint, held against the equations in it: ValueError where numbers cannot be those of such a run.

Files are not only damaged but also made, so a checksum that is right says nothing about what it covers.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from symbody.motion.events.events import Happened
from symbody.motion.events.plan import Settings
from symbody.motion.events.state import RunState
from symbody.motion.flow.connect import Line
from symbody.motion.flow.event_rules import When
from symbody.motion.flow.flow import Flow
from symbody.motion.flow.signals import Clock
from symbody.motion.flow.sources import Constant, Control, TableSource
from symbody.motion.methods.sample_times import SampleTimes
from symbody.motion.trajectory.outcome import Outcome
from symbody.motion.trajectory.trajectory import EventRecord

Arrays = Mapping[str, np.ndarray]
SLACK = 1e-9  # of an instant, for roundings
OF_LOOPS = ("partition", "singular position")  # events that no rule asks for
CLOSED = 1e-6  # of a state, where it is corrected: unit quaternions, prescribed motions
MOST_AT_ONCE = 2_000_000  # steps of one call of the march, of the smallest model


def check_reached(reached: float, now: float, step: float | None, max_steps: int) -> None:
    """ValueError where a run with steps of one length cannot have come so far from where it goes on: it was in a call
    of the march, and ended after `max_steps` at the latest."""
    if step is not None and (reached - now) / step > max_steps + MOST_AT_ONCE:
        raise ValueError(f"{reached:g} s were reached from {now:g} s by at most {max_steps} steps of {step:g} s")


def came_to(state: RunState, reached: Any, beyond: Any) -> RunState:
    """Where a run ended that goes on from `state`: the instant, and the steps that were counted until then."""
    if beyond.__class__ not in (int, float) or not 0 <= beyond < math.inf:
        raise ValueError(f"{beyond!r} steps beyond {state.t:g} s")
    members = 1 if state.single else len(state.x)
    counts = {**state.counts, "steps": state.counts.get("steps", 0) + beyond * members}
    return state.but(t=float(reached), counts=counts)


def check_ended(outcome: str | None, reached: float, end: float) -> None:
    """ValueError where a run that is complete has not come to the end that it was asked for."""
    if outcome is not None and Outcome[outcome].ok and abs(end - reached) > SLACK * max(1.0, abs(end)):
        raise ValueError(f"a run up to {end:g} s is {outcome} at {reached:g} s")


def check_steps(
    counts: Mapping[str, float], settings: Settings, now: float, cut: bool, batch: tuple[int, ...] = ()
) -> None:
    """Steps of one length were counted, one or more for each; where nothing cuts them short, they end now."""
    if settings.step is None:
        return
    places = (now - settings.start) / settings.step
    least = math.prod(batch) * math.floor(places + SLACK * max(1.0, places))
    slack = SLACK * max(1.0, abs(now))
    uneven = abs(now - settings.start - round(places) * settings.step) > slack
    steps = counts.get("steps", least)
    if steps < least or (not cut and (uneven or steps > least)):
        raise ValueError(f"{steps} steps of {settings.step:g} s from {settings.start:g} to {now:g} s")


def due_samples(sampling: SampleTimes, start: float, now: float, step: float | None, count: int) -> np.ndarray:
    """Instants of samples up to now, of which a run has made `count`: far more are refused before they are made."""
    distance = step if sampling.spacing is None else sampling.spacing
    if sampling.instants is None and (distance is None or (now - start) / distance > count + 2):
        raise ValueError(f"{count} samples, {distance!r} s apart, over {now - start:g} s")
    return sampling.times(start, now, step)


def check_samples(t: np.ndarray, due: np.ndarray, happened: Sequence[float], now: float) -> None:
    """Samples (k,) are those that are due up to now, and both sides of the jumps of events."""
    if t.ndim != 1 or not np.isfinite(t).all() or (np.diff(t) < 0).any():
        raise ValueError("instants that do not ascend")
    late = SLACK * max(1.0, abs(now))
    if len(t) and (t[0] < due[:1].min(initial=np.inf) - late and not _near(t[:1], happened, late).all()):
        raise ValueError(f"samples from {t[0]:g} s on")
    if len(t) and t[-1] > now + late:
        raise ValueError(f"samples up to {t[-1]:g} s in a run that has come to {now:g} s")
    slack = min(late, 0.25 * float(np.diff(due).min(initial=np.inf)))
    missing = due[(due < now - slack) & ~_near(due, t, slack)]
    extra = t[~_near(t, [*due, *happened], slack)]
    twice = t[1:][np.diff(t) <= slack]
    if len(missing) or len(extra) or len(twice) > len(happened) or not _near(twice, happened, slack).all():
        told = [f"{len(part)} {word}" for part, word in ((missing, "missing"), (extra, "not due")) if len(part)]
        raise ValueError(f"samples of which {' and '.join(told) or f'{len(twice)} stand twice'}")


def _near(a: np.ndarray, b: Any, slack: float) -> np.ndarray:
    """(k,) bool: which of a (k,) have one of b beside them."""
    b = np.sort(np.asarray(b, dtype=float))
    if not len(b):
        return np.zeros(len(a), dtype=bool)
    above = np.searchsorted(b, a)
    nearest = np.minimum(abs(b[np.minimum(above, len(b) - 1)] - a), abs(b[np.maximum(above - 1, 0)] - a))
    return np.asarray(nearest <= slack)


def check_instants(instants: np.ndarray | None) -> None:
    """Instants of samples that were asked for."""
    if instants is None:
        return
    if not isinstance(instants, np.ndarray) or instants.ndim != 1 or instants.dtype != float:
        raise ValueError("samples at instants that are no list of numbers")
    if not np.isfinite(instants).all() or (np.diff(instants) <= 0).any():
        raise ValueError("samples at instants that do not ascend")


def check_log(at: np.ndarray, now: float) -> None:
    """Instants from which on signals were held: from the beginning of time on, none twice before."""
    if not len(at) or at[0] != -np.inf or not (at[1:] >= at[:-1]).all() or at[-1] > now + SLACK * max(1.0, abs(now)):
        raise ValueError("signals held at instants that do not ascend")


def check_ticks(clocks: Sequence[Clock], ticks: Sequence[Any], now: float) -> None:
    """Each controller is asked next at its first tick that has not passed."""
    if len(ticks) != len(clocks) or any(int(j) != j or j < 0 for j in ticks):
        raise ValueError(f"{ticks} are no ticks of {len(clocks)} controllers")
    for clock, j in zip(clocks, map(int, ticks), strict=True):
        if not clock.waits_for(j, now):
            raise ValueError(f"tick {j} of a controller with a period of {clock.period:g} s at {now:g} s")


def happened_again(data: Any, rules: int) -> Happened:
    """What the events of a run remember, from data."""
    counts, instants, leaving = data
    whole = all(k.__class__ is int and k >= 0 for k in (*counts, *leaving))
    if len(counts) != rules or not whole or not all(t.__class__ is float and np.isfinite(t) for t in instants):
        raise ValueError(f"{counts}, {instants} and {leaving} of {rules} events")
    return Happened(tuple(counts), tuple(instants), frozenset(leaving))


def impacts_again(data: Mapping[str, Any]) -> dict[str, float]:
    """Which loops are closed, from data: 1, or 0 for open."""
    if not all(v in (0.0, 1.0) for v in data.values()):
        raise ValueError(f"loops that are {data}")
    return {str(n): float(v) for n, v in data.items()}


def check_recorded(x: np.ndarray, batch: tuple[int, ...]) -> None:
    """States of samples: numbers, but for members of a batch that have failed."""
    if not batch and not np.isfinite(x).all():
        raise ValueError("samples that are no numbers")


def check_counts(counts: Mapping[str, Any], notes: Any) -> None:
    """Statistics and notes."""
    if not all(n.__class__ is str and v.__class__ in (int, float) and 0 <= v < np.inf for n, v in counts.items()):
        raise ValueError(f"statistics {counts!r}")
    if not isinstance(notes, list) or not all(isinstance(note, str) for note in notes):
        raise ValueError("notes that are no texts")


def check_now(flow: Flow, x: np.ndarray, corrected: np.ndarray) -> None:
    """The state of now, of members that have not failed, is one that the run can have."""
    if not np.isfinite(x).all():
        raise ValueError("a state that is no number")
    if not (abs(corrected - x) <= CLOSED * (1 + abs(x))).all():
        raise ValueError(f"a state of {flow.name} whose quaternions are not of length 1, or that is not on its course")


def check_names(flow: Flow) -> None:
    """Names of a Flow are texts, and those of states are its own."""
    for name, words in (*flow.labels.items(), *((n, (v,) if isinstance(v, str) else v) for n, v in flow.units.items())):
        if not all(isinstance(word, str) for word in words):
            raise ValueError(f"labels or units {words!r} of {name!r}")
    sizes = {n: int(np.prod(shape)) for n, shape in flow.layout.states.items()}
    recorded = {} if flow.record is None else {n: a.size for n, a in flow.record.outputs.items()}
    for name, size in {**recorded, **sizes}.items():
        if len(flow.labels.get(name, ())) not in (0, size):
            raise ValueError(f"labels {flow.labels[name]!r} of {name!r}, which has {size} components")
    for name, places in flow.prescribed.items():
        if name not in sizes or not all(k.__class__ is int and 0 <= k < sizes[name] for k in places):
            raise ValueError(f"{name!r} is prescribed at {places!r}")
    pairs = [n for pair in flow.second for n in pair]
    if flow.name.__class__ is not str or not set(pairs) <= set(sizes) or len(set(pairs)) < len(pairs):
        raise ValueError(f"a system {flow.name!r} with the pairs {flow.second!r}")


def check_lines(lines: Sequence[Line], signals: int, batch: tuple[int, ...]) -> None:
    """Inputs: each gives numbers for its own signals, of which there are so many."""
    taken: set[int] = set()
    for line in lines:
        columns = line.columns
        if columns.ndim != 1 or taken & set(columns.tolist()) or not all(0 <= k < signals for k in columns):
            raise ValueError(f"the input {line.text!r} of signals {columns.tolist()} of {signals}")
        taken.update(columns.tolist())
        source, size = line.source, len(columns)
        if isinstance(source, Constant | TableSource) and not _numbers(source.values):
            raise ValueError(f"the input {line.text!r} with values that are no numbers")
        if isinstance(source, Constant) and source.values.shape not in ((size,), (*batch, size)):
            raise ValueError(f"the input {line.text!r} with numbers of shape {source.values.shape}")
        if isinstance(source, TableSource):
            times = source.times
            if times.ndim != 1 or not len(times) or not _numbers(times) or (np.diff(times) <= 0).any():
                raise ValueError(f"the table of {line.text!r} with instants that do not ascend")
            if source.values.shape != (len(times), size) or source.hold.__class__ is not bool:
                raise ValueError(f"the table of {line.text!r} with values of shape {source.values.shape}")
        if isinstance(source, Control):
            output = source.system.outputs.get(source.output) if isinstance(source.output, str) else None
            if output is None or output.size != size:
                raise ValueError(f"the input {line.text!r} from an output {source.output!r}")
    if len(taken) < signals:
        raise ValueError(f"{signals} signals, of which {signals - len(taken)} are given by nothing")


def _numbers(a: np.ndarray) -> bool:
    return a.dtype == float and bool(np.isfinite(a).all())


def check_held(lines: Sequence[Line], held: np.ndarray, log: np.ndarray, now: float | None, alive: np.ndarray) -> None:
    """Signals that are held, (nu,) or (b, nu), and that were, (n, nu) or (n, b, nu): what the inputs say, of members
    that have not failed. now None: tables have not been looked up yet."""
    if not np.isfinite(held[alive]).all() or not np.isfinite(log[:, alive]).all():
        raise ValueError("signals held that are no numbers")
    for line in lines:
        source = line.source
        own = held[..., line.columns]
        if isinstance(source, Constant):
            same = (own == source.values).all() and (log[..., line.columns] == source.values).all()
        elif isinstance(source, TableSource) and source.hold and now is not None:
            same = (own[alive][..., None, :] == _rows_near(source, now)).all(axis=-1).any(axis=-1).all()
        else:
            same = True
        if not same:
            raise ValueError(f"the input {line.text!r} is held at other values than it has")


def _rows_near(table: TableSource, now: float) -> np.ndarray:
    """(k, n) values that a held table may have now: before and after a change that is due."""
    late = SLACK * max(1.0, abs(now))
    first, last = (int(np.searchsorted(table.times, t, side="right")) - 1 for t in (now - late, now + late))
    found: np.ndarray = table.values[max(first, 0) : max(last, 0) + 1]
    return found


def check_members(outcomes: Sequence[Any] | None, batch: tuple[int, ...], parameters: Mapping[str, Any]) -> None:
    """Outcomes and parameters: one for each member of a batch."""
    if len(batch) > 1 or (outcomes is None) != (batch == ()) or (outcomes is not None and len(outcomes) != batch[0]):
        raise ValueError(f"outcomes {outcomes!r} of a batch {batch}")
    for name, value in parameters.items():
        if np.shape(value) not in ((), batch):
            raise ValueError(f"the parameter {name!r} of shape {np.shape(value)} in a batch {batch}")


def check_rules(flow: Flow, rules: Sequence[When]) -> None:
    """Rules of events are texts and numbers, and each has its guard."""
    guard = None if flow.guards is None else flow.guards.outputs.get("guard")
    if guard is None or guard.size < len(rules):
        raise ValueError(f"{len(rules)} events with guards of {0 if guard is None else guard.size}")
    for rule in rules:
        kinds = (rule.name.__class__ is str, rule.direction.__class__ is int, rule.stop.__class__ is bool)
        resets = (rule.reset, rule.rest if rule.rest is not None else {})
        numbers = (rule.limit is None or rule.limit.__class__ is int, rule.slowest.__class__ in (int, float))
        if not all((*kinds, *numbers)) or not all(isinstance(r, Mapping) for r in resets):
            raise ValueError(f"an event {rule!r}")


def check_happened(happened: Sequence[EventRecord], start: float, now: float, batch: tuple[int, ...] = ()) -> None:
    """What has happened has an instant from the start until now, and in a batch a member."""
    late = SLACK * max(1.0, abs(start), abs(now))
    for event in happened:
        inside = event.member is None if not batch else event.member.__class__ is int and 0 <= event.member < batch[0]
        texts = event.name.__class__ is str and event.text.__class__ is str
        if not (start - late <= event.t <= now + late and texts and inside):
            raise ValueError(f"an event {event!r} that has happened")


def check_counted(
    happened: Sequence[EventRecord], rules: Sequence[When], counts: Sequence[int], batch: tuple[int, ...] = ()
) -> None:
    """What has happened is what the run has events for, of one state as often as it remembers; or is of its loops."""
    names = Counter(event.name for event in happened)
    expected: Counter[str] = Counter()
    for rule, count in zip(rules, counts, strict=True):
        expected[rule.name] += count
    other = [n for n in names if n not in expected and n not in OF_LOOPS and not n.startswith("closed ")]
    counted = [n for n in expected if n not in OF_LOOPS]
    if other or (not batch and any(names[n] != expected[n] for n in counted)):
        raise ValueError(f"events {dict(names)} that have happened, of which {dict(expected)} are remembered")


def check_segments(
    starts: Sequence[Any], rates: Sequence[np.ndarray | None], samples: int, size: int, batch: tuple[int, ...] = ()
) -> None:
    """Samples with equations of their own: all samples of one run, one part after the other."""
    if any(k.__class__ is not int or not 0 <= k <= samples for k in starts) or sorted(starts) != list(starts):
        raise ValueError(f"segments that begin at {list(starts)} of {samples} samples")
    if len(starts) and (starts[0] != 0 or batch):
        raise ValueError(f"segments from sample {starts[0]} on, in a batch {batch}")
    for start, end, own in zip(starts, [*starts[1:], samples], rates):
        if own is not None and (own.ndim != 2 or own.shape[1] != size or len(own) < end - start):
            raise ValueError(f"rates of samples {start} to {end} of shape {own.shape}")
