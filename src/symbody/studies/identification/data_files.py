"""Measured records from files: CSV, Parquet, NPZ, MAT and HDF5 by suffix. Files are data: nothing in them is executed.

Tables have one column for each component: `q.shoulder`, `q_1`, `q1` or `q[0]` belong to the signal q. Array files have
one array (N, n) or (n, N) for each signal. Other names are given by `signals`.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from symbody.basics.arguments import declared
from symbody.basics.errors import DataError, FormatError, SymbodyError, float_of, nearest, word_argument
from symbody.basics.regular_file import read_regular
from symbody.motion.trajectory.array_file import most_unfolded, read_arrays
from symbody.motion.trajectory.optional_packages import extra, is_number
from symbody.studies.identification.mat_elements import checked_elements
from symbody.studies.identification.series import Series

LARGEST = 2**31  # bytes of a record
# unit -> (SI unit, factor)
UNITS = {
    "deg": ("rad", np.pi / 180), "deg/s": ("rad/s", np.pi / 180), "deg/s^2": ("rad/s^2", np.pi / 180),
    "rpm": ("rad/s", 2 * np.pi / 60), "rev": ("rad", 2 * np.pi), "mm": ("m", 1e-3), "mm/s": ("m/s", 1e-3),
    "ms": ("s", 1e-3), "us": ("s", 1e-6), "ns": ("s", 1e-9), "N mm": ("N m", 1e-3), "kN": ("N", 1e3),
    "kN m": ("N m", 1e3), "mA": ("A", 1e-3),
}  # fmt: skip
SI = ("rad", "rad/s", "rad/s^2", "m", "m/s", "m/s^2", "s", "N", "N m", "A", "V", "")
TIMES = ("t", "time", "Time", "timestamp", "times", "T")
_MAT_NUMBERS = {"double", "single", "logical", *(f"{u}int{k}" for u in ("", "u") for k in (8, 16, 32, 64))}
# a number begins where its first digit stands: tried at each digit, a long one would take squared time
_PART = re.compile(r"^(?P<stem>.+?)(?:[._]?(?<!\d)(?P<number>\d+)|\[(?P<index>\d+)\]|\.(?P<label>.+))$")


@declared
def read_series(
    path: str | Path,
    signals: Mapping[str, str | Sequence[str]] | None = None,
    *,
    time: str | None = None,
    period: float | None = None,
    labels: Sequence[str] = (),
    units: Mapping[str, str] | None = None,
) -> Series:
    """A Series from a file.

    signals  name in the Series -> name in the file (an array, or the stem of columns), or names of columns in order;
             None: all that are there, under their own names
    time     name of the instants in the file; None: t or time
    period   s, where the file has no instants
    labels   names of the components, such as the joints; None: those of the columns
    units    name -> unit of the file, where it is not SI: deg, deg/s, rpm, mm, ms, N mm, mA ...; "t" for the instants
    """
    path = Path(path)
    arrays, found = _arrays(path)
    given = dict(units or {})
    for n, u in given.items():
        if u not in SI:
            word_argument("units", u, UNITS, also=f", or SI for {n!r}")
    t = _instants(path, arrays, time, period)
    values: dict[str, np.ndarray] = {}
    if signals is None:
        values = {n: a for n, a in arrays.items() if n not in (time, *TIMES) and _fits(a, len(t))}
    else:
        for name, source in signals.items():
            if isinstance(source, str):
                if source not in arrays:
                    raise DataError(f"{path}: there is no signal {source!r} for {name!r}. {nearest(source, arrays)}")
                values[name] = arrays[source]
            else:
                values[name] = _picked(path, found, arrays, list(source))
    _check_distinct(path, found, [(signals or {}).get(n, n) for n in values])
    values = {n: _upright(path, n, a, len(t)) for n, a in values.items()}
    for n in list(values):
        if n in given and given[n] in UNITS:
            values[n] = values[n] * UNITS[given[n]][1]
    if given.get("t") in UNITS:
        t = t * UNITS[given["t"]][1]
    known = tuple(labels) or _labels(found, values)
    for n, a in values.items():
        source = (signals or {}).get(n, n)
        values[n] = _by_labels(a, found.get(source, ()) if isinstance(source, str) else (), known)
    si = {n: UNITS[u][0] if u in UNITS else u for n, u in given.items() if n in values}
    return Series(t, values, known, si, path.name)


def _check_distinct(path: Path, found: Mapping[str, Sequence[str]], used: Iterable[Any]) -> None:
    """DataError where columns that are used have one name; others may."""
    count = Counter(c for columns in found.values() for c in columns)
    for source in used:
        for column in found.get(source, ()) if isinstance(source, str) else source:
            if count[column] > 1:
                raise DataError(
                    f"{path}: two columns are called {column!r}; expected different names. Rename one of them, or say "
                    "in signals=... which columns are to be read."
                )


def _arrays(path: Path) -> tuple[dict[str, np.ndarray], dict[str, list[str]]]:
    """(signal -> array, signal -> names of its columns in a table)."""
    suffix = path.suffix.lower()
    readers = {
        ".csv": _csv, ".txt": _csv, ".npz": _npz, ".mat": _mat, ".parquet": _parquet, ".h5": _hdf5, ".hdf5": _hdf5,
    }  # fmt: skip
    if suffix not in readers:
        raise FormatError(f"{path} ends with {suffix!r}; expected one of {', '.join(readers)}.")
    try:
        return readers[suffix](path)
    except SymbodyError:
        raise
    except OSError as error:
        raise FormatError(f"{path} cannot be read: {error.strerror or error}.") from None
    except Exception as error:  # readers of others fail in many ways over damaged bytes
        raise FormatError(f"{path} is no {suffix} file, or a damaged one: {error or type(error).__name__}.") from None


def _csv(path: Path) -> tuple[dict[str, np.ndarray], dict[str, list[str]]]:
    text = read_regular(path, LARGEST).decode("utf-8-sig")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    if len(lines) < 3:
        raise DataError(f"{path} has {len(lines)} lines; expected a head with names and at least two samples.")
    mark = max(",;\t", key=lines[0].count)
    head = [c.strip().strip('"') for c in next(csv.reader([lines[0]], delimiter=mark))]
    try:
        numbers = np.loadtxt(io.StringIO("\n".join(lines[1:])), delimiter=mark, ndmin=2)
    except ValueError:
        rows = list(csv.reader(lines[1:], delimiter=mark))
        ragged = next((k for k, r in enumerate(rows) if len(r) != len(head)), None)
        if ragged is not None:
            raise DataError(
                f"{path}: row {ragged + 2} has {len(rows[ragged])} entries; the head names {len(head)}."
            ) from None
        numbers = np.array([[_number(x) for x in r] for r in rows])
    if numbers.shape[1] != len(head):
        raise DataError(f"{path}: rows have {numbers.shape[1]} entries; the head names {len(head)} ({mark!r} between).")
    return _grouped(head, numbers)


def _number(text: str) -> float:
    try:
        return float_of(text)
    except ValueError:
        return float("nan")  # said and left out by `check_signals`


def _grouped(head: Sequence[str], numbers: np.ndarray) -> tuple[dict[str, np.ndarray], dict[str, list[str]]]:
    """Columns of one stem make a signal, in the order of their numbers; a column that stands alone is one by itself.

    Columns without a name are left out: spreadsheets leave them at the end, pandas keeps its index in one.
    """
    stems: dict[str, list[int]] = {}
    order: dict[int, tuple[int, str]] = {}  # column -> its number, by which they are sorted whatever its length
    for k, name in enumerate(head):
        if not name:
            continue
        match = _PART.match(name)
        stems.setdefault(match["stem"] if match else name, []).append(k)
        number = match and (match["number"] or match["index"])
        if number:
            digits = number.lstrip("0")
            order[k] = (len(digits), digits)
    for at in stems.values():
        if all(k in order for k in at):
            at.sort(key=order.__getitem__)
    return {s: numbers[:, at] for s, at in stems.items()}, {s: [head[k] for k in at] for s, at in stems.items()}


def _npz(path: Path) -> tuple[dict[str, np.ndarray], dict[str, list[str]]]:
    return _numeric(read_arrays(path, LARGEST, foreign=True)), {}


def _mat(path: Path) -> tuple[dict[str, np.ndarray], dict[str, list[str]]]:
    from scipy.io import loadmat, whosmat
    from scipy.io.matlab import matfile_version

    data = read_regular(path, LARGEST)
    if data[:8] == b"\x89HDF\r\n\x1a\n" or b"MATLAB 7.3" in data[:128]:
        return _hdf5(path)
    if matfile_version(io.BytesIO(data))[0] == 1:  # which SciPy calls version 5
        data = checked_elements(data, min(LARGEST, most_unfolded(len(data))))
    shapes = {n: shape for n, shape, kind in whosmat(io.BytesIO(data)) if kind in _MAT_NUMBERS}
    _bound(path, sum(math.prod(shape) for shape in shapes.values()))
    return _numeric(
        {n: v for n, v in loadmat(io.BytesIO(data), variable_names=list(shapes)).items() if n in shapes}
    ), {}


def _parquet(path: Path) -> tuple[dict[str, np.ndarray], dict[str, list[str]]]:
    parquet = extra("pyarrow.parquet")
    with parquet.ParquetFile(io.BytesIO(read_regular(path, LARGEST))) as file:
        names = [f.name for f in file.schema_arrow if is_number(f.type)]
        _bound(path, file.metadata.num_rows * len(names))
        table = file.read(columns=names)
    columns = {n: np.asarray(table.column(n).to_numpy(zero_copy_only=False)) for n in table.column_names}
    numeric = {n: a for n, a in columns.items() if a.dtype.kind in "fiub"}
    return _grouped(list(numeric), np.column_stack([a.astype(float) for a in numeric.values()]))


def _hdf5(path: Path) -> tuple[dict[str, np.ndarray], dict[str, list[str]]]:
    h5py = extra("h5py")
    found: dict[str, np.ndarray] = {}
    with h5py.File(io.BytesIO(read_regular(path, LARGEST)), "r") as file:
        count = 0

        def visit(name: str, item: Any) -> None:
            nonlocal count
            # data that lie in other files are not followed
            if not isinstance(item, h5py.Dataset) or item.external or item.is_virtual or item.dtype.kind not in "fiu":
                return
            if item.size is None:  # named, but without data
                return
            count += item.size
            _bound(path, count)
            found[name] = np.asarray(item)

        file.visititems(visit)
    short = Counter(name.rpartition("/")[2] for name in found)  # groups may have arrays of one name: these keep theirs
    return _numeric({n if short[last] > 1 else last: a for n, a in found.items() if (last := n.rpartition("/")[2])}), {}


def _bound(path: Path, count: int) -> None:
    """Numbers are counted before memory is asked for: a small file may unfold to a large one."""
    most = min(LARGEST, most_unfolded(path.stat().st_size))
    if 8 * count > most:
        raise FormatError(f"{path} says that it holds {count} numbers; expected at most {most // 8}.")


def _numeric(arrays: Mapping[str, Any]) -> dict[str, np.ndarray]:
    out = {}
    for n, a in arrays.items():
        array = np.asarray(a)
        if array.dtype.kind in "fiub" and array.ndim <= 2:
            out[n] = array.astype(float)
    return out


def _instants(path: Path, arrays: Mapping[str, np.ndarray], time: str | None, period: float | None) -> np.ndarray:
    if time is not None and time not in arrays:
        raise DataError(f"{path}: there is no {time!r} for the instants. {nearest(time, arrays)}")
    name = time or next((n for n in TIMES if n in arrays), None)
    if name is not None:
        t = arrays[name]
        if t.size != max(t.shape, default=0):
            raise DataError(f"{path}: the instants {name!r} have the shape {t.shape}; expected one column.")
        return np.ravel(t)
    if period is None:
        raise DataError(
            f"{path} has no instants under {', '.join(TIMES[:2])}; it has {', '.join(arrays)}. Say time=... or "
            f"period=..."
        )
    longest = max((max(a.shape) for a in arrays.values() if a.ndim), default=0)
    return period * np.arange(longest)


def _fits(a: np.ndarray, count: int) -> bool:
    return a.ndim in (1, 2) and count in a.shape


def _upright(path: Path, name: str, a: np.ndarray, count: int) -> np.ndarray:
    """(N, n) of an array (N,), (N, n) or (n, N)."""
    if a.ndim == 2 and a.shape[0] != count and a.shape[1] == count:
        return a.T
    if a.ndim == 0 or a.shape[0] != count:
        raise DataError(f"{path}: {name!r} has the shape {a.shape}, but there are {count} instants.")
    return a


def _picked(
    path: Path, found: Mapping[str, Sequence[str]], arrays: Mapping[str, np.ndarray], names: Sequence[str]
) -> np.ndarray:
    places = {c: (s, k) for s, columns in found.items() for k, c in enumerate(columns)}
    out = []
    for n in names:
        if n in places:
            stem, k = places[n]
            out.append(arrays[stem][:, k])
        elif n in arrays:
            out.append(np.ravel(arrays[n]))
        else:
            raise DataError(f"{path}: there is no column {n!r}. {nearest(n, [*places, *arrays])}")
    return np.column_stack(out)


def _by_labels(a: np.ndarray, columns: Sequence[str], labels: Sequence[str]) -> np.ndarray:
    """The columns in the order of the labels, where they are named by them: dq.b, dq.a beside q.a, q.b."""
    place = {c.partition(".")[2]: k for k, c in enumerate(columns)}
    return a[:, [place[label] for label in labels]] if place and set(place) == set(labels) else a


def _labels(found: Mapping[str, Sequence[str]], values: Mapping[str, np.ndarray]) -> tuple[str, ...]:
    """Names after the dot of columns such as q.shoulder, where all signals share them."""
    for name in ("q", "tau", *values):
        columns = found.get(name, ())
        parts = [c.partition(".")[2] for c in columns]
        if parts and all(parts):
            return tuple(parts)
    return ()
