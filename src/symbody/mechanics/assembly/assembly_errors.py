"""What is said of loops that stay open: by how much, which joints they have, and what may be changed."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import numpy as np

from symbody.mechanics.assembly.numeric import Numeric
from symbody.model.record.coordinates import velocity_owners
from symbody.symbolic.expr.evaluate import evaluate

ROUNDED = 1e-4  # m and rad: smaller gaps may be roundings of data


def say_open(
    numeric: Numeric, h: np.ndarray, loops: Sequence[str], alone: Collection[str], fixed: Collection[str]
) -> str:
    """Sentences on the open loops. h (m,): residuals; alone: those that cannot close even without the others."""
    mechanism = numeric.tree.mechanism
    joints = {loop: loop_joints(numeric, loop) for loop in loops}
    words = {x: f"joint{'s' if len(own) > 1 else ''} {', '.join(own)}" for x, own in joints.items()}
    listed = ", ".join(f"{x!r} ({loop_gap(numeric, h, x)}; {words[x]})" for x in loops)
    text = f"{mechanism.name} cannot be assembled: open loops {listed}."
    if alone:
        text += f" Not even alone: {', '.join(map(repr, alone))}; check lengths and points."
    else:
        text += " Each of them can close alone, but not all together."
    driven = [j.name for j in mechanism.joints if j.mode == "driven" and any(j.name in own for own in joints.values())]
    stuck = [x for x in loops if joints[x] and set(joints[x]) <= set(driven)]
    if stuck:
        text += f" All joints of {', '.join(map(repr, stuck))} are driven: drive fewer of them, or change their laws."
    elif driven:
        text += f" Driven joints stand where their laws say: {', '.join(driven)}; change these laws, or drive fewer."
    if fixed:
        text += f" Fixed joints: {', '.join(fixed)}; free some of them."
    return text + " Else give a guess q nearer to a closed configuration, or more starts=." + say_gap(np.abs(h).max())


def say_gap(gap: float) -> str:
    """What to do about a gap (m, rad) that seems to be a rounding of data; nothing of a larger one."""
    if not abs(gap) < ROUNDED:
        return ""
    bound = 10.0 ** math.ceil(math.log10(2 * abs(gap)))
    return f" Data that close to {bound:.0e} only, as CAD data may, are closed by mechanism.close_gaps({bound:.0e})."


def loop_joints(numeric: Numeric, loop: str) -> list[str]:
    """Joints whose velocities the constraints of a loop contain."""
    columns = {k for row in numeric.constraints.rows if row.loop == loop for k in row.J}
    return list(dict.fromkeys(j for k, j in enumerate(velocity_owners(numeric.tree.mechanism)) if k in columns))


def loop_gap(numeric: Numeric, h: np.ndarray, loop: str) -> str:
    """By how much a loop is open, with units; of a rod the difference to its length."""
    rows = [(i, r) for i, r in enumerate(numeric.constraints.rows) if r.loop == loop]
    parts = []
    for unit in dict.fromkeys(r.unit for _, r in rows):
        size = float(np.linalg.norm([h[i] for i, r in rows if r.unit == unit]))
        if unit == "m^2":
            parts.append(f"gap {_rod_gap(numeric, loop, float(h[rows[0][0]])):.3g} m")
        else:
            parts.append(f"gap {size:.3g} {unit}" if unit != "1" else f"residual {size:.3g}")
    return ", ".join(parts)


def _rod_gap(numeric: Numeric, loop: str, h: float) -> float:
    """How far the distance d of a rod's ends is from its length l, m, from h = (d^2 - l^2) / 2."""
    cut = next(c for c in numeric.tree.mechanism.cuts if c.name == loop)
    length = float(evaluate(numeric.tree.node(cut.length), numeric.values))
    return abs(float(np.sqrt(max(length**2 + 2 * h, 0.0))) - length)
