"""Random damage to model files: readers may refuse them, in one line, and fail in no other way."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from symbody.basics.errors import SymbodyError

PIECES = ("", "0", "-1", "1e29", "1e400", "1e-320", "nan", "<", ">", '"', "&amp;", "&x;", "\0", "é", "0 0 0", "1 2 3 4")


def damaged(text: str, rng: random.Random, words: Sequence[str]) -> str:
    """The text with one to four words replaced by others, or pieces cut out of it."""
    for _ in range(rng.randint(1, 4)):
        found = list(re.finditer(r"[\w.:/-]+", text))
        new = rng.choice([*PIECES, *words])
        if found and rng.random() < 0.7:
            word = rng.choice(found)
            text = text[: word.start()] + new + text[word.end() :]
        else:
            at = rng.randrange(len(text) + 1)
            text = text[:at] + new + text[at + rng.randint(0, 40) :]
    return text


def assert_read_or_refused(read: Callable[[Path], object], path: Path, text: str) -> None:
    """Any exception but a SymbodyError escapes and fails the test."""
    path.write_text(text, encoding="utf-8")
    message = ""
    try:
        read(path)
    except SymbodyError as error:
        message = str(error)
    assert "\n" not in message
