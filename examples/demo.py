"""A robot from its description to its motion: loaded, certified, counted, compiled, moved, reported.

Run with `make demo`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import symbody as sb
from symbody.model.record.tree_text import tree_text

BATCH = 100_000
FOLDER = Path("demo_out")
OMEGA = 8.0  # rad/s: how fast the controlled robot goes to its goal
DURATION = 2.0  # s
START = (-0.6, -1.9, 1.5, -1.1, -1.5, 0.0)  # rad; longer or shorter as the robot needs
GOAL = (1.2, -1.0, 1.7, -2.2, -1.5, 0.8)


def main(name: str = "ur5", folder: Path = FOLDER) -> None:
    console = Console(highlight=False)
    say = lambda *texts: console.print(*texts, soft_wrap=True)  # noqa: E731
    folder.mkdir(exist_ok=True)

    console.rule(f"[bold]symbody: {name}")
    robot = sb.load(name)
    console.print(tree_text(robot), markup=False)

    say("\n[bold]Certify[/]: independent formalisms, energy and power at random states")
    certificate = sb.verify(robot)
    worst = max(check.error for check in certificate.checks)
    say(f"  {len(certificate.checks)} checks, the largest difference is {worst:.1e}")

    inverse = sb.inverse_dynamics(robot)
    forward = sb.forward_dynamics(robot)
    say("\n[bold]Count[/]: operations of one call")
    console.print(_counts(robot, inverse, forward))

    say("\n[bold]Compile[/] to native code, without a compiler")
    console.print(_times(robot, inverse))

    say(f"\n[bold]Simulate[/]: computed torques take it to a goal within {DURATION:g} s")
    motion, difference = _moved(robot, inverse)
    steps, seconds = motion.statistics["steps"], motion.statistics["seconds"]
    say(f"  {steps} steps of {motion.method} in {1e3 * seconds:.1f} ms. {motion.outcome.value}")
    say(f"  every joint follows (1 + w t) exp(-w t) to {difference:.0e} rad")

    say("\n[bold]Take along[/]")
    source, figure = folder / f"{inverse.name}.c", folder / f"{name}.png"
    source.write_text(inverse.emit("c"), encoding="utf-8")
    motion.plot(["q", "tau"]).savefig(figure, dpi=110)
    report = sb.write_report(
        robot, folder / f"{name}.html", motion, certificate, formalisms=("newton_euler", "auto"), equations=None
    )
    parts = "animation, motion, certificate" if find_spec("meshcat") else "motion, certificate"
    for path, what in ((report, f"the report: {parts}. Open it in a browser"), (figure, "the motion as a picture"),
                       (source, "inverse dynamics in C")):  # fmt: skip
        say(f"  [bold]{path!s:<28}[/] {what}")
    if not certificate.passed or difference > 1e-5 or not motion.outcome.ok:
        raise SystemExit("The checks failed: see above.")


def _counts(robot: sb.Mechanism, inverse: sb.System, forward: sb.System) -> Table:
    table = Table()
    for column in ("", "mul", "add", "div", "total", "trig", "setup"):
        table.add_column(column, justify="left" if not column else "right")
    plain = sb.inverse_dynamics(robot, formalism="newton_euler")
    for label, system in (("inverse, newton_euler", plain), ("inverse", inverse), ("forward", forward)):
        c = system.count()
        table.add_row(label, *(str(v) for v in (c.mul, c.add, c.div, c.total, c.trig, c.setup)))
    return table


def _times(robot: sb.Mechanism, inverse: sb.System) -> Table:
    start = time.perf_counter()
    bound = inverse.compile().bind()
    compiled = time.perf_counter() - start
    rng = np.random.default_rng(1)
    one = [rng.uniform(-1, 1, robot.nv) for _ in range(3)]
    many = [rng.uniform(-1, 1, (BATCH, robot.nv)) for _ in range(3)]
    table = Table(show_header=False)
    table.add_row("compile, or find in the cache", f"{compiled * 1e3:.1f} ms")
    table.add_row("inverse dynamics of one state, native", f"{bound.time_native(*one) * 1e9:.0f} ns")
    table.add_row("the same, called from Python", f"{seconds_of(lambda: bound(*one), 2000) * 1e9:.0f} ns")
    each = seconds_of(lambda: bound(*many), 3) / BATCH
    table.add_row(f"one state in a batch of {BATCH:,}", f"{each * 1e9:.1f} ns")
    return table


def _moved(robot: sb.Mechanism, inverse: sb.System) -> tuple[sb.Trajectory, float]:
    """The robot under computed torques, and the largest difference (rad) from what they should give.

    Inverse dynamics of the wanted accelerations, qdd = w^2 (goal - q) - 2 w qd, is itself the controller: one System
    goes into another, and both run as one native program.
    """
    n = robot.nv
    q, qd = (sb.symbols(" ".join(f"{name}{k}" for k in range(n))) for name in ("q", "qd"))
    start, goal = np.resize(START, n), np.resize(GOAL, n)
    wanted = [OMEGA**2 * (float(g) - x) - 2 * OMEGA * v for g, x, v in zip(goal, q, qd)]
    controller = sb.System(
        "computed_torque", inputs={"q": q, "qd": qd}, outputs={"tau": inverse.apply(q=q, qd=qd, qdd=wanted)}
    )
    for _ in range(2):  # the first run compiles
        motion = sb.simulate(robot, DURATION, q0=start, inputs=controller)
    fading = (1 + OMEGA * motion.t) * np.exp(-OMEGA * motion.t)
    expected = goal + np.outer(fading, start - goal)
    return motion, float(np.abs(motion.q - expected).max())


def seconds_of(function: Callable[[], object], repeat: int, rounds: int = 5) -> float:
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
