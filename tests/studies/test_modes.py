"""Modes: chains of masses and springs in closed form, pendulums, a damped oscillator, free bodies."""

import numpy as np
import pytest

import symbody as sb
from symbody.basics.errors import ModelError
from symbody.studies.linear.linearize import linearize
from symbody.studies.modal.mode_motion import mode_trajectory
from symbody.studies.modal.modes import modes


def chain(n, k=200.0, m=0.5, fixed_end=True, damping=0.0):
    """n equal masses on a line, springs between neighbours, the first (and maybe the last) held by the world."""
    builder = sb.Mechanism.builder("chain", gravity=[0, 0, 0])
    builder.body("wall", frames={"far": [float(n + 1), 0, 0]})
    builder.joint("anchor", "fixed", "world", "wall")
    for i in range(1, n + 1):
        builder.body(f"m{i}", mass=m)
        builder.joint(f"x{i}", "prismatic", "world", f"m{i}", position=[float(i), 0, 0], axis="x")
    law = {"stiffness": k, "damping": damping, "length": 1.0}
    for i in range(n + 1):
        first = ("wall", "") if i == 0 else (f"m{i}", "")
        if i < n:
            builder.force(f"s{i}", "spring_damper", [first, (f"m{i + 1}", "")], **law)
        elif fixed_end:
            builder.force(f"s{i}", "spring_damper", [first, ("wall", "far")], **law)
    return builder.done()


@pytest.mark.parametrize("n", [1, 2, 5, 9])
def test_chain_between_walls(n):
    k, m = 200.0, 0.5
    found = modes(chain(n, k, m))
    r = np.arange(1, n + 1)
    np.testing.assert_allclose(found.omegas, 2 * np.sqrt(k / m) * np.sin(r * np.pi / (2 * (n + 1))), rtol=1e-10)
    for j, mode in enumerate(r):
        exact = np.sin(mode * np.pi * r / (n + 1))
        shape = found.shapes[:, j]
        np.testing.assert_allclose(np.abs(shape @ exact), np.linalg.norm(shape) * np.linalg.norm(exact), rtol=1e-10)
    np.testing.assert_allclose(found.participation.sum(axis=1), 1)
    assert not found.rigid.any()


@pytest.mark.parametrize("n", [1, 3, 8])
def test_chain_with_a_free_end(n):
    k, m = 120.0, 1.5
    found = modes(chain(n, k, m, fixed_end=False))
    r = np.arange(1, n + 1)
    exact = 2 * np.sqrt(k / m) * np.sin((2 * r - 1) * np.pi / (2 * (2 * n + 1)))
    np.testing.assert_allclose(found.omegas, exact, rtol=1e-10)
    np.testing.assert_allclose(found.frequencies, exact / (2 * np.pi), rtol=1e-10)


def test_damped_chain_keeps_the_shapes_of_the_undamped_one():
    """Damping proportional to stiffness: zeta_r = omega_r c / (2 k)."""
    n, k, m, c = 4, 200.0, 0.5, 0.3
    found = modes(chain(n, k, m, damping=c))
    omega = 2 * np.sqrt(k / m) * np.sin(np.arange(1, n + 1) * np.pi / (2 * (n + 1)))
    assert found.kind == "damped"
    np.testing.assert_allclose(found.omegas, omega, rtol=1e-9)
    np.testing.assert_allclose(found.damping, omega * c / (2 * k), rtol=1e-8)
    np.testing.assert_allclose(found.damped_frequencies, omega * np.sqrt(1 - found.damping**2) / (2 * np.pi), rtol=1e-8)
    np.testing.assert_allclose(found.shapes.imag, 0, atol=1e-7)
    undamped = modes(chain(n, k, m), normalise="mass")
    M = linearize(chain(n, k, m)).M
    np.testing.assert_allclose(undamped.shapes.T @ M @ undamped.shapes, np.eye(n), atol=1e-12)


def test_double_pendulum():
    """Two equal point masses on equal rods: omega^2 = (2 -+ sqrt 2) g / l."""
    length, g = 0.9, 9.81
    mech = (
        sb.Mechanism.builder("double")
        .body("upper", mass=0.7, com=[0, 0, -length])
        .body("lower", mass=0.7, com=[0, 0, -length])
        .joint("shoulder", "revolute", "world", "upper", axis="y")
        .joint("elbow", "revolute", "upper", "lower", position=[0, 0, -length], axis="y")
        .done()
    )
    found = modes(mech)
    np.testing.assert_allclose(found.omegas**2, np.array([2 - np.sqrt(2), 2 + np.sqrt(2)]) * g / length, rtol=1e-10)
    # in phase: absolute angles 1 : sqrt 2, so relative ones 1 : sqrt 2 - 1
    np.testing.assert_allclose(found.shapes[1, 0] / found.shapes[0, 0], np.sqrt(2) - 1, rtol=1e-10)
    assert found.largest(0)[0][0] == "shoulder"
    assert "shoulder" in found.table()
    upright = modes(mech, q0=[np.pi, 0])
    assert upright.unstable.sum() == 2
    np.testing.assert_allclose(upright.eigenvalues.real**2, found.omegas**2, rtol=1e-9)
    assert "GROWS" in upright.table()


def test_free_bodies_have_rigid_modes():
    """Two bodies in space, joined by a spring: six motions of the whole, and the rest against the spring."""
    mech = (
        sb.Mechanism.builder("pair", gravity=[0, 0, 0])
        .body("hub", mass=4.0, inertia=[1.0, 1.2, 0.8])
        .body("arm", mass=1.0, com=[0.5, 0, 0], inertia=[0.1, 0.1, 0.1])
        .joint("base", "free", "world", "hub", mode="passive")
        .joint("hinge", "revolute", "hub", "arm", axis="z", stiffness=30.0)
        .done()
    )
    found = modes(mech)
    assert found.rigid.sum() == 6
    np.testing.assert_allclose(found.frequencies[:6], 0, atol=1e-6)
    # spring between two free bodies: reduced inertia from the inverse of M
    M = linearize(mech).M
    np.testing.assert_allclose(found.omegas[6], np.sqrt(30.0 * np.linalg.inv(M)[6, 6]), rtol=1e-10)
    assert found.damping[0] == 0
    motion = mode_trajectory(mech, found, 6, amplitude=0.3, frames=24)
    q = motion["q"]
    np.testing.assert_allclose(np.linalg.norm(q[:, 3:7], axis=1), 1)
    np.testing.assert_allclose(q[0], q[-1], atol=1e-12)
    assert np.abs(q[:, 7]).max() == pytest.approx(0.3, rel=1e-12)
    assert motion.t[-1] == pytest.approx(1 / found.frequencies[6])
    np.testing.assert_allclose(motion["q.hinge"], q[:, 7])


def test_modes_of_a_linkage_move_all_its_joints():
    found = modes(sb.load("four_bar"), independent=["crank"], inputs={})
    motion = mode_trajectory(sb.load("four_bar"), found, 0, amplitude=0.05)
    assert np.all(np.ptp(motion["q"], axis=0) > 1e-3)


def test_a_rolling_bicycle_has_damped_modes_only():
    mech, speed = sb.load("whipple_bicycle"), 5.0
    rolling = {"contact.1": speed, "front_contact.1": speed, "rear_spin": -speed / 0.3, "front_spin": -speed / 0.35}
    linear = linearize(mech, qd0=rolling, independent=["lean", "steer", "rear_spin"])
    found = modes(linear)
    assert found.kind == "damped"
    # Meijaard et al. 2007, Table 2, at 5 m/s: weave, capsize
    weave = found.eigenvalues[np.argmax(found.eigenvalues.imag)]
    np.testing.assert_allclose(weave, -0.775341882195845 + 4.464867713788229j, rtol=1e-7)
    assert np.abs(found.eigenvalues + 0.322866429004087).min() < 1e-6
    assert not found.unstable.any()
    assert np.ptp(mode_trajectory(mech, found, int(np.argmax(found.eigenvalues.imag)))["q.lean"]) > 0.01
    with pytest.raises(ModelError, match="rolls without slip"):
        modes(linear, "undamped")


def test_internal_states_take_part_in_damped_modes():
    mech = (
        sb.Mechanism.builder("slow")
        .body("cart", mass=1.0)
        .joint("rail", "prismatic", "world", "cart", axis="x", stiffness=9.0)
        .force("drive", "joint", ["cart"], law="actuator", time_constant=0.5)
        .done()
    )
    found = modes(mech)
    assert found.kind == "damped"
    np.testing.assert_allclose(np.sort(found.eigenvalues.imag), [0, 3], atol=1e-9)
    np.testing.assert_allclose(found.eigenvalues[np.abs(found.eigenvalues.imag) < 1e-9], [-2.0])


def test_circulatory_forces_are_noted():
    mech = sb.load("pendulum2")
    linear = linearize(mech)
    twisted = linear.replace(K2=linear.K2 + np.array([[0, 5.0], [-5.0, 0]]))
    assert "not symmetric" in modes(twisted, "undamped").notes[-1]


def test_refusals():
    with pytest.raises(ModelError, match="expected a Mechanism or a Linear"):
        modes(3)
    with pytest.raises(ModelError, match="kind='wild'"):
        modes(chain(1), "wild")
    found = modes(chain(2))
    with pytest.raises(ModelError, match="mode 7"):
        mode_trajectory(chain(2), found, 7)


@pytest.mark.parametrize("kind", ["undamped", "damped"])
def test_each_free_motion_of_a_chain_of_carts_is_named_once(kind):
    """Three carts on a rail, the last two joined by a spring: the first and the pair move freely, apart."""
    build = sb.Mechanism.builder("carts", gravity=(0, 0, 0))
    build.body("a", mass=1.0).joint("a", "prismatic", "world", "a", axis="x")
    build.body("b", mass=2.0).joint("b", "prismatic", "world", "b", axis="x")
    build.body("c", mass=3.0).joint("c", "prismatic", "b", "c", axis="x", stiffness=24.0)
    found = sb.modes(build.done(), kind)
    assert found.rigid.tolist() == [True, True, False]
    assert np.abs(found.eigenvalues[-1]) == pytest.approx(np.sqrt(24.0 * (1 / 2 + 1 / 3)))
    free = [dict(found.largest(k)) for k in range(2)]
    assert free == [{"a": pytest.approx(1.0)}, {"b": pytest.approx(1.0)}]
    np.testing.assert_allclose(np.abs(found.shapes[:, :2]), [[1, 0], [0, 1], [0, 0]], atol=1e-9)


def test_free_motions_of_a_hanging_robot_are_orthogonal_and_turn_nothing_against_gravity():
    mech = sb.load("ur5")
    rest = sb.equilibrium(mech, stable=True)
    linear = sb.linearize(mech, **rest.point)
    for kind in ("undamped", "damped"):
        found = sb.modes(linear, kind)
        assert found.rigid.sum() == 3
        free = found.shapes[:, found.rigid].real
        energy = free.T @ linear.M @ free
        np.testing.assert_allclose(energy / np.sqrt(np.outer(np.diag(energy), np.diag(energy))), np.eye(3), atol=1e-6)
        np.testing.assert_allclose(linear.K @ free, 0, atol=1e-9)
        assert len({found.largest(k)[0][0] for k in range(3)}) == 3


def test_a_slow_creeping_mode_is_no_free_motion():
    # a cart with a weak damper beside a fast oscillator: eigenvalues 0 and -d/m of the cart
    build = sb.Mechanism.builder("slow", gravity=(0, 0, 0))
    build.body("a", mass=1.0).joint("a", "prismatic", "world", "a", axis="x", viscous=1e-2)
    build.body("b", mass=1.0).joint("b", "prismatic", "world", "b", axis="x", stiffness=1e8)
    found = sb.modes(build.done(), "damped")
    assert np.sort(found.eigenvalues.real) == pytest.approx([-1e-2, 0.0, 0.0], abs=1e-7)
