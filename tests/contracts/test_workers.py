"""A study on workers (spawned processes, joblib, Dask) is the same study as in one process, bit for bit."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
import pytest

import symbody as sb
from symbody.codegen.kernel.passport import Kernel

Task = tuple[sb.Mechanism, Kernel, float]


def run(task: Task) -> tuple[np.ndarray, np.ndarray, sb.Trajectory]:
    """A motion, what a Kernel makes of its end, and its linear model: all from records that came from elsewhere."""
    mech, kernel, angle = task
    motion = sb.simulate(mech, 0.3, 0.01, q0=[angle, 0.1], method="dopri5", outputs=["energy"])
    efforts = kernel(motion.q[-1], motion.qd[-1], np.ones(2))
    return np.asarray(efforts), sb.linearize(mech, q0=motion.q[-1]).A, motion


def study() -> list[Task]:
    mech = sb.load("pendulum2")
    kernel = sb.inverse_dynamics(mech).compile().bind(dict.fromkeys(list(mech.parameters)[:1], 0.7))
    return [(mech, kernel, angle) for angle in np.linspace(0.1, 1.0, 6)]


def by_spawn(tasks: Sequence[Task]) -> list[Any]:
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        return list(pool.map(run, tasks))


def by_joblib(tasks: Sequence[Task]) -> list[Any]:
    joblib = pytest.importorskip("joblib")
    return list(joblib.Parallel(n_jobs=2, backend="loky")(joblib.delayed(run)(task) for task in tasks))


def by_dask(tasks: Sequence[Task]) -> list[Any]:
    distributed = pytest.importorskip("distributed")
    options = {"processes": True, "threads_per_worker": 1, "dashboard_address": None, "host": "127.0.0.1"}
    with distributed.LocalCluster(2, **options) as cluster, distributed.Client(cluster) as client:
        return list(client.gather(client.map(run, tasks, pure=False)))


@pytest.mark.parametrize(
    "pool", [by_spawn, pytest.param(by_joblib, marks=pytest.mark.slow), pytest.param(by_dask, marks=pytest.mark.slow)]
)
def test_workers_run_the_same_study_bit_for_bit(pool: Callable[[Sequence[Task]], list[Any]]) -> None:
    tasks = study()
    for (here, matrix, motion), (there, other, moved) in zip(map(run, tasks), pool(tasks), strict=True):
        assert np.array_equal(here, there)
        assert np.array_equal(matrix, other)
        assert set(moved.values) == set(motion.values)
        assert all(np.array_equal(moved.values[n], motion.values[n]) for n in motion.values)
        assert moved.outcome is motion.outcome
