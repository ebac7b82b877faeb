"""The kinds of force elements and the values that each takes: a Mechanism is checked against them when it is made.

The laws themselves are in `formalisms.forces`, which has one function for each kind.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from symbody.errors import ModelError, nearest
from symbody.expr.external import External
from symbody.expr.node import Node
from symbody.model.coordinates import has_coordinates
from symbody.model.joints import KINDS
from symbody.model.mechanism import Force, Mechanism
from symbody.model.origin import fault, place, shown


@dataclass(frozen=True)
class Value:
    """What a key of a force element holds: number, vector (3 numbers), numbers, function, joint, or one of `words`.

    A word may be `open`: a record or a function may stand in its place.
    """

    form: str = "number"
    needed: bool = False
    words: tuple[str, ...] = ()
    open: bool = False


Values = Mapping[str, Value]


@dataclass(frozen=True)
class ForceKind:
    """How many points a kind has (none: any number), its values, and those that depend on a word.

    variants: key -> word -> values; the first word is meant where none is given. A key in `open` may hold a record or
    a function instead of a word.
    """

    text: str
    points: tuple[int, ...]
    values: Values = field(default_factory=dict)
    variants: Mapping[str, Mapping[str, Values]] = field(default_factory=dict)
    open: tuple[str, ...] = ()


def _numbers(needed: str = "", others: str = "") -> dict[str, Value]:
    return {n: Value(needed=True) for n in needed.split()} | {n: Value() for n in others.split()}


_TIR = re.compile(r"[A-Z][A-Z0-9_]*")  # coefficients of tyre files; the law knows which there are
_MOTOR = _numbers("", "gain time_constant limit")
_GIVEN = {"force": Value("vector"), "axes": Value("word", words=("world", "body"))}
_WRENCH = {"force": Value("vector"), "moment": Value("vector"), "axes": Value("word", words=("world", "body"))}
_GROUND: dict[str, Values] = {
    "flat": _numbers("", "height"),
    "slope": _numbers("", "slope_x slope_y height"),
    "sinusoid": _numbers("amplitude wavelength", "phase heading height"),
    "profile": {"positions": Value("numbers", needed=True), "heights": Value("numbers", needed=True)},
}
_WHEEL = {"axle": Value("word", words=("y", "x", "z")), "slowest": Value()}
_LINEAR = "slip_stiffness cornering_stiffness camber_stiffness trail rolling_resistance friction"
_FORMS = {
    "number": "a number or an expression",
    "vector": "a list of 3 numbers",
    "numbers": "a list of numbers",
    "function": "an External, a Python function or a text",
    "joint": "the name of a joint",
}

FORCE_KINDS: dict[str, ForceKind] = {
    "spring_damper": ForceKind(
        "spring and damper between two points",
        (2,),
        _numbers("", "stiffness damping length"),
        {"law": {"linear": {}, "cubic": _numbers("stiffness3"), "pull": {}, "push": {}}},
    ),
    "actuator": ForceKind("force between two points from an input", (2,), _MOTOR),
    "link": ForceKind("force between two points that is an input", (2,)),
    "point_force": ForceKind("given force at a point", (1,), _GIVEN),
    "wrench": ForceKind("given force and moment at a point", (1,), _WRENCH),
    "contact": ForceKind(
        "a point that the ground pushes out",
        (1,),
        _numbers("stiffness", "damping friction slowest width"),
        {"ground": _GROUND},
        ("ground",),
    ),
    "tyre": ForceKind(
        "a wheel on the ground",
        (1,),
        {**_WHEEL, **_numbers("", "relaxation_x relaxation_y")},
        {
            "law": {
                "linear": _numbers("radius stiffness", f"damping width {_LINEAR}"),
                "magic_formula": {
                    "tyre": Value("word", words=("car", "symmetric"), open=True),
                    **_numbers("", "radius stiffness damping width"),
                },
                "external": {"function": Value("function", needed=True), **_numbers("radius")},
            },
            "ground": _GROUND,
        },
        ("ground",),
    ),
    "wheel": ForceKind("a wheel whose contact wrench is an input", (1,), _WHEEL, {"ground": _GROUND}, ("ground",)),
    "external": ForceKind("a user's function, or inputs", (1, 2), {"function": Value("function"), **_WRENCH}),
    "joint": ForceKind(
        "a law on the coordinate of a joint",
        (),
        {"joint": Value("joint")},
        {
            "law": {
                "actuator": _MOTOR,
                "viscous": _numbers("coefficient"),
                "coulomb": _numbers("level", "width"),
                "stribeck": _numbers("level breakaway speed", "coefficient width"),
                "bump_stop": _numbers("lower upper stiffness", "width"),
                "spring": _numbers("stiffness", "damping length"),
            }
        },
    ),
}


def check_force(force: Force, mechanism: Mechanism) -> None:
    """Its kind is known, it has the points and values that the kind needs, and none that it has no use for."""
    if not isinstance(force.kind, str) or force.kind not in FORCE_KINDS:
        hint = nearest(str(force.kind), FORCE_KINDS)
        hint = f" {hint}" if hint.startswith("Did") else ""
        raise _fault(force, "kind", f"has kind {shown(force.kind)}; expected one of {', '.join(FORCE_KINDS)}.{hint}")
    kind = FORCE_KINDS[force.kind]
    if kind.points and len(force.points) not in kind.points:
        count = " or ".join({1: "one", 2: "two"}[n] for n in kind.points)
        raise _fault(force, "points", f"of kind {force.kind!r} has {len(force.points)} points; expected {count}.")
    given = {key: value for key, value in force.values.items() if value is not None}
    known = _known(force, kind, given)
    for key, value in given.items():
        if key in known:
            _check_form(force, key, value, known[key])
        elif not (_TIR.fullmatch(key) and given.get("law") == "magic_formula"):
            hint = nearest(key, known) if known else "It takes no values."
            law = f", law {given['law']}" if isinstance(given.get("law"), str) else ""
            raise _fault(force, key, f"({force.kind}{law}) has no use for {key!r}. {hint}")
    for key, value in known.items():
        if value.needed and key not in given:
            hint = nearest(key, given)
            hint = f" {hint}" if hint.startswith("Did") else ""
            raise _fault(force, "", f"of kind {force.kind!r} has no {key!r}; expected {_FORMS[value.form]}.{hint}")
    if force.kind == "joint":
        _check_joint(force, mechanism)


def _known(force: Force, kind: ForceKind, given: Mapping[str, Any]) -> dict[str, Value]:
    """The keys that a force element may have, by its kind and the words it gives."""
    known = dict(kind.values)
    if force.kind == "external" and ("function" in given or len(force.points) == 2):
        known = {"function": kind.values["function"]}
    for key, words in kind.variants.items():
        known[key] = Value("word", words=tuple(words), open=key in kind.open)
        word = given.get(key, next(iter(words)))
        if isinstance(word, str):
            _check_form(force, key, word, known[key])
            known |= words[word]
    return known


def _check_form(force: Force, key: str, value: Any, wanted: Value) -> None:
    form = wanted.form
    if form == "word":
        fits = value in wanted.words if isinstance(value, str) else wanted.open and not isinstance(value, Node)
        if not fits:
            raise _wrong(force, key, value, f"one of {', '.join(wanted.words)}")
        return
    if form == "number" and isinstance(value, str):
        # a name that is no parameter stays a text when a file is read
        raise _wrong(force, key, value, f"{_FORMS[form]}, whose names are declared in parameters")
    listed = isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, str)
    by_form = {
        "number": _is_number(value),
        "vector": listed and len(value) == 3 and all(map(_is_number, value)),
        "numbers": listed and len(value) > 0 and all(map(_is_number, value)),
        "function": callable(value) or isinstance(value, (str, External)),
        "joint": isinstance(value, str),
    }
    if not by_form[form]:
        raise _wrong(force, key, value, _FORMS[form])


def _is_number(value: Any) -> bool:
    return isinstance(value, (Node, int, float)) and not isinstance(value, bool)


def _check_joint(force: Force, mechanism: Mechanism) -> None:
    """It acts on one joint with one coordinate of its own: the named one, or that which carries its point."""
    wanted = force.values.get("joint")
    if wanted is None:
        carried = [j.name for j in mechanism.joints if (j.child, "") in force.points]
        if len(carried) != 1:
            raise _fault(force, "points", "names no joint; expected joint: its name, or one point: its body.")
        wanted = carried[0]
    found = {j.name: j for j in mechanism.joints}
    if wanted not in found:
        raise _fault(force, "joint", f"acts on {wanted!r}, which is no joint. {nearest(str(wanted), found)}")
    joint = found[wanted]
    if not has_coordinates(joint) or KINDS[joint.kind].nv(joint) != 1:
        at = "joint" if "joint" in force.values else "points"
        raise _fault(force, at, f"acts on joint {wanted!r}; expected a joint with one coordinate of its own.")


def _wrong(force: Force, key: str, value: Any, expected: str) -> ModelError:
    return _fault(force, key, f"of kind {force.kind!r} has {key} {shown(value)}; expected {expected}.")


def _fault(force: Force, key: str, text: str) -> ModelError:
    return fault(place(force.origin, key), f"force {force.name!r} {text}")
