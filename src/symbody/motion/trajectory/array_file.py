"""Arrays in one file (npz), read with bounds: an entry says how large it is before memory is asked for."""

from __future__ import annotations

import hashlib
import io
import math
import os
import zipfile
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
from numpy.lib import format as npy

from symbody.basics.errors import FormatError
from symbody.basics.regular_file import open_regular

KINDS = "fiub"  # real numbers, integers, truth values
MAX_NAMES = 100_000
MOST_DIMENSIONS = 64  # that NumPy has
ROOM, RATIO = 128 << 20, 100  # bytes that any file may unfold to, and those for each of its own
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # what NumPy writes; others unfold to far more


def most_unfolded(size: int) -> int:
    """Bytes of numbers that a file of so many bytes may hold: measured or computed ones are never packed closer."""
    return ROOM + RATIO * size


def read_arrays(
    path: Path, max_bytes: int, names: Collection[str] | None = None, packed: bool = True, foreign: bool = False
) -> dict[str, np.ndarray]:
    """name -> array of an npz file whose arrays together hold at most `max_bytes`. ValueError where it is damaged.

    names    of those that are read; None: all
    packed   whether they may be compressed; where they may not, they are not larger than the file
    foreign  whether what holds no numbers is passed over, as in archives that others make; else it is damage
    """
    with open_regular(path) as stream, zipfile.ZipFile(stream) as archive:
        entries = archive.infolist()
        if len(entries) > MAX_NAMES:
            raise FormatError(f"{path} has {len(entries)} entries; expected at most {MAX_NAMES}.")
        before = min((e.header_offset for e in entries), default=0)
        if before:
            raise FormatError(f"{path} is damaged: its first {before} bytes are not its own.")
        if names is not None:
            wanted = {f"{n}.npy" for n in names}
            entries = [e for e in entries if e.filename in wanted]
        if foreign:
            entries = [e for e in entries if e.filename.endswith(".npy")]
        if any(e.compress_type not in (METHODS if packed else METHODS[:1]) for e in entries):
            raise FormatError(f"{path} is packed in another way than NumPy does; expected it as it was written.")
        size = os.fstat(stream.fileno()).st_size
        limit = min(max_bytes, most_unfolded(size) if packed else size)
        if sum(e.file_size for e in entries) > limit:
            raise FormatError(f"{path} would unfold to more than {limit} bytes.")
        out = {}
        passed = (_NoNumbers,) if foreign else ()
        for entry in entries:
            name = entry.filename.removesuffix(".npy")
            if name in out or entry.filename == name:
                raise ValueError(f"an entry {entry.filename!r}")
            with archive.open(entry) as file, suppress(*passed):
                out[name] = _read_array(file, entry.file_size)
        return out


class _NoNumbers(ValueError):
    """An array of texts, objects or the like."""


def _read_array(file: Any, size: int) -> np.ndarray:
    """One array; its header must describe just the bytes that follow it."""
    version = npy.read_magic(file)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"an array of version {version}")
    read_header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    try:
        shape, fortran, dtype = read_header(file)
    except (TokenError, SyntaxError) as error:
        raise ValueError(f"an array whose header cannot be read ({error})") from None
    if dtype.kind not in KINDS:
        raise _NoNumbers(f"an array of type {dtype}")
    if min(shape, default=0) < 0 or len(shape) > MOST_DIMENSIONS:
        raise ValueError(f"an array of shape {shape}")
    if math.prod(shape) * dtype.itemsize != size - file.tell():
        raise ValueError(f"an array of shape {shape} in {size} bytes")
    data = file.read()
    return np.frombuffer(data, dtype=dtype).reshape(shape, order="F" if fortran else "C").copy()


def npz_bytes(arrays: Mapping[str, np.ndarray], compressed: bool = False) -> bytes:
    """The npz file of these arrays; compressed ones are left as they are where they would not be read again."""
    memory = io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(memory, **arrays)  # type: ignore[arg-type]  # names as options
    data = memory.getvalue()
    too_close = compressed and sum(a.nbytes for a in arrays.values()) > most_unfolded(len(data))
    return npz_bytes(arrays) if too_close else data


def checksum(text: str, arrays: Iterable[tuple[str, np.ndarray]]) -> str:
    """SHA-256 of a text and of arrays by name, type, shape and bytes; every NaN counts as the same."""
    digest = hashlib.sha256(text.encode())
    for name, array in arrays:
        array = np.asarray(array)
        if array.dtype.kind == "f" and np.isnan(array).any():
            array = np.where(np.isnan(array), np.nan, array).astype(array.dtype)
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
