"""Loading by name or path: bundled models, and files by their suffix. Kinds of model files are rows of one list."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

from symbody.basics.arguments import declared
from symbody.basics.errors import (
    DefinitionError,
    ModelError,
    NameLookupError,
    add_row,
    nearest,
    record_argument,
    remove_row,
    shown,
)
from symbody.basics.regular_file import unreachable
from symbody.model.files.loop_file import close_loops
from symbody.model.record.mechanism import Mechanism

FOLDER = Path(__file__).parent / "bundled"
BOND_GRAPH, BOND_GRAPHS = (
    ".bond.yaml",
    "symbody.bondgraph.graph.graph_files",
)  # `load` gives the BondGraph of such a file


@dataclass(frozen=True)
class Format:
    """A kind of model file.

    about     what it is, for lists
    suffixes  of its files, with the dot, in lower case
    read      (path, **options) -> Mechanism; or the module whose `read` it is, imported when it is needed
    write     (mechanism, path); or the module whose `write` it is; None: it is only read. It may return a list of what
              the format has no words for, which `symbody convert` shows
    """

    name: str
    about: str
    suffixes: tuple[str, ...]
    read: str | Callable[..., Mechanism]
    write: str | Callable[[Mechanism, Path], Any] | None = None


_ROWS = (
    Format(
        "yaml", "the model file", (".yaml", ".yml"), "symbody.model.files.yaml_file", "symbody.model.files.yaml_writer"
    ),
    Format("urdf", "URDF (ROS)", (".urdf",), "symbody.model.files.urdf", "symbody.model.files.urdf_writer"),
    Format("mjcf", "MJCF (MuJoCo)", (".xml", ".mjcf"), "symbody.model.files.mjcf", "symbody.model.files.mjcf_writer"),
    Format(
        "sdf", "SDF (Gazebo, Drake)", (".sdf", ".world"), "symbody.model.files.sdf", "symbody.model.files.sdf_writer"
    ),
    Format("mbs", "ROBOTRAN", (".mbs",), "symbody.model.files.mbs", "symbody.model.files.mbs_writer"),
    Format("usd", "USD Physics (needs usd-core)", (".usda", ".usd", ".usdc"), "symbody.model.files.usd"),
    Format("xacro", "xacro macros of URDF (needs xacro)", (".xacro",), "symbody.model.files.xacro_file"),
)
FORMATS: dict[str, Format] = {row.name: row for row in _ROWS}
BUILT_IN = frozenset(FORMATS)


def add_format(row: Format) -> Format:
    """One more kind of model file: `load`, `save` and the command line know its suffixes from now on."""
    if not isinstance(row, Format):
        raise DefinitionError(f"add_format was given {row!r}; expected a Format(name, about, suffixes, read).")
    known = suffixes()
    for suffix in row.suffixes:
        if not _SUFFIX.fullmatch(suffix):
            raise DefinitionError(f"format {row.name!r} has the suffix {suffix!r}; expected one such as '.urdf'.")
        if suffix in known:
            raise DefinitionError(f"format {row.name!r} has the suffix {suffix!r}, which {known[suffix].name!r} has.")
    return add_row(FORMATS, row.name, row, "format")


def remove_format(name: str) -> None:
    """Take an added format out again."""
    remove_row(FORMATS, name, BUILT_IN, "format")


def suffixes() -> dict[str, Format]:
    """Suffix of a file -> its format."""
    return {suffix: row for row in FORMATS.values() for suffix in row.suffixes}


_SUFFIX = re.compile(r"\.[a-z0-9_]+")
_NAME = re.compile(r"(patterns/)?[a-z0-9_]+")


@declared
def load(
    name_or_path: str | Path, loops: str | Path | None = None, tolerance: float | None = None, **options: Any
) -> Mechanism:
    """A bundled model ("puma560") or a file, by its suffix: .yaml, .urdf, .xml (MJCF), .sdf, .mbs (ROBOTRAN).

    loops: a YAML side file that closes the loops of a tree, see `loop_file`. tolerance: m and rad, to which loops of
    CAD data close; `mechanism.close_gaps(tolerance)` closes them exactly. The other options go to the reader of the
    file, such as root="free" for a URDF whose base is not fixed.
    """
    if isinstance(name_or_path, str | Path) and str(name_or_path).endswith(BOND_GRAPH):
        # no Mechanism, but what journeys begin with, too
        graph: Any = _function(BOND_GRAPHS, "load_graph")(name_or_path)
        return graph
    try:
        mechanism = _load(name_or_path, options)
    except OSError as error:  # a folder that may not be searched
        raise ModelError(f"{str(name_or_path)!r} cannot be read: {error.strerror or error}.") from None
    if loops is not None:
        mechanism = close_loops(mechanism, loops)
    return mechanism if tolerance is None else mechanism.close_gaps(tolerance)


@declared
def save(mechanism: Mechanism, path: str | Path) -> Path:
    """Write a Mechanism as a model file, by its suffix: .yaml, .urdf, .xml (MJCF), .sdf.

    .yaml keeps everything but the names of `definitions`, whose expressions stand where they were used; a force element
    with a Python function is refused. What another format has no words for is left out.
    """
    write_file(mechanism, path)
    return Path(path)


def write_file(mechanism: Mechanism, path: str | Path) -> list[str]:
    """Write a Mechanism as `save` does, and return what the format has no words for, a phrase each."""
    record_argument("save", mechanism, Mechanism, "a Mechanism, as sb.load(name_or_path) gives")
    path = Path(path)
    row = suffixes().get(path.suffix.lower())
    if row is None or row.write is None:
        written = ", ".join(s for s, r in suffixes().items() if r.write is not None)
        raise ModelError(f"{path} has the suffix {path.suffix!r}; expected one that can be written: {written}.")
    lost = _function(row.write, "write")(mechanism, path)
    return [str(x) for x in lost] if isinstance(lost, list) else []


def _function(found: str | Callable[..., Any], name: str) -> Callable[..., Any]:
    """A function of a row, from its module if need be."""
    if not isinstance(found, str):
        return found
    function: Callable[..., Any] = getattr(import_module(found), name)
    return function


def _load(name_or_path: str | Path, options: dict[str, Any]) -> Mechanism:
    if not isinstance(name_or_path, (str, Path)):
        raise ModelError(f"a model is a name or the path of a file; {shown(name_or_path)} is neither.")
    path = Path(name_or_path)
    if len(path.name) > 255:
        raise ModelError(f"a name of {len(path.name)} characters was given; expected a model's name or path.")
    reason = unreachable(path)
    if reason:
        raise ModelError(f"{str(path)[:100]!r} cannot be opened: {reason}. Correct the path.")
    row = suffixes().get(path.suffix.lower())
    if row is not None:
        if not path.is_file():
            raise _no_file(path)
        return _read(row, path, options)
    if path.is_dir():
        raise ModelError(f"{path} is a folder; expected a model file, such as one in it, or a bundled name.")
    name = str(name_or_path)
    if path.suffix or (len(path.parts) > 1 and not name.startswith("patterns/")):
        if path.is_file():
            raise ModelError(f"{path} has the suffix {path.suffix!r}; expected one of {', '.join(suffixes())}.")
        raise _no_file(path)
    file = FOLDER / f"{name}.yaml"
    if not _NAME.fullmatch(name) or not file.is_file():
        hint = nearest(name, bundled_names())
        raise NameLookupError(
            f"there is no bundled model {name!r}. {hint} Files need a suffix: {', '.join(suffixes())}."
        )
    return _read(FORMATS["yaml"], file, options)


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
    if not os.access(path.parent, os.R_OK):
        return ModelError(f"{said}. Correct the path.")
    beside = sorted(p.name for p in path.parent.iterdir() if p.suffix.lower() in suffixes())
    close = difflib.get_close_matches(path.name, beside, n=3, cutoff=0.6)
    if close:
        return ModelError(f"{said}. Did you mean {' or '.join(repr(str(path.parent / name)) for name in close)}?")
    return ModelError(f"{said}. Expected a file with one of the suffixes {', '.join(suffixes())}, or a bundled name.")


def _read(row: Format, path: Path, options: dict[str, Any]) -> Mechanism:
    read = _function(row.read, "read")
    known = list(signature(read).parameters)[1:]
    for option in options:
        if option not in known:
            raise ModelError(f"the reader of {path.suffix} files has no option {option!r}. {nearest(option, known)}")
    mechanism: Mechanism = read(path, **options)
    if not isinstance(mechanism, Mechanism):
        raise ModelError(f"the reader of {path.suffix} files gave {mechanism!r}; expected a Mechanism.")
    return mechanism


def bundled_names() -> list[str]:
    """Names of the public bundled models; the symbolic pattern models `patterns/...` are not among them."""
    return sorted(p.stem for p in FOLDER.glob("*.yaml"))
