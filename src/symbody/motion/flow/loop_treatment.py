"""How closed loops are dealt with: Reduced to independent joints, or Augmented by multipliers of their constraints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from symbody.mechanics.loops.partition.partition import Partition


@dataclass(frozen=True, eq=False)
class Reduced:
    """Loops solved for dependent joints, which is refused where it is impossible.

    partition   names of independent joints, "heuristic", "pivoting", or a Partition; None: chosen
    """

    partition: Any = None


@dataclass(frozen=True)
class Augmented:
    """All joints with multipliers. They are put back on the loops after each step; with alpha, beta (1/s) not zero,
    Baumgarte's terms hold them instead.
    """

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
