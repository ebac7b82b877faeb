"""Limits of joints on request: stops and brakes as force elements, efforts that saturate, and who passed what."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from symbody.basics.arguments import declared
from symbody.basics.errors import DefinitionError, ModelError, NameLookupError, nearest, real_argument, record_argument
from symbody.basics.memory import memory_of
from symbody.mechanics.memoised.kernels import kernel_of
from symbody.mechanics.verbs.dynamics import semi_explicit
from symbody.model.record.coordinates import neutral, velocity_labels
from symbody.model.record.joint_limits import joint_limits
from symbody.model.record.mechanism import Force, Limits, Mechanism
from symbody.model.record.numbers import plain
from symbody.symbolic.expr.functions import maximum, minimum
from symbody.symbolic.expr.node import Node
from symbody.symbolic.system.names import components
from symbody.symbolic.system.system import System

FREQUENCY = 30.0  # Hz, of a joint on its stop: stiff beside any controller, soft beside any integrator
BRAKING = 50.0  # 1/s: a speed above its limit falls off in 20 ms
RIGID = 1e12  # a side that has no stop, in rad or m


@declared
def with_limits(
    mech: Mechanism,
    joints: Sequence[str] | None = None,
    stiffness: float | None = None,
    dissipation: float = 1.0,
    braking: float | None = None,
) -> Mechanism:
    """The Mechanism with limits that act: at the ends of its range a joint meets a stop, above its speed a brake.

    Each joint with limits of position or velocity gets a force element limit_<joint> (kind joint, law limit).
    joints: those whose limits act; None: all that have any. stiffness (N m/rad, N/m) of a stop: 30 Hz with the mass
    that the joint moves at rest where none is given; dissipation (s/rad, s/m) of Hunt and Crossley; braking
    (N m s/rad, N s/m).
    Efforts are inputs: `saturated` bounds them.
    """
    record_argument("with_limits", mech, Mechanism, "a Mechanism, as sb.load(name_or_path) gives")
    real_argument("dissipation", dissipation, "0 or more, s/rad or s/m", least=0.0)
    for name, value in (("stiffness", stiffness), ("braking", braking)):
        if value is not None:
            real_argument(name, value, "a positive number", above=0.0)
    known = {n: x for n, x in joint_limits(mech).items() if _bounds(x) and _single(mech, n)}
    for name in joints or ():
        if name not in known:
            raise NameLookupError(f"joint {name!r} of {mech.name} has no limits that could act. {nearest(name, known)}")
    chosen = [n for n in known if joints is None or n in joints]
    taken = {f.name for f in mech.forces}
    moved = _moved_mass(mech) if chosen else {}
    new = []
    for joint in chosen:
        name = f"limit_{joint}"
        if name in taken:
            continue  # they act already
        mass = moved[joint]
        limits = known[joint]
        values: dict[str, float] = {
            "lower": -RIGID if limits.lower is None else limits.lower,
            "upper": RIGID if limits.upper is None else limits.upper,
            "stiffness": mass * (2 * np.pi * FREQUENCY) ** 2 if stiffness is None else stiffness,
            "dissipation": dissipation,
        }
        if limits.velocity:
            values |= {"speed": limits.velocity, "braking": mass * BRAKING if braking is None else braking}
        nodes = {k: mech.graph.number(plain(float(v))) for k, v in values.items()}
        new.append(Force(name, "joint", (), {"joint": joint, "law": "limit", **nodes}))
    bent = [n for n, x in joint_limits(mech).items() if _bounds(x) and mech.joint(n).elastic is not None]
    notes = [f"limits of joint {n!r} do not act: it is elastic" for n in bent if joints is None]
    notes = [n for n in notes if n not in mech.notes]
    return mech.replace(forces=(*mech.forces, *new), notes=(*mech.notes, *notes)) if new or notes else mech


def _bounds(limits: Limits) -> bool:
    return limits.lower is not None or limits.upper is not None or bool(limits.velocity)


def _single(mech: Mechanism, joint: str) -> bool:
    """Whether a joint has one coordinate of its own that moves freely."""
    slot = next((s for s in mech.slots if s.owner == joint and s.joint is not None), None)
    return slot is not None and slot.nv == 1 and slot.nq == 1 and slot.mode != "driven"


def _moved_mass(mech: Mechanism) -> dict[str, float]:
    """Joint -> its entry of the mass matrix at rest, kg or kg m^2; at least a little."""
    system = semi_explicit(mech.replace(forces=()), formalism="newton_euler", loops=False)
    missing = [n for n in system.parameters if system.default(n) is None]
    if missing:
        raise ModelError(f"{mech.name} has no value for {', '.join(missing)}; give stiffness and braking.")
    given = {"q": neutral(mech), "qd": np.zeros(mech.nv)}
    found = kernel_of(system, "python")(**{n: given.get(n, np.zeros(a.shape)) for n, a in system.inputs.items()})
    mass = np.diag(found.M if hasattr(found, "M") else found)
    least = 1e-6 * max(float(mass.max(initial=0.0)), 1e-9)
    return {s.owner: max(float(mass[s.iv]), least) for s in mech.slots if s.joint is not None and s.nv == 1}


# -- efforts


@declared
def saturated(mech: Mechanism, inputs: Any) -> Any:
    """Inputs for `simulate` whose efforts keep within the effort limits of the joints: what is more is cut off.

    inputs: a System, or name -> number, numbers, expression, table, function or System, as `simulate` takes them.
    """
    record_argument("saturated", mech, Mechanism, "a Mechanism, as sb.load(name_or_path) gives")
    limits, labels = joint_limits(mech), velocity_labels(mech)
    bounds = np.array([_effort(limits.get(label)) for label in labels])
    if inputs is None or not np.isfinite(bounds).any():
        return inputs
    if isinstance(inputs, System):
        return _clipped_system(inputs, labels, bounds)
    if not isinstance(inputs, Mapping):
        return _clipped(inputs, bounds, "inputs")
    out = {}
    for key, value in inputs.items():
        name = str(key)
        if name == "tau":
            places = list(range(len(labels)))
        else:
            places = components(labels, len(labels) if name.startswith("tau.") else 0, name.removeprefix("tau."))
        own = bounds[places]
        if not places or not np.isfinite(own).any():
            out[key] = value
        elif isinstance(value, System):
            out[key] = _clipped_system(value, [labels[k] for k in places], own)
        else:
            out[key] = _clipped(value, own, name)
    return out


def _effort(limits: Limits | None) -> float:
    return float(limits.effort) if limits is not None and limits.effort is not None else np.inf


def _clipped(value: Any, bounds: np.ndarray, name: str) -> Any:
    """A source of one input within +-bounds (n,)."""
    if isinstance(value, str):
        if len(bounds) > 1:
            return [_clipped(value, b[None], name) for b in bounds]
        most = float(bounds[0])
        return f"min(max({value}, {-most!r}), {most!r})" if np.isfinite(bounds[0]) else value
    if isinstance(value, Node):
        if len(bounds) > 1:
            return [_clipped(value, b[None], name) for b in bounds]
        return minimum(maximum(value, -float(bounds[0])), float(bounds[0])) if np.isfinite(bounds[0]) else value
    if callable(value):
        return _clipped_function(value, bounds)
    if isinstance(value, tuple) and len(value) in (2, 3) and np.ndim(value[0]) == 1 and np.size(value[0]) > 1:
        return (value[0], _clipped_numbers(value[1], bounds), *value[2:])
    if isinstance(value, (list, tuple, np.ndarray)) and any(isinstance(x, (str, Node)) for x in value):
        return [_clipped(x, b[None], name) for x, b in zip(value, bounds, strict=True)]
    if isinstance(value, (int, float, list, tuple, np.ndarray)):
        return _clipped_numbers(value, bounds)
    raise DefinitionError(
        f"input {name!r} is {value!r}; expected numbers, an expression, a table, a function or a System."
    )


def _clipped_numbers(value: Any, bounds: np.ndarray) -> np.ndarray:
    array = np.asarray(value, dtype=float)
    limit: Any = bounds if array.ndim and array.shape[-1] == len(bounds) else bounds[0]
    return np.clip(array, -limit, limit)


def _clipped_function(function: Callable[..., Any], bounds: np.ndarray) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any) -> Any:
        return _clipped_numbers(function(*args), bounds)

    return call


def _clipped_system(system: System, labels: Iterable[str], bounds: np.ndarray) -> System:
    """A controller whose outputs tau, tau.<joint> or <joint> saturate."""
    names = list(labels)
    outputs = dict(system.outputs)
    for name, array in outputs.items():
        if array.size == len(names) and (name == "tau" or len(names) == array.size == len(system.outputs) == 1):
            places = list(range(len(names)))
        else:
            places = components(names, 0, name.removeprefix("tau."))
        if len(places) != array.size:
            continue
        new = np.empty(array.shape, dtype=object)
        for i, (x, k) in enumerate(zip(array.flat, places)):
            bound = float(bounds[k])
            new.flat[i] = minimum(maximum(x, -bound), bound) if np.isfinite(bound) else x
        outputs[name] = new
    return system.replace(outputs=outputs)


# -- what a motion did


def passed_limits(mech: Mechanism, values: Mapping[str, np.ndarray], slack: float = 1e-9) -> list[str]:
    """Sentences on limits that a motion passed: values of a Trajectory, q (..., n, nq), qd and tau likewise."""
    out = []
    for name, k, low, high, unit, what, owner in memory_of(mech).get("bounds", (), lambda: _all_bounds(mech)):
        if name not in values:
            continue
        found = np.asarray(values[name], dtype=float)[..., k]
        found = found[np.isfinite(found)]
        if not found.size:
            continue
        least, most = float(found.min()), float(found.max())
        room = slack * max(abs(least), abs(most), 1.0)
        if (low is not None and least < low - room) or (high is not None and most > high + room):
            reached = least if low is not None and least < low - room else most
            bounds = " to ".join("..." if b is None else f"{b:.4g}" for b in (low, high))
            out.append(f"{what} of joint {owner!r} reached {reached:.4g} {unit}; its limits are {bounds} {unit}.")
    return out


Bound = tuple[str, int, float | None, float | None, str, str, str]


def _all_bounds(mech: Mechanism) -> list[Bound]:
    """(quantity, component, lower, upper, unit, word, joint) of all limits; of an elastic joint those of its motor."""
    out: list[Bound] = []
    for slot in mech.slots:
        limits = joint_limits(mech).get(slot.owner) if slot.joint is not None else None
        if limits is None:
            continue
        x = slot.units[0]
        effort = {"rad": "N m", "m": "N"}.get(x, "")
        out += [
            ("q", slot.iq, limits.lower, limits.upper, x, "position", slot.owner),
            ("qd", slot.iv, *_both(limits.velocity), f"{x}/s", "velocity", slot.owner),
            ("tau", slot.iv, *_both(limits.effort), effort, "effort", slot.owner),
        ]
    return [bound for bound in out if bound[2] is not None or bound[3] is not None]


def _both(size: float | None) -> tuple[float | None, float | None]:
    return (None, None) if size is None else (-size, size)
