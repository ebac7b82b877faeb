"""DeviceArray: numbers in the memory of a device, for callers without a library of their own.

NumPy reads it (`np.asarray`), CuPy, Numba and PyTorch by `__cuda_array_interface__`, JAX and others by DLPack.
"""

from __future__ import annotations

import ctypes
import math
from typing import Any

import numpy as np

from symbody.basics.errors import ShapeError
from symbody.codegen.cuda import driver

CUDA_KIND = 2  # kDLCUDA
_CODES = {"f": 2, "i": 0, "u": 1}


class DeviceArray:
    """C-contiguous, on one device; its memory is freed with it."""

    def __init__(self, shape: tuple[int, ...], dtype: Any = np.float64, device: driver.Device | None = None) -> None:
        self.shape, self.dtype = tuple(shape), np.dtype(dtype)
        self.device = device or driver.device(0)
        self.pointer = self.device.allocate(self.nbytes)

    @staticmethod
    def of(array: Any, device: driver.Device | None = None, dtype: Any = None) -> DeviceArray:
        """A copy of NumPy's numbers on the device."""
        host = np.ascontiguousarray(array, dtype=dtype)
        out = DeviceArray(np.shape(array), host.dtype, device)
        out.device.upload(out.pointer, host)
        return out

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __del__(self) -> None:
        pointer, self.pointer = getattr(self, "pointer", 0), 0
        if pointer:
            self.device.free(pointer)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        out = np.empty(self.shape, self.dtype)
        self.device.download(out, self.pointer)
        return out if dtype is None else out.astype(dtype)

    def reshape(self, *shape: int) -> np.ndarray:
        raise ShapeError("a DeviceArray has one shape; take it into your library: torch.as_tensor(a), cupy.asarray(a).")

    def __repr__(self) -> str:
        return f"DeviceArray {self.shape} {self.dtype} on {self.device.name}"

    # -- protocols

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.pointer, False),
            "version": 3,
            "strides": None,
            "stream": None,
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        return CUDA_KIND, self.device.ordinal

    def __dlpack__(self, *, stream: Any = None, **more: Any) -> Any:
        self.device.synchronize()
        return _capsule(self)


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int),
        ("device_id", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("offset", ctypes.c_uint64),
    )


class Managed(ctypes.Structure):
    """DLManagedTensor of DLPack 0.x, which all libraries read."""


_DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
Managed._fields_ = (("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", _DELETER))
_alive: dict[int, tuple[Any, ...]] = {}  # what was handed out, until it is given back


@_DELETER
def _given_back(address: int) -> None:
    _alive.pop(address, None)


def _capsule(array: DeviceArray) -> Any:
    """A capsule that keeps the array alive until its reader lets go."""
    size = len(array.shape)
    shape = (ctypes.c_int64 * max(size, 1))(*array.shape)
    managed = Managed()
    tensor = managed.tensor
    tensor.data, tensor.device_type, tensor.device_id = array.pointer, CUDA_KIND, array.device.ordinal
    tensor.ndim, tensor.code, tensor.bits, tensor.lanes = size, _CODES[array.dtype.kind], 8 * array.dtype.itemsize, 1
    tensor.shape = ctypes.cast(shape, ctypes.POINTER(ctypes.c_int64))
    managed.deleter = _given_back
    address = ctypes.addressof(managed)
    _alive[address] = (managed, shape, array)
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(address, b"dltensor", None)


def read_capsule(capsule: Any) -> Managed:
    """What a capsule of another library says; the capsule keeps it alive."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return Managed.from_address(get(capsule, b"dltensor"))
