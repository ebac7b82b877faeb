"""Cycles of build, compile, call, simulate, each with code of its own: what the process keeps of them.

python -m fuzz.cycles --count 10000     resident memory in 20 lines; flat to 1 MB after the first 500
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import tempfile

import symbody as sb

FIRST = 500  # cycles in which the allocators find their size
FLAT = 1 << 20  # bytes


def cycle(i: int) -> None:
    """A pendulum and a formula that no cycle before had, compiled, called and simulated."""
    number = 1 + i * 1e-3
    make = sb.Mechanism.builder("pendulum")
    make.body("rod", number, (0, 0, -0.5 * number), (0.1, 0.1, 0.01))
    make.joint("hinge", "revolute", "world", "rod", axis="y")
    mech = make.done()
    sb.forward_dynamics(mech).compile()([0.1], [0.2], [0.0])
    sb.simulate(mech, 0.03, 0.01, q0=[0.3])
    with sb.Graph():
        x = sb.symbols("x")
        sb.System("formula", inputs={"x": x}, outputs={"y": sb.sin(number * x) + i}).compile()(0.3)


def resident() -> int:
    """Bytes of this process in memory, after a collection (Linux)."""
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def main() -> int:
    parser = argparse.ArgumentParser(description="Resident memory over cycles of build, compile, call, simulate.")
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=FIRST)
    given = parser.parse_args()
    every = max(given.count // 20, 1)
    start = 0
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SYMBODY_CACHE"] = os.path.join(folder, "cache")
        for i in range(given.count + 1):
            cycle(i)
            if i == given.first:
                start = resident()
            if i % every == 0:
                print(f"{i:6} cycles {resident() / 2**20:8.2f} MB", flush=True)
        grown = resident() - start
    print(f"grown by {grown / 2**20:.3f} MB after the first {given.first}")
    return 1 if grown > FLAT else 0


if __name__ == "__main__":
    sys.exit(main())
