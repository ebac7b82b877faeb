"""The two walks over a Tree. A formalism supplies the step; the order of visits exists here and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from symbody.mechanics.formalisms.tree import Link, Tree

T = TypeVar("T")


def sweep_outward(tree: Tree, step: Callable[[Link, T], T], world: T) -> list[T]:
    """Results of step(link, result of its parent), parents first; `world` stands for the parent of the first Links."""
    results: list[T] = []
    for link in tree.links:
        results.append(step(link, results[link.parent] if link.parent >= 0 else world))
    return results


def sweep_inward(tree: Tree, step: Callable[[Link, list[T]], T]) -> None:
    """step(link, what its children handed over), children first; what step returns is handed to the parent."""
    handed: list[list[T]] = [[] for _ in tree.links]
    for link in reversed(tree.links):
        result = step(link, handed[link.index])
        handed[link.index] = []
        if link.parent >= 0:
            handed[link.parent].append(result)
