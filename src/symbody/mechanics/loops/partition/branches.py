"""Branches: the closed positions that a mechanism reaches from one of them by continuous motion.

A branch ends where the rank of J drops: there others begin, on which other constraints may be redundant. So redundancy
is a property of a branch, and is judged on walks in the null space of J that never cross such a drop. Others are
searched from random starts, so that it can be said where a program does not hold.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from symbody.basics.errors import SymbodyError
from symbody.mechanics.assembly.assembly import assemble_constraints, beyond_limits
from symbody.mechanics.assembly.conditioning import NONZERO
from symbody.mechanics.assembly.constraints import Constraints, Turned
from symbody.mechanics.assembly.numeric import Numeric
from symbody.mechanics.assembly.redundancy import independent_set, scaled
from symbody.model.record.coordinates import coordinate_units, retract, sliding, with_mode

WALKS, STEPS = 30, 4  # walks on a branch, and positions of each
STRIDE = 0.15  # rad of the fastest joint in one step
HALVINGS = 4  # of a stride that would cross a drop of rank
STARTS = 200  # random positions from which other branches are searched
FIRST = 0.05  # rad: how far the first step leads out of a start that may be singular
ZERO = 1e-9  # of the largest singular value of J: at most
REGULAR = 1e-4  # the same: positions nearer to a drop of rank are not known well enough to judge by
NEAR_DROP = 0.3  # share of its smallest singular value that J keeps in one step
GAP = 1e-12  # rad, or units of length: what is left open
OPEN = 1e-9  # the same: a constraint that opens so far is needed
MOST_STEPS, LARGEST_TURN, STALLED = 40, 0.7, 1e-3


@dataclass(frozen=True, eq=False)
class Branch:
    """Closed positions that are reached from the first without a drop of the rank of J.

    positions   (k, nq), the first one where the walks began
    rank        of J at all of them, for the parameters that were used
    redundant   rows that follow from the others there: numbers of `Constraints.rows`
    singular    whether the position that was given, or assembled, is a singular one: the branch begins beside it
    notes       sentences: what was left out and why, a singular start, other branches on which the rank is another
    turned      rows that are closed turned over by half a turn
    space       where its walks went: `with_others` goes on from there
    """

    positions: np.ndarray
    rank: int
    redundant: tuple[int, ...] = ()
    singular: bool = False
    notes: tuple[str, ...] = ()
    turned: Turned = ()
    space: Space | None = field(default=None, repr=False)


def branch_of(
    found: Constraints,
    q: Any = None,
    parameters: Mapping[str, float] | None = None,
    closed: Collection[str] = (),
    seed: int = 0,
    time: float = 0.0,
    others: bool = True,
) -> Branch:
    """The Branch of the position q, or of the assembled one.

    closed: switched loops that are closed; others: whether further branches are searched. Driven joints stand where
    their laws say at `time`, and may be moved by the walks: they move with time as well.
    """
    shut = [i for i, row in enumerate(found.rows) if row.switch is None or row.loop in closed]
    loops = {found.rows[i].loop for i in shut}
    home = assemble_constraints(found, q, parameters, seed=seed, time=time, loops=loops)
    chosen = found.select(shut)
    turned = Numeric(chosen, parameters, time).turned(home)
    space = Space(chosen.facing(turned), parameters, time, home, seed)
    space.shut = shut
    made = _branch(space, home)
    made = replace(made, redundant=tuple(shut[i] for i in made.redundant), turned=turned, space=space)
    return with_others(made) if others else made


def with_others(branch: Branch) -> Branch:
    """The Branch with a note on other branches, which are searched from random starts."""
    if branch.space is None or not branch.space.shut:
        return branch
    space = copy(branch.space)
    space.rng = deepcopy(space.rng)  # asked again, it says the same again
    said = _say_others(space, replace(branch, redundant=tuple(space.shut.index(i) for i in branch.redundant)))
    return replace(branch, notes=(*branch.notes, *said), space=None)


# -- positions in batches, without units


class Space:
    """Constraints over positions (k, nq), with lengths measured by that of the mechanism and rows by their size."""

    shut: list[int]  # numbers of its rows among all

    def __init__(
        self,
        found: Constraints,
        parameters: Mapping[str, float] | None,
        time: float,
        home: np.ndarray,
        seed: int,
    ) -> None:
        self.constraints, self.mechanism = found, found.tree.mechanism
        self.numeric = Numeric(found, parameters, time)
        self.rng = np.random.default_rng(seed)
        self.length = self.numeric.length()
        self.unit = np.where(sliding(self.mechanism), self.length, 1.0)
        self.home, self.beyond = home, beyond_limits(self.mechanism, home)
        self.placed = np.array([row.h is not None for row in found.rows], dtype=bool)
        self.size = np.ones(len(found.rows))
        around = self.move(np.tile(home, (8, 1)), self.rng.normal(size=(8, len(self.unit))) * 0.5)
        with np.errstate(all="ignore"):
            sizes = np.linalg.norm(self.J(np.concatenate([home[None], around])), axis=2)
        sizes = np.where(np.isfinite(sizes), sizes, 0.0).max(axis=0, initial=0.0)
        self.size = np.where(sizes > 0, sizes, 1.0)

    def h(self, q: np.ndarray) -> np.ndarray:
        """(k, m) residuals; nan or infinite where an expression has no value."""
        with np.errstate(all="ignore"):
            return self.numeric.h(q) / self.size

    def J(self, q: np.ndarray) -> np.ndarray:
        """(k, m, nv)"""
        with np.errstate(all="ignore"):
            return self.numeric.J(q) * self.unit / self.size[:, None]

    def move(self, q: np.ndarray, step: np.ndarray) -> np.ndarray:
        """Positions (k, nq) after steps (k, nv), in units of `unit`."""
        return retract(self.mechanism, q, step * self.unit)

    def allowed(self, q: np.ndarray) -> np.ndarray:
        """(k,) bool: closed the right way round, and not beyond a limit that the home position keeps."""
        with np.errstate(all="ignore"):
            sides = (self.numeric.sides(q) > 0).all(axis=1)
        return sides & np.array([beyond_limits(self.mechanism, x) <= self.beyond for x in q], dtype=bool)


def close_all(space: Space, q: np.ndarray, columns: Sequence[int] | None = None, rows: Any = None) -> np.ndarray:
    """Positions (k, nq) closed by Levenberg-Marquardt, all at once; nan where one does not close.

    columns: velocities that may move (None: all); rows: constraints to be closed (None: all).
    """
    rows = np.flatnonzero(space.placed) if rows is None else np.array([r for r in rows if space.placed[r]], dtype=int)
    columns = list(range(len(space.unit)) if columns is None else columns)
    q = q.copy()
    h = space.h(q)[:, rows]
    h[~np.isfinite(h)] = np.inf
    damping = np.ones(len(q))
    size = (space.size / space.numeric.units())[rows]
    active = np.isfinite(h).all(axis=1) & (np.abs(h * size).max(axis=1, initial=0.0) > GAP)
    turning = ~sliding(space.mechanism)[columns]
    for _ in range(MOST_STEPS):
        if not active.any():
            break
        at = np.flatnonzero(active)
        J = space.J(q[at])[:, rows][:, :, columns]
        cost = (h[at] ** 2).sum(axis=1)
        normal = J @ np.swapaxes(J, 1, 2)
        floor = 1e-13 * np.trace(normal, axis1=1, axis2=2)
        normal[:, range(len(rows)), range(len(rows))] += np.maximum(damping[at] * cost, floor + 1e-300)[:, None]
        with np.errstate(all="ignore"):
            step = -np.einsum("kmn,km->kn", J, np.linalg.solve(normal, h[at][:, :, None])[:, :, 0])
        largest = np.abs(step[:, turning]).max(axis=1, initial=0.0)
        step *= np.minimum(1.0, LARGEST_TURN / np.maximum(largest, 1e-300))[:, None]
        whole = np.zeros((len(at), len(space.unit)))
        whole[:, columns] = step
        trial = space.move(q[at], np.nan_to_num(whole))
        found = space.h(trial)[:, rows]
        with np.errstate(all="ignore"):
            after = (found**2).sum(axis=1)
            better = np.isfinite(after) & (after < cost)
        stalled = ~better & (damping[at] > 1e8) | better & (after > (1 - STALLED) * cost) & (cost > 1e-16)
        stalled |= ~better & (cost < 1e-26)  # as well as doubles allow
        damping[at] = np.where(better, np.maximum(damping[at] / 10, 1e-12), damping[at] * 10)
        q[at[better]], h[at[better]] = trial[better], found[better]
        active[at] = ~stalled & (np.abs(h[at] * size).max(axis=1, initial=0.0) > GAP)
    q[~(np.abs(h * size).max(axis=1, initial=0.0) <= 10 * GAP)] = np.nan
    return q


def _ranks(space: Space, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(k,) numbers of singular values of J that are not zero, and all of them (k, n) by the largest."""
    s = np.linalg.svd(space.J(q), compute_uv=False)
    s = s / np.maximum(s[:, :1], 1e-300)
    return (s > ZERO).sum(axis=1), s


# -- one branch


def _branch(space: Space, home: np.ndarray) -> Branch:
    if not len(space.constraints.rows):
        return Branch(home[None], 0)
    better = close_all(space, home[None])
    start = better[0] if np.isfinite(better).all() else home
    rank = int((_ranks(space, start[None])[1][0] > NONZERO).sum())
    first = _walked(space, start, rank, 1, FIRST)
    if not len(first):
        return _point(space, start, rank)
    ranks, s = _ranks(space, first)
    notes: list[str] = []
    singular = bool(ranks.max() > rank and (s[:, rank] > NONZERO).any())
    if singular:
        # the branch with most independent constraints: on the others its program refuses, and is not wrong
        rank = int((s > NONZERO).sum(axis=1).max())
        best = int(np.argmax(s[:, rank - 1]))
        start = first[best]
        notes.append(
            f"The position {_say(home)} is singular: constraints depend on each other there, and branches of motion "
            f"meet. This is the branch with the most independent constraints ({rank} of {len(space.constraints.rows)})."
        )
    walked = _walked(space, start, rank, STEPS, STRIDE)
    positions = np.concatenate([start[None], walked])
    kept, words = _kept(space, positions, rank)
    redundant = tuple(i for i in range(len(space.constraints.rows)) if i not in kept)
    return Branch(positions, len(kept), redundant, singular, (*notes, *words))


def _point(space: Space, q: np.ndarray, rank: int) -> Branch:
    """A branch of one point: nothing moves, though J may leave velocities free."""
    names, bound = [row.name for row in space.constraints.rows], int(space.J(q[None])[0].any(axis=0).sum())
    if rank == bound:
        kept, words = _kept(space, q[None], rank)
        redundant = tuple(i for i in range(len(names)) if i not in kept)
        return Branch(
            q[None], rank, redundant, False, ("Nothing in the loops can move: a branch of one point.", *words)
        )
    note = (
        f"The loops cannot move from {_say(q)}, although J leaves {bound - rank} of their {bound} velocities free: a "
        "branch of one point, at which the mechanism is singular. All constraints were kept."
    )
    return Branch(q[None], len(names), (), True, (note,))


def _walked(space: Space, start: np.ndarray, rank: int, steps: int, stride: float) -> np.ndarray:
    """(k, nq) positions on walks from `start` along random motions, straight on; none crosses a drop of rank."""
    q = np.tile(start, (WALKS, 1))
    n = q.shape[1]
    heading = space.rng.normal(size=(WALKS, len(space.unit)))
    out = [np.zeros((0, n))]
    for _ in range(steps):
        if not len(q):
            break
        u, s, vh = np.linalg.svd(space.J(q), full_matrices=False)
        u, s, vh = u[:, :, :rank], s[:, :rank], vh[:, :rank]
        heading = heading - np.einsum("krn,kr->kn", vh, np.einsum("krn,kn->kr", vh, heading))
        largest = np.abs(heading).max(axis=1, initial=0.0)
        moving = largest > 1e-9
        q, heading, u, s, vh = q[moving], heading[moving] / largest[moving, None], u[moving], s[moving], vh[moving]
        after, done = q.copy(), np.zeros(len(q), dtype=bool)
        length = stride
        for _ in range(HALVINGS):
            at = np.flatnonzero(~done)
            if not len(at):
                break
            trial = close_all(space, space.move(q[at], length * heading[at]))
            fine = np.isfinite(trial).all(axis=1)
            fine[fine] &= space.allowed(trial[fine])
            fine[fine] &= same_side(space, trial[fine], u[at[fine]], s[at[fine]], vh[at[fine]])
            fine &= np.abs(np.nan_to_num(differences(space, trial, q[at]))).max(axis=1, initial=0.0) < 3 * length
            after[at[fine]], done[at[fine]] = trial[fine], True
            length /= 2
        still = np.abs(differences(space, after, q)).max(axis=1, initial=0.0) < 1e-2 * stride
        q, heading = after[done & ~still], heading[done & ~still]
        out.append(q)
    return np.concatenate(out)


def same_side(space: Space, q: np.ndarray, u: np.ndarray, s: np.ndarray, vh: np.ndarray) -> np.ndarray:
    """(k,) bool: no drop of rank lies between q and the positions with the singular vectors u, vh and values s.

    U^T J V of the old vectors keeps the sign of its determinant, and its smallest singular value does not vanish.
    """
    if not len(q) or not s.shape[1]:
        return np.ones(len(q), dtype=bool)
    turned = np.swapaxes(u, 1, 2) @ space.J(q) @ np.swapaxes(vh, 1, 2)
    sign, _ = np.linalg.slogdet(turned)
    return (sign > 0) & (np.linalg.svd(turned, compute_uv=False)[:, -1] > NEAR_DROP * np.minimum(s[:, -1], 0.1))


def differences(space: Space, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(k, nq) differences of coordinates, slides in units of the mechanism's length."""
    out = a - b
    out[:, [unit == "m" for unit in coordinate_units(space.mechanism)]] /= space.length
    return out


def _kept(space: Space, q: np.ndarray, rank: int) -> tuple[list[int], list[str]]:
    """(rows that are needed, what there is to say) on a branch with the positions q (k, nq)."""
    m = len(space.constraints.rows)
    J = scaled(space.J(q), np.zeros(len(space.unit), dtype=bool))
    s = np.linalg.svd(J, compute_uv=False)
    s = s / np.maximum(s[:, :1], 1e-300)
    regular = s[:, rank - 1] > REGULAR if rank else np.ones(len(q), dtype=bool)
    J, s = (J[regular], s[regular]) if regular.any() else (J, s)
    words: list[str] = []
    wanted = int((s > ZERO).sum(axis=1).max(initial=0))
    if wanted > rank:
        words.append(
            f"{wanted - rank} constraint{'s' * (wanted - rank > 1)} may be redundant but for roundings (singular value "
            f"{float(s[:, rank:].max()):.1e} of the largest), and kept."
        )
    if wanted == m:
        return list(range(m)), words
    kept = independent_set(J, wanted)
    needed = _opened(space, q[0], kept, rank)
    if needed:
        names = ", ".join(space.constraints.rows[i].name for i in needed)
        words.append(f"{names} depend on other constraints to the first order only, and were kept.")
        kept = sorted({*kept, *needed})
    if len(kept) < m:
        words.append(redundancy_text(space.constraints, [i for i in range(m) if i not in kept]))
    return kept, words


def _opened(space: Space, start: np.ndarray, kept: list[int], rank: int) -> list[int]:
    """Rows that open on walks which close `kept` alone."""
    J = space.J(start[None])[0]
    vh = np.linalg.svd(J, full_matrices=False)[2][:rank]
    heading = space.rng.normal(size=(WALKS, J.shape[1]))
    heading -= heading @ vh.T @ vh
    heading /= np.maximum(np.abs(heading).max(axis=1, keepdims=True), 1e-300)
    q = close_all(space, space.move(np.tile(start, (WALKS, 1)), STRIDE / 2 * heading), rows=kept)
    q = q[np.isfinite(q).all(axis=1)]
    if not len(q):
        return []
    gap = np.abs(space.numeric.h(q) / space.numeric.units()).max(axis=0)
    return [int(i) for i in np.flatnonzero(gap > OPEN) if i not in kept]


def redundancy_text(found: Constraints, rows: Sequence[int]) -> str:
    """Which rows were left out."""
    names = ", ".join(found.rows[i].name for i in rows)
    loops = ", ".join(repr(x) for x in dict.fromkeys(found.rows[i].loop for i in rows))
    plural = "s" if len(rows) > 1 else ""
    return (
        f"{len(rows)} redundant constraint{plural} left out: {names} (of {loops}); at closed configurations they "
        "follow from the others. Their multipliers are not determined and are taken as 0."
    )


# -- other branches


def _say_others(space: Space, branch: Branch) -> list[str]:
    """Whether closed positions elsewhere need other constraints."""
    kept = [i for i in range(len(space.constraints.rows)) if i not in branch.redundant]
    try:
        q = _elsewhere(space)
    except (SymbodyError, ArithmeticError, ValueError):
        return []  # a coupling has no value there
    if not len(q):
        return []
    s = _ranks(space, q)[1]
    known = ~((s > ZERO) & (s < REGULAR)).any(axis=1)  # not where branches meet: starts are drawn there, and stall
    q, s = q[known], s[known]
    rank = (s > NONZERO).sum(axis=1)
    part = np.linalg.svd(space.J(q)[:, kept], compute_uv=False)
    mine = (part > NONZERO * np.maximum(part[:, :1], 1e-300)).sum(axis=1)
    other = (rank != branch.rank) | (mine < rank)
    if not other.any():
        return []
    groups = [f"{int((rank[other] == r).sum())} with {r}" for r in sorted(set(rank[other].tolist()))]
    return [
        f"The program is made for the branch of {_say(branch.positions[0])}, with {branch.rank} independent "
        f"constraints. Of {len(q)} closed positions found from {STARTS} random starts, {int(other.sum())} lie on "
        f"others ({', '.join(groups)}), for example {_say(q[int(np.argmax(other))])}: give q of the branch that is "
        "meant, as in sb.partition(mech, q=...)."
    ]


def _elsewhere(space: Space) -> np.ndarray:
    """(k, nq) closed regular positions from random starts; driven joints stay. A singular one is left by a step."""
    nv, driven = space.mechanism.nv, with_mode(space.mechanism, "driven")
    free = [k for k in range(nv) if k not in driven]
    step = space.rng.uniform(-np.pi, np.pi, size=(STARTS, nv))
    step[:, driven] = 0
    step[:, sliding(space.mechanism)] *= 0.5
    q = close_all(space, space.move(np.tile(space.home, (STARTS, 1)), step), free)
    q = q[np.isfinite(q).all(axis=1)]
    q = q[space.allowed(q)] if len(q) else q
    if not len(q):
        return q
    beside = _beside(space, q, free)
    before, after = _ranks(space, q)[1], _ranks(space, beside)[1]
    count = [(s > NONZERO).sum(axis=1) for s in (before, after)]
    return np.where((count[1] > count[0])[:, None], beside, q)


def _beside(space: Space, q: np.ndarray, free: Sequence[int]) -> np.ndarray:
    """Closed positions a small step from q (k, nq), or q itself."""
    _, s, vh = np.linalg.svd(space.J(q), full_matrices=False)
    heading = np.zeros((len(q), len(space.unit)))
    heading[:, free] = space.rng.normal(size=(len(q), len(free)))
    bound = np.where((s > 1e-3 * s[:, :1])[:, :, None], vh, 0.0)
    heading -= np.einsum("krn,kr->kn", bound, np.einsum("krn,kn->kr", bound, heading))
    largest = np.abs(heading).max(axis=1, keepdims=True)
    heading = np.where(largest > 1e-9, heading / np.maximum(largest, 1e-300), 0.0)
    moved = close_all(space, space.move(q, FIRST * heading))
    fine = np.isfinite(moved).all(axis=1)
    return np.where(fine[:, None], moved, q)


def _say(q: np.ndarray) -> str:
    """A position in a few digits."""
    shown = ", ".join(f"{x:.3g}" for x in np.where(np.abs(q) < 1e-9, 0.0, q)[:8])
    return f"q = ({shown}{', ...' if len(q) > 8 else ''})"
