"""Devices through the driver: memory, loaded code, launches. The driver's library comes with the graphics driver.

Contexts are the primary ones of the devices, which PyTorch, CuPy and JAX use as well: addresses are theirs, too.
"""

from __future__ import annotations

import ctypes
import functools
import sys
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from symbody.basics.errors import DeviceError
from symbody.codegen.cuda import nvrtc

CPU = "Use target='native', or device=None, which run on the processor."
OLDEST = (12, 0)  # CUDA version of the driver: nvrtc of the wheels makes code for it
# results of the driver that have a remedy
OUT_OF_MEMORY, NO_DEVICE, NO_BINARY, BAD_IMAGE = 2, 100, 209, 200
STREAM_LEGACY = 0


@functools.cache
def _library() -> ctypes.CDLL:
    name = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
    try:
        library = ctypes.CDLL(name)
    except OSError:
        raise DeviceError(f"There is no CUDA driver here ({name} was not found). {CPU}") from None
    library.cuGetErrorName.argtypes = [ctypes.c_int, ctypes.POINTER(ctypes.c_char_p)]
    library.cuGetErrorString.argtypes = [ctypes.c_int, ctypes.POINTER(ctypes.c_char_p)]
    version = ctypes.c_int()
    library.cuDriverGetVersion(ctypes.byref(version))
    found = (version.value // 1000, version.value % 1000 // 10)
    if found < OLDEST:
        told, needed = (".".join(map(str, v)) for v in (found, OLDEST))
        raise DeviceError(f"The CUDA driver is too old: it serves CUDA {told}; {needed} is needed. Update it.")
    _check(library.cuInit(0), "cuInit", library)
    return library


def driver_version() -> tuple[int, int]:
    """The CUDA version that the driver serves."""
    version = ctypes.c_int()
    _library().cuDriverGetVersion(ctypes.byref(version))
    return version.value // 1000, version.value % 1000 // 10


def _check(status: int, what: str, library: ctypes.CDLL | None = None) -> None:
    if not status:
        return
    if status == NO_DEVICE:
        raise DeviceError(f"There is no CUDA device here: the driver sees none. {CPU}")
    if status == OUT_OF_MEMORY:
        raise DeviceError(f"{what}: the device has too little memory left. Free arrays, or give fewer states.")
    library = library or _library()
    name, text = ctypes.c_char_p(), ctypes.c_char_p()
    library.cuGetErrorName(status, ctypes.byref(name))
    library.cuGetErrorString(status, ctypes.byref(text))
    told = f"{(name.value or b'?').decode()}, {(text.value or b'').decode()}"
    if status in (NO_BINARY, BAD_IMAGE):
        told += ". The driver may be too old for this code; update it"
    raise DeviceError(f"{what} failed on the device: {told}.")


def device_count() -> int:
    """Devices that the driver sees."""
    count = ctypes.c_int()
    _check(_library().cuDeviceGetCount(ctypes.byref(count)), "cuDeviceGetCount")
    return count.value


def lacks() -> str:
    """What is missing to run on a device here; "" if nothing."""
    try:
        device(0)
    except DeviceError as error:
        return str(error)
    return nvrtc.lacks()


@functools.cache
def device(ordinal: int = 0) -> Device:
    """A device by its number; DeviceError says what is missing."""
    count = device_count()
    if not 0 <= ordinal < count:
        raise DeviceError(f"There is no CUDA device {ordinal}: there are {count}, numbered from 0.")
    return Device(ordinal)


class Device:
    """One device: what it is, its memory, and code that was loaded onto it."""

    def __init__(self, ordinal: int) -> None:
        self.ordinal = ordinal
        self._api = api = _library()
        self._handle = ctypes.c_int()
        _check(api.cuDeviceGet(ctypes.byref(self._handle), ordinal), "cuDeviceGet")
        self._context = ctypes.c_void_p()
        _check(api.cuDevicePrimaryCtxRetain(ctypes.byref(self._context), self._handle), "cuDevicePrimaryCtxRetain")
        room = ctypes.create_string_buffer(256)
        _check(api.cuDeviceGetName(room, 256, self._handle), "cuDeviceGetName")
        self.name = room.value.decode()
        self.arch = f"sm_{self._attribute(75)}{self._attribute(76)}"
        self.multiprocessors = self._attribute(16)
        self._launch, self._current = api.cuLaunchKernel, api.cuCtxGetCurrent
        self._modules: dict[Any, DeviceModule] = {}
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"Device {self.ordinal}: {self.name}, {self.arch}, {self.multiprocessors} multiprocessors"

    def _attribute(self, number: int) -> int:
        value = ctypes.c_int()
        _check(self._api.cuDeviceGetAttribute(ctypes.byref(value), number, self._handle), "cuDeviceGetAttribute")
        return value.value

    def enter(self) -> None:
        """Make its context that of this thread."""
        current = ctypes.c_void_p()
        self._current(ctypes.byref(current))
        if current.value != self._context.value:
            _check(self._api.cuCtxSetCurrent(self._context), "cuCtxSetCurrent")

    # -- memory

    def memory(self) -> tuple[int, int]:
        """(free, total) bytes."""
        self.enter()
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        _check(self._api.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total)), "cuMemGetInfo")
        return free.value, total.value

    def allocate(self, size: int) -> int:
        """Address of so many bytes."""
        self.enter()
        pointer = ctypes.c_uint64()
        _check(self._api.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(max(size, 16))), f"{size} bytes")
        return pointer.value

    def free(self, pointer: int) -> None:
        self.enter()
        self._api.cuMemFree_v2(ctypes.c_uint64(pointer))

    def upload(self, pointer: int, array: np.ndarray, stream: int = STREAM_LEGACY) -> None:
        """A contiguous array to an address; done when it returns."""
        self.enter()
        if array.nbytes:
            source = ctypes.c_void_p(array.ctypes.data)
            _check(
                self._api.cuMemcpyHtoDAsync_v2(
                    ctypes.c_uint64(pointer), source, ctypes.c_size_t(array.nbytes), ctypes.c_void_p(stream)
                ),
                "copy to the device",
            )
            self.synchronize(stream)

    def download(self, array: np.ndarray, pointer: int, stream: int = STREAM_LEGACY) -> None:
        """From an address into a contiguous array; done when it returns."""
        self.enter()
        if array.nbytes:
            target = ctypes.c_void_p(array.ctypes.data)
            _check(
                self._api.cuMemcpyDtoHAsync_v2(
                    target, ctypes.c_uint64(pointer), ctypes.c_size_t(array.nbytes), ctypes.c_void_p(stream)
                ),
                "copy from the device",
            )
            self.synchronize(stream)

    def synchronize(self, stream: int = STREAM_LEGACY) -> None:
        """Wait for a stream; errors of what ran on it come here."""
        self.enter()
        _check(self._api.cuStreamSynchronize(ctypes.c_void_p(stream)), "a kernel")

    # -- code

    def build(self, text: str, options: Sequence[str] = ()) -> DeviceModule:
        """The code of a text, compiled and loaded once."""
        key = (text, tuple(options))
        with self._lock:
            found = self._modules.get(key)
            if found is None:
                found = self._modules[key] = DeviceModule(self, nvrtc.compiled(text, self.arch, options))
            return found


class DeviceModule:
    """Loaded code."""

    def __init__(self, device: Device, image: nvrtc.Image) -> None:
        self.device, self.image = device, image
        device.enter()
        self._handle = ctypes.c_void_p()
        _check(device._api.cuModuleLoadData(ctypes.byref(self._handle), image.code), "loading code")
        self._functions: dict[str, DeviceFunction] = {}

    def function(self, name: str) -> DeviceFunction:
        """A kernel by its name."""
        if name not in self._functions:
            handle = ctypes.c_void_p()
            api = self.device._api
            _check(api.cuModuleGetFunction(ctypes.byref(handle), self._handle, name.encode()), f"kernel {name}")
            self._functions[name] = DeviceFunction(self, name, handle)
        return self._functions[name]


class DeviceFunction:
    """A kernel. Arguments are words of 8 bytes (numbers of states, addresses, distances), then one block by value."""

    def __init__(self, module: DeviceModule, name: str, handle: ctypes.c_void_p) -> None:
        self.module, self.name, self._handle = module, name, handle
        # a compiler that has made the code before says nothing about it
        self.resources = module.image.resources.get(name) or nvrtc.Resources(self._attribute(4), self._attribute(3))

    def _attribute(self, number: int) -> int:
        value = ctypes.c_int()
        device = self.module.device
        _check(device._api.cuFuncGetAttribute(ctypes.byref(value), number, self._handle), "cuFuncGetAttribute")
        return value.value

    def launch(
        self, states: int, block: int, words: Sequence[int], constants: Any = None, stream: int = STREAM_LEGACY
    ) -> None:
        """One thread a state. constants: a ctypes buffer that the kernel takes by value as its last argument."""
        if states >= 1:
            self.prepared(states, block, words, constants)(stream)

    def prepared(self, states: int, block: int, words: Sequence[int], constants: Any = None) -> Launch:
        """A launch that may be repeated with other words, by one thread at a time."""
        return Launch(self, states, block, words, constants)

    def occupancy(self, block: int) -> float:
        """Part of the threads of a multiprocessor that run at once."""
        device, blocks = self.module.device, ctypes.c_int()
        device.enter()
        status = device._api.cuOccupancyMaxActiveBlocksPerMultiprocessor(
            ctypes.byref(blocks), self._handle, block, ctypes.c_size_t(0)
        )
        _check(status, "cuOccupancyMaxActiveBlocksPerMultiprocessor")
        return blocks.value * block / device._attribute(39)


class Launch:
    """Arguments of a kernel where the driver reads them; `words` may be changed between calls."""

    def __init__(self, function: DeviceFunction, states: int, block: int, words: Sequence[int], constants: Any) -> None:
        self.function, self.constants, self.device = function, constants, function.module.device
        self.words = (ctypes.c_uint64 * len(words))(*words)
        base = ctypes.addressof(self.words)
        last = None if constants is None else ctypes.addressof(constants)
        self._places = (ctypes.c_void_p * (len(words) + 1))(*(base + 8 * k for k in range(len(words))), last)
        self._grid, self._block = (states + block - 1) // block, block
        self._stream, self._flow = STREAM_LEGACY, ctypes.c_void_p()  # the last stream, and as the driver takes it
        self._current = ctypes.c_void_p()
        self._current_at = ctypes.byref(self._current)

    def __call__(self, stream: int) -> None:
        device = self.device
        device._current(self._current_at)
        if self._current.value != device._context.value:
            device.enter()
        if stream != self._stream:
            self._stream, self._flow = stream, ctypes.c_void_p(stream)
        # numbers are handed over as they are: conversions would cost as much as the launch
        status = device._launch(
            self.function._handle, self._grid, 1, 1, self._block, 1, 1, 0, self._flow, self._places, None
        )
        if status:
            _check(status, f"launch of {self.function.name}")
