"""sb.center_of_mass and sb.centroidal_momentum: Pinocchio, differences in time, Newton's law of the whole."""

from __future__ import annotations

import numpy as np
import pytest

import symbody as sb
from mechanics.formalisms.patterns import random_state, random_tree
from mechanics.verbs.test_split_bias import kernel, slope
from symbody.basics.errors import ModelError
from symbody.model.record.coordinates import retract


@pytest.mark.parametrize("seed", range(4))
def test_both_are_those_of_pinocchio(seed):
    oracle = pytest.importorskip("pinocchio") and pytest.importorskip("helpers.pinocchio_oracle")
    pin = oracle.pin
    mech = random_tree(seed + 60, 6, couplings=False, plain=True)
    q, qd, qdd = random_state(mech, seed)
    peer = oracle.Peer(mech)
    model, data = peer.model, peer.data
    args = peer.q(q), peer.v(qd), peer.v(qdd)
    com = kernel(sb.center_of_mass(mech))(q, qd, qdd)
    pin.centerOfMass(model, data, *args)
    close = dict(rtol=1e-10, atol=1e-10)
    for ours, theirs in ((com.p, data.com[0]), (com.v, data.vcom[0]), (com.a, data.acom[0])):
        np.testing.assert_allclose(ours, theirs, **close)
    np.testing.assert_allclose(com.J, peer.back(pin.jacobianCenterOfMass(model, data, peer.q(q))), **close)
    found = kernel(sb.centroidal_momentum(mech))(q, qd, qdd)
    rows = [3, 4, 5, 0, 1, 2]
    pin.computeCentroidalMomentumTimeVariation(model, data, *args)
    np.testing.assert_allclose(found.hg, data.hg.vector[rows], **close)
    np.testing.assert_allclose(found.hgd, data.dhg.vector[rows], **close)
    pin.dccrba(model, data, peer.q(q), peer.v(qd))
    np.testing.assert_allclose(found.Ag, peer.back(data.Ag)[rows], **close)
    np.testing.assert_allclose(found.Agd @ qd, peer.back(data.dAg)[rows] @ qd, **close)


@pytest.mark.parametrize("seed", range(4))
def test_rates_are_derivatives_in_time(seed):
    mech = random_tree(seed + 500, 6)
    q, qd, qdd = random_state(mech, seed)
    com, whole = kernel(sb.center_of_mass(mech, loops=False)), kernel(sb.centroidal_momentum(mech, loops=False))
    at, momentum = com(q, qd, qdd), whole(q, qd, qdd)
    close = dict(rtol=1e-8, atol=1e-8)

    def moved(s):
        return retract(mech, q, s * qd)

    np.testing.assert_allclose(at.v, slope(lambda s: com(moved(s), qd, qdd).p), **close)
    np.testing.assert_allclose(at.Jd, slope(lambda s: com(moved(s), qd, qdd).J), **close)
    np.testing.assert_allclose(momentum.Agd, slope(lambda s: whole(moved(s), qd, qdd).Ag), **close)
    np.testing.assert_allclose(momentum.hgd, momentum.Ag @ qdd + momentum.Agd @ qd, **close)
    np.testing.assert_allclose(at.p, kernel(sb.energy(mech, loops=False))(**energy_inputs(mech, q, qd)).com, **close)


def energy_inputs(mech, q, qd):
    system = sb.energy(mech, loops=False)
    given = {"q": q, "qd": qd}
    return {n: given.get(n, np.zeros(a.shape)) for n, a in system.inputs.items()}


def test_free_fall_keeps_the_momentum_about_the_centre_of_mass():
    """Without anything outside, the rate of hg is the weight, whatever the joints do."""
    mech = sb.load("human")
    q, qd, _ = random_state(mech, 2)
    forward = sb.forward_dynamics(mech, formalism="newton_euler").compile("python")
    tau = np.random.default_rng(1).uniform(-5, 5, mech.nv)
    tau[:6] = 0  # the pelvis is free
    found = kernel(sb.centroidal_momentum(mech))(q, qd, forward(q, qd, tau))
    mass = kernel(sb.energy(mech))(q, qd, tau).mass
    np.testing.assert_allclose(found.hgd, [0, 0, 0, 0, 0, -9.81 * mass], atol=1e-8)


@pytest.mark.parametrize("name", ["four_bar", "slider_crank"])
def test_closed_mechanisms_move_as_their_loops_let_them(name):
    mech = sb.load(name)
    closed = kernel(sb.closure(mech))
    at = closed(sb.assemble(mech), np.random.default_rng(3).uniform(-1, 1, mech.nv))
    com = kernel(sb.center_of_mass(mech))
    found = com(at.q, at.qd, np.zeros(mech.nv))

    def moved(s):
        return com(*closed(retract(mech, at.q, s * at.qd), at.qd), np.zeros(mech.nv))

    assert found.J.shape == (3, 1)
    np.testing.assert_allclose(found.v, slope(lambda s: moved(s).p), rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(found.Jd, slope(lambda s: moved(s).J), rtol=1e-7, atol=1e-8)
    tree = kernel(sb.center_of_mass(mech, loops=False))(at.q, at.qd, np.zeros(mech.nv))
    np.testing.assert_allclose(found.v, tree.v, rtol=1e-10, atol=1e-12)


def test_orders_are_refused_by_name():
    mech = sb.load("pendulum2")
    assert set(sb.center_of_mass(mech, order=0).outputs) == {"p"}
    assert set(sb.centroidal_momentum(mech, order=1).outputs) == {"hg", "Ag"}
    with pytest.raises(ModelError, match="order"):
        sb.center_of_mass(mech, order=3)
    with pytest.raises(ModelError, match="order"):
        sb.centroidal_momentum(mech, order=0)
