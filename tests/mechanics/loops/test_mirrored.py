"""Loops that are closed turned over by half a turn: the same mechanism as with the frame of its cut turned.

The oracle is that twin, which is closed as its frames say; and the reference, which has its own look at the frames.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import symbody as sb
from mechanics.loops.random_mechanisms import make
from symbody.basics.errors import SolveError
from symbody.model.record.mechanism import Placement

BODY = {"mass": 1.0, "inertia": (0.02, 0.03, 0.04)}


def oldham():
    """Two shafts and a disc with crossed slots."""
    b = sb.Mechanism.builder("oldham", gravity=(0, -9.81, 0))
    slot = {"rotation": ["z", "90*deg"]}
    b.body("s1", com=(0, 0.01, 0), **BODY).body("disc", com=(0.01, 0, 0), **BODY)
    b.body("s2", com=(0, 0.02, 0), frames={"slot": slot}, **BODY)
    b.joint("s1", "revolute", "world", "s1").joint("disc", "prismatic", "s1", "disc", axis="x", mode="passive")
    b.joint("s2", "revolute", "world", "s2", position=(0.1, 0.05, 0), mode="passive")
    mech = b.cut("slide", "prismatic", "disc", "s2.slot", axis="y").done()
    return mech, sb.assemble(mech, [0.3, 0.05, 0.3])


def spherical():
    """Five hinges whose axes meet in a point; two rotation rows."""
    b = sb.Mechanism.builder("spherical", gravity=(0, 0, -9.81))
    b.body("l1", com=(0.1, 0.2, 0.3), **BODY).body("l2", com=(0.1, -0.2, 0.3), **BODY)
    b.body("r1", com=(-0.1, 0.2, 0.1), **BODY)
    b.body("r2", com=(-0.1, 0.2, 0.3), frames={"e": {"rotation": ["x", 0.7]}}, **BODY)
    b.joint("l1", "revolute", "world", "l1")
    b.joint("l2", "revolute", "l1", "l2", rotation=("x", 0.9), mode="passive")
    b.joint("r1", "revolute", "world", "r1", rotation=("x", 1.3), mode="passive")
    b.joint("r2", "revolute", "r1", "r2", rotation=("x", 0.8), mode="passive")
    mech = b.cut("e", "rows", "l2", "r2.e", rows=["rx", "ry"]).done()
    return mech, sb.assemble(mech, [0.3, 0.4, -0.2, 0.5])


def sarrus():
    """Two pairs of bars in planes across each other lift a plate; the last hinge of the second pair is cut."""
    b = sb.Mechanism.builder("sarrus", gravity=(0, 0, -9.81))
    across = {"rotation": ["y", "90*deg"]}
    b.body("plate", frames={"b": {"position": (-0.3, 0.3, 0), **across}}, **BODY)
    for name in ("a1", "a2", "b1"):
        b.body(name, com=(0, 0, 0.2), **BODY)
    b.body("b2", com=(0, 0, 0.2), frames={"top": {"position": (0, 0, 0.4), **across}}, **BODY)
    b.joint("a1", "revolute", "world", "a1", position=(0.3, 0, 0), axis="y")
    passive = {"mode": "passive", "position": (0, 0, 0.4)}
    b.joint("a2", "revolute", "a1", "a2", axis="y", **passive)
    b.joint("plate", "revolute", "a2", "plate", axis="y", **passive)
    b.joint("b1", "revolute", "world", "b1", position=(0, 0.3, 0), axis="x", mode="passive")
    b.joint("b2", "revolute", "b1", "b2", axis="x", **passive)
    mech = b.cut("top", "revolute", "b2.top", "plate.b").done()
    return mech, np.array([0.5, -1.0, 0.5, 0.5, -1.0])


def drawn(seed):
    case = make(seed)
    return case.mech, case.q


def turned(mech):
    """The same mechanism with the second frame of each cut turned by half a turn about another axis than the cut's."""
    bodies = {b.name: b for b in mech.bodies}
    cuts = []
    for cut in mech.cuts:
        body, name = cut.second
        axis = {"x": 2, "y": 2, "z": 0}[cut.axis]
        half = (2.0 * np.outer(np.eye(3)[axis], np.eye(3)[axis]) - np.eye(3)).astype(int).astype(object)
        one = mech.graph.number
        half = np.array([[one(int(x)) for x in row] for row in half], dtype=object)
        owner = bodies[body]
        place = owner.frames[name] if name else Placement(half @ half, owner.com * one(0))
        other = Placement(place.rotation @ half, place.position)
        bodies[body] = dataclasses.replace(owner, frames={**owner.frames, f"{cut.name}_turned": other})
        cuts.append(dataclasses.replace(cut, second=(body, f"{cut.name}_turned")))
    return mech.replace(bodies=tuple(bodies.values()), cuts=tuple(cuts))


@pytest.mark.parametrize("closing", [None, sb.Augmented()], ids=["reduced", "augmented"])
@pytest.mark.parametrize("model", [oldham, spherical, sarrus])
def test_a_mirrored_closure_moves_as_its_twin_with_a_turned_frame(model, closing):
    mech, q = model()
    twin = turned(mech)
    options = {} if closing is None else {"closing": closing}
    want = sb.simulate(mech, 0.2, 1e-3, q0=q, **options)
    run = sb.simulate(twin, 0.2, 1e-3, q0=q + 1e-8, **options)  # closed nearly: on the branch that is meant
    np.testing.assert_allclose(want.q[0], q, atol=1e-9)
    np.testing.assert_allclose(run.q, want.q, atol=2e-6)
    assert np.ptp(want.q, axis=0).max() > 0.01


@pytest.mark.parametrize("model", [oldham, pytest.param(spherical, marks=pytest.mark.slow)])
def test_a_mirrored_closure_is_certified_by_the_reference(model):
    mech, q = model()
    assert sb.verify(turned(mech), at=q)


def test_verbs_take_the_partition_of_a_mirrored_closure():
    mech, q = oldham()
    twin = turned(mech)
    at = sb.partition(twin, q=q)
    zero, tau = np.zeros(3), np.array([1.0, 0.0, 0.0])
    want = sb.forward_dynamics(mech).compile()(q, zero, tau)
    np.testing.assert_allclose(sb.forward_dynamics(twin, partition=at).compile()(q, zero, tau), want, rtol=1e-10)
    np.testing.assert_allclose(sb.linearize(twin, q0=q).A, sb.linearize(mech, q0=q).A, rtol=1e-8, atol=1e-8)
    with pytest.raises(SolveError, match=r"the wrong way round.*sb.partition\(mech, q=...\)"):
        sb.closure(twin).compile()(q, zero)  # made for the other one


def test_a_guess_near_a_mirrored_closure_is_assembled_there():
    mech, q = sarrus()
    twin = turned(mech)
    np.testing.assert_allclose(sb.assemble(twin, q + 1e-3), sb.assemble(mech, q + 1e-3), atol=1e-9)
    run = sb.simulate(twin, 0.05, 1e-3, q0={"a1": 0.5, "a2": -1.0, "b1": 0.5, "b2": -1.0, "plate": 0.5})
    np.testing.assert_allclose(run.q[0], q, atol=1e-9)


def test_a_weld_that_is_turned_over_stays_refused():
    b = sb.Mechanism.builder("welded")
    b.body("a", **BODY).body("b", **BODY)
    b.joint("a", "revolute", "world", "a", axis="z").joint("b", "revolute", "world", "b", axis="z")
    mech = b.cut("weld", "solid", "a", "b").done()
    q = sb.assemble(mech, [0.3, 0.3 + np.pi])
    np.testing.assert_allclose(np.cos(q[0] - q[1]), 1.0, atol=1e-12)


def test_half_a_turn_about_an_axis_of_the_ancestor_is_no_slide():
    """Three rotation rows vanish after it, and the axes of the slide cross."""
    b = sb.Mechanism.builder("crossed")
    b.body("a", **BODY).body("b", **BODY)
    b.joint("a", "ball", "world", "a").joint("b", "free", "world", "b")
    mech = b.cut("slide", "prismatic", "a", "b", axis="z").done()
    at = np.array([np.cos(0.3), np.sin(0.3), 0, 0])  # of a: a turn about x; b: half a turn about y behind it
    other = np.array([0, 0, np.cos(0.3), -np.sin(0.3)])
    q = sb.assemble(mech, np.concatenate([at, [0, 0, 0], other]))
    (w1, x1, y1, z1), (w2, x2, y2, z2) = q[:4], q[7:]
    first = np.array([2 * (x1 * z1 + w1 * y1), 2 * (y1 * z1 - w1 * x1), 1 - 2 * (x1**2 + y1**2)])
    second = np.array([2 * (x2 * z2 + w2 * y2), 2 * (y2 * z2 - w2 * x2), 1 - 2 * (x2**2 + y2**2)])
    np.testing.assert_allclose(first, second, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [8, 12, 13, 18, 33, 37, 38])
def test_mirrored_random_mechanisms_move_as_drawn(seed):
    mech, q = drawn(seed)
    want = sb.simulate(mech, 0.05, 1e-3, q0=q)
    run = sb.simulate(turned(mech), 0.05, 1e-3, q0=q)
    np.testing.assert_allclose(run.q, want.q, atol=1e-6)
