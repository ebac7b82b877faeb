"""Trajectories as files: CSV, Parquet, HDF5 and NPZ by suffix. Files are data: nothing in them is executed.

CSV and Parquet are tables with one row for each instant, of a batch one after the other with a column `member`
(counted from 0). HDF5 and NPZ keep arrays: `t` and `values/<name>` of shape (batch, instants, shape of the quantity).
"""

from __future__ import annotations

import csv
import io
import math
import struct
from collections.abc import Callable, Collection
from itertools import takewhile
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from symbody.basics.arguments import declared
from symbody.basics.atomic_file import write_whole
from symbody.basics.errors import FormatError, SymbodyError
from symbody.basics.regular_file import missing
from symbody.motion.trajectory.array_file import KINDS, RATIO, most_unfolded, npz_bytes, read_arrays
from symbody.motion.trajectory.columns import MEMBER, TIME, batch_shape, column_values, columns
from symbody.motion.trajectory.optional_packages import extra, is_number, is_words
from symbody.motion.trajectory.saved_record import MAX_VALUES, SavedRecord, record_text
from symbody.motion.trajectory.stream_file import KEY as STREAM
from symbody.motion.trajectory.stream_file import OUTCOME, read_stream
from symbody.motion.trajectory.trajectory import Trajectory

MAX_BYTES = 8 * MAX_VALUES
MAX_HEADER = 64 * 2**20  # bytes of the description
LEAST_HEADER = 2**20  # that a small file may unfold to
EXACT = 2**53  # whole numbers up to here are doubles
KEY = b"symbody"
DESCRIPTION = "# description: "
# what writing names, units and values raises that a format does not know
UNFIT = (ArithmeticError, LookupError, TypeError, ValueError, AttributeError, OSError, RuntimeError, struct.error)


@declared
def save_trajectory(traj: Trajectory, path: str | Path) -> Path:
    """Write a Trajectory as .csv, .parquet, .h5, .hdf5 or .npz; an older file is replaced when the new one is whole."""
    path = Path(path)
    pack = _format(path)[0]
    count = len(traj.t) + sum(np.size(a) for a in traj.values.values())
    if count > MAX_VALUES:
        raise _too_large(f"{count} numbers", f"{MAX_VALUES}")
    try:
        data = pack(traj)
    except UNFIT as error:
        raise FormatError(f"this trajectory cannot be kept in a {path.suffix} file: {error}.") from None
    if len(data) > MAX_BYTES:
        raise _too_large(f"{len(data)} bytes as {path.suffix}", f"{MAX_BYTES}")
    return write_whole(path, data)


def _too_large(what: str, most: str) -> FormatError:
    return FormatError(f"this trajectory has {what}; files hold at most {most}. Save it in parts, or fewer samples.")


@declared
def load_trajectory(path: str | Path) -> Trajectory:
    """Read what `save_trajectory` wrote; a damaged or foreign file is refused with a sentence."""
    path = Path(path)
    read = _format(path)[1]
    why = missing(path)
    if why:
        raise FormatError(f"{why}.")
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise FormatError(f"{path} has {size} bytes; expected at most {MAX_BYTES}.")
    try:
        return read(path)
    except SymbodyError:
        raise
    except Exception as error:  # readers of others fail in many ways over damaged bytes
        raise FormatError(
            f"{path} is no {path.suffix} file, or a damaged one: {error or type(error).__name__}."
        ) from None


def _format(path: Path) -> tuple[Callable[[Trajectory], Any], Callable[[Path], Trajectory]]:
    try:
        return FORMATS[path.suffix.lower()]
    except KeyError:
        raise FormatError(f"{path} has the suffix {path.suffix!r}; expected one of {', '.join(FORMATS)}.") from None


def _table(traj: Trajectory) -> tuple[list[str], list[np.ndarray]]:
    """Names and numbers of the columns of a table; FormatError where they would be read back as others."""
    batch, cols = batch_shape(traj), columns(traj)
    if 0 in batch and len(traj.t):
        raise FormatError(
            f"a table cannot hold the {len(traj.t)} instants of a batch {batch} of no members: save .npz."
        )
    parts = [column_values(traj, c) for c in cols]
    for column, values in zip(cols, parts):
        if values.dtype.kind not in KINDS or values.dtype.itemsize > 8:
            raise FormatError(f"{column.quantity} holds values of type {values.dtype}; expected real numbers to save.")
    members = [(MEMBER, _members(traj))] if batch else []
    named = [*members, (TIME, _times(traj)), *((c.heading, p) for c, p in zip(cols, parts))]
    return [name for name, _ in named], [
        values.astype(values.dtype.newbyteorder("="), copy=False) for _, values in named
    ]


def _times(traj: Trajectory) -> np.ndarray:
    return np.tile(np.asarray(traj.t, dtype=float), int(np.prod(batch_shape(traj))))


def _members(traj: Trajectory) -> np.ndarray:
    return np.repeat(np.arange(int(np.prod(batch_shape(traj)))), len(traj.t))


# -- CSV: lines of comment for people, one line of JSON, the names of the columns, the numbers


def _csv_text(traj: Trajectory) -> str:
    text = io.StringIO()
    for name, value in (("model", traj.model), ("method", traj.method), ("outcome", traj.outcome.value)):
        text.write(f"# {name}: {' '.join(value.split())}\n")
    text.write(f"{DESCRIPTION}{record_text(traj)}\n")
    names, parts = _table(traj)
    if max(map(len, names)) > csv.field_size_limit():
        raise FormatError(f"a name has {max(map(len, names))} characters, which a .csv file cannot hold: save .npz.")
    for name, values in zip(names, parts):
        if values.dtype.kind in "iu" and values.size and max(int(values.max()), -int(values.min())) > EXACT:
            raise FormatError(f"{name} holds whole numbers beyond 2^53, which a text of doubles cannot: save .npz.")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([" ".join(name.split()) for name in names])  # on one line, whatever names hold
    # Python writes the shortest text that reads back as the same double
    writer.writerows(zip(*((p.astype(int) if p.dtype.kind == "b" else p).tolist() for p in parts)))
    return text.getvalue()


def _read_csv(path: Path) -> Trajectory:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            comments = takewhile(_is_comment, iter(lambda: file.readline(MAX_HEADER), ""))
            description = next((s for s in comments if s.startswith(DESCRIPTION)), "")
            if not description:
                raise FormatError(f"{path} is not a saved Trajectory: no line begins with {DESCRIPTION.strip()!r}.")
            record = SavedRecord(description[len(DESCRIPTION) :], str(path))
            names = next(csv.reader(file))  # of the columns, for people
            start = 1 if record.batch else 0
            width = start + 1 + sum(math.prod(s) for s in record.shapes.values())
            if len(names) != width:
                raise ValueError(f"{len(names)} columns, said are {width}")
            rows = _numbers(file.read(), record.rows, width)
    except (UnicodeDecodeError, StopIteration, ValueError, csv.Error) as error:
        raise FormatError(f"{path} is damaged: {error or 'it ends too early'}.") from None
    return record.from_columns(rows[:, start], [rows[:, k] for k in range(start + 1, width)])


def _is_comment(line: str) -> bool:
    return line.lstrip("\ufeff").startswith("#") or not line.strip()


def _numbers(text: str, rows: int, width: int) -> np.ndarray:
    """(rows, width) numbers of lines with commas."""
    if rows == 0 and not text.strip():
        return np.empty((0, width))
    out = np.loadtxt(io.StringIO(text), delimiter=",", ndmin=2, max_rows=rows + 1)
    if out.shape != (rows, width):
        raise ValueError(f"a table of {out.shape}, said is {(rows, width)}")
    return out


# -- Parquet: the same table, typed; the description is in the metadata of the schema


def _parquet_bytes(traj: Trajectory) -> Any:
    arrow, parquet = extra("pyarrow"), extra("pyarrow.parquet")
    names, arrays = _table(traj)
    table = arrow.table([arrow.array(a) for a in arrays], names=names)
    table = table.replace_schema_metadata({KEY: record_text(traj).encode()})

    def packed(**options: Any) -> Any:
        sink = arrow.BufferOutputStream()
        parquet.write_table(table, sink, **options)
        return memoryview(sink.getvalue())

    data = packed()
    too_close = 8 * table.num_rows * table.num_columns > most_unfolded(len(data))  # it would not be read again
    return packed(compression="none", use_dictionary=False) if too_close else data


def _read_parquet(path: Path) -> Trajectory:
    parquet = extra("pyarrow.parquet")
    with parquet.ParquetFile(path) as file:
        metadata, groups = file.metadata.metadata or {}, file.metadata.num_row_groups
        unpacked = sum(file.metadata.row_group(k).total_byte_size for k in range(groups))
        _check_unfolded(path, max(unpacked, 8 * file.metadata.num_rows * file.metadata.num_columns))
        text, streamed = metadata.get(KEY), metadata.get(STREAM)
        _check_types(file, path, () if streamed is None else (OUTCOME,))
        if streamed is not None:
            return read_stream(file, streamed, str(path))
        if text is None:
            raise FormatError(f"{path} is not a saved Trajectory: its metadata has no entry {KEY.decode()!r}.")
        record = SavedRecord(text, str(path))
        start = 1 if record.batch else 0
        width = start + 1 + sum(math.prod(s) for s in record.shapes.values())
        if (file.metadata.num_rows, file.metadata.num_columns) != (record.rows, width):
            raise FormatError(
                f"{path} is damaged: {file.metadata.num_rows} rows of {file.metadata.num_columns}, said are "
                f"{record.rows} of {width}."
            )
        parts = [c.to_numpy() for c in file.read().columns]
    return record.from_columns(parts[start], parts[start + 1 :])


def _check_unfolded(path: Path, size: int) -> None:
    """Bytes of numbers are held against the file before memory is asked for: what is not written takes no room."""
    own = path.stat().st_size
    if size > most_unfolded(own):
        raise FormatError(f"{path} would unfold from {own} to {size} bytes; expected at most {most_unfolded(own)}.")


def _check_types(file: Any, path: Path, texts: Collection[str]) -> None:
    """Numbers alone, so that rows and columns bound the memory; texts and lists may unfold to anything."""
    for field in file.schema_arrow:
        words = field.name in texts and is_words(field.type)
        if not is_number(field.type) and not words:
            raise FormatError(f"{path} is damaged: its column {field.name!r} is of type {field.type}.")


def _place(name: str) -> str:
    """Where HDF5 and NPZ keep a quantity."""
    return f"values/{quote(name, safe=' ')}"


# -- HDF5: arrays in their own shapes, units as attributes


def _hdf5_bytes(traj: Trajectory) -> bytes:
    h5py = extra("h5py")
    text = record_text(traj)  # also checks the shapes
    memory = io.BytesIO()
    with h5py.File(memory, "w") as file:
        file.attrs.update({"model": traj.model, "method": traj.method, "outcome": traj.outcome.value})
        file["description"] = np.frombuffer(text.encode(), dtype=np.uint8)
        file["t"] = np.asarray(traj.t, dtype=float)
        file["t"].attrs["unit"] = "s"
        file.create_group("values")
        for name, array in traj.values.items():
            file[_place(name)] = np.asarray(array)
            unit = traj.units.get(name, "")
            if isinstance(unit, str):
                file[_place(name)].attrs["unit"] = unit
    return memory.getvalue()


def _read_hdf5(path: Path) -> Trajectory:
    h5py = extra("h5py")

    def data(file: Any, name: str, size: int, shape: tuple[int, ...] | None = None) -> np.ndarray:
        """A dataset that lies in this file itself and has this shape, or is not larger than it may be."""
        link = file.get(name, getlink=True)
        found = file.get(name) if isinstance(link, h5py.HardLink) else None
        if not isinstance(found, h5py.Dataset) or found.external or found.is_virtual:
            raise FormatError(f"{path} is not a saved Trajectory: it has no data {name!r} of its own.")
        if found.size is None or found.size > size or found.dtype.kind not in KINDS:
            raise FormatError(f"{path} is damaged: {name} holds {found.size} values of type {found.dtype}.")
        if shape is not None and found.shape != shape:  # before memory is asked for: what is not written takes no room
            raise FormatError(f"{path} is damaged: {name} has the shape {found.shape}, said is {shape}.")
        return np.asarray(found[()])

    with h5py.File(path, "r") as file:
        record = SavedRecord(data(file, "description", _most_header(path.stat().st_size)).tobytes(), str(path))
        _check_unfolded(path, record.bytes)
        t = data(file, "t", MAX_VALUES, (record.instants,))
        values = {n: data(file, _place(n), MAX_VALUES, record.shape(n)) for n in record.shapes}
    return record.trajectory(t, values)


def _most_header(size: int) -> int:
    """Bytes of the description in a file of so many bytes: it takes far more memory than its text."""
    return min(MAX_HEADER, LEAST_HEADER + RATIO * size)


# -- NPZ: the same arrays, with NumPy alone


def _npz_bytes(traj: Trajectory) -> bytes:
    description = np.frombuffer(record_text(traj).encode(), dtype=np.uint8)
    values = {_place(n): np.asarray(a) for n, a in traj.values.items()}
    arrays = {"description": description, "t": np.asarray(traj.t, dtype=float), **values}
    data = npz_bytes(arrays, compressed=True)
    return data if len(description) <= _most_header(len(data)) else npz_bytes(arrays)


def _read_npz(path: Path) -> Trajectory:
    about = read_arrays(path, _most_header(path.stat().st_size), ("description",))
    if "description" not in about:
        raise FormatError(f"{path} is not a saved Trajectory: it has no array 'description'.")
    record = SavedRecord(about["description"].tobytes(), str(path))
    # what the description does not name is not unfolded
    limit = record.bytes + 2 * MAX_HEADER
    arrays = read_arrays(path, limit, ("t", *(_place(n) for n in record.shapes)))
    return record.trajectory(arrays["t"], {n: arrays[_place(n)] for n in record.shapes})


FORMATS: dict[str, tuple[Callable[[Trajectory], Any], Callable[[Path], Trajectory]]] = {
    ".csv": (_csv_text, _read_csv),
    ".parquet": (_parquet_bytes, _read_parquet),
    ".h5": (_hdf5_bytes, _read_hdf5),
    ".hdf5": (_hdf5_bytes, _read_hdf5),
    ".npz": (_npz_bytes, _read_npz),
}
