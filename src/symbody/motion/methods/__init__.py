"""Integration methods behind one protocol: a state is advanced over an interval; samples and crossings come back."""

from symbody.basics.lazy import door

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "implicit_step": "Diagonal",
        "methods": "Method METHODS Setup",
        "stepper": "Leg Start Stepper",
    },
)
