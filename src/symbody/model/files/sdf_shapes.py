"""What the links of an SDF file look like: visual (else collision) primitives and meshes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from symbody.model.build.builder import Builder
from symbody.model.files.urdf_shapes import MeshFinder, not_shown, placement_of
from symbody.model.files.xml_file import XmlElement, parse_numbers
from symbody.model.record.mechanism import Shape
from symbody.model.record.pose import Pose

SIZES = {"cylinder": ("radius", "length"), "capsule": ("radius", "length"), "sphere": ("radius",)}


def read_shapes(
    link: XmlElement, shift: Pose, meshes: MeshFinder, builder: Builder, pose_of: Callable[[XmlElement], Pose]
) -> tuple[Shape, ...]:
    """The visual shapes of a link; its collision shapes where it has no others. `shift`: the link in the body frame."""
    elements = list(link.all("visual")) or list(link.all("collision"))
    out = []
    for element in elements:
        geometry = element.find("geometry")
        form = geometry.children[0] if geometry is not None and geometry.children else None
        if form is None:
            continue
        size: Sequence[float] = ()
        file = ""
        match form.tag:
            case "box":
                size = _list(form, "size", 3)
            case "cylinder" | "capsule" | "sphere":
                size = [_list(form, key, 1)[0] for key in SIZES[form.tag]]
            case "ellipsoid":
                size = [2 * r for r in _list(form, "radii", 3)]
            case "mesh":
                uri = form.content("uri")
                size = _list(form, "scale", 3) if form.find("scale") is not None else (1.0, 1.0, 1.0)
                file = meshes.find(form, uri.replace("model://", "package://", 1))
            case _:
                builder.note(f"{form.origin}: the geometry <{form.tag}> is not shown")
                continue
        if form.tag != "mesh" and min(size) <= 0:
            builder.note(not_shown(form, size))
            continue
        place = placement_of(shift @ pose_of(element), builder)
        out.append(Shape(form.tag, tuple(float(s) for s in size), place, file, _colour(element)))
    return tuple(out)


def _list(element: XmlElement, tag: str, count: int) -> list[float]:
    child = element.need(tag)
    return parse_numbers(child, "", child.text, (count,))


def _colour(element: XmlElement) -> tuple[float, ...]:
    material = element.find("material")
    diffuse = material.find("diffuse") if material is not None else None
    return () if diffuse is None else tuple(parse_numbers(diffuse, "", diffuse.text, (3, 4)))
