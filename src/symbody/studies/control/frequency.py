"""Frequency response of linear models: G = C (s - A)^-1 B + D + s D1 + s^2 D2 at s = i omega, Bode data and figure.

D1 and D2 stand for outputs that depend on rates of inputs. A is brought to Hessenberg form once, so that each frequency
costs O(n^2) (Laub 1981).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from symbody.basics.arguments import declared
from symbody.basics.display import html_table, picture, styled, text_table
from symbody.basics.errors import array_argument
from symbody.motion.trajectory.plot import COLOURS
from symbody.studies.linear.as_state_space import as_state_space
from symbody.studies.linear.state_space import StateSpace, indices


@dataclass(frozen=True, eq=False)
class Response:
    """Values over frequencies.

    omega    (k,) rad/s
    values   (k, ny, nu) complex
    """

    omega: np.ndarray
    values: np.ndarray
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    @property
    def frequency(self) -> np.ndarray:
        """(k,) Hz."""
        return self.omega / (2 * np.pi)

    @property
    def magnitude(self) -> np.ndarray:
        """(k, ny, nu) |G|."""
        return np.abs(self.values)

    @property
    def decibels(self) -> np.ndarray:
        """(k, ny, nu) 20 log10 |G|."""
        with np.errstate(divide="ignore"):
            return 20 * np.log10(self.magnitude)

    @property
    def phase(self) -> np.ndarray:
        """(k, ny, nu) rad, without jumps along the frequencies."""
        return np.unwrap(np.angle(self.values), axis=0)

    def channel(self, output: Any = 0, input: Any = 0) -> np.ndarray:
        """(k,) complex values of one output for one input, by name or number."""
        (i,) = indices(input, self.inputs, "input")
        (o,) = indices(output, self.outputs, "output")
        return self.values[:, o, i]

    def peaks(self) -> list[tuple[str, str, float, list[tuple[float, float]]]]:
        """For each channel: input, output, |G| at the lowest frequency, and (Hz, |G|) of its local maxima."""
        out = []
        for o, output in enumerate(self.outputs):
            for i, given in enumerate(self.inputs):
                size = self.magnitude[:, o, i]
                inner = np.flatnonzero((size[1:-1] > size[:-2]) & (size[1:-1] >= size[2:])) + 1
                found = [(float(self.frequency[k]), float(size[k])) for k in inner]
                out.append((given, output, float(size[0]) if len(size) else float("nan"), found))
        return out

    def table(self) -> str:
        """Text: for each channel the magnitude at the lowest frequency, and its resonances."""
        return text_table(*self._cells())

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        heads = ["from", "to", f"|G| at {self.frequency[0]:.3g} Hz" if len(self.omega) else "|G|", "resonances"]
        rows = []
        for given, output, low, found in self.peaks():
            told = ", ".join(f"{f:.4g} Hz ({m:.3g})" for f, m in found[:6]) + (" ..." if len(found) > 6 else "")
            rows.append([given, output, f"{low:.4g}", told])
        return heads, rows

    def __repr__(self) -> str:
        span = f"{self.frequency[0]:.4g} to {self.frequency[-1]:.4g} Hz" if len(self.omega) else "no frequencies"
        return f"Response of {len(self.outputs)} outputs to {len(self.inputs)} inputs, {span}"

    def _repr_html_(self) -> str:
        return html_table(*self._cells())

    def plot(self, decibels: bool = True) -> Any:
        """A matplotlib figure: magnitude above phase, one line for each channel."""
        figure = picture(figsize=(8, 5.4), layout="constrained")
        above, below = figure.subplots(2, 1, sharex=True)
        heights = self.decibels if decibels else self.magnitude
        for o, output in enumerate(self.outputs):
            for i, given in enumerate(self.inputs):
                look = {"color": COLOURS[(o * len(self.inputs) + i) % len(COLOURS)], "linewidth": 1.4}
                above.semilogx(self.frequency, heights[:, o, i], label=f"{given} to {output}", **look)
                below.semilogx(self.frequency, np.degrees(self.phase[:, o, i]), **look)
        if not decibels:
            above.set_yscale("log")
        above.set_ylabel("magnitude (dB)" if decibels else "magnitude")
        below.set(xlabel="frequency (Hz)", ylabel="phase (deg)")
        for axes in (above, below):
            styled(axes)
        if len(self.outputs) * len(self.inputs) <= 12:
            above.legend(fontsize=8, frameon=False)
        return figure


@declared
def frequency_response(model: Any, omega: Any = None, inputs: Any = None, outputs: Any = None) -> Response:
    """G over omega (rad/s); for a discrete model at z = exp(i omega dt). None: a range around the poles.

    A is brought to Hessenberg form once, so that each frequency costs O(n^2) (Laub 1981).
    """
    ss = as_state_space(model).channel(inputs, outputs)
    chosen = default_range(ss) if omega is None else np.atleast_1d(array_argument("omega", omega, "rad/s"))
    points = 1j * chosen if ss.dt is None else np.exp(1j * chosen * ss.dt)
    return Response(chosen, evaluate_at(ss, points), ss.inputs, ss.outputs)


def evaluate_at(ss: StateSpace, points: Sequence[complex] | np.ndarray) -> np.ndarray:
    """(k, ny, nu) G at points of the s (or z) plane; infinite at a pole."""
    from scipy.linalg import hessenberg, solve_triangular

    n = len(ss.states)
    values = np.empty((len(points), len(ss.outputs), len(ss.inputs)), dtype=complex)
    if not n:
        values[:] = [ss.at_once(s) for s in points]
        return values
    H, Q = hessenberg(ss.A, calc_q=True)
    B, C = Q.T @ ss.B, ss.C @ Q
    for k, s in enumerate(points):
        # QR of s - H by Givens rotations, then back substitution
        R, right = s * np.eye(n) - H, B.astype(complex)
        for j in range(n - 1):
            a, b = R[j, j], R[j + 1, j]
            size = np.hypot(abs(a), abs(b))
            if size == 0 or b == 0:
                continue
            turn = np.array([[np.conj(a), np.conj(b)], [-b, a]]) / size
            R[j : j + 2, j:] = turn @ R[j : j + 2, j:]
            right[j : j + 2] = turn @ right[j : j + 2]
        if np.abs(np.diag(R)).min() <= np.finfo(float).tiny:
            values[k] = np.inf
        else:
            values[k] = C @ solve_triangular(R, right, check_finite=False) + ss.at_once(s)
    return values


def default_range(ss: StateSpace, points: int = 400) -> np.ndarray:
    """Frequencies from a decade below the slowest pole to a decade above the fastest, rad/s."""
    poles = ss.poles if ss.dt is None else np.log(ss.poles.astype(complex) + 1e-300) / ss.dt
    sizes = np.abs(poles)
    sizes = sizes[sizes > 1e-8 * max(sizes.max(initial=0.0), 1e-300)]
    low, high = (sizes.min() / 10, sizes.max() * 10) if len(sizes) else (1e-2, 1e2)
    if ss.dt is not None:
        high = min(high, np.pi / ss.dt)
    return np.geomspace(low, high, points)
