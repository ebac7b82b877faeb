"""Program to Kernel: from the cache if possible, else by compiling, at once or in two tiers."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from importlib import metadata

import llvmlite

from symbody.basics.errors import CompileError, whole_argument
from symbody.codegen.kernel import cache as disk
from symbody.codegen.kernel.externals import ExternalTable, matched
from symbody.codegen.kernel.native_kernel import NativeKernel
from symbody.codegen.kernel.signature import Signature, signature_of
from symbody.codegen.kernel.tiers import Code, Tiers
from symbody.codegen.llvm.libm import libm_index
from symbody.codegen.llvm.loading import OPTIMIZED, QUICK, compile_in_processes, compile_modules, host
from symbody.codegen.llvm.modules import ModulePlan, modules, plan
from symbody.symbolic.expr.external import External
from symbody.symbolic.expr.function_row import Function, added_functions
from symbody.symbolic.lower.fuse import fuse_multiply_add
from symbody.symbolic.lower.program import Program

# Above this many operations "auto" answers from quickly made code first.
AUTO_QUICK = 20_000
# From here on compiling in several processes is worth starting them.
PARALLEL = 8_000
# Changes whenever the generated code or the layout does.
GENERATION = 7


def compile_program(
    program: Program | Callable[[], Program],
    *,
    key: str | None = None,
    level: str = "auto",
    lanes: int | None = None,
    fma: bool = True,
    fuse: bool = True,
    wait: bool = False,
    cache: bool = True,
    name: str | None = None,
    externals: Sequence[External] = (),
    functions: Sequence[Function] = (),
) -> NativeKernel:
    """Native code for a Program, which may be given as a function that makes it: a cache hit does not call it.

    key: identifies the Program in the cache (None: a hash of the Program).
    level: "quick" (fast to make), "optimized", or "auto": optimised, but above 20 000 operations quick first, replaced
        in the background (`wait` waits for that).
    lanes: states per vector, 1 for none (None: as the CPU has).
    fma: use the CPU's fused multiply-add, if it has one, in sines too.
    fuse: contract products into sums for it (not where that is already decided, as for the Programs of a group).
    externals, functions: external functions, and functions that were added, which the Program calls; needed if
        `program` is a function. The externals are in an order that `key` tells.
    """
    if level not in ("auto", "quick", "optimized"):
        raise CompileError(f"level is {level!r}; expected 'auto', 'quick' or 'optimized'.")
    cpu = host()
    fma = fma and cpu.fma
    width = cpu.lanes if lanes is None else whole_argument("lanes", lanes, 1, error=CompileError)
    if width not in (1, 2, 4, 8, 16):
        raise CompileError(f"lanes is {width}; expected 1, 2, 4, 8 or 16.")
    made = None
    if key is None:
        made = program() if callable(program) else program
        key = disk.program_key(made)
    if made is not None:
        functions = [row for row in added_functions() if row.name in made.ops]
    # a file cannot tell apart what two Python functions write under one name
    cache = cache and not any(callable(row.llvm) for row in functions)
    places = [(row.name, row.llvm, row.libm, row.libm and libm_index(row.libm)) for row in functions]
    tier = "quick" if level == "quick" else "optimized"
    entry = disk.digest(
        (GENERATION, key, name, width, fma, fuse, tier, _version(), llvmlite.__version__, cpu.cpu, cpu.features)
        + ((places,) if places else ())
    )

    found = disk.load(entry) if cache else None
    if found is not None:
        try:
            signature, tiers = Signature.from_json(found[0]), Tiers(Code(found[1], tier))
        except (CompileError, LookupError, TypeError, ValueError, AttributeError):
            found = None  # written by something else under this name: make it again
    if found is None:
        made = made or (program() if callable(program) else program)
        contract = fma and fuse
        signature, tiers = _make(made, width, (fma, contract), level, name, entry if cache else None, externals)
    table = ExternalTable(made.externals if made is not None else matched(signature.externals, externals))
    if wait:
        tiers.wait()
    return NativeKernel(signature, tiers, table)


def _make(
    program: Program,
    width: int,
    fusing: tuple[bool, bool],
    level: str,
    name: str | None,
    entry: str | None,
    externals: Sequence[External],
) -> tuple[Signature, Tiers]:
    fma, fuse = fusing
    # a Program that is fused already means the machine's operation
    fma = fma or (host().fma and "fma" in program.ops)
    planned = plan(fuse_multiply_add(program) if fuse else program, width, fma)
    signature = signature_of(planned.program, planned.layout, name, externals)

    def optimized() -> Code:
        compiler = compile_in_processes if signature.operations > PARALLEL else compile_modules
        objects = compiler(modules(planned), OPTIMIZED)
        code = Code(objects, "optimized")
        if entry is not None:
            disk.store(entry, signature.to_json(), objects)
        return code

    if level == "optimized" or (level == "auto" and signature.operations <= AUTO_QUICK):
        return signature, Tiers(optimized())
    tiers = Tiers(_quick(planned, signature, entry if level == "quick" else None))
    if level == "auto":
        tiers.improve(optimized)
    return signature, tiers


def _quick(planned: ModulePlan, signature: Signature, entry: str | None) -> Code:
    """Scalar code alone: it also serves batches, with the same bits."""
    objects = compile_modules(modules(planned, batch=False), QUICK)
    if entry is not None:
        disk.store(entry, signature.to_json(), objects)
    return Code(objects, "quick")


@functools.cache  # reading it costs more than a hit of the cache
def _version() -> str:
    try:
        return metadata.version("symbody")
    except metadata.PackageNotFoundError:
        return "source"
