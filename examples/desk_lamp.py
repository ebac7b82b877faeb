"""A model file of one's own: a desk lamp that springs hold up. Where does it stay, and how does it swing?

python examples/desk_lamp.py [folder for a picture]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import symbody as sb
from symbody.studies.steady.equilibrium import Equilibrium, equilibrium

MODEL = Path(__file__).parent / "models" / "desk_lamp.yaml"


def main(folder: str | None = None) -> tuple[Equilibrium, sb.Trajectory]:
    lamp = sb.load(MODEL)

    # where springs and weight balance, downhill from a first guess
    rest = equilibrium(lamp, q0={"lower": 1.0, "upper": 0.5}, stable=True)
    lower, upper = np.degrees(rest.q)
    print(f"{rest}\nThe lower arm stays at {lower:.1f}, the upper one at {upper:.1f} degrees.")

    # small swings about it
    print(sb.modes(lamp, **rest.point).table())

    # a push: where does the head go?
    motion = sb.simulate(lamp, 6.0, q0=rest.q, qd0={"lower": 1.0}, outputs=["p.head", "spring1_F", "spring2_F"])
    far = float(np.ptp(motion["p.head.x"]))
    print(f"After a push of 1 rad/s the head travels {100 * far:.0f} cm to and fro. {motion.outcome.value}")
    if folder is not None:
        motion.plot(["q", "p.head", "spring1_F", "spring2_F"]).savefig(Path(folder) / "desk_lamp.svg")
    return rest, motion


if __name__ == "__main__":
    main(*sys.argv[1:2])
