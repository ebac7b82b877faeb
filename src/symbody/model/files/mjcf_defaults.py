"""What stands between an MJCF file and its elements: included files, sections written in parts, default classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from symbody.basics.errors import nearest
from symbody.basics.regular_file import is_file
from symbody.model.files.mjcf_attributes import words
from symbody.model.files.mjcf_names import read_mjcf
from symbody.model.files.urdf_shapes import allowed
from symbody.model.files.xml_file import MAX_DEPTH, XmlElement

MAIN = "main"
NO_CLASS = "(none)"  # of elements whose attributes are all written out
ORIENTATIONS = ("quat", "axisangle", "euler", "xyaxes", "zaxis")
MAX_INCLUDES = 200
MOST_DEFAULTS = 200  # elements in a default class, and attributes of one of them; MJCF has some 60


def expand_includes(top: XmlElement, path: Path, trusted: Sequence[Path] = ()) -> XmlElement:
    """The tree with every <include> replaced by what the file holds.

    Names are relative to the model's folder, else to that of the including file; files must lie in the model's folder
    or in a trusted one.
    """
    folder = path.resolve().parent
    seen = {path.resolve()}

    def expanded(element: XmlElement, depth: int, around: Path) -> list[XmlElement]:
        if depth > MAX_DEPTH:
            raise element.error(f"<{element.tag}> is nested {MAX_DEPTH} elements deep; expected a flatter model.")
        out: list[XmlElement] = []
        for child in element.children:
            if child.tag != "include":
                out.append(replace(child, children=expanded(child, depth + 1, around)))
                continue
            name = child.name("file")
            found = [allowed(start, name, (folder, *trusted)) for start in dict.fromkeys((folder, around))]
            if all(f is None for f in found):
                raise child.error(
                    f"include {name!r} lies outside the model's folder; expected a file in it or below. Name the "
                    "folder that may be read too: packages=[...] of sb.load, or ROS_PACKAGE_PATH."
                )
            target = next((f for f in found if f is not None and is_file(f)), found[0] or path)
            if target in seen:
                raise child.error(
                    f"{name!r} is included a second time; MJCF allows each file once. Remove one of them."
                )
            if len(seen) > MAX_INCLUDES:
                raise child.error(f"more than {MAX_INCLUDES} files are included; expected fewer.")
            seen.add(target)
            if not is_file(target):
                raise child.error(
                    f"include {name!r}: there is no such file in the model's folder. Put it there, or correct the name."
                )
            root = read_mjcf(target)
            if root.tag not in ("mujoco", "mujocoinclude"):
                raise root.error(f"an included file has the root <{root.tag}>; expected <mujoco> or <mujocoinclude>.")
            out.extend(expanded(root, depth + 1, target.parent))
        return out

    return replace(top, children=expanded(top, 0, folder))


def section(top: XmlElement, tag: str) -> XmlElement:
    """All sections of one tag as one: MJCF lets a file repeat them, and later attributes count."""
    merged = XmlElement(tag, {}, top.file, top.line)
    for part in top.all(tag):
        merged.attributes.update(part.attributes)
        merged.children.extend(part.children)
        merged.line = part.line
    return merged


class Defaults:
    """Default attributes by class and tag; a nested class starts from the one around it."""

    def __init__(self, top: XmlElement) -> None:
        self.classes: dict[str, dict[str, dict[str, str]]] = {MAIN: {}, NO_CLASS: {}}
        for element in top.all("default"):
            self._collect(element, MAIN, outermost=True)

    def _collect(self, element: XmlElement, around: str, outermost: bool = False) -> None:
        name = element.get("class") or (MAIN if outermost else "")
        if not name:
            raise element.error("a nested <default> has no attribute 'class'; expected a name.")
        if outermost:
            table = self.classes.setdefault(name, {})
            if name != MAIN:  # the outermost class may be called otherwise; it is the global one all the same
                self.classes[MAIN] = table
        elif name in self.classes:
            raise element.error(f"the default class {name!r} is defined twice; expected unique names.")
        else:
            table = self.classes[name] = dict(self.classes[around])
        for child in element.children:
            if child.tag != "default":
                known = words(child.tag, "default")
                own = {k: v for k, v in child.attributes.items() if not known or k in known or k == "class"}
                given = table[child.tag] = dict(table.get(child.tag, {}))  # its own: the class around keeps what it has
                override(given, own)
                if max(len(table), len(given)) > MOST_DEFAULTS:  # every class and every element gets a copy
                    raise child.error(f"a default class has more than {MOST_DEFAULTS} attributes; expected MJCF's.")
        for child in element.all("default"):
            self._collect(child, name)

    def apply(self, element: XmlElement, childclass: str, tag: str = "") -> XmlElement:
        """The element with the attributes of its class (its own, else that of the bodies around it) filled in."""
        name = element.get("class") or childclass or MAIN
        self.check(element, name)
        merged = dict(self.classes[name].get(tag or element.tag, {}))
        override(merged, element.attributes)
        return replace(element, attributes=merged)

    def check(self, element: XmlElement, name: str) -> str:
        if name not in self.classes:
            raise element.error(
                f"<{element.tag}> names the default class {name!r}, which is not defined. {nearest(name, self.classes)}"
            )
        return name


# lists of which an element may give the first numbers, and the class the rest
FILLED_UP = ("size", "stiffness", "damping", "fluidcoef", "gear", "gainprm", "biasprm", "dynprm")


def override(given: dict[str, str], own: Mapping[str, str]) -> None:
    """Own attributes replace given ones; one way to write an orientation replaces every other."""
    if any(k in own for k in ORIENTATIONS):
        for k in ORIENTATIONS:
            given.pop(k, None)
    for key, value in own.items():
        if key in FILLED_UP and key in given:
            words = value.split()
            value = " ".join([*words, *given[key].split()[len(words) :]])
        if key != "class":
            given[key] = value
