"""Random bond graphs, and their equations solved without any of the package's: all efforts and flows at once."""

from __future__ import annotations

import numpy as np

import symbody as sb


def random_graph(seed: int, largest: int = 60):
    """A graph of junctions with elements, TF, GY and sometimes rings; None where it is refused (a conflict)."""
    rng = np.random.default_rng(seed)
    b = sb.BondGraph.builder(f"random{seed}")
    size = int(rng.integers(2, max(3, largest // 3)))
    kinds = [str(rng.integers(2)) for _ in range(size)]
    ends = [0] * size
    counts: dict[str, int] = {}

    def add(kind: str, junction: int, value: bool = True) -> None:
        counts[kind] = counts.get(kind, 0) + 1
        name = f"{kind}{counts[kind]}"
        b.element(name, kind, float(rng.uniform(0.5, 2)) if value else None)
        b.bond(*((name, f"j{junction}") if kind in ("Se", "Sf") else (f"j{junction}", name)))
        ends[junction] += 1

    def join(i: int, k: int) -> None:
        ends[i] += 1
        ends[k] += 1
        a, c = (i, k) if rng.random() < 0.5 else (k, i)
        draw = rng.random()
        if draw < 0.7:
            b.bond(f"j{a}", f"j{c}")
            return
        kind = "TF" if draw < 0.88 else "GY"
        counts[kind] = counts.get(kind, 0) + 1
        name = f"{kind}{counts[kind]}"
        b.element(name, kind, float(rng.uniform(0.5, 2)))
        b.bonds(f"j{a} -> {name} -> j{c}")

    for k, kind in enumerate(kinds):
        b.element(f"j{k}", kind)
        if k:
            join(int(rng.integers(max(0, k - 4), k)), k)
    for _ in range(int(rng.integers(0, 3))):
        i, k = rng.integers(size, size=2)
        if i != k and rng.random() < 0.5:
            join(int(i), int(k))
    for k in range(size):
        for kind in rng.choice(["I", "C", "R"], size=int(rng.integers(0, 3))):
            add(str(kind), k)
    for k in rng.choice(size, size=min(size, int(rng.integers(1, 4))), replace=False):
        add(str(rng.choice(["Se", "Sf"])), int(k), False)
    for k in rng.choice(size, size=min(size, int(rng.integers(1, 4))), replace=False):
        add("De" if kinds[int(k)] == "0" else "Df", int(k), False)
    for k in range(size):
        while ends[k] < 2:
            add("R", k)
    try:
        graph = b.done()
        graph.causality()
    except sb.SymbodyError:
        return None
    return graph if len(graph.elements) <= largest else None


def response(graph, s: complex, values: dict[str, float]):
    """(q, m) transfer matrix, with all efforts and flows: the implicit equations of all nodes in one linear system.

    Also the power that enters the junction structure minus that which leaves it, for each input.
    """
    n = len(graph.bonds)
    rows, right = [], []
    sources = [e.name for e in graph.elements.values() if e.kind in ("Se", "Sf")]
    detectors = [e.name for e in graph.elements.values() if e.kind in ("De", "Df")]

    def row(pairs, given=None):
        line = np.zeros(2 * n, complex)
        for place, value in pairs:
            line[place] += value
        rows.append(line)
        entry = np.zeros(len(sources))
        if given is not None:
            entry[sources.index(given)] = 1
        right.append(entry)

    e = {b.number: 2 * (b.number - 1) for b in graph.bonds}
    f = {b.number: 2 * (b.number - 1) + 1 for b in graph.bonds}
    for x in graph.elements.values():
        bonds = [b for b in graph.bonds if x.name in (b.tail, b.head)]
        sign = {b.number: 1 if b.head == x.name else -1 for b in bonds}
        k = bonds[0].number
        v = None if x.value is None else values.get(x.name, 1.0)
        if x.kind in ("0", "1"):
            same, added = (e, f) if x.kind == "0" else (f, e)
            for b in bonds[1:]:
                row([(same[b.number], 1), (same[k], -1)])
            row([(added[b.number], sign[b.number]) for b in bonds])
        elif x.kind in ("TF", "GY"):
            one, two = sorted((b.number for b in bonds), key=lambda m: -sign[m])
            if x.kind == "TF":
                row([(e[one], 1), (e[two], -v)])
                row([(f[two], 1), (f[one], -v)])
            else:
                row([(e[one], 1), (f[two], -v)])
                row([(e[two], 1), (f[one], -v)])
        elif x.kind == "I":
            row([(e[k], 1), (f[k], -s * v)])
        elif x.kind == "C":
            row([(f[k], 1), (e[k], -s * v)])
        elif x.kind == "R":
            row([(e[k], 1), (f[k], -v)])
        elif x.kind in ("Se", "Df"):
            row([(e[k], 1)], x.name if x.kind == "Se" else None)
        else:
            row([(f[k], 1)], x.name if x.kind == "Sf" else None)
    found = np.linalg.solve(np.array(rows), np.array(right))
    shown = []
    power = np.zeros(len(sources), complex)
    for x in graph.elements.values():
        bond = next(b.number for b in graph.bonds if x.name in (b.tail, b.head))
        if x.name in detectors:
            shown.append(found[e[bond] if x.kind == "De" else f[bond]])
        if x.kind not in ("0", "1", "TF", "GY"):
            power += (1 if x.kind in ("Se", "Sf") else -1) * found[e[bond]] * found[f[bond]]
    return np.array(shown).reshape(len(detectors), len(sources)), power


def defaults(graph) -> dict[str, float]:
    return {n: p.data.default for n, p in graph.parameters.items()}
