"""Bond graphs in YAML files (.bond.yaml): only data, errors with file and line.

name: rlc
elements:
  u: {kind: Se, domain: electrical}
  L: {kind: I, value: 0.1}
  ...
bonds: [u -> i -> L, i -> C, {bond: i -> M, dimension: 3}]
parameters: {R0: {default: 5, unit: ohm}}
parts: {motor: {kind: dc_motor, R: 0.5}}
models: {axle: {file: axle.bond.yaml, k: 200}}
integrals: {angle: {rate: omega, unit: rad}}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from symbody.basics.arguments import declared
from symbody.basics.atomic_file import write_whole
from symbody.basics.errors import ModelError, NameLookupError, nearest
from symbody.basics.regular_file import TooLarge, inside, read_regular, resolved
from symbody.bondgraph.graph.bond_graph import BondGraph, Element
from symbody.bondgraph.graph.graph_builder import GraphBuilder
from symbody.bondgraph.graph.parts import PARTS
from symbody.model.files.yaml_data import LONGEST, List, YamlMapping, read_yaml
from symbody.model.record.origin import Origin, fault, place, shown
from symbody.symbolic.expr.infix_text import to_text
from symbody.symbolic.expr.node import CONST, Node

FOLDER = Path(__file__).parent / "bundled"
SUFFIX = ".bond.yaml"
DEEPEST = 8  # sub-models in sub-models
_FILE = ("name", "source", "description", "parameters", "parts", "models", "elements", "bonds", "integrals")
_ELEMENT = ("kind", "value", "law", "guess", "domain", "domain2", "unit", "on")


@declared
def load_graph(name_or_path: str | Path) -> BondGraph:
    """A bundled graph by name, or a .bond.yaml file."""
    path = Path(name_or_path)
    if str(name_or_path).endswith((".yaml", ".yml")) or len(path.parts) > 1:
        return read(path)
    bundled = FOLDER / f"{name_or_path}{SUFFIX}"
    if str(name_or_path) not in bundled_names():
        raise NameLookupError(
            f"there is no bundled bond graph {str(name_or_path)!r}. "
            f"{nearest(str(name_or_path), bundled_names())} "
            f"Files end with {SUFFIX}."
        )
    return read(bundled)


def bundled_names() -> list[str]:
    return sorted(p.name.removesuffix(SUFFIX) for p in FOLDER.glob(f"*{SUFFIX}"))


def read(path: str | Path) -> BondGraph:
    """The BondGraph of a file; files of sub-models lie in its folder or below."""
    path = Path(path)
    return _read(path, path.name, _GraphFiles((resolved(path) or path,), {}))


def read_text(text: str, file: str = "text") -> BondGraph:
    """The BondGraph of a text in the format of the file; it cannot name other files."""
    return _build(text, file, None, _GraphFiles((), {}))


@dataclass(frozen=True)
class _GraphFiles:
    """Files around the one that is read, and the graphs of those that were: many sub-models may be of one file."""

    above: tuple[Path, ...]
    known: dict[Path, BondGraph]


def _read(path: Path, shown_as: str, files: _GraphFiles, origin: str = "") -> BondGraph:
    try:
        text = read_regular(path, 4 * LONGEST).decode()
    except TooLarge as error:
        raise fault(origin or shown_as, f"{shown_as} has {error.size} bytes; at most {4 * LONGEST} are read.") from None
    except UnicodeDecodeError as error:
        raise fault(
            origin or shown_as, f"{shown_as} is not a text in UTF-8: {error.reason} at byte {error.start}."
        ) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise fault(origin or shown_as, f"{shown_as} cannot be read: {reason}.") from None
    return _build(text, shown_as, path.parent, files)


def _build(text: str, file: str, folder: Path | None, files: _GraphFiles) -> BondGraph:
    data = read_yaml(text, file)
    if not isinstance(data, YamlMapping):
        raise fault(file, f"the file holds {shown(data)}; expected a mapping with elements and bonds.")
    _keys(data, _FILE, "the file", file)
    for key in ("name", "source", "description"):
        if key in data and not isinstance(data[key], str):
            raise fault(f"{file}:{data.lines[key]}", f"{key} is {shown(data[key])}; expected a text.")
    stem = Path(file).name.removesuffix(SUFFIX).removesuffix(".yaml").replace("-", "_")
    made = GraphBuilder(data.get("name", stem), data.get("source", ""), _origin(data, file))
    for name, value, origin in _section(data, "parameters", file):
        _parameter(made, name, value, origin)
    for name, value, origin in _section(data, "parts", file):
        values = _map(value, f"part {name!r}", origin)
        kind = values.get("kind")
        if not isinstance(kind, str) or kind not in PARTS:
            raise fault(place(origin, "kind"), f"part {name!r} has the kind {shown(kind)}. {nearest(str(kind), PARTS)}")
        wrong = [k for k in ("name", "origin") if k in values]
        if wrong:
            expected = ", ".join(PARTS[kind].fields)
            raise fault(place(origin, wrong[0]), f"part {name!r} has the key {wrong[0]!r}; expected {expected}.")
        made.part(name, kind, origin=origin, **{k: v for k, v in values.items() if k != "kind"})
    for name, value, origin in _section(data, "models", file):
        values = _map(value, f"model {name!r}", origin)
        sub = _sub(values, name, origin, folder, files)
        made.include(name, sub, {k: v for k, v in values.items() if k != "file"}, origin)
    for name, value, origin in _section(data, "elements", file):
        short = isinstance(value, (str, int)) and not isinstance(value, bool)
        _element(made, name, {"kind": value} if short else value, origin)
    for item in _list(data, "bonds", file):
        at = f"{file}:{getattr(item, 'line', data.lines['bonds'])}"
        if isinstance(item, YamlMapping):
            _keys(item, ("bond", "dimension"), "a bond", file)
            made.bonds(item.get("bond", ""), dimension=item.get("dimension", 1), origin=at)
        else:
            made.bonds(item, origin=at)
    for name, value, origin in _section(data, "integrals", file):
        if isinstance(value, YamlMapping):
            _keys(value, ("rate", "unit"), f"integral {name!r}", file)
        rate, unit = (value.get("rate"), value.get("unit")) if isinstance(value, YamlMapping) else (value, "")
        if rate is None:
            raise fault(origin, f"integral {name!r} has no rate; expected an expression.")
        made.integral(name, rate, str(unit or ""), origin)
    return made.done()


def _origin(data: YamlMapping, file: str) -> Origin:
    return Origin(file, {key: f"{file}:{line}" for key, line in data.lines.items()})


def _keys(data: YamlMapping, known: tuple[str, ...], owner: str, file: str) -> None:
    for key in data:
        if key not in known:
            raise fault(f"{file}:{data.lines[key]}", f"{owner} has the unknown key {key!r}. {nearest(key, known)}")


def _section(data: YamlMapping, key: str, file: str) -> list[tuple[str, Any, Origin]]:
    entries = data.get(key)
    if entries is None:
        return []
    if not isinstance(entries, YamlMapping):
        raise fault(
            f"{file}:{data.lines[key]}", f"{key} is {shown(entries)}; expected names, each with a colon and its values."
        )
    out = []
    for name, value in entries.items():
        places = {k: f"{file}:{line}" for k, line in value.lines.items()} if isinstance(value, YamlMapping) else {}
        out.append((name, value, Origin(f"{file}:{entries.lines[name]}", places)))
    return out


def _map(value: Any, owner: str, origin: Origin) -> YamlMapping:
    if not isinstance(value, YamlMapping):
        raise fault(origin, f"{owner} is {shown(value)}; expected keys and values.")
    return value


def _list(data: YamlMapping, key: str, file: str) -> list[Any]:
    value = data.get(key)
    if value is None:
        return []
    if not isinstance(value, List):
        raise fault(f"{file}:{data.lines[key]}", f"{key} is {shown(value)}; expected a list.")
    return value


def _parameter(made: GraphBuilder, name: str, value: Any, origin: Origin) -> None:
    if not isinstance(value, YamlMapping):
        made.parameter(name, value, origin=origin)
        return
    for key in value:
        if key not in ("default", "unit", "nonzero"):
            raise fault(
                place(origin, key), f"parameter {name!r} has the unknown key {key!r}; expected default, unit, nonzero."
            )
    unit, nonzero = value.get("unit") or "", value.get("nonzero", False)
    if not isinstance(unit, str) or not isinstance(nonzero, bool):
        raise fault(
            origin,
            f"parameter {name!r} has unit {shown(unit)} and nonzero {shown(nonzero)}; expected a text and "
            "true or false.",
        )
    made.parameter(name, value.get("default"), unit, nonzero, origin)


def _element(made: GraphBuilder, name: str, value: Any, origin: Origin) -> None:
    if not isinstance(value, Mapping):
        raise fault(origin, f"element {name!r} is {shown(value)}; expected its kind, or kind and value.")
    for key in value:
        if key not in _ELEMENT:
            raise fault(place(origin, key), f"element {name!r} has the unknown key {key!r}. {nearest(key, _ELEMENT)}")
    given = {k: v for k, v in value.items() if v is not None}
    if "kind" not in given:
        raise fault(origin, f"element {name!r} has no kind; expected one, such as I.")
    for key in ("domain", "domain2", "unit", "on"):
        if not isinstance(given.get(key, ""), str):
            raise fault(place(origin, key), f"{key} of element {name!r} is {shown(given[key])}; expected a text.")
    kind = given.pop("kind")
    if isinstance(kind, bool) or not isinstance(kind, (str, int)):
        raise fault(place(origin, "kind"), f"element {name!r} has the kind {shown(kind)}; expected one, such as I.")
    made.element(name, str(kind), **given, origin=origin)


def _sub(values: YamlMapping, name: str, origin: Origin, folder: Path | None, files: _GraphFiles) -> BondGraph:
    file = values.get("file")
    at = place(origin, "file")
    if not isinstance(file, str):
        raise fault(at, f"model {name!r} has the file {shown(file)}; expected the name of a {SUFFIX} file.")
    if folder is None:
        raise fault(at, f"model {name!r} names the file {file!r}, and a text has no folder. Load it from a file.")
    target = inside(folder, file)
    if target is None:
        raise fault(
            at, f"model {name!r} names {shown(file)}, which is outside the folder of the file; expected one inside."
        )
    if target in files.above or len(files.above) >= DEEPEST:
        raise fault(at, f"model {name!r} names {file!r}, which contains itself or is nested more than {DEEPEST} deep.")
    if target not in files.known:  # once: ten sub-models in each of eight levels would be 10^8 readings
        files.known[target] = _read(target, file, replace(files, above=(*files.above, target)), at)
    return files.known[target]


# -- writing


@declared
def save_graph(graph: BondGraph, path: str | Path) -> Path:
    """Write a graph as a .bond.yaml file that reads back as the same graph; sub-models are written out."""
    if not str(path).endswith((".yaml", ".yml")):
        raise ModelError(f"{path} has another suffix; expected {SUFFIX}.")
    return write_whole(Path(path), to_yaml(graph))


def to_yaml(graph: BondGraph) -> str:
    """The text of the file."""
    own = {e.value.item().data.name for e in graph.elements.values() if e.value is not None and _owns(e)}
    data: dict[str, Any] = {"name": graph.name}
    if graph.source:
        data["source"] = graph.source
    parameters = {n: _parameter_data(s) for n, s in graph.parameters.items() if n not in own}
    if parameters:
        data["parameters"] = parameters
    data["elements"] = {e.name: _element_data(e) for e in graph.elements.values()}
    data["bonds"] = [
        f"{b.tail} -> {b.head}" if b.dimension == 1 else {"bond": f"{b.tail} -> {b.head}", "dimension": b.dimension}
        for b in graph.bonds
    ]
    if graph.integrals:
        data["integrals"] = {
            i.name: {"rate": to_text(i.rate), **({"unit": i.unit} if i.unit else {})} for i in graph.integrals
        }
    text: str = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=110, default_flow_style=None)
    return text


def _owns(e: Element) -> bool:
    """Whether the value of an element is a parameter of its own name."""
    if e.value is None or e.value.ndim:
        return False
    node = e.value.item()
    return isinstance(node, Node) and node.op == "symbol" and node.data.role == "parameter" and node.data.name == e.name


def _parameter_data(symbol: Node) -> Any:
    found = {"default": symbol.data.default, "unit": symbol.data.unit or None, "nonzero": symbol.data.nonzero or None}
    kept = {k: v for k, v in found.items() if v is not None}
    return kept.get("default") if set(kept) <= {"default"} else kept


def _element_data(e: Element) -> Any:
    data: dict[str, Any] = {"kind": e.kind}
    if e.value is not None and _owns(e):
        default = e.value.item().data.default
        if default is not None:
            data["value"] = default
    elif e.value is not None:
        data["value"] = _texts(e.value)
    if e.law is not None:
        data["law"] = [to_text(x) for x in e.law.results] if len(e.law.results) > 1 else to_text(e.law.results[0])
        if any(x.op is not CONST or x.data != 0 for x in e.law.guess):
            data["guess"] = [to_text(x) for x in e.law.guess]
    for key in ("domain", "domain2"):
        if getattr(e, key):
            data[key] = getattr(e, key)
    return e.kind if len(data) == 1 else data


def _texts(value: Any) -> Any:
    """Expressions as texts: a number by itself would be read as the default of a parameter."""
    return to_text(value[()]) if value.ndim == 0 else np.vectorize(to_text, otypes=[object])(value).tolist()
