"""Linear: the linearised equations of a Mechanism, of second order and as a state space."""

from __future__ import annotations

from dataclasses import dataclass, field
from dataclasses import replace as _replace
from functools import cached_property
from typing import Any

import numpy as np

from symbody.basics.display import html_notes, html_table
from symbody.basics.errors import ModelError, ShapeError
from symbody.studies.linear.state_space import StateSpace


@dataclass(frozen=True, eq=False)
class Linear:
    """K dq + B dqd + M dqdd + U du = 0 about an operating point (SYMOFROS 2.2.3, eq. (2.4) corrected).

    The equations are M qdd + g = 0 with g = c - tau; dq are tangent increments, so every matrix has nv columns, also
    for quaternions. Joints of mode "driven" are no unknowns: they have neither rows nor columns.

    M        (n, n)  mass matrix
    B        (n, n)  dg/dqd: damping and gyroscopic terms
    K1, K2   (n, n)  d(M qdd)/dq and dg/dq; K = K1 + K2, stiffness
    U1, U2   (n, nu) d(M qdd)/du and dg/du; U = U1 + U2. Of an effort tau: -1 in the row of its joint
    S, T     (n, m), (n, n): d(dq)/dt = S dqd + T dq. S is the identity unless wheels roll without slip: then m < n
             velocities are left, and M, B, K, U have m rows; T is zero unless they do or a body with a quaternion moves
    F        (n, nz) dg/dz by the internal states z of force elements, z' = Zq dq + Zv dqd + Zz dz + Zu du
    Cq ... Cu        outputs dy = Cq dq + Cv dqd + Ca dqdd + Cz dz + Cu du
    Ud, Udd, Zud, Cud, Cudd   the same by the rates du' and du'' of inputs that are positions of driven joints, added
             to U du, Zu du and Cu du; zero for all others
    J, multipliers   constraint Jacobian (nc, nv) and lam (nc,), if loops were closed
    E        (nv, n) takes the increments dq to those of all joints, if loops were closed or joints are driven
    A, B_ss, C, D    the same as x' = A x + B_ss u, y = C x + D u with x = (dq, dqd, dz). With positions of driven
             joints among u, x is less (B1 + A B2) u + B2 u', where x' = A x + B0 u + B1 u' + B2 u'': then no rate of u
             is left in x'. Outputs keep theirs: y = C x + D u + D1 u' + D2 u''
    q0, qd0, qdd0, u0, z0, y0   the operating point; residual (nv,): M qdd0 + c - tau there
    coordinates      label of each increment dq; speeds: of each dqd; states, inputs, outputs: names in the state space
    notes            what to know about the operating point
    """

    M: np.ndarray
    B: np.ndarray
    K1: np.ndarray
    K2: np.ndarray
    U1: np.ndarray
    U2: np.ndarray
    S: np.ndarray
    T: np.ndarray
    F: np.ndarray
    Zq: np.ndarray
    Zv: np.ndarray
    Zz: np.ndarray
    Zu: np.ndarray
    Cq: np.ndarray
    Cv: np.ndarray
    Ca: np.ndarray
    Cz: np.ndarray
    Cu: np.ndarray
    coordinates: tuple[str, ...]
    speeds: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    internal: tuple[str, ...] = ()
    q0: np.ndarray = field(default_factory=lambda: np.zeros(0))
    qd0: np.ndarray = field(default_factory=lambda: np.zeros(0))
    qdd0: np.ndarray = field(default_factory=lambda: np.zeros(0))
    u0: np.ndarray = field(default_factory=lambda: np.zeros(0))
    z0: np.ndarray = field(default_factory=lambda: np.zeros(0))
    y0: np.ndarray = field(default_factory=lambda: np.zeros(0))
    residual: np.ndarray = field(default_factory=lambda: np.zeros(0))
    J: np.ndarray | None = None
    multipliers: np.ndarray | None = None
    E: np.ndarray | None = None
    model: str = ""
    notes: tuple[str, ...] = ()
    Ud: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    Udd: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    Zud: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    Cud: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    Cudd: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))

    def __post_init__(self) -> None:
        rows = {"Ud": self.U1, "Udd": self.U1, "Zud": self.Zu, "Cud": self.Cu, "Cudd": self.Cu}
        for name, like in rows.items():
            given = getattr(self, name)
            if given.shape != like.shape:
                if given.any():
                    raise ShapeError(f"{name} of a Linear has shape {given.shape}; expected {like.shape}.")
                object.__setattr__(self, name, np.zeros(like.shape))  # the record is frozen

    @property
    def K(self) -> np.ndarray:
        """(n, n) stiffness K1 + K2."""
        return self.K1 + self.K2

    @property
    def U(self) -> np.ndarray:
        """(n, nu) input matrix U1 + U2."""
        return self.U1 + self.U2

    @property
    def size(self) -> int:
        """Number n of increments dq."""
        return len(self.coordinates)

    @property
    def states(self) -> tuple[str, ...]:
        """Names of the states: q.<label>, qd.<label>, then those of force elements."""
        return (*(f"q.{n}" for n in self.coordinates), *(f"qd.{n}" for n in self.speeds), *self.internal)

    @cached_property
    def state_space(self) -> StateSpace:
        """x = (dq, dqd, dz): dq' = S dqd + T dq, dqdd = -M^-1 (K dq + B dqd + F dz + U du)."""
        n, m, nz = self.size, len(self.speeds), len(self.internal)
        right = np.hstack([self.K, self.B, self.F, self.U, self.Ud, self.Udd])
        solved = -_solved(self.M, right, self.model)
        accelerations, by_inputs = solved[:, : n + m + nz], np.split(solved[:, n + m + nz :], 3, axis=1)
        first = np.hstack([self.T, self.S, np.zeros((n, nz))])
        last = np.hstack([self.Zq, self.Zv, self.Zz])
        a = np.vstack([first, accelerations, last])
        none = np.zeros((n, len(self.inputs)))
        b = [np.vstack([none, x, z]) for x, z in zip(by_inputs, (self.Zu, self.Zud, 0 * self.Zu))]
        c = np.hstack([self.Cq, self.Cv, self.Cz]) + self.Ca @ accelerations
        d = [own + self.Ca @ x for own, x in zip((self.Cu, self.Cud, self.Cudd), by_inputs)]
        # x less shift u + b2 u': no rate of an input is left in its derivative
        shift = b[1] + a @ b[2]
        d1 = _without_rounding(d[1] + c @ b[2], np.abs(d[1]) + np.abs(c) @ np.abs(b[2]))
        d2 = _without_rounding(d[2], np.abs(self.Cudd) + np.abs(self.Ca) @ np.abs(by_inputs[2]))
        return StateSpace(
            a, b[0] + a @ shift, c, d[0] + c @ shift, self.states, self.inputs, self.outputs, None, d1, d2
        )

    @property
    def A(self) -> np.ndarray:
        """(nx, nx) state matrix."""
        return self.state_space.A

    @property
    def B_ss(self) -> np.ndarray:
        """(nx, nu) input matrix of the state space."""
        return self.state_space.B

    @property
    def C(self) -> np.ndarray:
        """(ny, nx) output matrix."""
        return self.state_space.C

    @property
    def D(self) -> np.ndarray:
        """(ny, nu) feedthrough."""
        return self.state_space.D

    @property
    def D1(self) -> np.ndarray:
        """(ny, nu) feedthrough of the rates of inputs; zero unless these are positions of driven joints."""
        return self.state_space.D1

    @property
    def D2(self) -> np.ndarray:
        """(ny, nu) feedthrough of their second rates."""
        return self.state_space.D2

    def replace(self, **changes: Any) -> Linear:
        """A copy with some fields changed."""
        return _replace(self, **changes)

    def _repr_html_(self) -> str:
        rows = [[name, *(f"{x:.4g}" for x in row)] for name, row in zip(self.states, self.A)]
        shown = f"A of {self.model}: dx' = A dx + B_ss du"
        return html_table(["", *self.states], rows, shown) + html_notes(self.notes)

    def __repr__(self) -> str:
        what = f"{self.size} increments, {len(self.internal)} internal states, {len(self.inputs)} inputs"
        return "\n".join([f"Linear model of {self.model}: {what}, {len(self.outputs)} outputs", *self.notes])


def _without_rounding(values: np.ndarray, terms: np.ndarray) -> np.ndarray:
    """Sums whose terms cancel but for rounding are zero."""
    return np.where(np.abs(values) > 1e-12 * terms, values, 0.0)


def _solved(mass: np.ndarray, right: np.ndarray, model: str) -> np.ndarray:
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    try:
        solved: np.ndarray = cho_solve(cho_factor(mass, lower=True), right) if len(mass) else right
    except LinAlgError:
        raise ModelError(
            f"the mass matrix of {model or 'this model'} is not positive definite here (smallest eigenvalue "
            f"{np.linalg.eigvalsh(mass).min():.3g}): some motion moves no mass. Give its bodies mass or inertia."
        ) from None
    return solved
