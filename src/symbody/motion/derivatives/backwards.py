"""Weights on what a run gives, carried back along its pieces: w^T dy/dtheta."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from symbody.motion.derivatives.instants import PieceInstant
from symbody.motion.derivatives.jumps import JumpDerivative
from symbody.motion.derivatives.machine import by_theta, called, chain_of
from symbody.motion.derivatives.observed import observed_pullback
from symbody.motion.derivatives.tape import Bridge, Jump, Steps, check_solved
from symbody.motion.derivatives.ticks import Tick

if TYPE_CHECKING:
    from symbody.motion.derivatives.linearised import Linearised


def vjp(run: Linearised, w: np.ndarray) -> np.ndarray:
    """(n,) w^T dy/dtheta of weights w (ny,)."""
    size = len(run.nodes) * run.requested.width
    g = np.zeros(run.total)
    remembered = np.zeros(run.controllers.remembered)
    lam = np.zeros(run.nx + run.nz)
    lam[run.nx :] = w[size:]
    seeds: dict[int, list[tuple[int, np.ndarray]]] = {}
    insides: dict[int, list[tuple[PieceInstant, np.ndarray]]] = {}
    inputs: dict[int, np.ndarray] = {}  # what the signals at instants of a piece add to directions
    times = 0.0
    if size:
        rows, direct, times, by_signals = _pull_observed(run, w[:size].reshape(len(run.nodes), -1))
        g += direct
        for node, row, part in zip(run.nodes, rows, by_signals):
            inputs[node.piece] = inputs.get(node.piece, 0.0) + part
            if node.inside:
                insides.setdefault(node.piece, []).append((node, run.widened(row)))
            else:
                seeds.setdefault(node.piece, []).append((node.step, run.widened(row)))
    after: JumpDerivative | None = None
    t_bar = 0.0
    own = run.nx + run.nz
    later = np.zeros(0)  # adjoint of what a method carries into the piece after
    for k in reversed(range(len(run.tape.pieces))):
        piece = run.tape.pieces[k]
        g = g + inputs.get(k, 0.0)
        if isinstance(piece, Tick):
            for _, row in seeds.get(k, ()):
                lam = lam + row
            lam, g, remembered = _tick_back(run, piece, lam, g, remembered)
            continue
        if isinstance(piece, Jump):
            for _, row in seeds.get(k, ()):  # where an event ends the run
                lam = lam + row
                t_bar += times
            jump = run.jump(k)
            back = np.concatenate([jump.A.T @ lam[: run.nx], lam[run.nx :]])
            t_bar += float(jump.t @ lam[: run.nx])
            g += lam[: run.nx] @ jump.B
            lam = back
            if jump.guard_x is not None:
                after = jump
            else:
                t_bar = t_bar if k and isinstance(run.tape.pieces[k - 1], Jump) else 0.0
            continue
        if isinstance(piece, Bridge):
            for _, row in seeds.get(k, ()):
                lam = lam + row
            bridge = run.bridge(k)
            g += bridge.B.T @ lam
            lam, t_bar = bridge.A.T @ lam, 0.0
            continue
        carried = run.carried.size(piece)
        if carried:
            lam = np.concatenate([lam, later if len(later) else np.zeros(carried)])
        if piece.odd:
            for _, row in seeds.get(k, ()):
                lam = lam + np.concatenate([row, np.zeros(carried)])
            step = run.step(k)
            if after is not None:
                assert after.guard_x is not None
                assert after.guard_theta is not None
                # the instant moves so that the guard stays zero
                rate = after.guard_t + after.guard_x @ step.h[: run.nx]
                after.check(rate, step.h[: run.nx])
                s = -(t_bar + step.h @ lam) / rate
                lam = lam.copy()
                lam[: run.nx] += s * after.guard_x
                g += s * after.guard_theta
                after = None
            g += step.B.T @ lam
            t_bar = float((step.t - step.h) @ lam)
            lam = step.A.T @ lam
        else:
            lam, g = _steps_back(run, k, piece, lam, g, seeds.get(k, ()))
            t_bar = 0.0
        lam, later = lam[:own], lam[own:]
        for node, row in insides.get(k, ()):
            short = run.inside(node)
            lam, g = lam + short.A.T @ row, g + short.B.T @ row
            t_bar += float((short.t - short.h) @ row)
        begin = run.carried.begin(k, run.places, run.total) if carried else None
        if begin is not None:
            lam, g, t_bar = lam + begin.x.T @ later, g + later @ begin.p, t_bar + float(begin.t @ later)
            later = np.zeros(0)
    for _, row in seeds.get(-1, ()):
        lam = lam + row
    return np.asarray((g + inputs.get(-1, 0.0) + _start_back(run, lam))[: run.n])


def _pull_observed(run: Linearised, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, float, list[np.ndarray]]:
    """(seeds (k, nx), directions (total,), the last instant, directions by the signals of each instant) of weights
    (k, width) on the quantities."""
    flow = run.tape.plan.flow
    pull = observed_pullback(flow, run.requested.quantities)
    t, x, u = run.observed
    parts = called(pull, flow, run.parameters, t, x, u, w)
    g = np.zeros(run.total)
    if "gm" in parts:
        chain = by_theta(chain_of(pull, run.parameters), pull.names, run.places, run.total)
        g += parts["gm"].sum(axis=0) @ chain
    if "gu" in parts and run.supply.entries:
        direct = [ubar @ run.supply.by_theta(node.t, run.begin(node)) for node, ubar in zip(run.nodes, parts["gu"])]
    else:
        direct = [np.zeros(run.total)] * len(run.nodes)
    last = run.nodes[-1]
    time = float(parts["gt"][-1, 0]) if "gt" in parts else 0.0
    if "gu" in parts:
        time += float(parts["gu"][-1] @ run.supply.slope(last.t, last.t - 1e-9))
    return parts["gx"], g, time, direct


def _tick_back(
    run: Linearised, tick: Tick, lam: np.ndarray, g: np.ndarray, remembered: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What was held until the tick after is not held before; its adjoint goes to the state, and to the memory."""
    c = run.controllers
    own, memory = c.held[tick.controller], c.memories[tick.controller]
    found = c.derivative(tick)
    held, kept = g[run.n :][own], remembered[memory]
    lam, g, remembered = lam.copy(), g.copy(), remembered.copy()
    lam[: run.nx] += held @ found.held_x + kept @ found.memory_x
    remembered[memory] = held @ found.held_m + kept @ found.memory_m
    g[: run.n] += held @ found.held_theta + kept @ found.memory_theta
    g[run.n :][own] = 0.0
    return lam, g, remembered


def _steps_back(
    run: Linearised, k: int, piece: Steps, lam: np.ndarray, g: np.ndarray, seeds: Sequence[tuple[int, np.ndarray]]
) -> tuple[np.ndarray, np.ndarray]:
    numbers = run.numbers(piece.flow)
    m = numbers.machine
    known = numbers.known()
    whole = -(-piece.count // piece.every) if piece.every > 1 else 1
    for j in reversed(range(whole)):
        first = j * piece.every if piece.every > 1 else 0
        count = min(piece.every, piece.count - first) if piece.every > 1 else piece.count
        if run.carried.size(piece):
            states = run.carried.of(k)
        else:
            states = run.widened(run.between(piece, j) if piece.every > 1 else piece.x)
        part = Steps(piece.flow, piece.t + first * piece.h, piece.h, count, states, piece.u)
        rows = np.zeros_like(states) if any(first < s <= first + count for s, _ in seeds) else None
        for s, row in seeds:
            if first < s <= first + count:
                assert rows is not None
                rows[s - first, : len(row)] += row
        signals = run.supply.during(part)
        inputs = bool(run.supply.entries)
        back = m.adjoint.fixed(
            m.table, states, lam, part.t, piece.h, seeds=rows, signals=signals, inputs=inputs, parameters=known
        )
        check_solved(back.failed, part)
        lam = back.lam
        g = g + back.m @ numbers.chain
        if numbers.chain_projection is not None:
            g = g + back.v @ numbers.chain_projection
        if inputs and back.u is not None and signals is not None:
            knots = np.atleast_1d(np.asarray(signals.times))
            g = g + run.supply.gathered(knots[: back.u.shape[-2]].tolist(), back.u, part.t)
    return lam, g


def _start_back(run: Linearised, lam: np.ndarray) -> np.ndarray:
    """(n,) of the adjoint of the first state: through its correction, to the values that were given."""
    matrix, direct = run.of_start
    g = lam[: run.nx] @ direct
    return np.asarray(g + lam[: run.nx] @ matrix)
