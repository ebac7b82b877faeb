"""What records are made of: mappings and arrays that cannot be changed after the record is made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np


class FrozenMapping(Mapping[str, Any]):
    """A mapping without a way to write; unlike `types.MappingProxyType` it has no other owner and can be copied."""

    __slots__ = ("_entries",)

    def __init__(self, entries: Mapping[str, Any]) -> None:
        self._entries = dict(entries)

    def __getitem__(self, key: str) -> Any:
        return self._entries[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return repr(self._entries)


def freeze(record: Any, *fields: str) -> None:
    """Make the mappings and arrays of a frozen dataclass read-only; what others could still write to is copied."""
    for field in fields:
        value = getattr(record, field)
        if isinstance(value, np.ndarray):
            if value.flags.writeable:
                value = value.copy()
                value.setflags(write=False)
                object.__setattr__(record, field, value)
        elif isinstance(value, Mapping) and not isinstance(value, FrozenMapping):
            object.__setattr__(record, field, FrozenMapping(value))
