"""Numbers that a run is given, checked before anything is computed with them: parameters, sizes of a batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from symbody.basics.errors import ModelError, Named, NameLookupError, ShapeError, nearest
from symbody.basics.memory import memory_of
from symbody.model.record.mechanism import Mechanism
from symbody.model.record.parameter_values import check_given, massless, ready_checks
from symbody.motion.flow.flow import Flow
from symbody.motion.flow.sources import Assignment, Constant
from symbody.symbolic.system.parameter_numbers import check_number, real_number


def check_parameters(flow: Flow, parameters: Mapping[str, Any], mech: Mechanism | None) -> None:
    """Numbers of the right shape that parameters can have; all that the equations contain have one.

    Those of a Mechanism were looked at by `check_bodies`.
    """
    checked = {} if mech is None else mech.parameters
    for name, value in parameters.items():
        if name in checked and np.shape(flow.parameters.get(name, 0.0)) == ():
            continue
        known: dict[str, Any] = {**checked, **flow.parameters}
        if name not in known:
            raise NameLookupError(f"{flow.name} has no parameter {name!r}. {nearest(name, known)}")
        array = real_number(name, value)
        check_number(name, array, all(s.data.nonzero for s in np.ravel(known[name])))
        core = np.shape(flow.parameters.get(name, 0.0))
        if array.shape[array.ndim - len(core) :] != core or array.ndim > len(core) + 1:
            raise ShapeError(f"parameter {name!r} has shape {array.shape}; expected {core}, or a batch of them.")
    for kind, names in memory_of(flow).get("without_default", (), lambda: _without_default(flow)).items():
        missing = [n for n in names if n not in parameters]
        if missing:
            told = ", ".join(missing)
            raise ModelError(f"{flow.name} ({kind}) has no value for {told}. Give ", Named("parameters", "{...}"), ".")


def _without_default(flow: Flow) -> dict[str, list[str]]:
    """Parameters without a default, by System of the Flow."""
    found = {kind: [n for n in s.parameters if s.default(n) is None] for kind, s in flow.systems.items()}
    return {kind: names for kind, names in found.items() if names}


def check_bodies(mech: Mechanism, parameters: Mapping[str, Any]) -> list[str]:
    """Notes on bodies that lose their mass; numbers that the Mechanism cannot have are refused, before the equations.

    Names that it does not know may be those of the inputs: `check_parameters` looks at them.
    """
    memory_of(mech).get("value_functions", (), lambda: ready_checks(mech))
    if not parameters:
        return []
    known = mech.parameters
    given = check_given(mech, {n: v for n, v in parameters.items() if n in known})
    return [
        f"body {name!r} has no mass with the given parameters; a motion that moves no mass has no finite acceleration."
        for name in massless(mech, given)
    ]


def batch_size(
    batch: int | None, parameters: Mapping[str, Any], flow: Flow, assignments: Sequence[Assignment]
) -> int | None:
    """The size of the batch that initial values, parameters and constant inputs agree on."""
    sizes = {} if batch is None else {"initial values": batch}
    for name, value in parameters.items():
        array = np.asarray(value)
        if array.ndim > np.ndim(flow.parameters.get(name, 0)):
            sizes[f"parameter {name!r}"] = len(array)
    for a in assignments:
        if isinstance(a.source, Constant) and a.source.values.ndim == 2:
            sizes[f"input {a.name!r}"] = len(a.source.values)
    if len(set(sizes.values())) > 1:
        told = ", ".join(f"{what} {size}" for what, size in sizes.items())
        raise ShapeError(f"the members of the batch are counted differently: {told}.")
    return next(iter(sizes.values()), None)
