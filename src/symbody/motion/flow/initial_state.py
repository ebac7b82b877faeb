"""The state at the start of a simulation, from arrays or from values by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from symbody.basics.errors import ModelError, NameLookupError, ShapeError, floats, nearest, shown
from symbody.model.record.typed_values import numbers, shared_unit
from symbody.motion.flow.flow import Flow
from symbody.motion.flow.sources import check_finite
from symbody.symbolic.system.names import components, stems


def initial_values(flow: Flow, given: Mapping[str, Any]) -> tuple[dict[str, np.ndarray], int | None]:
    """States by name in their shapes, with a batch dimension in front where one was given; the size of the batch.

    given: name of a state -> None (as `flow.start` says, else zero), an array, or component -> value.
    """
    for name in given:
        if name not in flow.states:
            known = nearest(str(name), flow.states)
            raise NameLookupError(f"{flow.name} has no state {name!r} to start from. {known}")
    out = {n: _value(flow, n, given.get(n)) for n in flow.states}
    sizes = {n: len(a) for n, a in out.items() if a.ndim > flow.rates.inputs[n].ndim}
    if len(set(sizes.values())) > 1:
        told = ", ".join(f"{n} for {size}" for n, size in sizes.items())
        raise ShapeError(f"initial values are given for batches of different sizes: {told}.")
    return out, next(iter(sizes.values()), None)


def _value(flow: Flow, name: str, given: Any) -> np.ndarray:
    shape = flow.rates.inputs[name].shape
    rest = np.array(np.broadcast_to(flow.start.get(name, 0.0), shape), dtype=float)
    if given is None:
        return rest
    what = f"initial value of {name!r}"
    labels = flow.labels.get(name, ())
    if isinstance(given, Mapping):
        return _by_name(rest, labels, given, name, flow.name, flow.units.get(name, ""))
    try:
        array = np.array(floats(given))
    except (TypeError, ValueError):
        raise ModelError(f"{what} is {shown(given)}; expected numbers, or a mapping of names to numbers.") from None
    except MemoryError:
        raise ShapeError(
            f"{what} has shape {np.shape(given)}, which does not fit into memory; run it in parts."
        ) from None
    if array.shape == () and shape == (1,):
        array = array.reshape(1)
    if array.ndim not in (len(shape), len(shape) + 1) or array.shape[array.ndim - len(shape) :] != shape:
        told = f"{shape}, or (batch, {', '.join(map(str, shape))})" if shape else "a number, or (batch,)"
        joints = f" The components are {', '.join(labels)}." if 0 < len(labels) <= 12 else ""
        raise ShapeError(f"{what} has shape {array.shape}; expected {told}.{joints}")
    check_finite(array, what, labels)
    return array


def _by_name(
    rest: np.ndarray, labels: Sequence[str], given: Mapping[str, Any], name: str, model: str, units: str | Sequence[str]
) -> np.ndarray:
    """Some components by the names of their joints, the others as they are at rest; numbers or (b,) for a batch."""
    places: list[tuple[list[int], np.ndarray]] = []
    batch: int | None = None
    for key, value in given.items():
        found = components(labels, rest.size, str(key))
        if not found:
            raise NameLookupError(f"{model} has no {name} of {key!r}. {nearest(str(key), stems(labels))}")
        array = numbers(value, f"{name} of {key!r}", shared_unit(units, found))
        check_finite(array, f"{name} of {key!r}")
        if len(found) == 1 and array.ndim <= 1 and array.shape != (1,):
            array = array[..., None]
        elif array.shape == ():
            array = np.full(len(found), float(array))
        if array.shape[-1:] != (len(found),) or array.ndim > 2:
            raise ShapeError(f"{name} of {key!r} has shape {array.shape}; expected ({len(found)},).")
        if array.ndim == 2:
            if batch not in (None, len(array)):
                raise ShapeError(f"{name} of {key!r} is given for {len(array)} members, others for {batch}.")
            batch = len(array)
        places.append((found, array))
    out = rest.copy() if batch is None else np.repeat(rest[None], batch, axis=0)
    for found, array in places:
        out[..., found] = array
    return out


def check_prescribed(
    flow: Flow, before: np.ndarray, after: np.ndarray, given: Mapping[str, Any], notes: list[str]
) -> None:
    """Driven joints start where their laws say. A value given by name that contradicts the law is an error."""
    for name, places in flow.prescribed.items():
        at, labels = flow.slices[name], flow.labels.get(name, ())
        named = given.get(name)
        for k in places:
            old, new = before[..., at.start + k], after[..., at.start + k]
            gap = float(np.max(np.abs(old - new)))
            if gap <= 1e-9 * max(1.0, float(np.max(np.abs(new)))):
                continue
            label = labels[k]
            value = f"{float(new.flat[0] if new.ndim else new):g}"
            wished = named if isinstance(named, Mapping) else {}
            for key in (label, label.rpartition(".")[0]):  # a component, or the whole joint
                if key in wished:
                    raise ModelError(
                        f"{name} of {key!r} starts at {wished[key]!r}, but the joint is driven and its law gives "
                        f"{value} for {label!r}. Leave it out, or change the law."
                    )
            if named is not None:
                notes.append(f"{name} of {label!r} starts at {value}, as the law of the driven joint says.")
