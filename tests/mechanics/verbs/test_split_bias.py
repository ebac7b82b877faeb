"""sb.coriolis and sb.gravity: against Pinocchio, against differences of M and of the potential energy, against c."""

from __future__ import annotations

import numpy as np
import pytest

import symbody as sb
from mechanics.formalisms.patterns import random_state, random_tree
from symbody.basics.errors import ModelError
from symbody.model.record.coordinates import retract, velocity_labels

STEP = 1e-3


def slope(f, h=STEP):
    """Derivative at 0 by differences of sixth order."""
    weights = {1: 45, 2: -9, 3: 1}
    return sum(w * (f(k * h) - f(-k * h)) for k, w in weights.items()) / (60 * h)


def kernel(system):
    return system.compile("python")


@pytest.mark.parametrize("name", ["ur5", "panda", "puma560", "stanford_arm", "satellite_arm", "human"])
def test_matrix_and_weight_are_those_of_pinocchio(name):
    """Of models whose joints stand in depth-first order, which Pinocchio's matrix asks for."""
    oracle = pytest.importorskip("pinocchio") and pytest.importorskip("helpers.pinocchio_oracle")
    mech = sb.load(name)
    q, qd, _ = random_state(mech, 1)
    peer, pin = oracle.Peer(mech), oracle.pin
    weight = peer.back(pin.computeGeneralizedGravity(peer.model, peer.data, peer.q(q)))
    np.testing.assert_allclose(kernel(sb.gravity(mech))(q), weight, rtol=1e-11, atol=1e-11 * np.abs(weight).max())
    found = pin.computeCoriolisMatrix(peer.model, peer.data, peer.q(q), peer.v(qd))
    expected = peer.back(peer.back(found).T).T
    ours = kernel(sb.coriolis(mech))(q, qd)
    np.testing.assert_allclose(ours, expected, rtol=1e-10, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("seed", range(5))
def test_rate_of_mass_less_twice_the_matrix_is_skew(seed):
    mech = random_tree(seed + 500, 6)
    q, qd, _ = random_state(mech, seed)
    mass = kernel(sb.semi_explicit(mech, formalism="newton_euler", loops=False))
    c = kernel(sb.coriolis(mech, loops=False))(q, qd)
    rate = slope(lambda s: mass(retract(mech, q, s * qd), qd).M)
    skew = rate - 2 * c
    assert np.abs(skew + skew.T).max() < 1e-8 * max(1.0, np.abs(c).max())


@pytest.mark.parametrize("seed", range(5))
def test_parts_make_up_the_efforts_at_zero_acceleration(seed):
    """Of trees without laws of joints and force elements nothing else is in c, which Lagrange's equations give."""
    mech = random_tree(seed + 700, 6, plain=True)
    q, qd, _ = random_state(mech, seed)
    tree = kernel(sb.semi_explicit(mech, formalism="lagrange", loops=False))(q, qd)
    found = kernel(sb.coriolis(mech, loops=False))(q, qd) @ qd + kernel(sb.gravity(mech, loops=False))(q)
    np.testing.assert_allclose(found, tree.c, rtol=1e-10, atol=1e-10 * np.abs(tree.c).max())


@pytest.mark.parametrize("name", ["human", "satellite_arm", "stanford_arm", "whipple_bicycle", "puma560"])
def test_weight_is_the_gradient_of_its_potential(name):
    mech = sb.load(name)
    bare = mech.replace(forces=())
    bare = bare.replace(joints=tuple(type(j)(**{**vars_of(j), "stiffness": None}) for j in bare.joints))
    q, _, _ = random_state(bare, 3)
    energy = kernel(sb.energy(bare, loops=False))
    rest = np.zeros(bare.nv)
    expected = [slope(lambda s, e=e: energy(retract(bare, q, s * e), rest, rest).potential) for e in np.eye(bare.nv)]
    np.testing.assert_allclose(kernel(sb.gravity(bare, loops=False))(q), expected, rtol=1e-8, atol=1e-8)


def vars_of(record):
    return {name: getattr(record, name) for name in record.__dataclass_fields__}


@pytest.mark.parametrize("name", ["four_bar", "slider_crank", "three_loops", "stewart_light", "delta_light"])
def test_closed_mechanisms_have_the_same_on_their_independent_velocities(name):
    mech = sb.load(name).replace(forces=())
    q = sb.assemble(mech)
    rng = np.random.default_rng(5)
    closed = kernel(sb.closure(mech))
    reduced = kernel(sb.semi_explicit(mech, formalism="newton_euler"))
    c, g = kernel(sb.coriolis(mech)), kernel(sb.gravity(mech))
    at = closed(q, rng.uniform(-1, 1, mech.nv))
    parts = reduced(at.q, at.qd)
    labels = list(velocity_labels(mech))
    u = [labels.index(sb.coriolis(mech).origins[f"C[{j}]"]) for j in range(len(parts.c))]
    np.testing.assert_allclose(
        c(at.q, at.qd) @ at.qd[u] + g(at.q), parts.c, rtol=1e-9, atol=1e-9 * np.abs(parts.c).max()
    )

    def mass(s):
        moved = closed(retract(mech, at.q, s * at.qd), at.qd)
        return reduced(moved.q, moved.qd).M

    skew = slope(mass) - 2 * c(at.q, at.qd)
    assert np.abs(skew + skew.T).max() < 1e-7 * max(1.0, np.abs(parts.M).max())


def test_pendulum_has_the_matrix_of_textbooks():
    """Uniform rods: C = m2 l1 l2 / 2 sin(q2) [[-qd2, -(qd1 + qd2)], [qd1, 0]]."""
    found = kernel(sb.coriolis(sb.load("pendulum2")))([0.3, 0.7], [1.0, 2.0])
    np.testing.assert_allclose(found, np.sin(0.7) / 2 * np.array([[-2.0, -3.0], [1.0, 0.0]]), rtol=1e-14, atol=1e-16)


def test_loop_that_moves_in_time_has_no_matrix():
    b = sb.Mechanism.builder("cam")
    b.body("a", 1, (0.1, 0, 0), (1, 1, 1)).body("b", 1, (0.1, 0, 0), (1, 1, 1))
    b.joint("ja", "revolute", "world", "a", axis="y").joint("jb", "revolute", "world", "b", axis="y")
    b.coupling("lift", "q.jb - sin(q.ja)*cos(2*t)")
    with pytest.raises(ModelError, match="'lift' of cam moves in time by itself"):
        sb.coriolis(b.done())


def test_anything_but_a_mechanism_is_refused():
    with pytest.raises(ModelError, match="Load it first"):
        sb.coriolis("pendulum2")
