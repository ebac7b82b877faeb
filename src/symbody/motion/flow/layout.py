"""Layout: where named states and signals stand in the flat vectors x and u. Nothing else packs or unpacks them.

x (..., nx)   all states end to end, in the order of the rates; u (..., nu) all signals likewise
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from symbody.basics.errors import NameLookupError, nearest

Shape = tuple[int, ...]
Pack = Callable[[float, np.ndarray, np.ndarray], list[Any]]


@dataclass(frozen=True, eq=False)
class Layout:
    """states, signals: name -> shape, in the order in which they make up x and u."""

    states: Mapping[str, Shape]
    signals: Mapping[str, Shape]

    @cached_property
    def slices(self) -> dict[str, slice]:
        """Where each state stands in x."""
        return _slices(self.states)

    @cached_property
    def columns(self) -> dict[str, slice]:
        """Where each signal stands in u."""
        return _slices(self.signals)

    @cached_property
    def nx(self) -> int:
        """Number of state components."""
        return sum(math.prod(shape) for shape in self.states.values())

    @cached_property
    def nu(self) -> int:
        """Number of signal components."""
        return sum(math.prod(shape) for shape in self.signals.values())

    # -- unpacking

    def split(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """States (..., *shape) by name."""
        return {n: x[..., self.slices[n]].reshape(x.shape[:-1] + shape) for n, shape in self.states.items()}

    def split_signals(self, u: np.ndarray) -> dict[str, np.ndarray]:
        """Signals (..., *shape) by name."""
        return {n: u[..., self.columns[n]].reshape(u.shape[:-1] + shape) for n, shape in self.signals.items()}

    def named(self, t: Any, x: np.ndarray, u: np.ndarray) -> dict[str, Any]:
        """All that a System of the Flow may read, by name: states, t and signals, with loop dimensions in front."""
        return {**self.split(x), "t": t, **self.split_signals(u)}

    def packer(self, inputs: Mapping[str, np.ndarray], reader: str) -> Pack:
        """(t, x, u) -> arguments of a Kernel in the order of its `inputs`, for one state: scalars are floats.

        reader: who asks, for the message where an input is unknown.
        """
        plan: list[tuple[int, slice, Shape]] = []
        for name, symbols in inputs.items():
            if name == "t":
                plan.append((-1, slice(0, 1), ()))
            elif name in self.states:
                plan.append((0, self.slices[name], symbols.shape))
            elif name in self.signals:
                plan.append((1, self.columns[name], symbols.shape))
            else:
                known = ["t", *self.states, *self.signals]
                raise NameLookupError(f"{reader} reads {name!r}, which is no state or signal. {nearest(name, known)}")

        def pack(t: float, x: np.ndarray, u: np.ndarray) -> list[Any]:
            out: list[Any] = []
            for source, part, shape in plan:
                if source < 0:
                    out.append(float(t))
                elif shape == ():
                    out.append(float((x, u)[source][part.start]))
                else:
                    out.append((x, u)[source][part].reshape(shape))
            return out

        return pack

    # -- packing

    def join(self, parts: Iterable[np.ndarray], loop: Shape) -> np.ndarray:
        """(*loop, nx) from the states (..., *shape) in their order."""
        flat = []
        for part, shape in zip(parts, self.states.values(), strict=True):
            part = np.asarray(part)
            flat.append(part.reshape(*part.shape[: part.ndim - len(shape)], math.prod(shape)))
        return np.concatenate(flat, axis=-1).reshape(*loop, self.nx)

    def vector(self, values: Mapping[str, np.ndarray], batch: int | None) -> np.ndarray:
        """x (nx,), or (b, nx): values of the states by name, some of them for all members of a batch alike."""
        loop = () if batch is None else (batch,)
        parts = []
        for n, shape in self.states.items():
            flat = values[n].reshape(*values[n].shape[: values[n].ndim - len(shape)], math.prod(shape))
            parts.append(np.broadcast_to(flat, (*loop, math.prod(shape))))
        return np.concatenate(parts, axis=-1)


def _slices(shapes: Mapping[str, Shape]) -> dict[str, slice]:
    out, at = {}, 0
    for name, shape in shapes.items():
        out[name] = slice(at, at + math.prod(shape))
        at += math.prod(shape)
    return out
