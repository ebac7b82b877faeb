"""Parsers of others in a process of their own, of bounded time and memory: what a file does there harms nobody."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO

SECONDS = 30
ROOM = 1 << 30  # bytes of address space

_BOUNDED = """
import sys
try:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[2]),) * 2)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[4]),) * 2)
except (ImportError, ValueError, OSError):
    pass
sys.path.append(sys.argv[1])
file, enough = sys.argv[3], int(sys.argv[4])
"""


class Failed(Exception):
    """Why there is no output, in words."""


def package_folder(package: str) -> Path | None:
    """The folder that a package is imported from; None where it is not installed."""
    found = importlib.util.find_spec(package)
    return None if found is None or found.origin is None else Path(found.origin).parents[1]


def output_of(program: str, package: str, file: Path, most: int, room: int = ROOM) -> bytes:
    """What a Python program that imports the package writes to standard output; more than `most` bytes are refused.

    The program finds its `file` under this name, and is to write the first `enough` bytes of what it makes. It needs no
    other packages, and does not look for them.
    """
    command = [sys.executable, "-I", "-S", "-c", _BOUNDED + program, str(package_folder(package)), str(room), str(file)]
    with tempfile.TemporaryFile() as made, tempfile.TemporaryFile() as told:  # whose sizes are bounded, unlike pipes
        try:
            status = ran([*command, str(most + 1)], made, told)
        except subprocess.TimeoutExpired:
            raise Failed(f"it needs more than {SECONDS} s") from None
        except OSError as error:
            raise Failed(f"it cannot be run: {error}") from None
        if status:
            told.seek(max(told.seek(0, os.SEEK_END) - 1000, 0))
            said = " ".join(told.read().decode(errors="replace").split())[-200:]
            raise Failed(said or f"it ended with status {status}")
        if made.seek(0, os.SEEK_END) > most:
            raise Failed(f"it makes more than {most} bytes of it")
        made.seek(0)
        return made.read()


def ran(command: Sequence[str], made: IO[bytes], told: IO[bytes]) -> int:
    """The status of a process that ends within `SECONDS`; `make fuzz` puts quicker starts in its place."""
    return subprocess.call(command, stdout=made, stderr=told, timeout=SECONDS)
