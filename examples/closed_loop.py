"""A closed loop: a motor turns a piston pump, a slider-crank. Which torque, and what does the wrist pin carry?

The tree of crank, rod and slider is closed by a cut at the wrist pin; only the crank is independent.

python examples/closed_loop.py [folder for a picture]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from scipy.integrate import trapezoid

import symbody as sb

SPEED, PRESSURE = 60.0, 200.0  # rad/s, N


def main(folder: str | None = None) -> sb.Trajectory:
    pump = sb.load("slider_crank")
    forward = sb.forward_dynamics(pump)
    print(f"forward dynamics: {forward.count()}")
    print(forward.origins["partition"])

    # the piston works against pressure on its way out only; a motor keeps the speed
    motion = sb.simulate(
        pump,
        1.0,
        qd0={"crank": SPEED},
        inputs={"slide": f"-{PRESSURE / 2}*(1 + tanh(qd.slide/0.05))", "crank": f"2*({SPEED} - qd.crank)"},
        outputs=["reaction.wrist", {"motor": "tau.crank*qd.crank"}],
        samples=4001,
    )
    wrist = np.hypot(motion["reaction.wrist.fx"], motion["reaction.wrist.fy"])
    print(f"stroke {1e3 * np.ptp(motion['q.slide']):.1f} mm, speed {motion['qd.crank'].min():.1f} to "
          f"{motion['qd.crank'].max():.1f} rad/s, up to {wrist.max():.0f} N in the wrist pin")  # fmt: skip

    # the work of the motor over whole revolutions, and what the pressure takes
    turns = int((motion["q.crank"][-1] - motion["q.crank"][2000]) / (2 * np.pi))
    end = int(np.searchsorted(motion["q.crank"], motion["q.crank"][2000] + 2 * np.pi * turns))
    work = trapezoid(motion["motor"][2000:end], motion.t[2000:end]) / turns
    print(f"work of the motor in a revolution: {work:.2f} J; pressure times stroke: {PRESSURE * 0.14:.2f} J")
    if folder is not None:
        motion.plot(["q.slide", "qd.crank", "tau.crank", "reaction.wrist"]).savefig(Path(folder) / "closed_loop.svg")
    return motion


if __name__ == "__main__":
    main(*sys.argv[1:2])
