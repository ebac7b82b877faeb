"""What a node may call besides arithmetic: external functions and piecewise polynomials."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, eq=False)
class External:
    """A pure function from outside: `arity` numbers in, `results` numbers out.

    `function(*numbers)` returns a number or a sequence of `results` numbers, and accepts arrays where the interpreter
    is used on batches. `address` is a C function `void f(const double *in, double *out)` for native code; `c_body` is
    its C text for source targets. `derivative(*nodes)` gives the partial derivatives, one row a result.
    """

    name: str
    arity: int
    results: int = 1
    function: Callable[..., Any] | None = None
    derivative: Callable[..., Any] | None = None
    address: int | None = None
    c_body: str | None = None


@dataclass(frozen=True, slots=True)
class Piecewise:
    """A piecewise polynomial: sum_k c[k][i] (x - x[i])^k on [x[i], x[i+1]); the end pieces extend outward."""

    x: tuple[float, ...]
    c: tuple[tuple[float, ...], ...]
