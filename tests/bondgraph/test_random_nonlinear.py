"""Random graphs with nonlinear laws: what the System says of every element obeys its law and the junctions.

Nothing of the equations of the package is used: efforts and flows of all elements are read, and put into those of the
junctions, of TF and GY, and into the laws as Python functions. Storages in derivative causality are followed along the
motion: the rate of their energy, by differences, is what they receive.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq

import symbody as sb

LAWS = {  # kind -> (argument, text, the same for numbers)
    "I": [("p", "0.5*p + 0.2*p^3", lambda p: 0.5 * p + 0.2 * p**3), ("p", "asinh(p)", np.arcsinh)],
    "C": [("q", "2*q + q^3", lambda q: 2 * q + q**3), ("q", "q + 0.5*sin(q)", lambda q: q + 0.5 * np.sin(q))],
    "R": [
        ("f", "f + 0.3*f^3", lambda f: f + 0.3 * f**3),
        ("e", "e + 0.2*tanh(e)", lambda e: e + 0.2 * np.tanh(e)),
        ("f", "2*asinh(f)", lambda f: 2 * np.arcsinh(f)),
    ],
}


def random_nonlinear(seed: int):
    """(graph, name -> (argument, law)): a tree of junctions, TF and GY with elements, about half of them nonlinear."""
    rng = np.random.default_rng(seed)
    b = sb.BondGraph.builder(f"nonlinear{seed}")
    size = int(rng.integers(2, 8))
    ends, laws = [0] * size, {}

    def add(kind: str, junction: int) -> None:
        name = f"{kind}{junction}_{ends[junction]}"
        if kind in ("Se", "Sf"):
            b.element(name, kind)
        elif rng.random() < 0.6:
            argument, text, law = LAWS[kind][int(rng.integers(len(LAWS[kind])))]
            b.element(name, kind, law=text)
            laws[name] = argument, law
        else:
            value = float(rng.uniform(0.5, 2))
            b.element(name, kind, value)
            laws[name] = ("f", lambda f: value * f) if kind == "R" else ("x", lambda x: x / value)
        b.bond(*((name, f"j{junction}") if kind in ("Se", "Sf") else (f"j{junction}", name)))
        ends[junction] += 1

    for k in range(size):
        b.element(f"j{k}", str(rng.integers(2)))
        if k:
            other, way = int(rng.integers(max(0, k - 3), k)), rng.random()
            ends[other] += 1
            ends[k] += 1
            if way < 0.7:
                b.bond(f"j{other}", f"j{k}")
            else:
                b.element(f"T{k}", "TF" if way < 0.88 else "GY", float(rng.uniform(0.5, 2)))
                b.bonds(f"j{other} -> T{k} -> j{k}")
    for k in range(size):
        for kind in rng.choice(["I", "C", "R"], size=int(rng.integers(0, 3))):
            add(str(kind), k)
    add(str(rng.choice(["Se", "Sf"])), int(rng.integers(size)))
    for k in range(size):
        while ends[k] < 2:
            add("R", k)
    return b.done(), laws


def missed_by_junctions(graph, read: dict[str, float]) -> float:
    """Least residual of all junction, TF and GY equations where the elements have these efforts and flows."""
    n, rows, right = len(graph.bonds), [], []

    def row(pairs, value=0.0):
        line = np.zeros(2 * n)
        for place, factor in pairs:
            line[place] += factor
        rows.append(line)
        right.append(value)

    for x in graph.elements.values():
        bonds = graph.bonds_of(x.name)
        e, f = [2 * (b.number - 1) for b in bonds], [2 * (b.number - 1) + 1 for b in bonds]
        signs = [1 if b.head == x.name else -1 for b in bonds]
        if x.is_junction:
            same, added = (e, f) if x.kind == "0" else (f, e)
            for k in same[1:]:
                row([(k, 1), (same[0], -1)])
            row(list(zip(added, signs)))
        elif x.kind in ("TF", "GY"):
            a, c, m = signs.index(1), signs.index(-1), graph.parameters[x.name].data.default
            out = (e, f) if x.kind == "TF" else (f, e)
            row([(e[a], 1), (out[0][c], -m)])
            row([(out[1][c], 1), (f[a], -m)])
        else:
            row([(e[0], 1)], read[f"e_{x.name}"])
            row([(f[0], 1)], read[f"f_{x.name}"])
    rows, right = np.array(rows), np.array(right)
    return float(np.abs(rows @ np.linalg.lstsq(rows, right, rcond=None)[0] - right).max())


def check(graph, laws, seed: int) -> bool:
    """Whether storages were dependent."""
    rng, late = np.random.default_rng(seed), graph.causality().derivative
    names = [e.name for e in graph.of_kind("I", "C", "R", "Se", "Sf")]
    system = graph.system(outputs=[f"{k}.{n}" for n in names for k in "ef"])
    kernel = system.compile()
    given = {n: 0.0 if n.endswith("_dot") else 0.7 * rng.normal() for n in system.inputs}

    def read(at: dict[str, float]) -> dict[str, float]:
        return {n: float(v) for n, v in kernel.call_named(*at.values()).items()}

    def energies(found: dict[str, float]) -> dict[str, float]:
        """Of the dependent storages, by inverting their laws."""
        z = {n: found[f"{'f' if graph.elements[n].kind == 'I' else 'e'}_{n}"] for n in late}
        return {n: brentq(lambda x, n=n: laws[n][1](x) - z[n], -100, 100, xtol=1e-14, rtol=1e-14) for n in late}

    found = read(given)
    scale = 1 + max(map(abs, found.values()))
    assert missed_by_junctions(graph, found) < 1e-9 * scale
    for e in graph.of_kind("R"):
        argument, law = laws[e.name]
        x, y = (found[f"{k}_{e.name}"] for k in (argument, "e" if argument == "f" else "f"))
        assert law(x) == pytest.approx(y, abs=1e-8 * scale)
    shifted = any(system.origins.values())
    for e in graph.of_kind("I", "C"):
        letter, z, rate = ("p", "f", "e") if e.kind == "I" else ("q", "e", "f")
        if e.name not in late and not shifted:
            state = f"{letter}_{e.name}"
            assert laws[e.name][1](given[state]) == pytest.approx(found[f"{z}_{e.name}"], abs=1e-9 * scale)
            assert found[f"{state}_dot"] == pytest.approx(found[f"{rate}_{e.name}"], abs=1e-9 * scale)
    if late:
        h = 1e-5
        after, before = (
            energies(read({n: v + way * h * found.get(f"{n}_dot", 0) for n, v in given.items()})) for way in (1, -1)
        )
        for n in late:
            received = found[f"{'e' if graph.elements[n].kind == 'I' else 'f'}_{n}"]
            assert (after[n] - before[n]) / (2 * h) == pytest.approx(received, abs=1e-5 * scale)
    return bool(late)


def run(seeds) -> tuple[int, int]:
    done, dependent = 0, 0
    for seed in seeds:
        try:
            graph, laws = random_nonlinear(seed)
            graph.causality()
        except sb.SymbodyError:  # sources in conflict
            continue
        dependent += check(graph, laws, seed)
        done += 1
        assert graph.dae().index <= 1
    return done, dependent


def test_random_nonlinear_graphs():
    done, dependent = run(range(12))
    assert done >= 10
    assert dependent >= 2


@pytest.mark.slow
def test_two_hundred_random_nonlinear_graphs():
    done, dependent = run(range(100, 300))
    assert done > 150
    assert dependent > 40
