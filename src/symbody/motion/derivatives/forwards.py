"""Directions that go along with a run, piece by piece: dy/dtheta."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from symbody.motion.derivatives.instants import PieceInstant
from symbody.motion.derivatives.machine import by_theta, called, chain_of
from symbody.motion.derivatives.observed import observed_pullback
from symbody.motion.derivatives.odd_step import RunPullbacks, step_derivative
from symbody.motion.derivatives.tape import Bridge, Jump, Steps, check_solved
from symbody.motion.derivatives.ticks import Tick
from symbody.motion.march.variational import VariationalMarch

if TYPE_CHECKING:
    from symbody.motion.derivatives.linearised import Linearised

ROOM = 64e6  # bytes of derivatives that one native call may record


def jacobian(run: Linearised) -> np.ndarray:
    """(ny, n) dy/dtheta, by directions that go along with the run."""
    rows: dict[int, list[tuple[int, PieceInstant]]] = {}
    inside: dict[int, list[tuple[int, PieceInstant]]] = {}
    for number, node in enumerate(run.nodes):
        (inside if node.inside else rows).setdefault(node.piece, []).append((number, node))
    found: dict[int, np.ndarray] = {}
    matrix, direct = run.of_start
    S = np.concatenate([matrix + direct, np.zeros((run.nz, run.total))])
    c = run.controllers
    H, M = np.zeros((c.size, run.n)), np.zeros((c.remembered, run.n))  # of what is held, and remembered
    held: dict[int, np.ndarray] = {}  # H at the nodes
    tau = np.zeros(run.total)  # derivative of the instant that the run has reached
    for number, _ in rows.get(-1, ()):
        found[number], held[number] = S, H
    pieces = run.tape.pieces
    for k, piece in enumerate(pieces):
        held |= {number: H for number, _ in rows.get(k, ())}
        for number, node in inside.get(k, ()):
            part = run.inside(node)
            found[number] = _settled(run, part.A @ S + part.B + np.outer(part.t - part.h, tau), H)
            held[number] = H
        if isinstance(piece, Steps):
            S = _with_carried(run, k, piece, S, tau)
        if isinstance(piece, Tick):
            tick = c.derivative(piece)
            own, memory = c.held[piece.controller], c.memories[piece.controller]
            new = tick.held_x @ S[: run.nx, : run.n] + tick.held_m @ M[memory] + tick.held_theta
            H, M = H.copy(), M.copy()
            M[memory] = tick.memory_x @ S[: run.nx, : run.n] + tick.memory_m @ M[memory] + tick.memory_theta
            H[own] = new
            for number, _ in rows.get(k, ()):
                found[number], held[number] = S, H
            continue
        if isinstance(piece, Jump):
            jump = run.jump(k)
            top = jump.A @ S[: run.nx] + jump.B + np.outer(jump.t, tau)
            S = np.concatenate([top, S[run.nx : run.nx + run.nz]])
        elif isinstance(piece, Bridge):
            bridge = run.bridge(k)
            S, tau = bridge.A @ S[: run.nx + run.nz] + bridge.B, np.zeros(run.total)
        elif piece.odd:
            step = run.step(k)
            S = step.A @ S + step.B + np.outer(step.t - step.h, tau)
            tau = np.zeros(run.total)
            following = pieces[k + 1] if k + 1 < len(pieces) else None
            if isinstance(following, Jump):
                jump = run.jump(k + 1)
                if jump.guard_x is not None and jump.guard_theta is not None:
                    rate = jump.guard_t + jump.guard_x @ step.h[: run.nx]
                    jump.check(rate, step.h[: run.nx])
                    tau = -(jump.guard_x @ S[: run.nx] + jump.guard_theta) / rate
                    S = S + np.outer(step.h, tau)
        else:
            S = _steps_along(run, k, piece, S, rows.get(k, ()), found)
            tau = np.zeros(run.total)
            for number, _ in rows.get(k, ()):
                found[number] = _settled(run, found[number], H)
            S = _settled(run, S, H)
            continue
        S, tau = _settled(run, S, H), _settled(run, tau, H)
        for number, _ in rows.get(k, ()):
            found[number] = S
    ends = bool(pieces) and isinstance(pieces[-1], Jump)
    y = _push_observed(run, found, tau if ends else None, held)
    return np.concatenate([y, S[run.nx : run.nx + run.nz]])[:, : run.n]


def _with_carried(run: Linearised, k: int, piece: Steps, S: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """S with rows for what a method carries in a piece; tau: derivative of the instant at which it begins."""
    carried, size = run.carried.size(piece), run.nx + run.nz
    begin = run.carried.begin(k, run.places, run.total) if carried else None
    if begin is None:
        return S if carried else S[:size]
    return np.concatenate([S[:size], begin.x @ S[:size] + begin.p + np.outer(begin.t, tau)])


def _settled(run: Linearised, S: np.ndarray, H: np.ndarray) -> np.ndarray:
    """Derivatives (..., total) with those by what is held brought to theta."""
    if not len(H):
        return S
    out = S.copy()
    out[..., : run.n] += S[..., run.n :] @ H
    out[..., run.n :] = 0.0
    return out


def _push_observed(
    run: Linearised, found: Mapping[int, np.ndarray], tau: np.ndarray | None, held: Mapping[int, np.ndarray]
) -> np.ndarray:
    """(k * width, total); tau: derivative of the instant at which an event ended the run."""
    if not run.nodes:
        return np.zeros((0, run.total))
    flow, width = run.tape.plan.flow, run.requested.width
    pull = observed_pullback(flow, run.requested.quantities)
    t, x, u = (np.repeat(a, width, axis=0) for a in run.observed)
    w = np.tile(np.eye(width), (len(run.nodes), 1))
    parts = called(pull, flow, run.parameters, t, x, u, w)
    gx = parts["gx"].reshape(len(run.nodes), width, -1)
    out = np.stack([gx[j] @ found[j][: run.nx] for j in range(len(run.nodes))])
    if "gm" in parts:
        chain = by_theta(chain_of(pull, run.parameters), pull.names, run.places, run.total)
        out += (parts["gm"] @ chain).reshape(out.shape)
    gu = parts["gu"].reshape(len(run.nodes), width, -1) if "gu" in parts else None
    if gu is not None and run.supply.entries:
        for j, node in enumerate(run.nodes):
            out[j] += _settled(run, gu[j] @ run.supply.by_theta(node.t, run.begin(node)), held[j])
    last = run.nodes[-1]
    if tau is not None and last.piece == len(run.tape.pieces) - 1:
        speed = parts["gt"].reshape(len(run.nodes), width)[-1] if "gt" in parts else np.zeros(width)
        if gu is not None:
            speed = speed + gu[-1] @ run.supply.slope(last.t, last.t - 1e-9)
        out[-1] += np.outer(speed, tau)
    return out.reshape(-1, run.total)


def _steps_along(
    run: Linearised,
    k: int,
    piece: Steps,
    S: np.ndarray,
    nodes: Sequence[tuple[int, PieceInstant]],
    found: dict[int, np.ndarray],
) -> np.ndarray:
    """S at the end of equal steps, and at nodes among them."""
    if not run.supply.only_constants:
        return _one_by_one(run, k, piece, S, nodes, found)
    numbers = run.numbers(piece.flow)
    march, order, chain = _directions(run, numbers, S)
    columns = np.zeros((S.shape[0], march.nm))
    live = np.flatnonzero(S.any(axis=0))
    if chain is None:
        columns = S[:, order]
        live = np.array([k for k in live if k not in set(order)], dtype=int)
    columns = np.concatenate([columns, S[:, live]], axis=1)
    if not columns.shape[1]:
        found.update({number: S for number, _ in nodes})
        return S

    def whole(found_columns: np.ndarray) -> np.ndarray:
        """(..., nx, n) from what was propagated."""
        out = np.zeros((*found_columns.shape[:-1], run.total))
        if chain is None:
            out[..., order] = found_columns[..., : march.nm]
        else:
            out += found_columns[..., : march.nm] @ chain
        out[..., live] += found_columns[..., march.nm :]
        return out

    wanted = sorted({node.step for _, node in nodes} | {piece.count})
    at, x = 0, run.carried.of(k)[0] if run.carried.size(piece) else run.widened(piece.x[0])
    m = numbers.machine
    results: dict[int, np.ndarray] = {}
    for stride, many in _strides(wanted, at, int(ROOM / (8 * columns.size * 2)) + 1):
        part = Steps(piece.flow, piece.t + at * piece.h, piece.h, stride * many, piece.x[:1], piece.u)
        made = march.fixed(
            m.table,
            x,
            columns,
            part.t,
            piece.h,
            stride * many,
            stride,
            signals=run.supply.during(part),
            parameters=numbers.known(),
        )
        check_solved(np.array(made.failed), part)
        for j in range(many):
            results[at + (j + 1) * stride] = made.S[j]
        at, x, columns = at + stride * many, made.x[-1], np.array(made.S[-1])
    for number, node in nodes:
        found[number] = whole(results[node.step])
    return whole(results[piece.count])


def _directions(
    run: Linearised, numbers: RunPullbacks, S: np.ndarray
) -> tuple[VariationalMarch, list[int], np.ndarray | None]:
    """The march along directions, the places in theta of the directions that it has, or the (nm, n) chain of the
    combinations that it takes instead where these are fewer."""
    m = numbers.machine
    names = list(run.places.items())
    constants = run.supply.constants
    combined = m.combined
    if combined is not None and not constants and combined + int(S.any(axis=0).sum()) <= len(names):
        return m.variational(None), [], numbers.chain
    flow = m.flow
    columns: dict[int, tuple[str, int]] = {}
    for n in flow.signals:
        at = flow.layout.columns[n]
        columns |= {at.start + k: (n, k) for k in range(at.stop - at.start)}
    chosen = (*(key for key, _ in names), *(columns[e.column] for e in constants))
    order = [place for _, place in names] + [int(e.places[0]) for e in constants]
    return m.variational(chosen), order, None


def _one_by_one(
    run: Linearised,
    k: int,
    piece: Steps,
    S: np.ndarray,
    nodes: Sequence[tuple[int, PieceInstant]],
    found: dict[int, np.ndarray],
) -> np.ndarray:
    """S (nx, n) after a piece, by single steps: for directions that act at times of their own, points of tables."""
    numbers = run.numbers(piece.flow)
    steps = {node.step: number for number, node in nodes}
    for j in range(-(-piece.count // piece.every)):
        states = piece.x[j : j + 2] if piece.every == 1 else run.between(piece, j)
        for i in range(len(states) - 1):
            number = j * piece.every + i
            one = Steps(piece.flow, piece.t + number * piece.h, piece.h, 1, states[i : i + 2], piece.u, odd=True)
            x = run.carried.of(k)[number] if run.carried.size(piece) else run.widened(states[i])
            step = step_derivative(numbers, run.supply, one, x)
            S = step.A @ S + step.B
            if number + 1 in steps:
                found[steps[number + 1]] = S
    return S


def _strides(wanted: Sequence[int], at: int, most: int) -> list[tuple[int, int]]:
    """(stride, number) of equal strides that reach all the wanted places, at most so many in one go."""
    out: list[tuple[int, int]] = []
    for place in wanted:
        stride = place - at
        if stride <= 0:
            continue
        if out and out[-1][0] == stride and out[-1][1] < most:
            out[-1] = (stride, out[-1][1] + 1)
        else:
            out.append((stride, 1))
        at = place
    return out
