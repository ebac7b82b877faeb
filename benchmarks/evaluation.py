"""Time of one evaluation: native code alone, in batches, and called from Python."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.casadi_c import CasadiC, compiler
from benchmarks.record import Claim, Missing, Options, Section
from benchmarks.timing import interleaved, per_call
from benchmarks.workloads import by_name

QUICK = ("matrix4", "arm6")
FULL = ("matrix4", "random1000", "arm1", "arm6", "arm48")
SMALL = "arm1"  # for the overhead of a call
STATES = 512  # inputs and outputs of the small workloads stay in the second level of cache
FLAGS = {"CasADi -O3": ("-O3",), "CasADi -O3 native": ("-O3", "-march=native")}


def run(options: Options) -> list[Section]:
    native = Section(
        "evaluation",
        "One state, native loop over states, one core: nanoseconds",
        [
            "workload",
            "symbody none",
            "symbody standard",
            *FLAGS,
            "SymEngine llvm",
            "SymPy numpy",
            "CasADi -O3 / symbody",
            "CasADi native / symbody",
        ],
    )
    batch = Section(
        "batch",
        "Batches on one core: nanoseconds per state",
        [
            "workload",
            "scalar",
            "4 lanes",
            "8 lanes",
            "gain 4",
            "gain 8",
            "bits equal",
            "CasADi -O3 native",
            "best peer / 8 lanes",
        ],
    )
    for name in QUICK if options.quick else FULL:
        _measure(name, native, batch, options)
    native.notes = [
        'all symbody columns here are scalar code; none: expressions as written, standard: optimize("standard")',
        "SymEngine: its LLVM backend with cse, looped in its wrapper; SymPy: lambdify with cse over NumPy arrays",
    ]
    batch.notes = ['symbody after optimize("standard"); gain: scalar / lanes of the same Kernel']
    return [native, batch, _calls(options)]


def _measure(name: str, native: Section, batch: Section, options: Options) -> None:
    workload = by_name(name)
    values = workload.sample(STATES)
    expected = workload.expected(values)
    clocks: dict[str, Callable[[], float]] = {}
    missing: dict[str, Missing] = {}

    library = peers.Symbody()
    built = library.build(workload)
    system = library.system(built)
    arrays = [values[n] for n in workload.inputs]
    standard = system.optimize("standard")
    kernels = {
        "symbody none": (system.compile(wait=True, cache=False), 1),
        "symbody standard": (standard.compile(wait=True, cache=False), 1),
    }
    for lanes in (4, 8):
        kernels[f"{lanes} lanes"] = (standard.compile(wait=True, cache=False, lanes=lanes), lanes)
    equal = True
    for label, (kernel, lanes) in kernels.items():
        found = kernel(*arrays, threads=1)
        if not peers.agrees(found, expected):
            raise AssertionError(f"{label} computes other values of {name}; it is not timed.")
        equal &= np.array_equal(found, kernel(*arrays, threads=1, lanes=1))
        clocks[label] = partial(kernel.time_native, *arrays, lanes=lanes, rounds=1)
        if lanes > 1:  # the gain compares two ways through the same Kernel
            clocks[f"scalar of {label}"] = partial(kernel.time_native, *arrays, lanes=1, rounds=1)

    _add_peers(name, values, expected, clocks, missing, options)
    best = interleaved(clocks, 15 if options.quick else 60)
    nanoseconds: dict[str, Any] = {label: 1e9 * t for label, t in best.items()} | missing
    row: dict[str, Any] = {"workload": name} | {c: nanoseconds[c] for c in native.columns if c in nanoseconds}
    for column, label in (("CasADi -O3 / symbody", "CasADi -O3"), ("CasADi native / symbody", "CasADi -O3 native")):
        if label in best:
            row[column] = best[label] / best["symbody standard"]
            native.claims.append(Claim(f"scalar {name}: {label} / symbody", row[column], 1.0, True))
        else:
            row[column] = missing[label]
    native.rows.append(row)

    gains = {n: best[f"scalar of {n} lanes"] / best[f"{n} lanes"] for n in (4, 8)}
    others = [
        best[label] for label in ("CasADi -O3 native", "CasADi -O3", "SymEngine llvm", "SymPy numpy") if label in best
    ]
    batch.add(
        **{
            "workload": name,
            "scalar": 1e9 * best["scalar of 8 lanes"],
            "4 lanes": nanoseconds["4 lanes"],
            "8 lanes": nanoseconds["8 lanes"],
            "gain 4": gains[4],
            "gain 8": gains[8],
            "bits equal": equal,
            "CasADi -O3 native": nanoseconds["CasADi -O3 native"],
            "best peer / 8 lanes": min(others) / best["8 lanes"] if others else Missing("no peer is installed"),
        }
    )
    batch.claims.append(Claim(f"batch {name}: gain of 4 lanes", gains[4], 2.5, True))
    batch.claims.append(Claim(f"batch {name}: gain of 8 lanes", gains[8], 3.0, True))
    batch.claims.append(Claim(f"batch {name}: bits equal to scalar code (1 is yes)", float(equal), 1.0, True))


def _add_peers(
    name: str,
    values: peers.Arrays,
    expected: np.ndarray,
    clocks: dict[str, Callable[[], float]],
    missing: dict[str, Missing],
    options: Options,
) -> None:
    """Clocks of the peers that can do this workload and agree with NumPy."""
    workload = by_name(name)
    for label, library in (("SymEngine llvm", peers.SymEngine()), ("SymPy numpy", peers.SymPy())):
        why = peers.feasible(library, name, options.budget)
        if why is not None:
            missing[label] = why
            continue
        built = library.build(workload)
        if isinstance(library, peers.SymEngine):
            native = library.lambdified(built)
            rows = peers.flat_rows(built, values)
            clocks[label] = _per_state(partial(native, rows), len(rows))
        else:
            python = library.lambdified(built, "numpy")
            columns = list(peers.flat_rows(built, values).T.copy())
            clocks[label] = _per_state(partial(python, *columns), len(columns[0]))
    casadi = peers.CasADi()
    for label, flags in FLAGS.items():
        if not casadi.available() or compiler() is None:
            missing[label] = Missing("CasADi or gcc is not installed")
            continue
        code = CasadiC(casadi.build(workload), flags, 120.0)
        if not peers.agrees(code(values), expected):
            raise AssertionError(f"{label} computes other values of {name}; it is not timed.")
        clocks[label] = code.seconds


def _per_state(call: Callable[[], Any], states: int) -> Callable[[], float]:
    def clock() -> float:
        start = time.perf_counter()
        call()
        return (time.perf_counter() - start) / states

    return clock


def _calls(options: Options) -> Section:
    """A small function called from Python for one state."""
    workload = by_name(SMALL)
    values = workload.sample(1)
    clocks: dict[str, Callable[[], float]] = {}
    symbody = peers.Symbody()
    built = symbody.build(workload)
    kernel = symbody.system(built).optimize("standard").compile(wait=True, cache=False)
    state = [values[n][0].copy() for n in workload.inputs]
    repeat = 200  # short turns, so that some of them are undisturbed
    clocks["symbody"] = per_call(lambda: kernel(*state), repeat)
    clocks["symbody, native alone"] = lambda: kernel.time_native(*state, repeat=repeat, rounds=1)
    if peers.SymEngine().available():
        built = peers.SymEngine().build(workload)
        lambdified, row = peers.SymEngine().lambdified(built), peers.flat_rows(built, values)[0]
        clocks["SymEngine llvm"] = per_call(lambda: lambdified(row), repeat)
    if peers.CasADi().available():
        function = peers.CasADi().sx_function(peers.CasADi().build(workload))
        clocks["CasADi Function"] = per_call(lambda: function(*state), repeat // 5)
    if peers.SymPy().available():
        built = peers.SymPy().build(workload)
        python, numbers = peers.SymPy().lambdified(built, "math"), peers.flat_rows(built, values)[0].tolist()
        clocks["SymPy lambdify"] = per_call(lambda: python(*numbers), repeat // 5)
    best = interleaved(clocks, 30 if options.quick else 150)
    section = Section(
        "calls", f"One call from Python ({SMALL}, arrays in, arrays out): microseconds", ["way", "us", "/ symbody"]
    )
    for label, t in best.items():
        section.rows.append({"way": label, "us": 1e6 * t, "/ symbody": t / best["symbody"]})
    overhead = 1e6 * (best["symbody"] - best["symbody, native alone"])
    section.rows.append({"way": "symbody, overhead", "us": overhead, "/ symbody": None})
    section.notes = ["CasADi Function runs its virtual machine and makes DM objects; SymPy runs Python on floats"]
    section.claims.append(Claim("overhead of a Python call of a small Kernel, us", overhead, 3.0))
    return section
