"""Rotations, dual numbers, screws, displacements and inertias over any scalar."""

from symbody.basics.lazy import door

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "": "quaternion rotations",
        "displacement": "Displacement",
        "inertia": "Inertia",
        "quaternion": "matrix_from_quaternion",
        "rotations": "about_axis",
        "screws": "Screw",
    },
)
