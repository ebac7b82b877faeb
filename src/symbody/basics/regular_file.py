"""Reading a file that a user or another file named: a regular file of bounded size, or an OSError with the reason."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO


class TooLarge(OSError):
    """The file has more bytes than are read; `size` says how many."""

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(f"it has {size} bytes; at most {limit} are read")
        self.size = size


def is_file(path: Path) -> bool:
    """Whether there is a regular file; False for a name that no file can have."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def missing(path: Path) -> str:
    """Why there is no regular file to be read, as a clause without an end; "" where there is one."""
    why = unreachable(path)
    if why:
        return f"{str(path)!r} cannot be read: {why}"
    return "" if is_file(path) else f"there is no file {str(path)!r}"


def unreachable(path: Path) -> str:
    """Why nobody can say what there is: a long name, links in a circle, a closed folder; "" where one can."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except OSError as error:
        return error.strerror or str(error)
    except ValueError as error:  # a NUL in the name
        return str(error)
    return ""


def resolved(path: Path) -> Path | None:
    """The path without links and dots; None where links go in a circle, or no file can have the name."""
    try:
        return path.resolve()
    except (OSError, ValueError, RuntimeError):
        return None


def inside(folder: Path, relative: str) -> Path | None:
    """The file `relative` to a folder, or None if it would lie outside of it."""
    root = resolved(folder)
    target = resolved(root / relative) if root is not None else None
    return target if root is not None and target is not None and target.is_relative_to(root) else None


def open_regular(path: Path) -> BinaryIO:
    """A regular file, open to be read. A pipe or a device is refused without waiting for it.

    The file is looked at after it is opened, so that what was checked is what is read.
    """
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except ValueError as error:  # a NUL in the name
        raise OSError(str(error)) from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError("it is no regular file, but a folder, a pipe or a device")
    return os.fdopen(handle, "rb")


def read_regular(path: Path, limit: int) -> bytes:
    """The bytes of a regular file; a larger one is refused unread."""
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > limit:
            raise TooLarge(size, limit)
        data = file.read(limit + 1)
    if data is None:  # a file of the kernel that has nothing to say yet, such as /proc/kmsg
        raise OSError("it has nothing to read now; it is no file that was written")
    if len(data) > limit:  # it grew meanwhile
        raise TooLarge(len(data), limit)
    return data
