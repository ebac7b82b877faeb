"""MJCF <replicate>: copies of a subtree, each turned and shifted further, with numbers behind the names.

What names an element of the subtree (tendons, equalities, actuators) is copied with it. Copy i stands at the sum of the
offsets before it, turned as the copies were, with i times the angles `euler`, as MuJoCo does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from symbody.model.files.mjcf_names import (
    REFERRING,
    Named,
    names_in,
    pointed,
    references,
    renamed,
    renamed_top,
    room_for_copies,
    walk,
)
from symbody.model.files.mjcf_tree import Compiler
from symbody.model.files.xml_file import XmlElement
from symbody.model.record.pose import from_euler


@dataclass(frozen=True)
class _Step:
    """One expansion: the names that were copied, and what stands behind them in each copy."""

    names: set[Named]
    suffixes: list[str]


class _Room:
    """How many elements copies may still make."""

    def __init__(self, most: int) -> None:
        self.most = self.left = most

    def take(self, count: float, element: XmlElement, what: str) -> None:
        if count > self.left:
            raise element.error(f"{what} more than {self.most} elements; expected fewer.")
        self.left -= int(count)


def expand_replicates(top: XmlElement, compiler: Compiler, written: int) -> XmlElement:
    """The tree with every <replicate> of the worldbody replaced by its copies; written: elements of the files."""
    if not any(e.tag == "replicate" for part in top.all("worldbody") for e in walk(part)):
        return top
    steps: list[_Step] = []
    room = _Room(room_for_copies(written))
    parts = [_expanded(p, compiler, steps, room) if p.tag == "worldbody" else p for p in top.children]
    places: dict[Named, list[int]] = {}  # what is named -> the expansions that copied it
    for k, step in enumerate(steps):
        for name in step.names:
            places.setdefault(name, []).append(k)
    for tag in REFERRING:
        parts = [_referring(part, steps, places, room) if part.tag == tag else part for part in parts]
    return replace(top, children=parts)


def _expanded(element: XmlElement, compiler: Compiler, steps: list[_Step], room: _Room) -> XmlElement:
    children: list[XmlElement] = []
    for child in element.children:
        inner = _expanded(child, compiler, steps, room)
        children += _copies(inner, compiler, steps, room) if child.tag == "replicate" else [inner]
    return replace(element, children=children)


def _copies(element: XmlElement, compiler: Compiler, steps: list[_Step], room: _Room) -> list[XmlElement]:
    """Frames with the children of a <replicate>, one for each copy."""
    count = element.number("count")
    if count != int(count) or count < 1:
        raise element.error(f"<replicate> has count {count:g}; expected 1, 2, 3, ...")
    inside = list(walk(element))[1:]
    room.take(count * (1 + len(inside)), element, "<replicate> and others make")
    digits, separator = len(str(int(count) - 1)), element.attributes.get("sep", "")
    suffixes = [f"{separator}{i:0{digits}}" for i in range(int(count))]
    steps.append(_Step(names_in(inside), suffixes))
    angles = np.array(element.numbers("euler", 3, (0, 0, 0)))
    offset, at = np.array(element.numbers("offset", 3, (0, 0, 0))), np.zeros(3)
    out = []
    for i, suffix in enumerate(suffixes):
        given = {"pos": _text(at), "euler": _text(i * angles)}
        if element.get("childclass"):
            given["childclass"] = element.get("childclass")
        copies = [renamed(child, suffix=suffix) for child in element.children]
        out.append(XmlElement("frame", given, element.file, element.line, children=copies))
        turned = from_euler([compiler.angle(float(a)) for a in i * angles], compiler.sequence)
        at = at + turned @ offset
    return out


def _text(values: np.ndarray) -> str:
    return " ".join(repr(float(v)) for v in values)


# -- what names the copies


def _referring(section: XmlElement, steps: list[_Step], places: dict[Named, list[int]], room: _Room) -> XmlElement:
    """The section with a copy of each child for each copy of what it names; copies may be copied by later steps."""
    children: list[XmlElement] = []
    waiting = [(child, 0) for child in reversed(section.children)]
    while waiting:
        child, first = waiting.pop()
        parts = list(walk(child))
        named = [n for e in parts for n in references(e)]
        at = min((k for n in named for k in places.get(n, ()) if k >= first), default=None)
        if at is None:
            children.append(child)
            continue
        step = steps[at]
        inside = [n for n in named if n in step.names]
        if section.tag == "equality" and len(inside) < len(named):
            outside = next(n for n in named if n not in step.names)
            raise child.error(
                f"equality <{child.tag}> joins {inside[0][0]} {inside[0][1]!r}, of which there are copies, with "
                f"{outside[1]!r} outside of <replicate>; MuJoCo drops it. Write one for each copy: "
                f"{inside[0][1] + step.suffixes[0]!r}, ..."
            )
        room.take(len(step.suffixes) * len(parts), child, f"copies of what <{section.tag}> names make")
        if child.get("name") and section.tag == "tendon":
            step.names.add(("tendon", child.get("name")))
            places.setdefault(("tendon", child.get("name")), []).append(at)
        copies = [pointed(renamed_top(child, suffix=s), step.names, suffix=s) for s in step.suffixes]
        waiting += [(copy, at + 1) for copy in reversed(copies)]
    return replace(section, children=children)
