"""Files that are whole or not there: a kill, an interrupt or a full disk leaves what stood there before.

A file is written beside its place under a hidden name of its own, brought to the disk, and renamed. The writer holds a
lock on its part, which the system releases when the process ends, however it ends: the next writer of the same folder
sees which parts belong to nobody and removes them.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from symbody.errors import FormatError

try:
    import fcntl
except ImportError:  # Windows: a part that is open there cannot be removed, which says the same
    fcntl = None  # type: ignore[assignment]

SUFFIX = ".symbody.part"  # a name of our own: what others leave in a folder is not touched
TRIES = 5  # a part may be taken for an abandoned one between its making and its lock


def write_whole(path: str | Path, parts: bytes | memoryview | Iterable[bytes], mode: int | None = None) -> Path:
    """Write a file, replacing an older one only when the new one is complete and on the disk.

    mode   permissions; None: those of the file that is replaced, else those that a new file gets
    """
    path = Path(path)
    folder = path.parent
    if "\0" in str(path):
        raise FormatError(f"{str(path)!r} cannot be written: no name of a file holds a NUL.")
    try:
        if not folder.is_dir():
            raise FormatError(f"{path} cannot be written: there is no folder {str(folder)!r}.")
        if path.is_dir():
            raise FormatError(f"{path} cannot be written: it is a folder. Give the name of a file.")
        if path.exists() and not path.is_file():
            raise FormatError(f"{path} cannot be written: it is a device or a pipe. Give the name of a file.")
    except OSError as error:  # a name that is too long, a folder that may not be looked into
        raise FormatError(f"{path} cannot be written: {error.strerror or error}.") from None
    temporary = None
    try:
        prefix = f".{path.name.encode()[:100].decode(errors='ignore')}."
        handle, temporary = open_part(folder, prefix)
        with os.fdopen(handle, "wb") as file:
            for part in (parts,) if isinstance(parts, bytes | memoryview) else parts:
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
            os.chmod(temporary, _mode(path) if mode is None else mode)
            if fcntl is not None:  # renamed while the lock is held, so that nobody takes it for an abandoned one
                os.replace(temporary, path)
        if fcntl is None:
            os.replace(temporary, path)
    except BaseException as error:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise FormatError(
                f"{path} was not written: {error.strerror or error}. What stood there before is unchanged."
            ) from error
        raise
    _flush_folder(folder)
    remove_abandoned(folder)
    return path


def open_part(folder: Path, prefix: str) -> tuple[int, str]:
    """(handle, name) of a new, locked part in a folder. The lock ends when the handle is closed."""
    for _ in range(TRIES):
        handle, temporary = tempfile.mkstemp(dir=folder, prefix=prefix, suffix=SUFFIX)
        if _lock(handle) is not False and os.path.exists(temporary):
            return handle, temporary
        os.close(handle)
    raise OSError(f"no part could be kept in {folder}")


def remove_abandoned(folder: Path) -> None:
    """Remove the parts that writers left behind when they were killed; those being written now are locked and stay."""
    try:
        with os.scandir(folder) as entries:
            names = [e.name for e in entries if e.name.endswith(SUFFIX) and e.is_file(follow_symlinks=False)]
    except OSError:
        return
    for name in names:
        try:
            _remove_if_free(folder / name)
        except OSError:
            continue  # somebody else's, or gone already


def _remove_if_free(path: Path) -> None:
    if fcntl is None:
        path.unlink()  # Windows refuses where it is open
        return
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if _lock(handle):
            path.unlink(missing_ok=True)
    finally:
        os.close(handle)


def _lock(handle: int) -> bool | None:
    """Take the lock of an open file: True, False if another writer has it, None where a file system has no locks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _mode(path: Path) -> int:
    """Permissions of the file that is replaced, else those that a new file gets (mkstemp's are for the owner alone)."""
    try:
        return path.stat().st_mode & 0o777
    except OSError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def _flush_folder(folder: Path) -> None:
    """Let the new name reach the disk too, on systems that can open folders."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass  # some file systems have no such thing; the file itself is complete
    finally:
        os.close(handle)
