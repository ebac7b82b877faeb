"""Steps that are too long for a steep law: an explicit method chatters about the motion, and its derivatives grow."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from symbody.derivatives.machine import called
from symbody.derivatives.odd_step import Numbers
from symbody.derivatives.supply import Supply
from symbody.derivatives.tape import Steps
from symbody.march.methods import RungeKutta

LOOKS = 256  # steps that are looked at, spread over the run
DAMPED = -1.0  # real part of h lambda: modes that fade by much within a step
GROWS = 1.05  # factor by which a step makes such a mode grow


def chatter_note(pieces: Sequence[tuple[Steps, Numbers]], supply: Supply) -> list[str]:
    """A note where steps of an explicit method make modes grow that the motion damps. pieces: in order of time."""
    total = sum(piece.count for piece, _ in pieces)
    stride = max(1, -(-total // LOOKS))
    worst, first, done = 0.0, None, 0
    for piece, numbers in pieces:
        table, kept = numbers.machine.table, np.arange(len(piece.x) - 1)
        places = kept[(done + kept * piece.every) % stride < piece.every] if piece.every < stride else kept
        done += piece.count
        if not isinstance(table, RungeKutta) or not len(places):
            continue
        t = piece.t + places * piece.every * piece.h
        factor = growth(table, piece.h, _slopes(numbers, supply, piece, t, piece.x[places]))
        if first is None and (factor > GROWS).any():
            first = float(t[int(np.argmax(factor > GROWS))])
        worst = max(worst, float(factor.max(initial=0.0)))
    if first is None:
        return []
    return [
        f"from t = {first:.6g} s on steps are too long for a law as steep as there (dry friction near rest, a stiff "
        f"damper): what the motion damps grows by up to {worst:.3g} in a step. The state stays near, its derivatives "
        "mean nothing. Take a shorter step, a larger slow, or an implicit method such as 'sdirk3'."
    ]


def _slopes(numbers: Numbers, supply: Supply, piece: Steps, t: np.ndarray, x: np.ndarray) -> np.ndarray:
    """(k, nx, nx) derivatives of the rates by the states, as far as corrections after a step leave them."""
    m = numbers.machine
    nx = m.nx
    wide = np.concatenate([x, np.zeros((len(x), nx - m.own))], axis=1)
    u = np.array([supply.at(float(s), piece.u) for s in t])
    w = np.tile(np.eye(nx), (len(t), 1))
    many = [np.repeat(a, nx, axis=0) for a in (t, wide, u)]
    slopes = called(m.pull, m.flow, numbers.parameters, *many, w)["gx"].reshape(len(t), nx, nx)
    slopes = slopes[:, : m.own, : m.own]
    if m.pulled is None:
        return slopes
    out = []
    for s, state, signals, slope in zip(t, wide, u, slopes):
        rows = numbers.projection(float(s), state, signals)
        assert rows is not None
        own = rows.x[: m.own, : m.own]
        out.append(own @ slope @ own)
    return np.array(out)


def growth(table: RungeKutta, h: float, slopes: np.ndarray) -> np.ndarray:
    """(k,) the largest |R(h lambda)| over strongly damped eigenvalues lambda of slopes (k, nx, nx); 0 without one."""
    s = table.stages
    a = np.zeros((s, s))
    for i, row in enumerate(table.a):
        a[i, : len(row)] = row
    # R(z) = 1 + z b^T (1 + z a 1 + z^2 a^2 1 + ...), by its coefficients
    coefficients, power = [1.0], np.ones(s)
    for _ in range(s):
        coefficients.append(float(np.array(table.b) @ power))
        power = a @ power
    finite = np.isfinite(slopes).all(axis=(1, 2))
    z = h * np.linalg.eigvals(np.where(finite[:, None, None], slopes, 0.0))
    factor = np.abs(np.polyval(coefficients[::-1], z))
    return np.asarray(np.where(z.real < DAMPED, factor, 0.0).max(axis=1, initial=0.0))
