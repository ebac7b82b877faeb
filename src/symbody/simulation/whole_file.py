"""Files that are whole or not there: an interrupt or a full disk leaves what stood there before."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from symbody.errors import FormatError


def write_whole(path: str | Path, parts: bytes | memoryview | Iterable[bytes]) -> Path:
    """Write a file, replacing an older one only when the new one is complete and on the disk."""
    path = Path(path)
    folder = path.parent
    if not folder.is_dir():
        raise FormatError(f"{path} cannot be written: there is no folder {str(folder)!r}.")
    if path.is_dir():
        raise FormatError(f"{path} cannot be written: it is a folder. Give the name of a file.")
    if path.exists() and not path.is_file():
        raise FormatError(f"{path} cannot be written: it is a device or a pipe. Give the name of a file.")
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(dir=folder, prefix=f".{path.name[:100]}.", suffix=".part")
        with os.fdopen(handle, "wb") as file:
            for part in (parts,) if isinstance(parts, bytes | memoryview) else parts:
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, _mode(path))
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
    return path


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
