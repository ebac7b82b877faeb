"""Numbers that hooks ask for: of one run they are answered at once, of many runs side by side all together.

A hook that needs numbers of its run yields an Ask and is sent the answer, so that one text decides for a run by itself
and for the members of a batch. Each answer is computed row by row with the same operations whoever asks besides:
members of a batch have the very bits of their own runs.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from symbody.assembly.conditioning import Choice, Conditioning, last_values
from symbody.assembly.numeric import Numeric
from symbody.flow.evaluate import FlowKernels
from symbody.flow.loop_guards import LoopGuards, finite_found
from symbody.loops.partition.measures import best_choices

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Found:
    """Measures (..., k) and gaps (..., m) of loops at states x (nx,) or (n, nx) and t, with the signals u (nu,)."""

    loops: LoopGuards
    t: Any
    x: np.ndarray
    u: np.ndarray

    @property
    def key(self) -> Any:
        return id(self.loops.flow)

    def answer(self) -> tuple[np.ndarray, np.ndarray]:
        return self.loops.found(self.t, self.x, self.u)

    @staticmethod
    def answers(asks: Sequence[Found]) -> list[Any]:
        counts = [1 if ask.x.ndim == 1 else len(ask.x) for ask in asks]
        x = np.concatenate([ask.x if ask.x.ndim == 2 else ask.x[None] for ask in asks])
        t = np.concatenate([np.broadcast_to(ask.t, (n,)) for ask, n in zip(asks, counts, strict=True)])
        u = np.repeat([ask.u for ask in asks], counts, axis=0)
        parameters = {n: np.repeat(v, counts, axis=0) for n, v in stacked([a.loops.parameters for a in asks]).items()}
        named = FlowKernels(asks[0].loops.flow, parameters).call("watch", t, x, u)
        found = finite_found(*(np.broadcast_to(named[n], (len(x), np.shape(named[n])[-1])) for n in ("measure", "gap")))
        return [
            tuple(part if ask.x.ndim == 2 else part[0] for part in parts)
            for ask, *parts in zip(asks, *(_split(a, counts) for a in found), strict=True)
        ]


Rows = tuple[tuple[int, ...], tuple[int, ...] | None]  # of J, and columns; None: all


@dataclass(frozen=True, eq=False)
class Looked:
    """J (n, m, nv) without units at positions q (n, nq) and times t (n,), its singular values (n,) of all rows, and
    those of `part`."""

    conditioning: Conditioning
    q: np.ndarray
    t: np.ndarray
    part: Rows

    @property
    def key(self) -> Any:
        return id(self.conditioning.found), self.conditioning.rank, tuple(self.conditioning.parameters)

    def answer(self) -> Any:
        return Looked.answers([self])[0]

    @staticmethod
    def answers(asks: Sequence[Looked]) -> list[Any]:
        first, counts = asks[0].conditioning, [len(ask.q) for ask in asks]
        # always arrays, of one member too: a number to a power and an array to a power may round differently
        given = {n: np.repeat([a.conditioning.parameters[n] for a in asks], counts) for n in first.parameters}
        q, t = (np.concatenate(parts) for parts in zip(*((ask.q, ask.t) for ask in asks), strict=True))
        J = Numeric(first.found, given, t if first.moving else float(t[0])).J(q)
        scales = [ask.conditioning.scales(ask.q[0], float(ask.t[0])) for ask in asks]
        rows, columns = (np.repeat(parts, counts, axis=0) for parts in zip(*scales, strict=True))
        J = first.without_units(J, rows, columns)
        whole, own = last_values(J, first.rank), np.zeros(len(J))
        groups: dict[Rows, list[int]] = {}
        for k, (ask, n) in enumerate(zip(asks, counts, strict=True)):
            groups.setdefault(ask.part, []).extend([k] * n)
        owners = np.repeat(np.arange(len(asks)), counts)
        for part, members in groups.items():
            places = np.flatnonzero(np.isin(owners, members)) if len(groups) > 1 else slice(None)
            own[places] = last_values(taken(J[places], part), first.rank)
        return list(zip(*(_split(a, counts) for a in (J, whole, own)), strict=True))


def taken(J: np.ndarray, part: Rows) -> np.ndarray:
    """Those rows and columns of J (n, m, nv)."""
    rows, columns = part
    return J[:, list(rows)] if columns is None else J[:, np.array(rows, dtype=int)[:, None], list(columns)]


@dataclass(frozen=True, eq=False)
class Sizes:
    """(n,) singular value number `rank` of matrices (n, a, b)."""

    rank: int
    matrices: np.ndarray

    @property
    def key(self) -> Any:
        return self.rank, self.matrices.shape[1:]

    def answer(self) -> np.ndarray:
        return last_values(self.matrices, self.rank)

    @staticmethod
    def answers(asks: Sequence[Sizes]) -> list[Any]:
        found = last_values(np.concatenate([ask.matrices for ask in asks]), asks[0].rank)
        return _split(found, [len(ask.matrices) for ask in asks])


@dataclass(frozen=True, eq=False)
class Choices:
    """The best Choice at each J (n, m, nv), or None; see `best_choices`."""

    conditioning: Conditioning
    J: np.ndarray
    whole: bool

    @property
    def key(self) -> Any:
        return id(self.conditioning.found), self.conditioning.rank, self.whole

    def answer(self) -> list[Choice | None]:
        return [choice for choice, _ in best_choices(self.conditioning, self.J, self.whole)]

    @staticmethod
    def answers(asks: Sequence[Choices]) -> list[Any]:
        found = best_choices(asks[0].conditioning, np.concatenate([ask.J for ask in asks]), asks[0].whole)
        ends = np.cumsum([len(ask.J) for ask in asks]).tolist()
        return [[c for c, _ in found[end - len(ask.J) : end]] for ask, end in zip(asks, ends, strict=True)]


Ask = Found | Looked | Sizes | Choices
Asking = Generator[Ask, Any, T]


def answered(asking: Asking[T]) -> T:
    """What comes of it, each question answered at once."""
    answer: Any = None
    while True:
        try:
            answer = asking.send(answer).answer()
        except StopIteration as end:
            found: T = end.value
            return found


def stacked(parameters: Sequence[Mapping[str, Any]]) -> dict[str, np.ndarray]:
    """name -> (k,) values of k runs that are given the same names."""
    return {n: np.array([p[n] for p in parameters]) for n in parameters[0]}


def _split(found: np.ndarray, counts: Sequence[int]) -> list[np.ndarray]:
    ends = np.cumsum(counts).tolist()
    return [found[end - n : end] for n, end in zip(counts, ends, strict=True)]
