"""Operating points: what the user gives for q, qd, inputs and states, as arrays in the order of the Mechanism."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from symbody.basics.errors import ModelError, NameLookupError, ShapeError, nearest
from symbody.mechanics.formalisms.prescribed import prescribed
from symbody.model.record.coordinates import (
    Slot,
    checked,
    coordinate_labels,
    coordinate_units,
    neutral,
    parts,
    velocity_labels,
    velocity_owners,
    velocity_units,
)
from symbody.model.record.keyframes import named_state
from symbody.model.record.mechanism import Mechanism
from symbody.model.record.typed_values import numbers as typed
from symbody.model.record.typed_values import shared_unit
from symbody.symbolic.expr.evaluate import evaluate
from symbody.symbolic.expr.walk import free_symbols
from symbody.symbolic.system.names import place_of


def coordinates(
    mech: Mechanism, given: Any, default: np.ndarray | None = None, parameters: Mapping[str, Any] | None = None
) -> np.ndarray:
    """(nq,) from an array, {joint: number or numbers}, a keyframe, or the default: zero and unit quaternions.

    Quaternions are scaled to unit length. parameters: numbers in place of their defaults, for keyframes
    """
    start, given = neutral(mech) if default is None else default, named_state(mech, given, "q", parameters)
    spans = {p.owner: slice(p.iq, p.iq + p.nq) for p in mech.slots}
    q = vector("q0", given, start, spans, coordinate_labels(mech), mech.name, coordinate_units(mech))
    for part in parts(mech):
        if part.quaternion and np.linalg.norm(q[part.quaternion]) < 1e-8:
            raise ModelError(f"the quaternion of joint {part.owner!r} in q0 is zero; expected unit length.")
    return checked(mech, q)


def velocities(
    mech: Mechanism, name: str, given: Any, default: np.ndarray, parameters: Mapping[str, Any] | None = None
) -> np.ndarray:
    """(nv,) likewise, for qd0, qdd0 and tau."""
    spans = {p.owner: slice(p.iv, p.iv + p.nv) for p in mech.slots}
    units = velocity_units(mech) if name == "qd0" else ()
    given = named_state(mech, given, "qd", parameters) if name == "qd0" else given
    return vector(name, given, default, spans, velocity_labels(mech), mech.name, units)


def vector(
    name: str,
    given: Any,
    default: np.ndarray,
    spans: Mapping[str, slice],
    labels: Sequence[str],
    model: str,
    units: Sequence[str] = (),
) -> np.ndarray:
    """A vector from numbers in order, or from a mapping of names to numbers that changes the default."""
    out = np.array(default, dtype=float)
    if isinstance(given, Mapping):
        index = {**spans, **{label: slice(k, k + 1) for k, label in enumerate(labels)}}
        for key, value in given.items():
            if key not in index:
                raise NameLookupError(f"{name} of {model} names {key!r}. {nearest(str(key), index)}")
            part = index[key]
            numbers = typed(value, f"{name} of {key!r}", shared_unit(units, range(part.start, part.stop))).ravel()
            if len(numbers) not in (1, part.stop - part.start):
                raise ShapeError(f"{name}[{key!r}] has {len(numbers)} numbers; expected {part.stop - part.start}.")
            out[part] = numbers
    elif given is not None:
        numbers = typed(given, name).ravel()
        if len(numbers) != len(out):
            raise ShapeError(f"{name} has {len(numbers)} numbers; {model} needs {len(out)}: {', '.join(labels[:12])}.")
        out[:] = numbers
    if not np.all(np.isfinite(out)):
        wrong = [label for label, x in zip(labels, out) if not np.isfinite(x)]
        raise ModelError(f"{name} of {model} is not finite at {', '.join(wrong)}; an operating point needs numbers.")
    return out


def named_joints(mech: Mechanism, given: Any) -> list[Slot]:
    """Joints for which a mapping has values, of all or of some components; none of other ways to give them."""
    if not isinstance(given, Mapping):
        return []
    owners = {p.owner for p in mech.slots}
    named = {key if key in owners else str(key).rpartition(".")[0] for key in given}
    return [p for p in mech.slots if p.owner in named]


def named_velocities(mech: Mechanism, given: Any) -> np.ndarray:
    """(nv,) bool: components for which a mapping has values."""
    known = given if isinstance(given, Mapping) else {}
    named = zip(velocity_labels(mech), velocity_owners(mech), strict=True)
    return np.array([label in known or owner in known for label, owner in named], dtype=bool)


def driven_motion(mech: Mechanism, t: float, parameters: Mapping[str, Any]) -> tuple[np.ndarray, ...]:
    """(q, qd, qdd) with the laws of driven joints at time t, and zero (unit quaternions) elsewhere."""
    q, qd, qdd = neutral(mech), np.zeros(mech.nv), np.zeros(mech.nv)
    values = {n: parameters.get(n, s.data.default) for n, s in mech.parameters.items()}
    for p in mech.slots:
        if p.joint is None or p.mode != "driven":
            continue
        motion = prescribed(p.joint)
        time = [s.data.name for s in free_symbols(p.joint.values) if s.data.role == "time"]
        known = {**{n: v for n, v in values.items() if v is not None}, **dict.fromkeys(time, t)}
        for out, at, nodes in ((q, p.iq, motion.q), (qd, p.iv, motion.qd), (qdd, p.iv, motion.qdd)):
            out[at : at + len(nodes)] = [float(x) for x in evaluate(nodes, known)]
    return q, qd, qdd


def effort_names(mech: Mechanism) -> list[str]:
    """How efforts are named among inputs."""
    return ["tau", *(f"tau.{label}" for label in velocity_labels(mech))]


def split_inputs(
    given: Mapping[str, Any], arrays: Mapping[str, np.ndarray], what: str, model: str, others: Sequence[str] = ()
) -> dict[str, Any]:
    """Values of all arrays (zero where none is given) from {name: numbers} or {name.2: number}.

    others: further names that could have been given, for the message about an unknown one
    """
    out = {name: np.zeros(np.shape(a)) for name, a in arrays.items()}
    for key, value in given.items():
        stem, _, part = str(key).rpartition(".")
        if key in out:
            out[key] = _shaped(value, np.shape(out[key]), f"{what} {key!r} of {model}")
        elif stem in out and (place := place_of(part, out[stem].size)) is not None:
            out[stem].flat[place] = float(_shaped(value, (), f"{what} {key!r} of {model}"))
        else:
            raise NameLookupError(f"{model} has no {what} {key!r}. {nearest(str(key), [*others, *out])}")
        if not np.all(np.isfinite(out[key if key in out else stem])):
            raise ModelError(f"{what} {key!r} of {model} is {value!r}; an operating point needs finite numbers.")
    return out


def _shaped(value: Any, shape: tuple[int, ...], what: str) -> np.ndarray:
    """Numbers of a shape; one number may stand for an array of one."""
    found = typed(value, what)
    if found.size != int(np.prod(shape)):
        raise ShapeError(f"{what} has shape {found.shape}; expected {shape if shape else 'a number'}.")
    return found.reshape(shape)
