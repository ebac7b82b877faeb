"""Integration methods as tables: explicit Runge-Kutta methods and splitting methods. Data only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction as F

from symbody.basics.errors import DefinitionError, ShapeError
from symbody.motion.march import dop853 as dop

Row = tuple[float, ...]


@dataclass(frozen=True)
class RungeKutta:
    """k_i = f(t + c_i h, x + h sum_j a_ij k_j), i = 0 .. s-1;  x_new = x + h sum_i b_i k_i;  k_s = f(t + h, x_new).

    a, b, c     s rows (row i has i numbers), s weights, s nodes
    error       rows of s+1 weights: h sum_i e_i k_i estimates the error of x_new; two rows (order 5, order 3) are
                combined as in DOP853; none: fixed steps only
    error_order the step is changed by the (1/error_order)-th power of the error
    dense       rows P_i, one for each k: x(t + theta h) = x + h sum_i k_i sum_j P_ij theta^(j+1); none: not available
    dense_order the largest error of the continuous extension within one step is h^(dense_order + 1)
    extra_a,    rows and nodes of the stages s+1, s+2, ... that only the continuous extension needs
    extra_c
    about       what it is, for lists
    """

    name: str
    order: int
    a: tuple[Row, ...]
    b: Row
    c: Row
    error: tuple[Row, ...] = ()
    error_order: int = 0
    dense: tuple[Row, ...] = ()
    dense_order: int = 0
    extra_a: tuple[Row, ...] = ()
    extra_c: Row = ()
    about: str = ""

    @property
    def stages(self) -> int:
        return len(self.b)


@dataclass(frozen=True)
class Splitting:
    """Positions and all other states ("velocities") are advanced in turn: kicks change velocities, drifts positions.

    substeps    () is the semi-implicit Euler method: a kick over h at (x, v), then a drift over h with the new
                velocities. Else each number w is a velocity Verlet step over w h: half a kick, drift, half a kick.
    evaluations forces at the end of a Verlet step may depend on the velocities there, which the closing half kick
                changes: these are first predicted with the old forces, then corrected; so many evaluations in all.
                The last one serves the next step too.
    drift       order of the Runge-Kutta method for a drift x' = N(x, t) v at constant v; it is exact where x' = v.
    about       what it is, for lists
    """

    name: str
    order: int
    substeps: Row
    evaluations: int
    drift: int
    about: str = ""

    def spans(self) -> list[tuple[float, float, float]]:
        """(start, w, end) of the Verlet steps, as fractions of h; the last one ends at 1 exactly."""
        starts = [0.0]
        for w in self.substeps:
            starts.append(starts[-1] + w)
        starts[-1] = 1.0
        return [(a, w, b) for a, w, b in zip(starts, self.substeps, starts[1:])]


Method = RungeKutta | Splitting
CONSISTENT = 1e-12  # how far sums of a table may be off


def check_table(table: RungeKutta) -> None:
    """Refuse a Butcher table whose sizes do not fit, or that is not consistent: its order is for tests to measure."""
    s, owner = table.stages, f"the table of method {table.name!r}"
    sizes = [len(row) for row in table.a]
    if s < 1 or sizes != list(range(s)) or len(table.c) != s:
        raise ShapeError(
            f"{owner} has rows of {sizes} numbers in a, {s} weights and {len(table.c)} nodes; expected rows of "
            "0, 1, 2, ... numbers, as many as weights and nodes."
        )
    for i, (row, node) in enumerate(zip(table.a, table.c)):
        if abs(sum(row) - node) > CONSISTENT:
            raise DefinitionError(f"{owner} has node c[{i}] = {node}; expected {sum(row)}, the sum of row {i} of a.")
    if abs(sum(table.b) - 1) > CONSISTENT:
        raise DefinitionError(f"{owner} has weights whose sum is {sum(table.b)}; expected 1.")
    if any(len(row) != s + 1 or abs(sum(row)) > CONSISTENT for row in table.error):
        raise DefinitionError(f"{owner} has error weights {table.error}; expected {s + 1} in each row, of sum 0.")
    stages = s + 1 + len(table.extra_a)
    if table.error and (table.error_order < 1 or len(table.dense) != stages):
        raise DefinitionError(
            f"{owner} has an error estimate with error_order={table.error_order} and {len(table.dense)} rows of dense; "
            f"expected an order from 1 and {stages} rows: adaptive runs are sampled by the continuous extension."
        )


def _floats(rows: Sequence[Sequence[F | float | int]]) -> tuple[Row, ...]:
    return tuple(tuple(float(v) for v in row) for row in rows)


# Euler 1768
EULER = RungeKutta("euler", 1, a=((),), b=(1.0,), c=(0.0,), about="explicit Euler, order 1")
# Heun 1900: the explicit trapezoidal rule
HEUN = RungeKutta("heun", 2, a=((), (1.0,)), b=(0.5, 0.5), c=(0.0, 1.0), about="explicit trapezoidal rule, order 2")
# Kutta 1901
RK4 = RungeKutta(
    "rk4", 4, a=((), (0.5,), (0.0, 0.5), (0.0, 0.0, 1.0)), b=(1 / 6, 1 / 3, 1 / 3, 1 / 6), c=(0.0, 0.5, 0.5, 1.0),
    about="classical Runge-Kutta, order 4",
)  # fmt: skip
# Bogacki, Shampine 1989, Appl. Math. Lett. 2(4); cubic Hermite interpolation
BOGACKI_SHAMPINE = RungeKutta(
    "bogacki_shampine",
    3,
    a=((), (0.5,), (0.0, 0.75)),
    b=(2 / 9, 1 / 3, 4 / 9),
    c=(0.0, 0.5, 0.75),
    error=_floats([(F(2, 9) - F(7, 24), F(1, 3) - F(1, 4), F(4, 9) - F(1, 3), F(-1, 8))]),
    error_order=3,
    dense=_floats([(1, F(-4, 3), F(5, 9)), (0, 1, F(-2, 3)), (0, F(4, 3), F(-8, 9)), (0, -1, 1)]),
    dense_order=3,
    about="Runge-Kutta of order 3 with error estimate",
)


def _dopri5_dense() -> tuple[Row, ...]:
    """Weights of dopri5's continuous extension (contd5 in Hairer's dopri5.f) as polynomials in theta.

    x + theta (r2 + theta1 (r3 + theta (r4 + theta1 r5))), theta1 = 1 - theta; r2 = h sum b k, r3 = h k_0 - r2,
    r4 = r2 - h k_6 - r3, r5 = h sum d k.
    """
    b = [*_DOPRI5_B, F(0)]
    d = [
        F(-12715105075, 11282082432),
        F(0),
        F(87487479700, 32700410799),
        F(-10690763975, 1880347072),
        F(701980252875, 199316789632),
        F(-1453857185, 822651844),
        F(69997945, 29380423),
    ]
    rows = []
    for i in range(7):
        r2 = b[i]
        r3 = F(i == 0) - r2
        r4 = r2 - F(i == 6) - r3
        rows.append(_polynomial([r2, r3, r4, d[i]]))
    return _floats(rows)


def _polynomial(nested: Sequence[F]) -> list[F]:
    """Coefficients of theta, theta^2, ... of theta (r0 + theta1 (r1 + theta (r2 + theta1 (...)))), theta1 = 1-theta."""
    total = [F(0)]
    for i in reversed(range(len(nested))):
        total[0] += nested[i]
        up = [F(0), *total]
        # factors in front of level i: theta for even i, 1 - theta for odd i
        total = up if i % 2 == 0 else [a - b for a, b in zip([*total, F(0)], up)]
    return total[1:]


_DOPRI5_B = [F(35, 384), F(0), F(500, 1113), F(125, 192), F(-2187, 6784), F(11, 84)]
# Dormand, Prince 1980, J. Comp. Appl. Math. 6; continuous extension: Hairer, Norsett, Wanner I, section II.6
DOPRI5 = RungeKutta(
    "dopri5",
    5,
    a=_floats(
        [
            (),
            (F(1, 5),),
            (F(3, 40), F(9, 40)),
            (F(44, 45), F(-56, 15), F(32, 9)),
            (F(19372, 6561), F(-25360, 2187), F(64448, 6561), F(-212, 729)),
            (F(9017, 3168), F(-355, 33), F(46732, 5247), F(49, 176), F(-5103, 18656)),
        ]
    ),
    b=_floats([_DOPRI5_B])[0],
    c=(0.0, 0.2, 0.3, 0.8, 8 / 9, 1.0),
    error=_floats([(F(71, 57600), 0, F(-71, 16695), F(71, 1920), F(-17253, 339200), F(22, 525), F(-1, 40))]),
    error_order=5,
    dense=_dopri5_dense(),
    dense_order=4,
    about="Dormand-Prince, order 5",
)


def _dop853_dense() -> tuple[Row, ...]:
    """Weights of contd8 of Hairer's dop853.f: the same nesting as dopri5, with seven terms (four from the table D)."""
    b = [*(F(v) for v in dop.A[12]), F(0), F(0), F(0), F(0)]
    rows = []
    for i in range(16):
        r0 = b[i]
        r1 = F(i == 0) - r0
        r2 = 2 * r0 - F(i == 0) - F(i == 12)
        rows.append(_polynomial([r0, r1, r2, *(F(d[i]) for d in dop.D)]))
    return _floats(rows)


# Prince, Dormand 1981, as DOP853 in Hairer, Norsett, Wanner I, section II.5 and II.6
DOP853 = RungeKutta(
    "dopri8",
    8,
    a=dop.A[:12],
    b=dop.A[12],
    c=dop.C[:12],
    error=(dop.E5, dop.E3),
    error_order=8,
    dense=_dop853_dense(),
    dense_order=7,
    extra_a=dop.A[13:],
    extra_c=dop.C[13:],
    about="Dormand-Prince, order 8",
)

_W1 = 1 / (2 - 2 ** (1 / 3))
SEMI_IMPLICIT_EULER = Splitting("semi_implicit_euler", 1, (), 1, 1, "velocities first, order 1")
# Verlet 1967, in the velocity form of Swope et al. 1982
VERLET = Splitting("verlet", 2, (1.0,), 1, 2, "velocity Verlet, order 2, symplectic where forces depend on positions")
# Forest, Ruth 1990; Yoshida 1990, Phys. Lett. A 150: three Verlet steps
SYMPLECTIC4 = Splitting("symplectic4", 4, (_W1, 1 - 2 * _W1, _W1), 3, 4, "three Verlet steps, order 4")

# the tables that the native march runs, in the order of lists; `methods/methods.py` makes a method of each
TABLES: tuple[Method, ...] = (
    EULER, SEMI_IMPLICIT_EULER, HEUN, RK4, VERLET, SYMPLECTIC4, BOGACKI_SHAMPINE, DOPRI5, DOP853,
)  # fmt: skip
METHODS: dict[str, Method] = {table.name: table for table in TABLES}
