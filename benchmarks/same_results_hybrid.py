"""Runs with events, impacts, and loops that open and close."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import symbody as sb
from benchmarks.same_results import Result, result
from benchmarks.same_results_trees import state

RESULTS: list[Result] = []
STRETCHED = "q.place.1*q.place.1 + q.place.3*q.place.3 - 1"  # the rope of `swing` in the plane y = 0
CATCH = sb.When("catch", STRETCHED, direction=1, reset={"s_rope": 1.0})
BOUNCE = sb.When("bounce", "q.z", direction=-1, reset={"qd.z": "-0.8*qd.z"}, slowest=1e-3, rest={"qd.z": 0.0})


def ball() -> sb.Mechanism:
    return sb.Mechanism.builder("ball").body("ball", mass=1.0).joint("z", "prismatic", "world", "ball", axis="z").done()


def swing() -> sb.Mechanism:
    """A point mass of 1 kg that a rope of 1 m may hold to the origin."""
    make = sb.Mechanism.builder("swing", gravity=(0, 0, -9.81))
    make.body("ball", mass=1, inertia=(0.1, 0.1, 0.1)).joint("place", "translation3", "world", "ball")
    return make.cut("rope", "rod", "world", "ball", length=1.0, switched=True).done()


def gripper() -> sb.Mechanism:
    """A hand and a cup that float freely; hand.tip takes hold of cup.grip."""
    make = sb.Mechanism.builder("gripper", gravity=(0, 0, 0))
    make.body("hand", mass=2.0, com=(0.05, 0, 0.02), inertia=(0.03, 0.02, 0.04), frames={"tip": (0.2, 0, 0)})
    make.body("cup", mass=0.5, com=(0, 0.03, 0), inertia=(0.003, 0.002, 0.001), frames={"grip": (-0.1, 0, 0)})
    make.joint("hand", "free", "world", "hand").joint("cup", "free", "world", "cup")
    return make.cut("hold", "solid", "hand.tip", "cup.grip", switched=True).done()


def pendulums() -> sb.Mechanism:
    """Two pendulums on one axis that a clutch may join."""
    make = sb.Mechanism.builder("pendulums", gravity=(0, 0, -9.81))
    make.body("a", mass=1, com=(0, 0, -1), inertia=(0.25, 0.25, 0.25))
    make.body("b", mass=1, com=(0, 0, -0.5), inertia=(0.25, 0.25, 0.25))
    make.joint("a", "revolute", "world", "a", axis="y").joint("b", "revolute", "world", "b", axis="y")
    return make.coupling("grip", "qd.a - qd.b", kind="velocity", switched=True).done()


def happened(motion: Any) -> str:
    """Outcome, events and notes; the instants of events to six digits."""
    return "\n".join([motion.outcome.name, *(f"{e.t:.6g} {e.name}: {e.text}" for e in motion.events), *motion.notes])


def bouncing(**options: Any) -> Any:
    events = [BOUNCE, sb.When("apex", "qd.z", direction=-1), sb.When("late", "t - 3", stop=True)]
    return sb.simulate(ball(), 10.0, q0={"z": 1.0}, events=events, formalism="base", **options)


@result(RESULTS, "bouncing ball by rk4")
def _bounce() -> np.ndarray:
    return state(bouncing(step=0.01, method="rk4"))


@result(RESULTS, "bouncing ball by dopri8", "tolerance", 1e-7)
def _bounce_adaptive() -> np.ndarray:
    return np.array([e.t for e in bouncing(method="dopri8", rtol=1e-10, samples=11).events])


@result(RESULTS, "bouncing ball by radau", "tolerance", 1e-6)
def _bounce_stiff() -> np.ndarray:
    return np.array([e.t for e in bouncing(method="radau", rtol=1e-9, samples=11).events])


@result(RESULTS, "bouncing ball by sdirk2")
def _bounce_implicit() -> np.ndarray:
    return state(bouncing(step=0.01, method="sdirk2"))


@result(RESULTS, "bouncing ball, words", "words")
def _bounce_words() -> str:
    return happened(bouncing(step=0.01, method="rk4"))


@result(RESULTS, "bouncing ball by rk4, resumed")
def _bounce_resumed() -> np.ndarray:
    first = sb.simulate(ball(), 0.5, step=0.01, method="rk4", q0={"z": 1.0}, events=[BOUNCE], formalism="base")
    return state(sb.resume(first, 1.0))


@result(RESULTS, "bouncing ball by rk4, resumed from a file")
def _bounce_file() -> np.ndarray:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.ckpt"
        options: dict[str, Any] = {"q0": {"z": 1.0}, "events": [BOUNCE], "formalism": "base", "checkpoint": path}
        sb.simulate(ball(), 0.5, step=0.01, method="rk4", **options)
        return state(sb.resume(path, 1.0))


@result(RESULTS, "a signal that an event switches, rk4")
def _relay() -> np.ndarray:
    up = sb.When("up", "q.z + 1", direction=-1, reset={"tau.z": 30.0})
    down = sb.When("down", "q.z - 0.5", direction=1, reset={"tau.z": 0.0})
    motion = sb.simulate(ball(), 3.0, step=0.01, method="rk4", inputs={"z": 0.0}, events=[up, down], formalism="base")
    return state(motion, "tau")


def caught(**options: Any) -> Any:
    return sb.simulate(
        swing(), 1.5, q0=[0.6, 0, -0.2], inputs={"s_rope": 0}, events=[CATCH], outputs=["energy", "lam"],
        formalism="base", **options,
    )  # fmt: skip


@result(RESULTS, "a rope catches a ball, rk4")
def _caught() -> np.ndarray:
    return state(caught(step=1e-3, method="rk4"), "energy", "lam")


@result(RESULTS, "a rope catches a ball, dopri8", "tolerance", 1e-6)
def _caught_adaptive() -> np.ndarray:
    return state(caught(method="dopri8", rtol=1e-10, samples=31), "energy", "lam")[-1]


@result(RESULTS, "a rope catches a ball, words", "words")
def _caught_words() -> str:
    return happened(caught(step=1e-3, method="rk4"))


@result(RESULTS, "a rope is let go, rk4")
def _let_go() -> np.ndarray:
    switch = {"s_rope": ([0.0, 0.4], [1.0, 0.0], "hold")}
    motion = sb.simulate(
        swing(), 0.8, step=1e-3, method="rk4", q0=[0.6, 0, -0.8], inputs=switch, formalism="base", outputs=["energy"]
    )
    return state(motion, "energy")


@result(RESULTS, "a hand takes a cup, rk4")
def _taken() -> np.ndarray:
    q0 = np.array([0, 0, 0, 1, 0, 0, 0, 0.3, 0, 0, 1, 0, 0, 0], dtype=float)
    qd0 = 0.5 * np.sin(1.0 + np.arange(12))
    switch = {"s_hold": ([0.0], [1.0], "hold")}
    return state(sb.simulate(gripper(), 0.3, step=2e-3, method="rk4", q0=q0, qd0=qd0, inputs=switch, formalism="base"))


@result(RESULTS, "a clutch closes and opens, rk4")
def _clutch() -> np.ndarray:
    switch = {"s_grip": ([0.0, 0.3, 0.7], [0.0, 1.0, 0.0], "hold")}
    motion = sb.simulate(
        pendulums(), 1.0, step=2e-3, method="rk4", q0={"a": 0.5, "b": -0.3}, inputs=switch, formalism="base",
        outputs=["energy"],
    )  # fmt: skip
    return state(motion, "energy")


@result(RESULTS, "batch of ropes, closed and open, rk4")
def _batch() -> np.ndarray:
    motion = sb.simulate(
        swing(), 0.3, step=2e-3, method="rk4", q0=np.tile([0.6, 0.0, -0.8], (2, 1)), formalism="base",
        inputs={"s_rope": np.array([0.0, 1.0])},
    )  # fmt: skip
    return np.concatenate([motion.q, motion.qd], axis=-1)


@result(RESULTS, "outcomes of runs that end early", "words")
def _outcomes() -> str:
    x = sb.symbol("x")
    explosion = sb.System("explosion", inputs={"x": x}, states={"x": "x_dot"}, outputs={"x_dot": x * x})
    runs = [
        sb.simulate(explosion, 2.0, states0={"x": 1.0}, method="dopri5"),
        sb.simulate(explosion, 5.0, step=0.1, states0={"x": 1.0}, method="rk4"),
        sb.simulate(explosion, 0.5, states0={"x": 1.0}, method="dopri5", max_steps=3),
        sb.simulate(swing(), 0.1, step=0.01, method="rk4", q0=[0.2, 0, -0.2], formalism="base",
                    inputs={"s_rope": ([0.0, 0.05], [0.0, 1.0], "hold")}),
    ]  # fmt: skip
    return "\n".join(happened(r) for r in runs)
