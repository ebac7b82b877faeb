"""Couplings: the coordinates that their expressions name, and what such an expression must satisfy."""

from __future__ import annotations

import re
from collections.abc import Mapping

from symbody.basics.errors import nearest
from symbody.model.record.coordinates import coordinate_labels, velocity_labels
from symbody.model.record.mechanism import Coupling, Mechanism
from symbody.model.record.origin import fault, place, shown
from symbody.symbolic.expr.derivative import jacobian
from symbody.symbolic.expr.node import Node
from symbody.symbolic.expr.walk import free_symbols

COUPLING_KINDS = ("position", "velocity")
_NAME = re.compile(r"(?<![\w.`])(?P<plain>qd?(?:\.\w+)+)|`(?P<quoted>(?:[^`]|``)+)`")


def quote_coordinates(text: str) -> tuple[str, list[str]]:
    """The text with q.<joint>.2 in backticks, as the parser wants it, and the coordinates that it names.

    Joints whose names are no words stand in backticks already: `q.left-knee`.
    """
    found: list[str] = []

    def quote(match: re.Match[str]) -> str:
        name = match["plain"] or match["quoted"].replace("``", "`")
        if not name.startswith(("q.", "qd.")):
            return match[0]
        found.append(name)
        if match["plain"] and not any(part[0].isdigit() for part in name.split(".")):
            return match[0]
        return "`" + name.replace("`", "``") + "`"

    return _NAME.sub(quote, text), found


def coordinate_names(mechanism: Mechanism) -> tuple[dict[str, int], dict[str, int]]:
    """(q.<joint> or q.<joint>.<k> -> place in q, qd.<joint>... -> place in qd) of joints with own coordinates."""
    q = {f"q.{label}": k for k, label in enumerate(coordinate_labels(mechanism))}
    return q, {f"qd.{label}": k for k, label in enumerate(velocity_labels(mechanism))}


def check_couplings(mechanism: Mechanism) -> None:
    """Their names are coordinates of this Mechanism (or of followers of one), and each fits its kind."""
    if not mechanism.couplings:
        return
    q, qd = coordinate_names(mechanism)
    for joint in mechanism.joints:
        if joint.mimic is not None and joint.kind != "ball":
            q[f"q.{joint.name}"] = qd[f"qd.{joint.name}"] = -1
    for coupling in mechanism.couplings:
        _check(coupling, mechanism.name, q, qd)


def _check(coupling: Coupling, mechanism: str, q: Mapping[str, int], qd: Mapping[str, int]) -> None:
    owner, at = f"coupling {coupling.name!r}", place(coupling.origin, "expression")
    if not isinstance(coupling.switched, bool):
        where = place(coupling.origin, "switched")
        raise fault(where, f"{owner} has switched {shown(coupling.switched)}; expected true or false.")
    named = [s for s in free_symbols([coupling.expression]) if s.data.role in ("coordinate", "velocity")]
    for s in named:
        known = q if s.data.role == "coordinate" else qd
        if s.data.name not in known:
            hint = nearest(s.data.name, known)
            raise fault(at, f"{owner} names {s.data.name!r}, which is no coordinate of {mechanism}. {hint}")
    rates: list[Node] = [s for s in named if s.data.role == "velocity"]
    if coupling.kind == "velocity":
        slopes: list[list[Node]] = jacobian([coupling.expression], rates).tolist() if rates else []
        if not rates or any(s.data.role == "velocity" for s in free_symbols([x for row in slopes for x in row])):
            raise fault(at, f"{owner} of kind velocity is {coupling.expression}; expected it linear in qd.<joint>.")
    elif rates or not named:
        found = f"names {rates[0].data.name!r}" if rates else "names no coordinate"
        raise fault(at, f"{owner} of kind position {found}; expected q.<joint>, t and parameters, or kind velocity.")
