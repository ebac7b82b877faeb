"""The default cutoff of `prepare`, judged by the true efforts of an arm that the tests compute themselves."""

from __future__ import annotations

import numpy as np
import pytest

import symbody as sb
from studies.identification import seven_joints
from symbody.basics.errors import DataError
from symbody.studies.identification import OLS, Series, inverse_model, prepare
from symbody.studies.identification.cutoff_choice import chosen_cutoff

CUTOFFS = np.geomspace(1.2, 80, 11)  # Hz


@pytest.fixture(scope="module")
def arm():
    b = sb.Mechanism.builder("seven", gravity=(0, 0, -9.81))
    parent = "world"
    for k in range(7):
        inertia = tuple(float(x) for x in seven_joints.INERTIAS[k])
        b.body(f"b{k}", float(seven_joints.MASSES[k]), tuple(map(float, seven_joints.CENTRES[k])), inertia)
        place = tuple(map(float, seven_joints.PLACES[k]))
        b.joint(f"j{k}", "revolute", parent, f"b{k}", position=place, axis="xyz"[int(np.argmax(seven_joints.AXES[k]))])
        parent = f"b{k}"
    return inverse_model(b.done(), ("viscous", "coulomb"))


def errors(arm, rate, base, harmonics, noise):
    """(error of the default, errors of CUTOFFS): of the efforts that an estimate says at true states."""
    t, *states = seven_joints.motion(rate, 20.0, base, harmonics)
    tau = seven_joints.efforts(*states)
    rng = np.random.default_rng(1)
    raw = {"q": states[0] + noise * rng.normal(size=tau.shape), "tau": tau + 0.02 * rng.normal(size=tau.shape)}
    record = Series(t, raw, arm.labels)
    some = slice(None, None, rate // 40)
    y, expected = arm.regressor(*(np.ascontiguousarray(x[some]) for x in states)), tau[some]

    def error(cutoff):
        found = OLS(arm).fit(prepare(record, cutoff)).coef_
        return float(np.linalg.norm(y @ found - expected) / np.linalg.norm(expected))

    return error(None), [error(c) for c in CUTOFFS]


@pytest.mark.parametrize("noise", [1e-4, 1e-2])
def test_the_default_cutoff_is_nearly_as_good_as_the_best_one(arm, noise):
    default, others = errors(arm, 200, 0.1, 8, noise)
    assert default < 1.5 * min(others)
    assert max(others) > 10 * min(others)  # a wrong one spoils the estimate


@pytest.mark.slow
@pytest.mark.parametrize("harmonics", [5, 20])
@pytest.mark.parametrize("noise", [1e-5, 1e-4, 1e-3, 1e-2])
@pytest.mark.parametrize("rate", [400, 1000, 2000])
def test_the_default_cutoff_is_nearly_as_good_as_the_best_one_at_all_rates(arm, rate, noise, harmonics):
    default, others = errors(arm, rate, 0.1, harmonics, noise)
    assert default < 1.5 * min(others)


def test_noise_that_the_sensor_has_filtered_is_told_from_motion():
    """Its spectrum falls beyond 60 Hz as that of motion does; a floor taken at high frequencies would miss it."""
    from scipy.signal import butter, sosfilt

    t, q, _, qdd = seven_joints.motion(1000, 20.0, 0.1, 8)
    noise = sosfilt(butter(4, 60, fs=1000, output="sos"), np.random.default_rng(2).normal(size=q.shape), axis=0)
    raw = Series(t, {"q": q + 3e-4 * noise})
    choice = chosen_cutoff(raw)
    assert choice.cutoff < 15
    found = prepare(raw)
    true = qdd[np.searchsorted(t, found.t - 1e-9)]
    assert np.linalg.norm(found["qdd"] - true) < 0.1 * np.linalg.norm(true)
    assert str(choice) in found.notes
    assert found.cutoff == choice.cutoff


def test_a_joint_that_stands_in_noise_does_not_count_and_noise_alone_is_refused():
    t, q, _, _ = seven_joints.motion(400, 20.0, 0.1, 8)
    noise = 1e-4 * np.random.default_rng(3).normal(size=q.shape)
    moving, still = chosen_cutoff(Series(t, {"q": q + noise})), np.array(q)
    still[:, 3] = 0.7
    assert chosen_cutoff(Series(t, {"q": still + noise})).cutoff == pytest.approx(moving.cutoff, rel=0.2)
    with pytest.raises(DataError, match="no joint moves more than noise does"):
        prepare(Series(t, {"q": noise}))


def test_residuals_far_above_the_noise_are_told_before_the_values(arm):
    t, *states = seven_joints.motion(200, 20.0, 0.1, 8)
    tau = seven_joints.efforts(*states)
    rng = np.random.default_rng(4)
    raw = {"q": states[0] + 1e-4 * rng.normal(size=tau.shape), "tau": tau + 0.05 * rng.normal(size=tau.shape)}
    record = Series(t, raw, arm.labels)
    good = OLS(arm).fit(prepare(record)).estimate_
    assert good.unexplained == ""
    assert "warning" not in str(good)
    noise = arm.equations(prepare(record), 1).noise
    np.testing.assert_allclose(noise, 0.05, rtol=0.25)
    np.testing.assert_allclose(good.equations.noise, list(good.sigma.values()), rtol=0.4)
    bad = OLS(arm).fit(prepare(record, cutoff=70)).estimate_  # qdd is noise
    lines = str(bad).splitlines()
    assert "warning: residuals are more than 3 times the noise" in lines[1]
    assert bad.as_dict()["unexplained"] == bad.unexplained
    smooth = prepare(record)
    without = np.array(smooth["tau"])
    without[:, 0] += 2 * smooth["q"][:, 0] ** 3  # a spring that the model does not have
    assert "j0 (" in OLS(arm).fit(smooth.with_values(tau=without)).estimate_.unexplained
