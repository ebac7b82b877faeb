"""Kernels of Systems, compiled once for each way of compiling."""

from __future__ import annotations

from typing import Any

from symbody.codegen.compile import compile_system
from symbody.derived.memory import memory_of
from symbody.system.system import System


def kernel_of(system: System, target: str = "native", **options: Any) -> Any:
    """The Kernel of a System; options as in `compile_system`. A Kernel is stateless, so that all may share it."""
    key = (target, *sorted(options.items()))
    return memory_of(system).get("kernel", key, lambda: compile_system(system, target, **options))


def quick_kernel(system: System) -> Any:
    """A Kernel that is quick to make, for one state at a time: for what is evaluated a few dozen times."""
    return kernel_of(system, level="quick", lanes=1)
