"""Every exception of symbody. Each message says what was given, what was expected and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class SymbodyError(Exception):
    """Base of all errors that symbody raises on purpose."""


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


class CompileError(SymbodyError):
    """A Program cannot be turned into a Kernel on this machine."""


class SolveError(SymbodyError):
    """An implicit block did not converge in a call for one state."""


SHOWN = 12  # names listed where none is close


def nearest(name: str, known: Iterable[str]) -> str:
    """A closing sentence for an unknown name: the nearest known ones, or the first of all."""
    known = list(known)
    close = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    if close:
        return "Did you mean " + " or ".join(repr(c) for c in close) + "?"
    if known and len(known) <= SHOWN + 3:
        return "Known: " + ", ".join(repr(k) for k in known) + "."
    if not known:
        return "There are no names to choose from."
    return "Known: " + ", ".join(repr(k) for k in known[:SHOWN]) + f" and {len(known) - SHOWN} more."
