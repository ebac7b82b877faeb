"""The start of a mechanism with closed loops: coordinates and velocities near those given that its loops allow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from symbody.errors import ModelError
from symbody.expr.derivative import jacobian
from symbody.expr.evaluate import evaluate
from symbody.expr.walk import free_symbols
from symbody.formalisms.tree import build_tree
from symbody.loops.assembly import assemble_keeping
from symbody.loops.constraints import Constraints, constraints
from symbody.loops.numeric import Numeric
from symbody.model.mechanism import Mechanism
from symbody.simulation.flow import Flow, components

SMALL = 1e-9  # relative change of a start that needs no note


def closed_start(
    mech: Mechanism, flow: Flow, parameters: Mapping[str, Any], given: Mapping[str, Any], x: np.ndarray, t: float,
    notes: list[str],
) -> np.ndarray:  # fmt: skip
    """x (nx,) or (b, nx) with closed q and qd. Joints that q0 or qd0 name keep their values where that is possible."""
    found = constraints(build_tree(mech))
    at_q, at_qd = flow.slices["q"], flow.slices["qd"]
    out = np.array(x)
    for k, row in enumerate(np.atleast_2d(out)):
        own = {n: float(v if np.ndim(v) == 0 else np.asarray(v)[k]) for n, v in parameters.items() if np.ndim(v) < 2}
        old_q, old_qd = row[at_q].copy(), row[at_qd].copy()
        row[at_q] = _coordinates(found, flow, own, given.get("q"), old_q, t)
        row[at_qd] = _velocities(found, flow, own, given.get("qd"), row[at_q], old_qd, t)
        if k == 0:
            for name, before, after in (("q", old_q, row[at_q]), ("qd", old_qd, row[at_qd])):
                named = _named(flow, name, given.get(name))
                moved = float(np.abs(after - before)[named].max(initial=0.0))
                if moved > SMALL * max(1.0, float(np.abs(before).max(initial=0.0))):
                    notes.append(f"{name}0 was changed by up to {moved:.3g} so that the loops close.")
    return out


def _named(flow: Flow, name: str, given: Any) -> list[int]:
    """Components for which a value was given."""
    size = flow.rates.inputs[name].size
    if isinstance(given, Mapping):
        return [k for key in given for k in components(flow.labels[name], size, str(key))]
    return [] if given is None else list(range(size))


def _coordinates(
    found: Constraints, flow: Flow, parameters: Mapping[str, float], given: Any, q: np.ndarray, t: float
) -> np.ndarray:
    mech = found.tree.mechanism
    driven = {j.name for j in mech.joints if j.mode == "driven"}
    joints = [str(n).partition(".")[0] for n in given] if isinstance(given, Mapping) else []
    fixed = [n for n in dict.fromkeys(joints) if n not in driven and any(j.name == n for j in mech.joints)]
    return assemble_keeping(found, q, fixed, parameters or None, time=t)[0]


def _velocities(
    found: Constraints, flow: Flow, parameters: Mapping[str, float], given: Any, q: np.ndarray, qd: np.ndarray, t: float
) -> np.ndarray:
    """qd with J qd + dh/dt = 0: driven and named components kept, the others changed as little as possible."""
    closed = found.select([i for i, row in enumerate(found.rows) if row.switch is None])
    numeric = Numeric(closed, parameters, t)
    J, ht = numeric.J(q), numeric.ht(q)
    out = qd.copy()
    kept = set(flow.prescribed.get("qd", ()))
    for k, rate in _driven_rates(found.tree.mechanism, flow, parameters, t).items():
        out[k] = rate
    if isinstance(given, Mapping):
        kept.update(_named(flow, "qd", given))
    free = [k for k in range(len(qd)) if k not in kept]
    out[free] += np.linalg.lstsq(J[:, free], -(J @ out + ht), rcond=1e-10)[0]
    gap = float(np.abs(J @ out + ht).max(initial=0.0))
    if gap > SMALL * max(1.0, float(np.abs(out).max(initial=0.0))):
        names = ", ".join(map(repr, given)) if isinstance(given, Mapping) else "driven joints"
        raise ModelError(
            f"qd0 of {names} cannot be had together: the loops of {flow.name} would open by {gap:.3g} per s."
        )
    return out


def _driven_rates(mech: Mechanism, flow: Flow, parameters: Mapping[str, float], t: float) -> dict[int, float]:
    """Velocity index -> rate of the law of its driven joint."""
    out: dict[int, float] = {}
    for joint in mech.joints:
        if joint.mode != "driven" or joint.value is None:
            continue
        symbols = free_symbols([joint.value])
        time = [s for s in symbols if s.data.role == "time"]
        values = {s: t if s in time else parameters.get(s.data.name, s.data.default) for s in symbols}
        rate = float(evaluate(jacobian([joint.value], time)[0, 0], values)) if time else 0.0
        for k in components(flow.labels["qd"], 0, joint.name):
            out[k] = rate
    return out
