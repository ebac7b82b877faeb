"""Numbers with units as they are typed: 30deg, 5mm, 2 rad/s, 10N, pi/6. Plain numbers are SI and radians."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from symbody.errors import ModelError, NameLookupError, ParseError, SymbodyError, nearest

# name -> (factor to SI, powers of metre, kilogram, second, radian)
Powers = tuple[int, int, int, int]
_LENGTH, _MASS, _TIME, _ANGLE = (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1)
_FORCE, _WORK = (1, 1, -2, 0), (2, 1, -2, 0)
UNITS: dict[str, tuple[float, Powers]] = {
    "m": (1.0, _LENGTH), "mm": (1e-3, _LENGTH), "cm": (1e-2, _LENGTH), "km": (1e3, _LENGTH), "um": (1e-6, _LENGTH),
    "kg": (1.0, _MASS), "g": (1e-3, _MASS),
    "s": (1.0, _TIME), "ms": (1e-3, _TIME), "us": (1e-6, _TIME), "min": (60.0, _TIME), "h": (3600.0, _TIME),
    "rad": (1.0, _ANGLE), "mrad": (1e-3, _ANGLE), "deg": (math.pi / 180, _ANGLE), "turn": (2 * math.pi, _ANGLE),
    "rpm": (math.pi / 30, (0, 0, -1, 1)),
    "N": (1.0, _FORCE), "kN": (1e3, _FORCE), "mN": (1e-3, _FORCE),
    "Nm": (1.0, _WORK), "kNm": (1e3, _WORK), "J": (1.0, _WORK), "kJ": (1e3, _WORK),
    "W": (1.0, (2, 1, -3, 0)), "kW": (1e3, (2, 1, -3, 0)),
    "Pa": (1.0, (-1, 1, -2, 0)), "kPa": (1e3, (-1, 1, -2, 0)), "MPa": (1e6, (-1, 1, -2, 0)),
    "Hz": (1.0, (0, 0, -1, 0)), "1": (1.0, (0, 0, 0, 0)),
}  # fmt: skip

# what is expected, in words
KINDS: dict[Powers, str] = {
    _ANGLE: "an angle: rad or deg",
    _LENGTH: "a length: m, cm or mm",
    _MASS: "a mass: kg or g",
    _TIME: "a time: s or ms",
    (0, 0, -1, 1): "an angular velocity: rad/s, deg/s or rpm",
    (1, 0, -1, 0): "a velocity: m/s, mm/s or km/h",
    _FORCE: "a force: N or kN",
    _WORK: "a torque: N m or kN m",
    (0, 0, 0, 0): "a plain number",
}

_NUMBER = re.compile(
    r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[+-]?(?:inf|nan)(?:inity)?)\s*(.*?)\s*", re.I | re.S
)
_WORD = re.compile(r"([A-Za-zµ°]+|1)(?:\^?(-?\d+))?")
# a unit, not an expression: words with powers, joined by blanks, points, * and /
_SHAPE = re.compile(r"(?:[A-Za-zµ°]+|1)(?:\^?-?\d+)?(?:\s*[ ·*/.]\s*(?:[A-Za-zµ°]+|1)(?:\^?-?\d+)?)*")


@dataclass(frozen=True)
class Unit:
    """A factor to SI and the powers of metre, kilogram, second, radian."""

    factor: float
    powers: Powers


def read_unit(text: str) -> Unit:
    """The Unit of "rad/s", "N m", "kg m^2", "km/h"; an unknown word is an error."""
    text = text.strip().replace("°", "deg").replace("µ", "u")
    factor, powers = 1.0, [0, 0, 0, 0]
    if not text:
        return Unit(factor, (0, 0, 0, 0))
    if not _SHAPE.fullmatch(text):
        raise ModelError(f"{text!r} is no unit; expected such as rad, mm, N m, kg m^2, km/h.")
    for k, part in enumerate(text.split("/")):
        for name, power in _WORD.findall(part):
            if name not in UNITS:
                raise NameLookupError(f"{name!r} is no unit. {nearest(name, UNITS)}")
            exponent = int(power or 1) * (1 if k == 0 else -1)
            factor *= UNITS[name][0] ** exponent
            powers = [p + exponent * own for p, own in zip(powers, UNITS[name][1])]
    return Unit(factor, (powers[0], powers[1], powers[2], powers[3]))


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


def is_value(text: str) -> bool:
    """Whether a text is a number with or without a unit, rather than an expression of variables."""
    found = _NUMBER.fullmatch(text)
    return found is not None and (not found[2] or _SHAPE.fullmatch(found[2]) is not None)


def _split(text: str, unit: str | None, what: str) -> tuple[float, Unit | None]:
    """Number and unit; None for the unit where none was written."""
    found = _NUMBER.fullmatch(text)
    if found is None or (found[2] and _SHAPE.fullmatch(found[2]) is None):
        return _constant(text, unit, what), None
    if not found[2]:
        return float(found[1]), None
    try:
        return float(found[1]), read_unit(found[2])
    except SymbodyError as error:
        raise type(error)(f"{what} is {text.strip()}: {error}") from None


def _constant(text: str, unit: str | None, what: str) -> float:
    """An expression of numbers, pi and deg, such as pi/6 or 2*deg."""
    from symbody.expr.evaluate import evaluate
    from symbody.expr.graph import Graph
    from symbody.expr.parse import parse

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
    if given[:3] != wanted[:3]:
        return False
    plain = wanted[0] == 0 and wanted[1] == 0  # angles, their rates, times and numbers
    return not plain or given[3] == wanted[3]


def _words(wanted: Unit, unit: str | None) -> str:
    words = KINDS.get(wanted.powers)
    return f"{words}." if words else f"a quantity in {unit}."
