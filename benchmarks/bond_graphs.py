"""Bond graphs beside BondGraphTools: symbolic matrices of a chain of masses, two cases that are hard, a large graph.

Where BondGraphTools is not importable here, BONDGRAPHTOOLS names an interpreter that has it:

    python3 -m venv peer && peer/bin/pip install BondGraphTools
    BONDGRAPHTOOLS=peer/bin/python make bench ARGS="--only bond_graphs"
"""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.record import Claim, Missing, Options, Section
from benchmarks.timing import TooSlow, limited
from symbody.bondgraph.graph.bond_graph import BondGraph

PEER = Path(__file__).resolve().parent / "bond_graphs_peer.py"
EXACT = {"derivative": -0.5 / (2.0 + 3.0), "loop": -1 / (0.5 * (3.0 + 1.0 * 2.0 / (1.0 + 2.0)))}


def run(options: Options) -> Section:
    """Processor seconds for the equations: symbody's with symbols, the peer's with numbers, which is less work."""
    columns = ["graph", "states", "symbody s", "BondGraphTools s", "ratio", "symbody pole", "their pole", "exact"]
    section = Section("bond_graphs", "Bond graphs: from the description to state equations, processor time", columns)
    for size in (3, 6) if options.quick else (3, 6, 12):
        section.rows.append(_row("chain", size, options))
    for kind in ("derivative", "loop"):
        section.rows.append(_row(kind, 0, options))
    graph = chain(34)
    taken = _seconds(graph.analysis)
    section.rows.append({"graph": f"analysis of {len(graph.elements)} elements", "states": 67, "symbody s": taken})
    section.notes = [
        "symbody: A, B, C, D with all parameters symbolic; BondGraphTools: relations with numbers",
        "derivative: two inertias on one shaft; loop: three resistors; the pole is compared with the one by hand",
    ]
    last = next(r for r in reversed(section.rows) if str(r["graph"]).startswith("chain"))
    section.claims.append(Claim(f"seconds for the symbolic matrices of {last['graph']}", last["symbody s"], 0.2))
    section.claims.append(Claim("seconds for the analysis of 200 elements", taken, 2.0))
    if isinstance(last.get("ratio"), float):
        # a claim holds where its figure is below its limit
        section.claims.append(Claim(f"symbody / BondGraphTools on {last['graph']}", 1 / last["ratio"], 1 / 50))
    return section


def chain(size: int) -> BondGraph:
    """Masses with springs and dampers between, a force at one end."""
    b = BondGraph.builder("chain")
    b.element("F", "Se")
    for k in range(1, size + 1):
        b.one(f"v{k}")
        b.element(f"m{k}", "I", 1.0)
        b.bonds(f"{'F' if k == 1 else f'z{k - 1}'} -> v{k} -> m{k}")
        if k < size:
            b.zero(f"z{k}")
            b.one(f"s{k}")
            b.element(f"k{k}", "C", 1.0)
            b.element(f"d{k}", "R", 0.1)
            b.bonds(f"v{k} -> z{k} -> s{k} -> k{k}", f"s{k} -> d{k}")
    b.element("y", "Df", on=f"m{size}")
    return b.done()


def small(kind: str) -> BondGraph:
    """Two inertias on one shaft, or resistors in a loop, with the peer's numbers."""
    b = BondGraph.builder(kind)
    if kind == "derivative":
        b.element("F", "Se"), b.one("v"), b.element("m1", "I", 2.0), b.element("m2", "I", 3.0), b.element("d", "R", 0.5)
        b.bonds("F -> v -> m1", "v -> m2", "v -> d")
    else:
        b.element("u", "Se"), b.one("a", "c"), b.zero("n"), b.element("C", "C", 0.5)
        for k in (1, 2, 3):
            b.element(f"R{k}", "R", float(k))
        b.bonds("u -> a -> R1", "a -> n -> R2", "n -> c -> R3", "c -> C")
    return b.done()


def _row(kind: str, size: int, options: Options) -> dict[str, Any]:
    graph = chain(size) if kind == "chain" else small(kind)
    ours = _seconds(graph.matrices)
    row: dict[str, Any] = {"graph": f"{kind}{size or ''}", "states": len(graph.matrices().states), "symbody s": ours}
    if kind != "chain":
        row["symbody pole"], row["exact"] = float(graph.matrices().numbers().poles[0].real), EXACT[kind]
        if not math.isclose(row["symbody pole"], row["exact"], rel_tol=1e-12):
            raise AssertionError(f"{kind}: pole {row['symbody pole']}, expected {row['exact']}")
    try:
        theirs = peer(kind, size, 10 * options.budget)
    except TooSlow as why:
        row["BondGraphTools s"] = Missing(f"{kind}{size or ''}: {why}")
        return row
    row["BondGraphTools s"], row["ratio"] = theirs["seconds"], theirs["seconds"] / ours
    if kind != "chain":
        row["their pole"] = theirs["pole"] if theirs["pole"] is not None else Missing(f"{kind}: no state equation")
    return row


def peer(kind: str, size: int, limit: float) -> dict[str, Any]:
    """What BondGraphTools finds."""
    python = os.environ.get("BONDGRAPHTOOLS") or (sys.executable if find_spec("BondGraphTools") else "")
    if not python:
        raise TooSlow("not installed")
    status, out, err = limited([python, str(PEER), kind, str(size)], limit)
    if status:
        raise TooSlow(f"failed: {(err.strip().splitlines() or ['?'])[-1][:100]}")
    found: dict[str, Any] = json.loads(out.splitlines()[-1])
    return found


def _seconds(function: Callable[[], Any], rounds: int = 3) -> float:
    """Best processor time of a few calls."""
    best = math.inf
    for _ in range(rounds):
        start = time.process_time()
        function()
        best = min(best, time.process_time() - start)
    return best
