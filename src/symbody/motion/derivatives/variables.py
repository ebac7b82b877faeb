"""What a run is differentiated by: parameters, values at the start, inputs and points of their tables; as one vector.

"m2", "table.3"          a parameter, or one component of it
"q", "q.shoulder"        states at the start. Where loops are closed, independent joints keep their values and the
                         others follow; what the loops determine has no derivative of its own
"tau", "tau.elbow"       an input: a constant, or the values of a table at all its times
"pd.kp", "controller.kp" a parameter of a sampled System, by its name, or of the only one
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from symbody.basics.errors import DefinitionError, Named, NameLookupError, ShapeError, nearest, wrong_argument
from symbody.motion.flow.flow import Flow
from symbody.motion.flow.sources import Assignment, Constant, TableSource, find_input, label_of
from symbody.symbolic.system.names import components, place_of
from symbody.symbolic.system.system import System


@dataclass(frozen=True, eq=False)
class Variable:
    """One name that is differentiated by.

    kind    "parameter", "start", "input", "controller"
    owner   the parameter, state, signal, or parameter of a sampled System (with its name); places: its components
            that are meant
    value   (*shape) where the run was taken
    key     of an input: the name under which it was given; within: which of the numbers given there are meant;
            table: its times and values, None of a constant
    """

    name: str
    kind: str
    owner: str
    places: tuple[int, ...]
    value: np.ndarray
    key: str = ""
    within: tuple[int, ...] = ()
    table: TableSource | None = None
    known: bool = True  # whether anything in the equations reads it

    @property
    def size(self) -> int:
        return int(self.value.size)


@dataclass(frozen=True, eq=False)
class Variables:
    """All names in their order; their values end to end are the vector theta (n,)."""

    items: tuple[Variable, ...]
    notes: tuple[str, ...] = field(default=())

    @property
    def size(self) -> int:
        return sum(v.size for v in self.items)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(v.name for v in self.items)

    @property
    def start(self) -> np.ndarray:
        """theta where it was not given."""
        return np.concatenate([np.ravel(v.value) for v in self.items]) if self.items else np.zeros(0)

    def slices(self) -> dict[str, slice]:
        """Where each name stands in theta."""
        out, at = {}, 0
        for v in self.items:
            out[v.name] = slice(at, at + v.size)
            at += v.size
        return out

    def split(self, theta: np.ndarray) -> dict[str, np.ndarray]:
        """Values, or derivatives (..., n), by name: (..., *shape)."""
        return {
            v.name: theta[..., part].reshape(*theta.shape[:-1], *v.value.shape)
            for v, part in zip(self.items, self.slices().values(), strict=True)
        }


def start_matrix(variables: Variables, flow: Flow, total: int) -> np.ndarray:
    """(nx, total) derivative of the state that is given at the start by theta: the first of `total` directions."""
    out = np.zeros((flow.nx, total))
    for v, part in zip(variables.items, variables.slices().values(), strict=True):
        if v.kind == "start":
            at = flow.slices[v.owner].start
            for j, k in enumerate(v.places):
                out[at + k, part.start + j] = 1.0
    return out


def read_variables(
    names: Sequence[str] | str,
    flow: Flow,
    opened: Flow,
    x0: np.ndarray,
    parameters: Mapping[str, Any],
    assignments: Sequence[Assignment],
    known: Mapping[str, Any],
    sampled: Sequence[System] = (),
) -> Variables:
    """What the names mean in a run.

    flow     of the run; opened: with all its inputs
    known    parameters of the model, also those that its motion does not depend on
    x0       (nx,) the state at the start
    sampled  Systems that control at instants of their own, with their parameters as defaults
    """
    if isinstance(names, Mapping):
        raise wrong_argument(
            "names", names, "names to differentiate by", "Give values of parameters as ",
            Named("parameters", "{name: number}"), ".",
        )  # fmt: skip
    out: list[Variable] = []
    notes: list[str] = []
    for name in [names] if isinstance(names, str) else names:
        if any(v.name == name for v in out):
            raise DefinitionError(f"{name!r} is named twice among what is differentiated by; expected once.")
        found = (
            _parameter(name, flow, parameters, known)
            or _start(name, flow, x0)
            or _controller(name, sampled)
            or _input(name, opened, assignments)
        )
        if found is None:
            choices = [
                *known,
                *(f"{s}.{n}" for s in flow.states for n in flow.labels.get(s, ())),
                *_inputs(assignments),
                *(f"{s.name}.{n}" for s in sampled for n in s.parameters),
            ]
            raise NameLookupError(
                f"there is no parameter, state or input {name!r} to differentiate by. {nearest(name, choices)}"
            )
        if not found.known:
            notes.append(f"nothing in the equations of {flow.name} depends on {name!r}: its derivatives are zero.")
        out.append(found)
    if not out:
        raise DefinitionError("no name was given to differentiate by; expected parameters, states or inputs.")
    return Variables(tuple(out), tuple(notes))


def _parameter(name: str, flow: Flow, given: Mapping[str, Any], known: Mapping[str, Any]) -> Variable | None:
    owner, places = name, tuple[int, ...]()
    if name not in known:
        owner, _, part = name.rpartition(".")
        place = place_of(part, np.size(known[owner])) if owner in known else None
        if place is None:
            return None
        places = (place,)
    read = owner in flow.parameters
    shape = np.shape(known[owner])
    if owner in given:
        whole = np.asarray(given[owner], dtype=float)
    else:
        systems = [s for s in flow.systems.values() if owner in s.parameters]
        default = systems[0].default(owner) if systems else _default_of(known[owner])
        if default is None:
            raise DefinitionError(f"parameter {owner!r} has no value; give one to differentiate at.")
        whole = np.asarray(default, dtype=float).reshape(shape)
    if whole.shape != shape:
        raise ShapeError(f"parameter {owner!r} has shape {whole.shape}; expected {shape} for one run.")
    if not places:
        return Variable(name, "parameter", owner, tuple(range(whole.size)), whole, known=read)
    return Variable(name, "parameter", owner, places, whole.reshape(-1)[list(places)].reshape(()), known=read)


def _controller(name: str, sampled: Sequence[System]) -> Variable | None:
    for system in sampled:
        stem = "controller." if len(sampled) == 1 and name.startswith("controller.") else f"{system.name}."
        owner, places = name.removeprefix(stem), tuple[int, ...]()
        if not name.startswith(stem):
            continue
        if owner not in system.parameters:
            owner, _, part = owner.rpartition(".")
            place = place_of(part, system.parameters[owner].size) if owner in system.parameters else None
            if place is None:
                continue
            places = (place,)
        default = system.default(owner)
        if default is None:
            raise DefinitionError(f"parameter {owner!r} of {system.name!r} has no value; give one to differentiate at.")
        whole = np.asarray(default, dtype=float).reshape(system.parameters[owner].shape)
        value = whole if not places else whole.reshape(-1)[list(places)].reshape(())
        return Variable(name, "controller", f"{system.name}.{owner}", places or tuple(range(whole.size)), value)
    return None


def _default_of(symbols: Any) -> list[float] | None:
    found = [s.data.default for s in np.ravel(symbols)]
    return None if any(v is None for v in found) else [float(v) for v in found]


def _start(name: str, flow: Flow, x0: np.ndarray) -> Variable | None:
    state, _, part = name.partition(".")
    if state not in flow.states:
        return None
    at, shape = flow.slices[state], flow.rates.inputs[state].shape
    size = at.stop - at.start
    if not part:
        return Variable(name, "start", state, tuple(range(size)), x0[at].reshape(shape))
    found = components(flow.labels.get(state, ()), size, part)
    if not found:
        return None
    value = x0[at][found]
    return Variable(name, "start", state, tuple(found), value.reshape(()) if len(found) == 1 else value)


def _input(name: str, flow: Flow, assignments: Sequence[Assignment]) -> Variable | None:
    try:
        owner, places = find_input(flow, name)
    except NameLookupError:
        return None
    for a in assignments:
        if a.name != owner or not set(places) <= set(a.places):
            continue
        which = [a.places.index(k) for k in places]
        if isinstance(a.source, Constant):
            if a.source.values.ndim != 1:
                return None
            value = a.source.values[which]
            value = value.reshape(()) if len(places) == 1 else value
            return Variable(name, "input", owner, places, value, a.key, tuple(which))
        if isinstance(a.source, TableSource):
            value = a.source.values[:, which]
            value = value[:, 0] if len(places) == 1 else value
            return Variable(name, "input", owner, places, value, a.key, tuple(which), a.source)
        raise DefinitionError(
            f"input {name!r} is given as a function or a law, which has no value of its own to differentiate by. Give "
            "numbers, or a table (times, values); differentiate a law by its parameters."
        )
    size = len(places)
    first = [label_of(flow, owner, k) for k in places]
    taken = [a.key for a in assignments if a.name == owner and set(places) & set(a.places)]
    if taken:
        told, given = ", ".join(first), ", ".join(map(repr, taken))
        raise DefinitionError(f"{name!r} means {told}, of which {given} gives a part; name that alone.")
    zeros = np.zeros(()) if size == 1 else np.zeros(size)
    return Variable(name, "input", owner, places, zeros, name, tuple(range(size)))


def _inputs(assignments: Sequence[Assignment]) -> list[str]:
    return [a.key for a in assignments]
