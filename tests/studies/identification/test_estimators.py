"""Estimators: the thesis' planar arm, known answers, one contract for all."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import symbody as sb
from studies.identification.planar import TRUE, motion, planar_arm, thesis_columns
from symbody.basics.errors import DataError, DefinitionError, SymbodyError
from symbody.studies.identification import (
    OLS,
    TLS,
    WLS,
    Huber,
    MaximumLikelihood,
    MeasuredEquations,
    PhysicallyConsistent,
    Prior,
    RecursiveLS,
    Series,
    cross_validate,
    energy_equations,
    essential,
    gear_columns,
    identified_mechanism,
    inverse_model,
    joint_side,
    power_equations,
    pseudo_inertia,
    recursive_system,
)

PLAIN = [OLS, WLS, Huber, TLS]


@pytest.fixture(scope="module")
def planar():
    model = inverse_model(planar_arm(), ())
    return model, thesis_columns(model)


def planar_equations(planar, w=(1.0, 1.0, 1.0), noise=0.0, seed=0):
    model, columns = planar
    t, q, qd, qdd = motion(w)
    y = model.regressor(q, qd, qdd)[:, :, columns]
    z = y @ TRUE + noise * np.random.default_rng(seed).normal(size=y.shape[:2])
    return MeasuredEquations(y, z, t, model.rows, tuple(model.base_names[k] for k in columns))


def test_without_noise_the_parameters_of_the_thesis_come_back(planar):
    fit = OLS().fit(planar_equations(planar))
    np.testing.assert_allclose(fit.coef_, TRUE, rtol=1e-10)


def test_standard_deviations_and_condition_of_the_thesis_arm(planar):
    """Analytic values of symofros 4.4, l = (0.3, 0.1), 252 samples."""
    fit = OLS(covariance="white").fit(planar_equations(planar, noise=0.01))
    expected = [0.6222, 5.6759, 0.0903, 0.6386, 0.0235, 0.1097]
    np.testing.assert_allclose(fit.std_ / fit.sigma_["j1"], expected, rtol=0.06)  # of one noisy record
    y = planar_equations(planar).stacked()[0]
    np.testing.assert_allclose(np.sqrt(np.diag(np.linalg.inv(y.T @ y))), expected, atol=6e-5)
    assert np.linalg.cond(y) == pytest.approx(1494.5, abs=0.1)
    fast = planar_equations(planar, (3.0, 3.0, 3.0)).stacked()[0]
    assert np.linalg.cond(fast) == pytest.approx(429.9, abs=0.1)


@pytest.mark.slow
def test_the_scatter_of_estimates_is_what_the_covariance_says(planar):
    """2000 noisy records, each fitted: estimates scatter by the standard deviation that a fit tells, to 5 %, and within
    1.5 of Table 4.3."""
    clean = planar_equations(planar)
    rng = np.random.default_rng(1)
    found, told = [], []
    for _ in range(2000):
        noisy = dataclasses.replace(clean, z=clean.z + 0.01 * rng.normal(size=clean.z.shape))
        fit = OLS(covariance="white").fit(noisy)
        found.append(fit.coef_)
        told.append(fit.std_)
    scatter = np.std(found, axis=0)
    np.testing.assert_allclose(scatter, np.mean(told, axis=0), rtol=0.05)
    np.testing.assert_allclose(np.mean(found, axis=0), TRUE, atol=4 * np.max(scatter) / np.sqrt(2000))
    table = 0.01 * np.array([0.676, 7.84, 0.101, 0.908, 0.0227, 0.140])
    assert np.all(np.abs(np.log(scatter / table)) < np.log(1.5))


@pytest.mark.parametrize("kind", PLAIN)
def test_every_method_keeps_the_contract(kind):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 3))
    true = np.array([1.0, -2.0, 0.5])
    y = x @ true + 0.01 * rng.normal(size=400)
    fit = kind()
    with pytest.raises(DefinitionError, match="not fitted yet"):
        fit.predict(x)
    assert fit.fit(x, y) is fit
    assert fit.names_ == ("x1", "x2", "x3")
    assert np.all(np.abs(fit.coef_ - true) < 5 * fit.std_)
    assert fit.score(x, y) > 0.999
    assert fit.predict(x).shape == (400,)
    assert fit.relative_error(x, y) < 0.01
    assert fit.covariance_.shape == (3, 3)
    settings = fit.get_params()
    assert kind(**settings).get_params() == settings
    low, high = fit.estimate_.interval(0.95).T
    assert np.all(low < fit.coef_)
    assert np.all(fit.coef_ < high)
    with pytest.raises(SymbodyError, match="setting"):
        fit.set_params(nothing=1)


def test_an_estimator_stands_in_a_pipeline():
    pipeline = pytest.importorskip("sklearn.pipeline")
    preprocessing = pytest.importorskip("sklearn.preprocessing")
    base = pytest.importorskip("sklearn.base")
    rng = np.random.default_rng(0)
    x = rng.normal(size=(100, 2))
    pipe = pipeline.Pipeline([("scale", preprocessing.StandardScaler(with_mean=False)), ("fit", base.clone(WLS()))])
    assert pipe.fit(x, x @ [1.0, 2.0]).score(x, x @ [1.0, 2.0]) == pytest.approx(1.0)


def test_weights_follow_the_noise_of_each_joint(planar):
    equations = planar_equations(planar, (1, 2, 3))
    rng = np.random.default_rng(2)
    noise = np.array([0.001, 0.1, 0.1])
    z = equations.z + noise * rng.normal(size=equations.z.shape)
    noisy = MeasuredEquations(equations.y, z, equations.t, equations.rows, equations.names)
    ols, wls = OLS().fit(noisy), WLS().fit(noisy)
    assert wls.sigma_["j1"] == pytest.approx(0.001, rel=0.2)
    # the best linear estimate with the true weights has these deviations
    y, _, row = noisy.stacked()
    best = np.sqrt(np.diag(np.linalg.inv((y / noise[row][:, None] ** 2).T @ y)))
    np.testing.assert_allclose(wls.std_, best, rtol=0.1)
    assert np.all(np.abs(wls.coef_ - TRUE) < 4 * best)
    assert np.all(best < ols.std_)


def test_outliers_do_not_move_a_robust_fit():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(300, 2))
    y = x @ [1.0, 2.0] + 0.01 * rng.normal(size=300)
    y[::20] += 30
    assert np.abs(Huber().fit(x, y).coef_ - [1, 2]).max() < 0.02 < np.abs(OLS().fit(x, y).coef_ - [1, 2]).max()


def test_noise_in_the_columns_shrinks_least_squares_but_not_total_least_squares():
    rng = np.random.default_rng(4)
    clean = rng.normal(size=(4000, 2))
    y = clean @ [1.0, 2.0] + 0.3 * rng.normal(size=4000)
    x = clean + 0.3 * rng.normal(size=clean.shape)
    ols = OLS().fit(x, y).coef_
    tls = TLS(ratio=1.0).fit(x, y).coef_
    assert np.abs(ols - [1, 2]).max() > 0.1
    assert np.linalg.norm(tls - [1, 2]) < 0.5 * np.linalg.norm(ols - [1, 2])


def test_neighbouring_errors_that_are_alike_widen_the_deviations():
    rng = np.random.default_rng(5)
    t = np.linspace(0, 20, 2000)
    x = np.column_stack([np.sin(t), np.cos(2 * t)])
    e = np.zeros(2000)
    for k in range(1, 2000):
        e[k] = 0.95 * e[k - 1] + 0.01 * rng.normal()
    white, honest = (OLS(covariance=c).fit(x, x @ [1, 2] + e) for c in ("white", "auto"))
    assert honest.estimate_.kind == "correlated"
    assert np.all(honest.std_ > 2 * white.std_)
    assert "follow each other" in " ".join(honest.notes_)


def pendulum_series(noise=0.0, seed=0, laws=True):
    mech = sb.load("pendulum2")
    t = np.linspace(0, 10, 501)
    q = np.column_stack([np.sin(1.3 * t) + 0.3 * np.sin(3 * t), 0.8 * np.cos(2.1 * t) - 0.4 * np.sin(0.7 * t)])
    qd = np.column_stack(
        [1.3 * np.cos(1.3 * t) + 0.9 * np.cos(3 * t), -1.68 * np.sin(2.1 * t) - 0.28 * np.cos(0.7 * t)]
    )
    qdd = np.column_stack(
        [-1.69 * np.sin(1.3 * t) - 2.7 * np.sin(3 * t), -3.528 * np.cos(2.1 * t) + 0.196 * np.sin(0.7 * t)]
    )
    tau = np.asarray(sb.inverse_dynamics(mech, "newton_euler").compile("python")(q, qd, qdd))
    if laws:
        tau = tau + 0.2 * np.sign(qd) + 0.1 * qd + [0.05, -0.02]
    rng = np.random.default_rng(seed)
    return mech, Series(
        t, {"q": q, "qd": qd, "qdd": qdd, "tau": tau + noise * rng.normal(size=tau.shape)}, ("joint1", "joint2")
    )


@pytest.fixture(scope="module")
def pendulum():
    mech, series = pendulum_series(0.01)
    return inverse_model(mech), series


def test_friction_and_offsets_are_found_beside_the_inertias(pendulum):
    model, series = pendulum
    fit = WLS(model).fit(series)
    e = fit.estimate_
    assert [e[f"joint{k}.coulomb"] for k in (1, 2)] == pytest.approx([0.2, 0.2], abs=5e-3)
    assert [e[f"joint{k}.viscous"] for k in (1, 2)] == pytest.approx([0.1, 0.1], abs=5e-3)
    assert [e[f"joint{k}.offset"] for k in (1, 2)] == pytest.approx([0.05, -0.02], abs=5e-3)
    assert e["rod2.mz"] == pytest.approx(-0.5, abs=1e-3)
    assert cross_validate(WLS(model), series, 3).error < 0.01
    few = essential(WLS(model), series)
    assert {n for n, _ in few.removed} <= {"rod1.mx", "rod2.mx"}  # zero in truth
    assert few.estimate.relative < 1.05 * e.relative


def test_a_prior_holds_what_a_short_record_does_not_tell(pendulum):
    model, series = pendulum
    short = series.rows(slice(0, 120))
    free, held = OLS(model).fit(short), Prior(model, spread=0.1).fit(short)
    assert held.relative_error(series) < free.relative_error(series)


def test_an_identified_model_can_exist_and_gives_the_measured_efforts(pendulum):
    pytest.importorskip("cvxpy")
    model, series = pendulum
    fit = PhysicallyConsistent(model, margin=1e-5).fit(series)
    pi = fit.estimate_.pi
    for k in range(2):
        assert np.linalg.eigvalsh(pseudo_inertia(pi[10 * k : 10 * k + 10]))[0] > 0.9e-5
    mech = identified_mechanism(fit.estimate_)
    tau = np.asarray(
        sb.inverse_dynamics(mech, "newton_euler").compile("python")(series["q"], series["qd"], series["qdd"])
    )
    rest = series["tau"] - tau - [fit.estimate_[f"joint{k}.offset"] for k in (1, 2)]
    assert np.linalg.norm(rest) < 0.01 * np.linalg.norm(series["tau"])


def test_a_fit_that_no_rigid_body_has_is_not_written_as_a_model(pendulum):
    model, series = pendulum
    wrong = series.with_values(tau=-series["tau"])
    fit = OLS(model).fit(wrong)
    with pytest.raises(DataError, match=r"PhysicallyConsistent"):
        identified_mechanism(fit.estimate_)


def test_likelihood_with_noise_on_positions_removes_bias_that_least_squares_has(pendulum):
    model, series = pendulum
    rng = np.random.default_rng(6)
    sigma = {"q": 0.02, "qd": 0.1, "qdd": 0.4}
    noisy = series.with_values(**{n: series[n] + s * rng.normal(size=series[n].shape) for n, s in sigma.items()})
    true = WLS(model).fit(series).coef_
    ols = OLS(model).fit(noisy)
    ml = MaximumLikelihood(model, noise={**sigma, "tau": 0.01}).fit(noisy)
    big = [model.base_names.index(n) for n in ("rod1.mz", "rod1.Iyy", "rod2.mz", "rod2.Iyy")]
    assert np.linalg.norm((ml.coef_ - true)[big]) < 0.6 * np.linalg.norm((ols.coef_ - true)[big])


def test_rows_that_come_one_by_one_lead_to_the_same_values():
    rng = np.random.default_rng(7)
    x = rng.normal(size=(200, 3))
    z = x @ [1.0, 2.0, 3.0] + 0.01 * rng.normal(size=200)
    online = RecursiveLS(3, spread=1e9)
    for a, b in zip(x, z):
        online.update(a, b)
    np.testing.assert_allclose(online.x_, OLS().fit(x, z).coef_, rtol=1e-6)
    system = recursive_system(3)
    step = system.compile("python")
    values, p = np.zeros(3), 1e9 * np.eye(3)
    for a, b in zip(x, z):
        out = step(x=values, P=p, y=a, z=b, forgetting=1.0)
        values, p = np.asarray(out.x_new), np.asarray(out.P_new)
    np.testing.assert_allclose(values, online.x_, rtol=1e-5)
    assert "recursive_ls" in system.emit("c")


# -- bad data


def test_a_record_that_does_not_excite_is_refused_by_columns_and_reduced_on_request(pendulum):
    model, series = pendulum
    still = series.with_values(
        q=np.zeros_like(series["q"]), qd=np.zeros_like(series["qd"]), qdd=np.zeros_like(series["qdd"]),
    )  # fmt: skip
    with pytest.raises(DataError, match=r"does not determine 1\d of 12 .*\(joint1, joint2\).*rank='reduce'"):
        OLS(model).fit(still)
    fit = OLS(model, rank="reduce").fit(still)
    assert np.isnan(fit.std_).sum() == len(fit.estimate_.fixed) > 0
    assert "held at zero" in " ".join(fit.notes_)


def test_swapped_joints_are_noticed_with_the_better_assignment(pendulum):
    model, series = pendulum
    swapped = series.with_values(tau=series["tau"][:, ::-1])
    assert "swapped" in " ".join(OLS(model).fit(swapped).notes_)
    assert "swapped" not in " ".join(OLS(model).fit(series).notes_)


def test_efforts_in_thousandths_are_noticed(pendulum):
    model, series = pendulum
    notes = OLS(model).fit(series.with_values(tau=1000 * series["tau"])).notes_
    assert any("thousandths" in n for n in notes)
    assert not any("times as large" in n for n in OLS(model).fit(series).notes_)


# -- other rows: power, energy, motors behind gears


def test_power_and_energy_give_the_parameters_that_efforts_give():
    """Without noise all three models find the same values; that of energies does without accelerations."""
    mech, series = pendulum_series()
    model = inverse_model(mech)
    efforts = OLS(model).fit(series).coef_
    power = OLS(model).fit(power_equations(model, series, 1))
    np.testing.assert_allclose(power.coef_, efforts, atol=1e-9)
    kept = {n: a for n, a in series.values.items() if n != "qdd"}
    energy = OLS(model).fit(energy_equations(model, series.replace(values=kept), 0.1))
    np.testing.assert_allclose(energy.coef_, efforts, atol=2e-3)  # integrals of |qd| have kinks
    assert list(energy.sigma_) == ["energy"]
    assert energy.relative_error(energy_equations(model, series, 0.1)) < 1e-4


def test_energies_of_a_smooth_record_are_exact_to_the_rule_of_integration():
    """Viscous friction and an offset alone: the integrals converge with the fourth power of the period."""
    mech, series = pendulum_series(laws=False)
    viscous = series.with_values(tau=series["tau"] + 0.1 * series["qd"] + [0.05, -0.02])
    model = inverse_model(mech, ("viscous", "offset"))
    true = OLS(model).fit(viscous).coef_
    fine, coarse = (
        np.abs(OLS(model).fit(energy_equations(model, s, 0.16)).coef_ - true).max()
        for s in (viscous, viscous.replace(t=viscous.t[::2], values={n: a[::2] for n, a in viscous.values.items()}))
    )
    assert fine < 1e-4
    assert coarse > 6 * fine
    with pytest.raises(DataError, match="no stretch is longer"):
        energy_equations(model, viscous, 100.0)


def test_motors_behind_coupled_gears_are_found_on_their_side():
    """Rotor and friction of motor 2, which turns with 30 (qd1 + qd2), from a record on the side of the motors."""
    mech, series = pendulum_series(laws=False)
    gear = np.array([[50.0, 0.0], [30.0, 30.0]])
    rotor, viscous, dry = np.array([2e-4, 3e-4]), np.array([1e-4, 2e-4]), np.array([0.01, 0.02])
    speed = series["qd"] @ gear.T
    at_motors = rotor * (series["qdd"] @ gear.T) + viscous * speed + dry * np.sign(speed)
    tau = series["tau"] + at_motors @ gear
    motors = series.with_values(
        q=series["q"] @ gear.T, qd=speed, qdd=series["qdd"] @ gear.T, tau=np.linalg.solve(gear.T, tau.T).T
    )
    back = joint_side(mech, motors, gear)
    np.testing.assert_allclose(back["q"], series["q"], atol=1e-12)
    np.testing.assert_allclose(back["tau"], tau, atol=1e-9)
    model = inverse_model(mech, (), extra=gear_columns(mech, gear))
    fit = OLS(model).fit(model.equations(back, 1)).estimate_
    assert [fit[f"joint{k}.motor_coulomb"] for k in (1, 2)] == pytest.approx(dry.tolist(), rel=1e-8)
    assert [fit[f"joint{k}.motor_viscous"] for k in (1, 2)] == pytest.approx(viscous.tolist(), rel=1e-8)
    # the rotors are felt with the inertias of the rods, which are known here
    fixed = inverse_model(mech, (), extra=gear_columns(mech, gear, ("rotor",)), inertial=False)
    alone = series.with_values(tau=(rotor * (series["qdd"] @ gear.T)) @ gear)
    found = OLS(fixed).fit(fixed.equations(alone, 1)).estimate_
    assert [found[f"joint{k}.motor_rotor"] for k in (1, 2)] == pytest.approx(rotor.tolist(), rel=1e-9)
    plain = inverse_model(mech, ("viscous",), extra=gear_columns(mech, {"joint1": 50.0}, ("viscous",), ("joint1",)))
    assert any("joint1.motor_viscous was grouped by numbers with joint1.viscous" in n for n in plain.notes)
    with pytest.raises(SymbodyError, match="do not determine the joints"):
        gear_columns(mech, [[1.0, 1.0], [1.0, 1.0]])
