"""sb.equilibrium: configurations in which a Mechanism stays at rest, and the efforts and multipliers that hold it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from symbody.basics.arguments import declared
from symbody.basics.errors import ModelError
from symbody.mechanics.loops.partition.singular import say_singular
from symbody.mechanics.memoised.model_memory import derived_of
from symbody.mechanics.verbs.energy import energy
from symbody.model.record.mechanism import Mechanism
from symbody.studies.steady.relaxation import eigenvalues_at_rest, relax
from symbody.studies.steady.steady_equations import SteadyEquations, SteadyPoint, Value, check_finite
from symbody.studies.steady.steady_solver import (
    SteadyEnd,
    SteadyOutcome,
    Task,
    descend,
    largest_left,
    scales,
    starting_points,
    with_multipliers,
)
from symbody.symbolic.expr.evaluate import evaluate
from symbody.symbolic.expr.walk import free_symbols

NEAR = 0.3  # rad or m: an equilibrium that near is taken, without a look at others
GROWING = 1e-6  # relative to the largest eigenvalue: real parts below it count as zero (pairs of zeros spread that far)


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """A state of rest.

    q            (nq,)
    tau          (nv,) efforts: the given ones, and on fixed and driven joints those that hold them
    multipliers  (nc,) of closed loops; residual (nv,): c - tau - J^T lam
    states       internal states of force elements; inputs, parameters: the rest of the point
    eigenvalues  of the linearised motion about it, 1/s; fixed joints do not move. Empty if they were not asked for
    stable       no eigenvalue has a positive real part (zero ones: indifferent directions); None if not known, as at
                 singular positions of closed loops
    potential    J, of gravity, joint springs and force elements
    """

    q: np.ndarray
    tau: np.ndarray
    multipliers: np.ndarray
    residual: np.ndarray
    outcome: SteadyOutcome
    sentence: str
    states: Mapping[str, float] = field(default_factory=dict)
    inputs: Mapping[str, float] = field(default_factory=dict)
    parameters: Mapping[str, float] = field(default_factory=dict)
    eigenvalues: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=complex))
    stable: bool | None = None
    potential: float = 0.0
    labels: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    starts: int = 1
    steps: int = 0
    t: float = 0.0
    model: str = ""

    @property
    def ok(self) -> bool:
        """Whether the equations hold."""
        return self.outcome.ok

    @property
    def point(self) -> dict[str, Any]:
        """The arguments that `linearize` takes."""
        inputs: dict[str, Any] = {"tau": self.tau, "t": self.t, **self.inputs}
        return {"q0": self.q, "inputs": inputs, "states": dict(self.states), "parameters": dict(self.parameters)}

    def effort(self, joint: str) -> float:
        """tau of a velocity by its label."""
        return float(self.tau[self.labels.index(joint)])

    def __repr__(self) -> str:
        return f"Equilibrium of {self.model}: {self.sentence}"


@declared
def equilibrium(
    mech: Mechanism,
    q0: Any = None,
    inputs: Mapping[str, Any] | None = None,
    parameters: Mapping[str, Any] | None = None,
    *,
    free: Iterable[str] | None = None,
    fixed: Iterable[str] = (),
    states: Mapping[str, Any] | None = None,
    stable: bool = False,
    loops: str | Iterable[str] = "closed",
    starts: int = 12,
    seed: int = 0,
    tolerance: float = 1e-10,
    eigenvalues: bool = True,
) -> Equilibrium:
    """The state of rest near q0: c(q, z) = tau + J^T lam, h(q) = 0, z' = 0 with qd = qdd = 0.

    q0       (nq,) or {joint: numbers}: where the search starts, and where fixed joints stand
    inputs   {"tau": (nv,) or {joint: effort}, "u_<name>": ..., "t": s}; efforts are zero where none is given
    free     joints (or labels <joint>.2) whose coordinates are unknown; None: all but fixed and driven ones
    fixed    joints that keep q0; the efforts that hold them are results, as are those of driven joints, which stand
             where their laws say at inputs["t"]
    stable   True: look for a stable one, downhill from q0; False: the nearest, stable or not
    loops    which cuts and couplings act, as in `linearize`
    starts   how many starting points are tried: q0, then random ones; from each Newton's method, then relaxation

    Directions in which nothing acts (a vehicle on flat ground) stay where they are. The outcome is a value: look at
    `.ok` and `.sentence`.
    """
    balance = SteadyEquations(mech, parameters, (), (), loops)
    state = balance.state(q0, None, None, inputs, states)
    state = replace(state, qd=np.zeros(mech.nv), qdd=np.zeros(mech.nv))
    loose = _free(balance, free, fixed)
    value = balance.at(state)
    check_finite(balance, value, state)
    task = _task(balance, value, loose, tolerance)
    state = with_multipliers(balance, state, np.flatnonzero(loose))
    best, tried = _search(balance, task, state, loose, stable, starts, seed)
    return _record(balance, task, best, tried, loose, eigenvalues)


def _free(balance: SteadyEquations, free: Iterable[str] | None, fixed: Iterable[str]) -> np.ndarray:
    """(nv,) whether a coordinate is unknown."""
    out = np.ones(balance.mech.nv, dtype=bool)
    if free is not None:
        out[:] = False
        out[balance.velocity_places(free, "free")] = True
    kept = balance.velocity_places(fixed, "fixed")
    if free is not None and out[kept].any():
        raise ModelError(f"free and fixed of {balance.mech.name} name the same joint; expected it in one of them.")
    out[kept] = False
    out[list(balance.equations.driven)] = False
    return out


def _task(balance: SteadyEquations, value: Value, loose: np.ndarray, tolerance: float) -> Task:
    columns, rows = balance.columns, balance.rows
    unknown = [
        np.flatnonzero(loose),
        np.arange(columns["z"].start, columns["z"].stop),
        np.arange(columns["lam"].start, columns["lam"].stop),
    ]
    holonomic = np.flatnonzero(~balance.rolling)
    chosen = np.concatenate(
        [np.flatnonzero(loose), rows["h"].start + holonomic, np.arange(rows["z"].start, rows["z"].stop)]
    ).astype(int)
    return Task(
        chosen,
        np.concatenate(unknown).astype(int),
        np.zeros(len(chosen)),
        scales(balance, value)[chosen],
        np.flatnonzero(balance.rolling),
        tolerance,
    )


def _search(
    balance: SteadyEquations, task: Task, state: SteadyPoint, loose: np.ndarray, stable: bool, starts: int, seed: int
) -> tuple[SteadyEnd, int]:
    """The first start that ends in an equilibrium (a stable one, if that is wanted), else the best of all."""
    best: SteadyEnd | None = None
    tried = 0
    for start in starting_points(balance, task, state, max(1, starts), seed):
        found = []
        for downhill in (True,) if stable else (False, True):
            ended = descend(balance, task, relax(balance, task, start, loose, stable) if downhill else start)
            tried += 1
            if ended.largest < task.tolerance and not (stable and _may_grow(balance, ended, loose)):
                found.append(ended)
                if _distance(balance, state, ended.state) < NEAR:
                    break
            if best is None or ended.largest < best.largest:
                best = ended
        if found:
            return min(found, key=lambda e: _distance(balance, state, e.state)), tried
    assert best is not None
    return best, tried


def _distance(balance: SteadyEquations, first: SteadyPoint, second: SteadyPoint) -> float:
    """The largest change of a coordinate."""
    return float(np.abs(second.q - first.q).max(initial=0.0))


def _may_grow(balance: SteadyEquations, ended: SteadyEnd, loose: np.ndarray) -> bool:
    found = eigenvalues_at_rest(balance, ended.value, loose)
    return found is None or _unstable(found)


def _unstable(eigenvalues: np.ndarray) -> bool:
    return bool((eigenvalues.real > GROWING * np.abs(eigenvalues).max(initial=0.0)).any())


def _singular(balance: SteadyEquations, state: SteadyPoint) -> str:
    """Which loops are singular there, if any: no linear motion about such a position exists."""
    if not balance.equations.rows:
        return ""
    found = derived_of(balance.mech).constraints()
    closed = found.select([i for i, row in enumerate(found.rows) if row.loop in balance.equations.loops])
    return say_singular(closed, state.q, balance.parameters, state.t)


def _record(
    balance: SteadyEquations, task: Task, ended: SteadyEnd, tried: int, loose: np.ndarray, with_eigenvalues: bool
) -> Equilibrium:
    mech, state = balance.mech, ended.state
    force = ended.value.residual[balance.rows["force"]]
    tau = state.tau + np.where(loose, 0.0, force)  # what holds the joints that do not move
    outcome = SteadyOutcome.CONVERGED if ended.largest < task.tolerance else SteadyOutcome.NOT_CONVERGED
    judged = with_eigenvalues and outcome.ok
    lost = _singular(balance, state) if judged else ""
    found = eigenvalues_at_rest(balance, ended.value, loose) if judged and not lost else None
    stable = None if found is None else not _unstable(found)
    sentence = outcome.value
    if not outcome.ok:
        sentence = f"{outcome.value} Of the best of {tried} starts {largest_left(balance, task, ended)}."
    elif lost:
        sentence = f"{sentence} Whether it is stable is not known, as it is a singular position: {lost}"
    elif stable is not None:
        sentence = f"{sentence} {_say_stability(found if found is not None else np.zeros(0))}"
    return Equilibrium(
        q=state.q,
        tau=tau,
        multipliers=state.lam,
        residual=np.where(loose, force, 0.0),
        outcome=outcome,
        sentence=sentence,
        states=balance.inner(state),
        inputs=balance.numbers(state),
        parameters=balance.parameters,
        eigenvalues=np.zeros(0, dtype=complex) if found is None else found,
        stable=stable,
        potential=_potential(balance, state),
        labels=balance.equations.labels,
        rows=balance.equations.rows,
        starts=tried,
        steps=ended.steps,
        t=state.t,
        model=mech.name,
    )


def _say_stability(eigenvalues: np.ndarray) -> str:
    if not len(eigenvalues):
        return "Nothing can move."
    if _unstable(eigenvalues):
        worst = eigenvalues[eigenvalues.real.argmax()]
        return f"It is unstable: a deviation grows by e in {1 / worst.real:.3g} s."
    size = np.abs(eigenvalues)
    resting = int((size < GROWING * size.max()).sum() / 2)
    return "It is stable." if not resting else f"It is stable but for {resting} indifferent directions."


def _potential(balance: SteadyEquations, state: SteadyPoint) -> float:
    """Potential energy at rest, J: of gravity, joint springs and force elements."""
    system = energy(balance.mech, preset="none", loops=False)
    node = system.outputs["potential"].item()
    given: dict[str, Any] = {"q": state.q, "t": state.t, "tau": state.tau, "qd": state.qd}
    given |= balance.inner(state)
    values: dict[Any, Any] = {}
    at = 0
    for name, symbols in system.inputs.items():
        if name in given:
            numbers = np.ravel(given[name])
        else:  # inputs besides tau, in the same order as those of the equations of motion
            numbers = state.further[at : at + symbols.size]
            at += symbols.size
        values |= dict(zip(symbols.flat, numbers))
    for s in free_symbols([node]):
        if s.data.role == "parameter":
            values[s] = balance.parameters.get(s.data.name, s.data.default)
    return float(evaluate(node, values))
