"""What a method carries along the pieces of a run: its values, and how it begins."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from symbody.basics.errors import DefinitionError
from symbody.basics.memory import memory_of
from symbody.mechanics.memoised.kernels import kernel_of
from symbody.motion.derivatives.machine import DerivativeRows, by_theta, chain_of, numbers_for, rows_of
from symbody.motion.derivatives.odd_step import RETRACED, RunPullbacks
from symbody.motion.derivatives.pullbacks import pulled
from symbody.motion.derivatives.supply import Supply
from symbody.motion.derivatives.tape import Steps, Tape


class CarriedStates:
    """States of pieces with their integrals and with what is carried, which is computed again from piece to piece."""

    def __init__(self, tape: Tape, numbers: Callable[[Steps], RunPullbacks], supply: Supply, nz: int) -> None:
        self.tape, self.numbers, self.supply, self.nz = tape, numbers, supply, nz
        self._steps: dict[int, np.ndarray] | None = None

    def size(self, piece: Steps) -> int:
        """How many numbers are carried in a piece."""
        machine = self.numbers(piece).machine
        return machine.nx - machine.n_states - self.nz

    def of(self, k: int) -> np.ndarray:
        """(count + 1, nx) states of the steps of piece k with all that belongs to them; integrals from zero on."""
        if self._steps is None:
            self._steps = self._followed()
        return self._steps[k]

    def _followed(self) -> dict[int, np.ndarray]:
        out: dict[int, np.ndarray] = {}
        carried: np.ndarray | None = None
        for k, piece in enumerate(self.tape.pieces):
            if not isinstance(piece, Steps) or not self.size(piece):
                continue
            numbers = self.numbers(piece)
            m = numbers.machine
            if piece.fresh or carried is None:
                carried = self._initial(piece, numbers)
            first = np.concatenate([piece.x[0], np.zeros(self.nz), carried])
            run = m.march.fixed(
                m.table,
                first,
                piece.t,
                piece.h,
                piece.count,
                1,
                signals=self.supply.during(piece),
                parameters=numbers.known(),
            )
            states = np.concatenate([first[None], np.asarray(run.x)])
            gap = np.abs(states[:, : m.n_states] - piece.x)
            if int(run.status) != 0 or not (gap <= RETRACED * (1 + np.abs(piece.x).max(initial=0.0))).all():
                raise DefinitionError(
                    f"the steps from t = {piece.t:g} s to {piece.t_end:g} s cannot be done again as the run took them, "
                    "so that they are not differentiated. Take another method."
                )
            out[k], carried = states, states[-1, m.n_states + self.nz :]
        return out

    def _initial(self, piece: Steps, numbers: RunPullbacks) -> np.ndarray:
        start, before = numbers.machine.start, numbers.machine.flow
        assert start is not None
        kernel = kernel_of(start)
        x = np.concatenate([piece.x[0], np.zeros(self.nz)])
        named = before.layout.named(piece.t, x, self.supply.at(piece.t, piece.u))
        given = numbers_for(kernel, numbers.parameters)
        found = kernel.call_with_status(*(named[p.name] for p in kernel.inputs), parameters=given)[0]
        parts = found if len(kernel.outputs) > 1 else [found]
        return np.concatenate([np.ravel(part) for part in parts])

    def begin(self, k: int, places: dict[tuple[str, int], int], n: int) -> DerivativeRows | None:
        """Derivatives of what is carried at the beginning of piece k by the state there; None where it goes on."""
        piece = self.tape.pieces[k]
        assert isinstance(piece, Steps)
        if not piece.fresh:
            return None
        numbers = self.numbers(piece)
        start, before, parameters = numbers.machine.start, numbers.machine.flow, numbers.parameters
        assert start is not None
        nodes = [x for a in start.outputs.values() for x in a.flat]
        pull = memory_of(start).get("pullback", (), lambda: pulled(before, start, nodes, "pullback"))
        chain = by_theta(chain_of(pull, parameters), pull.names, places, n)
        x = np.concatenate([piece.x[0], np.zeros(self.nz)])
        u = self.supply.at(piece.t, piece.u)
        found = rows_of(pull, before, parameters, chain, piece.t, x, u, len(nodes))
        direct = found.p + found.u @ self.supply.by_theta(piece.t, piece.t)
        moved = found.t + found.u @ self.supply.slope(piece.t, piece.t + 1e-9)
        return DerivativeRows(found.x, moved, found.h, found.u, direct)
