"""Batches too large for memory: chunks of members, one after the other into a Parquet file or to a function.

The file is a table with one row for each instant of each member: `member` (counted from 0 over all chunks), time, the
components as in saved Trajectories, then `outcome` and the number of `events` of the member. Its rows come in groups,
one a chunk, so that readers need not hold all of it either.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from symbody.atomic_file import write_whole
from symbody.errors import DefinitionError, FormatError, whole_argument
from symbody.trajectory.columns import MEMBER, TIME, column_values, columns
from symbody.trajectory.optional_packages import extra
from symbody.trajectory.outcome import Outcome, worst
from symbody.trajectory.trajectory import Trajectory

KEY = b"symbody-stream"
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
        path = write_whole(stream.to, _parquet_parts(tally))
        return tally.summary(f"the samples of all members are in {path}.")
    for first, chunk in tally:
        stream.to(first, chunk)
    return tally.summary("the samples of all members went to a function, chunk by chunk.")


class _Sink:
    """A file that hands over what was written since it was last asked."""

    closed = False

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.at = 0

    def write(self, data: bytes) -> int:
        part = bytes(data)
        self.parts.append(part)
        self.at += len(part)
        return len(part)

    def tell(self) -> int:
        return self.at

    def flush(self) -> None: ...

    def close(self) -> None: ...

    def taken(self) -> bytes:
        out, self.parts = b"".join(self.parts), []
        return out


def _parquet_parts(chunks: Iterable[tuple[int, Trajectory]]) -> Iterator[bytes]:
    """The bytes of the file, a row group at a time."""
    arrow, parquet = extra("pyarrow"), extra("pyarrow.parquet")
    sink, writer = _Sink(), None
    for first, chunk in chunks:
        assert chunk.outcomes is not None
        cols, members, instants = columns(chunk), len(chunk.outcomes), len(chunk.t)
        counts = np.bincount([e.member or 0 for e in chunk.events], minlength=members)
        names = [o.name for o in Outcome]
        codes = np.array([names.index(o.name) for o in chunk.outcomes], dtype=np.int8)
        outcome = arrow.DictionaryArray.from_arrays(np.repeat(codes, instants), arrow.array(names))
        arrays = [
            arrow.array(np.repeat(np.arange(first, first + members), instants)),
            arrow.array(np.tile(np.asarray(chunk.t, dtype=float), members)),
            *(arrow.array(column_values(chunk, c)) for c in cols),
            outcome,
            arrow.array(np.repeat(counts.astype(np.int32), instants)),
        ]
        headings = [MEMBER, TIME, *(c.heading for c in cols), "outcome", "events"]
        table = arrow.table(arrays, names=headings)
        if writer is None:
            about = {"model": chunk.model, "method": chunk.method, "instants": instants}
            table = table.replace_schema_metadata({KEY: json.dumps(about).encode()})
            # numbers of a simulation do not repeat: dictionaries of them would be made in vain
            writer = parquet.ParquetWriter(sink, table.schema, use_dictionary=[MEMBER, TIME, "outcome", "events"])
        writer.write_table(table.cast(writer.schema))
        yield sink.taken()
    if writer is not None:
        writer.close()
        yield sink.taken()
