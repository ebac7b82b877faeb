"""The Plan of a run from its equations: the Stepper of the method, and the hooks in their order."""

from __future__ import annotations

from dataclasses import replace

from symbody.basics.memory import memory_of
from symbody.motion.events.hooks import Making, added_hooks, hooks_of
from symbody.motion.events.partition_watch import LoopWatch, Watch
from symbody.motion.events.plan import Change, Plan, Settings
from symbody.motion.flow.connect import Connected
from symbody.motion.flow.event_rules import PreparedEvents
from symbody.motion.flow.flow import Flow
from symbody.motion.flow.loop_guards import LoopGuards
from symbody.motion.flow.signals import InputSignals
from symbody.motion.methods.methods import METHODS, Setup
from symbody.motion.methods.stepper import Stepper

MOST_KEPT = 16  # Plans of one run


def together(connected: Connected, events: PreparedEvents | None, settings: Settings, signals: InputSignals) -> bool:
    """Whether the members of a batch can be advanced together, with all that happens to them."""
    method = METHODS[settings.method]
    if settings.device is not None:
        return True  # or refused
    if added_hooks(Making(connected, settings, signals, events)):
        return False
    if not method.batches or events is None:
        return method.batches
    from symbody.motion.methods.lane_stepper import lanes_of

    return method.lanes and lanes_of(_setup(events.flow, events, settings, signals, None))


def _setup(
    flow: Flow, events: PreparedEvents | None, s: Settings, signals: InputSignals, loops: LoopGuards | None
) -> Setup:
    directions, passive = (None, None) if events is None else (events.directions, events.passive)
    return Setup(
        flow, signals, s.start, s.step, s.rtol, s.atol, s.max_steps, s.parameters, directions, passive, s.threads,
        loops, events,
    )  # fmt: skip


def assembled(
    connected: Connected,
    events: PreparedEvents | None,
    settings: Settings,
    signals: InputSignals,
    loops: LoopGuards | None = None,
    watch: Watch | None = None,
) -> Plan:
    """loops: guards of closed loops; watch: who may replace their equations."""
    setup = _setup(connected.flow, events, settings, signals, loops)
    hooks = hooks_of(Making(connected, settings, signals, events, loops, watch))
    return Plan(connected, settings, signals, _stepper(setup, settings), events, loops, hooks)


def _stepper(setup: Setup, settings: Settings) -> Stepper:
    if settings.device is None:
        return METHODS[settings.method].make(setup)
    from symbody.motion.methods.device_stepper import OnDevice

    return OnDevice(setup, settings.method, settings.precision, ordinal_of(settings.device))


def ordinal_of(device: str) -> int:
    """The number of a device: 1 of "cuda:1"."""
    return int(device.partition(":")[2] or 0)


def replanned(plan: Plan, change: Change) -> Plan:
    """The Plan that a hook has asked for: other equations of the same states, or another method."""
    settings = plan.settings if change.method is None else replace(plan.settings, method=change.method)
    connected, events = plan.connected, plan.events
    if change.equations is not None:
        connected, events = change.equations.connected, change.equations.events
    watch = next((hook.watch for hook in plan.hooks if isinstance(hook, LoopWatch)), None)

    def make() -> Plan:
        loops = None if plan.loops is None else plan.loops.of(connected.flow)
        return assembled(connected, events, settings, plan.signals, loops, watch)

    # a run comes back to equations that it had before
    return make() if watch is None else memory_of(watch).get("plan", (id(connected), settings.method), make, MOST_KEPT)
