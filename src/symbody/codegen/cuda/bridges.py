"""Kernels inside of programs that differentiate: a `torch.autograd.Function`, a `custom_vjp` of JAX over `xla`.

Derivatives are generated from the System, J^T w by reverse accumulation in one kernel; nothing is traced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from symbody.basics.errors import DefinitionError, NameLookupError, nearest
from symbody.codegen.cuda.xla import evaluation

if TYPE_CHECKING:
    from symbody.codegen.cuda.kernel import CudaKernel


def torch_function(kernel: CudaKernel, parameters: Sequence[str] = ()) -> Callable[..., Any]:
    """f(*inputs, *parameters) of tensors on the device, for autograd.

    parameters: names of those that are given, and differentiated, as tensors after the inputs; the others are as bound.
    """
    import torch

    names = [p.name for p in kernel.inputs]
    own = list(parameters)
    _check_parameters(kernel, own)
    cores = {p.name: len(p.shape) for p in (*kernel.inputs, *kernel.parameters)}
    first = kernel.layout == "state"

    class TorchEvaluation(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *tensors: Any) -> Any:
            given = [t.contiguous() for t in tensors]
            ctx.save_for_backward(*given)
            inputs, values = given[: len(names)], given[len(names) :]
            out = kernel(*inputs, parameters=dict(zip(own, values)) or None)
            return tuple(out) if isinstance(out, tuple) else out

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, *weights: Any) -> Any:
            given = ctx.saved_tensors
            wanted = [n for n, need in zip([*names, *own], ctx.needs_input_grad) if need]
            if not wanted:
                return (None,) * len(given)
            transposed = kernel.transposed(wanted)
            inputs, values = given[: len(names)], given[len(names) :]
            result = transposed(*inputs, *(w.contiguous() for w in weights), parameters=dict(zip(own, values)) or None)
            found = dict(zip(wanted, result if isinstance(result, tuple) else (result,)))
            out = []
            for name, tensor in zip([*names, *own], given):
                g = found.get(name)
                if g is not None and g.ndim > tensor.ndim:  # one that all states share
                    g = g.sum(dim=0 if first else -1)
                out.append(g)
            return tuple(out)

    def function(*tensors: Any) -> Any:
        if len(tensors) != len(names) + len(own):
            expected = ", ".join([*names, *own])
            raise DefinitionError(f"{len(tensors)} tensors were given; expected {expected}.")
        return TorchEvaluation.apply(*tensors)

    function.__doc__ = f"{kernel.name}({', '.join([*names, *own])}) on tensors of a device; cores {cores}"
    return function


def _check_parameters(kernel: CudaKernel, names: Sequence[str]) -> None:
    known = [p.name for p in kernel.parameters]
    for name in names:
        if name not in known:
            raise NameLookupError(f"There is no parameter '{name}'. {nearest(name, known)}")


def jax_function(kernel: CudaKernel, parameters: Sequence[str] = ()) -> Callable[..., Any]:
    """f(*inputs, *parameters) of JAX arrays on the device, eager or inside of `jit`, with rules for `vmap` and for
    reverse differentiation. Several outputs are a tuple.

    What it launches stays for the process: computations that JAX compiled refer to it.

    parameters: names of those that are given, and differentiated, as arrays after the inputs; the others are as bound.
    """
    known: dict[tuple[str, ...], Callable[..., Any]] = kernel.__dict__.setdefault("_jax", {})
    key = tuple(parameters)
    if key not in known:
        _check_parameters(kernel, key)
        known[key] = _jax_function(kernel, key)
    return known[key]


def _jax_function(kernel: CudaKernel, own: tuple[str, ...]) -> Callable[..., Any]:
    import jax
    import jax.numpy as jnp

    inputs = len(kernel.inputs)
    names = [*(p.name for p in kernel.inputs), *own]
    evaluate = evaluation(kernel, own)
    axis = 0 if kernel.layout == "state" else -1

    @jax.custom_vjp
    def outputs(*arrays: Any) -> list[Any]:
        return evaluate(*arrays)

    def backward(arrays: Any, weights: Any) -> tuple[Any, ...]:
        found = evaluation(kernel.transposed(names), own)(*arrays[:inputs], *weights, *arrays[inputs:])
        # those that all states share have the sum
        return tuple(g.sum(axis=axis) if g.ndim > a.ndim else g for g, a in zip(found, arrays))

    outputs.defvjp(lambda *arrays: (evaluate(*arrays), arrays), backward)

    @jax.jit
    def function(*arrays: Any) -> Any:
        if len(arrays) != len(names):
            raise DefinitionError(f"{len(arrays)} arrays were given; expected {', '.join(names)}.")
        if kernel.dtype == np.float64 and not jax.config.jax_enable_x64:
            raise DefinitionError(
                f"'{kernel.name}' is in double precision, and JAX is set to single. Call "
                "jax.config.update('jax_enable_x64', True) first, or compile with precision='single'."
            )
        found = outputs(*(jnp.asarray(a, kernel.dtype) for a in arrays))
        return found[0] if len(found) == 1 else tuple(found)

    return function
