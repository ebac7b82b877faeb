"""From a System to a Program: numbered values in order, each made at one of three rates."""

from symbody.basics.lazy import door

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "": "interpret",
        "count": "count_program Counts",
        "groups": "Grouped",
        "lowering": "lower",
        "optimize": "count_system optimize_system optimize_with_report",
        "program": "OutputPort Port Program SolveBlock",
    },
)
