"""Bridges to SymPy, CasADi and python-control."""

from symbody.later import door

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "casadi_bridge": "casadi_function from_casadi to_casadi",
        "control_bridge": "from_control to_control",
        "sympy_bridge": "from_sympy to_sympy",
    },
)
