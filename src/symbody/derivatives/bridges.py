"""A run in the hands of others: a function for PyTorch, JAX and CasADi, each made by one call.

Each takes theta (n,) and gives y (ny,), and knows w^T dy/dtheta by the adjoint. The packages are optional.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from symbody.derivatives.function import RunFunction, jacobian_by
from symbody.derivatives.linearised import Linearised
from symbody.trajectory.optional_packages import extra


def torch_function(f: RunFunction) -> Callable[[Any], Any]:
    """A function of a tensor theta (n,) through which gradients go back, by a `torch.autograd.Function`."""
    torch = extra("torch", "learning")

    class Run(torch.autograd.Function):  # type: ignore[name-defined]
        @staticmethod
        def forward(context: Any, theta: Any) -> Any:
            run = f.linearise(theta.detach().cpu().double().numpy())
            context.run, context.like = run, theta
            return torch.as_tensor(run.y, dtype=theta.dtype, device=theta.device)

        @staticmethod
        def backward(context: Any, weights: Any) -> Any:
            found = context.run.vjp(weights.detach().cpu().double().numpy())
            return torch.as_tensor(found, dtype=context.like.dtype, device=context.like.device)

    return Run.apply


def jax_function(f: RunFunction) -> Callable[[Any], Any]:
    """A function of an array theta (n,) that `jax.grad`, `jax.jit` and `jax.vmap` take: a callback with its own vjp.

    Values are those of the precision that JAX is set to: `jax.config.update("jax_enable_x64", True)` for doubles.
    """
    jax = extra("jax", "learning")
    ny, last = f().size, _Last(f)

    def value(theta: Any) -> np.ndarray:
        return last.at(np.asarray(theta, dtype=float)).y.astype(np.asarray(theta).dtype)

    def back(theta: Any, weights: Any) -> np.ndarray:
        found = last.at(np.asarray(theta, dtype=float)).vjp(np.asarray(weights, dtype=float))
        return found.astype(np.asarray(theta).dtype)

    @jax.custom_vjp
    def run(theta: Any) -> Any:
        return jax.pure_callback(value, jax.ShapeDtypeStruct((ny,), theta.dtype), theta, vmap_method="sequential")

    def forwards(theta: Any) -> Any:
        return run(theta), theta

    def backwards(theta: Any, weights: Any) -> Any:
        shape = jax.ShapeDtypeStruct(theta.shape, theta.dtype)
        return (jax.pure_callback(back, shape, theta, weights, vmap_method="sequential"),)

    run.defvjp(forwards, backwards)
    return run


def casadi_function(f: RunFunction, name: str = "run") -> Any:
    """A `casadi.Callback` theta (n) -> y (ny) with its Jacobian, for use inside CasADi's expressions and solvers.

    The caller keeps the object that is returned as long as expressions use it.
    """
    casadi = extra("casadi", "learning")
    n, ny, last = f.variables.size, f().size, _Last(f)

    class Jacobian(casadi.Callback):  # type: ignore[name-defined]
        def __init__(self, title: str, options: dict[str, Any]) -> None:
            super().__init__()
            self.construct(title, options)

        def get_n_in(self) -> int:
            return 2

        def get_n_out(self) -> int:
            return 1

        def get_sparsity_in(self, i: int) -> Any:
            return casadi.Sparsity.dense(n if i == 0 else ny, 1)

        def get_sparsity_out(self, i: int) -> Any:
            return casadi.Sparsity.dense(ny, n)

        def eval(self, arguments: Any) -> list[Any]:
            run = last.at(np.array(arguments[0]).reshape(-1))
            return [casadi.DM(jacobian_by(run, "auto"))]

    class Run(casadi.Callback):  # type: ignore[name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.kept: list[Any] = []
            self.construct(name, {})

        def get_n_in(self) -> int:
            return 1

        def get_n_out(self) -> int:
            return 1

        def get_sparsity_in(self, i: int) -> Any:
            return casadi.Sparsity.dense(n, 1)

        def get_sparsity_out(self, i: int) -> Any:
            return casadi.Sparsity.dense(ny, 1)

        def eval(self, arguments: Any) -> list[Any]:
            return [casadi.DM(last.at(np.array(arguments[0]).reshape(-1)).y)]

        def has_jacobian(self) -> bool:
            return True

        def get_jacobian(self, title: str, inputs: Any, outputs: Any, options: Any) -> Any:
            found = Jacobian(title, options)
            self.kept.append(found)
            return found

    return Run()


class _Last:
    """The last run that was asked for: solvers ask for its value and for its derivative one after the other."""

    def __init__(self, f: RunFunction) -> None:
        self.f = f
        self.found: tuple[bytes, Linearised] | None = None

    def at(self, theta: np.ndarray) -> Linearised:
        key = np.ascontiguousarray(theta, dtype=float).tobytes()
        found = self.found
        if found is None or found[0] != key:
            self.found = found = (key, self.f.linearise(theta))
        return found[1]
