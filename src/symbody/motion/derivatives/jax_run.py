"""A run in the hands of JAX: primitives with rules for jit, vmap, and derivatives in both directions, twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from symbody.basics.errors import DefinitionError
from symbody.motion.derivatives.function import RunFunction
from symbody.motion.derivatives.run_operators import Operators
from symbody.motion.trajectory.optional_packages import extra


def jax_function(f: RunFunction) -> Callable[[Any], Any]:
    """A function of an array theta (..., n) -> y (..., ny) that `jit`, `vmap`, `grad`, `jacfwd` and `hessian` take.

    Rows of a batch run side by side, on the host. Values have the precision that JAX is set to:
    `jax.config.update("jax_enable_x64", True)` for doubles. Third derivatives are refused.
    """
    return _Primitives(f).run


class _Primitives:
    """One primitive for each of `Operators`: linear ones are transposed into one another."""

    def __init__(self, f: RunFunction) -> None:
        self.jax = extra("jax", "learning")
        extra("jax.extend.core", "learning")
        self.numpy = extra("jax.numpy", "learning")
        self.ad = extra("jax.interpreters.ad", "learning")
        maps = self.maps = Operators(f)
        n, ny = maps.n, maps.ny
        self.value = self._made("value", maps.value, ny)
        self.push = self._made("push", maps.push, ny)
        self.pull = self._made("pull", maps.pull, n)
        self.bend = self._made("bend", maps.bend, ny)
        self.hess = self._made("hess", maps.hess, n)
        jvps, transposes = self.ad.primitive_jvps, self.ad.primitive_transposes
        jvps[self.value] = self._value_jvp
        jvps[self.push] = lambda given, along: self._second(self.push, self.bend, given, along)
        jvps[self.pull] = lambda given, along: self._second(self.pull, self.hess, given, along)
        jvps[self.bend] = lambda given, along: self._third(self.bend, given, along)
        jvps[self.hess] = lambda given, along: self._third(self.hess, given, along)
        transposes[self.push] = lambda w, theta, v: [None, self._back(self.pull, w, v, theta)]
        transposes[self.pull] = lambda v, theta, w: [None, self._back(self.push, v, w, theta)]
        transposes[self.hess] = self._hess_transposed
        transposes[self.bend] = self._bend_transposed

    def run(self, theta: Any) -> Any:
        theta = self.numpy.asarray(theta)
        self.maps.check(tuple(theta.shape))
        return self.value.bind(theta)

    def _made(self, name: str, call: Callable[..., np.ndarray], size: int) -> Any:
        """A primitive of arrays (..., k) -> (..., size) that is computed on the host."""
        primitive = extra("jax.extend.core", "learning").Primitive(f"symbody_run_{name}")
        jax, numpy = self.jax, self.numpy
        interpreters = extra("jax.interpreters.batching", "learning"), extra("jax.interpreters.mlir", "learning")
        batching, mlir = interpreters

        def host(*arrays: Any) -> np.ndarray:
            kind = np.result_type(*(np.asarray(a).dtype for a in arrays))
            return np.ascontiguousarray(call(*map(np.asarray, arrays)), dtype=kind)

        def shape(*arrays: Any) -> Any:
            return jax.core.ShapedArray((*arrays[0].shape[:-1], size), numpy.result_type(*(a.dtype for a in arrays)))

        def lowered(*arrays: Any) -> Any:
            made = shape(*arrays)
            return jax.pure_callback(host, jax.ShapeDtypeStruct(made.shape, made.dtype), *arrays)

        def batched(arrays: Any, dims: Any) -> Any:
            count = next(a.shape[d] for a, d in zip(arrays, dims) if d is not None)
            rows = [
                numpy.broadcast_to(a, (count, *a.shape)) if d is None else numpy.moveaxis(a, d, 0)
                for a, d in zip(arrays, dims)
            ]
            return primitive.bind(*rows), 0

        primitive.def_abstract_eval(shape)
        primitive.def_impl(lambda *arrays: numpy.asarray(host(*arrays)))
        mlir.register_lowering(primitive, mlir.lower_fun(lowered, multiple_results=False))
        batching.primitive_batchers[primitive] = batched
        return primitive

    # -- derivatives

    def _value_jvp(self, given: Any, along: Any) -> tuple[Any, Any]:
        (theta,), (v,) = given, along
        return self.value.bind(theta), self.push.bind(theta, self.ad.instantiate_zeros(v))

    def _second(self, first: Any, second: Any, given: Any, along: Any) -> tuple[Any, Any]:
        """Value and derivative of first(theta, a), linear in a: first(theta, da) + second(theta, a, dtheta)."""
        theta, a = given
        by_theta, by_a = along
        parts = []
        if type(by_a) is not self.ad.Zero:
            parts.append(first.bind(theta, by_a))
        if type(by_theta) is not self.ad.Zero:
            parts.append(second.bind(theta, a, by_theta))
        return first.bind(theta, a), sum(parts[1:], parts[0])

    def _third(self, primitive: Any, given: Any, along: Any) -> tuple[Any, Any]:
        """hess and bend are linear in the last two."""
        if type(along[0]) is not self.ad.Zero:
            raise DefinitionError("third derivatives of a run are asked for; there are first and second ones.")
        parts = []
        for k in (1, 2):
            if type(along[k]) is not self.ad.Zero:
                parts.append(primitive.bind(*(along[j] if j == k else given[j] for j in range(3))))
        return primitive.bind(*given), sum(parts[1:], parts[0])

    def _back(self, primitive: Any, cotangent: Any, argument: Any, *held: Any) -> Any:
        """The cotangent of an argument: a primitive of what is held and of the cotangent of the result."""
        if type(cotangent) is self.ad.Zero:
            return self.ad.Zero(argument.aval)
        return primitive.bind(*held, cotangent)

    def _hess_transposed(self, u: Any, theta: Any, w: Any, v: Any) -> list[Any]:
        """u^T H(w) v: symmetric in u and v."""
        if self.ad.is_undefined_primal(v):
            return [None, None, self._back(self.hess, u, v, theta, w)]
        return [None, self._back(self.bend, u, w, theta, v), None]

    def _bend_transposed(self, w: Any, theta: Any, u: Any, v: Any) -> list[Any]:
        """w^T y''(u, v) = u^T H(w) v"""

        def hess(other: Any, own: Any) -> Any:
            return self.ad.Zero(own.aval) if type(w) is self.ad.Zero else self.hess.bind(theta, w, other)

        return [None, hess(v, u), None] if self.ad.is_undefined_primal(u) else [None, None, hess(u, v)]
