"""Packages that only some results need: imported when asked for, with a sentence where one is missing."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from symbody.errors import SymbodyError


def extra(module: str, group: str = "files") -> Any:
    """A package of an extra of symbody, or an error that says how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise SymbodyError(
            f'{package} is needed here and is not installed. Run: pip install "symbody[{group}]"'
        ) from error
