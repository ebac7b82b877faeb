"""Programs as machine code or as source text: C, C++, CUDA, Fortran, Rust, JavaScript, MATLAB, FMUs and others.

In: a `Program` of `symbolic/lower`. Out: a `Kernel` that is called with arrays, or a text.
`targets.py` lists the targets, one row each of `target_rows/`; `printer/` writes statements of any language, `llvm/`
machine code, `kernel/` is what is called. `interop/` goes to and from other algebra systems and FMUs.
Begin with `compile.py`; `kernel/passport.py` says what a Kernel is.
"""

from symbody.basics.lazy import door

# a room imports from lines above its own, and not from its neighbours
ROOMS = (
    "printer llvm interop",
    "kernel",
    "c target_row",
    "cuda fmu",
    "target_rows",
    "targets",
    "compile",
)

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "compile": "compile_system emit_system",
        "kernel.grouped": "GroupedKernel",
        "kernel.native_kernel": "NativeKernel",
        "kernel.passport": "Kernel",
        "target_row": "Source Target",
        "targets": "TARGETS",
    },
)
