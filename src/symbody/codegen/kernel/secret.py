"""A secret of the user, under which cached object code is authenticated, and what makes a folder safe for code.

The secret is 32 random bytes in the user's configuration folder (`SYMBODY_CONFIG`, else the system's usual place),
readable by its owner alone. Whoever can write into the cache folder but not read this file cannot make an entry
that is loaded.
"""

from __future__ import annotations

import functools
import os
import secrets
import stat
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from symbody.basics.atomic_file import folders_through, remove_abandoned, through_part

SIZE = 32  # bytes
NAME = "cache_secret"


class Unsafe(Exception):
    """Why a folder or the secret is not to be trusted, as the end of a sentence about the cache folder."""


@dataclass(frozen=True)
class SystemFolder:
    """Where the system keeps a kind of file: an own variable, the system's variable, and folders of the home."""

    override: str
    variable: str
    windows: str
    mac: str
    other: str


CONFIG = SystemFolder(
    "SYMBODY_CONFIG",
    "APPDATA" if sys.platform == "win32" else "XDG_CONFIG_HOME",
    windows="AppData/Roaming",
    mac="Library/Application Support",
    other=".config",
)


def folder_of(place: SystemFolder) -> Path:
    """The folder that the environment names for symbody, absolute; Unsafe where there is none."""
    own, systems = os.environ.get(place.override), os.environ.get(place.variable)
    try:
        if own:
            return Path(own).expanduser().absolute()
        if systems and sys.platform != "darwin" and Path(systems).is_absolute():  # another is to be ignored, says XDG
            return Path(systems, "symbody").absolute()
        usual = {"win32": place.windows, "darwin": place.mac}.get(sys.platform, place.other)
        return Path(Path.home(), usual, "symbody").absolute()
    except RuntimeError:
        raise Unsafe(f"is not known, as this user has no home; name a folder of yours in {place.override}") from None
    except OSError:
        raise Unsafe(f"is not known, as the working folder is gone; name a whole path in {place.override}") from None


def make_folder(path: Path) -> None:
    """A folder, and those above it where they are missing, each for its owner alone whatever the umask."""
    for folder in (*reversed(path.parents), path):
        if not folder.is_dir():
            folder.mkdir(mode=0o700, exist_ok=True)


def check_folder(path: Path) -> None:
    """Raise Unsafe where others could put files into a folder, or another folder into its place."""
    if path.is_symlink():
        raise Unsafe("is a link; give the folder itself")
    status = path.stat()
    if not stat.S_ISDIR(status.st_mode):
        raise Unsafe("is no folder")
    if not hasattr(os, "getuid"):
        return  # Windows: the user's profile is protected by its access lists
    if status.st_uid != os.getuid():
        raise Unsafe("belongs to another user")
    if status.st_mode & 0o022:
        raise Unsafe(
            f"can be written by others (mode {stat.S_IMODE(status.st_mode):04o}); remove that permission: chmod 700"
        )
    check_folders(path)


def check_folders(path: Path) -> None:
    """Raise Unsafe where everyone could put another file into the place of this one."""
    if not hasattr(os, "getuid"):
        return
    for parent in folders_through(path):
        mode = parent.stat().st_mode
        # what a group may exchange is still authenticated; where everyone may, even the owner's check means little
        if mode & 0o002 and not mode & stat.S_ISVTX:
            raise Unsafe(f"lies in {parent}, which everyone can write; remove that permission")


def user_secret() -> bytes:
    """The secret of this user, made on first use and kept for the process; Unsafe where there can be none."""
    return _secret_of(folder_of(CONFIG))


@functools.cache
def _secret_of(folder: Path) -> bytes:
    path = folder / NAME
    try:
        make_folder(folder)
        try:
            check_folders(path)
        except Unsafe as error:
            raise Unsafe(f"needs the secret {path}, which {error}") from None
        if not path.exists():
            _make(path)
        remove_abandoned(folder)
        return _read(path)
    except OSError as error:
        raise Unsafe(
            f"needs a secret in {folder}, which cannot be kept there ({error.strerror or error}); "
            "name a folder of yours in SYMBODY_CONFIG"
        ) from None


def _make(path: Path) -> None:
    """Write a new secret; where two processes do it at once, the first one's stays."""

    def fill(file: BinaryIO, _: str) -> None:
        file.write(secrets.token_bytes(SIZE))
        file.flush()
        os.fsync(file.fileno())

    def move(part: str) -> None:
        try:
            os.link(part, path)  # fails where it exists, unlike a renaming
        except FileExistsError:
            pass
        except OSError:  # a file system without hard links
            os.replace(part, path)
            return
        os.unlink(part)

    through_part(path.parent, fill, move)


def _read(path: Path) -> bytes:
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    with open(handle, "rb") as file:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise Unsafe(f"needs the secret {path}, which is no regular file; remove it")
        if hasattr(os, "getuid"):
            if status.st_uid != os.getuid():
                raise Unsafe(f"needs the secret {path}, which belongs to another user; remove it")
            if status.st_mode & 0o077:
                raise Unsafe(f"needs the secret {path}, which others can read or write; remove it, a new one is made")
        data = file.read(SIZE + 1)
    if len(data) != SIZE or not any(data):  # zeros are what a disk gives that lost it
        raise Unsafe(f"needs the secret {path}, which is damaged; remove it, a new one is made")
    return data
