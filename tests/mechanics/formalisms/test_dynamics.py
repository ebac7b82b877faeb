"""Inverse, semi-explicit and forward dynamics of trees: all formalisms against virtual power, Pinocchio, each other."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import symbody as sb
from helpers.pinocchio_oracle import Peer
from mechanics.formalisms.patterns import Maker, random_inertia, random_state, random_tree
from mechanics.formalisms.reference import World
from symbody.basics.errors import ModelError, NameLookupError
from symbody.mechanics.formalisms.formulation import Choice, equations
from symbody.mechanics.formalisms.link_poses import FRAMES
from symbody.mechanics.formalisms.order_n import shared_velocities
from symbody.mechanics.formalisms.tree import build_tree
from symbody.mechanics.verbs.dynamics import FORMALISMS, forward_dynamics, inverse_dynamics, semi_explicit
from symbody.mechanics.verbs.problem import problem_of
from symbody.model.load import load
from symbody.model.record.joints import KINDS
from symbody.model.record.mechanism import Mimic, Rotor
from symbody.symbolic.expr.node import Node

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
        problem = problem_of(mech)
        agree(numbers(problem.tree, problem.outputs("inverse", formalism)["tau"], q, qd, qdd), mass @ qdd + bias)


@pytest.mark.parametrize("seed", range(24, 40))
def test_mass_matrix_and_bias_are_those_of_virtual_power(seed):
    mech, (q, qd, _) = moving_tree(seed, 1 + seed % 10)
    mass, bias = World(mech).equations(q, qd)
    for formalism in RECURSIONS:
        problem = problem_of(mech)
        found = problem.outputs("semi_explicit", formalism)
        agree(numbers(problem.tree, found["M"], q, qd), mass)
        agree(numbers(problem.tree, found["c"], q, qd), bias)


@pytest.mark.parametrize(("seed", "size"), [(3, 30), (11, 30), (17, 60)])
def test_a_large_tree_agrees_in_all_formalisms(seed, size):
    mech, (q, qd, qdd) = moving_tree(seed, size)
    mass, bias = World(mech).equations(q, qd)
    for formalism in RECURSIONS:
        problem = problem_of(mech)
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
        problem = problem_of(mech, wrenches=bodies)
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
    problem = problem_of(mech)
    agree(numbers(problem.tree, problem.outputs("inverse", "base")["tau"], *state), Peer(mech).torques(*state))


@pytest.mark.parametrize("seed", range(4))
def test_accelerations_undo_the_torques_of_pinocchio(seed):
    kinds = ["revolute", "free", "helical", "ball"]
    mech, (q, qd, qdd) = moving_tree(seed + 230, 6, kinds=kinds, couplings=False, plain=True, massless=False)
    tau = Peer(mech).torques(q, qd, qdd)
    for formalism in ("newton_euler", "order_n"):
        problem = problem_of(mech)
        agree(numbers(problem.tree, problem.outputs("forward", formalism)["qdd"], q, qd, tau=tau), qdd, 1e-8)


# -- relations


@pytest.mark.parametrize("formalism", ["newton_euler", "base", "order_n"])
@pytest.mark.parametrize("seed", range(6))
def test_forward_dynamics_inverts_inverse_dynamics(seed, formalism):
    mech, (q, qd, qdd) = moving_tree(seed + 400, 8, couplings=False, massless=False)
    mass, bias = World(mech).equations(q, qd)
    problem = problem_of(mech)
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


# -- velocities that move several Links: joints that follow others, gyroscopic rotors

TOGETHER = ["revolute"] * 4 + ["prismatic", "helical", "ball", "free", "universal"]


def coupled_tree(seed, n):
    """A random tree in which at least one velocity moves several Links, and its state; M is not singular."""
    while True:
        mech, (q, qd, qdd) = moving_tree(seed, n, kinds=TOGETHER)
        mass, bias = World(mech).equations(q, qd)
        if shared_velocities(build_tree(mech), ()) and np.min(np.linalg.eigvalsh(mass)) > 1e-6:
            return mech, (q, qd, qdd), mass, bias
        seed += 1000


@pytest.mark.parametrize("solver", ["local", "textbook"])
@pytest.mark.parametrize("seed", range(12))
def test_order_n_moves_followers_and_rotors_as_virtual_power_does(seed, solver):
    mech, (q, qd, qdd), mass, bias = coupled_tree(seed + 3000, 4 + seed)
    for frames in ("sequential", "group"):
        for grouping in ("none", "base"):
            tree = build_tree(mech)
            choice = Choice(grouping=grouping, solver=solver, mass_frames=frames)
            found = equations(tree, "forward", choice)["qdd"]
            agree(mass @ numbers(tree, found, q, qd, tau=mass @ qdd + bias), mass @ qdd)


@pytest.mark.parametrize("seed", range(3))
def test_all_formalisms_agree_on_followers_and_rotors(seed):
    mech, (q, qd, qdd), mass, bias = coupled_tree(seed + 6000, 4)
    tau = mass @ qdd + bias
    for formalism in ("newton_euler", "barycentric", "base", "order_n", "screw", "lagrange"):
        problem = problem_of(mech)
        found = numbers(problem.tree, problem.outputs("forward", formalism)["qdd"], q, qd, tau=tau)
        agree(mass @ found, mass @ qdd)


def branches():
    """Two arms on a turning base; the second arm and a wrist on the first follow the first arm."""
    rng = np.random.default_rng(4)
    m = Maker("branches", gravity=(0, 0, -9.81))
    m.body("base", "revolute", "world", "z", mass=2.0, com=(0.1, 0, 0), inertia=random_inertia(rng))
    m.body("left", "revolute", "base", "x", (0, 0.3, 0.2), mass=1.0, com=(0, 0.2, 0), inertia=random_inertia(rng))
    m.body("wrist", "prismatic", "left", "y", (0, 0.4, 0), mass=0.5)
    m.body("right", "revolute", "base", "y", (0.3, 0, 0.2), mass=1.0, com=(0.2, 0, 0.1))
    m.body("tip", "revolute", "right", "z", (0.4, 0, 0), mass=0.7, com=(0.2, 0, 0), inertia=random_inertia(rng))
    for k, ratio in ((2, 0.2), (3, -1.5)):
        m.joints[k] = dataclasses.replace(m.joints[k], mimic=Mimic("j_left", m.node(ratio), m.node(0.1)))
    return m.done()


def test_all_formalisms_agree_on_gyroscopic_rotors_of_leaders_and_followers():
    mech = branches()
    m = mech.graph
    spin = {"j_left": 30, "j_right": -12, "j_tip": 50}
    joints = tuple(
        dataclasses.replace(j, rotor=Rotor(m.number(0.02), m.number(spin[j.name]), True)) if j.name in spin else j
        for j in mech.joints
    )
    mech = mech.replace(joints=joints)
    q, qd, qdd = random_state(mech, 8)
    mass, bias = World(mech).equations(q, qd)
    for formalism in ("newton_euler", "barycentric", "base", "order_n", "screw", "lagrange"):
        problem = problem_of(mech)
        tau = numbers(problem.tree, problem.outputs("inverse", formalism)["tau"], q, qd, qdd)
        agree(tau, mass @ qdd + bias)
        agree(numbers(problem.tree, problem.outputs("forward", formalism)["qdd"], q, qd, tau=tau), qdd)


def test_a_joint_may_follow_one_on_another_branch():
    mech = branches()
    q, qd, qdd = random_state(mech, 2)
    mass, bias = World(mech).equations(q, qd)
    assert shared_velocities(build_tree(mech), ()) == {0: [1]}  # settled at the base, which carries both arms
    found = forward_dynamics(mech, "order_n").compile("python")(q, qd, mass @ qdd + bias)
    agree(found, qdd)


def driven(mech, joint):
    """The joint with some law: accelerations are given from outside."""
    law = (mech.graph.one,) * KINDS[joint.kind].nq(joint)
    return dataclasses.replace(joint, mode="driven", value=law)


@pytest.mark.parametrize("solver", ["local", "textbook"])
def test_followers_of_a_driven_joint_accelerate_with_it(solver):
    mech = branches()
    joints = tuple(driven(mech, j) if j.name == "j_left" else j for j in mech.joints)
    q, qd, qdd = random_state(mech, 3)
    mass, bias = World(mech).equations(q, qd)
    tree = build_tree(mech.replace(joints=joints))
    found = equations(tree, "forward", Choice(solver=solver))["qdd"]
    agree(numbers(tree, found, q, qd, qdd=qdd, tau=mass @ qdd + bias), qdd)


def test_a_follower_may_give_its_leader_the_only_inertia():
    m = Maker("geared", gravity=(0, 0, 0))
    m.body("knob", "revolute", "world", "z")
    m.body("disc", "revolute", "world", "z", mass=1.0, inertia=[[1.0, 0, 0], [0, 1.0, 0], [0, 0, 2.0]])
    m.joints[1] = dataclasses.replace(m.joints[1], mimic=Mimic("j_knob", m.node(3), m.node(0)))
    found = forward_dynamics(m.done(), "order_n").compile("python")([0.3], [0.5], [9.0])
    np.testing.assert_allclose(found, 9.0 / (2.0 * 3**2), rtol=1e-14)


def test_a_rotor_turns_its_free_carrier_backwards():
    """Momentum: a wheel spun up on a body in space takes as much angular momentum as the body gets the other way."""
    m = Maker("satellite", gravity=(0, 0, 0))
    m.body("hull", "free", "world", mass=10.0, inertia=[[3.0, 0, 0], [0, 4.0, 0], [0, 0, 5.0]])
    m.body("dish", "revolute", "hull", "z", mass=1e-9, inertia=[[1e-9, 0, 0], [0, 1e-9, 0], [0, 0, 1e-9]],
           rotor=Rotor(m.node(0.2), m.node(30), gyroscopic=True))  # fmt: skip
    kernel = forward_dynamics(m.done(), "order_n").compile("python")
    qdd = kernel([0, 0, 0, 1, 0, 0, 0, 0.4], np.zeros(7), [0, 0, 0, 0, 0, 0, 2.0])
    assert 5.0 * qdd[2] + 0.2 * 30 * qdd[6] == pytest.approx(0, abs=1e-7 * 5.0 * abs(qdd[2]))


@pytest.mark.parametrize("kind", ["mimic", "gyroscopic"])
def test_order_n_stays_linear_with_couplings(kind):
    sizes = []
    for n in (12, 24):
        m = Maker("chain")
        for k in range(n):
            rotor = Rotor(m.node(0.1), m.node(20), gyroscopic=True) if kind == "gyroscopic" else None
            inertia = random_inertia(np.random.default_rng(k))
            m.body(f"b{k}", "revolute", "world" if k == 0 else f"b{k - 1}", "xyz"[k % 3], (0.1, 0.2, 0.3), mass=1.0,
                   com=(0.1, 0, 0.2), inertia=inertia, rotor=rotor)  # fmt: skip
            if kind == "mimic" and k % 2:
                m.joints[k] = dataclasses.replace(m.joints[k], mimic=Mimic(f"j_b{k - 1}", m.node(0.5), m.node(0)))
        problem = problem_of(m.done())
        problem.outputs("forward", "order_n")
        sizes.append(len(problem.tree.graph))
    assert sizes[1] < 2.2 * sizes[0]


@pytest.mark.parametrize("seed", range(6))
def test_mass_matrix_is_symmetric_and_positive_definite(seed):
    mech, (q, qd, _) = moving_tree(seed + 500, 8, massless=False)
    problem = problem_of(mech)
    mass = numbers(problem.tree, problem.outputs("semi_explicit", "base")["M"], q, qd)
    np.testing.assert_array_equal(mass, mass.T)
    assert np.min(np.linalg.eigvalsh(mass)) > 0


@pytest.mark.parametrize("solver", ["ldlt", "local", "textbook"])
def test_driven_joints_accelerate_as_given_and_the_others_follow(solver):
    mech, (q, qd, qdd) = moving_tree(9, 7, couplings=False, massless=False, kinds=["revolute", "prismatic", "ball"])
    joints = tuple(driven(mech, j) if k in (1, 4) else j for k, j in enumerate(mech.joints))
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
        problem = problem_of(mech)
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


def test_order_n_refuses_the_mass_matrix_and_joints_that_move_nothing_by_name():
    with pytest.raises(ModelError, match="never forms the mass matrix"):
        semi_explicit(load("pendulum2"), "order_n")
    m = Maker("pair")
    m.body("a", "revolute", "world", "z", mass=1.0, inertia=random_inertia(np.random.default_rng(1)))
    m.body("b", "revolute", "a", "z")
    with pytest.raises(ModelError, match=r"j_b.*not determined"):
        forward_dynamics(m.done(), "order_n")


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


@pytest.mark.parametrize("further", ["", "arm"])
def test_order_n_names_a_joint_whose_inertia_another_shares(further):
    """Two hinges on one axis with nothing between them: only the sum of their angles moves something."""
    b = sb.Mechanism.builder("coaxial")
    if further:
        b.body("arm", 1.0, (0, 0.1, 0), (0.1, 0.2, 0.3)).joint("first", "revolute", "world", "arm", axis="x")
    b.body("ring").joint("outer", "revolute", further or "world", "ring", (0, 0, 0.1), axis="z")
    b.body("rod", 1.0, (0.1, 0, 0), (0.1, 0.2, 0.3)).joint("inner", "revolute", "ring", "rod", axis="z")
    with pytest.raises(ModelError, match="joint 'outer' moves nothing that has mass or inertia which the joints"):
        forward_dynamics(b.done(), "order_n")
