"""Trajectory: the result of a simulation, labelled arrays over time with units, an outcome and statistics.

It says itself what its numbers mean: names, labels and units of components, how the run ended, what happened on the
way. So its files, tables and plots need no model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as _replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from symbody.basics.display import html_notes, html_table
from symbody.basics.errors import DefinitionError, NameLookupError, nearest, shown
from symbody.basics.lazy import imported
from symbody.basics.words import MOTION, nearest_word
from symbody.motion.trajectory.outcome import Outcome
from symbody.symbolic.system.names import components, stems

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class EventRecord:
    """Something that happened at an instant: t in s, the name of the guard, a sentence, and of a batch the member."""

    t: float
    name: str
    text: str = ""
    member: int | None = None


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
    notes       what was done beside the wishes: values set by laws, a method replaced
    run         what `resume` goes on from; None for data from elsewhere
    mechanism   what moved, where it is known: `animate` shows it
    """

    t: np.ndarray
    values: Mapping[str, np.ndarray]
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    units: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    outcome: Outcome = Outcome.FINISHED
    outcomes: np.ndarray | None = None
    statistics: Mapping[str, float] = field(default_factory=dict)
    events: tuple[EventRecord, ...] = ()
    model: str = ""
    method: str = ""
    notes: tuple[str, ...] = ()
    run: Any = field(default=None, repr=False)
    mechanism: Any = field(default=None, repr=False, compare=False)

    def __getitem__(self, name: str) -> np.ndarray:
        """Values by name: a quantity ("q"), or one component ("q.shoulder", "qd.3" counted from 1)."""
        if not isinstance(name, str):
            raise NameLookupError(f"a trajectory was asked for {shown(name)}; expected the name of a quantity.")
        if name in self.values:
            return self.values[name]
        owners = [n for n in self.values if name.startswith(f"{n}.")]
        if owners:
            quantity = max(owners, key=len)  # "p.tool.x" is a component of "p.tool"
            part = name[len(quantity) + 1 :]
            found = self._components(quantity, part)
            return self.values[quantity][..., found[0] if len(found) == 1 else found]
        known = [*self.values, *(f"{n}.{label}" for n in self.values for label in self.labels.get(n, ()))]
        raise NameLookupError(f"the trajectory of {self.model or 'this model'} has no {name!r}. {nearest(name, known)}")

    def _components(self, quantity: str, part: str) -> list[int]:
        """Places of a label, of all components of a joint, or of a number counted from 1."""
        labels, size = self.labels.get(quantity, ()), self.values[quantity].shape[-1]
        found = components(labels, size, part)
        if not found:
            known = stems(labels) or map(str, range(1, size + 1))
            raise NameLookupError(f"{quantity} has no component {part!r}. {nearest(part, known)}")
        return found

    def __getattr__(self, name: str) -> np.ndarray:
        """`traj.q` is `traj["q"]`."""
        values: Any = self.__dict__.get("values", {})
        if name in values:
            return np.asarray(values[name])
        known = [*values, *(n for n in dir(type(self)) if not n.startswith("_")), "t"]
        raise AttributeError(f"the trajectory has no {name!r}. {nearest_word(name, known, MOTION)}")

    def __len__(self) -> int:
        return len(self.t)

    def __getstate__(self) -> dict[str, Any]:
        """For pickle and copy: all but the memory of the run, which holds loaded code and stays in its process."""
        return {**self.__dict__, "run": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def replace(self, **changes: Any) -> Trajectory:
        """A copy with some fields changed."""
        return _replace(self, **changes)

    def __repr__(self) -> str:
        what = ", ".join(f"{n}{list(a.shape)}" for n, a in self.values.items())
        span = f"{len(self.t)} instants, {self.t[0]:g} to {self.t[-1]:g} s" if len(self.t) else "no instants"
        return f"Trajectory of {self.model or 'a model'} by {self.method}: {span}; {what}\n{self.outcome.value}"

    # -- files, tables, pictures

    def save(self, path: str | Path) -> Path:
        """Write a file: .parquet, .h5, .csv or .npz, with labels, units, outcome and events."""
        written: Path = imported("motion.trajectory.trajectory_files", "save_trajectory")(self, path)
        return written

    @staticmethod
    def load(path: str | Path) -> Trajectory:
        """Read what `save` wrote."""
        read: Trajectory = imported("motion.trajectory.trajectory_files", "load_trajectory")(path)
        return read

    def plot(self, names: str | Sequence[str] | None = None, **options: Any) -> Figure:
        """A matplotlib Figure of some quantities ("q", "qd.elbow") or of all."""
        figure: Figure = imported("motion.trajectory.plot", "plot")(self, names, **options)
        return figure

    def plot_path(self, name: str, axes: str = "", **options: Any) -> Figure:
        """A matplotlib Figure of the path of a point, one coordinate of "p.<frame>" against another."""
        figure: Figure = imported("motion.trajectory.plot", "plot_path")(self, name, axes, **options)
        return figure

    def animate(self, mech: Any = None, parameters: Mapping[str, float] | None = None) -> Any:
        """The motion in 3-D, played inside a notebook cell, without a network; `.save(path)` writes it as a page.

        mech: the Mechanism, where the motion does not come from `simulate` in this process.
        """
        shown = self.mechanism if mech is None else mech
        if shown is None:
            raise DefinitionError("this trajectory does not know its Mechanism; give it: motion.animate(mech).")
        return imported("show.report.notebook", "animated")(shown, self, parameters)

    def _repr_html_(self) -> str:
        rows = [[n, str(list(a.shape)), str(self._unit(n))] for n, a in self.values.items()]
        span = f"{len(self.t)} instants, {self.t[0]:g} to {self.t[-1]:g} s" if len(self.t) else "no instants"
        heading = f"Trajectory of {self.model or 'a model'} by {self.method}: {span}. {self.outcome.value}"
        return html_table(["quantity", "shape", "unit"], rows, heading) + html_notes(self.notes)

    def _unit(self, name: str) -> str:
        found = self.units.get(name, "")
        return found if isinstance(found, str) else ", ".join(dict.fromkeys(u for u in found if u))

    def to_pandas(self) -> Any:
        """A DataFrame over time, one column for each component."""
        return imported("motion.trajectory.tables", "to_pandas")(self)

    def to_xarray(self) -> Any:
        """A Dataset with the dimension time, one for the components of each quantity, and one for a batch."""
        return imported("motion.trajectory.tables", "to_xarray")(self)
