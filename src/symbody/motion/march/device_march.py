"""DeviceMarch: a batch marched on a device, a member a thread, in one launch from start to end."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from symbody.basics.errors import DefinitionError, DeviceError, NameLookupError, ShapeError, nearest
from symbody.codegen.cuda import driver
from symbody.codegen.cuda import foreign_arrays as on_device
from symbody.codegen.cuda.device_array import DeviceArray
from symbody.codegen.cuda.texts import setup_values
from symbody.motion.march.cuda_equations import DeviceEquations
from symbody.motion.march.cuda_text import BLOCK, COUNT, RECORD, MarchText, march_text
from symbody.motion.march.method_tables import Method, RungeKutta
from symbody.motion.march.step_control import SMALLEST_MEMORY
from symbody.symbolic.system.ports import default, gather_parameters


@dataclass(frozen=True, eq=False)
class Schedule:
    """What happens when, for all members: (m + 1,) instants s, (m + 1,) lengths of the steps from there (the last 0),
    (m + 1,) bits of `cuda_text`; rows: of held values that begin at an entry, -1 for none, or None."""

    t: np.ndarray
    h: np.ndarray
    what: np.ndarray
    rows: np.ndarray | None = None

    @cached_property
    def room(self) -> int:
        """Number of samples."""
        return int(np.count_nonzero(self.what & RECORD))

    def on(self, device: driver.Device) -> dict[str, DeviceArray]:
        """Its arrays on a device, copied once."""
        known: dict[int, dict[str, DeviceArray]] = self.__dict__.setdefault("_on", {})
        if device.ordinal not in known:
            found = {
                "t": DeviceArray.of(self.t, device, np.float64),
                "h": DeviceArray.of(self.h, device, np.float64),
                "what": DeviceArray.of(self.what, device, np.int32),
            }
            if self.rows is not None:
                found["held_row"] = DeviceArray.of(self.rows, device, np.int32)
            known[device.ordinal] = found
        return known[device.ordinal]


def even_schedule(t: float, step: float, steps: int, every: int = 0) -> Schedule:
    """Equal steps from t on; every: steps between samples, of which the first is at t; 0: none."""
    times = t + np.arange(steps + 1) * step
    lengths = np.full(steps + 1, step)
    lengths[-1] = 0.0
    what = np.full(steps + 1, COUNT, dtype=np.int32)
    if every:
        what[::every] |= RECORD
        what[-1] |= RECORD
    return Schedule(times, lengths, what)


@dataclass(frozen=True, eq=False)
class DeviceRun:
    """How a march went; arrays are those of the caller's library, else DeviceArrays.

    x_end (b, nx), status (b,) as in `Run`, taken (b,) steps, rows (b,) samples, samples (b, room, nx), held
    (b, room, k) of signals that change at entries, u_end (b, k), memory (b, m) of clocks, reduced (b, 3, nx) mean,
    least and largest, control (b, 3) step, memory and mark of the step size control, rejected (b,) steps
    """

    x_end: Any
    status: Any
    taken: Any
    rows: Any
    samples: Any = None
    held: Any = None
    u_end: Any = None
    memory: Any = None
    reduced: Any = None
    control: Any = None
    rejected: Any = None


@dataclass(eq=False)
class _Call:
    """A launch on its way: words by name, and what must stay alive."""

    device: driver.Device
    library: str
    words: dict[str, int] = field(default_factory=dict)
    keep: list[Any] = field(default_factory=list)


class DeviceMarch:
    """Marches of one DeviceEquations by one method; stateless, its texts are written when first asked for."""

    def __init__(self, equations: DeviceEquations, method: Method, precision: str = "double", ordinal: int = 0) -> None:
        self.equations, self.method, self.precision, self.ordinal = equations, method, precision, ordinal
        self.dtype = np.dtype(np.float64 if precision == "double" else np.float32)
        self._texts: dict[tuple[bool, bool, bool], MarchText] = {}
        self._usual: dict[tuple[bool, bool], Any] = {}

    def text(self, adaptive: bool = False, each: bool = False, reduce: bool = False) -> MarchText:
        key = (adaptive, each, reduce)
        if key not in self._texts:
            self._texts[key] = march_text(
                self.equations, self.method, adaptive=adaptive, precision=self.precision, each=each, reduce=reduce
            )
        return self._texts[key]

    # -- marches

    def fixed(
        self,
        x: Any,
        schedule: Schedule,
        u: Any = None,
        *,
        parameters: Mapping[str, Any] | None = None,
        begin: Any = None,
        memory: Any = None,
        table: tuple[np.ndarray, np.ndarray] | None = None,
        held: np.ndarray | None = None,
        reduce: bool = False,
        stream: Any = None,
        out: Any = None,
    ) -> DeviceRun:
        """From x (b, nx) through a schedule.

        u           (nu,), or (b, nu): signals; those that move or are held are set on the way
        parameters  name -> value, or (b, ...) values
        begin       (b,) s, added to the instants of the schedule; None: 0
        memory      (b, m) of the clocks
        table       (times (k,), values (k, columns)): signals that move, linear in between
        held        (rows, columns) values that the schedule's rows name
        reduce      mean and extremes of the states at the entries that count
        out         (b, nx) where the states at the end go, of a caller that has such an array
        """
        call, n = self._prepared_call(x)
        text = self._text_for(parameters, adaptive=False, reduce=reduce)
        self._common(call, text, x, n, u, parameters, table)
        planned = schedule.on(call.device)
        call.words |= {name: array.pointer for name, array in planned.items()}
        call.words["steps"] = len(schedule.t) - 1
        self._number_array(call, "begin", [0.0] if begin is None else begin, np.dtype(np.float64))
        call.words["begin_stride"] = 0 if begin is None else 1
        nx, room = self.equations.nx, schedule.room
        each = self.dtype.itemsize * nx * (room + 2 + (3 if reduce else 0))
        if not call.library or n * each > 1 << 28:
            on_device.check_room(call.device, n, each, f"a march of {self.equations.rates.name}")
        made: dict[str, Any] = {"samples": self._new(call, (n, room, nx)) if room else None}
        columns = self._overlay
        if columns:
            made["held_samples"] = self._new(call, (n, room, len(columns))) if room else None
            made["u_end"] = self._new(call, (n, len(columns)))
        if self.equations.held:
            if held is None:
                raise DefinitionError("the march holds values of tables; give them as held=...")
            self._number_array(call, "held", held, np.dtype(np.float64))
        if self.equations.clocks:
            begun = np.zeros((n, max(self.equations.memory, 1))) if memory is None else memory
            made["memory"] = self._writable(call, "memory", begun)
        if reduce:
            made["reduced"] = self._new(call, (n, 3, nx))
        call.words["room"] = max(room, 1)
        made |= self._ends(call, n, out)
        self._launched(call, text, n, made, parameters, stream)
        return DeviceRun(
            made["x_end"],
            made["status"],
            made["taken"],
            made["rows"],
            made["samples"],
            made.get("held_samples"),
            made.get("u_end"),
            made.get("memory"),
            made.get("reduced"),
        )

    def adaptive(
        self,
        x: Any,
        t: float,
        t_stop: float,
        times: np.ndarray,
        u: Any = None,
        *,
        rtol: float,
        atol: Any,
        max_steps: int = 1_000_000,
        longest: float = np.inf,
        parameters: Mapping[str, Any] | None = None,
        table: tuple[np.ndarray, np.ndarray] | None = None,
        control: Any = None,
        stream: Any = None,
    ) -> DeviceRun:
        """From x (b, nx) at t to t_stop, each member by its own steps, with samples at `times` (after t).

        control: (b, 3) of the run before, which this one continues; None: first steps are chosen
        """
        if not isinstance(self.method, RungeKutta) or not self.method.error:
            raise DefinitionError(f"method {self.method.name!r} has no error estimate for adaptive steps.")
        call, n = self._prepared_call(x)
        text = self._text_for(parameters, adaptive=True, reduce=False)
        self._common(call, text, x, n, u, parameters, table)
        nx, room = self.equations.nx, len(times)
        on_device.check_room(call.device, n, self.dtype.itemsize * nx * (room + 2) + 32, "an adaptive march")
        for name, value in (("t_start", t), ("t_stop", t_stop), ("rtol", rtol), ("longest", longest)):
            call.words[name] = struct.unpack("<q", struct.pack("<d", float(value)))[0]
        call.words |= {"most": int(max_steps), "wanted": room, "room": max(room, 1)}
        self._number_array(call, "atol", np.broadcast_to(np.asarray(atol, float), (nx,)), np.dtype(np.float64))
        self._number_array(call, "instants", times if room else [0.0], np.dtype(np.float64))
        begun = np.zeros((n, 3)) if control is None else np.asarray(control, dtype=float)
        if control is None:
            begun[:, 1] = SMALLEST_MEMORY
        made: dict[str, Any] = {
            "samples": self._new(call, (n, room, nx)) if room else None,
            "control": self._number_array(call, "control", begun, np.dtype(np.float64)),
            "rejected": self._new(call, (n,), np.int64),
            **self._ends(call, n, None),
        }
        self._launched(call, text, n, made, parameters, stream)
        return DeviceRun(
            made["x_end"],
            made["status"],
            made["taken"],
            made["rows"],
            made["samples"],
            control=made["control"],
            rejected=made["rejected"],
        )

    def resources(self, adaptive: bool = False, each: bool = False) -> Any:
        """What the kernel takes on the device: registers, stack, spills."""
        text = self.text(adaptive, each)
        return driver.device(self.ordinal).build(text.text, text.options).function(text.entry).resources

    # -- parts of a launch

    @cached_property
    def _overlay(self) -> list[int]:
        e = self.equations
        return sorted({*e.held, *(c for clock in e.clocks for c in clock.writes[0])})

    def _prepared_call(self, x: Any) -> tuple[_Call, int]:
        library = on_device.library_of(x)
        shape = tuple(x.shape)
        if len(shape) != 2 or shape[1] != self.equations.nx:
            raise ShapeError(f"x has shape {shape}; expected (b, {self.equations.nx}).")
        ordinal = on_device.seen(x, "x", library).device if library else self.ordinal
        return _Call(driver.device(ordinal), library), shape[0]

    def _text_for(self, parameters: Mapping[str, Any] | None, adaptive: bool, reduce: bool) -> MarchText:
        known = self.equations.parameters()
        each = False
        for name, value in (parameters or {}).items():
            if name not in known:
                raise NameLookupError(f"There is no parameter '{name}'. {nearest(name, known)}")
            each |= len(np.shape(value) if not on_device.library_of(value) else value.shape) > len(known[name].shape)
            each |= bool(on_device.library_of(value))
        return self.text(adaptive, each, reduce)

    def _common(self, call: _Call, text: MarchText, x: Any, n: int, u: Any, parameters: Any, table: Any) -> None:
        e = self.equations
        call.words["n"] = n
        self._number_array(call, "x", x, self.dtype)
        signals = np.zeros(max(e.nu, 1)) if u is None else u
        if e.nu and tuple(signals.shape) not in ((e.nu,), (n, e.nu)):
            raise ShapeError(f"u has shape {tuple(signals.shape)}; expected ({e.nu},) or ({n}, {e.nu}).")
        self._number_array(call, "u", signals, self.dtype)
        call.words["u_stride"] = e.nu if e.nu and len(signals.shape) == 2 else 0
        if text.each:
            given = dict(parameters or {})
            for k, (name, port) in enumerate(e.parameters().items()):
                value = given.get(name)
                value = default(port) if value is None else value
                shape = tuple(np.shape(value)) if not on_device.library_of(value) else tuple(value.shape)
                own = len(shape) > len(port.shape)
                if shape not in (port.shape, (n, *port.shape)):
                    raise ShapeError(f"parameter '{name}' has shape {shape}; expected {port.shape} or ({n}, ...).")
                self._number_array(call, f"par{k}", value, self.dtype)
                call.words[f"par{k}_stride"] = port.size if own else 0
        if e.moving:
            if table is None:
                raise DefinitionError("the march reads signals that move; give them as table=(times, values).")
            times, values = table
            if len(times) < 2:  # a table of one value
                times, values = np.array([times[0], times[0] + 1.0]), np.repeat(values, 2, axis=0)
            call.words["knots"] = len(times)
            self._number_array(call, "times", times, np.dtype(np.float64))
            self._number_array(call, "values", values, np.dtype(np.float64))

    def _number_array(self, call: _Call, name: str, value: Any, dtype: np.dtype[Any]) -> Any:
        """An array of the call: that of the caller where it is on the device, else a copy."""
        library = on_device.library_of(value)
        if library:
            s = on_device.seen(value, name, library)
            if s.device != call.device.ordinal:
                raise DeviceError(f"'{name}' is on device {s.device}; the march runs on {call.device.ordinal}.")
            if s.strides is not None or np.dtype(s.kind) != dtype:
                raise ShapeError(
                    f"'{name}' has numbers of type {s.kind} and strides {s.strides}; expected {dtype} in C order."
                )
            call.words[name] = s.pointer
            call.keep.append(s)
            return value
        made = DeviceArray.of(np.asarray(value), call.device, dtype)
        call.words[name] = made.pointer
        call.keep.append(made)
        return made

    def _writable(self, call: _Call, name: str, value: Any) -> Any:
        """An array that the kernel reads and writes; arrays of the caller are his to copy."""
        return self._number_array(call, name, value, self.dtype)

    def _new(self, call: _Call, shape: tuple[int, ...], dtype: Any = None) -> Any:
        return on_device.empty(call.library, shape, np.dtype(dtype or self.dtype), call.device)

    def _ends(self, call: _Call, n: int, out: Any) -> dict[str, Any]:
        return {
            "x_end": self._new(call, (n, self.equations.nx)) if out is None else out,
            "status": self._new(call, (n,), np.int32),
            "taken": self._new(call, (n,), np.int64),
            "rows": self._new(call, (n,), np.int64),
        }

    def _launched(
        self, call: _Call, text: MarchText, n: int, made: dict[str, Any], parameters: Any, stream: Any
    ) -> None:
        for name, array in made.items():
            if array is None:
                call.words[name] = 0
            elif name not in call.words:
                library = on_device.library_of(array)
                call.words[name] = on_device.seen(array, name, library).pointer
        constants = None
        if not text.each:
            constants = self._constants(text, parameters)
            if not text.by_value:
                kept = DeviceArray.of(np.frombuffer(constants.raw, dtype=np.uint8), call.device)
                call.keep.append(kept)
                call.words["constants"] = kept.pointer
        flow = on_device.stream_of(call.library, stream, call.device.ordinal)
        function = call.device.build(text.text, text.options).function(text.entry)
        words = [call.words[name] for name in text.words]
        function.launch(n, BLOCK, words, constants if text.by_value else None, flow)
        if call.library not in ("torch", "cupy") or any(isinstance(k, DeviceArray) for k in call.keep):
            call.device.synchronize(flow)  # copies must live until it has run

    def _constants(self, text: MarchText, parameters: Any) -> Any:
        """What setup made of shared parameters, Program after Program, as bytes."""
        key = (text.each, bool(parameters))
        if not parameters and key in self._usual:
            return self._usual[key]
        parts = []
        for f in text.functions.values():
            names = {p.name for p in f.program.parameters}
            own = {n: v for n, v in (parameters or {}).items() if n in names}
            given = gather_parameters(f.program.parameters, own)
            values = setup_values(f.program, f.derived, given)
            parts.append(values if len(values) else np.zeros(1))
        raw = np.concatenate(parts).astype(self.dtype).tobytes()
        found = ctypes.create_string_buffer(raw, max(len(raw), 8))
        if not parameters:
            self._usual[key] = found
        return found
