"""Integrators as native loops over Kernels."""

from symbody.basics.lazy import door

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "march": "March",
        "method_tables": "Method METHODS RungeKutta Splitting",
        "run": "Run Signals",
    },
)
