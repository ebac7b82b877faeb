"""The start of a mechanism with closed loops: coordinates and velocities near those given that its loops allow."""

from __future__ import annotations

from collections.abc import Collection, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from symbody.basics.errors import ModelError
from symbody.mechanics.assembly.assembly import assemble_keeping
from symbody.mechanics.assembly.conditioning import is_regular, surely_regular
from symbody.mechanics.assembly.constraints import Constraints
from symbody.mechanics.assembly.driven import driven_laws
from symbody.mechanics.assembly.numeric import length_unit, numeric_of
from symbody.mechanics.loops.partition.singular import say_singular
from symbody.mechanics.memoised.model_memory import derived_of
from symbody.model.record.coordinates import sliding
from symbody.model.record.mechanism import Mechanism
from symbody.motion.flow.flow import Flow
from symbody.motion.flow.moving_mass import check_moving_mass
from symbody.symbolic.system.names import components

SMALL = 1e-9  # relative change of a start that needs no note


@dataclass(frozen=True, eq=False)
class Regular:
    """Whether all constraints are surely independent at the closed position q (nq,)."""

    constraints: Constraints
    q: np.ndarray
    parameters: Mapping[str, float]
    t: float

    @property
    def key(self) -> Any:
        return id(self.constraints), tuple(self.parameters), self.t

    def answer(self) -> bool:
        return is_regular(self.constraints, self.q, self.parameters, self.t)

    @staticmethod
    def answers(asks: Sequence[Regular]) -> list[bool]:
        one = asks[0]
        sure = surely_regular(one.constraints, np.array([a.q for a in asks]), [a.parameters for a in asks], one.t)
        return [bool(clear) or ask.answer() for clear, ask in zip(sure, asks, strict=True)]


def closed_start(
    mech: Mechanism,
    flow: Flow,
    parameters: Mapping[str, Any],
    given: Mapping[str, Any],
    x: np.ndarray,
    t: float,
    closed: Collection[str] = (),
) -> Generator[Regular, bool, np.ndarray]:
    """x (nx,) with closed q and qd. Joints that q0 or qd0 name keep their values where that is possible.

    closed: switched loops that start closed. It asks whether q is Regular, and is sent the answer.
    """
    found = derived_of(mech).constraints()
    always = {row.loop for row in found.rows if row.switch is None}
    at_q, at_qd = flow.slices["q"], flow.slices["qd"]
    out = np.array(x)
    own = {n: float(v) for n, v in parameters.items() if np.ndim(v) == 0}
    loops = always.union(closed)
    out[at_q] = _coordinates(found, flow, own, given.get("q"), out[at_q], t, loops)
    shut = found.select([i for i, row in enumerate(found.rows) if row.loop in loops])
    if shut.rows and not (yield Regular(shut, out[at_q], own, t)):
        _check_regular(shut, own, out[at_q], t)
    if shut.rows:
        check_moving_mass(shut, own, out[at_q], t)
    out[at_qd] = _velocities(found, flow, own, given.get("qd"), out[at_q], out[at_qd], t, loops)
    return out


def _check_regular(closed: Constraints, parameters: Mapping[str, float], q: np.ndarray, t: float) -> None:
    """Where constraints depend on each other, no formulation tells how the mechanism moves."""
    lost = say_singular(closed, q, parameters, t)
    if lost:
        raise ModelError(
            f"{closed.tree.mechanism.name} starts in a singular position: {lost} Give q0 of another position, where "
            "its motion is determined, or other lengths if there is none."
        )


def say_changes(flow: Flow, given: Mapping[str, Any], wished: np.ndarray, x: np.ndarray) -> list[str]:
    """Notes on values that were given and are not those of the start x (nx,)."""
    out = []
    for name in ("q", "qd"):
        before, after = wished[flow.slices[name]], x[flow.slices[name]]
        moved = float(np.abs(after - before)[_named(flow, name, given.get(name))].max(initial=0.0))
        if moved > SMALL * max(1.0, float(np.abs(before).max(initial=0.0))):
            out.append(f"{name}0 was changed by up to {moved:.3g} so that the loops close.")
    return out


def _named(flow: Flow, name: str, given: Any) -> list[int]:
    """Components for which a value was given."""
    size = flow.rates.inputs[name].size
    if isinstance(given, Mapping):
        return [k for key in given for k in components(flow.labels[name], size, str(key))]
    return [] if given is None else list(range(size))


def _coordinates(
    found: Constraints,
    flow: Flow,
    parameters: Mapping[str, float],
    given: Any,
    q: np.ndarray,
    t: float,
    loops: Collection[str],
) -> np.ndarray:
    mech = found.tree.mechanism
    driven = {j.name for j in mech.joints if j.mode == "driven"}
    named = [str(n) for n in given] if isinstance(given, Mapping) else []
    joints = [n if n in mech.joint_of else n.rpartition(".")[0] for n in named]  # a joint, or one of its coordinates
    fixed = [n for n in dict.fromkeys(joints) if n not in driven and n in mech.joint_of]
    return assemble_keeping(found, q, fixed, parameters or None, time=t, loops=loops)[0]


def _velocities(
    found: Constraints,
    flow: Flow,
    parameters: Mapping[str, float],
    given: Any,
    q: np.ndarray,
    qd: np.ndarray,
    t: float,
    loops: Collection[str],
) -> np.ndarray:
    """qd with J qd + dh/dt = 0: driven and named components kept, the others changed as little as possible."""
    closed = found.select([i for i, row in enumerate(found.rows) if row.loop in loops])
    numeric = numeric_of(closed, parameters, t)
    J, ht = numeric.J(q), numeric.ht(q)
    out = qd.copy()
    kept = set(flow.prescribed.get("qd", ()))
    for k, rate in _driven_rates(found.tree.mechanism, flow, parameters, t).items():
        out[k] = rate
    if isinstance(given, Mapping):
        kept.update(_named(flow, "qd", given))
    free = [k for k in range(len(qd)) if k not in kept]
    unit = np.where(sliding(found.tree.mechanism), length_unit(numeric.length()), 1.0)[free]
    out[free] += unit * np.linalg.lstsq(J[:, free] * unit, -(J @ out + ht), rcond=1e-10)[0]
    rate = np.abs(J @ out + ht)
    gap = float(rate.max(initial=0.0))
    if (rate > SMALL * max(1.0, float(np.abs(out).max(initial=0.0))) * numeric.units()).any():
        names = ", ".join(map(repr, given)) if isinstance(given, Mapping) else "driven joints"
        raise ModelError(
            f"qd0 of {names} cannot be had together: the loops of {flow.name} would open by {gap:.3g} per s."
        )
    return out


def _driven_rates(mech: Mechanism, flow: Flow, parameters: Mapping[str, float], t: float) -> dict[int, float]:
    """Velocity index -> rate of the law of its driven joint."""
    out: dict[int, float] = {}
    for law in driven_laws(mech):
        rates = law.velocities(parameters, t)
        out.update(zip(components(flow.labels["qd"], 0, law.owner), rates or ()))
    return out
