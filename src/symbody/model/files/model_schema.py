"""The keys of the model file, once: the reader checks them, and the JSON schema for editors is made of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from symbody.basics.atomic_file import write_whole
from symbody.model.build.piece_forms import CUT_ROWS
from symbody.model.build.rotation_forms import AXES
from symbody.model.library.force_elements import FORCE_ELEMENTS
from symbody.model.record.couplings import COUPLING_KINDS
from symbody.model.record.joints import KINDS
from symbody.model.record.validate import CUT_KINDS, MODES

VERSION = 1
SCHEMA_FILE = Path(__file__).parent / "model_file.schema.json"

Schema = dict[str, Any]


def _text(about: str) -> Schema:
    return {"type": "string", "description": about}


def _flag(about: str) -> Schema:
    return {"type": "boolean", "description": about}


def _choice(names: Any, about: str) -> Schema:
    return {"enum": list(names), "description": about}


def _number(about: str) -> Schema:
    return {"$ref": "#/$defs/number", "description": about}


def _vector(about: str) -> Schema:
    return {"$ref": "#/$defs/vector", "description": about}


def _named(piece: str, about: str) -> Schema:
    return {"type": "object", "additionalProperties": {"$ref": f"#/$defs/{piece}"}, "description": about}


def _some(properties: dict[str, Schema], required: tuple[str, ...] = (), more: bool = False) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": {} if more else False,
    }


_ROTATION = {
    "description": "[x, 90*deg], a list of such turns, {rpy: [r, p, y]}, {quaternion: [w, x, y, z]}, or a 3 x 3 matrix",
    "type": ["array", "object"],
}
_POSE = {"position": _vector("m, in the frame of the owner"), "rotation": {"$ref": "#/$defs/rotation"}}

PIECES: dict[str, Schema] = {
    "file": _some({
        "symbody": {"const": VERSION, "description": "version of this format"},
        "name": _text("name of the mechanism"),
        "source": _text("publication or file that the numbers come from"),
        "description": _text("what it is, for people"),
        "include": {"type": ["string", "array"], "description": "files of this folder or below"},
        "gravity": _vector("acceleration of free fall in world axes, m/s^2; [0, 0, -9.81] if it is not given"),
        "parameters": _named("parameter", "symbols of the model and their default values"),
        "definitions": _named("number", "names for expressions of parameters"),
        "bodies": _named("body", "rigid bodies"),
        "joints": _named("joint", "one for each body"),
        "cuts": _named("cut", "closures of loops"),
        "couplings": _named("coupling", "conditions on coordinates: gears, prescribed relations, rolling"),
        "forces": _named("force", "force elements"),
        "sensors": _named("sensor", "frames of interest"),
        "keyframes": _named("keyframe", "named states, which q0 and qd0 may name"),
        "notes": {"type": "array", "items": {"type": "string"}, "description": "remarks that stay with the model"},
    }),
    "parameter": _some({
        "default": _number("value that is used when no other is given"),
        "unit": _text("such as kg or m"),
        "nonzero": _flag("programs may divide by it"),
    }),
    "body": _some({
        "mass": _number("kg; 0 if it is not given"),
        "com": _vector("centre of mass in the body frame, m"),
        "inertia": {"$ref": "#/$defs/inertia"},
        "physical": _flag("false: take an inertia tensor that no rigid body has as it is"),
        "coordinates": _text("a motion of the table that the body itself owns; see docs/extending.md"),
        "frames": _named("frame", "frames fixed to the body: a position, or position and rotation"),
        "shapes": {"type": "array", "items": {"$ref": "#/$defs/shape"}, "description": "what the body looks like"},
    }),
    "frame": _some(_POSE),
    "shape": _some({
        "kind": _choice(
            ("box", "cylinder", "sphere", "capsule", "ellipsoid", "mesh"),
            "box, cylinder and capsule (radius, length), sphere (radius), ellipsoid (whole axes), mesh",
        ),
        "size": {"type": "array", "items": {"$ref": "#/$defs/number"}, "description": "m"},
        **_POSE,
        "file": _text("of a mesh"),
        "colour": {
            "type": "array",
            "items": {"$ref": "#/$defs/number"},
            "description": "red, green, blue, alpha; 0 to 1",
        },
    }, ("kind",)),
    "joint": _some({
        "kind": _choice(KINDS, "; ".join(f"{name}: {kind.text}" for name, kind in KINDS.items())),
        "parent": _text("body, or world"),
        "child": _text("body that the joint carries"),
        **_POSE,
        "axis": {
            "description": "direction in the joint frame; z if it is not given",
            "anyOf": [{"enum": list(AXES)}, {"$ref": "#/$defs/vector"}],
        },
        "mode": _choice(MODES, "actuated if it is not given"),
        "value": {
            "description": "where a locked joint stands; law of the time t of a driven one; a list if it has several",
            "anyOf": [{"$ref": "#/$defs/number"}, {"type": "array", "items": {"$ref": "#/$defs/number"}}],
        },
        "pitch": _number("m/rad, of helical and y joints"),
        "sequence": _text("rotation axes in turn, of universal, spherical and floating joints, such as zyx"),
        "mimic": _some({
            "joint": _text("that this one follows"),
            "ratio": _number("1 if not given"),
            "offset": _number("0 if not given"),
        }, ("joint",)),
        "limits": {"description": "[lower, upper], or lower, upper, velocity, effort", "type": ["array", "object"]},
        "stiffness": _number("of a spring in the joint"),
        "rest": _number("coordinate at which that spring is free"),
        "viscous": _number("friction proportional to speed"),
        "coulomb": _number("dry friction"),
        "rotor": _some({
            "inertia": _number("about its axis, kg m^2"),
            "ratio": _number("motor speed / joint speed; 1 if not given"),
            "gyroscopic": _flag("the rotor couples with the motion of the carrying body"),
        }),
        "elastic": _some({"stiffness": _number("between motor and link"), "damping": _number("0 if not given")}),
    }, ("kind", "parent", "child")),
    "cut": _some({
        "kind": _choice(CUT_KINDS, "; ".join(f"{kind}: {n} equations" for kind, n in CUT_KINDS.items())),
        "between": {"type": "array", "minItems": 2, "maxItems": 2, "description": "two frames: body or body.frame"},
        "length": _number("of a rod, m; it may depend on the time t"),
        "rows": {
            "type": "array",
            "items": {"enum": [*range(6), *CUT_ROWS]},
            "description": "equations of kind rows: displacements and rotations about the axes of the first frame",
        },
        "axis": _choice("xyz", "of revolute, prismatic, cylindrical: in both frames; of universal: in the first"),
        "axis2": _choice("xyz", "of universal: axis in the second frame; y if it is not given"),
        "switched": _flag("opens and closes during motion: an input s_<name> says when, 1 closed, 0 open"),
    }, ("kind", "between")),
    "coupling": _some({
        "expression": _number("zero: of q.<joint>, qd.<joint>, t and parameters"),
        "kind": _choice(COUPLING_KINDS, "position (default), or velocity: linear in qd, not integrable"),
        "switched": _flag("as of a cut"),
    }, ("expression",)),
    "force": _some({
        "kind": _choice(FORCE_ELEMENTS, "; ".join(f"{row.kind}: {row.about}" for row in FORCE_ELEMENTS.values())),
        "points": {"type": "array", "description": "bodies or body.frame; none where a joint is named"},
        "joint": _text("on which it acts, of elements that act on joints"),
        "values": {"type": "object", "description": "parameters of the law; they may stand beside kind too"},
    }, ("kind",), more=True),
    "sensor": _some({"body": _text("that carries it"), "frame": _text("of the body")}, ("body",)),
    "keyframe": _some({
        "q": {"type": "object", "description": "joint: coordinate, or [several], rad and m"},
        "qd": {"type": "object", "description": "joint: velocity, or [several]"},
    }),
}  # fmt: skip


def model_schema() -> Schema:
    """JSON schema (draft 2020-12) of the model file."""
    number = {"type": ["number", "string"], "description": "a number, an expression of parameters, or auto"}
    definitions: Schema = {
        "number": number,
        "vector": {
            "anyOf": [
                {"type": "array", "items": {"$ref": "#/$defs/number"}, "minItems": 3, "maxItems": 3},
                {"const": "auto"},
            ]
        },
        "rotation": _ROTATION,
        "inertia": {
            "description": "about the com, kg m^2: 0, [Ixx, Iyy, Izz], [Ixx, Ixy, Iyy, Ixz, Iyz, Izz] or 3 x 3",
            "anyOf": [{"const": 0}, {"const": "auto"}, {"type": "array", "minItems": 3, "maxItems": 6}],
        },
        **PIECES,
        "parameter": {"anyOf": [{"$ref": "#/$defs/number"}, {"type": "null"}, PIECES["parameter"]]},
        "body": {"anyOf": [{"type": "null"}, PIECES["body"]]},
        "frame": {"anyOf": [{"$ref": "#/$defs/vector"}, PIECES["frame"]]},
        "sensor": {"anyOf": [{"type": "string"}, PIECES["sensor"]]},
        "coupling": {"anyOf": [{"type": "string"}, PIECES["coupling"]]},
    }
    top = definitions.pop("file")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "symbody model file",
        **top,
        "$defs": definitions,
    }


def schema_text() -> str:
    """The schema as it stands in the package."""
    return json.dumps(model_schema(), indent=1) + "\n"


if __name__ == "__main__":
    write_whole(SCHEMA_FILE, schema_text().encode())
