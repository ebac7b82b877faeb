"""Files that are whole or not there: a kill, an interrupt or a full disk leaves what stood there before.

A file is written beside its place under a hidden name of its own, brought to the disk, and renamed. The writer holds a
lock on its part, which the system releases when the process ends, however it ends: the next writer of the same folder
sees which parts belong to nobody and removes them.
"""

from __future__ import annotations

import contextlib
import functools
import os
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from symbody.basics.errors import FormatError

try:
    import fcntl
except ImportError:  # Windows: a part that is open there cannot be removed, which says the same
    fcntl = None  # type: ignore[assignment]

SUFFIX = ".symbody.part"  # a name of our own: what others leave in a folder is not touched
TRIES = 5  # a part may be taken for an abandoned one between its making and its lock
LINKS = 40  # that a name may lead through, as on Linux
ACL = "system.posix_acl_access"  # where Linux keeps the access list of a file
LOOK = 100  # entries of a folder that are looked at for each file that is written there, on average
_until_look: dict[Path, int] = {}  # files to be written into a folder before it is looked at again


@dataclass(frozen=True)
class Old:
    """A file that is replaced: its owner, group and permissions, and its access list, if it has one."""

    status: os.stat_result
    acl: bytes | None


def write_whole(path: str | Path, parts: str | bytes | memoryview | Iterable[bytes], mode: int | None = None) -> Path:
    """Write a file, replacing an older one only when the new one is complete and on the disk.

    parts  a text, which is written in UTF-8, or bytes
    mode   permissions; None: those of the file that is replaced, else those that a new file gets
    """
    path = Path(path)
    if isinstance(parts, str):
        parts = _utf8(path, parts)

    def fill(file: BinaryIO, part: str) -> None:
        for data in (parts,) if isinstance(parts, bytes | memoryview) else parts:
            file.write(data)
        file.flush()
        os.fsync(file.fileno())
        # by its handle: in a folder of others, its name may lead elsewhere by now
        made = file.fileno() if os.chmod in os.supports_fd else part
        if mode is not None:
            os.chmod(made, mode)
        elif old is not None:
            _take_over(made, old)

    try:
        place, old = _target(path)
        prefix = f".{os.fsencode(place.name)[:100].decode(errors='ignore')}."
        # the system applies the umask as it makes the file; until it is whole, an older file's rights are not exceeded
        rights = 0o666 if old is None and mode is None else 0o600
        through_part(place.parent, fill, lambda part: os.replace(part, place), prefix, rights)
    except OSError as error:
        raise FormatError(
            f"{path} was not written: {error.strerror or error}. What stood there before is unchanged."
        ) from error
    _flush_folder(place.parent)
    _look_now_and_then(place.parent)
    return path


def _utf8(path: Path, text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:  # from the name of a file or folder that is no UTF-8
        around = text[max(error.start - 20, 0) : error.end + 20]
        raise FormatError(
            f"{path} was not written: {around!r} in it is no text. Rename what is called so, in UTF-8."
        ) from None


def _target(path: Path) -> tuple[Path, Old | None]:
    """Where a file goes, whatever folder the process moves to, and what stands there; an error if that must stay."""
    try:
        if not path.parent.is_dir():
            raise FormatError(f"{path} cannot be written: there is no folder {str(path.parent)!r}.")
        if path.is_dir():
            raise FormatError(f"{path} cannot be written: it is a folder. Give the name of a file.")
        if path.exists() and not path.is_file():
            raise FormatError(f"{path} cannot be written: it is a device or a pipe. Give the name of a file.")
        place = _behind_links(path)
        try:  # opened as one would to write into it: what is read-only stays
            handle = os.open(place, os.O_WRONLY | getattr(os, "O_NONBLOCK", 0))
        except FileNotFoundError:
            return place, None
    except ValueError as error:  # characters that no name has: NUL, halves of others
        raise FormatError(f"{str(path)!r} cannot be written: {error}.") from None
    try:
        return place, Old(os.fstat(handle), _acl(handle))
    finally:
        os.close(handle)


def _behind_links(path: Path) -> Path:
    """The file that a link leads to: the link stays. One of another user, as in /tmp, might lead anywhere: OSError."""
    for _ in range(LINKS):
        _check_links(path)
        place = Path(os.path.realpath(path.parent), path.name)
        if not place.is_symlink():
            return place
        if hasattr(os, "geteuid") and place.lstat().st_uid not in (0, os.geteuid(), place.parent.stat().st_uid):
            raise OSError("it is a link of another user")
        there = place.exists()
        path = place.parent / os.readlink(place)
        if there and not path.exists():  # as /proc says of a file that is open, but was removed
            raise OSError("it is a file without a name")
    raise OSError("it is a link that leads to itself")


def _check_links(path: Path) -> None:
    """OSError where a folder on the way is a link of another user in a folder like /tmp: the rule of Linux, which not
    every machine has switched on."""
    for place in folders_through(path.absolute()):
        if place.is_symlink():
            folder = place.parent.stat()
            shared = folder.st_mode & stat.S_ISVTX and folder.st_mode & 0o002
            if shared and place.lstat().st_uid not in (0, os.geteuid(), folder.st_uid):
                raise OSError(f"{place} is a link of another user")


def folders_through(path: Path) -> set[Path]:
    """The folders that a name leads through, also those that links on the way lie in and lead to."""
    found: set[Path] = set()
    waiting = list(path.parents)
    while waiting:
        place = waiting.pop()
        if place not in found:
            found.add(place)
            if place.is_symlink():
                target = place.parent / os.readlink(place)
                waiting += [target, *target.parents]
    return found


def _acl(handle: int | str) -> bytes | None:
    """The access list of a file; None where it has none, or the system keeps none."""
    try:
        return os.getxattr(handle, ACL)
    except (OSError, AttributeError):
        return None


def _take_over(handle: int | str, old: Old) -> None:
    """Owner, group and permissions of the file that is replaced; no other group gets what its group may do."""
    mode = old.status.st_mode & 0o777
    if hasattr(os, "chown"):
        for owner in ((-1, old.status.st_gid), (old.status.st_uid, -1)):
            with contextlib.suppress(OSError):  # only the administrator gives files away
                os.chown(handle, *owner)
        _take_over_acl(handle, old.acl)
        # with an access list, what stands for the group in the mode bounds all that the list names
        if os.stat(handle).st_gid != old.status.st_gid or _acl(handle) != old.acl:
            mode &= 0o707 | (mode & 0o007) << 3
    if os.stat(handle).st_mode & 0o777 != mode:  # a disk without permissions refuses to change them
        os.chmod(handle, mode)


def _take_over_acl(handle: int | str, acl: bytes | None) -> None:
    """The access list of the file that is replaced, and not what the folder gives to new files."""
    if _acl(handle) == acl:
        return
    with contextlib.suppress(OSError):
        if acl is None:
            os.removexattr(handle, ACL)
        else:
            os.setxattr(handle, ACL, acl)


def through_part(
    folder: Path,
    fill: Callable[[BinaryIO, str], object],
    move: Callable[[str], object],
    prefix: str = "",
    mode: int = 0o600,
) -> None:
    """Make a part, fill it by fill(file, its name), and give it its place by move(its name); else it is removed."""
    tried: list[str] = []
    try:
        with open_part(folder, prefix, tried, mode) as file:
            part = tried[-1]
            fill(file, part)
            file.flush()
            if fcntl is not None:  # while the lock is held, so that nobody takes it for an abandoned one
                move(part)
        if fcntl is None:
            move(part)
    except BaseException:
        for name in tried:
            with contextlib.suppress(OSError):  # of a folder that was closed meanwhile; a later writer removes it
                os.unlink(name)
        raise


def open_part(folder: Path, prefix: str, tried: list[str], mode: int = 0o600) -> BinaryIO:
    """A new, locked part in a folder. The lock ends when the file is closed.

    Its name is put at the end of `tried` before there is a file: an interrupt finds it, at whatever moment it comes.
    """
    opener = functools.partial(os.open, mode=mode)
    for _ in range(TRIES):
        tried.append(os.path.join(folder, f"{prefix}{os.urandom(6).hex()}{SUFFIX}"))
        file = open(tried[-1], "xb", opener=opener)  # noqa: SIM115  # for whoever writes it
        if _lock(file.fileno()) is not False and os.path.exists(tried[-1]):
            return file
        file.close()
    raise OSError(f"no part could be kept in {folder}")


def _look_now_and_then(folder: Path) -> None:
    """Remove what was left there: at once, and then so seldom that n files in a folder take time in proportion to n."""
    left = _until_look.get(folder, 0)
    _until_look[folder] = left - 1 if left else remove_abandoned(folder) // LOOK


def remove_abandoned(folder: Path) -> int:
    """Remove the parts that writers left behind when they were killed; those being written now are locked and stay.

    How many entries the folder has is returned.
    """
    count, names = 0, []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                count += 1
                if entry.name.endswith(SUFFIX) and entry.is_file(follow_symlinks=False):
                    names.append(entry.name)
    except OSError:
        return count
    for name in names:
        try:
            _remove_if_free(folder / name)
        except OSError:
            continue  # somebody else's, or gone already
    return count


def _remove_if_free(path: Path) -> None:
    if fcntl is None:
        path.unlink()  # Windows refuses where it is open
        return
    flags = os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        handle = os.open(path, os.O_WRONLY | flags)  # a disk in a network locks what is open to be written alone
    except PermissionError:
        handle = os.open(path, os.O_RDONLY | flags)
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
