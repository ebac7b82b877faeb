"""What is certified of a closed mechanism, by the kind of its loops: those that stay closed, or open and close."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from symbody.mechanics.memoised.partitions import Chosen
from symbody.mechanics.verbs.certify.certificate import Check
from symbody.mechanics.verbs.certify.closed_states import ClosedStates
from symbody.mechanics.verbs.certify.loop_checks import loop_checks
from symbody.mechanics.verbs.certify.switched import switched_checks
from symbody.mechanics.verbs.dynamics import forward_dynamics
from symbody.model.record.mechanism import Mechanism
from symbody.symbolic.system.system import System


def closed_checks(
    mechanism: Mechanism,
    states: int,
    seed: int,
    refused: list[str],
    values: Mapping[str, float] | None = None,
    partition: Chosen = "auto",
    at: Any = None,
) -> tuple[list[Check], System, Chosen]:
    """Checks of the closed mechanism, the smallest program for its forward dynamics, and the partition of it."""
    pieces: tuple[Any, ...] = (*mechanism.cuts, *mechanism.couplings)
    if any(piece.switched for piece in pieces):
        smallest = forward_dynamics(mechanism, partition=partition)
        return list(switched_checks(mechanism, smallest, states, seed, refused, values, at)), smallest, partition
    point = ClosedStates(mechanism, states, seed, values, partition, at)
    smallest = forward_dynamics(mechanism, partition=point.wanted)
    return list(loop_checks(mechanism, point, smallest, refused)), smallest, point.wanted
