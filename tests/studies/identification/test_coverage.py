"""Of all intervals that are said to hold the true value with 95 %, nearly 95 % do: every estimator, many records."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import lfilter

import symbody as sb
from symbody.studies.identification import (
    DIDIM,
    IDIMIV,
    OLS,
    TLS,
    WLS,
    Huber,
    MaximumLikelihood,
    PhysicallyConsistent,
    Prior,
    Series,
    inverse_model,
)

RECORDS = 150
TRUE = np.array([1.0, -2.0, 0.5])


def covered(made, records=RECORDS):
    """(3,) share of the intervals that hold the true value; made(k) gives an estimator, X and y of record k."""
    inside = np.zeros(3)
    for k in range(records):
        estimator, x, y = made(k)
        low, high = estimator.fit(x, y).estimate_.interval(0.95).T
        inside += (low < TRUE) & (high > TRUE)
    return inside / records


def columns(count):
    t = np.linspace(0, 20, count)
    return np.column_stack([np.sin(t), np.cos(2 * t), np.sign(np.sin(3 * t))])


@pytest.mark.parametrize("kind", [OLS, WLS, Huber])
def test_white_errors_are_covered(kind):
    x = columns(200)
    share = covered(lambda k: (kind(), x, x @ TRUE + 0.1 * np.random.default_rng(k).normal(size=200)))
    assert np.all(share > 0.9)
    assert np.mean(share) < 0.985


@pytest.mark.parametrize("rho", [0.5, 0.9, 0.95])
def test_errors_that_follow_each_other_are_covered(rho):
    x = columns(1000)

    def made(k):
        noise = lfilter([1], [1, -rho], np.random.default_rng(k).normal(size=1500))[500:]
        return OLS(), x, x @ TRUE + 0.1 * noise

    assert np.all(covered(made) > 0.9)


@pytest.mark.parametrize("ratio", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("exact", [False, True])
def test_errors_of_columns_are_covered_and_exact_columns_stay(ratio, exact):
    """Columns of unit size with the relative error `ratio` times that of the efforts; one may be exact."""
    clean = np.random.default_rng(77).normal(size=(600, 3))
    size = np.sqrt(np.mean((clean @ TRUE) ** 2))

    def made(k):
        rng = np.random.default_rng(k)
        noise = 0.05 * ratio * rng.normal(size=clean.shape) * np.sqrt(np.mean(clean**2, axis=0))
        noise[:, 2] *= not exact
        y = clean @ TRUE + 0.05 * size * rng.normal(size=len(clean))
        return TLS(ratio=ratio, exact=("x3",) if exact else ()), clean + noise, y

    share = covered(made)
    assert np.all(share > 0.88)
    assert np.mean(share) > 0.91


def test_a_correction_for_errors_that_columns_may_not_have_is_said():
    x = columns(2000)
    x = np.column_stack([x[:, 0], x[:, 0] + 0.05 * x[:, 1], x[:, 2]])
    y = x @ TRUE + 0.2 * np.random.default_rng(0).normal(size=2000)
    told = " ".join(TLS().fit(x, y).notes_)
    assert "standard deviations from weighted least squares" in told
    assert "from weighted" not in " ".join(TLS(ratio=0.01).fit(x, y).notes_)


TURNED = {"rod.mx": 0.5, "rod.mz": 0.0, "rod.Iyy": 0.4, "j.viscous": 0.3}  # kg m, kg m^2, N m s/rad
GAINS = (20.0, 3.0)  # N m/rad, N m s/rad


def pendulum_motion(period=0.02, samples=400):
    """(t, q_ref, q, qd, qdd, tau) of a pendulum about y under a PD controller, by its own equation and RK4."""

    def reference(t):
        return 0.8 * np.sin(1.7 * t) + 0.5 * np.sin(4.1 * t)

    def rate(t, q, qd):
        tau = GAINS[0] * (np.interp(t, instants, points) - q) - GAINS[1] * qd
        # gravity along -z, the rod along x: its centre falls for q > 0
        return (tau - TURNED["j.viscous"] * qd + 9.81 * TURNED["rod.mx"] * np.cos(q)) / TURNED["rod.Iyy"], tau

    instants = period * np.arange(samples)
    points = reference(instants)
    q, qd, rows = 0.3, 0.0, []
    for t in instants:
        qdd, tau = rate(t, q, qd)
        rows.append((t, np.interp(t, instants, points), q, qd, qdd, tau))
        for k in range(4):
            s, h = t + k * period / 4, period / 4
            a1 = rate(s, q, qd)[0]
            a2 = rate(s + h / 2, q + h / 2 * qd, qd + h / 2 * a1)[0]
            a3 = rate(s + h / 2, q + h / 2 * qd + h * h / 4 * a1, qd + h / 2 * a2)[0]
            a4 = rate(s + h, q + h * qd + h * h / 2 * a2, qd + h * a3)[0]
            q, qd = q + h * qd + h * h / 6 * (a1 + a2 + a3), qd + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
    return np.array(rows).T


@pytest.fixture(scope="module")
def pendulum():
    b = sb.Mechanism.builder("swing", gravity=(0, 0, -9.81))
    b.body("rod", 1.0, (0.5, 0, 0), (0.01, 0.15, 0.15))
    b.joint("j", "revolute", "world", "rod", axis="y")
    model = inverse_model(b.done(), ("viscous",))
    assert set(model.base_names) == set(TURNED)
    return model, pendulum_motion()


STATES = {"q": 2e-3, "qd": 1e-2, "qdd": 0.2}
SETTINGS = {
    Prior: {},
    PhysicallyConsistent: {"pull": 1e-9},
    MaximumLikelihood: {"noise": {**STATES, "tau": 0.1}},
    IDIMIV: {"kp": GAINS[0], "kd": GAINS[1]},
    DIDIM: {"kp": GAINS[0], "kd": GAINS[1]},
}


@pytest.mark.parametrize("kind", SETTINGS)
def test_estimators_with_a_model_are_covered(pendulum, kind):
    """Errors of the states as well where the estimator allows for them."""
    if kind is PhysicallyConsistent:
        pytest.importorskip("cvxpy")
    model, (t, q_ref, *states, tau) = pendulum
    true = np.array([TURNED[n] for n in model.base_names])
    inside, records = np.zeros(len(true)), 60
    estimator = kind(model, **SETTINGS[kind])
    for k in range(records):
        rng = np.random.default_rng(k)
        raw = {"q_ref": q_ref, "tau": tau + 0.1 * rng.normal(size=len(t))}
        for (name, deviation), clean in zip(STATES.items(), states):
            noisy = kind in (MaximumLikelihood, IDIMIV) and not (kind is IDIMIV and name == "q")
            raw[name] = clean + noisy * deviation * rng.normal(size=len(t))
        low, high = estimator.fit(Series(t, raw, model.labels)).estimate_.interval(0.95).T
        inside += (low < true) & (high > true)
    assert np.all(inside / records > 0.86)  # three deviations of a share of 60 below 0.95
    assert np.mean(inside / records) > 0.9
