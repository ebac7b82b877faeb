"""Derivatives of runs: end states, recorded quantities and integrals by parameters, starts and inputs."""

from symbody.basics.lazy import door

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "casadi_run": "casadi_function",
        "function": "differentiable RunFunction",
        "jax_run": "jax_function",
        "linearised": "Linearised",
        "many": "Many",
        "objective": "RunObjective",
        "pullbacks": "Pullback pulled",
        "run_derivatives": "RunDerivatives",
        "second_derivatives": "HessianVector",
        "stretches": "taped",
        "tape": "Tape",
        "torch_run": "torch_function",
        "variables": "Variable Variables",
    },
)
