"""Time to generate equations of motion: named formalisms of symbody, plain recursions over CasADi SX, Kane in SymPy."""

from __future__ import annotations

import time
from typing import Any

from benchmarks import peers
from benchmarks.dynamics_models import chain, robot
from benchmarks.dynamics_recursions import workload
from benchmarks.dynamics_sympy import kane
from benchmarks.record import Claim, Missing, Options, Section
from benchmarks.timing import TooSlow, isolated

# model, quantity, formalism, preset, seconds promised (None: shown only)
CASES = [
    ("puma560", "inverse", "base", "standard", 0.05),
    ("puma560", "forward", "base", "standard", 0.05),
    ("ur5", "inverse", "base", "standard", 0.05),
    ("puma560", "inverse", "base", "full", 0.5),
    ("puma560", "forward", "base", "full", 0.5),
    ("ur5", "inverse", "base", "full", 0.5),
    ("puma560", "inverse", "screw", "standard", 0.05),
    ("puma560", "inverse", "screw", "full", 0.5),
    ("puma560", "forward", "order_n", "standard", 0.05),
    ("puma560", "forward", "order_n", "full", 0.5),
    ("puma560", "forward", "lagrange", "standard", 0.05),
    ("puma560", "forward", "lagrange", "full", 0.5),
    ("patterns/general_6r", "semi_explicit", "base", "standard", 0.05),
    ("patterns/general_6r", "semi_explicit", "base", "full", 0.5),
    ("patterns/general_6r", "forward", "base", "standard", 0.05),
    ("patterns/general_6r", "forward", "base", "full", 0.5),
    ("chain2", "semi_explicit", "base", "standard", None),
    ("ur5", "semi_explicit", "base", "standard", 0.05),
    ("tree100", "inverse", "base", "standard", 2.0),
    ("tree100", "forward", "order_n", "standard", 2.0),
    ("tree100", "kinematics", "progressive", "standard", 2.0),
    ("chain250", "forward", "order_n", "standard", None),
    ("chain500", "forward", "order_n", "standard", None),
    ("chain1000", "forward", "order_n", "standard", 30.0),
]
QUICK_ROWS = (
    "puma560 inverse base standard",
    "puma560 forward base standard",
    "puma560 inverse base full",
    "chain2 semi_explicit base standard",
    "tree100 inverse base standard",
)
QUICK = [case for case in CASES if " ".join(case[:4]) in QUICK_ROWS]
LONGEST = 10.0  # seconds for all goes of one row, with the reading of models
LINEAR = 1.5  # seconds a body of 1000 bodies over those of 250
CASADI_SKIPS = ("chain250", "chain500", "chain1000")
CASADI_QUANTITIES = ("inverse", "forward", "semi_explicit")


def run(options: Options) -> Section:
    columns = ["model", "quantity", "formalism", "preset", "operations", "s", "ms/body", "CasADi SX s", "SymPy Kane s"]
    columns += ["SymPy operations"]
    section = Section("dynamics_generation", "Generation of equations of motion, seconds", columns)
    for name, quantity, formalism, preset, promised in QUICK if options.quick else CASES:
        row: dict[str, Any] = {"model": name, "quantity": quantity, "formalism": formalism, "preset": preset}
        row |= isolated(symbody_generation, name, quantity, formalism, preset, limit=600)
        row["CasADi SX s"] = _casadi(name, quantity, options)
        row |= _sympy(name, quantity, options)
        section.rows.append(row)
        if promised is not None:
            text = f"generation of {name} {quantity}, {formalism}, {preset}, s"
            section.claims.append(Claim(text, row["s"], promised))
    each = {r["model"]: r["ms/body"] for r in section.rows if r["model"].startswith("chain")}
    if "chain1000" in each and "chain250" in each:
        ratio = each["chain1000"] / each["chain250"]
        section.claims.append(Claim("generation of order_n, time a body, 1000 bodies / 250", ratio, LINEAR))
    section.notes = [
        "from a Mechanism to an optimised System; best of several within a process of its own, files read before",
        "CasADi: plain recursions over SX with numbers, with its cse; SymPy: M and forcing by KanesMethod, with cse",
    ]
    return section


def symbody_generation(name: str, quantity: str, formalism: str, preset: str) -> dict[str, Any]:
    """Best time, and mul + add + div of the program. The formalism of kinematics is its scheme."""
    from symbody.mechanics.verbs import dynamics, kinematics

    verbs: dict[str, Any] = {
        "inverse": dynamics.inverse_dynamics,
        "forward": dynamics.forward_dynamics,
        "semi_explicit": dynamics.semi_explicit,
        "kinematics": lambda mechanism, scheme, **options: kinematics.kinematics(mechanism, scheme=scheme, **options),
    }
    verb = verbs[quantity]
    verb(chain(2), formalism)  # imports
    mechanism = system = None
    best, spent, began = float("inf"), 0.0, time.perf_counter()
    while system is None or (spent < 1.5 and time.perf_counter() - began < LONGEST):
        # a Mechanism remembers what was made of it: each go has one of its own, read before the clock starts
        mechanism = robot(name).mechanism
        start = time.perf_counter()
        system = verb(mechanism, formalism, preset=preset)
        took = time.perf_counter() - start
        best, spent = min(best, took), spent + took
    assert mechanism is not None
    return {"operations": system.count().total, "s": best, "ms/body": 1e3 * best / len(mechanism.bodies)}


def _casadi(name: str, quantity: str, options: Options) -> float | Missing:
    if not peers.CasADi().available():
        return Missing("CasADi is not installed")
    if name in CASADI_SKIPS:
        return Missing("more than 100 bodies: not tried")
    if quantity not in CASADI_QUANTITIES:
        return Missing(f"no recursion of {quantity} in this benchmark")
    try:
        return float(isolated(casadi_generation, name, quantity, limit=options.budget))
    except TooSlow as why:
        return Missing(f"{name}: {why}")


def casadi_generation(name: str, quantity: str) -> float:
    library, model = peers.CasADi(), robot(name)
    library.sx_function(library.build(workload(robot("chain2"), quantity)))
    best, spent = float("inf"), 0.0
    while spent < 1.0:
        start = time.perf_counter()
        library.sx_function(library.build(workload(model, quantity)))
        took = time.perf_counter() - start
        best, spent = min(best, took), spent + took
    return best


def _sympy(name: str, quantity: str, options: Options) -> dict[str, Any]:
    """Where no rotor needs a body of its own."""
    if name not in ("chain2", "ur5") or quantity != "semi_explicit":
        return {"SymPy Kane s": None, "SymPy operations": None}
    if not peers.SymPy().available():
        missing = Missing("SymPy is not installed")
        return {"SymPy Kane s": missing, "SymPy operations": missing}
    try:
        found = isolated(kane, name, limit=max(options.budget, 30))
    except TooSlow as why:
        missing = Missing(f"{name}: {why}")
        return {"SymPy Kane s": missing, "SymPy operations": missing}
    if found["error"] > 1e-9:
        raise AssertionError(f"SymPy computes other equations of {name}; they are not counted.")
    return {"SymPy Kane s": found["seconds"], "SymPy operations": found["operations"]}
