"""Second derivatives of a run along directions: exactly those of its steps where it is smooth, else by differences.

The steps are taken again together with their derivative along a direction v (`tangent`), and the adjoint of both gives
the gradient of v^T g, g the gradient of the objective: H v. All of it is native; directions go in lanes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from symbody.basics.errors import DefinitionError
from symbody.basics.memory import memory_of
from symbody.motion.derivatives.linearised import Linearised
from symbody.motion.derivatives.machine import called, chain_of
from symbody.motion.derivatives.observed import observing
from symbody.motion.derivatives.odd_step import by_theta
from symbody.motion.derivatives.pullbacks import Pullback, projection_pullback, pulled
from symbody.motion.derivatives.tangent import ALONG, TangentMachine, tangent_flow, tangent_machine, tangent_system
from symbody.motion.derivatives.tape import Bridge, Steps, spacing
from symbody.motion.derivatives.variables import start_matrix
from symbody.motion.march.run import Signals

HESSIAN_STEP = 2e-4
AGREE = 1e-4  # of the largest component: how far differences of two lengths may be apart
EXACT = "exact: the derivative of the steps as they were taken."


@dataclass(frozen=True, eq=False)
class HessianVector:
    """H v of a scalar objective of a run; NumPy takes it for `product`.

    product    (n,) or, of several directions, (k, n): how the gradient changes along each direction
    gradient   (n,) of the objective
    exact      whether it is the derivative of the steps themselves; else it comes from differences of gradients
    note       how it was found
    """

    product: np.ndarray
    gradient: np.ndarray
    exact: bool
    note: str

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.product, dtype=dtype, copy=True if copy is None else copy)


def why_not_exact(run: Linearised) -> str | None:
    """Why second derivatives of a run are not those of its steps; None where they are."""
    name, tape, method = run.first.name, run.tape, run.tape.plan.settings.method
    if run.controllers.size:
        return f"{name} has sampled controllers"
    passages = [piece for piece in tape.pieces if isinstance(piece, Bridge)]
    if passages:
        return f"{name} passes a singular position after t = {passages[0].t:g} s"
    for piece in tape.pieces:
        if not isinstance(piece, Steps):
            return f"{name} has an event at t = {piece.t:g} s"
        if piece.flow is not run.first:
            return f"the equations of {name} are replaced at t = {piece.t:g} s"
        if piece.method:
            return f"steps of {method!r} are solved again one by one"
        if run.carried.size(piece):
            return f"method {method!r} carries rates from step to step"
    if any(node.inside for node in run.nodes):
        return "quantities are asked for between chosen steps"
    return None


def exact_products(run: Linearised, directions: np.ndarray, weights: np.ndarray, room: float) -> HessianVector:
    """H v of w^T y for directions (k, n), exactly. room: bytes that states may take on the way."""
    return _Second(run, directions, room).products(weights)


def differences(gradient: Callable[[np.ndarray], np.ndarray], at: np.ndarray, way: np.ndarray, name: str) -> np.ndarray:
    """(n,) H v by central differences of gradients with two lengths, extrapolated (error of order 4).

    Where the two do not agree, an event changes its place among the steps, and it is refused.
    """
    length = float(np.abs(way).max(initial=0.0))
    if length == 0.0:
        return np.zeros_like(at)
    size = HESSIAN_STEP * max(1.0, float(np.abs(at).max(initial=0.0))) / length

    def change(e: float) -> np.ndarray:
        return (gradient(at + e * way) - gradient(at - e * way)) / (2 * e)

    coarse, fine = change(size), change(size / 2)
    if np.abs(fine - coarse).max() > AGREE * max(np.abs(fine).max(), 1e-12):
        raise DefinitionError(
            f"second derivatives of {name} are not determined there: gradients on both sides do not change smoothly. A "
            "law has a kink nearby, steps are chosen by too large a tolerance, or numbers of very different size are "
            "varied together."
        )
    return (4 * fine - coarse) / 3


class _Second:
    """The steps of one run with their derivatives along directions, and the way back.

    Results have 2n columns: derivatives by theta, then by the direction, which are the gradient.
    """

    def __init__(self, run: Linearised, directions: np.ndarray, room: float) -> None:
        self.run, self.V = run, directions
        self.n, self.b = run.n, len(directions)
        machine = run.numbers(run.first).machine
        self.machine: TangentMachine = tangent_machine(machine)
        self.start_tangent = tangent_flow(run.start_flow)  # whose projection corrects the start
        self.size = machine.nx  # states and integrals; as many derivatives follow
        self.nx, self.nu = run.nx, run.supply.signals.size
        steps = sum(piece.count for piece in run.tape.pieces if isinstance(piece, Steps))
        every = spacing(steps, 2 * self.size * self.b, room)
        self.most = max(1, steps if every == 1 else every)  # steps that are taken at once
        self.places = dict(run.places) | {(ALONG + n, k): self.n + at for (n, k), at in run.places.items()}
        self.along = self._along()

    # -- numbers

    def _along(self) -> dict[str, np.ndarray]:
        """Parameter of the direction -> (k, *shape)."""
        run, out = self.run, {}
        systems = [*self.machine.flow.systems.values(), *self.start_tangent.systems.values()]
        if run.nodes:
            systems.append(self._observed().system)
        if self.machine.step is not None:
            systems.append(self.machine.step)
        for system in systems:
            for name, symbols in system.parameters.items():
                if not name.startswith(ALONG) or name in out:
                    continue
                flat = np.zeros((self.b, symbols.size))
                for (owner, k), at in run.places.items():
                    if ALONG + owner == name:
                        flat[:, k] += self.V[:, at]
                out[name] = flat.reshape(self.b, *symbols.shape)
        return out

    def _known(self) -> dict[str, Any] | None:
        """Parameters of the march's programs, those of the directions lane by lane."""
        have = {p.name for k in self.machine.adjoint.ports.kernels.values() for p in k.parameters}
        return {n: v for n, v in {**self.run.parameters, **self.along}.items() if n in have} or None

    def _member(self, i: int) -> dict[str, Any]:
        """Parameters of one direction."""
        return {**self.run.parameters, **{n: v[i] for n, v in self.along.items()}}

    def _chained(self, pull: Pullback, m: np.ndarray) -> np.ndarray:
        """(k, 2n) from the adjoints (k, nm) of the combinations of parameters."""
        found = [
            row @ by_theta(chain_of(pull, self._member(i)), pull.names, self.places, 2 * self.n)
            for i, row in enumerate(m)
        ]
        return np.array(found)

    def _moved(self, t: float, begin: float) -> np.ndarray:
        """(k, nu) change of the signals along the directions."""
        if not self.run.supply.entries:
            return np.zeros((self.b, self.nu))
        return np.asarray(self.V @ self.run.supply.by_theta(t, begin).T)

    def _signals(self, part: Steps) -> Signals | None:
        base = self.run.supply.during(part)
        if base is None:
            return None
        values = np.asarray(base.values)
        values = values if values.ndim == 2 else values[None]
        times = np.atleast_1d(np.asarray(base.times, dtype=float))[: len(values)]
        along = np.stack([self._moved(float(t), part.t) for t in times], axis=1)
        return Signals(times, np.concatenate([np.broadcast_to(values, along.shape), along], axis=-1))

    # -- forwards

    def _parts(self) -> list[tuple[int, int, Steps]]:
        """(piece, first step, steps): as many at once as there is room for."""
        out = []
        for k, piece in enumerate(self.run.tape.pieces):
            assert isinstance(piece, Steps)
            for first in range(0, piece.count, self.most):
                count = min(self.most, piece.count - first)
                out.append((k, first, replace(piece, t=piece.t + first * piece.h, count=count)))
        return out

    def _marched(self, part: Steps, x: np.ndarray, every: int) -> np.ndarray:
        """(k, steps / every, 2 size) states and derivatives after the steps."""
        m = self.machine
        run = m.march.fixed(
            m.table, x, part.t, part.h, part.count, every, signals=self._signals(part), parameters=self._known()
        )
        if np.any(np.asarray(run.status) != 0):
            raise DefinitionError(f"the steps from t = {part.t:g} s on could not be done again.")
        return np.asarray(run.x)

    def _start(self) -> tuple[np.ndarray, np.ndarray]:
        """(k, 2 size) at the start: as the run began, and as it was given, before it was corrected."""
        run, size = self.run, self.size
        matrix, direct = run.of_start
        corrected = np.zeros((self.b, 2 * size))
        given = corrected.copy()
        corrected[:, : self.nx], given[:, : self.nx] = run.tape.start, run.given
        corrected[:, size : size + self.nx] = self.V @ (matrix + direct)[:, : self.n].T
        given[:, size : size + self.nx] = self.V @ start_matrix(run.variables, run.first, self.n).T
        return corrected, given

    # -- backwards

    def products(self, weights: np.ndarray) -> HessianVector:
        """weights (ny,)"""
        run, size = self.run, self.size
        width = run.requested.width
        w = weights[: len(run.nodes) * width].reshape(len(run.nodes), width)
        x, given = self._start()
        first = x
        parts, starts = self._parts(), []
        states: np.ndarray | None = None
        for number, (_, _, part) in enumerate(parts):
            starts.append(x)
            last = number == len(parts) - 1  # its states are kept: it is the first on the way back
            states = self._marched(part, x, 1 if last else part.count)
            x = states[:, -1]
        lam = np.zeros((self.b, 2 * size))
        lam[:, size + self.nx :] = weights[len(run.nodes) * width :]
        g = np.zeros((self.b, 2 * self.n))
        for (k, begin, part), start in zip(reversed(parts), reversed(starts)):
            rest = self._marched(part, start, 1) if states is None else states
            states = None
            whole = np.concatenate([start[:, None], rest], axis=1)
            here = [j for j, node in enumerate(run.nodes) if node.piece == k and 0 < node.step - begin <= part.count]
            seeds = None
            if here:
                rows, more = self._pull_observed(here, whole[:, [run.nodes[j].step - begin for j in here]], w)
                seeds, g = np.zeros_like(whole), g + more
                for j, row in zip(here, np.swapaxes(rows, 0, 1)):
                    seeds[:, run.nodes[j].step - begin] += row
            lam, g = self._steps_back(part, whole, lam, g, seeds)
        here = [j for j, node in enumerate(run.nodes) if node.piece < 0]
        if here:
            rows, more = self._pull_observed(here, np.repeat(first[:, None], len(here), axis=1), w)
            lam, g = lam + rows.sum(axis=1), g + more
        g = g + self._start_back(lam, given)
        return HessianVector(g[:, : self.n], g[0, self.n :], True, EXACT)

    def _steps_back(
        self, part: Steps, states: np.ndarray, lam: np.ndarray, g: np.ndarray, seeds: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        m, run = self.machine, self.run
        signals, inputs = self._signals(part), bool(run.supply.entries)
        back = m.adjoint.fixed(
            m.table, states, lam, part.t, part.h, seeds=seeds, signals=signals, inputs=inputs, parameters=self._known()
        )
        if back.failed.any():
            raise DefinitionError(f"an implicit block of {run.first.name} does not converge after t = {part.t:g} s.")
        g = g + self._chained(m.pull, back.m)
        if m.pulled is not None:
            g = g + self._chained(m.pulled, back.v)
        if inputs and back.u is not None and signals is not None:
            g = g + self._gathered(np.asarray(signals.times).tolist(), back.u, part.t)
        return back.lam, g

    def _gathered(self, times: list[float], u: np.ndarray, begin: float) -> np.ndarray:
        """(k, 2n) from adjoints (k, times, 2 nu) of the signals and of their changes."""
        halves = (u[..., : self.nu], u[..., self.nu :])
        return np.concatenate([self.run.supply.gathered(times, part, begin) for part in halves], axis=-1)

    def _observed(self) -> Pullback:
        """Pullback of the derivatives of all quantities along the direction."""
        run = self.run
        system, nodes = observing(run.tape.plan.flow, run.requested.quantities)

        def make() -> Pullback:
            whole = np.empty(len(nodes), dtype=object)
            whole[:] = nodes
            made = tangent_system(system, {"y": whole}, run.first.states, {"y": ALONG + "y"})
            return pulled(self.machine.flow, made, list(made.output(ALONG + "y").flat), "second")

        return memory_of(system).get("second", (self.machine.flow.name, self.size), make)

    def _pull_observed(self, here: list[int], x: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(seeds (k, nodes, 2 size), (k, 2n)) of weights on the quantities at some nodes, in the states x there."""
        run, pull = self.run, self._observed()
        g = np.zeros((self.b, 2 * self.n))
        nodes = [run.nodes[j] for j in here]
        t = np.array([node.t for node in nodes])
        during = [run.during(node) for node in nodes]
        held = [run.supply.at(s, run.tape.u_end if d is None else d.u) for s, d in zip(t.tolist(), during)]
        begins = [run.begin(node) for node in nodes]
        moved = np.stack([self._moved(s, begin) for s, begin in zip(t.tolist(), begins)], axis=1)
        u = np.concatenate([np.broadcast_to(np.array(held), moved.shape), moved], axis=-1)
        rows = np.zeros_like(x)
        for i in range(self.b):
            parts = called(pull, self.machine.flow, self._member(i), t, x[i], u[i], w[here])
            rows[i] = parts["gx"]
            if "gm" in parts:
                chain = by_theta(chain_of(pull, self._member(i)), pull.names, self.places, 2 * self.n)
                g[i] += parts["gm"].sum(axis=0) @ chain
            if "gu" in parts and run.supply.entries:
                for j, s in enumerate(t.tolist()):
                    g[i] += self._gathered([s], parts["gu"][j][None], begins[j])
        return rows, g

    def _start_back(self, lam: np.ndarray, given: np.ndarray) -> np.ndarray:
        """(k, 2n) of the adjoint at the start: through the correction of what was given."""
        run, pull = self.run, projection_pullback(self.start_tangent)
        own = [*range(self.nx), *range(self.size, self.size + self.nx)]  # without integrals
        lam, given = lam[:, own], given[:, own]
        g = np.zeros((self.b, 2 * self.n))
        if pull is not None:
            t = float(run.tape.plan.settings.start)
            u = run.supply.at(t, run.tape.pieces[0].u if run.tape.pieces else run.tape.u_end)
            moved, back = self._moved(t, t), np.zeros_like(lam)
            for i in range(self.b):
                wide = np.concatenate([u, moved[i]])[None]
                parts = called(
                    pull, self.start_tangent, self._member(i), np.array([t]), given[i : i + 1], wide, lam[i : i + 1]
                )
                back[i] = parts["gx"][0]
                if "gm" in parts:
                    chain = by_theta(chain_of(pull, self._member(i)), pull.names, self.places, 2 * self.n)
                    g[i] += parts["gm"][0] @ chain
                if "gu" in parts and run.supply.entries:
                    g[i] += self._gathered([t], parts["gu"], t)
            lam = back
        matrix = start_matrix(run.variables, run.first, self.n)
        g[:, : self.n] += lam[:, : self.nx] @ matrix
        g[:, self.n :] += lam[:, self.nx :] @ matrix
        return g
