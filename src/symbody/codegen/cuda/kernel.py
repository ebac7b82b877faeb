"""CudaKernel: a Program on a device, behind the call interface of every Kernel.

Arrays that live on a device (CuPy, PyTorch, JAX, anything with `__cuda_array_interface__` or DLPack) are read where
they are, on the caller's stream, and the results are arrays of the same library. NumPy arrays are copied there and
back.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from symbody.basics.errors import DefinitionError, DeviceError, NameLookupError, ShapeError, nearest
from symbody.codegen.cuda import driver, shapes
from symbody.codegen.cuda import foreign_arrays as on_device
from symbody.codegen.cuda.device_array import DeviceArray
from symbody.codegen.cuda.kernel_source import BLOCK, KernelText
from symbody.codegen.cuda.occupancy import Occupancy
from symbody.codegen.cuda.tensor_calls import TensorCalls
from symbody.codegen.cuda.texts import Texts, replace_layout, setup_values
from symbody.codegen.kernel.program_kernel import ProgramKernel, call_arguments
from symbody.codegen.kernel.signature import results_type
from symbody.symbolic.lower.interpret import raise_if_failed
from symbody.symbolic.lower.program import Program
from symbody.symbolic.system.ports import Port, kept, loop_of

STATES = 1000  # at most, on which accuracy is measured


class CudaKernel(ProgramKernel):
    """A stateless callable; it runs on the device of its arrays, NumPy arrays on device `ordinal`."""

    def __init__(self, program: Program, texts: Texts, ordinal: int = 0) -> None:
        super().__init__(program)
        self.texts, self.ordinal = texts, ordinal
        self._usual: Any = None  # derived values of the bound or default parameters, as bytes
        self._device_bound: dict[str, Any] = {}
        self._on_tensors = TensorCalls(self)

    @property
    def layout(self) -> str:
        return self.texts.layout

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.texts.dtype

    def bind(self, parameters: Mapping[str, Any] | Any | None = None) -> Self:
        if self.texts.folded:
            raise DefinitionError(f"the parameters of '{self.name}' are folded into its text; compile it again.")
        bound = type(self)(self.program, self.texts, self.ordinal)
        host, device = self._host_and_device(parameters)
        bound._bound = self._kept(host)
        bound._device_bound = {**self._device_bound, **device}
        known = {**kept(host or {}), **device} if device else kept(host)
        bound.recipe = None if self.recipe is None else self.recipe.with_bound(known)
        return bound

    # -- calls

    def call_with_status(
        self, *args: Any, parameters: Any = None, out: Any = None, stream: Any = None, **named: Any
    ) -> tuple[Any, Any]:
        """As every Kernel; on arrays of a device the results are such arrays. stream: the caller's, unless given."""
        if parameters is None and args and not named and type(args[0]).__name__ == "Tensor":
            usual = self._on_tensors(args, out, stream)
            if usual is not None:
                return usual
        values = [*args, *named.values()]
        if isinstance(parameters, Mapping):
            values += parameters.values()
        libraries = [on_device.library_of(v) for v in values]
        if self._device_bound:
            libraries += [on_device.library_of(v) for v in self._device_bound.values()]
        library = next((x for x in libraries if x), "")
        if not library:
            if self.layout != "state":
                return self._by_component(args, parameters, out, named)
            return super().call_with_status(*args, parameters=parameters, out=out, **named)
        return self._on_device(library, args, named, parameters, out, stream)

    def __call__(self, *args: Any, parameters: Any = None, out: Any = None, stream: Any = None, **named: Any) -> Any:
        """An array, or a named tuple of several; see `call_with_status`. A state whose solve block fails is NaN."""
        if parameters is None and args and not named and type(args[0]).__name__ == "Tensor":
            usual = self._on_tensors(args, out, stream)
            if usual is not None:
                return usual[0]
        result, outcome = self.call_with_status(*args, parameters=parameters, out=out, stream=stream, **named)
        if isinstance(outcome, np.ndarray):
            raise_if_failed(self.program, outcome)
        return result

    # -- arrays on a device

    def _on_device(
        self, library: str, args: Sequence[Any], named: Mapping[str, Any], parameters: Any, out: Any, stream: Any
    ) -> tuple[Any, Any]:
        ports = self.inputs
        if len(args) + len(named) != len(ports) or named:
            args = _ordered(ports, args, named)
        given = [self._seen(v, p.name) for v, p in zip(args, ports)]
        device = driver.device(given[0].device if given else self.ordinal)
        placed = list(zip((p.name for p in ports), given, (p.shape for p in ports)))
        own: dict[str, on_device.ForeignArray] = {}
        host = parameters
        if self._device_bound or isinstance(parameters, Mapping):
            host, device_parameters = self._host_and_device(parameters)
            for name, value in {**self._device_bound, **device_parameters}.items():
                port = next((p for p in self.parameters if p.name == name), None)
                if port is None:
                    raise NameLookupError(
                        f"There is no parameter '{name}'. {nearest(name, [p.name for p in self.parameters])}"
                    )
                own[name] = self._seen(value, name)
                placed.append((name, own[name], port.shape))
        for name, s, core in placed:
            shapes.check_address(s.pointer, self._width(core), name)
            if s.device != device.ordinal:
                raise DeviceError(
                    f"'{name}' is on device {s.device}, and other arrays on device {device.ordinal}; bring them to one."
                )
        loop = shapes.common_loop(((name, s.shape, core) for name, s, core in placed), self.layout)
        states = loop[0] if loop else 1
        flow = on_device.stream_of(library, stream, device.ordinal)
        results = self._results(library, out, loop, device, states, own)
        status = self._status(library, loop, device)
        words: list[int] = [states]
        for s, p in zip(given, ports):
            words += (s.pointer, 0 if s.shape == p.shape else self._stride(p))
        keep = self._launch(device, states, words, host, own, loop, results, status, flow)
        outcome = np.zeros((*loop, 0), dtype=np.int64) if status is None else status
        if library not in ("torch", "cupy") or keep:
            device.synchronize(flow)
        final = [on_device.handed(library, r) if isinstance(r, DeviceArray) else r for r in results]
        packed = final[0] if len(final) == 1 else results_type(tuple(p.name for p in self.outputs))(final)
        return packed, outcome

    def _launch(
        self,
        device: driver.Device,
        states: int,
        words: list[int],
        host: Any,
        own: Mapping[str, on_device.ForeignArray],
        loop: tuple[int, ...],
        results: Sequence[Any],
        status: Any,
        stream: int,
    ) -> list[Any]:
        """Start the kernel; what must stay alive until it has run."""
        each = bool(own) or self._differs(host)
        text = self.texts.text("each" if each else "shared")
        constants, keep = None, []
        if text.parameters == "each":
            gathered = self._given(host, own)
            for port, array in zip(self.parameters, gathered):
                if port.name in own:
                    s = own[port.name]
                    words += (s.pointer, 0 if s.shape == port.shape else self._stride(port))
                    continue
                per_state = bool(loop_of(port, array))
                if per_state and array.shape[0] != states:
                    raise ShapeError(
                        f"parameter '{port.name}' is given for {array.shape[0]} states; expected {states}."
                    )
                kept = DeviceArray.of(self._laid(array, port.shape), device, self.dtype)
                keep.append(kept)
                words += (kept.pointer, self._stride(port) if per_state else 0)
        elif text.by_value:
            constants = self._constants(text, host)
        else:
            kept = DeviceArray.of(self._derived_values(text, host), device, self.dtype)
            keep.append(kept)
            words.append(kept.pointer)
        for r in results:
            words.append(r.pointer if isinstance(r, DeviceArray) else _pointer(r))
        if status is not None:
            words.append(status.pointer if isinstance(status, DeviceArray) else _pointer(status))
        function = device.build(text.text, text.options).function(text.entry)
        function.launch(states, BLOCK, words, constants, stream)
        return keep

    def _differs(self, host: Any) -> bool:
        """Whether parameters differ from state to state."""
        if self.texts.folded:
            if host:
                raise DefinitionError(f"the parameters of '{self.name}' are folded into its text; compile it again.")
            return False
        given = self._bound if host is None else self._gathered(host)
        return given is not None and any(loop_of(p, a) for p, a in zip(self.parameters, given))

    def _given(self, host: Any, own: Mapping[str, Any]) -> list[np.ndarray]:
        if host is None and self._bound is not None:
            return self._bound
        missing = {p.name: np.zeros(p.shape) for p in self.parameters if p.name in own and p.default is None}
        return self._gathered({**missing, **(host or {})} if missing else host)

    def _constants(self, text: KernelText, host: Any) -> Any:
        """What setup made of the parameters, as the bytes that go with a launch."""
        if host is None and self._usual is not None:
            return self._usual
        values = self._derived_values(text, host).tobytes()
        found = ctypes.create_string_buffer(values, max(len(values), 8))
        if host is None:
            self._usual = found
        return found

    def _derived_values(self, text: KernelText, host: Any) -> np.ndarray:
        given = self._bound if host is None and self._bound is not None else self._gathered(host)
        return setup_values(text.functions.program, text.functions.derived, given).astype(self.dtype)

    def _host_and_device(self, parameters: Any) -> tuple[Any, dict[str, Any]]:
        """Parameters of the host, and those whose arrays are on a device."""
        if not isinstance(parameters, Mapping):
            return parameters, {}
        device = {n: v for n, v in parameters.items() if on_device.library_of(v)}
        host = {n: v for n, v in parameters.items() if n not in device}
        return (host or None if device else parameters), device

    def _seen(self, value: Any, name: str) -> on_device.ForeignArray:
        library = on_device.library_of(value)
        if not library:
            raise DeviceError(
                f"'{name}' is not on a CUDA device, and other arrays are; bring it there, or give NumPy arrays only."
            )
        s = on_device.seen(value, name, library)
        if np.dtype(s.kind) != self.dtype if s.kind[0] == "<" else True:
            raise ShapeError(
                f"'{name}' has numbers of type {s.kind}; this kernel takes {self.dtype}. Convert it, or compile with "
                f"precision={'single' if self.dtype.itemsize == 8 else 'double'!r}."
            )
        if s.strides is not None:
            raise ShapeError(
                f"'{name}' of shape {s.shape} has strides {s.strides}; expected C order, {on_device.dense(s.shape)}: "
                "make it contiguous, or compile with the other layout ('state': (n, ...), 'component': (..., n))."
            )
        return s

    def _width(self, core: tuple[int, ...]) -> int:
        return shapes.load_width(core, self.layout, self.texts.precision)

    def _stride(self, port: Port) -> int:
        return shapes.distance(port.shape, self.layout)

    def _laid(self, array: np.ndarray, core: tuple[int, ...]) -> np.ndarray:
        """An array (n, *core), or (*core), as the kernel's layout wants it."""
        if self.layout == "component" and array.ndim > len(core):
            array = np.moveaxis(array, 0, -1)
        return np.asarray(array, order="C")

    def _shape(self, core: tuple[int, ...], loop: tuple[int, ...]) -> tuple[int, ...]:
        return shapes.whole(core, loop, self.layout)

    def _results(
        self, library: str, out: Any, loop: tuple[int, ...], device: driver.Device, states: int, own: Any
    ) -> list[Any]:
        names = [p.name for p in self.outputs]
        if out is None:
            targets: list[Any] = [None] * len(names)
        elif isinstance(out, Mapping):
            for name in out:
                if name not in names:
                    raise NameLookupError(f"There is no output '{name}'. {nearest(name, names)}")
            targets = [out.get(n) for n in names]
        else:
            targets = [out] if len(names) == 1 and not isinstance(out, (list, tuple)) else list(out)
            if len(targets) != len(names):
                raise ShapeError(f"out has {len(targets)} arrays; expected {len(names)} ({', '.join(names)}).")
        if states > 100_000:
            new = [p for p, t in zip(self.outputs, targets) if t is None]
            each = self.dtype.itemsize * sum(len(p.values) for p in new) + 4 * len(self.program.blocks)
            if library not in ("torch", "cupy"):  # those have memory of their own in reserve
                on_device.check_room(device, states, each, f"results of '{self.name}'")
        made = []
        for p, target in zip(self.outputs, targets):
            shape = self._shape(p.shape, loop)
            if target is None:
                made.append(on_device.empty(library, shape, self.dtype, device))
                continue
            s = self._seen(target, f"out for {p.name}")
            if s.shape != shape or s.device != device.ordinal:
                raise ShapeError(
                    f"out for '{p.name}' has shape {s.shape} on device {s.device}; expected {shape} "
                    f"on device {device.ordinal}."
                )
            shapes.check_address(s.pointer, self._width(p.shape), f"out for {p.name}")
            made.append(target)
        return made

    def _status(self, library: str, loop: tuple[int, ...], device: driver.Device) -> Any:
        blocks = len(self.program.blocks)
        if not blocks:
            return None
        return on_device.empty(library, self._shape((blocks,), loop), np.dtype(np.int32), device)

    # -- NumPy arrays

    def _compute(
        self, arrays: list[np.ndarray], given: list[np.ndarray], loop: tuple[int, ...]
    ) -> tuple[list[np.ndarray], np.ndarray]:
        device = driver.device(self.ordinal)
        states, blocks = math.prod(loop), len(self.program.blocks)
        sizes = sum(p.size for p in self.inputs) + sum(len(p.values) for p in self.outputs)
        on_device.check_room(device, states, self.dtype.itemsize * sizes + 4 * blocks, f"'{self.name}'")
        words, keep = [states], []
        for port, array in zip([*self.inputs], arrays):
            kept = _copied(array, port, loop, device, self.dtype)
            keep.append(kept)
            words += (kept.pointer, port.size if loop_of(port, array) else 0)
        each = any(loop_of(p, a) for p, a in zip(self.parameters, given))
        text = replace_layout(self.texts, "state").text("each" if each else "shared")
        constants = None
        if text.parameters == "each":
            for port, array in zip(self.parameters, given):
                kept = _copied(array, port, loop, device, self.dtype)
                keep.append(kept)
                words += (kept.pointer, port.size if loop_of(port, array) else 0)
        else:
            values = setup_values(text.functions.program, text.functions.derived, given).astype(self.dtype)
            if text.by_value:
                constants = ctypes.create_string_buffer(values.tobytes(), max(values.nbytes, 8))
            else:
                keep.append(DeviceArray.of(values, device))
                words.append(keep[-1].pointer)
        made = [DeviceArray((states, len(p.values)), self.dtype, device) for p in self.outputs]
        status = DeviceArray((states, blocks), np.int32, device) if blocks else None
        words += [m.pointer for m in made] + ([status.pointer] if status else [])
        device.build(text.text, text.options).function(text.entry).launch(states, BLOCK, words, constants)
        results = [np.asarray(m, dtype=float).reshape(loop + p.shape) for m, p in zip(made, self.outputs)]
        outcome = np.zeros((*loop, blocks), dtype=np.int64)
        if status is not None:
            outcome = np.asarray(status).astype(np.int64).reshape(*loop, blocks)
        return results, outcome

    def _by_component(self, args: Any, parameters: Any, out: Any, named: Any) -> tuple[Any, np.ndarray]:
        """NumPy arrays (..., n): states last."""
        twin = type(self)(self.program, replace_layout(self.texts, "state"), self.ordinal)
        twin._bound = self._bound
        moved = [_front(v, p) for v, p in zip(_ordered(self.inputs, args, named), self.inputs)]
        if isinstance(parameters, Mapping):
            known = {p.name: p for p in self.parameters}
            parameters = {n: _front(v, known[n]) if n in known else v for n, v in parameters.items()}
        if out is not None:
            raise ShapeError("out is for arrays by state, or for arrays on a device; leave it out here.")
        result, outcome = twin.call_with_status(*moved, parameters=parameters)
        parts = [result] if len(self.outputs) == 1 else list(result)
        parts = [
            np.moveaxis(np.asarray(r), 0, -1) if np.ndim(r) > len(p.shape) else r for r, p in zip(parts, self.outputs)
        ]
        packed = parts[0] if len(parts) == 1 else results_type(tuple(p.name for p in self.outputs))(parts)
        return packed, outcome

    # -- in programs that differentiate

    def torch(self, parameters: Sequence[str] = ()) -> Any:
        """A function of PyTorch tensors that autograd differentiates: see `bridges`."""
        from symbody.codegen.cuda.bridges import torch_function

        return torch_function(self, parameters)

    def jax(self, parameters: Sequence[str] = ()) -> Any:
        """A function of JAX arrays that `jax.jit`, `jax.vmap` and `jax.grad` take: see `bridges`."""
        from symbody.codegen.cuda.bridges import jax_function

        return jax_function(self, parameters)

    def transposed(self, variables: Sequence[str]) -> CudaKernel:
        """The Kernel of J^T w by these inputs or parameters, generated from the System; parameters as here."""
        known: dict[tuple[str, ...], CudaKernel] = self.__dict__.setdefault("_transposed", {})
        key = tuple(variables)
        if key not in known:
            if self.recipe is None or (self.texts.folded and self.recipe.system.parameters):
                raise DefinitionError(
                    f"derivatives of '{self.name}' are generated from its System; compile it by system.compile('cuda') "
                    "without folded parameters."
                )
            from symbody.symbolic.system.differentiate import vjp_system

            made = vjp_system(self.recipe.system, key).compile("cuda", **self.recipe.options)
            assert isinstance(made, CudaKernel)
            made._bound, made._device_bound = self._bound, self._device_bound
            known[key] = made
        return known[key]

    # -- what it is

    def report(self, ordinal: int | None = None) -> Occupancy:
        """Registers, spills and occupancy on a device."""
        device = driver.device(self.ordinal if ordinal is None else ordinal)
        text = self.texts.text("shared")
        function = device.build(text.text, text.options).function(text.entry)
        r, made = function.resources, text.functions
        operations = len(self.program.main()) + sum(len(b.body) for b in self.program.blocks)
        return Occupancy(
            text.entry, device.name, r.registers, r.stack, r.spill_stores, r.spill_loads, function.occupancy(BLOCK),
            operations, made.pieces, made.work,
        )  # fmt: skip

    def accuracy(self, *args: Any, parameters: Any = None, **named: Any) -> dict[str, float]:
        """Largest error of each output on NumPy states (at most 1000 of them), relative to the largest value of that
        output, against the interpreter in double precision."""
        from symbody.codegen.kernel.interpreted import InterpretedKernel

        checked = call_arguments(self.inputs, args, named)
        few = [a[:STATES] if loop_of(p, a) else a for a, p in zip(checked, self.inputs)]
        exact = InterpretedKernel(self.program)
        if self._bound is not None:
            exact._bound = self._bound
        wanted = exact.call_named(*few, parameters=parameters)
        twin = self if self.layout == "state" else type(self)(self.program, replace_layout(self.texts, "state"))
        found = twin.call_named(*few, parameters=parameters)
        return {n: float(np.abs(found[n] - w).max() / max(np.abs(w).max(), 1e-300)) for n, w in wanted.items()}


def _copied(
    array: np.ndarray, port: Port, loop: tuple[int, ...], device: driver.Device, dtype: np.dtype[Any]
) -> DeviceArray:
    """An array of all states, or of the one that they share, on the device."""
    if array.dtype.kind in "cO":
        raise ShapeError(f"'{port.name}' has elements of type {array.dtype}; a device takes real floats.")
    if loop_of(port, array):
        array = np.broadcast_to(array, loop + port.shape).reshape(-1, port.size)
    return DeviceArray.of(array, device, dtype)


def _front(value: Any, port: Port) -> np.ndarray:
    array = np.asarray(value)
    return np.moveaxis(array, -1, 0) if array.ndim > len(port.shape) else array


def _ordered(ports: Sequence[Port], args: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
    """Arguments in the order of the ports."""
    names = [p.name for p in ports]
    if len(args) > len(names):
        raise ShapeError(f"{len(args)} arguments were given; expected at most {len(names)} ({', '.join(names)}).")
    found = dict(zip(names, args))
    for name, value in named.items():
        if name not in names:
            raise NameLookupError(f"There is no input '{name}'. {nearest(name, names)}")
        if name in found:
            raise NameLookupError(f"Input '{name}' is given twice: by position {names.index(name)} and by name.")
        found[name] = value
    missing = [n for n in names if n not in found]
    if missing:
        raise NameLookupError(f"Missing input: {', '.join(missing)}. Expected {', '.join(names)}.")
    return [found[n] for n in names]


def _pointer(array: Any) -> int:
    data = getattr(array, "data_ptr", None)
    if data is not None:
        return int(data())
    return int(array.__cuda_array_interface__["data"][0])
