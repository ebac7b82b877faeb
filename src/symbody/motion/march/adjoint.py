"""Adjoint: the steps of a march taken backwards, as native loops over the pullbacks of its Kernels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from symbody.basics.errors import ShapeError
from symbody.codegen.kernel.native_kernel import NativeKernel
from symbody.codegen.llvm.loading import host
from symbody.motion.march.ir.adjoint_text import adjoint_module
from symbody.motion.march.ir.compiled_march import function
from symbody.motion.march.march_ports import Ports
from symbody.motion.march.members import BLOCK, Members
from symbody.motion.march.method_tables import RungeKutta
from symbody.motion.march.run import Signals
from symbody.motion.march.workspace import ROUND, KernelBuffers, Workspace

WEIGHT = "w (weights)"  # input of a pullback; no identifier, as STEP_LENGTH


@dataclass(frozen=True, eq=False)
class Adjoint:
    """Adjoints at the start of a stretch; arrays have the batch dimension in front where the states had one.

    lam      (..., nx) of the states
    m, v     (..., nm), (..., nv) of what does not change: of the rates (or the step), of the projection
    u        (..., k, nu) of the signals at their knots; None where they were not asked for
    failed   (...,) whether an implicit block did not converge
    """

    lam: np.ndarray
    m: np.ndarray
    v: np.ndarray
    u: np.ndarray | None
    failed: np.ndarray


class AdjointMarch:
    """Native adjoint of fixed steps; stateless, thread safe.

    rates, states, project   as those of a `March`; step: the map of a step instead of rates, step_node its signals
    pull      Kernel of the pullback of the rates (or of the step): their inputs and WEIGHT -> gx, gm, gu
    pulled    of the projection, likewise; or None
    """

    def __init__(
        self,
        rates: NativeKernel | None,
        states: Mapping[str, str],
        pull: NativeKernel,
        project: NativeKernel | None = None,
        pulled: NativeKernel | None = None,
        step: NativeKernel | None = None,
        step_node: float = 0.0,
    ) -> None:
        self.ports = Ports(rates, states, (), project, None, step)
        self.ports.kernels["pull"] = pull
        if pulled is not None:
            self.ports.kernels["pulled"] = pulled
        self.ports.timed = True  # stages are evaluated at times of their own, which pullbacks may read
        self.step_node = step_node
        self.projects = pulled is not None
        self.sizes = {n: kernel_sizes(k) for n, k in self.ports.kernels.items() if n in ("pull", "pulled")}

    def fixed(
        self,
        method: RungeKutta | None,
        states: Any,
        lam: Any,
        t: Any,
        h: Any,
        *,
        seeds: Any = None,
        signals: Signals | None = None,
        inputs: bool = False,
        parameters: Mapping[str, Any] | None = None,
        threads: int | None = None,
    ) -> Adjoint:
        """Over n steps of length h from t on, whose states (n+1, nx) or (b, n+1, nx) are known, from their end back.

        lam     (nx,) or (b, nx) adjoint of the last state
        seeds   of the shape of the states: what the objective adds to the adjoint of each; that of the first one too
        inputs  whether adjoints of the signals are asked for
        """
        x = np.ascontiguousarray(states, dtype=float)
        nx = self.ports.nx
        if x.ndim not in (2, 3) or x.shape[-1] != nx or x.shape[-2] < 1:
            raise ShapeError(f"states have shape {x.shape}; expected (n+1, {nx}) or (b, n+1, {nx}).")
        steps = x.shape[-2] - 1
        data = Members(self.ports, x[..., 0, :], parameters, signals, None)
        b = data.count
        if b != (len(x) if x.ndim == 3 else 1):
            raise ShapeError(f"The parameters are given for {b} members, and the states have shape {x.shape}.")
        data.times(t, h)
        data.samples(0, 0)
        pull, pulled = self.sizes["pull"], self.sizes.get("pulled", {})
        nm, nv, nu = pull.get("gm", 0), pulled.get("gm", 0), self.ports.nu
        knots = len(data.result["knots"])
        result = data.result
        result["lam"] = np.array(np.broadcast_to(lam, (*data.members, nx)), dtype=float).reshape(b, nx)
        result["mu"], result["mv"] = np.zeros((b, nm)), np.zeros((b, nv))
        result["ubar"] = np.zeros((b, knots, nu) if inputs else (1, 1, 1))
        result["states"] = x
        result["seeds"] = x if seeds is None else np.ascontiguousarray(seeds, dtype=float)
        if result["seeds"].shape != x.shape:
            raise ShapeError(f"seeds have shape {result['seeds'].shape}; expected that of the states {x.shape}.")
        shared = np.ndim(t) == 0 and np.ndim(h) == 0 and not data.member_signals
        native = function(adjoint_module(method, host().lanes, self.projects, self.step_node), "march")
        stages = 1 if method is None else method.stages
        block = min(BLOCK, max(b, 1))
        pad = -(-block * nx // ROUND) * ROUND

        def prepare(w: Workspace) -> None:
            w.set(
                n_steps=steps,
                n_rows=steps + 1,
                nm=nm,
                nv=nv,
                seeded=int(seeds is not None),
                inputs_wanted=int(inputs and nu > 0 and "gu" in pull),
            )

        more = {
            "YS": stages * pad, "LAM": pad, "W": pad, "PB": stages * pad + ROUND, "GU": block * max(nu, 1),
            "GM": block * max(nm, nv, 1) + 2 * ROUND, "MU": block * nm + 2 * ROUND, "MV": block * nv + 2 * ROUND,
            "GT": block, "GH": block,
        }  # fmt: skip
        places = self._places(method, stages, pad, nx)
        cost = (self.ports.main.signature.operations + self.ports.kernels["pull"].signature.operations) * stages * steps
        data.run(native, prepare, places, stages, shared, cost, threads, more)
        first = result["lam"] if seeds is None else result["lam"] + result["seeds"].reshape(b, steps + 1, nx)[:, 0]
        shape = data.members
        return Adjoint(
            first.reshape(*shape, nx),
            result["mu"].reshape(*shape, nm),
            result["mv"].reshape(*shape, nv),
            result["ubar"].reshape(*shape, knots, nu) if inputs else None,
            (result["status"] != 0).reshape(shape),
        )

    def _places(self, method: RungeKutta | None, stages: int, pad: int, nx: int) -> list[KernelBuffers]:
        p = self.ports
        if method is None:
            places = [KernelBuffers("rates", "X", "XN", 0, p.offsets), self._pull("pull", "X", 0, 0)]
        else:
            places = [self._stage(i, pad, nx) for i in range(stages)]
            places += [self._pull("pull", "YS", i * pad, i * pad) for i in range(stages)]
        if p.project is not None:
            places.append(KernelBuffers("project", "XN", "XP", 0, p.offsets))
        if self.projects:
            places.append(self._pull("pulled", "XN", 0, 0))
        return places

    def _stage(self, stage: int, pad: int, nx: int) -> KernelBuffers:
        """Rates of a stage, from its state in YS."""
        p = self.ports
        inputs = {n: ("YS", stage * pad + offset) for n, offset in p.offsets.items()}
        return KernelBuffers("rates", "X", "K", stage, p.rate_offsets, inputs, dict.fromkeys(inputs, nx))

    def _pull(self, kind: str, source: str, offset: int, target: int) -> KernelBuffers:
        """A pullback at the states in a buffer, with the weights W; the adjoint of the states goes to PB."""
        return _pull_place(self.ports, self.sizes[kind], kind, (source, offset), target)


def _pull_place(
    ports: Ports, sizes: Mapping[str, int], kind: str, source: tuple[str, int], target: int
) -> KernelBuffers:
    nx = ports.nx
    inputs: dict[str, tuple[str, int]] = {n: (source[0], source[1] + at) for n, at in ports.offsets.items()}
    strides = dict.fromkeys(inputs, nx)
    inputs[WEIGHT], strides[WEIGHT] = ("W", 0), nx
    outputs = {"gx": target}
    strides["gx"] = nx
    return KernelBuffers(kind, source[0], "PB", 0, outputs, inputs, {**strides, **_rows(sizes)}, _elsewhere(sizes))


def _rows(sizes: Mapping[str, int]) -> dict[str, int]:
    return {n: size for n, size in sizes.items() if n != "gx"}


def _elsewhere(sizes: Mapping[str, int]) -> dict[str, str]:
    """Buffers of the other outputs."""
    return {n: n.upper() for n in sizes if n in ("gm", "gu", "gt", "gh")}


def kernel_sizes(kernel: NativeKernel) -> dict[str, int]:
    """Output of a Kernel -> how many numbers it has."""
    return {o.name: int(np.prod(o.shape, dtype=int)) for o in kernel.outputs}
