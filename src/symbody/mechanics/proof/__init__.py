"""Equality of formulas, proved modulo a prime; the exact twin of a Mechanism."""

from symbody.basics.lazy import door

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "exact": "exact_twin has_floats",
        "prove": "Formulas Proof prove_equal",
        "relations": "relations_of",
        "rounding": "deviation",
    },
)
