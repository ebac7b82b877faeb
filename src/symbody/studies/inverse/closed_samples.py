"""Sampled motions of closed mechanisms: dependent coordinates followed from instant to instant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from symbody.basics.errors import ModelError, SolveError
from symbody.mechanics.loops.partition.partition import Partition
from symbody.mechanics.memoised.kernels import quick_kernel
from symbody.mechanics.memoised.model_memory import derived_of
from symbody.mechanics.memoised.partitions import wanted_at
from symbody.mechanics.verbs.assemble import assemble
from symbody.mechanics.verbs.closed_dynamics import closure
from symbody.mechanics.verbs.system_of_tree import has_loops
from symbody.model.record.mechanism import Mechanism
from symbody.studies.inverse.sampled_motion import SampledMotion


def branch_at(mech: Mechanism, samples: SampledMotion, parameters: Mapping[str, Any]) -> Any:
    """The partition for the branch of the first instant: "auto" where that of the other verbs holds there."""
    if not has_loops(mech):
        return "auto"
    values = {n: float(v) for n, v in parameters.items() if np.ndim(v) == 0}
    start = assemble(mech, samples.q[0], values, time=float(samples.t[0]))
    return wanted_at(mech, start, "auto", values, float(samples.t[0]))


def closed_samples(
    mech: Mechanism, samples: SampledMotion, parameters: dict[str, Any], partition: Any = "auto"
) -> SampledMotion:
    """The motion of the independent joints with all loops closed: q and qd of the dependent ones follow.

    The first instant starts from the given q, every other one from the closed q before it: the branch does not change.
    """
    system = closure(mech, partition)
    kernel, dependent = quick_kernel(system), _dependent(mech, partition)
    own = {n: v for n, v in parameters.items() if n in system.parameters}
    q, qd = samples.q.copy(), samples.qd.copy()
    for k, t in enumerate(samples.t):
        guess = np.where(dependent, q[k - 1], samples.q[k]) if k else samples.q[k]
        given = {"q": guess, "qd": samples.qd[k], "t": np.array(t)}
        try:
            closed = kernel(**{n: given[n] for n in system.inputs}, parameters=own or None)
        except SolveError as error:
            raise ModelError(f"the loops of {mech.name} do not close at t = {t:g} s: {error}") from None
        q[k], qd[k] = closed.q, closed.qd
    return SampledMotion(samples.t, q, qd, samples.qdd, samples.notes)


def _dependent(mech: Mechanism, chosen: Any) -> np.ndarray:
    """(nq,) coordinates that the loops determine."""
    partition = chosen if isinstance(chosen, Partition) else derived_of(mech).partition(chosen)
    velocities = np.zeros(mech.nv, dtype=bool)
    velocities[list(partition.dependent)] = True
    out = np.zeros(mech.nq, dtype=bool)
    for p in mech.slots:
        out[p.q] = velocities[p.v] if p.plain else velocities[p.v].any()
    return out
