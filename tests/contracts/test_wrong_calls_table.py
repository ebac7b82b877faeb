"""A table of wrong calls: each raises an error of symbody with one sentence that says what was expected."""

from __future__ import annotations

import numpy as np
import pytest

import symbody as sb
from symbody.basics.errors import SymbodyError

CALLS = """
sb.load("no_such_model")
sb.load("no_such.urdf")
sb.load(3)
sb.load(None)
sb.load("")
sb.inverse_dynamics("pendulum2")
sb.inverse_dynamics(None)
sb.inverse_dynamics(arm, formalism="newton")
sb.inverse_dynamics(arm, formalism=3)
sb.inverse_dynamics(arm, parameters="never")
sb.inverse_dynamics(arm, wrenches=["nothing"])
sb.inverse_dynamics(arm, bugdet=3)
sb.semi_explicit(arm, formalism="order_n")
sb.forward_dynamics(bars, partition=["nothing"])
sb.forward_dynamics(bars, formulation="both")
sb.forward_dynamics(bars, alpha=1.0)
sb.forward_dynamics(bars, formalism="order_n")
sb.coriolis("arm")
sb.coriolis(arm, parameters="never")
sb.gravity(3)
sb.center_of_mass(arm, order=4)
sb.center_of_mass(arm, order=True)
sb.centroidal_momentum(arm, order=0)
sb.centroidal_momentum(sb.System)
sb.equations("pendulum2")
sb.equations(sb.load("puma560"))
sb.equations(arm, longest=10)
sb.kinematics(arm, "nowhere")
sb.inverse_kinematics(arm, "rod2")
sb.inverse_kinematics(None, {"rod2": [0, 0, 1]})
sb.kinematics(arm, [])
sb.kinematics(arm, "rod1", order=5)
sb.kinematics(arm, "rod1", quantities=["speed"])
sb.kinematics(arm, "rod1", reference="nowhere")
sb.kinematics(arm, "rod1", scheme="sideways")
sb.energy("arm")
sb.reactions(arm, joints=["nothing"])
sb.regressor(arm, columns=[99])
sb.base_parameters(None)
sb.verify("arm")
sb.verify(arm, states=0)
sb.partition(arm)
sb.assemble(bars, {"nothing": 1.0})
sb.assemble(bars, {"crank": "a lot"})
sb.assemble(bars, [1.0])
sb.simulate("pendulum2", 1.0)
sb.simulate(arm, -1.0)
sb.simulate(arm, "long")
sb.simulate(arm, float("nan"))
sb.simulate(arm, 1.0, step=0)
sb.simulate(arm, 1.0, step=-1e-3)
sb.simulate(arm, 1.0, method="rk5")
sb.simulate(arm, 1.0, method="verlet")
sb.simulate(arm, 1.0, q0=[1.0])
sb.simulate(arm, 1.0, q0={"elbow": 1.0})
sb.simulate(arm, 1.0, q0={"joint1": "a lot"})
sb.simulate(arm, 1.0, q0={"joint1": "30*mm"})
sb.simulate(arm, 1.0, q0={"joint1": float("nan")})
sb.simulate(arm, 1.0, q0="high")
sb.simulate(arm, 1.0, qd0=[[1.0, 2.0, 3.0]])
sb.simulate(arm, 1.0, inputs={"elbow": 1.0})
sb.simulate(arm, 1.0, inputs={"joint1": "2*"})
sb.simulate(arm, 1.0, inputs={"joint1": "sin(x)"})
sb.simulate(arm, 1.0, inputs={"joint1": float("inf")})
sb.simulate(arm, 1.0, inputs={"joint1": ([0, 1], [1])})
sb.simulate(arm, 1.0, inputs={"joint1": ([1, 0], [1, 2])})
sb.simulate(arm, 1.0, inputs=3 * [1.0])
sb.simulate(arm, 1.0, inputs={"joint1": lambda t, q, qd: 1.0}, method="dopri5")
sb.simulate(arm, 1.0, outputs=["p.nowhere"])
sb.simulate(arm, 1.0, outputs=["enrgy"])
sb.simulate(arm, 1.0, outputs={"x": "2*"})
sb.simulate(arm, 1.0, parameters={"m9": 1.0})
sb.simulate(arm, 1.0, parameters={"m1": -1.0})
sb.simulate(arm, 1.0, parameters={"m1": "heavy"})
sb.simulate(arm, 1.0, rtol=-1)
sb.simulate(arm, 1.0, rtol="fine")
sb.simulate(arm, 1.0, samples=1)
sb.simulate(arm, 1.0, samples=[2.0, 1.0])
sb.simulate(arm, 1.0, events=["q.joint1 > 1"])
sb.simulate(arm, 1.0, events=[sb.When("hit", "q.elbow")])
sb.simulate(arm, 1.0, inputs={"joint1": lambda t, q, qd: 1.0}, step=0.1, period=-1.0)
sb.simulate(arm, 1.0, max_steps=0)
sb.simulate(arm, 1.0, slow=-1.0)
sb.simulate(arm, 1.0, threads=0)
sb.simulate(bars, 1.0, partition=["nothing"])
sb.simulate(bars, 1.0, q0={"crank": 0.1, "rocker": 3.0, "coupler": 9.0}, partition=["crank", "rocker"])
sb.resume("none.ckpt")
sb.resume(3)
sb.linearize("arm")
sb.linearize(arm, q0={"elbow": 1.0})
sb.linearize(arm, q0="high")
sb.linearize(arm, q0=[1.0])
sb.linearize(arm, inputs={"motor": 1.0})
sb.linearize(arm, inputs={"tau.joint1": "strong"})
sb.linearize(arm, outputs=["nothing"])
sb.linearize(arm, parameters={"m9": 1.0})
sb.modes("arm")
sb.modes(arm, kind="dampd")
sb.equilibrium(arm, fixed=["elbow"])
sb.equilibrium(arm, q0={"elbow": 1.0})
sb.trim(arm, unknowns=["nothing"])
sb.inverse_kinematics(arm, {"nowhere": [0, 0, 0]})
sb.inverse_kinematics(arm, {"rod2.end": [0, 0]})
sb.with_limits("arm")
sb.with_limits(arm, ["joint1"])
sb.with_limits(arm, dissipation=-1.0)
sb.saturated("arm", {})
sb.write_report("arm", "arm.html")
sb.write_report(arm, "arm.pdf")
sb.write_report(arm, "arm.html", parameters={"m9": 1.0})
sb.System("f", inputs={"x": sb.symbol("x")}, outputs={})
sb.System("f", inputs={"x": 3}, outputs={"y": sb.symbol("x")})
sb.parse("2*")
sb.parse("foo(x)")
system.compile("fortran")
system.emit("cobol")
system.jacobian("z", "x")
system.jacobian("y", "z")
system.apply(z=1)
system.optimize("most")
kernel(1.0, 2.0)
kernel("one")
motion["q.elbow"]
motion["nothing"]
motion.plot("nothing")
motion.save("motion.xyz")
arm.show([1.0])
arm.show({"elbow": 1.0})
arm.joint("elbow")
arm.body("forearm")
arm.replace(bodys=())
build().body("a", mass="heavy")
build().body("a", mass=-1.0).joint("j", "revolute", "world", "a").done()
build().joint("j", "revolut", "world", "a")
build().joint("j", "revolute", "world", "a", axis="w")
build().joint("j", "revolute", "world", "a").done()
build().parameter("m", 1.0, "parsec")
build().parameter("t", 1.0)
"""
LINES = CALLS.strip().splitlines()


@pytest.fixture(scope="module")
def names():
    x = sb.symbol("x")
    system = sb.System("f", inputs={"x": x}, outputs={"y": x * x})
    arm = sb.load("pendulum2")
    return {
        "sb": sb, "np": np, "arm": arm, "bars": sb.load("four_bar"), "system": system,
        "kernel": system.compile("python"),
        "motion": sb.simulate(arm, 0.1, step=0.05), "build": lambda: sb.Mechanism.builder("x"),
    }  # fmt: skip


def test_the_table_is_long_enough():
    assert len(set(LINES)) >= 100


@pytest.mark.parametrize("line", LINES)
def test_a_wrong_call_gives_one_sentence(names, line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises((SymbodyError, TypeError)) as caught:
        eval(line, dict(names))  # the lines of this table, and of nothing else
    text = str(caught.value)
    if isinstance(caught.value, TypeError):  # Python's own word on arguments that do not exist
        assert "unexpected keyword argument" in text
        return
    first = text.split("\n")[0]
    assert first.rstrip().endswith((".", "?")), text
    assert len(first) > 15, text
    assert not list(tmp_path.iterdir()), "nothing is written"


class Untold:
    def __repr__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize("value", [10**5000, -(10**5000), [10**5000], Untold(), "a" * 10**6], ids=range(5))
def test_a_value_that_has_no_text_or_a_long_one_is_told_in_a_sentence(value) -> None:
    arm = sb.load("pendulum2")
    motion = sb.simulate(arm, 0.01)
    system = sb.inverse_dynamics(arm)
    calls = (
        lambda: sb.simulate(arm, value), lambda: sb.simulate(arm, 0.1, q0=[value, 0]), lambda: sb.load([value]),
        lambda: sb.simulate(arm, 0.1, parameters={"m1": [value]}), lambda: sb.When([value], "q.joint1"),
        lambda: sb.verify(arm, states=[value]), lambda: sb.minimize(sum, [(0, [value])]),
        lambda: system.compile([value]), lambda: system.optimize([value]), lambda: system.jacobian([value], "q"),
        lambda: sb.Mechanism.builder([value]), lambda: motion[[value]], lambda: system.default([value]),
    )  # fmt: skip
    for call in calls:
        with pytest.raises(SymbodyError) as told:
            call()
        assert len(str(told.value)) < 1000


def test_methods_tell_wrong_arguments_too() -> None:
    arm = sb.load("pendulum2")
    with sb.Graph():
        x = sb.symbols("x")
        for wrong in ({"inputs": None}, {"outputs": "x"}, {"parameters": "x"}, {"units": 3}, {"parameters": [1]},
                      {"inputs": {"x": np.broadcast_to(0.0, 10**12)}}):  # fmt: skip
            with pytest.raises(SymbodyError):
                sb.System("s", **{"inputs": {"x": x}, "outputs": {"f": x}, **wrong})
    kernel = sb.inverse_dynamics(arm).compile()
    for wrong in ({"repeat": "x"}, {"repeat": 0}, {"rounds": 1.5}):
        with pytest.raises(SymbodyError, match=next(iter(wrong))):
            kernel.time_native([0.1, 0.2], [0.1, 0.2], [0.1, 0.2], **wrong)
    make = sb.Mechanism.builder("rod")
    for wrong in ({"com": np.array(1.0)}, {"frames": 3}, {"frames": "x"}, {"com": np.broadcast_to(0.0, 10**12)}):
        with pytest.raises(SymbodyError):
            make.body("rod", 1.0, **wrong)
    for wrong in (
        {"seed": -1},
        {"seed": "x"},
        {"starts": 10**12},
        {"bounds": 3},
        {"bounds": [("a", "b")]},
        {"start": ["a"]},
    ):
        with pytest.raises(SymbodyError):
            sb.minimize(**{"function": sum, "bounds": [(0, 1)], "budget": 3, **wrong})
