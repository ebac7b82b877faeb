"""Efforts of closed mechanisms with as many, more and fewer actuators than degrees of freedom (robotran T14)."""

from dataclasses import replace

import numpy as np
import pytest

import symbody as sb
from mechanics.loops.closed_models import closed_state, four_bar, rrr


def with_actuators(model, actuated):
    mech = rrr(model)
    joints = tuple(replace(j, mode="actuated" if j.name in actuated else "passive") for j in mech.joints)
    return mech.replace(joints=joints)


def motion(mech):
    """A closed state with closed accelerations, and the efforts of the opened tree for them."""
    world, q, qd, _ = closed_state(mech)
    rng = np.random.default_rng(7)
    jac, bias = world.jacobian(q), world.bias(q, qd)
    qdd = rng.normal(size=mech.nv)
    qdd -= np.linalg.lstsq(jac, jac @ qdd + bias, rcond=None)[0]
    mass, c = world.equations(q, qd)
    return world, q, qd, qdd, mass @ qdd + c


def allowed(world, q):
    """(nv, f) motions that the loops allow."""
    _, s, rows = np.linalg.svd(world.jacobian(q))
    return rows[int(np.sum(s > 1e-9)) :].T


def inverse(mech, *arguments, **options):
    system = sb.inverse_dynamics(mech, "newton_euler", preset="none", **options)
    return system.compile("python")(*arguments)


def test_as_many_actuators_as_freedoms_give_exact_efforts():
    mech = with_actuators(4, ("q1", "q3", "q5"))
    world, q, qd, qdd, phi = motion(mech)
    tau = inverse(mech, q, qd, qdd)
    passive = [k for k in range(9) if k not in (0, 2, 4)]
    np.testing.assert_array_equal(tau[passive], 0)
    n = allowed(world, q)
    np.testing.assert_allclose(n.T @ tau, n.T @ phi, atol=1e-10)  # the same virtual power on every allowed motion
    again = sb.forward_dynamics(mech, "newton_euler", preset="none").compile("python")(q, qd, tau)
    np.testing.assert_allclose(again, qdd, rtol=1e-9, atol=1e-9)


def test_more_actuators_share_the_effort_with_least_norm():
    names = ("q1", "q2", "q3", "q4", "q5", "q6")
    mech = with_actuators(4, names)
    world, q, qd, qdd, phi = motion(mech)
    tau = inverse(mech, q, qd, qdd)
    n = allowed(world, q)[:6]  # rows of the actuated joints
    right = allowed(world, q).T @ phi
    np.testing.assert_allclose(n.T @ tau[:6], right, atol=1e-10)
    np.testing.assert_allclose(tau[:6], np.linalg.lstsq(n.T, right, rcond=None)[0], rtol=1e-8, atol=1e-10)


def test_fewer_actuators_leave_psi_and_g():
    mech = with_actuators(4, ("q1", "q3"))
    world, q, qd, qdd, phi = motion(mech)
    system = sb.inverse_dynamics(mech, "newton_euler", partition=["q7", "q8", "q9"], preset="none")
    assert list(system.outputs) == ["Psi", "G"]
    found = system.compile("python")(q, qd, qdd)
    # allowed motions with unit independent velocities: the columns of B
    n = allowed(world, q)
    basis = n @ np.linalg.inv(n[6:])
    np.testing.assert_allclose(found.Psi, basis.T @ phi, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.G, basis[[0, 2]].T, rtol=1e-9, atol=1e-9)
    assert [system.origins[f"G[:, {j}]"] for j in range(2)] == ["q1", "q3"]
    assert [system.origins[f"Psi[{i}]"] for i in range(3)] == ["q7", "q8", "q9"]


@pytest.mark.parametrize("partition", [["a"], ["c"]])
def test_efforts_do_not_depend_on_the_partition(partition):
    mech = four_bar(damping=0.3)
    world, q, qd, qdd, phi = motion(mech)
    tau = inverse(mech, q, qd, qdd, partition=partition)
    n = allowed(world, q)[:, 0]
    assert tau[0] * n[0] == pytest.approx(n @ phi, rel=1e-10)
