"""Memory of the gradient of a long run, and of its second derivatives: bounded whatever the number of steps.

    PYTHONPATH=src python -m benchmarks.derivatives_memory [--steps 1000000] [--allowed 16]

The PUMA of `derivatives_of_runs`, all its parameters, one integral, in processes of their own: the most resident memory
after the programs were made, beside what it was then (`VmHWM` of Linux, set anew). The gradient is compared with that
of a run that keeps all its states, and with derivatives that go forwards.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks.derivatives_of_runs import STEP, puma

STATUS = Path("/proc/self/status")


def resident(kind: str) -> float:
    """MB; kind: VmRSS now, VmHWM the most so far."""
    line = next(x for x in STATUS.read_text().splitlines() if x.startswith(kind))
    return int(line.split()[1]) / 1024


def measure(steps: int, allowed: float, second: bool) -> None:
    """One process: prints its memory and leaves its gradient in the file that is named."""
    f = puma(1000 * STEP, memory=allowed)
    n = f.variables.size
    along = np.full(n, 0.01) * f.start
    f.gradient()
    if second:
        f.hessian_vector(None, along)
    f.linearise().jacobian()
    f = puma(steps * STEP, memory=allowed)
    Path("/proc/self/clear_refs").write_text("5")
    before = resident("VmRSS")
    start = time.perf_counter()
    _, g = f.gradient()
    if second:
        g = np.asarray(f.hessian_vector(None, along))
    seconds = time.perf_counter() - start
    most = resident("VmHWM") - before
    forward = f.linearise().jacobian()[0] if not second else g
    gap = np.abs(forward - g).max() / np.abs(g).max()
    print(f"{most:.1f} {seconds:.2f} {gap:.1e} {' '.join(map(repr, g.tolist()))}")


def apart(steps: int, allowed: float, second: bool = False) -> tuple[float, float, float, np.ndarray]:
    """(MB, s, difference to forward, gradient) of a process of its own."""
    line = [sys.executable, "-m", "benchmarks.derivatives_memory", "--one", str(steps), str(allowed), str(int(second))]
    words = subprocess.run(line, check=True, capture_output=True, text=True).stdout.split()
    return float(words[0]), float(words[1]), float(words[2]), np.array([float(w) for w in words[3:]])


def main() -> None:
    parser = argparse.ArgumentParser(description="Memory of the gradient of a long run.")
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--allowed", type=float, default=16.0, help="MB that states may take")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        measure(int(asked.one[0]), float(asked.one[1]), asked.one[2] == "1")
        return
    print(f"puma560, 12 states and an integral, 56 parameters; states may take {asked.allowed:g} MB")
    kept = apart(asked.steps, 1e12)[3]
    for steps in (asked.steps // 10, asked.steps):
        most, seconds, gap, g = apart(steps, asked.allowed * 1e6)
        print(f"  {steps:8} steps: {most:6.1f} MB more, {seconds:5.2f} s, forward differs by {gap:.1e}", end="")
        print(f", all states kept by {np.abs(g - kept).max() / np.abs(kept).max():.1e}" if steps == asked.steps else "")
    most, seconds, _, product = apart(asked.steps, asked.allowed * 1e6, True)
    told = "the gradient and one Hessian-vector product"
    print(f"  {asked.steps:8} steps: {most:6.1f} MB more, {seconds:5.2f} s for {told}")
    assert np.isfinite(product).all()


if __name__ == "__main__":
    main()
