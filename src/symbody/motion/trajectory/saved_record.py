"""What travels with the numbers of a saved Trajectory: names, labels, units, outcome, events, statistics, as JSON."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from symbody.basics.errors import FormatError
from symbody.motion.trajectory.array_file import KINDS, checksum
from symbody.motion.trajectory.columns import batch_shape, core_shape
from symbody.motion.trajectory.outcome import Outcome
from symbody.motion.trajectory.trajectory import EventRecord, Trajectory

FORMAT = "symbody-trajectory"
VERSION = 2  # 1 had no checksum
MAX_HEADER = 64 * 2**20 - 4096  # characters of names, labels, events; the line of a text has some more
MAX_VALUES = 2**28  # numbers in one file: 2 GiB of doubles


def record_text(traj: Trajectory) -> str:
    """Everything but the numbers; `run`, what a run goes on from, stays with the run."""
    batch = batch_shape(traj)
    record = {
        "format": FORMAT,
        "version": VERSION,
        "model": traj.model,
        "method": traj.method,
        "outcome": traj.outcome.name,
        "instants": len(traj.t),
        "batch": list(batch),
        "outcomes": None if traj.outcomes is None else [_outcome_code(x) for x in np.ravel(traj.outcomes)],
        "quantities": [quantity(traj, name, len(batch)) for name in traj.values],
        "statistics": {k: plain(v) for k, v in traj.statistics.items()},
        "events": [
            [plain(e.t), e.name, e.text, *([] if e.member is None else [_size(int(e.member))])] for e in traj.events
        ],
        "notes": list(traj.notes),
    }
    text = canonical({"checksum": _checksum_of(canonical(record), traj), **record})
    if len(text) >= MAX_HEADER:
        raise FormatError(f"names, events and notes take {len(text)} characters; files hold at most {MAX_HEADER}.")
    return text


def canonical(record: Mapping[str, Any]) -> str:
    """The one text of a record: entries in the order of writing, no spaces."""
    return json.dumps(record, allow_nan=False, separators=(",", ":"))


def _checksum_of(text: str, traj: Trajectory) -> str:
    """Over the description without it and all numbers: the same for every format."""
    return checksum(text, (("t", np.asarray(traj.t, dtype=float)), *traj.values.items()))


def quantity(traj: Trajectory, name: str, depth: int | None = None) -> dict[str, Any]:
    values = np.asarray(traj.values[name])
    if values.dtype.kind not in KINDS:
        raise FormatError(f"{name} holds values of type {values.dtype}; expected real numbers to save.")
    unit = traj.units.get(name, "")
    return {
        "name": name,
        "shape": list(core_shape(traj, name, depth)),
        "type": values.dtype.str,
        "labels": list(traj.labels.get(name, ())),
        "unit": unit if isinstance(unit, str) else list(unit),
    }


def _outcome_code(value: Any) -> str | int:
    return value.name if isinstance(value, Outcome) else int(value)


def plain(value: Any) -> Any:
    """A number for JSON, which has no infinities: those are written as text."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, str):
        return {"text": value}
    number = float(value)
    return number if math.isfinite(number) else repr(number)


def _from_plain(value: Any) -> Any:
    if isinstance(value, str):
        return float(value)
    return str(value["text"]) if isinstance(value, dict) else value


class SavedRecord:
    """A record that was read and checked: sizes are bounded before any array is made."""

    def __init__(self, text: str | bytes, where: str) -> None:
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise FormatError(f"{where} is damaged: its description cannot be read ({error}).") from None
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise FormatError(f"{where} is not a saved Trajectory: it does not say format {FORMAT!r}.")
        self.where = where
        self.checksum: Any = data.pop("checksum", None)
        version = data.get("version")
        if version == 1 and self.checksum is None:
            warnings.warn(
                f"W-no-checksum: {where} was saved without a checksum, so damage cannot be noticed. Save it again.",
                stacklevel=2,
            )
        elif version != VERSION or not isinstance(self.checksum, str):
            raise FormatError(f"{where} has format version {version!r}; this symbody reads {VERSION}.")
        self._take(data)

    @classmethod
    def checked(cls, data: Mapping[str, Any], where: str) -> SavedRecord:
        """A record whose numbers have a checksum elsewhere."""
        self = cls.__new__(cls)
        self.where, self.checksum = where, None
        self._take(data)
        return self

    def _take(self, data: Mapping[str, Any]) -> None:
        try:
            self.text = canonical(data)
            self._read(data)
        except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
            raise FormatError(f"{self.where} is damaged: {type(error).__name__}: {error}.") from None

    def _read(self, data: Mapping[str, Any]) -> None:
        self.instants = _size(data["instants"])
        self.batch = tuple(_size(k) for k in data["batch"])
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.types: dict[str, np.dtype[Any]] = {}
        labels, units = {}, {}
        for q in data["quantities"]:
            name = str(q["name"])
            self.shapes[name] = tuple(_size(k) for k in q["shape"])
            self.types[name] = np.dtype(str(q["type"]))
            if self.types[name].kind not in KINDS or len(self.shapes) > 100_000:
                raise ValueError(f"values of type {q['type']!r}")
            if q["labels"]:
                labels[name] = tuple(str(x) for x in q["labels"])
            if q["unit"]:
                units[name] = q["unit"] if isinstance(q["unit"], str) else tuple(str(x) for x in q["unit"])
        count = max(self.rows, 1) * (1 + sum(math.prod(s) for s in self.shapes.values()))
        if count > MAX_VALUES:
            raise FormatError(f"{self.where} says that it holds {count} numbers; expected at most {MAX_VALUES}.")
        outcomes = data["outcomes"]
        if outcomes is not None:
            codes = [Outcome[x] if isinstance(x, str) else int(x) for x in outcomes]
            outcomes = np.array(codes, dtype=object if any(isinstance(c, Outcome) for c in codes) else int)
            outcomes = outcomes.reshape(self.batch)
        self.fields: dict[str, Any] = dict(
            labels=labels,
            units=units,
            outcome=Outcome[str(data["outcome"])],
            outcomes=outcomes,
            statistics={str(k): _from_plain(v) for k, v in data["statistics"].items()},
            events=tuple(
                EventRecord(float(t), str(name), str(text), *map(_size, member))
                for t, name, text, *member in data["events"]
            ),
            model=str(data["model"]),
            method=str(data["method"]),
            notes=tuple(str(note) for note in data["notes"]),
        )

    @property
    def rows(self) -> int:
        """Rows of the table: instants times members."""
        return self.instants * math.prod(self.batch)

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a quantity in its own array."""
        return (*self.batch, self.instants, *self.shapes[name])

    @property
    def bytes(self) -> int:
        """What the arrays take."""
        sizes = (self.types[n].itemsize * math.prod(s) for n, s in self.shapes.items())
        return 8 * self.instants + self.rows * sum(sizes)

    def trajectory(self, t: np.ndarray, values: Mapping[str, np.ndarray]) -> Trajectory:
        """The Trajectory of arrays in their own shapes (batch, instants, shape); shapes that differ are refused."""
        given = {"t": np.shape(t), **{n: np.shape(a) for n, a in values.items()}}
        expected = {"t": (self.instants,), **{n: self.shape(n) for n in self.shapes}}
        for name, shape in expected.items():
            if given.get(name) != shape:
                raise FormatError(f"{self.where} is damaged: {name} has the shape {given.get(name)}, said is {shape}.")
        arrays = {n: np.ascontiguousarray(values[n], dtype=self.types[n]) for n in self.shapes}
        traj = Trajectory(np.ascontiguousarray(t, dtype=float), arrays, **self.fields)
        if self.checksum is not None and self.checksum != _checksum_of(self.text, traj):
            raise FormatError(f"{self.where} is damaged: its checksum does not match.")
        return traj

    def from_columns(self, t: np.ndarray, parts: list[np.ndarray]) -> Trajectory:
        """The Trajectory of a table: its times (rows,) and its columns in order."""
        if len(parts) != sum(math.prod(s) for s in self.shapes.values()) or any(len(p) != self.rows for p in parts):
            raise FormatError(f"{self.where} is damaged: its columns are not those that its description lists.")
        values, at = {}, 0
        for name, shape in self.shapes.items():
            size = math.prod(shape)
            block = np.empty((self.rows, size), dtype=self.types[name])
            for k in range(size):
                block[:, k] = parts[at + k]
            values[name] = block.reshape(*self.batch, self.instants, *shape)
            at += size
        return self.trajectory(np.asarray(t, dtype=float)[: self.instants], values)


def _size(value: Any) -> int:
    if value.__class__ is not int or not 0 <= value <= MAX_VALUES:
        raise ValueError(f"a size of {value!r}")
    return int(value)
