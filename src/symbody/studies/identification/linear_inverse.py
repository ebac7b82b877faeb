"""InverseModel: what is linear in the unknown parameters, tau = Y(q, qd, qdd) pi + tau0, reduced to base parameters.

Made once of a Mechanism and the laws that are to be identified; every estimator, excitation and report reads it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from symbody.basics.arguments import declared
from symbody.basics.errors import DataError, ModelError, ShapeError, array_argument
from symbody.mechanics.formalisms.base_parameters import BaseParameters
from symbody.mechanics.formalisms.numeric_relations import greedy_relations, singular_gap
from symbody.mechanics.formalisms.regressor import columns as column_list
from symbody.mechanics.formalisms.regressor import parameters as linear_parameters
from symbody.mechanics.memoised.model_memory import derived_of
from symbody.mechanics.verbs.closed_regressor import ClosedSamples
from symbody.mechanics.verbs.identifiable_parameters import base_parameters, parameter_values, regressor
from symbody.mechanics.verbs.system_of_tree import has_loops
from symbody.model.record.coordinates import velocity_labels
from symbody.model.record.mechanism import Mechanism
from symbody.studies.identification.data_checks import scale_notes, swap_notes, unit_notes
from symbody.studies.identification.element_inputs import element_inputs
from symbody.studies.identification.extra_columns import USUAL, Extra, extra_nodes, law_columns, with_laws
from symbody.studies.identification.filtering import decimated, default_factor, noise_of_equations
from symbody.studies.identification.measured_equations import MeasuredEquations
from symbody.studies.identification.series import Series
from symbody.symbolic.expr.arrays import matmul
from symbody.symbolic.expr.call import as_nodes
from symbody.symbolic.expr.walk import free_symbols
from symbody.symbolic.lower.optimize import optimize_system
from symbody.symbolic.system.system import System

TOLERANCE = 1e-7  # of a column scaled to unit length: less of it than that is new at random states


@dataclass(frozen=True, eq=False)
class InverseModel:
    """A Mechanism whose efforts are a product of known columns and unknown parameters.

    mech     with all laws that have columns
    names    (p,) all linear parameters: ten for each body, then those of the joints, then extra columns
    units    (p,) theirs
    prior    (p,) their values in the model as it is
    columns  (b,) indices of the base parameters among them: columns that are independent at random states
    matrix   (b, p) base = matrix @ pi, in numbers
    base     the symbolic groups of the Mechanism's own parameters
    rows     labels of the rows of Y: velocities, or the independent ones of closed loops
    unknown  names of parameters that the model has no values of (`auto` ones): 0 in the prior, which does not hold them
    system   (q, qd, qdd) -> Y (rows, b) of the base parameters alone [, tau0 (rows,), B (nv, rows) of closed loops]
    notes    what was grouped by numbers
    """

    mech: Mechanism
    names: tuple[str, ...]
    units: tuple[str, ...]
    prior: np.ndarray
    columns: tuple[int, ...]
    matrix: np.ndarray
    base: BaseParameters
    rows: tuple[str, ...]
    system: System
    notes: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    def __repr__(self) -> str:
        counts = f"{len(self.columns)} base parameters of {len(self.names)}"
        return f"InverseModel({self.mech.name}: {counts}, rows {self.rows})"

    @property
    def labels(self) -> tuple[str, ...]:
        """All velocities of the Mechanism, the columns of qd and tau in a record."""
        return velocity_labels(self.mech)

    @property
    def base_names(self) -> tuple[str, ...]:
        """(b,) the first parameter of each group."""
        return tuple(self.names[c] for c in self.columns)

    @property
    def base_prior(self) -> np.ndarray:
        """(b,) base parameters of the model as it is."""
        return self.matrix @ self.prior

    def group(self, k: int) -> str:
        """A base parameter in words: which parameters are felt together, with numbers."""
        parts = []
        for c in np.flatnonzero(np.abs(self.matrix[k]) > 1e-12):
            x = self.matrix[k, c]
            size = "" if abs(abs(x) - 1) < 1e-12 else f"{abs(x):.6g}*"
            parts.append(("- " if x < 0 else "+ ") + size + self.names[c])
        text = " ".join(parts)
        return text[2:] if text.startswith("+ ") else text

    @cached_property
    def kernel(self) -> Any:
        """Native, for one state or a batch."""
        return self.system.compile()

    @cached_property
    def _judged(self) -> Any:
        """`kernel` with the sum of squares of each row: whether Y has a value is seen without reading it again, which
        takes as long as computing it."""
        y = self.system.outputs["Y"]
        outputs = {**self.system.outputs, "squares": (y * y).sum(axis=1)}
        return self.system.replace(outputs=outputs, origins={}).compile()

    def regressor(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        """Y (N, rows, b) at samples (N, nq), (N, nv), (N, nv)."""
        return self._evaluated(q, qd, qdd)[0]

    def _evaluated(
        self, q: Any, qd: Any, qdd: Any, series: Series | None = None
    ) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
        """Y, tau0 and B; without a record what force elements read besides is zero, which Y does not depend on."""
        given = {
            "q": array_argument("q", q, "numbers, a sample a row"),
            "qd": array_argument("qd", qd, "numbers, a sample a row"),
            "qdd": array_argument("qdd", qdd, "numbers, a sample a row"),
        }
        count = len(given["q"]) if given["q"].ndim else 0
        for n, size in (("q", self.mech.nq), ("qd", self.mech.nv), ("qdd", self.mech.nv)):
            if given[n].shape != (count, size):
                raise ShapeError(
                    f"{n} has the shape {given[n].shape}; expected ({count}, {size}) for {self.mech.name}."
                )
        if series is not None:
            given |= element_inputs(self.system, series, given, self.mech.name)
        for n, a in self.system.inputs.items():
            given.setdefault(n, np.zeros((count, *a.shape)))
        result = self._judged(**{n: np.ascontiguousarray(given[n]) for n in self.system.inputs})
        y, bad = result.Y, ~np.isfinite(result.squares).all(axis=1)
        if bad.any():  # no number, or too large to be squared
            bad[bad] = ~np.isfinite(y[bad]).all(axis=(1, 2))
        if bad.any():
            first = int(np.flatnonzero(bad)[0])
            raise DataError(
                f"the regressor of {self.mech.name} has no value at {int(bad.sum())} of {count} samples, first at "
                f"{first}: loops do not close there, or q is not finite. Give closed positions, or leave them out."
            )
        return y, getattr(result, "tau0", None), getattr(result, "B", None)

    def equations(self, series: Series, factor: int | None = None, least_speed: Any = 0.0) -> MeasuredEquations:
        """The equations of a record with q, qd, qdd and tau: `prepare` makes them of raw ones.

        factor       of parallel decimation; None: the default of `filtering.py`, 1: every sample
        least_speed  rad/s or m/s, one number or label -> number: samples of a row at lower speeds are left out, where
                     friction is not what its law says
        """
        for n in ("q", "qd", "qdd", "tau"):
            series[n]  # refuses by name
        y, z = self.measured(series)
        qd = self.signal(series, "qd")
        pieces = series.pieces
        index = np.arange(len(series))
        factor = default_factor(series) if factor is None else factor
        noise = noise_of_equations(z, factor, series)
        if factor > 1:
            both = np.concatenate([y, z[:, :, None]], axis=2)
            flat, index = decimated(both.reshape(len(both), -1), factor, pieces)
            both = flat.reshape(len(index), len(self.rows), -1)
            y, z = np.ascontiguousarray(both[:, :, :-1]), both[:, :, -1]
        notes = [*series.notes, *unit_notes(self.mech, series)]
        moving = [k for k in range(len(self.rows)) if np.ptp(z[:, k]) > 0]
        if len(moving) == len(self.rows) > 1:
            notes += swap_notes([y[:, k] for k in range(len(self.rows))], z, self.rows)
        if np.any(self.base_prior):
            notes += scale_notes(z, y @ self.base_prior, self.rows)
        starts = np.searchsorted(index, [p.start for p in pieces])
        out = MeasuredEquations(
            y, z, series.t[index], self.rows, self.base_names, tuple(self.units[c] for c in self.columns),
            tuple(notes), tuple(int(s) for s in starts if 0 < s < len(index)), series.source, noise=noise,
        )  # fmt: skip
        return out.without_slow(qd[index], self._speeds(least_speed)) if np.any(self._speeds(least_speed)) else out

    def measured(self, series: Series) -> tuple[np.ndarray, np.ndarray]:
        """(Y (N, rows, b), z (N, rows)) at every sample, z: efforts less what is known; qdd is 0 where missing."""
        tau, qd = self.signal(series, "tau"), self.signal(series, "qd")
        q = self.signal(series, "q") if self.mech.nq == self.mech.nv else series["q"]
        qdd = self.signal(series, "qdd") if "qdd" in series else np.zeros_like(qd)
        y, known, maps = self._evaluated(q, qd, qdd, series)
        z = tau if maps is None else np.einsum("nvu,nv->nu", maps, tau)
        return y, z if known is None else z - known

    def _speeds(self, given: Any) -> np.ndarray:
        if isinstance(given, Mapping):
            return np.array([float(given.get(r, 0.0)) for r in self.rows])
        return np.broadcast_to(np.asarray(given, dtype=float), (len(self.rows),))

    def signal(self, series: Series, name: str) -> np.ndarray:
        """(N, nv) of the signal in the order of the Mechanism, by labels where the record has some."""
        values, labels = series[name], list(self.labels)
        if series.labels and set(labels) <= set(series.labels) and len(series.labels) == values.shape[1]:
            return values[:, [series.labels.index(x) for x in labels]]
        if values.shape[1] != len(labels):
            raise DataError(
                f"{series.source or 'the record'}: {name} has {values.shape[1]} columns; {self.mech.name} has "
                f"{len(labels)} velocities ({', '.join(labels)}). Give one column for each, or labels that name them."
            )
        return values

    def base_of(self, pi: Any) -> np.ndarray:
        """(b,) base parameters from all (p,)."""
        return self.matrix @ np.asarray(pi, dtype=float)


@declared
def inverse_model(
    mech: Mechanism,
    laws: Collection[str] = USUAL,
    *,
    rotor: bool = False,
    stribeck: float | Mapping[str, float] | None = None,
    payload: str | None = None,
    extra: Sequence[Extra] = (),
    inertial: bool = True,
    partition: Any = "auto",
) -> InverseModel:
    """The InverseModel of a Mechanism.

    laws      of every joint: viscous, coulomb, rotor, stiffness, offset, coulomb_minus, stribeck
    rotor     the same as "rotor" among the laws
    stribeck  rad/s or m/s, the velocity of the law "stribeck", one for all or by joint
    payload   body that carries an unknown load: ten parameters more
    extra     further columns, such as the coupling of two drives
    inertial  whether the parameters of bodies are unknown; False: those of joints and extra columns alone
    Closed loops are projected on the independent velocities.
    """
    if not mech.nv:
        raise ModelError(f"nothing of {mech.name} moves: no efforts tell its parameters. Free a joint.")
    chosen = list(
        dict.fromkeys([*laws, *(["rotor"] if rotor else []), *(["stribeck"] if stribeck is not None else [])])
    )
    extras = [*law_columns(mech, chosen, stribeck), *extra]
    full = with_laws(mech, chosen, payload)
    known = column_list(full)
    candidates = None if inertial else list(range(10 * len(full.bodies), len(known)))
    base = base_parameters(full, candidates, partition=partition)
    closed = has_loops(full)
    model = "projected" if closed else "effort"
    system = regressor(full, columns=base.columns, model=model, partition=partition, preset="none")
    y = system.outputs["Y"]
    added = extra_nodes(full, system.inputs, extras)
    if extras:
        if closed:
            added = matmul(system.outputs["B"].T, added)
        y = np.column_stack([y, added])
    notes = list(base.notes)
    names = (*map(str, known), *(e.name for e in extras))
    columns = [*base.columns, *range(len(known), len(names))]
    matrix = np.zeros((len(columns), len(names)))
    matrix[: base.count, : len(known)] = base.matrix_at()
    for k in range(len(extras)):
        matrix[base.count + k, len(known) + k] = 1.0
    if extras:
        y, columns, matrix, more = _without_dependent(full, system, y, columns, matrix, names, partition)
        notes += more
    if not inertial:
        notes.append("parameters of bodies are taken as known; their efforts must be taken off tau before")
    outputs = {**system.outputs, "Y": y}
    system = optimize_system(system.replace(outputs=outputs, origins={}), "standard")
    labels = velocity_labels(full)
    rows = labels if not closed else tuple(labels[k] for k in _independent(full, partition))
    units = (*(c.unit or _unit(full, c.owner, c.quantity) for c in known), *(e.unit for e in extras))
    values, blank = _known_values(full)
    prior = np.concatenate([values, [e.value for e in extras]])
    unknown = tuple(names[k] for k in np.flatnonzero(blank))
    if unknown:
        notes.append(f"the model has no values of {len(unknown)} parameters, such as {unknown[0]}: they start at 0")
    return InverseModel(
        full, names, units, prior, tuple(columns), matrix, base, tuple(rows), system, tuple(notes), unknown
    )  # fmt: skip


def _known_values(mech: Mechanism) -> tuple[np.ndarray, np.ndarray]:
    """((p,) parameters of the model as it is, 0 where it has no values; (p,) whether it has none)."""
    blank = {n for n, s in mech.parameters.items() if s.data.default is None}
    tree = derived_of(mech).tree()
    nodes = as_nodes([tree.graph.zero, *linear_parameters(tree)])[1:]
    unknown = [bool(blank.intersection(s.data.name for s in free_symbols([x]))) for x in nodes]
    return parameter_values(mech, dict.fromkeys(blank, 0.0) or None), np.array(unknown)


def _independent(mech: Mechanism, partition: Any) -> tuple[int, ...]:
    from symbody.mechanics.verbs.partition_record import partition as found

    return tuple(found(mech, partition).independent)


def _without_dependent(
    mech: Mechanism,
    system: System,
    y: np.ndarray,
    columns: list[int],
    matrix: np.ndarray,
    names: Sequence[str],
    partition: Any,
) -> tuple[np.ndarray, list[int], np.ndarray, list[str]]:
    """Extra columns that depend on others, such as the offset of a vertical slide on its weight, are grouped by
    numbers, which hold at states that decided nothing."""
    test = system.replace(outputs={**system.outputs, "Y": y}, origins={})
    states = 2 * len(columns) // max(y.shape[0], 1) + 10
    if "B" in system.outputs:
        closed, kernel = ClosedSamples(mech, partition), test.compile()
        sets = [_rows(test, kernel, closed.states(states, seed)) for seed in (0, 1)]
    else:
        kernel = test.compile("python")
        sets = [_rows(test, kernel, _states(mech, states, np.random.default_rng(seed))) for seed in (3, 4)]
    ranks = [singular_gap(rows, TOLERANCE).rank for rows in sets]
    if ranks[0] != ranks[1]:
        raise ModelError(
            f"{mech.name}: how many parameters motion can tell is in doubt: {ranks[0]} at one set of random states, "
            f"{ranks[1]} at another. Columns of `laws` and `extra` are nearly dependent: leave out some of them."
        )
    found, _ = greedy_relations(sets[0], TOLERANCE)
    if not found:
        return y, columns, matrix, []
    notes = []
    for dependent, weights in found:
        for k, w in weights.items():
            matrix[k] += w * matrix[dependent]
        told = ", ".join(names[columns[k]] for k in weights) or "nothing: it has no effect"
        notes.append(f"{names[columns[dependent]]} was grouped by numbers with {told}")
    gone = {d for d, _ in found}
    kept = [k for k in range(len(columns)) if k not in gone]
    return y[:, kept], [columns[k] for k in kept], matrix[kept], notes


def _states(mech: Mechanism, states: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random q (k, nq), qd, qdd (k, nv) of a tree."""
    q = np.zeros((states, mech.nq))
    for s in mech.slots:
        q[:, s.q] = rng.uniform(-np.pi, np.pi, (states, s.nq)) if s.plain else _unit_coordinates(states, s.nq, rng)
    return q, rng.uniform(-1, 1, (states, mech.nv)), rng.uniform(-1, 1, (states, mech.nv))


def _rows(test: System, kernel: Any, state: tuple[np.ndarray, np.ndarray, np.ndarray]) -> np.ndarray:
    """(rows, b) Y at states; of closed loops of velocities of unit size: near a dead point those of B are large."""
    given = dict(zip(("q", "qd", "qdd"), state, strict=True))
    for n, a in test.inputs.items():
        given.setdefault(n, np.zeros((len(state[0]), *a.shape)))
    result = kernel(**{n: given[n] for n in test.inputs})
    rows = np.asarray(result.Y if len(test.outputs) > 1 else result)
    if "B" in test.outputs:
        good = np.isfinite(rows).all(axis=(1, 2))
        right = np.linalg.qr(np.asarray(result.B)[good])[1]
        rows = np.linalg.solve(np.swapaxes(right, 1, 2), rows[good])
    rows = rows.reshape(-1, rows.shape[-1])
    return rows[np.isfinite(rows).all(axis=1)]


def _unit_coordinates(states: int, size: int, rng: np.random.Generator) -> np.ndarray:
    """(states, size): position and a unit quaternion, or the quaternion alone."""
    out = rng.normal(size=(states, size))
    out[:, -4:] /= np.linalg.norm(out[:, -4:], axis=1, keepdims=True)
    return out


def _unit(mech: Mechanism, owner: str, quantity: str) -> str:
    slides = any(j.name == owner and j.kind == "prismatic" for j in mech.joints)
    turning = {
        "rotor": "kg m^2", "viscous": "N m s/rad", "coulomb": "N m", "stiffness": "N m/rad",
        "elastic_stiffness": "N m/rad", "elastic_damping": "N m s/rad",
    }  # fmt: skip
    sliding = {
        "rotor": "kg", "viscous": "N s/m", "coulomb": "N", "stiffness": "N/m", "elastic_stiffness": "N/m",
        "elastic_damping": "N s/m",
    }  # fmt: skip
    return (sliding if slides else turning).get(quantity, "")
