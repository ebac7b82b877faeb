"""The start of a mechanism with closed loops as a function of theta: independent joints keep their values, others follow.

They follow from where they stand at first, so that a start stays on its branch.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from symbody.derivatives.machine import Rows, by_theta, chain_of, rows_of
from symbody.derivatives.pullbacks import projection_pullback
from symbody.flow.closed_start import closed_start
from symbody.flow.flow import Flow
from symbody.model.record.mechanism import Mechanism


def independent(flow: Flow, name: str) -> list[int]:
    """Components of a state that the projection leaves as they are."""
    project = flow.project
    if project is None or name not in project.outputs:
        return list(range(flow.rates.inputs[name].size))
    pairs = zip(project.inputs[name].flat, project.outputs[name].flat, strict=True)
    return [k for k, (given, made) in enumerate(pairs) if given is made]


class LoopStart:
    """Closed starts of a mechanism. flow: whose projection closes its loops; x (nx,): the first start."""

    def __init__(self, mech: Mechanism, flow: Flow, x: np.ndarray, t: float) -> None:
        self.mech, self.flow, self.x, self.t = mech, flow, np.array(x), t
        self.own = {name: independent(flow, name) for name in ("q", "qd")}

    def options(
        self, parameters: Mapping[str, Any], starts: Mapping[str, Mapping[int, float]] | None = None
    ) -> dict[str, np.ndarray]:
        """q0 and qd0, closed at these parameters. starts: state -> component -> its value; dependent ones are left."""
        flow, x, given = self.flow, self.x.copy(), {}
        for name in ("q", "qd"):
            labels, at = flow.labels[name], flow.slices[name].start
            for k, value in (starts or {}).get(name, {}).items():
                if k in self.own[name]:
                    x[at + k] = value
            given[name] = {labels[k]: float(x[at + k]) for k in self.own[name]}
        found = closed_start(self.mech, flow, parameters, given, x, self.t)
        return {f"{name}0": found[flow.slices[name]] for name in ("q", "qd")}


def start_rows(
    flow: Flow, parameters: Mapping[str, Any], places: Mapping[tuple[str, int], int], n: int, t: float, x: np.ndarray,
    u: np.ndarray,
) -> Rows | None:  # fmt: skip
    """Derivatives of what a Flow makes of a start x (nx,): by x, and by theta; None where it stays as it is."""
    pull = projection_pullback(flow)
    if pull is None:
        return None
    chain = by_theta(chain_of(pull, parameters), pull.names, places, n)
    return rows_of(pull, flow, parameters, chain, t, x, u, flow.nx)
