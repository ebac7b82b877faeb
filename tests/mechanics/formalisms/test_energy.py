"""Energies, powers, mass and centre of mass against Pinocchio and against the balance of power."""

from __future__ import annotations

import numpy as np
import pytest

import symbody as sb
from helpers.pinocchio_oracle import Peer, pin
from mechanics.formalisms.patterns import random_state, random_tree
from mechanics.formalisms.reference import World
from symbody.basics.errors import ModelError
from symbody.mechanics.formalisms.tree import build_tree
from symbody.mechanics.verbs.certify.states import States
from symbody.mechanics.verbs.dynamics import forward_dynamics
from symbody.mechanics.verbs.energy import energy
from symbody.model.build.builder import Builder


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


# -- force elements


def rate_of_energy(mech, count=3, seed=0, near=1.0, h=1e-5, loops=False):
    """(d/dt (kinetic + potential), outputs of the energies, scale) at random states under random efforts.

    The rate is a difference of fourth order along the accelerations of forward dynamics, (W); scale sums the sizes of
    what changes: (W), and the energies over h times the rounding of a double.
    """
    system, forward = energy(mech, loops=loops), forward_dynamics(mech, "newton_euler", loops=loops)
    point = States(mech, count, seed)
    scaled = np.array([not quaternion for quaternion in in_quaternion(mech)])
    point.q[:, scaled] *= near
    efforts = np.random.default_rng(seed).uniform(-1, 1, (count, mech.nv))
    found = point.evaluate(forward, tau=efforts)
    point.qdd = np.asarray(getattr(found, "qdd", found))
    rates = {n: np.asarray(getattr(found, f"{n}_dot")) for n in forward.states}
    start = {n: point._number(n, a.shape, 0.0) for n, a in forward.inputs.items() if n in forward.states}

    def total(step):
        q, qd = point.after(step)
        states = {n: x + step * rates[n] for n, x in start.items()}
        at = point.evaluate(system, q=q, qd=qd, tau=efforts, **states)
        return np.asarray(at.kinetic + at.potential)

    now = point.evaluate(system, tau=efforts, **start)
    rate = (total(-2 * h) - 8 * total(-h) + 8 * total(h) - total(2 * h)) / (12 * h)
    size = np.abs(now.power) + np.abs(now.dissipated) + np.abs(rate)
    rounding = 1e-15 * (np.abs(now.kinetic) + np.abs(now.potential)) / h
    return rate, now, size + 1e9 * rounding


def in_quaternion(mech):
    tree = build_tree(mech)
    inside = {s for link in tree.links for s in link.quaternion}
    return [s in inside for s in tree.q]


def vehicle(*forces):
    """A free hull with a turning arm and a sliding foot, all with mass and inertia."""
    b = Builder("vehicle")
    frames = {"a": (0.1, -0.2, 0.3), "b": {"position": (-0.3, 0.2, 0.05), "rotation": ("y", 0.4)}}
    for name in ("hull", "arm", "foot"):
        b.body(name, 2, (0.05, 0.02, -0.1), inertia=(0.3, 0.4, 0.5), frames=frames)
    b.joint("free", "free", "world", "hull", position=(0.2, 0.3, 0.1))
    b.joint("shoulder", "revolute", "hull", "arm", position=(0.5, 0, 0.1), axis="y")
    b.joint("slide", "prismatic", "arm", "foot", position=(0, 0.4, 0), axis="z")
    for name, kind, points, values in forces:
        b.force(name, kind, points, values)
    return b.done()


LINE = ["hull.a", "foot.b"]
SPRING = dict(stiffness=40, damping=3)
GROUND = dict(stiffness=900, damping=20, friction=0.7)
WHEEL = dict(radius=0.9, stiffness=2e3, damping=30)
ELEMENTS = {
    "linear spring": ("spring_damper", LINE, dict(SPRING, length=0.4)),
    "cubic spring": ("spring_damper", LINE, dict(SPRING, length=0.4, law="cubic", stiffness3=70)),
    "taut rope": ("spring_damper", LINE, dict(SPRING, length=0.1, law="pull")),
    "slack rope": ("spring_damper", LINE, dict(SPRING, length=9, law="pull")),
    "pressed buffer": ("spring_damper", LINE, dict(SPRING, length=3, law="push")),
    "actuator": ("actuator", LINE, dict(gain=3, time_constant=0.2, limit=5)),
    "link": ("link", LINE, {}),
    "constant force": ("point_force", ["arm.b"], dict(force=[1, 2, 3])),
    "wrench in body axes": ("wrench", ["arm.b"], dict(axes="body")),
    "contact": ("contact", ["foot.a"], dict(GROUND, height=3)),
    "smooth contact": ("contact", ["foot.a"], dict(GROUND, height=0.2, width=0.1)),
    "contact on a slope": ("contact", ["foot.a"], dict(GROUND, height=3, ground="slope", slope_x=0.3, slope_y=-0.2)),
    "contact with waves": (
        "contact", ["foot.a"], dict(GROUND, height=3, ground="sinusoid", amplitude=0.2, wavelength=3, heading=0.3)
    ),
    "linear tyre": (
        "tyre", ["hull"], dict(WHEEL, slip_stiffness=90, cornering_stiffness=80, camber_stiffness=20, trail=0.1,
                               rolling_resistance=0.02, relaxation_y=0.4),
    ),
    "tyre on waves": (
        "tyre", ["hull"], dict(WHEEL, slip_stiffness=90, cornering_stiffness=80, ground="sinusoid", amplitude=0.05,
                               wavelength=9, heading=0.3),
    ),
    "magic formula": ("tyre", ["hull"], dict(law="magic_formula", radius=0.9, stiffness=2e3)),
    "wheel": ("wheel", ["hull"], {}),
    "joint actuator": ("joint", ["arm"], dict(law="actuator", gain=2)),
    "joint friction": ("joint", ["foot"], dict(law="stribeck", level=2, breakaway=3, speed=0.2)),
    "joint spring": ("joint", ["foot"], dict(law="spring", stiffness=30, damping=2, length=0.1)),
    "stop": ("joint", ["foot"], dict(law="bump_stop", lower=2, upper=3, stiffness=50)),
    "smooth stop": ("joint", ["foot"], dict(law="bump_stop", lower=-0.1, upper=0.1, stiffness=50, width=0.3)),
}  # fmt: skip
SOURCES = ("actuator", "link", "constant force", "wrench in body axes", "wheel", "joint actuator")
STORES = ("spring", "rope", "buffer", "contact", "tyre", "magic", "stop")


@pytest.mark.parametrize("name", ELEMENTS)
def test_work_of_a_force_element_is_stored_given_or_lost(name):
    kind, points, values = ELEMENTS[name]
    rate, now, scale = rate_of_energy(vehicle(("x", kind, points, values)), near=0.3)
    np.testing.assert_allclose(rate, now.power - now.dissipated, rtol=0, atol=1e-9 * np.max(scale))
    bare = vehicle()
    plain = States(bare, 3, 0)
    plain.q[:, [not x for x in in_quaternion(bare)]] *= 0.3
    without = plain.evaluate(energy(bare), tau=np.random.default_rng(0).uniform(-1, 1, (3, bare.nv)))
    gives = np.max(np.abs(now.power - without.power)) > 1e-6
    stores = np.max(np.abs(now.potential - without.potential)) > 1e-6
    assert gives == (name in SOURCES)
    assert stores == (any(word in name for word in STORES) and name != "slack rope")


# the normal force of a curved ground has a potential to first order only, and a leaning tyre too
PASSIVE = [n for n, e in ELEMENTS.items() if n not in SOURCES and e[0] != "tyre" and "waves" not in n]


@pytest.mark.parametrize("name", PASSIVE)
def test_passive_elements_never_give_energy(name):
    kind, points, values = ELEMENTS[name]
    mech = vehicle(("x", kind, points, values))
    lost = States(mech, 20, 3).evaluate(energy(mech), tau=np.zeros((20, mech.nv))).dissipated
    assert np.all(lost >= -1e-12)


def test_an_upright_tyre_only_takes_energy():
    b = Builder("wheel")
    b.body("yoke")
    b.body("fork")
    b.body("carrier", 1)
    b.body("wheel", 5, inertia=(0.1, 0.2, 0.1))
    b.joint("x", "prismatic", "world", "yoke", axis="x")
    b.joint("y", "prismatic", "yoke", "fork", axis="y")
    b.joint("z", "prismatic", "fork", "carrier", axis="z")
    b.joint("axle", "revolute", "carrier", "wheel", axis="y")
    b.force("tyre", "tyre", ["wheel"], dict(WHEEL, slip_stiffness=90, cornering_stiffness=80, height=-0.8))
    mech = b.done()
    found = States(mech, 50, 2).evaluate(energy(mech), tau=np.zeros((50, 4)))
    assert np.all(found.dissipated >= -1e-12)
    assert np.max(found.dissipated) > 1


def test_a_stretched_spring_stores_and_its_damper_takes_what_the_textbook_says():
    b = Builder("mass", gravity=(0, 0, 0))
    b.body("block", 2)
    b.joint("slide", "prismatic", "world", "block", axis="x")
    b.force("spring", "spring_damper", ["block", "world"], dict(stiffness=50, damping=3, length=0.4))
    found = evaluate(energy(b.done()), [0.7], [-1.5], [4.0])
    assert found["potential"] == pytest.approx(0.5 * 50 * 0.3**2)
    assert found["dissipated"] == pytest.approx(3 * 1.5**2)
    assert found["power"] == pytest.approx(-6.0)


def test_a_block_on_elastic_ground_stores_half_its_weight_times_its_sinking():
    b = Builder("block")
    b.body("block", 2)
    b.joint("fall", "prismatic", "world", "block", axis="z")
    b.force("ground", "contact", ["block"], dict(stiffness=1000, damping=7))
    sinking = 2 * 9.81 / 1000
    found = evaluate(energy(b.done()), [-sinking], [0.0], [0.0])
    assert found["potential"] == pytest.approx(-2 * 9.81 * sinking + 0.5 * 2 * 9.81 * sinking)
    assert found["dissipated"] == 0


@pytest.mark.parametrize("name", ["motorcycle", "bogie", "car"])
def test_bundled_vehicles_keep_the_balance_of_power(name):
    rate, now, scale = rate_of_energy(sb.load(name), near=0.3)
    np.testing.assert_allclose(rate, now.power - now.dissipated, rtol=0, atol=1e-9 * np.max(scale))


def test_inputs_and_states_of_forces_are_inputs_of_the_energies():
    kind, points, values = ELEMENTS["actuator"]
    system = energy(vehicle(("push", kind, points, values)))
    assert list(system.inputs) == ["q", "qd", "tau", "u_push", "x_push"]
    assert system.inputs["u_push"].shape == ()
