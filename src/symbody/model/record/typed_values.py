"""Numbers with units as they are typed: 30deg, 5mm, 2 rad/s, 10N, pi/6. Plain numbers are SI and radians."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from symbody.basics.errors import ModelError, NameLookupError, ParseError, SymbodyError, floats, is_lost
from symbody.model.record.origin import shown
from symbody.model.record.units import KINDS, SHAPE, Powers, Unit, read_unit

_NUMBER = re.compile(
    r"\s*([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?|[+-]?(?:inf|nan)(?:inity)?)\s*(.*)", re.I | re.S
)


def read_value(text: str, unit: str | None, what: str) -> float:
    """A finite number in SI units. unit: of the quantity; "" for a plain number, None where it is not known.

    what: names the quantity in messages, such as "q0 of 'elbow'".
    """
    number, given = _split(text, unit, what)
    if not math.isfinite(number):
        raise ModelError(f"{what} is {text.strip()}; expected a finite number.")
    if given is None:
        return number
    wanted = None if unit is None else _declared(unit)
    if wanted is not None and not _same(given.powers, wanted.powers):
        raise ModelError(f"{what} is {text.strip()}; expected {_words(wanted, unit)}")
    return number * given.factor


def numbers(value: Any, what: str, unit: str | None = None) -> np.ndarray:
    """Numbers as a caller gives them, where each may be a text: 0.5, [0.5, "30*deg"], "30deg"; finite or not."""
    try:
        if isinstance(value, str):
            if unit is None and not is_value(value):
                raise ValueError("no number")
            return np.array(read_value(value, unit, what))
        if isinstance(value, (list, tuple)) and any(isinstance(x, str) for x in value):
            return np.array([numbers(x, what, unit) for x in value], dtype=float)
        return np.array(floats(value))
    except (TypeError, ValueError):
        raise ModelError(f"{what} is {shown(value)}; expected numbers, or texts such as '30*deg'.") from None


def shared_unit(units: str | Sequence[str], places: Iterable[int]) -> str | None:
    """The unit of some components, None where they differ or have none. units: one for all, or one for each."""
    if isinstance(units, str):
        return units or None
    found = {units[k] for k in places if k < len(units)}
    return next(iter(found)) or None if len(found) == 1 else None


def is_value(text: str) -> bool:
    """Whether a text is a number with or without a unit, rather than an expression of variables."""
    found = _NUMBER.fullmatch(text.rstrip())
    return found is not None and (not found[2] or SHAPE.fullmatch(found[2]) is not None)


def _split(text: str, unit: str | None, what: str) -> tuple[float, Unit | None]:
    """Number and unit; None for the unit where none was written."""
    found = _NUMBER.fullmatch(text.rstrip())
    word = found[2].removeprefix("*").lstrip() if found is not None else ""  # 30deg, 30 deg, 30*deg
    if found is None or (word and SHAPE.fullmatch(word) is None):
        return _constant(text, unit, what), None
    if is_lost(found[1], float(found[1])):
        raise ModelError(f"{what} is {text.strip():.60}, which is too small for a float; they begin at 4.9e-324.")
    if not word:
        return float(found[1]), None
    try:
        return float(found[1]), read_unit(word)
    except SymbodyError as error:
        raise type(error)(f"{what} is {text.strip()}: {error}") from None


def _constant(text: str, unit: str | None, what: str) -> float:
    """An expression of numbers, pi and deg, such as pi/6 or 2*deg."""
    from symbody.symbolic.expr.evaluate import evaluate
    from symbody.symbolic.expr.graph import Graph
    from symbody.symbolic.expr.parse import parse

    graph = Graph("values")
    try:
        return float(evaluate(parse(text, {"deg": graph.number(math.pi / 180)}, graph, strict=True), {}))
    except (ParseError, NameLookupError):
        wanted = None if unit is None else _declared(unit)
        told = "a number with or without a unit." if wanted is None else _words(wanted, unit)
        raise ModelError(f"{what} is {text.strip()!r}; expected {told}") from None
    except (SymbodyError, ArithmeticError, ValueError) as error:
        raise ModelError(f"{what} is {text.strip()!r}, which has no value: {error}.") from None


def _declared(unit: str) -> Unit | None:
    """The unit that a model declares; None if it is written in words that are not known here."""
    try:
        return read_unit(unit)
    except SymbodyError:
        return None


def _same(given: Powers, wanted: Powers) -> bool:
    """Radians may be left out (N m/rad is N m) where the rest says what is meant; an angle must be one."""
    if given[:3] + given[4:] != wanted[:3] + wanted[4:]:
        return False
    plain = wanted[0] == 0 and wanted[1] == 0 and not any(wanted[4:])  # angles, their rates, times and numbers
    return not plain or given[3] == wanted[3]


def _words(wanted: Unit, unit: str | None) -> str:
    words = KINDS.get(wanted.powers)
    return f"{words}." if words else f"a quantity in {unit}."
