"""Derivatives of runs: end states, recorded quantities and integrals by parameters, starts and inputs."""

from symbody.later import door

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "casadi_bridge": "casadi_function",
        "function": "differentiable RunFunction",
        "jax_bridge": "jax_function",
        "linearised": "Linearised",
        "many": "Many",
        "objective": "Objective",
        "pullbacks": "Pullback pulled",
        "record": "RunDerivatives",
        "second_order": "HessianVector",
        "stretches": "taped",
        "tape": "Tape",
        "torch_bridge": "torch_function",
        "variables": "Variable Variables",
    },
)
