"""prove_equal: two Systems are equal as formulas, or an entry is named in which they differ, or it is said why neither.

Both are evaluated modulo the prime 2^61 - 1 at random points. Formulas that differ agree at one point with a chance of
at most their degree over the prime; as many points are taken as bring the chance below 2^-40 (Schwartz 1980, Zippel
1979).
There is no tolerance: a coefficient that is off by one part in 10^15 gives another residue.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace
from typing import Any

from symbody.basics.errors import ShapeError
from symbody.mechanics.proof.degree import Degrees, difference_degree, fineness
from symbody.mechanics.proof.field_tape import EXACT, ROOTED, ROUNDED, UNSURE, FieldTape, tape_of
from symbody.mechanics.proof.points import Key, RandomPoint, Relations
from symbody.mechanics.proof.prime_field import BITS, NoValue
from symbody.mechanics.proof.roots import equal_with_roots
from symbody.mechanics.proof.rounding import deviation
from symbody.mechanics.proof.tape_values import values_at
from symbody.symbolic.system.system import System

CHANCE = 40  # a wrong "proved" has a chance below 2^-CHANCE
LEAST = 2  # points, where one would do
MOST = 24  # points: formulas that need more are not proved
STATES = 8  # random ones at which numbers are compared where the field cannot tell
ROUNDING = 1e-9  # a larger difference of outputs does not come from rounded constants
TRIES = 8  # points without a value, one after the other, before it is said that there is none

PROVED, DIFFERENT, NOT_PROVABLE = "proved", "different", "not provable"


@dataclass(frozen=True)
class Proof:
    """What is known of the statement that two Systems are equal.

    verdict   "proved": equal as formulas, but for a chance of 2^log2_chance; "different": `entries` differ;
              "not provable": `reason` says why the field cannot tell
    entries   output entries with different values, such as "tau[2]"
    points    at which they were compared
    """

    verdict: str
    reason: str = ""
    entries: tuple[str, ...] = ()
    points: int = 0
    degree: int = 0
    log2_chance: float = 0.0
    seconds: float = field(default=0.0, compare=False)

    @property
    def proved(self) -> bool:
        return self.verdict == PROVED

    def __str__(self) -> str:
        if self.proved:
            return f"proved at {self.points} points (degree at most {self.degree}, chance 2^{self.log2_chance:.0f})"
        return f"{self.verdict}: {self.reason}"


class Formulas:
    """The outputs of a System, ready to be evaluated in the field; what was evaluated once is kept."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.tape = tape_of(system)
        self._values: dict[Any, list[int] | None] = {}
        self._degrees: dict[Any, Degrees] = {}

    def values(self, seed: Any, relations: Relations, halved: dict[Any, int]) -> list[int] | None:
        """Residues of all entries at the point of a seed; None if a divisor is zero there."""
        key = (seed, relations, frozenset(halved.items()))
        if key not in self._values:
            try:
                self._values[key] = values_at(self.tape, RandomPoint(seed, relations, halved=halved))
            except NoValue:
                self._values[key] = None
        return self._values[key]

    def degrees(self, parts: dict[Any, int]) -> Degrees:
        key = frozenset(parts.items())
        if key not in self._degrees:
            self._degrees[key] = Degrees(self.tape, parts)
        return self._degrees[key]

    def flag(self, entry: int) -> int:
        """What an entry is made of, as the flags of its slot tell."""
        return self.tape.flags[self.tape.roots[entry]]

    @property
    def defaults(self) -> dict[Key, float]:
        """Numbers of the parameters that have defaults."""
        found = ((n, self.system.default(n)) for n in self.system.parameters)
        return {(n, k): x for n, values in found for k, x in enumerate(values or ())}

    @property
    def names(self) -> list[str]:
        """Names of all entries, in order."""
        out = []
        for name, array in self.system.outputs.items():
            out += (
                [name]
                if array.shape == ()
                else [f"{name}[{', '.join(map(str, index))}]" for index in _indices(array.shape)]
            )
        return out

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {name: array.shape for name, array in self.system.outputs.items()}


def _indices(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    out: list[tuple[int, ...]] = [()]
    for n in shape:
        out = [(*index, k) for index in out for k in range(n)]
    return out


def prove_equal(
    a: System | Formulas,
    b: System | Formulas,
    relations: Relations | None = None,
    seed: int = 0,
    measured: bool = True,
) -> Proof:
    """Compare all outputs of two Systems. Arguments are the same where their names and places are.

    relations  what arguments obey: unit quaternions, cosine and sine given as two parameters (`relations_of`)
    seed       of the random points
    measured   whether numbers decide where the field cannot tell; if not, such entries are "not provable"
    """
    start = time.perf_counter()
    a, b = (x if isinstance(x, Formulas) else Formulas(x) for x in (a, b))
    if a.shapes != b.shapes:
        raise ShapeError(f"{a.system.name} has outputs {a.shapes}, {b.system.name} {b.shapes}; expected equal ones.")
    found = _compare(a, b, relations or Relations(), seed, measured)
    return replace(Proof(*found), seconds=time.perf_counter() - start)


def _compare(a: Formulas, b: Formulas, relations: Relations, seed: int, measured: bool) -> tuple[Any, ...]:
    refusal = a.tape.refusal or b.tape.refusal or _other_functions(a.tape, b.tape)
    if refusal:
        return NOT_PROVABLE, refusal
    halved, parts = fineness([a.tape, b.tape])
    degree = difference_degree(a.degrees(parts), b.degrees(parts))
    points = points_for(degree)
    if points > MOST:
        return NOT_PROVABLE, f"the degree of the formulas is only known to be below 2^{degree.bit_length()}"
    for k in range(points):
        pair = _at_one_point(a, b, (seed, k), relations, halved)
        if pair is None:
            return NOT_PROVABLE, "a divisor is zero at every point that was tried"
        differing = [i for i, (x, y) in enumerate(zip(*pair)) if x != y]
        if differing:
            rooted = all((a.flag(i) | b.flag(i)) & ROOTED for i in differing)
            found = equal_with_roots(a.tape, b.tape, degree, points, seed, relations, halved) if rooted else 0
            if found:
                points = found
                break
            return _judged(a, b, differing, relations, measured)
    return PROVED, "", (), points, degree, -points * (BITS - math.log2(max(degree, 1)))


def _other_functions(a: FieldTape, b: FieldTape) -> str:
    """Why external functions of one name are not the same; "" where they are. Copies of one call the same."""
    for name, e in a.externals.items():
        other = b.externals.get(name, e)
        if (e.function, e.address, e.c_body) != (other.function, other.address, other.c_body):
            return f"two external functions have the name {name!r}"
    return ""


def points_for(degree: int) -> int:
    """Points that bring the chance below 2^-CHANCE, with one bit for points that had no value."""
    gained = BITS - 1 - math.log2(max(degree, 1))
    return max(LEAST, math.ceil((CHANCE + 1) / gained)) if gained > 1 else MOST + 1


def _at_one_point(
    a: Formulas, b: Formulas, seed: tuple[int, int], relations: Relations, halved: dict[Any, int]
) -> tuple[list[int], list[int]] | None:
    for attempt in range(TRIES):
        x = a.values((*seed, attempt), relations, halved)
        y = b.values((*seed, attempt), relations, halved) if x is not None else None
        if x is not None and y is not None:
            return x, y
    return None


def _judged(a: Formulas, b: Formulas, differing: list[int], relations: Relations, measured: bool) -> tuple[Any, ...]:
    """A difference is certain where all is exact. Unknown functions may have properties that matter, constants may be
    rounded: then numbers decide whether it is a difference at all."""
    names = a.names
    flags = [a.flag(i) | b.flag(i) for i in differing]
    certain = tuple(names[i] for i, f in zip(differing, flags) if f == EXACT)
    some = tuple(names[i] for i in differing)
    if certain:
        return DIFFERENT, f"{_listed(certain)} differ{'s' * (len(certain) == 1)}", certain
    apart = None
    if measured:
        sizes = [array.size for array in a.system.outputs.values()]
        apart = deviation(a.tape, b.tape, sizes, relations, {**a.defaults, **b.defaults}, STATES)
    if apart is not None and apart > ROUNDING:
        return DIFFERENT, f"{_listed(some)}: different by {apart:.1e} at random states", some
    reasons = []
    if any(f & ROUNDED for f in flags):
        longest = max(a.tape.floats | b.tape.floats, key=lambda x: (len(repr(x)), x))
        reasons.append(f"constants such as {longest!r} may be rounded results of folding")
    if any(f & UNSURE for f in flags):
        unknown = ", ".join(sorted(a.tape.unknown | b.tape.unknown))
        reasons.append(f"the field does not know properties of {unknown}")
    told = "" if apart is None else f"; they differ by {apart:.1e} at random states"
    return NOT_PROVABLE, f"{_listed(some)}: {' and '.join(reasons)}{told}", some


def _listed(names: list[str] | tuple[str, ...]) -> str:
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
