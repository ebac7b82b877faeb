"""Limits of the joints that have coordinates, with those of the joints that follow them."""

from __future__ import annotations

from dataclasses import replace

from symbody.basics.memory import memory_of
from symbody.model.record.coordinates import has_coordinates
from symbody.model.record.mechanism import Limits, Mechanism
from symbody.model.record.numbers import number_of


def joint_limits(mechanism: Mechanism) -> dict[str, Limits]:
    """Joint with coordinates -> its limits, narrowed by its followers': lower <= ratio q + offset <= upper.

    Ratios and offsets are taken at the defaults of their parameters; a follower that has none narrows nothing.
    """
    return memory_of(mechanism).get("joint_limits", (), lambda: _joint_limits(mechanism))


def _joint_limits(mechanism: Mechanism) -> dict[str, Limits]:
    out = {j.name: j.limits for j in mechanism.joints if has_coordinates(j)}
    for joint in mechanism.joints:
        if joint.mimic is None or joint.mimic.joint not in out or joint.mode == "locked":
            continue
        ratio, offset = number_of(joint.mimic.ratio), number_of(joint.mimic.offset)
        if not ratio or offset is None:
            continue
        mine = [None if x is None else (x - offset) / ratio for x in (joint.limits.lower, joint.limits.upper)]
        lower, upper = mine if ratio > 0 else mine[::-1]
        led = out[joint.mimic.joint]
        speed = None if joint.limits.velocity is None else joint.limits.velocity / abs(ratio)
        out[joint.mimic.joint] = replace(
            led,
            lower=max((x for x in (led.lower, lower) if x is not None), default=None),
            upper=min((x for x in (led.upper, upper) if x is not None), default=None),
            velocity=min((x for x in (led.velocity, speed) if x), default=led.velocity),
        )
    return out
