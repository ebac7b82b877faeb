"""Linearised: one run with its values, and the derivatives of its pieces.

`forwards` carries directions along the pieces, `backwards` weights back.

theta -> y: y holds the quantities at the instants that were asked for, end to end, then the integrals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from symbody.basics.errors import DefinitionError
from symbody.basics.memory import memory_of
from symbody.mechanics.memoised.kernels import kernel_of
from symbody.motion.derivatives.backwards import vjp
from symbody.motion.derivatives.carried_run import CarriedStates
from symbody.motion.derivatives.forwards import jacobian
from symbody.motion.derivatives.instants import PieceInstant, during, end_of, nodes_at
from symbody.motion.derivatives.jumps import JumpDerivative, check_touching, jump_derivative
from symbody.motion.derivatives.machine import Machine, numbers_for
from symbody.motion.derivatives.observed import ObservedQuantity, Texts, observing
from symbody.motion.derivatives.odd_step import RETRACED, RunPullbacks, StepDerivative, speed_before, step_derivative
from symbody.motion.derivatives.passage import BridgeDerivative, bridge_derivative, check_meeting
from symbody.motion.derivatives.smoothness import notes_of
from symbody.motion.derivatives.starts import start_derivative
from symbody.motion.derivatives.supply import Supply
from symbody.motion.derivatives.tape import Bridge, Jump, Piece, Steps, Tape
from symbody.motion.derivatives.ticks import Controllers, Tick
from symbody.motion.derivatives.variables import Variables
from symbody.motion.flow.flow import Flow

FOLLOWED = 1e3  # times the tolerance of steps that are followed by another method, which they may be off


@dataclass(frozen=True, eq=False)
class Requested:
    """What is differentiated: quantities at instants (s), and integrals over the run."""

    quantities: tuple[ObservedQuantity, ...]
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
        asked: Requested,
        parameters: Mapping[str, Any],
        notes: Sequence[str] = (),
        start_flow: Flow | None = None,
        given: np.ndarray | None = None,
    ) -> None:
        """machines: of a Flow, and a method ("": that of the run). start_flow: whose projection made the start, where
        it is not that of the run. given: (nx,) the state at the start before it was corrected, where that is another
        one."""
        self.given = tape.start if given is None else given
        self.tape, self.variables, self.requested, self.parameters = tape, variables, asked, dict(parameters)
        self._notes = [*notes]
        self.n = variables.size
        self.controllers = Controllers(tape.plan.signals, variables)
        self.total = self.n + self.controllers.size  # directions: theta, then what controllers hold
        self._machines = machines
        self._numbers: dict[tuple[int, str], RunPullbacks] = {}
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

    def numbers(self, flow: Flow, method: str = "") -> RunPullbacks:
        """Programs of a Flow of the run, at its parameters. method: that of the run, or another."""
        key = id(flow), method
        if key not in self._numbers:
            self._numbers[key] = RunPullbacks(self._machines(flow, method), self.parameters, self.places, self.total)
        return self._numbers[key]

    # -- places and values

    def _nodes(self) -> list[PieceInstant]:
        if not self.requested.quantities:
            return []
        wanted = self.requested.instants
        return [end_of(self.tape)] if wanted is None else nodes_at(self.tape, wanted.tolist())

    def during(self, node: PieceInstant) -> Piece | None:
        """The piece whose signals are those at a node."""
        return during(self.tape, node)

    def begin(self, node: PieceInstant) -> float:
        """The instant that says which point of a held table is in force."""
        during = self.during(node)
        return node.t if during is None else during.t

    def state_at(self, node: PieceInstant) -> tuple[np.ndarray, np.ndarray]:
        """(x (nx,), u (nu,)) there."""
        during = self.during(node)
        u = self.supply.at(node.t, self.tape.u_end if during is None else during.u)
        if node.piece < 0:
            return self.tape.start, u
        piece = self.tape.pieces[node.piece]
        if node.inside:
            return self.inside(node).x[: self.nx], u
        if isinstance(piece, Bridge):
            return piece.gap.x_end, u
        if isinstance(piece, Jump | Tick):
            return piece.after if isinstance(piece, Jump) else piece.x, u
        whole, rest = divmod(node.step, piece.every)
        if rest == 0 or node.step == piece.count:
            return piece.x[whole if rest == 0 else -1], u
        return self.between(piece, whole)[rest], u

    def between(self, piece: Steps, whole: int) -> np.ndarray:
        """(m+1, nx) all states of the steps after kept state number `whole`."""
        numbers = self.numbers(piece.flow)
        count = min(piece.every, piece.count - whole * piece.every)
        t = piece.t + whole * piece.every * piece.h
        part = Steps(piece.flow, t, piece.h, count, piece.x[whole : whole + 1], piece.u)
        m = numbers.machine
        x = self.widened(piece.x[whole])
        run = m.march.fixed(
            m.table, x, t, piece.h, count, 1, signals=self.supply.during(part), parameters=numbers.known()
        )
        return np.concatenate([piece.x[whole][None], np.asarray(run.x)[:, : self.nx]])

    def widened(self, x: np.ndarray) -> np.ndarray:
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
                z = z + self.bridge(k).x[self.nx :]
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
        system, _ = observing(self.tape.plan.flow, self.requested.quantities)
        kernel = kernel_of(system)
        t, x, u = self.observed
        named = self.first.layout.named(t, x, u)
        found = kernel(*(named[p.name] for p in kernel.inputs), parameters=numbers_for(kernel, self.parameters))
        return np.concatenate([np.asarray(found).reshape(-1), self.integrals])

    # -- derivatives

    def vjp(self, weights: np.ndarray) -> np.ndarray:
        """(n,) w^T dy/dtheta of weights w (ny,)."""
        return vjp(self, np.asarray(weights, dtype=float))

    def jacobian(self) -> np.ndarray:
        """(ny, n) dy/dtheta, by directions that go along with the run."""
        return jacobian(self)

    # -- of single pieces

    @cached_property
    def of_start(self) -> tuple[np.ndarray, np.ndarray]:
        """(nx, n) derivatives of the first state by values that were given, and by parameters that correct it."""
        t = self.tape.plan.settings.start
        held = self.tape.pieces[0].u if self.tape.pieces else self.tape.u_end
        return start_derivative(
            self.variables, self.first, self.start_flow, self.parameters, self.places, self.total, self.supply, t,
            self.given, held,
        )  # fmt: skip

    def step(self, k: int) -> StepDerivative:
        """Derivative of piece k, which is one step whose instants may move."""
        piece = self.tape.pieces[k]
        assert isinstance(piece, Steps)

        def make() -> StepDerivative:
            numbers = self.numbers(piece.flow, piece.method)
            x = self.carried.of(k)[0] if self.carried.size(piece) else self.widened(piece.x[0])
            found = step_derivative(numbers, self.supply, piece, x)
            gap = np.abs(found.x[: self.nx] - piece.x[-1])
            if not (gap <= max(RETRACED, FOLLOWED * piece.rtol) * (1 + np.abs(piece.x[-1]).max(initial=0.0))).all():
                raise DefinitionError(
                    f"the step from t = {piece.t:g} s to {piece.t_end:g} s cannot be done again as the run took it, so "
                    "that it is not differentiated. Take a smaller step, or another method."
                )
            following = self.tape.pieces[k + 1] if k + 1 < len(self.tape.pieces) else None
            chosen = self.tape.plan.settings.step is None and numbers.machine.table is not None
            if not chosen or not isinstance(following, Jump):
                return found
            speed = speed_before(numbers, self.supply, piece, x, found.x)
            return replace(found, h=speed, t=found.t + speed - found.h)

        return memory_of(self).get("step", k, make, 10**9)

    def inside(self, node: PieceInstant) -> StepDerivative:
        """Derivative of a shorter step that ends at a node, from where the step about it begins."""

        def make() -> StepDerivative:
            piece = self.tape.pieces[node.piece]
            assert isinstance(piece, Steps)
            part = replace(piece, h=node.inside, x=piece.x[:1] + node.inside / piece.h * (piece.x - piece.x[:1]))
            return step_derivative(self.numbers(piece.flow, piece.method), self.supply, part, self.widened(piece.x[0]))

        return memory_of(self).get("inside", (node.piece, node.t), make, 10**9)

    def bridge(self, k: int) -> BridgeDerivative:
        """Derivative of piece k, across a singular position."""

        def make() -> BridgeDerivative:
            piece = self.tape.pieces[k]
            assert isinstance(piece, Bridge)
            check_meeting(piece, self.places)
            return bridge_derivative(self.numbers(piece.flow, "dopri8"), self.supply, piece, self.nz)

        return memory_of(self).get("bridge", k, make, 10**9)

    def jump(self, k: int) -> JumpDerivative:
        """Derivative of piece k, at which states jump."""

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
