"""Tokens of expression texts, and errors that show the place."""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from symbody.basics.errors import ParseError

LONGEST = 1_000_000  # characters of a text
WINDOW = 60  # characters shown on either side of an error

_TOKEN = re.compile(
    r"""(?P<space>\s+)
      | (?P<number>0[xX][0-9a-fA-F]+|(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)(?:[eE][+-]?[0-9]+)?)
      | (?P<name>[^\W\d]\w*(?:\.\w+)*)
      | `(?P<quoted>(?:[^`]|``)+)`
      | (?P<sign>\*\*|<=|>=|==|!=|[-+*/^<>(),\[\]])""",
    re.VERBOSE,
)

HINTS = {"=": " Write ==.", "%": " Write mod(a, b).", "&": " Write and.", "|": " Write or.", "!": " Write not."}


class Token(NamedTuple):
    """kind: number, name, quoted, sign or end; `place` is where it starts in the text."""

    kind: str
    text: str
    place: int


def tokens(text: str, limit: int = LONGEST) -> list[Token]:
    """The tokens of a text, with an `end` token last."""
    if len(text) > limit:
        raise ParseError(f"the text has {len(text)} characters; at most {limit} are read. Split it, or raise limit=.")
    out: list[Token] = []
    place = 0
    while place < len(text):
        found = _TOKEN.match(text, place)
        if found is None:
            c = text[place]
            raise error_at(text, place, f"the character {c!r} has no meaning here.{HINTS.get(c, '')}")
        kind = found.lastgroup or ""
        if kind != "space":
            word = found.group(kind)
            if kind == "name":
                _check_name(text, place, word)
            out.append(Token(kind, word.replace("``", "`") if kind == "quoted" else word, place))
        place = found.end()
    out.append(Token("end", "the end of the text", len(text)))
    return out


def raised(character: str) -> bool:
    """Whether a character is raised or a fraction, as in x² and x½: to a reader a power or a factor."""
    return unicodedata.decomposition(character).startswith(("<super>", "<fraction>"))


def _check_name(text: str, place: int, name: str) -> None:
    if not name.isascii():
        for k, c in enumerate(name):
            if raised(c):
                message = f"the character {c!r} has no meaning here. Write ^ and the exponent, or `{name}` for a name."
                raise error_at(text, place + k, message)


def error_at(text: str, place: int, message: str, kind: type[Exception] = ParseError) -> Exception:
    """An error whose message ends with the line and a caret under the place."""
    start = text.rfind("\n", 0, place) + 1
    end = text.find("\n", place)
    line = text[start : end if end >= 0 else len(text)]
    column = place - start
    first, last = max(0, column - WINDOW), column + WINDOW
    head = "..." if first else ""
    shown = head + line[first:last].replace("\t", " ") + ("..." if last < len(line) else "")
    number = text.count("\n", 0, start) + 1
    prefix = f"  line {number}: "
    return kind(f"{message}\n{prefix}{shown}\n{' ' * (len(prefix) + len(head) + column - first)}^")
