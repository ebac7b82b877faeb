"""What is in a checkpoint, held against the equations in it: ValueError where numbers cannot be those of such a run.

Files are not only damaged but also made, so a checksum that is right says nothing about what it covers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from symbody.flow.connect import Line
from symbody.flow.events import When
from symbody.flow.flow import Flow
from symbody.flow.sources import Constant, Control, Table
from symbody.trajectory.trajectory import Event

Arrays = Mapping[str, np.ndarray]
MOST_AT_ONCE = 2_000_000  # steps of one call of the march, of the smallest model


def check_reached(reached: float, start: float, step: float | None, max_steps: int) -> None:
    """ValueError where a run with steps of one length cannot have come so far: it ends at `max_steps`, or a call of the
    march later."""
    if step is not None and (reached - start) / step > max_steps + MOST_AT_ONCE:
        raise ValueError(f"{reached:g} s were reached from {start:g} s by at most {max_steps} steps of {step:g} s")


def check_lines(lines: Sequence[Line], signals: int, batch: tuple[int, ...]) -> None:
    """Inputs: each gives numbers for its own signals, of which there are so many."""
    taken: set[int] = set()
    for line in lines:
        columns = line.columns
        if columns.ndim != 1 or taken & set(columns.tolist()) or not all(0 <= k < signals for k in columns):
            raise ValueError(f"the input {line.text!r} of signals {columns.tolist()} of {signals}")
        taken.update(columns.tolist())
        source, size = line.source, len(columns)
        if isinstance(source, Constant) and source.values.shape not in ((size,), (*batch, size)):
            raise ValueError(f"the input {line.text!r} with numbers of shape {source.values.shape}")
        if isinstance(source, Table):
            times = source.times
            if times.ndim != 1 or not len(times) or not np.isfinite(times).all() or (np.diff(times) <= 0).any():
                raise ValueError(f"the table of {line.text!r} with instants that do not ascend")
            if source.values.shape != (len(times), size):
                raise ValueError(f"the table of {line.text!r} with values of shape {source.values.shape}")
        if isinstance(source, Control):
            output = source.system.outputs.get(source.output) if isinstance(source.output, str) else None
            if output is None or output.size != size:
                raise ValueError(f"the input {line.text!r} from an output {source.output!r}")


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


def check_happened(happened: Sequence[Event], batch: tuple[int, ...]) -> None:
    """What has happened has an instant, and in a batch a member."""
    for event in happened:
        inside = event.member is None or (event.member.__class__ is int and 0 <= event.member < (batch or (1,))[0])
        if not np.isfinite(event.t) or event.name.__class__ is not str or event.text.__class__ is not str or not inside:
            raise ValueError(f"an event {event!r} that has happened")


def check_segments(starts: Sequence[Any], rates: Sequence[np.ndarray | None], samples: int, size: int) -> None:
    """Samples with equations of their own: they begin one after the other."""
    if any(k.__class__ is not int or not 0 <= k <= samples for k in starts) or sorted(starts) != list(starts):
        raise ValueError(f"segments that begin at {list(starts)} of {samples} samples")
    for start, end, own in zip(starts, [*starts[1:], samples], rates):
        if own is not None and own.shape[-1:] != (size,):
            raise ValueError(f"rates of samples {start} to {end} of shape {own.shape}")
