"""MJCF <attach>: a body, a frame or the whole of another model (or of the same one) in the place of the element.

Names get the prefix. Elements of the other model are read by its own defaults and its own <compiler>: here they are
written out so that they mean the same in this model, with every attribute of their classes given and angles as
quaternions. Tendons, equalities and actuators come along where all that they name does.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from heapq import heappop, heappush
from pathlib import Path

import numpy as np

from symbody.basics.errors import nearest
from symbody.basics.regular_file import is_file
from symbody.model.files.mjcf_actuators import actuator_with_defaults
from symbody.model.files.mjcf_defaults import NO_CLASS, ORIENTATIONS, Defaults, expand_includes, section
from symbody.model.files.mjcf_names import (
    REFERRING,
    Named,
    names_in,
    pointed,
    read_mjcf,
    references,
    renamed,
    renamed_top,
    room_for_copies,
    walk,
)
from symbody.model.files.mjcf_replicate import expand_replicates
from symbody.model.files.mjcf_tree import WRITTEN_OUT, Compiler, compiler_of
from symbody.model.files.urdf_shapes import allowed
from symbody.model.files.xml_file import XmlElement
from symbody.model.record.pose import from_axis_angle, from_euler
from symbody.model.spatial.quaternion import quaternion_from_matrix

DEEPEST = 20
UNNAMED = "MuJoCo Model"  # what MuJoCo calls a model without a name
# settings by which bodies of the other model would be compiled otherwise than those of this one
OF_MASSES = (
    "inertiafromgeom", "inertiagrouprange", "boundmass", "boundinertia", "balanceinertia", "settotalmass", "fitaabb",
    "alignfree",
)  # fmt: skip
ANGLES = ("ref", "springref", "range", "springyield")  # of hinges
WITH_CLASS = ("joint", "geom", "site")


@dataclass(eq=False)
class _Model:
    """A file with its sections, and what is needed to read its elements."""

    top: XmlElement
    path: Path
    defaults: Defaults = field(init=False)
    settings: XmlElement = field(init=False)
    compiler: Compiler = field(init=False)

    def __post_init__(self) -> None:
        self.defaults, self.settings = Defaults(self.top), section(self.top, "compiler")
        self.compiler = compiler_of(self.settings)

    @cached_property
    def pieces(self) -> dict[Named, tuple[XmlElement, str]]:
        """Bodies and frames by their names, with the class that the bodies around them give."""
        world = section(self.top, "worldbody")
        out: dict[Named, tuple[XmlElement, str]] = {}
        for found, childclass in _inside(world, world.get("childclass")):
            if found.tag in ("body", "frame") and found.get("name"):
                out.setdefault((found.tag, found.get("name")), (found, childclass))
        return out

    @cached_property
    def referring(self) -> list[tuple[str, XmlElement, set[Named]]]:
        """Tendons, equalities and actuators, with all that they name."""
        children = ((tag, child) for tag in REFERRING for part in self.top.all(tag) for child in part.children)
        return [(tag, child, {n for e in walk(child) for n in references(e)}) for tag, child in children]

    @cached_property
    def users(self) -> dict[Named, list[int]]:
        """What is named -> which of `referring` name it."""
        out: dict[Named, list[int]] = {}
        for k, (_, _, named) in enumerate(self.referring):
            for name in named:
                out.setdefault(name, []).append(k)
        return out

    @property
    def mesh_folder(self) -> Path:
        return self.path.parent / (self.settings.get("meshdir") or self.settings.get("assetdir"))


@dataclass
class _AttachedFiles:
    """What is read besides the model: each file once, however often it is attached."""

    trusted: Sequence[Path]
    models: dict[Path, _Model] = field(default_factory=dict)
    written: int = 0  # elements in all files
    notes: list[str] = field(default_factory=list)


def expand_attachments(top: XmlElement, path: Path, trusted: Sequence[Path] = ()) -> tuple[XmlElement, list[str], int]:
    """The tree with every <attach> of the worldbody replaced, notes on what was left behind, and the elements of the
    files that were read."""
    files = _AttachedFiles(trusted)
    return _expanded(top, path, files, ()), files.notes, files.written


def _expanded(top: XmlElement, path: Path, files: _AttachedFiles, around: tuple[Path, ...]) -> XmlElement:
    """around: the files that attach this one."""
    files.written += sum(1 for _ in walk(top))
    if not any(e.tag == "attach" for part in top.all("worldbody") for e in walk(part)):
        return top
    own = _Model(top, path)
    around = (*around, path.resolve())
    assets = [m for part in top.all("asset") for m in part.all("model")]
    more: dict[str, list[XmlElement]] = {}
    made = 0

    def model_of(element: XmlElement) -> _Model:
        name = element.get("model")
        if not name:
            return own
        named = {m.get("name"): m for m in assets if m.get("name")}
        if name in named:
            model = _load(named[name], path, files, around)
        else:  # one without a name is called as it calls itself, else as its file
            others = [m for m in assets if not m.get("name")]
            read = {m.get("file"): _load(m, path, files, around) for m in others}
            known = {Path(file).stem: found for file, found in read.items()}
            known |= {found.top.get("model") or UNNAMED: found for found in read.values()}
            if name not in known:
                hint = nearest(name, [*named, *known])
                raise element.error(f"<attach> names the model {name!r}, which is not in <asset>. {hint}")
            model = known[name]
        _same_masses(element, model, own)
        return model

    def expanded(element: XmlElement) -> XmlElement:
        nonlocal made
        children: list[XmlElement] = []
        for child in element.children:
            if child.tag == "attach":
                before = sum(map(len, more.values()))
                children.append(_attached(child, model_of(child), own, more, files.notes))
                made += sum(1 for _ in walk(children[-1])) + sum(map(len, more.values())) - before
                if made > room_for_copies(files.written):
                    raise child.error(
                        f"attached models have more than {room_for_copies(files.written)} elements; expected fewer."
                    )
            else:
                children.append(expanded(child))
        return replace(element, children=children)

    parts = [expanded(part) if part.tag == "worldbody" else part for part in top.children]
    parts += [XmlElement(tag, {}, top.file, top.line, children=children) for tag, children in more.items()]
    return replace(top, children=parts)


def _load(asset: XmlElement, path: Path, files: _AttachedFiles, around: tuple[Path, ...]) -> _Model:
    name, folder = asset.name("file"), path.resolve().parent
    target = allowed(folder, name, (folder, *files.trusted))
    if target is None:
        raise asset.error(
            f"model {name!r} lies outside the folder of the file; expected it there or below. Name the folder that may "
            "be read too: packages=[...] of sb.load, or ROS_PACKAGE_PATH."
        )
    if target in files.models:
        return files.models[target]
    if not is_file(target):
        raise asset.error(f"model {name!r}: there is no such file. Put it there, or correct the name.")
    if target in around or len(around) > DEEPEST:
        raise asset.error(f"model {name!r} attaches itself, or too many others; expected a tree of models.")
    top = read_mjcf(target)
    if top.tag != "mujoco":
        raise top.error(f"an attached model has the root <{top.tag}>; expected <mujoco>.")
    top = _expanded(expand_includes(top, target, files.trusted), target, files, around)
    top = expand_replicates(top, compiler_of(section(top, "compiler")), files.written)
    made = files.models[target] = _Model(top, target)
    return made


def _same_masses(element: XmlElement, other: _Model, own: _Model) -> None:
    for key in OF_MASSES:
        here, there = own.settings.get(key), other.settings.get(key)
        if here != there:
            raise element.error(
                f"the attached model has {key}={there or 'default'!r} in <compiler>, this one {here or 'default'!r}; "
                f"expected the same in both, or {WRITTEN_OUT}."
            )


def _attached(
    element: XmlElement, model: _Model, own: _Model, more: dict[str, list[XmlElement]], notes: list[str]
) -> XmlElement:
    """What stands in the place of an <attach>; `more` gets what comes along in other sections."""
    prefix = element.attributes.get("prefix", "")
    found, childclass = _wanted(element, model)
    whole = found.tag == "worldbody"
    if whole or found.tag == "frame":
        childclass = found.get("childclass") or childclass
        kept = {k: v for k, v in found.attributes.items() if not whole and k in ("pos", *ORIENTATIONS)}
        found = replace(found, tag="frame", attributes=kept)
    tree = _written_out(found, childclass, model, own)
    names = names_in(walk(tree))
    others = model is not own
    if others:
        more.setdefault("asset", []).extend(_assets(model, own, prefix))
    along = _along(model, names)
    for k in along:
        tag, child, _ = model.referring[k]
        copy = _plain(child, tag, model) if others else child
        more.setdefault(tag, []).append(pointed(renamed_top(copy, prefix), names, prefix))
    if others:
        notes += _left(model, set(along))
    if others and any(part.children for part in model.top.all("keyframe")):
        notes.append(f"{element.origin}: keyframes of the attached model {element.get('model')!r} were left out")
    tree = pointed(renamed(tree, prefix), names, prefix)
    return _with_assets(tree, prefix) if others else tree


def _wanted(element: XmlElement, model: _Model) -> tuple[XmlElement, str]:
    """The element that is attached, and the class that the bodies around it give."""
    body, frame = element.get("body"), element.get("frame")
    world = section(model.top, "worldbody")
    if body and frame:
        raise element.error(f"<attach> names body {body!r} and frame {frame!r}; expected one of them.")
    if (not body and not frame) or body == "world":
        if not element.get("model"):
            raise element.error("<attach> without a model names no body and no frame; expected one of them.")
        return world, world.get("childclass")
    tag, name = ("body", body) if body else ("frame", frame)
    if (tag, name) in model.pieces:
        return model.pieces[tag, name]
    known = [other for kind, other in model.pieces if kind == tag]
    raise element.error(f"<attach> names the {tag} {name!r}, which the model has not. {nearest(name, known)}")


def _along(model: _Model, names: set[Named]) -> list[int]:
    """Which of `referring` name nothing but what is attached; tendons among them are attached, and named, too."""
    waiting = sorted({k for name in names for k in model.users.get(name, ())})  # a heap
    out: list[int] = []
    while waiting:
        k = heappop(waiting)
        tag, child, named = model.referring[k]
        if (out and out[-1] == k) or not named <= names:
            continue
        out.append(k)
        if tag == "tendon" and child.get("name"):
            names.add(("tendon", child.get("name")))
            for user in model.users.get(("tendon", child.get("name")), ()):
                heappush(waiting, user)
    return out


def _left(model: _Model, along: set[int]) -> list[str]:
    """The note on elements of another model that name what is not attached."""
    left = [k for k, (_, _, named) in enumerate(model.referring) if named and k not in along]
    if not left:
        return []
    first = model.referring[left[0]][1]
    more = f", as {len(left) - 1} others" if left[1:] else ""
    return [f"{first.origin}: <{first.tag}> names what is not attached, and was left out{more}"]


def _inside(element: XmlElement, childclass: str) -> Iterator[tuple[XmlElement, str]]:
    for child in element.children:
        yield child, childclass
        yield from _inside(child, child.get("childclass") or childclass)


def _written_out(element: XmlElement, childclass: str, model: _Model, own: _Model) -> XmlElement:
    """A copy that means the same in `own`; within one model only names will differ."""
    if model is own:
        return replace(element, attributes={**({"childclass": childclass} if childclass else {}), **element.attributes})
    inner = element.get("childclass") or childclass
    full = model.defaults.apply(element, inner) if element.tag in WITH_CLASS else element
    given = {k: v for k, v in full.attributes.items() if k not in ("class", "childclass")}
    if element.tag in WITH_CLASS:
        given["class"] = NO_CLASS
    full = replace(full, attributes=given)
    for way in ("euler", "axisangle"):
        if way in given:
            given["quat"] = _quaternion(full, way, model.compiler)
            del given[way]
    turns = element.tag == "joint" and given.get("type", "hinge") in ("hinge", "ball")
    if turns and model.compiler.degrees != own.compiler.degrees:
        scale = np.pi / 180 if model.compiler.degrees else 180 / np.pi
        for key in ANGLES:
            if key in given:
                given[key] = _text([x * scale for x in full.numbers(key, (1, 2))])
    children = [_written_out(child, inner, model, own) for child in element.children]
    return replace(full, attributes=given, children=children)


def _quaternion(element: XmlElement, way: str, compiler: Compiler) -> str:
    if way == "euler":
        turn = from_euler([compiler.angle(a) for a in element.numbers("euler", 3)], compiler.sequence)
    else:
        *axis, angle = element.numbers("axisangle", 4)
        turn = from_axis_angle(axis, compiler.angle(angle))
    return _text(quaternion_from_matrix(turn))


def _text(values: Sequence[float] | np.ndarray) -> str:
    return " ".join(repr(float(v)) for v in values)


def _plain(element: XmlElement, tag: str, model: _Model) -> XmlElement:
    """A tendon, equality or actuator with the attributes of its class."""
    if tag == "actuator":
        full = actuator_with_defaults(model.defaults, element)
    else:
        full = model.defaults.apply(element, "", tag)
    return replace(full, attributes={**full.attributes, "class": NO_CLASS}, children=element.children)


def _assets(model: _Model, own: _Model, prefix: str) -> list[XmlElement]:
    """Meshes and materials of another model, their files as seen from this one."""
    out = []
    for part in model.top.all("asset"):
        for asset in part.children:
            if asset.tag not in ("mesh", "material"):
                continue
            given = dict(model.defaults.apply(asset, "").attributes)
            name = given.get("name") or Path(given.get("file", "")).stem
            if asset.tag == "mesh" and given.get("file"):
                file = given["file"].replace("\\", "/")
                file = file.rpartition("/")[2] if model.settings.get("strippath") == "true" else file
                given["file"] = os.path.relpath(model.mesh_folder / file, own.mesh_folder)
            out.append(replace(asset, attributes={**given, "name": prefix + name, "class": NO_CLASS}))
    return out


def _with_assets(element: XmlElement, prefix: str) -> XmlElement:
    """A copy whose meshes and materials are those that were copied."""
    moved = {key: prefix + element.get(key) for key in ("mesh", "material") if element.get(key)}
    children = [_with_assets(child, prefix) for child in element.children]
    return replace(element, attributes={**element.attributes, **moved}, children=children)
