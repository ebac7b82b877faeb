"""Settings of `simulate` that belong together, as records; and the one table of all others, by name.

    tolerance=1e-6            tolerance=sb.Tolerance(1e-6, absolute=1e-9)
    sampling=101              sampling=sb.Sampling(101, period=0.01)
    closing=["crank"]         closing=sb.Reduced(["crank"])        closing=sb.Augmented(alpha=5, beta=5)

Fields of these records may be given one by one, too (rtol, samples, partition, ...): they are rows of the same table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from symbody.basics.errors import DefinitionError, Named, NameLookupError, real_argument, whole_argument, wrong_argument
from symbody.basics.words import ARGUMENTS, nearest_word
from symbody.codegen.kernel.threads import check_threads
from symbody.motion.flow.dry_friction import SLOW
from symbody.motion.flow.loop_treatment import Augmented, Reduced

RTOL = 1e-8
INSTANTS = 1000  # that a run has at least, told apart by doubles


@dataclass(frozen=True)
class Tolerance:
    """Tolerances of methods that choose their steps. absolute None: as `relative`, in the units of each state."""

    relative: float = RTOL
    absolute: float | None = None


@dataclass(frozen=True, eq=False)
class Sampling:
    """What is recorded when, and how often Python controllers are asked.

    samples  number of equidistant samples, or their instants (s); None: every step, or 1001 of an adaptive run
    period   s, of Python controllers f(t, q, qd), which are held in between; None: the step; 0: at every evaluation
    """

    samples: Any = None
    period: float | None = None


# name -> (default, what it is a field of)
OPTIONS: Mapping[str, tuple[Any, str]] = {
    "t0": (0.0, ""),
    "progress": (False, ""),
    "stream": (None, ""),
    "threads": (None, ""),
    "max_steps": (10_000_000, ""),
    "formalism": (None, ""),
    "slow": (SLOW, ""),
    "device": (None, ""),
    "precision": ("double", ""),
    "reduce": ((), ""),
    "rtol": (RTOL, "tolerance"),
    "atol": (None, "tolerance"),
    "samples": (None, "sampling"),
    "period": (None, "sampling"),
    "partition": (None, "closing"),
    "formulation": ("auto", "closing"),
    "alpha": (0.0, "closing"),
    "beta": (0.0, "closing"),
}


def read_options(
    options: Mapping[str, Any], named: tuple[str, ...], tolerance: Any, sampling: Any, closing: Any
) -> dict[str, Any]:
    """All rows of `OPTIONS` with their values. named: parameters of simulate itself, for the message."""
    out = {name: default for name, (default, _) in OPTIONS.items()}
    records = {"tolerance": tolerance, "sampling": sampling, "closing": closing}
    for name, value in options.items():
        if name not in OPTIONS:
            known = [*named, *(n for n, (_, record) in OPTIONS.items() if not record)]
            raise NameLookupError(f"simulate takes no {name!r}. {nearest_word(name, known, ARGUMENTS)}")
        record = OPTIONS[name][1]
        if record and records[record] is not None:
            raise DefinitionError(f"{record}= and {name}= say the same; give {record}= alone.")
        out[name] = value
    if tolerance is not None:
        own = tolerance if isinstance(tolerance, Tolerance) else Tolerance(tolerance)
        out["rtol"], out["atol"] = own.relative, own.absolute
    if sampling is not None:
        if isinstance(sampling, Mapping | str):
            raise wrong_argument("sampling", sampling, "a number of samples, their instants, or sb.Sampling(...)")
        chosen = sampling if isinstance(sampling, Sampling) else Sampling(sampling)
        out["samples"], out["period"] = chosen.samples, chosen.period
    if isinstance(closing, Augmented):
        out["formulation"], out["alpha"], out["beta"] = "augmented", closing.alpha, closing.beta
    elif isinstance(closing, Reduced):
        out["formulation"], out["partition"] = "reduced", closing.partition
    elif closing is not None:
        out["partition"] = closing
    return out


# -- numbers


def check_numbers(
    duration: Any, step: Any, t0: Any, rtol: Any, atol: Any
) -> tuple[float, float | None, float, float, float]:
    """Positive, finite seconds and tolerances, as Python's numbers: single ones of NumPy would round what they meet."""
    duration = real_argument("duration", duration, "a positive number of seconds", above=0.0)
    t0 = real_argument("t0", t0, "a finite number of seconds")
    check_long_enough("duration", duration, t0)
    if step is not None:
        step = real_argument("step", step, "a positive number of seconds", above=0.0)
        if step > duration * (1 + 1e-9):
            long, whole = Named("step", f"{step:g}"), Named("duration", f"{duration:g}")
            raise DefinitionError(long, " is longer than ", whole, "; expected a part of it.")
        check_step_resolved(step, t0, t0 + duration)
    rtol = real_argument("rtol", rtol, "a positive number", above=0.0)
    atol = rtol if atol is None else real_argument("atol", atol, "a positive number", above=0.0)
    return duration, step, t0, rtol, atol


def check_long_enough(name: str, duration: float, start: float) -> None:
    """Seconds in which time passes: doubles at an instant t lie eps |t| apart."""
    spacing = float(np.spacing(max(abs(start), abs(start + duration))))
    if duration < INSTANTS * spacing:
        raise DefinitionError(
            Named(name, f"{duration:g}"),
            f" s is too short: doubles near {start:g} s lie {spacing:.2g} s apart. Expected at least {INSTANTS} of "
            "them; begin at an earlier time.",
        )


def check_step_resolved(step: float, start: float, end: float) -> None:
    """A step after which the time is another: doubles at an instant t lie eps |t| apart."""
    late = max(abs(start), abs(end))
    least = float(np.finfo(float).eps) * late
    if step < least:
        raise DefinitionError(
            Named("step", f"{step:g}"),
            f" s is too short: doubles near {late:g} s lie {least:.2g} s apart. Expected more than that.",
        )


def check_limits(max_steps: Any, slow: Any, threads: Any, period: Any) -> tuple[int, float, int | None, float | None]:
    """Whole and positive, a speed, and seconds, as Python's numbers."""
    return (
        whole_argument("max_steps", max_steps, 1),
        real_argument("slow", slow, "a speed in rad/s or m/s, or 0", least=0.0),
        None if threads is None else check_threads(threads),
        None if period is None else real_argument("period", period, "a positive number of seconds, or 0", least=0.0),
    )
