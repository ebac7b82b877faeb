"""The start of a mechanism with closed loops by theta: independent joints keep their values, others follow.

They follow from where they stand at first, so that a start stays on its branch.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from symbody.mechanics.loops.partition.partition import Partition
from symbody.model.record.coordinates import part_of
from symbody.model.record.mechanism import Mechanism
from symbody.motion.derivatives.machine import DerivativeRows, by_theta, chain_of, rows_of
from symbody.motion.derivatives.pullbacks import projection_pullback
from symbody.motion.derivatives.supply import Supply
from symbody.motion.derivatives.variables import Variables, start_matrix
from symbody.motion.events.queries import answered
from symbody.motion.flow.closed_start import closed_start
from symbody.motion.flow.flow import Flow


class LoopStart:
    """Closed starts of a mechanism. flow: whose projection closes loops by a partition; x (nx,): the first start."""

    def __init__(self, mech: Mechanism, flow: Flow, partition: Partition, x: np.ndarray, t: float) -> None:
        self.mech, self.flow, self.x, self.t = mech, flow, np.array(x), t
        given = set(partition.independent) - set(flow.prescribed.get("qd", ()))
        owners = part_of(mech)
        moved = {k: set(owners[k].coordinates(k)) for k in owners}
        lost = set().union(*(places for k, places in moved.items() if k not in given))
        kept = set().union(*(moved[k] for k in given)) - lost  # a quaternion is kept where all that turns it is
        self.given = {"q": sorted(kept), "qd": sorted(given)}

    def options(
        self, parameters: Mapping[str, Any], starts: Mapping[str, Mapping[int, float]] | None = None
    ) -> dict[str, np.ndarray]:
        """q0 and qd0, closed at these parameters. starts: state -> component -> its value; dependent ones are left."""
        flow, x, given = self.flow, self.x.copy(), {}
        for name in ("q", "qd"):
            labels, at = flow.labels[name], flow.slices[name].start
            for k, value in (starts or {}).get(name, {}).items():
                if k in self.given[name]:
                    x[at + k] = value
            given[name] = {labels[k]: float(x[at + k]) for k in self.given[name]}
        found = answered(closed_start(self.mech, flow, parameters, given, x, self.t))
        return {f"{name}0": found[flow.slices[name]] for name in ("q", "qd")}


def start_rows(
    flow: Flow,
    parameters: Mapping[str, Any],
    places: Mapping[tuple[str, int], int],
    n: int,
    t: float,
    x: np.ndarray,
    u: np.ndarray,
) -> DerivativeRows | None:
    """Derivatives of what a Flow makes of a start x (nx,): by x, and by theta; None where it stays as it is."""
    pull = projection_pullback(flow)
    if pull is None:
        return None
    chain = by_theta(chain_of(pull, parameters), pull.names, places, n)
    return rows_of(pull, flow, parameters, chain, t, x, u, flow.nx)


def start_derivative(
    variables: Variables,
    flow: Flow,
    start_flow: Flow,
    parameters: Mapping[str, Any],
    places: Mapping[tuple[str, int], int],
    n: int,
    supply: Supply,
    t: float,
    given: np.ndarray,
    held: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """(nx, n) derivatives of the first state by values that were given, and by parameters that correct it.

    start_flow: whose projection corrects it; given: (nx,) before that; held: (nu,) signals that are held from t on
    """
    matrix, direct = start_matrix(variables, flow, n), np.zeros((flow.nx, n))
    rows = start_rows(start_flow, parameters, places, n, t, given[: flow.nx], supply.at(t, held))
    if rows is not None:
        matrix = rows.x @ matrix
        direct = rows.p + rows.u @ supply.by_theta(t, t)
    return matrix, direct
