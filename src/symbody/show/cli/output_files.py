"""Files that a command was asked to write: refused before the work where they cannot be, written whole after it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from symbody.basics.errors import FormatError, SymbodyError
from symbody.show.cli.common import complain, reading_options

PICTURES = (".png", ".svg", ".pdf")
PAGES = (".html", ".htm")
TABLES = (".csv", ".parquet", ".h5", ".hdf5", ".npz")


@reading_options()
def check_target(path: Path, option: str, suffixes: Sequence[str] = ()) -> None:
    """Whether a file can be written there, as far as can be known beforehand; an hour of computing is not lost then."""
    if suffixes and path.suffix.lower() not in suffixes:
        raise FormatError(f"{option} {path} has the suffix {path.suffix!r}; expected one of {', '.join(suffixes)}.")
    if path.is_dir():
        raise FormatError(f"{option} {path} is a folder; give the name of a file.")
    if path.exists() and not path.is_file():
        raise FormatError(f"{option} {path} is a device, not a file; give the name of a file.")
    if not path.parent.is_dir():
        raise FormatError(f"{option} {path}: there is no folder {str(path.parent)!r}.")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise FormatError(f"{option} {path}: the folder {str(path.parent)!r} does not let new files in.")
    if path.exists() and not os.access(path, os.W_OK):
        raise FormatError(f"{option} {path} is read-only; give another name, or make it writable.")
    needs = {".parquet": "pyarrow", ".h5": "h5py", ".hdf5": "h5py"}.get(path.suffix.lower())
    if needs is not None:
        from symbody.motion.trajectory.optional_packages import extra

        extra(needs)


@reading_options()
def check_distinct(named: Sequence[tuple[str, Path | None]]) -> None:
    """Whether options name files of their own; the last one written would stand for both otherwise."""
    known: dict[str, str] = {}
    for option, path in named:
        if path is not None:
            other = known.setdefault(os.path.realpath(path), f"{option} {path}")
            if other != f"{option} {path}":
                raise FormatError(f"{option} {path} is the same file as {other}; give each a name of its own.")


def check_overwrite(path: Path, force: bool) -> None:
    """A file that stands there stays, unless the user says otherwise."""
    if path.exists() and not force:
        raise FormatError(f"{path} exists and was left as it is. Take another name, or --force to replace it.")


def write_all(jobs: Sequence[tuple[Path, Callable[[], Any]]]) -> tuple[list[str], int]:
    """Do each job, whatever becomes of the others: files written, and how many failed (each with a sentence)."""
    written, failed = [], 0
    for path, job in jobs:
        try:
            job()
            written.append(str(path))
        except SymbodyError as error:
            complain(str(error))
            failed += 1
        except OSError as error:
            complain(f"{path} was not written: {error.strerror or error}.")
            failed += 1
    return written, failed


def save_figure(figure: Any, path: Path) -> None:
    """A matplotlib Figure as .png, .svg or .pdf."""
    import io

    from symbody.basics.atomic_file import write_whole

    memory = io.BytesIO()
    figure.savefig(memory, format=path.suffix.lower().lstrip("."), dpi=150)
    write_whole(path, memory.getvalue())
