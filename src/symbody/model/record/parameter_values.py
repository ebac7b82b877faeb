"""Numbers that a caller gives for parameters of a Mechanism, checked once before anything is computed with them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from symbody.basics.errors import NameLookupError, ShapeError, SymbodyError, nearest
from symbody.basics.memory import memory_of
from symbody.model.record.followers import completed
from symbody.model.record.mechanism import Body, Mechanism
from symbody.model.record.numbers import numbers_of
from symbody.model.record.validate import check_values
from symbody.symbolic.expr.walk import free_symbols
from symbody.symbolic.system.parameter_numbers import check_number, real_number


def given_numbers(mechanism: Mechanism, given: Mapping[str, Any] | None) -> dict[str, float]:
    """name -> number, as `check_given` accepts them; one number for each parameter."""
    out = {}
    for name, array in check_given(mechanism, given).items():
        if array.ndim:
            raise ShapeError(f"parameter {name!r} has shape {array.shape}; expected one number.")
        out[name] = float(array)
    return out


def check_given(mechanism: Mechanism, given: Mapping[str, Any] | None) -> dict[str, np.ndarray]:
    """name -> number or batch (b,) of them: known, finite, not 0 where declared nonzero, and bodies that can exist.

    Parameters whose default is an expression of what is given are among the result, unless they are given too.

    A mass or an inertia may become 0, as it may be in a model file: a point mass, a rod or a massless coupler is a
    legal body. Whether every motion still moves some mass depends on the state; where it does not, the verb that needs
    the inverse of the mass matrix says so. Negative masses and moments, and moments that violate the triangle
    inequality, are refused with the name of the body.
    """
    known = mechanism.parameters
    arrays: dict[str, np.ndarray] = {}
    for name, value in (given or {}).items():
        if name not in known:
            raise NameLookupError(f"{mechanism.name} has no parameter {name!r}. {nearest(name, known)}")
        arrays[name] = real_number(name, value)
        if arrays[name].ndim > 1:
            raise ShapeError(f"parameter {name!r} has shape {arrays[name].shape}; expected (), or a batch of them.")
        check_number(name, arrays[name], known[name].data.nonzero)
    sizes = {name: len(a) for name, a in arrays.items() if a.ndim}
    if len(set(sizes.values())) > 1:
        told = ", ".join(f"parameter {name!r} {size}" for name, size in sizes.items())
        raise ShapeError(f"the members of the batch are counted differently: {told}.")
    for name, value in completed(mechanism, arrays).items():
        if name not in arrays:
            arrays[name] = np.asarray(value)
            check_number(name, arrays[name], known[name].data.nonzero)
    check_values(mechanism, arrays)
    return arrays


def massless(mechanism: Mechanism, given: Mapping[str, np.ndarray]) -> list[str]:
    """Bodies whose mass becomes 0 by what is given."""
    if not given:
        return []
    memory, own = memory_of(mechanism), frozenset(given)

    def named() -> list[tuple[set[str], Body]]:
        return [({s.data.name for s in free_symbols([b.mass])}, b) for b in mechanism.bodies]

    def touched() -> list[Body]:
        return [body for names, body in memory.get("masses", (), named) if names & own]

    out = []
    for body in memory.get("masses_of", own, touched):
        now = numbers_of(body.mass, given)
        if now is not None and np.any(now == 0):
            before = numbers_of(body.mass)
            if before is None or before != 0:
                out.append(body.name)
    return out


def ready_checks(mechanism: Mechanism) -> bool:
    """Make the functions that `check_given` and `massless` evaluate: a run with other numbers finds them made."""
    known = {name: np.asarray(float(s.data.default)) for name, s in mechanism.parameters.items() if s.data.default}
    with suppress(SymbodyError):  # what is refused is said where it is given
        massless(mechanism, check_given(mechanism, known))
    return True
