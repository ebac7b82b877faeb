"""A Flow at many states at once: its Systems as native Kernels, called with parameters, over batches and samples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from symbody.codegen.kernel.native_kernel import NativeKernel
from symbody.derived.kernels import kernel_of
from symbody.flow.flow import Flow

# kinds that steps and recordings call; the others are asked for by name where they are needed
USUAL = ("rates", "project", "record", "guards")


def kernels(flow: Flow) -> dict[str, NativeKernel]:
    """Kernels of a Flow's Systems, made once: rates, project, record, guards."""
    return {k: kernel_of(s) for k, s in flow.systems.items() if k in USUAL}


class FlowKernels:
    """The Systems of a Flow as functions of (t, x, u) over any loop dimensions; parameters filled in.

    x (..., nx) and u (..., nu); where x is (b, k, nx), k samples of a batch, parameters (b,) belong to the members.
    A solve block that fails gives NaN.
    """

    def __init__(self, flow: Flow, parameters: Mapping[str, Any] | None = None, threads: int | None = None) -> None:
        self.flow, self.threads = flow, threads
        self.parameters = dict(parameters or {})

    def call(self, kind: str, t: Any, x: np.ndarray, u: np.ndarray, **more: Any) -> dict[str, np.ndarray]:
        """Outputs of one of the Flow's Systems by name. more: what it reads besides (recorded rates)."""
        kernel = kernel_of(self.flow.systems[kind])
        named = {**self.flow.layout.named(t, x, u), **more}
        arguments = [named[port.name] for port in kernel.inputs]
        parameters = self._parameters(kernel, x.ndim)
        found, _ = kernel.call_with_status(*arguments, parameters=parameters, threads=self.threads)
        names = [o.name for o in kernel.outputs]
        return dict(zip(names, found if len(names) > 1 else [found], strict=True))

    def rates(self, t: Any, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        """(..., nx) rates at states (..., nx) and times (...,)."""
        found = self.call("rates", t, x, u)
        return self.flow.layout.join([found[rate] for rate in self.flow.rates.states.values()], x.shape[:-1])

    def project(self, t: Any, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        """States (..., nx) at times (...,), corrected."""
        if self.flow.project is None or not x.size:
            return x
        found = self.call("project", t, x, u)
        return self.flow.layout.join([found[n] for n in self.flow.states], x.shape[:-1])

    def guards(self, t: float, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        """(ng,) guards of the events at one state."""
        return np.asarray(self.call("guards", t, x, u)["guard"])

    def _parameters(self, kernel: NativeKernel, ndim: int) -> dict[str, Any] | None:
        """Those that the Kernel has, for states (..., nx) of so many dimensions."""
        if not self.parameters:
            return None
        known = {p.name: len(p.shape) for p in kernel.parameters}
        own = {n: v for n, v in self.parameters.items() if n in known}
        if ndim < 3:
            return own or None
        arrays = {n: np.asarray(v, dtype=float) for n, v in own.items()}
        return {n: a if a.ndim == known[n] else np.expand_dims(a, 1) for n, a in arrays.items()} or None
