"""Inverse dynamics by screws against Pinocchio, against virtual power, and against published torques."""

from __future__ import annotations

import numpy as np
import pytest

import symbody as sb
from helpers.pinocchio_oracle import Peer
from mechanics.formalisms.patterns import p3, random_state, random_tree
from mechanics.formalisms.puma_medusa import PUBLISHED, puma, state
from mechanics.formalisms.reference import World
from symbody.mechanics.formalisms import screw
from symbody.mechanics.formalisms.tree import build_tree
from symbody.model.build.builder import Builder
from symbody.model.record.joints import KINDS


def torques(mech, q, qd, qdd, wrenches=None):
    tree = build_tree(mech)
    values = {s.name: v for a, x in ((tree.q, q), (tree.qd, qd), (tree.qdd, qdd)) for s, v in zip(a, x)}
    values.update({n: s.data.default for n, s in mech.parameters.items()})
    nodes = screw.inverse(tree, wrenches)
    return np.array([float(sb.evaluate(x, values)) if isinstance(x, sb.Node) else float(x) for x in nodes])


@pytest.mark.parametrize(("seed", "size"), [*((k, 8) for k in range(10)), (10, 1), (11, 30), (12, 60)])
def test_torques_of_random_trees_agree_with_pinocchio(seed, size):
    mech = random_tree(seed + 40, size, couplings=False, plain=True)
    s = random_state(mech, seed)
    expected = Peer(mech).torques(*s)
    largest = np.max(np.abs(expected))
    np.testing.assert_allclose(torques(mech, *s), expected, rtol=1e-10, atol=1e-10 * max(1, largest))
    for formalism in ("newton_euler", "barycentric", "base", "order_n"):
        system = sb.inverse_dynamics(mech, formalism=formalism)
        found = system.compile("python")(*s)
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10 * max(1, largest))


@pytest.mark.parametrize("seed", range(10))
def test_torques_agree_with_virtual_power_also_with_laws_rotors_and_followers(seed):
    mech = random_tree(seed + 300, 8)
    q, qd, qdd = random_state(mech, seed)
    mass, bias = World(mech).equations(q, qd)
    expected = mass @ qdd + bias
    np.testing.assert_allclose(torques(mech, q, qd, qdd), expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kind", [k for k in KINDS if k != "fixed"])
def test_every_kind_of_joint_gives_the_efforts_of_pinocchio(kind):
    b = Builder("one", gravity=(1, 2, 3))
    b.body("arm", 1, (0.1, 0.2, 0.3), (1, 2, 2.5))
    b.body("hand", 1, (0.1, 0.2, 0.3), (1, 2, 2.5))
    pitch = {"pitch": 0.3} if kind in ("helical", "y") else {}
    b.joint("first", "revolute", "world", "arm", (0, 0.5, 0), ("x", 0.7), "y")
    b.joint("second", kind, "arm", "hand", (0.4, 0, 0.2), ("y", -0.4), (2, -1, 2), **pitch)
    mech = b.done()
    s = random_state(mech, 3)
    np.testing.assert_allclose(torques(mech, *s), Peer(mech).torques(*s), atol=1e-11)


def cylindrical_arm(kind):
    b = Builder("arm")
    b.body("arm", 1.5, (0.1, 0.2, 0.3), (1, 2, 2.5))
    b.joint(
        "first", kind, "world", "arm", (0, 0.5, 0), ("x", 0.7), "z", **({"pitch": 0.25} if kind == "helical" else {})
    )
    return b.done()


def test_cylindrical_joint_gives_force_and_torque_and_reduces_to_its_parts():
    """Both kappa and tau of MEDUSA's C joint (A20); with one motion at rest it is an R, a P, or an H joint."""
    both = cylindrical_arm("cylindrical")  # coordinates: translation, then rotation
    theta, thetad, thetadd = 0.4, -1.2, 0.9
    force, torque = torques(both, [0.3, theta], [0, thetad], [0, thetadd])
    assert torques(cylindrical_arm("revolute"), [theta], [thetad], [thetadd])[0] == pytest.approx(torque)
    d, dd, ddd = 0.3, 0.8, -0.5
    force, _ = torques(both, [d, 0.0], [dd, 0], [ddd, 0])
    assert torques(cylindrical_arm("prismatic"), [d], [dd], [ddd])[0] == pytest.approx(force)
    p = 0.25
    force, torque = torques(both, [p * theta, theta], [p * thetad, thetad], [p * thetadd, thetadd])
    found = torques(cylindrical_arm("helical"), [theta], [thetad], [thetadd])[0]
    assert found == pytest.approx(torque + p * force)  # Q = tau + p kappa


@pytest.mark.parametrize("case", PUBLISHED)
def test_puma_torques_are_the_published_ones(case):
    np.testing.assert_allclose(torques(puma(), *state(case)), PUBLISHED[case], atol=1e-9)


def test_wrench_from_outside_is_taken_by_the_joints():
    """A force and a moment on the last body, in its axes, against the reference by virtual power."""
    mech = random_tree(6, 5, kinds=["revolute", "ball", "helical"], couplings=False, plain=True)
    q, qd, qdd = random_state(mech, 6)
    rng = np.random.default_rng(0)
    force, moment = rng.normal(size=3), rng.normal(size=3)
    tree = build_tree(mech)
    name = mech.bodies[-1].name
    index, rotation, _ = tree.places[name]
    turn = np.eye(3) if rotation is None else np.array([[float(sb.evaluate(x, {})) for x in row] for row in rotation])
    mass, bias = World(mech).equations(q, qd, {name: np.r_[moment, force]})
    found = torques(mech, q, qd, qdd, {index: (turn @ force, turn @ moment)})
    np.testing.assert_allclose(found, mass @ qdd + bias, rtol=1e-10, atol=1e-10)


def counts_of(mech):
    tree = build_tree(mech)
    system = sb.System("tau", {"q": tree.q, "qd": tree.qd, "qdd": tree.qdd}, {"tau": screw.inverse(tree)})
    return system.optimize("standard").count()


@pytest.mark.parametrize("n", [3, 6, 10])
def test_operation_count_of_a_general_arm_keeps_the_promise_of_the_thesis(n):
    """114 n - 85 multiplications and 88 n - 72 additions (MEDUSA, Table 4.1), which its own program does not reach."""
    counts = counts_of(p3(n))
    assert counts.mul <= 114 * n - 85
    assert counts.add <= 88 * n - 72


def test_operation_count_of_the_puma_beats_the_printed_program():
    """520 multiplications and 384 additions in the thesis' listing, 12 trigonometric functions (MEDUSA, 4.3)."""
    counts = counts_of(puma(symbolic=True))
    assert counts.mul <= 420
    assert counts.add <= 335
    assert counts.trig <= 12
    assert counts.div == 0
