"""Function groups as Kernels: `step` fills a workspace once, the others read it (SYMOFROS, section 3.7)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from symbody.basics.errors import NameLookupError, nearest
from symbody.codegen.kernel.passport import Kernel
from symbody.codegen.kernel.recipe import Remade
from symbody.symbolic.lower.fuse import fuse_multiply_add
from symbody.symbolic.lower.groups import group
from symbody.symbolic.lower.program import Program


@dataclass(eq=False)
class GroupedKernel(Remade):
    """`workspace = kernels.step(q, qd)`, then `kernels["tau"](q, qd, qdd, workspace)`: the caller decides when to step.

    Every function takes the inputs that it reads, in the order of the System, and the workspace last. The bits are
    those of the Kernel of the whole System.
    """

    step: Kernel
    functions: dict[str, Kernel]

    def __getitem__(self, name: str) -> Kernel:
        if name not in self.functions:
            raise NameLookupError(f"there is no function {name!r} in this group. {nearest(name, self.functions)}")
        return self.functions[name]

    def bind(self, parameters: Any) -> GroupedKernel:
        """All functions with these parameters, `setup` done."""
        bound = GroupedKernel(self.step.bind(parameters), {n: k.bind(parameters) for n, k in self.functions.items()})
        bound.recipe = None if self.recipe is None else self.recipe.with_bound(parameters)
        return bound

    def __repr__(self) -> str:
        return "\n".join(["step: " + repr(self.step), *(f"{n}: {k!r}" for n, k in self.functions.items())])


def compile_groups(
    program: Program, groups: Mapping[str, Sequence[str]], compile_one: Callable[[Program], Kernel], fma: bool = False
) -> GroupedKernel:
    """Kernels of a Program cut into groups: function name -> names of its outputs. Regrouping needs only the Program.

    `compile_one(program)` makes one Kernel, without fusing products and sums by itself: they are fused here, before the
    cut, so that every grouping rounds alike.
    """
    cut = group(fuse_multiply_add(program) if fma else program, groups)
    return GroupedKernel(compile_one(cut.step), {n: compile_one(p) for n, p in cut.functions.items()})
