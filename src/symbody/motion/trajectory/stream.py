"""Batches too large for memory: chunks of members, one after the other into a file or to a function."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from symbody.basics.atomic_file import write_whole
from symbody.basics.errors import DefinitionError, FormatError, whole_argument
from symbody.motion.trajectory.optional_packages import extra
from symbody.motion.trajectory.outcome import worst
from symbody.motion.trajectory.stream_file import stream_parts
from symbody.motion.trajectory.trajectory import Trajectory

Receiver = Callable[[int, Trajectory], None]
BYTES = 32_000_000  # of samples in a chunk whose size is not given
SMALLEST, LARGEST = 64, 65536  # members in such a chunk


@dataclass(frozen=True, eq=False)
class Stream:
    """Where the members of a batch go, chunk by chunk.

    to      path of a .parquet file, or a function of (number of the first member, Trajectory of the chunk)
    chunk   members in a chunk; None: some ten megabytes of samples
    """

    to: str | Path | Receiver
    chunk: int | None = None

    def __post_init__(self) -> None:
        if self.chunk is not None:
            whole_argument("chunk", self.chunk, 1)
        if isinstance(self.to, str | Path):
            if Path(self.to).suffix.lower() != ".parquet":
                raise FormatError(f"stream goes to {str(self.to)!r}; expected a file .parquet, or a function.")
            extra("pyarrow.parquet")
        elif not callable(self.to):
            raise DefinitionError(f"stream is {self.to!r}; expected a path, or a function of (member, trajectory).")

    def size(self, samples: int, components: int) -> int:
        """Members in a chunk, each with so many samples of so many components."""
        if self.chunk is not None:
            return self.chunk
        return int(np.clip(BYTES // (8 * max(samples * components, 1)), SMALLEST, LARGEST))


def stream_of(given: str | Path | Receiver | Stream) -> Stream:
    """A path or a function as a Stream."""
    return given if isinstance(given, Stream) else Stream(given)


class Tally:
    """Chunks on their way: what each adds to the summary of all."""

    def __init__(self, chunks: Iterable[tuple[int, Trajectory]]) -> None:
        self.chunks = chunks
        self.outcomes: list[np.ndarray] = []
        self.statistics: dict[str, float] = {}
        self.last: Trajectory | None = None

    def __iter__(self) -> Iterator[tuple[int, Trajectory]]:
        for first, chunk in self.chunks:
            assert chunk.outcomes is not None
            self.outcomes.append(chunk.outcomes)
            for name, number in chunk.statistics.items():
                self.statistics[name] = self.statistics.get(name, 0) + number
            self.last = chunk.replace(values={}, events=(), notes=(), run=None)
            yield first, chunk

    def summary(self, note: str) -> Trajectory:
        """A Trajectory without values: outcomes of all members, and their counts together."""
        assert self.last is not None
        outcomes = np.concatenate(self.outcomes)
        return self.last.replace(
            outcome=worst(outcomes), outcomes=outcomes, statistics=self.statistics, labels={}, units={}, notes=(note,)
        )


def send(stream: Stream, chunks: Iterable[tuple[int, Trajectory]]) -> Trajectory:
    """All chunks, (first member, Trajectory), to where the stream goes. A file is whole or as it was before."""
    tally = Tally(chunks)
    if isinstance(stream.to, str | Path):
        path = write_whole(stream.to, stream_parts(tally, lambda: tally.statistics))
        return tally.summary(f"the samples of all members are in {path}.")
    for first, chunk in tally:
        stream.to(first, chunk)
    return tally.summary("the samples of all members went to a function, chunk by chunk.")
