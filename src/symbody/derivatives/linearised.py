"""Linearised: one run with its derivatives, forwards along directions or backwards from weights.

theta -> y: y holds the quantities at the instants that were asked for, end to end, then the integrals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from symbody.derivatives.carried_run import CarriedStates
from symbody.derivatives.instants import Node, during, end_of, nodes_at
from symbody.derivatives.jumps import JumpDerivative, check_touching, jump_derivative
from symbody.derivatives.machine import Machine, by_theta, called, chain_of, numbers_for
from symbody.derivatives.observed import Quantity, Texts, observing
from symbody.derivatives.odd_step import RETRACED, Numbers, StepDerivative, step_derivative
from symbody.derivatives.passage import BridgeDerivative, bridge_derivative, check_meeting
from symbody.derivatives.pullbacks import Pullback, pulled
from symbody.derivatives.smoothness import notes_of
from symbody.derivatives.starts import start_derivative
from symbody.derivatives.supply import Supply
from symbody.derivatives.tape import Bridge, Jump, Piece, Steps, Tape
from symbody.derivatives.ticks import Controllers, Tick
from symbody.derivatives.variables import Variables
from symbody.derived.kernels import kernel_of
from symbody.errors import DefinitionError
from symbody.flow.flow import Flow
from symbody.march.variational import VariationalMarch
from symbody.memory import memory_of

FOLLOWED = 1e3  # times the tolerance of steps that are followed by another method, which they may be off
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


class Linearised:
    """One run and its derivatives."""

    def __init__(
        self,
        tape: Tape,
        machines: Callable[[Flow, str], Machine],
        variables: Variables,
        asked: Asked,
        parameters: Mapping[str, Any],
        notes: Sequence[str] = (),
        start_flow: Flow | None = None,
        given: np.ndarray | None = None,
    ) -> None:
        """machines: of a Flow, and a method ("": that of the run). start_flow: whose projection made the start, where
        it is not that of the run. given: (nx,) the state at the start before it was corrected, where that is another
        one."""
        self.given = tape.start if given is None else given
        self.tape, self.variables, self.asked, self.parameters = tape, variables, asked, dict(parameters)
        self._notes = [*notes]
        self.n = variables.size
        self.controllers = Controllers(tape.plan.signals)
        self.total = self.n + self.controllers.size  # directions: theta, then what controllers hold
        self._machines = machines
        self._numbers: dict[tuple[int, str], Numbers] = {}
        self.places: dict[tuple[str, int], int] = {}
        for v, part in zip(variables.items, variables.slices().values(), strict=True):
            if v.kind == "parameter":
                self.places |= {(v.owner, k): part.start + j for j, k in enumerate(v.places)}
        self.first = tape.pieces[0].flow if tape.pieces else tape.plan.flow
        self.start_flow = self.first if start_flow is None else start_flow
        table = self.numbers(self.first).machine.table
        held = [c for columns in self.controllers.columns for c in columns]
        self.supply = Supply(tape.plan.signals, variables, table, held)
        self.nx, self.nz = self.first.nx, len(asked.integrals)
        self.carried = CarriedStates(tape, lambda piece: self.numbers(piece.flow, piece.method), self.supply, self.nz)
        self.nodes = self._nodes()
        check_touching(tape, self.supply, self.parameters)

    @cached_property
    def notes(self) -> list[str]:
        """What is to be known of the derivatives; corners, jumps and chatter are looked for when they are read."""
        return [*self._notes, *notes_of(self)]

    def numbers(self, flow: Flow, method: str = "") -> Numbers:
        """Programs of a Flow of the run, at its parameters. method: that of the run, or another."""
        key = id(flow), method
        if key not in self._numbers:
            self._numbers[key] = Numbers(self._machines(flow, method), self.parameters, self.places, self.total)
        return self._numbers[key]

    # -- places and values

    def _nodes(self) -> list[Node]:
        if not self.asked.quantities:
            return []
        wanted = self.asked.instants
        return [end_of(self.tape)] if wanted is None else nodes_at(self.tape, wanted.tolist())

    def _during(self, node: Node) -> Piece | None:
        return during(self.tape, node)

    def state_at(self, node: Node) -> tuple[np.ndarray, np.ndarray]:
        """(x (nx,), u (nu,)) there."""
        during = self._during(node)
        u = self.supply.at(node.t, self.tape.u_end if during is None else during.u)
        if node.piece < 0:
            return self.tape.start, u
        piece = self.tape.pieces[node.piece]
        if node.inside:
            return self._inside(node).x[: self.nx], u
        if isinstance(piece, Bridge):
            return piece.gap.x_end, u
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
        for k, piece in enumerate(self.tape.pieces):
            if isinstance(piece, Bridge):
                z = z + self._bridge(k).x[self.nx :]
            elif isinstance(piece, Steps) and self.carried.size(piece):
                z = z + self.carried.of(k)[-1, self.nx : self.nx + self.nz]
            elif isinstance(piece, Steps):
                z = self._integrated(piece, z)
        return z

    def _integrated(self, piece: Steps, z: np.ndarray) -> np.ndarray:
        """(nz,) after a piece: stretch by stretch where states are not kept, since signals of a long run would take
        the memory instead."""
        numbers = self.numbers(piece.flow, piece.method)
        for j, first in enumerate(range(0, piece.count, piece.every) if piece.every > 1 else [0]):
            count = min(piece.every, piece.count - first) if piece.every > 1 else piece.count
            part = replace(piece, t=piece.t + first * piece.h, count=count)
            z = numbers.values(part, np.concatenate([piece.x[j], z]), self.supply)[self.nx :]
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

    def _begin(self, node: Node) -> float:
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
        insides: dict[int, list[tuple[Node, np.ndarray]]] = {}
        inputs: dict[int, np.ndarray] = {}  # what the signals at instants of a piece add to directions
        times = 0.0
        if size:
            rows, direct, times, by_signals = self._pull_observed(w[:size].reshape(len(self.nodes), -1))
            g += direct
            for node, row, part in zip(self.nodes, rows, by_signals):
                inputs[node.piece] = inputs.get(node.piece, 0.0) + part
                if node.inside:
                    insides.setdefault(node.piece, []).append((node, self._widened(row)))
                else:
                    seeds.setdefault(node.piece, []).append((node.step, self._widened(row)))
        after: JumpDerivative | None = None
        t_bar = 0.0
        own = self.nx + self.nz
        later = np.zeros(0)  # adjoint of what a method carries into the piece after
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
            if isinstance(piece, Bridge):
                for _, row in seeds.get(k, ()):
                    lam = lam + row
                bridge = self._bridge(k)
                g += bridge.B.T @ lam
                lam, t_bar = bridge.A.T @ lam, 0.0
                continue
            carried = self.carried.size(piece)
            if carried:
                lam = np.concatenate([lam, later if len(later) else np.zeros(carried)])
            if piece.odd:
                for _, row in seeds.get(k, ()):
                    lam = lam + np.concatenate([row, np.zeros(carried)])
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
            else:
                lam, g = self._steps_back(k, piece, lam, g, seeds.get(k, ()))
                t_bar = 0.0
            lam, later = lam[:own], lam[own:]
            for node, row in insides.get(k, ()):
                short = self._inside(node)
                lam, g = lam + short.A.T @ row, g + short.B.T @ row
                t_bar += float((short.t - short.h) @ row)
            begin = self.carried.begin(k, self.places, self.total) if carried else None
            if begin is not None:
                lam, g, t_bar = lam + begin.x.T @ later, g + later @ begin.p, t_bar + float(begin.t @ later)
                later = np.zeros(0)
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
        self, k: int, piece: Steps, lam: np.ndarray, g: np.ndarray, seeds: Sequence[tuple[int, np.ndarray]]
    ) -> tuple[np.ndarray, np.ndarray]:
        numbers = self.numbers(piece.flow)
        m = numbers.machine
        known = numbers.known()
        whole = -(-piece.count // piece.every) if piece.every > 1 else 1
        for j in reversed(range(whole)):
            first = j * piece.every if piece.every > 1 else 0
            count = min(piece.every, piece.count - first) if piece.every > 1 else piece.count
            if self.carried.size(piece):
                states = self.carried.of(k)
            else:
                states = self._widened(self._between(piece, j) if piece.every > 1 else piece.x)
            part = Steps(piece.flow, piece.t + first * piece.h, piece.h, count, states, piece.u)
            rows = np.zeros_like(states) if any(first < s <= first + count for s, _ in seeds) else None
            for s, row in seeds:
                if first < s <= first + count:
                    assert rows is not None
                    rows[s - first, : len(row)] += row
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
        return start_derivative(
            self.variables, self.first, self.start_flow, self.parameters, self.places, self.total, self.supply, t,
            self.given, held,
        )  # fmt: skip

    # -- single steps and jumps

    def _step(self, k: int) -> StepDerivative:
        piece = self.tape.pieces[k]
        assert isinstance(piece, Steps)

        def make() -> StepDerivative:
            numbers = self.numbers(piece.flow, piece.method)
            x = self.carried.of(k)[0] if self.carried.size(piece) else self._widened(piece.x[0])
            found = step_derivative(numbers, self.supply, piece, x)
            gap = np.abs(found.x[: self.nx] - piece.x[-1])
            if not (gap <= max(RETRACED, FOLLOWED * piece.rtol) * (1 + np.abs(piece.x[-1]).max(initial=0.0))).all():
                raise DefinitionError(
                    f"the step from t = {piece.t:g} s to {piece.t_end:g} s cannot be done again as the run took it, so "
                    "that it is not differentiated. Take a smaller step, or another method."
                )
            return found

        return memory_of(self).get("step", k, make, 10**9)

    def _inside(self, node: Node) -> StepDerivative:
        """Of a shorter step that ends at a node, from where the step about it begins."""

        def make() -> StepDerivative:
            piece = self.tape.pieces[node.piece]
            assert isinstance(piece, Steps)
            part = replace(piece, h=node.inside, x=piece.x[:1] + node.inside / piece.h * (piece.x - piece.x[:1]))
            return step_derivative(self.numbers(piece.flow, piece.method), self.supply, part, self._widened(piece.x[0]))

        return memory_of(self).get("inside", (node.piece, node.t), make, 10**9)

    def _bridge(self, k: int) -> BridgeDerivative:
        def make() -> BridgeDerivative:
            piece = self.tape.pieces[k]
            assert isinstance(piece, Bridge)
            check_meeting(piece, self.places)
            return bridge_derivative(self.numbers(piece.flow, "dopri8"), self.supply, piece, self.nz)

        return memory_of(self).get("bridge", k, make, 10**9)

    def _jump(self, k: int) -> JumpDerivative:
        def make() -> JumpDerivative:
            piece = self.tape.pieces[k]
            assert isinstance(piece, Jump)
            before = self.tape.pieces[k - 1] if k else None
            leads = isinstance(before, Steps)
            closing = self._machines(piece.flow, "").plain
            return jump_derivative(
                self.tape.plan, piece, self.supply, self.parameters, self.places, self.total, leads, closing
            )

        return memory_of(self).get("jump", k, make, 10**9)

    # -- forwards

    def jacobian(self) -> np.ndarray:
        """(ny, n) dy/dtheta, by directions that go along with the run."""
        rows: dict[int, list[tuple[int, Node]]] = {}
        inside: dict[int, list[tuple[int, Node]]] = {}
        for number, node in enumerate(self.nodes):
            (inside if node.inside else rows).setdefault(node.piece, []).append((number, node))
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
            for number, node in inside.get(k, ()):
                part = self._inside(node)
                found[number] = self._settled(part.A @ S + part.B + np.outer(part.t - part.h, tau), H)
                held[number] = H
            if isinstance(piece, Steps):
                S = self._with_carried(k, piece, S, tau)
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
                S = np.concatenate([top, S[self.nx : self.nx + self.nz]])
            elif isinstance(piece, Bridge):
                bridge = self._bridge(k)
                S, tau = bridge.A @ S[: self.nx + self.nz] + bridge.B, np.zeros(self.total)
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
                S = self._steps_along(k, piece, S, rows.get(k, ()), found)
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
        return np.concatenate([y, S[self.nx : self.nx + self.nz]])[:, : self.n]

    def _with_carried(self, k: int, piece: Steps, S: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """S with rows for what a method carries in a piece; tau: derivative of the instant at which it begins."""
        carried, size = self.carried.size(piece), self.nx + self.nz
        begin = self.carried.begin(k, self.places, self.total) if carried else None
        if begin is None:
            return S if carried else S[:size]
        return np.concatenate([S[:size], begin.x @ S[:size] + begin.p + np.outer(begin.t, tau)])

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
        self, k: int, piece: Steps, S: np.ndarray, nodes: Sequence[tuple[int, Node]], found: dict[int, np.ndarray]
    ) -> np.ndarray:
        """S at the end of equal steps, and at nodes among them."""
        if not self.supply.only_constants:
            return self._one_by_one(k, piece, S, nodes, found)
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
        at, x = 0, self.carried.of(k)[0] if self.carried.size(piece) else self._widened(piece.x[0])
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
        self, k: int, piece: Steps, S: np.ndarray, nodes: Sequence[tuple[int, Node]], found: dict[int, np.ndarray]
    ) -> np.ndarray:
        """The same by single steps: for directions that act at times of their own, points of tables."""
        numbers = self.numbers(piece.flow)
        steps = {node.step: number for number, node in nodes}
        for j in range(-(-piece.count // piece.every)):
            states = piece.x[j : j + 2] if piece.every == 1 else self._between(piece, j)
            for i in range(len(states) - 1):
                number = j * piece.every + i
                one = Steps(piece.flow, piece.t + number * piece.h, piece.h, 1, states[i : i + 2], piece.u, odd=True)
                x = self.carried.of(k)[number] if self.carried.size(piece) else self._widened(states[i])
                step = step_derivative(numbers, self.supply, one, x)
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


def observed_pullback(flow: Flow, quantities: tuple[Quantity, ...]) -> Pullback:
    """Of all quantities end to end."""
    system, nodes = observing(flow, quantities)
    return memory_of(system).get("pullback", (), lambda: pulled(flow, system, nodes, "pullback"))
