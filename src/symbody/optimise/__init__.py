"""Minima of functions with bounds and constraints: one problem record, methods by name."""

from symbody.later import door

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "problem": "Bounds Constraint Objective Outcome Result",
        "search": "METHODS Method add_method minimize remove_method",
    },
)
