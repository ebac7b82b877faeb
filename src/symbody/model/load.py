"""Loading by name or path: bundled models, and files by their suffix."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

from symbody.errors import ModelError, NameLookupError, nearest
from symbody.model.mechanism import Mechanism

FOLDER = Path(__file__).parent / "bundled"
READERS = {
    ".yaml": "symbody.model.yaml_file",
    ".yml": "symbody.model.yaml_file",
    ".urdf": "symbody.model.urdf",
    ".xml": "symbody.model.mjcf",
    ".mjcf": "symbody.model.mjcf",
    ".mbs": "symbody.model.mbs",
}
_NAME = re.compile(r"(patterns/)?[a-z0-9_]+")


def load(name_or_path: str | Path) -> Mechanism:
    """A bundled model ("puma560") or a file: .yaml, .urdf, .xml (MJCF), .mbs (ROBOTRAN)."""
    path = Path(name_or_path)
    reader = READERS.get(path.suffix.lower())
    if reader is not None:
        if not path.is_file():
            raise ModelError(f"{path} is no file. Give the path of a model file, or a bundled name: {_names()}.")
        mechanism: Mechanism = import_module(reader).read(path)
        return mechanism
    name = str(name_or_path)
    if path.suffix and path.is_file():
        raise ModelError(f"{path} has the suffix {path.suffix!r}; expected one of {', '.join(READERS)}.")
    file = FOLDER / f"{name}.yaml"
    if not _NAME.fullmatch(name) or not file.is_file():
        hint = nearest(name, bundled_names())
        raise NameLookupError(f"there is no bundled model {name!r}. {hint} Files need a suffix: {', '.join(READERS)}.")
    bundled: Mechanism = import_module(READERS[".yaml"]).read(file)
    return bundled


def bundled_names() -> list[str]:
    """Names of the public bundled models; the symbolic pattern models `patterns/...` are not among them."""
    return sorted(p.stem for p in FOLDER.glob("*.yaml"))


def _names() -> str:
    return ", ".join(bundled_names())
