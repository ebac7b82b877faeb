"""Drive gains from currents, by one motion with and one without a load of known mass; and the load from gains.

gain_j current_j = Y_j x without, = Y_j x + Y_load,j l with the load (Gautier and Briot 2014).
One known parameter of the load, its mass, sets the scale of everything.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from symbody.basics.arguments import declared
from symbody.basics.errors import DataError, real_argument
from symbody.studies.identification.extra_columns import PAYLOAD
from symbody.studies.identification.linear_fit import determined, least_squares
from symbody.studies.identification.linear_inverse import InverseModel
from symbody.studies.identification.measured_equations import MeasuredEquations
from symbody.studies.identification.series import Series

ROUNDS = 100
TEN = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")


@dataclass(frozen=True, eq=False)
class DriveGains:
    """gains (n,) N m/A or N/A with deviations std, by joint; values (b,) of the model; load: what is known of it."""

    rows: tuple[str, ...]
    gains: np.ndarray
    std: np.ndarray
    values: np.ndarray
    load: dict[str, float]
    relative: float
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [f"  {r:<24} {g:>10.4g} ± {s:.2g}" for r, g, s in zip(self.rows, self.gains, self.std)]
        return "\n".join([f"drive gains, residual {self.relative:.2%}", *lines, *(f"  note: {n}" for n in self.notes)])


@declared
def drive_gains(
    model: InverseModel,
    without: Series,
    loaded: Series,
    mass: float,
    *,
    body: str,
    signal: str = "current",
    factor: int | None = None,
) -> DriveGains:
    """Gains of all drives from prepared records without and with a load of known mass (kg) on `body`.

    Rows of each joint are scaled by their own residuals, and the currents are regressed on the model (inverse
    regression), so that noise of the currents does not shrink the gains.
    """
    from symbody.studies.identification.linear_inverse import inverse_model

    real_argument("mass", mass, "a positive mass in kg", above=0.0)
    if any(not np.any(s[signal]) for s in (without, loaded)):
        raise DataError(f"{signal!r} is zero all the time in one of the records; expected measured currents.")
    both = inverse_model(model.mech, (), payload=body)
    kept = [n for n in both.names if n.startswith(f"{PAYLOAD}.")]
    load_columns = _load_regressor(both, kept)
    first = _equations(model, without, signal, factor)
    second = _equations(model, loaded, signal, factor)
    extra = _decimated_load(both, load_columns, loaded, second, factor)
    n, b = len(model.rows), len(model.columns)
    rows_a, rows_b = _stack(first), _stack(second)
    known, free = extra[:, :, 0], extra[:, :, 1:]
    # unknowns of the load that the motion feels
    flat = free.transpose(1, 0, 2).reshape(-1, free.shape[2])
    used = [k for k in range(free.shape[2]) if np.linalg.norm(flat[:, k]) > 0]
    felt = flat[:, used]
    y = np.vstack([np.hstack([rows_a[0], np.zeros((len(rows_a[0]), felt.shape[1]))]), np.hstack([rows_b[0], felt])])
    weight = np.concatenate([np.zeros(len(rows_a[0])), mass * known.T.ravel()])
    current = np.concatenate([rows_a[1], rows_b[1]])
    row = np.concatenate([rows_a[2], rows_b[2]])
    names = [*model.base_names, *(f"{PAYLOAD}.{TEN[k + 1]}" for k in used)]
    independent, notes = determined(y, names, model.rows, "reduce", "the two records together")
    y = y[:, independent]
    # unknowns: (gains, x): sum over rows of ((g i - Y x - weight) / (g sigma_i))^2, sigma_i the noise of the current
    gains = np.ones(n)
    sigma = np.ones(n)
    x = np.zeros(y.shape[1])
    inverse = np.eye(n + y.shape[1])
    for _ in range(ROUNDS):
        w = 1.0 / (sigma * np.abs(gains))[row]
        own = np.zeros((len(row), n))
        own[np.arange(len(row)), row] = current
        # instruments: the currents that the model predicts, free of noise (from the second round on)
        predicted = (y @ x + weight) / gains[row] if np.any(x) else current
        left = np.zeros((len(row), n))
        left[np.arange(len(row)), row] = predicted
        right = np.hstack([own, -y]) * w[:, None]
        instruments = np.hstack([left, -y]) * w[:, None]
        size = np.linalg.norm(instruments, axis=0)
        a = (instruments / size).T @ (right / size)
        found = np.linalg.solve(a, (instruments / size).T @ (weight * w)) / size
        rest = (current * found[:n][row] - y @ found[n:] - weight) / found[:n][row]
        sigma = np.array([np.sqrt(np.mean(rest[row == k] ** 2)) for k in range(n)])
        change = np.max(np.abs(found[:n] - gains) / np.abs(found[:n]))
        gains, x = found[:n], found[n:]
        inverse = np.linalg.inv((instruments / size).T @ (instruments / size)) / np.outer(size, size)
        if change < 1e-9:
            break
    else:
        notes.append(f"gains still changed by {change:.1%} after {ROUNDS} rounds")
    if np.any(gains <= 0):
        bad = ", ".join(f"{r} ({g:.3g})" for r, g in zip(model.rows, gains) if g <= 0)
        notes.append(f"gains that are not positive: {bad}; the load is felt too little there, or a sign is wrong")
    effort = current * gains[row]
    relative = float(np.linalg.norm(effort - y @ x - weight) / np.linalg.norm(effort))
    values = np.zeros(len(names))
    values[independent] = x
    load = {f"{PAYLOAD}.m": mass, **dict(zip(names[b:], values[b:].tolist()))}
    std = np.sqrt(np.diag(inverse)[:n])
    return DriveGains(model.rows, gains, std, values[:b], load, relative, tuple(notes))


def _equations(model: InverseModel, series: Series, signal: str, factor: int | None) -> MeasuredEquations:
    return model.equations(series.with_values(tau=series[signal]), factor)


def _stack(equations: MeasuredEquations) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return equations.stacked()


def _load_regressor(both: InverseModel, names: list[str]) -> list[int]:
    return [both.names.index(n) for n in names]


def _decimated_load(
    both: InverseModel, columns: list[int], series: Series, like: MeasuredEquations, factor: int | None
) -> np.ndarray:
    """(K, n, 10) columns of the load at the instants of the equations."""
    from symbody.mechanics.verbs.identifiable_parameters import regressor
    from symbody.studies.identification.filtering import decimated, default_factor

    kernel = regressor(both.mech, columns=columns).compile()
    y = np.asarray(kernel(*(np.ascontiguousarray(both.signal(series, n)) for n in ("q", "qd", "qdd"))))
    step = default_factor(series) if factor is None else factor
    if step == 1:
        return y
    flat, index = decimated(y.reshape(len(y), -1), step, series.pieces)
    out = flat.reshape(len(index), *y.shape[1:])
    assert len(out) == len(like.z)
    return out


def fitted_load(
    model: InverseModel, values: np.ndarray, loaded: Series, body: str, factor: int | None = None
) -> dict[str, float]:
    """Parameters of an unknown load on `body` from a record with it, the robot's base parameters (b,) being known."""
    from symbody.studies.identification.linear_inverse import inverse_model

    both = inverse_model(model.mech, (), payload=body)
    columns = _load_regressor(both, [n for n in both.names if n.startswith(f"{PAYLOAD}.")])
    equations = model.equations(loaded, factor)
    extra = _decimated_load(both, columns, loaded, equations, factor)
    rest = equations.z - equations.y @ np.asarray(values, dtype=float)
    flat = extra.transpose(1, 0, 2).reshape(-1, extra.shape[2])
    names = [f"{PAYLOAD}.{n}" for n in TEN]
    kept, _ = determined(flat, names, model.rows, "reduce", loaded.source or "the record")
    sigma = np.maximum(np.std(rest, axis=0), 1e-12)
    w = np.repeat(1.0 / sigma, len(rest))
    found = least_squares(flat[:, kept] * w[:, None], rest.T.ravel() * w)[0]
    return {names[k]: float(v) for k, v in zip(kept, found)}
