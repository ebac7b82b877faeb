"""What drives a Session: events, gates and driver, made from its equations, at the start or with others underway."""

from __future__ import annotations

from typing import Any

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
    session.driver = driver_of(session.flow, session.settings, feed, events, session.lookout)


def driver_of(flow: Flow, settings: Settings, feed: Feed, events: Prepared | None, look: Lookout | None) -> Any:
    s = settings
    directions, passive = (None, None) if events is None else (events.directions, events.passive)
    setup = Setup(
        flow, feed, s.start, s.step, s.rtol, s.atol, s.max_steps, s.parameters, directions, passive, s.threads, look
    )
    return METHODS[s.method].make(setup)
