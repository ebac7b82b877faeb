"""Transfer functions of one channel: zeros, poles and gain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from symbody.basics.arguments import declared
from symbody.basics.errors import DefinitionError
from symbody.studies.control.controllability import TOLERANCE, minimal
from symbody.studies.linear.as_state_space import as_state_space
from symbody.studies.linear.state_space import StateSpace, indices


@dataclass(frozen=True, eq=False)
class Transfer:
    """G(s) = gain * product (s - zeros) / product (s - poles); in discrete time of z.

    zeros, poles  rad/s; gain: the factor of the highest power, not the static gain
    """

    zeros: np.ndarray
    poles: np.ndarray
    gain: float
    input: str = ""
    output: str = ""
    dt: float | None = None

    @property
    def numerator(self) -> np.ndarray:
        """Coefficients, the highest power first."""
        return np.real(self.gain * np.atleast_1d(np.poly(self.zeros)))

    @property
    def denominator(self) -> np.ndarray:
        """Coefficients, the highest power first; the first is 1."""
        return np.real(np.atleast_1d(np.poly(self.poles)))

    @property
    def static_gain(self) -> float:
        """G at rest, s = 0 (z = 1); inf where a pole stands there."""
        value = self(0.0 if self.dt is None else 1.0)
        return float(np.real(value))

    def __call__(self, s: Any) -> Any:
        """G at points of the s (or z) plane."""
        points = np.asarray(s, dtype=complex)
        above = np.prod(points[..., None] - self.zeros, axis=-1)
        below = np.prod(points[..., None] - self.poles, axis=-1)
        with np.errstate(divide="ignore", invalid="ignore"):
            value = self.gain * above / below
        return value[()]

    def __repr__(self) -> str:
        shown = lambda a: "[" + ", ".join(f"{x:.5g}" for x in a) + "]"  # noqa: E731
        letter = "s" if self.dt is None else "z"
        return (
            f"Transfer of {letter}, {self.input} to {self.output}: {shown(self.numerator)} / {shown(self.denominator)}"
        )


@declared
def transfer(model: Any, input: Any = 0, output: Any = 0, tolerance: float = TOLERANCE) -> Transfer:
    """One channel of a linear model. Poles that the channel does not reach or show have been cancelled.

    tolerance   relative size of a coupling that counts as none (see `minimal`)
    """
    ss = as_state_space(model)
    i, o = indices(input, ss.inputs, "input"), indices(output, ss.outputs, "output")
    if len(i) != 1 or len(o) != 1:
        raise DefinitionError(f"a transfer function has one input and one output; {len(i)} and {len(o)} were chosen.")
    channel = minimal(ss.channel(i, o), tolerance)
    zeros, gain = channel_zeros(channel)
    poles = channel.poles if gain else np.zeros(0)
    rates = [float(d[0, 0]) for d in (ss.channel(i, o).D2, ss.channel(i, o).D1)]
    if any(rates):  # G + s D1 + s^2 D2 over the same poles
        poles = channel.poles
        below = np.atleast_1d(np.poly(poles))
        above = np.polyadd(gain * np.atleast_1d(np.poly(zeros)), np.polymul([*rates, 0.0], below))
        above = np.trim_zeros(np.real(above), "f")
        zeros, gain = _sorted(np.roots(above)), float(above[0])
    return Transfer(zeros, poles, gain, channel.inputs[0], channel.outputs[0], ss.dt)


def channel_zeros(ss: StateSpace) -> tuple[np.ndarray, float]:
    """(zeros, gain) of one input and one output.

    Where the output is zero for all time, so is one state after another, until the input acts on it at once: each state
    is taken out by an orthogonal turn (Emami-Naeini and Van Dooren 1982, for one channel). Then u = -C x / D, and the
    zeros are eigenvalues of A - B C / D. No zeros at infinity appear that would have to be told from large ones.
    """
    A, B, C, D = ss.A, ss.B[:, 0], ss.C[0], float(ss.D[0, 0])
    gain, reference = 1.0, float(np.linalg.norm(C))
    while True:
        through = np.linalg.norm(B) * np.linalg.norm(C) / max(np.linalg.norm(A), np.finfo(float).tiny)
        if D and abs(D) > 1e-12 * through:
            if not len(A):
                return np.zeros(0), gain * D
            return _sorted(np.linalg.eigvals(A - np.outer(B, C) / D)), gain * D
        size = float(np.linalg.norm(C))
        if not len(A) or size <= 1e-14 * reference:
            return np.zeros(0), 0.0  # the input never gets to the output
        # a reflection that makes the last state the only one that the output shows
        mirror = C.copy()
        mirror[-1] += size if C[-1] >= 0 else -size
        turn = np.eye(len(C)) - 2 * np.outer(mirror, mirror) / (mirror @ mirror)
        shown = -size if C[-1] >= 0 else size
        A, B = turn @ A @ turn, turn @ B
        gain, reference = gain * shown, float(np.linalg.norm(ss.A))
        A, B, C, D = A[:-1, :-1], B[:-1], A[-1, :-1], float(B[-1])


def zeros(model: Any, input: Any = 0, output: Any = 0) -> np.ndarray:
    """Zeros of a channel, rad/s (or in the z plane)."""
    return transfer(model, input, output).zeros


def _sorted(values: np.ndarray) -> np.ndarray:
    return values[np.lexsort((values.imag, np.round(np.abs(values), 12)))]
