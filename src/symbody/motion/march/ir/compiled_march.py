"""IR of the march to loaded functions: LLVM's usual passes, object code cached on disk, once per process."""

from __future__ import annotations

import contextlib
import ctypes
import threading
from collections.abc import Sequence
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from symbody.basics.errors import CompileError
from symbody.codegen.kernel import cache as disk
from symbody.codegen.kernel.tiers import Function
from symbody.codegen.llvm import worker
from symbody.codegen.llvm.loading import OPTIMIZED, LoadedCode, host, refused
from symbody.motion.march.ir.routine import Routine

# "no-builtins": loops that copy must not become calls of the C library, which the loader would have to find
ATTRIBUTES = (
    'attributes #0 = { nounwind "no-builtins" "prefer-vector-width"="512" "min-legal-vector-width"="512" '
    '"no-stack-arg-probe" }'
)
# group 1: functions of rare use, each of which stands once, so that modules stay small
RARE = 'attributes #1 = { noinline nounwind "no-builtins" "no-stack-arg-probe" }'
# changes whenever the passes do
PIPELINE = 2
_functions: dict[str, tuple[LoadedCode, Any]] = {}
_making = threading.Lock()


def module_text(routines: Sequence[Routine]) -> str:
    declared = sorted(set().union(*(r.used for r in routines)))
    rare = [RARE] if any(r.attributes for r in routines) else []
    return "\n".join([*(r.text() for r in routines), *declared, ATTRIBUTES, *rare]) + "\n"


def function(text: str, name: str) -> Any:
    """The function `void name(job, begin, end)` of a module, callable with the address of a job."""
    with _making:
        if text not in _functions:
            loaded, address = _loaded(text, name)
            _functions[text] = loaded, Function(address)
        return _functions[text][1]


def _loaded(text: str, name: str) -> tuple[LoadedCode, int]:
    cpu = host()
    entry = disk.digest(("march", PIPELINE, text, llvmlite.__version__, cpu.cpu, cpu.features))
    found = disk.load(entry)
    if found is not None:
        # written by something else under this name: make it again
        with contextlib.suppress(CompileError):
            return _entered(found[1], name)
    try:
        objects = [_compile(text, cpu.cpu, cpu.features)]
    except RuntimeError as error:
        raise CompileError(refused(error)) from error
    disk.store(entry, {}, objects)
    return _entered(objects, name)


def _entered(objects: Sequence[bytes], name: str) -> tuple[LoadedCode, int]:
    loaded = LoadedCode(objects)
    address = loaded.address(name)
    if not address:
        raise CompileError(f"The object code lacks the entry point '{name}'.")
    return loaded, address


def _compile(text: str, cpu: str, features: str) -> bytes:
    machine = worker.target_machine(OPTIMIZED, cpu, features)
    head = f'target datalayout = "{machine.target_data}"\ntarget triple = "{machine.triple}"\n'
    module = llvm.parse_assembly(head + text, context=llvm.create_context())
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    # the loops that matter are written with vectors; making vectors of the others costs five times the compile time
    options.loop_vectorization = options.slp_vectorization = options.loop_unrolling = False
    options.loop_interleaving = False
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return bytes(machine.emit_object(module))


def address_of(call: Any) -> int:
    """Address of a function that ctypes calls."""
    return int(ctypes.cast(call, ctypes.c_void_p).value or 0)
