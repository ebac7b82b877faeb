"""How an integration ended: values with sentences."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum


class Outcome(Enum):
    """Each value is a sentence for the user, with what to change where something went wrong."""

    FINISHED = "The end of the interval was reached."
    STOPPED = "A stop condition was met before the end of the interval."
    INTERRUPTED = "The run was interrupted; what was computed until then is kept, and resume(...) goes on from there."
    NOT_FINITE = (
        "A state or a rate became infinite or not a number. Take a smaller step, or check the initial state and inputs."
    )
    STEP_TOO_SMALL = (
        "The step that the tolerances ask for is below what doubles can resolve. "
        "Loosen the tolerances, take an implicit method, or describe the discontinuity as an event."
    )
    TOO_MANY_STEPS = "The limit on the number of steps was reached. Raise max_steps, or take an implicit method."
    NOT_CONVERGED = (
        "An implicit equation was not solved: a loop that cannot close or is singular here, or a step that is too long."
    )
    LOOP_OPENED = (
        "A loop that should be closed has opened: the notes say which, when and by how much. Take a smaller step or "
        "tighter tolerances, another partition, or formulation='augmented'; what was computed until then is kept."
    )
    TOO_MANY_EVENTS = (
        "Events follow each other without end. Look for an impact whose rebounds die out: let it come to rest below a "
        "smallest speed."
    )

    @property
    def ok(self) -> bool:
        """Whether the result is complete: the end or a stop condition was reached."""
        return self in (Outcome.FINISHED, Outcome.STOPPED)


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    """The outcome of a batch: that of the first member that failed, or ended early."""
    early = [o for o in outcomes if o is not Outcome.FINISHED]
    return next((o for o in early if not o.ok), early[0] if early else Outcome.FINISHED)
