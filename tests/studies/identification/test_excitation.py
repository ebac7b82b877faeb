"""Exciting motions: exact gradients, limits kept, and better than what the thesis moved."""

from __future__ import annotations

import numpy as np
import pytest

import symbody as sb
from studies.identification.planar import planar_arm, thesis_columns
from symbody.basics.errors import DefinitionError
from symbody.studies.identification import CartesianLimit, JointLimits, excitation, inverse_model, read_series
from symbody.studies.identification.exciting import _limits, _Problem
from symbody.studies.identification.trajectories import basis


@pytest.fixture(scope="module")
def model():
    return inverse_model(planar_arm(), ())


LIMITS = {f"j{k}": JointLimits(-np.pi / 4, np.pi / 4, 3 * np.pi / 4, 9 * np.pi / 4) for k in (1, 2, 3)}


@pytest.mark.parametrize("kind", ["fourier", "spline"])
def test_a_motion_rests_at_both_ends_and_its_rates_are_its_derivatives(kind):
    b = basis(kind, 2.0, 400, 5)
    for a in (b.qd, b.qdd):
        np.testing.assert_allclose(a[0], 0, atol=1e-9)
    last = b.at(np.array([2.0]))
    np.testing.assert_allclose(last.qd, 0, atol=1e-8)
    h = 1e-4
    middle = np.array([0.7, 1.1])
    slope = (b.at(middle + h).q - b.at(middle - h).q) / (2 * h)
    np.testing.assert_allclose(slope, b.at(middle).qd, atol=1e-4)
    np.testing.assert_allclose((b.at(middle + h).qd - b.at(middle - h).qd) / (2 * h), b.at(middle).qdd, atol=1e-2)


@pytest.mark.parametrize("criterion", ["condition", "scaled_condition", "determinant"])
def test_gradients_from_generated_code_are_those_of_differences(model, criterion):
    box = [CartesianLimit("link3", lower=(-0.1, None, None), upper=(None, 0.3, None))]
    limits = _limits(
        model,
        {n: JointLimits(x.lower, x.upper, x.velocity, x.acceleration, 50.0) for n, x in LIMITS.items()},
        None,
        None,
    )
    problem = _Problem(model, basis(samples=40), limits, criterion, box, lambda q: 1 - q[:, 0] ** 2)
    rng = np.random.default_rng(0)
    x, d = rng.uniform(-0.3, 0.3, 3 * problem.basis.size), rng.normal(size=3 * problem.basis.size)
    h = 1e-6
    slope = (problem.value(x + h * d) - problem.value(x - h * d)) / (2 * h)
    assert problem.gradient(x) @ d == pytest.approx(slope, rel=1e-5)
    slopes = (problem.constraint(x + h * d) - problem.constraint(x - h * d)) / (2 * h)
    np.testing.assert_allclose(problem.constraint_slopes(x) @ d, slopes, rtol=1e-4, atol=1e-6)


def test_it_beats_the_thesis_within_the_same_limits(model, tmp_path):
    found = excitation(model, duration=2 * np.pi, limits=LIMITS, samples=80, random=10, starts=1, budget=60)
    y = model.regressor(found.q, found.qd, found.qdd)[:, :, thesis_columns(model)]
    assert np.linalg.cond(y.reshape(-1, 6)) < 429.9
    for signal, limit in (("q", np.pi / 4), ("qd", 3 * np.pi / 4), ("qdd", 9 * np.pi / 4)):
        assert np.abs(getattr(found, signal)).max() <= limit * (1 + 1e-6)
    assert found.value <= min(found.starts)
    assert "evaluations" in str(found)
    again = read_series(found.save(tmp_path / "motion.csv"))
    np.testing.assert_allclose(again["q"], found.q, atol=1e-12)
    assert again.labels == model.labels
    for given in ({"path": 1}, {"path": tmp_path / "x.csv", "rate": 0}, {"path": tmp_path / "x.csv", "rate": "fast"}):
        with pytest.raises(DefinitionError, match="expected a"):
            found.save(**given)


def test_a_joint_without_any_limit_is_named(model):
    with pytest.raises(DefinitionError, match="'j1' has neither a range nor a velocity limit"):
        excitation(model)


@pytest.mark.slow
def test_panda_reaches_a_third_of_the_best_of_a_hundred_random_motions():
    arm = inverse_model(sb.load("panda"), ())
    found = excitation(arm, acceleration=10.0, random=100, starts=1, budget=150)
    assert found.condition <= min(found.starts) / 3
    assert found.seconds < 60
    assert max(found.use.values()) <= 1 + 1e-6
