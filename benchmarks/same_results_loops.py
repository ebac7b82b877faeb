"""Runs of closed mechanisms: reduced and augmented, through dead points and singular positions, in batches, resumed."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import symbody as sb
from benchmarks.same_results import Result, result
from benchmarks.same_results_trees import state

RESULTS: list[Result] = []
TURNING = {"crank": 20.0}  # rad/s: the crank turns fully


def four_bar(duration: float, *more: str, **options: Any) -> np.ndarray:
    settings: dict[str, Any] = {"qd0": TURNING, "formalism": "base", "partition": ["crank"], **options}
    return state(sb.simulate(sb.load("four_bar"), duration, **settings), *more)


for name in ("rk4", "verlet", "dopri8", "midpoint", "sdirk3", "generalized_alpha"):
    made = result(RESULTS, f"four_bar by {name}, fixed steps")
    made(lambda name=name: four_bar(0.2, "qdd", "lam", step=0.002, method=name, outputs=["lam"]))
for name in ("dopri5", "dopri8", "radau", "lsoda"):
    made = result(RESULTS, f"four_bar by {name}, adaptive", "tolerance", 1e-5)
    made(lambda name=name: four_bar(0.2, "energy", method=name, rtol=1e-8, samples=21, outputs=["energy"]))


@result(RESULTS, "four_bar augmented by rk4")
def _augmented() -> np.ndarray:
    return four_bar(0.2, step=0.002, method="rk4", partition=None, formulation="augmented")


@result(RESULTS, "four_bar by Baumgarte's terms, rk4")
def _baumgarte() -> np.ndarray:
    return four_bar(0.2, step=0.002, method="rk4", partition=None, formulation="augmented", alpha=20, beta=20)


@result(RESULTS, "four_bar by rk4, resumed")
def _resumed() -> np.ndarray:
    first = sb.simulate(
        sb.load("four_bar"), 0.1, step=0.002, method="rk4", formalism="base", partition=["crank"], qd0=TURNING
    )
    return state(sb.resume(first, 0.1))


@result(RESULTS, "four_bar by rk4, resumed from a file")
def _resumed_file() -> np.ndarray:
    mech = sb.load("four_bar")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.ckpt"
        options: dict[str, Any] = {"formalism": "base", "partition": ["crank"], "qd0": TURNING, "checkpoint": path}
        sb.simulate(mech, 0.1, step=0.002, method="rk4", **options)
        return state(sb.resume(path, 0.1))


@result(RESULTS, "four_bar by its rocker changes its partition, rk4")
def _switching() -> np.ndarray:
    return four_bar(0.5, step=0.001, method="rk4", partition=["rocker"])


@result(RESULTS, "four_bar by its rocker changes its partition, words", "words")
def _switching_words() -> str:
    motion = sb.simulate(
        sb.load("four_bar"), 0.5, step=0.001, method="rk4", formalism="base", partition=["rocker"], qd0=TURNING
    )
    return "\n".join([motion.outcome.name, *(e.text for e in motion.events), *motion.notes])


@result(RESULTS, "batch of four_bars by rk4")
def _batch() -> np.ndarray:
    q0 = np.zeros((3, 3))
    q0[:, 0] = [0.0, 0.1, 0.2]
    motion = sb.simulate(
        sb.load("four_bar"), 0.1, step=0.002, method="rk4", formalism="base", partition=["crank"], q0=q0
    )
    return np.concatenate([motion.q, motion.qd], axis=-1)


@result(RESULTS, "slider_crank with a constant torque by rk4")
def _slider() -> np.ndarray:
    motion = sb.simulate(
        sb.load("slider_crank"), 0.3, step=0.002, method="rk4", formalism="base", partition=["crank"],
        inputs={"crank": 0.5}, outputs=["reactions", "energy"],
    )  # fmt: skip
    return state(motion, "energy", "reaction.crank")


@result(RESULTS, "n_four_bar passes its singular position, dopri8", "tolerance", 1e-5)
def _passage() -> np.ndarray:
    motion = sb.simulate(
        sb.load("n_four_bar"), 1.0, method="dopri8", rtol=1e-9, samples=21, formalism="base", partition=["upright1"],
        q0=np.zeros(5), qd0={"upright1": -1.0}, outputs=["energy"],
    )  # fmt: skip
    return state(motion, "energy")


@result(RESULTS, "andrews_squeezer by dopri5", "tolerance", 1e-5)
def _squeezer() -> np.ndarray:
    motion = sb.simulate(
        sb.load("andrews_squeezer"), 0.02, method="dopri5", rtol=1e-9, samples=11, formalism="base", partition=["beta"]
    )
    return state(motion)


@result(RESULTS, "delta by rk4")
def _delta() -> np.ndarray:
    motion = sb.simulate(
        sb.load("delta"), 0.1, step=0.002, method="rk4", formalism="base", partition=["arm1", "arm2", "arm3"],
        inputs={"arm1": 3.0}, outputs=["lam"],
    )  # fmt: skip
    return state(motion, "lam")


@result(RESULTS, "bricard (redundant rows) by rk4")
def _bricard() -> np.ndarray:
    motion = sb.simulate(
        sb.load("bricard"), 0.5, step=0.01, method="rk4", formalism="base", partition=["hinge2"], outputs=["energy"]
    )
    return state(motion, "energy")


@result(RESULTS, "whipple_bicycle (rolling) by rk4")
def _bicycle() -> np.ndarray:
    qd0 = {"contact": [4.6, 0.0], "front_contact": [4.6, 0.0], "rear_spin": -4.6 / 0.3, "front_spin": -4.6 / 0.35}
    motion = sb.simulate(
        sb.load("whipple_bicycle"), 0.2, step=0.005, method="rk4", formalism="base",
        partition=["heading", "lean", "front_contact.1"], qd0={**qd0, "lean": 0.1},
    )  # fmt: skip
    return state(motion)


@result(RESULTS, "multi_link_suspension by rk4")
def _suspension() -> np.ndarray:
    motion = sb.simulate(
        sb.load("multi_link_suspension"), 0.05, step=0.001, method="rk4", formalism="base",
        partition=["carrier.2", "spin"],
    )  # fmt: skip
    return state(motion)
