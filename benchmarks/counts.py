"""Operations left after each library's own optimisation, by one rule for all (see tally.py)."""

from __future__ import annotations

import time
from typing import Any

from benchmarks import peers
from benchmarks.record import Claim, Missing, Options, Section
from benchmarks.timing import TooSlow, isolated
from benchmarks.workloads import by_name

QUICK = ("pendulum", "matrix4", "arm2p")
FULL = ("pendulum", "matrix4", "random200", "random1000", "arm2", "arm2p", "arm6", "arm6p")
PRESETS = ("none", "standard", "full")


def run(options: Options) -> Section:
    others = [library for library in peers.LIBRARIES if library.name != "symbody"]
    columns = ["workload", "trig", *(f"symbody {p}" for p in PRESETS), *(f"{o.name} cse" for o in others)]
    columns += ["standard s", "full s", "best peer / full"]
    section = Section("counts", "Operations of one call after optimisation: mul + add + div", columns)
    for name in QUICK if options.quick else FULL:
        section.rows.append(_row(name, others, options.budget))
    section.notes = [
        "names ending in p have symbolic inertias: what depends on parameters alone is left out for all libraries",
        "every counted program has been compared with NumPy at random states",
    ]
    ratios = [row["best peer / full"] for row in section.rows if isinstance(row["best peer / full"], float)]
    if ratios:
        section.claims.append(Claim("operations of the best peer / symbody full, worst row", min(ratios), 1.0, True))
    return section


def _row(name: str, others: list[peers.Library], limit: float) -> dict[str, Any]:
    row: dict[str, Any] = {"workload": name}
    for preset in PRESETS:
        try:
            found = isolated(symbody_count, name, preset, limit=10 * limit)
        except TooSlow as why:
            row[f"symbody {preset}"] = Missing(f"{name}: {why}")
            continue
        row |= {f"symbody {preset}": found["total"], f"{preset} s": found["seconds"], "trig": found["trig"]}
    totals = []
    for library in others:
        if not library.available():
            row[f"{library.name} cse"] = Missing("not installed")
            continue
        try:
            total = isolated(peer_count, library.name, name, limit=limit)
        except TooSlow as why:
            row[f"{library.name} cse"] = Missing(f"{name}: {why}")
            continue
        row[f"{library.name} cse"] = total
        totals.append(total)
    best = row["symbody full"]
    row["best peer / full"] = min(totals) / best if totals and isinstance(best, int) else Missing("")
    return row


def symbody_count(name: str, preset: str) -> dict[str, float]:
    """Counts and the seconds of `optimize`, after a numeric check."""
    library = peers.Symbody()
    built = library.build(by_name(name))
    system = library.system(built)
    start = time.perf_counter()
    optimized = system.optimize(preset)
    took = time.perf_counter() - start
    peers.check(f"symbody {preset}", built.workload, library.system_function(built, optimized))
    tally = library.system_tally(optimized)
    return {"total": tally.total, "trig": tally.trig, "seconds": took}


def peer_count(library: str, name: str) -> int:
    """Count after cse, after a numeric check of the same expressions."""
    found = peers.by_name(library)
    built = found.build(by_name(name))
    peers.check(library, built.workload, found.function(built))
    return found.tally(built).total
