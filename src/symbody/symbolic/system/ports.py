"""Ports: named arguments of Programs, and what a caller gives for them, brought to checked arrays.

Checked are names, core shapes and loop dimensions; parameters have defaults.

An array for a port of shape `s` has shape `loop + s`; the loop dimensions of all arrays broadcast together, as those of
NumPy's generalised ufuncs do. Core dimensions never broadcast: `(1,)` for a port of shape `(6,)` is a mistake.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from symbody.basics.errors import NameLookupError, ShapeError, nearest
from symbody.symbolic.system.parameter_numbers import check_number

MOST_DIMENSIONS = 32  # that NumPy broadcasts
Values = Mapping[str, Any] | Sequence[Any]


@dataclass(frozen=True, slots=True)
class Port:
    """A named argument: its elements are consecutive in the flat vector of inputs (or parameters)."""

    name: str
    shape: tuple[int, ...]
    start: int
    role: str = "input"
    unit: str = ""
    default: tuple[float, ...] | None = None
    nonzero: bool = False  # declared so: the Program may divide by its elements

    @property
    def size(self) -> int:
        size = 1
        for n in self.shape:
            size *= n
        return size


def as_numbers(value: Any, name: str) -> np.ndarray:
    """`value` as float64, complex128 or (exact numbers) object array; anything else is refused by name."""
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ShapeError(f"'{name}' is not a regular array of numbers: {error}.") from None
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise ShapeError(f"'{name}' has masked elements; expected numbers. Give some for them: value.filled(0.0).")
    if array.ndim > MOST_DIMENSIONS:
        raise ShapeError(f"'{name}' has {array.ndim} dimensions; expected at most {MOST_DIMENSIONS}.")
    if array.dtype == object or array.dtype == np.complex128 or array.dtype == np.float64:
        return array
    try:
        if array.dtype.kind in "biuf":
            return array.astype(np.float64)
        if array.dtype.kind == "c":
            return array.astype(np.complex128)
    except MemoryError:
        raise ShapeError(
            f"'{name}' has shape {array.shape}, which does not fit into memory. Give parts of it."
        ) from None
    raise ShapeError(f"'{name}' has elements of type {array.dtype}; expected numbers.")


def checked(port: Port, value: Any) -> np.ndarray:
    """`value` as an array of shape `loop + port.shape`."""
    array = as_numbers(value, port.name)
    core = len(port.shape)
    if array.ndim < core or array.shape[array.ndim - core :] != port.shape:
        raise ShapeError(f"'{port.name}' has shape {array.shape}; expected {core_text(port.shape)}.")
    return array


def core_text(shape: tuple[int, ...]) -> str:
    """How a message writes a shape with free loop dimensions in front."""
    return f"(..., {', '.join(map(str, shape))})" if shape else "a number or an array of numbers"


def gather(ports: Sequence[Port], given: Values) -> list[np.ndarray]:
    """One checked array a port, from a mapping by name or a sequence in the order of the ports."""
    if isinstance(given, Mapping):
        names = [p.name for p in ports]
        for name in given:
            if name not in names:
                raise NameLookupError(f"There is no input '{name}'. {nearest(name, names)}")
        missing = [name for name in names if name not in given]
        if missing:
            raise NameLookupError(f"Missing input: {', '.join(missing)}. Expected {', '.join(names)}.")
        return [checked(p, given[p.name]) for p in ports]
    if len(given) != len(ports):
        expected = ", ".join(p.name for p in ports) or "none"
        raise ShapeError(f"{len(given)} inputs were given; expected {len(ports)} ({expected}).")
    return [checked(p, value) for p, value in zip(ports, given)]


def gather_parameters(ports: Sequence[Port], given: Mapping[str, Any] | Any | None) -> list[np.ndarray]:
    """One array a parameter port: from defaults (None), a mapping (may be partial), or a vector of shape (..., n)."""
    if given is None:
        given = {}
    if not isinstance(given, Mapping):
        return split_vector(ports, given)
    names = [p.name for p in ports]
    for name in given:
        if name not in names:
            raise NameLookupError(f"There is no parameter '{name}'. {nearest(name, names)}")
    return [checked(p, given[p.name]) if p.name in given else default(p) for p in ports]


def check_numbers(ports: Sequence[Port], given: Mapping[str, Any] | Any | None) -> None:
    """Refuse numbers that the parameters cannot have: not finite, or 0 where declared nonzero."""
    if given is None:
        return
    if isinstance(given, Mapping):
        found = [(p, checked(p, given[p.name])) for p in ports if p.name in given]
    else:
        found = list(zip(ports, split_vector(ports, given)))
    for port, array in found:
        check_number(port.name, array, port.nonzero)


def check_gathered(ports: Sequence[Port], arrays: Sequence[np.ndarray], given: Mapping[str, Any] | Any) -> None:
    """`check_numbers` of what a call gives, with its gathered floats at hand: all at once, since calls are short."""
    if not arrays:
        return
    try:
        flat = np.concatenate(arrays, axis=None)
    except MemoryError:
        return check_numbers(ports, given)  # which tells of them one by one
    zeros = not flat.all() and any(p.nonzero and not a.all() for p, a in zip(ports, arrays))
    if zeros or not np.isfinite(flat).all():
        check_numbers(ports, given)


def split_vector(ports: Sequence[Port], vector: Any) -> list[np.ndarray]:
    """The parts of a flat vector (..., n) that holds the elements of all ports end to end."""
    array = as_numbers(vector, "parameters")
    size = sum(p.size for p in ports)
    if array.ndim == 0 or array.shape[-1] != size:
        raise ShapeError(f"The parameter vector has shape {array.shape}; expected (..., {size}).")
    return [array[..., p.start : p.start + p.size].reshape(array.shape[:-1] + p.shape) for p in ports]


def default(port: Port) -> np.ndarray:
    if port.default is None:
        raise NameLookupError(f"Parameter '{port.name}' has no default value: give it in parameters.")
    return checked(port, np.reshape(np.asarray(port.default), port.shape))


def loop_of(port: Port, array: np.ndarray) -> tuple[int, ...]:
    return array.shape[: array.ndim - len(port.shape)]


def loop_shape(ports: Sequence[Port], arrays: Sequence[np.ndarray]) -> tuple[int, ...]:
    """The common loop dimensions of all arrays; `()` is a call for one state."""
    loops = [loop_of(p, a) for p, a in zip(ports, arrays)]
    if not any(loops):
        return ()
    try:
        return np.broadcast_shapes(*loops)
    except ValueError:
        told = ", ".join(f"'{p.name}' {loop}" for p, loop in zip(ports, loops) if loop)
        raise ShapeError(f"The loop dimensions do not broadcast together: {told}.") from None


def kept(parameters: Any) -> Any:
    """Parameters that were checked, to be bound: copies, since the caller may write into what was given."""
    if isinstance(parameters, Mapping):
        return {n: v if isinstance(v, float | int) else np.array(v) for n, v in parameters.items()}
    return None if parameters is None else np.array(parameters)


def merged(bound: Mapping[str, Any], parameters: Any) -> Any:
    """Parameters of a call on top of those bound by name: a mapping changes some of them and keeps the others."""
    return {**bound, **parameters} if isinstance(parameters, Mapping) else parameters
