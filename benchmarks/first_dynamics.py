"""The first `sb.forward_dynamics` of robots without stored choices: CPU seconds, and operations beside a reference.

    python benchmarks/first_dynamics.py --urdf FOLDER                    robots of a folder, and as many by the seed
    python benchmarks/first_dynamics.py --urdf FOLDER --other CHECKOUT   both checkouts in one run, and the car
    python benchmarks/first_dynamics.py --record                         this checkout becomes the reference

Every robot runs in a process of its own, with an empty folder of caches. `first_dynamics.json` holds the operations
that commit 15b2bca reached, without robots that it refused, and the seed by which some of the extra `[robots]` are
picked. Read times as ratios within a run. `read otherwise`: the equations of the named formalism "base" differ as
they are written, so the file was read as another model, and the counts do not compare.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
REFERENCE = HERE / "first_dynamics.json"
SECONDS, ONE, ALL = 1.5, 0.03, 0.01  # CPU; operations above the reference that one robot, and all, may have

ROBOT = """
import json, sys, time
import symbody as sb
mech = sb.load(sys.argv[1])
start = time.process_time()
system = sb.forward_dynamics(mech)
seconds = time.process_time() - start
plain = sb.forward_dynamics(mech, "base", preset="none")
print(json.dumps({"cpu": seconds, "total": system.count().total, "written": plain.count().total}))
"""

CAR = """
import json, time
import symbody as sb
steps, start = {}, time.process_time()
def done(name):
    global start
    now = time.process_time()
    steps[name], start = now - start, now
mech = sb.load("car")
done("load")
system = sb.forward_dynamics(mech)
done("forward_dynamics")
system.compile()
done("compile")
sb.simulate(mech, 1.0)
done("simulate")
print(json.dumps({"cpu": sum(steps.values()), "steps": steps, "total": system.count().total}))
"""


def robots_folder() -> Path | None:
    """The robots of the package example-robot-data, wherever the package manager has put them."""
    import importlib.util

    spec = importlib.util.find_spec("pinocchio")
    for folder in Path(spec.origin).parents if spec and spec.origin else ():
        found = folder / "share" / "example-robot-data" / "robots"
        if found.is_dir():
            return found
    return None


def measured(checkout: Path, script: str, *arguments: str) -> dict[str, Any]:
    """What a script prints in a process of its own, with an empty folder of caches."""
    with tempfile.TemporaryDirectory() as cache:
        outside = {k: v for k, v in os.environ.items() if k != "SYMBODY_CACHE"}
        environment = {**outside, "XDG_CACHE_HOME": cache, "PYTHONPATH": str(checkout / "src")}
        command = [sys.executable, "-c", script, *arguments]
        found = subprocess.run(command, env=environment, cwd=cache, capture_output=True, text=True, check=False)
    if found.returncode:
        return {"error": found.stderr.strip().splitlines()[-1]}
    result: dict[str, Any] = json.loads(found.stdout)
    return result


def picked(reference: dict[str, Any], folder: Path | None) -> dict[str, Path]:
    """Name in the reference -> file: all of the folder, and as many robots of the package by the seed."""
    own = (
        {}
        if folder is None
        else {p.name: p for p in sorted(folder.resolve().glob("*.urdf")) if p.name in reference["urdf"]}
    )
    package = robots_folder()
    if package is None:
        return own
    names = random.Random(reference["seed"]).sample(sorted(reference["robots"]), len(own) or len(reference["urdf"]))
    return own | {name: package / name for name in sorted(names)}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="The first forward dynamics of robots, without stored choices.")
    parser.add_argument("--urdf", type=Path, help="folder with the robots that are all measured")
    parser.add_argument("--other", type=Path, metavar="CHECKOUT", help="measure this checkout of symbody too")
    parser.add_argument("--record", action="store_true", help="write the counts of all robots as the reference")
    given = parser.parse_args(arguments)
    reference = json.loads(REFERENCE.read_text(encoding="utf-8"))
    if given.record:
        return record(reference, given.urdf)
    known = {**reference["urdf"], **reference["robots"]}
    here, rows = HERE.parent, []
    print(f"{'robot':<60} {'CPU s':>6} {'operations':>10} {'reference':>10} {'%':>7}")
    for name, path in picked(reference, given.urdf).items():
        row = measured(here, ROBOT, str(path))
        if "error" in row:
            print(f"{name:<60} {row['error']}")
            continue
        same = row["written"] == known[name]["written"]
        more = row["total"] / known[name]["total"] - 1
        rows.append((row["cpu"], row["total"], known[name]["total"], more, same))
        line = f"{name:<60} {row['cpu']:>6.2f} {row['total']:>10} {known[name]['total']:>10} {100 * more:>+7.2f}"
        if given.other is not None:
            old = measured(given.other.resolve(), ROBOT, str(path))
            line += f"   {row['cpu'] / old['cpu']:.2f} of the other's time ({old['cpu']:.2f} s, {old['total']})"
        print(line + ("" if same else "   read otherwise"), flush=True)
    alike = [r for r in rows if r[4]]
    over = sum(r[1] for r in alike) / max(1, sum(r[2] for r in alike)) - 1
    slowest, worst = max((r[0] for r in rows), default=0.0), max((r[3] for r in alike), default=0.0)
    print(f"slowest {slowest:.2f} s (at most {SECONDS}), most above the reference {100 * worst:+.2f} % (at most "
          f"{100 * ONE:g}), sum {100 * over:+.2f} % (at most {100 * ALL:g})")  # fmt: skip
    if given.other is not None:
        new, old = measured(here, CAR), measured(given.other.resolve(), CAR)
        ratio = new["cpu"] / old["cpu"]
        print(f"car: {new['cpu']:.1f} s of CPU, {ratio:.2f} of the other's {old['cpu']:.1f} s (at most 0.5)")
        for name, seconds in new["steps"].items():
            print(f"  {name:<18} {seconds:>6.2f} s beside {old['steps'][name]:.2f} s")
        print(f"  operations {new['total']} beside {old['total']}")
    return 0 if slowest <= SECONDS and worst <= ONE and over <= ALL else 1


def record(reference: dict[str, Any], folder: Path | None) -> int:
    """Counts of every robot there is."""
    package = robots_folder()
    every = {"urdf": {} if folder is None else {p.name: p for p in sorted(folder.resolve().glob("*.urdf"))}}
    every["robots"] = (
        {} if package is None else {str(p.relative_to(package)): p for p in sorted(package.rglob("*.urdf"))}
    )
    for group, files in every.items():
        found = {name: measured(HERE.parent, ROBOT, str(path)) for name, path in files.items()}
        rows = {n: {"total": r["total"], "written": r["written"]} for n, r in found.items() if r.get("total")}
        reference[group] = rows or reference[group]
    REFERENCE.write_text(json.dumps(reference, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
