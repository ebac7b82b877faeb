"""Kernel: what every target builds, whatever is behind it. The last passport: simulation and analysis know no more.

It is a protocol, so that machine code, the interpreter and a target of an author serve alike. It holds no state:
a call depends on its arguments alone, and loop dimensions broadcast as in NumPy's generalised universal functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from symbody.symbolic.system.ports import Port


class Output(Protocol):
    """A named result: its shape for one state, and its unit."""

    @property
    def name(self) -> str: ...

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def unit(self) -> str: ...


@runtime_checkable
class Kernel(Protocol):
    """A loaded, stateless callable with named, sized arguments.

    Arrays have shape (..., *port shape) and come by position, in the order of `inputs`, or by name. Loop dimensions in
    front broadcast as those of NumPy's generalised ufuncs; the results have them too.
    """

    @property
    def name(self) -> str: ...

    @property
    def inputs(self) -> tuple[Port, ...]: ...

    @property
    def parameters(self) -> tuple[Port, ...]: ...

    @property
    def outputs(self) -> Sequence[Output]: ...

    def __call__(self, *arrays: Any, parameters: Any = None, out: Any = None, **named: Any) -> Any:
        """The result, or a named tuple where there are several outputs.

        parameters: None for the bound or default ones, a mapping by name, or a vector (..., n). out: arrays to write
        to. One state whose solve block fails raises SolveError; in a batch its results are NaN.
        """

    def call_named(self, *arrays: Any, parameters: Any = None, **named: Any) -> dict[str, np.ndarray]:
        """Outputs by name, also where there is only one, each an array of shape (..., *output shape)."""

    def call_with_status(
        self, *arrays: Any, parameters: Any = None, out: Any = None, **named: Any
    ) -> tuple[Any, np.ndarray]:
        """(result, status) without raising; status (..., blocks): +k converged after k evaluations, else failed."""

    def bind(self, parameters: Any = None) -> Kernel:
        """A Kernel with these parameters in place; those of a call still go first."""


def results_by_name(outputs: Sequence[Output], result: Any) -> dict[str, np.ndarray]:
    """What a call returned, by the names of the outputs."""
    values = [result] if len(outputs) == 1 else result
    return {o.name: np.asarray(v) for o, v in zip(outputs, values, strict=True)}
