"""A robot from its description to native code: loaded, certified, counted, compiled, timed, written as C.

Run with `make demo`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import symbody as sb
from symbody.model.show import tree_text

BATCH = 100_000
FOLDER = Path("demo_out")


def main(name: str = "puma560") -> None:
    console = Console(highlight=False)
    console.rule(f"[bold]symbody: {name}")
    robot = sb.load(name)
    console.print(tree_text(robot), markup=False)

    console.print("\n[bold]certificate[/]: independent formalisms, energy and power at random states")
    certificate = sb.verify(robot)
    console.print(str(certificate), markup=False, soft_wrap=True)

    inverse = sb.inverse_dynamics(robot)
    forward = sb.forward_dynamics(robot)
    console.print(_counts(robot, inverse, forward))

    start = time.perf_counter()
    kernel = inverse.compile()
    compiled = time.perf_counter() - start
    rng = np.random.default_rng(1)
    q, qd, qdd = (rng.uniform(-1, 1, robot.nv) for _ in range(3))
    many = [rng.uniform(-1, 1, (BATCH, robot.nv)) for _ in range(3)]
    tau = kernel(q, qd, qdd)
    console.print(f"\nefforts at a random state: {np.array2string(tau, precision=3, max_line_width=200)}")
    back = forward.compile()(q, qd, tau)
    difference = float(np.max(np.abs(back - qdd)))
    console.print(f"forward dynamics gives the accelerations back to {difference:.1e}")

    bound = kernel.bind()
    times = Table(title="\ntimes", title_justify="left", show_header=False)
    times.add_row("compile, or find in the cache", f"{compiled * 1e3:.1f} ms")
    times.add_row("inverse dynamics of one state, native", f"{bound.time_native(q, qd, qdd) * 1e9:.0f} ns")
    times.add_row("the same, called from Python", f"{seconds(lambda: bound(q, qd, qdd), 2000) * 1e9:.0f} ns")
    each = seconds(lambda: bound(*many), 3) / BATCH
    times.add_row(f"one state in a batch of {BATCH:,}", f"{each * 1e9:.1f} ns")
    console.print(times)

    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"{inverse.name}.c"
    path.write_text(inverse.emit("c"), encoding="utf-8")
    lines = len(path.read_text(encoding="utf-8").splitlines())
    console.print(f"\nThe same program in C: [bold]{path}[/] ({lines} lines)")
    if not certificate.passed or difference > 1e-8:
        raise SystemExit("The checks failed: see the certificate above.")


def _counts(robot: sb.Mechanism, inverse: sb.System, forward: sb.System) -> Table:
    table = Table(title="\noperations of one call", title_justify="left")
    for column in ("", "mul", "add", "div", "total", "trig", "setup"):
        table.add_column(column, justify="left" if not column else "right")
    plain = sb.inverse_dynamics(robot, formalism="newton_euler")
    for label, system in (("inverse, newton_euler", plain), ("inverse", inverse), ("forward", forward)):
        c = system.count()
        table.add_row(label, *(str(v) for v in (c.mul, c.add, c.div, c.total, c.trig, c.setup)))
    return table


def seconds(function: Callable[[], object], repeat: int, rounds: int = 5) -> float:
    """Best time of one call over a few rounds of `repeat` calls."""
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(repeat):
            function()
        best = min(best, (time.perf_counter() - start) / repeat)
    return best


if __name__ == "__main__":
    main(*sys.argv[1:2])
