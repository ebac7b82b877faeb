"""A controller written as a System: it joins the equations of the robot, and both run as one native program.

A UR5 moves to a goal under a law with an integral part, which is a state of the controller. The second run takes
the same law as a Python function that is called once a millisecond, as a control computer would.

python examples/controller.py [folder for a picture]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import symbody as sb

GOAL = np.array([0.6, -0.8, 0.4, 0.3, 0.5, -0.2])  # rad
NATURAL = 12.0  # rad/s: how stiff the closed loop is


def controller(robot: sb.Mechanism) -> sb.System:
    """tau = D (kp e + ki z - kd qd), z' = e, e = goal - q; D: the inertia that each motor feels at the goal."""
    n = robot.nv
    q = sb.symbols(" ".join(f"q{k}" for k in range(n)))
    qd = sb.symbols(" ".join(f"qd{k}" for k in range(n)))
    z = sb.symbols(" ".join(f"z{k}" for k in range(n)))
    inertia = np.diag(sb.semi_explicit(robot).compile()(GOAL, np.zeros(n)).M)
    error = [goal - x for goal, x in zip(GOAL, q)]
    kp, ki, kd = 3 * NATURAL**2, NATURAL**3, 3 * NATURAL  # three equal poles at -NATURAL
    tau = [float(d) * (kp * e + ki * i - kd * v) for d, e, i, v in zip(inertia, error, z, qd)]
    return sb.System(
        "pid",
        inputs={"q": q, "qd": qd, "z": z},  # q and qd are read from the robot by their names
        states={"z": "z_dot"},
        outputs={"tau": tau, "z_dot": error},
    )


def main(folder: str | None = None) -> tuple[sb.Trajectory, sb.Trajectory]:
    robot = sb.load("ur5")
    pid = controller(robot)
    smooth = sb.simulate(robot, 3.0, inputs=pid)
    left = np.degrees(np.abs(smooth.q[-1] - GOAL).max())
    print(f"continuous: {left:.4f} degrees left after 3 s; {smooth.statistics['seconds'] * 1e3:.0f} ms of computing")

    # the same law in Python, sampled and held
    law = pid.compile()
    memory = np.zeros(robot.nv)
    period = 1e-3

    def sampled(t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        nonlocal memory
        tau, error = law(q, qd, memory)
        memory = memory + period * error
        return tau

    held = sb.simulate(robot, 3.0, step=period, inputs={"tau": sampled})
    apart = np.degrees(np.abs(held.q[-1] - smooth.q[-1]).max())
    print(f"sampled every {1e3 * period:g} ms: {apart:.4f} degrees apart; {held.statistics['seconds'] * 1e3:.0f} ms")
    if folder is not None:
        smooth.plot(["q", "tau"]).savefig(Path(folder) / "controller.svg")
    return smooth, held


if __name__ == "__main__":
    main(*sys.argv[1:2])
