"""Arrays of any library on a device: where they are, how they lie, on which stream their library works."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from symbody.basics.errors import DeviceError, ShapeError
from symbody.codegen.cuda import driver
from symbody.codegen.cuda.device_array import CUDA_KIND, DeviceArray, read_capsule

NUMBERS = {"torch.float64": "<f8", "torch.float32": "<f4", "torch.int32": "<i4", "torch.int64": "<i8"}


@dataclass(slots=True)
class ForeignArray:
    """An array on a device. strides None: C order; keep: what keeps it alive."""

    pointer: int
    shape: tuple[int, ...]
    kind: str
    strides: tuple[int, ...] | None
    device: int
    library: str
    keep: Any


def library_of(value: Any) -> str:
    """The library that an array is of: torch, cupy, jax, symbody, or "" for NumPy and numbers."""
    name = type(value).__module__.partition(".")[0]
    if name == "torch":
        return "torch" if value.is_cuda else ""
    if name in ("cupy", "symbody"):
        return name
    if name in ("jax", "jaxlib"):
        return "jax" if value.devices().pop().platform in ("gpu", "cuda") else ""
    if isinstance(value, (np.ndarray, float, int, list, tuple, np.generic)):
        return ""
    if hasattr(value, "__cuda_array_interface__"):
        return "other"
    if hasattr(value, "__dlpack_device__") and int(value.__dlpack_device__()[0]) == CUDA_KIND:
        return "dlpack"
    return ""


def seen(value: Any, name: str, library: str) -> ForeignArray:
    """Where an array on a device is, and how it lies."""
    if library == "torch":
        if value.requires_grad:
            value = value.detach()
        strides = None if value.is_contiguous() else tuple(value.stride())
        kind = NUMBERS.get(str(value.dtype), str(value.dtype))
        return ForeignArray(value.data_ptr(), tuple(value.shape), kind, strides, value.device.index, library, value)
    if library == "symbody":
        return ForeignArray(value.pointer, value.shape, value.dtype.str, None, value.device.ordinal, library, value)
    if library == "dlpack":
        capsule = value.__dlpack__()
        tensor = read_capsule(capsule).tensor
        shape = tuple(tensor.shape[k] for k in range(tensor.ndim))
        strides = tuple(tensor.strides[k] for k in range(tensor.ndim)) if tensor.strides else None
        kind = f"<{'iufb'[tensor.code] if tensor.code < 3 else '?'}{tensor.bits // 8}"
        return _seen(tensor.data + tensor.offset, shape, kind, strides, tensor.device_id, library, (value, capsule))
    if library == "jax":
        value.block_until_ready()
    about = value.__cuda_array_interface__
    if about.get("mask") is not None:
        raise ShapeError(f"'{name}' is a masked array; expected plain numbers.")
    size = np.dtype(about["typestr"]).itemsize
    steps = about.get("strides")
    strides = None if steps is None else tuple(s // size for s in steps)
    pointer = int(about["data"][0])
    return _seen(pointer, tuple(about["shape"]), about["typestr"], strides, ordinal_of(pointer), library, value)


def _seen(
    pointer: int, shape: tuple[int, ...], kind: str, strides: Any, device: int, library: str, keep: Any
) -> ForeignArray:
    if strides is not None and tuple(strides) == dense(shape):
        strides = None
    return ForeignArray(pointer, shape, kind, strides, device, library, keep)


def dense(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides of C order, in elements."""
    out, step = [], 1
    for n in reversed(shape):
        out.append(step)
        step *= n
    return tuple(reversed(out))


def ordinal_of(pointer: int) -> int:
    """The device whose memory an address is in."""
    if not pointer:
        return 0
    found = ctypes.c_int()
    attribute = 9  # CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
    api = driver._library()
    status = api.cuPointerGetAttribute(ctypes.byref(found), attribute, ctypes.c_uint64(pointer))
    return 0 if status else found.value


def stream_of(library: str, given: Any, ordinal: int) -> int:
    """The handle of the stream to work on: the one given, else the current one of the library."""
    if given is not None:
        for field in ("cuda_stream", "ptr", "handle"):
            if hasattr(given, field):
                return int(getattr(given, field))
        if hasattr(given, "__cuda_stream__"):
            return int(given.__cuda_stream__()[1])
        if isinstance(given, int) and not isinstance(given, bool):
            return given
        raise DeviceError(f"stream is {given!r}; expected a stream of PyTorch or CuPy, or the number of one.")
    if library == "torch":
        return int(sys.modules["torch"].cuda.current_stream(ordinal).cuda_stream)
    if library == "cupy":
        return int(sys.modules["cupy"].cuda.get_current_stream().ptr)
    return driver.STREAM_LEGACY


def empty(library: str, shape: tuple[int, ...], dtype: np.dtype[Any], device: driver.Device) -> Any:
    """A new array of the caller's library."""
    if library == "torch":
        torch = sys.modules["torch"]
        return torch.empty(shape, dtype=getattr(torch, dtype.name), device=f"cuda:{device.ordinal}")
    if library == "cupy":
        cupy = sys.modules["cupy"]
        with cupy.cuda.Device(device.ordinal):
            return cupy.empty(shape, dtype)
    return DeviceArray(shape, dtype, device)


def handed(library: str, array: Any) -> Any:
    """A new array as its caller expects it."""
    if library == "jax":
        jax = sys.modules["jax"]
        return jax.dlpack.from_dlpack(array)
    return array


def check_room(device: driver.Device, states: int, each: int, what: str) -> None:
    """Refuse a batch that the device's memory cannot hold, with the largest one that it can."""
    free, total = device.memory()
    if states * each > free:
        most = int(0.95 * free) // max(each, 1)
        raise DeviceError(
            f"{what}: {states} states take {states * each / 2**30:.2f} GiB on {device.name}, which has "
            f"{free / 2**30:.2f} of {total / 2**30:.2f} GiB free. The largest batch that fits has {most} states."
        )
