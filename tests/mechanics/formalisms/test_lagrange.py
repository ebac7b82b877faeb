"""Lagrange's equations against differences of energies, against Pinocchio, and against published numbers."""

from __future__ import annotations

import numpy as np
import pytest

import symbody as sb
from helpers.pinocchio_oracle import Peer
from mechanics.formalisms.patterns import random_state, random_tree
from mechanics.formalisms.puma_medusa import MASS_DIAGONAL, MASS_EIGENVALUES, PUBLISHED, puma, state
from mechanics.formalisms.reference import World
from symbody.basics.errors import ModelError
from symbody.mechanics.formalisms import lagrange
from symbody.mechanics.formalisms.tree import build_tree
from symbody.mechanics.verbs.energy import energy
from symbody.model.build.builder import Builder


def equations(mech, q, qd):
    """(M, c) as floats."""
    tree = build_tree(mech)
    values = {s.name: v for a, x in ((tree.q, q), (tree.qd, qd)) for s, v in zip(a, x)}
    values.update({n: s.data.default for n, s in mech.parameters.items()})
    return [
        np.array([float(sb.evaluate(x, values)) if isinstance(x, sb.Node) else float(x) for x in a.flat]).reshape(
            a.shape
        )
        for a in lagrange.mass_and_bias(tree)
    ]


@pytest.mark.parametrize("seed", range(6))
def test_mass_and_bias_agree_with_pinocchio(seed):
    mech = random_tree(seed + 60, 6, couplings=False, plain=True)
    q, qd, qdd = random_state(mech, seed)
    mass, bias = equations(mech, q, qd)
    peer = Peer(mech)
    scale = np.abs(peer.mass_matrix(q)).max()
    np.testing.assert_allclose(mass, peer.mass_matrix(q), atol=1e-12 * scale)
    np.testing.assert_allclose(mass @ qdd + bias, peer.torques(q, qd, qdd), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("seed", range(6))
def test_mass_and_bias_agree_with_virtual_power_also_with_laws_rotors_and_followers(seed):
    mech = random_tree(seed + 500, 7)
    q, qd, _ = random_state(mech, seed)
    for found, expected in zip(equations(mech, q, qd), World(mech).equations(q, qd)):
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


def test_equations_are_those_of_differences_of_energies():
    """d/dt dL/dqd - dL/dq by differences of T and V alone, of a spatial arm with joints R, T and H."""
    b = Builder("arm", gravity=(1, -2, -9))
    b.body("a", 2, (0.1, 0.2, 0.3), (1, 2, 2.5))
    b.body("b", 1, (-0.2, 0.1, 0.4), (0.5, 0.6, 0.7))
    b.body("c", 1.5, (0.3, 0.1, -0.4), (0.5, 0.4, 0.7))
    b.joint("j1", "revolute", "world", "a", axis="x", stiffness=3, rest=0.1)
    b.joint("j2", "prismatic", "a", "b", (0, 0.3, 0.5), ("y", 0.5), "z")
    b.joint("j3", "helical", "b", "c", (0.2, 0, 0.1), ("x", -0.7), "y", pitch=0.2)
    mech = b.done()
    q, qd, qdd = random_state(mech, 1)
    kernel = energy(mech).compile("python")

    def lagrangian(x, v):
        out = kernel(x, v, np.zeros(3))
        return out.kinetic - out.potential

    def slope(f, h=2e-3):
        """Fourth-order derivative at 0 of a function of one number."""
        return (f(-2 * h) - 8 * f(-h) + 8 * f(h) - f(2 * h)) / (12 * h)

    units = np.eye(3)
    expected = []
    for e in units:

        def momentum(t, e=e):
            x, v = q + t * qd + t * t / 2 * qdd, qd + t * qdd
            return slope(lambda s: lagrangian(x, v + s * e))

        expected.append(slope(momentum) - slope(lambda s, e=e: lagrangian(q + s * e, qd)))
    mass, bias = equations(mech, q, qd)
    np.testing.assert_allclose(mass @ qdd + bias, expected, rtol=1e-8)


def test_spinning_top_obeys_euler():
    """A body on a ball joint at its centre of mass: I w' + w x I w, in body axes (Hamel's terms)."""
    b = Builder("top")
    inertia = np.array([1.0, 2.0, 2.5])
    b.body("top", 3, (0, 0, 0), inertia.tolist())
    b.joint("socket", "ball", "world", "top")
    q, w, _ = random_state(b.done(), 2)
    mass, bias = equations(b.done(), q, w)
    np.testing.assert_allclose(mass, np.diag(inertia), atol=1e-13)
    np.testing.assert_allclose(bias, np.cross(w, inertia * w), atol=1e-12)


@pytest.mark.parametrize("case", PUBLISHED)
def test_puma_torques_are_the_published_ones(case):
    q, qd, qdd = state(case)
    mass, bias = equations(puma(), q, qd)
    np.testing.assert_allclose(mass @ qdd + bias, PUBLISHED[case], atol=1e-9)


def test_puma_mass_matrix_has_the_published_eigenvalues():
    mass, _ = equations(puma(), *state("moving")[:2])
    np.testing.assert_allclose(np.diag(mass), MASS_DIAGONAL, atol=1e-11)
    np.testing.assert_allclose(np.linalg.eigvalsh(mass), MASS_EIGENVALUES, atol=1e-11)


def test_wrenches_from_outside_enter_the_bias():
    mech = random_tree(6, 5, kinds=["revolute", "ball", "helical"], couplings=False, plain=True)
    q, qd, _ = random_state(mech, 6)
    rng = np.random.default_rng(0)
    force, moment = rng.normal(size=3), rng.normal(size=3)
    tree = build_tree(mech)
    name = mech.bodies[-1].name
    index, rotation, _ = tree.places[name]
    turn = np.eye(3) if rotation is None else np.array([[float(sb.evaluate(x, {})) for x in row] for row in rotation])
    tree.wrenches[index] = (turn @ force, turn @ moment)
    _, bias = lagrange.mass_and_bias(tree)
    values = {s.name: v for a, x in ((tree.q, q), (tree.qd, qd)) for s, v in zip(a, x)}
    _, expected = World(mech).equations(q, qd, {name: np.r_[moment, force]})
    np.testing.assert_allclose(sb.evaluate(list(bias), values), expected, rtol=1e-10, atol=1e-10)


def test_large_models_are_refused_before_any_work():
    b = Builder("long")
    parent = "world"
    for k in range(13):
        b.body(f"b{k}", 1)
        b.joint(f"j{k}", "revolute", parent, f"b{k}")
        parent = f"b{k}"
    tree = build_tree(b.done())
    size = len(tree.graph)
    with pytest.raises(ModelError, match=r"long has 13 bodies; 'lagrange' is an oracle for at most 12"):
        lagrange.mass_and_bias(tree)
    assert len(tree.graph) == size
