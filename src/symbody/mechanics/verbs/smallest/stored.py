"""What long searches have found, kept on disk: a small JSON file for each model and quantity, read only on request.

The default search never looks here: its choice depends on the model and the version of symbody alone. A file carries
an HMAC of its name and content under the secret of the user, as entries of object code do: one that is damaged, renamed
or foreign is none.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from symbody.basics.atomic_file import write_whole
from symbody.basics.errors import FormatError, ModelError
from symbody.codegen.kernel import cache

FORMAT = 2  # of the files; 1 had no HMAC
STORED = "smallest of the programs that a stored search has tried"


@dataclass(frozen=True)
class StoredChoice:
    """choice: as a dict of JSON; total: its operations when it was found; candidates: how many were tried for it."""

    choice: dict[str, Any]
    total: int
    candidates: int


def stored(key: str, name: str, quantity: str) -> StoredChoice:
    """What was kept under a key; an error that says what to do where there is nothing."""
    path = _path(key)
    found = _read(path, key)
    if found is None:
        place = f"{path.parent} holds none" if path is not None else "there is no folder to keep one in"
        raise ModelError(
            f"budget='stored' was given, but no long search for {quantity} dynamics of {name} is on disk: {place}. "
            "Search first with budget='long' (or a number of candidates), or leave budget out for the quick search."
        )
    return found


def keep(key: str, found: StoredChoice) -> None:
    """Write what a search has found, unless something smaller is there. Does nothing where the disk refuses."""
    path = _path(key)
    if path is None:
        return
    known = _read(path, key)
    if known is not None and known.total <= found.total:
        return
    row = {"key": key, "total": found.total, "candidates": found.candidates, "choice": found.choice}
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        write_whole(path, json.dumps({"code": _code(path, row), **row}, indent=1).encode(), 0o600)
    except (OSError, FormatError):
        return


def _path(key: str) -> Path | None:
    folder = cache.directory()
    return None if folder is None else folder / "choices" / f"{cache.digest(('choice', FORMAT, key))[:32]}.json"


def _code(path: Path, row: Mapping[str, Any]) -> str:
    return cache.code_of(path.name, json.dumps(row, sort_keys=True).encode()).hex()


def _read(path: Path | None, key: str) -> StoredChoice | None:
    """The entry, None if there is none or it is not one of ours."""
    if path is None:
        return None
    try:
        with cache.open_private(path) as file:
            row = json.loads(file.read())
        if not hmac.compare_digest(str(row.pop("code")).encode(), _code(path, row).encode()) or row["key"] != key:
            return None
        return StoredChoice(dict(row["choice"]), int(row["total"]), int(row["candidates"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
