"""From the finished expressions to code that answers, against size."""

from __future__ import annotations

import os
import tempfile
import time
from typing import Any

from benchmarks import peers
from benchmarks.casadi_c import CasadiC
from benchmarks.record import Claim, Missing, Options, Section
from benchmarks.timing import TooSlow, isolated
from benchmarks.workloads import Workload, by_name

QUICK = ("arm1", "arm5", "arm48")
FULL = ("arm1", "arm5", "arm48", "arm480", "arm4800")
STATES = 3

PEERS = {"SymPy lambdify": "lambdify", "SymEngine llvm": "lambdify", "CasADi gcc -O1": "-O1", "CasADi gcc -O3": "-O3"}


def run(options: Options) -> Section:
    columns = [
        "workload",
        "operations",
        "answers s",
        "optimised s",
        "us/op",
        "from cache s",
        "optimize(standard) s",
        *PEERS,
    ]
    section = Section("compile_time", "Compile time from finished expressions, seconds", columns)
    hopeless: dict[str, Missing] = {}
    for name in QUICK if options.quick else FULL:
        row = {"workload": name} | isolated(symbody_compile, name, limit=1800)
        row["us/op"] = 1e6 * row["optimised s"] / row["operations"]
        if row["operations"] <= (20_000 if options.quick else 200_000):
            row |= _standard(name, options.budget)
        else:
            row["optimize(standard) s"] = Missing(f"{name}: not tried")
        for column, how in PEERS.items():
            row[column] = hopeless.get(column) or _peer(column.split()[0], name, how, options.budget)
            if isinstance(row[column], Missing):
                hopeless[column] = row[column]  # longer ones are not tried
        section.rows.append(row)
    section.notes = [
        "answers: compile() and one call; optimised: until the optimised code with SIMD is in place, in an empty cache",
        "from cache: the same System built again, compiled from the cache, and one call",
        "peers: from finished expressions to the first answer; CasADi: cse, C text, gcc, load. All answers are checked",
    ]
    _claims(section)
    return section


def _claims(section: Section) -> None:
    rows = {row["workload"]: row for row in section.rows}
    if "arm48" in rows and "arm4800" in rows:
        ratio = rows["arm4800"]["us/op"] / rows["arm48"]["us/op"]
        section.claims.append(Claim("compile time per operation, 10^6 operations / 10^4", ratio, 2.0))
    if "arm480" in rows:
        row = rows["arm480"]
        section.claims.append(Claim("10^5 operations: first answer, s", row["answers s"], 3.0))
        section.claims.append(Claim("10^5 operations: optimised, s", row["optimised s"], 12.0))
        section.claims.append(Claim("10^5 operations: from the cache, s", row["from cache s"], 0.5))


def symbody_compile(name: str) -> dict[str, float]:
    """Times of one workload in this process, with a cache directory of its own."""
    library = peers.Symbody()
    workload = by_name(name)
    warm_up(library)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SYMBODY_CACHE"] = folder
        values = workload.sample(1)
        state = [array[0] for array in values.values()]
        system = library.system(library.build(workload))
        start = time.perf_counter()
        kernel = system.compile()
        kernel(*state)
        answered = time.perf_counter()
        kernel.wait()
        optimised = time.perf_counter()
        compare(workload, kernel)
        operations = system.count().total
        # a System of its own Graph, so that nothing is remembered but the files
        system = library.system(library.build(workload))
        begin = time.perf_counter()
        again = system.compile()
        again(*state)
        cached = time.perf_counter()
        if again.tier != "optimized":
            raise AssertionError("the optimised code was not found in the cache")
    return {
        "operations": operations,
        "answers s": answered - start,
        "optimised s": optimised - start,
        "from cache s": cached - begin,
    }


def warm_up(library: peers.Symbody) -> None:
    """LLVM is loaded and set up once in a process; that is not compile time of a size."""
    library.function(library.build(by_name("random20")))


def compare(workload: Workload, kernel: Any) -> None:
    peers.check("symbody", workload, lambda v: kernel(*(v[n] for n in workload.inputs)), STATES)


def _standard(name: str, budget: float) -> dict[str, Any]:
    try:
        return {"optimize(standard) s": isolated(symbody_standard, name, limit=3 * budget)}
    except TooSlow as why:
        return {"optimize(standard) s": Missing(f"{name}: {why}")}


def symbody_standard(name: str) -> float:
    library = peers.Symbody()
    system = library.system(library.build(by_name(name)))
    start = time.perf_counter()
    system.optimize("standard")
    return time.perf_counter() - start


def _peer(library: str, name: str, how: str, budget: float) -> float | Missing:
    if not peers.by_name(library).available():
        return Missing(f"{library} is not installed")
    # CasADi also builds its expressions within the limit, which takes it longer than compiling them takes symbody
    limit = 2 * budget + 60 if library == "CasADi" else budget
    try:
        return float(isolated(peer_compile, library, name, how, budget, limit=limit))
    except TooSlow as why:
        return Missing(f"{name}: {why}")


def peer_compile(library: str, name: str, how: str, budget: float) -> float:
    """Seconds from finished expressions to the first answer."""
    found = peers.by_name(library)
    built = found.build(by_name(name))
    values = built.workload.sample(STATES)
    start = time.perf_counter()
    function = CasadiC(built, (how,), budget) if library == "CasADi" else found.function(built)
    result = function(values)
    took = time.perf_counter() - start
    if not peers.agrees(result, built.workload.expected(values)):
        raise AssertionError(f"{library} computes other values of {name}")
    return took
