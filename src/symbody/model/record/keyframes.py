"""Named states of a Mechanism, where users give q or qd: the name of a keyframe stands for its numbers by joint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from symbody.model.record.coordinates import Slot
from symbody.model.record.followers import completed
from symbody.model.record.mechanism import Keyframe, Mechanism
from symbody.model.record.numbers import numbers_of
from symbody.model.record.origin import fault, place


def named_state(mechanism: Any, given: Any, quantity: str, parameters: Mapping[str, Any] | None = None) -> Any:
    """{joint: numbers} of q or qd where `given` is the name of a keyframe; anything else as it is.

    parameters: numbers in place of their defaults, which expressions in the keyframe follow

    Joints that have lost their coordinates since (cut open, locked) are left out: others say where they are.
    """
    if not isinstance(given, str) or not isinstance(mechanism, Mechanism):
        return given
    keyframe = mechanism.keyframe(given)
    found: Mapping[str, Sequence[float]] = getattr(keyframe, quantity)
    sizes, values = _sizes(mechanism.slots, quantity), completed(mechanism, parameters or {})
    out = {owner: np.array(numbers) for owner, numbers in found.items() if sizes.get(owner) == len(numbers)}
    known = {n: v for n, v in values.items() if n in mechanism.parameters} if keyframe.laws else {}
    for owner in out if known else ():
        nodes = keyframe.laws.get(f"{quantity}.{owner}")
        now = None if nodes is None else numbers_of(np.array(nodes, dtype=object), known)
        if now is not None:
            out[owner] = now
    return out


def check_keyframe(keyframe: Keyframe, mechanism: Mechanism) -> None:
    """Its joints have coordinates, as many as it gives numbers."""
    for quantity in ("q", "qd"):
        sizes = _sizes(mechanism.slots, quantity)
        for owner, numbers in getattr(keyframe, quantity).items():
            at, what = place(keyframe.origin, quantity), f"keyframe {keyframe.name!r} gives {quantity} of {owner!r}"
            if owner not in sizes:
                raise fault(at, f"{what}, which has no coordinates of its own; expected {', '.join(sizes) or 'none'}.")
            if len(numbers) != sizes[owner]:
                raise fault(at, f"{what} as {len(numbers)} numbers; expected {sizes[owner]}.")


def _sizes(slots: Sequence[Slot], quantity: str) -> dict[str, int]:
    return {s.owner: s.nq if quantity == "q" else s.nv for s in slots}
