"""A Mechanism as text: its tree, one body a line."""

from __future__ import annotations

import numpy as np

from symbody.model.record.joints import KINDS
from symbody.model.record.mechanism import WORLD, Joint, Mechanism
from symbody.model.record.numbers import number_of
from symbody.symbolic.expr.infix_text import to_text
from symbody.symbolic.expr.walk import free_symbols


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
