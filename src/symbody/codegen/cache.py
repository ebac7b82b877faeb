"""Object code on disk: one file an entry, named by a hash of everything that the code depends on.

A file is a magic line, the SHA-256 of the rest, the length of a JSON header, the header, and the object code. One that
does not match its checksum is ignored and written again. The directory must be the user's own: code in it is executed.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
import sys
import tempfile
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from symbody.lower.program import Program

MAGIC = b"symbody object code 1\n"
LIMIT = 1 << 30  # bytes of all entries together
SUFFIX = ".obj"

_warned: set[str] = set()


def directory() -> Path | None:
    """The cache directory, made on first use; None (with one warning) where it would not be safe or cannot be made."""
    given = os.environ.get("SYMBODY_CACHE")
    path = Path(given) if given else _user_cache() / "symbody"
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        stat = path.stat()
    except OSError as error:
        return _refuse(path, f"cannot be made ({error})")
    if hasattr(os, "getuid"):
        if stat.st_uid != os.getuid():
            return _refuse(path, "belongs to another user")
        if stat.st_mode & 0o002:
            return _refuse(path, "can be written by everyone; remove that permission")
    return path


def _user_cache() -> Path:
    home = Path.home()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", home / "AppData" / "Local"))
    if sys.platform == "darwin":
        return home / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")


def _refuse(path: Path, why: str) -> Path | None:
    if str(path) not in _warned:
        _warned.add(str(path))
        warnings.warn(
            f"W-cache-unused: the cache directory {path} {why}. Code is compiled anew each time.", stacklevel=3
        )
    return None


def digest(parts: Iterable[object]) -> str:
    """Name of an entry: SHA-256 over the texts of the parts, each with its length."""
    h = hashlib.sha256()
    for part in parts:
        text = str(part).encode()
        h.update(struct.pack("<Q", len(text)))
        h.update(text)
    return h.hexdigest()


def program_key(program: Program) -> str:
    """Hash of all that the code of a Program depends on; the functions of its externals are not part of the code."""
    externals = [(e.name, e.arity, e.results) for e in program.externals]
    return digest(
        (
            program.name,
            program.inputs,
            program.parameters,
            program.outputs,
            list(program.ops),
            list(program.args),
            list(program.setup),
            list(program.step),
            list(program.call),
            program.blocks,
            program.tables,
            externals,
        )
    )


def load(name: str) -> tuple[dict[str, Any], list[bytes]] | None:
    """Header and objects of an entry, None if there is none or it is damaged."""
    folder = directory()
    if folder is None:
        return None
    path = folder / (name + SUFFIX)
    try:
        with path.open("rb") as file:
            if hasattr(os, "getuid") and os.fstat(file.fileno()).st_uid != os.getuid():
                return None
            data = file.read()
        entry = _unpack(data)
        if entry is not None:
            os.utime(path)  # the oldest by use go first
        return entry
    except OSError:
        return None


def _unpack(data: bytes) -> tuple[dict[str, Any], list[bytes]] | None:
    start = len(MAGIC) + 32
    if len(data) < start + 8 or not data.startswith(MAGIC):
        return None
    if hashlib.sha256(memoryview(data)[start:]).digest() != data[len(MAGIC) : start]:
        return None
    (length,) = struct.unpack_from("<Q", data, start)
    at = start + 8 + length
    content = json.loads(data[start + 8 : at])
    objects = []
    for size in content["sizes"]:
        objects.append(data[at : at + size])
        at += size
    return content["header"], objects


def store(name: str, header: dict[str, Any], objects: Sequence[bytes]) -> None:
    """Write an entry; readers see the whole of it or nothing. Does nothing where the disk refuses."""
    folder = directory()
    if folder is None:
        return
    text = json.dumps({"header": header, "sizes": [len(o) for o in objects]}).encode()
    rest = b"".join([struct.pack("<Q", len(text)), text, *objects])
    try:
        handle, temporary = tempfile.mkstemp(dir=folder, suffix=".part")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(MAGIC + hashlib.sha256(rest).digest())
                file.write(rest)
            os.replace(temporary, folder / (name + SUFFIX))
        except OSError:
            os.unlink(temporary)
            raise
        prune(folder, LIMIT)
    except OSError:
        return


def prune(folder: Path, limit: int) -> None:
    """Remove the entries that were used longest ago until the rest is not larger than `limit` bytes."""
    entries = []
    for path in folder.glob("*" + SUFFIX):
        try:
            stat = path.stat()
        except OSError:
            continue
        entries.append((stat.st_mtime_ns, stat.st_size, path))
    total = sum(size for _, size, _ in entries)
    for _, size, path in sorted(entries, key=lambda e: e[0]):
        if total <= limit:
            return
        try:
            path.unlink()
        except OSError:
            continue
        total -= size
