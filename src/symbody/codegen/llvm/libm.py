"""Functions of the C library that native code calls, reached through a table of pointers that the caller passes in.

No symbol has to be found at load time. Compiled code holds places in the table: it only ever grows, and the cache tells
code apart that was made with other places.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import sys
from typing import Any

from symbody.basics.errors import CompileError
from symbody.symbolic.expr.function_row import FUNCTIONS, added_functions

# Of symbody's own functions, in the order of their rows; sines and cosines, which have a slow branch, come first.
_built_in = [row.libm for row in FUNCTIONS.values() if row.libm and row not in added_functions()]
_names: list[str] = [*sorted(_built_in, key=lambda name: name not in ("sin", "cos")), "fma"]
_tables: list[Any] = []  # all that were handed out: code may still point to a shorter one


def libm_index(name: str) -> int:
    """Place of a function in the table."""
    if name not in _names:
        _find(name)
        _names.append(name)
    return _names.index(name)


def libm_table() -> Any:
    """ctypes array of the addresses, in order."""
    if not _tables or len(_tables[-1]) != len(_names):
        _tables.append((ctypes.c_void_p * len(_names))(*map(_find, _names)))
    return _tables[-1]


def libm_address() -> int:
    return ctypes.addressof(libm_table())


def _find(name: str) -> int:
    """Address of a function of the C library."""
    try:
        return int(ctypes.cast(getattr(_library(), name), ctypes.c_void_p).value or 0)
    except AttributeError:
        raise CompileError(f"The C library of this machine has no function '{name}'.") from None


def _library() -> ctypes.CDLL:
    if sys.platform == "win32":
        return ctypes.CDLL("ucrtbase")
    name = ctypes.util.find_library("m")
    try:
        return ctypes.CDLL(name)
    except OSError:
        return ctypes.CDLL(None)
