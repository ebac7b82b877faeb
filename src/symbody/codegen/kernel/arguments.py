"""Arrays as native code takes them: an address and the distance, in doubles, from one state to the next."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from symbody.errors import ShapeError

FLOAT = np.dtype(np.float64)


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


def usable_output(out: np.ndarray, shape: tuple[int, ...], name: str, given: Sequence[np.ndarray]) -> bool:
    """Whether native code can write straight into `out`; a wrong shape or type is an error."""
    if not isinstance(out, np.ndarray) or out.shape != shape or out.dtype != FLOAT:
        got = f"shape {out.shape} and type {out.dtype}" if isinstance(out, np.ndarray) else f"type {type(out).__name__}"
        raise ShapeError(f"out for '{name}' has {got}; expected a float64 array of shape {shape}.")
    if not out.flags.writeable:
        raise ShapeError(f"out for '{name}' is read-only; give an array that can be written.")
    return out.flags.c_contiguous and out.flags.aligned and not any(np.may_share_memory(out, a) for a in given)


def too_many_states(loop: tuple[int, ...]) -> ShapeError:
    """The error of a batch that is too large."""
    return ShapeError(
        f"A batch of shape {loop} has {math.prod(loop)} states; their results do not fit into memory. "
        "Call it with parts of them."
    )
