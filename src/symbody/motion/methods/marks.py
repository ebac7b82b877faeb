"""What the native march noted on the way, as events and jumps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from symbody.motion.flow.event_rules import When
from symbody.motion.march.ir.event_effects import LIMIT, RESET, RESTS, RESTS_AND_STOPS, STOPS
from symbody.motion.march.job import CARRIED, JUMPED
from symbody.motion.methods.stepper import StateJump
from symbody.motion.trajectory.trajectory import EventRecord

MEMBER, KIND, EVENT, CODE, COUNT, TIME, STATES = range(7)  # columns of marks; from the last on the states


def event_of(row: np.ndarray, rules: Sequence[When], member: int | None = None) -> EventRecord:
    """The event of a mark."""
    rule = rules[int(row[EVENT])]
    text = ""
    if row[KIND] == CARRIED:
        text = "carried over zero by a jump"
    elif row[CODE]:
        slow = f"slower than {rule.slowest:g}: it rests"
        texts = {
            STOPS: "the run stops",
            LIMIT: f"the run stops at its occurrence {int(row[COUNT])}",
            RESTS_AND_STOPS: f"{slow}, and the run stops",
            RESTS: slow,
            RESET: "reset",
        }
        text = texts[int(row[CODE])]
    return EventRecord(float(row[TIME]), rule.name, text, member)


def events_of(marks: np.ndarray, rules: Sequence[When], batch: bool) -> list[EventRecord]:
    """Events of marks (m, columns), of each member in the order of time."""
    rows = marks[marks[:, KIND] != JUMPED]
    rows = rows[np.lexsort((rows[:, TIME], rows[:, MEMBER]))]  # a stable order
    return [event_of(row, rules, int(row[MEMBER]) if batch else None) for row in rows]


def jumps_of(marks: np.ndarray, nx: int, u: np.ndarray, columns: np.ndarray) -> list[StateJump]:
    """Jumps of one state. u: (nu,) signals, of which the march held some columns."""
    out = []
    for row in marks[marks[:, KIND] == JUMPED]:
        before, after, held = np.split(row[STATES:], [nx, 2 * nx])
        then = np.array(u)
        then[columns] = held
        out.append(StateJump(float(row[TIME]), before, after, then))
    return out
