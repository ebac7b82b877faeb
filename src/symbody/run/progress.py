"""A progress bar over simulated time, with the time that is left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from symbody.run.session import Session

Watch = Callable[[Session], None]


@contextmanager
def progress_bar(title: str, start: float, end: float, shown: bool = True) -> Iterator[Watch | None]:
    """A function to call with the Session after each stretch; None where nothing is to be shown."""
    if not shown:
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns: list[Any] = [
        TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed:.3g} of {task.total:.3g} s"),
        TimeElapsedColumn(), TextColumn("left:"), TimeRemainingColumn(),
    ]  # fmt: skip
    # on stderr, so that results can be piped
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=end - start)

        def watch(session: Session) -> None:
            bar.update(task, completed=session.t - start)

        yield watch
