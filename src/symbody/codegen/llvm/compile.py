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
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import llvmlite.binding as llvm

from symbody.codegen.llvm import worker
from symbody.errors import CompileError

QUICK, OPTIMIZED = 0, 2
# llvmlite serialises single calls into LLVM; loading takes several.
_loading = threading.Lock()


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


class Loaded:
    """Object code in memory; functions stay valid as long as this object lives."""

    def __init__(self, objects: Sequence[bytes]) -> None:
        cpu = host()
        with _loading:
            # the engine becomes the owner of its target machine: never share one
            machine = worker.target_machine(QUICK, cpu.cpu, cpu.features)
            self.engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
            try:
                for data in objects:
                    self.engine.add_object_file(llvm.ObjectFileRef.from_data(data))
                self.engine.finalize_object()
            except RuntimeError as error:
                raise CompileError(f"Object code cannot be loaded: {error}.") from error

    def address(self, name: str) -> int:
        """Address of a function, 0 if there is none."""
        return int(self.engine.get_function_address(name))
