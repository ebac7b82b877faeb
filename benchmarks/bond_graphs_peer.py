"""BondGraphTools on the graphs of `bond_graphs.py`, in an interpreter that has it: JSON on the last line.

python benchmarks/bond_graphs_peer.py chain 12
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from itertools import pairwise
from typing import Any


def build(kind: str, size: int) -> Any:
    """The graph with numbers: a chain of masses, two inertias on one shaft, or resistors in a loop."""
    import BondGraphTools as tools

    model = tools.new(name=kind)

    def add(component: str, name: str, value: float | None = None) -> Any:
        made = tools.new(component, name=name, value=value) if value is not None else tools.new(component, name=name)
        model.add(made)
        return made

    def join(*pieces: Any) -> None:
        for a, b in pairwise(pieces):
            tools.connect(a, b)

    if kind == "chain":
        before = add("Se", "F")
        for k in range(1, size + 1):
            v = add("1", f"v{k}")
            join(before, v, add("I", f"m{k}", 1.0))
            if k < size:
                z, s = add("0", f"z{k}"), add("1", f"s{k}")
                join(v, z, s, add("C", f"k{k}", 1.0))
                join(s, add("R", f"d{k}", 0.1))
                before = z
    elif kind == "derivative":
        v = add("1", "v")
        join(add("Se", "F"), v, add("I", "m1", 2.0))
        join(v, add("I", "m2", 3.0))
        join(v, add("R", "d", 0.5))
    else:
        a, n, c = add("1", "a"), add("0", "n"), add("1", "c")
        join(add("Se", "u"), a, add("R", "R1", 1.0))
        join(a, n, add("R", "R2", 2.0))
        join(n, c, add("R", "R3", 3.0))
        join(c, add("C", "C", 0.5))
    return model


def pole(relations: Any) -> float | None:
    """The eigenvalue of a graph with one state, if its relations give one."""
    import sympy

    symbols = sorted({s for r in relations for s in r.free_symbols}, key=str)
    rates = [s for s in symbols if str(s).startswith("dx")]
    states = [s for s in symbols if str(s).startswith("x")]
    found = sympy.solve(relations, [*rates, *states[1:]], dict=True)
    if not found or rates[0] not in found[0]:
        return None
    return float(sympy.diff(found[0][rates[0]], states[0]))


def main(kind: str, size: int) -> dict[str, Any]:
    """Seconds of processor time, and what was found."""
    warnings.filterwarnings("ignore")
    model = build(kind, size)
    start = time.process_time()
    relations = model.constitutive_relations
    taken = time.process_time() - start
    return {
        "seconds": taken,
        "relations": [str(r) for r in relations][:4],
        "count": len(relations),
        "pole": None if kind == "chain" else pole(relations),
    }


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]))))
