"""What a node may call besides arithmetic: external functions and piecewise polynomials."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from symbody.basics.errors import CompileError, ExpressionError

TINY = 1e-8  # imaginary parts up to it are those of a complex step
STRIDE = 1e-4  # of differences: their error is some 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class External:
    """A pure function from outside: `arity` numbers in, `results` numbers out.

    `function(*numbers)` returns a number or a sequence of `results` numbers; one that takes no arrays is called number
    by number. `address` is a C function `void f(const double *in, double *out)` for native code; `c_body` is
    its C text for source targets. `derivative(*nodes)` gives the partial derivatives, one row a result.
    """

    name: str
    arity: int
    results: int = 1
    function: Callable[..., Any] | None = None
    derivative: Callable[..., Any] | None = None
    address: int | None = None
    c_body: str | None = None

    def __copy__(self) -> External:
        return self  # what makes it itself is its identity

    def __deepcopy__(self, memo: dict[int, Any]) -> External:
        return self

    def __reduce__(self) -> tuple[type[External], tuple[Any, ...]]:
        if self.address is not None:  # in another process something else lies there
            raise ExpressionError(
                f"external function {self.name!r} has the address of C code in this process, which workers do not "
                "have. Give it a Python function, or save the System, and load it there with an External of their own."
            )
        return self.__class__, tuple(getattr(self, f.name) for f in fields(self))


@dataclass(frozen=True, slots=True)
class Piecewise:
    """A piecewise polynomial: sum_k c[k][i] (x - x[i])^k on [x[i], x[i+1]); the end pieces extend outward."""

    x: tuple[float, ...]
    c: tuple[tuple[float, ...], ...]


def call_external(external: External, args: list[Any]) -> tuple[Any, ...]:
    """The results of an external function; one that takes only single numbers is called lane by lane."""
    function = external.function or _function_at(external)
    if any(np.iscomplexobj(a) for a in args) and max(np.abs(np.imag(a)).max(initial=0.0) for a in args) <= TINY:
        return _along(external, args)
    if not any(np.ndim(a) for a in args):
        return _results(external, function(*args))
    lanes = np.broadcast_arrays(*args)
    try:
        return _results(external, function(*lanes))
    except (TypeError, ValueError):
        flat = [a.ravel().tolist() for a in lanes]
        rows = np.array([_results(external, function(*lane)) for lane in zip(*flat)]).reshape(-1, external.results)
        return tuple(rows[:, k].reshape(lanes[0].shape) for k in range(external.results))


def _along(external: External, args: list[Any]) -> tuple[Any, ...]:
    """The results of a complex step: a function of real numbers at the real parts, and its slope along the imaginary
    ones, by differences of the fourth order."""
    parts = np.broadcast_arrays(*args)
    at, push = [np.real(a).astype(float) for a in parts], [np.imag(a) for a in parts]
    size = max(np.abs(p).max(initial=0.0) for p in push) or 1.0
    reach = STRIDE * (1 + max(np.abs(a).max(initial=0.0) for a in at))

    def moved(steps: int) -> np.ndarray:
        ends = [a + steps * reach * (p / size) for a, p in zip(at, push)]
        return np.array(call_external(external, ends if np.ndim(at[0]) else [float(e) for e in ends]))

    slope = (8 * (moved(1) - moved(-1)) - (moved(2) - moved(-2))) / (12 * reach)
    return tuple(moved(0) + 1j * size * slope)


def _results(external: External, returned: Any) -> tuple[Any, ...]:
    if external.results == 1 and not isinstance(returned, (tuple, list)):
        returned = (returned,)
    # plain floats for one state: NumPy scalars would leave the tables of operations
    results = tuple(float(r) if isinstance(r, (int, np.floating)) else r for r in returned)
    if len(results) != external.results:
        raise ExpressionError(f"External '{external.name}' gave {len(results)} results; expected {external.results}.")
    return results


def _function_at(external: External) -> Callable[..., Any]:
    """A Python function around a C function `void f(const double *in, double *out)`."""
    if external.address is None:
        raise CompileError(f"External '{external.name}' has neither a Python function nor an address to call.")
    pointer = ctypes.POINTER(ctypes.c_double)
    native = ctypes.CFUNCTYPE(None, pointer, pointer)(external.address)

    def function(*args: float) -> tuple[float, ...]:
        results = (ctypes.c_double * max(external.results, 1))()
        native((ctypes.c_double * max(len(args), 1))(*args), results)
        return tuple(results[: external.results])

    return function
