"""Tiers: the loaded functions of a Kernel, replaced once by faster ones when these are ready."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from typing import Any

from symbody.basics.errors import CompileError
from symbody.codegen.llvm.loading import LoadedCode

# void f(context, begin, end); ctypes releases the interpreter lock during the call
Function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
OneState = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Code:
    """Entry points of one tier. `batch` is None in the quick tier, whose batches run state by state."""

    def __init__(self, objects: Sequence[bytes], tier: str) -> None:
        self.tier = tier
        self.loaded = LoadedCode(objects)
        names = ("sb_setup", "sb_main", "sb_main_one", "sb_batch")
        setup, main, one, batch = (self.loaded.address(name) for name in names)
        if not setup or not main or not one:
            raise CompileError("The object code lacks an entry point; remove the cache directory and compile again.")
        self.setup: Any = Function(setup)
        self.main: Any = Function(main)
        self.one: Any = OneState(one)
        self.batch: Any = Function(batch) if batch else None


class Tiers:
    """`code` is the best code so far. Reading it is atomic: a call that has begun ends in the code it began with."""

    def __init__(self, code: Code) -> None:
        self.code = code
        self.failure: BaseException | None = None
        self._thread: threading.Thread | None = None

    def improve(self, make: Callable[[], Code]) -> None:
        """Run `make` in the background and use its code from then on."""

        def work() -> None:
            try:
                self.code = make()
            except BaseException as error:  # reported by `wait`
                self.failure = error

        self._thread = threading.Thread(target=work, name="symbody-compile", daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Until the last tier is in place."""
        if self._thread is not None:
            self._thread.join()
        if self.failure is not None:
            raise CompileError(f"The optimised code could not be made: {self.failure}") from self.failure
