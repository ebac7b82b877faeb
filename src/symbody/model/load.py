"""Loading by name or path: bundled models, and files by their suffix."""

from __future__ import annotations

import difflib
import re
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

from symbody.errors import ModelError, NameLookupError, nearest
from symbody.model.loop_file import close_loops
from symbody.model.mechanism import Mechanism
from symbody.model.xml_file import expand_xacro

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


def load(name_or_path: str | Path, loops: str | Path | None = None, **options: Any) -> Mechanism:
    """A bundled model ("puma560") or a file: .yaml, .urdf, .xml (MJCF), .mbs (ROBOTRAN).

    loops: a YAML side file that closes the loops of a tree, see `loop_file`. The other options go to the reader of the
    file, such as root="free" for a URDF whose base is not fixed.
    """
    mechanism = _load(name_or_path, options)
    return mechanism if loops is None else close_loops(mechanism, loops)


def _load(name_or_path: str | Path, options: dict[str, Any]) -> Mechanism:
    if not isinstance(name_or_path, (str, Path)):
        raise ModelError(f"a model is a name or the path of a file; {name_or_path!r} is neither.")
    path = Path(name_or_path)
    if len(path.name) > 255:
        raise ModelError(f"a name of {len(path.name)} characters was given; expected a model's name or path.")
    reader = READERS.get(path.suffix.lower())
    if reader is not None:
        if not path.is_file():
            raise _no_file(path)
        mechanism: Mechanism = _read(reader, path, options)
        return mechanism
    if path.is_dir():
        raise ModelError(f"{path} is a folder; expected a model file, such as one in it, or a bundled name.")
    name = str(name_or_path)
    if path.suffix or (len(path.parts) > 1 and not name.startswith("patterns/")):
        if path.is_file():
            if path.suffix.lower() == ".xacro":
                raise ModelError(f"{path} is a xacro macro file; expected plain URDF. {expand_xacro(path)}")
            raise ModelError(f"{path} has the suffix {path.suffix!r}; expected one of {', '.join(READERS)}.")
        raise _no_file(path)
    file = FOLDER / f"{name}.yaml"
    if not _NAME.fullmatch(name) or not file.is_file():
        hint = nearest(name, bundled_names())
        raise NameLookupError(f"there is no bundled model {name!r}. {hint} Files need a suffix: {', '.join(READERS)}.")
    bundled: Mechanism = _read(READERS[".yaml"], file, options)
    return bundled


def _no_file(path: Path) -> ModelError:
    """What is said of a path that is not there; whoever writes a suffix or a folder means a file, no bundled name."""
    said = f"there is no file {str(path)!r}"
    if path.is_dir():
        return ModelError(f"{path} is a folder; expected a model file, such as one in it.")
    if path.exists():
        return ModelError(f"{path} is no regular file, but a pipe or a device; expected a model file.")
    if not path.parent.is_dir():
        return ModelError(f"{said}, because there is no folder {str(path.parent)!r}. Correct the path.")
    if path.stem in bundled_names():
        return ModelError(f"{said}. Did you mean the bundled model {path.stem!r}?")
    beside = sorted(p.name for p in path.parent.iterdir() if p.suffix.lower() in READERS)
    close = difflib.get_close_matches(path.name, beside, n=3, cutoff=0.6)
    if close:
        return ModelError(f"{said}. Did you mean {' or '.join(repr(str(path.parent / name)) for name in close)}?")
    return ModelError(f"{said}. Expected a file with one of the suffixes {', '.join(READERS)}, or a bundled name.")


def _read(reader: str, path: Path, options: dict[str, Any]) -> Mechanism:
    read = import_module(reader).read
    known = list(signature(read).parameters)[1:]
    for option in options:
        if option not in known:
            raise ModelError(f"the reader of {path.suffix} files has no option {option!r}. {nearest(option, known)}")
    mechanism: Mechanism = read(path, **options)
    return mechanism


def bundled_names() -> list[str]:
    """Names of the public bundled models; the symbolic pattern models `patterns/...` are not among them."""
    return sorted(p.stem for p in FOLDER.glob("*.yaml"))
