"""Trajectories for other programs: pandas frames and xarray datasets."""

from __future__ import annotations

from typing import Any

import numpy as np

from symbody.motion.trajectory.columns import batch_shape, column_values, columns, component_labels, core_shape
from symbody.motion.trajectory.optional_packages import extra
from symbody.motion.trajectory.trajectory import Trajectory


def to_pandas(traj: Trajectory) -> Any:
    """A DataFrame: columns "q.shoulder", ... over the index t (s), of a batch over (member, t).

    `frame.attrs` holds units by column, model, method and outcome.
    """
    pandas = extra("pandas")
    batch, cols = batch_shape(traj), columns(traj)
    index: Any = pandas.Index(np.asarray(traj.t, dtype=float), name="t")
    if batch:
        index = pandas.MultiIndex.from_product([range(int(np.prod(batch))), index], names=["member", "t"])
    frame = pandas.DataFrame({c.name: column_values(traj, c) for c in cols}, index=index)
    frame.attrs = {**_facts(traj), "units": {c.name: c.unit for c in cols}}
    return frame


def to_xarray(traj: Trajectory) -> Any:
    """A Dataset: each quantity over its batch dimensions (member, or member_1, member_2, ...), t and its components.

    Components have the dimension <quantity>_component with the labels as coordinates; matrices have <quantity>_row and
    <quantity>_column.
    """
    xarray = extra("xarray")
    batch = batch_shape(traj)
    members = ["member"] if len(batch) == 1 else [f"member_{k + 1}" for k in range(len(batch))]
    coordinates: dict[str, Any] = {"t": ("t", np.asarray(traj.t, dtype=float), {"units": "s"})}
    data: dict[str, Any] = {}
    for name, values in traj.values.items():
        shape = core_shape(traj, name)
        own = _dimensions(name, len(shape))
        if len(shape) == 1:
            coordinates[own[0]] = (own[0], component_labels(traj, name))
        unit = traj.units.get(name, "")
        attributes = {"units": unit if isinstance(unit, str) else list(unit)} if unit else {}
        data[name] = ((*members, "t", *own), np.asarray(values), attributes)
    return xarray.Dataset(data, coordinates, attrs=_facts(traj))


def _dimensions(name: str, count: int) -> tuple[str, ...]:
    if count == 1:
        return (f"{name}_component",)
    if count == 2:
        return (f"{name}_row", f"{name}_column")
    return tuple(f"{name}_{k + 1}" for k in range(count))


def _facts(traj: Trajectory) -> dict[str, Any]:
    return {"model": traj.model, "method": traj.method, "outcome": traj.outcome.name}
