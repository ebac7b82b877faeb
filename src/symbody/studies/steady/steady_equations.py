"""SteadyEquations: the equations of a steady state of a Mechanism with all their derivatives, in numbers, by name.

    M qdd + c - tau - J^T lam = 0      h = 0      J qd + ht = 0      J qdd + bias = 0      z' = 0      y

Equilibria and trims choose rows and columns of it. Derivatives are generated ones (`linear_equations`), by tangent
increments of q.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from symbody.basics.errors import ModelError, NameLookupError, nearest
from symbody.mechanics.memoised.kernels import quick_kernel
from symbody.mechanics.memoised.model_memory import derived_of
from symbody.mechanics.verbs.coincident_links import UNKNOWN, coincident_links
from symbody.model.record.coordinates import retract
from symbody.model.record.mechanism import Mechanism
from symbody.model.record.parameter_values import given_numbers
from symbody.studies.linear.linear_equations import LinearEquations, linear_equations
from symbody.studies.linear.operating_point import coordinates, driven_motion, effort_names, split_inputs, velocities

STANDARD = ("q", "qd", "qdd", "tau", "t", "multipliers")  # inputs that every mechanism has


@dataclass(frozen=True, eq=False)
class SteadyPoint:
    """A point at which SteadyEquations are evaluated; q (nq,), the others by velocity, input, internal state, row."""

    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    tau: np.ndarray
    further: np.ndarray  # inputs besides tau, component by component
    z: np.ndarray  # internal states of force elements
    vary: np.ndarray  # parameters that may be unknown
    lam: np.ndarray
    t: float = 0.0
    modes: tuple[float, ...] = ()  # of force elements; they are held


@dataclass(frozen=True, eq=False)
class Value:
    """Residuals (rows,) and derivatives (rows, columns); `found` holds the matrices that they were made of."""

    residual: np.ndarray
    jacobian: np.ndarray
    outputs: Mapping[str, np.ndarray]


class SteadyEquations:
    """The compiled equations. Rows and columns have names: force.<label>, loop rows, ...; q.<label>, tau.<label> ..."""

    def __init__(
        self,
        mech: Mechanism,
        parameters: Mapping[str, Any] | None = None,
        outputs: Sequence[str] = (),
        vary: Sequence[str] = (),
        loops: Any = "closed",
    ) -> None:
        self.mech = mech
        self.parameters = given_numbers(mech, parameters)
        self.vary = tuple(vary)
        self.equations, self._kernel = _compiled(mech, tuple(outputs), self.vary, loops)
        eq = self.equations
        self.further = tuple(eq.inputs[len(eq.actuated) : len(eq.inputs) - len(vary)])
        self.rolling = np.array(eq.rolling, dtype=bool)
        labels, m = eq.labels, len(eq.rows)
        self.row_names = (
            *labels, *eq.rows, *(f"rate of {r}" for r in eq.rows), *(f"second rate of {r}" for r in eq.rows),
            *(f"rate of {z}" for z in eq.internal), *eq.outputs,
        )  # fmt: skip
        self.rows = _spans(
            ("force", "h", "velocity", "acceleration", "z", "y"), (mech.nv, m, m, m, len(eq.internal), len(eq.outputs))
        )
        self.column_names = (
            *(f"{k}.{n}" for k in ("q", "qd", "qdd", "tau") for n in labels),
            *self.further,
            *eq.internal,
            *self.vary,
            *(f"lam.{r}" for r in eq.rows),
        )
        self.columns = _spans(
            ("q", "qd", "qdd", "tau", "further", "z", "vary", "lam"),
            (mech.nv,) * 4 + (len(self.further), len(eq.internal), len(self.vary), m),
        )

    # -- points

    def state(
        self, q0: Any, qd0: Any, qdd0: Any, inputs: Mapping[str, Any] | None, states: Mapping[str, Any] | None
    ) -> SteadyPoint:
        """A SteadyPoint from what users give; driven joints stand as their laws say at inputs["t"]."""
        mech, eq = self.mech, self.equations
        given = dict(inputs or {})
        t = float(given.pop("t", 0.0))
        prescribed = driven_motion(mech, t, self.parameters)
        held = np.zeros(mech.nv, dtype=bool)
        held[list(eq.driven)] = True
        parts = {n.partition(".")[2]: given.pop(n) for n in list(given) if n.startswith("tau.")}
        tau = velocities(mech, "tau", given.pop("tau", None), np.zeros(mech.nv))
        tau = velocities(mech, "tau", parts, tau)
        arrays = {n: a for n, a in eq.system.inputs.items() if n not in (*STANDARD, *eq.internal, *eq.modes)}
        own = split_inputs(given, arrays, "input", mech.name, effort_names(mech))
        places_of = {n: np.zeros(()) for n in (*eq.internal, *eq.modes)}
        inner = split_inputs({**eq.starts, **(states or {})}, places_of, "internal state", mech.name)
        q = coordinates(mech, q0, prescribed[0], self.parameters)
        for p in mech.slots:
            if p.mode == "driven":
                q[p.iq : p.iq + p.nq] = prescribed[0][p.iq : p.iq + p.nq]
        defaults = {n: s.data.default for n, s in mech.parameters.items()}
        return SteadyPoint(
            q,
            np.where(held, prescribed[1], velocities(mech, "qd0", qd0, prescribed[1], self.parameters)),
            np.where(held, prescribed[2], velocities(mech, "qdd0", qdd0, prescribed[2])),
            tau,
            np.concatenate([np.ravel(own[n]) for n in arrays] or [np.zeros(0)]),
            np.array([float(inner[n]) for n in eq.internal]),
            np.array([float(self.parameters.get(n, defaults[n])) for n in self.vary]),
            np.zeros(len(eq.rows)),
            t,
            tuple(float(inner[n]) for n in eq.modes),
        )

    def moved(self, state: SteadyPoint, step: np.ndarray) -> SteadyPoint:
        """The SteadyPoint after an increment of all columns."""
        c = self.columns
        return replace(
            state,
            q=retract(self.mech, state.q, step[c["q"]]),
            **{name: getattr(state, name) + step[c[name]] for name in c if name != "q"},
        )

    def inner(self, state: SteadyPoint) -> dict[str, float]:
        """States and modes of force elements, by name."""
        return {**dict(zip(self.equations.internal, state.z.tolist())), **dict(zip(self.equations.modes, state.modes))}

    def numbers(self, state: SteadyPoint) -> dict[str, float]:
        """Inputs besides tau, by name."""
        return dict(zip(self.further, state.further.tolist()))

    # -- values

    def at(self, state: SteadyPoint) -> Value:
        """Residuals and derivatives; ModelError names what is not finite."""
        found = self.evaluate(state)
        n, m, nz = self.mech.nv, len(self.equations.rows), len(self.equations.internal)
        shapes = self.equations.shapes
        x = {name: found.get(name, np.zeros(shape)) for name, shape in shapes.items()}
        na = len(self.equations.actuated)
        nf, mass = len(self.further), x["M"]
        by_input = x["U1"] + x["U2"]
        rows, columns = self.rows, self.columns
        r = np.zeros(len(self.row_names))
        d = np.zeros((len(self.row_names), len(self.column_names)))

        def put(row: str, **blocks: np.ndarray) -> None:
            for name, block in blocks.items():
                d[rows[row], columns[name]] = block

        r[rows["force"]] = mass @ state.qdd + found.get("c", np.zeros(n)) - state.tau
        put("force", q=x["K1"] + x["K2"], qd=x["B"], qdd=mass, tau=-np.eye(n), z=x["F"],
            further=by_input[:, na : na + nf], vary=by_input[:, na + nf :])  # fmt: skip
        if m:
            jacobian = found["J"]
            r[rows["force"]] -= jacobian.T @ state.lam
            d[rows["force"], columns["q"]] -= found["G"]
            put("force", lam=-jacobian.T)
            r[rows["h"]], r[rows["velocity"]] = found["h"], found["velocity"]
            r[rows["acceleration"]] = found["acceleration"]
            put("h", q=np.where(self.rolling[:, None], 0.0, jacobian))
            put("velocity", q=found["velocity_q"], qd=jacobian)
            put("acceleration", q=found["acceleration_q"], qd=found["acceleration_v"], qdd=jacobian)
        if nz:
            r[rows["z"]] = found["z_dot"]
            put("z", q=x["Zq"], qd=x["Zv"], z=x["Zz"], further=x["Zu"][:, na : na + nf], vary=x["Zu"][:, na + nf :])
        if self.equations.outputs:
            r[rows["y"]] = found["y"]
            put(
                "y",
                q=x["Cq"],
                qd=x["Cv"],
                qdd=x["Ca"],
                z=x["Cz"],
                further=x["Cu"][:, na : na + nf],
                vary=x["Cu"][:, na + nf :],
            )
            for i, k in enumerate(self.equations.actuated):
                d[rows["y"], columns["tau"].start + k] = x["Cu"][:, i]
        return Value(r, d, {**x, **found})

    def evaluate(self, state: SteadyPoint) -> dict[str, np.ndarray]:
        """The matrices of `linear_equations` at a SteadyPoint."""
        eq, at = self.equations, 0
        arguments: dict[str, Any] = {
            "q": state.q, "qd": state.qd, "qdd": state.qdd, "tau": state.tau, "t": np.array(state.t),
            "multipliers": state.lam, **dict(zip(eq.internal, state.z)), **dict(zip(eq.modes, state.modes)),
        }  # fmt: skip
        for name, array in eq.system.inputs.items():
            if name not in arguments:
                arguments[name] = state.further[at : at + array.size].reshape(array.shape)
                at += array.size
        values = {**self.parameters, **dict(zip(self.vary, state.vary))}
        made = self._kernel(
            **{n: np.asarray(arguments[n], dtype=float) for n in eq.system.inputs},
            parameters={n: v for n, v in values.items() if n in eq.system.parameters},
        )
        results = [made] if len(eq.system.outputs) == 1 else list(made)
        return {name: np.asarray(x) for name, x in zip(eq.system.outputs, results, strict=True)}

    # -- names

    def find(self, name: str) -> list[int]:
        """Columns that a name means: q.<joint>, qd. qdd. tau., a bare joint (its q), an input, state or parameter."""
        if name in self.column_names:
            return [self.column_names.index(name)]
        head, _, rest = name.partition(".")
        stem = f"{head}.{rest}." if head in ("q", "qd", "qdd", "tau") and rest else f"q.{name}."
        several = [k for k, c in enumerate(self.column_names) if c.startswith(stem) and c[len(stem) :].isdigit()]
        if several:
            return several
        if head in ("q", "qd", "qdd", "tau") and not rest:
            span = self.columns[head]
            return list(range(span.start, span.stop))
        if f"q.{name}" in self.column_names:
            return [self.column_names.index(f"q.{name}")]
        if name in self.further or any(c.startswith(f"{name}.") for c in self.further):
            first = self.columns["further"].start
            return [first + k for k, c in enumerate(self.further) if c.startswith(f"{name}.")]
        raise NameLookupError(f"{self.mech.name} has no unknown {name!r}. {nearest(name, self.column_names)}")

    def velocity_places(self, names: Iterable[str], what: str) -> list[int]:
        """Velocities of joints, or of single labels <joint>.2."""
        out: list[int] = []
        index = {p.owner: range(p.iv, p.iv + p.nv) for p in self.mech.slots}
        index |= {label: range(k, k + 1) for k, label in enumerate(self.equations.labels)}
        for name in [names] if isinstance(names, str) else names:
            if name not in index:
                raise NameLookupError(f"{what} of {self.mech.name} names {name!r}. {nearest(str(name), index)}")
            out += [k for k in index[name] if k not in out]
        return out


def _compiled(
    mech: Mechanism, outputs: tuple[str, ...], vary: tuple[str, ...], loops: Any
) -> tuple[LinearEquations, Any]:
    """Equations and their Kernel, made once for a Mechanism, which never changes."""
    key = (outputs, vary, loops if isinstance(loops, str) else tuple(loops))
    equations = derived_of(mech).get("linear_equations", key, lambda: linear_equations(mech, outputs, vary, loops))
    return equations, quick_kernel(equations.system)


def _spans(names: Sequence[str], sizes: Sequence[int]) -> dict[str, slice]:
    ends = np.cumsum(sizes)
    return {n: slice(int(e) - s, int(e)) for n, s, e in zip(names, sizes, ends, strict=True)}


def check_finite(balance: SteadyEquations, value: Value, state: SteadyPoint) -> None:
    """Refuse a starting point where the equations have no value."""
    wrong = ~np.isfinite(value.residual) | ~np.isfinite(value.jacobian).all(axis=1)
    if wrong.any():
        names = ", ".join(np.array(balance.row_names)[wrong][:4])
        why = coincident_links(balance.mech, state.q, balance.parameters, state.t) or UNKNOWN
        raise ModelError(
            f"the equations of {balance.mech.name} are not finite at the starting point: {names}. {why}; start "
            "elsewhere."
        )
