"""How far long work is: who works tells, who listens shows it. Nobody listens but the command line on a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Protocol


class Listener(Protocol):
    def made(self, kind: str) -> None:
        """One more piece of this kind was made: equations, a program, a choice."""
        ...

    def hidden(self) -> AbstractContextManager[None]:
        """While something else shows how far the work is."""
        ...


_LISTENER: ContextVar[Listener | None] = ContextVar("listener", default=None)


def made(kind: str) -> None:
    """Tell that one more piece of work of this kind is done."""
    listener = _LISTENER.get()
    if listener is not None:
        listener.made(kind)


def hidden() -> AbstractContextManager[None]:
    """Nothing is shown meanwhile, because a bar of its own is."""
    listener = _LISTENER.get()
    return nullcontext() if listener is None else listener.hidden()


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """The listener hears what is told inside."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)
