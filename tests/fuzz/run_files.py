"""Files of runs and records: Trajectories, streams, checkpoints and measurements, damaged, also behind their checksums.

A damaged byte is met by the checksum. What lies behind it is met by values that are damaged first, and summed again.
"""

from __future__ import annotations

import functools
import hashlib
import io
import json
import random
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import symbody as sb
from fuzz.mutators import damaged_bytes, damaged_text, damaged_value
from symbody.motion.methods import native_stepper as native
from symbody.motion.run import checkpoint
from symbody.motion.trajectory import array_file, stream_file
from symbody.motion.trajectory import saved_record as record
from symbody.motion.trajectory.array_file import npz_bytes, read_arrays

Arrays = dict[str, np.ndarray]
STEPS = 20_000  # of a run: one that goes on from a damaged file may have steps of 1e-9 s, and takes all that it may
SHAPES = ((), (0,), (1,), (3,), (2, 2), (6, 4), (1, 0))


def written(write: Callable[[Path], Any], suffix: str) -> bytes:
    """The bytes of a file that a function writes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"file{suffix}")
        write(path)
        return path.read_bytes()


def arrays_of(data: bytes) -> Arrays:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "file.npz")
        path.write_bytes(data)
        return read_arrays(path, 1 << 30)


def _other_array(rng: random.Random) -> np.ndarray:
    return rng.choice((np.zeros, np.ones))(rng.choice(SHAPES)) * rng.choice((1.0, -1.0, np.nan, 1e308))


# -- checkpoints


# runs of several stretches, so that what they go on from is not their beginning


def _pendulum(path: Path) -> None:
    sb.simulate(sb.load("pendulum2"), 0.5, 0.01, q0=[0.3, 0.1], sampling=11, max_steps=STEPS, checkpoint=path)


def _batch(path: Path) -> None:
    """Three members with parameters of their own and a table."""
    start = [[0.3, 0.1], [0.2, 0.0], [0.0, 0.1]]
    more = {"inputs": {"joint1": ([0.0, 0.1], [0.0, 1.0])}, "parameters": {"m1": [1.0, 1.1, 1.2]}}
    sb.simulate(sb.load("pendulum2"), 0.5, 0.01, q0=start, sampling=11, max_steps=STEPS, checkpoint=path, **more)


def _hybrid(path: Path) -> None:
    """Events, a controller with a memory and a sampled one."""
    q, z = sb.symbols("q z")
    make = sb.Mechanism.builder("balls")
    for name in ("z", "y"):
        make.body(f"ball_{name}", 1.0)
        make.joint(name, "prismatic", "world", f"ball_{name}", axis=name)
    law = {"states": {"z": "z_dot"}, "outputs": {"tau": -3 * q - z, "z_dot": q}}
    with_memory = sb.System("slow", inputs={"q.z": q, "z": z}, **law)
    sampled = sb.System("quick", inputs={"q.y": q}, outputs={"tau": -2 * q}, clocks={"period": 0.02})
    bounce = sb.When("bounce", "q.z", direction=-1, reset={"qd.z": "-0.9*qd.z"})
    inputs = {"z": with_memory, "y": sampled}
    sb.simulate(
        make.done(),
        0.9,
        0.01,
        q0=[1.0, 0.1],
        events=[bounce],
        inputs=inputs,
        sampling=11,
        max_steps=STEPS,
        checkpoint=path,
    )


def _closed(path: Path) -> None:
    sb.simulate(sb.load("four_bar"), 0.5, 0.01, qd0={"crank": 2.0}, sampling=11, max_steps=STEPS, checkpoint=path)


def _closed_batch(path: Path) -> None:
    masses = {"m1": np.array([0.5, 0.6])}
    sb.simulate(
        sb.load("four_bar"),
        0.5,
        0.01,
        qd0={"crank": 2.0},
        parameters=masses,
        sampling=11,
        max_steps=STEPS,
        checkpoint=path,
    )


RUNS: dict[str, Callable[[Path], None]] = {
    "checkpoint": _pendulum,
    "checkpoint_batch": _batch,
    "checkpoint_events": _hybrid,
    "checkpoint_loops": _closed,
    "checkpoint_closed_batch": _closed_batch,
}


@functools.cache
def checkpoint_bytes(name: str) -> bytes:
    with mock.patch.object(native, "WORK", 1):
        return written(RUNS[name], ".npz")


@functools.cache
def _checkpoint(name: str) -> tuple[dict[str, Any], Arrays]:
    arrays = arrays_of(checkpoint_bytes(name))
    return json.loads(bytes(arrays.pop("meta")).decode()), arrays


def damaged_checkpoint(name: str, rng: random.Random) -> bytes:
    if rng.random() < 0.3:
        return damaged_bytes(checkpoint_bytes(name), rng)
    meta, arrays = _checkpoint(name)
    arrays = dict(arrays)
    if rng.random() < 0.7:
        meta = damaged_value(meta, rng)
    elif "closed" in meta and rng.random() < 0.1:
        meta = json.loads(json.dumps(meta))
        meta["closed"]["call"]["model"] = damaged_text(meta["closed"]["call"]["model"], rng)
    else:
        arrays[rng.choice(sorted(arrays))] = _other_array(rng)
    if isinstance(meta, dict):
        meta.pop("checksum", None)
        meta["checksum"] = checkpoint._checksum(meta, arrays)
    return npz_bytes({**arrays, "meta": np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8)})


# -- Trajectories


@functools.cache
def _motion(members: int) -> sb.Trajectory:
    start = [0.3, 0.1] if not members else np.linspace(0.1, 0.3, 2 * members).reshape(members, 2)
    return sb.simulate(sb.load("pendulum2"), 0.05, 0.01, q0=start)


@functools.cache
def trajectory_bytes(suffix: str, members: int = 0) -> bytes:
    return written(_motion(members).save, suffix)


def damaged_trajectory(suffix: str, rng: random.Random) -> bytes:
    """Bytes damaged; or the description or an array, behind a checksum that is right again."""
    members = rng.choice((0, 3))
    if rng.random() < 0.5:
        return damaged_bytes(trajectory_bytes(suffix, members), rng)
    arrays = dict(arrays_of_trajectory(members))
    description = json.loads(arrays.pop("description").tobytes())
    if rng.random() < 0.8:
        description = damaged_value(description, rng)
    else:
        arrays[rng.choice(sorted(arrays))] = _other_array(rng)
    if isinstance(description, dict):
        description.pop("checksum", None)
        parts = [("t", arrays["t"]), *((n[7:], a) for n, a in arrays.items() if n != "t")]
        description = {"checksum": array_file.checksum(record.canonical(description), parts), **description}
    return _PACKERS[suffix](json.dumps(description), arrays)


@functools.cache
def arrays_of_trajectory(members: int) -> Mapping[str, np.ndarray]:
    return arrays_of(trajectory_bytes(".npz", members))


def _as_npz(description: str, arrays: Arrays) -> bytes:
    return npz_bytes({"description": np.frombuffer(description.encode(), dtype=np.uint8), **arrays})


def _as_hdf5(description: str, arrays: Arrays) -> bytes:
    import h5py

    memory = io.BytesIO()
    with h5py.File(memory, "w") as file:
        file["description"] = np.frombuffer(description.encode(), dtype=np.uint8)
        for name, array in arrays.items():
            file[name] = array
    return memory.getvalue()


def _as_parquet(description: str, arrays: Arrays) -> bytes:
    """The table of the arrays that fit into one."""
    import pyarrow
    from pyarrow import parquet

    rows = max((a.shape[0] * (a.shape[1] if a.ndim > 2 else 1) for a in arrays.values() if a.ndim), default=0)
    columns = {"t": np.resize(arrays["t"], rows) if arrays["t"].size else np.zeros(rows)}
    for name, array in arrays.items():
        flat = array.reshape(rows, -1) if rows and array.size and array.size % rows == 0 else np.zeros((rows, 1))
        columns.update({f"{name}.{k}": flat[:, k] for k in range(flat.shape[1]) if name != "t"})
    table = pyarrow.table(columns).replace_schema_metadata({b"symbody": description.encode()})
    sink = pyarrow.BufferOutputStream()
    parquet.write_table(table, sink)
    return bytes(sink.getvalue())


_PACKERS: dict[str, Callable[[str, Arrays], bytes]] = {".npz": _as_npz, ".h5": _as_hdf5, ".parquet": _as_parquet}


# -- streams


@functools.cache
def stream_bytes() -> bytes:
    start = np.linspace(0.1, 0.3, 10).reshape(5, 2)
    return written(
        lambda path: sb.simulate(sb.load("pendulum2"), 0.05, 0.01, q0=start, stream=sb.Stream(path, 2)), ".parquet"
    )


@functools.cache
def _stream() -> tuple[Any, dict[str, Any]]:
    from pyarrow import parquet

    with parquet.ParquetFile(io.BytesIO(stream_bytes())) as file:
        return file.read(), json.loads(file.metadata.metadata[stream_file.KEY])


def damaged_stream(rng: random.Random) -> bytes:
    if rng.random() < 0.5:
        return damaged_bytes(stream_bytes(), rng)
    import pyarrow
    from pyarrow import parquet

    table, about = _stream()
    about = damaged_value(about, rng)
    if isinstance(about, dict):
        about.pop("checksum", None)
        about = {"checksum": hashlib.sha256(record.canonical(about).encode()).hexdigest(), **about}
    if rng.random() < 0.2:
        table = table.drop_columns([rng.choice(table.column_names)])
    sink = pyarrow.BufferOutputStream()
    parquet.write_table(table.replace_schema_metadata({stream_file.KEY: json.dumps(about).encode()}), sink)
    return bytes(sink.getvalue())


# -- measured records


@functools.cache
def measured_bytes(suffix: str) -> bytes:
    t = 0.01 * np.arange(40)
    arrays = {"t": t, "q": np.column_stack([np.sin(t), np.cos(t)]), "tau": np.column_stack([t, -t])}
    if suffix == ".npz":
        return npz_bytes(arrays)
    if suffix == ".mat":
        from scipy.io import savemat

        memory = io.BytesIO()
        savemat(memory, arrays, do_compression=True)
        return memory.getvalue()
    if suffix == ".h5":
        return _as_hdf5("", arrays)
    return _as_parquet("", {"t": t, "q": arrays["q"], "tau": arrays["tau"]})


def damaged_measurement(suffix: str, rng: random.Random) -> bytes:
    return damaged_bytes(measured_bytes(suffix), rng)
