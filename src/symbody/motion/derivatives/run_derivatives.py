"""RunDerivatives: what `sb.sensitivity` gives for a mode: derivatives of quantities by names, labelled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from symbody.basics.errors import ModelError, NameLookupError, nearest
from symbody.motion.derivatives.function import RunFunction, jacobian_by
from symbody.motion.derivatives.linearised import Linearised
from symbody.motion.trajectory.trajectory import Trajectory


@dataclass(frozen=True, eq=False)
class RunDerivatives:
    """Derivatives of a run.

    function   the run as a function theta -> y
    y          (ny,) its values; jacobian (ny, n) their derivatives
    t          (k,) s, the instants of the quantities
    """

    function: RunFunction
    y: np.ndarray
    jacobian: np.ndarray
    t: np.ndarray

    def __getstate__(self) -> dict[str, Any]:
        """For pickle and copy: without the run, which holds loaded code and is made again where it is asked for."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @cached_property
    def run(self) -> Linearised:
        """The run with its derivatives."""
        return self.function.linearise()

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What is to be known of them: what depends on nothing, corners and jumps of laws, steps that chatter."""
        return (*self.run.notes, *_zero_notes(self))

    @property
    def names(self) -> tuple[str, ...]:
        """What is differentiated by."""
        return self.function.variables.names

    @property
    def quantities(self) -> tuple[str, ...]:
        """What is differentiated: quantities, then integrals."""
        return (*(q.name for q in self.function.quantities), *(n for n, _ in self.function.integrals))

    @cached_property
    def trajectory(self) -> Trajectory:
        """The motion itself."""
        return self.function.trajectory()

    def value(self, quantity: str) -> np.ndarray:
        """Where the run ends (*shape), or at its samples (k, *shape); an integral is one number."""
        return self._rows(self.y, quantity)

    def of(self, quantity: str, name: str) -> np.ndarray:
        """d quantity / d name: the shape of `value`, then that of what `name` means."""
        parts = self.function.variables.slices()
        if name not in parts:
            raise NameLookupError(f"nothing was differentiated by {name!r}. {nearest(name, self.names)}")
        variable = next(v for v in self.function.variables.items if v.name == name)
        rows = self._rows(self.jacobian[:, parts[name]], quantity)
        return rows.reshape((*rows.shape[:-1], *variable.value.shape))

    def gradient(self, quantity: str) -> dict[str, np.ndarray]:
        """d quantity / d name of all names."""
        return {name: self.of(quantity, name) for name in self.names}

    def relative(self, quantity: str, name: str) -> np.ndarray:
        """d quantity / d ln name: the change for a relative change of a parameter."""
        variable = next((v for v in self.function.variables.items if v.name == name), None)
        if variable is None or variable.kind != "parameter":
            raise ModelError(f"{name!r} is no parameter that was differentiated by; relative changes are for these.")
        return self.of(quantity, name) * variable.value

    def _rows(self, array: np.ndarray, quantity: str) -> np.ndarray:
        """The part of y (or of the rows of its Jacobian) that is a quantity."""
        k, width, rest = len(self.t), 0, array.shape[1:]
        total = sum(int(np.prod(q.shape, dtype=int)) for q in self.function.quantities)
        block = array[: k * total].reshape(k, total, *rest)
        for q in self.function.quantities:
            size = int(np.prod(q.shape, dtype=int))
            if q.name == quantity:
                found = block[:, width : width + size].reshape(k, *q.shape, *rest)
                return found[0] if self.function.at == "end" else found
            width += size
        for j, (name, _) in enumerate(self.function.integrals):
            if name == quantity:
                return np.asarray(array[k * total + j])
        raise NameLookupError(f"nothing was asked about {quantity!r}. {nearest(quantity, self.quantities)}")


def derivatives(
    model: Any,
    duration: float,
    by: Sequence[str] | str,
    of: Any,
    integrals: Mapping[str, str] | None,
    mode: str,
    at: str,
    **options: Any,
) -> RunDerivatives:
    """Derivatives of a run, whose arguments are those of `sb.sensitivity`."""
    function = RunFunction(model, duration, by, of, integrals, at, **options)
    run = function.linearise()
    matrix = jacobian_by(run, mode)
    t = np.array([node.t for node in run.nodes])
    found = RunDerivatives(function, run.y, matrix, t)
    vars(found)["run"] = run
    return found


def _zero_notes(found: RunDerivatives) -> list[str]:
    """Notes on pairs without any dependence."""
    unread = {v.name for v in found.function.variables.items if not v.known}
    out = []
    for quantity in found.quantities:
        zero = [n for n in found.names if n not in unread and not np.any(found.of(quantity, n))]
        if zero:
            out.append(f"{quantity!r} does not depend on {', '.join(map(repr, zero))} in this run: zero.")
    return out
