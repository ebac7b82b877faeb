"""A progress bar over simulated time, with its rate and the time that is left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from symbody.basics.progress import hidden

Watch = Callable[[float], None]


@contextmanager
def progress_bar(title: str, start: float, end: float, shown: bool = True) -> Iterator[Watch | None]:
    """A function to call with the time that was reached after each stretch; None where nothing is to be shown."""
    if not shown:
        yield None
        return
    with _bar(title, end - start, "s") as update:
        yield lambda t: update(t - start)


@contextmanager
def counted(title: str, total: int, shown: bool = True) -> Iterator[Watch]:
    """A function to call with the number of members that are done."""
    if not shown:
        yield lambda done: None
        return
    with _bar(title, total, "members") as update:
        yield update


@contextmanager
def _bar(title: str, total: float, unit: str) -> Iterator[Watch]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        ProgressColumn,
        Task,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class Rate(ProgressColumn):
        """How many units a second."""

        def render(self, task: Task) -> Text:
            return Text("" if not task.speed else f"{task.speed:.3g} {unit} a second")

    columns: list[Any] = [
        TextColumn("{task.description}"), BarColumn(),
        TextColumn(f"{{task.completed:.3g}} of {{task.total:.3g}} {unit}"),
        Rate(), TimeElapsedColumn(), TextColumn("left:"), TimeRemainingColumn(),
    ]  # fmt: skip
    # on stderr, so that results can be piped
    with hidden(), Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=total)
        yield lambda done: bar.update(task, completed=done)
