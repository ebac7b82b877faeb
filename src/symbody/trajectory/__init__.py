"""Trajectory: labelled results over time, their files, tables and plots."""

from symbody.later import door

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "": "columns plot",
        "files": "load_trajectory save_trajectory",
        "outcome": "Outcome",
        "tables": "to_pandas to_xarray",
        "trajectory": "Event Trajectory",
    },
)
