"""Which input and output of the Kernels of a march is what: states, rates, signals, positions and velocities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from symbody.basics.errors import NameLookupError, ShapeError, nearest

STEP_LENGTH = "h (length of the step)"  # input of a step map; no identifier, so that a model may name something h


class Ports:
    """Checked names and offsets. Kernels are known by their signature: any with `inputs` and outputs will do.

    offsets        state -> its place in x; rate_offsets, drift_offsets: output -> place of the state it is the rate of
    signals        input -> its place in the signals
    kick           (nx,) 1 for components that splitting methods kick, 0 for positions
    pairs          (offset of positions, offset of velocities, size)
    """

    def __init__(
        self,
        rates: Any,
        states: Mapping[str, str],
        second: Sequence[tuple[str, str]] = (),
        project: Any = None,
        guards: Any = None,
        step: Any = None,
        drift: Any = None,
    ) -> None:
        main = step if step is not None else rates
        if main is None:
            raise NameLookupError("A march needs a Kernel of rates or a step map; neither was given.")
        self.main, self.project, self.guards, self.step = main, project, guards, step
        self.second = tuple(second)
        self.drift = drift
        inputs = {p.name: p for p in main.inputs}
        outputs = {o.name: o.shape for o in _outputs(main)}
        self.offsets: dict[str, int] = {}
        self.rate_offsets: dict[str, int] = {}
        self.nx = 0
        for state, rate in states.items():
            if state not in inputs:
                raise NameLookupError(f"'{main.name}' has no input '{state}' for a state. {nearest(state, inputs)}")
            wanted = state if step is not None else rate
            if wanted not in outputs:
                raise NameLookupError(f"'{main.name}' has no output '{wanted}'. {nearest(wanted, outputs)}")
            size = int(np.prod(outputs[wanted], dtype=int))
            if size != inputs[state].size:
                raise ShapeError(f"State '{state}' has {inputs[state].size} components, its rate '{wanted}' {size}.")
            self.offsets[state] = self.rate_offsets[wanted] = self.nx
            self.nx += size
        if len(self.rate_offsets) != len(self.offsets):
            raise NameLookupError("Two states have the same rate output; give each state an output of its own.")
        self.sizes = {s: inputs[s].size for s in self.offsets}
        special = {"t", STEP_LENGTH} if step is not None else {"t"}
        self.signals: dict[str, int] = {}
        self.nu = 0
        for name, port in inputs.items():
            if name not in self.offsets and name not in special:
                self.signals[name] = self.nu
                self.nu += port.size
        self.kernels: dict[str, Any] = {"rates": main}
        self._others(project, guards, {**inputs, "t": None})
        self._second(inputs)
        self.free: dict[Any, list[Any]] = {}  # workspaces of earlier runs
        self.timed = any(p.name == "t" for k in self.kernels.values() for p in k.inputs)
        self.known = {kind: frozenset(p.name for p in k.parameters) for kind, k in self.kernels.items()}

    def _others(self, project: Any, guards: Any, known: Mapping[str, Any]) -> None:
        self.ng = 0
        for kind, kernel in (("project", project), ("guards", guards)):
            if kernel is None:
                continue
            self._check_inputs(kernel, known)
            self.kernels[kind] = kernel
            outputs = {o.name: o.shape for o in _outputs(kernel)}
            if kind == "guards":
                if "guard" not in outputs:
                    raise NameLookupError(f"'{kernel.name}' has no output 'guard'; it has {', '.join(outputs)}.")
                self.ng = int(np.prod(outputs["guard"], dtype=int))
            else:
                for name, shape in outputs.items():
                    if name in self.offsets and int(np.prod(shape, dtype=int)) != self.sizes[name]:
                        raise ShapeError(f"The projection gives '{name}' the shape {shape}; the state has another.")

    def _check_inputs(self, kernel: Any, known: Mapping[str, Any]) -> None:
        for port in kernel.inputs:
            if port.name not in known:
                raise NameLookupError(
                    f"'{kernel.name}' has the input '{port.name}', which the rates do not have. "
                    f"{nearest(port.name, known)}"
                )

    def _second(self, inputs: Mapping[str, Any]) -> None:
        self.kick = np.ones(self.nx)
        self.pairs: list[tuple[int, int, int]] = []
        self.drift_offsets: dict[str, int] = {}
        for positions, velocities in self.second:
            for name in (positions, velocities):
                if name not in self.offsets:
                    raise NameLookupError(f"second names '{name}', which is no state. {nearest(name, self.offsets)}")
            at, size = self.offsets[positions], self.sizes[positions]
            self.kick[at : at + size] = 0.0
            self.pairs.append((at, self.offsets[velocities], size))
            if self.drift == "velocities" and size != self.sizes[velocities]:
                raise ShapeError(
                    f"drift='velocities' needs as many positions '{positions}' ({size}) as velocities "
                    f"'{velocities}' ({self.sizes[velocities]}); give a Kernel of the positions' rates instead."
                )
        self.pair_table = np.array(self.pairs, dtype=np.int64).reshape(-1, 3)
        if not self.second or self.step is not None or self.drift == "velocities":
            return
        names = {at: rate for rate, at in self.rate_offsets.items()}
        self.drift_offsets = {names[at]: at for at, _, _ in self.pairs}
        kernel = self.main if self.drift is None else self.drift
        self._check_inputs(kernel, {**inputs, "t": None})
        outputs = [o.name for o in _outputs(kernel)]
        for name in self.drift_offsets:
            if name not in outputs:
                raise NameLookupError(f"The drift '{kernel.name}' has no output '{name}'. {nearest(name, outputs)}")
        self.kernels["drift"] = kernel


def parameters_of(
    kernels: Mapping[str, Any], known: Mapping[str, frozenset[str]], given: Mapping[str, Any] | None
) -> dict[str, dict[str, Any] | None]:
    """The part of the parameters that each Kernel has; one that none has is an error. known: names of some Kernels'."""
    if given is None:
        return dict.fromkeys(kernels)
    parts: dict[str, dict[str, Any] | None] = {}
    used: set[str] = set()
    for kind, kernel in kernels.items():
        own = known[kind] if kind in known else {p.name for p in kernel.parameters}
        part = {n: v for n, v in given.items() if n in own}
        used.update(part)
        parts[kind] = part or None
    for name in given:
        if name not in used:
            names = sorted({p.name for k in kernels.values() for p in k.parameters})
            raise NameLookupError(f"There is no parameter '{name}'. {nearest(name, names)}")
    return parts


def _outputs(kernel: Any) -> Any:
    return kernel.signature.outputs if hasattr(kernel, "signature") else kernel.outputs
