"""Packages that only some results need: imported when asked for, with a sentence where one is missing."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from symbody.basics.errors import SymbodyError


def extra(module: str, group: str = "files") -> Any:
    """A package of an extra of symbody, or an error that says how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise SymbodyError(
            f'{package} is needed here and is not installed. Run: pip install "symbody[{group}]"'
        ) from error


def is_words(kind: Any) -> bool:
    """Whether an Arrow type is that of texts that are kept once each."""
    types = extra("pyarrow").types
    return bool(types.is_dictionary(kind) and types.is_string(kind.value_type))


def is_number(kind: Any) -> bool:
    """Whether an Arrow type is that of numbers or truth values: rows and columns bound what they take."""
    types = extra("pyarrow").types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))
