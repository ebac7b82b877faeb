"""System: named inputs, parameters, states and outputs, whose values are nodes."""

from symbody.basics.lazy import door

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "differentiate": "gradient_system hessian_system jacobian_system jvp_system",
        "names": "components identifier stems",
        "parameter_numbers": "check_number real_number",
        "save": "fingerprint load_system save_system",
        "system": "node_array System",
    },
)
