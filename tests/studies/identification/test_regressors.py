"""Regressors beside that of a tree's efforts, against other derivations: loops, energy, power, the ground's wrench."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import symbody as sb
from symbody.basics.errors import DataError, DefinitionError
from symbody.mechanics.verbs.identifiable_parameters import (
    base_parameters,
    parameter_names,
    parameter_values,
    regressor,
)
from symbody.studies.identification import (
    OLS,
    Prior,
    Series,
    independent_columns,
    inverse_model,
    linear_regressor,
)


def state(mech, seed=0):
    rng = np.random.default_rng(seed)
    return rng.uniform(-1, 1, mech.nq), *rng.uniform(-1, 1, (2, mech.nv))


def test_power_is_the_efforts_along_the_velocities_and_energy_its_integral():
    mech = sb.load("puma560")
    q, qd, qdd = state(mech)
    pi = parameter_values(mech)
    y = regressor(mech).compile("python")(q, qd, qdd)
    power = regressor(mech, model="power").compile("python")(q, qd, qdd)
    np.testing.assert_allclose(power @ pi, [qd @ y @ pi], rtol=1e-12)
    h = regressor(mech, model="energy").compile("python")
    found = sb.energy(mech).compile("python")(q, qd, np.zeros(mech.nv))
    assert h(q, qd) @ pi == pytest.approx(found.kinetic + found.potential, rel=1e-12)
    # d/dt (h pi) = qd^T Y pi, friction left out: by columns, along the motion q + qd t + qdd t^2 / 2
    eps = 1e-5
    later, before = (h(q + s * eps * qd + eps**2 / 2 * qdd, qd + s * eps * qdd) for s in (1, -1))
    lossless = [k for k, n in enumerate(parameter_names(mech)) if n.split(".")[1] not in ("viscous", "coulomb")]
    slope = ((later - before) / (2 * eps))[lossless]
    np.testing.assert_allclose(slope, (qd @ y)[lossless], atol=1e-7 * np.abs(qd @ y).max())


def test_the_wrench_on_the_ground_is_the_reaction_of_the_first_joint():
    mech = sb.load("ur5")
    q, qd, qdd = state(mech, 3)
    wrench = regressor(mech, model="base_wrench").compile("python")(q, qd, qdd) @ parameter_values(mech)
    first = next(j for j in mech.joints if j.parent == "world")
    reaction = np.asarray(getattr(sb.reactions(mech).compile("python")(q, qd, qdd), f"reaction_{first.name}"))
    pose = sb.kinematics(mech, frames=first.child, order=0).compile("python")(q)
    r, p = np.asarray(pose[0]), np.asarray(pose[1])
    force = r @ reaction[3:]
    # of the reaction's wrench the rotor of the first joint is no part, nor of the ground's
    np.testing.assert_allclose(wrench[3:], force, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(wrench[:3], r @ reaction[:3] + np.cross(p, force), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["four_bar", "slider_crank"])
def test_the_projected_regressor_of_loops_gives_the_closed_inverse_dynamics(name):
    """B_vu acts on every column: a change of any body changes the efforts by its columns, exactly (robotran T16)."""
    mech = sb.load(name)
    q = sb.assemble(mech)
    rng = np.random.default_rng(1)
    qd, qdd = rng.uniform(-1, 1, (2, mech.nv))
    found = regressor(mech, model="projected").compile("python")(q=q, qd=qd, qdd=qdd)
    for heavier in (1.0, 2.5):
        bodies = tuple(dataclasses.replace(b, mass=b.mass * heavier, inertia=b.inertia * heavier) for b in mech.bodies)
        other = mech.replace(bodies=bodies)
        tau = sb.inverse_dynamics(other, "newton_euler").compile("python")(q=q, qd=qd, qdd=qdd)
        np.testing.assert_allclose(found.Y @ parameter_values(other), found.B.T @ tau, rtol=1e-9, atol=1e-12)


def test_the_regressor_of_a_tree_is_the_complex_step_of_its_efforts():
    b = sb.Mechanism.builder("pair", gravity=(0, 0, -9.81))
    b.parameter("m2", 1.3)
    b.body("a", 1.0, (0.1, 0.2, 0.3), (0.1, 0.2, 0.25))
    b.body("b", "m2", (0.2, -0.1, 0.1), (0.05, 0.06, 0.07))
    b.joint("j1", "revolute", "world", "a", axis="y")
    b.joint("j2", "prismatic", "a", "b", position=(0.3, 0, 0), axis="x")
    mech = b.done()
    system = sb.inverse_dynamics(mech, "newton_euler")
    q, qd, qdd = state(mech, 5)
    at = {s: v for n, x in (("q", q), ("qd", qd), ("qdd", qdd)) for s, v in zip(system.inputs[n], x)}
    m2 = system.parameters["m2"].item()
    tau = sb.evaluate(list(system.outputs["tau"]), {**at, m2: 1.3 + 1e-30j})
    step = np.array([np.imag(complex(x)) / 1e-30 for x in tau])
    y = regressor(mech).compile("python")(q, qd, qdd)
    # a kilogram more at the same centre of mass, and the same tensor about it
    change = parameter_values(mech, {"m2": 2.3}) - parameter_values(mech, {"m2": 1.3})
    np.testing.assert_allclose(y @ change, step, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("name", "count"), [("ur5", 36), ("panda", 43), ("puma560", 36), ("stanford_arm", 33)])
def test_published_counts_of_inertial_base_parameters(name, count):
    mech = sb.load(name)
    inertial = list(range(10 * len(mech.bodies)))
    base = base_parameters(mech, inertial)
    assert base.count == base.exact == count  # by QR, and modulo a prime with exact numbers
    assert base.residual < 1e-9


def test_the_exact_rank_is_that_of_any_columns_and_says_where_tolerance_decides():
    """Of columns that repeat each other it is the number of independent ones; tilting an axis a little changes it."""
    from symbody.mechanics.verbs.exact_rank import exact_rank

    mech = sb.load("puma560")
    base = base_parameters(mech)
    assert exact_rank(mech, base.columns[:7], 1e-8) == 7
    alone = [k for k, n in enumerate(base.names) if n in base.without_effect]
    assert alone
    assert exact_rank(mech, [*base.columns[:7], *alone], 1e-8) == 7
    b = sb.Mechanism.builder("tilted", gravity=(0, 0, -9.81))
    b.body("a", 1.0, (0.1, 0.2, 0.3), (0.1, 0.2, 0.25)), b.body("b", 1.0, (0.2, -0.1, 0.1), (0.05, 0.06, 0.07))
    b.joint("j1", "revolute", "world", "a", axis="y")
    b.joint("j2", "revolute", "a", "b", position=(0.3, 0, 0), axis=(0, 1, 1e-5))
    tilted = b.done()
    assert base_parameters(tilted).exact == base_parameters(tilted).count
    coarse = base_parameters(tilted, tolerance=1e-3)
    assert coarse.count < coarse.exact
    assert any("the rank is" in note for note in coarse.notes)


@pytest.mark.parametrize(
    "name",
    ["four_bar", *(pytest.param(n, marks=pytest.mark.slow) for n in ("slider_crank", "three_rrr_1", "delta_light"))],
)
def test_closed_mechanisms_have_as_many_base_parameters_as_their_projected_regressor_has_rank(name):
    from symbody.mechanics.verbs.closed_regressor import ClosedSamples

    mech = sb.load(name)
    base = base_parameters(mech)
    y = ClosedSamples(mech).rows(base.count + 20, seed=7)  # other states than those that decided
    y = y / np.where(np.linalg.norm(y, axis=0) > 0, np.linalg.norm(y, axis=0), 1.0)
    s = np.linalg.svd(y, compute_uv=False)
    assert np.sum(s > 1e-8 * s[0]) == base.count
    rest = y - y[:, base.columns] @ np.linalg.lstsq(y[:, base.columns], y, rcond=None)[0]
    assert np.abs(rest).max() < 1e-7
    assert base.count < base_parameters(mech, loops=False).count
    assert base.notes  # what loops add is found by numbers, and said


# -- any System: linearity is checked, and relations are seen as what they are (symofros 4.1)


def system_of(**outputs):
    x, v, a, b, c = sb.symbols("x v a b c")
    names = {"x": x, "v": v, "a": a, "b": b, "c": c, "sin": sb.sin(x), "cos": sb.cos(x)}
    text = {n: [eval(e, {"__builtins__": {}}, names) for e in rows] for n, rows in outputs.items()}
    return sb.System("f", inputs={"x": x, "v": v}, outputs=text, parameters={"a": a, "b": b, "c": c})


def test_a_product_of_parameters_is_refused_by_name():
    with sb.Graph(), pytest.raises(DefinitionError, match="not linear in a, b"):
        linear_regressor(system_of(f=["a*b*x + c"]), "f", ["a", "b", "c"])


def test_what_is_linear_is_split_into_columns_and_the_rest():
    with sb.Graph():
        found = linear_regressor(system_of(f=["a*x + b*v**2 + c*sin + 3*x"]), "f", ["a", "b", "c"])
        out = found.compile("python")(x=0.3, v=0.7)
        np.testing.assert_allclose(out.Y, [[0.3, 0.49, np.sin(0.3)]])
        np.testing.assert_allclose(out.f0, [0.9])


def test_samples_without_a_regressor_are_counted_and_large_ones_are_kept():
    model = inverse_model(sb.load("puma560"), ())
    q, qd, qdd = np.random.default_rng(0).uniform(-1, 1, (3, 50, 6))
    qdd[7] = 1e200  # finite, though its square is not
    assert np.isfinite(model.regressor(q, qd, qdd)).all()
    q[[3, 9], 2] = np.nan
    with pytest.raises(DataError, match="no value at 2 of 50 samples, first at 3"):
        model.regressor(q, qd, qdd)


# -- force elements that own states

STATEFUL = {
    "dahl": {"stiffness": 20, "level": 0.4},
    "lugre": {"stiffness": 200, "damping": 1, "level": 0.3, "breakaway": 0.4, "speed": 0.01},
    "stiction": {"stiffness": 200, "damping": 1, "level": 0.3, "breakaway": 0.4},
    "maxwell": {"stiffness": 20, "damping": 3},
    "joint": {"law": "actuator", "time_constant": 0.1},
}


def two_links(kind=None, **values):
    b = sb.Mechanism.builder("two").body("arm", mass=1, com=[0.1, 0, -0.5], inertia=[0.1, 0.1, 0.1])
    b.body("fore", mass=0.7, com=[0, 0.02, -0.3], inertia=[0.03, 0.02, 0.01])
    b.joint("j", "revolute", "world", "arm", axis="y", viscous=0.1)
    b.joint("k", "revolute", "arm", "fore", axis="y", position=[0, 0, -1])
    return (b.force("f", kind, joint="j", **values) if kind else b).done()


@pytest.mark.parametrize("kind", list(STATEFUL))
def test_a_force_element_with_states_leaves_the_base_parameters_of_its_tree(kind):
    mech, plain = two_links(kind, **STATEFUL[kind]), two_links()
    base, expected = base_parameters(mech), base_parameters(plain)
    assert base.exact == base.count
    assert [str(g) for g in base.groups] == [str(g) for g in expected.groups]
    with_laws = inverse_model(mech)
    assert with_laws.base_names == inverse_model(plain).base_names


@pytest.mark.parametrize("kind", ["lugre", "maxwell"])
def test_a_robot_with_friction_that_has_states_is_identified_from_its_motion(kind):
    """States follow from the measured motion: a simulated record gives the parameters that made it."""
    mech = two_links(kind, **STATEFUL[kind])
    tau = {"tau.j": "3*sin(5*t) + sin(2*t)", "tau.k": "cos(7*t)"}
    run = sb.simulate(mech, 3.0, inputs=tau, tolerance=1e-9, sampling=1501)
    efforts = np.column_stack([3 * np.sin(5 * run.t) + np.sin(2 * run.t), np.cos(7 * run.t)])
    record = Series(run.t, {"q": run.q, "qd": run.qd, "qdd": run.qdd, "tau": efforts})
    model = inverse_model(mech)
    found = OLS().fit(model.equations(record, factor=1)).coef_
    np.testing.assert_allclose(found, model.base_prior, atol=2e-3)


def test_what_an_element_reads_besides_the_motion_comes_from_the_record_or_is_refused():
    rng, t = np.random.default_rng(0), np.linspace(0, 1, 50)
    motion = {n: rng.normal(size=(50, 2)) for n in ("q", "qd", "qdd", "tau")}
    driven = two_links("joint", law="actuator", gain=2.0)
    with pytest.raises(DataError, match="no signal 'u_f'"):
        inverse_model(driven).measured(Series(t, motion))
    u = rng.normal(size=50)
    z = inverse_model(driven).measured(Series(t, {**motion, "u_f": u}))[1]
    # the effort of the motor is known: it is taken off tau with the sign of inverse dynamics
    np.testing.assert_allclose(z, motion["tau"] + np.column_stack([2.0 * u, 0 * u]), atol=1e-12)
    with pytest.raises(DataError, match="switches by events"):
        inverse_model(two_links("stiction", **STATEFUL["stiction"])).measured(Series(t, motion))


def test_what_a_regressor_still_depends_on_keeps_its_default():
    with sb.Graph():
        x, v, k, c, m = sb.symbols("x v k c m")
        law = sb.System(
            "law", inputs={"x": x, "v": v}, parameters={"k": k, "c": c, "m": m}, outputs={"F": (k * x + c * v) * m},
            defaults={"k": 4.0, "c": 0.3, "m": 2.0}, units={"m": "kg", "F": "N"},
        )  # fmt: skip
    found = linear_regressor(law, "F", ["k", "c"])
    assert set(found.parameters) == {"m"}
    assert (found.units["m"], float(found.defaults["m"])) == ("kg", 2.0)
    np.testing.assert_array_equal(found.compile("python")(x=1.0, v=2.0).Y, [[2.0, 4.0]])
    assert independent_columns(found)[0] == [0, 1]


def test_masses_without_values_are_no_obstacle():
    b = sb.Mechanism.builder("swing", gravity=(0, 0, -9.81))
    b.body("rod", "auto", ("auto",) * 3, "auto")
    b.joint("j", "revolute", "world", "rod", axis="y")
    model = inverse_model(b.done(), ("viscous",))
    assert np.all(model.prior == 0)
    assert set(model.unknown) == {f"rod.{x}" for x in ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")}
    assert "start at 0" in " ".join(model.notes)
    # a pendulum with I = 0.4, m x = 0.5 along the rod: tau = I qdd - g cos(q) m x ... by its own equation
    t = np.linspace(0, 5, 400)
    q, qd, qdd = (f[:, None] for f in (np.sin(2 * t), 2 * np.cos(2 * t), -4 * np.sin(2 * t)))
    tau = 0.4 * qdd + 0.1 * qd - 9.81 * 0.5 * np.cos(q)
    series = Series(t, {"q": q, "qd": qd, "qdd": qdd, "tau": tau}, model.labels)
    for fit in (OLS(model), Prior(model)):
        values = fit.fit(series).estimate_.as_dict()["parameters"]
        found = {p["name"]: p["value"] for p in values}
        assert [found["rod.Iyy"], found["rod.mx"], found["j.viscous"]] == pytest.approx([0.4, 0.5, 0.1], abs=1e-6)
