"""The records of `sb.verify`: statements that were checked, and how well they held."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np

from symbody.basics.display import html_notes, html_table

SHOWN = 3  # checks that fail, in a message
LEAST_SHARE = 1e-4  # of the largest sum of terms in a state: smaller sums are measured by it


@dataclass(frozen=True)
class Check:
    """One statement: the largest relative error found, what was allowed, and whether it holds.

    kind: "measured" at states, or "proved": the formulas are equal (`proof.prove`), the error is 0 or 1
    """

    text: str
    error: float
    allowed: float
    kind: Literal["measured", "proved"] = "measured"

    @property
    def passed(self) -> bool:
        return bool(self.error <= self.allowed)


@dataclass(frozen=True)
class Certificate:
    """What was checked of a Mechanism, at how many random states, and how well it held."""

    name: str
    states: int
    seed: int
    checks: tuple[Check, ...]
    refused: tuple[str, ...] = ()  # formalisms that do not apply, and why
    fingerprint: str = ""
    seconds: float = field(default=0.0, compare=False)
    parameters: tuple[tuple[str, float], ...] = ()  # values in place of the defaults
    independent: tuple[str, ...] = ()  # joints of a partition that was asked for, or the word for it
    given: int = 0  # states of the user among those that were judged

    @property
    def passed(self) -> bool:
        return all(c.passed for c in self.checks)

    @property
    def failure(self) -> str:
        """The checks that fail, the first few in words; "" where all hold."""
        failed = [c for c in self.checks if not c.passed]
        if not failed:
            return ""
        told = [f"{c.text} ({c.error:.1e}, allowed {c.allowed:.0e})" for c in failed[:SHOWN]]
        more = f"; and {len(failed) - SHOWN} more" if len(failed) > SHOWN else ""
        return f"{len(failed)} of {len(self.checks)} checks fail: {'; '.join(told)}{more}"

    def as_dict(self) -> dict[str, Any]:
        # JSON has no infinity: an error without bound is null
        rows = [
            {**asdict(c), "error": c.error if np.isfinite(c.error) else None, "passed": c.passed} for c in self.checks
        ]
        given = {"parameters": dict(self.parameters), "independent": list(self.independent)}
        return {**asdict(self), **given, "checks": rows, "passed": self.passed}

    def _repr_html_(self) -> str:
        rows = [
            [
                "ok" if c.passed else "FAIL",
                c.text,
                f"{c.error:.1e}" if c.kind == "measured" else c.kind,
                f"{c.allowed:.0e}",
            ]
            for c in self.checks
        ]
        heading = f"{self.name}: {'certified' if self.passed else 'NOT CERTIFIED'} at {self.states} random states"
        return html_table(["", "check", "error", "allowed"], rows, heading) + html_notes(self.refused)

    def __str__(self) -> str:
        states = f"{self.states} random state{'s' * (self.states != 1)}"
        own = f" and {self.given} given" if self.given else ""
        lines = [f"{self.name}: {'certified' if self.passed else 'NOT CERTIFIED'} at {states}{own}"]
        if self.parameters:
            lines.append("  with " + ", ".join(f"{n} = {v:g}" for n, v in self.parameters))
        if self.independent:
            lines.append("  independent: " + ", ".join(self.independent))
        for c in self.checks:
            how = f"{c.error:9.1e} (allowed {c.allowed:.0e})" if c.kind == "measured" else f"{c.kind:>25}"
            lines.append(f"  {'ok  ' if c.passed else 'FAIL'} {how}  {c.text}")
        lines += [f"  --   {text}" for text in self.refused]
        lines.append(f"  program {self.fingerprint[:16]}, {self.seconds:.1f} s")
        return "\n".join(lines)


def difference(a: np.ndarray, b: np.ndarray) -> float:
    """Largest difference, relative to the largest entry of b in the same state (at least 1e-3)."""
    a, b = np.asarray(a), np.asarray(b)
    if b.size == 0:
        return 0.0
    scale = np.maximum(np.max(np.abs(b), axis=tuple(range(1, b.ndim)), keepdims=True), 1e-3)
    return worst(np.abs(a - b) / scale)


def backward(a: Any, b: Any, terms: Any) -> float:
    """Largest difference, relative to the sizes of the terms that were added up to it: what rounding can explain.

    a, b, terms: (states, ...)
    """
    a, b, terms = np.asarray(a), np.asarray(b), np.abs(np.asarray(terms, dtype=float))
    if a.size == 0:
        return 0.0
    a = np.broadcast_to(a, np.broadcast_shapes(a.shape, b.shape))  # one of all states, without coordinates
    terms = np.broadcast_to(terms, a.shape)
    largest = np.max(terms, axis=tuple(range(1, terms.ndim)), keepdims=True)
    scale = np.maximum(np.maximum(terms, LEAST_SHARE * largest), 1e-12)
    return worst(np.abs(a - b) / scale)


def worst(errors: np.ndarray) -> float:
    """The largest; infinite if one is no number."""
    found = float(np.max(errors, initial=0.0))
    return found if np.isfinite(found) else float("inf")


def output_of(result: Any, name: str) -> np.ndarray:
    """One output of what a Kernel gave: an array, or a named tuple where there are several."""
    return np.asarray(getattr(result, name, result))


def indefiniteness(m: np.ndarray, driven: Sequence[bool]) -> float:
    """Share of the states at which M has no Cholesky factor: it is singular, indefinite or not a number there.

    m: (states, n, n); driven: (n,) velocities that are prescribed, whose motion needs no mass
    """
    free = np.flatnonzero(~np.asarray(driven, dtype=bool))
    if not len(free):
        return 0.0
    m = m[:, free][:, :, free]

    def definite(one: np.ndarray) -> bool:
        try:
            return bool(np.all(np.isfinite(np.linalg.cholesky(one))))
        except np.linalg.LinAlgError:
            return False

    return float(np.mean([not definite(one) for one in m]))
