"""Shapes of arrays of states, by state (n, ...) or by component (..., n), and addresses that suit a kernel's loads.

A core is the shape of what belongs to one state; a loop is () for one state, or (n,).
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from symbody.basics.errors import ShapeError
from symbody.codegen.cuda.cuda_language import REALS
from symbody.codegen.cuda.kernel_source import vector
from symbody.symbolic.system.ports import core_text


def whole(core: tuple[int, ...], loop: tuple[int, ...], layout: str) -> tuple[int, ...]:
    """The shape of an array."""
    return loop + core if layout == "state" else core + loop


def distance(core: tuple[int, ...], layout: str) -> int:
    """Numbers from a state to the next one."""
    return math.prod(core) if layout == "state" else 1


def states(shape: tuple[int, ...], core: tuple[int, ...], layout: str, name: str) -> int | None:
    """Number of states of an array, None for one that all share."""
    if shape == core:
        return None
    if len(shape) == len(core) + 1:
        if layout == "state" and shape[1:] == core:
            return shape[0]
        if layout == "component" and shape[:-1] == core:
            return shape[-1]
    wanted = core_text(core).replace("...", "n")
    if layout == "component":
        wanted = f"({', '.join(map(str, core))}{', ' if core else ''}n)"
    raise ShapeError(f"'{name}' has shape {shape}; expected {wanted} with arrays by {layout}, or {core}.")


def common_loop(arrays: Iterable[tuple[str, tuple[int, ...], tuple[int, ...]]], layout: str) -> tuple[int, ...]:
    """The loop of arrays (name, shape, core): () where all are of one state."""
    loop: tuple[int, ...] = ()
    for name, shape, core in arrays:
        n = states(shape, core, layout, name)
        if n is None:
            continue
        if loop and n != loop[0]:
            raise ShapeError(f"'{name}' has {n} states, and an array before it {loop[0]}.")
        loop = (n,)
    return loop


def load_width(core: tuple[int, ...], layout: str, precision: str) -> int:
    """Bytes that a kernel loads or stores at once: addresses must be multiples of it."""
    size = math.prod(core)
    bytes_each = 8 if precision == "double" else 4
    return bytes_each * (vector(size, REALS[precision]) if size and layout == "state" else 1)


def check_address(pointer: int, width: int, name: str) -> None:
    if pointer % width:
        raise ShapeError(f"'{name}' begins at an address that is no multiple of {width} bytes; copy it first.")
