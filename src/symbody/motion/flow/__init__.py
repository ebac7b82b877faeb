"""Equations of motion in time: `Flow`, where its inputs come from, what is recorded of it, its events."""

from symbody.basics.lazy import door

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "loop_treatment": "Augmented",
        "": "closed_start",
        "event_rules": "When",
        "flow": "Flow",
        "coordinate_labels": "labels_of units_of",
        "of_mechanism": "mechanism_flow",
        "of_system": "system_flow",
        "recorded_quantities": "Quantities",
    },
)
