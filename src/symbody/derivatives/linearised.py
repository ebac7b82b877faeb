"""Linearised: one run with its derivatives, forwards along directions or backwards from weights.

theta -> y: y holds the quantities at the instants that were asked for, end to end, then the integrals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from symbody.derivatives.jumps import JumpDerivative, check_touching, jump_derivative
from symbody.derivatives.machine import Machine, called, chain_of, numbers_for
from symbody.derivatives.observed import Quantity, Texts, observing
from symbody.derivatives.odd_step import RETRACED, Numbers, StepDerivative, by_theta, step_derivative
from symbody.derivatives.pullbacks import Pullback, pulled
from symbody.derivatives.smoothness import notes_of
from symbody.derivatives.supply import Supply
from symbody.derivatives.tape import Jump, Piece, Steps, Tape
from symbody.derivatives.ticks import Controllers, Tick
from symbody.derivatives.variables import Variables, start_matrix
from symbody.derived.kernels import kernel_of
from symbody.errors import DefinitionError
from symbody.flow.flow import Flow
from symbody.march.variational import VariationalMarch
from symbody.memory import memory_of

ROOM = 64e6  # bytes of derivatives that one native call may record


@dataclass(frozen=True, eq=False)
class Asked:
    """What is differentiated: quantities at instants (s), and integrals over the run."""

    quantities: tuple[Quantity, ...]
    integrals: Texts
    instants: np.ndarray | None  # None: where the run ends

    @property
    def width(self) -> int:
        """Numbers of all quantities at one instant."""
        return sum(int(np.prod(q.shape, dtype=int)) for q in self.quantities)


@dataclass(frozen=True, eq=False)
class _Node:
    """Where on the tape an instant is: after `step` steps of a piece; piece -1: the start."""

    piece: int
    step: int
    t: float


class Linearised:
    """One run and its derivatives."""

    def __init__(
        self,
        tape: Tape,
        machines: Callable[[Flow], Machine],
        variables: Variables,
        asked: Asked,
        parameters: Mapping[str, Any],
        notes: Sequence[str] = (),
        given: np.ndarray | None = None,
    ) -> None:
        """given: (nx,) the state at the start before it was corrected, where that is another one."""
        self.given = tape.start if given is None else given
        self.tape, self.variables, self.asked, self.parameters = tape, variables, asked, dict(parameters)
        self._notes = [*notes]
        self.n = variables.size
        self.controllers = Controllers(tape.plan.signals)
        self.total = self.n + self.controllers.size  # directions: theta, then what controllers hold
        self._machines = machines
        self._numbers: dict[int, Numbers] = {}
        self.places: dict[tuple[str, int], int] = {}
        for v, part in zip(variables.items, variables.slices().values(), strict=True):
            if v.kind == "parameter":
                self.places |= {(v.owner, k): part.start + j for j, k in enumerate(v.places)}
        self.first = tape.pieces[0].flow if tape.pieces else tape.plan.flow
        table = self.numbers(self.first).machine.table
        held = [c for columns in self.controllers.columns for c in columns]
        self.supply = Supply(tape.plan.signals, variables, table, held)
        self.nx, self.nz = self.first.nx, len(asked.integrals)
        self.nodes = self._nodes()
        check_touching(tape, self.supply, self.parameters)

    @cached_property
    def notes(self) -> list[str]:
        """What is to be known of the derivatives; corners, jumps and chatter are looked for when they are read."""
        return [*self._notes, *notes_of(self)]

    def numbers(self, flow: Flow) -> Numbers:
        """Programs of a Flow of the run, at its parameters."""
        if id(flow) not in self._numbers:
            self._numbers[id(flow)] = Numbers(self._machines(flow), self.parameters, self.places, self.total)
        return self._numbers[id(flow)]

    # -- places and values

    def _nodes(self) -> list[_Node]:
        pieces = self.tape.pieces
        wanted = self.asked.instants
        if not self.asked.quantities:
            return []
        if wanted is None:
            last = len(pieces) - 1
            end = pieces[last] if pieces else None
            return [_Node(last, end.count if isinstance(end, Steps) else 0, self.tape.t_end)]
        out = []
        for t in wanted:
            found = self._node(float(t))
            if found is None:
                raise DefinitionError(
                    f"quantities are asked for at t = {t:.12g} s, between two steps; expected instants at which a step "
                    f"ends, up to {self.tape.t_end:g} s."
                )
            out.append(found)
        return out

    def _node(self, t: float) -> _Node | None:
        start = self.tape.plan.settings.start
        if abs(t - start) <= 1e-9 * max(1.0, abs(start)):
            return self._ticked(_Node(-1, 0, start))
        for k, piece in enumerate(self.tape.pieces):
            if isinstance(piece, Steps) and piece.t < t <= piece.t_end + 1e-9 * piece.h:
                step = round((t - piece.t) / piece.h)
                if abs(piece.t + step * piece.h - t) <= 1e-6 * piece.h and 0 < step <= piece.count:
                    return self._ticked(_Node(k, step, t))
        return None

    def _ticked(self, node: _Node) -> _Node:
        """At an instant of ticks, values are those from then on."""
        pieces, k = self.tape.pieces, node.piece
        end = pieces[k] if k >= 0 else None
        if isinstance(end, Steps) and node.step < end.count:
            return node
        while k + 1 < len(pieces) and isinstance(pieces[k + 1], Tick):
            k += 1
        return node if k == node.piece else _Node(k, 0, node.t)

    def _during(self, node: _Node) -> Piece | None:
        """The piece whose signals are those at a node: what is held there is held from then on."""
        pieces, k = self.tape.pieces, node.piece
        own = pieces[k] if k >= 0 else None
        if isinstance(own, Steps) and node.step < own.count:
            return own
        following = pieces[k + 1] if k + 1 < len(pieces) else None
        return following if isinstance(following, Steps) or own is None else own

    def state_at(self, node: _Node) -> tuple[np.ndarray, np.ndarray]:
        """(x (nx,), u (nu,)) there."""
        during = self._during(node)
        u = self.supply.at(node.t, self.tape.u_end if during is None else during.u)
        if node.piece < 0:
            return self.tape.start, u
        piece = self.tape.pieces[node.piece]
        if isinstance(piece, Jump | Tick):
            return piece.after if isinstance(piece, Jump) else piece.x, u
        whole, rest = divmod(node.step, piece.every)
        if rest == 0 or node.step == piece.count:
            return piece.x[whole if rest == 0 else -1], u
        return self._between(piece, whole)[rest], u

    def _between(self, piece: Steps, whole: int) -> np.ndarray:
        """(m+1, nx) all states of the steps after kept state number `whole`."""
        numbers = self.numbers(piece.flow)
        count = min(piece.every, piece.count - whole * piece.every)
        t = piece.t + whole * piece.every * piece.h
        part = Steps(piece.flow, t, piece.h, count, piece.x[whole : whole + 1], piece.u)
        m = numbers.machine
        x = self._widened(piece.x[whole])
        run = m.march.fixed(
            m.table, x, t, piece.h, count, 1, signals=self.supply.during(part), parameters=numbers.known()
        )
        return np.concatenate([piece.x[whole][None], np.asarray(run.x)[:, : self.nx]])

    def _widened(self, x: np.ndarray) -> np.ndarray:
        """States with zeros for the integrals, which nothing reads."""
        return np.concatenate([x, np.zeros((*x.shape[:-1], self.nz))], axis=-1) if self.nz else x

    @cached_property
    def observed(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(t (k,), x (k, nx), u (k, nu)) at the instants that were asked for."""
        found = [self.state_at(node) for node in self.nodes]
        t = np.array([node.t for node in self.nodes])
        return t, np.array([x for x, _ in found]), np.array([u for _, u in found])

    @cached_property
    def integrals(self) -> np.ndarray:
        """(nz,) at the end."""
        z = np.zeros(self.nz)
        if not self.nz:
            return z
        for piece in self.tape.pieces:
            if not isinstance(piece, Steps):
                continue
            for j, first in enumerate(range(0, piece.count, piece.every) if piece.every > 1 else [0]):
                # stretch by stretch where states are not kept: signals of a long run would take the memory instead
                count = min(piece.every, piece.count - first) if piece.every > 1 else piece.count
                part = replace(piece, t=piece.t + first * piece.h, count=count)
                z = self.numbers(piece.flow).values(part, np.concatenate([piece.x[j], z]), self.supply)[self.nx :]
        return z

    @cached_property
    def y(self) -> np.ndarray:
        """(ny,) values."""
        if not self.nodes:
            return self.integrals
        system, _ = observing(self._flow_at_end(), self.asked.quantities)
        kernel = kernel_of(system)
        t, x, u = self.observed
        named = self.first.layout.named(t, x, u)
        found = kernel(*(named[p.name] for p in kernel.inputs), parameters=numbers_for(kernel, self.parameters))
        return np.concatenate([np.asarray(found).reshape(-1), self.integrals])

    def _flow_at_end(self) -> Flow:
        return self.tape.plan.flow

    # -- the observed quantities

    def _pull_observed(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, float, list[np.ndarray]]:
        """(seeds (k, nx), directions (total,), the last instant, directions by the signals of each instant) of weights
        (k, width) on the quantities."""
        flow = self._flow_at_end()
        pull = observed_pullback(flow, self.asked.quantities)
        t, x, u = self.observed
        parts = called(pull, flow, self.parameters, t, x, u, w)
        g = np.zeros(self.total)
        if "gm" in parts:
            chain = by_theta(chain_of(pull, self.parameters), pull.names, self.places, self.total)
            g += parts["gm"].sum(axis=0) @ chain
        if "gu" in parts and self.supply.entries:
            direct = [
                ubar @ self.supply.by_theta(node.t, self._begin(node)) for node, ubar in zip(self.nodes, parts["gu"])
            ]
        else:
            direct = [np.zeros(self.total)] * len(self.nodes)
        last = self.nodes[-1]
        time = float(parts["gt"][-1, 0]) if "gt" in parts else 0.0
        if "gu" in parts:
            time += float(parts["gu"][-1] @ self.supply.slope(last.t, last.t - 1e-9))
        return parts["gx"], g, time, direct

    def _begin(self, node: _Node) -> float:
        """The instant that says which point of a held table is in force."""
        during = self._during(node)
        return node.t if during is None else during.t

    # -- backwards

    def vjp(self, weights: np.ndarray) -> np.ndarray:
        """(n,) w^T dy/dtheta of weights w (ny,)."""
        w = np.asarray(weights, dtype=float)
        size = len(self.nodes) * self.asked.width
        g = np.zeros(self.total)
        remembered = np.zeros(self.controllers.remembered)
        lam = np.zeros(self.nx + self.nz)
        lam[self.nx :] = w[size:]
        seeds: dict[int, list[tuple[int, np.ndarray]]] = {}
        inputs: dict[int, np.ndarray] = {}  # what the signals at instants of a piece add to directions
        times = 0.0
        if size:
            rows, direct, times, by_signals = self._pull_observed(w[:size].reshape(len(self.nodes), -1))
            g += direct
            for node, row, part in zip(self.nodes, rows, by_signals):
                inputs[node.piece] = inputs.get(node.piece, 0.0) + part
                seeds.setdefault(node.piece, []).append((node.step, self._widened(row)))
        after: JumpDerivative | None = None
        t_bar = 0.0
        for k in reversed(range(len(self.tape.pieces))):
            piece = self.tape.pieces[k]
            g = g + inputs.get(k, 0.0)
            if isinstance(piece, Tick):
                for _, row in seeds.get(k, ()):
                    lam = lam + row
                lam, g, remembered = self._tick_back(piece, lam, g, remembered)
                continue
            if isinstance(piece, Jump):
                for _, row in seeds.get(k, ()):  # where an event ends the run
                    lam = lam + row
                    t_bar += times
                jump = self._jump(k)
                back = np.concatenate([jump.A.T @ lam[: self.nx], lam[self.nx :]])
                t_bar += float(jump.t @ lam[: self.nx])
                g += lam[: self.nx] @ jump.B
                lam = back
                if jump.guard_x is not None:
                    after = jump
                else:
                    t_bar = t_bar if k and isinstance(self.tape.pieces[k - 1], Jump) else 0.0
                continue
            if piece.odd:
                for _, row in seeds.get(k, ()):
                    lam = lam + row
                step = self._step(k)
                if after is not None:
                    assert after.guard_x is not None
                    assert after.guard_theta is not None
                    # the instant moves so that the guard stays zero
                    rate = after.guard_t + after.guard_x @ step.h[: self.nx]
                    after.check(rate, step.h[: self.nx])
                    s = -(t_bar + step.h @ lam) / rate
                    lam = lam.copy()
                    lam[: self.nx] += s * after.guard_x
                    g += s * after.guard_theta
                    after = None
                g += step.B.T @ lam
                t_bar = float((step.t - step.h) @ lam)
                lam = step.A.T @ lam
                continue
            lam, g = self._steps_back(piece, lam, g, seeds.get(k, ()))
            t_bar = 0.0
        for _, row in seeds.get(-1, ()):
            lam = lam + row
        return np.asarray((g + inputs.get(-1, 0.0) + self._start_back(lam))[: self.n])

    def _tick_back(
        self, tick: Tick, lam: np.ndarray, g: np.ndarray, remembered: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What was held until the tick after is not held before; its adjoint goes to the state, and to the memory."""
        c = self.controllers
        own, memory = c.held[tick.controller], c.memories[tick.controller]
        found = c.derivative(tick)
        held, kept = g[self.n :][own], remembered[memory]
        lam, g, remembered = lam.copy(), g.copy(), remembered.copy()
        lam[: self.nx] += held @ found.held_x + kept @ found.memory_x
        remembered[memory] = held @ found.held_m + kept @ found.memory_m
        g[self.n :][own] = 0.0
        return lam, g, remembered

    def _steps_back(
        self, piece: Steps, lam: np.ndarray, g: np.ndarray, seeds: Sequence[tuple[int, np.ndarray]]
    ) -> tuple[np.ndarray, np.ndarray]:
        numbers = self.numbers(piece.flow)
        m = numbers.machine
        known = numbers.known()
        whole = -(-piece.count // piece.every) if piece.every > 1 else 1
        for j in reversed(range(whole)):
            first = j * piece.every if piece.every > 1 else 0
            count = min(piece.every, piece.count - first) if piece.every > 1 else piece.count
            states = self._widened(self._between(piece, j) if piece.every > 1 else piece.x)
            part = Steps(piece.flow, piece.t + first * piece.h, piece.h, count, states, piece.u)
            rows = np.zeros_like(states) if any(first < s <= first + count for s, _ in seeds) else None
            for s, row in seeds:
                if first < s <= first + count:
                    assert rows is not None
                    rows[s - first] += row
            signals = self.supply.during(part)
            inputs = bool(self.supply.entries)
            back = m.adjoint.fixed(
                m.table, states, lam, part.t, piece.h, seeds=rows, signals=signals, inputs=inputs, parameters=known
            )
            _check_solved(back.failed, part)
            lam = back.lam
            g = g + back.m @ numbers.chain
            if numbers.chain_projection is not None:
                g = g + back.v @ numbers.chain_projection
            if inputs and back.u is not None and signals is not None:
                knots = np.atleast_1d(np.asarray(signals.times))
                g = g + self.supply.gathered(knots[: back.u.shape[-2]].tolist(), back.u, part.t)
        return lam, g

    def _start_back(self, lam: np.ndarray) -> np.ndarray:
        """(n,) of the adjoint of the first state: through its correction, to the values that were given."""
        matrix, direct = self._start
        g = lam[: self.nx] @ direct
        return np.asarray(g + lam[: self.nx] @ matrix)

    @cached_property
    def _start(self) -> tuple[np.ndarray, np.ndarray]:
        """(nx, n) derivatives of the first state by values that were given, and by parameters that correct it."""
        t = self.tape.plan.settings.start
        held = self.tape.pieces[0].u if self.tape.pieces else self.tape.u_end
        numbers, given = self.numbers(self.first), self._widened(self.given)
        return start_derivative(self.variables, self.first, numbers, self.supply, t, given, held)

    # -- single steps and jumps

    def _step(self, k: int) -> StepDerivative:
        piece = self.tape.pieces[k]
        assert isinstance(piece, Steps)

        def make() -> StepDerivative:
            found = step_derivative(self.numbers(piece.flow), self.supply, piece, self._widened(piece.x[0]))
            gap = np.abs(found.x[: self.nx] - piece.x[-1])
            if not (gap <= RETRACED * (1 + np.abs(piece.x[-1]).max(initial=0.0))).all():
                raise DefinitionError(
                    f"the step from t = {piece.t:g} s to {piece.t_end:g} s cannot be done again as the run took it, so "
                    "that it is not differentiated. Take a smaller step, or another method."
                )
            return found

        return memory_of(self).get("step", k, make, 10**9)

    def _jump(self, k: int) -> JumpDerivative:
        def make() -> JumpDerivative:
            piece = self.tape.pieces[k]
            assert isinstance(piece, Jump)
            before = self.tape.pieces[k - 1] if k else None
            leads = isinstance(before, Steps)
            return jump_derivative(self.tape.plan, piece, self.supply, self.parameters, self.places, self.total, leads)

        return memory_of(self).get("jump", k, make, 10**9)

    # -- forwards

    def jacobian(self) -> np.ndarray:
        """(ny, n) dy/dtheta, by directions that go along with the run."""
        rows: dict[int, list[tuple[int, _Node]]] = {}
        for number, node in enumerate(self.nodes):
            rows.setdefault(node.piece, []).append((number, node))
        found: dict[int, np.ndarray] = {}
        matrix, direct = self._start
        S = np.concatenate([matrix + direct, np.zeros((self.nz, self.total))])
        c = self.controllers
        H, M = np.zeros((c.size, self.n)), np.zeros((c.remembered, self.n))  # of what is held, and remembered
        held: dict[int, np.ndarray] = {}  # H at the nodes
        tau = np.zeros(self.total)  # derivative of the instant that the run has reached
        for number, _ in rows.get(-1, ()):
            found[number], held[number] = S, H
        pieces = self.tape.pieces
        for k, piece in enumerate(pieces):
            held |= {number: H for number, _ in rows.get(k, ())}
            if isinstance(piece, Tick):
                tick = c.derivative(piece)
                own, memory = c.held[piece.controller], c.memories[piece.controller]
                new = tick.held_x @ S[: self.nx, : self.n] + tick.held_m @ M[memory]
                H, M = H.copy(), M.copy()
                M[memory] = tick.memory_x @ S[: self.nx, : self.n] + tick.memory_m @ M[memory]
                H[own] = new
                for number, _ in rows.get(k, ()):
                    found[number], held[number] = S, H
                continue
            if isinstance(piece, Jump):
                jump = self._jump(k)
                top = jump.A @ S[: self.nx] + jump.B + np.outer(jump.t, tau)
                S = np.concatenate([top, S[self.nx :]])
            elif piece.odd:
                step = self._step(k)
                S = step.A @ S + step.B + np.outer(step.t - step.h, tau)
                tau = np.zeros(self.total)
                following = pieces[k + 1] if k + 1 < len(pieces) else None
                if isinstance(following, Jump):
                    jump = self._jump(k + 1)
                    if jump.guard_x is not None and jump.guard_theta is not None:
                        rate = jump.guard_t + jump.guard_x @ step.h[: self.nx]
                        jump.check(rate, step.h[: self.nx])
                        tau = -(jump.guard_x @ S[: self.nx] + jump.guard_theta) / rate
                        S = S + np.outer(step.h, tau)
            else:
                S = self._steps_along(piece, S, rows.get(k, ()), found)
                tau = np.zeros(self.total)
                for number, _ in rows.get(k, ()):
                    found[number] = self._settled(found[number], H)
                S = self._settled(S, H)
                continue
            S, tau = self._settled(S, H), self._settled(tau, H)
            for number, _ in rows.get(k, ()):
                found[number] = S
        ends = bool(pieces) and isinstance(pieces[-1], Jump)
        y = self._push_observed(found, tau if ends else None, held)
        return np.concatenate([y, S[self.nx :]])[:, : self.n]

    def _settled(self, S: np.ndarray, H: np.ndarray) -> np.ndarray:
        """Derivatives (..., total) with those by what is held brought to theta."""
        if not len(H):
            return S
        out = S.copy()
        out[..., : self.n] += S[..., self.n :] @ H
        out[..., self.n :] = 0.0
        return out

    def _push_observed(
        self, found: Mapping[int, np.ndarray], tau: np.ndarray | None, held: Mapping[int, np.ndarray]
    ) -> np.ndarray:
        """(k * width, total); tau: derivative of the instant at which an event ended the run."""
        if not self.nodes:
            return np.zeros((0, self.total))
        flow, width = self._flow_at_end(), self.asked.width
        pull = observed_pullback(flow, self.asked.quantities)
        t, x, u = (np.repeat(a, width, axis=0) for a in self.observed)
        w = np.tile(np.eye(width), (len(self.nodes), 1))
        parts = called(pull, flow, self.parameters, t, x, u, w)
        gx = parts["gx"].reshape(len(self.nodes), width, -1)
        out = np.stack([gx[j] @ found[j][: self.nx] for j in range(len(self.nodes))])
        if "gm" in parts:
            chain = by_theta(chain_of(pull, self.parameters), pull.names, self.places, self.total)
            out += (parts["gm"] @ chain).reshape(out.shape)
        gu = parts["gu"].reshape(len(self.nodes), width, -1) if "gu" in parts else None
        if gu is not None and self.supply.entries:
            for j, node in enumerate(self.nodes):
                out[j] += self._settled(gu[j] @ self.supply.by_theta(node.t, self._begin(node)), held[j])
        last = self.nodes[-1]
        if tau is not None and last.piece == len(self.tape.pieces) - 1:
            speed = parts["gt"].reshape(len(self.nodes), width)[-1] if "gt" in parts else np.zeros(width)
            if gu is not None:
                speed = speed + gu[-1] @ self.supply.slope(last.t, last.t - 1e-9)
            out[-1] += np.outer(speed, tau)
        return out.reshape(-1, self.total)

    def _steps_along(
        self, piece: Steps, S: np.ndarray, nodes: Sequence[tuple[int, _Node]], found: dict[int, np.ndarray]
    ) -> np.ndarray:
        """S at the end of equal steps, and at nodes among them."""
        if not self.supply.only_constants:
            return self._one_by_one(piece, S, nodes, found)
        numbers = self.numbers(piece.flow)
        march, order, chain = self._directions(numbers, S)
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
            out = np.zeros((*found_columns.shape[:-1], self.total))
            if chain is None:
                out[..., order] = found_columns[..., : march.nm]
            else:
                out += found_columns[..., : march.nm] @ chain
            out[..., live] += found_columns[..., march.nm :]
            return out

        wanted = sorted({node.step for _, node in nodes} | {piece.count})
        at, x = 0, self._widened(piece.x[0])
        m = numbers.machine
        results: dict[int, np.ndarray] = {}
        for stride, many in _strides(wanted, at, int(ROOM / (8 * columns.size * 2)) + 1):
            part = Steps(piece.flow, piece.t + at * piece.h, piece.h, stride * many, piece.x[:1], piece.u)
            run = march.fixed(
                m.table, x, columns, part.t, piece.h, stride * many, stride, signals=self.supply.during(part),
                parameters=numbers.known(),
            )  # fmt: skip
            _check_solved(np.array(run.failed), part)
            for j in range(many):
                results[at + (j + 1) * stride] = run.S[j]
            at, x, columns = at + stride * many, run.x[-1], np.array(run.S[-1])
        for number, node in nodes:
            found[number] = whole(results[node.step])
        return whole(results[piece.count])

    def _directions(self, numbers: Numbers, S: np.ndarray) -> tuple[VariationalMarch, list[int], np.ndarray | None]:
        """The march along directions, the places in theta of the directions that it has, or the (nm, n) chain of the
        combinations that it takes instead where these are fewer."""
        m = numbers.machine
        names = list(self.places.items())
        constants = self.supply.constants
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
        self, piece: Steps, S: np.ndarray, nodes: Sequence[tuple[int, _Node]], found: dict[int, np.ndarray]
    ) -> np.ndarray:
        """The same by single steps: for directions that act at times of their own, points of tables."""
        numbers = self.numbers(piece.flow)
        steps = {node.step: number for number, node in nodes}
        for j in range(-(-piece.count // piece.every)):
            states = piece.x[j : j + 2] if piece.every == 1 else self._between(piece, j)
            for i in range(len(states) - 1):
                number = j * piece.every + i
                one = Steps(piece.flow, piece.t + number * piece.h, piece.h, 1, states[i : i + 2], piece.u, odd=True)
                step = step_derivative(numbers, self.supply, one, self._widened(states[i]))
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


def _check_solved(failed: np.ndarray, piece: Steps) -> None:
    if np.any(failed):
        raise DefinitionError(
            f"an implicit block of {piece.flow.name} does not converge between t = {piece.t:g} s and "
            f"{piece.t_end:g} s, so that there is no derivative. Take a smaller step."
        )


def start_derivative(
    variables: Variables, flow: Flow, numbers: Numbers, supply: Supply, t: float, given: np.ndarray, held: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(nx, total) derivatives of the first state by values that were given, and by parameters that correct it.

    given: (nx + integrals,) before the correction; held: (nu,) signals that are held from t on
    """
    nx = flow.nx
    matrix = start_matrix(variables, flow, numbers.n)
    direct = np.zeros((nx, numbers.n))
    rows = numbers.projection(t, given, supply.at(t, held))
    if rows is not None:
        matrix = rows.x[:nx, :nx] @ matrix
        direct = rows.p[:nx] + rows.u[:nx] @ supply.by_theta(t, t)
    return matrix, direct


def observed_pullback(flow: Flow, quantities: tuple[Quantity, ...]) -> Pullback:
    """Of all quantities end to end."""
    system, nodes = observing(flow, quantities)
    return memory_of(system).get("pullback", (), lambda: pulled(flow, system, nodes, "pullback"))
