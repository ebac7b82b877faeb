"""Denavit-Hartenberg tables: to Mechanisms, and from the screws of joint axes, without loss of signs.

    modified (Craig, Khalil):  T = Rx(twist) Tx(length) Rz(angle) Tz(offset)
    standard (Paul):           T = Rz(angle) Tz(offset) Tx(length) Rx(twist)

The joint's coordinate adds to the angle (R), to the offset (P), or to both (H: pitch * q to the offset). In dual
numbers a modified row is R1(twist + eps length) R3(angle + eps offset) (MEDUSA, eqs. 3.58-3.61).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from symbody.basics.errors import ModelError, word_argument
from symbody.model.build.builder import Builder
from symbody.model.record.mechanism import WORLD, Mechanism
from symbody.model.spatial.displacement import Displacement, about, compose
from symbody.model.spatial.screws import Screw
from symbody.symbolic.expr.arrays import matmul, transpose

CONVENTIONS = ("modified", "standard")
KINDS = {"R": "revolute", "P": "prismatic", "H": "helical", "F": "fixed"}
TOUCHING = 1e-9  # lines nearer than this meet, directions nearer than this are parallel


@dataclass(frozen=True)
class DhRow:
    """One row: kind R, P, H or F (fixed), twist and angle (rad), length and offset (m), pitch (m/rad) of H.

    Values are numbers or expressions of parameters. parent: name of the link it stands on, "" for the row before.
    """

    kind: str = "R"
    twist: Any = 0
    length: Any = 0
    angle: Any = 0
    offset: Any = 0
    pitch: Any = 0
    parent: str = ""
    name: str = ""


@dataclass(frozen=True, eq=False)
class DhTable:
    """Modified rows with the pose of frame 0 in the world and of the end in the last frame."""

    base: Displacement
    rows: tuple[DhRow, ...]
    tool: Displacement


def from_dh(
    rows: Sequence[DhRow | Mapping[str, Any] | Sequence[Any]],
    convention: str = "modified",
    name: str = "chain",
    bodies: Sequence[Mapping[str, Any]] | None = None,
    parameters: Mapping[str, Any] | None = None,
    gravity: Sequence[Any] = (0, 0, -9.81),
    base: Displacement | None = None,
    source: str = "",
) -> Mechanism:
    """A Mechanism of links link1, link2, ... (or the rows' names) with joints joint1, ...

    rows        DhRow, a mapping of its fields, or (kind, twist, length, angle, offset)
    bodies      for each row mass, com, inertia in the row's Denavit-Hartenberg frame
    parameters  name -> default or None, for expressions in rows and bodies
    base        pose of frame 0 in the world

    A link's own frame is that of its joint; its named frame "dh" is the row's Denavit-Hartenberg frame.
    """
    word_argument("convention", convention, CONVENTIONS, error=ModelError)
    table = [_row(r, k + 1) for k, r in enumerate(rows)]
    if bodies is not None and len(bodies) != len(table):
        raise ModelError(f"{len(bodies)} bodies were given for {len(table)} rows; expected one for each.")
    builder = Builder(name, gravity, source)
    for key, default in (parameters or {}).items():
        builder.parameter(key, default)
    root = WORLD
    if base is not None:
        root = "base"
        builder.body(root)
        builder.joint("base", "fixed", WORLD, root, base.translation.tolist(), base.rotation.tolist())
    links = {row.name: row for row in table}
    previous = root
    for k, row in enumerate(table):
        parent = row.parent or previous
        if parent not in links and parent not in (WORLD, root):
            raise ModelError(f"row {k + 1} stands on {parent!r}; expected one of {', '.join([root, *links])}.")
        # standard rows end with the twist that modified rows begin with
        before = row if convention == "modified" else links.get(parent, DhRow())
        turns, position = _placement(builder, before, row)
        after = DhRow() if convention == "modified" else row
        _add_link(builder, row.name, after, {} if bodies is None else bodies[k])
        pitch = {"pitch": row.pitch} if row.kind == "H" else {}
        builder.joint(f"joint{k + 1}", KINDS[row.kind], parent, row.name, position, turns, "z", **pitch)
        previous = row.name
    return builder.done()


def _row(given: Any, number: int) -> DhRow:
    if isinstance(given, DhRow):
        row = given
    elif isinstance(given, Mapping):
        try:
            row = DhRow(**given)
        except TypeError:
            wrong = ", ".join(k for k in given if k not in DhRow.__dataclass_fields__)
            raise ModelError(f"row {number} has {wrong}; expected {', '.join(DhRow.__dataclass_fields__)}.") from None
    else:
        row = DhRow(*given)
    letter = {v: k for k, v in KINDS.items()}.get(row.kind, row.kind)
    if letter not in KINDS:
        raise ModelError(f"row {number} has kind {row.kind!r}; expected R, P, H or F.")
    values = {k: getattr(row, k) for k in DhRow.__dataclass_fields__}
    return DhRow(**{**values, "kind": letter, "name": row.name or f"link{number}"})


def _placement(builder: Builder, before: DhRow, row: DhRow) -> tuple[Any, list[Any]]:
    """Rotation and position of a joint frame: Rx(twist) Tx(length) of one row, Rz(angle) Tz(offset) of another."""
    tilt = builder.placement((0, 0, 0), ("x", before.twist), "twist").rotation
    offset = builder.number(row.offset, what="offset")
    position = [builder.number(before.length, what="length"), tilt[1, 2] * offset, tilt[2, 2] * offset]
    return [("x", before.twist), ("z", row.angle)], position


def _add_link(builder: Builder, name: str, after: DhRow, given: Mapping[str, Any]) -> None:
    """A body whose data stand in a frame Tx(length) Rx(twist) away from its own."""
    frame = {"position": [after.length, 0, 0], "rotation": ("x", after.twist)}
    place = builder.placement(frame["position"], frame["rotation"], f"frame of {name}")
    data = dict(given)
    if "com" in data and after != DhRow():
        data["com"] = place.position + matmul(place.rotation, builder.vector(data["com"], f"com of {name}"))
    if "inertia" in data and after != DhRow():
        tensor = _tensor(builder, data["inertia"], name)
        data["inertia"] = matmul(place.rotation, tensor, transpose(place.rotation))
    builder.body(name, frames={"dh": frame}, **data)


def _tensor(builder: Builder, value: Any, name: str) -> np.ndarray:
    """(3, 3) nodes of an inertia: 0, a diagonal, [xx, xy, yy, xz, yz, zz] or rows."""
    entries = [0] * 6 if np.ndim(value) == 0 and value == 0 else list(value)
    if len(entries) == 3 and np.ndim(entries[0]) == 0:
        entries = [entries[0], 0, entries[1], 0, 0, entries[2]]
    if len(entries) == 6:
        xx, xy, yy, xz, yz, zz = entries
        entries = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
    return np.stack([builder.vector(row, f"inertia of {name}") for row in entries])


# -- poses


def row_displacement(row: DhRow, q: Any = 0, convention: str = "modified") -> Displacement:
    """Pose of a row's frame in the frame before, at the joint coordinate q, over any scalar."""
    angle = row.angle + q if row.kind in "RH" else row.angle
    offset = row.offset + (q if row.kind == "P" else row.pitch * q if row.kind == "H" else 0)
    twist, turn = about("x", row.twist, row.length), about("z", angle, offset)
    return compose(twist, turn) if convention == "modified" else compose(turn, twist)


# -- identification


def dh_from_screws(screws: Sequence[Screw], end: Displacement | None = None) -> DhTable:
    """The modified table of a serial chain from its joint screws (numbers) in the world at q = 0.

    A screw with resultant is a revolute or helical axis, a couple a prismatic one, whose line is put where it costs no
    parameter. Angles come from atan2 about the common normal, so that no sign is lost (MEDUSA uses arccos, eq. 3.60).
    `end` is the pose of the end in the world at q = 0. At any q

        exp(q1 X1) ... exp(qn Xn) end = base T1(q1) ... Tn(qn) tool
    """
    lines = [_line(x, k + 1) for k, x in enumerate(screws)]
    if not lines:
        raise ModelError("no screw was given; expected one for each joint.")
    kind, z, entry, _ = lines[0]
    entry = np.zeros(3) if entry is None else entry
    x = _across(z)
    base = Displacement(np.stack([x, np.cross(z, x), z], axis=1), entry)
    rows: list[DhRow] = []
    twist = length = 0.0
    for k, (kind, z, _, pitch) in enumerate(lines):
        if k + 1 == len(lines):
            rows.append(DhRow(kind, twist, length, 0.0, 0.0, pitch))
            break
        z_next, point = lines[k + 1][1:3]
        origin, entry_next, normal = _common_normal(z, entry, z_next, entry if point is None else point, x)
        angle = float(np.arctan2(np.cross(x, normal) @ z, x @ normal))
        rows.append(DhRow(kind, twist, length, angle, float((origin - entry) @ z), pitch))
        twist = float(np.arctan2(np.cross(z, z_next) @ normal, z @ z_next))
        length = float((entry_next - origin) @ normal)
        x, entry = normal, entry_next
    last = Displacement(np.stack([x, np.cross(z, x), z], axis=1), entry)
    end = last if end is None else end
    back = np.asarray(last.rotation).T
    tool = Displacement(back @ np.asarray(end.rotation), back @ (np.asarray(end.translation) - entry))
    return DhTable(base, tuple(rows), tool)


def _line(screw: Screw, number: int) -> tuple[str, np.ndarray, np.ndarray | None, float]:
    """(kind, unit direction, point of the axis nearest the origin or None if it is free, pitch)."""
    w, m = (np.asarray(v, dtype=float) for v in (screw.resultant, screw.moment))
    size = float(np.linalg.norm(w))
    if size < TOUCHING:
        stretch = float(np.linalg.norm(m))
        if stretch < TOUCHING:
            raise ModelError(f"screw {number} is zero; expected the axis of a joint.")
        return "P", m / stretch, None, 0.0
    pitch = float(w @ m) / size**2
    return "R" if abs(pitch) < TOUCHING else "H", w / size, np.cross(w, m) / size**2, pitch


def _across(z: np.ndarray) -> np.ndarray:
    """A unit vector across z, the world's x axis if possible."""
    for axis in np.eye(3):
        x = axis - z * (axis @ z)
        if np.linalg.norm(x) > 0.5:
            return np.asarray(x / np.linalg.norm(x))
    raise ModelError(f"direction {z} is not a unit vector.")


def _common_normal(
    z: np.ndarray, entry: np.ndarray, other: np.ndarray, point: np.ndarray, x: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(foot on the line z through entry, foot on the other line, unit normal from one to the other).

    Parallel lines have a foot at `entry`; lines that coincide keep the normal x of the frame before.
    """
    across = np.cross(z, other)
    sine = float(np.linalg.norm(across))
    gap = point - entry
    if sine < TOUCHING:
        step = gap - z * (gap @ z)
        distance = float(np.linalg.norm(step))
        return entry, entry + step, x if distance < TOUCHING else step / distance
    # the feet are the points whose difference lies along the normal
    t = float(np.cross(gap, other) @ across) / sine**2
    s = float(np.cross(gap, z) @ across) / sine**2
    first, second = entry + t * z, point + s * other
    step = second - first
    distance = float(np.linalg.norm(step))
    return first, second, across / sine if distance < TOUCHING else step / distance
