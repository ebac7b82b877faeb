"""Batch: what `simulate` was asked for, whole or some members of it, as one frozen record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from symbody.motion.events.plan import Plan, Settings
from symbody.motion.events.queries import Asking, answered
from symbody.motion.events.state import RunState
from symbody.motion.run.prepare import prepared
from symbody.motion.run.run_equations import RunModel
from symbody.motion.run.side_by_side import SideBySide


@dataclass(frozen=True, eq=False)
class Batch:
    """What `simulate` was asked for, whole or some members of it."""

    model: RunModel
    settings: Settings
    duration: float
    given: Mapping[str, Any]
    partition: Any

    def made(
        self, part: int | slice | None = None, apart: SideBySide | None = None, split: bool = False
    ) -> tuple[Plan, RunState] | SideBySide:
        """The run of all members, or of a part of those that stand apart."""
        return answered(self.making(part, apart, split))

    def making(
        self, part: int | slice | None = None, apart: SideBySide | None = None, split: bool = False
    ) -> Asking[tuple[Plan, RunState] | SideBySide]:
        """The run of `made` as a generator of questions."""
        model, settings, given = self.model, self.settings, self.given
        if apart is not None and part is not None:
            settings = replace(settings, parameters=apart.parameters(settings.parameters, part))
            model = replace(model, inputs=apart.inputs(model.inputs, part))
            given = apart.given(given, part)
        return prepared(model, settings, self.duration, given, self.partition, split)

    @property
    def wanted(self) -> np.ndarray:
        """Instants of samples."""
        s = self.settings
        return s.sampling.times(s.start, s.start + self.duration, s.step)
