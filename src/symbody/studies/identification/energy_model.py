"""Power and energy of a record as linear equations: one row an instant, or one a stretch, in place of one a joint.

    power    qd^T tau = qd^T Y pi
    energy   h(t2) pi - h(t1) pi + integral of qd^T Y_loss pi_loss = integral of qd^T tau

h is the energy of a unit of each parameter (`sb.regressor(mech, model="energy")`), a function of q and qd: the energy
model needs no accelerations. What friction and drives take is integrated along the record (Gautier and Khalil 1988;
Gautier 1997). Both have the base parameters of the efforts.
"""

from __future__ import annotations

import numpy as np

from symbody.basics.errors import DataError, real_argument, whole_argument
from symbody.mechanics.formalisms.regressor import columns as column_list
from symbody.mechanics.verbs.identifiable_parameters import regressor
from symbody.studies.identification.filtering import decimated, default_factor
from symbody.studies.identification.linear_inverse import InverseModel
from symbody.studies.identification.measured_equations import MeasuredEquations
from symbody.studies.identification.series import Series

STORED = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz", "rotor", "stiffness", "elastic_stiffness")
ROWS = 20  # rows for each unknown that the default stretch of the energy model leaves


def power_equations(model: InverseModel, series: Series, factor: int | None = None) -> MeasuredEquations:
    """qd^T Y pi = qd^T tau at every instant of a prepared record; factor: of decimation, as of `model.equations`."""
    whole = model.equations(series, 1)
    qd = _speeds(model, series)
    y, z = np.einsum("nr,nrb->nb", qd, whole.y), np.sum(qd * whole.z, axis=1)
    index = np.arange(len(z))
    factor = default_factor(series) if factor is None else whole_argument("factor", factor, 1)
    if factor > 1:
        both, index = decimated(np.column_stack([y, z]), factor, series.pieces)
        y, z = both[:, :-1], both[:, -1]
    return _record(model, y, z, series, index, "power", whole.notes)


def energy_equations(model: InverseModel, series: Series, span: float | None = None) -> MeasuredEquations:
    """Energy that was given over stretches of `span` s, and what became of it; the record needs q, qd and tau.

    span   None: as long as leaves 20 rows for each unknown
    """
    for n in ("q", "qd", "tau"):
        series[n]  # refuses by name
    y, z = model.measured(series)
    qd = _speeds(model, series)
    known = column_list(model.mech)
    kept = [k for k, c in enumerate(model.columns) if c < len(known) and known[c].quantity in STORED]
    rest = [k for k in range(len(model.columns)) if k not in set(kept)]
    stored = _stored(model, series, [model.columns[k] for k in kept])
    power = np.column_stack([np.einsum("nr,nrb->nb", qd, y[:, :, rest]), np.sum(qd * z, axis=1)])
    wanted = len(series) // (ROWS * len(model.columns))
    step = (
        max(wanted, 2)
        if span is None
        else max(round(real_argument("span", span, "a time in s", above=0.0) / series.period), 1)
    )
    rows, right, index = [], [], []
    for piece in series.pieces:
        t = series.t[piece]
        if len(t) <= step:
            continue
        given = _integrals(t, power[piece])
        at = np.arange(0, len(t), step)
        row = np.empty((len(at) - 1, len(model.columns)))
        row[:, kept], row[:, rest] = np.diff(stored[piece][at], axis=0), np.diff(given[at, :-1], axis=0)
        rows.append(row)
        right.append(np.diff(given[at, -1]))
        index.append(piece.start + at[1:])
    if not rows:
        raise DataError(
            f"{series.source or 'the record'}: no stretch is longer than {step} samples; take a shorter span."
        )
    notes = (*series.notes, f"energies over stretches of {step * series.period:.3g} s")
    return _record(model, np.concatenate(rows), np.concatenate(right), series, np.concatenate(index), "energy", notes)


def _speeds(model: InverseModel, series: Series) -> np.ndarray:
    """(N, rows) speeds of the rows."""
    return model.signal(series, "qd")[:, [model.labels.index(r) for r in model.rows]]


def _stored(model: InverseModel, series: Series, columns: list[int]) -> np.ndarray:
    """(N, len(columns)) energy of a unit of each parameter."""
    if not columns:
        return np.zeros((len(series), 0))
    kernel = regressor(model.mech, columns=columns, model="energy").compile()
    q = model.signal(series, "q") if model.mech.nq == model.mech.nv else series["q"]
    return np.asarray(kernel(q=np.ascontiguousarray(q), qd=np.ascontiguousarray(model.signal(series, "qd"))))


def _integrals(t: np.ndarray, values: np.ndarray) -> np.ndarray:
    """(N, k) from the first instant, by parabolas."""
    from scipy.integrate import cumulative_simpson

    return np.asarray(cumulative_simpson(values, x=t, axis=0, initial=0.0))


def _record(
    model: InverseModel,
    y: np.ndarray,
    z: np.ndarray,
    series: Series,
    index: np.ndarray,
    row: str,
    notes: tuple[str, ...],
) -> MeasuredEquations:
    starts = np.searchsorted(index, [p.start for p in series.pieces])
    breaks = tuple(int(s) for s in starts if 0 < s < len(index))
    units = tuple(model.units[c] for c in model.columns)
    return MeasuredEquations(
        y[:, None, :], z[:, None], series.t[index], (row,), model.base_names, units, tuple(notes), breaks, series.source
    )
