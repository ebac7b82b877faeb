"""A Flow at many states at once: its Systems as native Kernels, called with parameters, over batches and samples."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from symbody.basics.memory import memory_of
from symbody.codegen.kernel.native_kernel import NativeKernel
from symbody.mechanics.memoised.kernels import kernel_of
from symbody.motion.flow.flow import Flow

# kinds that steps and recordings call; the others are asked for by name where they are needed
USUAL = ("rates", "project", "record", "guards")


def kernels(flow: Flow) -> dict[str, NativeKernel]:
    """Kernels of a Flow's Systems, made once: rates, project, record, guards."""
    return {k: kernel_of(s) for k, s in flow.systems.items() if k in USUAL}


@dataclass(frozen=True, eq=False)
class _InputReader:
    """Where the Kernel of one of a Flow's Systems finds its inputs: ("x", "u", "t" or "more", offset, size) of each."""

    kernel: NativeKernel
    outputs: tuple[str, ...]
    inputs: tuple[tuple[str, int, int], ...]
    known: Mapping[str, int]  # parameter -> its dimensions

    def rows(self, t: Any, x: np.ndarray, u: np.ndarray, more: Mapping[str, Any]) -> list[tuple[int, int]] | None:
        """(address, stride) of each input at states (nx,) or (k, nx); None where arrays must be brought together."""
        each = x.ndim - 1
        at: dict[str, tuple[int, int]] = {"x": (x.ctypes.data, each * x.shape[-1])}
        for name, array, loop, width in (("u", u, u.shape[:-1], u.shape[-1]), ("t", t, t.shape, 1)):
            one = loop in ((), (1,))
            if (loop != x.shape[:-1] and not one) or array.dtype != float or not array.flags.c_contiguous:
                return None
            at[name] = array.ctypes.data, 0 if one else width
        out = []
        for (source, offset, size), port in zip(self.inputs, self.kernel.inputs, strict=True):
            if source == "more":
                array = more[port.name]
                if array.shape != (*x.shape[:-1], *port.shape) or not array.flags.c_contiguous:
                    return None
                out.append((array.ctypes.data, each * size))
            else:
                address, stride = at[source]
                out.append((address + 8 * offset, stride))
        return out


def _reader(flow: Flow, kind: str) -> _InputReader:
    kernel, layout = kernel_of(flow.systems[kind]), flow.layout
    inputs = []
    for port in kernel.inputs:
        size = math.prod(port.shape)
        if port.name in layout.slices:
            inputs.append(("x", layout.slices[port.name].start, size))
        elif port.name in layout.columns:
            inputs.append(("u", layout.columns[port.name].start, size))
        else:
            inputs.append(("t" if port.name == "t" else "more", 0, size))
    known = {p.name: len(p.shape) for p in kernel.parameters}
    return _InputReader(kernel, tuple(o.name for o in kernel.outputs), tuple(inputs), known)


class FlowKernels:
    """The Systems of a Flow as functions of (t, x, u) over any loop dimensions; parameters filled in.

    x (..., nx) and u (..., nu); where x is (b, k, nx), k samples of a batch, parameters (b,) belong to the members.
    A solve block that fails gives NaN.
    """

    def __init__(self, flow: Flow, parameters: Mapping[str, Any] | None = None, threads: int | None = None) -> None:
        self.flow, self.threads = flow, threads
        self.parameters = dict(parameters or {})

    def call(self, kind: str, t: Any, x: np.ndarray, u: np.ndarray, /, **more: Any) -> dict[str, np.ndarray]:
        """Outputs of one of the Flow's Systems by name. more: what it reads besides (recorded rates)."""
        reader = memory_of(self.flow).get("reader", kind, lambda: _reader(self.flow, kind))
        kernel, parameters = reader.kernel, self._parameters(reader.known, x.ndim)
        if x.ndim < 3 and x.size and x.dtype == float and x.flags.c_contiguous:
            t = np.asarray(t, dtype=float)
            rows = reader.rows(t, x, u, more)
            quick = None if rows is None else kernel.call_rows(rows, x.shape[:-1], parameters, self.threads)
            if quick is not None:
                return dict(zip(reader.outputs, quick[0], strict=True))
        named = {**self.flow.layout.named(t, x, u), **more}
        arguments = [named[port.name] for port in kernel.inputs]
        found, _ = kernel.call_with_status(*arguments, parameters=parameters, threads=self.threads)
        return dict(zip(reader.outputs, found if len(reader.outputs) > 1 else [found], strict=True))

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

    def _parameters(self, known: Mapping[str, int], ndim: int) -> dict[str, Any] | None:
        """Those that the Kernel has, for states (..., nx) of so many dimensions."""
        if not self.parameters:
            return None
        own = {n: v for n, v in self.parameters.items() if n in known}
        if ndim < 3:
            return own or None
        arrays = {n: np.asarray(v, dtype=float) for n, v in own.items()}
        return {n: a if a.ndim == known[n] else np.expand_dims(a, 1) for n, a in arrays.items()} or None
