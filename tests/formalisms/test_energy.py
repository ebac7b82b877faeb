"""Energies, powers, mass and centre of mass against Pinocchio and against the balance of power."""

from __future__ import annotations

import numpy as np
import pytest

import symbody as sb
from formalisms.patterns import random_state, random_tree
from formalisms.reference import World
from pinocchio_oracle import Peer, pin
from symbody.errors import ModelError
from symbody.model.builder import Builder
from symbody.verbs.energy import energy


def evaluate(system, *state):
    given = dict(zip(("q", "qd", "tau"), state))
    names = {s.name: v for n, a in system.inputs.items() for s, v in zip(a, given[n])}
    return {n: np.array(sb.evaluate(list(a.flat), names)).reshape(a.shape) for n, a in system.outputs.items()}


@pytest.mark.parametrize("seed", range(6))
def test_energies_and_centre_of_mass_agree_with_pinocchio(seed):
    mech = random_tree(seed + 20, 7, couplings=False, plain=True)
    q, qd, tau = random_state(mech, seed)
    found = evaluate(energy(mech), q, qd, tau)
    peer = Peer(mech)
    model, data = peer.model, peer.data
    assert found["kinetic"] == pytest.approx(0.5 * qd @ peer.mass_matrix(q) @ qd, rel=1e-12)
    rotors = 0.5 * model.armature @ peer.v(qd) ** 2
    model.armature = np.zeros(model.nv)
    assert found["kinetic"] == pytest.approx(pin.computeKineticEnergy(model, data, peer.q(q), peer.v(qd)) + rotors)
    potential = pin.computePotentialEnergy(model, data, peer.q(q))
    assert found["potential"] == pytest.approx(potential, rel=1e-11, abs=1e-10)
    np.testing.assert_allclose(found["com"], pin.centerOfMass(model, data, peer.q(q)), atol=1e-11)
    assert found["mass"] == pytest.approx(pin.computeTotalMass(model), rel=1e-13)
    assert found["power"] == pytest.approx(tau @ qd)
    assert found["dissipated"] == 0


@pytest.mark.parametrize("seed", range(6))
def test_energy_changes_by_the_power_of_efforts_less_friction(seed):
    """Springs, dampers, dry friction, elastic and following joints, rotors: d/dt (T + V) = tau.qd - dissipated.

    The efforts come from the reference that forms the equations by virtual power; the rate by a complex step.
    """
    mech = random_tree(seed + 200, 7)
    q, qd, qdd = random_state(mech, seed)
    world = World(mech)
    mass, bias = world.equations(q, qd)
    tau = mass @ qdd + bias
    system, h = energy(mech, preset="none"), 1e-30
    later = evaluate(
        system.replace(outputs={k: system.outputs[k] for k in ("kinetic", "potential")}),
        world.advance(q, qd, 1j * h), qd + 1j * h * qdd, tau,
    )  # fmt: skip
    rate = (later["kinetic"].imag + later["potential"].imag) / h
    now = evaluate(system, q, qd, tau)
    scale = np.sum(np.abs(tau * qd))
    assert rate == pytest.approx(float(now["power"] - now["dissipated"]), abs=1e-12 * scale)


def test_spring_and_friction_of_one_joint():
    b = Builder("spring", gravity=(0, 0, 0))
    b.body("cart", 2)
    b.joint("slide", "prismatic", "world", "cart", stiffness=5, rest=0.2, viscous=0.3, coulomb=0.7)
    found = evaluate(energy(b.done()), [0.6], [-1.5], [4.0])
    assert found["potential"] == pytest.approx(0.5 * 5 * 0.4**2)
    assert found["kinetic"] == pytest.approx(1.5**2)
    assert found["dissipated"] == pytest.approx(0.3 * 1.5**2 + 0.7 * 1.5)
    assert found["power"] == pytest.approx(-6.0)


def test_pendulum_has_the_energies_of_the_textbook():
    b = Builder("pendulum")
    m, l, g = b.parameter("m", 2.0), b.parameter("l", 0.5), 9.81
    b.body("bob", m, (0, 0, -l))
    b.joint("pivot", "revolute", "world", "bob", axis="y")
    system = energy(b.done())
    found = {
        n: float(sb.evaluate(a.item() if a.shape == () else a[0], dict(q1=0.3, qd1=1.1, tau1=0.0, m=2.0, l=0.5)))
        for n, a in system.outputs.items()
    }
    assert found["kinetic"] == pytest.approx(0.5 * 2 * (0.5 * 1.1) ** 2)
    assert found["potential"] == pytest.approx(-2 * g * 0.5 * np.cos(0.3))
    assert set(system.parameters) == {"m", "l"}


def test_parameters_may_stay_open_until_the_call():
    b = Builder("pendulum")
    b.body("bob", b.parameter("m", 2.0), (0, 0, -0.5))
    b.joint("pivot", "revolute", "world", "bob", axis="y")
    kernel = energy(b.done(), parameters="runtime").compile("python")
    light = kernel([0.3], [1.1], [0.0], m=1.0).kinetic
    assert kernel([0.3], [1.1], [0.0], m=3.0).kinetic == pytest.approx(3 * light)


def test_without_mass_there_is_no_centre_of_mass():
    b = Builder("frame")
    b.body("bar")
    b.joint("pin", "revolute", "world", "bar")
    system = energy(b.done())
    assert "com" not in system.outputs
    assert set(system.outputs) >= {"kinetic", "potential", "power", "dissipated", "mass"}


def test_spring_on_a_quaternion_is_refused():
    b = Builder("ball")
    b.body("ball", 1, inertia=(1, 1, 1))
    b.joint("socket", "ball", "world", "ball", stiffness=3)
    with pytest.raises(ModelError, match="quaternion"):
        energy(b.done())
