"""A Kernel without native code: the interpreter behind the call interface of every Kernel."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from symbody.codegen.kernel.program_kernel import ProgramKernel
from symbody.symbolic.lower.interpret import LANES, PreparedProgram, elements, prepare, run, run_prepared
from symbody.symbolic.lower.program import Program
from symbody.symbolic.system.ports import kept


class InterpretedKernel(ProgramKernel):
    """Takes floats, complex numbers (for complex-step derivatives) and exact numbers."""

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self._prepared: PreparedProgram | None = None

    def _compute(
        self, arrays: list[np.ndarray], given: list[np.ndarray], loop: tuple[int, ...]
    ) -> tuple[list[np.ndarray], np.ndarray]:
        exact = any(a.dtype == object for a in [*arrays, *given])
        if given is self._bound and self._prepared is not None and not exact and math.prod(loop) <= LANES:
            results, outcome = run_prepared(self._prepared, elements(self.inputs, arrays), loop)
        else:
            results, outcome = run(self.program, arrays, given, exact)
        return [results[p.name] for p in self.outputs], outcome

    def bind(self, parameters: Mapping[str, Any] | Any | None = None) -> Self:
        bound = type(self)(self.program)
        bound._bound = self._kept(parameters)
        bound.recipe = None if self.recipe is None else self.recipe.with_bound(kept(parameters))
        if not any(a.dtype == object for a in bound._bound):
            bound._prepared = prepare(self.program, elements(self.parameters, bound._bound))
        return bound
