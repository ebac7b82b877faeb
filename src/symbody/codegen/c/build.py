"""Emitted C as a Kernel: compiled by the system's compiler into a private folder and called through ctypes."""

from __future__ import annotations

import _ctypes
import contextlib
import ctypes
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, overload

import numpy as np

from symbody.basics.errors import CompileError
from symbody.codegen.c.c_source import c_name, part_names
from symbody.codegen.kernel.externals import ExternalTable, raise_pending
from symbody.codegen.kernel.kernel_arrays import real_array, state_rows
from symbody.codegen.kernel.program_kernel import ProgramKernel
from symbody.symbolic.lower.groups import Grouped
from symbody.symbolic.lower.program import Program
from symbody.symbolic.system.ports import kept, loop_shape

# no contraction: what is fused was chosen at lowering
FLAGS = ("-std=c99", "-O2", "-ffp-contract=off")
_BATCH = "batch.c"


@overload
def build_c(
    files: Mapping[str, str], program: Program, *, compiler: str | None = None, flags: Sequence[str] = FLAGS
) -> CKernel: ...


@overload
def build_c(
    files: Mapping[str, str], program: Grouped, *, compiler: str | None = None, flags: Sequence[str] = FLAGS
) -> dict[str, CKernel]: ...


def build_c(
    files: Mapping[str, str],
    program: Program | Grouped,
    *,
    compiler: str | None = None,
    flags: Sequence[str] = FLAGS,
) -> CKernel | dict[str, CKernel]:
    """A CKernel of what `emit_c(program)` gave, or, of a Grouped one, a dict of them with "step" first.

    compiler: a command; None takes $CC, then cc, gcc or clang, whichever is found first.
    """
    name = c_name(program.program if isinstance(program, Grouped) else program)
    texts = {**files, _BATCH: _batch_text(name, files[f"{name}.h"])}
    library = _load(texts, compiler or find_compiler(), flags)
    source = program.program if isinstance(program, Grouped) else program
    setup = _Function(library, f"{name}_setup", files[f"{name}.h"])
    if isinstance(program, Program):
        return CKernel(program, source, setup, _Function(library, name, files[f"{name}.h"]))
    parts = {"step": (f"{name}_step", program.step)}
    parts.update((group, (c, program.functions[group])) for group, c in part_names(program).items())
    return {
        key: CKernel(part, source, setup, _Function(library, c, files[f"{name}.h"])) for key, (c, part) in parts.items()
    }


def find_compiler() -> str:
    """The command of a C compiler: $CC, else cc, gcc or clang."""
    for command in (os.environ.get("CC", ""), "cc", "gcc", "clang"):
        if any(map(shutil.which, command.split()[:1])):
            return command
    raise CompileError(
        "There is no C compiler: $CC, cc, gcc and clang were tried. Install one, or compile with target='native', "
        "which needs none."
    )


def _load(files: Mapping[str, str], compiler: str, flags: Sequence[str]) -> ctypes.CDLL:
    """Compiles all sources into one library; the folder goes away, the loaded library stays as long as it is used."""
    with source_folder(files, "symbody_c_") as folder:
        # a name of its own: the system takes a library for one that is loaded already by the name alone
        library = f"library_{os.urandom(8).hex()}{'.dll' if sys.platform == 'win32' else '.so'}"
        sources = sorted(name for name in files if name.endswith(".c"))
        position = [] if sys.platform == "win32" else ["-fPIC"]
        run_compiler(compiler, [*flags, *position, "-shared", "-o", library, *sources, "-lm"], folder)
        try:
            loaded = ctypes.CDLL(str(Path(folder, library)))
        except OSError as error:
            raise CompileError(
                f"What the C compiler '{compiler}' made cannot be loaded: {error}. If programs may not run in the "
                f"folder for temporary files, {tempfile.gettempdir()}, name another in TMPDIR."
            ) from None
    if sys.platform == "win32":
        unload = _ctypes.FreeLibrary
    else:
        unload = _ctypes.dlclose
    weakref.finalize(loaded, unload, loaded._handle).atexit = False  # with the last of its functions, which hold it
    return loaded


@contextlib.contextmanager
def source_folder(files: Mapping[str, str], prefix: str) -> Iterator[str]:
    """A folder of its own with source files, which goes away; CompileError where the disk has no room for it."""
    with contextlib.ExitStack() as stack:
        try:
            # what is loaded stays a while on Windows and on disks in a network
            named = stack.enter_context(tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True))
            folder = stack.enter_context(_by_handle(named))
            for name, text in files.items():
                Path(folder, name).write_text(text, encoding="utf-8")
        except OSError as error:
            raise CompileError(
                f"The folder for temporary files, {tempfile.gettempdir()}, cannot be written: "
                f"{error.strerror or error}. Make room there, or name another in TMPDIR."
            ) from None
        yield folder


@contextlib.contextmanager
def _by_handle(folder: str) -> Iterator[str]:
    """A name of the folder itself, whatever others put into its place: everyone may rename what lies beside it where
    the folder for temporary files lets all write and has no sticky bit. Its own name where the system has no such one.
    """
    if not os.path.isdir("/proc/self/fd"):
        yield folder
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        status = os.fstat(handle)
        if status.st_uid != os.geteuid() or status.st_mode & 0o077:
            raise OSError("somebody else exchanged a folder in it")
        name = f"/proc/self/fd/{handle}"
        yield name if handle > 2 and os.path.isdir(name) else folder  # a child has other files as its first three
    finally:
        os.close(handle)


def temporary_files_inside() -> dict[str, str]:
    """The environment of a program that works in such a folder, and keeps its own temporary files in it."""
    return {**os.environ, "TMPDIR": "."} if sys.platform == "linux" else dict(os.environ)


def run_compiler(compiler: str, arguments: Sequence[str], folder: str) -> None:
    """Run a C compiler in a folder; CompileError with what it said where it fails."""
    program, *options = compiler.split() or [compiler]
    found = shutil.which(program)
    command = [program if found is None else os.path.abspath(found), *options, *arguments]
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=temporary_files_inside(),
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    except (OSError, ValueError) as error:
        raise CompileError(f"The C compiler '{compiler}' cannot be run: {error}.") from None
    if done.returncode:
        raise CompileError(f"The C compiler '{compiler}' failed with:\n{done.stderr.strip()[:4000]}")


def _prototypes(header: str) -> dict[str, list[tuple[str, str]]]:
    """The functions of an emitted header: for each its arguments as (type, name)."""
    found = {}
    for name, arguments in re.findall(r"^void (\w+)\((.*)\);$", header, re.MULTILINE):
        found[name] = [tuple(a.rsplit("*", 1)) for a in arguments.split(", ")]
    return {name: [(kind.strip(), a) for kind, a in pairs] for name, pairs in found.items()}


def _batch_text(name: str, header: str) -> str:
    """One loop a function: argument k of state i starts at address[k] + i*stride[k] elements."""
    text = f'#include "{name}.h"\n'
    for function, arguments in _prototypes(header).items():
        given = ", ".join(f"({kind} *)address[{k}] + i*stride[{k}]" for k, (kind, _) in enumerate(arguments))
        text += (
            f"\nvoid {function}_batch(long count, void *const *address, const long *stride);\n"
            f"void {function}_batch(long count, void *const *address, const long *stride)\n"
            f"{{\n    for (long i = 0; i < count; ++i)\n        {function}({given});\n}}\n"
        )
    return text


class _Function:
    """A compiled function: its arguments by name, and the sizes that the header gives."""

    def __init__(self, library: ctypes.CDLL, name: str, header: str) -> None:
        self.arguments = [argument for _, argument in _prototypes(header)[name]]
        self.sizes = {
            key.lower(): int(size) for key, size in re.findall(r"^#define (\w+)_SIZE +(\d+)$", header, re.MULTILINE)
        }
        self.name = name
        self.batch = library[f"{name}_batch"]
        self.batch.restype = None

    def size(self, what: str) -> int:
        return self.sizes[f"{self.name}_{what}".lower()]

    def run(self, count: int, arrays: Sequence[tuple[np.ndarray, int]]) -> None:
        """Calls the function for `count` states; arrays with their strides in the order of the arguments."""
        address = (ctypes.c_void_p * len(arrays))(*(a.ctypes.data for a, _ in arrays))
        stride = (ctypes.c_long * len(arrays))(*(s for _, s in arrays))
        self.batch(ctypes.c_long(count), address, stride)
        raise_pending()


class CKernel(ProgramKernel):
    """Compiled C behind the call interface of every Kernel."""

    def __init__(self, program: Program, source: Program, setup: _Function, function: _Function) -> None:
        """source: the Program that `setup` belongs to (the original of a group)."""
        super().__init__(program)
        self._source, self._setup, self._function = source, setup, function
        self._externals = ExternalTable([e for e in source.externals if e.c_body is None])
        self._table: np.ndarray = np.ctypeslib.as_array(
            ctypes.cast(self._externals.table, ctypes.POINTER(ctypes.c_size_t)), (1,)
        )
        self._derived: tuple[np.ndarray, np.ndarray] | None = None

    def bind(self, parameters: Mapping[str, Any] | Any | None = None) -> Self:
        bound = type(self)(self.program, self._source, self._setup, self._function)
        bound._bound = self._kept(parameters)
        bound.recipe = None if self.recipe is None else self.recipe.with_bound(kept(parameters))
        bound._derived = bound._run_setup(bound._bound)
        return bound

    def _run_setup(self, given: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Derived values (..., n) and outcomes (..., blocks of the source) for each state of the parameters."""
        given = [real_array(a, p.name) for a, p in zip(given, self.parameters)]
        loop = loop_shape(self.parameters, given)
        count = math.prod(loop)
        vector = np.empty((*loop, self._source.parameter_size))
        for p, a in zip(self.parameters, given):
            vector[..., p.start : p.start + p.size] = a.reshape((*a.shape[: a.ndim - len(p.shape)], p.size))
        size = self._setup.sizes[f"{c_name(self._source)}_derived".lower()]
        derived = np.empty((*loop, size))
        status = np.zeros((*loop, self._setup.size("status")), dtype=np.intc)
        places: dict[str, tuple[np.ndarray, int]] = {
            "parameters": (vector, vector.shape[-1]),
            "derived": (derived, size),
            "status": (status, status.shape[-1]),
            "work": (np.empty(self._setup.size("work")), 0),
            "externals": (self._table, 0),
        }
        self._setup.run(count, [places[a] for a in self._setup.arguments])
        return derived, status

    def _compute(
        self, arrays: list[np.ndarray], given: list[np.ndarray], loop: tuple[int, ...]
    ) -> tuple[list[np.ndarray], np.ndarray]:
        made = self._derived if given is self._bound and self._derived is not None else self._run_setup(given)
        derived, first = made
        rows = [state_rows(real_array(a, p.name), len(p.shape), loop) for a, p in zip(arrays, self.inputs)]
        results = [np.empty(loop + p.shape) for p in self.outputs]
        status = np.zeros((*loop, len(self.program.blocks)), dtype=np.intc)
        last: dict[str, tuple[np.ndarray, int]] = {
            "status": (status, status.shape[-1]),
            "work": (np.empty(self._function.size("work")), 0),
            "externals": (self._table, 0),
        }
        places = [*rows, state_rows(derived, 1, loop), *((r, len(p.values)) for r, p in zip(results, self.outputs))]
        places += [last[a] for a in self._function.arguments[len(places) :]]
        self._function.run(math.prod(loop), places)
        if self._source is self.program:
            # blocks of setup report there; `or` of the two, since each writes its own only
            status = status + np.broadcast_to(first, status.shape)
            for r in results:
                r[(status < 0).any(axis=-1)] = math.nan
        return results, status.astype(np.int64)
