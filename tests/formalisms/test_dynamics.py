"""Inverse, semi-explicit and forward dynamics of trees: all formalisms against virtual power, Pinocchio, each other."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import symbody as sb
from formalisms.patterns import Maker, random_inertia, random_state, random_tree
from formalisms.reference import World
from pinocchio_oracle import Peer
from symbody.errors import ModelError, NameLookupError
from symbody.expr.node import Node
from symbody.formalisms.choices import Choice, equations
from symbody.formalisms.poses import FRAMES
from symbody.formalisms.tree import build_tree
from symbody.model.load import load
from symbody.model.mechanism import Mimic
from symbody.verbs.dynamics import FORMALISMS, Problem, forward_dynamics, inverse_dynamics, semi_explicit

RECURSIONS = ("newton_euler", "barycentric", "base")


def numbers(tree, nodes, q, qd, qdd=None, tau=None, **more):
    """Values of nodes at a state, parameters at their defaults."""
    values = {s: s.data.default for s in tree.moved.values()}
    for symbols, given in ((tree.q, q), (tree.qd, qd), (tree.qdd, qdd), (tree.tau, tau)):
        values.update(zip(symbols, np.zeros(len(symbols)) if given is None else given, strict=True))
    values.update(more)
    flat = [x if isinstance(x, Node) else tree.graph.number(x) for x in np.array(nodes, dtype=object).flat]
    return np.array(sb.evaluate(flat, values), dtype=float).reshape(np.shape(nodes))


def agree(found, expected, tolerance=1e-10):
    scale = max(1.0, float(np.max(np.abs(expected), initial=0.0)))
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * scale)


def moving_tree(seed, n, **options):
    """A random tree with at least one velocity, and its state."""
    mech = random_tree(seed, n, **options)
    while mech.nv == 0:
        seed += 1000
        mech = random_tree(seed, n, **options)
    return mech, random_state(mech, seed)


# -- against virtual power in world axes


@pytest.mark.parametrize("seed", range(24))
def test_torques_are_those_of_virtual_power(seed):
    mech, (q, qd, qdd) = moving_tree(seed, 1 + seed % 10)
    mass, bias = World(mech).equations(q, qd)
    for formalism in RECURSIONS:
        problem = Problem(mech)
        agree(numbers(problem.tree, problem.outputs("inverse", formalism)["tau"], q, qd, qdd), mass @ qdd + bias)


@pytest.mark.parametrize("seed", range(24, 40))
def test_mass_matrix_and_bias_are_those_of_virtual_power(seed):
    mech, (q, qd, _) = moving_tree(seed, 1 + seed % 10)
    mass, bias = World(mech).equations(q, qd)
    for formalism in RECURSIONS:
        problem = Problem(mech)
        found = problem.outputs("semi_explicit", formalism)
        agree(numbers(problem.tree, found["M"], q, qd), mass)
        agree(numbers(problem.tree, found["c"], q, qd), bias)


@pytest.mark.parametrize(("seed", "size"), [(3, 30), (11, 30), (17, 60)])
def test_a_large_tree_agrees_in_all_formalisms(seed, size):
    mech, (q, qd, qdd) = moving_tree(seed, size)
    mass, bias = World(mech).equations(q, qd)
    for formalism in RECURSIONS:
        problem = Problem(mech)
        agree(numbers(problem.tree, problem.outputs("inverse", formalism)["tau"], q, qd, qdd), mass @ qdd + bias)


@pytest.mark.parametrize("frames", FRAMES)
@pytest.mark.parametrize("reference", ["origin", "com"])
def test_frames_and_reference_points_do_not_change_the_torques(frames, reference):
    mech, (q, qd, qdd) = moving_tree(5, 9, kinds=["revolute", "prismatic", "universal", "free"])
    mass, bias = World(mech).equations(q, qd)
    tree = build_tree(mech)
    choice = Choice(frames=frames, mass_frames=frames, reference=reference, moments="spread")
    agree(numbers(tree, equations(tree, "inverse", choice)["tau"], q, qd, qdd), mass @ qdd + bias)
    agree(numbers(tree, equations(tree, "semi_explicit", choice)["M"], q, qd), mass)


@pytest.mark.parametrize("seed", range(8))
def test_wrenches_from_outside_are_felt_at_the_body_origin_in_body_axes(seed):
    mech, (q, qd, qdd) = moving_tree(seed + 70, 7)
    bodies = [b.name for b in mech.bodies][::2]
    rng = np.random.default_rng(seed)
    wrenches = {b: rng.normal(size=6) for b in bodies}
    mass, bias = World(mech).equations(q, qd, wrenches)
    for formalism in ("newton_euler", "base"):
        problem = Problem(mech, wrenches=bodies)
        given = {s: v for b in bodies for s, v in zip(problem.inputs[f"w_{b}"], wrenches[b], strict=True)}
        tree = problem.tree
        values = {s: s.data.default for s in tree.moved.values()} | given
        for symbols, x in ((tree.q, q), (tree.qd, qd), (tree.qdd, qdd)):
            values.update(zip(symbols, x, strict=True))
        tau = [x + tree.graph.zero for x in problem.outputs("inverse", formalism)["tau"]]
        agree(np.array(sb.evaluate(tau, values), dtype=float), mass @ qdd + bias)


# -- against Pinocchio


@pytest.mark.parametrize("seed", range(8))
def test_torques_are_those_of_pinocchio(seed):
    mech, state = moving_tree(seed + 200, 8, couplings=False, plain=True)
    problem = Problem(mech)
    agree(numbers(problem.tree, problem.outputs("inverse", "base")["tau"], *state), Peer(mech).torques(*state))


@pytest.mark.parametrize("seed", range(4))
def test_accelerations_undo_the_torques_of_pinocchio(seed):
    kinds = ["revolute", "free", "helical", "ball"]
    mech, (q, qd, qdd) = moving_tree(seed + 230, 6, kinds=kinds, couplings=False, plain=True, massless=False)
    tau = Peer(mech).torques(q, qd, qdd)
    for formalism in ("newton_euler", "order_n"):
        problem = Problem(mech)
        agree(numbers(problem.tree, problem.outputs("forward", formalism)["qdd"], q, qd, tau=tau), qdd, 1e-8)


# -- relations


@pytest.mark.parametrize("formalism", ["newton_euler", "base", "order_n"])
@pytest.mark.parametrize("seed", range(6))
def test_forward_dynamics_inverts_inverse_dynamics(seed, formalism):
    mech, (q, qd, qdd) = moving_tree(seed + 400, 8, couplings=False, massless=False)
    mass, bias = World(mech).equations(q, qd)
    problem = Problem(mech)
    found = numbers(problem.tree, problem.outputs("forward", formalism)["qdd"], q, qd, tau=mass @ qdd + bias)
    # as efforts: an ill-conditioned M magnifies rounding in qdd, not in M qdd
    agree(mass @ found, mass @ qdd, 1e-9)


@pytest.mark.parametrize("solver", ["local", "textbook"])
@pytest.mark.parametrize("frames", ["sequential", "group"])
def test_order_n_variants_agree_with_the_mass_matrix(solver, frames):
    mech, (q, qd, qdd) = moving_tree(33, 9, couplings=False, massless=False)
    mass, bias = World(mech).equations(q, qd)
    tree = build_tree(mech)
    found = equations(tree, "forward", Choice(grouping="base", solver=solver, mass_frames=frames))["qdd"]
    agree(mass @ numbers(tree, found, q, qd, tau=mass @ qdd + bias), mass @ qdd, 1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_mass_matrix_is_symmetric_and_positive_definite(seed):
    mech, (q, qd, _) = moving_tree(seed + 500, 8, massless=False)
    problem = Problem(mech)
    mass = numbers(problem.tree, problem.outputs("semi_explicit", "base")["M"], q, qd)
    np.testing.assert_array_equal(mass, mass.T)
    assert np.min(np.linalg.eigvalsh(mass)) > 0


@pytest.mark.parametrize("solver", ["ldlt", "local", "textbook"])
def test_driven_joints_accelerate_as_given_and_the_others_follow(solver):
    mech, (q, qd, qdd) = moving_tree(9, 7, couplings=False, massless=False, kinds=["revolute", "prismatic", "ball"])
    joints = tuple(dataclasses.replace(j, mode="driven") if k in (1, 4) else j for k, j in enumerate(mech.joints))
    mech = mech.replace(joints=joints)
    mass, bias = World(mech).equations(q, qd)
    tree = build_tree(mech)
    found = equations(tree, "forward", Choice(grouping="base", solver=solver))["qdd"]
    agree(numbers(tree, found, q, qd, qdd=qdd, tau=mass @ qdd + bias), qdd, 1e-8)


def test_screws_and_lagrange_agree_with_newton_euler_in_all_quantities():
    mech = load("pendulum2")
    q, qd, qdd = random_state(mech, 4)
    outputs = {}
    for formalism in ("newton_euler", "screw", "lagrange"):
        problem = Problem(mech)
        tau = numbers(problem.tree, problem.outputs("inverse", formalism)["tau"], q, qd, qdd)
        mass = numbers(problem.tree, problem.outputs("semi_explicit", formalism)["M"], q, qd)
        found = numbers(problem.tree, problem.outputs("forward", formalism)["qdd"], q, qd, tau=tau)
        outputs[formalism] = np.concatenate([tau, mass.ravel(), found])
    agree(outputs["screw"], outputs["newton_euler"], 1e-10)
    agree(outputs["lagrange"], outputs["newton_euler"], 1e-10)


def test_a_free_body_falls_with_gravity_and_keeps_its_spin_momentum():
    m = Maker("free", gravity=(0, 0, -9.81))
    m.body("b", "free", "world", mass=2.0, inertia=[[1.0, 0, 0], [0, 2.0, 0], [0, 0, 3.0]])
    kernel = forward_dynamics(m.done(), "order_n").compile("python")
    w = np.array([0.3, -0.4, 0.5])
    qdd = kernel(np.array([0, 0, 0, 1.0, 0, 0, 0]), np.array([*w, 0, 0, 0]), np.zeros(6))
    inertia = np.diag([1.0, 2.0, 3.0])
    np.testing.assert_allclose(inertia @ qdd[:3], -np.cross(w, inertia @ w), atol=1e-14)
    np.testing.assert_allclose(qdd[3:], [0, 0, -9.81], atol=1e-14)


# -- the verbs


def test_kernels_of_all_formalisms_agree_on_the_published_puma():
    mech = load("patterns/puma_robotran")
    q, qd, qdd = random_state(mech, 1)
    mass, bias = World(mech).equations(q, qd)
    tau = mass @ qdd + bias
    for formalism in FORMALISMS:
        agree(inverse_dynamics(mech, formalism).compile("python")(q, qd, qdd), tau)
        agree(forward_dynamics(mech, formalism).compile("python")(q, qd, tau), qdd, 1e-9)
        if formalism != "order_n":
            found = semi_explicit(mech, formalism).compile("python")(q, qd)
            agree(found.M, mass)
            agree(found.c, bias)


def test_runtime_parameters_are_inputs_of_every_call():
    mech = load("pendulum2")
    system = inverse_dynamics(mech, "newton_euler", parameters="runtime")
    assert not system.parameters
    assert set(system.inputs) - {"q", "qd", "qdd"} <= set(mech.parameters)
    assert system.count().setup == 0


def test_systems_say_where_they_come_from():
    system = inverse_dynamics(load("patterns/puma_robotran"), "base")
    assert system.name == "puma_robotran_inverse"
    assert system.units["tau"] == "N m"
    assert "Gautier" in system.origins["tau"]


def test_unknown_formalism_names_the_nearest():
    with pytest.raises(NameLookupError, match="newton_euler"):
        inverse_dynamics(load("pendulum2"), "newton_eular")


def test_order_n_refuses_the_mass_matrix_and_followers_by_name():
    with pytest.raises(ModelError, match="never forms the mass matrix"):
        semi_explicit(load("pendulum2"), "order_n")
    m = Maker("pair")
    m.body("a", "revolute", "world", "z", mass=1.0, inertia=random_inertia(np.random.default_rng(1)))
    m.body("b", "revolute", "a", "z", mass=1.0, inertia=random_inertia(np.random.default_rng(2)))
    follower = dataclasses.replace(m.joints[1], mimic=Mimic("j_a", m.node(2), m.node(0)))
    with pytest.raises(ModelError, match=r"j_a.*j_b"):
        forward_dynamics(m.done().replace(joints=(m.joints[0], follower)), "order_n")


def test_a_wrench_on_an_unknown_body_is_refused():
    with pytest.raises(NameLookupError, match="no body"):
        inverse_dynamics(load("pendulum2"), "base", wrenches=["nobody"])


def test_unknown_options_are_refused_by_name():
    with pytest.raises(NameLookupError, match="budget"):
        inverse_dynamics(load("pendulum2"), bugdet=3)


@pytest.mark.parametrize("parameters", ["setup", "runtime"])
def test_the_smallest_program_takes_wrenches_and_runtime_parameters(parameters):
    mech = load("pendulum2")
    body = mech.bodies[-1].name
    q, qd, qdd = random_state(mech, 6)
    wrench = np.array([0.3, -0.2, 0.5, 1.0, 2.0, -3.0])
    mass, bias = World(mech).equations(q, qd, {body: wrench})
    system = inverse_dynamics(mech, parameters=parameters, wrenches=[body], budget=6)
    given = {"q": q, "qd": qd, "qdd": qdd, f"w_{body}": wrench}
    given |= {n: s.data.default for n, s in mech.parameters.items() if n in system.inputs}
    agree(system.compile("python")(**given), mass @ qdd + bias)
