"""Streamed batches as Parquet files, written a chunk at a time and read back as a Trajectory.

The file is a table with one row for each instant of each member: `member` (counted from 0 over all chunks), time, the
components as in saved Trajectories, then `outcome` and the number of `events` of the member. Its rows come in groups,
one a chunk, so that readers need not hold all of it either. The description comes last, when all chunks are known: it
has a SHA-256 of every column and one of itself.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from symbody.basics.errors import FormatError
from symbody.motion.trajectory.columns import MEMBER, TIME, column_values, columns
from symbody.motion.trajectory.optional_packages import extra
from symbody.motion.trajectory.outcome import Outcome, worst
from symbody.motion.trajectory.saved_record import SavedRecord, canonical, plain, quantity
from symbody.motion.trajectory.trajectory import Trajectory

KEY = b"symbody-stream"
FORMAT = "symbody-stream"
VERSION = 2  # 1 had no description to read it by
OUTCOME, EVENTS = "outcome", "events"
NAMES = [o.name for o in Outcome]


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


def stream_parts(
    chunks: Iterable[tuple[int, Trajectory]], statistics: Callable[[], Mapping[str, float]]
) -> Iterator[bytes]:
    """The bytes of the file of (first member, chunk), a row group at a time. statistics(): of all, asked for last."""
    arrow, parquet = extra("pyarrow"), extra("pyarrow.parquet")
    sink, writer, members = _Sink(), None, 0
    for first, chunk in chunks:
        assert chunk.outcomes is not None
        cols, count, instants = columns(chunk), len(chunk.outcomes), len(chunk.t)
        events = np.bincount([e.member or 0 for e in chunk.events], minlength=count)
        codes = np.array([NAMES.index(o.name) for o in chunk.outcomes], dtype=np.int32)
        outcome = arrow.DictionaryArray.from_arrays(np.repeat(codes.astype(np.int8), instants), arrow.array(NAMES))
        arrays = [
            arrow.array(np.repeat(np.arange(first, first + count), instants)),
            arrow.array(np.tile(np.asarray(chunk.t, dtype=float), count)),
            *(arrow.array(column_values(chunk, c)) for c in cols),
            outcome,
            arrow.array(np.repeat(events.astype(np.int32), instants)),
        ]
        table = arrow.table(arrays, names=[MEMBER, TIME, *(c.heading for c in cols), OUTCOME, EVENTS])
        if writer is None:
            quantities = [quantity(chunk, name) for name in chunk.values]
            # numbers of a simulation do not repeat: dictionaries of them would be made in vain
            writer = parquet.ParquetWriter(sink, table.schema, use_dictionary=[MEMBER, TIME, OUTCOME, EVENTS])
            digests = [hashlib.sha256(name.encode()) for name in table.column_names]
        table = table.cast(writer.schema)
        writer.write_table(table)
        members += count
        for digest, values in zip(digests, _numbers(table), strict=True):
            digest.update(_bytes(values))
        yield sink.taken()
    if writer is not None:
        about = {
            "format": FORMAT,
            "version": VERSION,
            "model": chunk.model,
            "method": chunk.method,
            "instants": instants,
            "members": members,
            "quantities": quantities,
            "statistics": {k: plain(v) for k, v in statistics().items()},
            "columns": [d.hexdigest() for d in digests],
        }
        text = canonical(about)
        record = canonical({"checksum": hashlib.sha256(text.encode()).hexdigest(), **about})
        if hasattr(writer, "add_key_value_metadata"):  # older pyarrow has none: the file is a table then, no Trajectory
            writer.add_key_value_metadata({KEY: record.encode()})
        writer.close()
        yield sink.taken()


def _numbers(table: Any) -> Iterator[np.ndarray]:
    """The columns as numbers; outcomes by their place in `NAMES`."""
    compute, arrow = extra("pyarrow.compute"), extra("pyarrow")
    for name, column in zip(table.column_names, table.columns):
        if name == OUTCOME:
            # words once each: written out for every row, long ones would take any memory
            places = [compute.index_in(part.dictionary, value_set=arrow.array(NAMES)) for part in column.chunks]
            parts = [compute.take(place, part.indices) for place, part in zip(places, column.chunks)]
            column = arrow.chunked_array(parts, type=arrow.int32())
        yield column.to_numpy()


def _bytes(values: np.ndarray) -> memoryview:
    """What a digest is made of, every NaN the same."""
    if values.dtype.kind == "f" and np.isnan(values).any():
        values = np.where(np.isnan(values), np.nan, values)
    return np.ascontiguousarray(values).view(np.uint8).data


def _digest(name: str, values: np.ndarray) -> str:
    digest = hashlib.sha256(name.encode())
    digest.update(_bytes(values))
    return digest.hexdigest()


def read_stream(file: Any, text: bytes, where: str) -> Trajectory:
    """The Trajectory of an open Parquet file that a stream was written to. The events themselves are not in it."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{where} is damaged: its description cannot be read ({error}).") from None
    if not isinstance(data, dict) or data.get("format") != FORMAT or data.get("version") != VERSION:
        raise FormatError(f"{where} is a stream of another version; read it as a table, by pandas or pyarrow.")
    said = data.pop("checksum", None)
    try:
        if said != hashlib.sha256(canonical(data).encode()).hexdigest():
            raise FormatError(f"{where} is damaged: the checksum of its description does not match.")
        digests = list(data["columns"])
        empty = {"batch": [data["members"]], "outcome": NAMES[0], "outcomes": None, "events": [], "notes": []}
        record = SavedRecord.checked({**data, **empty}, where)
    except (LookupError, TypeError, ValueError, RecursionError) as error:
        raise FormatError(f"{where} is damaged: {type(error).__name__}: {error}.") from None
    width = 4 + sum(math.prod(s) for s in record.shapes.values())  # member, time, outcome, events
    if file.metadata.num_rows != record.rows or not file.metadata.num_columns == len(digests) == width:
        raise FormatError(f"{where} is damaged: it has not the rows and columns that its description says.")
    if not record.instants:
        raise FormatError(f"{where} is damaged: it has no instants.")
    table = file.read()
    parts = list(_numbers(table))
    for name, values, digest in zip(table.column_names, parts, digests, strict=True):
        if _digest(name, values) != digest:
            raise FormatError(f"{where} is damaged: the checksum of its column {name!r} does not match.")
    outcomes = np.array([Outcome[NAMES[k]] for k in parts[-2][:: record.instants]], dtype=object)
    count = int(parts[-1][:: record.instants].sum())
    traj = record.from_columns(parts[1], parts[2:-2])
    notes = (f"{count} events happened, of which the file has the number for each member alone.",) if count else ()
    return traj.replace(outcome=worst(outcomes), outcomes=outcomes, notes=notes)
