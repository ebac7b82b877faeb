"""The certificate of the projection onto the loops: closed, consistent, with the least change."""

from __future__ import annotations

import pytest

import symbody as sb
from mechanics.loops.closed_models import geared_arms, skate
from symbody.mechanics.loops.closing import projection as formulas
from symbody.mechanics.verbs.certify.closed_states import ClosedStates
from symbody.mechanics.verbs.certify.projection_checks import projection_checks
from symbody.mechanics.verbs.closed_dynamics import projection


def checks_of(mech):
    point = ClosedStates(mech, 6)
    return {c.text: c for c in projection_checks(projection(mech, partition=point.partition), point, [])}


@pytest.mark.parametrize("mech", [sb.load("four_bar"), geared_arms(), skate()], ids=lambda m: m.name)
def test_an_unchanged_projection_is_certified(mech):
    checks = checks_of(mech)
    assert len(checks) == 5
    assert all(c.passed for c in checks.values())


def test_a_change_that_is_not_the_least_is_refused(monkeypatch):
    """Half of the step of one joint: the loops close all the same, and the state is not the nearest."""
    right = formulas._change

    def wrong(found, rows, held, residuals, soft):
        moved, sound = right(found, rows, held, residuals, soft)
        first = next(iter(moved))
        return {**moved, first: 0.5 * moved[first]}, sound

    monkeypatch.setattr(formulas, "_change", wrong)
    found = checks_of(sb.load("four_bar"))
    assert not found["projected velocities change the least"].passed
    assert not found["projected positions change the least (m, rad)"].passed
