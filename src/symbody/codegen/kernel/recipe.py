"""Recipe: what a Kernel was made of, by which it is made again in another process: its System, target and options.

Loaded code cannot travel. A worker compiles the System again, or takes the code from the cache there.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from symbody.basics.lazy import imported
from symbody.symbolic.system.system import System

STEP = ""  # no function of a group has an empty name


@dataclass(frozen=True, eq=False)
class Recipe:
    """bound: the parameters of each `bind`, in order; function: one of groups, STEP for the one that goes first."""

    system: System
    target: str
    groups: Mapping[str, Sequence[str]] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    bound: tuple[Any, ...] = ()
    function: str | None = None

    def with_bound(self, parameters: Any) -> Recipe:
        return replace(self, bound=(*self.bound, parameters))

    def make(self) -> Any:
        kernel = imported("codegen.compile", "compile_system")(
            self.system, self.target, groups=self.groups, **self.options
        )
        if self.function is not None:
            kernel = kernel.step if self.function == STEP else kernel[self.function]
        for parameters in self.bound:
            kernel = kernel.bind(parameters)
        return kernel


class Remade:
    """A Kernel that pickle and copy make again by its Recipe."""

    recipe: Recipe | None = None

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        if self.recipe is None:
            raise pickle.PicklingError("a Kernel made of a Program cannot travel; make it by System.compile.")
        return _made, (self.recipe,)


def _made(recipe: Recipe) -> Any:
    return recipe.make()
