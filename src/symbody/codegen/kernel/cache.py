"""Object code on disk: one file an entry, named by a hash of everything that the code depends on.

Code in an entry is executed, so an entry must be one that this user's symbody wrote under this very name: a file is a
magic line, the HMAC-SHA-256 of its name and of the rest under a secret of the user, the length of a JSON header, the
header, and the object code. The secret lies outside the folder (`secret.py`). An entry that is damaged, renamed,
swapped or foreign does not match, is ignored and written again. Folder and entries must belong to the user and be
writable by nobody else.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import hmac
import json
import os
import re
import stat
import struct
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from symbody.basics.atomic_file import remove_abandoned, through_part
from symbody.codegen.kernel.secret import (
    CONFIG,
    SystemFolder,
    Unsafe,
    check_folder,
    folder_of,
    make_folder,
    user_secret,
)
from symbody.symbolic.lower.program import Program

MAGIC = b"symbody object code 2\n"
LIMIT = 1 << 30  # bytes of all entries together
LOOK = LIMIT >> 4  # bytes that a process writes between two looks at what all entries take
SUFFIX = ".obj"
_ENTRY = re.compile(rf"[0-9a-f]{{64}}{re.escape(SUFFIX)}")  # what `digest` names
MAC = 32  # bytes of an HMAC-SHA-256
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_written: dict[Path, int] = {}  # bytes written into a folder since it was looked at


CACHE = SystemFolder(
    "SYMBODY_CACHE",
    "LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME",
    windows="AppData/Local",
    mac="Library/Caches",
    other=".cache",
)


def directory() -> Path | None:
    """The cache directory, made on first use; None (with one warning) where it would not be safe or cannot be made."""
    try:
        path = folder_of(CACHE)
    except Unsafe as error:
        return _unused(str(error))
    try:
        return _checked(path, folder_of(CONFIG))
    except Unsafe as error:
        return _unused(f"{path} needs a secret whose folder {error}")


@functools.cache
def _checked(path: Path, config: Path) -> Path | None:
    """A folder looked at once in a process: entries are authenticated one by one anyway."""
    try:
        make_folder(path)
        check_folder(path)
        if Path(os.path.realpath(config)).is_relative_to(os.path.realpath(path)):
            raise Unsafe(f"would hold the secret ({config}); name another folder in SYMBODY_CONFIG")
        user_secret()
    except (Unsafe, OSError) as error:
        why = str(error) if isinstance(error, Unsafe) else f"cannot be made ({error})"
        return _unused(f"{path} {why}")
    remove_abandoned(path)
    return path


@functools.cache
def _unused(why: str) -> None:
    warnings.warn(f"W-cache-unused: the cache directory {why}. Code is compiled anew each time.", stacklevel=4)


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
    """Header and objects of an entry, None if there is none or if it is not what was stored under this name."""
    folder = directory()
    if folder is None:
        return None
    path = _place(folder, name)
    try:
        with open_private(path) as file:
            entry = _unpack(name, file.read())
            if entry is not None:
                _touch(path, file.fileno())
        return entry
    except OSError:
        return None


def _place(folder: Path, name: str) -> str:
    """The file of an entry. No Path: it would enter each name into Python's table of strings, which then grows."""
    return os.path.join(folder, name + SUFFIX)


def open_private(path: Path | str) -> BinaryIO:
    """A file of the folder, open to be read. A link is not followed, and a pipe not waited for.

    OSError unless it is a regular file of this user that nobody else can write, and not too large.
    """
    handle = os.open(path, _READ)
    status = os.fstat(handle)
    if not _is_private(status) or status.st_size > LIMIT:
        os.close(handle)
        raise OSError(f"{path} is no file of this user's own")
    return os.fdopen(handle, "rb")


def _is_private(status: os.stat_result) -> bool:
    """Whether an entry is a regular file of this user that nobody else can write."""
    if not stat.S_ISREG(status.st_mode):
        return False
    return not hasattr(os, "getuid") or (status.st_uid == os.getuid() and not status.st_mode & 0o022)


def _touch(path: str, handle: int) -> None:
    """Note the use of an entry: the oldest by use go first. Where the disk is read-only, none go."""
    with contextlib.suppress(OSError):
        os.utime(handle if os.utime in os.supports_fd else path)


def code_of(name: str, rest: bytes | memoryview) -> bytes:
    """The HMAC-SHA-256 of a name and what is kept under it, by the secret of this user."""
    mac = hmac.new(user_secret(), digestmod="sha256")
    mac.update(MAGIC + struct.pack("<Q", len(name)) + name.encode())
    mac.update(rest)
    return mac.digest()


def _unpack(name: str, data: bytes) -> tuple[dict[str, Any], list[bytes]] | None:
    start = len(MAGIC) + MAC
    if len(data) < start + 8 or not data.startswith(MAGIC):
        return None
    if not hmac.compare_digest(code_of(name, memoryview(data)[start:]), data[len(MAGIC) : start]):
        return None
    # what follows was written by `store`; an older symbody may still have written it in another form
    try:
        (length,) = struct.unpack_from("<Q", data, start)
        at = start + 8 + length
        content = json.loads(data[start + 8 : at])
        header, sizes = content["header"], content["sizes"]
        if not isinstance(header, dict) or at + sum(sizes) != len(data):
            return None
        objects = []
        for size in sizes:
            objects.append(data[at : at + size])
            at += size
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return header, objects


def store(name: str, header: dict[str, Any], objects: Sequence[bytes]) -> None:
    """Write an entry; readers see the whole of it or nothing. Does nothing where the disk refuses."""
    folder = directory()
    if folder is None:
        return
    text = json.dumps({"header": header, "sizes": [len(o) for o in objects]}).encode()
    rest = b"".join([struct.pack("<Q", len(text)), text, *objects])
    try:
        # no fsync: an entry that a crash leaves half-written does not match and is compiled anew
        fill = lambda file, _: file.writelines((MAGIC + code_of(name, rest), rest))  # noqa: E731
        through_part(folder, fill, lambda part: os.replace(part, _place(folder, name)))
        _make_room(folder, len(rest))
    except OSError:
        return


def _make_room(folder: Path, size: int) -> None:
    """Look at the folder now and then: at the first entry that a process writes, and after every `LOOK` bytes."""
    written = _written.get(folder, LOOK) + size
    if written >= LOOK:
        prune(folder, LIMIT)
        written = 0
    _written[folder] = written


def prune(folder: Path, limit: int) -> None:
    """Remove the entries that were used longest ago until the rest is not larger than `limit` bytes."""
    total = sum(size for _, size, _ in _entries(folder))
    if total <= limit:
        return  # the usual case keeps no list: a folder may hold many thousands
    for _, size, path in sorted(_entries(folder)):
        try:
            os.unlink(path)
        except OSError:
            continue
        total -= size
        if total <= limit:
            return


def _entries(folder: Path) -> Iterator[tuple[int, int, str]]:
    """(time of the last use, bytes, path) of each entry. Other files stay: meshes have the same suffix."""
    with os.scandir(folder) as found:
        for entry in found:
            if _ENTRY.fullmatch(entry.name):
                try:
                    status = entry.stat(follow_symlinks=False)
                except OSError:
                    continue
                yield status.st_mtime_ns, status.st_size, entry.path
