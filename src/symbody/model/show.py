"""A Mechanism for the eye: its tree as text, and its skeleton as a figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from symbody.errors import ModelError, ShapeError
from symbody.expr.evaluate import evaluate
from symbody.expr.node import Node
from symbody.expr.text import to_text
from symbody.expr.walk import free_symbols
from symbody.model.joints import KINDS
from symbody.model.mechanism import WORLD, Joint, Mechanism, has_coordinates
from symbody.model.numbers import number_of

Pose = tuple[np.ndarray, np.ndarray]  # rotation (3, 3) and position (3,) in the world


# -- as text


def tree_text(mechanism: Mechanism) -> str:
    """The tree, one body a line: joint, kind and axis, mode, body, mass."""
    children: dict[str, list[Joint]] = {}
    for joint in mechanism.joints:
        children.setdefault(joint.parent, []).append(joint)
    lines = [repr(mechanism), WORLD]
    stack = [(joint, "", k == 0) for k, joint in enumerate(reversed(children.get(WORLD, [])))]
    while stack:
        joint, indent, last = stack.pop()
        lines.append(f"{indent}{'└─ ' if last else '├─ '}{_joint_text(joint)}  {_body_text(mechanism, joint.child)}")
        deeper = indent + ("   " if last else "│  ")
        stack.extend((j, deeper, k == 0) for k, j in enumerate(reversed(children.get(joint.child, []))))
    for what in ("cuts", "forces", "sensors"):
        named = [f"{p.name} ({p.kind})" if what != "sensors" else p.name for p in getattr(mechanism, what)]
        if named:
            lines.append(f"{what}: {', '.join(named)}")
    return "\n".join(lines)


def _joint_text(joint: Joint) -> str:
    words = [joint.kind]
    if KINDS[joint.kind].needs_axis:
        words.append(_axis_text(joint.axis))
    if joint.sequence:
        words.append(joint.sequence)
    if joint.mode != "actuated":
        words.append(joint.mode)
    if joint.mimic is not None:
        words.append(f"mimics {joint.mimic.joint}")
    words += [what for what in ("elastic", "rotor") if getattr(joint, what) is not None]
    return f"{joint.name} [{' '.join(words)}]"


def _axis_text(axis: np.ndarray) -> str:
    values = [number_of(a) for a in axis]
    for k, letter in enumerate("xyz"):
        if values[k] in (1, -1):
            return letter if values[k] == 1 else f"-{letter}"
    return "(" + " ".join(f"{v:.3g}" for v in values if v is not None) + ")"


def _body_text(mechanism: Mechanism, name: str) -> str:
    mass = mechanism.body(name).mass
    value = number_of(mass)
    text = to_text(mass, limit=30)
    if value == 0:
        return name
    shown = text if value is None else f"{value:.4g} kg" if not free_symbols([mass]) else f"{text} = {value:.4g} kg"
    return f"{name}, {shown}"


# -- as a figure


def show(mechanism: Mechanism, q: Any = None, parameters: Mapping[str, float] | None = None) -> Any:
    """A matplotlib figure: lines from joint to joint, dots for centres of mass sized by mass.

    q: (nq,), zero and unit quaternions if it is not given; parameters: values in place of the defaults.
    """
    from matplotlib.figure import Figure

    values = _values(mechanism, parameters or {})
    poses = body_poses(mechanism, q, parameters)
    figure = Figure(figsize=(6, 6))
    axes: Any = figure.add_subplot(projection="3d")
    points = [np.zeros(3)]
    for joint in mechanism.joints:
        start, end = poses[joint.parent][1], poses[joint.child][1]
        axes.plot(*np.stack([start, end]).T, "-", color="0.35", linewidth=2)
        axes.plot(*end[:, None], "o", color="tab:blue" if has_coordinates(joint) else "0.6", markersize=4)
        points += [start, end]
    masses = [max(float(_evaluate([b.mass], values)[0]), 0.0) for b in mechanism.bodies]
    heaviest = max([*masses, 1e-300])
    for body, mass in zip(mechanism.bodies, masses):
        rotation, origin = poses[body.name]
        com = origin + rotation @ _evaluate(body.com, values)
        if mass > 0:
            axes.plot(*np.stack([origin, com]).T, ":", color="0.7", linewidth=1)
            axes.scatter(*com, s=10 + 60 * mass / heaviest, color="tab:orange")
            points.append(com)
    _equal_scales(axes, np.array(points))
    axes.set(title=mechanism.name, xlabel="x (m)", ylabel="y (m)", zlabel="z (m)")
    return figure


def body_poses(mechanism: Mechanism, q: Any = None, parameters: Mapping[str, float] | None = None) -> dict[str, Pose]:
    """Rotation and position in the world of every body at q (nq,), by numbers."""
    values = _values(mechanism, parameters or {})
    given = rest_coordinates(mechanism) if q is None else np.asarray(q, dtype=float).ravel()
    if len(given) != mechanism.nq:
        raise ShapeError(f"show was given {len(given)} coordinates; {mechanism.name} has nq {mechanism.nq}.")
    own: dict[str, np.ndarray] = {}
    at = 0
    for joint in mechanism.joints:
        if has_coordinates(joint):
            size = KINDS[joint.kind].nq(joint)
            own[joint.name] = given[at : at + size]
            at += size
    poses: dict[str, Pose] = {WORLD: (np.eye(3), np.zeros(3))}
    for joint in mechanism.joints:
        rotation, position = poses[joint.parent]
        position = position + rotation @ _evaluate(joint.placement.position, values)
        rotation = rotation @ _evaluate(joint.placement.rotation, values).reshape(3, 3)
        poses[joint.child] = _moved(rotation, position, joint, _coordinates(joint, own, values), values)
    return poses


def rest_coordinates(mechanism: Mechanism) -> np.ndarray:
    """(nq,) zeros, with the quaternion (1, 0, 0, 0) for balls and free bodies."""
    out: list[float] = []
    for joint in mechanism.joints:
        if has_coordinates(joint):
            for motion, _ in KINDS[joint.kind].motions(joint):
                out += {"B": [1, 0, 0, 0], "F": [0, 0, 0, 1, 0, 0, 0]}.get(motion, [0])
            out += [0] * (joint.elastic is not None)
    return np.array(out, dtype=float)


def _coordinates(joint: Joint, own: Mapping[str, np.ndarray], values: Mapping[Node, float]) -> np.ndarray:
    """One number for each elementary motion of a joint (four and seven for balls and free bodies)."""
    if joint.name in own:
        q = own[joint.name]
        return np.array([q[0] + q[1]]) if joint.elastic is not None else q
    if joint.mimic is not None and joint.mimic.joint in own:
        ratio, offset = _evaluate([joint.mimic.ratio, joint.mimic.offset], values)
        return np.array([ratio * own[joint.mimic.joint][0] + offset])
    locked = 0.0 if joint.value is None else float(_evaluate([joint.value], values)[0])
    out: list[float] = []
    for motion, _ in KINDS[joint.kind].motions(joint):
        out += {"B": [1, 0, 0, 0], "F": [0, 0, 0, 1, 0, 0, 0]}.get(motion, [locked])
    return np.array(out)


def _moved(
    rotation: np.ndarray,
    position: np.ndarray,
    joint: Joint,
    q: Sequence[float] | np.ndarray,
    values: Mapping[Node, float],
) -> Pose:
    at = 0
    for motion, letter in KINDS[joint.kind].motions(joint):
        axis = _evaluate(joint.axis, values) if letter == "u" else np.eye(3)["xyz".index(letter)] if letter else None
        if motion in "BF":
            if motion == "F":
                position, at = position + rotation @ np.asarray(q[at : at + 3]), at + 3
            rotation, at = rotation @ _from_quaternion(np.asarray(q[at : at + 4])), at + 4
            continue
        assert axis is not None
        if motion in "TH":
            pitch = 1.0 if motion == "T" or joint.pitch is None else float(_evaluate([joint.pitch], values)[0])
            position = position + rotation @ axis * pitch * q[at]
        if motion in "RH":
            rotation = rotation @ _about(axis, float(q[at]))
        at += 1
    return rotation, position


def _about(axis: np.ndarray, angle: float) -> np.ndarray:
    """Rodrigues: 1 + sin(a) K + (1 - cos(a)) K K."""
    x, y, z = axis
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    out: np.ndarray = np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * (cross @ cross)
    return out


def _from_quaternion(p: np.ndarray) -> np.ndarray:
    """1 + 2 w K + 2 K K of the unit quaternion (w, x, y, z), with K the cross product matrix of (x, y, z)."""
    w, x, y, z = p / np.linalg.norm(p)
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    out: np.ndarray = np.eye(3) + 2 * w * cross + 2 * (cross @ cross)
    return out


def _values(mechanism: Mechanism, parameters: Mapping[str, float]) -> dict[Node, float]:
    """Values of every symbol: given, else default, time zero; a parameter with neither is named."""
    unknown = set(parameters) - set(mechanism.parameters)
    if unknown:
        raise ModelError(f"{mechanism.name} has no parameter {sorted(unknown)[0]!r}.")
    out: dict[Node, float] = {}
    for symbol in free_symbols(mechanism.values()):
        value = parameters.get(symbol.data.name, symbol.data.default)
        if value is None:
            if symbol.data.role == "parameter":
                raise ModelError(
                    f"parameter {symbol.data.name!r} has no default. Give parameters={{...}} with its value."
                )
            value = 0.0
        out[symbol] = float(value)
    return out


def _evaluate(nodes: Any, values: Mapping[Node, float]) -> np.ndarray:
    flat = list(nodes.flat) if isinstance(nodes, np.ndarray) else list(nodes)
    return np.array([float(x) for x in evaluate(flat, values)])


def _equal_scales(axes: Any, points: np.ndarray) -> None:
    low, high = points.min(axis=0), points.max(axis=0)
    half, centre = max(float((high - low).max()) / 2, 0.05) * 1.1, (high + low) / 2
    for k, name in enumerate("xyz"):
        getattr(axes, f"set_{name}lim")(centre[k] - half, centre[k] + half)
    axes.set_box_aspect((1, 1, 1))
