"""Rigid-body dynamics beside CasADi's C, Pinocchio and MuJoCo: operations, time per call, batches, generation."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from functools import partial
from importlib import metadata
from typing import Any

import numpy as np

from benchmarks import dynamics_generation, peers
from benchmarks.casadi_c import CasadiC, compiler
from benchmarks.dynamics_models import INPUTS, Robot, robot
from benchmarks.dynamics_peers import (
    PinocchioPython,
    has_pinocchio,
    mujoco_looped,
    pinocchio_looped,
    pinocchio_native,
)
from benchmarks.dynamics_recursions import workload
from benchmarks.record import Claim, Missing, Options, Section
from benchmarks.timing import TooSlow, interleaved, per_call

QUICK = (("puma560", "inverse"), ("puma560", "forward"))
ARMS = ("puma560", "ur5", "panda")
FULL = (
    *((name, quantity) for name in ARMS for quantity in INPUTS),
    *((f"chain{n}", quantity) for n in (2, 10, 30, 100) for quantity in ("inverse", "forward")),
)
STATES = 512  # of the scalar loops: inputs and outputs of an arm stay in the second level of cache
BATCH = 100_000
BATCH_NUMBERS = 4_000_000  # no more inputs and outputs than this in a batch of long chains
SEARCHED = 12  # bodies up to which "auto" is asked
TOLERANCE = 1e-9
FLAGS = ("-O3", "-march=native")

Clocks = dict[str, Callable[[], float]]


def run(options: Options) -> list[Section]:
    counts = Section(
        "dynamics_counts",
        "Rigid-body dynamics: operations (mul + add + div), and seconds to generate them",
        ["model", "quantity", "formalism", "symbody", "trig", "symbody auto", "auto trig", "CasADi", "CasADi trig",
         "s", "auto s", "CasADi s", "compile s", "CasADi gcc s"],
    )  # fmt: skip
    native = Section(
        "dynamics_time",
        "Rigid-body dynamics: one state, native loop over states, one core: nanoseconds",
        ["model", "quantity", "symbody", "symbody auto", "CasADi", "CasADi ldlt", "Pinocchio C++", "Pinocchio bound",
         "binding", "MuJoCo", "symbody / CasADi", "Pinocchio / symbody", "call us", "Pinocchio call us"],
    )  # fmt: skip
    batch = Section(
        "dynamics_batch",
        "Rigid-body dynamics: batches on one core: nanoseconds per state",
        ["model", "quantity", "states", "scalar", "lanes", "gain", "bits equal", "CasADi", "Pinocchio C++", "MuJoCo",
         "lanes / CasADi"],
    )  # fmt: skip
    library = _pinocchio_library(options)
    for name, quantity in QUICK if options.quick else FULL:
        Comparison(robot(name), quantity, library, options).measure(counts, native, batch)
    native.notes = [
        "symbody: base parameters, above 12 bodies order_n for forward dynamics; auto: the default, not asked above 12",
        "CasADi: Newton-Euler, articulated bodies, composite bodies over SX with numbers, cse, gcc -O3 -march=native; "
        "ldlt: M and c, then L D L^T",
        "Pinocchio C++: rnea, aba, crba + nonLinearEffects built from the wheel's headers, g++ -O3 -march=native; "
        "bound: called from Python, less the binding, which is the same function on a model without joints",
        "MuJoCo: the stages that the quantity needs, looped in C; all agree to 1e-9 before anything is timed",
        _versions(),
    ]
    batch.notes = [
        "the best Kernel of the table above, called from Python for the whole batch; arrays in and out, made before",
        "time of the thread, which other work on the machine does not lengthen; one core, no threads",
    ]
    counts.notes = [
        "compile: optimised code for one state and for lanes, no cache; gcc: C text, gcc -O3 -march=native, load",
        "times here are of one go on a machine that may be busy; the table of generation has the best of several",
    ]
    return [counts, native, batch, dynamics_generation.run(options)]


class Comparison:
    """One quantity of one robot: everybody's program, checked, then timed in turns."""

    def __init__(self, model: Robot, quantity: str, pinocchio: ctypes.CDLL | Missing, options: Options) -> None:
        self.model, self.quantity, self.pinocchio, self.options = model, quantity, pinocchio, options
        self.values = self._states(STATES)
        self.expected = workload(model, quantity).expected(self.values)
        self.clocks: Clocks = {}
        self.missing: dict[str, Missing] = {}
        self.kernels: dict[str, Any] = {}
        self.natives: dict[str, Any] = {}  # peers that loop over states, to be asked for a batch too
        self.count: dict[str, Any] = {"model": model.name, "quantity": quantity}

    def measure(self, counts: Section, native: Section, batch: Section) -> None:
        self._symbody()
        self._casadi()
        self._pinocchio()
        self._mujoco()
        best = interleaved(self.clocks, 15 if self.options.quick else 60)
        counts.rows.append(self.count | {k: m for k, m in self.missing.items() if k not in self.count})
        self._report_times(native, best)
        self._report_batch(batch, best)

    # -- programs

    def _symbody(self) -> None:
        from symbody.mechanics.verbs import dynamics

        verb = {
            "inverse": dynamics.inverse_dynamics, "forward": dynamics.forward_dynamics,
            "semi_explicit": dynamics.semi_explicit,
        }[self.quantity]  # fmt: skip
        named = "order_n" if self.model.n > SEARCHED and self.quantity == "forward" else "base"
        self.count["formalism"] = named
        wanted = {"symbody": named}
        if self.model.n <= SEARCHED and not self.options.quick:
            wanted["symbody auto"] = "auto"
        else:
            self.missing["symbody auto"] = Missing("not asked")
        arrays = self._arrays(self.values)
        for label, formalism in wanted.items():
            start = time.perf_counter()
            system: Any = verb(self.model.mechanism, formalism)
            generated = time.perf_counter()
            kernel = system.compile(wait=True, cache=False)
            compiled = time.perf_counter()
            self._check(label, self._flat(kernel(*arrays, threads=1)))
            count = system.count()
            self.count[label], self.count["auto trig" if formalism == "auto" else "trig"] = count.total, count.trig
            self.count["auto s" if formalism == "auto" else "s"] = generated - start
            if formalism != "auto":
                self.count["compile s"] = compiled - generated
            self.kernels[label] = kernel
            self.clocks[label] = partial(kernel.time_native, *arrays, rounds=1)
            one = [a[0].copy() for a in arrays]
            self.clocks[f"{label} call"] = per_call(partial(kernel, *one), 100)

    def _casadi(self) -> None:
        labels = {"CasADi": ""}
        if self.quantity == "forward" and self.model.n <= SEARCHED:
            labels["CasADi ldlt"] = "ldlt"
        library = peers.CasADi()
        for label, method in labels.items():
            if not library.available() or compiler() is None:
                self.missing[label] = Missing("CasADi or gcc is not installed")
                continue
            start = time.perf_counter()
            made = library.build(workload(self.model, self.quantity, method))
            generated = time.perf_counter()
            if label == "CasADi":
                tally = library.tally(made)
                self.count |= {"CasADi": tally.total, "CasADi trig": tally.trig, "CasADi s": generated - start}
            start = time.perf_counter()
            try:
                code = CasadiC(made, FLAGS, 2 * self.options.budget)
            except TooSlow as why:
                self.missing[label] = self.missing["CasADi gcc s"] = Missing(f"{self.model.name}: {why}")
                continue
            if label == "CasADi":
                self.count["CasADi gcc s"] = time.perf_counter() - start
            self._add_looped(label, code)

    def _pinocchio(self) -> None:
        if not has_pinocchio():
            for label in ("Pinocchio C++", "Pinocchio bound", "binding", "Pinocchio call us"):
                self.missing[label] = Missing("pin is not installed")
            return
        if isinstance(self.pinocchio, Missing):
            self.missing["Pinocchio C++"] = self.pinocchio
        else:
            self._add_looped("Pinocchio C++", pinocchio_looped(self.pinocchio, self.model, self.quantity))
        bound = PinocchioPython(self.model, self.quantity)
        self._check("Pinocchio", bound(self.values))
        self.clocks["Pinocchio call"], self.clocks["binding"] = bound.seconds, bound.overhead

    def _mujoco(self) -> None:
        try:
            self._add_looped("MuJoCo", mujoco_looped(self.model, self.quantity, 60))
        except TooSlow as why:
            self.missing["MuJoCo"] = Missing(str(why))

    def _add_looped(self, label: str, code: Any) -> None:
        self._check(label, code(self.values))
        self.clocks[label] = code.seconds
        self.natives[label] = code

    # -- tables

    def _report_times(self, native: Section, best: dict[str, float]) -> None:
        row: dict[str, Any] = {"model": self.model.name, "quantity": self.quantity}
        row |= {c: 1e9 * best[c] for c in native.columns if c in best} | self.missing
        ours = min(best[k] for k in self.kernels)
        row["call us"] = 1e6 * min(best[f"{k} call"] for k in self.kernels)
        if "CasADi" in best:
            row["symbody / CasADi"] = ours / best["CasADi"]
        pinocchio = best.get("Pinocchio C++")
        if "binding" in best:
            row["Pinocchio call us"] = 1e6 * best["Pinocchio call"]
            row["Pinocchio bound"] = 1e9 * (best["Pinocchio call"] - best["binding"])
            pinocchio = pinocchio or best["Pinocchio call"] - best["binding"]
        if pinocchio is not None:
            row["Pinocchio / symbody"] = pinocchio / ours
        native.rows.append(row)
        if self.model.name == "puma560":
            self._claims(native, row)

    def _claims(self, native: Section, row: dict[str, Any]) -> None:
        ratio, pinocchio = row.get("symbody / CasADi"), row.get("Pinocchio / symbody")
        if isinstance(ratio, float) and self.quantity == "inverse":
            native.claims.append(Claim("PUMA 560 inverse dynamics, time / CasADi's C", ratio, 0.7))
        if isinstance(ratio, float) and self.quantity == "forward":
            native.claims.append(Claim("PUMA 560 forward dynamics, CasADi's aba / symbody", 1 / ratio, 1.15, True))
        if isinstance(pinocchio, float) and self.quantity == "inverse":
            native.claims.append(Claim("PUMA 560 inverse dynamics, Pinocchio's rnea / symbody", pinocchio, 8.0, True))

    def _report_batch(self, batch: Section, best: dict[str, float]) -> None:
        label = min(self.kernels, key=lambda k: best[k])
        kernel = self.kernels[label]
        ports = len(INPUTS[self.quantity]) * self.model.n + self.expected.shape[1]
        states = min(BATCH, BATCH_NUMBERS // ports)
        values = self._states(states)
        arrays = self._arrays(values)
        equal = np.array_equal(
            self._flat(kernel(*(a[:1001] for a in arrays), threads=1)),
            self._flat(kernel(*(a[:1001] for a in arrays), threads=1, lanes=1)),
        )
        # arrays for the results are made before, as for the peers: new pages cost more than the states written to them
        out = [np.zeros_like(a) for a in _each(kernel(*arrays, threads=1))]
        clocks: Clocks = {
            "scalar": _cpu_clock(partial(kernel, *arrays, threads=1, lanes=1, out=out), states),
            "lanes": _cpu_clock(partial(kernel, *arrays, threads=1, out=out), states),
        }
        for peer in ("CasADi", "Pinocchio C++", "MuJoCo"):
            if peer in self.natives:
                self.natives[peer].prepare(values)
                clocks[peer] = _cpu_clock(self.natives[peer].seconds, states)
        found = interleaved(clocks, 10 if self.options.quick else 25)
        row: dict[str, Any] = {"model": self.model.name, "quantity": self.quantity, "states": states}
        row |= {c: 1e9 * t for c, t in found.items()}
        row |= {c: m for c, m in self.missing.items() if c in batch.columns}
        row["gain"], row["bits equal"] = found["scalar"] / found["lanes"], equal
        if "CasADi" in found:
            row["lanes / CasADi"] = found["lanes"] / found["CasADi"]
            if (self.model.name, self.quantity) == ("puma560", "inverse"):
                text = f"PUMA 560 inverse dynamics, batch of {states}: time / CasADi's C"
                batch.claims.append(Claim(text, row["lanes / CasADi"], 0.15))
        batch.rows.append(row)

    # -- numbers

    def _states(self, states: int) -> dict[str, np.ndarray]:
        """Random states; the efforts belong to the accelerations."""
        values = self.model.sample(states)
        if self.quantity == "forward":
            values["tau"] = workload(self.model, "inverse").expected(values)
        return values

    def _arrays(self, values: dict[str, np.ndarray]) -> list[np.ndarray]:
        return [values[p] for p in INPUTS[self.quantity]]

    def _flat(self, found: Any) -> np.ndarray:
        if self.quantity != "semi_explicit":
            return np.asarray(found)
        return np.concatenate([found.M.reshape(len(found.c), -1), found.c], axis=1)

    def _check(self, label: str, found: np.ndarray) -> None:
        """Refuse to time what computes something else. Accelerations are judged by the efforts that they need."""
        expected = self.expected
        if self.quantity == "forward":
            inverse = workload(self.model, "inverse")
            found, expected = inverse.expected({**self.values, "qdd": found}), self.values["tau"]
        error = np.max(np.abs(found - expected)) / np.max(np.abs(expected))
        if not error <= TOLERANCE:
            raise AssertionError(
                f"{label} computes other values of {self.model.name} {self.quantity} ({error:.1e}); it is not timed."
            )


def _versions() -> str:
    found = {n: _version(n) for n in ("casadi", "pin", "mujoco")}
    return ", ".join(f"{n} {v}" for n, v in found.items() if v) or "no peer is installed"


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _each(found: Any) -> list[np.ndarray]:
    return list(found) if isinstance(found, tuple) else [found]


def _cpu_clock(call: Callable[[], Any], states: int) -> Callable[[], float]:
    """Reads the time of this thread alone: a batch lasts longer than the turn that a busy machine gives it."""

    def clock() -> float:
        start = time.thread_time()
        call()
        return (time.thread_time() - start) / states

    return clock


def _pinocchio_library(options: Options) -> ctypes.CDLL | Missing:
    """Two or three minutes of g++, once: the library is kept beside the results."""
    try:
        return pinocchio_native(options.budget if options.quick else max(600.0, options.budget))
    except TooSlow as why:
        return Missing(f"C++: {why}")
