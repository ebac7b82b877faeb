"""Settings of `simulate` that belong together, as records; and the one table of all others, by name.

    tolerance=1e-6            tolerance=sb.Tolerance(1e-6, absolute=1e-9)
    sampling=101              sampling=sb.Sampling(101, period=0.01)
    closing=["crank"]         closing=sb.Reduced(["crank"])        closing=sb.Augmented(alpha=5, beta=5)

Names of before (rtol, samples, partition, ...) pass through the same table, and mean the fields of these records.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from symbody.errors import DefinitionError, NameLookupError, wrong_argument
from symbody.flow.augmented import Augmented, Reduced
from symbody.flow.dry_friction import SLOW
from symbody.words import ARGUMENTS, nearest_word

RTOL = 1e-8


@dataclass(frozen=True)
class Tolerance:
    """Of methods that choose their steps. absolute None: as `relative`, in the units of each state."""

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
