"""What force elements read besides the motion: time, measured inputs, and their own states along a record."""

from __future__ import annotations

from typing import Any

import numpy as np

from symbody.basics.errors import DataError
from symbody.mechanics.memoised.kernels import kernel_of
from symbody.studies.identification.series import Series
from symbody.symbolic.system.system import System

MOTION = ("q", "qd", "qdd")
ACCURACY = 1e-8  # relative, of states along a record: far below what is measured


def element_inputs(system: System, series: Series, motion: dict[str, np.ndarray], name: str) -> dict[str, np.ndarray]:
    """Inputs of a regressor besides q, qd, qdd at the samples, (N, ...) by name.

    Time is that of the record, inputs are signals of their names in it, and states follow from their rates along the
    measured motion, from their initial values at the start of each piece.
    """
    if system.guards:
        told = ", ".join(system.states)
        raise DataError(
            f"a force element of {name} switches by events (states {told}), which no record shows. Expected laws that "
            "are smooth, such as lugre or dahl in place of stiction; or fit it by runs, with fit_system."
        )
    given = {}
    for n, a in system.inputs.items():
        if n in MOTION or n in system.states:
            continue
        if n != "t" and n not in series:
            raise DataError(
                f"{series.source or 'the record'} has no signal {n!r}, an input of a force element of {name}; expected "
                "what it was at each instant (zeros where it was idle)."
            )
        given[n] = (series.t if n == "t" else series[n]).reshape((len(series), *a.shape))
    return given | (_states_along(system, series, {**motion, **given}) if system.states else {})


def _states_along(system: System, series: Series, known: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """(N, ...) of each state, integrated along signals that run straight between samples."""
    from scipy.integrate import solve_ivp

    rates = System(
        f"{system.name}_rates",
        inputs=dict(system.inputs),
        parameters=dict(system.parameters),
        outputs={rate: system.outputs[rate] for rate in system.states.values()},
    )
    kernel = kernel_of(rates, "native")
    sizes = [system.inputs[n].size for n in system.states]
    cuts, t = np.cumsum(sizes)[:-1], series.t
    start = np.concatenate([[s.data.default or 0.0 for s in system.inputs[n].flat] for n in system.states])
    found = np.empty((len(t), len(start)))

    def rate(now: float, x: np.ndarray) -> np.ndarray:
        k = min(max(int(np.searchsorted(t, now, side="right")) - 1, 0), len(t) - 2)
        share = (now - t[k]) / (t[k + 1] - t[k])
        at: dict[str, Any] = {n: a[k] + share * (a[k + 1] - a[k]) for n, a in known.items()}
        at |= {n: p.reshape(system.inputs[n].shape) for n, p in zip(system.states, np.split(x, cuts))}
        made = kernel(**{n: at[n] for n in rates.inputs})
        return np.concatenate([np.ravel(r) for r in (made if len(rates.outputs) > 1 else [made])])

    longest = 4 * series.period  # longer steps could pass a reversal unseen
    for piece in series.pieces:
        if piece.stop - piece.start < 2:
            found[piece] = start
            continue
        ends = (t[piece.start], t[piece.stop - 1])
        run = solve_ivp(rate, ends, start, "LSODA", t[piece], rtol=ACCURACY, atol=ACCURACY * 1e-3, max_step=longest)
        if not run.success:
            raise DataError(f"states of force elements along the record cannot be computed: {run.message}")
        found[piece] = run.y.T
    parts = np.split(found, cuts, axis=1)
    return {n: p.reshape((len(t), *system.inputs[n].shape)) for n, p in zip(system.states, parts)}
