"""Integrators as native loops over Kernels."""

from symbody.later import door

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "march": "March",
        "methods": "Method METHODS RungeKutta Splitting",
        "run": "Run Signals",
    },
)
