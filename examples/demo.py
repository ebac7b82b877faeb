"""A double pendulum: from expressions to counts, native code and C. Run with `make demo`."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import symbody as sb

DEFAULTS = {"l1": 1.0, "l2": 0.7, "m1": 2.0, "m2": 1.5, "g": 9.81}
BATCH = 100_000
FOLDER = Path("demo_out")


def double_pendulum() -> sb.System:
    """Two point masses on massless rods; q1 from the vertical, q2 from the first rod, no actuation.

    Lagrange's equations of T - V give M(q) qdd + c(q, qd) = 0; the motion keeps T + V.
    """
    q1, q2, qd1, qd2 = sb.symbols("q1 q2 qd1 qd2")
    l1, l2, m1, m2, g = sb.symbols("l1 l2 m1 m2 g")
    s2, c2 = sb.sin(q2), sb.cos(q2)

    # kinetic and potential energy; v2^2 is the squared speed of the second mass
    w2 = qd1 + qd2
    v2_squared = (l1 * qd1) ** 2 + (l2 * w2) ** 2 + 2 * l1 * l2 * qd1 * w2 * c2
    kinetic = m1 * (l1 * qd1) ** 2 / 2 + m2 * v2_squared / 2
    potential = -(m1 + m2) * g * l1 * sb.cos(q1) - m2 * g * l2 * sb.cos(q1 + q2)

    # mass matrix: second derivatives of the kinetic energy by qd
    m22 = m2 * l2**2
    m12 = m22 + m2 * l1 * l2 * c2
    m11 = m1 * l1**2 + m2 * (l1**2 + l2**2 + 2 * l1 * l2 * c2)

    # centrifugal and Coriolis efforts, and weight
    h = m2 * l1 * l2 * s2
    weight2 = m2 * g * l2 * sb.sin(q1 + q2)
    c_1 = -h * qd2 * (2 * qd1 + qd2) + (m1 + m2) * g * l1 * sb.sin(q1) + weight2
    c_2 = h * qd1**2 + weight2

    # accelerations, by Cramer's rule
    det = m11 * m22 - m12 * m12
    qdd = [(m12 * c_2 - m22 * c_1) / det, (m12 * c_1 - m11 * c_2) / det]

    return sb.System(
        "double_pendulum",
        inputs={"q": [q1, q2], "qd": [qd1, qd2]},
        parameters={"l1": l1, "l2": l2, "m1": m1, "m2": m2, "g": g},
        defaults=DEFAULTS,
        outputs={"M": [[m11, m12], [m12, m22]], "c": [c_1, c_2], "qdd": qdd, "energy": kinetic + potential},
    )


def seconds(function: Callable[[], object], repeat: int, rounds: int = 5) -> float:
    """Best time of one call over a few rounds of `repeat` calls."""
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(repeat):
            function()
        best = min(best, (time.perf_counter() - start) / repeat)
    return best


def main() -> None:
    console = Console(highlight=False)
    console.rule("[bold]symbody: a double pendulum")

    start = time.perf_counter()
    system = double_pendulum()
    built = time.perf_counter()
    optimized = system.optimize("full")
    passed = time.perf_counter()
    kernel = optimized.compile()
    compiled = time.perf_counter()

    counts = Table(title="operations in one call", title_justify="left")
    counts.add_column("")
    columns = ("mul", "add", "div", "total", "trig", "setup")
    for column in columns:
        counts.add_column(column, justify="right")
    for label, counted in (("as written", system.count()), ('optimize("full")', optimized.count())):
        counts.add_row(label, *(str(getattr(counted, column)) for column in columns))
    console.print(counts)
    console.print("[dim]setup runs once per set of parameters, and is not in the total[/]\n")

    # one state
    q, qd = np.array([0.4, -0.9]), np.array([1.2, 0.3])
    one = kernel(q, qd)
    numbers = Table(title=f"at q = {q}, qd = {qd}", title_justify="left", show_header=False)
    for name in ("M", "c", "qdd", "energy"):
        numbers.add_row(name, np.array2string(np.asarray(getattr(one, name)), precision=6))
    console.print(numbers)

    # many states, compared with the interpreter
    rng = np.random.default_rng(1)
    qs, qds = rng.uniform(-np.pi, np.pi, (BATCH, 2)), rng.normal(size=(BATCH, 2))
    many = kernel(qs, qds)
    reference = system.compile(target="python")(qs, qds)
    differences = [
        np.max(np.abs(getattr(many, name) - getattr(reference, name)) / (1 + np.abs(getattr(reference, name))))
        for name in ("M", "c", "qdd", "energy")
    ]

    # the pendulum is free, so its power dE/dq qd + dE/dqd qdd vanishes: the derivatives check the equations
    by_q = system.jacobian("energy", "q").compile()(qs, qds)
    by_qd = system.jacobian("energy", "qd").compile()(qs, qds)
    power = np.sum(by_q * qds + by_qd * many.qdd, axis=-1)
    scale = np.sum(np.abs(by_q * qds) + np.abs(by_qd * many.qdd), axis=-1)
    checks = Table(title=f"checks on {BATCH:,} random states", title_justify="left", show_header=False)
    checks.add_row("native code against the interpreter, largest relative difference", f"{max(differences):.1e}")
    checks.add_row("power of the free pendulum, relative to its terms", f"{np.max(np.abs(power) / (1 + scale)):.1e}")
    console.print(checks)

    scalar = seconds(lambda: kernel(q, qd), 2000)
    batch = seconds(lambda: kernel(qs, qds), 3) / BATCH
    times = Table(title="times", title_justify="left", show_header=False)
    times.add_row("write the equations", f"{(built - start) * 1e3:.2f} ms")
    times.add_row('optimize("full")', f"{(passed - built) * 1e3:.2f} ms")
    times.add_row("compile, or find in the cache", f"{(compiled - passed) * 1e3:.2f} ms")
    times.add_row("one state, called from Python", f"{scalar * 1e9:.0f} ns")
    times.add_row(f"one state in a batch of {BATCH:,}", f"{batch * 1e9:.1f} ns")
    times.add_row("Python's share of a single call, about", f"{(scalar - batch) * 1e9:.0f} ns")
    console.print(times)

    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"{system.name}.c"
    path.write_text(optimized.emit("c"), encoding="utf-8")
    console.print(
        f"\nThe same program in C: [bold]{path}[/] ({len(path.read_text(encoding='utf-8').splitlines())} lines)"
    )

    if max(differences) > 1e-9 or np.max(np.abs(power) / (1 + scale)) > 1e-9:
        raise SystemExit("The checks failed: native code, interpreter and energy do not agree.")


if __name__ == "__main__":
    main()
