"""What drives a Session: events, gates and driver, made from its equations, at the start or with others underway."""

from __future__ import annotations

from typing import Any

import numpy as np

from symbody.flow.connect import Connected
from symbody.flow.events import Prepared
from symbody.flow.field import Field
from symbody.flow.flow import Flow
from symbody.flow.loop_guards import Lookout
from symbody.flow.signals import Feed
from symbody.hybrid.events import Happenings
from symbody.hybrid.impacts import Gates
from symbody.integrate.methods import METHODS, Setup
from symbody.run.session import Session, Settings


def adopt(session: Session, connected: Connected, events: Prepared | None) -> None:
    """Go on with other equations of the same states; inputs, counts of events and samples stay."""
    old = session.happenings
    session.connected = connected
    finish(session, events)
    if old is not None and session.happenings is not None:
        session.happenings.take_over(old)
    span = getattr(session.driver, "span", None)
    if span is not None:
        span(session.end)


def finish(session: Session, events: Prepared | None) -> None:
    """What is made from the rest of a Session: its events and its driver."""
    feed = session.feed
    if events is not None:
        bound = Field(session.flow, session.settings.parameters, lambda t, x: feed.at(t))
        session.happenings = Happenings(events, bound, session.end - session.settings.start)
    if session.flow.impact is not None and session.x.ndim == 1:
        session.gates = Gates(session.flow, session.settings.parameters, feed.at)
    span = session.end - session.settings.start
    session.driver = driver_of(session.flow, session.settings, feed, events, session.lookout, span)


def driver_of(
    flow: Flow, settings: Settings, feed: Feed, events: Prepared | None, look: Lookout | None, span: float
) -> Any:
    """The driver of the method, with events and clocks followed by the native march where it can."""
    feed.native = False
    return METHODS[settings.method].make(_setup(flow, settings, feed, events, look, span))


def hand_over(session: Session) -> None:
    """Take counts of events and clocks from a driver that followed them, before another one that does not."""
    driver, happened = session.driver, session.happenings
    if not getattr(driver, "follows", False) or not driver.state:
        return
    driver.release()
    if happened is not None:
        happened.recount(driver.state["counts"][0], session.t)
        ring, number = driver.state["instants"][0], int(driver.state["n_instants"][0])
        happened.instants = [float(ring[k % len(ring)]) for k in range(max(number - len(ring), 0), number)]
        happened.leaving = set(np.flatnonzero(driver.state["leaving"][0]).tolist())


def together(flow: Flow, settings: Settings, feed: Feed, events: Prepared | None) -> bool:
    """Whether the members of a batch can be advanced together, with all that happens to them."""
    method = METHODS[settings.method]
    if not method.batches:
        return False
    if events is None:
        return True
    from symbody.integrate.lanes import lanes_of

    return method.lanes and lanes_of(_setup(flow, settings, feed, events, None, 0.0))


def _setup(flow: Flow, s: Settings, feed: Feed, events: Prepared | None, look: Lookout | None, span: float) -> Setup:
    directions, passive = (None, None) if events is None else (events.directions, events.passive)
    return Setup(
        flow, feed, s.start, s.step, s.rtol, s.atol, s.max_steps, s.parameters, directions, passive, s.threads, look,
        events, span,
    )  # fmt: skip
