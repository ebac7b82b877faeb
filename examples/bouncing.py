"""Events: a ball falls, bounces with a coefficient of restitution, and comes to rest.

python examples/bouncing.py [folder for a picture]
"""

from __future__ import annotations

import sys
from pathlib import Path

import symbody as sb

HEIGHT, RESTITUTION = 1.0, 0.8


def main(folder: str | None = None) -> sb.Trajectory:
    ball = (
        sb.Mechanism.builder("ball")
        .body("ball", mass=0.1)
        .joint("height", "prismatic", "world", "ball", axis="z")
        .done()
    )
    bounce = sb.When(
        "bounce",
        "q.height",  # the event: this crosses zero ...
        direction=-1,  # ... from above
        reset={"qd.height": f"-{RESTITUTION}*qd.height"},
        slowest=0.05,  # m/s: slower rebounds are not followed ...
        rest={"qd.height": 0, "tau.height": 0.1 * 9.81},  # ... the ground carries the ball from then on
    )
    motion = sb.simulate(ball, 5.0, q0={"height": HEIGHT}, events=[bounce], outputs=["energy"])
    for event in motion.events[:3]:
        print(f"{event.name} at {event.t:.6f} s")
    print(f"... {len(motion.events)} events, the last one at {motion.events[-1].t:.4f} s; {motion.outcome.value}")
    if folder is not None:
        motion.plot(["q", "qd", "energy"]).savefig(Path(folder) / "bouncing.svg")
    return motion


if __name__ == "__main__":
    main(*sys.argv[1:2])
