"""Runs that are killed at random instants, and resumed from what their checkpoint holds.

    PYTHONPATH=src:tests python tests/motion/run/kill_runs.py --count 200

A child that was forked runs with a checkpoint after every stretch, and is killed (SIGKILL) after a random time. The
file that stands there must load, and the resumed run must be the uninterrupted one: to the bit with fixed steps, to the
tolerance where steps are chosen by it.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import tempfile
import time
from pathlib import Path

import numpy as np

import symbody as sb
from helpers.passage_models import slider_crank
from symbody.motion.run import simulate as verbs


def controller() -> sb.System:
    """A sampled PD with memory: the mean of the last two errors."""
    with sb.Graph() as graph:
        q, qd, old = graph.symbol("q.1"), graph.symbol("qd.1"), graph.symbol("old", "state")
        error = 0.4 - q
        outputs = {"tau.1": 3 * (error + old) - 0.5 * qd, "next": error}
        return sb.System(
            "pd", inputs={"q.1": q, "qd.1": qd, "old": old}, outputs=outputs, states={"old": "next"}, clocks={"p": 2e-3}
        )


EVENTS = [
    sb.When("wall", "q.1 - 0.35", direction=1, reset={"qd.1": "-0.7*qd.1"}),
    sb.When("apex", "qd.2", direction=-1),
]
RUNS = {
    "fixed steps, a sampled System": dict(duration=0.2, step=1e-3, q0=[0.1, 0.2], inputs={"tau.1": controller()}),
    "fixed steps, events": dict(duration=2.0, step=1e-3, q0=[0.3, 0.2], qd0=[2.0, 0.0], events=EVENTS),
    "an implicit method": dict(duration=1.0, step=1e-3, q0=[0.3, 0.2], method="generalized_alpha"),
    "adaptive steps, events": dict(duration=2.0, q0=[0.3, 0.2], qd0=[2.0, 0.0], events=EVENTS, tolerance=1e-9),
}


STARTS = np.linspace(4.0, 9.0, 6)  # rad/s: other partitions take over where crank and rod stand in line
CLOSED = {
    "a closed mechanism": dict(duration=1.0, q0={"crank": 1.0}, qd0={"crank": 5.0}, closing=["slide"]),
    "a batch of them": dict(duration=1.0, q0={"crank": 1.0}, qd0={"crank": STARTS}, closing=["slide"]),
}
NAMES = (*RUNS, *CLOSED)


def whole_run(name: str, checkpoint: Path | None = None) -> sb.Trajectory:
    if name in CLOSED:
        return sb.simulate(slider_crank(0.2, 0.5), **CLOSED[name], checkpoint=checkpoint)
    return sb.simulate(sb.load("pendulum2"), **RUNS[name], checkpoint=checkpoint)


def killed_run(name: str, path: Path, seconds: float) -> None:
    """A child that runs with a checkpoint after every stretch, killed after so many seconds."""
    child = os.fork()
    if child == 0:
        try:
            verbs.CHECKPOINT_SECONDS = 0.0
            whole_run(name, path)
        finally:
            os._exit(0)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def check(name: str, whole: sb.Trajectory, path: Path) -> bool:
    """Whether there was a file to resume from; AssertionError where the resumed run is another one."""
    if not path.exists():
        return False
    again = sb.resume(path)
    assert again.outcome is whole.outcome
    assert [(e.t, e.name) for e in again.events] == [(e.t, e.name) for e in whole.events]
    np.testing.assert_array_equal(again.t, whole.t)
    slack = 0.0 if name in CLOSED or "step" in RUNS[name] else 1e-7
    for quantity in ("q", "qd", "qdd"):
        np.testing.assert_allclose(again[quantity], whole[quantity], rtol=slack, atol=slack)
    return True


def kill_runs(name: str, count: int, seed: int = 0) -> int:
    """Kill and resume so many times; how often there was a file."""
    rng = random.Random(seed)
    whole_run(name)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "run.ckpt")
        began = time.perf_counter()
        killed_run(name, path, 1e-3)
        whole = whole_run(name, path)  # how long it takes, about
        longest = 3 * (time.perf_counter() - began) + 0.5
        resumed = 0
        for _ in range(count):
            path.unlink(missing_ok=True)
            killed_run(name, path, rng.uniform(0.0, longest))
            resumed += check(name, whole, path)
            left = [p.name for p in Path(folder).iterdir() if p != path]
            assert len(left) <= 1, left  # of the write that was killed; the next one removes it
    return resumed


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Kill runs and resume them.")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    for k, name in enumerate(NAMES):
        share = given.count // len(NAMES)
        print(f"{name}: {kill_runs(name, share, given.seed + k)} of {share} kills resumed, all equal", flush=True)
