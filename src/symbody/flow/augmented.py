"""Augmented: closed loops by multipliers of all their constraints, in place of a partition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from symbody.loops.partition.partition import Partition


@dataclass(frozen=True)
class Augmented:
    """In place of a partition: all joints with multipliers; alpha, beta (1/s) of Baumgarte, or a projection if 0."""

    alpha: float = 0.0
    beta: float = 0.0
    project: bool = True
    branch: Partition | None = None  # whose redundant constraints are left out; None: that of the assembled position

    @property
    def options(self) -> dict[str, Any]:
        own = {} if self.branch is None else {"partition": self.branch}
        return {"formulation": "augmented", "alpha": self.alpha, "beta": self.beta, **own}

    @property
    def projects(self) -> bool:
        """Whether states are put back on the constraints; Baumgarte's terms hold them otherwise, or nothing does."""
        return self.project and not (self.alpha or self.beta)
