"""Rods whose length is prescribed in time: a hydraulic cylinder without mass, against a driven slider in its place."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import simpson

import symbody as sb
from symbody.basics.errors import ModelError
from symbody.mechanics.assembly.numeric import Numeric
from symbody.mechanics.formalisms.tree import build_tree
from symbody.mechanics.loops.rows.constraint_rows import constraints
from symbody.model.build.builder import Builder

LENGTH = "1.1 + a*sin(w*t)"


def arm(name):
    """A double pendulum in the plane y z, whose tip a cylinder on the ground at (0, 0.9, -0.4) holds."""
    b = Builder(name)
    b.parameter("a", 0.1, unit="m")
    b.parameter("w", 3.0, unit="1/s")
    b.body("upper", 2.0, (0, 0, -0.3), (0.05, 0, 0)).joint("upper", "revolute", "world", "upper", axis="x")
    b.body("lower", 1.0, (0, 0, -0.25), (0.03, 0, 0), frames={"tip": (0, 0, -0.5)})
    b.joint("lower", "revolute", "upper", "lower", axis="x", position=(0, 0, -0.6))
    return b


@pytest.fixture(scope="module")
def rod():
    b = arm("by_rod")
    b.body("foot").joint("foot", "fixed", "world", "foot", position=(0, 0.9, -0.4))
    return b.cut("cylinder", "rod", "foot", "lower.tip", length=LENGTH).done()


@pytest.fixture(scope="module")
def slider():
    """The same with a strut of two massless parts and a driven slider between them."""
    b = arm("by_slider")
    b.body("barrel").joint("barrel", "revolute", "world", "barrel", axis="x", position=(0, 0.9, -0.4))
    b.body("piston").joint("piston", "prismatic", "barrel", "piston", axis="z", mode="driven", value=LENGTH)
    return b.cut("pin", "rows", "piston", "lower.tip", rows=["y", "z"]).done()


@pytest.fixture(scope="module")
def motion(rod):
    return sb.simulate(rod, 2.0, q0={"upper": 0.3}, outputs=["energy", "lam"], samples=2001, rtol=1e-10)


def length(t):
    return 1.1 + 0.1 * np.sin(3 * t)


def rate(t):
    return 0.3 * np.cos(3 * t)


def tip(q):
    """y, z of the tip by plain trigonometry; turns about x take z to -y."""
    first, both = q[..., 0], q[..., 0] + q[..., 1]
    return np.stack([0.6 * np.sin(first) + 0.5 * np.sin(both), -0.6 * np.cos(first) - 0.5 * np.cos(both)], axis=-1)


def test_derivatives_by_time_are_those_of_the_condition(rod):
    """h, J qd + ht and J qdd + bias along a motion q(t), by finite differences."""
    found = constraints(build_tree(rod))
    t, step = 0.4, 1e-4

    def q(t):
        return np.array([0.3 + 0.5 * t - t**2, 0.2 - 0.8 * t + 0.3 * t**3])

    qd, qdd = np.array([0.5 - 2 * t, -0.8 + 0.9 * t**2]), np.array([-2.0, 1.8 * t])
    h = [Numeric(found, time=t + k * step).h(q(t + k * step))[0] for k in (-1, 0, 1)]
    here = Numeric(found, time=t)
    assert h[1] == pytest.approx((np.sum((tip(q(t)) - [0.9, -0.4]) ** 2) - length(t) ** 2) / 2)
    assert here.J(q(t)) @ qd + here.ht(q(t)) == pytest.approx((h[2] - h[0]) / (2 * step), abs=1e-7)
    bias = here.bias(q(t), qd)
    assert here.J(q(t)) @ qdd + bias == pytest.approx((h[2] - 2 * h[1] + h[0]) / step**2, abs=1e-5)


def test_the_distance_follows_its_law_and_energy_the_work_of_the_thrust(motion):
    """dE = thrust dl; the multiplier is the thrust divided by the length."""
    t, q = motion.t, motion["q"]
    assert motion.outcome.ok
    assert np.linalg.norm(tip(q) - [0.9, -0.4], axis=1) == pytest.approx(length(t), abs=1e-9)
    power = motion["lam"][:, 0] * length(t) * rate(t)
    work = np.array([simpson(power[: k + 1], x=t[: k + 1]) for k in (500, 1000, 2000)])
    energy = motion["energy"]
    assert np.ptp(energy) > 0.2  # the cylinder does work
    assert energy[[500, 1000, 2000]] - energy[0] == pytest.approx(work, abs=1e-6)


def test_a_driven_slider_in_its_place_moves_the_same(rod, slider, motion):
    other = sb.simulate(
        slider, 2.0, q0=start(slider, motion), qd0={"upper": motion["qd"][0, 0]}, samples=2001, rtol=1e-10,
        partition=["upper"],
    )  # fmt: skip
    assert other.outcome.ok
    assert other["q"][:, :2] == pytest.approx(motion["q"], abs=1e-6)


def start(slider, motion):
    y, z = tip(motion["q"][0]) - [0.9, -0.4]
    upper, lower = motion["q"][0]
    return {"upper": upper, "lower": lower, "barrel": float(np.arctan2(-y, z))}


def test_reduced_and_augmented_equations_agree(rod):
    closed = sb.closure(rod).compile()([0.3, 0.4], [1.0, 0.0], t=0.7)
    efforts = [2.0, -1.0]
    reduced, augmented = (
        sb.forward_dynamics(rod, "base", formulation=f, lam=True).compile()(*closed, efforts, t=0.7)
        for f in ("reduced", "augmented")
    )
    for x, y in zip(reduced, augmented, strict=True):
        assert x == pytest.approx(y, abs=1e-10)


def test_kinematics_and_energy_of_the_closed_arm_take_the_time(rod):
    """The tip moves along the cylinder with the rate of its length, by the velocity that closes the loop."""
    q, qd = sb.closure(rod).compile()([0.3, 0.4], [1.0, 0.0], t=0.7)
    position, velocity = sb.kinematics(rod, ["lower.tip"], quantities=["p", "v"]).compile()(q, qd, t=0.7)
    along = position - [0, 0.9, -0.4]
    assert along @ velocity / np.linalg.norm(along) == pytest.approx(rate(0.7), abs=1e-9)
    closed, opened = (sb.energy(rod, loops=x).compile() for x in (True, False))
    assert closed(q, qd, [0, 0], t=0.7)[0] == pytest.approx(opened(q, qd, [0, 0])[0])


def test_a_model_file_may_say_so(tmp_path):
    path = tmp_path / "lift.yaml"
    path.write_text(
        "symbody: 1\nname: lift\nparameters: {a: 0.1}\n"
        "bodies: {boom: {mass: 1, com: [0.5, 0, 0], inertia: [0, 0, 0.1], frames: {eye: [0.5, 0, 0]}},"
        " foot: {mass: 0}}\n"
        "joints:\n  boom: {kind: revolute, parent: world, child: boom, axis: z}\n"
        "  foot: {kind: fixed, parent: world, child: foot, position: [0, -0.5, 0]}\n"
        "cuts: {ram: {kind: rod, between: [foot, boom.eye], length: 0.8 + a*sin(t)}}\n"
    )
    run = sb.simulate(sb.load(path), 1.0)
    eye = 0.5 * np.stack([np.cos(run["q"][:, 0]), np.sin(run["q"][:, 0])], axis=1)
    assert np.linalg.norm(eye - [0, -0.5], axis=1) == pytest.approx(0.8 + 0.1 * np.sin(run.t), abs=1e-9)


def test_only_the_length_of_a_rod_may_depend_on_time():
    b = Builder("one").body("a").joint("a", "revolute", "world", "a")
    with pytest.raises(ModelError, match="'t' is unknown"):
        b.cut("pin", "ball", "a", "world", length="1 + t")


def test_a_rod_that_no_joint_can_follow_is_refused():
    b = Builder("stiff").body("a").joint("a", "revolute", "world", "a")
    b.body("b").joint("b", "fixed", "a", "b", position=(1, 0, 0))
    mech = b.cut("ram", "rod", "a", "b", length="1 + 0.1*sin(t)").done()
    with pytest.raises(ModelError, match=r"loop 'ram' cannot stay closed: ram\.rod changes with time"):
        constraints(build_tree(mech))
