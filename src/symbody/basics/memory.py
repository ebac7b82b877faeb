"""Memory: what was derived from a record, kept in the record itself.

A record (Mechanism, System, Flow) never changes, so what follows from it is made once. It is kept in the record's own
dictionary, as `functools.cached_property` keeps its values, and not in a table beside it: what was derived may hold the
record, and both are freed together.

Rules, the same for all:
    - a key holds everything that the value depends on besides the record: options, numbers of parameters, instants
    - what is kept is frozen, or stateless: nobody may change it
    - what fails is not kept; it fails again, with the same sentence
    - two threads that ask for the same thing get one: the second waits. A record's makers may ask for what follows from
      records that it holds (Mechanism -> Flow -> System), never the other way: so no two threads wait for each other
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from threading import Lock, RLock
from typing import Any, TypeVar

from symbody.basics.progress import made

T = TypeVar("T")

PLACE = "_memory"  # in the dictionary of the record
MOST = 64  # values of one kind: the oldest gives way, so that a sweep over options does not fill the memory

_FIRST = Lock()  # of two threads that ask a record for the first time, one makes its Memory
_AGE = [0]  # how often all that was derived became void


class Memory:
    """Values by kind and key."""

    __slots__ = ("_age", "_kinds", "_lock", "owner")

    def __init__(self, owner: int) -> None:
        """owner: id of the record."""
        self.owner = owner
        self._age = _AGE[0]
        self._kinds: dict[str, dict[Hashable, Any]] = {}
        self._lock = RLock()

    def get(self, kind: str, key: Hashable, make: Callable[[], T], most: int = MOST) -> T:
        """The value of this kind and key; made, and kept, where there is none."""
        if self._age != _AGE[0]:
            self._kinds, self._age = {}, _AGE[0]
        try:
            found = self._kinds.get(kind, {}).get(key, self)
        except TypeError:
            return make()  # the key cannot be compared: an option that the maker is going to refuse
        if found is not self:
            return found
        with self._lock:
            kept = self._kinds.setdefault(kind, {})
            if key not in kept:
                value = make()
                made(kind)
                while len(kept) >= most:
                    del kept[next(iter(kept))]
                kept[key] = value
            return kept[key]

    def __deepcopy__(self, memo: dict[int, Any]) -> Memory:
        return self  # of a copy of the record, which has one of its own when it asks

    def __reduce__(self) -> tuple[type[Memory], tuple[int]]:
        return Memory, (0,)


def forget_all() -> None:
    """What every record keeps is made again: a function that it may call is no more what it was."""
    _AGE[0] += 1


def memory_of(record: Any) -> Memory:
    """The Memory of a record; a copy of the record has one of its own."""
    kept: Memory | None = record.__dict__.get(PLACE)
    if kept is None or kept.owner != id(record):
        with _FIRST:
            kept = record.__dict__.get(PLACE)
            if kept is None or kept.owner != id(record):
                kept = record.__dict__[PLACE] = Memory(id(record))
    return kept
