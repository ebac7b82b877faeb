"""Units: what their names mean, numbers with units inside expressions, and whether expressions make sense in units.

Models are SI and radians throughout; a unit is how a number is written (400*mm, 30*deg, 12*rpm), and what a parameter
declares itself to be. Radians count as plain numbers where dimensions are compared: N m/rad is N m.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from symbody.basics.errors import ModelError, NameLookupError, SymbodyError, is_lost, nearest
from symbody.symbolic.expr.function_row import FUNCTIONS
from symbody.symbolic.expr.node import ADD, ALIAS, CONST, MUL, POW, SCALE, SYMBOL, Node
from symbody.symbolic.expr.quotients import QUOTIENT
from symbody.symbolic.expr.walk import topological

# powers of metre, kilogram, second, radian, ampere, kelvin
Powers = tuple[int, int, int, int, int, int]
Dimension = tuple[Fraction, ...]  # the same without radians
Dimensions = dict[Node, Dimension | None]  # of expressions, as far as they are known
NUMBER: Powers = (0, 0, 0, 0, 0, 0)
ANY = "any"  # the unit of a quantity that may have any


def _si(
    metre: int = 0, kilogram: int = 0, second: int = 0, radian: int = 0, ampere: int = 0, kelvin: int = 0
) -> Powers:
    return (metre, kilogram, second, radian, ampere, kelvin)


LENGTH, MASS, TIME, ANGLE = _si(1), _si(0, 1), _si(0, 0, 1), _si(0, 0, 0, 1)
FORCE, WORK, POWER, PRESSURE = _si(1, 1, -2), _si(2, 1, -2), _si(2, 1, -3), _si(-1, 1, -2)
CURRENT, VOLTAGE = _si(ampere=1), _si(2, 1, -3, ampere=-1)

# name -> (factor to SI, powers)
UNITS: dict[str, tuple[float, Powers]] = {
    "m": (1.0, LENGTH), "mm": (1e-3, LENGTH), "cm": (1e-2, LENGTH), "km": (1e3, LENGTH), "um": (1e-6, LENGTH),
    "kg": (1.0, MASS), "g": (1e-3, MASS), "t": (1e3, MASS),
    "s": (1.0, TIME), "ms": (1e-3, TIME), "us": (1e-6, TIME), "min": (60.0, TIME), "h": (3600.0, TIME),
    "rad": (1.0, ANGLE), "mrad": (1e-3, ANGLE), "deg": (math.pi / 180, ANGLE), "turn": (2 * math.pi, ANGLE),
    "rpm": (math.pi / 30, _si(0, 0, -1, 1)),
    "N": (1.0, FORCE), "kN": (1e3, FORCE), "mN": (1e-3, FORCE),
    "Nm": (1.0, WORK), "kNm": (1e3, WORK), "J": (1.0, WORK), "kJ": (1e3, WORK),
    "W": (1.0, POWER), "kW": (1e3, POWER),
    "Pa": (1.0, PRESSURE), "kPa": (1e3, PRESSURE), "MPa": (1e6, PRESSURE), "GPa": (1e9, PRESSURE),
    "Hz": (1.0, _si(0, 0, -1)), "K": (1.0, _si(kelvin=1)),
    "A": (1.0, CURRENT), "mA": (1e-3, CURRENT), "V": (1.0, VOLTAGE), "mV": (1e-3, VOLTAGE),
    "ohm": (1.0, _si(2, 1, -3, ampere=-2)), "H": (1.0, _si(2, 1, -2, ampere=-2)),
    "F": (1.0, _si(-2, -1, 4, ampere=2)), "C": (1.0, _si(second=1, ampere=1)), "1": (1.0, NUMBER),
}  # fmt: skip
AMBIGUOUS = ("t",)  # a tonne only where a unit is expected; in expressions it is the time

# what is expected, in words
KINDS: dict[Powers, str] = {
    ANGLE: "an angle: rad or deg",
    LENGTH: "a length: m, cm or mm",
    MASS: "a mass: kg or g",
    TIME: "a time: s or ms",
    _si(0, 0, -1, 1): "an angular velocity: rad/s, deg/s or rpm",
    _si(1, 0, -1): "a velocity: m/s, mm/s or km/h",
    _si(1, 0, -2): "an acceleration: m/s^2",
    _si(2, 1): "a moment of inertia: kg m^2",
    FORCE: "a force: N or kN",
    WORK: "a torque: N m or kN m",
    NUMBER: "a plain number",
}

MOST_POWER = 20  # of a word in a unit
_WORD = re.compile(r"([A-Za-zµ°]+|1)(?:\^?(-?\d+))?")
# a unit, not an expression: words with powers, joined by blanks, points, * and /
SHAPE = re.compile(r"(?:[A-Za-zµ°]+|1)(?:\^?-?\d+)?(?:(?:\s*[·*/.]\s*|\s+)(?:[A-Za-zµ°]+|1)(?:\^?-?\d+)?)*")
_DIGITS = r"(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
_PART = r"[A-Za-zµ°]+(?:\s*(?:\^|\*\*)\s*-?\d+)?(?![\w(.])"
_QUANTITY = re.compile(rf"(?<![\w.`])({_DIGITS})(?:\s*\*)?\s*({_PART}(?:\s*[*/]\s*{_PART})*)")
_JOINED = re.compile(rf"\s*([*/])\s*(?={_PART})")


@dataclass(frozen=True)
class Unit:
    """A factor to SI and the powers of metre, kilogram, second, radian, ampere, kelvin."""

    factor: float
    powers: Powers


@lru_cache(maxsize=512)  # a file asks for a few of them, once for every number
def read_unit(text: str) -> Unit:
    """The Unit of "rad/s", "N m", "kg m^2", "km/h"; an unknown word is an error."""
    text = text.strip().replace("°", "deg").replace("µ", "u").replace("**", "^")
    factor, powers = 1.0, list(NUMBER)
    if not text:
        return Unit(factor, NUMBER)
    if not SHAPE.fullmatch(text):
        raise ModelError(f"{text!r} is no unit; expected such as rad, mm, N m, kg m^2, km/h.")
    for k, part in enumerate(text.split("/")):
        for name, power in _WORD.findall(part):
            if name not in UNITS:
                raise NameLookupError(f"{name!r} is no unit. {nearest(name, UNITS)}")
            digits = power.lstrip("-").lstrip("0") or ("0" if power else "1")
            if len(digits) > 2 or int(digits) > MOST_POWER:  # Python refuses to read thousands of digits
                raise ModelError(
                    f"{text[:100]!r} is no unit: it has the power {power[:20]}; at most {MOST_POWER} is expected."
                )
            exponent = int(digits) * (-1 if power.startswith("-") else 1) * (1 if k == 0 else -1)
            factor *= UNITS[name][0] ** exponent
            powers = [p + exponent * own for p, own in zip(powers, UNITS[name][1])]
    a, b, c, d, e, f = powers
    return Unit(factor, (a, b, c, d, e, f))


def declared_unit(text: Any, what: str) -> None:
    """A unit that a parameter declares: a known one of the SI, for its numbers are SI; an error says what to write."""
    if not isinstance(text, str):
        raise ModelError(f"{what} has the unit {text!r}; expected a text such as kg, m or N m/rad.")
    try:
        unit = read_unit(text)
    except SymbodyError as error:
        raise ModelError(f"{what} has the unit {text!r}: {error}") from None
    if not math.isclose(unit.factor, 1.0, rel_tol=1e-12):
        raise ModelError(
            f"{what} has the unit {text!r}, which is no unit of the SI; numbers of models are. Write the number with "
            f"its unit, such as default: 5*{text.split()[0]}, and declare {si_text(unit.powers)}."
        )


def si_text(powers: Powers) -> str:
    """The unit in SI words, such as kg m^2."""
    words = ("m", "kg", "s", "rad", "A", "K")
    order = (1, 0, 2, 3, 4, 5)
    parts = [words[k] + (f"^{powers[k]}" if powers[k] != 1 else "") for k in order if powers[k]]
    return " ".join(parts) or "1"


# -- numbers with units inside expressions


def quantities(text: str, known: Mapping[str, Any], short: bool = True) -> tuple[str, dict[str, tuple[float, Powers]]]:
    """An expression with its numbers that have units (400*mm, 5 kN/m) as names, and what these stand for.

    Words that the model knows are its own: in 2*m the m is a parameter of that name, where there is one. short: whether
    units of one letter count; where nothing is known of the quantity, they are rather names that were forgotten.
    """
    found: dict[str, tuple[float, Powers]] = {}

    def is_unit(word: str) -> bool:
        word = word.replace("°", "deg").replace("µ", "u")
        taken = word in known or word in FUNCTIONS or word in AMBIGUOUS
        return word in UNITS and not taken and (short or len(word) > 1)

    def replaced(match: re.Match[str]) -> str:
        rest, unit = match[2], ""
        while rest:  # words one by one, as long as they are units
            word = re.match(_PART, rest)
            letters = re.match(r"[A-Za-zµ°]+", rest)
            if word is None or letters is None:
                break
            if not is_unit(letters[0]):
                break
            unit, rest = unit + word[0], rest[word.end() :]
            joint = _JOINED.match(rest)
            after = re.match(r"[A-Za-zµ°]+", rest[joint.end() :]) if joint else None
            if joint is None or after is None or not is_unit(after[0]):
                break
            unit, rest = unit + joint[1], rest[joint.end() :]
        if not unit or is_lost(match[1], float(match[1])):  # which the parser refuses
            return match[0]
        read = read_unit(_in_order(unit))
        name = f"quantity_{len(found) + 1}_"
        found[name] = (float(match[1]) * read.factor, read.powers)
        return name + rest

    return _QUANTITY.sub(replaced, text), found


def _in_order(unit: str) -> str:
    """5*N/m*s in an expression divides by m alone; a unit text divides by all that follows."""
    pieces = re.split(r"\s*([*/])\s*", unit)
    over, under = [pieces[0]], list[str]()
    for sign, word in zip(pieces[1::2], pieces[2::2]):
        (over if sign == "*" else under).append(word)
    plain = " ".join(w.replace(" ", "") for w in over)
    return plain + ("/" + " ".join(w.replace(" ", "") for w in under) if under else "")


# -- dimensions of expressions


class Inconsistent(ModelError):
    """Quantities that cannot be added, or a function of something that has a unit."""


def dimension(node: Node, exact: bool = False, made: Dimensions | None = None) -> Dimension | None:
    """Dimension of an expression by the units that its symbols declare; None where it is not known.

    A number may stand for anything, and so may its products; with `exact`, whole numbers and fractions are plain.
    made: what was found before with the same `exact`, and what is found now.
    """
    made = {} if made is None else made
    for n in topological([node], made.__contains__):
        made[n] = _dimension(n, [made[a] for a in n.args], exact)
    return made[node]


def _dimension(node: Node, parts: list[Dimension | None], exact: bool) -> Dimension | None:
    op = node.op
    if op is SYMBOL:
        # the time stands in laws such as sin(2*t), whose numbers have units that nobody writes
        told = node.data.role != "time" and _is_unit(node.data.unit)
        return plain_dimension(read_unit(node.data.unit).powers) if told else None
    if op is CONST:
        return None
    if op is SCALE:
        return parts[0] if node.data == -1 or (exact and not isinstance(node.data, float)) else None
    if op is ALIAS:
        return parts[0]
    if op is MUL:
        known_all = [p for p in parts if p is not None]
        return tuple(sum(x, Fraction(0)) for x in zip(*known_all)) if len(known_all) == len(parts) else None
    if op == QUOTIENT:
        top, bottom = parts
        return None if top is None or bottom is None else tuple(a - b for a, b in zip(top, bottom))
    if op is POW:
        exponent = node.data
        if parts[0] is None or (exponent.__class__ is float and not math.isfinite(exponent)):
            return None
        return tuple(x * Fraction(exponent) for x in parts[0])
    if op is ADD:
        known = [(p, a) for p, a in zip(parts, node.args) if p is not None]
        for p, a in known[1:]:
            if p != known[0][0]:
                raise Inconsistent(f"{known[0][1]} ({_said(known[0][0])}) and {a} ({_said(p)}) are added")
        return known[0][0] if known else None
    if op in ("sin", "cos", "tan"):
        if parts[0] is not None and any(parts[0]):
            raise Inconsistent(f"{op} is taken of {node.args[0]}, which is in {_said(parts[0])}")
        return None
    return parts[0] if op == "abs" else None


def _is_unit(text: str) -> bool:
    if not text:
        return False
    try:
        read_unit(text)
    except SymbodyError:
        return False
    return True


@lru_cache(maxsize=512)
def plain_dimension(powers: Powers) -> Dimension:
    """Without radians."""
    return tuple(Fraction(p) for k, p in enumerate(powers) if k != 3)


def _said(found: Dimension) -> str:
    words = ("m", "kg", "s", "A", "K")
    order = (1, 0, 2, 3, 4)
    parts = [words[k] + (f"^{found[k]}" if found[k] != 1 else "") for k in order if found[k]]
    return " ".join(parts) or "plain numbers"


def check_dimension(
    node: Node, unit: str, what: str, text: str, exact: bool = False, made: Dimensions | None = None
) -> str:
    """What is wrong with an expression where a quantity in `unit` is expected; "" if nothing is known to be."""
    try:
        found = dimension(node, exact, made)
    except Inconsistent as error:
        return f"{what} is {text}: {error}; expected terms of one unit."
    if not unit or unit == ANY or found is None or not any(found):  # a plain number may stand for anything
        return ""
    wanted = read_unit(unit).powers
    if found == plain_dimension(wanted):
        return ""
    return f"{what} is {text}, which is in {_said(found)}; expected {KINDS.get(wanted, f'a quantity in {unit}')}."
