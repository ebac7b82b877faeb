"""What a node may call besides arithmetic: external functions and piecewise polynomials."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

from symbody.basics.errors import ExpressionError


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
