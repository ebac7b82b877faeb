"""Mechanisms as Pinocchio models by their default numbers: an oracle that shares no formula with symbody."""

from __future__ import annotations

from typing import Any

import numpy as np

from symbody.model.record.mechanism import WORLD, Mechanism
from symbody.model.record.numbers import numbers_of


def to_pinocchio(mechanism: Mechanism) -> Any:
    """A pinocchio.Model of a Mechanism with fixed, revolute and prismatic joints; rotors as armature."""
    import pinocchio as pin

    model = pin.Model()
    model.gravity.linear = numbers(mechanism.gravity)
    places = {WORLD: (0, pin.SE3.Identity())}
    kinds = {"revolute": pin.JointModelRevoluteUnaligned, "prismatic": pin.JointModelPrismaticUnaligned}
    for joint in mechanism.joints:
        index, offset = places[joint.parent]
        placement = offset * pin.SE3(numbers(joint.placement.rotation), numbers(joint.placement.position))
        if joint.kind == "fixed":
            places[joint.child] = (index, placement)
        else:
            index = model.addJoint(index, kinds[joint.kind](numbers(joint.axis)), placement, joint.name)
            places[joint.child] = (index, pin.SE3.Identity())
            if joint.rotor is not None:
                inertia, ratio = numbers([joint.rotor.inertia, joint.rotor.ratio])
                model.armature[model.joints[index].idx_v] = inertia * ratio**2
        body = mechanism.body(joint.child)
        if places[joint.child][0] > 0:
            inertia = pin.Inertia(float(numbers([body.mass])[0]), numbers(body.com), numbers(body.inertia))
            model.appendBodyToJoint(*places[joint.child][:1], inertia, places[joint.child][1])
    return model


def numbers(nodes: Any) -> np.ndarray:
    """Values by default of an array of nodes."""
    values = numbers_of(nodes)
    assert values is not None
    return values
