"""Rewriting: expressions become cheaper ones of the same value. `presets.optimize` runs the passes, `cost` judges."""

from symbody.basics.lazy import door

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "": "cost mask",
        "cost": "Cost",
        "mask": "unmask",
        "presets": "optimize PASSES",
        "runner": "Pass Report",
    },
)
