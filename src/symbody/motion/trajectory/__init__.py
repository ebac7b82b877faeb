"""Trajectory: labelled results over time, their files, tables and plots."""

from symbody.basics.lazy import door

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "": "columns plot",
        "trajectory_files": "load_trajectory save_trajectory",
        "outcome": "Outcome",
        "tables": "to_pandas to_xarray",
        "trajectory": "EventRecord Trajectory",
    },
)
