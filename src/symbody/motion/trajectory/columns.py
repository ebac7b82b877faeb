"""A Trajectory as a table: one named column for each component, one row for each instant (of each member)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from symbody.basics.errors import ShapeError
from symbody.motion.trajectory.trajectory import Trajectory

TIME = "t [s]"
MEMBER = "member"


@dataclass(frozen=True)
class Column:
    """One component: `name` as "q.shoulder", the quantity and label it is made of, its unit ("" if none)."""

    name: str
    quantity: str
    label: str
    index: tuple[int, ...]
    unit: str

    @property
    def heading(self) -> str:
        """Name and unit, as in files: "q.shoulder [rad]"."""
        return f"{self.name} [{self.unit}]" if self.unit else self.name


def batch_shape(traj: Trajectory) -> tuple[int, ...]:
    """Leading dimensions that all values share: () for a single motion. Shapes that contradict it are refused."""
    if np.ndim(traj.t) != 1 or np.asarray(traj.t).dtype.kind not in "fiu":
        raise ShapeError(
            f"t has the shape {np.shape(traj.t)} and type {np.asarray(traj.t).dtype}; expected (n,) seconds."
        )
    n, shapes = len(traj.t), {name: np.shape(a) for name, a in traj.values.items()}
    if traj.outcomes is not None:
        batch = np.shape(traj.outcomes)
    else:
        depth = next((d for s in shapes.values() for d in range(len(s)) if s[d] == n), 0)
        batch = next((s[:depth] for s in shapes.values()), ())
    for name, shape in shapes.items():
        if shape[: len(batch) + 1] != (*batch, n):
            raise ShapeError(
                f"{name} has the shape {shape}; expected {(*batch, n)} in front, for {n} instants"
                + (f" of a batch {batch}." if batch else ".")
            )
    return batch


def core_shape(traj: Trajectory, name: str, depth: int | None = None) -> tuple[int, ...]:
    """Shape of one value of a quantity: () for a scalar, (nq,) for q. depth: of the batch, where it is known."""
    return np.shape(traj.values[name])[(len(batch_shape(traj)) if depth is None else depth) + 1 :]


def component_labels(traj: Trajectory, name: str, depth: int | None = None) -> list[str]:
    """One label for each component: those given where they fit, else places counted from 1 ("2", "1.3")."""
    shape = core_shape(traj, name, depth)
    size, given = int(np.prod(shape)), list(traj.labels.get(name, ()))
    if len(given) == size == len(set(given)):
        return given
    return [".".join(str(k + 1) for k in index) for index in np.ndindex(*shape)]


def component_units(traj: Trajectory, name: str, depth: int | None = None) -> list[str]:
    """One unit for each component."""
    size = int(np.prod(core_shape(traj, name, depth)))
    unit = traj.units.get(name, "")
    units = [unit] * size if isinstance(unit, str) else list(unit)
    return units if len(units) == size else [""] * size


def columns(traj: Trajectory) -> list[Column]:
    """All columns in order of the values, without time."""
    out, depth = [], len(batch_shape(traj))
    for name in traj.values:
        shape = core_shape(traj, name, depth)
        labels, units = component_labels(traj, name, depth), component_units(traj, name, depth)
        for index, label, unit in zip(np.ndindex(*shape), labels, units):
            out.append(Column(f"{name}.{label}" if shape else name, name, label if shape else "", index, unit))
    return out


def column_values(traj: Trajectory, column: Column) -> np.ndarray:
    """(members * n,) values of a column: the instants of the first member, then those of the second, ..."""
    values = np.asarray(traj.values[column.quantity])
    return component(values, column.index).reshape(-1)


def component(values: np.ndarray, index: tuple[int, ...]) -> np.ndarray:
    """One component of a quantity, over the batch and time."""
    place: tuple[Any, ...] = (..., *index)
    return np.asarray(values[place])
