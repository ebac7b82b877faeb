"""Modes of vibration of a Linear: undamped (K, M) and damped (state matrix), with names and shapes.

Undamped modes solve (K - omega^2 M) x = 0, damped ones are eigenvectors of the state matrix (Geradin and Rixen 2015,
ch. 2 and 3). Free motions, which K does not resist, get a basis of their own (`rigid_modes.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from symbody.basics.arguments import declared
from symbody.basics.display import html_notes, html_table
from symbody.basics.errors import ModelError, NameLookupError, whole_argument, word_argument
from symbody.studies.linear.linear import Linear
from symbody.studies.modal.rigid_modes import resting_states, rigid_basis

RIGID = 1e-6  # modes slower than this share of the fastest one count as rigid
ZERO = 1e-7  # double eigenvalues zero of a state matrix spread that far, by the root of the rounding
SYMMETRIC = 1e-9  # relative: a stiffness matrix less symmetric than this is treated as general


@dataclass(frozen=True, eq=False)
class Modes:
    """Modes, the slowest first; a conjugate pair counts once, with the positive imaginary part.

    Free motions count once each and are orthogonal by M.
    eigenvalues    (k,) rad/s: the motion is exp(eigenvalue t)
    shapes         (n, k) increments of the coordinates; undamped ones are real. The largest entry is 1 ("largest"), or
                   shape^T M shape = 1 ("mass")
    participation  (k, n) share of each coordinate: of the kinetic energy (undamped), of the state (damped); rows sum to
                   1 where there are no internal states
    rigid          (k,) whether the mode is no vibration but a free motion
    coordinates    label of each increment
    E              (nv, n) takes shapes to the increments of all joints, or None: they are all
    """

    kind: str
    eigenvalues: np.ndarray
    shapes: np.ndarray
    participation: np.ndarray
    rigid: np.ndarray
    coordinates: tuple[str, ...]
    model: str = ""
    E: np.ndarray | None = None
    q0: np.ndarray = field(default_factory=lambda: np.zeros(0))
    notes: tuple[str, ...] = ()

    @property
    def omegas(self) -> np.ndarray:
        """(k,) natural angular frequencies |eigenvalue|, rad/s."""
        return np.abs(self.eigenvalues)

    @property
    def frequencies(self) -> np.ndarray:
        """(k,) natural frequencies |eigenvalue| / 2 pi, Hz."""
        return self.omegas / (2 * np.pi)

    @property
    def damped_frequencies(self) -> np.ndarray:
        """(k,) frequencies at which the modes oscillate, Hz; 0 for those that do not."""
        return np.abs(self.eigenvalues.imag) / (2 * np.pi)

    @property
    def damping(self) -> np.ndarray:
        """(k,) damping ratios -Re / |eigenvalue|: 0 undamped, 1 no oscillation, negative: grows; 0 for rigid modes."""
        size = np.where(self.rigid | (self.omegas == 0), 1.0, self.omegas)
        return np.where(self.rigid, 0.0, -self.eigenvalues.real / size)

    @property
    def unstable(self) -> np.ndarray:
        """(k,) whether the mode grows."""
        scale = self.omegas.max(initial=0.0)
        return ~self.rigid & (self.eigenvalues.real > 1e-9 * scale)

    def __len__(self) -> int:
        return len(self.eigenvalues)

    def largest(self, index: int, count: int = 3) -> list[tuple[str, float]]:
        """The coordinates that take part most in a mode, with their shares."""
        whole_argument("index", index, 0)
        whole_argument("count", count, 1)
        if index >= len(self):
            raise NameLookupError(f"there is no mode {index}; there are {len(self)}, numbered from 0.")
        share = self.participation[index]
        order = np.argsort(-share, kind="stable")[:count]
        return [(self.coordinates[k], float(share[k])) for k in order if share[k] > 1e-3]

    def table(self) -> str:
        """One line a mode: frequency, damping, period or time constant, and who moves."""
        lines = [f"{self.kind} modes of {self.model or 'the model'}", " mode     f (Hz)   damping  motion"]
        for k in range(len(self)):
            who = ", ".join(f"{n} {100 * share:.0f} %" for n, share in self.largest(k))
            flag = "rigid  " if self.rigid[k] else "GROWS  " if self.unstable[k] else ""
            lines.append(f"{k + 1:5d} {self.frequencies[k]:10.4f} {self.damping[k]:9.4f}  {flag}{who}")
        return "\n".join([*lines, *self.notes])

    def __repr__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        rows = []
        for k in range(len(self)):
            who = ", ".join(f"{n} {100 * share:.0f} %" for n, share in self.largest(k))
            flag = "rigid" if self.rigid[k] else "grows" if self.unstable[k] else ""
            rows.append([k + 1, f"{self.frequencies[k]:.4f}", f"{self.damping[k]:.4f}", flag, who])
        heading = f"{self.kind} modes of {self.model or 'the model'}"
        return html_table(["mode", "f (Hz)", "damping", "", "motion"], rows, heading) + html_notes(self.notes)


@declared
def modes(model: Any, kind: str = "auto", normalise: str = "largest", **point: Any) -> Modes:
    """Modes of a Linear, or of a Mechanism about an operating point (q0=, inputs=, ... as `linearize` takes them).

    kind        "undamped": K and M alone; "damped": all terms, internal states too; "auto": undamped where there is
                no damping, no internal state and nothing moves
    normalise   "largest": the largest entry of a shape is 1; "mass": shape^T M shape = 1 (undamped)
    """
    word_argument("kind", kind, ("auto", "undamped", "damped"), error=ModelError)
    word_argument("normalise", normalise, ("largest", "mass"), error=ModelError)
    linear = model if isinstance(model, Linear) else _linearized(model, point)
    if kind == "auto":
        scale = 1e-12 * (1.0 + np.abs(linear.K).max(initial=0.0))
        conservative = np.abs(linear.B).max(initial=0.0) <= scale and not linear.internal and not linear.T.any()
        conservative = conservative and linear.speeds == linear.coordinates
        kind = "undamped" if conservative else "damped"
    return undamped(linear, normalise) if kind == "undamped" else damped(linear)


def _linearized(model: Any, point: dict[str, Any]) -> Linear:
    from symbody.model.record.mechanism import Mechanism
    from symbody.studies.linear.linearize import linearize

    if not isinstance(model, Mechanism):
        raise ModelError(f"modes of {type(model).__name__} were asked for; expected a Mechanism or a Linear.")
    made: Linear = linearize(model, **point)
    return made


def undamped(linear: Linear, normalise: str = "largest") -> Modes:
    """omega^2 M v = K v: by the symmetric eigenproblem where K is symmetric, else by the general one."""
    from scipy.linalg import LinAlgError, eig, eigh

    K, M = linear.K, linear.M
    if linear.speeds != linear.coordinates:
        raise ModelError(f"{linear.model} rolls without slip: it has no undamped modes. Ask for kind='damped'.")
    notes = list(linear.notes)
    size = np.abs(K).max(initial=0.0)
    try:
        if np.abs(K - K.T).max(initial=0.0) <= SYMMETRIC * size:
            squares, shapes = eigh((K + K.T) / 2, M)
        else:
            squares, shapes = eig(K, M)
            notes.append("K is not symmetric: forces that no potential has, or a point out of equilibrium.")
    except LinAlgError:
        raise ModelError(
            f"the mass matrix of {linear.model} is not positive definite; modes need mass in every motion."
        ) from None
    # exp(s t) with s^2 = -omega^2: i omega, or real and growing where the stiffness is negative
    values = np.sqrt(-np.asarray(squares, dtype=complex))
    values = np.where(values.imag < 0, -values, values)
    order = np.argsort(np.abs(values), kind="stable")
    values, shapes = values[order], np.asarray(shapes)[:, order]
    if np.iscomplexobj(shapes) and not np.abs(shapes.imag).max(initial=0.0):
        shapes = shapes.real
    free = _slow(values)
    if free.sum() > 1 and not np.iscomplexobj(shapes):
        shapes = shapes.copy()
        shapes[:, free] = rigid_basis(shapes[:, free], M)
    energy = shapes.conj() * (M @ shapes)
    if normalise == "mass":
        shapes = shapes / np.sqrt(np.abs(energy.sum(axis=0)))
    else:
        shapes = _largest_one(shapes)
    share = np.abs(energy) / np.abs(energy).sum(axis=0)
    return _record("undamped", linear, values, shapes, share.T, notes)


def damped(linear: Linear) -> Modes:
    """Eigenvalues and shapes of the state matrix; one of each conjugate pair, and every real eigenvalue."""
    from scipy.linalg import eig

    n, A = linear.size, linear.A
    if not len(A):
        return _record("damped", linear, np.zeros(0, complex), np.zeros((0, 0)), np.zeros((0, 0)), list(linear.notes))
    values, left, right = eig(A, left=True, right=True)
    zeros = int(_slow(values, ZERO).sum())
    tiny = 1e-12 * np.abs(values).max(initial=0.0)
    keep = np.flatnonzero(values.imag >= -tiny)
    order = keep[np.lexsort((-values[keep].real, np.abs(values[keep])))]
    values, left, right = values[order], left[:, order], right[:, order]
    # participation factors: left and right entry of each state (Perez-Arriaga 1982), summed for each coordinate
    weights = np.abs(left.conj() * right)
    weights = weights / np.maximum(weights.sum(axis=0), np.finfo(float).tiny)
    share = weights[:n].copy()
    for k, label in enumerate(linear.speeds):
        share[linear.coordinates.index(label)] += weights[n + k]
    shapes, share = right[:n], share.T
    # a free coordinate has the eigenvalue zero twice but one shape: each free motion counts once
    states, free = resting_states(A), _slow(values, ZERO)
    if zeros / 2 <= states.shape[1] <= zeros and zeros:
        values, shapes, share = (a[..., ~free] for a in (values, shapes, share.T))
        weight = np.eye(len(A))
        if linear.speeds == linear.coordinates:
            weight[:n, :n] = linear.M
        moved = rigid_basis(states, weight)[:n]
        energy = np.abs(moved * (weight[:n, :n] @ moved))
        rigid_share = energy / np.maximum(energy.sum(axis=0), np.finfo(float).tiny)
        values = np.concatenate([np.zeros(states.shape[1]), values])
        shapes, share = np.hstack([moved, shapes]), np.hstack([rigid_share, share]).T
    return _record("damped", linear, values, _largest_one(shapes), share, list(linear.notes))


def _slow(values: np.ndarray, share: float = RIGID) -> np.ndarray:
    """(k,) which eigenvalues are small beside the largest."""
    size = np.abs(values)
    slow: np.ndarray = size <= share * max(size.max(initial=0.0), np.finfo(float).tiny)
    return slow


def _record(
    kind: str, linear: Linear, values: np.ndarray, shapes: np.ndarray, share: np.ndarray, notes: list[str]
) -> Modes:
    return Modes(
        kind, values, shapes, share, _slow(values), linear.coordinates, linear.model, linear.E, linear.q0, tuple(notes)
    )


def _largest_one(shapes: np.ndarray) -> np.ndarray:
    """Columns scaled (and turned, if complex) so that the largest entry is 1."""
    if not shapes.size:
        return shapes
    # of entries that are equal but for rounding the first counts, so that shapes do not depend on the machine
    size = np.abs(shapes)
    place = np.argmax(size >= (1 - 1e-9) * size.max(axis=0), axis=0)
    pivots = shapes[place, np.arange(shapes.shape[1])]
    return shapes / np.where(pivots == 0, 1.0, pivots)
