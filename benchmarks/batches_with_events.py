"""Batches with events beside single runs, a sampled controller beside none, a streamed batch: CPU times in one process.

    python -m benchmarks.batches_with_events [--quick]

CPU time of the process is read, not the clock on the wall: all of it is symbody's own work, and a busy machine changes
it least. Members of a batch are compared with single runs to the bit.
"""

from __future__ import annotations

import math
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

import symbody as sb
from benchmarks.record import Claim, Options, Section
from symbody.motion.run.side_by_side import at_instants

MEMBERS, QUICK_MEMBERS = 10_000, 1000
STREAMED, QUICK_STREAMED = 1_000_000, 20_000
SINGLES, REPEATS = 24, 3  # single runs that stand for all of them: members differ in what happens to them
CHECKED = 5  # members that are compared to the bit


@dataclass(frozen=True, eq=False)
class Case:
    """A model, the options of its runs, and the initial values of `count` members, by keyword."""

    name: str
    model: sb.Mechanism
    duration: float
    options: dict[str, Any]
    starts: Callable[[int], dict[str, np.ndarray]]


def bouncing_balls() -> Case:
    """21 bounces of a ball in 5 s."""
    make = sb.Mechanism.builder("ball").body("ball", mass=1.0)
    ball = make.joint("z", "prismatic", "world", "ball", axis="z").done()
    bounce = sb.When("bounce", "q.z", direction=-1, reset={"qd.z": "-0.93*qd.z"})
    options = {"events": [bounce], "samples": 2}
    return Case("bouncing ball", ball, 5.0, options, lambda n: {"q0": np.linspace(0.266, 0.262, n)[:, None]})


def stick_slip() -> Case:
    """A mass on a belt, held back by a spring: it sticks and slips."""
    make = sb.Mechanism.builder("belt", gravity=[0, 0, 0])
    make.body("belt").joint("feed", "prismatic", "world", "belt", axis="x", mode="driven", value="0.1*t")
    make.body("m", 1.5).joint("slip", "prismatic", "belt", "m", axis="x")
    make.body("wall", frames={"hook": [-100.0, 0, 0]}).joint("fixed", "fixed", "world", "wall")
    make.force("spring", "spring_damper", ["m", "wall.hook"], stiffness=50.0, length=100.0)
    friction = {"level": 2.0, "breakaway": 3.0, "stiffness": 4e4, "damping": 100.0}
    belt = make.force("dry", "stiction", joint="slip", **friction).done()
    return Case("stick-slip", belt, 4.0, {"samples": 2}, lambda n: {"qd0": np.c_[np.zeros(n), np.linspace(0, 0.2, n)]})


def five_bars() -> Case:
    """Two chains of two bars that share their ends, through singular positions."""
    make = sb.Mechanism.builder("five_bar", gravity=(0, -9.81, 0))
    for name, length, mass in (("a1", 0.2, 0.5), ("a2", 0.3, 0.4), ("b1", 0.22, 0.55), ("b2", 0.28, 0.45)):
        make.body(
            name, mass=mass, com=[length / 2, 0, 0], inertia=[0, 0, mass * length**2 / 12],
            frames={"end": [length, 0, 0]},
        )  # fmt: skip
    make.joint("a1", "revolute", "world", "a1", position=[-0.1, 0, 0])
    make.joint("a2", "revolute", "a1", "a2", position=[0.2, 0, 0], mode="passive")
    make.joint("b1", "revolute", "world", "b1", position=[0.1, 0, 0])
    make.joint("b2", "revolute", "b1", "b2", position=[0.22, 0, 0], mode="passive")
    mech = make.cut("tip", "ball", "a2.end", "b2.end").done()
    q = sb.assemble(mech, [2.2, -1.53337591, 0.9, 1.56706369], fixed=["a1", "b1"])
    qd = sb.closure(mech, partition=["a1", "b1"]).compile()(q, [1.66940919, 0, -0.79089627, 0]).qd

    def starts(n: int) -> dict[str, np.ndarray]:
        return {"q0": np.repeat(q[None], n, axis=0), "qd0": np.linspace(1.0, 1.1, n)[:, None] * qd}

    return Case("five-bar", mech, 1.0, {"samples": 2}, starts)


def quarter_car() -> sb.Mechanism:
    """A wheel on a wavy road, and a quarter of a car on its spring and damper."""
    make = sb.Mechanism.builder("quarter_car")
    for name, value in (("ms", 300.0), ("mu", 40.0), ("ks", 20e3), ("cs", 1500.0), ("kt", 180e3)):
        make.parameter(name, value)
    make.body("road").joint("road", "prismatic", "world", "road", axis="z", mode="driven", value="0.02*sin(9*t)")
    make.body("wheel", "mu").joint("hop", "prismatic", "road", "wheel", axis="z", stiffness="kt")
    make.body("car", "ms").joint("heave", "prismatic", "wheel", "car", axis="z", stiffness="ks", viscous="cs")
    return make.done()


def run(options: Options) -> list[Section]:
    return [batches(options), controller(), streamed(options)]


def cpu(function: Callable[[], Any]) -> float:
    """Seconds of CPU of one call."""
    start = time.process_time()
    function()
    return time.process_time() - start


def batches(options: Options) -> Section:
    columns = ["model", "members", "events", "single, ms", "batch, ms a member", "batch / singles", "same bits"]
    section = Section("batches_with_events", "Batches with events: CPU beside single runs", columns)
    for case in (bouncing_balls(), stick_slip(), five_bars()):
        count = QUICK_MEMBERS if options.quick else MEMBERS
        values = case.starts(count)

        def single(k: int, case: Case = case, values: dict[str, np.ndarray] = values) -> sb.Trajectory:
            return sb.simulate(case.model, case.duration, **case.options, **{n: v[k] for n, v in values.items()})

        chosen = np.linspace(0, count - 1, SINGLES).astype(int)
        for k in chosen:
            single(k)  # compiled, all equations that they need on the way
        times = [min(cpu(lambda k=k: single(k)) for _ in range(REPEATS)) for k in chosen]
        few = {n: v[:3] for n, v in values.items()}
        sb.simulate(case.model, case.duration, **case.options, **few)
        began = time.process_time()
        many = sb.simulate(case.model, case.duration, **case.options, **values)
        spent = time.process_time() - began
        members = np.linspace(0, count - 1, CHECKED).astype(int)
        same = all(np.array_equal(at_instants(single(k), many.t)["q"], many.q[k]) for k in members)
        one, each = float(np.mean(times)), spent / count
        section.add(
            model=case.name, members=count, events=len(single(0).events), **{"single, ms": 1e3 * one},
            **{"batch, ms a member": 1e3 * each, "batch / singles": each / one, "same bits": "yes" if same else "NO"},
        )  # fmt: skip
        section.claims.append(Claim(f"a batch of {case.name} beside as many calls", each / one, 0.25))
        if case.name == "bouncing ball":
            section.claims.append(Claim("one ball, 5 s, 21 bounces, ms of CPU", 1e3 * one, 3.0))
    return section


def controller() -> Section:
    """A sampled PD of the PUMA as a System: 10 s, step and period 1 ms."""
    robot = sb.load("puma560")
    n = robot.nv
    q, qd = (np.array(sb.symbols(" ".join(f"{s}_{i}" for i in range(n))), dtype=object) for s in ("q", "qd"))
    pd = sb.System(
        "pd", inputs={"q": q, "qd": qd}, outputs={"tau": -20.0 * q - 2.0 * qd}, clocks={"period": 1e-3}
    )  # fmt: skip
    common = {"step": 1e-3, "q0": np.linspace(0.1, 0.6, n)}
    inputs = {"without": np.zeros(n), "with": pd}
    best = dict.fromkeys(inputs, math.inf)
    for _ in range(8):
        for name, tau in inputs.items():
            best[name] = min(best[name], cpu(lambda tau=tau: sb.simulate(robot, 10.0, inputs={"tau": tau}, **common)))
    section = Section("sampled_controller", "PUMA, 10 s in steps of 1 ms, PD at 1 ms", ["controller", "ms"])
    for name, seconds in best.items():
        section.add(controller=name, ms=1e3 * seconds)
    section.claims.append(Claim("with a sampled PD beside without", best["with"] / best["without"], 1.3))
    return section


def streamed(options: Options) -> Section:
    count = QUICK_STREAMED if options.quick else STREAMED
    rng = np.random.default_rng(0)
    parameters = {"ks": rng.uniform(1e4, 3e4, count), "cs": rng.uniform(800, 3000, count)}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "quarter_car.parquet"
        seconds = cpu(lambda: sb.simulate(quarter_car(), 1.0, 2e-3, parameters=parameters, samples=11, stream=path))
        size = path.stat().st_size
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    columns = ["runs", "steps each", "CPU, s", "file, MB", "largest resident, GB"]
    section = Section("streamed", "Quarter cars streamed to Parquet", columns)
    section.add(**dict(zip(columns, (count, 500, seconds, size / 1e6, resident), strict=True)))
    section.claims.append(Claim("resident memory, GB", resident, 1.0))
    return section


def main() -> int:
    console = Console(width=140)
    for section in run(Options(quick="--quick" in sys.argv)):
        section.show(console)
    return 0


if __name__ == "__main__":
    sys.exit(main())
