"""What long searches have found, kept on disk: a small JSON file for each model and quantity, read only on request.

The default search never looks here: its choice depends on the model and the version of symbody alone.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from symbody.atomic_file import write_whole
from symbody.codegen.kernel import cache
from symbody.errors import FormatError, ModelError

FORMAT = 1  # of the files
STORED = "smallest of the programs that a stored search has tried"


@dataclass(frozen=True)
class Found:
    """choice: as a dict of JSON; total: its operations when it was found; candidates: how many were tried for it."""

    choice: dict[str, Any]
    total: int
    candidates: int


def stored(key: str, name: str, quantity: str) -> Found:
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


def keep(key: str, found: Found) -> None:
    """Write what a search has found, unless something smaller is there. Does nothing where the disk refuses."""
    path = _path(key)
    if path is None:
        return
    known = _read(path, key)
    if known is not None and known.total <= found.total:
        return
    row = {"format": FORMAT, "key": key, "total": found.total, "candidates": found.candidates, "choice": found.choice}
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        write_whole(path, json.dumps(row, indent=1).encode())
    except (OSError, FormatError):
        return


def _path(key: str) -> Path | None:
    folder = cache.directory()
    return None if folder is None else folder / "choices" / f"{cache.digest(('choice', FORMAT, key))[:32]}.json"


def _read(path: Path | None, key: str) -> Found | None:
    """The entry, None if there is none or it is not one of ours."""
    try:
        row = json.loads(path.read_text(encoding="utf-8")) if path is not None else {}
        if row.get("format") != FORMAT or row.get("key") != key:
            return None
        return Found(dict(row["choice"]), int(row["total"]), int(row["candidates"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
