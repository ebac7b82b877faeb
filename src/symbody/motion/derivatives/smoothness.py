"""What stands between the derivative of the steps of a run and that of its motion: kinks, jumps of laws, steep laws.

The derivative of the steps is exact wherever laws are smooth. Three things are told, with their time:

    a kink     a state stands where a law has a corner (|x| at x = 0): derivatives on its two sides differ
    a jump     a law jumps between two steps (sign, floor, a choice between two values) without an event: how that
               instant moves is not in the derivative of the steps
    chatter    an explicit method takes steps too long for a fast decay: the state stays near, its derivative grows
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from symbody.basics.memory import memory_of
from symbody.mechanics.memoised.kernels import kernel_of
from symbody.motion.derivatives.carried import carries
from symbody.motion.derivatives.machine import called, numbers_for
from symbody.motion.derivatives.observed import observing
from symbody.motion.derivatives.pullbacks import Pullback, rates_pullback
from symbody.motion.derivatives.tape import Jump, Steps
from symbody.motion.flow.flow import Flow
from symbody.motion.march.method_tables import RungeKutta
from symbody.motion.methods.implicit_step import DIAGONAL
from symbody.symbolic.expr.call import call
from symbody.symbolic.expr.node import BOUND, Node
from symbody.symbolic.expr.walk import free_symbols, topological
from symbody.symbolic.system.system import System, node_array

if TYPE_CHECKING:
    from symbody.motion.derivatives.linearised import Linearised

AT = 1e-13  # of the largest argument in a run: nearer to a corner counts as at it
NEAR = 1e-12  # s: how far roundings may carry the end of a step from the event that ends it
JUMP = 1e-6  # change of a rate across a switch, beside the sizes of the rates, that counts as a jump
SIDE = 1e-7  # of a step: how far on both sides of a switch rates are compared
LOOKED = 256  # states of a run at which decays are looked for
DECAY = -0.5  # h mu: less of a decay within a step is followed by any method
NAMED = 3  # instants that a note names
LONGEST = 60  # characters of a law in a note

_DIFFERENCE = frozenset({"min", "max", "lt", "le", "eq", "ne"})


def notes_of(run: Linearised) -> list[str]:
    """Sentences on what is not smooth in a run that was linearised."""
    return [*_switch_notes(run), *_observed_notes(run), *_chatter_notes(run)]


# -- switches: nodes whose zeros are corners or jumps


@dataclass(frozen=True, eq=False)
class Switches:
    """system: output "switch" (k,), zero where a law has a corner or jumps; texts: how each law is written."""

    system: System
    texts: tuple[str, ...]


def switches(system: System, nodes: list[Node]) -> Switches | None:
    """Switches of the functions in some nodes of a System; None where all are smooth."""

    def make() -> Switches | None:
        found: dict[Node, str] = {}
        for node in topological(nodes):
            own = None if node.flags & BOUND else _switch(node)
            if own is not None and not own.flags & BOUND:
                found.setdefault(own, _short(str(node)))
        if not found:
            return None
        outputs = {"switch": node_array(list(found), system.graph)}
        made = System(
            f"{system.name}_switches",
            inputs=system.inputs,
            outputs=outputs,
            parameters=system.parameters,
            defaults=system.defaults,
        )
        return Switches(made, tuple(found.values()))

    return memory_of(system).get("switches", tuple(nodes), make)


def _switch(node: Node) -> Node | None:
    if node.op in ("abs", "sign"):
        return node.args[0]
    if node.op == "hypot":
        return node
    if node.op in _DIFFERENCE:
        return node.args[0] - node.args[1]
    if node.op in ("floor", "ceil"):
        return call("sin", node.args[0] * np.pi)
    if node.op == "mod":
        return call("sin", node.args[0] / node.args[1] * np.pi)
    return None


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def _values(found: Switches, flow: Flow, parameters: Any, t: np.ndarray, x: np.ndarray, u: np.ndarray) -> np.ndarray:
    """(n, k)"""
    kernel = kernel_of(found.system)
    named = flow.layout.named(t, x, u)
    made, _ = kernel.call_with_status(
        *(named[p.name] for p in kernel.inputs), parameters=numbers_for(kernel, parameters)
    )
    return np.broadcast_to(np.asarray(made), (len(t), len(found.texts)))


def _stretches(run: Linearised, flow: Flow) -> Iterator[tuple[Steps, np.ndarray, np.ndarray, np.ndarray]]:
    """(piece, t (n,), x (n, nx + integrals), u (n, nu)) of all steps of a Flow, those that were not kept computed
    again."""
    for piece in run.tape.pieces:
        if not isinstance(piece, Steps) or piece.flow is not flow:
            continue
        whole = -(-piece.count // piece.every) if piece.every > 1 else 1
        for j in range(whole):
            x = run.between(piece, j) if piece.every > 1 else piece.x
            t = piece.t + (j * piece.every + np.arange(len(x))) * piece.h
            u = run.supply.signals.at_times(t, piece.u)
            yield piece, t, run.widened(x), np.broadcast_to(u, (len(t), run.supply.signals.size))


def _flows(run: Linearised) -> list[Flow]:
    """The Flows of the steps of a run: several where partitions change during it."""
    return list(dict.fromkeys(p.flow for p in run.tape.pieces if isinstance(p, Steps)))


def _switch_notes(run: Linearised) -> list[str]:
    at: dict[str, set[float]] = {}
    jumps: dict[str, set[float]] = {}
    for flow in _flows(run):
        _look(run, flow, at, jumps)
    out = [
        f"at {_instants(sorted(times))} the run stands at a corner of {text}: derivatives on its two sides differ, and "
        "the one that is given is one of them, or lies between."
        for text, times in at.items()
    ]
    out += [
        f"{text} jumps at {_instants(sorted(times))}, inside of a step: the derivative of the steps does not contain "
        "how that instant moves. Make it an event (sb.When), or a smooth law."
        for text, times in jumps.items()
    ]
    return out


def _look(run: Linearised, own: Flow, at: dict[str, set[float]], jumps: dict[str, set[float]]) -> None:
    """Instants of the steps of a Flow at corners, and at jumps, added to those of laws."""
    flow = run.numbers(own).machine.flow
    rates = flow.rates
    found = switches(rates, [x for rate in rates.states.values() for x in rates.output(rate).flat])
    if found is None:
        return
    across = _Across(run, flow, found)
    moved = across.moved()
    size = np.zeros(len(found.texts))
    parts = []
    for piece, t, x, u in _stretches(run, own):
        s = _values(found, flow, run.parameters, t, x, u)
        size = np.maximum(size, np.abs(s).max(axis=0))
        parts.append((piece, t, x, s))
    corners: dict[int, set[float]] = {}
    turns: dict[int, set[float]] = {}
    for piece, t, x, s in parts:
        near = (np.abs(s) <= AT * size) & moved
        for i, j in zip(*np.nonzero(near)):
            times = corners.setdefault(int(j), set())
            if across.turned_by_event(int(j), float(t[i]), AT * size[j]):
                continue
            if len(times) > NAMED or across.corner(int(j), float(t[i]), x[i], piece):
                times.add(float(t[i]))
        side = np.sign(np.where(near, 0.0, s))
        for i, j in zip(*np.nonzero((side[:-1] * side[1:] < 0) & moved)):
            times = turns.setdefault(int(j), set())
            instant = across.turn(int(j), float(t[i]), x[i], x[i + 1], piece) if len(times) <= NAMED else None
            times |= set() if instant is None else {instant}
    for all_times, own_times in ((at, corners), (jumps, turns)):
        for j, times in own_times.items():
            if times:
                all_times.setdefault(found.texts[j], set()).update(times)


class _Across:
    """The rates, and their derivatives by the state, on both sides of a switch."""

    def __init__(self, run: Linearised, flow: Flow, found: Switches) -> None:
        self.run, self.flow, self.switches = run, flow, found
        self.pull = rates_pullback(self.flow, (), True)

    def moved(self) -> np.ndarray:
        """(k,) whether what is differentiated by can move a switch: those of time and fixed numbers alone stay."""
        flow, run = self.flow, self.run
        own = {s for n in flow.states for s in flow.rates.inputs[n].flat}
        own |= {s for n, k in run.places if n in flow.rates.parameters for s in [flow.rates.parameters[n].flat[k]]}
        if run.supply.entries:
            own |= {s for n in flow.signals for s in flow.rates.inputs[n].flat}
        nodes = self.switches.system.output("switch").flat
        return np.array([bool(own & set(free_symbols([node]))) for node in nodes])

    def _sides(self, t: float, x: np.ndarray, piece: Steps) -> tuple[np.ndarray, np.ndarray]:
        """(rates (nx,), their derivatives (nx, nx)) at a point."""
        flow, run = self.flow, self.run
        u = run.supply.at(t, piece.u)
        kernel = kernel_of(flow.rates)
        named = flow.layout.named(t, x, u)
        given = numbers_for(kernel, run.parameters)
        made = kernel.call_with_status(*(named[p.name] for p in kernel.inputs), parameters=given)[0]
        rates = np.concatenate([np.ravel(a) for a in (made if len(kernel.outputs) > 1 else [made])])
        xs, us = (np.repeat(np.atleast_2d(a), flow.nx, axis=0) for a in (x, u))
        found = called(self.pull, flow, run.parameters, np.full(flow.nx, t), xs, us, np.eye(flow.nx))
        return rates, found["gx"]

    def _differ(self, a: np.ndarray, b: np.ndarray) -> bool:
        return bool(np.abs(a - b).max(initial=0.0) > JUMP * (1e-3 + max(np.abs(a).max(), np.abs(b).max())))

    def corner(self, j: int, t: float, x: np.ndarray, piece: Steps) -> bool:
        """Whether rates or their derivatives differ on both sides of a point where switch j is zero."""
        way, time = self._perturbation(j, t, x, piece)
        low, high = (self._sides(t + e * time, x + e * way, piece) for e in (-1.0, 1.0))
        return self._differ(low[0], high[0]) or self._differ(low[1], high[1])

    def turned_by_event(self, j: int, t: float, near: float) -> bool:
        """Whether switch j is zero before and after an event at t: that instant moves with it, and is in the derivative
        of the steps."""
        for jump in self.run.tape.pieces:
            if isinstance(jump, Jump) and jump.events and abs(jump.t - t) <= NEAR * max(1.0, abs(t)):
                ends = (self.run.widened(x) for x in (jump.before, jump.after))
                if all(abs(self._value(j, jump.t, x, jump)) <= near for x in ends):
                    return True
        return False

    def _perturbation(self, j: int, t: float, x: np.ndarray, piece: Steps) -> tuple[np.ndarray, float]:
        """A small change of the state (or, where that does not move it, of time) that carries switch j across zero."""
        size = SIDE * (1 + np.abs(x))
        s = [self._value(j, t, x + e, piece) - self._value(j, t, x - e, piece) for e in np.diag(size)]
        way = np.sign(s) * size
        return way, 0.0 if way.any() else SIDE * piece.h

    def _value(self, j: int, t: float, x: np.ndarray, piece: Steps | Jump) -> float:
        u = self.run.supply.at(t, piece.u)
        return float(_values(self.switches, self.flow, self.run.parameters, np.array([t]), x[None], u[None])[0, j])

    def turn(self, j: int, t: float, x: np.ndarray, end: np.ndarray, piece: Steps) -> float | None:
        """The instant at which switch j turns between two states, if rates jump there; the way between is straight."""
        before = self._value(j, t, x, piece)
        low, high = 0.0, 1.0
        while high - low > SIDE / 4:
            middle = (low + high) / 2
            same = self._value(j, t + middle * piece.h, x + middle * (end - x), piece) * before > 0
            low, high = (middle, high) if same else (low, middle)
        sides = [self._sides(t + e * piece.h, x + e * (end - x), piece)[0] for e in (low - SIDE, high + SIDE)]
        return t + low * piece.h if self._differ(*sides) else None


def _instants(times: list[float]) -> str:
    told = ", ".join(f"t = {t:.6g} s" for t in times[:NAMED])
    return told if len(times) <= NAMED else f"{told} and later"


def _observed_notes(run: Linearised) -> list[str]:
    """Corners of the quantities that are asked for."""
    if not run.nodes:
        return []
    flow = run.tape.plan.flow
    system, nodes = observing(flow, run.requested.quantities)
    found = switches(system, list(nodes))
    if found is None:
        return []
    t, x, u = run.observed
    s = _values(found, flow, run.parameters, t, x, u)
    scale = AT * max(1.0, float(np.abs(x).max(initial=0.0)))
    out = []
    for j, text in enumerate(found.texts):
        times = t[np.abs(s[:, j]) <= scale].tolist()
        if times:
            out.append(
                f"at {_instants(times)} {text}, which is asked for, has a corner: derivatives on its two sides differ."
            )
    return out


# -- chatter


def _chatter_notes(run: Linearised) -> list[str]:
    """Decays that an explicit method does not follow: its factor |R(h mu)| is above 1 where the motion's is below.

    Steps that a tolerance chose are as short as they must be; methods that solve for their rates follow any decay.
    """
    settings = run.tape.plan.settings
    if settings.step is None or carries(settings.method) or settings.method in DIAGONAL:
        return []
    own = [p for p in run.tape.pieces if isinstance(p, Steps) and not p.method]
    apart = max(1, sum(p.count for p in own) // LOOKED)
    for piece in own:
        table = run.numbers(piece.flow).machine.table
        stride = max(1, apart // piece.every)
        kept = piece.x[:-1][::stride]
        t = piece.t + np.arange(len(kept)) * stride * piece.every * piece.h
        f_x = _slopes(run, piece, t, kept)
        if not np.isfinite(f_x).all():
            continue
        z = piece.h * np.linalg.eigvals(f_x)
        wild = (z.real < DECAY) & (np.abs(_factor(table, z)) > 1.0)
        if wild.any():
            k = int(np.flatnonzero(wild.any(axis=1))[0])
            worst = z[k][np.argmin(np.where(wild[k], z[k].real, 0.0))]
            return [
                f"at t = {t[k]:.6g} s {piece.flow.name} decays with a time constant of {piece.h / -worst.real:.3g} s, "
                f"which steps of {piece.h:g} s by {settings.method!r} do not follow: they chatter, and their "
                f"derivative grows without meaning. Take steps below {piece.h * _longest(table, worst):.2g} s, a law "
                "that is less steep (friction near rest: a larger `slow`), or an implicit method."
            ]
    return []


def _slopes(run: Linearised, piece: Steps, t: np.ndarray, x: np.ndarray) -> np.ndarray:
    """(k, nx, nx) derivatives of the rates by the states, as far as corrections after steps leave them."""
    m, nx = run.numbers(piece.flow).machine, run.nx
    flow = m.flow
    u = np.broadcast_to(run.supply.signals.at_times(t, piece.u), (len(t), run.supply.signals.size))
    ts, xs, us = (np.repeat(a, nx, axis=0) for a in (t, run.widened(x), u))
    w = np.tile(np.eye(flow.nx)[:nx], (len(t), 1))

    def slopes(pull: Pullback) -> np.ndarray:
        found = called(pull, flow, run.parameters, ts, xs, us, w)["gx"]
        return found.reshape(len(t), nx, flow.nx)[:, :, :nx]

    f_x = slopes(rates_pullback(flow, (), True))
    if m.pulled is None:
        return f_x
    kept = slopes(m.pulled)
    return kept @ f_x @ kept


def _factor(table: RungeKutta | None, z: np.ndarray) -> np.ndarray:
    """R(z): what a step makes of y' = mu y, z = h mu. None: velocities are moved by an Euler step."""
    z = np.asarray(z, dtype=complex)
    if table is None:
        return 1 + z
    k: list[np.ndarray] = []
    for row in table.a:
        k.append(z * (1 + sum((a * ki for a, ki in zip(row, k)), np.zeros_like(z))))
    return 1 + sum((b * ki for b, ki in zip(table.b, k)), np.zeros_like(z))


def _longest(table: RungeKutta | None, z: complex) -> float:
    """The largest part of a step that follows a decay."""
    low, high = 0.0, 1.0
    while high - low > 1e-3 * high:
        middle = (low + high) / 2
        tame = abs(_factor(table, np.array(middle * z))) <= 1.0
        low, high = (middle, high) if tame else (low, middle)
    return low
