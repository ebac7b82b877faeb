"""MJCF <replicate>: copies of a subtree, each turned and shifted further, with numbers behind the names.

What names an element of the subtree (tendons, equalities, actuators) is copied with it. Copy i stands at the sum of the
offsets before it, turned as the copies were, with i times the angles `euler`, as MuJoCo does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from symbody.model.files.mjcf_names import REFERRING, Named, names_in, pointed, references, renamed, renamed_top, walk
from symbody.model.files.mjcf_tree import Compiler
from symbody.model.files.xml_file import MAX_ELEMENTS, Element
from symbody.model.record.pose import from_euler


@dataclass(frozen=True)
class _Step:
    """One expansion: the names that were copied, and what stands behind them in each copy."""

    names: set[Named]
    suffixes: list[str]


def expand_replicates(top: Element, compiler: Compiler) -> Element:
    """The tree with every <replicate> of the worldbody replaced by its copies."""
    if not any(e.tag == "replicate" for part in top.all("worldbody") for e in walk(part)):
        return top
    steps: list[_Step] = []
    size = sum(1 for _ in walk(top))
    parts = []
    for part in top.children:
        if part.tag == "worldbody":
            part = _expanded(part, compiler, steps)
            size += sum(1 for _ in walk(part))
            if size > MAX_ELEMENTS:
                raise part.error(f"its copies have more than {MAX_ELEMENTS} elements; expected fewer.")
        parts.append(part)
    places: dict[Named, list[int]] = {}  # what is named -> the expansions that copied it
    for k, step in enumerate(steps):
        for name in step.names:
            places.setdefault(name, []).append(k)
    for tag in REFERRING:
        parts = [_referring(part, steps, places) if part.tag == tag else part for part in parts]
    return replace(top, children=parts)


def _expanded(element: Element, compiler: Compiler, steps: list[_Step]) -> Element:
    children: list[Element] = []
    for child in element.children:
        inner = _expanded(child, compiler, steps)
        children += _copies(inner, compiler, steps) if child.tag == "replicate" else [inner]
    return replace(element, children=children)


def _copies(element: Element, compiler: Compiler, steps: list[_Step]) -> list[Element]:
    """Frames with the children of a <replicate>, one for each copy."""
    count = element.number("count")
    if count != int(count) or count < 1:
        raise element.error(f"<replicate> has count {count:g}; expected 1, 2, 3, ...")
    inside = list(walk(element))[1:]
    if count * max(1, len(inside)) > MAX_ELEMENTS:
        raise element.error(f"<replicate> makes more than {MAX_ELEMENTS} elements; expected fewer.")
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
        out.append(Element("frame", given, element.file, element.line, children=copies))
        turned = from_euler([compiler.angle(float(a)) for a in i * angles], compiler.sequence)
        at = at + turned @ offset
    return out


def _text(values: np.ndarray) -> str:
    return " ".join(repr(float(v)) for v in values)


# -- what names the copies


def _referring(section: Element, steps: list[_Step], places: dict[Named, list[int]]) -> Element:
    """The section with a copy of each child for each copy of what it names; copies may be copied by later steps."""
    children: list[Element] = []
    waiting = [(child, 0) for child in reversed(section.children)]
    size = 0
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
        size += len(step.suffixes) * len(parts)
        if size > MAX_ELEMENTS:
            raise child.error(
                f"copies of what <{section.tag}> names make more than {MAX_ELEMENTS} elements; expected fewer."
            )
        if child.get("name") and section.tag == "tendon":
            step.names.add(("tendon", child.get("name")))
            places.setdefault(("tendon", child.get("name")), []).append(at)
        copies = [pointed(renamed_top(child, suffix=s), step.names, suffix=s) for s in step.suffixes]
        waiting += [(copy, at + 1) for copy in reversed(copies)]
    return replace(section, children=children)
