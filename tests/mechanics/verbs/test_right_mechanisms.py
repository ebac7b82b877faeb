"""The certificate refuses no right mechanism with couplings, cams, screws, rolling, drives; wrong rows stay refused."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

import symbody as sb
from mechanics.verbs.right_mechanisms import FAMILIES, right_mechanism
from symbody.basics.errors import SolveError
from symbody.mechanics.loops.rows import constraint_rows as rows_of_loops
from symbody.mechanics.verbs.certify import loop_checks as loops
from symbody.mechanics.verbs.certify.assembled import assembly_checks
from symbody.mechanics.verbs.certify.closed_states import ClosedStates

ALL, CHUNK = 300, 20


def refused(seed, of, states):
    found = sb.verify(right_mechanism(seed), states=states, seed=of)
    return [f"{seed} at {of}: {c.text}, {c.error:.1e} > {c.allowed:.0e}" for c in found.checks if not c.passed]


@pytest.mark.parametrize("seed", range(30))
def test_right_mechanisms_are_certified(seed):
    assert refused(seed, 0, 1) == []


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, ALL, CHUNK))
def test_right_mechanisms_are_certified_whatever_the_seed(first):
    assert [text for k in range(first, first + CHUNK) for of in (0, 1, 2) for text in refused(k, of, 4)] == []


# -- wrong rows of couplings


def scaled(row):
    k = next(iter(row.J))
    return replace(row, J={**row.J, k: 1.001 * row.J[k]})


def without_a_term(row):
    return replace(row, J={k: x for k, x in row.J.items() if k != next(iter(row.J))})


def with_a_sign_turned(row):
    k = next(iter(row.J))
    return replace(row, J={**row.J, k: -row.J[k]})


def without_bias(row):
    return replace(row, bias=0)


def with_bias_turned(row):
    return replace(row, bias=-row.bias)


def without_time(row):
    return replace(row, ht=0)


def shifted(row):
    return replace(row, h=row.h + 1e-6)


def failed(mech):
    """Checks of rows, closure, dynamics and assembly that fall."""
    point, told = ClosedStates(mech, 3), []
    given = {"tau": point.tau, "qdd_driven": point.qdd[:, point.model.driven]}
    checks = [*loops._constraints(mech, point), *assembly_checks(mech, point, told)]
    plain = sb.forward_dynamics(mech, formalism="newton_euler", partition=point.partition)
    qdd = np.asarray(point.evaluate(plain, **given))
    wrong = {c.text for c in checks if not c.passed}
    return wrong | ({"accelerations"} if loops.accelerations_error(point, qdd, given) > loops.DYNAMIC else set())


def family(name):
    return next(k for k, f in enumerate(FAMILIES) if f.__name__ == name)


QUICK = [
    ("gears", scaled), ("racks", shifted), ("cams", without_bias), ("externals", scaled), ("rolling", without_a_term),
    ("disc", with_bias_turned), ("timed", without_time),
]  # fmt: skip
FURTHER = [
    ("gears", with_a_sign_turned), ("gears", shifted), ("racks", scaled), ("screws", with_a_sign_turned),
    ("cams", with_bias_turned), ("externals", without_bias), ("rolling", scaled), ("disc", without_bias),
    ("disc", without_a_term), ("sleigh", with_a_sign_turned), ("drives", scaled),
]  # fmt: skip


@pytest.mark.parametrize(("name", "fault"), [*QUICK, *(pytest.param(*one, marks=pytest.mark.slow) for one in FURTHER)])
def test_wrong_rows_of_couplings_are_refused(monkeypatch, name, fault):
    seed = family(name)
    assert not failed(right_mechanism(seed))
    right = rows_of_loops.coupling_rows
    monkeypatch.setattr(rows_of_loops, "coupling_rows", lambda *given: (fault(row) for row in right(*given)))
    with suppress(SolveError):  # no longer assembled: no certificate either
        assert failed(right_mechanism(seed))


def test_a_wrong_derivative_of_an_external_function_is_refused():
    def cam(slope):
        b = sb.Mechanism.builder("cam")
        b.body("a", mass=1, inertia=[0.1, 0.1, 0.1]).joint("a", "revolute", "world", "a")
        b.body("b", mass=1).joint("b", "prismatic", "world", "b", mode="passive")
        curve = sb.External("curve", 1, function=np.sin, derivative=lambda x: [[slope * sb.cos(x)]])
        return b.coupling("cam", b.coordinate("b") - sb.extern(curve, b.coordinate("a"))).done()

    assert sb.verify(cam(1), states=2).passed
    assert not sb.verify(cam(1.001), states=2).passed


def test_wrong_accelerations_of_a_locked_joint_are_refused(monkeypatch):
    """The joint that the loop holds accelerates by a millionth of g: no rounding, so no certificate."""
    seed = family("locked")
    mech = right_mechanism(seed)
    point = ClosedStates(mech, 3)
    given = {"tau": point.tau, "qdd_driven": point.qdd[:, point.model.driven]}
    augmented = sb.forward_dynamics(mech, formulation="augmented", partition=point.partition)
    qdd = np.asarray(point.evaluate(augmented, **given))
    assert loops.accelerations_error(point, qdd, given) < 1e-8
    held = next(p.v for p in mech.slots if p.owner == "hold")
    assert np.abs(qdd[:, held]).max() < 1e-12
    qdd[:, held] += 1e-5
    assert loops.accelerations_error(point, qdd, given) > 1e-8


def test_a_free_joint_without_mass_on_a_driven_carrier_is_refused():
    def stage(mass):
        b = sb.Mechanism.builder("stage")
        b.body("table").joint("table", "prismatic", "world", "table", axis="x", mode="driven", value="0.1*sin(t)")
        return b.body("arm", mass=mass, com=[0, 0, 0.1]).joint("arm", "revolute", "table", "arm", axis="y").done()

    assert sb.verify(stage(1), states=2).passed
    failing = {c.text for c in sb.verify(stage(0), states=2).checks if not c.passed}
    assert "M is positive definite" in failing
