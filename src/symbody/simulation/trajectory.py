"""Trajectory: the result of a simulation, labelled arrays over time with units, an outcome and statistics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from dataclasses import replace as _replace
from typing import Any

import numpy as np

from symbody.errors import NameLookupError, nearest
from symbody.simulate.outcome import Outcome


@dataclass(frozen=True)
class Event:
    """Something that happened at an instant: t in s, the name of the guard, and a sentence."""

    t: float
    name: str
    text: str = ""


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Values over time.

    t           (n,) s
    values      name -> (..., n, *shape): states, inputs, recorded quantities; leading dimensions are those of a batch
    labels      name -> one label for each component (joint names for q, qd, tau)
    units       name -> unit of each component, or one for all
    outcome     how the run ended; of a batch the worst, with `outcomes` (...,) for each member
    statistics  steps, rejected, evaluations, seconds of computing, ...
    events      what happened on the way
    model       name of the model; method: name of the integrator
    """

    t: np.ndarray
    values: Mapping[str, np.ndarray]
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    units: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    outcome: Outcome = Outcome.FINISHED
    outcomes: np.ndarray | None = None
    statistics: Mapping[str, float] = field(default_factory=dict)
    events: tuple[Event, ...] = ()
    model: str = ""
    method: str = ""

    def __getitem__(self, name: str) -> np.ndarray:
        """Values by name: a quantity ("q"), or one component ("q.shoulder", "qd.3" counted from 1)."""
        if name in self.values:
            return self.values[name]
        quantity, _, part = name.partition(".")
        if quantity in self.values and part:
            return self.values[quantity][..., self._component(quantity, part)]
        known = [*self.values, *(f"{n}.{label}" for n in self.values for label in self.labels.get(n, ()))]
        raise NameLookupError(f"the trajectory of {self.model or 'this model'} has no {name!r}. {nearest(name, known)}")

    def _component(self, quantity: str, part: str) -> int:
        labels = self.labels.get(quantity, ())
        if part in labels:
            return labels.index(part)
        size = self.values[quantity].shape[-1]
        if part.isdigit() and 1 <= int(part) <= size:
            return int(part) - 1
        raise NameLookupError(f"{quantity} has no component {part!r}. {nearest(part, labels or map(str, range(1, size + 1)))}")

    def __getattr__(self, name: str) -> np.ndarray:
        """`traj.q` is `traj["q"]`."""
        values: Any = self.__dict__.get("values", {})
        if name in values:
            return np.asarray(values[name])
        raise AttributeError(f"the trajectory has no {name!r}. {nearest(name, values)}")

    def __len__(self) -> int:
        return len(self.t)

    def replace(self, **changes: Any) -> Trajectory:
        """The same Trajectory with some fields changed."""
        return _replace(self, **changes)

    def __repr__(self) -> str:
        what = ", ".join(f"{n}{list(a.shape)}" for n, a in self.values.items())
        span = f"{len(self.t)} instants, {self.t[0]:g} to {self.t[-1]:g} s" if len(self.t) else "no instants"
        return f"Trajectory of {self.model or 'a model'} by {self.method}: {span}; {what}\n{self.outcome.value}"
