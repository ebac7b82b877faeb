"""Guesses of coordinates as users give them: numbers in order, or by the names of joints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from symbody.basics.errors import ModelError, NameLookupError, ShapeError, nearest
from symbody.model.record.coordinates import checked, coordinate_units, neutral
from symbody.model.record.keyframes import named_state
from symbody.model.record.mechanism import Mechanism
from symbody.model.record.typed_values import numbers as typed
from symbody.model.record.typed_values import shared_unit


def guessed(mechanism: Mechanism, q: Any, parameters: Mapping[str, Any] | None = None) -> tuple[np.ndarray, list[str]]:
    """((nq,) coordinates, joints that were named) of numbers, {joint: numbers}, {joint.2: number}, a keyframe or None.

    What is not named is zero, or a unit quaternion. parameters: numbers in place of their defaults, for keyframes
    """
    q = named_state(mechanism, q, "q", parameters)
    if q is None:
        return neutral(mechanism), []
    if not isinstance(q, Mapping):
        return checked(mechanism, _numbers(q, "q")), []
    spans = _spans(mechanism)
    components = {f"{n}.{k + 1}": i for n, span in spans.items() if len(span) > 1 for k, i in enumerate(span)}
    out = neutral(mechanism)
    named: dict[str, None] = {}
    for key, value in q.items():
        places = spans.get(key) or ([components[key]] if key in components else [])
        if not places:
            known = [*spans, *components]
            raise NameLookupError(f"q of {mechanism.name} names {key!r}. {nearest(str(key), known)}")
        unit = shared_unit(coordinate_units(mechanism), places)
        numbers = _numbers(value, f"q of {key!r}", unit).ravel()
        if len(numbers) != len(places):
            raise ShapeError(f"q of {key!r} has {len(numbers)} numbers; expected {len(places)}.")
        out[places] = numbers
        named[key if key in spans else key.rpartition(".")[0]] = None
    return checked(mechanism, out), list(named)


def _spans(mechanism: Mechanism) -> dict[str, list[int]]:
    """Owner, a joint or a body -> places of its coordinates in q."""
    return {s.owner: list(range(s.iq, s.iq + s.nq)) for s in mechanism.slots}


def _numbers(value: Any, what: str, unit: str | None = None) -> np.ndarray:
    out = typed(value, what, unit)
    if not np.isfinite(out).all():
        raise ModelError(f"{what} is {value!r}; expected finite numbers.")
    return out
