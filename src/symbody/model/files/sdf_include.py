"""SDF <include>: the model of another file in its place, with the name and pose that the include gives it.

`model://arm` is looked for as a folder `arm` with a `model.sdf`: in the folder of the file, beside it, and in those
that the user names (`packages`, GZ_SIM_RESOURCE_PATH, GAZEBO_MODEL_PATH, SDF_PATH). Nothing is fetched.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from symbody.basics.regular_file import inside, is_file, resolved
from symbody.model.files.mjcf_names import walk
from symbody.model.files.sdf_merge import MODEL_AXIS, merged
from symbody.model.files.sdf_poses import PLACED_BY
from symbody.model.files.xml_file import MAX_ELEMENTS, XmlElement, read_xml

FOLDERS = ("GZ_SIM_RESOURCE_PATH", "IGN_GAZEBO_RESOURCE_PATH", "GAZEBO_MODEL_PATH", "SDF_PATH")
SCENERY = ("sun", "ground_plane")  # Gazebo's own: a lamp, and a plane that stands still
DEEPEST, MOST = 8, 200
OVERRIDES = ("name", "pose", "static", "uri", PLACED_BY, "plugin")
_NAME = re.compile(r"[\w-][\w. -]*")
_VERSION = re.compile(r"(\d{1,3})\.(\d{1,3})", re.ASCII)


def read_sdf(path: Path) -> XmlElement:
    """The root element of a file, as today's SDF would say it.

    Before SDF 1.5 axes of joints stood in the frame of the model, and before 1.7 poses called what they are relative
    to their frame.
    """
    top = read_xml(path)
    found = _VERSION.fullmatch(top.get("version"))
    version = (int(found[1]), int(found[2])) if found else (1, 7)
    for element in walk(top):
        if version < (1, 5) and element.tag in ("axis", "axis2") and element.find(MODEL_AXIS) is None:
            element.children.append(XmlElement(MODEL_AXIS, {}, element.file, element.line, "true"))
        if version < (1, 7) and element.tag == "pose" and "frame" in element.attributes:
            element.attributes.setdefault("relative_to", element.attributes.pop("frame"))
    return top


def expand_includes(top: XmlElement, path: Path, trusted: Sequence[Path]) -> tuple[XmlElement, list[str]]:
    """The tree with the models of included files, and notes on what was left out."""
    named = [Path(p) for variable in FOLDERS for p in os.environ.get(variable, "").split(os.pathsep) if p]
    reader = _Includes([*trusted, *named])
    return reader.expanded(top, path.resolve().parent, 0), reader.notes


class _Includes:
    def __init__(self, trusted: Sequence[Path]) -> None:
        self.trusted = [found for p in trusted if (found := resolved(Path(p))) is not None]
        self.notes: list[str] = []
        self.count = self.size = 0

    def expanded(self, element: XmlElement, folder: Path, depth: int) -> XmlElement:
        children: list[XmlElement] = []
        for child in element.children:
            if child.tag == "include":
                children += self._model(child, folder, depth, element.tag)
            elif child.tag in ("world", "model"):
                children.append(self.expanded(child, folder, depth))
            else:
                children.append(child)
        return replace(element, children=children)

    def _model(self, include: XmlElement, folder: Path, depth: int, around: str) -> list[XmlElement]:
        """What stands in the place of an include; around: "world" or "model"."""
        uri = include.content("uri")
        for child in include.children:
            if child.tag not in OVERRIDES and ":" not in child.tag:
                raise child.error(
                    f"<{child.tag}> of an include is not supported; expected {', '.join(OVERRIDES[:5])} only."
                )
        placed_by = include.content(PLACED_BY, "")
        if placed_by and include.find("pose") is None:
            raise include.error("an include has a placement_frame and no pose; expected the pose of that frame.")
        found = self._find(uri, folder)
        if found is None:
            if uri.removeprefix("model://") in SCENERY:
                self.notes.append(f"{include.origin}: {uri}, which does not move, was left out")
                return []
            raise include.error(
                f"include {uri!r} is not found; expected a folder with a model.sdf, or an .sdf file, in the folder of "
                "the model, beside it, or in one that you name: packages=[...] of sb.load, or GZ_SIM_RESOURCE_PATH."
            )
        self.count += 1
        if depth >= DEEPEST or self.count > MOST:
            raise include.error(f"includes go {DEEPEST} files deep and are {MOST} at most; expected fewer.")
        top = read_sdf(found)
        models = [m for part in (top, *top.all("world")) for m in part.all("model")] if top.tag == "sdf" else []
        if len(models) != 1:
            raise include.error(f"include {uri!r} holds {len(models)} models; expected an SDF file with one.")
        self.size += sum(1 for _ in walk(top))
        if self.size > MAX_ELEMENTS:
            raise include.error(f"included files have more than {MAX_ELEMENTS} elements together; expected fewer.")
        model = self.expanded(models[0], found.parent, depth + 1)
        given = {tag: include.find(tag) for tag in ("pose", "static")}
        kept = [c for c in model.children if given.get(c.tag) is None]
        own = [c for c in given.values() if c is not None]
        more = {"name": include.content("name", "") or model.get("name")} | (
            {PLACED_BY: placed_by} if placed_by else {}
        )
        model = replace(model, attributes={**model.attributes, **more}, children=[*own, *kept])
        return merged(model, around) if include.get("merge") in ("true", "1") else [model]

    def _find(self, uri: str, folder: Path) -> Path | None:
        """The file of a model, in a folder that may be read."""
        scheme, _, rest = uri.rpartition("://")
        if scheme not in ("", "model", "package"):
            return None
        first = Path(rest).parts[0] if Path(rest).parts else ""
        places = [(folder, folder), *((t, t) for t in self.trusted)]
        if _NAME.fullmatch(first):  # models that lie side by side
            places.insert(1, (folder.parent / first, folder.parent))
        for root, start in places:
            target = resolved(start / rest)
            if target is None:
                continue
            for file in (target / "model.sdf", target):
                if inside(root, str(file)) == file and is_file(file):
                    return file
        return None
