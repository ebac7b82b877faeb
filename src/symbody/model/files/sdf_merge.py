"""SDF <include merge="true">: what a model holds goes into the model or world around it, relative to one frame.

SDFormat calls this frame _merged__<name>__model__. It moves with the model's canonical link.
"""

from __future__ import annotations

from dataclasses import replace

from symbody.model.files.sdf_poses import OF_MODEL, PLACED_BY
from symbody.model.files.xml_file import XmlElement

MODEL_AXIS = "use_parent_model_frame"
IN_WORLDS = ("model", "joint", "frame")


def merged(model: XmlElement, around: str) -> list[XmlElement]:
    """The frame, then links, joints, frames and models with their references led to it. around: "world" or "model"."""
    name = f"_merged__{model.name()}__model__"
    pose = model.find("pose") or XmlElement("pose", {}, model.file, model.line)
    relative = pose.get("relative_to") or (OF_MODEL if around == "model" else "world")
    pose = replace(pose, attributes={**pose.attributes, "relative_to": relative})
    attributes = {"name": name, "attached_to": model.get("canonical_link") or _first_link(model, "") or relative}
    placed_by = model.get(PLACED_BY)
    if placed_by:
        attributes[PLACED_BY] = name if placed_by == OF_MODEL else placed_by
    out = [XmlElement("frame", attributes, model.file, model.line, children=[pose])]
    for child in model.children:
        if child.tag in ("pose", "static"):
            continue
        if around == "world" and child.tag == "link":
            raise child.error("a world has links in models only; expected <include> without merge, or one in a model.")
        out.append(_led(child, name))
    return out


def _first_link(model: XmlElement, prefix: str) -> str:
    """The name of its canonical link: its own first one, else that of a model in it."""
    own = model.first("link")
    if own is not None:
        return prefix + own.name()
    inner = (_first_link(m, f"{prefix}{m.name()}::") for m in model.all("model"))
    return next((name for name in inner if name), "")


def _led(element: XmlElement, frame: str) -> XmlElement:
    """A copy of a child of the model whose references to the model itself name the frame."""
    if element.tag in ("link", "model"):
        pose = element.find("pose") or XmlElement("pose", {}, element.file, element.line)
        rest = [c for c in element.children if c.tag != "pose"]
        return replace(element, children=[_attribute(pose, "relative_to", frame, True), *rest])
    if element.tag == "frame":
        element = _attribute(element, "attached_to", frame, True)
    if element.tag in ("frame", "joint"):
        return replace(element, children=[_of_joint(c, frame) for c in element.children])
    return element


def _of_joint(child: XmlElement, frame: str) -> XmlElement:
    if child.tag == "pose":
        return _attribute(child, "relative_to", frame, False)
    if child.tag in ("parent", "child", "gearbox_reference_body") and child.text.strip() == OF_MODEL:
        return replace(child, text=frame)
    if child.tag in ("axis", "axis2"):
        old = child.find(MODEL_AXIS)
        upright = old is not None and old.text.strip().lower() in ("true", "1")
        inner = [_attribute(c, "expressed_in", frame, upright) if c.tag == "xyz" else c for c in child.children]
        return replace(child, children=[c for c in inner if c.tag != MODEL_AXIS])
    return child


def _attribute(element: XmlElement, key: str, frame: str, fill: bool) -> XmlElement:
    """A copy that names the frame where it names the model, and with `fill` where it names nothing."""
    if element.get(key) == OF_MODEL or (fill and not element.get(key)):
        return replace(element, attributes={**element.attributes, key: frame})
    return element
