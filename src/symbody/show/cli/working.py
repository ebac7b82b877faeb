"""The line that says how far a command is: after two seconds, on a terminal, on stderr, gone when the command ends.

Long work is made of pieces that symbody keeps in its memory (equations, programs, choices): the line counts them, with
their rate and the time that has passed. A search has a number of candidates, which is shown instead.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

from symbody.basics.progress import listening

if TYPE_CHECKING:
    from symbody.mechanics.verbs.smallest.budget import Progress

AFTER = 2.0  # s
EVERY = 0.2  # s
WORDS = {"kernel": "a program", "system": "equations"}  # kinds of parts, for users


class Working:
    """Listens to what is told, and writes one line from a thread of its own."""

    def __init__(self, stream: IO[str], title: str, clock: Any = time.monotonic) -> None:
        self.stream, self.title, self.clock = stream, title, clock
        self.start = clock()
        self._pieces, self._kind, self._search = 0, "", ""
        self._hidden, self._width = 0, 0
        self._lock = threading.RLock()
        self._end = threading.Event()

    # -- what is told

    def made(self, kind: str) -> None:
        with self._lock:
            self._pieces, self._kind = self._pieces + 1, WORDS.get(kind, kind.replace("_", " "))

    def search(self, text: str, done: float, since: float) -> None:
        """A search tells how far it is, in its own words; an empty text ends it."""
        with self._lock:
            self._search = text and f"{text}, {_rate(done, self.clock() - since)}"

    @contextmanager
    def hidden(self) -> Iterator[None]:
        with self._lock:
            self._hidden += 1
            self.clear()
        try:
            yield
        finally:
            with self._lock:
                self._hidden -= 1

    # -- what is shown

    def text(self) -> str:
        passed = self.clock() - self.start
        if self._search:
            return f"{self.title}: {self._search}, {passed:.0f} s"
        if not self._pieces:
            return f"{self.title}: at work, {passed:.0f} s"
        last = f" (last: {self._kind})" if self._kind else ""
        return f"{self.title}: {self._pieces} parts{last}, {_rate(self._pieces, passed)}, {passed:.0f} s"

    def draw(self) -> None:
        with self._lock:
            if self._hidden or self.clock() - self.start < AFTER:
                return
            text = self.text()
            self.stream.write(f"\r{text:<{self._width}}")
            self.stream.flush()
            self._width = len(text)

    def clear(self) -> None:
        with self._lock:
            if self._width:
                self.stream.write(f"\r{'':<{self._width}}\r")
                self.stream.flush()
                self._width = 0

    @contextmanager
    def shown(self) -> Iterator[Working]:
        """Draw now and then until the work is done; what is printed meanwhile stands on lines of its own."""

        def run() -> None:
            while not self._end.wait(EVERY):
                self.draw()

        thread = threading.Thread(target=run, name="working", daemon=True)
        before = sys.stdout
        if before is not None and before.isatty():
            sys.stdout = _Cleared(before, self)
        thread.start()
        try:
            with listening(self):
                yield self
        finally:
            self._end.set()
            thread.join()
            self.clear()
            sys.stdout = before


class _Cleared:
    """A terminal from which the line goes before anything else is written."""

    def __init__(self, stream: Any, line: Working) -> None:
        self._stream, self._line = stream, line

    def write(self, text: str) -> int:
        with self._line.hidden():
            return int(self._stream.write(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _rate(done: float, seconds: float) -> str:
    return f"{done / max(seconds, 1e-3):.3g} a second"


_current: Working | None = None


@contextmanager
def working(title: str, quiet: bool = False) -> Iterator[None]:
    """The line of a command; nothing where stderr is no terminal, within another command, or with --quiet."""
    global _current
    if quiet or _current is not None or sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    with Working(sys.stderr, title).shown() as line:
        _current = line
        try:
            yield
        finally:
            _current = None


@contextmanager
def search_line() -> Iterator[Callable[[Progress], None]]:
    """A function to which a search tells how far it is; the line of the command shows it."""
    start = time.monotonic()

    def show(progress: Progress) -> None:
        if _current is not None:
            _current.search(str(progress), progress.done, start)

    try:
        yield show
    finally:
        if _current is not None:
            _current.search("", 0, start)
