"""Force elements are checked when a Mechanism is made, against the rows of `library.force_elements`; nowhere else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from symbody.basics.errors import ModelError, nearest
from symbody.model.library.force_element import FORMS, LEAST, Field, ForceElement
from symbody.model.library.force_elements import FORCE_ELEMENTS
from symbody.model.record.coordinates import has_coordinates
from symbody.model.record.joints import KINDS
from symbody.model.record.mechanism import Force, Joint, Mechanism
from symbody.model.record.origin import fault, place, shown
from symbody.symbolic.expr.external import External
from symbody.symbolic.expr.node import CONST, Node


def check_force(force: Force, mechanism: Mechanism) -> None:
    """Its kind is known, it has the points and values that the kind needs, and none that it has no use for."""
    if not isinstance(force.kind, str) or force.kind not in FORCE_ELEMENTS:
        hint = nearest(str(force.kind), FORCE_ELEMENTS)
        hint = f" {hint}" if hint.startswith("Did") else ""
        raise _fault(force, "kind", f"has kind {shown(force.kind)}; expected one of {', '.join(FORCE_ELEMENTS)}.{hint}")
    row = FORCE_ELEMENTS[force.kind]
    given = {key: value for key, value in force.values.items() if value is not None}
    where = row.place_of(force.points, given)
    if row.points and where != "joint" and len(force.points) not in row.points:
        count = " or ".join({1: "one", 2: "two"}[n] for n in row.points if n)
        raise _fault(force, "points", f"of kind {force.kind!r} has {len(force.points)} points; expected {count}.")
    known = _known(force, row, where, given)
    for key, value in given.items():
        if key not in known:
            hint = nearest(key, known) if known else "It takes no values."
            law = f", law {given['law']}" if isinstance(given.get("law"), str) else ""
            raise _fault(force, key, f"({force.kind}{law}) has no use for {key!r}. {hint}")
        _check_form(force, key, value, known[key])
    for key, wanted in known.items():
        if wanted.needed and key not in given:
            hint = nearest(key, given)
            hint = f" {hint}" if hint.startswith("Did") else ""
            raise _fault(force, "", f"of kind {force.kind!r} has no {key!r}; expected {FORMS[wanted.form]}.{hint}")
    if where == "joint":
        carrying_joint(force, mechanism)
    elif where == "joints":
        tendon_joints(force, mechanism)
    elif where == "path":
        _check_path(force)


def _known(force: Force, row: ForceElement, where: str, given: Mapping[str, Any]) -> dict[str, Field]:
    """The keys that a force element may have, by its place and the words it gives."""
    for key, words in row.variants.items():
        word = given.get(key)
        if isinstance(word, str):
            _check_form(force, key, word, Field("word", words=tuple(words), open=key in row.open))
    known = row.fields_for(given)
    if where != "joint":
        known.pop("joint", None)
    for key in {"path": ("joints", "coefficients"), "joints": ("divisors",)}.get(where, ()):
        known.pop(key, None)
    if row.kind == "external" and ("function" in given or where == "link"):
        return {"function": known["function"]}
    return known


def _check_form(force: Force, key: str, value: Any, wanted: Field) -> None:
    form = wanted.form
    if form == "word":
        fits = value in wanted.words if isinstance(value, str) else wanted.open and not isinstance(value, Node)
        if not fits:
            raise _wrong(force, key, value, f"one of {', '.join(wanted.words)}")
        return
    if form == "number" and isinstance(value, str):
        # a name that is no parameter stays a text when a file is read
        raise _wrong(force, key, value, f"{FORMS[form]}, whose names are declared in parameters")
    listed = isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, str)
    by_form = {
        "number": _is_number(value),
        "vector": listed and len(value) == 3 and all(map(_is_number, value)),
        "numbers": listed and len(value) > 0 and all(map(_is_number, value)),
        "function": callable(value) or isinstance(value, (str, External)),
        "joint": isinstance(value, str),
        "joints": listed and len(value) > 0 and all(isinstance(v, str) for v in value),
    }
    if not by_form[form]:
        raise _wrong(force, key, value, FORMS[form])
    if wanted.bound:
        number = value.data if isinstance(value, Node) and value.op is CONST else value
        if not isinstance(number, Node) and not (number > 0 or (number == 0 and wanted.bound == "not negative")):
            raise _wrong(force, key, value, f"a number {LEAST[wanted.bound]}")


def _is_number(value: Any) -> bool:
    return isinstance(value, (Node, int, float)) and not isinstance(value, bool)


def carrying_joint(force: Force, mechanism: Mechanism) -> Joint:
    """The joint on whose one coordinate an element acts: the named one, or that which carries its point."""
    wanted = force.values.get("joint")
    if wanted is None:
        bodies = [body for body, frame in dict.fromkeys(force.points) if not frame]
        carried = [mechanism.carried_by[body].name for body in bodies if body in mechanism.carried_by]
        if len(carried) != 1:
            raise _fault(force, "points", "names no joint; expected joint: its name, or one point: its body.")
        wanted = carried[0]
    found = mechanism.joint_of
    if wanted not in found:
        raise _fault(force, "joint", f"acts on {wanted!r}, which is no joint. {nearest(str(wanted), found)}")
    joint = found[wanted]
    if not has_coordinates(joint) or KINDS[joint.kind].nv(joint) != 1:
        at = "joint" if "joint" in force.values else "points"
        raise _fault(force, at, f"acts on joint {wanted!r}; expected a joint with one coordinate of its own.")
    return joint


def tendon_joints(force: Force, mechanism: Mechanism) -> list[Joint]:
    """The joints whose coordinates a tendon adds up: with one coordinate each, their own or a leader's, or locked."""
    if force.points:
        raise _fault(force, "points", "has points and joints; expected one of them.")
    found = {j.name: j for j in mechanism.joints}
    out = []
    for name in force.values["joints"]:
        if name not in found:
            raise _fault(force, "joints", f"acts on {name!r}, which is no joint. {nearest(str(name), found)}")
        joint = found[name]
        if joint.kind == "fixed" or joint.elastic is not None or KINDS[joint.kind].nv(joint) != 1:
            raise _fault(force, "joints", f"acts on joint {name!r}; expected joints with one coordinate.")
        out.append(joint)
    if len(force.values.get("coefficients") or ()) != len(out):
        raise _fault(force, "coefficients", f"has other than {len(out)} coefficients; expected one for each joint.")
    return out


def _check_path(force: Force) -> None:
    if len(force.points) < 2:
        raise _fault(force, "points", f"has {len(force.points)} points; expected two or more, or joints.")
    divisors = force.values.get("divisors")
    if divisors is not None and len(divisors) != len(force.points) - 1:
        expected = f"{len(force.points) - 1}, one for each stretch"
        raise _fault(force, "divisors", f"has {len(divisors)} divisors; expected {expected}.")


def _wrong(force: Force, key: str, value: Any, expected: str) -> ModelError:
    return _fault(force, key, f"of kind {force.kind!r} has {key} {shown(value)}; expected {expected}.")


def _fault(force: Force, key: str, text: str) -> ModelError:
    return fault(place(force.origin, key), f"force {force.name!r} {text}")
