"""The reference for closed loops: rows of cuts, branches, ranks, and the dense solution in maximal coordinates."""

from __future__ import annotations

import numpy as np
import pytest

import symbody as sb
from symbody.reference.bodies import NumericModel
from symbody.reference.body_dynamics import BodyMotion
from symbody.reference.closed_search import closed_positions, consistent_velocities, starts
from symbody.reference.closures import Closures
from symbody.reference.maximal import solve

FREEDOM = {  # of a free body that is cut to another, by the kind of the cut
    "solid": 0, "ball": 3, "rod": 5, "revolute": 1, "prismatic": 1, "universal": 2, "cylindrical": 2,
}  # fmt: skip


def held(kind, **options):
    """A free body, cut to a frame of the ground."""
    b = sb.Mechanism.builder(f"held_{kind}")
    b.body("ground", frames={"hook": {"position": (0.3, 0.2, 1.0), "rotation": ("x", 0.4)}})
    b.joint("floor", "fixed", "world", "ground")
    b.body("body", mass=1.5, com=(0.1, 0.2, 0), inertia=(0.2, 0.3, 0.4), frames={"pin": (0.2, -0.1, 0.3)})
    b.joint("free", "free", "world", "body")
    return b.cut("hold", kind, "ground.hook", "body.pin", **options).done()


@pytest.mark.parametrize("kind", FREEDOM)
def test_cuts_leave_the_freedom_of_their_kind(kind):
    closures = Closures(NumericModel(held(kind, **({"length": 0.7} if kind == "rod" else {}))))
    found = closed_positions(closures, starts(closures.model, 12, 0))
    assert len(found.q) >= 6
    assert set(6 - found.rank) == {FREEDOM[kind]}


@pytest.mark.parametrize(("rows", "freedom"), [([0], 5), ([0, 1], 4), ([0, 1, 2, 5], 2), ([3, 4], 4), ([3, 4, 5], 3)])
def test_chosen_rows_leave_the_others_free(rows, freedom):
    closures = Closures(NumericModel(held("rows", rows=rows)))
    found = closed_positions(closures, starts(closures.model, 12, 0))
    assert len(found.q) >= 6
    assert set(6 - found.rank) == {freedom}


def test_both_branches_of_a_four_bar_are_found():
    """Open and crossed: the coupler's end lies on either side of the line between the crank's pin and the hinge."""
    closures = Closures(NumericModel(sb.load("four_bar")))
    found = closed_positions(closures, starts(closures.model, 32, 0))
    q = found.q
    pin = np.stack([-0.1 * np.sin(q[:, 0]), 0.1 * np.cos(q[:, 0])], axis=1)
    end = np.stack([0.4 - 0.3 * np.sin(q[:, 2]), 0.3 * np.cos(q[:, 2])], axis=1)
    line = np.array([0.4, 0.0]) - pin
    side = np.sign(line[:, 0] * (end - pin)[:, 1] - line[:, 1] * (end - pin)[:, 0])
    assert set(side) == {-1.0, 1.0}
    assert set(found.rank) == {2}


def test_rank_sees_what_a_singular_branch_hides():
    """A scissor of two pairs: one degree of freedom, two on the branch on which the first pair lies flat."""
    closures = Closures(NumericModel(scissor()))
    found = closed_positions(closures, starts(closures.model, 64, 0))
    assert 1 in set(5 - found.rank[found.rank >= 0])


def scissor():
    length = 0.4
    b = sb.Mechanism.builder("scissor", gravity=(0, -9.81, 0))
    for n in ("a1", "b1", "a2", "b2"):
        b.body(n, mass=0.3, com=(length / 2, 0, 0), inertia=(0, 0, 0.004), frames={"mid": (length / 2, 0, 0)})
    b.body("sl", mass=0.2)
    b.joint("a1", "revolute", "world", "a1").joint("sl", "prismatic", "world", "sl", axis="x")
    b.joint("b1", "revolute", "sl", "b1").joint("a2", "revolute", "b1", "a2", position=(length, 0, 0))
    b.joint("b2", "revolute", "a1", "b2", position=(length, 0, 0))
    return b.cut("m1", "ball", "a1.mid", "b1.mid").cut("m2", "ball", "a2.mid", "b2.mid").done()


def test_a_slider_crank_accelerates_as_its_formula_says():
    """A massless rod between a crank and a slider of mass m: the crank feels m x'(angle)^2, x = r cos + sqrt(...)."""
    r, length, inertia, m = 0.2, 0.7, 0.05, 1.3
    b = sb.Mechanism.builder("sc", gravity=(0, 0, 0))
    b.body("crank", inertia=(0, 0, inertia), frames={"pin": (r, 0, 0)}).body("slider", mass=m)
    b.joint("c", "revolute", "world", "crank").joint("s", "prismatic", "world", "slider", axis="x", mode="passive")
    model = NumericModel(b.cut("rod", "rod", "crank.pin", "slider", length=length).done())
    closures = Closures(model)
    angle, speed, torque = 0.8, 2.0, 1.7
    root = np.sqrt(length**2 - (r * np.sin(angle)) ** 2)
    x = r * np.cos(angle) + root
    slope = -r * np.sin(angle) - r * r * np.sin(angle) * np.cos(angle) / root
    bend = -r * np.cos(angle) - r * r * (np.cos(2 * angle) / root + (r * np.sin(angle) * np.cos(angle)) ** 2 / root**3)
    wanted = (torque - m * slope * bend * speed**2) / (inertia + m * slope**2)
    q, qd = np.array([[angle, x]]), np.array([[speed, slope * speed]])
    assert np.abs(closures.gap(q)).max() < 1e-14
    found = solve(BodyMotion(model, q, qd), closures, np.array([[torque, 0.0]]))
    np.testing.assert_allclose(found.qdd[0], [wanted, slope * wanted + bend * speed**2], rtol=1e-12)
    # the rod's thrust moves the slider, and nothing else does
    np.testing.assert_allclose(found.loops[0, 1], m * found.qdd[0, 1], rtol=1e-12)


@pytest.mark.parametrize("name", ["bricard", "whipple_bicycle"])
def test_redundant_and_velocity_rows_leave_one_motion(name):
    """The dense solution satisfies the projected equations of the free bodies and keeps the loops closed."""
    model = NumericModel(sb.load(name))
    closures = Closures(model)
    q = closed_positions(closures, starts(model, 8, 0)).q[:3]
    rng = np.random.default_rng(0)
    qd = consistent_velocities(closures, q, rng.uniform(-1, 1, (len(q), model.nv)))
    tau = rng.uniform(-1, 1, qd.shape)
    found = solve(BodyMotion(model, q, qd), closures, tau)
    motion = BodyMotion(model, q, qd, found.qdd)
    left = motion.efforts() - tau - found.loops
    assert np.abs(left / motion.effort_terms()).max() < 1e-10
    assert np.abs(closures.rows(motion).hdd).max() < 1e-8


def test_a_rod_that_lengthens_with_time_drives_its_end():
    model = NumericModel(_growing())
    closures = Closures(model)
    motion = BodyMotion(model, [[0.5]], [[1.2]], [[0.8]], t=0.5)
    rows = closures.rows(motion)
    np.testing.assert_allclose(rows.h[0], [0.5 - (0.25 + 0.3 * 0.25)])
    np.testing.assert_allclose(rows.hd[0], [1.2 - 0.6 * 0.5])
    np.testing.assert_allclose(rows.hdd[0], [0.8 - 0.6])


def _growing():
    b = sb.Mechanism.builder("growing").body("ground").joint("g", "fixed", "world", "ground").body("b", mass=1)
    b.joint("x", "prismatic", "world", "b", axis="x")
    return b.cut("rod", "rod", "ground", "b", length="0.25 + 0.3*t^2").done()
