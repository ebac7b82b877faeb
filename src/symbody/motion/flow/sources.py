"""What a user gives as inputs of a simulation, read into sources: numbers, laws, tables, functions, controllers.

{"tau": [1, 0]}                         numbers for all components, by joint order
{"tau.elbow": 0.5, "elbow": 0.5}        one joint
{"tau.elbow": "-3*q.elbow - qd.elbow"}  an expression of t, q.<joint>, qd.<joint>, parameters: runs natively
{"tau": (times, values)}                a table, linear in between; (times, values, "hold") keeps the last value
{"tau": f}                              f(t), or a sampled controller f(t, q, qd) or f(t, state), state a dict
{"tau": controller}, controller         a System: inputs among t, states and recorded names; outputs are the inputs
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from symbody.basics.errors import DefinitionError, ModelError, NameLookupError, ShapeError, floats, nearest
from symbody.motion.flow.flow import Flow
from symbody.symbolic.expr.node import Node
from symbody.symbolic.system.names import components, stems
from symbody.symbolic.system.system import System

# -- sources


@dataclass(frozen=True, eq=False)
class Constant:
    """values (n,), or (b, n) for a batch."""

    kind: ClassVar[str] = "Constant"
    values: np.ndarray


@dataclass(frozen=True, eq=False)
class ExpressionSource:
    """Expressions, one for each component: texts, nodes or numbers."""

    kind: ClassVar[str] = "Law"
    values: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class TableSource:
    """times (k,) ascending, values (k, n): linear in between, or held from each time to the next; constant outside."""

    kind: ClassVar[str] = "Table"
    times: np.ndarray
    values: np.ndarray
    hold: bool = False


@dataclass(frozen=True, eq=False)
class OfTime:
    """A Python function of t."""

    kind: ClassVar[str] = "OfTime"
    function: Callable[[float], Any]


@dataclass(frozen=True, eq=False)
class Feedback:
    """A Python function of (t, q, qd) or of (t, dict of states): a sampled controller."""

    kind: ClassVar[str] = "Feedback"
    function: Callable[..., Any]
    by_name: bool


@dataclass(frozen=True, eq=False)
class Control:
    """A System of continuous time, or (with a clock) a sampled one; `output` is what goes to these components."""

    kind: ClassVar[str] = "Control"
    system: System
    output: str


Source = Constant | ExpressionSource | TableSource | OfTime | Feedback | Control


@dataclass(frozen=True, eq=False)
class Assignment:
    """A source for some components of an input; `key` is the name that the user gave it under."""

    name: str
    places: tuple[int, ...]
    source: Source
    key: str


# -- reading


def read_inputs(flow: Flow, inputs: Any) -> list[Assignment]:
    """Assignments for the signals of a Flow, checked: names, sizes, finite numbers, nothing assigned twice."""
    out: list[Assignment] = []
    if inputs is None:
        return out
    if isinstance(inputs, System):
        inputs = dict.fromkeys(_outputs_of(inputs), inputs)
    elif not isinstance(inputs, Mapping):
        if not flow.signals:
            raise DefinitionError(f"{flow.name} has no inputs; {_short(inputs)} was given.")
        if "tau" not in flow.signals and len(flow.signals) > 1:
            raise DefinitionError(f"inputs is {_short(inputs)}; expected name -> value of {', '.join(flow.signals)}.")
        inputs = {"tau" if "tau" in flow.signals else flow.signals[0]: inputs}
    taken: dict[tuple[str, int], str] = {}
    for key, value in inputs.items():
        name, places = find_input(flow, key)
        for k in places:
            if (name, k) in taken:
                raise DefinitionError(f"inputs gives {label_of(flow, name, k)} by {taken[name, k]!r} and by {key!r}.")
            taken[name, k] = str(key)
        source = read_source(value, len(places), f"input {key!r}", name, str(key))
        out.append(Assignment(name, places, source, str(key)))
    return out


def find_input(flow: Flow, key: Any) -> tuple[str, tuple[int, ...]]:
    """Signal and components that a name means: <input>, <input>.<joint>, or the joint alone for its effort."""
    signals = {n: flow.rates.inputs[n].size for n in flow.signals}
    if key in signals:
        return str(key), tuple(range(signals[key]))
    name, _, part = str(key).partition(".")
    if name in signals and part:
        found = components(flow.labels.get(name, ()), signals[name], part)
        if found:
            return name, tuple(found)
        raise NameLookupError(f"{flow.name}: input {name!r} has no component {part!r}. {_hint(flow, name, part)}")
    if "tau" in signals:
        found = components(flow.labels.get("tau", ()), 0, str(key))
        if found:
            return "tau", tuple(found)
    known = [*signals, *(f"{n}.{label}" for n in signals for label in stems(flow.labels.get(n, ())))]
    raise NameLookupError(f"{flow.name} has no input {key!r}. {nearest(str(key), known)}")


def _hint(flow: Flow, name: str, part: str) -> str:
    return nearest(part, stems(flow.labels.get(name, ())) or map(str, range(1, flow.rates.inputs[name].size + 1)))


def label_of(flow: Flow, name: str, k: int) -> str:
    """A component for messages: tau.elbow, or just the name of a scalar."""
    if flow.rates.inputs[name].shape == ():
        return name
    labels = flow.labels.get(name, ())
    return f"{name}.{labels[k] if k < len(labels) else k + 1}"


def read_source(value: Any, size: int, what: str, name: str, key: str) -> Source:
    """What a value means for `size` components."""
    if isinstance(value, System):
        return Control(value, _output_for(value, name, key, size))
    if isinstance(value, (str, Node)):
        return ExpressionSource((value,) * size)
    if callable(value):
        return function_source(value, what)
    if isinstance(value, Mapping):
        return _table_mapping(value, size, what)
    if _is_table(value):
        return _table(value[0], value[1], size, _held(value[2:], what), what)
    if isinstance(value, (list, tuple, np.ndarray)) and any(
        isinstance(v, (str, Node)) for v in np.array(value, dtype=object).flat
    ):
        if len(value) != size:
            raise ShapeError(f"{what} has {len(value)} expressions; expected {size}.")
        return ExpressionSource(tuple(value))
    return Constant(_numbers(value, size, what))


def _numbers(value: Any, size: int, what: str) -> np.ndarray:
    """(size,), or (b, size) for a batch; a scalar goes to all components."""
    try:
        array = floats(value)
    except (TypeError, ValueError):
        raise DefinitionError(
            f"{what} is {_short(value)}; expected numbers, an expression, (times, values), a function or a System."
        ) from None
    if array.shape == ():
        array = np.full(size, float(array))
    elif size == 1 and array.ndim == 1 and len(array) > 1:
        array = array[:, None]  # one component, a batch
    if array.ndim > 2 or array.shape[-1] != size:
        raise ShapeError(f"{what} has shape {array.shape}; expected ({size},), or (batch, {size}).")
    check_finite(array, what)
    return array


def check_finite(array: np.ndarray, what: str, labels: Sequence[str] = ()) -> None:
    """Refuse NaN and infinities by name and place."""
    if np.isfinite(array).all():
        return
    place = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
    last = place[-1] if place else 0
    where = f" at {labels[last]!r}" if last < len(labels) else f" at {place}" if place else ""
    raise ModelError(f"{what} has {array[place]}{where}; expected finite numbers.")


# -- tables


def _is_table(value: Any) -> bool:
    return (
        isinstance(value, (tuple, list))
        and len(value) in (2, 3)
        and isinstance(value[0], (list, tuple, np.ndarray))
        and (len(value) == 2 or isinstance(value[2], (str, bool)))
        and (isinstance(value, tuple) or len(value) == 3)
    )


def _held(rest: Sequence[Any], what: str) -> bool:
    if not rest or isinstance(rest[0], bool):
        return bool(rest and rest[0])
    if rest[0] not in ("hold", "linear"):
        raise NameLookupError(f"{what} is a table of kind {rest[0]!r}. {nearest(rest[0], ('linear', 'hold'))}")
    return bool(rest[0] == "hold")


def _table_mapping(value: Mapping[str, Any], size: int, what: str) -> TableSource:
    known = ("times", "values", "hold")
    for key in value:
        if key not in known:
            raise NameLookupError(f"{what} is a table with {key!r}. {nearest(str(key), known)}")
    if "times" not in value or "values" not in value:
        raise DefinitionError(f"{what} is a mapping of {sorted(value)}; expected a table of times and values.")
    return _table(value["times"], value["values"], size, bool(value.get("hold", False)), what)


def _table(times: Any, values: Any, size: int, hold: bool, what: str) -> TableSource:
    try:
        t, v = np.asarray(times, dtype=float), np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise DefinitionError(f"{what} is a table that does not consist of numbers.") from None
    if t.ndim != 1 or not len(t):
        raise ShapeError(f"{what} is a table with times of shape {t.shape}; expected (k,).")
    if v.shape == (len(t),) and size == 1:
        v = v[:, None]
    if v.shape != (len(t), size):
        expected = f"({len(t)}, {size})" + (f" or ({len(t)},)" if size == 1 else "")
        raise ShapeError(f"{what} is a table of {len(t)} times with values of shape {v.shape}; expected {expected}.")
    check_finite(t, f"times of {what}")
    check_finite(v, f"table of {what}")
    if (np.diff(t) <= 0).any():
        k = int(np.argmax(np.diff(t) <= 0))
        raise DefinitionError(f"{what}: time {t[k + 1]:g} follows {t[k]:g}; expected ascending times.")
    return TableSource(t, v, hold)


# -- functions and controllers


def function_source(value: Callable[..., Any], what: str) -> Source:
    """By the number of arguments: f(t), f(t, state), f(t, q, qd)."""
    try:
        parameters = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return OfTime(value)  # a function written in C, such as np.sin
    needed = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty]
    if any(p.kind is p.KEYWORD_ONLY and p.default is p.empty for p in parameters) or not 1 <= len(needed) <= 3:
        takes_any = any(p.kind is p.VAR_POSITIONAL for p in parameters)
        if isinstance(value, np.ufunc) or (not needed and (takes_any or _with_defaults(parameters))):
            return OfTime(value)
        names = ", ".join(p.name for p in needed)
        raise DefinitionError(f"{what} is a function of ({names}); expected f(t), f(t, state) or f(t, q, qd).")
    if len(needed) == 1:
        return OfTime(value)
    return Feedback(value, by_name=len(needed) == 2)


def _with_defaults(parameters: Iterable[inspect.Parameter]) -> bool:
    return any(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)


def checked_values(value: Any, size: int, what: str, t: float) -> np.ndarray:
    """What a user's function returned, as (size,) finite numbers."""
    try:
        array = floats(value)
    except (TypeError, ValueError):
        raise DefinitionError(f"the function for {what} returned {value!r} at t = {t:g}; expected numbers.") from None
    if array.shape == ():
        array = np.full(size, float(array))
    if array.shape != (size,):
        raise ShapeError(f"the function for {what} returned shape {array.shape} at t = {t:g}; expected ({size},).")
    if not np.isfinite(array).all():
        raise ModelError(f"the function for {what} returned {value!r} at t = {t:g}; expected finite numbers.")
    return array


def _outputs_of(system: System) -> list[str]:
    """Outputs of a controller that are no rates of its own states."""
    return [n for n in system.outputs if n not in system.states.values()]


def _output_for(system: System, name: str, key: str, size: int) -> str:
    """The output of a controller that is meant for an input: of the same name, or the only one."""
    outputs = _outputs_of(system)
    chosen = next((n for n in (key, name) if n in outputs), outputs[0] if len(outputs) == 1 else None)
    if chosen is None:
        raise NameLookupError(f"controller {system.name!r} has no output {key!r}. {nearest(key, outputs)}")
    found = system.outputs[chosen].size
    if found != size:
        raise ShapeError(f"output {chosen!r} of controller {system.name!r} has {found} components; {key!r} has {size}.")
    return chosen


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 60 else text[:57] + "..."
