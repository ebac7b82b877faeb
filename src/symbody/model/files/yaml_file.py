"""Reader of the model file (docs/model_file.md): YAML -> Mechanism. Errors are one sentence with file and line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from symbody.basics.errors import nearest
from symbody.basics.regular_file import TooLarge, inside, is_file, read_regular
from symbody.model.build.builder import Builder
from symbody.model.build.piece_forms import default_value
from symbody.model.files.model_schema import PIECES, VERSION
from symbody.model.files.yaml_data import LONGEST, List, YamlMapping, read_yaml
from symbody.model.record.mechanism import Mechanism, Shape
from symbody.model.record.origin import Origin, fault, place, shown
from symbody.symbolic.expr.node import Node

MOST_INCLUDES = 50
DEEPEST_INCLUDE = 8
SIZES = {"box": 3, "cylinder": 2, "sphere": 1, "capsule": 2, "ellipsoid": 3}  # lengths of shapes
SECTIONS = ("parameters", "definitions", "bodies", "joints", "cuts", "couplings", "forces", "sensors", "keyframes")


def read(path: str | Path) -> Mechanism:
    """The Mechanism of a model file. Included files lie in the folder of the including file or below."""
    path = Path(path)
    reader = _YamlReader(path.parent)
    reader.seen.add(path.resolve())
    return reader.mechanism(_text_of(path, path.name), path.name)


def read_text(text: str, file: str = "text") -> Mechanism:
    """The Mechanism of a text in the format of the model file; it cannot include files."""
    return _YamlReader(None).mechanism(text, file)


def _text_of(path: Path, name: str, origin: str = "") -> str:
    """The text of a file; `origin` is where it was asked for."""
    try:
        return read_regular(path, 4 * LONGEST).decode()
    except TooLarge as error:
        raise fault(origin or name, f"{name} has {error.size} bytes; expected {4 * LONGEST} at most.") from None
    except UnicodeDecodeError as error:
        raise fault(
            origin or name, f"{name} is not a text in UTF-8: {error.reason} at byte {error.start}. Save it as UTF-8."
        ) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise fault(origin or name, f"{name} cannot be read: {reason}. Correct the path.") from None


class _YamlReader:
    """One reading: collects the sections of all files, then builds."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self.seen: set[Path] = set()
        self.head: dict[str, tuple[Any, str]] = {}  # name, gravity, ...: value and place
        self.sections: dict[str, dict[str, tuple[Any, Origin]]] = {s: {} for s in SECTIONS}
        self.notes: list[str] = []

    def mechanism(self, text: str, file: str) -> Mechanism:
        self.collect(text, file, self.folder, 0)
        name, at = self.head.get("name", (Path(file).stem, file))
        gravity, gravity_at = self.head.get("gravity", ((0, 0, -9.81), file))
        source = str(self.head.get("source", ("", ""))[0])
        builder = Builder(name, gravity, source, Origin(file, {"name": at, "gravity": gravity_at}))
        for section, add in (
            ("parameters", _parameter),
            ("definitions", _definition),
            ("bodies", _body),
            ("joints", _joint),
            ("cuts", _cut),
            ("couplings", _coupling),
            ("forces", _force),
            ("sensors", _sensor),
            ("keyframes", _keyframe),
        ):
            for key, (value, origin) in self.sections[section].items():
                add(builder, key, value, origin)
        for note in self.notes:
            builder.note(note)
        return self.with_meshes(builder.done())

    def with_meshes(self, mechanism: Mechanism) -> Mechanism:
        """Mesh files by their paths, if they lie in the folder of the model file; others by their bare names."""
        if self.folder is None or not any(s.file for b in mechanism.bodies for s in b.shapes):
            return mechanism
        bodies = []
        for body in mechanism.bodies:
            shapes = tuple(replace(s, file=_mesh(self.folder, s.file)) if s.file else s for s in body.shapes)
            bodies.append(replace(body, shapes=shapes))
        return mechanism.replace(bodies=tuple(bodies))

    # -- files

    def collect(self, text: str, file: str, folder: Path | None, depth: int) -> None:
        """Sections of a file and, before them, of the files that it includes; values of the including file win."""
        data = read_yaml(text, file)
        if not isinstance(data, YamlMapping):
            held = "is empty" if data is None else f"holds {shown(data)}"
            raise fault(file, f"the file {held}; expected a mapping with bodies and joints.")
        check_keys(data, "file", "the file", Origin(f"{file}:1", _places(data, file)))
        if data.get("symbody", VERSION) != VERSION:
            at = f"{file}:{data.lines['symbody']}"
            raise fault(at, f"the file has format version {shown(data['symbody'])}; expected {VERSION}.")
        self.include(data, file, folder, depth)
        for key in ("name", "gravity", "source", "description"):
            if key in data:
                if key != "gravity" and not isinstance(data[key], str):
                    raise fault(f"{file}:{data.lines[key]}", f"{key} is {shown(data[key])}; expected a text.")
                self.head[key] = (data[key], f"{file}:{data.lines[key]}")
        for section in SECTIONS:
            self.section(data, section, file)
        for note in _list(data, "notes", file):
            if not isinstance(note, str):
                raise fault(f"{file}:{data.lines['notes']}", f"notes contain {shown(note)}; expected texts.")
            self.notes.append(note)

    def include(self, data: YamlMapping, file: str, folder: Path | None, depth: int) -> None:
        wanted = data.get("include")
        for name in [wanted] if isinstance(wanted, str) else _list(data, "include", file):
            at = f"{file}:{data.lines['include']}"
            if not isinstance(name, str):
                raise fault(at, f"include names {shown(name)}; expected a file.")
            if folder is None:
                raise fault(at, f"include names {name!r}, and a text has no folder. Load it from a file.")
            target = inside(folder, name)
            if target is None:
                raise fault(
                    at, f"include names {shown(name)}, which is outside the folder of {file}; expected one inside."
                )
            if target in self.seen:
                raise fault(at, f"{name!r} is included twice, or includes itself; expected each file once.")
            if depth >= DEEPEST_INCLUDE or len(self.seen) >= MOST_INCLUDES:
                raise fault(
                    at, f"includes go {DEEPEST_INCLUDE} files deep and are {MOST_INCLUDES} at most; expected fewer."
                )
            self.seen.add(target)
            shown_as = name if depth == 0 else f"{Path(file).parent.as_posix()}/{name}".removeprefix("./")
            self.collect(_text_of(target, name, at), shown_as, target.parent, depth + 1)

    def section(self, data: YamlMapping, section: str, file: str) -> None:
        entries = data.get(section)
        if entries is None:
            return
        at = f"{file}:{data.lines[section]}"
        if not isinstance(entries, YamlMapping):
            raise fault(at, f"{section} is {shown(entries)}; expected names, each with a colon and its values.")
        known = self.sections[section]
        for key, value in entries.items():
            places = _places(value, file) if isinstance(value, YamlMapping) else {}
            origin = Origin(f"{file}:{entries.lines[key]}", places)
            if key in known and section != "parameters":
                first = known[key][1]
                raise fault(
                    origin, f"{key!r} in {section} is given twice (first at {first}); expected different names."
                )
            known[key] = (value, origin)


def _places(data: YamlMapping, file: str) -> dict[str, str]:
    return {key: f"{file}:{line}" for key, line in data.lines.items()}


def _list(data: YamlMapping, key: str, file: str) -> list[Any]:
    value = data.get(key)
    if value is None:
        return []
    if not isinstance(value, List):
        raise fault(f"{file}:{data.lines[key]}", f"{key} is {shown(value)}; expected a list.")
    return value


def check_keys(data: Any, piece: str, owner: str, origin: str) -> YamlMapping:
    """A mapping with only the keys of a piece, and all that it needs."""
    schema = PIECES[piece]
    known = list(schema["properties"])
    if not isinstance(data, YamlMapping):
        raise fault(origin, f"{owner} is {shown(data)}; expected {', '.join(known)}.")
    for key in data:
        if key not in known and schema["additionalProperties"] is False:
            hint = nearest(key, known)
            rest = "" if hint.startswith("Known") else f" {hint}"
            raise fault(place(origin, key), f"{owner} has the unknown key {key!r}; expected {', '.join(known)}.{rest}")
    for key in schema["required"]:
        if data.get(key) is None:
            raise fault(origin, f"{owner} has no {key}; expected {', '.join(schema['required'])}.")
    return data


# -- pieces


def _parameter(builder: Builder, name: str, value: Any, origin: Origin) -> None:
    if isinstance(value, YamlMapping):
        data = check_keys(value, "parameter", f"parameter {name!r}", origin)
        unit, nonzero = data.get("unit") or "", data.get("nonzero", False)
        if not isinstance(unit, str):
            raise fault(place(origin, "unit"), f"parameter {name!r} has unit {shown(unit)}; expected a text.")
        if not isinstance(nonzero, bool):
            at = place(origin, "nonzero")
            raise fault(at, f"parameter {name!r} has nonzero {shown(nonzero)}; expected true or false.")
        builder.parameter(name, data.get("default"), unit, nonzero, origin)
    else:
        builder.parameter(name, value, origin=origin)


def _definition(builder: Builder, name: str, value: Any, origin: Origin) -> None:
    builder.define(name, value, origin)


def _body(builder: Builder, name: str, value: Any, origin: Origin) -> None:
    data = check_keys(_or_empty(value), "body", f"body {name!r}", origin)
    frames = data.get("frames")
    if frames is not None and not isinstance(frames, YamlMapping):
        raise fault(place(origin, "frames"), f"frames of body {name!r} are {shown(frames)}; expected names and poses.")
    if not isinstance(data.get("physical", True), bool):
        raise fault(
            place(origin, "physical"), f"body {name!r} has physical {shown(data['physical'])}; expected true or false."
        )
    shapes = data.get("shapes")
    if shapes is not None and not isinstance(shapes, List):
        raise fault(place(origin, "shapes"), f"shapes of body {name!r} are {shown(shapes)}; expected a list.")
    given = _given(data, ("mass", "com", "inertia", "physical", "coordinates"))
    made = [_shape(builder, s, f"a shape of body {name!r}", place(origin, "shapes")) for s in shapes or ()]
    builder.body(name, **given, frames=frames, shapes=made, origin=origin)


def _shape(builder: Builder, value: Any, owner: str, origin: str) -> Shape:
    data = check_keys(value, "shape", owner, origin)
    kinds = PIECES["shape"]["properties"]["kind"]["enum"]
    if data["kind"] not in kinds:
        raise fault(origin, f"{owner} has kind {shown(data['kind'])}; expected one of {', '.join(kinds)}.")
    file = data.get("file") or ""
    if not isinstance(file, str) or (data["kind"] == "mesh") != bool(file):
        raise fault(origin, f"{owner} has file {shown(file)}; expected a file for a mesh, and only there.")
    size = _floats(builder, data, "size", owner, origin)
    needed = SIZES.get(data["kind"])
    if needed is not None and (len(size) != needed or min(size) <= 0):  # scale factors of a mesh may turn it over
        raise fault(
            origin, f"{owner} of kind {data['kind']!r} has size {list(size)}; expected {needed} lengths above 0, m."
        )
    pose = builder.placement(data.get("position", (0, 0, 0)), data.get("rotation"), owner, "", origin)
    return Shape(data["kind"], size, pose, file, _floats(builder, data, "colour", owner, origin))


def _mesh(folder: Path, file: str) -> str:
    target = inside(folder, file)
    if target is not None and is_file(target):
        return str(target)
    return Path(file).name if Path(file).is_absolute() else file


def _floats(builder: Builder, data: YamlMapping, key: str, owner: str, origin: str) -> tuple[float, ...]:
    entries = data.get(key)
    if entries is None:
        return ()
    if not isinstance(entries, List):
        raise fault(origin, f"{key} of {owner} is {shown(entries)}; expected a list of numbers.")

    def number(value: Any, auto: str, what: str) -> Node:
        return builder.number(value, auto, origin, what)

    return tuple(default_value(e, number, f"{key} of {owner}", origin) for e in entries)


def _joint(builder: Builder, name: str, value: Any, origin: Origin) -> None:
    data = check_keys(value, "joint", f"joint {name!r}", origin)
    builder.joint(name, **_given(data, data), origin=origin)


def _cut(builder: Builder, name: str, value: Any, origin: Origin) -> None:
    data = check_keys(value, "cut", f"cut {name!r}", origin)
    ends = data["between"]
    if not isinstance(ends, List) or len(ends) != 2:
        raise fault(place(origin, "between"), f"cut {name!r} is between {shown(ends)}; expected two points.")
    given = _given(data, ("length", "rows", "axis", "axis2", "switched"))
    builder.cut(name, data["kind"], ends[0], ends[1], **given, origin=origin)


def _coupling(builder: Builder, name: str, value: Any, origin: Origin) -> None:
    if not isinstance(value, YamlMapping):
        builder.coupling(name, value, origin=origin)
        return
    data = check_keys(value, "coupling", f"coupling {name!r}", origin)
    builder.coupling(name, **_given(data, data), origin=origin)


def _force(builder: Builder, name: str, value: Any, origin: Origin) -> None:
    data = check_keys(value, "force", f"force {name!r}", origin)
    inner = data.get("values")
    if inner is not None and not isinstance(inner, YamlMapping):
        raise fault(place(origin, "values"), f"values of force {name!r} are {shown(inner)}; expected names and values.")
    values = {key: v for key, v in data.items() if key not in ("kind", "points", "values")} | (inner or {})
    for key, v in values.items():
        if isinstance(v, YamlMapping):
            raise fault(place(origin, key), f"{key} of force {name!r} is a mapping; expected a number, list or text.")
    if inner is not None:
        file = str(origin).rpartition(":")[0]
        origin = Origin(str(origin), {**origin.fields, **_places(inner, file)})
    builder.force(name, data["kind"], data.get("points") or (), values, origin)


def _sensor(builder: Builder, name: str, value: Any, origin: Origin) -> None:
    if isinstance(value, str):
        body, _, frame = value.partition(".")
        builder.sensor(name, body, frame, origin)
    else:
        data = check_keys(value, "sensor", f"sensor {name!r}", origin)
        builder.sensor(name, data["body"], data.get("frame") or "", origin)


def _keyframe(builder: Builder, name: str, value: Any, origin: Origin) -> None:
    data = check_keys(value, "keyframe", f"keyframe {name!r}", origin)
    builder.keyframe(name, **_given(data, data), origin=origin)


def _or_empty(value: Any) -> Any:
    """A piece without keys, such as a body that only carries others, may be left empty."""
    if value is not None:
        return value
    empty = YamlMapping()
    empty.line, empty.lines = 0, {}
    return empty


def _given(data: Mapping[str, Any], keys: Any) -> dict[str, Any]:
    """Only what is there, so that the defaults stand in one place."""
    return {key: data[key] for key in keys if data.get(key) is not None}
