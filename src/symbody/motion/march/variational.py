"""VariationalMarch: derivatives of the states of a march by many directions at once, in native loops on its steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from symbody.basics.errors import ShapeError
from symbody.codegen.kernel.native_kernel import NativeKernel
from symbody.codegen.llvm.loading import host
from symbody.motion.march.adjoint import WEIGHT, kernel_sizes
from symbody.motion.march.ir.compiled_march import function
from symbody.motion.march.ir.variational_text import UNROLLED, variational_module
from symbody.motion.march.march_ports import STEP_LENGTH, Ports, parameters_of
from symbody.motion.march.members import Members
from symbody.motion.march.method_tables import RungeKutta
from symbody.motion.march.run import Signals
from symbody.motion.march.workspace import ROUND, KernelBuffers, Workspace


@dataclass(frozen=True, eq=False)
class Variation:
    """States x (k, nx) and their S (k, nx, nd) after every `every` steps and the last; failed: an implicit block."""

    x: np.ndarray
    S: np.ndarray
    failed: bool


class VariationalMarch:
    """Native derivatives along fixed steps; stateless, thread safe.

    Arguments as those of an `AdjointMarch`; the first nm directions are those that the pullbacks give as gm.
    live     rows of the rates that are pulled; copied (nx,): the state that a rate just is, -1 for others
    """

    def __init__(
        self,
        rates: NativeKernel | None,
        states: Mapping[str, str],
        pull: NativeKernel,
        live: np.ndarray,
        copied: np.ndarray,
        project: NativeKernel | None = None,
        pulled: NativeKernel | None = None,
        step: NativeKernel | None = None,
        step_node: float = 0.0,
    ) -> None:
        self.ports = Ports(rates, states, (), project, None, step)
        self.ports.kernels["pull"] = pull
        if pulled is not None:
            self.ports.kernels["pulled"] = pulled
        self.ports.timed = True
        self.step_node = step_node
        self.live = np.ascontiguousarray(live if step is None else np.arange(self.ports.nx), dtype=np.int64)
        self.copied = np.ascontiguousarray(copied, dtype=np.int64)
        self.projects = pulled is not None
        self.nm = kernel_sizes(pull).get("gm", 0)

    def fixed(
        self,
        method: RungeKutta | None,
        x: Any,
        S: Any,
        t: float,
        h: float,
        steps: int,
        every: int = 1,
        *,
        signals: Signals | None = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> Variation:
        """`steps` steps from x (nx,) with the derivatives S (nx, nd), nd at least nm."""
        nx = self.ports.nx
        start = np.asarray(S, dtype=float)
        if start.ndim != 2 or len(start) != nx or start.shape[1] < self.nm:
            raise ShapeError(f"S has shape {start.shape}; expected ({nx}, n) with n at least {self.nm}.")
        nd = start.shape[1]
        width = host().lanes
        whole = UNROLLED * width
        columns = -(-max(nd, 1) // whole) * whole
        data = Members(self.ports, x, parameters, signals, None)
        if data.members:
            raise ShapeError("derivatives by directions are propagated for one state at a time.")
        given = parameters_of(data.kernels, self.ports.known, parameters)
        for kind, rows in (("pull", len(self.live)), ("pulled", nx)):
            if kind in data.entries:  # lanes are rows here
                kernel = data.kernels[kind]
                data.entries[kind] = (kernel, kernel.entry(max(rows, 1), given[kind]))
        data.times(t, h)
        room = -(-steps // every)
        data.samples(room, 0)
        r = data.result
        r["s_samples"] = np.empty((room, nx, columns))
        r["live"], r["copied"] = self.live, self.copied
        native = function(variational_module(method, width, self.projects, self.step_node), "march")
        stages = 1 if method is None else method.stages
        size = nx * columns

        def prepare(w: Workspace) -> None:
            w.set(n_steps=steps, every=every, columns=columns, n_live=len(self.live))
            padded = np.zeros((nx, columns))
            padded[:, :nd] = start
            w.buffer("S", size)[:] = padded.ravel()
            w.buffer("DK", stages * size)[:] = 0.0
            w.buffer("GM", size)[:] = 0.0
            w.buffer("W", max(len(self.live), 1) * nx)[: len(self.live) * nx] = np.eye(nx)[self.live].ravel()
            w.buffer("LAM", nx * nx)[:] = np.eye(nx).ravel()

        blocks = {
            kind: nx * len(data.kernels[kind].signature.blocks) for kind in ("pull", "pulled") if kind in data.kernels
        }
        more = {
            "S": size, "DY": size, "DX": size, "DK": stages * size, "GM": size, "W": nx * nx, "LAM": nx * nx,
            "PB": nx * nx + ROUND, "GU": nx * max(self.ports.nu, 1), "GT": nx, "GH": nx,
            **{f"{kind}_status": n for kind, n in blocks.items()},
        }  # fmt: skip
        data.run(native, prepare, self._places(method, stages, columns), stages, True, 0, 1, more)
        return Variation(r["samples"][0], r["s_samples"][:, :, :nd], bool(r["status"][0]))

    def _places(self, method: RungeKutta | None, stages: int, columns: int) -> list[KernelBuffers]:
        p = self.ports
        if method is None:
            places = [KernelBuffers("rates", "X", "XN", 0, p.offsets), self._pull("pull", "X", "LAM", columns)]
        else:
            places = [KernelBuffers("rates", "Y" if i else "X", "K", i, p.rate_offsets) for i in range(stages)]
            places += [self._pull("pull", "Y" if i else "X", "W", columns) for i in range(stages)]
        if p.project is not None:
            places.append(KernelBuffers("project", "XN", "XP", 0, p.offsets))
        if self.projects:
            places.append(self._pull("pulled", "Y", "LAM", columns))
        return places

    def _pull(self, kind: str, source: str, weights: str, columns: int) -> KernelBuffers:
        """Rows of a pullback at the one state of a buffer: only the weights differ from lane to lane."""
        p = self.ports
        inputs: dict[str, tuple[str, int]] = {n: (source, at) for n, at in p.offsets.items()}
        inputs |= {WEIGHT: (weights, 0), STEP_LENGTH: ("H", 0)}
        elsewhere = {n: n.upper() for n in kernel_sizes(p.kernels[kind]) if n != "gx"}
        strides = {WEIGHT: p.nx, "gx": p.nx, "gm": columns, "gu": p.nu, "gt": 1, "gh": 1}
        return KernelBuffers(kind, source, "PB", 0, {"gx": 0}, inputs, strides, elsewhere)
