"""A batch: one thousand double pendulums, each with masses and a start of its own, in one native run.

python examples/monte_carlo.py [folder for a picture]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import symbody as sb

MEMBERS = 1000


def main(folder: str | None = None, members: int = MEMBERS) -> sb.Trajectory:
    pendulum = sb.load("pendulum2")
    rng = np.random.default_rng(1)
    start = np.array([1.2, 0.0]) + rng.normal(0.0, 0.01, (members, 2))  # rad: 0.6 degrees of uncertainty
    masses = {"m1": rng.normal(1.0, 0.02, members), "m2": rng.normal(1.0, 0.02, members)}  # kg
    motion = sb.simulate(pendulum, 6.0, step=1e-3, samples=301, q0=start, parameters=masses)

    spread = np.degrees(motion.q.std(axis=0))  # (instants, 2)
    for t in (0.0, 2.0, 4.0, 6.0):
        k = int(np.argmin(np.abs(motion.t - t)))
        print(f"t = {t:.0f} s: standard deviation of the angles {spread[k, 0]:7.2f} {spread[k, 1]:7.2f} degrees")
    steps, seconds = motion.statistics["steps"], motion.statistics["seconds"]
    print(f"{steps:,.0f} steps of order 4 in {seconds:.2f} s on this machine. {motion.outcome.value}")
    if folder is not None:
        motion.plot("q").savefig(Path(folder) / "monte_carlo.png", dpi=120)
    return motion


if __name__ == "__main__":
    main(*sys.argv[1:2])
