"""Bridges to SymPy, CasADi and python-control; FMUs as blocks."""

from symbody.basics.lazy import door

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "casadi_bridge": "casadi_function from_casadi to_casadi",
        "control_bridge": "from_control to_control",
        "fmu_block": "FmuBlock load_fmu",
        "sympy_bridge": "from_sympy to_sympy",
    },
)
