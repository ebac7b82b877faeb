"""Derivatives of the impact by which loops close: coordinates put on the closed rows, and velocities by the impulse.

    M (qd+ - qd-) = J^T Lambda        J qd+ + ht = 0        over all rows that are closed afterwards

The second is differentiated as these equations stand; where rows follow from others, Lambda is one of many, and the
change of qd+ still one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from symbody.basics.memory import memory_of
from symbody.motion.derivatives.machine import DerivativeRows, by_theta, chain_of, rows_of
from symbody.motion.derivatives.pullbacks import Pullback, pulled
from symbody.motion.derivatives.starts import start_rows
from symbody.motion.events.impacts import DEPENDENT, closed_loops, impulse, switched_loops
from symbody.motion.flow.flow import Flow
from symbody.motion.flow.flow_kernels import FlowKernels
from symbody.motion.flow.vector_field import VectorField
from symbody.symbolic.expr.arrays import matmul
from symbody.symbolic.system.system import System, node_array

CHANGE, MULTIPLIERS, SPEED = "change_", "multipliers_", "speed_"


@dataclass(frozen=True, eq=False)
class Closed:
    """The state x (nx,) behind an impact, and its derivatives by that before: x_rows (nx, nx), and by all else."""

    x: np.ndarray
    rows: DerivativeRows


def closes(flow: Flow, names: list[str], changed: bool, x: np.ndarray, u: np.ndarray) -> bool:
    """Whether an impact belongs to a jump. names: of what happened; changed: states were reset before it."""
    if flow.impact is None:
        return False
    always = len(switched_loops(flow)) < len(set(flow.labels.get("gap", ())))
    held = changed and (always or bool(closed_loops(flow, x, u)))
    return held or any(name.startswith("closed ") for name in names)


def closed_by_impact(
    flow: Flow,
    parameters: Mapping[str, Any],
    places: Mapping[tuple[str, int], int],
    n: int,
    t: float,
    x: np.ndarray,
    u: np.ndarray,
) -> Closed:
    """The state x (nx,) at t with signals u (nu,) closed, and its derivatives; flow: whose projection is a formula."""
    impact = flow.impact
    assert impact is not None
    at, nx = flow.slices["qd"], flow.nx
    placed = np.asarray(FlowKernels(flow, parameters).project(np.asarray(t), x, u)) if flow.project is not None else x
    first = start_rows(flow, parameters, places, n, t, x, u)
    if first is None:
        first = _nothing(nx, len(u), n)
    eye = np.eye(nx)[at]
    moved = DerivativeRows(*(part.copy() for part in (first.x, first.t, first.h, first.u, first.p)))
    moved.x[at], moved.t[at], moved.u[at], moved.p[at] = eye, 0.0, 0.0, 0.0  # speeds are not those of the projection
    placed = np.concatenate([placed[: at.start], x[at], placed[at.stop :]])
    found = VectorField(flow, parameters, u).function(impact, target="python")(t, placed, u)._asdict()
    rows = np.asarray(found["s"]) > 0.5
    J, ht, M = np.asarray(found["J"])[rows], np.asarray(found["ht"])[rows], np.asarray(found["M"])
    prescribed = set(flow.prescribed.get("qd", ()))
    free = np.array([k for k in range(len(M)) if k not in prescribed], dtype=int)
    before = placed[at]
    change = np.zeros(len(before))
    change[free] = impulse(M[np.ix_(free, free)], J[:, free], J @ before + ht)
    multipliers = np.zeros(len(rows))
    multipliers[rows] = np.linalg.lstsq(J[:, free].T, (M @ change)[free], rcond=DEPENDENT)[0]
    pull = memory_of(impact).get("pullback", (), lambda: _balance(flow, impact))
    chain = by_theta(chain_of(pull, parameters), pull.names, places, n)
    more = {CHANGE: change, MULTIPLIERS: multipliers, SPEED: before + change}
    by = rows_of(pull, flow, parameters, chain, t, placed, u, len(M) + len(rows), more=more)
    keep = np.concatenate([free, len(M) + np.flatnonzero(rows)])
    k, f = len(J), len(free)
    matrix = np.block([[M[np.ix_(free, free)], -J[:, free].T], [J[:, free], np.zeros((k, k))]])
    # speeds before count by J alone: the balance was differentiated with the speed after
    by_speed = np.zeros((len(keep), nx))
    by_speed[f:, at] = J

    def solved(right: np.ndarray) -> np.ndarray:
        out = np.zeros((len(M), *right.shape[1:]))
        out[free] = np.linalg.lstsq(matrix, -right, rcond=DEPENDENT)[0][:f]
        return out

    by_x = by.x[keep].copy()
    by_x[:, at] = 0.0
    second = _nothing(nx, len(u), n)
    second.x[at] += solved(by_x + by_speed)
    second.t[at] += solved(by.t[keep])
    second.u[at] += solved(by.u[keep])
    second.p[at] += solved(by.p[keep])
    after = placed.copy()
    after[at] = before + change
    whole = DerivativeRows(
        second.x @ moved.x,
        second.x @ moved.t + second.t,
        moved.h,
        second.x @ moved.u + second.u,
        second.x @ moved.p + second.p,
    )
    return Closed(after, whole)


def _nothing(nx: int, nu: int, n: int) -> DerivativeRows:
    """Derivatives of a map that leaves states as they are."""
    return DerivativeRows(np.eye(nx), np.zeros(nx), np.zeros(nx), np.zeros((nx, nu)), np.zeros((nx, n)))


def _balance(flow: Flow, impact: System) -> Pullback:
    """Pullback of M change - J^T multipliers (nv,) and J speed + ht (m,); the factors are further inputs."""
    graph, (m, nv) = impact.graph, impact.output("J").shape
    made = {
        name: node_array([graph.symbol(f"{name}{k + 1}", "input") for k in range(size)], graph)
        for name, size in ((CHANGE, nv), (MULTIPLIERS, m), (SPEED, nv))
    }
    J, M = impact.output("J"), impact.output("M")
    momentum = matmul(M, made[CHANGE]) - matmul(J.T, made[MULTIPLIERS])
    nodes = list(node_array([*momentum, *(matmul(J, made[SPEED]) + impact.output("ht"))], graph).flat)
    system = impact.replace(inputs={**impact.inputs, **made})
    return pulled(flow, system, nodes, "impulse")
