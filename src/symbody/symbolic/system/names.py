"""Names of Systems, of their arguments, and of the components of these."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

LONGEST_NUMBER = 18  # digits of a place; Python refuses to read thousands of them


def identifier(name: str) -> str:
    """A name with letters, digits and _ only, a letter or _ first."""
    text = "".join(c if c.isalnum() else "_" for c in name)
    return text if text[:1].isalpha() or text[:1] == "_" else f"_{text}"


def components(labels: Sequence[str], size: int, part: str) -> list[int]:
    """Places that a name means: a label, all labels <part>.1, <part>.2 ..., or a number counted from 1; [] if none."""
    if part in labels:
        return [list(labels).index(part)]
    several = [i for i, label in enumerate(labels) if label.rpartition(".")[0] == part]
    if several:
        return several
    place = place_of(part, size)
    return [] if place is None else [place]


def place_of(part: str, size: int) -> int | None:
    """The place that a number from 1 to `size` means; None for another text: Python has digits that are no numbers."""
    if not (part.isascii() and part.isdigit() and len(part) <= LONGEST_NUMBER and 1 <= int(part) <= size):
        return None
    return int(part) - 1


def stems(labels: Iterable[str]) -> list[str]:
    """Names for messages: every label once, those of several components by their joint's name."""
    out: dict[str, None] = {}
    for label in labels:
        head, _, number = label.rpartition(".")
        out[head if head and number.isdigit() else label] = None
    return list(out)
