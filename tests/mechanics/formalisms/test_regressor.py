"""The regressor: tau = Y pi, against virtual power, Pinocchio's regressor and inverse dynamics."""

from __future__ import annotations

import numpy as np
import pytest

import symbody as sb
from helpers.pinocchio_oracle import Peer, pin
from mechanics.formalisms.patterns import Maker, p3, random_state, random_tree
from mechanics.formalisms.reference import World
from mechanics.formalisms.test_dynamics import agree, moving_tree
from symbody.basics.errors import ModelError
from symbody.mechanics.verbs.dynamics import inverse_dynamics
from symbody.mechanics.verbs.identifiable_parameters import parameter_names, parameter_values, regressor
from symbody.model.record.joints import KINDS
from symbody.model.record.mechanism import Force


def evaluate(system, **state):
    given = {n: v for n, v in state.items() if n in system.inputs}
    return system.compile("python")(**given)


@pytest.mark.parametrize("seed", range(24))
def test_the_product_with_all_parameters_is_the_torque_of_virtual_power(seed):
    """Joints of all kinds, with rotors of both sorts, springs, friction, elasticity, mimic joints and fixed bodies."""
    mech, (q, qd, qdd) = moving_tree(seed, 1 + seed % 10)
    y = evaluate(regressor(mech, preset="none"), q=q, qd=qd, qdd=qdd)
    mass, bias = World(mech).equations(q, qd)
    agree(y @ parameter_values(mech), mass @ qdd + bias)


@pytest.mark.parametrize("seed", range(12))
def test_columns_of_bodies_are_those_of_pinocchio(seed):
    kinds = [k for k in KINDS if k != "fixed"]
    mech = random_tree(seed + 200, 1 + seed % 7, kinds, couplings=False, rotors=False, plain=True)
    q, qd, qdd = random_state(mech, seed)
    peer = Peer(mech)
    theirs = pin.computeJointTorqueRegressor(peer.model, peer.data, peer.q(q), peer.v(qd), peer.v(qdd))
    theirs = peer.back(np.asarray(theirs).T).T
    ours = evaluate(regressor(mech, preset="standard"), q=q, qd=qd, qdd=qdd)
    for k, body in enumerate(mech.bodies):
        joint = next(j for j in mech.joints if j.child == body.name)
        last = len(KINDS[joint.kind].motions(joint)) - 1
        index = peer.model.getJointId(f"{joint.name}.{last}")
        agree(ours[:, 10 * k : 10 * k + 10], theirs[:, 10 * (index - 1) : 10 * index], 1e-11)


def test_a_fixed_body_keeps_its_own_columns_and_one_on_the_world_has_no_effect():
    m = Maker("fixed")
    one = dict(mass=1.0, com=(0.1, 0.2, 0.3), inertia=np.eye(3).tolist())
    m.body("stand", "fixed", "world", **one)
    m.body("arm", "revolute", "stand", "y", **one)
    turned = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
    m.body("tool", "fixed", "arm", offset=(0.5, 0, 0), rotation=turned, **one)
    mech = m.done()
    names = parameter_names(mech)
    assert [names[k] for k in (0, 10, 29)] == ["stand.m", "arm.m", "tool.Izz"]
    y = evaluate(regressor(mech), q=np.array([0.4]), qd=np.array([0.7]), qdd=np.array([1.3]))[0]
    assert not y[:10].any()
    # the arm turns about y, which is the tool's x: its Ixx is what the arm's Iyy is
    assert y[20 + 4] == pytest.approx(y[10 + 6]) == pytest.approx(1.3)
    # a kilogram in the tool's origin is one at 0.5 along x: m r^2 about the axis, and the weight of m r
    assert y[20] == pytest.approx(0.25 * 1.3 + 0.5 * y[11], abs=1e-12)


def test_names_stand_in_the_system_and_columns_can_be_chosen():
    mech = random_tree(7, 4)
    names = parameter_names(mech)
    full = regressor(mech)
    assert full.outputs["Y"].shape == (mech.nv, len(names)) == (mech.nv, len(parameter_values(mech)))
    assert [full.origins[f"Y[:, {k}]"] for k in range(len(names))] == names
    chosen = [len(names) - 1, 3, 0]
    part = regressor(mech, columns=chosen)
    assert part.origins["Y[:, 0]"] == names[-1]
    q, qd, qdd = random_state(mech, 7)
    agree(evaluate(part, q=q, qd=qd, qdd=qdd), evaluate(full, q=q, qd=qd, qdd=qdd)[:, chosen], 1e-13)
    with pytest.raises(ModelError, match=r"expected 0 \.\."):
        regressor(mech, columns=[len(names)])


def test_force_elements_come_as_a_second_output():
    m = Maker("sprung")
    body = dict(mass=1.5, com=(0.2, 0, 0.1), inertia=np.eye(3).tolist())
    m.body("a", "revolute", "world", "y", **body)
    m.body("b", "revolute", "a", "x", offset=(0.4, 0, 0), **body)
    m.body("post", "fixed", "world", offset=(0.5, 0.4, 0.9))
    values = {"stiffness": m.node(40.0), "length": m.node(0.2), "damping": m.node(3.0)}
    spring = Force("spring", "spring_damper", (("post", ""), ("b", "")), values)
    mech = m.done().replace(forces=(spring,))
    state = dict(zip(("q", "qd", "qdd"), random_state(mech, 3)))
    result = evaluate(regressor(mech), **state)
    assert np.abs(result.tau0).max() > 0.1
    tau = evaluate(inverse_dynamics(mech, formalism="newton_euler"), **state)
    agree(result.Y @ parameter_values(mech) + result.tau0, tau)


def test_lengths_can_be_inputs_of_every_call():
    system = regressor(p3(3), parameters="runtime")
    assert {"d2", "d3", "r3", "ca2"} <= set(system.inputs)
    assert not system.parameters
    assert not {"m1", "c11", "I11_1"} & set(system.inputs)  # Y does not contain what it multiplies


def test_operations_grow_with_the_pairs_of_body_and_joint():
    """A body's ten columns take less than a hundred operations for each joint on its path, in any chain of nR."""
    for n in (3, 6, 12):
        assert regressor(p3(n)).count().total < 100 * n * (n + 1) / 2


def test_a_parameter_without_default_is_asked_for():
    m = Maker("open")
    m.body("a", "revolute", "world", "y", mass=m.graph.symbol("m", "parameter"), com=(1, 0, 0))
    mech = m.done()
    with pytest.raises(ModelError, match=r"'m' of open has no default"):
        parameter_values(mech)
    assert parameter_values(mech, {"m": 2.0})[:2] == pytest.approx([2.0, 2.0])


def test_the_regressor_of_a_closed_mechanism_is_that_of_its_opened_tree():
    """Along the motions that the loops allow, B^T Y pi = B^T tau: forces of the loops do no work there."""
    mech = sb.load("four_bar")
    system = sb.regressor(mech)
    assert "opened: Y pi = tau + J^T lam" in system.origins["Y"]
    q, tau = sb.assemble(mech, {"crank": 0.7}), np.array([0.4, 0.0, 0.0])
    closed = sb.closure(mech, velocities=True).compile()(q, np.array([1.3, 0, 0]))
    qdd = sb.forward_dynamics(mech, "base").compile()(closed.q, closed.qd, tau)
    efforts = system.compile()(closed.q, closed.qd, qdd) @ parameter_values(mech)
    np.testing.assert_allclose(closed.B.T @ efforts, closed.B.T @ tau, rtol=1e-9)
    assert np.abs(efforts - tau).max() > 1e-3  # the loops' share
    assert "opened" not in sb.regressor(sb.load("pendulum2")).origins["Y"]
