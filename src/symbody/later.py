"""Delegates of records: functions further down the journey, found by name when they are called.

`mech.show()` is a word of users; what draws stands far below the record and is not loaded before it is asked for. The
same holds for what reads the record itself, such as `traj.save()`: it imports the record, not the record it. Such words
are few: whatever is no method of a record imports what it needs.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


def later(module: str, name: str) -> Any:
    """The function of this name in a module of symbody."""
    return getattr(import_module(f"symbody.{module}"), name)
