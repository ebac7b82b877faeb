"""Texts of users in emitted files: names, units and origins are data, and never more than a comment."""

from __future__ import annotations

import re

# ends of lines in any language, bytes that no text has, and marks that show a text in another order
_BREAKS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]+")
_ENDS = (("\\", "/"), ("*/", "* /"), ("/*", "/ *"), ('"""', "'''"))  # of comments and docstrings


def one_line(text: str) -> str:
    """The text as a part of a comment of one line, or of a block of such lines, in any language."""
    safe = _BREAKS.sub(" ", text)
    for end, other in _ENDS:
        safe = safe.replace(end, other)
    return safe
