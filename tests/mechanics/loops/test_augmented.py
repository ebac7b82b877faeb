"""Augmented equations: multipliers, stabilisation, loops that open and close, redundant and massless parts."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import symbody as sb
from mechanics.loops.closed_models import PASSIVE, closed_state, four_bar, held_body, rrr, slider_crank
from mechanics.loops.nullspace import accelerations, driven_accelerations
from mechanics.loops.reference import LoopWorld
from symbody.basics.errors import ModelError
from symbody.mechanics.formalisms.tree import build_tree
from symbody.mechanics.loops.rows.constraint_rows import constraints


def augmented(mech, *arguments, preset="none", **options):
    system = sb.forward_dynamics(mech, "newton_euler", formulation="augmented", preset=preset, **options)
    return system.compile("python")(*arguments)


@pytest.mark.parametrize("make", [four_bar, slider_crank, lambda: rrr(2), lambda: rrr(4), lambda: held_body("solid")])
def test_accelerations_equal_the_reference(make):
    mech = make()
    world, q, qd, tau = closed_state(mech)
    want, _ = world.acceleration(q, qd, tau)
    np.testing.assert_allclose(augmented(mech, q, qd, tau), want, rtol=1e-9, atol=1e-9 * np.abs(want).max())


def test_multipliers_equal_those_of_the_reduced_equations():
    mech = rrr(2)
    _, q, qd, tau = closed_state(mech)
    full = augmented(mech, q, qd, tau, lam=True)
    reduced = sb.forward_dynamics(mech, "newton_euler", lam=True, preset="none").compile("python")(q, qd, tau)
    np.testing.assert_allclose(full.lam, reduced.lam, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(full.qdd, reduced.qdd, rtol=1e-9)


def test_driven_joints():
    mech = four_bar("driven")
    world, q, qd, tau = closed_state(mech)
    want, _ = world.acceleration(q, qd, tau, qdd_driven=[1.7])
    np.testing.assert_allclose(augmented(mech, q, qd, tau, [1.7]), want, rtol=1e-10)


def test_baumgarte_terms_pull_an_open_loop_shut():
    """hdd + 2 alpha hd + beta^2 h = 0 for the gap, at a state that is not closed."""
    mech = four_bar()
    world, q, qd, tau = closed_state(mech)
    q, qd = q + np.array([0.01, -0.02, 0.03]), qd + np.array([0.1, 0.2, -0.3])
    qdd = augmented(mech, q, qd, tau, alpha=5.0, beta=7.0)
    poses = lambda q: world.poses(q.astype(complex))[0]  # noqa: E731

    def gap(q):
        (r1, p1), (r2, p2) = poses(q)["coupler"], poses(q)["rocker"]
        return (p2 + r2 @ [0.5, 0, 0] - p1 - r1 @ [0.6, 0, 0]).real[:2]

    h = 1e-3
    at = [gap(q + s * h * qd + 0.5 * (s * h) ** 2 * qdd) for s in (-2, -1, 0, 1, 2)]
    first = (at[0] - 8 * at[1] + 8 * at[3] - at[4]) / (12 * h)
    second = (-at[0] + 16 * at[1] - 30 * at[2] + 16 * at[3] - at[4]) / (12 * h * h)
    np.testing.assert_allclose(second + 10 * first + 49 * at[2], 0, atol=1e-5)


def test_a_switched_loop_is_free_when_open_and_closed_when_shut():
    mech = four_bar()
    cut = mech.cuts[0]
    switched = mech.replace(cuts=(cut.__class__(**{**vars(cut), "switched": True}),))
    world, q, qd, tau = closed_state(mech)
    want, _ = world.acceleration(q, qd, tau)
    shut = augmented(switched, q, qd, tau, 1.0, lam=True)
    np.testing.assert_allclose(shut.qdd, want, rtol=1e-10)
    opened = augmented(switched, q, qd, tau, 0.0, lam=True)
    tree = sb.forward_dynamics(mech, "newton_euler", loops=False, preset="none").compile("python")(q, qd, tau)
    np.testing.assert_allclose(opened.qdd, tree, rtol=1e-12)
    np.testing.assert_array_equal(opened.lam, 0)
    assert "s_loop" in sb.forward_dynamics(switched).inputs  # "auto" takes the augmented equations
    with pytest.raises(ModelError, match="opens and closes"):
        sb.forward_dynamics(switched, formulation="reduced")


def parallelogram():
    """Three parallel cranks of equal length carry one bar: one of the two loops is redundant in one row."""
    b = sb.Mechanism.builder("parallelogram", gravity=(0, -9.81, 0))
    frames = {"e1": (0.5, 0, 0), "e2": (1.0, 0, 0)}
    b.body("bar", mass=2, com=(0.4, 0.1, 0), inertia=(0.01, 0.2, 0.21), frames=frames)
    for k, x in enumerate((0, 0.5, 1.0)):
        b.body(f"c{k}", mass=1, com=(0.1, 0, 0), inertia=(0.001, 0.01, 0.011), frames={"end": (0.3, 0, 0)})
        b.joint(f"c{k}", "revolute", "world", f"c{k}", position=(x, 0, 0), rotation=("z", 0.8))
    b.joint("bar", "revolute", "c0", "bar", position=(0.3, 0, 0), rotation=("z", -0.8), **PASSIVE)
    b.cut("l1", "ball", ("bar", "e1"), ("c1", "end"))
    b.cut("l2", "ball", ("bar", "e2"), ("c2", "end"))
    return b.done()


def test_redundant_rows_are_left_out():
    mech = parallelogram()
    world = LoopWorld(mech)
    q = np.array([0.2, 0.2, 0.2, -0.2])
    qd, tau = world.project(q, np.array([1.0, 0.5, 0.2, 0.1])), np.array([0.5, -1.0, 0.3, 0.0])
    assert world.mobility(q) == 1
    want, _ = world.acceleration(q, qd, tau)
    np.testing.assert_allclose(augmented(mech, q, qd, tau), want, rtol=1e-9)
    reduced = sb.forward_dynamics(mech, "newton_euler", preset="none").compile("python")(q, qd, tau)
    np.testing.assert_allclose(reduced, want, rtol=1e-9)


def test_the_null_space_of_j_gives_the_same_accelerations():
    mech = parallelogram()
    world = LoopWorld(mech)
    q = np.array([0.2, 0.2, 0.2, -0.2])
    qd, tau = world.project(q, np.array([1.0, 0.5, 0.2, 0.1])), np.array([0.5, -1.0, 0.3, 0.0])
    mass, c = world.equations(q, qd)
    jacobian, bias = world.jacobian(q), world.bias(q, qd)
    want, _ = world.acceleration(q, qd, tau)
    np.testing.assert_allclose(accelerations(mass, c, tau, jacobian, bias), want, rtol=1e-9)
    found = driven_accelerations(mass, c, tau, jacobian, bias, [0], [0.4, 0, 0, 0])
    np.testing.assert_allclose(found, [0.4, 0.4, 0.4, -0.4], rtol=1e-9)


def test_only_forward_dynamics_is_augmented():
    with pytest.raises(ModelError, match="forward dynamics only"):
        sb.inverse_dynamics(four_bar(), formulation="augmented")


def test_rows_of_a_cut_say_what_their_multipliers_are():
    mech = four_bar()
    system = sb.forward_dynamics(mech, "newton_euler", formulation="augmented", lam=True)
    names = constraints(build_tree(mech)).names
    assert [system.origins[f"lam[{i}]"].split(":")[0] for i in range(len(names))] == list(names)


@pytest.mark.parametrize("text", ["q.a - sin(t)", "q.a - 0.3", "q.a + q.p - t", "2*q.a - t", "q.a - 2*q.p"])
def test_couplings_whose_derivatives_are_numbers_are_simulated(text):
    """A pendulum on a slide stays on the law; SciPy integrates it where the law gives the slide."""
    b = sb.Mechanism.builder("carried", gravity=(0, 0, -9.81))
    b.body("a", mass=1).joint("a", "prismatic", "world", "a", axis="x")
    b.body("p", mass=1, com=(0, 0, -0.5), inertia=(0.02, 0.02, 0.02)).joint("p", "revolute", "a", "p", axis="y")
    run = sb.simulate(b.coupling("m", text).done(), 0.5, 1e-3, closing=sb.Augmented())
    t, (a, p) = run.t, run.q.T
    held = {"q.a - sin(t)": a - np.sin(t), "q.a - 0.3": a - 0.3, "q.a + q.p - t": a + p - t, "2*q.a - t": 2 * a - t}
    np.testing.assert_allclose(held.get(text, a - 2 * p), 0, atol=1e-9)
    assert run.outcome.name == "FINISHED"
    if text == "q.a - sin(t)":
        rate = lambda t, x: [x[1], 0.5 * (-np.sin(t) * np.cos(x[0]) - 9.81 * np.sin(x[0])) / 0.27]  # noqa: E731
        want = solve_ivp(rate, (0, 0.5), [run.q[0, 1], run.qd[0, 1]], rtol=1e-11, atol=1e-12, t_eval=t).y[0]
        np.testing.assert_allclose(p, want, atol=1e-9)
