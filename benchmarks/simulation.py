"""Simulation beside MuJoCo, Pinocchio, Exudyn, PyDy and SciPy: speed of one state and of batches, and error of the end.

All march the same model by the same method with the same step, from the same state, without inputs. Speeds are
simulated seconds per second of processor time, of one thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import symbody as sb
from benchmarks.record import Claim, Missing, Options, Section
from benchmarks.simulation_models import Case, case
from benchmarks.simulation_peers import (
    EULER,
    RK4,
    Exudyn,
    Program,
    Stepped,
    Symbody,
    mujoco_stages,
    mujoco_steps,
    pinocchio_steps,
    pydy_rates,
    version,
)
from benchmarks.timing import TooSlow, interleaved

QUICK = ("rods2", "puma560")
FULL = ("rods2", "rods5", "rods10", "rods30", "rods100", "chain10", "puma560", "car_lane_change")
STEP = 1e-3  # s
CHECKED = 100  # steps after which all must agree
AGREE = 1e-7  # relative: roundoff, magnified by long chains
LASTS = 0.015  # s, of one timed run of symbody's march: to call it takes a hundredth of that
SLOW_STEPS = 500  # of programs that are called from Python at every stage
SYMBOLIC = 6  # bodies up to which Kane's equations are made
TIGHT = 1e-13  # tolerance of the reference
ADAPTIVE = 1e-10  # tolerance of the row of adaptive methods
BATCH, BATCH_STEPS = 10_000, 1000
PEER_STATES = 400  # of the batch: theirs takes as long for each state

SHOWN = {RK4: "RK4", EULER: "Euler"}
PEERS = ("MuJoCo", "MuJoCo stages", "Pinocchio C++", "Exudyn", "PyDy", "Python loop")


def run(options: Options) -> list[Section]:
    speed = Section(
        "simulation",
        "Simulation: one state, one core: simulated seconds per second, steps of 1 ms",
        ["model", "method", "symbody", "sb.simulate", *PEERS, "SciPy", "symbody / MuJoCo",
         "symbody / Pinocchio"],
    )  # fmt: skip
    accuracy = Section(
        "simulation_accuracy",
        "Simulation: relative error of the end state, same method and step for all",
        ["model", "method", "s", "symbody", *PEERS, "SciPy"],
    )
    batch = Section(
        "simulation_batch",
        "Simulation: a batch of states on one core: simulated seconds per second, summed over the batch, steps of 1 ms",
        ["model", "method", "states", "symbody", "sb.simulate", "MuJoCo", "MuJoCo stages", "Pinocchio C++",
         "symbody / MuJoCo", "symbody / MuJoCo stages", "symbody / Pinocchio", "as one by one"],
    )  # fmt: skip
    for name in QUICK if options.quick else FULL:
        chosen = case(name)
        start = chosen.start() if chosen.robot is not None else _closed(chosen)
        pydy = _pydy(chosen, options)
        for method in (RK4, EULER) if chosen.robot is not None else (RK4,):
            Comparison(chosen, method, start, pydy, options).measure(speed, accuracy)
        _adaptive(chosen, start, speed, accuracy, options)
    for method in (RK4, EULER):
        _batch("puma560", method, batch, options)
    speed.notes = [
        "Euler: semi-implicit; 1 ms: a thousand steps to the simulated second. dopri8: adaptive, tolerance "
        f"{ADAPTIVE:g}, over the seconds of the table below",
        "symbody: native loop alone; sb.simulate: the whole call on a model seen before, with preparation, and with "
        "states and accelerations recorded at each step",
        "MuJoCo: mj_step looped in C, contacts, constraints and all else that is not needed switched off; stages: only "
        "those that accelerations need, under an integrator in C; Pinocchio C++: aba under the same one",
        "Exudyn: ObjectKinematicTree, RK44, module without range checks; PyDy: Kane's equations, solved by L U, as C, "
        "in a Python loop; Python loop: symbody's rates in the same one; SciPy: solve_ivp, DOP853, over these rates",
        "rods<n>: planar chain, which symbolic equations make use of; chain10: spatial, full inertias; no friction",
        "the car has closed loops, driven joints and tyres, which the peers' models lack; it is put back on its loops "
        "after each step",
        f"each of them agrees with symbody to {AGREE:g} after {CHECKED} steps before anything is timed",
        ", ".join(f"{n} {version(n)}" for n in ("mujoco", "pin", "exudyn", "pydy", "scipy") if version(n)),
    ]
    accuracy.notes = [
        f"after so many s: max |x - x_ref| / max |x_ref| over q and qd; reference: dopri8, tolerance {TIGHT:g}",
    ]
    batch.notes = [
        f"random states, {BATCH_STEPS} steps each, end states kept; peers march {PEER_STATES} of them, one by one",
        "as one by one: the ends are the very bits of single runs",
    ]
    return [speed, accuracy, batch]


class Comparison:
    """One method on one model: everybody's program, checked, then timed in turns."""

    def __init__(
        self, chosen: Case, method: str, start: np.ndarray, pydy: Callable[..., Any] | Missing, options: Options
    ) -> None:
        self.case, self.method, self.start, self.options = chosen, method, start, options
        self.symbody = Symbody(chosen.mechanism, method, STEP)
        self.programs: dict[str, Program] = {"symbody": self.symbody}
        self.missing: dict[str, Missing] = {}
        field = self.symbody.field()
        self._add("Python loop", lambda: Stepped(field.rates, method, STEP, field.project))
        robot = chosen.robot
        if robot is None:
            return
        self._add("MuJoCo", lambda: mujoco_steps(robot, method, STEP))
        self._add("MuJoCo stages", lambda: mujoco_stages(robot, method, STEP))
        self._add("Pinocchio C++", lambda: pinocchio_steps(robot, method, STEP, build_limit(options)))
        self._add("Exudyn", lambda: Exudyn(robot, method, STEP))
        if isinstance(pydy, Missing):
            self.missing["PyDy"] = pydy
        else:
            self._add("PyDy", lambda: Stepped(pydy, method, STEP))

    def _add(self, label: str, make: Callable[[], Program]) -> None:
        try:
            program = make()
        except TooSlow as why:
            self.missing[label] = Missing(str(why))
            return
        expected, found = (p.end(self.start, CHECKED) for p in (self.symbody, program))
        check(label, self.case.name, found, expected)
        self.programs[label] = program

    def measure(self, speed: Section, accuracy: Section) -> None:
        steps = min(native_steps(self.symbody, self.start), round(self.case.longest / STEP))
        simulate = partial(
            sb.simulate, self.case.mechanism, steps * STEP, step=STEP, method=self.method, threads=1,
            **initial(self.symbody, self.start),
        )  # fmt: skip
        simulate()
        clocks = {n: per_step(p, self.start, self._steps(n, steps)) for n, p in self.programs.items()}
        clocks["sb.simulate"] = cpu_clock(simulate, steps)
        best = interleaved(clocks, 3 if self.options.quick else 20, 0.3 if self.options.quick else 1.0)
        row: dict[str, Any] = {"model": self.case.name, "method": SHOWN[self.method]}
        row |= {n: STEP / t for n, t in best.items()} | self.missing
        row |= ratios(row, {"MuJoCo": "MuJoCo", "Pinocchio": "Pinocchio C++"})
        speed.rows.append(row)
        self._claims(speed, row)
        self._accuracy(accuracy)

    def _steps(self, label: str, steps: int) -> int:
        return min(steps, SLOW_STEPS) if label in ("PyDy", "Python loop") else steps

    def _accuracy(self, accuracy: Section) -> None:
        seconds = self.case.seconds
        reference = self.symbody.adaptive(self.start, seconds, TIGHT)
        row: dict[str, Any] = {"model": self.case.name, "method": SHOWN[self.method], "s": seconds}
        for label, program in self.programs.items():
            row[label] = error(program.end(self.start, round(seconds / STEP)), reference)
        accuracy.rows.append(row | self.missing)

    def _claims(self, speed: Section, row: dict[str, Any]) -> None:
        if self.case.name != "puma560":
            return
        if self.method == RK4:
            speed.claims.append(Claim("PUMA 560, RK4 at 1 ms, times real time", row["symbody"], 600.0, True))
            speed.claims.append(Claim("the same by sb.simulate, all of it", row["sb.simulate"], 600.0, True))
        elif "symbody / MuJoCo" in row:
            text = "PUMA 560, semi-implicit Euler, steps / MuJoCo's"
            speed.claims.append(Claim(text, row["symbody / MuJoCo"], 5.0, True))


def _adaptive(chosen: Case, start: np.ndarray, speed: Section, accuracy: Section, options: Options) -> None:
    """dopri8 natively, and SciPy's DOP853 over the same Kernel: same table, same tolerance."""
    from scipy.integrate import solve_ivp

    symbody, seconds = Symbody(chosen.mechanism, RK4, STEP), chosen.seconds
    field = symbody.field()
    label: dict[str, Any] = {"model": chosen.name, "method": "dopri8"}

    def native() -> np.ndarray:
        return symbody.adaptive(start, seconds, ADAPTIVE)

    def scipy() -> np.ndarray:
        found = solve_ivp(field.rates, (0.0, seconds), start, "DOP853", rtol=ADAPTIVE, atol=ADAPTIVE)
        return np.asarray(found.y[:, -1])

    programs: dict[str, Callable[[], np.ndarray]] = {"symbody": native}
    if symbody.flow.project is None:
        programs["SciPy"] = scipy
        missing = {}
    else:
        missing = {"SciPy": Missing("solve_ivp cannot correct closed loops after a step")}
    reference = symbody.adaptive(start, seconds, TIGHT)
    accuracy.rows.append({**label, "s": seconds, **{n: error(p(), reference) for n, p in programs.items()}, **missing})
    clocks = {n: cpu_clock(p, 1) for n, p in programs.items()}
    best = interleaved(clocks, 3 if options.quick else 20, 0.3 if options.quick else 1.0)
    speed.rows.append({**label, **{n: seconds / t for n, t in best.items()}, **missing})


def _batch(name: str, method: str, section: Section, options: Options) -> None:
    """Members differ by their start."""
    chosen = case(name)
    assert chosen.robot is not None
    robot = chosen.robot
    states = BATCH // 10 if options.quick else BATCH
    sample = robot.sample(states)
    x = np.concatenate([sample["q"], sample["qd"]], axis=1)
    symbody = Symbody(chosen.mechanism, method, STEP)
    row: dict[str, Any] = {"model": name, "method": SHOWN[method], "states": states}
    few = slice(0, 9)
    ends = symbody.end(x, BATCH_STEPS)
    row["as one by one"] = all(np.array_equal(symbody.end(a, BATCH_STEPS), b) for a, b in zip(x[few], ends[few]))
    simulate = partial(
        sb.simulate, chosen.mechanism, BATCH_STEPS * STEP, step=STEP, method=method, samples=2, threads=1,
        **initial(symbody, x),
    )  # fmt: skip
    clocks = {
        "symbody": cpu_clock(partial(symbody.end, x, BATCH_STEPS), states * BATCH_STEPS),
        "sb.simulate": cpu_clock(simulate, states * BATCH_STEPS),
    }
    makers: dict[str, Callable[[], Program]] = {
        "MuJoCo": lambda: mujoco_steps(robot, method, STEP),
        "MuJoCo stages": lambda: mujoco_stages(robot, method, STEP),
        "Pinocchio C++": lambda: pinocchio_steps(robot, method, STEP, build_limit(options)),
    }
    peers = x[: PEER_STATES // 10 if options.quick else PEER_STATES]
    for label, make in makers.items():
        try:
            program = make()
        except TooSlow as why:
            row[label] = Missing(str(why))
            continue
        check(label, name, program.end(x[few], CHECKED), symbody.end(x[few], CHECKED))
        clocks[label] = cpu_clock(partial(program.end, peers, BATCH_STEPS), len(peers) * BATCH_STEPS)
    best = interleaved(clocks, 2 if options.quick else 6, 0.5 if options.quick else 4.0)
    row |= {n: STEP / t for n, t in best.items()}
    row |= ratios(row, {"MuJoCo": "MuJoCo", "MuJoCo stages": "MuJoCo stages", "Pinocchio": "Pinocchio C++"})
    section.rows.append(row)
    if method == EULER and "symbody / MuJoCo" in row:
        text = f"PUMA 560, semi-implicit Euler, batch of {states}: steps / MuJoCo's"
        section.claims.append(Claim(text, row["symbody / MuJoCo"], 20.0, True))


# -- pieces


def check(label: str, model: str, found: np.ndarray, expected: np.ndarray) -> None:
    """Refuse to time what moves differently."""
    deviation = error(found, expected)
    if not deviation <= AGREE:
        raise AssertionError(f"{label} moves {model} otherwise than symbody ({deviation:.1e}); it is not timed.")


def error(found: np.ndarray, expected: np.ndarray) -> float:
    return float(np.max(np.abs(found - expected)) / np.max(np.abs(expected)))


def initial(symbody: Symbody, x: np.ndarray) -> dict[str, Any]:
    """Arguments of sb.simulate for states x (..., nx)."""
    states = symbody.flow.layout.split(x)
    return {"q0": states["q"], "qd0": states["qd"]}


def native_steps(symbody: Symbody, x: np.ndarray) -> int:
    """Steps that take symbody's march about LASTS, at least a simulated second."""
    once = cpu_clock(partial(symbody.end, x, 1000), 1000)
    return max(1000, int(LASTS / min(once() for _ in range(3))))


def per_step(program: Program, x: np.ndarray, steps: int) -> Callable[[], float]:
    return cpu_clock(partial(program.end, x, steps), steps)


def cpu_clock(call: Callable[[], Any], parts: int) -> Callable[[], float]:
    """Reads the processor time of all threads of this process: other work does not lengthen it, threads do not help."""

    def clock() -> float:
        start = time.process_time()
        call()
        return (time.process_time() - start) / parts

    return clock


def ratios(row: dict[str, Any], peers: dict[str, str]) -> dict[str, float]:
    found = {f"symbody / {n}": row.get(column) for n, column in peers.items()}
    return {n: row["symbody"] / speed for n, speed in found.items() if isinstance(speed, float)}


def build_limit(options: Options) -> float:
    return options.budget if options.quick else max(600.0, options.budget)


def _closed(chosen: Case) -> np.ndarray:
    """State (nx,) of a mechanism whose loops are closed, near its zero position."""
    found = sb.simulate(chosen.mechanism, STEP, step=STEP, method=RK4)
    return np.concatenate([found.values[n][0].ravel() for n in ("q", "qd")])


def _pydy(chosen: Case, options: Options) -> Callable[..., Any] | Missing:
    """Made once for both methods: minutes beyond a few bodies."""
    if chosen.robot is None:
        return Missing("")
    if options.quick:
        return Missing("PyDy is not asked with --quick")
    if chosen.robot.n > SYMBOLIC:
        return Missing(f"PyDy is not asked above {SYMBOLIC} bodies")
    try:
        return pydy_rates(chosen.robot)
    except TooSlow as why:
        return Missing(str(why))
