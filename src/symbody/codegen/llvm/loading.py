"""From IR to loaded functions: what the CPU can do, compilation here or in worker processes, and loading."""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import llvmlite.binding as llvm

from symbody.basics.errors import CompileError
from symbody.codegen.llvm import worker

QUICK, OPTIMIZED = 0, 2
LIBRARIES = 64  # of one engine
# llvmlite serialises single calls into LLVM; loading takes several.
_loading = threading.Lock()


# llvmlite's own, which has no name for others: another version may have none
_calling = getattr(llvm.ffi.lib, "_lock", contextlib.nullcontext())


def _hold_llvm() -> None:
    _loading.acquire()
    _calling.__enter__()


def _let_go_of_llvm() -> None:
    _calling.__exit__(None, None, None)
    _loading.release()


if hasattr(os, "register_at_fork"):
    # a child whose parent was compiling in another thread would wait for that thread, which it does not have
    os.register_at_fork(before=_hold_llvm, after_in_parent=_let_go_of_llvm, after_in_child=_let_go_of_llvm)


@dataclass(frozen=True, slots=True)
class Host:
    """The CPU that code is made for. `lanes` is the number of doubles in its widest registers."""

    cpu: str
    features: str
    lanes: int
    fma: bool


@functools.cache
def host() -> Host:
    features = llvm.get_host_cpu_features()
    # some CPUs are described as preferring half registers; whole ones are faster on dense arithmetic
    features["prefer-256-bit"] = False
    # a width that the operating system does not save is not offered by LLVM
    lanes = 8 if features.get("avx512f") else 4 if features.get("avx2") or features.get("avx") else 2
    fma = bool(features.get("fma")) or llvm.get_process_triple().startswith(("aarch64", "arm64"))
    return Host(llvm.get_host_cpu_name(), features.flatten(), lanes, fma)


def compile_modules(texts: Iterable[str], level: int) -> list[bytes]:
    """Object code of modules, one after another in this process."""
    cpu = host()
    return [_compile(text, level, cpu) for text in texts]


def _compile(text: str, level: int, cpu: Host) -> bytes:
    try:
        return worker.compile_ir(text, level, cpu.cpu, cpu.features)
    except RuntimeError as error:
        raise CompileError(refused(error)) from error


def refused(why: object) -> str:
    return f"LLVM refused the generated code: {why}. This is a mistake of symbody; please report it."


class Workers:
    """Processes that compile modules at the same time; they end with `close`, or when this process ends."""

    def __init__(self, count: int) -> None:
        command = [sys.executable, "-P", worker.__file__]
        self.processes: list[subprocess.Popen[bytes]] = []
        pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
        for _ in range(count):
            self.processes.append(subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=nothing))
        _open_workers.add(self)

    def compile(self, texts: Iterable[str], level: int) -> list[bytes]:
        """Object code in the order of the modules; each free process takes the next one."""
        cpu = host()
        jobs = enumerate(texts)
        take = threading.Lock()
        done: dict[int, bytes] = {}
        failures: list[BaseException] = []

        def work(process: subprocess.Popen[bytes]) -> None:
            jobs_to, answers_from = process.stdin, process.stdout
            assert jobs_to is not None
            assert answers_from is not None
            try:
                while not failures:
                    with take:
                        index, text = next(jobs, (-1, ""))
                    if index < 0:
                        return
                    pickle.dump((text, level, cpu.cpu, cpu.features), jobs_to)
                    jobs_to.flush()
                    answer = pickle.load(answers_from)
                    if isinstance(answer, str):
                        raise CompileError(refused(answer))
                    done[index] = answer
            except BaseException as error:  # handed to the caller below
                failures.append(error)

        threads = [threading.Thread(target=work, args=(p,), daemon=True) for p in self.processes]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        if failures:
            raise CompileError(f"A compiler process stopped: {failures[0]!r}.") from failures[0]
        return [done[i] for i in sorted(done)]

    def close(self) -> None:
        for p in self.processes:
            p.kill()
            p.wait()
            for stream in (p.stdin, p.stdout):
                if stream is not None:
                    with contextlib.suppress(OSError):
                        stream.close()
        _open_workers.discard(self)


_open_workers: set[Workers] = set()


@atexit.register
def _end_workers() -> None:
    """Background compilation must not outlive the interpreter, nor keep it from ending."""
    for workers in list(_open_workers):
        for p in workers.processes:
            p.kill()


def compile_in_processes(texts: Iterable[str], level: int, count: int | None = None) -> list[bytes]:
    """As `compile_modules`, on `count` processes (all cores); in this process where none can be started."""
    try:
        workers = Workers(count or os.cpu_count() or 1)
    except OSError:
        return compile_modules(texts, level)
    try:
        return workers.compile(texts, level)
    finally:
        workers.close()


class LoadedCode:
    """Object code in memory; functions stay valid as long as this object lives.

    Sections of a module reach each other by offsets of 32 bits. JITLink takes one piece of memory for a module, as
    MCJIT does not: in a process whose address space is taken in large parts (JAX, CUDA), MCJIT's sections came to lie
    too far apart, and LLVM ended the process. On Windows JITLink is not complete, and MCJIT serves.
    """

    def __init__(self, objects: Sequence[bytes]) -> None:
        with _loading:
            try:
                self._address = _by_mcjit(objects) if os.name == "nt" else _by_jitlink(objects)
            except RuntimeError as error:
                raise CompileError(f"Object code cannot be loaded: {error}.") from error

    def address(self, name: str) -> int:
        """Address of a function, 0 if there is none."""
        with _loading:
            return self._address(name)


def _by_jitlink(objects: Sequence[bytes]) -> Callable[[str], int]:
    engine, name = _session.place()
    library = llvm.JITLibraryBuilder().add_current_process()
    for data in objects:
        library.add_object_img(data)
    kept = [library.link(engine, name)]  # what is looked up lives as long as its trackers

    def address(symbol: str) -> int:
        try:
            found = engine.lookup(name, symbol)
        except RuntimeError as error:
            if f"Symbols not found: [ {symbol} ]" in str(error):
                return 0
            raise CompileError(f"Object code cannot be loaded: {error}.") from error
        kept.append(found)
        return int(found[symbol])

    return address


class _Session:
    """Engines of JITLink. One serves much LoadedCode: making one costs more than loading; it keeps a little of each
    even after they are gone, so that a new one takes over from time to time, and the old one ends with its last."""

    def __init__(self) -> None:
        self.engine: Any = None
        self.count = 0

    def place(self) -> tuple[Any, str]:
        """An engine, and the name of a library that is new to it."""
        if self.engine is None or self.count % LIBRARIES == 0:
            self.engine = llvm.create_lljit_compiler(_machine(), use_jit_link=True, suppress_errors=True)
        self.count += 1
        return self.engine, f"library{self.count}"


_session = _Session()


def _machine() -> llvm.TargetMachine:
    """An engine becomes the owner of its target machine: never share one."""
    cpu = host()
    return worker.target_machine(QUICK, cpu.cpu, cpu.features)


def _by_mcjit(objects: Sequence[bytes]) -> Callable[[str], int]:
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine())
    for data in objects:
        engine.add_object_file(llvm.ObjectFileRef.from_data(data))
    engine.finalize_object()
    return lambda name: int(engine.get_function_address(name))
