"""Kernels of Systems, compiled once for each way of compiling."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, overload

from symbody.basics.memory import memory_of
from symbody.codegen.compile import compile_system
from symbody.codegen.kernel.passport import Kernel
from symbody.symbolic.system.system import System

if TYPE_CHECKING:
    from symbody.codegen.kernel.native_kernel import NativeKernel


@overload
def kernel_of(system: System, target: Literal["native"] = "native", **options: Any) -> NativeKernel: ...


@overload
def kernel_of(system: System, target: str, **options: Any) -> Kernel: ...


def kernel_of(system: System, target: str = "native", **options: Any) -> Kernel:
    """The Kernel of a System; options as in `compile_system`. A Kernel is stateless, so that all may share it."""
    key = (target, *sorted(options.items()))
    kernel: Kernel = memory_of(system).get("kernel", key, lambda: compile_system(system, target, **options))
    return kernel


def quick_kernel(system: System) -> NativeKernel:
    """A Kernel that is quick to make, for one state at a time: for what is evaluated a few dozen times."""
    return kernel_of(system, level="quick", lanes=1)
