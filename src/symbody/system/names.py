"""Names of Systems and of their arguments."""

from __future__ import annotations


def identifier(name: str) -> str:
    """A name with letters, digits and _ only, a letter or _ first."""
    text = "".join(c if c.isalnum() else "_" for c in name)
    return text if text[:1].isalpha() or text[:1] == "_" else f"_{text}"
