"""Run the benchmarks: tables on the screen, everything in one JSON file.

make bench                                  all of it, about a quarter of an hour
make bench ARGS="--quick"                   small sizes, about a minute
make bench ARGS="--only counts"             one section
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

# run as a script from any folder, installed or not
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rich.console import Console
from rich.table import Table

from benchmarks import (
    batches_with_events,
    bond_graphs,
    compile_time,
    construction,
    counts,
    derivatives,
    dynamics,
    emitted_c,
    evaluation,
    identification,
    long_source,
    partitions,
    peers,
    simulation,
)
from benchmarks.record import Options, Section, shown

BENCHMARKS: dict[str, Callable[[Options], Section | list[Section]]] = {
    "construction": construction.run,
    "counts": counts.run,
    "derivatives": derivatives.run,
    "compile_time": compile_time.run,
    "evaluation": evaluation.run,
    "dynamics": dynamics.run,
    "emitted_c": emitted_c.run,
    "long_source": long_source.run,
    "simulation": simulation.run,
    "partitions": partitions.run,
    "batches_with_events": batches_with_events.run,
    "bond_graphs": bond_graphs.run,
    "identification": identification.run,
}
RESULTS = Path(__file__).resolve().parent / "out" / "results.json"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="symbody beside SymPy, SymEngine and CasADi SX, in one run.")
    parser.add_argument("--quick", action="store_true", help="small sizes only, about a minute")
    parser.add_argument(
        "--only",
        action="append",
        choices=list(BENCHMARKS),
        metavar="NAME",
        help=f"one or more of {', '.join(BENCHMARKS)}",
    )
    parser.add_argument("--json", type=Path, default=RESULTS, metavar="PATH", help="where to write the figures")
    parser.add_argument(
        "--budget", type=float, metavar="S", help="seconds that one step of a peer may take (60; quick 4)"
    )
    given = parser.parse_args(arguments)
    options = Options(given.quick, given.budget or (4.0 if given.quick else 60.0))

    console = Console(highlight=False, width=None if sys.stdout.isatty() else 170)
    machine = describe_machine()
    console.print(", ".join(f"{k} {v}" for k, v in machine.items()), style="dim", soft_wrap=True)
    console.print()
    sections: list[Section] = []
    for name in given.only or BENCHMARKS:
        start = time.perf_counter()
        found = BENCHMARKS[name](options)
        for section in found if isinstance(found, list) else [found]:
            section.show(console)
            sections.append(section)
        console.print(f"{name}: {time.perf_counter() - start:.0f} s\n", style="dim")
    show_claims(console, sections)
    given.json.parent.mkdir(parents=True, exist_ok=True)
    content = {"machine": machine, "quick": options.quick, "sections": [s.to_json() for s in sections]}
    given.json.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    console.print(f"written to {given.json}", style="dim", soft_wrap=True)
    return 0


def show_claims(console: Console, sections: list[Section]) -> None:
    """What the figures of this run say about symbody's promises; a busy machine can break a promise by itself."""
    table = Table(title="Claims, by this run", title_justify="left")
    for column in ("claim", "measured", "limit", "holds"):
        table.add_column(column, justify="left" if column == "claim" else "right")
    for claim in (c for s in sections for c in s.claims):
        sign = ">=" if claim.at_least else "<="
        table.add_row(
            claim.text, shown(claim.measured), f"{sign} {claim.limit:g}", "yes" if claim.holds else "[bold]NO[/]"
        )
    console.print(table)


def describe_machine() -> dict[str, Any]:
    """What the figures depend on."""
    info: dict[str, Any] = {"date": datetime.now(UTC).isoformat(timespec="seconds")}
    info["cpu"] = _cpu()
    info["cores"] = os.cpu_count()
    if hasattr(os, "getloadavg"):
        info["load"] = round(os.getloadavg()[0], 2)
    info["python"] = platform.python_version()
    for library in peers.available():
        info[library.name] = library.version()
    return info


def _cpu() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


if __name__ == "__main__":
    sys.exit(main())
