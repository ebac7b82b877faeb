"""Constraint rows against geometry in world axes and against derivatives in time of h and J along motions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import symbody as sb
from mechanics.formalisms.reference import World, number, numbers
from mechanics.loops.loop_models import random_state, random_tree_with_cuts, three_rrr
from symbody.basics.errors import ModelError
from symbody.mechanics.assembly.numeric import Numeric
from symbody.mechanics.formalisms.frames import common_ancestor, frame
from symbody.mechanics.formalisms.tree import build_tree
from symbody.mechanics.loops.rows.constraint_rows import constraints
from symbody.model.build.builder import Builder
from symbody.symbolic.expr.arrays import is_zero

CAR = Path(__file__).parents[4] / "shared" / "data" / "robotran_models" / "car_43.mbs"
EXACT = {"ball", "rod", "revolute", "universal", "cylindrical"}  # J is the derivative of h everywhere
SETS = [
    {"a": "ball", "b": "rod"}, {"a": "solid"}, {"a": "revolute", "b": "universal"}, {"a": "prismatic"},
    {"a": "cylindrical"}, {"a": "rows"},
]  # fmt: skip
SEEDS = (0, 1, 3, 4, 5)  # of trees in which joints move every row of the cuts
ROWS = [(0, 2, 5), (1, 3, 4), (2,), (3, 4, 5), (0, 1, 2, 4)]


def made(seed, cuts):
    return random_tree_with_cuts(seed, cuts, rows=ROWS[seed % len(ROWS)])


def all_cases():
    return [(seed, cuts) for cuts in SETS for seed in SEEDS]


class Pair:
    """Both frames of a cut in world axes, with their unit twists, by the definition."""

    def __init__(self, mech, cut, q):
        world = World(mech)
        bodies, twists = world.poses(np.asarray(q))
        self.ends = []
        for body, name in (cut.first, cut.second):
            r, p = bodies[body]
            place = mech.body(body).frames[name]
            p = p + r @ numbers(place.position, world.values)
            jw, jv = np.zeros((3, mech.nv)), np.zeros((3, mech.nv))
            for column, factor, w, v, at in twists[body]:
                jw[:, column] += factor * w.real
                jv[:, column] += factor * (v + np.cross(w, p - at)).real
            self.ends.append(((r @ numbers(place.rotation, world.values)).real, p.real, jw, jv))
        tree = build_tree(mech)
        base = common_ancestor(tree, [frame(tree, f"{b}.{f}").link for b, f in (cut.first, cut.second)])
        self.base = np.eye(3) if base < 0 else link_rotation(tree, base, bodies, q, world)


def link_rotation(tree, index, bodies, q, world):
    """World rotation of a Link that carries a body."""
    while tree.links[index].body == "":
        raise AssertionError("an ancestor inside a joint")
    body_rotation = tree.links[index].body_rotation
    r = bodies[tree.links[index].body][0].real
    return r if body_rotation is None else r @ numbers(body_rotation, {}).T


@pytest.mark.parametrize("seed", SEEDS)
def test_a_ball_cut_is_the_difference_of_its_points_and_of_their_velocities(seed):
    mech = made(seed, {"a": "ball"})
    found = constraints(build_tree(mech))
    q, _ = random_state(mech, np.random.default_rng(seed))
    numeric, pair = Numeric(found), Pair(mech, mech.cuts[0], q)
    (_, p1, _, v1), (_, p2, _, v2) = pair.ends
    assert numeric.h(q) == pytest.approx(pair.base.T @ (p2 - p1), abs=1e-12)
    relative = pair.base.T @ (v2 - v1)
    # as the ancestor sees it: joints that carry both ends do not count
    common = ~found.pattern.any(axis=0)
    assert numeric.J(q)[:, ~common] == pytest.approx(relative[:, ~common], abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_solid_cut_has_the_relative_angular_velocity_as_rate(seed):
    mech = made(seed, {"a": "solid"})
    found = constraints(build_tree(mech))
    q, _ = random_state(mech, np.random.default_rng(seed))
    pair = Pair(mech, mech.cuts[0], q)
    (_, _, w1, _), (_, _, w2, _) = pair.ends
    J = Numeric(found).J(q)[3:]
    assert pytest.approx(pair.base.T @ (w2 - w1), abs=1e-12) == J


@pytest.mark.parametrize("seed", range(4))
def test_small_angles_of_a_solid_cut_are_small_angles(seed):
    """robotran 3.11, corrected: h_r = +theta to second order, about the axes of the ancestor."""
    rng = np.random.default_rng(seed)
    theta = rng.normal(size=3)
    b = Builder("pair")
    b.body("a", frames={"f": {"rotation": [("x", 0.7), ("y", 0.4)]}}).joint("ja", "ball", "world", "a")
    b.body("b", frames={"f": {"rotation": [("x", 0.7), ("y", 0.4)]}}).joint("jb", "ball", "world", "b")
    mech = b.cut("c", "solid", "a.f", "b.f").done()
    numeric = Numeric(constraints(build_tree(mech)))
    errors = []
    qa = rng.normal(size=4)
    qa /= np.linalg.norm(qa)
    for size in (1e-2, 1e-3):
        angle = size * theta
        turn = np.array(
            [np.cos(np.linalg.norm(angle) / 2), *(0.5 * np.sinc(np.linalg.norm(angle) / 2 / np.pi) * angle)]
        )
        w, u = turn[0], turn[1:]  # world turn, then a's own orientation
        qb = np.array([w * qa[0] - u @ qa[1:], *(w * qa[1:] + qa[0] * u + np.cross(u, qa[1:]))])
        errors.append(np.abs(numeric.h(np.concatenate([qa, qb])) - angle).max())
    assert errors[0] < 1e-2
    assert errors[1] < 0.012 * errors[0]


@pytest.mark.parametrize(("seed", "cuts"), all_cases())
def test_J_is_the_rate_of_h(seed, cuts):
    """Along random motions, by complex-free differences of sixth order; rows of three small angles are left to the
    test of angular velocities."""
    mech = made(seed, cuts)
    found = constraints(build_tree(mech))
    numeric, world = Numeric(found), World(mech)
    q, qd = random_state(mech, np.random.default_rng(seed))
    exact = [i for i, r in enumerate(found.rows) if not small_angle(mech, r)]
    rate = slope(lambda dt: numeric.h(travelled(world, q, qd, dt)))
    assert rate[exact] == pytest.approx((numeric.J(q) @ qd)[exact], rel=1e-7, abs=1e-7)


def small_angle(mech, row):
    cut = next(c for c in mech.cuts if c.name == row.loop)
    three = cut.kind in ("solid", "prismatic") or (cut.kind == "rows" and {3, 4, 5} <= set(cut.rows))
    return three and row.name.split(".")[1].startswith("r")


@pytest.mark.parametrize(("seed", "cuts"), all_cases())
def test_bias_is_the_rate_of_J_along_steady_velocities(seed, cuts):
    mech = made(seed, cuts)
    found = constraints(build_tree(mech))
    numeric, world = Numeric(found), World(mech)
    q, qd = random_state(mech, np.random.default_rng(seed))
    rate = slope(lambda dt: numeric.J(travelled(world, q, qd, dt)) @ qd)
    assert numeric.bias(q, qd) == pytest.approx(rate, rel=1e-6, abs=1e-6)


def slope(f, step=2e-3):
    """f'(0) by central differences of sixth order."""
    d1, d2, d3 = ((f(k * step) - f(-k * step)) / (2 * k * step) for k in (1, 2, 3))
    return (15 * d1 - 6 * d2 + d3) / 10


def travelled(world, q, qd, dt, steps=8):
    """q after a time dt at steady velocities, by the kinematic equations (Runge-Kutta of order 4)."""
    for _ in range(steps):
        h = dt / steps

        def rate(x):
            return np.imag(world.advance(x, qd, 1e-30j)) / 1e-30

        k1 = rate(q)
        k2 = rate(q + h / 2 * k1)
        k3 = rate(q + h / 2 * k2)
        k4 = rate(q + h * k3)
        q = q + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return q


@pytest.mark.parametrize("kind", ["revolute", "prismatic", "cylindrical", "universal"])
@pytest.mark.parametrize("axis", ["x", "y", "z"])
def test_a_cut_allows_the_motion_of_its_joint_and_no_other(kind, axis):
    """A joint of the kind between two bodies, and a cut of the same kind beside it: every motion of the joint keeps the
    cut closed, and a free body in its place would lose as many degrees of freedom as the joint takes."""
    k = "xyz".index(axis)
    axis2 = "xyz"[(k + 1) % 3]
    tilt = {"position": (0.3, -0.2, 0.5), "rotation": [("x", 0.4), ("z", 1.1)]}
    rng = np.random.default_rng(3)
    for carrier in ("joint", "free"):
        b = Builder(kind)
        b.body("a", frames={"f": tilt}).joint("ja", "spherical", "world", "a", (0.1, 0.2, 0.3))
        b.body("b")
        if carrier == "joint":
            details = {"sequence": axis + axis2} if kind == "universal" else {"axis": axis}
            b.joint("jb", kind, "a", "b", tilt["position"], tilt["rotation"], **details)
        else:
            b.joint("jb", "free", "world", "b")
        mech = b.cut("c", kind, "a.f", "b", axis=axis, axis2=axis2).done()
        found = constraints(build_tree(mech))
        if carrier == "joint":
            assert not found.rows, found.rows  # holds by itself, and is seen to
        else:
            q, _ = random_state(mech, rng)
            assert (
                np.linalg.matrix_rank(Numeric(found).J(q))
                == len(found.rows)
                == {"prismatic": 5, "revolute": 5}.get(kind, 4)
            )


def test_a_rod_keeps_a_distance():
    mech = made(1, {"a": "rod"})
    q, _ = random_state(mech, np.random.default_rng(0))
    (_, p1, _, _), (_, p2, _, _) = Pair(mech, mech.cuts[0], q).ends
    assert Numeric(constraints(build_tree(mech))).h(q) == pytest.approx([((p2 - p1) @ (p2 - p1) - 1.3**2) / 2])


def test_planar_loops_lose_the_rows_across_their_plane():
    found = constraints(build_tree(three_rrr(2)))
    assert found.names == ("hold2.x", "hold2.y", "hold2.rz", "hold3.x", "hold3.y", "hold3.rz")
    assert [n.split(" ")[0] for n in found.notes] == [
        "hold2.z",
        "hold2.rx",
        "hold2.ry",
        "hold3.z",
        "hold3.rx",
        "hold3.ry",
    ]
    turning = found.rows[2]
    assert {*turning.J.values()} <= {1, -1}
    assert is_zero(turning.bias)


def test_a_planar_loop_out_of_its_plane_is_refused_by_name():
    b = Builder("skew")
    b.body("a", frames={"tip": (1, 0, 0.1)}).joint("ja", "revolute", "world", "a")
    b.body("b", frames={"tip": (1, 0, 0)}).joint("jb", "revolute", "world", "b", (1.5, 0, 0))
    mech = b.cut("pin", "ball", "a.tip", "b.tip").done()
    with pytest.raises(ModelError, match=r"loop 'pin' cannot close: pin.z is -0.1 m"):
        constraints(build_tree(mech))


# -- couplings


def test_couplings_and_their_derivatives():
    b = Builder("coupled")
    b.parameter("n", 3.0)
    for k in (1, 2, 3):
        b.body(f"b{k}").joint(f"j{k}", "revolute", "world", f"b{k}")
    b.body("ball").joint("ball", "ball", "world", "ball")
    b.body("slave").joint("slave", "revolute", "world", "slave", mimic=("j1", 2, 0.5))
    b.coupling("gear", "q.j1 - n*q.j2")
    b.coupling("cam", "q.j3 - sin(q.j1)*cos(2*t) + q.slave")
    b.coupling("tilt", "q.ball.2*q.ball.3 - q.j1")
    b.coupling("roll", "qd.j1 - cos(q.j2)*qd.j3 + sin(t)*q.j1", kind="velocity")
    mech = b.done()
    found = constraints(build_tree(mech))
    gear, _cam, _tilt, roll = found.rows
    assert set(gear.J) == {0, 1}
    assert is_zero(gear.bias)
    assert roll.h is None
    rng = np.random.default_rng(2)
    q, qd = random_state(mech, rng)
    world, time = World(mech), 0.7

    def at(dt):
        return Numeric(found, time=time + dt), travelled(world, q, qd, dt)

    now = Numeric(found, time=time)
    rate = slope(lambda dt: at(dt)[0].h(at(dt)[1]))
    assert (now.J(q) @ qd + now.ht(q))[:3] == pytest.approx(rate[:3], rel=1e-8, abs=1e-9)
    roll_rate = qd[0] - np.cos(q[1]) * qd[2] + np.sin(time) * q[0]
    assert (now.J(q) @ qd + now.ht(q))[3] == pytest.approx(roll_rate, rel=1e-13)
    bias = slope(lambda dt: at(dt)[0].J(at(dt)[1]) @ qd + at(dt)[0].ht(at(dt)[1]))
    assert now.bias(q, qd) == pytest.approx(bias, rel=1e-7, abs=1e-7)


def test_a_coupling_may_call_an_external_function_with_its_derivative():
    b = Builder("cam")
    b.body("a").joint("a", "revolute", "world", "a").body("b").joint("b", "prismatic", "world", "b")
    lift = sb.External("lift", 1, function=lambda x: np.sin(x) ** 2, derivative=lambda x: [[2 * sb.sin(x) * sb.cos(x)]])
    b.coupling("cam", b.coordinate("b") - sb.extern(lift, b.coordinate("a")))
    found = constraints(build_tree(b.done()))
    numeric = Numeric(found)
    q, qd = np.array([0.4, 0.2]), np.array([1.3, -0.5])
    assert numeric.h(q) == pytest.approx([0.2 - np.sin(0.4) ** 2])
    assert numeric.J(q) @ qd == pytest.approx([-0.5 - np.sin(0.8) * 1.3])
    assert numeric.bias(q, qd) == pytest.approx([-2 * np.cos(0.8) * 1.3**2])


def test_switched_rows_carry_the_name_of_their_input():
    b = Builder("latch")
    b.body("a", frames={"tip": (1, 0, 0)}).joint("ja", "revolute", "world", "a")
    b.body("b", frames={"tip": (1, 0, 0)}).joint("jb", "revolute", "world", "b", (1.5, 0, 0))
    b.cut("hook", "ball", "a.tip", "b.tip", switched=True).coupling("lock", "q.ja", switched=True)
    assert [r.switch for r in constraints(build_tree(b.done())).rows] == ["s_hook", "s_hook", "s_lock"]


def test_names_of_bodies_may_contain_dots():
    b = Builder("dots")
    b.body("arm.1", frames={"tip": (1, 0, 0)}).joint("ja", "revolute", "world", "arm.1")
    b.body("arm.2", frames={"tip": (1, 0, 0)}).joint("jb", "revolute", "world", "arm.2", (1.5, 0, 0))
    found = constraints(build_tree(b.cut("pin", "ball", ("arm.1", "tip"), ("arm.2", "tip")).done()))
    assert Numeric(found).h(np.zeros(2)) == pytest.approx([1.5, 0], abs=1e-15)


# -- multipliers


def test_the_multiplier_of_a_ball_cut_is_the_force_on_the_second_body():
    """J^T lam against the generalised force of a world force on the second body and its opposite on the first."""
    mech = made(4, {"a": "ball"})
    found = constraints(build_tree(mech))
    q, _ = random_state(mech, np.random.default_rng(0))
    pair, lam = Pair(mech, mech.cuts[0], q), np.array([1.0, -2.0, 3.0])
    (_, _, _, v1), (_, _, _, v2) = pair.ends
    force = pair.base @ lam
    q_gap = np.abs(Numeric(found).h(q)).max()
    assert q_gap > 1e-3  # also away from closure, as the ancestor sees it
    mine = Numeric(found).J(q).T @ lam
    involved = found.pattern.any(axis=0)
    assert mine[involved] == pytest.approx((v2.T @ force - v1.T @ force)[involved], abs=1e-12)
    assert "force on" in found.rows[0].meaning
    assert mech.cuts[0].second[0] in found.rows[0].meaning


# -- counts


@pytest.mark.skipif(not CAR.exists(), reason="the ROBOTRAN models are not here")
def test_the_car_takes_fewer_operations_than_robotran():
    """ROBOTRAN's own code for this file: 348 mul + 234 add for h and J, 686 + 328 for Jdot qd, with 30 rows."""
    tree = build_tree(sb.load(CAR))
    found = constraints(tree)
    assert len(found.rows) == 28  # two rows hold by themselves
    J = [x for r in found.rows for x in r.J.values()]
    positions = (
        sb.System("positions", inputs={"q": tree.q}, outputs={"h": found.h, "J": J}).optimize("standard").count()
    )
    bias = (
        sb.System("bias", inputs={"q": tree.q, "qd": tree.qd}, outputs={"bias": found.bias})
        .optimize("standard")
        .count()
    )
    assert positions.total <= 270
    assert positions.mul <= 160
    assert positions.setup <= 32
    assert bias.total <= 510


@pytest.mark.skipif(not CAR.exists(), reason="the ROBOTRAN models are not here")
def test_the_car_is_the_car():
    """J and bias of the counted rows are derivatives of h, whose values are distances between world points."""
    mech = sb.load(CAR)
    found = constraints(build_tree(mech))
    numeric, world = Numeric(found), World(mech)
    rng = np.random.default_rng(0)
    q, qd = 0.3 * rng.normal(size=mech.nq), rng.normal(size=mech.nv)
    rate = slope(lambda dt: numeric.h(q + dt * qd))
    assert numeric.J(q) @ qd == pytest.approx(rate, abs=1e-7)
    assert numeric.bias(q, qd) == pytest.approx(slope(lambda dt: numeric.J(q + dt * qd) @ qd), abs=1e-6)
    h = dict(zip(found.names, numeric.h(q)))
    bodies, _ = world.poses(q)
    for cut in mech.cuts:
        ends = []
        for body, name in (cut.first, cut.second):
            r, p = bodies[body]
            ends.append(p + r @ numbers(mech.body(body).frames[name].position, world.values))
        gap = bodies["chassis"][0].T @ (ends[1] - ends[0])
        for k, letter in enumerate("xyz"):
            assert h.get(f"{cut.name}.{letter}", 0.0) == pytest.approx(gap[k].real, abs=1e-12)
    assert number(mech.bodies[0].mass, world.values) >= 0
