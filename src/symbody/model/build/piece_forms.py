"""Parts of bodies and joints from the forms in which people give them: tuples, mappings, single numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from symbody.basics.errors import nearest
from symbody.model.record.joints import KINDS
from symbody.model.record.mechanism import Limits, Mimic, Rotor
from symbody.model.record.numbers import AUTO, frozen_array, number_of, sequence_of
from symbody.model.record.origin import fault, shown
from symbody.symbolic.expr.graph import Graph
from symbody.symbolic.expr.node import Node

Number = Callable[[Any, str, str], Node]  # a value, the name of the symbol if it is "auto", what it is -> Node
INERTIA_ENTRIES = ("xx", "xy", "yy", "xz", "yz", "zz")
CUT_ROWS = ("x", "y", "z", "rx", "ry", "rz")


def is_auto(value: Any) -> bool:
    return isinstance(value, str) and value.strip() == AUTO


def identifier(name: str) -> str:
    """A name as part of a parameter's name: letters, digits and underscores."""
    return "".join(c if c.isalnum() else "_" for c in name)


def inertia_tensor(value: Any, number: Number, graph: Graph, owner: str, auto: str, origin: str) -> np.ndarray:
    """(3, 3) nodes from 0 | [Ixx, Iyy, Izz] | [Ixx, Ixy, Iyy, Ixz, Iyz, Izz] | 3 x 3."""
    what, zero = f"inertia of {owner}", graph.zero

    def entry(x: Any, suffix: str) -> Node:
        return number(x, f"{auto}{suffix}", what)

    if isinstance(value, np.ndarray):
        value = value.tolist()
    if is_auto(value):
        value = [AUTO] * 6
    if isinstance(value, (int, float)) and value == 0:
        return frozen_array([zero] * 9, 3, 3)
    if isinstance(value, (list, tuple)):
        if len(value) == 3 and all(isinstance(row, (list, tuple)) for row in value):
            rows = [sequence_of(row, 3, f"a row of {what}", origin) for row in value]
            names = ("xx", "xy", "xz"), ("xy", "yy", "yz"), ("xz", "yz", "zz")
            return frozen_array([entry(rows[i][j], names[i][j]) for i in range(3) for j in range(3)], 3, 3)
        if len(value) == 3:
            xx, yy, zz = (entry(x, k) for x, k in zip(value, ("xx", "yy", "zz")))
            return frozen_array([xx, zero, zero, zero, yy, zero, zero, zero, zz], 3, 3)
        if len(value) == 6:
            xx, xy, yy, xz, yz, zz = (entry(x, k) for x, k in zip(value, INERTIA_ENTRIES))
            return frozen_array([xx, xy, xz, xy, yy, yz, xz, yz, zz], 3, 3)
    raise fault(
        origin,
        f"{what} is {shown(value)}; expected 0, [Ixx, Iyy, Izz], [Ixx, Ixy, Iyy, Ixz, Iyz, Izz] or a 3 x 3 matrix.",
    )


def mimic(value: Any, number: Number, owner: str, origin: str) -> Mimic | None:
    """From None, a joint's name, (joint, ratio, offset) or a mapping of these."""
    if value is None or isinstance(value, Mimic):
        return value
    given = _fields(value, ("joint", "ratio", "offset"), f"mimic of {owner}", origin)
    if not isinstance(given.get("joint"), str):
        raise fault(origin, f"mimic of {owner} names no joint; expected joint, ratio and offset.")
    ratio = number(given.get("ratio", 1), "", f"mimic ratio of {owner}")
    return Mimic(given["joint"], ratio, number(given.get("offset", 0), "", f"mimic offset of {owner}"))


def rotor(value: Any, number: Number, owner: str, tag: str, origin: str) -> Rotor | None:
    """From None, an inertia, (inertia, ratio, gyroscopic) or a mapping of these; the ratio is 1 if it is not given."""
    if value is None or isinstance(value, Rotor):
        return value
    given = _fields(value, ("inertia", "ratio", "gyroscopic"), f"rotor of {owner}", origin)
    gyroscopic = given.get("gyroscopic", False)
    if not isinstance(gyroscopic, bool):
        raise fault(origin, f"rotor of {owner} has gyroscopic {shown(gyroscopic)}; expected true or false.")
    inertia = number(given.get("inertia", 0), f"Jm_{tag}", f"rotor inertia of {owner}")
    return Rotor(inertia, number(given.get("ratio", 1), f"G_{tag}", f"gear ratio of {owner}"), gyroscopic)


def elastic(value: Any, number: Number, owner: str, tag: str, origin: str) -> tuple[Node, Node] | None:
    """(stiffness, damping) between motor and link from None, a stiffness, a pair or a mapping."""
    if value is None:
        return None
    given = _fields(value, ("stiffness", "damping"), f"elastic of {owner}", origin)
    if "stiffness" not in given:
        raise fault(origin, f"elastic of {owner} has no stiffness; expected stiffness and damping.")
    stiffness = number(given["stiffness"], f"ke_{tag}", f"elastic stiffness of {owner}")
    return stiffness, number(given.get("damping", 0), f"de_{tag}", f"elastic damping of {owner}")


def limits(value: Any, number: Number, owner: str, origin: str) -> Limits:
    """From None, (lower, upper), a mapping or Limits; expressions are taken at the defaults of their parameters."""
    if value is None:
        return Limits()
    if not isinstance(value, Limits):
        names = ("lower", "upper", "velocity", "effort")
        if isinstance(value, (str, int, float)):
            raise fault(origin, f"limits of {owner} are {shown(value)}; expected [lower, upper] or {', '.join(names)}.")
        given = _fields(value, names, f"limits of {owner}", origin)
        value = Limits(**{k: _limit(v, number, f"{k} limit of {owner}", origin) for k, v in given.items()})
    if value.lower is not None and value.upper is not None and not value.lower < value.upper:
        raise fault(origin, f"limits of {owner} are {value.lower:g} to {value.upper:g}; expected lower < upper.")
    for what in ("velocity", "effort"):
        bound = getattr(value, what)
        if bound is not None and not bound >= 0:
            raise fault(origin, f"{what} limit of {owner} is {bound:g}; expected 0 or more.")
    made: Limits = value
    return made


def _limit(value: Any, number: Number, what: str, origin: str) -> float | None:
    return None if value is None else default_value(value, number, what, origin)


def default_value(value: Any, number: Number, what: str, origin: str) -> float:
    """A number, or an expression at the defaults of its parameters: of what no equation contains."""
    if is_auto(value):
        raise fault(origin, f"{what} is 'auto'; expected a number, for it stands in no equation.")
    found = number_of(number(value, "", what))
    if found is None:
        raise fault(origin, f"{what} is {shown(value)}; expected parameters with a default in it, for it is a number.")
    if not math.isfinite(found):
        raise fault(origin, f"{what} is {shown(value)}, which is {found:g} for the default parameters.")
    return found


def force_value(value: Any, number: Number, names: Mapping[str, Any], what: str, auto: str) -> Any:
    """Numbers and expressions as nodes, lists as tuples; a name that is no parameter is a text (a variant)."""
    if isinstance(value, (list, tuple, np.ndarray)):
        return tuple(force_value(v, number, names, what, f"{auto}{k + 1}") for k, v in enumerate(value))
    if isinstance(value, bool) or not isinstance(value, (int, float, Fraction, np.number, str, Node)):
        return value  # a function, a record of tyre coefficients: the law knows
    if isinstance(value, str) and not is_auto(value) and value.isidentifier() and value not in names:
        return value
    return number(value, auto, what)


def point(value: Any, owner: str, origin: str) -> tuple[str, str]:
    """(body, frame) from "body", "body.frame" or a pair; the frame "" is the body's own."""
    if isinstance(value, str):
        body, _, frame = value.partition(".")
        return body, frame
    if isinstance(value, (list, tuple)) and len(value) == 2 and all(isinstance(v, str) for v in value):
        return value[0], value[1]
    raise fault(origin, f"{owner} has the point {shown(value)}; expected a body, body.frame or [body, frame].")


def cut_rows(value: Any, owner: str, origin: str) -> tuple[int, ...]:
    """Rows of a cut as numbers 0 to 5, from numbers or the names x, y, z, rx, ry, rz; validation checks them."""
    if not isinstance(value, (list, tuple)):
        raise fault(origin, f"{owner} has rows {shown(value)}; expected a list of numbers 0 to 5 or names x to rz.")
    return tuple(CUT_ROWS.index(r) if isinstance(r, str) and r in CUT_ROWS else r for r in value)


def sequence(value: Any, kind: str, owner: str, origin: str) -> str:
    """The rotation axes of kinds that have several, checked: neighbours differ."""
    if value is None or value == "":
        return ""
    if not KINDS[kind].angles:
        kinds = ", ".join(name for name, row in KINDS.items() if row.angles)
        raise fault(origin, f"{owner} has a sequence, which kind {kind!r} does not use; expected one of {kinds}.")
    text, size = str(value), KINDS[kind].angles
    if len(text) != size or any(c not in "xyz" for c in text) or any(a == b for a, b in pairwise(text)):
        raise fault(
            origin, f"{owner} has sequence {shown(value)}; expected {size} letters x, y, z, neighbours not equal."
        )
    return text


def _fields(value: Any, names: Sequence[str], what: str, origin: str) -> dict[str, Any]:
    """A mapping, a tuple in the order of `names`, or the first field alone."""
    if isinstance(value, Mapping):
        for key in value:
            if key not in names:
                hint = nearest(str(key), names)
                raise fault(origin, f"{what} has the key {shown(key)}; expected {', '.join(names)}. {hint}")
        return dict(value)
    if isinstance(value, (list, tuple)):
        if not 1 <= len(value) <= len(names):
            raise fault(origin, f"{what} has {len(value)} entries; expected {', '.join(names)}.")
        return dict(zip(names, value))
    return {names[0]: value}
