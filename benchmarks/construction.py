"""Time and memory to build expressions from Python, per operation written and per node made."""

from __future__ import annotations

from functools import partial
from typing import Any

from benchmarks import peers
from benchmarks.record import Claim, Missing, Options, Section
from benchmarks.timing import TooSlow, interleaved, isolated, resident_bytes, seconds
from benchmarks.workloads import by_name, written_operations

QUICK = ("matrix4", "arm5", "random1000")
FULL = ("matrix4", "random200", "arm2", "arm5", "random1000", "arm48", "arm480")
LARGE = "arm4800"  # about a million operations


def run(options: Options) -> Section:
    names = QUICK if options.quick else FULL
    columns = ["workload", "written", "nodes", "symbody us/node", "symbody us/op"]
    others = [library for library in peers.LIBRARIES if library.name != "symbody"]
    columns += [f"{library.name} us/op" for library in others] + ["CasADi / symbody", "bytes/node", "CasADi bytes/op"]
    section = Section("construction", "Construction from Python, microseconds", columns)
    hopeless: dict[str, Missing] = {}
    for name in names:
        section.rows.append(_row(name, others, hopeless, options))
    if not options.quick:
        section.rows.append(_large_row(options.budget))
    section.notes = [
        "written: operations that Python performs, the same for all; nodes: distinct ones that symbody keeps",
        "garbage collector on, as in a user's program; each build starts from an empty Graph or cache",
        "bytes: growth of the process, symbols included; in the last row each library has a process of its own",
    ]
    last = section.rows[-1]
    per_node = last["symbody us/node"]
    section.claims.append(Claim(f"construction of {last['workload']}, us a node", per_node, 3.0))
    section.claims.append(Claim(f"construction of {last['workload']}, us a node (goal)", per_node, 1.5))
    ratios = [row["CasADi / symbody"] for row in section.rows if isinstance(row["CasADi / symbody"], float)]
    if ratios:
        section.claims.append(Claim("construction, times faster than CasADi SX, worst row", min(ratios), 5.0, True))
    if isinstance(last.get("bytes/node"), float):
        section.claims.append(Claim("memory of the largest graph, bytes a node", last["bytes/node"], 400.0))
    return section


def _row(name: str, others: list[peers.Library], hopeless: dict[str, Missing], options: Options) -> dict[str, Any]:
    workload = by_name(name)
    written = written_operations(workload)
    symbody = peers.by_name("symbody")
    row: dict[str, Any] = {"workload": name, "written": written, "bytes/node": None}
    clocks = {"symbody": partial(seconds, partial(symbody.build, workload))}
    for library in others:
        family = f"{library.name} {name.rstrip('0123456789')}"  # what fails on one arm fails on a longer one
        why = hopeless.get(family) or _too_slow(library, name, min(options.budget, 20.0))
        if why is not None:
            hopeless[family] = why
            row[f"{library.name} us/op"] = why
            continue
        clocks[library.name] = partial(seconds, partial(library.build, workload))
    best = interleaved(clocks, max(3, min(20, 100_000 // written)))
    nodes = symbody.build(workload).outputs[0].graph.size
    row |= {"nodes": nodes, "symbody us/node": 1e6 * best["symbody"] / nodes}
    row |= {f"{who} us/op": 1e6 * time / written for who, time in best.items()}
    row["CasADi / symbody"] = (
        best["CasADi"] / best["symbody"] if "CasADi" in best else Missing("CasADi is not installed")
    )
    return row


def _too_slow(library: peers.Library, name: str, limit: float) -> Missing | None:
    """Tried in another process first: SymPy may take forever on what is short for the others."""
    if not library.available():
        return Missing(f"{library.name} is not installed")
    try:
        isolated(measure_alone, library.name, name, limit=limit)
    except TooSlow as why:
        return Missing(f"{name}: {why}")
    return None


def _large_row(budget: float) -> dict[str, Any]:
    """A million nodes: too large to take turns often, so each library builds them in a process of its own."""
    written = written_operations(by_name(LARGE))
    row: dict[str, Any] = {"workload": LARGE, "written": written}
    first = isolated(measure_alone, "symbody", LARGE, limit=600)
    row |= {"SymPy us/op": Missing(f"{LARGE}: not tried, shorter arms are too slow already")}
    row |= {"SymEngine us/op": Missing(f"{LARGE}: not tried")}
    try:
        casadi = isolated(measure_alone, "CasADi", LARGE, limit=4 * budget)
    except TooSlow as why:
        casadi = None
        row |= dict.fromkeys(("CasADi us/op", "CasADi / symbody", "CasADi bytes/op"), Missing(f"{LARGE}: {why}"))
    again = isolated(measure_alone, "symbody", LARGE, limit=600)
    best = min(first["seconds"], again["seconds"])
    nodes = first["nodes"]
    row |= {"nodes": nodes, "symbody us/node": 1e6 * best / nodes, "symbody us/op": 1e6 * best / written}
    row["bytes/node"] = first["bytes"] / nodes if first["bytes"] else Missing("the system does not tell")
    if casadi is not None:
        row["CasADi us/op"] = 1e6 * casadi["seconds"] / written
        row["CasADi / symbody"] = casadi["seconds"] / best
        row["CasADi bytes/op"] = casadi["bytes"] / written if casadi["bytes"] else Missing("the system does not tell")
    return row


def measure_alone(library: str, name: str) -> dict[str, float]:
    """Seconds, bytes and nodes of one build in this process."""
    found = peers.by_name(library)
    found.build(by_name("arm1"))  # import what is needed first
    workload = by_name(name)
    before = resident_bytes()
    built: list[Any] = []
    time = seconds(lambda: built.append(found.build(workload)))
    nodes = built[0].outputs[0].graph.size if library == "symbody" else 0
    return {"seconds": time, "bytes": resident_bytes() - before, "nodes": nodes}
