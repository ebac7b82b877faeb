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

from symbody.mechanics.assembly.choices import best_choices
from symbody.mechanics.assembly.conditioning import Conditioning, last_values
from symbody.mechanics.assembly.numeric import Numeric, rows_of
from symbody.model.record.coordinates import retract
from symbody.motion.flow.closed_start import Regular
from symbody.motion.flow.flow import Flow
from symbody.motion.flow.flow_kernels import FlowKernels
from symbody.motion.flow.loop_guards import Levels, LoopGuards, finite_measures

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class LoopMeasures:
    """Measures (..., k) and gaps (..., m) of loops at states x (nx,) or (n, nx) and t, with the signals u (nu,)."""

    loops: LoopGuards
    t: Any
    x: np.ndarray
    u: np.ndarray

    @property
    def key(self) -> Any:
        return id(self.loops.flow)

    def answer(self) -> tuple[np.ndarray, np.ndarray]:
        return self.loops.measured(self.t, self.x, self.u)

    @staticmethod
    def answers(asks: Sequence[LoopMeasures]) -> list[Any]:
        if len(asks) == 1:  # numbers of one run take the short way to a Kernel, which has the same bits
            return [asks[0].answer()]
        parameters = stacked([a.loops.parameters for a in asks])
        if all(ask.x.ndim == 1 for ask in asks):
            t, x, u = (np.array([getattr(ask, n) for ask in asks]) for n in ("t", "x", "u"))
            return list(zip(*_loop_measures(asks[0].loops.flow, parameters, t, x, u), strict=True))
        counts = [1 if ask.x.ndim == 1 else len(ask.x) for ask in asks]
        x = np.concatenate([ask.x if ask.x.ndim == 2 else ask.x[None] for ask in asks])
        t = np.concatenate([np.broadcast_to(ask.t, (n,)) for ask, n in zip(asks, counts, strict=True)])
        u = np.repeat([ask.u for ask in asks], counts, axis=0)
        found = _loop_measures(
            asks[0].loops.flow, {n: np.repeat(v, counts, axis=0) for n, v in parameters.items()}, t, x, u
        )
        return [
            tuple(part if ask.x.ndim == 2 else part[0] for part in parts)
            for ask, *parts in zip(asks, *(_split(a, counts) for a in found), strict=True)
        ]


def _loop_measures(
    flow: Flow, parameters: Mapping[str, Any], t: Any, x: np.ndarray, u: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Measures (n, k) and gaps (n, m) at states x (n, nx)."""
    named = FlowKernels(flow, parameters).call("watch", t, x, u)
    return finite_measures(*(np.broadcast_to(named[n], (len(x), np.shape(named[n])[-1])) for n in ("measure", "gap")))


@dataclass(frozen=True, eq=False)
class Judged:
    """Measures (k,) and gaps (m,) of loops at a state x (nx,), whether a loop is open there, and whether a measure is
    beyond its level, or its ceiling."""

    loops: LoopGuards
    levels: Levels
    t: float
    x: np.ndarray
    u: np.ndarray

    @property
    def key(self) -> Any:
        return id(self.loops.flow)

    def answer(self) -> Any:
        return Judged.answers([self])[0]

    @staticmethod
    def answers(asks: Sequence[Judged]) -> list[Any]:
        found = LoopMeasures.answers([LoopMeasures(a.loops, a.t, a.x, a.u) for a in asks])
        measure, gap = (np.array(parts) for parts in zip(*found, strict=True))
        down, up = (np.array([getattr(a.levels, n) for a in asks]) for n in ("down", "up"))
        opened = ((gap / np.array([a.loops.bounds for a in asks])) ** 2).sum(axis=1) > 1
        low, high = ((measure * down <= 1) & (down != 0)).any(axis=1), (measure * up >= 1).any(axis=1)
        return list(zip(measure, gap, opened.tolist(), low.tolist(), high.tolist(), strict=True))


@dataclass(frozen=True, eq=False)
class Projected:
    """The state x (nx,) at t corrected: loops closed, quaternions of unit length."""

    flow: Flow
    parameters: Mapping[str, Any]
    t: float
    x: np.ndarray
    u: np.ndarray

    @property
    def key(self) -> Any:
        return id(self.flow), tuple(self.parameters)

    def answer(self) -> np.ndarray:
        return FlowKernels(self.flow, self.parameters).project(np.asarray(self.t), self.x, self.u)

    @staticmethod
    def answers(asks: Sequence[Projected]) -> list[np.ndarray]:
        t, x, u = (np.array([getattr(a, n) for a in asks]) for n in ("t", "x", "u"))
        return list(FlowKernels(asks[0].flow, stacked([a.parameters for a in asks])).project(t, x, u))


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
        return _same(self.conditioning)

    def answer(self) -> Any:
        return Looked.answers([self])[0]

    @staticmethod
    def answers(asks: Sequence[Looked]) -> list[Any]:
        counts = [len(ask.q) for ask in asks]
        q, t = (np.concatenate(parts) for parts in zip(*((ask.q, ask.t) for ask in asks), strict=True))
        J, rank = _jacobians([ask.conditioning for ask in asks], counts, q, t), asks[0].conditioning.rank
        whole, own = last_values(J, rank), np.zeros(len(J))
        groups: dict[Rows, list[int]] = {}
        for k, ask in enumerate(asks):
            groups.setdefault(ask.part, []).append(k)
        owners = np.repeat(np.arange(len(asks)), counts)
        for part, members in groups.items():
            places = np.flatnonzero(np.isin(owners, members)) if len(groups) > 1 else slice(None)
            own[places] = last_values(taken(J[places], part), rank)
        return list(zip(*(_split(a, counts) for a in (J, whole, own)), strict=True))


def _same(conditioning: Conditioning) -> Any:
    """What runs have in common whose J are computed together."""
    return id(conditioning.constraints), conditioning.rank, tuple(conditioning.parameters)


def _jacobians(of: Sequence[Conditioning], counts: Sequence[int], q: np.ndarray, t: np.ndarray) -> np.ndarray:
    """J (n, m, nv) without units at positions q (n, nq) and times t (n,), `counts` of them for each of the runs."""
    first = of[0]
    # always arrays, of one member too: a number to a power and an array to a power may round differently
    given = {n: np.repeat([c.parameters[n] for c in of], counts) for n in first.parameters}
    J = Numeric(first.constraints, given, t if first.moving else float(t[0])).J(q)
    starts = np.cumsum([0, *counts[:-1]]).tolist()
    scales = [c.scales(q[at], float(t[at])) for c, at in zip(of, starts, strict=True)]
    rows, columns = (np.repeat(parts, counts, axis=0) for parts in zip(*scales, strict=True))
    return first.without_units(J, rows, columns)


def taken(J: np.ndarray, part: Rows) -> np.ndarray:
    """Those rows and columns of J (n, m, nv)."""
    rows, columns = part
    return J[:, list(rows)] if columns is None else J[:, np.array(rows, dtype=int)[:, None], list(columns)]


AHEAD = (0.5, 1.0, 1.5)  # times until the present partition becomes singular: where others are compared too
FARTHEST = 0.7  # rad of the fastest joint, to which the way ahead is straight enough
SOON = 1e-6  # rad of the same, over which measures tell how fast they change


@dataclass(frozen=True, eq=False)
class Ahead:
    """J (n, m, nv) without units where the velocity of x (nx,) leads, before, at and behind the place where a measure
    of the loops vanishes, and the singular values (n,) of all rows there; none at rest."""

    loops: LoopGuards
    conditioning: Conditioning
    t: float
    x: np.ndarray
    u: np.ndarray

    @property
    def key(self) -> Any:
        return id(self.loops.flow), _same(self.conditioning)

    def answer(self) -> Any:
        return Ahead.answers([self])[0]

    @staticmethod
    def answers(asks: Sequence[Ahead]) -> list[Any]:
        flow, first = asks[0].loops.flow, asks[0].conditioning
        speeds = np.array([ask.x[flow.slices["qd"]] for ask in asks])
        fastest = np.abs(speeds).max(axis=1, initial=0.0)
        moved = np.flatnonzero(fastest > 0).tolist()
        out: list[Any] = [(np.zeros((0, *rows_of(first.constraints).shape)), np.zeros(0))] * len(asks)
        if not moved:
            return out
        asks, qd, fastest = [asks[k] for k in moved], speeds[moved], fastest[moved]
        mechanism, t = first.constraints.tree.mechanism, np.array([ask.t for ask in asks])
        x = np.array([ask.x for ask in asks])
        q = x[:, flow.slices["q"]]
        small = SOON / fastest
        later = x.copy()
        later[:, flow.slices["q"]] = retract(mechanism, q, small[:, None] * qd)
        pairs = np.stack([x, later], axis=1)
        found = LoopMeasures.answers(
            [
                LoopMeasures(a.loops, np.array([a.t, a.t + s]), pair, a.u)
                for a, s, pair in zip(asks, small, pairs, strict=True)
            ]
        )
        now, then = np.stack([measure for measure, _ in found], axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            left = now * small[:, None] / (now - then)
            span = np.where(left > 0, left, np.inf).min(axis=1, initial=np.inf)
        span = np.minimum(span, FARTHEST / fastest / AHEAD[-1])
        times = np.array(AHEAD) * span[:, None]
        places = retract(mechanism, np.repeat(q[:, None], len(AHEAD), axis=1), times[:, :, None] * qd[:, None, :])
        counts = [len(AHEAD)] * len(asks)
        instants = (t[:, None] + times).reshape(-1)
        J = _jacobians([a.conditioning for a in asks], counts, places.reshape(-1, q.shape[1]), instants)
        values = last_values(J, first.rank)
        for k, *own in zip(moved, _split(J, counts), _split(values, counts), strict=True):
            out[k] = tuple(own)
        return out


@dataclass(frozen=True, eq=False)
class Compared:
    """Which parts of J suit samples of it, and how well: (choices, singular values (c + k, n), the least share (c + k,)
    that they have of `sizes`), of the choices that are best at one of the samples, and after them of the parts `known`.

    J       (n, m, nv) samples; sizes: (n,) what the singular values are measured by
    whole   whether choices of rows alone are compared, whatever is solved for
    """

    conditioning: Conditioning
    J: np.ndarray
    sizes: np.ndarray
    known: tuple[Rows, ...]
    whole: bool

    @property
    def key(self) -> Any:
        return id(self.conditioning.constraints), self.conditioning.rank, self.whole

    def answer(self) -> Any:
        return Compared.answers([self])[0]

    @staticmethod
    def answers(asks: Sequence[Compared]) -> list[Any]:
        rank, every = asks[0].conditioning.rank, range(asks[0].J.shape[2])
        J = np.concatenate([ask.J for ask in asks])
        best = best_choices(asks[0].conditioning, J, asks[0].whole)
        places: dict[Rows, int] = {}  # all parts that occur
        which: list[int] = []  # part by part of each run the samples that it is taken of, one below the other
        samples: list[int] = []
        chosen, counts, done = [], [], 0
        for ask in asks:
            n = len(ask.J)
            own = {(c.rows, None if ask.whole else c.dependent): c for c, _ in best[done : done + n] if c is not None}
            parts = [*own, *ask.known] if own else []
            for part in parts:
                which += [places.setdefault(part, len(places))] * n
                samples += range(done, done + n)
            chosen.append(list(own.values()))
            counts.append((len(parts), n))
            done += n
        found, least = np.zeros(0), np.zeros(0)
        if which:
            rows = np.array([part[0] for part in places], dtype=int)[which]
            columns = np.array([every if part[1] is None else part[1] for part in places], dtype=int)[which]
            found = last_values(J[np.array(samples)[:, None, None], rows[:, :, None], columns[:, None, :]], rank)
            shares = found / np.concatenate([ask.sizes for ask in asks])[samples]
            starts = np.cumsum([0, *(n for k, n in counts for _ in range(k))])[:-1]
            least = np.minimum.reduceat(shares, starts)
        values = _split(found, [k * n for k, n in counts])
        marks = _split(least, [k for k, _ in counts])
        return [(c, v.reshape(s), m.tolist()) for c, v, s, m in zip(chosen, values, counts, marks, strict=True)]


@dataclass(frozen=True, eq=False)
class Both:
    """The answers of two questions that do not wait for each other."""

    one: Any
    other: Any

    @property
    def key(self) -> Any:
        return type(self.one), self.one.key, type(self.other), self.other.key

    def answer(self) -> Any:
        return self.one.answer(), self.other.answer()

    @staticmethod
    def answers(asks: Sequence[Both]) -> list[Any]:
        first, second = type(asks[0].one), type(asks[0].other)
        return list(zip(first.answers([a.one for a in asks]), second.answers([a.other for a in asks]), strict=True))


Ask = LoopMeasures | Judged | Looked | Ahead | Compared | Both | Projected | Regular
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
