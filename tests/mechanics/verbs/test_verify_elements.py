"""The certificate of force elements that own states and events: what is left out is refused, not passed over."""

from __future__ import annotations

import pytest

import symbody as sb
from symbody.mechanics.formalisms.wrenches import TreeElement


def block() -> sb.Mechanism:
    b = sb.Mechanism.builder("block", gravity=(0, 0, 0))
    b.body("mass", mass=2.0, com=(0, 0, 0), inertia=(0.1, 0.1, 0.1))
    b.joint("slide", "prismatic", "world", "mass", axis="x")
    numbers = {"level": 3.0, "breakaway": 4.0, "stiffness": 1e4, "damping": 50.0}
    return b.force("grip", "stiction", joint="slide", **numbers).done()


def test_events_of_elements_are_certified() -> None:
    assert sb.verify(block(), states=4).passed


def test_events_that_are_dropped_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TreeElement, "add_events", lambda self, events: None)
    certificate = sb.verify(block(), states=4)
    assert not certificate.passed
    assert "states and events of force elements are those of the reference" in str(certificate)
