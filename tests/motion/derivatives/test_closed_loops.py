"""Derivatives of runs with closed loops: partitions that change on the way, and passages through singular positions.

Passages are judged by open mechanisms, or such with couplings in place of loops, that move alike, never singular.
"""

import math

import numpy as np
import pytest

import symbody as sb
from helpers.derivative_oracles import both_modes, close, differences
from helpers.passage_models import GRAVITY, bar, pantograph, slider_crank
from symbody.basics.errors import ModelError

BARS = {"a": 0.2, "e": 0.2, "b": 0.5, "m1": 1.0, "m2": 0.6, "m3": 0.8}


def bars(rocker="a") -> sb.Mechanism:
    """A parallelogram by its parameters; rocker: the name of the rocker's length."""
    make = sb.Mechanism.builder("parallelogram", gravity=GRAVITY)
    for name, value in BARS.items():
        make.parameter(name, value)
    for name, length, mass, end in (
        ("crank", "a", "m1", "a"),
        ("coupler", "b", "m2", "b"),
        ("rocker", "a", "m3", rocker),
    ):
        inertia = [0, 0, f"{mass}*{length}^2/12"]
        make.body(name, mass=mass, com=[f"{length}/2", 0, 0], inertia=inertia, frames={"end": [end, 0, 0]})
    make.joint("crank", "revolute", "world", "crank")
    make.joint("coupler", "revolute", "crank", "coupler", position=["a", 0, 0], mode="passive")
    make.joint("rocker", "revolute", "world", "rocker", position=["b", 0, 0], mode="passive")
    return make.cut("pin", "rows", "coupler.end", "rocker.end", rows=["x", "y"]).done()


def one_arm() -> sb.Mechanism:
    """Moves as the crank of `bars`: both cranks about one axis, and the coupler, which never turns, at their end."""
    make = sb.Mechanism.builder("one_arm", gravity=GRAVITY)
    for name, value in BARS.items():
        make.parameter(name, value)
    total, first, second = "(m1 + m2 + m3)", "((m1 + m3)*a/2 + m2*a)", "((m1 + m3)*a^2/3 + m2*a^2)"
    inertia = [0, 0, f"{second} - {first}^2/{total}"]
    make.body("arm", mass=total, com=[f"{first}/{total}", 0, 0], inertia=inertia)
    return make.joint("crank", "revolute", "world", "arm").done()


START = {
    "q0": {"crank": 1.0, "coupler": -1.0, "rocker": 1.0},
    "qd0": {"crank": 8.0, "coupler": -8.0, "rocker": 8.0},
}


@pytest.mark.parametrize("options", [{"tolerance": 1e-10}, {"step": 1e-3}], ids=["chosen", "1ms"])
def test_a_parallelogram_through_its_flat_positions(options):
    asked = dict(of=["q.crank", "qd.crank"], integrals={"s": "q.crank^2"})
    names = ["a", "m1", "m2", "q.crank", "qd.crank"]
    f = sb.differentiable(bars(), 0.7, names, **asked, **START, **options)
    assert [e.name for e in f.trajectory().events].count("singular position") == 2
    arm = dict(q0={"crank": 1.0}, qd0={"crank": 8.0})
    right = sb.differentiable(one_arm(), 0.7, names, **asked, **arm, step=1e-3, method="dopri8")
    close(both_modes(f), both_modes(right), 1e-7)


def test_a_run_that_ends_inside_of_a_passage():
    f = sb.differentiable(bars(), 0.2585, ["m2", "qd.crank"], of=["q.crank", "qd.crank"], **START, tolerance=1e-10)
    arm = dict(q0={"crank": 1.0}, qd0={"crank": 8.0}, step=1e-4)
    right = sb.differentiable(one_arm(), 0.2585, ["m2", "qd.crank"], of=["q.crank", "qd.crank"], **arm)
    close(both_modes(f), both_modes(right), 1e-7)


def test_bars_that_must_be_equal_have_no_derivative_one_by_one():
    f = sb.differentiable(bars("e"), 0.4, ["m1", "e"], of=["q"], **START, tolerance=1e-9)
    with pytest.raises(ModelError, match=r"at t = 0\.25\d+ s .* for this value of 'e' alone"):
        f.jacobian()


@pytest.mark.slow
def test_a_pantograph_of_two_freedoms():
    make = sb.Mechanism.builder("coupled", gravity=GRAVITY)
    for name, length, mass in (("a", 0.6, 0.8), ("b", 0.6, 0.8), ("c", 0.3, 0.4), ("d", 0.3, 0.4)):
        bar(make, name, length, mass)
    make.joint("a", "revolute", "world", "a")
    for name, parent, at in (("b", "a", 0.6), ("c", "a", 0.3), ("d", "b", 0.3)):
        make.joint(name, "revolute", parent, name, position=[at, 0, 0], mode="passive")
    alike = make.coupling("c1", "q.c - q.b").coupling("c2", f"q.d + q.b - {math.pi!r}").done()
    names = ["q.a", "q.b", "qd.a", "qd.b"]
    start = dict(of=["q", "qd"], q0=[-0.5, -2.0, -2.0, math.pi + 2.0], qd0={"a": 3.0, "c": 6.0})
    f = sb.differentiable(pantograph(), 0.6, names, **start, tolerance=1e-11)
    assert [e.name for e in f.trajectory().events].count("singular position") == 2
    exact = dict(step=1e-3, method="dopri8", closing=sb.Reduced(["a", "b"]))
    close(both_modes(f), both_modes(sb.differentiable(alike, 0.6, names, **start, **exact)), 1e-8)


@pytest.mark.slow
def test_a_slider_crank_whose_rod_is_as_long_as_its_crank():
    make = sb.Mechanism.builder("coupled", gravity=GRAVITY)
    bar(make, "crank", 0.2)
    bar(make, "rod", 0.2, 0.5)
    make.body("slider", mass=0.4, inertia=[0, 0, 0.001])
    make.joint("crank", "revolute", "world", "crank")
    make.joint("rod", "revolute", "crank", "rod", position=[0.2, 0, 0], mode="passive")
    make.joint("slide", "prismatic", "world", "slider", axis="x", mode="passive")
    alike = make.coupling("c1", "q.rod + 2*q.crank").coupling("c2", "q.slide - 0.4*cos(q.crank)").done()
    names = ["q.rod", "qd.rod"]
    start = dict(of=["q", "qd"], integrals={"s": "q.slide^2"}, q0={"crank": 0.5, "rod": -1.0}, qd0={"crank": 9.0})
    exact = dict(step=1e-3, method="dopri8")
    right = both_modes(sb.differentiable(alike, 0.6, names, **start, **exact, closing=sb.Reduced(["rod"])))
    for options in (exact, {"tolerance": 1e-11}):
        f = sb.differentiable(slider_crank(0.2, 0.2), 0.6, names, **start, **options)
        assert [e.name for e in f.trajectory().events].count("singular position") == 1
        close(both_modes(f), right, 1e-8)


@pytest.mark.parametrize(
    "options", [{"tolerance": 1e-11}, pytest.param({"step": 1e-3}, marks=pytest.mark.slow)], ids=["chosen", "1ms"]
)
def test_a_partition_that_changes_at_a_dead_point(options):
    """The rocker of a four-bar linkage turns back while its crank goes on, which is independent from there on."""
    f = sb.differentiable(
        sb.load("four_bar"), 0.3, ["m1", "a", "q.rocker", "qd.rocker"], of=["q", "qd"],
        integrals={"s": "q.rocker^2"}, qd0={"crank": 20.0}, closing=sb.Reduced(["rocker"]), **options,
    )  # fmt: skip
    assert "partition" in [e.name for e in f.trajectory().events]
    close(both_modes(f), differences(f, f.start, 1e-5), 1e-7)


def test_chosen_steps_with_events_in_a_closed_loop():
    slowed = {f"qd.{name}": f"0.5*qd.{name}" for name in ("crank", "coupler", "rocker")}
    turn = sb.When("kick", "q.crank - 2", direction=1, reset=slowed)
    f = sb.differentiable(
        sb.load("four_bar"), 0.3, ["m2", "c", "q.crank", "qd.crank"], of=["q", "qd"], q0={"crank": 0.8},
        qd0={"crank": 8.0}, events=[turn], tolerance=1e-11,
    )  # fmt: skip
    assert [e.name for e in f.trajectory().events] == ["kick"]
    close(both_modes(f), differences(f, f.start, 1e-5), 1e-7)


def test_a_start_stays_on_its_branch():
    """Of the two positions in which the loop of a four-bar linkage closes, the one that was given is kept."""
    mech = sb.load("four_bar")
    other = sb.assemble(mech, {"crank": 0.8, "coupler": -2.0, "rocker": 2.5}, fixed=["crank"])
    assert np.abs(other - sb.assemble(mech, {"crank": 0.8}, fixed=["crank"])).max() > 0.1
    f = sb.differentiable(mech, 0.05, ["a", "q.crank"], of=["q"], q0=other, step=1e-3)
    np.testing.assert_allclose(f.trajectory().q[0], other, atol=1e-9)
    close(both_modes(f), differences(f, f.start), 1e-7)
