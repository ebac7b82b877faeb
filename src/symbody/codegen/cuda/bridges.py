"""Kernels inside of programs that differentiate: a `torch.autograd.Function`, a `custom_vjp` of JAX.

Derivatives are generated from the System, J^T w by reverse accumulation in one kernel; nothing is traced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from symbody.errors import DefinitionError, NameLookupError, nearest

if TYPE_CHECKING:
    from symbody.codegen.cuda.kernel import CudaKernel


def torch_function(kernel: CudaKernel, parameters: Sequence[str] = ()) -> Callable[..., Any]:
    """f(*inputs, *parameters) of tensors on the device, for autograd.

    parameters: names of those that are given, and differentiated, as tensors after the inputs; the others are as bound.
    """
    import torch

    names = [p.name for p in kernel.inputs]
    own = list(parameters)
    known = [p.name for p in kernel.parameters]
    for name in own:
        if name not in known:
            raise NameLookupError(f"There is no parameter '{name}'. {nearest(name, known)}")
    cores = {p.name: len(p.shape) for p in (*kernel.inputs, *kernel.parameters)}
    first = kernel.layout == "state"

    class Evaluation(torch.autograd.Function):
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
        return Evaluation.apply(*tensors)

    function.__doc__ = f"{kernel.name}({', '.join([*names, *own])}) on tensors of a device; cores {cores}"
    return function


def jax_function(kernel: CudaKernel) -> Any:
    """f(*inputs) of JAX arrays with a rule for reverse differentiation.

    Arrays that are there are read and written on the device; inside of `jit` they are handed over through the host.
    """
    import jax
    import jax.numpy as jnp

    names = [p.name for p in kernel.inputs]
    single = len(kernel.outputs) == 1

    def evaluated(which: CudaKernel, *arrays: Any) -> Any:
        if any(isinstance(a, jax.core.Tracer) for a in arrays):
            return _through_host(which, arrays)
        return which(*(jnp.asarray(a, dtype=which.dtype) for a in arrays))

    def _through_host(which: CudaKernel, arrays: Sequence[Any]) -> Any:
        loop = _loop(which, arrays)
        shapes = [jax.ShapeDtypeStruct(which._shape(o.shape, loop), which.dtype) for o in which.outputs]

        def call(*given: Any) -> Any:
            found = which(*(np.asarray(a) for a in given))
            parts = [found] if len(which.outputs) == 1 else found
            return tuple(np.asarray(p, dtype=which.dtype) for p in parts)

        out = jax.pure_callback(call, tuple(shapes), *arrays)
        return out[0] if len(which.outputs) == 1 else out

    @jax.custom_vjp
    def function(*arrays: Any) -> Any:
        out = evaluated(kernel, *arrays)
        return out if single else tuple(out)

    def forward(*arrays: Any) -> Any:
        return function(*arrays), arrays

    def backward(arrays: Any, weights: Any) -> Any:
        transposed = kernel.transposed(names)
        result = evaluated(transposed, *arrays, *((weights,) if single else weights))
        found = [result] if len(names) == 1 else list(result)
        axis = 0 if kernel.layout == "state" else -1
        return tuple(g.sum(axis=axis) if g.ndim > jnp.ndim(a) else g for g, a in zip(found, arrays))

    function.defvjp(forward, backward)
    return function


def _loop(kernel: CudaKernel, arrays: Sequence[Any]) -> tuple[int, ...]:
    """() or (n,): the states of a call."""
    for port, array in zip(kernel.inputs, arrays):
        if np.ndim(array) > len(port.shape):
            return (int(array.shape[0 if kernel.layout == "state" else -1]),)
    return ()
