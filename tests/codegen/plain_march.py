"""PlainMarch: the march in NumPy, one state at a time, for Kernels of any kind: the fallback and the oracle.

Every sum is taken in the order of the native loops, so that with the same Kernel the results agree to the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from codegen.plain_march_member import Member
from symbody.basics.errors import NameLookupError, ShapeError
from symbody.motion.march.march_ports import Ports, parameters_of
from symbody.motion.march.members import check_method, check_tolerance, directions_of, passive_of, wanted_times
from symbody.motion.march.method_tables import Method, RungeKutta
from symbody.motion.march.run import Run, Signals


class PlainMarch:
    """The interface of March over `kernel.call_with_status`; see there for the arguments."""

    def __init__(
        self,
        rates: Any,
        states: Mapping[str, str],
        second: Sequence[tuple[str, str]] = (),
        project: Any = None,
        guards: Any = None,
        step: Any = None,
        *,
        step_node: float = 0.0,
        drift: Any = None,
    ) -> None:
        self.ports = Ports(rates, states, second, project, guards, step, drift)
        self.step_node = step_node

    @property
    def nx(self) -> int:
        return self.ports.nx

    def fixed(
        self,
        method: str | Method | None,
        x: Any,
        t: Any,
        h: Any,
        steps: int,
        every: int = 1,
        *,
        signals: Signals | None = None,
        parameters: Mapping[str, Any] | None = None,
        directions: Any = None,
        passive: Any = None,
        threads: int | None = None,
    ) -> Run:
        table = check_method(self.ports, method)
        members, shape = self._members(x, signals, parameters, directions, passive)
        starts, lengths = (np.broadcast_to(np.asarray(v, dtype=float), (len(members),)) for v in (t, h))
        found = [
            m.fixed(table, float(t0), float(step), steps, every, self.step_node)
            for m, t0, step in zip(members, starts, lengths)
        ]
        room = -(-steps // every)
        index = np.minimum(np.arange(1, room + 1) * every, steps)
        t0, step = (np.asarray(v, dtype=float) for v in (t, h))
        return _stacked(found, shape, room, t0[..., None] + index * step[..., None])

    def adaptive(
        self,
        method: str | RungeKutta,
        x: Any,
        t: Any,
        t_end: float,
        times: Any = None,
        *,
        rtol: float,
        atol: Any,
        first_step: Any = None,
        max_step: float = math.inf,
        max_steps: int = 1_000_000,
        signals: Signals | None = None,
        parameters: Mapping[str, Any] | None = None,
        directions: Any = None,
        passive: Any = None,
        threads: int | None = None,
    ) -> Run:
        table = check_method(self.ports, method, adaptive=True)
        assert isinstance(table, RungeKutta)
        members, shape = self._members(x, signals, parameters, directions, passive)
        b = len(members)
        starts = np.broadcast_to(np.asarray(t, dtype=float), (b,))
        sign = -1.0 if (t_end < starts).any() else 1.0
        wanted = wanted_times(times, starts, sign)
        tolerance = check_tolerance(rtol, atol, self.nx)
        first = np.broadcast_to(np.asarray(0.0 if first_step is None else first_step, dtype=float), (b,))
        control = dict(rtol=rtol, tolerance=tolerance, max_step=max_step, max_steps=max_steps, sign=sign)
        goal = wanted if times is not None else None
        found = [
            m.adaptive(table, float(t0), float(t_end), sign * abs(float(h)), goal, control)
            for m, t0, h in zip(members, starts, first)
        ]
        room = wanted.size if times is not None else max(len(f["samples"]) for f in found)
        return _stacked(found, shape, room, wanted if times is not None else None)

    def _members(
        self, x: Any, signals: Signals | None, parameters: Any, directions: Any, passive: Any
    ) -> tuple[list[Member], tuple[int, ...]]:
        p = self.ports
        states = np.asarray(x, dtype=float)
        if states.ndim not in (1, 2) or states.shape[-1] != p.nx:
            raise ShapeError(f"x has shape {states.shape}; expected ({p.nx},) or (b, {p.nx}).")
        given = parameters_of(p.kernels, p.known, parameters)
        core = {q.name: len(q.shape) for k in p.kernels.values() for q in k.parameters}
        batched = {n: np.asarray(v).shape[0] for n, v in (parameters or {}).items() if np.ndim(v) > core[n]}
        shape = states.shape[:-1] or ((next(iter(batched.values())),) if batched else ())
        count = shape[0] if shape else 1
        rows = np.broadcast_to(states, (count, p.nx))
        if signals is None:
            if p.nu:
                names = ", ".join(p.signals)
                raise NameLookupError(f"The rates depend on {names}; give their values as signals=Signals(...).")
            signals = Signals([0.0], np.zeros((1, 0)))
        times, values = signals.table(p.nu, count if shape else None)
        wanted, quiet = directions_of(directions, p.ng), passive_of(passive, p.ng) != 0
        members = []
        for i in range(count):
            kernels = {}
            for kind, kernel in p.kernels.items():
                mine = given[kind]
                if mine is not None:
                    kernel = kernel.bind({n: np.asarray(v)[i] if n in batched else v for n, v in mine.items()})
                kernels[kind] = kernel
            own = values[i] if values.ndim == 3 else values
            members.append(Member(p, kernels, rows[i].copy(), (times, own, signals), wanted, quiet))
        return members, shape


def _stacked(found: list[dict[str, Any]], shape: tuple[int, ...], room: int, times: np.ndarray | None) -> Run:
    """Results of all members as one Run; times: those of all samples, None where each member has its own."""
    b, nx = len(found), found[0]["x_end"].size
    x, t = np.full((b, room, nx), math.nan), np.full((b, room), math.nan)
    for i, f in enumerate(found):
        for j, sample in enumerate(f["samples"]):
            x[i, j] = sample
            if times is None:
                t[i, j] = f["t_samples"][j]
    counts = np.array([len(f["samples"]) for f in found], dtype=np.int64)
    if times is not None:
        t = times
    if not shape:
        x, t = x[:, : counts[0]], t.reshape(-1)[: counts[0]]
    integers = ("status", "steps", "rejected", "evaluations")
    stack: dict[str, Callable[[str], np.ndarray]] = {
        n: (lambda n: np.array([f[n] for f in found], dtype=np.int64 if n in (*integers, "crossed") else float))
        for n in (*integers, "crossed", "t_end", "x_end", "t_before", "x_before", "h_next")
    }
    fields = {n: make(n) for n, make in stack.items()}
    return Run(
        t=t,
        x=x.reshape(*shape, *x.shape[1:]),
        samples=counts.reshape(shape),
        log=() if shape else tuple(found[0]["log"]),
        **{n: v.reshape((*shape, *v.shape[1:])) for n, v in fields.items()},
    )
