"""Arrays as native code takes them: an address and the distance, in doubles, from one state to the next."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from symbody.basics.errors import NameLookupError, ShapeError, nearest, whole_argument

FLOAT = np.dtype(np.float64)
MOST_WORK = 10_000  # to tell whether two views share an element; those that need more are taken to share one


def real_array(array: np.ndarray, name: str) -> np.ndarray:
    """float64, native byte order; complex and exact numbers are refused, native code has no such arithmetic."""
    if array.dtype.kind in "cO":
        raise ShapeError(
            f"'{name}' has elements of type {array.dtype}; native code takes real floats. Use the interpreter."
        )
    return array if array.dtype == FLOAT else array.astype(FLOAT)


def state_rows(array: np.ndarray, core: int, loop: tuple[int, ...]) -> tuple[np.ndarray, int]:
    """(array to keep alive, stride): state i of the flattened loop starts at the array's first element + i*stride.

    array: (..., *core dims), with loop dimensions that broadcast to `loop`. Copies only what has no such form.
    """
    own = array.shape[: array.ndim - core]
    inner = array.shape[array.ndim - core :]
    if array.size == 0:
        return array, 0
    if math.prod(own) == 1:
        return array if array.flags.c_contiguous and array.flags.aligned else array.copy(), 0
    dense_core = array.strides[array.ndim - core :] == _dense_strides(inner)
    if array.flags.aligned and dense_core and own == loop:
        if array.flags.c_contiguous:
            return array, math.prod(inner)
        if len(loop) == 1 and array.strides[0] % 8 == 0:
            return array, array.strides[0] // 8
    return np.broadcast_to(array, loop + inner).copy(), math.prod(inner)


def _dense_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides, step = [], 8
    for n in reversed(shape):
        strides.append(step)
        step *= n
    return tuple(reversed(strides))


def aligned(size: int) -> np.ndarray:
    """(size,) doubles that start at a multiple of 64 bytes, as vector code wants its frame."""
    room = np.empty(size + 8)
    start = (-room.ctypes.data % 64) // 8
    return room[start : start + size]


def targets_of(names: Sequence[str], out: Any) -> list[Any]:
    """`out=` of a call as one array, or None, for each output: an array, a list, or a mapping that may be partial."""
    if out is None:
        return [None] * len(names)
    if isinstance(out, Mapping):
        for name in out:
            if name not in names:
                raise NameLookupError(f"There is no output '{name}'. {nearest(name, names)}")
        targets = [out.get(name) for name in names]
    elif isinstance(out, np.ndarray | list | tuple):
        targets = [out] if isinstance(out, np.ndarray) else list(out)
    else:
        raise ShapeError(f"out is a {type(out).__name__}; expected an array, or a list or mapping of arrays.")
    if len(targets) != len(names):
        raise ShapeError(f"out has {len(targets)} arrays; expected {len(names)} ({', '.join(names)}).")
    twice = shared([(n, a) for n, a in zip(names, targets) if isinstance(a, np.ndarray) and a.size])
    if twice:
        raise ShapeError(f"out for '{twice[0]}' and for '{twice[1]}' share memory; give each an array of its own.")
    return targets


def shared(named: Sequence[tuple[str, np.ndarray]]) -> tuple[str, str] | None:
    """Names of two arrays that share an element. Sorted by where they begin, so that only neighbours are compared."""
    if len({id(a) for _, a in named}) == len(named) and all(a.flags.owndata for _, a in named):
        return None
    reaching: list[tuple[int, int]] = []  # (end, number) of those that may reach the next ones
    for begin, end, k in sorted((*_bounds(a), k) for k, (_, a) in enumerate(named)):
        reaching = [other for other in reaching if other[0] > begin]
        for _, other in reaching:
            if _overlap(named[k][1], named[other][1]):
                return named[min(k, other)][0], named[max(k, other)][0]
        reaching.append((end, k))
    return None


def _bounds(array: np.ndarray) -> tuple[int, int]:
    """Addresses of the first byte and behind the last one."""
    place = array.__array_interface__["data"][0]
    if array.flags.c_contiguous:
        return place, place + array.nbytes
    reach = [(n - 1) * step for n, step in zip(array.shape, array.strides)]
    return place + sum(r for r in reach if r < 0), place + sum(r for r in reach if r > 0) + array.itemsize


def _overlap(a: np.ndarray, b: np.ndarray) -> bool:
    try:
        return np.shares_memory(a, b, max_work=MOST_WORK)  # type: ignore[arg-type]  # the stubs know 0 and -1
    except np.exceptions.TooHardError:
        return True


def usable_output(out: np.ndarray, shape: tuple[int, ...], name: str, given: Sequence[np.ndarray]) -> bool:
    """Whether native code can write straight into `out`; a wrong shape or type is an error."""
    if not isinstance(out, np.ndarray) or out.shape != shape or out.dtype != FLOAT:
        got = f"shape {out.shape} and type {out.dtype}" if isinstance(out, np.ndarray) else f"type {type(out).__name__}"
        raise ShapeError(f"out for '{name}' has {got}; expected a float64 array of shape {shape}.")
    if not out.flags.writeable:
        raise ShapeError(f"out for '{name}' is read-only; give an array that can be written.")
    return out.flags.c_contiguous and out.flags.aligned and not any(np.may_share_memory(out, a) for a in given)


def check_lanes(lanes: Any) -> None:
    """A number of states at once, or None."""
    if lanes is not None:
        whole_argument("lanes", lanes, 1, ", or None for as many as the processor has")


def too_many_states(loop: tuple[int, ...]) -> ShapeError:
    """The error of a batch that is too large."""
    return ShapeError(
        f"A batch of shape {loop} has {math.prod(loop)} states; their results do not fit into memory. "
        "Call it with parts of them."
    )
