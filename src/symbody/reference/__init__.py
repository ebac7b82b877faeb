"""Mechanics written a second time, in plain NumPy: what the certificate holds the programs against."""

from symbody.later import door

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "": "energies",
        "assembly": "closed_positions consistent_velocities",
        "bodies": "Model",
        "closures": "Closures",
        "dynamics": "Motion",
        "frames": "seen",
        "linear_parameters": "effort_columns",
    },
)
