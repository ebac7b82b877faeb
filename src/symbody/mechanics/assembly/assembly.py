"""Assembly: coordinates that close all loops, from a rough guess.

Damped least squares (`model/record/retracted_least_squares.py`), which converges quadratically even where constraints
are redundant and J has no full rank. If the guess leads nowhere, others around it are tried.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from symbody.basics.errors import NameLookupError, SolveError, nearest
from symbody.basics.memory import memory_of
from symbody.mechanics.assembly.assembly_errors import say_open
from symbody.mechanics.assembly.constraints import Constraints
from symbody.mechanics.assembly.driven import driven_laws
from symbody.mechanics.assembly.guess import guessed
from symbody.mechanics.assembly.numeric import Numeric, length_unit, numeric_of
from symbody.model.record.coordinates import coordinate_units, parts, retract, sliding, velocity_owners, with_mode
from symbody.model.record.joint_limits import joint_limits
from symbody.model.record.mechanism import Mechanism
from symbody.model.record.retracted_least_squares import (
    LeastSquaresProblem,
    ResidualPoint,
    StoppingRules,
    least_squares,
)

CLOSED = 1e-12  # rad, and units of length (`Numeric.units`)
RULES = StoppingRules(steps=60, damping=1.0, longest=0.7, stalled=1e-3, near=1e-8)
NEARLY = 1e-2  # rad, and units of length: a guess this near to closed is on the branch that is meant
NEAR = 0.3  # rad: how far from the assembled configuration samples start
FARTHEST, AWAY = 1.5, 1e-4  # rad: where they start at most, and how far from it they must end
STRIDE, WALK = 0.15, 6  # rad of the fastest joint in one step of a walk, and how many


@dataclass(frozen=True, eq=False)
class Attempt:
    """Where one start ended: coordinates, residuals (m,), and whether all loops are closed, the right way round."""

    q: np.ndarray
    h: np.ndarray
    closed: bool
    flipped: tuple[int, ...] = ()  # rows that are closed the wrong way round


def assemble_constraints(
    found: Constraints,
    q: Any = None,
    parameters: Mapping[str, float] | None = None,
    fixed: Collection[str] = (),
    tolerance: float | None = None,
    seed: int = 0,
    starts: int = 40,
    time: float = 0.0,
    loops: Collection[str] | None = None,
) -> np.ndarray:
    """(nq,) closed coordinates near the guess q; arguments as in `sb.assemble`."""
    mechanism = found.tree.mechanism
    guess, named = guessed(mechanism, q, parameters)
    if named:
        options: dict[str, Any] = dict(tolerance=tolerance, seed=seed, starts=starts, time=time, loops=loops)
        return assemble_keeping(found, guess, [*fixed, *named], parameters, fixed, **options)[0]
    numeric = numeric_of(_chosen(found, loops), parameters, time)
    guess = driven_coordinates(mechanism, guess, parameters, time)
    free = free_velocities(mechanism, fixed)
    if not numeric.constraints.rows:
        return guess
    best: Attempt | None = None
    for start in _starts(mechanism, guess, free, seed, starts, numeric.length()):
        attempt = close(numeric, start, free, tolerance)
        if attempt.closed:
            return attempt.q
        over = None if best is not None else _turned_over(numeric, guess, free, tolerance, NEARLY)
        if over is not None:  # the first start is the guess
            return over
        if best is None or not float(best.h @ best.h) <= float(attempt.h @ attempt.h):
            best = attempt
    assert best is not None
    over = _turned_over(numeric, best.q, free, tolerance, CLOSED)
    if over is not None:
        return over
    raise SolveError(_failure(numeric, best, guess, free, tolerance, fixed))


def _turned_over(
    numeric: Numeric, q: np.ndarray, free: Sequence[int], tolerance: float | None, near: float
) -> np.ndarray | None:
    """Where loops close that are turned over by half a turn at q, and nearly closed there; None elsewhere."""
    with np.errstate(all="ignore"):
        turned = numeric.turned(q) if numeric.gap(numeric.h(q)) < near else ()
    if not turned:
        return None
    attempt = close(Numeric(numeric.constraints.facing(turned), _by_name(numeric), numeric.time), q, free, tolerance)
    return attempt.q if attempt.closed else None


def assemble_keeping(
    found: Constraints,
    q: Any,
    kept: Collection[str],
    parameters: Mapping[str, float] | None = None,
    fixed: Collection[str] = (),
    **options: Any,
) -> tuple[np.ndarray, bool]:
    """`assemble_constraints` with the joints `kept` where q puts them, and whether they are.

    If the loops cannot close so, only those in `fixed` stay.
    """
    wanted = list(dict.fromkeys(kept))
    if wanted:
        try:
            return assemble_constraints(found, q, parameters, wanted, **options), True
        except SolveError:
            pass  # more was named than the loops leave free: as near as possible
    return assemble_constraints(found, q, parameters, fixed, **options), not wanted


def close(numeric: Numeric, q: np.ndarray, free: Sequence[int], tolerance: float | None = None) -> Attempt:
    """Damped least squares from one start, over the velocities in `free`. tolerance: m and rad; None is `CLOSED`."""
    mechanism, columns = numeric.tree.mechanism, list(free)
    turning = memory_of(mechanism).get("turning", (), lambda: _turning(mechanism))[columns]
    units, tolerance = _measure(numeric, tolerance)
    strides = np.where(sliding(mechanism), length_unit(numeric.length()), 1.0)[columns]
    problem: LeastSquaresProblem[np.ndarray] = LeastSquaresProblem(
        lambda at: ResidualPoint(numeric.h(at) / units, lambda: numeric.J(at)[:, columns] * strides / units[:, None]),
        lambda at, step: retract(mechanism, at, _spread(step * strides, columns, mechanism.nv)),
        turning,
    )
    found = least_squares(problem, q, replace(RULES, tolerance=tolerance))
    flipped = tuple(int(i) for i in np.flatnonzero(numeric.sides(found.x) < 0))
    h = found.point.residual * units
    return Attempt(found.x, h, found.point.largest < tolerance and not flipped, flipped)


def _measure(numeric: Numeric, tolerance: float | None) -> tuple[np.ndarray, float]:
    """(m,) what gaps of rows are divided by, and what then counts as closed."""
    units = numeric.units()
    return (units, CLOSED) if tolerance is None else (np.ones_like(units), tolerance)


def _turning(mechanism: Mechanism) -> np.ndarray:
    """(nv,) bool: velocities of motions that are no slides, whose steps are bounded."""
    return np.array([not p.motion.is_slide for p in parts(mechanism) for _ in p.velocities], dtype=bool)


def _spread(step: np.ndarray, columns: list[int], nv: int) -> np.ndarray:
    out = np.zeros(nv)
    out[columns] = step
    return out


# -- starts


def _starts(
    mechanism: Mechanism, guess: np.ndarray, free: Sequence[int], seed: int, count: int, length: float
) -> Iterator[np.ndarray]:
    """The guess, then others ever further away from it; then the same about the guess within one turn and length."""
    rng = np.random.default_rng(seed)
    for home in (guess, _within(mechanism, guess, free, length)):
        yield home
        for k in range(1, count):
            yield perturbed(mechanism, home, free, rng, 0.1 + 2.0 * k / count, length)


def _within(mechanism: Mechanism, q: np.ndarray, free: Sequence[int], length: float) -> np.ndarray:
    """q with angles in -pi .. pi and slides of at most `length`: from far away a search does not come back."""
    out, units = q.copy(), coordinate_units(mechanism)
    movable = {i for p in parts(mechanism) if set(p.velocities) & set(free) for i in range(p.iq, p.iq + p.motion.nq)}
    for i in movable:
        if units[i] == "rad":
            out[i] = np.remainder(q[i] + np.pi, 2 * np.pi) - np.pi
        elif units[i] == "m":
            out[i] = np.clip(q[i], -length, length)
    return out


def perturbed(
    mechanism: Mechanism, q: np.ndarray, free: Sequence[int], rng: np.random.Generator, size: float, length: float
) -> np.ndarray:
    """q after random turns of about `size` rad and slides of about size * length in the velocities `free`."""
    step = np.zeros(mechanism.nv)
    slides = sliding(mechanism)
    for i in free:
        step[i] = size * rng.normal() * (length if slides[i] else 1.0)
    return retract(mechanism, q, step)


def closed_samples(
    found: Constraints,
    count: int = 12,
    q: Any = None,
    parameters: Mapping[str, float] | None = None,
    seed: int = 0,
    time: float = 0.0,
    tolerance: float | None = None,
) -> np.ndarray:
    """(k, nq) closed configurations, k <= count, at least 1: an assembled one, others near it, and along walks from it.

    A walk follows a motion of the mechanism, so that it stays on one branch. Configurations outside the limits of
    joints are not taken, where the assembled one is inside. Driven joints stand where their laws say at `time`.
    """
    mechanism = found.tree.mechanism
    numeric = Numeric(_chosen(found, None), parameters, time)
    rng = np.random.default_rng(seed)
    free = free_velocities(mechanism)
    home = assemble_constraints(found, q, parameters, tolerance=tolerance, seed=seed, time=time)
    out, length = [home], numeric.length()
    beyond = beyond_limits(mechanism, home)

    def near() -> Iterator[np.ndarray]:
        size = NEAR
        for _ in range(2 * count):
            attempt = close(numeric, perturbed(mechanism, home, free, rng, size, size * length), free, tolerance)
            if attempt.closed and np.abs(attempt.q - home).max(initial=0.0) < AWAY:
                size = min(size + NEAR, FARTHEST)  # home is a dead point, which draws starts back
            elif attempt.closed:
                yield attempt.q

    def far() -> Iterator[np.ndarray]:
        for _ in range(count):
            yield from _walk(numeric, home, free, rng, length, tolerance)

    for wanted, source in ((1 + count // 2, near()), (count, far())):
        for sample in source:
            if len(out) >= wanted:
                break
            if beyond_limits(mechanism, sample) <= beyond:
                out.append(sample)
    return np.array(out)


def _walk(
    numeric: Numeric,
    q: np.ndarray,
    free: Sequence[int],
    rng: np.random.Generator,
    length: float,
    tolerance: float | None,
) -> Iterator[np.ndarray]:
    """Every third of a few steps along a motion that the constraints allow, straight on as far as they let it."""
    mechanism, columns = numeric.tree.mechanism, list(free)
    unit = np.where(sliding(mechanism)[columns], length, 1.0)
    heading = rng.normal(size=len(columns))
    for step in range(1, WALK + 1):
        J = numeric.J(q)[:, columns] * unit
        _, s, vh = np.linalg.svd(J)
        rank = int((s > 1e-6 * max(float(s[0]), 1e-300)).sum()) if len(s) else 0
        tangent = vh[rank:]
        if not len(tangent):
            return
        heading = tangent.T @ (tangent @ heading)
        heading /= max(float(np.abs(heading).max()), 1e-300)
        move = STRIDE * heading * unit
        attempt = close(numeric, retract(mechanism, q, _spread(move, columns, mechanism.nv)), free, tolerance)
        if not attempt.closed or np.abs(attempt.q - q).max() > 3 * STRIDE * max(1.0, length):
            return  # a lock, or a jump to another branch
        q = attempt.q
        if step % 3 == 0:
            yield q


def beyond_limits(mechanism: Mechanism, q: np.ndarray) -> set[str]:
    """Joints of one coordinate that are outside their limits."""
    out, limits = set(), joint_limits(mechanism)
    for slot in mechanism.slots:
        if slot.joint is None or not slot.plain:
            continue
        low, high = limits[slot.owner].lower, limits[slot.owner].upper
        if (low is not None and (q[slot.q] < low).any()) or (high is not None and (q[slot.q] > high).any()):
            out.add(slot.owner)
    return out


# -- what is free, what is given


def _chosen(found: Constraints, loops: Collection[str] | None) -> Constraints:
    if loops is None:
        return found.select([i for i, r in enumerate(found.rows) if r.h is not None and r.switch is None])
    for name in loops:
        if name not in found.loops:
            raise NameLookupError(f"{found.tree.mechanism.name} has no loop {name!r}. {nearest(name, found.loops)}")
    return found.select([i for i, r in enumerate(found.rows) if r.h is not None and r.loop in loops])


def free_velocities(mechanism: Mechanism, fixed: Collection[str] = ()) -> list[int]:
    """Velocities along which assembly may move."""
    for name in fixed:
        mechanism.joint(name)
    driven = with_mode(mechanism, "driven")
    return [i for i, owner in enumerate(velocity_owners(mechanism)) if owner not in fixed and i not in driven]


def driven_coordinates(
    mechanism: Mechanism, q: np.ndarray, parameters: Mapping[str, float] | None, time: float
) -> np.ndarray:
    """q with driven joints where their laws put them at `time`."""
    out = q.copy()
    for law in driven_laws(mechanism):
        found = law.coordinates(parameters or {}, time)
        if found is not None:
            out[law.q] = found
    return out


# -- failure


def _failure(
    numeric: Numeric,
    best: Attempt,
    guess: np.ndarray,
    free: Sequence[int],
    tolerance: float | None,
    fixed: Collection[str],
) -> str:
    """Which loops stay open and by how much; a loop that cannot close even alone is named as such."""
    found = numeric.constraints
    name = found.tree.mechanism.name
    units, allowed = _measure(numeric, tolerance)
    gaps = np.abs(best.h) / units
    if gaps.max(initial=0.0) < allowed:
        turned = ", ".join(repr(x) for x in dict.fromkeys(found.rows[i].loop for i in best.flipped))
        return (
            f"{name} was assembled only with {turned} turned over by half a turn. Start from a guess q nearer to the "
            "configuration that is meant."
        )
    sizes = {x: max(float(gaps[i]) for i, row in enumerate(found.rows) if row.loop == x) for x in found.loops}
    open_loops = sorted((x for x in sizes if sizes[x] >= allowed), key=lambda x: -sizes[x])
    alone = [x for x in open_loops if not _closes_alone(numeric, x, guess, free, tolerance)]
    return say_open(numeric, best.h, open_loops, alone, fixed)


def _closes_alone(numeric: Numeric, loop: str, guess: np.ndarray, free: Sequence[int], tolerance: float | None) -> bool:
    found = numeric.constraints
    rows = [i for i, row in enumerate(found.rows) if row.loop == loop]
    only = Numeric(found.select(rows), _by_name(numeric), numeric.time)
    starts = _starts(found.tree.mechanism, guess, free, 1, 6, numeric.length())
    return any(close(only, q, free, tolerance).closed for q in starts)


def _by_name(numeric: Numeric) -> dict[str, float]:
    return {s.data.name: v for s, v in numeric.values.items()}
