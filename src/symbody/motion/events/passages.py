"""Passages: what the singular positions that a run was led through changed of its energy, all together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

MOST = 100.0  # times the tolerance, of energies: more is told


@dataclass(frozen=True)
class Passages:
    """Singular positions that a mechanism which nothing drives was led through.

    since, energy  s, J: where the first was approached
    changed        J, of the energy since then, or inside of passages alone; nan where it may change
    kinetic        J, the largest at passages
    note           the note about all of them, or ""
    """

    count: int = 0
    since: float = 0.0
    energy: float = 0.0
    changed: float = 0.0
    kinetic: float = 0.0
    note: str = ""

    def further(
        self, t: float, kinetic: np.ndarray, potential: np.ndarray, power: np.ndarray, inside: bool
    ) -> Passages:
        """With one more from t on; kinetic, potential, power: (2,) before and behind it.

        inside: whether only passages count, and no steps between them
        """
        before, behind = map(float, kinetic + potential)
        since, first = (self.since, self.energy) if self.count else (t, before)
        changed = self.changed + behind - before if inside else behind - first
        changed = np.nan if power.any() or np.isnan(self.changed) else changed
        most = max(self.kinetic, float(kinetic.max()))
        return Passages(self.count + 1, since, first, changed, most, self.note)

    @property
    def error(self) -> float:
        """The change of the energy beside the kinetic one; 0 where it is not known."""
        return 0.0 if np.isnan(self.changed) else abs(self.changed) / max(self.kinetic, 1e-300)

    def say(self, t: float) -> str:
        return (
            f"from t = {self.since:.6g} s to {t:.6g} s, through {self.count} singular positions, the energy changed by "
            f"{self.changed:.2g} J in all, {self.error:.1g} of the kinetic one: more than {MOST:g} times the tolerance."
        )


NONE = Passages()  # yet
