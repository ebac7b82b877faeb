"""StateSpace: x' = A x + B u, y = C x + D u with names; in discrete time x(k+1) = A x(k) + B u(k).

Outputs may depend on rates of inputs too, y = C x + D u + D1 u' + D2 u'': a velocity follows the rate of a prescribed
position at once. Such a model is not proper: frequency responses and transfer functions know it, all else refuses it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as _replace
from typing import Any

import numpy as np

from symbody.basics.errors import DefinitionError, NameLookupError, ShapeError, nearest, real_argument, wrong_argument


@dataclass(frozen=True, eq=False)
class StateSpace:
    """Four matrices (hybrid 2.2.4, eq. (7)) and one name for each state, input and output.

    A (nx, nx), B (nx, nu), C (ny, nx), D (ny, nu); what is not named is x1, u1, y1 ...
    dt   None: continuous time; else the sampling period, s
    D1, D2   (ny, nu) by the first and second rates of the inputs; zero unless motions are prescribed
    """

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    states: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    dt: float | None = None
    D1: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    D2: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))

    def __post_init__(self) -> None:
        put = lambda name, value: object.__setattr__(self, name, value)  # noqa: E731  the record is frozen
        for name in "ABCD":
            matrix = np.array(getattr(self, name), dtype=float)
            put(name, matrix.reshape(1, 1) if matrix.ndim == 0 else matrix)
            if getattr(self, name).ndim != 2:
                raise ShapeError(f"{name} of a state space has {matrix.ndim} dimensions; expected a matrix.")
        nx, nu, ny = self.A.shape[0], self.B.shape[1], self.C.shape[0]
        for name, shape in (("A", (nx, nx)), ("B", (nx, nu)), ("C", (ny, nx)), ("D", (ny, nu))):
            found = getattr(self, name).shape
            if found != shape:
                raise ShapeError(f"{name} of a state space has shape {found}; expected {shape} (A, B and C say so).")
        for name in ("D1", "D2"):
            matrix = np.array(getattr(self, name), dtype=float)
            if not matrix.any():
                put(name, np.zeros((ny, nu)))
            elif matrix.shape == (ny, nu):
                put(name, matrix)
            else:
                raise ShapeError(f"{name} of a state space has shape {matrix.shape}; expected {(ny, nu)}, as D.")
        for kind, letter, n in (("states", "x", nx), ("inputs", "u", nu), ("outputs", "y", ny)):
            names = tuple(getattr(self, kind)) or tuple(f"{letter}{k + 1}" for k in range(n))
            if len(names) != n:
                raise ShapeError(f"a state space with {n} {kind} was given {len(names)} names for them.")
            put(kind, names)
        if self.dt is not None:
            real_argument("dt", self.dt, "a positive sampling period in s, or None for continuous time", above=0.0)

    @property
    def poles(self) -> np.ndarray:
        """(nx,) eigenvalues of A, rad/s (or z-plane), sorted by magnitude."""
        poles = np.linalg.eigvals(self.A)
        return poles[np.lexsort((poles.imag, np.round(np.abs(poles), 12)))]

    @property
    def stable(self) -> bool:
        """Whether every pole lies inside the stable region."""
        poles = self.poles
        return bool(np.all(poles.real < 0) if self.dt is None else np.all(np.abs(poles) < 1))

    def at_once(self, s: complex) -> np.ndarray:
        """(ny, nu) what inputs give without the states: D + s D1 + s^2 D2."""
        out: np.ndarray = self.D + s * self.D1 + s * s * self.D2
        return out

    def proper(self, what: str) -> StateSpace:
        """The model itself, if no output depends on rates of inputs; else an error that says what was asked of it."""
        rates = np.abs(self.D1) + np.abs(self.D2)
        if rates.any():
            o, i = np.argwhere(rates)[0]
            raise DefinitionError(
                f"{what} needs outputs that do not follow rates of inputs at once; {self.outputs[o]!r} follows that of "
                f"{self.inputs[i]!r}. Choose other outputs (positions do not), or linearise with driven='parts'."
            )
        return self

    def channel(self, inputs: Any = None, outputs: Any = None) -> StateSpace:
        """All states with some of the inputs and outputs only: names, numbers from 0, or lists of them."""
        i, o = indices(inputs, self.inputs, "input"), indices(outputs, self.outputs, "output")
        return _replace(
            self,
            B=self.B[:, i],
            C=self.C[o],
            D=self.D[np.ix_(o, i)],
            D1=self.D1[np.ix_(o, i)],
            D2=self.D2[np.ix_(o, i)],
            inputs=tuple(self.inputs[k] for k in i),
            outputs=tuple(self.outputs[k] for k in o),
        )

    def feedback(self, gain: Any) -> StateSpace:
        """The loop closed by u = v - gain x: A - B gain, C - D gain."""
        self.proper("feedback of states")
        k = np.asarray(gain, dtype=float).reshape(len(self.inputs), len(self.states))
        return _replace(self, A=self.A - self.B @ k, C=self.C - self.D @ k)

    def replace(self, **changes: Any) -> StateSpace:
        """A copy with some fields changed."""
        return _replace(self, **changes)

    def __repr__(self) -> str:
        time = "continuous" if self.dt is None else f"every {self.dt:g} s"
        sizes = f"{len(self.states)} states, {len(self.inputs)} inputs, {len(self.outputs)} outputs"
        return f"StateSpace: {sizes}, {time}"


def indices(wanted: Any, names: Sequence[str], what: str) -> list[int]:
    """Places of names (or numbers) among `names`; None is all of them. A stem such as "q" stands for q.a, q.b ..."""
    if wanted is None:
        return list(range(len(names)))
    out: list[int] = []
    if not isinstance(wanted, (str, int, np.integer, Iterable)):
        raise wrong_argument(what, wanted, "names, or numbers from 0")
    for item in [wanted] if isinstance(wanted, (str, int, np.integer)) else wanted:
        if isinstance(item, str):
            found = [k for k, n in enumerate(names) if n == item] or [
                k for k, n in enumerate(names) if n.startswith(f"{item}.")
            ]
            if not found:
                raise NameLookupError(f"there is no {what} {item!r}. {nearest(item, names)}")
            out += found
        elif not isinstance(item, (int, np.integer)) or isinstance(item, bool):
            raise wrong_argument(what, item, "a name, or a number from 0")
        elif -len(names) <= item < len(names):
            out.append(int(item) % len(names))
        else:
            raise NameLookupError(f"{what} {item} was asked for; there are {len(names)}, numbered from 0.")
    return out
