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
    try:
        if path.is_file():
            return ""
    except (OSError, ValueError) as error:  # a folder that may not be searched, a name that no file can have
        return f"{str(path)!r} cannot be read: {getattr(error, 'strerror', None) or error}"
    return f"there is no file {str(path)!r}"


def inside(folder: Path, relative: str) -> Path | None:
    """The file `relative` to a folder, or None if it would lie outside of it."""
    try:
        root = folder.resolve()
        target = (root / relative).resolve()
    except (OSError, ValueError, RuntimeError):
        return None
    return target if target.is_relative_to(root) else None


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
    if len(data) > limit:  # it grew meanwhile
        raise TooLarge(len(data), limit)
    return data
