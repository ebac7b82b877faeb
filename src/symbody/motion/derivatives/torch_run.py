"""A run in the hands of PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from symbody.basics.errors import DefinitionError
from symbody.motion.derivatives.function import RunFunction
from symbody.motion.derivatives.run_operators import Operators
from symbody.motion.trajectory.optional_packages import extra

Rule = Callable[..., Any]


def torch_function(f: RunFunction) -> Callable[[Any], Any]:
    """A function of a tensor theta (..., n) -> y (..., ny), through which gradients go back and forth, twice.

    It is a `torch.autograd.Function`: `backward`, `torch.autograd.grad(create_graph=True)`, `torch.func.grad`,
    `hessian`, `vmap` and forward mode take it. Rows of a batch run side by side on the processor, in doubles; results
    have the type and the device of theta.
    """
    maps = Operators(f)

    def third(*_: Any) -> Any:
        raise DefinitionError("third derivatives of a run are asked for; there are first and second ones.")

    # each map with its adjoint (saved tensors, cotangent) -> cotangents, and its derivative (saved tensors, tangents)
    value = _function(maps.value, lambda theta, w: pull(theta, w), lambda theta, v: push(theta, v))
    push = _function(
        maps.push,
        lambda theta, v, w: (hess(theta, w, v), pull(theta, w)),
        lambda theta, v, by_theta, by_v: _sum((bend, (theta, v, by_theta)), (push, (theta, by_v))),
    )
    pull = _function(
        maps.pull,
        lambda theta, w, v: (hess(theta, w, v), push(theta, v)),
        lambda theta, w, by_theta, by_w: _sum((hess, (theta, w, by_theta)), (pull, (theta, by_w))),
    )
    hess = _function(maps.hess, third, third)
    bend = _function(maps.bend, third, third)

    def run(theta: Any) -> Any:
        maps.check(tuple(theta.shape))
        return value(theta)

    return run


def _sum(*terms: tuple[Rule, tuple[Any, ...]]) -> Any:
    """The sum of those maps all of whose arguments are there."""
    parts = [call(*given) for call, given in terms if all(x is not None for x in given)]
    return sum(parts[1:], parts[0])


def _function(call: Callable[..., np.ndarray], adjoint: Rule, derivative: Rule) -> Rule:
    """`apply` of a `torch.autograd.Function` of one of `Operators`."""
    torch = extra("torch", "learning")

    class TorchMap(torch.autograd.Function):  # type: ignore[name-defined]
        @staticmethod
        def forward(*tensors: Any) -> Any:
            like = tensors[0]
            found = call(*(x.detach().cpu().double().numpy() for x in tensors))
            return torch.as_tensor(found, dtype=like.dtype, device=like.device)

        @staticmethod
        def setup_context(context: Any, inputs: Any, output: Any) -> None:
            context.save_for_backward(*inputs)
            context.save_for_forward(*inputs)

        @staticmethod
        def backward(context: Any, cotangent: Any) -> Any:
            return adjoint(*context.saved_tensors, cotangent)

        @staticmethod
        def jvp(context: Any, *tangents: Any) -> Any:
            return derivative(*context.saved_tensors, *tangents)

        @staticmethod
        def vmap(info: Any, dims: Any, *tensors: Any) -> tuple[Any, int]:
            """One more loop dimension in front of all."""
            count = info.batch_size
            rows = [x.expand(count, *x.shape) if d is None else x.movedim(d, 0) for x, d in zip(tensors, dims)]
            return TorchMap.apply(*rows), 0

    return TorchMap.apply
