"""The memory of one thread of a march: work buffers, contexts of the Kernels that point into them, and the job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from symbody.codegen.kernel.kernel_arrays import aligned
from symbody.codegen.kernel.native_kernel import Entry, NativeKernel
from symbody.codegen.llvm.chunk_text import DERIVED, DERIVED_STRIDE, FIRST_PORT
from symbody.codegen.llvm.libm import libm_address
from symbody.motion.march.ir.compiled_march import address_of
from symbody.motion.march.job import WORDS

INDEX = {name: i for i, name in enumerate(WORDS)}
# work arrays with one number for each lane
LANES = (
    "T",
    "TB",
    "TS",
    "H",
    "place",
    "done",
    "fail",
    "HN",
    "HP",
    "accepted",
    "last",
    "why",
    "old",
    "cut",
    "FR",
    "renew",
)
# numbers a buffer is padded to: a vector of any width
ROUND = 16


@dataclass(frozen=True)
class Sizes:
    """nx states, nu signals, ng guards; rates: buffers for rates; shared: one time and the same signals for all."""

    nx: int
    nu: int
    ng: int
    rates: int
    block: int
    shared: bool


@dataclass(frozen=True)
class KernelBuffers:
    """Where a Kernel reads its states and writes its outputs: names of work buffers.

    outputs: name of an output -> offset in the target row; others are written and never read.
    inputs: name of an input that is read from elsewhere -> work buffer and offset in it.
    strides: name of such an input, or of an output -> doubles from one lane to the next, where not the usual.
    elsewhere: name of an output that goes to the start of another work buffer.
    """

    kind: str
    source: str
    target: str
    number: int
    outputs: Mapping[str, int]
    inputs: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    strides: Mapping[str, int] = field(default_factory=dict)
    elsewhere: Mapping[str, str] = field(default_factory=dict)


class Workspace:
    """Buffers and contexts for blocks of states; `job` is the address that the native function takes."""

    def __init__(
        self,
        sizes: Sizes,
        kernels: Mapping[str, tuple[NativeKernel, Entry]],
        places: Sequence[KernelBuffers],
        states: Mapping[str, int],
        signals: Mapping[str, int],
        more: Mapping[str, int] | None = None,
    ) -> None:
        """more: further work buffers and their lengths."""
        s = self.sizes = sizes
        pad = -(-s.block * s.nx // ROUND) * ROUND
        trash = max((_size(o.shape) for k, _ in kernels.values() for o in k.signature.outputs), default=1)
        lengths = dict.fromkeys(("X", "Y", "XN", "XB", "XP", "HX", "R1", "R2", "kick", "tolerance"), pad)
        lengths.update(K=s.rates * pad, KD=4 * pad, trash=trash)
        lengths.update({"G0": s.block * s.ng, "G1": s.block * s.ng, "U": s.block * s.nu})
        lengths.update(dict.fromkeys(LANES, s.block))
        for kind, (kernel, entry) in kernels.items():
            lengths[f"{kind}_status"] = s.block * len(kernel.signature.blocks)
            lengths[f"{kind}_frame"] = entry.frame
        lengths.update(more or {})
        starts, total = {}, 0
        for name, length in lengths.items():
            starts[name] = total
            total += -(-length // ROUND) * ROUND
        self.memory = aligned(total)
        self.memory[:] = 0.0
        base = self.memory.ctypes.data
        self.at = {name: base + 8 * start for name, start in starts.items()}
        self.starts, self.pad = starts, pad
        self.words = np.zeros(len(WORDS), dtype=np.int64)
        self.numbers = self.words.view(np.float64)
        self.job = self.words.ctypes.data
        self.kernels = kernels
        self.keep: list[Any] = []
        for name, place in self.at.items():
            if name in INDEX:
                self.words[INDEX[name]] = place
        self.set(block=s.block, pad=pad, nx=s.nx, nu=s.nu, ng=s.ng, rows_shared=s.shared)
        for kind, (kernel, entry) in kernels.items():
            if kind in INDEX:
                self.set(**{kind: address_of(entry.function), f"{kind}_blocks": len(kernel.signature.blocks)})
        self._contexts(places, states, signals)

    def set(self, **words: int) -> None:
        for name, value in words.items():
            self.words[INDEX[name]] = value

    def set_numbers(self, **words: float) -> None:
        for name, value in words.items():
            self.numbers[INDEX[name]] = value

    def buffer(self, name: str, length: int) -> np.ndarray:
        """A work buffer to fill from Python."""
        return self.memory[self.starts[name] : self.starts[name] + length]

    def rebind(self, kernels: Mapping[str, tuple[NativeKernel, Entry]]) -> None:
        """Other parameters for the same code."""
        self.kernels = kernels
        self.derived = []
        for place, context in zip(self.places, self.contexts):
            derived = kernels[place.kind][1].derived
            base, stride = derived.ctypes.data, derived.shape[-1] if derived.ndim > 1 else 0
            context[DERIVED], context[DERIVED_STRIDE] = base, stride
            self.derived.append((context, base, stride))

    def begin_at(self, member: int) -> None:
        """Let the contexts point to the parameters of this member."""
        for words, base, stride in self.derived:
            words[DERIVED] = base + 8 * stride * member

    def _contexts(self, places: Sequence[KernelBuffers], states: Mapping[str, int], signals: Mapping[str, int]) -> None:
        s = self.sizes
        each = 0 if s.shared else 1
        self.derived = []
        self.places, self.contexts = tuple(places), []
        addresses = []
        for place in places:
            kernel, entry = self.kernels[place.kind]
            base, stride = entry.derived.ctypes.data, entry.derived.shape[-1] if entry.derived.ndim > 1 else 0
            words = [self.at[f"{place.kind}_frame"], base, stride, libm_address(), entry.externals]
            source = self.at[place.source]
            for port in kernel.inputs:
                if port.name in place.inputs:
                    buffer, offset = place.inputs[port.name]
                    words += [self.at[buffer] + 8 * offset, place.strides.get(port.name, 0)]
                elif port.name in states:
                    words += [source + 8 * states[port.name], s.nx]
                elif port.name in signals:
                    words += [self.at["U"] + 8 * signals[port.name], each * s.nu]
                elif port.name == "t":
                    words += [self.at["TS"], each]
                else:  # h of a one-step map
                    words += [self.at["H"], 1]
            target, row = self.at[place.target] + 8 * self.pad * place.number, s.nx
            if place.kind == "guards":
                row = s.ng
            for out in kernel.signature.outputs:
                known = out.name in place.outputs
                apart = place.strides.get(out.name, row)
                if out.name in place.elsewhere:
                    words += [self.at[place.elsewhere[out.name]], apart]
                    continue
                words += [target + 8 * place.outputs[out.name], apart] if known else [self.at["trash"], 0]
            if kernel.signature.blocks:
                words += [self.at[f"{place.kind}_status"], len(kernel.signature.blocks)]
            context = np.array(words, dtype=np.int64)
            self.derived.append((context, base, stride))
            self.contexts.append(context)
            addresses.append(context.ctypes.data)
        table = np.array(addresses, dtype=np.int64)
        self.keep.append(table)
        self.addresses = addresses
        self.set(contexts=table.ctypes.data, n_contexts=len(addresses))
        for i, place in enumerate(places):
            if f"{place.kind}_context" in INDEX:
                self.words[INDEX[f"{place.kind}_context"]] = addresses[i]
        drifts = [i for i, place in enumerate(places) if place.kind == "drift"]
        if drifts:
            self.set(drift_contexts=table.ctypes.data + 8 * drifts[0])


def _size(shape: Sequence[int]) -> int:
    return int(np.prod(shape, dtype=int))


assert FIRST_PORT == 5, "contexts are written here word by word"
