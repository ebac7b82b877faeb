"""Log: a sequence that only grows, as a frozen value: each longer one shares what it has in common with the one before.

A run appends thousands of times. Where a run is continued twice from one state, the second copies what came before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Generic, TypeVar, overload

T = TypeVar("T")


class Log(Sequence[T], Generic[T]):
    """Never changes: `log.plus(items)` is another one."""

    __slots__ = ("_items", "_size")

    def __init__(self, items: Iterable[T] = ()) -> None:
        self._items: list[T] = list(items)
        self._size = len(self._items)

    def plus(self, items: Iterable[T]) -> Log[T]:
        """This one and, after it, `items`."""
        new = list(items)
        if not new:
            return self
        out: Log[T] = Log.__new__(Log)
        # the shared list ends where this one does, unless another was continued from here already
        out._items = self._items if len(self._items) == self._size else self._items[: self._size]
        out._items += new
        out._size = self._size + len(new)
        return out

    def upto(self, size: int) -> Log[T]:
        """The first `size` items."""
        out: Log[T] = Log.__new__(Log)
        out._items, out._size = self._items, min(size, self._size)
        return out

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[T]:
        for k in range(self._size):
            yield self._items[k]

    @overload
    def __getitem__(self, key: int) -> T: ...
    @overload
    def __getitem__(self, key: slice) -> list[T]: ...
    def __getitem__(self, key: int | slice) -> T | list[T]:
        if isinstance(key, slice):
            return [self._items[k] for k in range(*key.indices(self._size))]
        if not -self._size <= key < self._size:
            raise IndexError(f"item {key} of {self._size}")
        return self._items[key % self._size]

    def __reduce__(self) -> tuple[type[Log[T]], tuple[list[T]]]:
        return Log, (self[:],)
