"""Minima of functions with bounds and constraints: one problem record, methods by name."""

from symbody.basics.lazy import door

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "search_problem": "Bounds Constraint Objective SearchOutcome Result",
        "minimize": "METHODS SearchMethod add_method remove_method",
    },
)
