"""Linear parameters that a Mechanism does not give by itself: friction, rotors, offsets, payload, couplings of drives.

Laws that the Mechanism knows (viscous, coulomb, rotor, stiffness) and a payload are put into a copy of it with the
value
zero, so that the regressor has their columns. The others are `Extra` columns: expressions of q, qd and qdd.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from symbody.basics.errors import DefinitionError, ModelError, NameLookupError, nearest, real_argument, word_argument
from symbody.model.record.coordinates import velocity_labels
from symbody.model.record.mechanism import Body, Joint, Mechanism, Placement, Rotor
from symbody.symbolic.expr.node import Node
from symbody.symbolic.expr.parse import parse
from symbody.symbolic.system.names import identifier

LAWS = {
    "viscous": "N m s/rad or N s/m: effort viscous * qd",
    "coulomb": "N m or N: effort coulomb * sign(qd)",
    "rotor": "kg m^2 or kg on the side of the joint: effort rotor * qdd",
    "stiffness": "N m/rad or N/m: effort stiffness * q",
    "offset": "N m or N: a constant effort, of the drive or the sensor",
    "coulomb_minus": "N m or N: effort beside coulomb where qd < 0, for friction that differs by direction",
    "stribeck": "N m or N: effort stribeck * sign(qd) exp(-(qd/v)^2) at the velocity v that is given",
}
OF_MECHANISM = ("rotor", "viscous", "coulomb", "stiffness")
USUAL = ("viscous", "coulomb", "offset")
PAYLOAD = "payload"


@dataclass(frozen=True)
class Extra:
    """A column of the regressor by itself.

    name   of its parameter
    rows   label of a velocity -> text of its entry there, of the symbols q_<label>, qd_<label>, qdd_<label>
    unit   of the parameter
    value  of the model as it is
    """

    name: str
    rows: Mapping[str, str] = field(default_factory=dict)
    unit: str = ""
    value: float = 0.0


def with_laws(mech: Mechanism, laws: Collection[str], payload: str | None = None) -> Mechanism:
    """A copy whose moving joints all have the laws that a Mechanism knows, zero where it had none; a payload is one
    more
    body that is fixed to `payload`."""
    zero, one = mech.graph.number(0), mech.graph.number(1)
    joints = []
    for joint in mech.joints:
        changes: dict[str, Any] = {}
        if _single(mech, joint):
            if "rotor" in laws and joint.rotor is None:
                changes["rotor"] = Rotor(zero, one)
            changes |= {n: zero for n in OF_MECHANISM[1:] if n in laws and getattr(joint, n) is None}
        joints.append(dataclasses.replace(joint, **changes) if changes else joint)
    bodies = list(mech.bodies)
    if payload is not None:
        if payload not in {b.name for b in bodies}:
            raise NameLookupError(f"payload={payload!r} is no body. {nearest(payload, [b.name for b in bodies])}")
        nothing = np.array([zero] * 3, dtype=object)
        bodies.append(Body(PAYLOAD, zero, nothing, np.array([[zero] * 3] * 3, dtype=object)))
        identity = np.array([[one if i == k else zero for k in range(3)] for i in range(3)], dtype=object)
        joints.append(Joint(f"{PAYLOAD}_joint", "fixed", payload, PAYLOAD, Placement(identity, nothing), identity[2]))
    return mech.replace(joints=tuple(joints), bodies=tuple(bodies))


def _single(mech: Mechanism, joint: Joint) -> bool:
    """Whether a joint has one velocity of its own, and is neither fixed nor locked nor led by another."""
    return joint.mimic is None and any(s.owner == joint.name and s.nv == 1 for s in mech.slots)


def law_columns(
    mech: Mechanism, laws: Collection[str], stribeck: float | Mapping[str, float] | None = None
) -> list[Extra]:
    """The Extra columns of laws, one for each joint with one velocity; stribeck: rad/s or m/s, of all or by joint."""
    for law in laws:
        word_argument("laws", law, LAWS)
    if "coulomb_minus" in laws and "coulomb" not in laws:
        raise DefinitionError("the law 'coulomb_minus' goes with 'coulomb'; expected both among laws.")
    if ("stribeck" in laws) != (stribeck is not None):
        raise DefinitionError(
            f"stribeck={stribeck!r} with laws={tuple(laws)!r}; expected the law 'stribeck' and its velocity together."
        )
    names = [j.name for j in mech.joints if _single(mech, j)]
    if isinstance(stribeck, Mapping):
        for joint in stribeck:
            word_argument("stribeck", joint, names)
    out = []
    for law in LAWS:
        if law not in laws or law in OF_MECHANISM:
            continue
        for joint in names:
            qd = f"qd_{identifier(joint)}"
            text = {"offset": "1", "coulomb_minus": f"(sign({qd})-1)/2"}.get(law)
            if text is None:
                v = stribeck.get(joint) if isinstance(stribeck, Mapping) else stribeck
                if v is None:
                    continue
                real_argument("stribeck", v, "a velocity in rad/s or m/s", above=0.0)
                text = f"sign({qd})*exp(-({qd}/{float(v)!r})**2)"
            out.append(Extra(f"{joint}.{law}", {joint: text}, "N" if _slides(mech, joint) else "N m"))
    return out


def _slides(mech: Mechanism, joint: str) -> bool:
    return mech.joint(joint).kind == "prismatic"


def extra_nodes(mech: Mechanism, inputs: Mapping[str, np.ndarray], extras: Sequence[Extra]) -> np.ndarray:
    """(nv, k) nodes of the columns in the symbols of a System's q, qd and qdd."""
    labels = velocity_labels(mech)
    symbols: dict[str, Node] = {}
    plain = {s.iv + k: s.iq + k for s in mech.slots if s.plain for k in range(s.nv)}
    for k, label in enumerate(labels):
        for name in ("qd", "qdd"):
            symbols[f"{name}_{identifier(label)}"] = inputs[name][k]
        if k in plain:
            symbols[f"q_{identifier(label)}"] = inputs["q"][plain[k]]
    graph = inputs["qd"][0].graph
    out = np.full((len(labels), len(extras)), graph.zero, dtype=object)
    seen: set[str] = set()
    for column, extra in enumerate(extras):
        if extra.name in seen:
            raise DefinitionError(f"two extra columns have the name {extra.name!r}; expected a name of its own.")
        seen.add(extra.name)
        for label, text in extra.rows.items():
            if label not in labels:
                raise NameLookupError(
                    f"the column {extra.name!r} has an entry of {label!r}, which is no velocity of {mech.name}. "
                    f"{nearest(label, labels)}"
                )
            value = parse(str(text), symbols)
            node = graph.number(value) if not isinstance(value, Node) else value
            out[labels.index(label), column] = node
        if not extra.rows:
            raise ModelError(f"the column {extra.name!r} has no rows; expected label -> expression.")
    return out
