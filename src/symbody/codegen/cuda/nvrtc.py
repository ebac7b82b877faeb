"""nvrtc, NVIDIA's compiler of CUDA C++ as a library: text to machine code, without a device and without a toolkit.

It comes with the wheels of CUDA (extra `cuda`); one of a CUDA toolkit on this machine serves as well.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from symbody.basics.errors import CompileError
from symbody.codegen.kernel import cache

DEFAULT_ARCH = "sm_80"  # for text that is compiled where there is no device
INSTALL = "Install the extra: pip install symbody[cuda]."


@dataclass(frozen=True)
class Resources:
    """What a kernel takes, as the assembler reports it. stack: bytes of local memory; spills: of those, what did not
    fit into registers, bytes written and read."""

    registers: int = 0
    stack: int = 0
    spill_stores: int = 0
    spill_loads: int = 0


@dataclass(frozen=True, eq=False)
class Image:
    """Machine code for one architecture, and what each kernel takes."""

    code: bytes
    arch: str
    resources: dict[str, Resources]


def lacks() -> str:
    """What is missing to compile; "" if nothing."""
    try:
        _library()
    except CompileError as error:
        return str(error)
    return ""


@functools.cache
def _library() -> ctypes.CDLL:
    tried = []
    for path in _candidates():
        try:
            library = ctypes.CDLL(str(path))
        except OSError as error:
            tried.append(f"{path} ({error})")
            continue
        library.nvrtcGetErrorString.restype = ctypes.c_char_p
        return library
    told = f" Found, but not loaded: {'; '.join(tried)}." if tried else ""
    raise CompileError(f"nvrtc, the compiler for CUDA, is not here.{told} {INSTALL}")


def _candidates() -> Iterator[Path]:
    """Libraries of the wheels, newest first, then those of a toolkit."""
    patterns = ("bin/**/nvrtc64_*.dll",) if sys.platform == "win32" else ("lib/libnvrtc.so.*", "lib64/libnvrtc.so.*")
    roots: list[Path] = []
    spec = importlib.util.find_spec("nvidia")
    for place in spec.submodule_search_locations or () if spec else ():
        roots += sorted((p for p in Path(place).iterdir() if p.is_dir()), reverse=True)
    roots += [Path(os.environ[v]) for v in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(v)]
    roots += [Path("/usr/local/cuda")]
    for root in roots:
        for pattern in patterns:
            for path in sorted(root.glob(pattern), reverse=True):
                if "builtins" not in path.name and "alt" not in path.name:
                    yield path


@functools.cache
def version() -> tuple[int, int]:
    """(major, minor) version of nvrtc."""
    major, minor = ctypes.c_int(), ctypes.c_int()
    _check(_library().nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)), "nvrtcVersion")
    return major.value, minor.value


@functools.cache
def architectures() -> tuple[int, ...]:
    """Compute capabilities that this nvrtc makes code for: 75, 80, 90, ..."""
    library = _library()
    count = ctypes.c_int()
    _check(library.nvrtcGetNumSupportedArchs(ctypes.byref(count)), "nvrtcGetNumSupportedArchs")
    found = (ctypes.c_int * count.value)()
    _check(library.nvrtcGetSupportedArchs(found), "nvrtcGetSupportedArchs")
    return tuple(found)


def compiled(text: str, arch: str = DEFAULT_ARCH, options: Sequence[str] = (), keep: bool = True) -> Image:
    """Machine code of a text, from the cache where it was made before. keep: whether it goes there."""
    given = (f"--gpu-architecture={arch}", "--std=c++17", "--ptxas-options=-v", *options)
    name = cache.digest(("cuda", version(), given, text))
    entry = cache.load(name) if keep else None
    if entry is not None:
        header, objects = entry
        return Image(objects[0], arch, {n: Resources(**r) for n, r in header["resources"].items()})
    code, log = _compile(text, arch, given)
    resources = read_log(log)
    if keep:
        cache.store(name, {"resources": {n: vars(r) for n, r in resources.items()}}, [code])
    return Image(code, arch, resources)


def _compile(text: str, arch: str, options: Sequence[str]) -> tuple[bytes, str]:
    library = _library()
    number = int(re.sub(r"\D", "", arch))
    if number not in architectures():
        known = ", ".join(f"sm_{a}" for a in architectures())
        raise CompileError(f"nvrtc {'.'.join(map(str, version()))} makes no code for {arch}; it does for {known}.")
    program = ctypes.c_void_p()
    source = text.encode()
    made = library.nvrtcCreateProgram(ctypes.byref(program), source, b"symbody.cu", 0, None, None)
    _check(made, "nvrtcCreateProgram")
    try:
        words = [o.encode() for o in options]
        status = library.nvrtcCompileProgram(program, len(words), (ctypes.c_char_p * len(words))(*words))
        log = _text(library, program, "Log")
        if status:
            raise CompileError(f"nvrtc failed with:\n{log.strip()[:4000]}")
        return _bytes(library, program, "CUBIN"), log
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


def _bytes(library: ctypes.CDLL, program: ctypes.c_void_p, what: str) -> bytes:
    prefix = "nvrtcGetProgramLog" if what == "Log" else f"nvrtcGet{what}"
    size = ctypes.c_size_t()
    _check(getattr(library, f"{prefix}Size")(program, ctypes.byref(size)), prefix)
    room = ctypes.create_string_buffer(size.value)
    _check(getattr(library, prefix)(program, room), prefix)
    return room.raw[: size.value]


def _text(library: ctypes.CDLL, program: ctypes.c_void_p, what: str) -> str:
    return _bytes(library, program, what).rstrip(b"\0").decode(errors="replace")


def _check(status: int, what: str) -> None:
    if status:
        told = _library().nvrtcGetErrorString(status).decode()
        raise CompileError(f"{what} of nvrtc failed: {told}.")


_FUNCTION = re.compile(r"(?:Compiling entry function|Function properties for) '?([\w$]+)'?")
_REGISTERS = re.compile(r"Used (\d+) registers")
_STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")


def read_log(log: str) -> dict[str, Resources]:
    """Registers, stack and spills of each kernel from what the assembler said."""
    found: dict[str, Resources] = {}
    name = ""
    entries: set[str] = set()
    for line in log.splitlines():
        if match := _FUNCTION.search(line):
            name = match[1]
            if "entry" in line:
                entries.add(name)
        if match := _STACK.search(line):
            stack, stores, loads = map(int, match.groups())
            before = found.get(name, Resources())
            found[name] = Resources(before.registers, stack, stores, loads)
        if match := _REGISTERS.search(line):
            before = found.get(name, Resources())
            found[name] = Resources(int(match[1]), before.stack, before.spill_stores, before.spill_loads)
    return {n: r for n, r in found.items() if n in entries}
