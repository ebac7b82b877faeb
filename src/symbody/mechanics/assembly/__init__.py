"""Numbers of closed loops: residuals and Jacobians at positions, assembly, conditioning."""

from symbody.basics.lazy import door

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "assembly": "assemble_constraints",
        "conditioning": "Conditioning",
        "constraints": "Constraints",
        "numeric": "Numeric",
    },
)
