"""Derivatives through loops that open and close, and of loops that multipliers hold."""

import numpy as np
import pytest

import symbody as sb
from helpers.derivative_oracles import both_modes, close, differences

G = 9.81
CHOICES = [{"step": 1e-3}, {"tolerance": 1e-11}]
CATCH = sb.When(
    "catch", "q.place.1*q.place.1 + q.place.3*q.place.3 - 1", direction=1, reset={"s_rope": 1.0}
)  # of a rope of 1 m, in the plane y = 0


def swing() -> sb.Mechanism:
    """A point mass of 1 kg that a rope of 1 m may hold to the origin."""
    make = sb.Mechanism.builder("swing", gravity=(0, 0, -G))
    make.body("ball", mass=1, com=(0, 0, 0), inertia=(0.1, 0.1, 0.1))
    make.joint("place", "translation3", "world", "ball")
    return make.cut("rope", "rod", "world", "ball", length=1.0, switched=True).done()


def pendulums(coupling: str, kind: str = "position") -> sb.Mechanism:
    """Two pendulums a and b on one axis, of masses ma and mb."""
    make = sb.Mechanism.builder("pendulums", gravity=(0, 0, -G))
    for name in ("ma", "mb"):
        make.parameter(name, 1.0)
    make.body("a", mass="ma", com=(0, 0, -1), inertia=(0.25, 0.25, 0.25))
    make.body("b", mass="mb", com=(0, 0, -0.5), inertia=(0.25, 0.25, 0.25))
    make.joint("a", "revolute", "world", "a", axis="y").joint("b", "revolute", "world", "b", axis="y")
    return make.coupling("grip", coupling, kind=kind, switched=True).done()


def test_a_rope_that_stretches_in_closed_form():
    """The mass falls freely until the rope of 1 m is stretched at T, where its radial speed is lost."""
    f = sb.differentiable(
        swing(), 0.8, ["q.place", "qd.place"], of=["q", "qd"], integrals={"e": "q.place.3^2"}, q0=[0.6, 0, -0.2],
        qd0=[0.3, 0, 0], inputs={"s_rope": 0.0}, events=[CATCH], step=1e-3,
    )  # fmt: skip
    assert [e.name for e in f.trajectory().events] == ["catch", "closed 'rope'"]
    close(both_modes(f), differences(f, f.start), 1e-7)
    # at the instant itself: the speed along the rope's circle, by the height from which it falls
    stop = sb.When("after", "q.place.1*q.place.1 + q.place.3*q.place.3 - 1", direction=1, stop=True)
    short = sb.differentiable(
        swing(), 0.8, ["q.place.1", "q.place.3"], of=[{"speed": "qd.place.3*q.place.1 - qd.place.1*q.place.3"}],
        q0=[0.6, 0, -0.2], inputs={"s_rope": 0.0}, events=[stop], step=1e-3,
    )  # fmt: skip
    x, z = 0.6, -0.2
    # falls straight down at x to -sqrt(1 - x^2): speed x v downwards, v^2 = 2 g (z + sqrt(1 - x^2))
    low = np.sqrt(1 - x * x)
    v = np.sqrt(2 * G * (z + low))
    np.testing.assert_allclose(both_modes(short)[0], [-v + x * G / v * x / low, -x * G / v], rtol=1e-8)


@pytest.mark.parametrize("choice", CHOICES)
def test_a_rope_that_is_let_go(choice):
    release = sb.When("release", "q.place.1", direction=-1, reset={"s_rope": 0.0})
    f = sb.differentiable(
        swing(), 1.2, ["q.place", "qd.place"], of=["q", "qd"], q0=[1.0, 0, 0], inputs={"s_rope": 1.0},
        events=[release], **choice,
    )  # fmt: skip
    assert [e.name for e in f.trajectory().events] == ["release"]
    close(both_modes(f), differences(f, f.start), 1e-7)


@pytest.mark.parametrize("choice", CHOICES)
def test_a_clutch_that_takes_hold_by_an_event(choice):
    on = sb.When("on", "q.a - q.b", reset={"s_grip": 1})
    f = sb.differentiable(
        pendulums("q.a - q.b"), 1.0, ["ma", "mb", "q", "qd", "tau.a"], of=["q", "qd"], q0=[0, 1.0],
        inputs={"s_grip": 0}, events=[on], **choice,
    )  # fmt: skip
    assert [e.name for e in f.trajectory().events] == ["on", "closed 'grip'"]
    close(both_modes(f), differences(f, f.start), 1e-7)


@pytest.mark.parametrize("choice", CHOICES)
def test_a_clutch_that_an_input_closes_and_opens(choice):
    held = ([0.0, 0.31, 0.6], [0.0, 1.0, 0.0], "hold")
    f = sb.differentiable(
        pendulums("qd.a - qd.b", "velocity"), 1.0, ["ma", "q", "qd"], of=["q", "qd"], q0=[0, 1.0],
        inputs={"s_grip": held}, **choice,
    )  # fmt: skip
    assert [e.name for e in f.trajectory().events] == ["closed 'grip'"]
    close(both_modes(f), differences(f, f.start), 1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("choice", CHOICES)
def test_a_linkage_whose_crank_is_locked_and_freed(choice):
    make = sb.Mechanism.builder("four_bar", gravity=(0, -G, 0))
    make.parameter("L", 0.4)
    for name, length in (("crank", 0.1), ("coupler", "L"), ("rocker", 0.3)):
        make.body(name, mass=1, com=(0.05, 0, 0), inertia=(0, 0, 0.01), frames={"tip": (length, 0, 0)})
    make.joint("crank", "revolute", "world", "crank")
    make.joint("coupler", "revolute", "crank", "coupler", position=(0.1, 0, 0), mode="passive")
    make.joint("rocker", "revolute", "world", "rocker", position=(0.4, 0, 0), mode="passive")
    make.cut("hinge", "rows", "rocker.tip", "coupler.tip", rows=["x", "y"])
    linkage = make.coupling("lock", "q.crank - 1.0", switched=True).done()
    events = [
        sb.When("lock", "q.crank - 1.0", direction=1, reset={"s_lock": 1.0}),
        sb.When("free", "t - 0.12", direction=1, reset={"s_lock": 0.0}),
    ]
    f = sb.differentiable(
        linkage, 0.2, ["L", "q.crank", "qd.crank"], of=["q", "qd"], q0={"crank": 0.5}, qd0={"crank": 12.0},
        inputs={"s_lock": 0}, events=events, **choice,
    )  # fmt: skip
    assert [e.name for e in f.trajectory().events] == ["lock", "closed 'lock'", "free"]
    close(both_modes(f), differences(f, f.start), 1e-7)


@pytest.mark.slow
def test_a_hand_that_holds_a_cup_and_lets_go():
    """Free bodies: their quaternions are put on the loop, too."""
    make = sb.Mechanism.builder("gripper", gravity=(0, 0, 0))
    make.body("hand", mass=2.0, com=(0.05, 0, 0.02), inertia=(0.03, 0.02, 0.04), frames={"tip": (0.2, 0, 0)})
    make.body("cup", mass=0.5, com=(0, 0.03, 0), inertia=(0.003, 0.002, 0.001), frames={"grip": (-0.1, 0, 0)})
    make.joint("hand", "free", "world", "hand").joint("cup", "free", "world", "cup")
    mech = make.cut("hold", "solid", "hand.tip", "cup.grip", switched=True).done()
    q0 = np.array([0, 0, 0, 1, 0, 0, 0, 0.3, 0, 0, 1, 0, 0, 0])
    f = sb.differentiable(
        mech, 0.3, ["qd"], of=["q", "qd"], q0=q0, qd0=np.random.default_rng(1).normal(size=12), step=1e-3,
        inputs={"s_hold": ([0.0, 0.1], [1.0, 0.0], "hold")},
    )  # fmt: skip
    close(both_modes(f), differences(f, f.start), 1e-7)


# -- multipliers without impacts


@pytest.mark.parametrize(
    "options",
    [{"step": 1e-3}, {"tolerance": 1e-11}, {"step": 1e-3, "method": "midpoint"}],
    ids=["1ms", "chosen", "midpoint"],
)
def test_loops_held_by_multipliers(options):
    f = sb.differentiable(
        sb.load("four_bar"), 0.1, ["a", "m1", "q.crank", "qd.crank"], of=["q", "qd"],
        integrals={"s": "q.rocker^2"}, q0={"crank": 0.8}, qd0={"crank": 5.0}, closing=sb.Augmented(), **options,
    )  # fmt: skip
    close(both_modes(f), differences(f, f.start, 1e-5), 1e-8)


def test_loops_held_by_baumgartes_terms():
    f = sb.differentiable(
        sb.load("four_bar"), 0.1, ["a", "q.crank", "qd.crank"], of=["q", "qd"], q0={"crank": 0.8},
        qd0={"crank": 5.0}, closing=sb.Augmented(alpha=20.0, beta=20.0), step=1e-3,
    )  # fmt: skip
    close(both_modes(f), differences(f, f.start, 1e-5), 1e-8)


def test_a_reset_of_velocities_closes_loops_by_an_impact():
    kick = sb.When("kick", "q.crank - 1.2", direction=1, reset={"qd.crank": "0.5*qd.crank"})
    f = sb.differentiable(
        sb.load("four_bar"), 0.15, ["m2", "a", "q.crank", "qd.crank"], of=["q", "qd"], q0={"crank": 0.8},
        qd0={"crank": 8.0}, events=[kick], closing=sb.Augmented(), tolerance=1e-11,
    )  # fmt: skip
    assert [e.name for e in f.trajectory().events] == ["kick"]
    close(both_modes(f), differences(f, f.start, 1e-5), 1e-7)
