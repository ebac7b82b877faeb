"""Kernels inside of programs that XLA compiles, which is what `jax.jit` makes, by one handler of its foreign functions.

The handler is a callback of ctypes. It reads where XLA put the operands and the results and launches on the stream of
the computation; nothing is copied and nothing waits.

A compiled computation names what it launches by the digest of the text and of the parameters in it. So a computation
that JAX kept on disk finds the same kernel in another process, or none, but never another one.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from symbody.basics.errors import DefinitionError, DeviceError, ShapeError
from symbody.codegen.cuda import driver, ffi, shapes
from symbody.codegen.cuda import foreign_arrays as on_device
from symbody.codegen.cuda.kernel_source import BLOCK, KernelText

if TYPE_CHECKING:
    from symbody.codegen.cuda.kernel import CudaKernel

TARGET = "symbody_kernel"
DERIVED = "derived values"  # of parameters, where they are too many to go with a launch
OLDEST = "0.5"  # the first JAX with `jax.ffi`


# -- what is launched


class Operand(NamedTuple):
    """core: shape for one state; strided: its distance from state to state follows it; width: see `load_width`."""

    name: str
    core: tuple[int, ...]
    strided: bool
    width: int


class XlaResult(NamedTuple):
    name: str
    core: tuple[int, ...]
    dtype: np.dtype[Any]
    width: int


_Kind = tuple[tuple[int, ...], np.dtype[Any] | None]  # shape, and type of the numbers
_Call = tuple[list[int], list[tuple[int, int, str]]]  # words; place among them, width and name of each array


@dataclass(frozen=True, eq=False)
class XlaLaunch:
    """A text with its parameters, and the arrays that it takes and makes."""

    name: str
    text: KernelText
    constants: Any
    operands: tuple[Operand, ...]
    results: tuple[XlaResult, ...]
    functions: dict[driver.Device, driver.DeviceFunction] = field(default_factory=dict)
    calls: dict[Any, _Call] = field(default_factory=dict)  # by shapes and types of operands and results

    @functools.cached_property
    def digest(self) -> str:
        told = f"{self.text.text}\n{self.text.options}\n{self.text.layout}\n{self.operands}"
        return hashlib.sha256(told.encode() + bytes(self.constants or b"")).hexdigest()

    def loop(self, given: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
        """The states of operands of these shapes: (), or (n,)."""
        return shapes.common_loop(((o.name, s, o.core) for s, o in zip(given, self.operands)), self.text.layout)

    def function(self, device: driver.Device) -> driver.DeviceFunction:
        """The kernel on a device, built when it is first wanted there."""
        if device not in self.functions:
            self.functions[device] = device.build(self.text.text, self.text.options).function(self.text.entry)
        return self.functions[device]


_launches: dict[str, XlaLaunch] = {}  # for the process: computations that JAX has compiled refer to them


def launch_of(kernel: CudaKernel, own: Sequence[str] = ()) -> tuple[XlaLaunch, dict[str, Any]]:
    """What a call of the kernel launches, and those of its operands that are bound, by name.

    own: names of parameters that are given with each call
    """
    given = (*own, *kernel._device_bound)
    text = kernel.texts.text("each" if given or kernel._differs(None) else "shared")
    operands = [Operand(p.name, p.shape, True, kernel._width(p.shape)) for p in kernel.inputs]
    constants: Any = None
    bound: dict[str, Any] = {}
    if text.parameters == "each":
        operands += [Operand(p.name, p.shape, True, kernel.dtype.itemsize) for p in kernel.parameters]
        host = kernel._given(None, dict.fromkeys(given))
        for port, array in zip(kernel.parameters, host):
            if port.name not in given:
                bound[port.name] = kernel._laid(np.asarray(array, kernel.dtype), port.shape)
        bound |= {n: v for n, v in kernel._device_bound.items() if n not in own}
    elif text.by_value:
        constants = kernel._constants(text, None)
    else:
        bound[DERIVED] = kernel._derived_values(text, None)
        operands.append(Operand(DERIVED, bound[DERIVED].shape, False, kernel.dtype.itemsize))
    results = [XlaResult(p.name, p.shape, kernel.dtype, kernel._width(p.shape)) for p in kernel.outputs]
    if kernel.program.blocks:
        results.append(XlaResult("status", (len(kernel.program.blocks),), np.dtype(np.int32), 4))
    made = XlaLaunch(kernel.name, text, constants, tuple(operands), tuple(results))
    return _launches.setdefault(made.digest, made), bound


# -- the handler


def _on_cuda(frame: ffi.CallFrame, pointer: int) -> tuple[driver.Device, int]:
    """The device that the arrays are on, and the stream of the computation."""
    device = driver.device(on_device.ordinal_of(pointer))
    return device, ffi.stream(frame)


def _on_processor(frame: ffi.CallFrame, pointer: int) -> tuple[driver.Device, int]:
    raise DeviceError(
        "its arrays are in the memory of the processor, where JAX computes here. Bring them to a CUDA device "
        "(`pip install jax[cuda12]`, `jax.device_put`), or call the kernel on NumPy arrays."
    )


PLACES: dict[str, Callable[[ffi.CallFrame, int], tuple[driver.Device, int]]] = {"CUDA": _on_cuda, "cpu": _on_processor}
_HANDLER = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(ffi.CallFrame))


def _handler(platform: str, version: tuple[int, int]) -> Any:
    """The function that XLA calls, for arrays of one platform. No exception leaves it: errors are XLA's."""

    def handle(frame_at: Any) -> int | None:
        frame = frame_at.contents
        name = "a kernel"
        try:
            if not ffi.answer_version(frame, version) and frame.stage == ffi.EXECUTE:
                launch = _named(frame)
                name = f"'{launch.name}'"
                _run(launch, frame, PLACES[platform])
        except BaseException as error:
            code = ffi.INTERNAL if isinstance(error, DeviceError) else ffi.INVALID_ARGUMENT
            return ffi.error(frame, f"{name}: {error}", code)
        return None

    return _HANDLER(handle)


def _named(frame: ffi.CallFrame) -> XlaLaunch:
    digest = ffi.text_attribute(frame)
    if digest not in _launches:
        raise DefinitionError(
            "a computation was compiled with a kernel that is not in this process. Make it by `kernel.jax()` first."
        )
    return _launches[digest]


def _run(
    launch: XlaLaunch, frame: ffi.CallFrame, place_of: Callable[[ffi.CallFrame, int], tuple[driver.Device, int]]
) -> None:
    """Launch on the arrays of a call."""
    operands, results = ffi.arrays(frame.operands), ffi.arrays(frame.results)
    key = tuple(a[1:] for a in operands), tuple(a[1:] for a in results)
    if key not in launch.calls:
        launch.calls[key] = _call(launch, *key)
    words, places = launch.calls[key]
    words = words.copy()
    for (pointer, _, _), (place, width, name) in zip((*operands, *results), places):
        if pointer % width:
            shapes.check_address(pointer, width, name)
        words[place] = pointer
    device, stream = place_of(frame, results[0][0])
    launch.function(device).launch(words[0], BLOCK, words, launch.constants, stream)


def _call(launch: XlaLaunch, operands: Sequence[_Kind], results: Sequence[_Kind]) -> _Call:
    """Calls on arrays of these shapes and types: the words without addresses, and where those go."""
    if len(operands) != len(launch.operands) or len(results) != len(launch.results):
        raise ShapeError(
            f"{len(operands)} operands and {len(results)} results were given; expected "
            f"{len(launch.operands)} and {len(launch.results)}."
        )
    layout, dtype = launch.text.layout, launch.text.dtype
    loop = launch.loop([shape for shape, _ in operands])
    words, places = [loop[0] if loop else 1], []
    for (shape, kind), o in zip(operands, launch.operands):
        _check_numbers(kind, dtype, o.name)
        places.append((len(words), o.width, o.name))
        words.append(0)
        if o.strided:
            words.append(0 if shape == o.core else shapes.distance(o.core, layout))
    for (shape, kind), r in zip(results, launch.results):
        _check_numbers(kind, r.dtype, r.name)
        if shape != shapes.whole(r.core, loop, layout):
            raise ShapeError(f"'{r.name}' has shape {shape}; expected {shapes.whole(r.core, loop, layout)}.")
        places.append((len(words), r.width, r.name))
        words.append(0)
    return words, places


def _check_numbers(kind: np.dtype[Any] | None, wanted: np.dtype[Any], name: str) -> None:
    if kind != wanted:
        raise ShapeError(f"'{name}' has numbers of type {kind or 'unknown'}; this kernel takes {wanted}.")


@functools.cache
def _register() -> None:
    """Make the handler known to JAX, once a process; XLA keeps its address, so it is never freed."""
    import jax

    if not hasattr(jax, "ffi"):
        raise DefinitionError(f"JAX {jax.__version__} has no `jax.ffi`; {OLDEST} or newer is needed. Update jax.")
    version = ffi.declared_version()
    for platform in PLACES:
        handler = _handlers[platform] = _handler(platform, version)
        jax.ffi.register_ffi_target(TARGET, jax.ffi.pycapsule(handler), platform=platform)


_handlers: dict[str, Any] = {}


# -- functions of JAX


def evaluation(kernel: CudaKernel, own: Sequence[str] = ()) -> Callable[..., list[Any]]:
    """f(*inputs, *own) of JAX arrays, eager or traced -> the outputs. `jax.vmap` of it is one launch of all states.

    own: names of parameters that are given with each call
    """
    import jax
    import jax.numpy as jnp

    _register()
    launch, bound = launch_of(kernel, own)
    handed_over = {n: jax.dlpack.from_dlpack(b) for n, b in bound.items() if on_device.library_of(b) not in ("", "jax")}
    layout, cores = launch.text.layout, [o.core for o in launch.operands]

    @jax.custom_batching.custom_vmap
    def call(*arrays: Any) -> Any:
        loop = launch.loop([a.shape for a in arrays])
        made = [jax.ShapeDtypeStruct(shapes.whole(r.core, loop, layout), r.dtype) for r in launch.results]
        return list(jax.ffi.ffi_call(TARGET, made)(*arrays, digest=launch.digest))

    @call.def_vmap
    def one_launch(size: int, batched: Sequence[bool], *arrays: Any) -> Any:
        loop = launch.loop([a.shape[1:] if b else a.shape for a, b in zip(arrays, batched)])
        merged = [_merged(a, b, core, size, loop, layout) for a, b, core in zip(arrays, batched, cores)]
        results = [_split(r, size, loop, layout) for r in call(*merged)]
        return results, [True] * len(results)

    def evaluate(*arrays: Any) -> list[Any]:
        named = bound | handed_over | dict(zip([*(p.name for p in kernel.inputs), *own], arrays))
        return list(call(*(jnp.asarray(named[o.name]) for o in launch.operands))[: len(kernel.outputs)])

    return evaluate


def _merged(array: Any, batched: bool, core: tuple[int, ...], size: int, loop: tuple[int, ...], layout: str) -> Any:
    """An operand of `size` batches, by the first axis where it is batched, as one of size*n states."""
    import jax.numpy as jnp

    looped = array.ndim - batched > len(core)
    if not batched and not looped:
        return array  # all share it
    axis = 0 if layout == "state" else len(core)
    if not batched:
        array = jnp.broadcast_to(array, (size, *array.shape))
    if loop and not looped:
        array = jnp.repeat(jnp.expand_dims(array, 1 + axis), loop[0], axis=1 + axis)
    return jnp.moveaxis(array, 0, axis).reshape(shapes.whole(core, (size * math.prod(loop),), layout))


def _split(result: Any, size: int, loop: tuple[int, ...], layout: str) -> Any:
    """A result of size*n states, its batches by the first axis."""
    import jax.numpy as jnp

    axis = 0 if layout == "state" else result.ndim - 1
    apart = result.reshape(*result.shape[:axis], size, *loop, *result.shape[axis + 1 :])
    return jnp.moveaxis(apart, axis, 0)
