"""Motion in time: `simulate` and `resume`, inputs, methods, events, checkpoints."""

from symbody.later import door

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "": "mechanism_flow simulate",
        "augmented": "Augmented",
        "checkpoint": "load_checkpoint save_checkpoint",
        "closing": "closed_start",
        "events": "When",
        "flow": "Flow",
        "implicit": "Diagonal",
        "labels": "labels_of units_of",
        "makers": "Method METHODS Setup",
        "quantities": "Quantities",
        "simulate": "resume",
    },
)
