"""Names of MJCF elements and references to them, in copies of a subtree whose names get a prefix or a suffix."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from symbody.model.files.xml_file import XmlElement, read_xml

Named = tuple[str, str]  # what it is, and its name
BLANK = "\u2423"  # the sign for an open box
KINDS = {"freejoint": "joint", "fixed": "tendon", "spatial": "tendon"}
REFERENCES = {
    "joint": "joint", "joint1": "joint", "joint2": "joint", "jointinparent": "joint",
    "site": "site", "site1": "site", "site2": "site", "sidesite": "site", "refsite": "site",
    "cranksite": "site", "slidersite": "site",
    "body": "body", "body1": "body", "body2": "body", "geom": "geom", "tendon": "tendon", "tendon1": "tendon",
    "tendon2": "tendon",
}  # fmt: skip
COPIES, FOR_EACH = 50_000, 10  # elements that copies may make, and more for each that is written
REFERRING = ("tendon", "equality", "actuator")  # sections, in an order in which names come before their users


def room_for_copies(written: int) -> int:
    """How many elements copies may make: else a small file would be a very large model."""
    return COPIES + FOR_EACH * written


def read_mjcf(path: Path) -> XmlElement:
    """The root element of a file. Blanks around names count in MJCF ("0" and " 0" are two): they become visible."""
    top = read_xml(path)
    for element in walk(top):
        for key in ("name", "mesh", *REFERENCES):
            value = element.attributes.get(key, "")
            if value != value.strip() and value.strip():
                inner = value.strip()
                before, after = value.index(inner), len(value.rstrip())
                element.attributes[key] = BLANK * before + inner + BLANK * (len(value) - after)
    return top


def walk(element: XmlElement) -> Iterator[XmlElement]:
    """The element and all that it holds."""
    stack = [element]
    while stack:
        yield (here := stack.pop())
        stack.extend(here.children)


def names_in(elements: Iterator[XmlElement] | list[XmlElement]) -> set[Named]:
    """What is named."""
    return {(KINDS.get(e.tag, e.tag), e.get("name")) for e in elements if e.get("name")}


def references(element: XmlElement) -> list[Named]:
    """What an element names."""
    return [(kind, element.get(key)) for key, kind in REFERENCES.items() if element.get(key)]


def renamed(element: XmlElement, prefix: str = "", suffix: str = "") -> XmlElement:
    """A copy with other names, all through."""
    top = renamed_top(element, prefix, suffix)
    return replace(top, children=[renamed(child, prefix, suffix) for child in element.children])


def renamed_top(element: XmlElement, prefix: str = "", suffix: str = "") -> XmlElement:
    """A copy with another name of its own."""
    given = dict(element.attributes)
    if element.get("name"):
        given["name"] = prefix + element.get("name") + suffix
    return replace(element, attributes=given)


def pointed(element: XmlElement, names: set[Named], prefix: str = "", suffix: str = "") -> XmlElement:
    """A copy whose references to `names` lead to copies of these."""
    moved = {
        key: prefix + element.get(key) + suffix
        for key, kind in REFERENCES.items()
        if element.get(key) and (kind, element.get(key)) in names
    }
    children = [pointed(child, names, prefix, suffix) for child in element.children]
    return replace(element, attributes={**element.attributes, **moved}, children=children)
