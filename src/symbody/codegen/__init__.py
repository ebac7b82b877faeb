"""From a Program to a Kernel or to source text, by the rows of the targets."""

from symbody.later import door

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
