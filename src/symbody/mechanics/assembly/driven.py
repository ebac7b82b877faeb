"""Laws of driven joints as functions of numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from symbody.basics.memory import memory_of
from symbody.mechanics.formalisms.prescribed import prescribed
from symbody.model.record.coordinates import Slot
from symbody.model.record.mechanism import Joint, Mechanism
from symbody.symbolic.expr.evaluate import Evaluation


class DrivenLaw:
    """Coordinates and velocities of one driven joint. q, qd: their places."""

    def __init__(self, slot: Slot, joint: Joint) -> None:
        motion = prescribed(joint)
        self.owner, self.q = slot.owner, slot.q
        self._coordinates, self._velocities = Evaluation(motion.q), Evaluation(motion.qd)

    def coordinates(self, parameters: Mapping[str, Any], time: float) -> list[float] | None:
        """(nq,) at `time`; None where a parameter has no value."""
        return _values(self._coordinates, parameters, time)

    def velocities(self, parameters: Mapping[str, Any], time: float) -> list[float] | None:
        """(nv,) at `time`; None where a parameter has no value."""
        return _values(self._velocities, parameters, time)


def driven_laws(mechanism: Mechanism) -> tuple[DrivenLaw, ...]:
    """The laws of all driven joints, made once."""

    def make() -> tuple[DrivenLaw, ...]:
        return tuple(DrivenLaw(s, s.joint) for s in mechanism.slots if s.joint is not None and s.mode == "driven")

    return memory_of(mechanism).get("driven_laws", (), make)


def _values(evaluation: Evaluation, parameters: Mapping[str, Any], time: float) -> list[float] | None:
    given = [time if s.data.role == "time" else parameters.get(s.data.name, s.data.default) for s in evaluation.symbols]
    if any(v is None for v in given):
        return None
    with np.errstate(all="ignore"):
        return [float(x) for x in evaluation.function(given)]
