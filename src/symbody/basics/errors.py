"""Every exception of symbody. Each message says what was given, what was expected and what to do.

An error about an argument is made of parts: `DefinitionError(argument("step", -1.0), "; expected ...")` reads
"step=-1.0; expected ..." in Python and "--step -1.0; expected ..." on the command line. `real_argument`,
`whole_argument`, `word_argument` and `wrong_argument` word the usual ones.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")
LONGEST = 400  # characters of a value in a sentence
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class Named:
    """An argument in a sentence: its name in Python and, unless only the name is meant, the value as text."""

    name: str
    value: str = ""

    def __str__(self) -> str:
        return f"{self.name}={self.value}" if self.value else self.name


def argument(name: str, value: Any) -> Named:
    """An argument with the value that it was given."""
    return Named(name, shown(value))


def shown(value: Any) -> str:
    """A value as a sentence shows it: a long one by its two ends, one without a text by its kind."""
    try:
        text = repr(value)
    except Exception:  # whole numbers of more digits than Python writes, objects of others
        return f"<{type(value).__name__}>"
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 60]} ... {text[-40:]}"


class SymbodyError(Exception):
    """Base of all errors that symbody raises on purpose; its arguments are the parts of one sentence.

    usage: whether the caller's words are at fault, where the command line knows it; its status is 2 then, else 1
    """

    usage: bool | None = None

    def __str__(self) -> str:
        return "".join(map(str, self.args))

    def said(self, option: Callable[[Named], str]) -> str:
        """The sentence with its arguments in other words, such as those of the command line."""
        return "".join(option(part) if isinstance(part, Named) else str(part) for part in self.args)


class ExpressionError(SymbodyError):
    """An expression cannot be formed: mixed Graphs, division by zero, a cyclic definition."""


class ParseError(SymbodyError):
    """A text is not an expression of the grammar; the message shows the line and a caret."""


class ShapeError(SymbodyError):
    """Sizes do not match; the message gives both."""


class NameLookupError(SymbodyError):
    """A name is unknown; the message proposes the nearest one."""


class DefinitionError(SymbodyError):
    """A System is not closed or not consistent: free symbols, missing outputs, double names."""


class ModelError(SymbodyError):
    """A model or its file is wrong; the message names file and line where they are known."""


class FormatError(SymbodyError):
    """A saved file is damaged, too large, or of another version."""


class DataError(SymbodyError):
    """Measured data do not support what is asked of them; the message names joints, columns and what to do."""


class CompileError(SymbodyError):
    """A Program cannot be turned into a Kernel on this machine."""


class DeviceError(SymbodyError):
    """There is no device, or it cannot do what is asked: no driver, an old one, too little memory, another device."""


class SolveError(SymbodyError):
    """An implicit block did not converge in a call for one state."""


SHOWN = 12  # names listed where none is close


def nearest(name: str, known: Iterable[str]) -> str:
    """A closing sentence for an unknown name: the nearest known ones, or the first of all."""
    known, name = list(known), name if isinstance(name, str) else shown(name)  # a number for a name is told, too
    close = [k for k in known if k.lower() == name.lower()]  # only capitals are wrong
    close = close or difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    if close:
        return "Did you mean " + " or ".join(repr(c) for c in close) + "?"
    if known and len(known) <= SHOWN + 3:
        return "Known: " + ", ".join(repr(k) for k in known) + "."
    if not known:
        return "There are no names to choose from."
    return "Known: " + ", ".join(repr(k) for k in known[:SHOWN]) + f" and {len(known) - SHOWN} more."


# -- the validator: arguments that are checked in the same words everywhere


def record_argument(owner: str, value: Any, kind: type, expected: str) -> None:
    """A record of this kind, such as a Mechanism, as the subject of a verb."""
    if not isinstance(value, kind):
        raise ModelError(f"{owner} was given {shown(value)}; expected {expected}.")


def wrong_argument(
    name: str,
    value: Any,
    expected: str,
    *hint: str | Named,
    owner: str = "",
    error: type[SymbodyError] = DefinitionError,
) -> SymbodyError:
    """The error about an argument: "simulate: step=-1; expected a positive number of seconds." and what to do."""
    head: list[str | Named] = [f"{owner}: "] if owner else []
    tail = [" ", *hint] if hint else []
    return error(*head, argument(name, value), f"; expected {expected}.", *tail)


def real_argument(
    name: str, value: Any, expected: str, above: float = -math.inf, least: float = -math.inf, **words: Any
) -> float:
    """A finite number > above and >= least, as a Python number; `expected` says so in words, with the unit."""
    real = hasattr(type(value), "__float__")
    real = real and not isinstance(value, bool | np.bool_ | np.ndarray | np.complexfloating)
    if not real or not is_finite(value) or value <= above or value < least:
        raise wrong_argument(name, value, expected, **words)
    return value if isinstance(value, int | float) else float(value)


def is_finite(value: Any) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond all doubles
        return False


def floats(value: Any) -> np.ndarray:
    """Real numbers as floats; TypeError or ValueError where NumPy would drop imaginary parts or masks, count dates."""
    array = np.asarray(value)
    if array.dtype.kind in "cmM" or (isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value)):
        raise TypeError("no real numbers")
    try:
        return np.asarray(array, dtype=float)
    except OverflowError:
        raise ValueError("a whole number beyond all doubles") from None


def float_of(text: str) -> float:
    """The number of a cell; ValueError for what only Python takes for one: 1_000 and digits of other scripts."""
    if "_" in text or not text.strip().isascii():
        raise ValueError(f"could not convert string to float: {text.strip()!r:.80}")
    return float(text)


def is_lost(text: str, value: float) -> bool:
    """Whether the text of a number that is not 0 gave 0: floats begin at 4.9e-324."""
    return value == 0 and any(c in "123456789" for c in text.lower().partition("e")[0])


def array_argument(name: str, value: Any, expected: str, **words: Any) -> np.ndarray:
    """An array of floats; its shape is left to the caller."""
    try:
        return floats(value)
    except (TypeError, ValueError):
        raise wrong_argument(name, value, expected, **words) from None


def whole_argument(name: str, value: Any, least: int, also: str = "", **words: Any) -> int:
    """A whole number from `least` on; `also` says what else is taken."""
    if not hasattr(type(value), "__index__") or isinstance(value, bool | np.bool_ | np.ndarray) or value < least:
        raise wrong_argument(name, value, f"a whole number from {least}{also}", **words)
    return int(value)


def word_argument(name: str, value: Any, known: Iterable[str], also: str = "", **words: Any) -> str:
    """A word among those known, with the nearest where it is none of them; `also` says what else is taken."""
    known = list(known)
    if not isinstance(value, str) or value not in known:
        close = difflib.get_close_matches(value, known, n=1, cutoff=0.5) if isinstance(value, str) else []
        hint = (f"Did you mean {close[0]!r}?",) if close else ()
        raise wrong_argument(name, value, f"one of {', '.join(known)}{also}", *hint, **words)
    return value


# -- registries


def add_row(table: dict[str, T], name: str, row: T, what: str, taken: Iterable[str] = ()) -> T:
    """Put a row into a registry under a name that is free there: rows that others rely on are never replaced."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise DefinitionError(f"the {what} has the name {name!r}; expected letters, digits and _.")
    if name in table or name in taken:
        raise DefinitionError(f"there is a {what} {name!r} already; expected another name.")
    table[name] = row
    return row


def remove_row(table: dict[str, Any], name: str, own: Collection[str], what: str) -> None:
    """Take a row out that was added; symbody's own stay."""
    if name in own:
        raise DefinitionError(f"{what} {name!r} is one of symbody's own; expected one that was added.")
    if name not in table:
        raise NameLookupError(f"there is no {what} {name!r}. {nearest(str(name), [n for n in table if n not in own])}")
    del table[name]
