"""Writer of the model file: Mechanism -> YAML text that `yaml_file.read` takes back to the same numbers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from symbody.basics.atomic_file import write_whole
from symbody.basics.errors import ModelError
from symbody.model.build.rotation_forms import AXES, is_identity
from symbody.model.files.model_schema import VERSION
from symbody.model.record.mechanism import (
    Body,
    Coupling,
    Cut,
    Force,
    Joint,
    Keyframe,
    Mechanism,
    Placement,
    Sensor,
    Shape,
)
from symbody.model.record.numbers import LONGEST_EXPRESSION
from symbody.model.record.snapping import ROUNDING, snapped
from symbody.symbolic.expr.arrays import is_zero, rotation_x, rotation_y, rotation_z
from symbody.symbolic.expr.infix_text import to_text
from symbody.symbolic.expr.node import CONST, Node

Lines = Iterator[str]
_PLAIN = re.compile(r"[A-Za-z_(][\w .+*/^()-]*|-[\w(][\w .+*/^()-]*|[0-9][\w .+*/^()-]*")
LONGEST_KEY = 1000  # characters
_WORDS = ("null", "true", "false")


def write(mechanism: Mechanism, path: str | Path) -> Path:
    """Write the model file of a Mechanism."""
    return write_whole(path, to_yaml(mechanism))


def to_yaml(mechanism: Mechanism) -> str:
    """The text of the model file; symbols stay symbols, numbers keep every digit."""
    return "\n".join(_file(mechanism)) + "\n"


def _file(mechanism: Mechanism) -> Lines:
    yield f"symbody: {VERSION}"
    yield f"name: {_text(mechanism.name)}"
    if mechanism.source:
        yield f"source: {_text(mechanism.source)}"
    yield f"gravity: {_value(mechanism.gravity)}"
    if mechanism.parameters:
        yield ""
        yield "parameters:"
        for name, node in mechanism.parameters.items():
            default = mechanism.followers.get(name, node.data.default)
            yield from (f"  {line}" for line in _keyed(name, _parameter(node, default)))
    sections: tuple[tuple[str, Sequence[Any], Callable[[Any], Lines]], ...] = (
        ("bodies", mechanism.bodies, _body),
        ("joints", mechanism.joints, _joint),
        ("cuts", mechanism.cuts, _cut),
        ("couplings", mechanism.couplings, _coupling),
        ("forces", mechanism.forces, _force),
        ("sensors", mechanism.sensors, _sensor),
        ("keyframes", mechanism.keyframes, _keyframe),
    )
    for section, pieces, fields in sections:
        if pieces:
            yield ""
            yield f"{section}:"
            for piece in pieces:
                yield from (f"  {line}" for line in _keyed(_text(piece.name)))
                yield from (f"    {line}" for line in fields(piece))
    if mechanism.notes:
        yield ""
        yield "notes:"
        yield from (f"  - {_text(note)}" for note in mechanism.notes)


def _parameter(node: Node, default: Any) -> str:
    data = node.data
    if not data.unit and not data.nonzero:
        return "" if default is None else _value(default)
    fields = {"default": default, "unit": data.unit or None, "nonzero": data.nonzero or None}
    return _flow(fields)


def _body(body: Body) -> Lines:
    if not is_zero(body.mass):
        yield f"mass: {_value(body.mass)}"
    if not all(is_zero(c) for c in body.com):
        yield f"com: {_value(body.com)}"
    if not all(is_zero(c) for c in body.inertia.flat):
        yield f"inertia: {_inertia(body.inertia)}"
    if not body.physical:
        yield "physical: false"
    if body.coordinates:
        yield f"coordinates: {_text(body.coordinates)}"
    if body.frames:
        yield "frames:"
        for name, frame in body.frames.items():
            yield from (f"  {line}" for line in _keyed(_text(name), _pose(frame)))
    if body.shapes:
        yield "shapes:"
        yield from (f"  - {_shape(shape)}" for shape in body.shapes)


def _inertia(tensor: np.ndarray) -> str:
    xx, xy, xz, yx, yy, yz, zx, zy, zz = tensor.flat
    if not (xy is yx and xz is zx and yz is zy):
        return _value(tensor)
    if all(is_zero(x) for x in (xy, xz, yz)):
        return _value((xx, yy, zz))
    return _value((xx, xy, yy, xz, yz, zz))


def _shape(shape: Shape) -> str:
    fields: dict[str, Any] = {"kind": shape.kind, "size": shape.size or None, "file": shape.file or None}
    if shape.placement is not None:
        fields |= _pose_fields(shape.placement)
    return _flow({**fields, "colour": shape.colour or None})


def _pose_fields(placement: Placement) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if not all(is_zero(p) for p in placement.position):
        fields["position"] = placement.position
    if not is_identity(placement.rotation):
        fields["rotation"] = _rotation(placement.rotation)
    return fields


def _pose(placement: Placement) -> str:
    fields = _pose_fields(placement)
    return _flow(fields) if "rotation" in fields else _value(placement.position)


def _rotation(rotation: np.ndarray) -> Any:
    """A quarter turn as people write it, else the matrix."""
    if all(r.op is CONST for r in rotation.flat):
        for letter, turn in (("x", rotation_x), ("y", rotation_y), ("z", rotation_z)):
            for degrees in (90, -90, 180):
                exact = snapped(np.array(turn(np.deg2rad(degrees)), dtype=float), ROUNDING)
                if all(r.data == v for r, v in zip(rotation.flat, exact.flat)):
                    return (letter, f"{degrees}*deg")
    return rotation


def _joint(joint: Joint) -> Lines:
    yield f"kind: {joint.kind}"
    yield f"parent: {_text(joint.parent)}"
    yield f"child: {_text(joint.child)}"
    yield from (f"{key}: {_value(value)}" for key, value in _pose_fields(joint.placement).items())
    letter = next(
        (k for k, v in AXES.items() if all(a.op is CONST and a.data == b for a, b in zip(joint.axis, v))), None
    )
    if letter != "z":
        yield f"axis: {letter or _value(joint.axis)}"
    if joint.sequence:
        yield f"sequence: {joint.sequence}"
    if joint.mode != "actuated":
        yield f"mode: {joint.mode}"
    for key in ("value", "pitch", "stiffness", "rest", "viscous", "coulomb"):
        value = getattr(joint, key)
        if value is not None:
            yield f"{key}: {_value(value)}"
    if joint.mimic is not None:
        yield f"mimic: {_flow({k: getattr(joint.mimic, k) for k in ('joint', 'ratio', 'offset')})}"
    limits = {k: getattr(joint.limits, k) for k in ("lower", "upper", "velocity", "effort")}
    if any(v is not None for v in limits.values()):
        yield f"limits: {_flow(limits)}"
    if joint.rotor is not None:
        yield f"rotor: {_flow({k: getattr(joint.rotor, k) for k in ('inertia', 'ratio', 'gyroscopic')})}"
    if joint.elastic is not None:
        yield f"elastic: {_flow(dict(zip(('stiffness', 'damping'), joint.elastic)))}"


def _cut(cut: Cut) -> Lines:
    yield f"kind: {cut.kind}"
    yield f"between: {_value((cut.first, cut.second))}"
    if cut.length is not None:
        yield f"length: {_value(cut.length)}"
    if cut.rows:
        yield f"rows: {_value(cut.rows)}"
    for key, default in (("axis", "z"), ("axis2", "y"), ("switched", False)):
        if getattr(cut, key) != default:
            yield f"{key}: {_value(getattr(cut, key))}"


def _coupling(coupling: Coupling) -> Lines:
    yield f"expression: {_value(coupling.expression)}"
    if coupling.kind != "position":
        yield f"kind: {coupling.kind}"
    if coupling.switched:
        yield "switched: true"


def _force(force: Force) -> Lines:
    yield f"kind: {_text(force.kind)}"
    if force.points:
        yield f"points: {_value(force.points)}"
    for key, value in force.values.items():
        if not isinstance(value, (Node, bool, str, tuple, type(None))):
            raise ModelError(
                f"{key} of force {force.name!r} is {type(value).__name__}, which a model file cannot hold. "
                "Give an expression."
            )
    if force.values:
        yield "values:"
        yield from (f"  {_text(key)}: {_value(value)}" for key, value in force.values.items())


def _sensor(sensor: Sensor) -> Lines:
    yield f"body: {_text(sensor.body)}"
    if sensor.frame:
        yield f"frame: {_text(sensor.frame)}"


def _keyframe(keyframe: Keyframe) -> Lines:
    for key in ("q", "qd"):
        given = getattr(keyframe, key)
        if given:
            yield f"{key}:"
            for j, numbers in given.items():
                v = keyframe.laws.get(f"{key}.{j}", numbers)
                yield from (f"  {line}" for line in _keyed(_text(j), _value(v[0] if len(v) == 1 else v)))
    if not keyframe.q and not keyframe.qd:
        yield "q: {}"


# -- values


def _keyed(key: str, value: str = "") -> Lines:
    """A key and its value; a long key, which YAML takes only where it is marked."""
    if len(key) > LONGEST_KEY:
        yield f"? {key}"
        key = ""
    yield f"{key}: {value}".rstrip()


def _flow(fields: dict[str, Any]) -> str:
    return "{" + ", ".join(f"{key}: {_value(v)}" for key, v in fields.items() if v is not None) + "}"


def _value(value: Any) -> str:
    if isinstance(value, (list, tuple, np.ndarray)):
        return "[" + ", ".join(_value(v) for v in value) + "]"
    if isinstance(value, Node):
        return _value(value.data) if value.op is CONST else _text(_expression(value), expression=True)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Fraction):
        return f"{value.numerator}/{value.denominator}"
    if isinstance(value, (int, float)):
        return repr(value)
    return "null" if value is None else _text(str(value))


def _expression(node: Node) -> str:
    text = to_text(node)
    if len(text) > LONGEST_EXPRESSION:
        raise ModelError(
            f"an expression has {len(text)} characters as a text, {text[:60]}...; a model file holds "
            f"{LONGEST_EXPRESSION} of each at most. Give numbers for its parameters."
        )
    return text


def _text(text: str, expression: bool = False) -> str:
    """Plain where no reader can mistake it; else in double quotes, as JSON, which YAML contains."""
    plain = _PLAIN.fullmatch(text) and text == text.strip() and text.lower() not in _WORDS
    if plain and (expression or not _is_number(text)):
        return text
    return json.dumps(text)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
