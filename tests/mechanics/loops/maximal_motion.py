"""What the oracle of `maximal.py` does with its equations: close loops, find ranks, integrate the motion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.integrate import DOP853

from mechanics.loops.maximal import Maximal
from mechanics.loops.maximal_records import cross, of_quaternion

LONGEST = 0.3  # rad or m: of a step of the closing iteration
MOST_STEPS = 1500
CLEAR = 1e-6  # a singular value above this much of the largest counts; between it and ZERO_RANK nothing is sure


def q_dot(world: Maximal, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    """(nq,) rates of coordinates."""
    out = np.zeros(world.nq)
    for m in world.motions:
        if m.how != "own":
            continue
        if m.letter not in "BF":
            out[m.q] = qd[m.v]
            continue
        k = m.q + (3 if m.letter == "F" else 0)
        w, s, v = qd[m.v : m.v + 3], q[k], q[k + 1 : k + 4]
        out[k], out[k + 1 : k + 4] = -0.5 * v @ w, 0.5 * (s * w + cross(v, w))
        if m.letter == "F":
            out[m.q : m.q + 3] = of_quaternion(q[k : k + 4] / np.linalg.norm(q[k : k + 4])) @ qd[m.v + 3 : m.v + 6]
    return out


def moved(world: Maximal, q: np.ndarray, step: np.ndarray) -> np.ndarray:
    """q after a tangent step (nv,), with unit quaternions."""
    out = q + q_dot(world, q, step)
    for m in world.motions:
        if m.how == "own" and m.letter in "BF":
            k = m.q + (3 if m.letter == "F" else 0)
            out[k : k + 4] /= np.linalg.norm(out[k : k + 4])
    return out


def neutral(world: Maximal) -> np.ndarray:
    """q = 0 with unit quaternions."""
    return moved(world, _ones(world), np.zeros(world.nv))


def _ones(world: Maximal) -> np.ndarray:
    out = np.zeros(world.nq)
    for m in world.motions:
        if m.how == "own" and m.letter in "BF":
            out[m.q + (3 if m.letter == "F" else 0)] = 1.0
    return out


def gap(world: Maximal, q: np.ndarray, t: float = 0.0) -> float:
    """Largest residual of cuts and couplings, m or rad; a common axis that points the other way counts as pi."""
    h = world.constraints(q, np.zeros(world.nv), t)[0]
    return max(float(np.abs(h).max(initial=0.0)), np.pi if flipped(world, q) else 0.0)


def flipped(world: Maximal, q: np.ndarray) -> bool:
    """Whether an axis that two frames of a cut share (two rotation rows) is antiparallel."""
    s = world.state(q, np.zeros(world.nv))
    pairs: dict[tuple[int, int], list[np.ndarray]] = {}
    for row in world.cut_rows:
        if row.kind == "cross":
            pairs.setdefault((row.i, row.j), []).append(row.b)
    for (i, j), axes in pairs.items():
        if len(axes) == 2:
            (bi, Ri, _), (bj, Rj, _) = world.frames[i], world.frames[j]
            if (s.R[bi] @ Ri @ axes[0]) @ (s.R[bj] @ Rj @ axes[0]) < 0:
                return True
    return False


def closed(world: Maximal, q: np.ndarray, t: float = 0.0, most: int = 80) -> np.ndarray | None:
    """Coordinates at which all loops are closed, near q; None if the iteration ends elsewhere. Driven joints stay."""
    f = world.free
    rest = np.zeros(world.nv)
    q = np.array(q, dtype=float)
    for _ in range(most):
        h, J, _, _ = world.constraints(q, rest, t)
        size = float(np.linalg.norm(h))
        step = np.zeros(world.nv)
        J = J[:, f]
        # damped by the residual: J may lose rank on the way, redundant rows do not matter
        step[f] = -J.T @ np.linalg.lstsq(J @ J.T + min(1e-2, size * size) * 1e-3 * np.eye(len(h)), h, rcond=1e-14)[0]
        if size < 1e-9:
            step[f] = -np.linalg.lstsq(J, h, rcond=1e-8)[0]
        factor = min(1.0, LONGEST / max(1e-300, float(np.abs(step).max())))
        q = moved(world, q, factor * step)
        if size < 1e-9 and np.abs(world.constraints(q, rest, t)[0]).max(initial=0.0) < 1e-13:
            break
    return q if gap(world, q, t) < 1e-11 else None


def jacobian(world: Maximal, q: np.ndarray, t: float = 0.0) -> np.ndarray:
    """(m, free velocities) of cuts and couplings."""
    return world.constraints(q, np.zeros(world.nv), t)[1][:, world.free]


def rank(world: Maximal, q: np.ndarray, t: float = 0.0) -> int:
    s = np.linalg.svd(jacobian(world, q, t), compute_uv=False)
    return int((s > CLEAR * s[0]).sum()) if s.size and s[0] > 0 else 0


def consistent(world: Maximal, q: np.ndarray, qd: np.ndarray, t: float = 0.0) -> np.ndarray:
    """The velocity nearest to qd that keeps loops closed, driven joints as prescribed."""
    out = np.array(qd, dtype=float)
    for k in world.driven:
        out[k] = world.prescribed(k, t).g[0]
    _, J, ht, _ = world.constraints(q, out, t)
    f = world.free
    out[f] -= np.linalg.lstsq(J[:, f], J @ out + ht, rcond=1e-9)[0]
    return out


def walked(world: Maximal, q: np.ndarray, rng: np.random.Generator, stride: float, strides: int) -> np.ndarray:
    """A closed position some strides away in the null space of J; q itself where nothing moves."""
    for _ in range(strides):
        J = jacobian(world, q)
        s = np.linalg.svd(J)
        null = s[2][int((s[1] > CLEAR * s[1][0]).sum()) :].T
        if not null.shape[1]:
            return q
        step = np.zeros(world.nv)
        step[world.free] = null @ rng.normal(size=null.shape[1])
        step *= stride / max(1e-9, np.abs(step).max())
        there = closed(world, moved(world, q, step))
        if there is None:
            return q
        q = there
    return q


@dataclass(frozen=True)
class Passage:
    """A motion by the oracle: the end, and the worst condition of J on the way.

    why: "" or the reason why the motion is not determined well enough to be compared
    """

    t: float
    q: np.ndarray
    qd: np.ndarray
    condition: float
    why: str


def integrated(
    world: Maximal, q: np.ndarray, qd: np.ndarray, duration: float, rank: int, worst: float = 1e5, rtol: float = 1e-12
) -> Passage:
    """Over `duration` from t = 0 with zero efforts; ends where the condition of J (of rank `rank`) exceeds `worst`."""
    nq, most = world.nq, [0.0]

    def rates(t: float, x: np.ndarray) -> np.ndarray:
        q, qd = x[:nq], x[nq:]
        qdd, _, s = world.rates(q, qd, None, t, None, rank)
        if rank:
            most[0] = max(most[0], s[0] / max(s[rank - 1], 1e-300))
        return np.concatenate([q_dot(world, q, qd), qdd])

    solver = DOP853(rates, 0.0, np.concatenate([q, qd]), duration, rtol=rtol, atol=rtol)
    steps = 0
    while solver.status == "running":
        solver.step()
        steps += 1
        if most[0] > worst:
            return Passage(solver.t, solver.y[:nq], solver.y[nq:], most[0], "condition")
        if not np.all(np.isfinite(solver.y)) or np.abs(solver.y).max() > 1e4:
            return Passage(solver.t, solver.y[:nq], solver.y[nq:], most[0], "fast")
        if steps > MOST_STEPS:
            return Passage(solver.t, solver.y[:nq], solver.y[nq:], most[0], "steps")
    why = "" if solver.status == "finished" else "integrator"
    if not why and gap(world, solver.y[:nq], duration) > 1e-9:
        why = "drift"
    return Passage(solver.t, solver.y[:nq], solver.y[nq:], most[0], why)
