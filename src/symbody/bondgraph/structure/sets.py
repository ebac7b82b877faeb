"""Sets of sources or detectors: which suffice, which are redundant or necessary, and what is lost without one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from symbody.bondgraph.structure.reach import distances, krylov
from symbody.mechanics.proof.modular import rank

MOST = 20
TRIALS = 4000  # sets that are looked at


@dataclass(frozen=True)
class Member:
    """A source or detector by itself.

    necessary   without it states are lost, redundant: its column repeats what others do
    lost        dimension that is lost where it fails
    alone       dimension that it reaches (or shows) alone
    """

    name: str
    necessary: bool
    redundant: bool
    lost: int
    alone: int

    def __str__(self) -> str:
        words = "necessary" if self.necessary else "redundant" if self.redundant else "not needed"
        end = f"; without it {_states(self.lost)} {'is' if self.lost == 1 else 'are'} lost" if self.lost else ""
        return f"{self.name}: {words}, {_states(self.alone)} by itself{end}"


def _states(n: int) -> str:
    return f"{n} state{'' if n == 1 else 's'}"


@dataclass(frozen=True)
class Sets:
    """Sources (or detectors) that matter.

    members    each by itself; minimal: the smallest sets that reach what all reach together, the first ones
    least      how many are needed at least if they may be placed anywhere: storages that stay integral, or 1
    complete   whether all smallest sets were looked at
    """

    members: tuple[Member, ...]
    minimal: tuple[tuple[str, ...], ...]
    least: int
    complete: bool


def sets_of(A: np.ndarray, B: np.ndarray, names: Sequence[str], least: int, most: int = MOST) -> Sets:
    """Sets of columns of B by what they reach through A."""
    n, m = len(A), len(names)
    whole = _reached(A, B)
    columns = rank(B) if B.size else 0
    members = []
    for k, name in enumerate(names):
        rest = [j for j in range(m) if j != k]
        lost = whole - _reached(A, B[:, rest])
        repeats = bool(B.size) and rank(B[:, rest]) == columns
        members.append(Member(name, lost > 0, repeats, lost, _reached(A, B[:, [k]])))
    minimal, complete = _minimal(A, B, names, whole, {k for k, x in enumerate(members) if x.necessary}, most)
    return Sets(tuple(members), minimal, least if n else 0, complete)


def _reached(A: np.ndarray, B: np.ndarray) -> int:
    return len(krylov(A, B)[0].pivots) if B.size else 0


def _minimal(
    A: np.ndarray, B: np.ndarray, names: Sequence[str], whole: int, needed: set[int], most: int
) -> tuple[tuple[tuple[str, ...], ...], bool]:
    """Smallest sets that reach as much as all; those that are necessary are in each of them."""
    if not whole:
        return (), True
    others = [k for k in range(len(names)) if k not in needed]
    found: list[tuple[str, ...]] = []
    trials = 0
    for size in range(len(others) + 1):
        for more in combinations(others, size):
            chosen = sorted(needed | set(more))
            if not chosen:
                continue
            trials += 1
            if trials > TRIALS:
                return tuple(found), False
            if not _may(A, B[:, chosen], whole) or _reached(A, B[:, chosen]) < whole:
                continue
            found.append(tuple(names[k] for k in chosen))
            if len(found) == most:
                return tuple(found), False
        if found:
            return tuple(found), True
    return tuple(found), True


def _may(A: np.ndarray, B: np.ndarray, whole: int) -> bool:
    """A quick look: what is to be reached must lie on paths, and in the columns of [A B]."""
    return sum(d > 0 for d in distances(A, B)) >= whole and rank(np.concatenate([A, B], axis=1)) >= whole
