"""Time to differentiate a long table of nodes, forward and reverse, per operation."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.record import Claim, Missing, Options, Section
from benchmarks.timing import TooSlow, isolated
from benchmarks.workloads import Workload, by_name, written_operations

QUICK = ("arm5", "arm48")
FULL = ("random200", "arm2", "arm5", "arm48", "arm480")
ROUNDS = 3
STEP = 1e-6

Slope = Callable[[peers.Arrays, np.ndarray], np.ndarray]
Way = Callable[[Workload], tuple[float, Slope]]


def run(options: Options) -> Section:
    """Forward: derivative of all outputs along one direction. Reverse: gradient of one combination of the outputs."""
    columns = ["workload", "operations", "symbody forward", "symbody reverse", "CasADi forward", "CasADi reverse"]
    columns += ["SymEngine diff", "SymPy diff"]
    section = Section("derivatives", "Derivatives, microseconds per operation of the function", columns)
    for name in QUICK if options.quick else FULL:
        section.rows.append(_row(name, options))
    section.notes = [
        "forward: J v; reverse: gradient of w.f; diff: the latter by one input alone (these libraries have no J v)",
        "every derivative is compared with central differences of NumPy's values; best of three builds",
    ]
    rows = {row["workload"]: row for row in section.rows}
    small, large = ("arm5", "arm48") if options.quick else ("arm5", "arm480")
    for way in ("forward", "reverse"):
        ratio = rows[large][f"symbody {way}"] / rows[small][f"symbody {way}"]
        section.claims.append(Claim(f"{way} derivative, time per operation of {large} / {small}", ratio, 2.0))
    return section


def _row(name: str, options: Options) -> dict[str, Any]:
    written = written_operations(by_name(name))
    row: dict[str, Any] = {"workload": name, "operations": written}
    ways = [("symbody", "forward"), ("symbody", "reverse"), ("CasADi", "forward"), ("CasADi", "reverse")]
    ways += [("SymEngine", "diff"), ("SymPy", "diff")]
    for library, way in ways:
        column = f"{library} {way}"
        if not peers.by_name(library).available():
            row[column] = Missing("not installed")
        elif way == "diff" and written > 1500:
            row[column] = Missing("only tried below 1500 operations")
        else:
            limit = 300.0 if library in ("symbody", "CasADi") else min(options.budget, 20.0)
            try:
                row[column] = 1e6 * isolated(differentiate, library, name, way, limit=limit) / written
            except TooSlow as why:
                row[column] = Missing(f"{name}: {why}")
    return row


def differentiate(library: str, name: str, way: str) -> float:
    """Best seconds over a few fresh builds; the first result is compared with differences of the function itself."""
    best = float("inf")
    for k in range(ROUNDS):
        taken, slope = WAYS[library, way](by_name(name))
        best = min(best, taken)
        if k == 0:
            _check(library, by_name(name), way, slope)
    return best


def _check(library: str, workload: Workload, way: str, slope: Slope) -> None:
    """The slope along a direction against a central difference."""
    port = next(iter(workload.inputs))
    values = workload.sample(2)
    v = np.random.default_rng(2).normal(size=values[port].shape)
    if way == "diff":
        v[...] = 0.0
        v[:, 0] = 1.0
    upper, lower = (workload.expected(values | {port: values[port] + h * v}) for h in (STEP, -STEP))
    expected = (upper - lower) / (2 * STEP)
    if way != "forward":
        expected = expected @ np.array(_weights(expected.shape[1]))
    if not np.allclose(slope(values, v), expected, rtol=1e-4, atol=1e-4 * np.max(np.abs(expected))):
        raise AssertionError(f"{library} {way} gives other derivatives of {workload.name} than differences do.")


def _weights(outputs: int) -> list[float]:
    return [1.0 + 0.5 * (-1) ** k for k in range(outputs)]


def _combined(outputs: Sequence[Any]) -> Any:
    total = outputs[0] * _weights(1)[0]
    for w, f in list(zip(_weights(len(outputs)), outputs))[1:]:
        total = total + w * f
    return total


# Each way returns the seconds of differentiating and a function (values, direction) -> slope along the direction.


def _symbody_forward(workload: Workload) -> tuple[float, Slope]:
    library, port = peers.Symbody(), next(iter(workload.inputs))
    system = library.system(library.build(workload))
    start = time.perf_counter()
    made = system.jvp("f", port)
    taken = time.perf_counter() - start
    return taken, lambda values, v: made.compile(target="python")(*(values[n] for n in workload.inputs), v)


def _symbody_reverse(workload: Workload) -> tuple[float, Slope]:
    library, port = peers.Symbody(), next(iter(workload.inputs))
    built = library.build(workload)
    built.outputs = _combined(built.outputs)  # a gradient is that of a scalar output
    system = library.system(built)
    start = time.perf_counter()
    gradient = system.gradient("f", port)
    taken = time.perf_counter() - start

    def slope(values: peers.Arrays, v: np.ndarray) -> np.ndarray:
        found = gradient.compile(target="python")(*(values[n] for n in workload.inputs))
        return np.sum(found * v, axis=-1)

    return taken, slope


def _casadi_forward(workload: Workload) -> tuple[float, Slope]:
    import casadi as ca

    built = peers.CasADi().build(workload)
    port = next(iter(workload.inputs))
    x, f = ca.vertcat(*built.arguments[port]), ca.vertcat(*built.outputs)
    direction = ca.SX.sym("v", len(built.arguments[port]))
    start = time.perf_counter()
    made = ca.jtimes(f, x, direction)
    taken = time.perf_counter() - start
    function = ca.Function("d", [*(ca.vertcat(*s) for s in built.arguments.values()), direction], [made])
    return taken, lambda values, v: np.asarray(function(*(values[n].T for n in built.arguments), v.T)).T


def _casadi_reverse(workload: Workload) -> tuple[float, Slope]:
    import casadi as ca

    built = peers.CasADi().build(workload)
    port = next(iter(workload.inputs))
    x, g = ca.vertcat(*built.arguments[port]), _combined(built.outputs)
    start = time.perf_counter()
    made = ca.gradient(g, x)
    taken = time.perf_counter() - start
    function = ca.Function("d", [ca.vertcat(*s) for s in built.arguments.values()], [made])
    return taken, lambda values, v: np.sum(np.asarray(function(*(values[n].T for n in built.arguments))).T * v, axis=-1)


def _tree_diff(library: peers.Library) -> Way:
    """SymPy and SymEngine differentiate by one symbol at a time."""

    def way(workload: Workload) -> tuple[float, Slope]:
        built = library.build(workload)
        g = _combined(built.outputs)
        start = time.perf_counter()
        made = g.diff(built.arguments[next(iter(workload.inputs))][0])
        taken = time.perf_counter() - start
        function = library.function(peers.Built(workload, built.arguments, [made]))
        return taken, lambda values, v: function(values)[:, 0]

    return way


WAYS: dict[tuple[str, str], Way] = {
    ("symbody", "forward"): _symbody_forward,
    ("symbody", "reverse"): _symbody_reverse,
    ("CasADi", "forward"): _casadi_forward,
    ("CasADi", "reverse"): _casadi_reverse,
    ("SymEngine", "diff"): _tree_diff(peers.SymEngine()),
    ("SymPy", "diff"): _tree_diff(peers.SymPy()),
}
