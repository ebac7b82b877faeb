"""Where a piece of a model was written, and errors that say so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from symbody.basics.errors import ModelError
from symbody.basics.errors import shown as whole

LONGEST_SENTENCE = 1600  # characters: names and values in it may be as long as the file


class Origin(str):
    """ "robot.yaml:12", the place of a piece, which knows the places of its fields besides."""

    fields: Mapping[str, str]

    def __new__(cls, text: str, fields: Mapping[str, str] | None = None) -> Origin:
        made = super().__new__(cls, text)
        made.fields = fields or {}
        return made


def place(origin: str, field: str) -> str:
    """The place of a field of a piece, where it is known; else that of the piece."""
    return origin.fields.get(field, origin) if isinstance(origin, Origin) else origin


def fault(origin: str, text: str) -> ModelError:
    """The error of a model: file and line where they are known, then the sentence, without the middle of a long one."""
    if len(text) > LONGEST_SENTENCE:
        text = f"{text[: LONGEST_SENTENCE // 2]} ... {text[-LONGEST_SENTENCE // 2 :]}"
    return ModelError(f"{origin}: {text}" if origin else text)


def is_name(value: Any) -> bool:
    """Whether a value is a text that can be written, and not blank."""
    return isinstance(value, str) and bool(value.strip()) and value == readable(value)


def readable(text: str) -> str:
    """A text that can be written: names of files may be bytes that are none, as from disks of other systems."""
    return text.encode(errors="replace").decode().replace("\0", "?")  # HDF5 ends texts at a NUL


def shown(value: Any) -> str:
    """A value in a sentence, shortened."""
    text = whole(value)
    return text if len(text) <= 60 else text[:57] + "..."
