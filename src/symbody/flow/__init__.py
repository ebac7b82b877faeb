"""Equations of motion in time: `Flow`, where its inputs come from, what is recorded of it, its events."""

from symbody.later import door

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "augmented": "Augmented",
        "": "closed_start",
        "events": "When",
        "flow": "Flow",
        "labels": "labels_of units_of",
        "of_mechanism": "mechanism_flow",
        "of_system": "system_flow",
        "quantities": "Quantities",
    },
)
