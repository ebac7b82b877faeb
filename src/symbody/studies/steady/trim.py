"""sb.trim: steady motions. Coordinates, speeds, inputs or parameters that give chosen accelerations their values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from symbody.basics.arguments import declared
from symbody.basics.errors import DefinitionError, ModelError, ShapeError, array_argument
from symbody.model.record.coordinates import coordinates_by_velocity, velocity_owners
from symbody.model.record.followers import following
from symbody.model.record.keyframes import named_state
from symbody.model.record.mechanism import Mechanism
from symbody.studies.linear.linear_outputs import MOTIONS
from symbody.studies.steady.steady_equations import SteadyEquations, SteadyPoint, check_finite
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


@dataclass(frozen=True, eq=False)
class Trim:
    """A steady motion: the instant q, qd, qdd with the inputs that keep it up.

    q, qd, qdd   (nq,), (nv,), (nv,)
    tau          (nv,) efforts, with those that drive driven joints
    unknowns     name -> value of what was looked for; of a quaternion q.<joint>.1 .2 .3 are its rotation vector, rad,
                 and of a free joint .4 .5 .6 its position, m
    inputs, states, parameters, multipliers   the rest of the point
    residual     (nv,) M qdd + c - tau - J^T lam; remainder: the largest relative residual of all conditions
    """

    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    tau: np.ndarray
    unknowns: Mapping[str, float]
    outcome: SteadyOutcome
    sentence: str
    residual: np.ndarray
    remainder: float
    multipliers: np.ndarray = field(default_factory=lambda: np.zeros(0))
    inputs: Mapping[str, float] = field(default_factory=dict)
    states: Mapping[str, float] = field(default_factory=dict)
    parameters: Mapping[str, float] = field(default_factory=dict)
    t: float = 0.0
    model: str = ""

    @property
    def ok(self) -> bool:
        """Whether all conditions hold."""
        return self.outcome.ok

    @property
    def point(self) -> dict[str, Any]:
        """The arguments that `linearize` takes, for the motion about the steady one."""
        inputs: dict[str, Any] = {"tau": self.tau, "t": self.t, **self.inputs}
        return {
            "q0": self.q, "qd0": self.qd, "qdd0": self.qdd, "inputs": inputs, "states": dict(self.states),
            "parameters": dict(self.parameters),
        }  # fmt: skip

    def __getitem__(self, name: str) -> float:
        return self.unknowns[name]

    def __repr__(self) -> str:
        values = ", ".join(f"{n} = {v:.6g}" for n, v in list(self.unknowns.items())[:12])
        return f"Trim of {self.model}: {self.sentence}\n{values}"


@declared
def trim(
    mech: Mechanism,
    unknowns: Iterable[str] | Mapping[str, float],
    conditions: Iterable[str] | Mapping[str, Any] | None = None,
    q0: Any = None,
    qd0: Any = None,
    qdd0: Any = None,
    inputs: Mapping[str, Any] | None = None,
    parameters: Mapping[str, Any] | None = None,
    *,
    states: Mapping[str, Any] | None = None,
    loops: str | Iterable[str] = "closed",
    starts: int = 8,
    seed: int = 0,
    tolerance: float = 1e-10,
) -> Trim:
    """A steady motion near q0, qd0: the equations of motion hold with accelerations qdd0 and resting internal states.

    unknowns    names, or name -> first guess: q.<joint> (or the joint alone), qd.<joint>, tau.<joint>, inputs u_<name>,
                parameters
    conditions  names of accelerations qdd.<joint> that shall vanish, or name -> value; those that are not named are
                free then. None: all are as in qdd0 (zero). Further names are outputs of `linearize` (p.<frame>.z,
                <element>_F, expressions), with the values that they shall have
    qd0, qdd0   the prescribed motion; driven joints move by their laws at inputs["t"], their efforts are results

    Closed loops: dependent coordinates, velocities and accelerations follow from the loops, chosen by pivoting among
    those that are not named. As many conditions as unknowns, or more: least squares. The outcome is a value: look at
    `.ok` and `.sentence`.
    """
    guesses = dict(unknowns) if isinstance(unknowns, Mapping) else dict.fromkeys(unknowns)
    wanted = _conditions(conditions)
    accelerations = {n: v for n, v in wanted.items() if n.partition(".")[0] == "qdd" and n.partition(".")[2]}
    outputs = {n: v for n, v in wanted.items() if n not in accelerations}
    vary = [n for n in guesses if n in mech.parameters]
    if vary:  # what follows a parameter changes with it
        mech = following(mech, {*vary, *(parameters or {})})
    texts = {n: n[:-2] if _is_component(n) else n for n in outputs}
    balance = SteadyEquations(mech, parameters, list(dict.fromkeys(texts.values())), vary, loops)
    q0, qd0 = (named_state(mech, at, n, parameters) for n, at in (("q", q0), ("qd", qd0)))
    state = balance.state(q0, qd0, qdd0, inputs, states)
    columns: dict[int, str] = {}
    for name, guess in guesses.items():
        found = balance.find(name)
        columns |= {k: name if len(found) == 1 else balance.column_names[k] for k in found}
        if guess is not None:
            state = _placed(balance, state, found, guess, name)
    state, free = _accelerations(balance, state, accelerations)
    values, rows = _output_rows(balance, outputs, texts)
    task = _task(balance, state, list(columns), free, rows, values, _named(q0), _named(qd0), tolerance)
    best, tried = _search(balance, task, state, starts, seed)
    return _record(balance, task, best, tried, columns)


def _conditions(conditions: Any) -> dict[str, Any]:
    if conditions is None:
        return {}
    if isinstance(conditions, str):
        conditions = [conditions]
    given = dict(conditions) if isinstance(conditions, Mapping) else dict.fromkeys(conditions, 0.0)
    for name, value in given.items():
        if not np.all(np.isfinite(np.asarray(value, dtype=float))):
            raise DefinitionError(f"condition {name!r} is {value!r}; expected finite numbers.")
    return given


def _is_component(name: str) -> bool:
    """Whether a name means one component of a frame's motion, such as p.tip.z."""
    head, _, rest = name.partition(".")
    return head in MOTIONS and name[-2:] in (".x", ".y", ".z") and len(rest) > 2


def _named(given: Any) -> set[str]:
    return set(given) if isinstance(given, Mapping) else set()


def _placed(balance: SteadyEquations, state: SteadyPoint, found: Sequence[int], guess: Any, name: str) -> SteadyPoint:
    """The SteadyPoint with a first guess; of q the increment leads there."""
    step = np.zeros(len(balance.column_names))
    q = balance.columns["q"]
    if any(k < q.stop for k in found) and balance.mech.nq != balance.mech.nv:
        raise ModelError(f"a guess for {name!r} of {balance.mech.name}, which has quaternions; give it by q0.")
    now = np.concatenate(
        [state.q if balance.mech.nq == balance.mech.nv else np.zeros(balance.mech.nv)]
        + [getattr(state, n) for n in balance.columns if n != "q"]
    )
    first = array_argument(name, guess, "a number, or an array of them, to begin with")
    step[list(found)] = first - now[list(found)]
    return balance.moved(state, step)


def _accelerations(
    balance: SteadyEquations, state: SteadyPoint, wanted: Mapping[str, Any]
) -> tuple[SteadyPoint, list[int]]:
    """The SteadyPoint with prescribed accelerations, and the columns of those that are free."""
    if not wanted:
        return state, []
    span, qdd = balance.columns["qdd"], state.qdd.copy()
    named: list[int] = []
    for name, value in wanted.items():
        found = balance.find(name)
        qdd[np.array(found) - span.start] = value
        named += found
    driven = {span.start + k for k in balance.equations.driven}
    free = [k for k in range(span.start, span.stop) if k not in named and k not in driven]
    return replace(state, qdd=qdd), free


def _output_rows(
    balance: SteadyEquations, outputs: Mapping[str, Any], texts: Mapping[str, str]
) -> tuple[list[float], list[int]]:
    """Values and rows of the outputs that conditions name."""
    names, first = balance.equations.outputs, balance.rows["y"].start
    values: list[float] = []
    rows: list[int] = []
    for name, value in outputs.items():
        text = texts[name]
        if name in names:
            found = [names.index(name)]
        else:  # of a frame, three components
            head, _, rest = text.partition(".")
            stem = text if head in MOTIONS and rest else f"p.{text}"
            found = [k for k, n in enumerate(names) if n.rpartition(".")[0] == stem]
        numbers = np.ravel(np.asarray(value, dtype=float))
        if len(numbers) == 1 and len(found) > 1 and value == 0:
            numbers = np.zeros(len(found))
        if len(numbers) != len(found):
            raise ShapeError(f"condition {name!r} has {len(numbers)} values; the output has {len(found)} components.")
        values += numbers.tolist()
        rows += [first + k for k in found]
    return values, rows


def _task(
    balance: SteadyEquations,
    state: SteadyPoint,
    unknown: list[int],
    free: list[int],
    outputs: list[int],
    values: list[float],
    fixed_q: set[str],
    fixed_qd: set[str],
    tolerance: float,
) -> Task:
    value = balance.at(state)
    check_finite(balance, value, state)
    c, rows = balance.columns, balance.rows
    driven = list(balance.equations.driven)
    columns = [*unknown, *free, *(c["tau"].start + k for k in driven)]
    columns += [*range(c["z"].start, c["z"].stop), *range(c["lam"].start, c["lam"].stop)]
    chosen = [*range(rows["force"].start, rows["force"].stop), *range(rows["z"].start, rows["z"].stop), *outputs]
    if balance.equations.rows:
        J = value.outputs["J"]
        holonomic = ~balance.rolling
        chosen += [rows["h"].start + k for k in np.flatnonzero(holonomic)]
        chosen += [*range(rows["velocity"].start, rows["acceleration"].stop)]
        for kind, part, fixed in (("q", J[holonomic], fixed_q), ("qd", J, fixed_qd), ("qdd", J, fixed_qd)):
            columns += _dependent(balance, part, kind, columns, fixed)
    columns = list(dict.fromkeys(columns))
    order = {k: i for i, k in enumerate(outputs)}
    wanted = np.array([values[order[k]] if k in order else 0.0 for k in chosen])
    scale = scales(balance, value)[chosen]
    scale[[i for i, k in enumerate(chosen) if k in order]] = np.maximum(1.0, np.abs(values)) if values else 1.0
    return Task(np.array(chosen), np.array(columns, dtype=int), wanted, scale, None, tolerance)


def _dependent(balance: SteadyEquations, J: np.ndarray, kind: str, taken: Sequence[int], fixed: set[str]) -> list[int]:
    """Columns of q, qd or qdd that the loops determine: pivots of J, those that are named or asked for last."""
    from scipy.linalg import qr

    if not J.size:
        return []
    start = balance.columns[kind].start
    labels = balance.equations.labels
    last = {k - start for k in taken if start <= k < start + len(labels)}
    weight = np.array([1e-3 if k in last else 1.0 for k in range(len(labels))])
    owners = velocity_owners(balance.mech)
    weight[[k for k, n in enumerate(labels) if n in fixed or owners[k] in fixed]] = 1e-6
    weight[list(balance.equations.driven)] = 0.0
    _, r, pivots = qr(J * weight, mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(r))
    rank = int((diagonal > 1e-12 * diagonal.max(initial=0.0)).sum())
    return [start + int(k) for k in pivots[:rank]]


def _search(balance: SteadyEquations, task: Task, state: SteadyPoint, starts: int, seed: int) -> tuple[SteadyEnd, int]:
    best: SteadyEnd | None = None
    tried = 0
    forces = np.arange(balance.mech.nv)
    for start in starting_points(balance, task, state, max(1, starts), seed, size=0.1):
        tried += 1
        ended = descend(balance, task, with_multipliers(balance, start, forces))
        if best is None or ended.largest < best.largest:
            best = ended
        if best.largest < task.tolerance:
            break
    assert best is not None
    return best, tried


def _record(balance: SteadyEquations, task: Task, ended: SteadyEnd, tried: int, columns: Mapping[int, str]) -> Trim:
    state, mech = ended.state, balance.mech
    every = np.concatenate(
        [coordinates_by_velocity(mech, state.q), *(getattr(state, n) for n in balance.columns if n != "q")]
    )
    outcome = SteadyOutcome.CONVERGED if ended.largest < task.tolerance else SteadyOutcome.NOT_CONVERGED
    if not outcome.ok and len(task.rows) > len(task.columns):
        outcome = SteadyOutcome.LEAST_SQUARES
    sentence = outcome.value
    if not outcome.ok:
        counted = f"{len(task.rows)} conditions for {len(task.columns)} unknowns"
        sentence += f" ({counted}, {tried} starts.) {largest_left(balance, task, ended).capitalize()}."
    return Trim(
        q=state.q,
        qd=state.qd,
        qdd=state.qdd,
        tau=state.tau,
        unknowns={name: float(every[k]) for k, name in columns.items()},
        outcome=outcome,
        sentence=sentence,
        residual=ended.value.residual[balance.rows["force"]],
        remainder=ended.largest,
        multipliers=state.lam,
        inputs=balance.numbers(state),
        states=balance.inner(state),
        parameters={**balance.parameters, **dict(zip(balance.vary, state.vary.tolist()))},
        t=state.t,
        model=mech.name,
    )
