"""The table of hooks: what may happen between stretches of smooth motion, one row each, in the order they are asked.

A row makes its hook for a run, or None where the run has no use for it. Rows that are added are asked after symbody's
own. They see one state: the members of a batch are runs of their own then.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from symbody.basics.errors import DefinitionError, add_row, remove_row
from symbody.motion.events.clocks import Clocks, Impacts
from symbody.motion.events.events import EventEffects, Events
from symbody.motion.events.impacts import Gates
from symbody.motion.events.partition_watch import LoopWatch, Watch
from symbody.motion.events.plan import Hook, Settings
from symbody.motion.events.stiffness import Stiffness
from symbody.motion.flow.connect import Connected
from symbody.motion.flow.event_rules import PreparedEvents
from symbody.motion.flow.flow import Flow
from symbody.motion.flow.loop_guards import LoopGuards
from symbody.motion.flow.signals import InputSignals
from symbody.motion.flow.vector_field import VectorField


@dataclass(frozen=True, eq=False)
class Making:
    """What hooks are made from: the equations of a run, its settings and signals.

    events  compiled ones, or None; loops: guards of closed loops, or None; watch: who may replace their equations
    """

    connected: Connected
    settings: Settings
    signals: InputSignals
    events: PreparedEvents | None = None
    loops: LoopGuards | None = None
    watch: Watch | None = None

    @property
    def flow(self) -> Flow:
        return self.connected.flow

    @cached_property
    def gates(self) -> Gates | None:
        """Gates of loops that open and close; None where there are none, or in a batch."""
        single = self.signals.batch is None
        return Gates(self.flow, self.settings.parameters) if self.flow.impact is not None and single else None

    @cached_property
    def event_hook(self) -> Events | None:
        if self.events is None:
            return None
        field = VectorField(self.events.flow, self.settings.parameters, np.zeros(self.flow.layout.nu))
        return Events(EventEffects(self.events, field), self.gates)


@dataclass(frozen=True)
class HookRow:
    """make: what a run is made from -> its Hook, whose name is that of the row; None: this run needs none."""

    name: str
    about: str
    make: Callable[[Making], Hook | None]


def _loops(making: Making) -> Hook | None:
    return None if making.loops is None else LoopWatch(making.watch)


def _impacts(making: Making) -> Hook | None:
    return None if making.gates is None else Impacts(making.gates, making.event_hook)


_ROWS = (
    HookRow("loops", "closed loops stay closed, and change their partition", _loops),
    HookRow("events", "guards that cross zero", lambda making: making.event_hook),
    HookRow("clocks", "sampled controllers and held tables", lambda m: Clocks() if m.signals.jumps else None),
    HookRow("impacts", "loops that an input closes", _impacts),
    HookRow("stiffness", "another method where it pays", lambda m: Stiffness() if m.settings.automatic else None),
)
HOOKS: dict[str, HookRow] = {row.name: row for row in _ROWS}
BUILT_IN = frozenset(HOOKS)


def hooks_of(making: Making) -> tuple[Hook, ...]:
    """The hooks of a run, in order."""
    out: list[Hook] = []
    for row in HOOKS.values():
        hook = row.make(making)
        if hook is None:
            continue
        if hook.name != row.name:
            raise DefinitionError(f"hook {row.name!r} made one named {hook.name!r}; expected the name of its row.")
        out.append(hook)
    return tuple(out)


def added_hooks(making: Making) -> list[str]:
    """Names of the hooks of a run that are not symbody's own."""
    return [name for name, row in HOOKS.items() if name not in BUILT_IN and row.make(making) is not None]


def add_hook(row: HookRow) -> HookRow:
    """One more hook, under a name that is free: runs ask it from now on."""
    if not isinstance(row, HookRow):
        raise DefinitionError(f"add_hook was given {row!r}; expected a HookRow.")
    return add_row(HOOKS, row.name, row, "hook")


def remove_hook(name: str) -> None:
    """Take an added hook out again."""
    remove_row(HOOKS, name, BUILT_IN, "hook")
