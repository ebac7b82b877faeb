"""The usual call of a kernel without detours: tensors of PyTorch on one device, all of n states, parameters shared.

What does not change from call to call is worked out once for a device and a number of states. What is left is looked at
in each call: types, shapes, devices and order of the tensors, and their addresses. All else is done the general way.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from symbody.codegen.cuda import driver
from symbody.codegen.cuda import foreign_arrays as on_device
from symbody.codegen.cuda.kernel_source import BLOCK
from symbody.codegen.kernel.signature import results_type

if TYPE_CHECKING:
    from symbody.codegen.cuda.kernel import CudaKernel

MOST = 64  # numbers of states that are remembered
_NO_BLOCKS = np.zeros((1, 0), dtype=np.int64)


class TensorCalls:
    """Such calls of one kernel."""

    def __init__(self, kernel: CudaKernel) -> None:
        self.kernel = kernel
        self.plans: dict[tuple[int, tuple[int, ...]], TensorCall | None] = {}  # by device and shape of the first tensor
        self.last: TensorCall | None = None

    def __call__(self, args: Sequence[Any], out: Any, stream: Any) -> tuple[Any, Any] | None:
        """(results, statuses). None: the general way says what is wrong, or does what is unusual."""
        last = self.last
        if last is not None:  # calls come in rows of one size; a plan looks at all that it depends on
            found = last(args, out, stream)
            if found is not None:
                return found
        plan = self._planned(args[0])
        if plan is None or plan is last:
            return None
        self.last = plan
        return plan(args, out, stream)

    def _planned(self, first: Any) -> TensorCall | None:
        torch = sys.modules.get("torch")
        if torch is None or type(first) is not torch.Tensor or not first.is_cuda:
            return None
        key = first.get_device(), tuple(first.shape)
        if key not in self.plans:
            if len(self.plans) >= MOST:
                self.plans.clear()
            self.plans[key] = self._plan(*key)
        return self.plans.get(key)

    def _plan(self, ordinal: int, shape: tuple[int, ...]) -> TensorCall | None:
        kernel = self.kernel
        core = kernel.inputs[0].shape
        if len(shape) != len(core) + 1 or kernel._device_bound or kernel._differs(None):
            return None
        n = shape[0] if kernel.layout == "state" else shape[-1]
        text = kernel.texts.text("shared")
        if n < 1 or text.parameters == "each" or not text.by_value:
            return None
        function = driver.device(ordinal).build(text.text, text.options).function(text.entry)
        return TensorCall(kernel, n, ordinal, function, kernel._constants(text, None))


class TensorCall:
    """Calls for n states on one device. words: number of states, address and distance of inputs, then results."""

    def __init__(
        self, kernel: CudaKernel, n: int, ordinal: int, function: driver.DeviceFunction, constants: Any
    ) -> None:
        torch = sys.modules["torch"]
        self.ordinal, self.tensor, self.like, self.whole = ordinal, torch.Tensor, torch.empty_like, torch.int32
        self.kind = torch.float64 if kernel.dtype.itemsize == 8 else torch.float32
        self.count, self.stream = len(kernel.inputs), torch._C._cuda_getCurrentRawStream
        words = [n]
        self.inputs = []  # shape, width of loads, place of the address among the words
        for p in kernel.inputs:
            self.inputs.append((kernel._shape(p.shape, (n,)), kernel._width(p.shape), len(words)))
            words += (0, kernel._stride(p))
        self.results = []  # shape, width of stores, place, the input of that shape
        given = [shape for shape, _, _ in self.inputs]
        for core in (p.shape for p in kernel.outputs):
            shape = kernel._shape(core, (n,))
            like = given.index(shape) if shape in given else None
            self.results.append((shape, kernel._width(core), len(words), like))
            words.append(0)
        blocks = len(kernel.program.blocks)
        self.status = kernel._shape((blocks,), (n,)) if blocks else None
        words += [0] * bool(blocks)
        names = tuple(p.name for p in kernel.outputs)
        self.packed = None if len(names) == 1 else results_type(names)
        self.make = lambda: function.prepared(n, BLOCK, words, constants)
        self.thread = threading.local()

    def __call__(self, args: Sequence[Any], out: Any, stream: Any) -> tuple[Any, Any] | None:
        try:
            launch = self.thread.launch
        except AttributeError:
            launch = self.thread.launch = self.make()
        tensor, kind, ordinal, words = self.tensor, self.kind, self.ordinal, launch.words
        if len(args) != self.count:
            return None
        for a, (shape, width, place) in zip(args, self.inputs):
            if type(a) is not tensor or a.dtype is not kind or a.shape != shape or a.get_device() != ordinal:
                return None
            pointer = a.data_ptr()
            if pointer % width or not a.is_contiguous():
                return None
            words[place] = pointer
        if out is None:
            results = []
            for shape, _, place, k in self.results:  # one like another takes less time than one of a shape
                r = args[0].new_empty(shape) if k is None else self.like(args[k])
                words[place] = r.data_ptr()
                results.append(r)
        else:
            results = self._taken(out, words)
            if results is None:
                return None
        status: Any = _NO_BLOCKS
        if self.status is not None:
            status = args[0].new_empty(self.status, dtype=self.whole)
            words[-1] = status.data_ptr()
        launch(self.stream(ordinal) if stream is None else on_device.stream_of("torch", stream, ordinal))
        return (results[0] if self.packed is None else self.packed(results)), status

    def _taken(self, out: Any, words: Any) -> Any:
        """The caller's tensors for the results, their addresses among the words; None where they do not suit."""
        results = [out] if type(out) is self.tensor else out
        if not isinstance(results, (list, tuple)) or len(results) != len(self.results):
            return None
        for r, (shape, width, place, _) in zip(results, self.results):
            if type(r) is not self.tensor or r.dtype is not self.kind or r.shape != shape:
                return None
            pointer = r.data_ptr()
            if r.get_device() != self.ordinal or not r.is_contiguous() or pointer % width:
                return None
            words[place] = pointer
        return results
