"""Runs again and again with other numbers: 1000 runs of 100 steps, each with other q0 and parameters.

    PYTHONPATH=src python -m benchmarks.repeated_runs [--runs 1000]

CPU seconds of this process, after the first run; no result is remembered.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

import symbody as sb

STEP, STEPS = 1e-3, 100


def four_bar() -> Callable[[np.random.Generator], sb.Trajectory]:
    """The crank from other angles, with other masses."""
    mech = sb.load("four_bar")
    crank = mech.joints[0].name

    def run(rng: np.random.Generator) -> sb.Trajectory:
        numbers = {"m1": 0.5 * rng.uniform(0.9, 1.1)}
        return sb.simulate(mech, STEPS * STEP, STEP, q0={crank: 0.1 * rng.random()}, parameters=numbers)

    return run


def puma560() -> Callable[[np.random.Generator], sb.Trajectory]:
    """Six joints from other positions, with another mass."""
    mech = sb.load("puma560")

    def run(rng: np.random.Generator) -> sb.Trajectory:
        numbers = {"m2": 17.4 * rng.uniform(0.9, 1.1)}
        return sb.simulate(mech, STEPS * STEP, STEP, q0=0.1 * rng.random(6), parameters=numbers)

    return run


MODELS = {"four_bar": four_bar, "puma560": puma560}


def main() -> None:
    parser = argparse.ArgumentParser(description="Runs again and again with other numbers.")
    parser.add_argument("--runs", type=int, default=1000)
    runs = parser.parse_args().runs
    for name, make in MODELS.items():
        run, rng = make(), np.random.default_rng(0)
        run(rng)
        start = time.process_time()
        for _ in range(runs):
            run(rng)
        print(f"{name:10} {runs} runs of {STEPS} steps: {time.process_time() - start:.2f} s of CPU")


if __name__ == "__main__":
    main()
