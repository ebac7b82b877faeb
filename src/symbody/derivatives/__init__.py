"""Derivatives of runs: end states, recorded quantities and integrals by parameters, starts and inputs."""

from symbody.later import door

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "bridges": "casadi_function jax_function torch_function",
        "function": "differentiable RunFunction",
        "linearised": "Linearised",
        "pullbacks": "Pullback pulled",
        "record": "RunDerivatives",
        "stretches": "taped",
        "tape": "Tape",
        "variables": "Variable Variables",
    },
)
