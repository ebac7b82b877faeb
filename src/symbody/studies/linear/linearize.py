"""sb.linearize: a Mechanism about an operating point (SYMOFROS 2.2.3 and 3.3.2, by tangent increments).

The matrices are generated derivatives of the equations of motion (`linear_equations.py`), evaluated at the point; no
differences of programs are taken. Closed loops are reduced there, by the partition of the point (`reduction.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, overload

import numpy as np

from symbody.basics.arguments import declared
from symbody.basics.errors import ModelError, SolveError, SymbodyError, argument, record_argument, word_argument
from symbody.mechanics.assembly.assembly import assemble_keeping
from symbody.mechanics.assembly.constraints import Constraints
from symbody.mechanics.formalisms.solve_accelerations import check_motors
from symbody.mechanics.loops.partition.singular import say_singular, say_unsolved
from symbody.mechanics.memoised.kernels import quick_kernel
from symbody.mechanics.memoised.model_memory import derived_of
from symbody.mechanics.verbs.coincident_links import UNKNOWN, coincident_links
from symbody.model.record.coordinates import retract, transport
from symbody.model.record.followers import following
from symbody.model.record.keyframes import named_state
from symbody.model.record.mechanism import Mechanism
from symbody.model.record.parameter_values import given_numbers
from symbody.studies.linear.linear import Linear
from symbody.studies.linear.linear_equations import linear_equations, with_state_space
from symbody.studies.linear.operating_point import (
    coordinates,
    driven_motion,
    effort_names,
    named_joints,
    named_velocities,
    split_inputs,
    velocities,
)
from symbody.studies.linear.reduction import LinearClosure, constrained, is_well_placed, without_driven
from symbody.studies.linear.state_space import indices
from symbody.symbolic.lower.optimize import optimize_system
from symbody.symbolic.system.system import System

_STANDARD = ("q", "qd", "qdd", "tau", "t", "multipliers")  # inputs that every linear model has
DRIVEN = ("held", "input", "parts")
MOST_ITERATIONS = 60  # of closing loops
OPEN = 1e-9  # rad, m: residuals and changes below it need no note
SMALL = 1e-8  # relative: below it efforts and accelerations count as zero in notes


@overload
def linearize(
    mech: Mechanism, q0: Any = None, qd0: Any = None, qdd0: Any = None, inputs: Mapping[str, Any] | None = None,
    outputs: Any = None, parameters: Mapping[str, Any] | None = None, *, states: Mapping[str, Any] | None = None,
    vary: Sequence[str] = (), driven: str = "held", loops: Any = "closed", independent: Sequence[str] | None = None,
    symbolic: Literal[False] = False,
) -> Linear: ...  # fmt: skip
@overload
def linearize(
    mech: Mechanism, q0: Any = None, qd0: Any = None, qdd0: Any = None, inputs: Mapping[str, Any] | None = None,
    outputs: Any = None, parameters: Mapping[str, Any] | None = None, *, states: Mapping[str, Any] | None = None,
    vary: Sequence[str] = (), driven: str = "held", loops: Any = "closed", independent: Sequence[str] | None = None,
    symbolic: Literal[True],
) -> System: ...  # fmt: skip
@declared
def linearize(
    mech: Mechanism,
    q0: Any = None,
    qd0: Any = None,
    qdd0: Any = None,
    inputs: Mapping[str, Any] | None = None,
    outputs: str | Iterable[Any] | None = None,
    parameters: Mapping[str, Any] | None = None,
    *,
    states: Mapping[str, Any] | None = None,
    vary: Sequence[str] = (),
    driven: str = "held",
    loops: str | Iterable[str] = "closed",
    independent: Sequence[str] | None = None,
    symbolic: bool = False,
) -> Linear | System:
    """The Linear model K dq + B dqd + M dqdd + U du = 0 about an operating point; with `symbolic` a System of it.

    q0, qd0      (nq,), (nv,), or {joint: numbers}; zero (and unit quaternions) where nothing is given; driven joints
                 follow their laws at the time inputs["t"]
    qdd0         (nv,); if it is not given, what the equations of motion give at the point
    inputs       operating values: {"tau": (nv,) or {joint: effort}, "u_<name>": ..., "t": s}. If qdd0 is given and tau
                 is not, the efforts are those that the motion needs
    outputs      texts, see `linear_outputs`: "q", "p.<sensor>", "<element>_F", expressions; None: q and qd
    parameters   values in place of the defaults
    states       values of internal states of force elements in place of their initial ones, and of their modes, which
                 are held: the linear model is that of the motion between events
    vary         parameters that count as inputs too, after all others
    driven       what becomes of driven joints: "held" (they follow their laws), "input" (the position of each is one
                 input, q.<label>, whose rates act too), or "parts" (q, qd, qdd of each as if they were three inputs)
    loops        which cuts and couplings act: "closed" (all), "permanent" (those that are never switched), "open"
                 (none: the equations of the tree), or their names. They are closed from q0 and qd0 as in `simulate`:
                 joints that are named keep their values where that is possible. inputs may say it of switched ones:
                 {"s_<loop>": 1 or 0}
    independent  labels of the increments that are kept where loops are closed; None: those of the other verbs, or
                 others by pivoting where these are badly placed
    """
    record_argument("linearize", mech, Mechanism, "a Mechanism, as sb.load(name_or_path) gives")
    inputs, loops = _switched(mech, inputs, loops)
    if vary:  # what follows a parameter changes with it
        mech = following(mech, {*vary, *(parameters or {})})
    model = Linearizer(mech, outputs, vary, driven, loops, independent)
    return model.symbolic() if symbolic else model.at(q0, qd0, qdd0, inputs, parameters, states)


def _switched(mech: Mechanism, inputs: Mapping[str, Any] | None, loops: Any) -> tuple[Mapping[str, Any] | None, Any]:
    """Inputs without the switches of loops, and the loops that are closed then."""
    pieces: tuple[Any, ...] = (*mech.cuts, *mech.couplings)
    named = {f"s_{p.name}": p.name for p in pieces if p.switched}
    given = {named[n]: v for n, v in (inputs or {}).items() if n in named}
    if not given:
        return inputs, loops
    for name, value in given.items():
        if np.ndim(value) or float(value) not in (0.0, 1.0):
            raise ModelError(f"input 's_{name}' is {value!r}; expected 1 (the loop is closed) or 0 (open).")
    if loops != "closed":
        told = f" and inputs both say whether {', '.join(given)} is closed; leave one out."
        raise ModelError(argument("loops", loops), told)
    rest = {n: v for n, v in (inputs or {}).items() if n not in named}
    return rest, [p.name for p in pieces if given.get(p.name, 1)]


class Linearizer:
    """Differentiated and compiled equations of a Mechanism, for any number of operating points."""

    def __init__(
        self,
        mech: Mechanism,
        outputs: Any = None,
        vary: Sequence[str] = (),
        driven: str = "held",
        loops: Any = "closed",
        independent: Sequence[str] | None = None,
    ) -> None:
        word_argument("driven", driven, DRIVEN, error=ModelError)
        self.mech, self.driven = mech, driven
        self.equations = linear_equations(mech, outputs, vary, loops)
        self.vary = tuple(vary)
        labels = self.equations.labels
        self.independent = None if independent is None else indices(independent, labels, "increment")
        self.held = np.isin(np.arange(mech.nv), self.equations.driven)
        self._kernel: Any = None
        self._constraints: Constraints | None = None

    def symbolic(self) -> System:
        """M, B, K1, K2, K, U1, U2, U and A, B_ss, C, D (increments of q by tangents) as a System."""
        if self.equations.rows:
            raise ModelError(
                f"{self.mech.name} has closed loops, whose reduction is numeric; ask for loops='open', or for numbers."
            )
        if self.driven != "held" and self.equations.driven:
            raise ModelError(
                f"symbolic matrices of {self.mech.name} hold its driven joints; driven={self.driven!r} is not offered. "
                "Ask for numbers, or leave driven out."
            )
        return optimize_system(with_state_space(self.mech, self.equations), "standard")

    def at(
        self,
        q0: Any = None,
        qd0: Any = None,
        qdd0: Any = None,
        inputs: Mapping[str, Any] | None = None,
        parameters: Mapping[str, Any] | None = None,
        states: Mapping[str, Any] | None = None,
    ) -> Linear:
        """The Linear at one operating point; arguments as in `linearize`."""
        mech, eq = self.mech, self.equations
        q0, qd0 = (named_state(mech, given, n, parameters) for n, given in (("q", q0), ("qd", qd0)))
        values = self._parameters(parameters)
        given = dict(inputs or {})
        t = float(given.pop("t", 0.0))
        prescribed = driven_motion(mech, t, values)
        q = coordinates(mech, q0, prescribed[0])
        qd = velocities(mech, "qd0", qd0, prescribed[1])
        tau, given = self._efforts(given)
        arguments: dict[str, Any] = {"q": q, "qd": qd, "qdd": np.zeros(mech.nv), "tau": np.zeros(mech.nv), "t": t}
        arguments["multipliers"] = np.zeros(len(eq.rows))
        own = [n for n in eq.system.inputs if n not in (*arguments, *eq.internal, *eq.modes)]
        arguments |= split_inputs(given, {n: eq.system.inputs[n] for n in own}, "input", mech.name, effort_names(mech))
        inner = {n: eq.system.inputs[n] for n in (*eq.internal, *eq.modes) if n in eq.system.inputs}
        arguments |= split_inputs({**eq.starts, **(states or {})}, inner, "internal state", mech.name)
        notes = self._close(arguments, values, q0, qd0) if eq.rows else []
        if eq.rows:
            self._check_position(arguments, values)
        found = self._evaluate(arguments, values)
        if qdd0 is None:
            arguments["tau"] = np.zeros(mech.nv) if tau is None else tau
            arguments["qdd"], arguments["multipliers"] = self._accelerations(found, arguments["tau"], prescribed[2])
        else:
            qdd = velocities(mech, "qdd0", qdd0, prescribed[2])
            arguments |= {"qdd": qdd, **self._balance(found, qdd, tau)}
        found = self._evaluate(arguments, values)
        return self._linear(found, arguments, values, notes)

    # -- parts

    def _linear(
        self, found: dict[str, np.ndarray], arguments: dict[str, Any], values: dict[str, Any], notes: list[str]
    ) -> Linear:
        mech, eq = self.mech, self.equations
        matrices: dict[str, Any] = {name: found.get(name, np.zeros(shape)) for name, shape in eq.shapes.items()}
        q, qd, qdd, tau = (arguments[name] for name in ("q", "qd", "qdd", "tau"))
        residual = found["M"] @ qdd + found["c"] - tau if mech.nv else np.zeros(0)
        if eq.rows:
            residual = residual - found["J"].T @ arguments["multipliers"]
        u0 = [*tau[list(eq.actuated)]]
        u0 += [
            x
            for name in eq.system.inputs
            if name in arguments and name not in (*_STANDARD, *eq.internal, *eq.modes)
            for x in np.ravel(arguments[name])
        ]
        u0 += [float(values.get(name, mech.parameters[name].data.default)) for name in self.vary]
        linear = Linear(
            **matrices,
            S=np.eye(mech.nv),
            T=transport(mech, qd),
            coordinates=eq.labels,
            speeds=eq.labels,
            inputs=eq.inputs,
            outputs=eq.outputs,
            internal=eq.internal,
            q0=q,
            qd0=qd,
            qdd0=qdd,
            u0=np.array(u0),
            z0=np.array([float(arguments.get(name, 0.0)) for name in eq.internal]),
            y0=found.get("y", np.zeros(0)),
            residual=residual,
            model=mech.name,
        )
        linear = linear.replace(notes=(*notes, *self._notes(linear, found)))
        if eq.rows:
            closure = LinearClosure(
                found["J"],
                arguments["multipliers"],
                found["G"],
                found["velocity_q"],
                found["acceleration_q"],
                found["acceleration_v"],
                self._independent(found["J"]),
                eq.driven,
                np.array(eq.rolling),
            )
            linear = constrained(linear, closure)
        first = {p.iv + k: p.iq + k for p in mech.slots if p.plain for k in range(p.nv)}
        at = [q[first[k]] if k in first else 0.0 for k in eq.driven]
        motion = (np.array(at), qd[list(eq.driven)], qdd[list(eq.driven)])
        return without_driven(linear, [eq.labels[k] for k in eq.driven], motion, self.driven)

    def _check_position(self, arguments: Mapping[str, Any], values: Mapping[str, Any]) -> None:
        """No linear model exists where branches of motion meet, nor by increments that determine no others."""
        mech, q, t = self.mech, arguments["q"], float(arguments["t"])
        found = self._closed_constraints()
        numbers = {n: float(v) for n, v in values.items()}
        lost = say_singular(found, q, numbers, t)
        if lost:
            raise ModelError(
                f"{mech.name} has no linear model at a singular position: {lost} Give q0 of another position."
            )
        unsolved = say_unsolved(found, self.independent, q, numbers, t) if self.independent is not None else ""
        if unsolved:
            kept = ", ".join(self.equations.labels[k] for k in self.independent or ())
            raise ModelError(
                f"{mech.name} has no linear model by the independent increments {kept} here: {unsolved}. Name other "
                "increments as independent, or leave the choice open."
            )

    def _closed_constraints(self) -> Constraints:
        """Those of the cuts and couplings that are closed."""
        if self._constraints is None:
            self._constraints = derived_of(self.mech).constraints()
        rows = self._constraints.rows
        return self._constraints.select([i for i, row in enumerate(rows) if row.loop in self.equations.loops])

    def _independent(self, J: np.ndarray) -> Sequence[int] | None:
        """Velocities that are kept: those named, else those of the other verbs if they fit here, else None."""
        if self.independent is not None or any(self.equations.rolling):
            return self.independent
        try:
            usual = derived_of(self.mech).partition().independent
        except SymbodyError:
            return None
        return usual if is_well_placed(J, usual) else None

    def _close(self, arguments: dict[str, Any], values: dict[str, Any], q0: Any, qd0: Any) -> list[str]:
        """Move q and qd to a closed state; driven joints stay, and if possible those that q0 and qd0 name."""
        before, notes = np.array(arguments["q"]), []
        fixed = self._assembled(arguments, values, q0) if self._gap(arguments, values) > OPEN else self.held
        # what binds velocities alone does not bind q
        fixed = fixed | np.array(self.equations.rolling)[:, None]
        for _ in range(MOST_ITERATIONS):
            found = self._evaluate(arguments, values)
            step = -np.linalg.pinv(np.where(fixed, 0.0, found["J"])) @ found["h"]
            arguments["q"] = retract(self.mech, arguments["q"], step)
            if np.abs(step).max() <= 1e-13 * (1 + np.abs(arguments["q"]).max()):
                break
        moved = np.abs(arguments["q"] - before)
        kept = np.full(len(moved), q0 is not None and not isinstance(q0, Mapping))
        for p in named_joints(self.mech, q0):
            kept[p.iq : p.iq + p.nq] = True
        if moved[kept].max(initial=0.0) > OPEN:
            notes.append(f"q0 was moved by up to {moved[kept].max():.3g} to close the loops.")
        return notes + self._close_velocities(self._evaluate(arguments, values), arguments, qd0)

    def _gap(self, arguments: Mapping[str, Any], values: Mapping[str, Any]) -> float:
        """The largest residual of the loops."""
        return float(np.abs(self._evaluate(arguments, values)["h"]).max())

    def _assembled(self, arguments: dict[str, Any], values: dict[str, Any], q0: Any) -> np.ndarray:
        """Assemble q as a simulation does; (nv,) velocities along which it was not moved."""
        mech = self.mech
        if self._constraints is None:
            self._constraints = derived_of(mech).constraints()
        joints, fixed = [], self.held.copy()
        for p in named_joints(mech, q0):
            joints.append(p.owner)
            fixed[p.iv : p.iv + p.nv] = True
        numbers = {n: float(v) for n, v in values.items()}
        options: dict[str, Any] = dict(time=arguments["t"], loops=self.equations.loops)
        try:
            arguments["q"], kept = assemble_keeping(self._constraints, arguments["q"], joints, numbers, **options)
        except SolveError as error:
            raise ModelError(f"the loops of {mech.name} do not close near q0. {error}") from None
        return fixed if kept else self.held

    def _close_velocities(self, found: Mapping[str, np.ndarray], arguments: dict[str, Any], qd0: Any) -> list[str]:
        """Least changes of qd that keep the loops closed, of components that qd0 does not name if they suffice."""
        J, rate = found["J"], found["velocity"]
        kept = self.held | named_velocities(self.mech, qd0)
        left = np.linalg.pinv(np.where(kept, 0.0, J)) @ rate
        if np.abs(rate - J @ left).max() > OPEN * (1 + np.abs(rate).max()):
            left = np.linalg.pinv(np.where(self.held, 0.0, J)) @ rate
        arguments["qd"] = arguments["qd"] - left
        if np.abs(left).max() <= OPEN:
            return []
        return [f"qd0 was changed by up to {np.abs(left).max():.3g} to keep the loops closed."]

    def _efforts(self, given: dict[str, Any]) -> tuple[np.ndarray | None, dict[str, Any]]:
        """(tau (nv,) or None, the other inputs)."""
        parts = {n.partition(".")[2]: given.pop(n) for n in list(given) if n.startswith("tau.")}
        whole = given.pop("tau", None)
        if whole is None and not parts:
            return None, given
        tau = velocities(self.mech, "tau", whole, np.zeros(self.mech.nv))
        return velocities(self.mech, "tau", parts, tau), given

    def _parameters(self, given: Mapping[str, Any] | None) -> dict[str, Any]:
        return dict(given_numbers(self.mech, given))

    def _evaluate(self, arguments: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, np.ndarray]:
        system = self.equations.system
        if self._kernel is None:
            # evaluated a few times: code that is quick to make, for one state at a time
            self._kernel = quick_kernel(system)
        chosen = {n: np.asarray(arguments[n], dtype=float) for n in system.inputs}
        made = self._kernel(**chosen, parameters={n: v for n, v in values.items() if n in system.parameters})
        results = [made] if len(system.outputs) == 1 else list(made)
        found = {name: np.asarray(x) for name, x in zip(system.outputs, results, strict=True)}
        wrong = [name for name, x in found.items() if not np.all(np.isfinite(x))]
        if wrong:
            why = coincident_links(self.mech, arguments["q"], values, arguments["t"]) or UNKNOWN
            raise ModelError(
                f"the linear model of {self.mech.name} is not finite at this operating point: {', '.join(wrong)}. "
                f"{why}; move the point."
            )
        return found

    def _accelerations(
        self, found: Mapping[str, np.ndarray], tau: np.ndarray, prescribed: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """(qdd, lam) of M qdd + c = tau + J^T lam with closed loops; driven joints accelerate as prescribed."""
        n, m = len(tau), len(self.equations.rows)
        qdd = np.where(self.held, prescribed, 0.0)
        free = np.flatnonzero(~self.held)
        right = (tau - found["c"] - found["M"] @ qdd)[free]
        mass = found["M"][np.ix_(free, free)]
        if not m:
            if len(free):
                if np.linalg.cond(mass) > 1e15:
                    check_motors(self.mech)
                    raise ModelError(
                        f"the mass matrix of {self.mech.name} is singular at this operating point: some motion moves "
                        "no mass. Give its bodies mass or inertia, or give qdd0."
                    )
                qdd[free] = np.linalg.solve(mass, right)
            return qdd, np.zeros(0)
        J = found["J"][:, free]
        # the second rates at qdd = 0 are the bias
        matrix = np.block([[mass, -J.T], [J, np.zeros((m, m))]])
        solved = np.linalg.lstsq(
            matrix, np.concatenate([right, -found["acceleration"] - found["J"] @ qdd]), rcond=1e-13
        )[0]
        qdd[free] = solved[: len(free)]
        return qdd, solved[n - int(self.held.sum()) :]

    def _balance(
        self, found: Mapping[str, np.ndarray], qdd: np.ndarray, tau: np.ndarray | None
    ) -> dict[str, np.ndarray]:
        """tau (if none was given: the least efforts of the motors) and lam that the motion needs."""
        needed, m = found["M"] @ qdd + found["c"], len(self.equations.rows)
        motors = np.eye(len(qdd))[:, list(self.equations.actuated) if tau is None else []]
        pull = found["J"].T if m else np.zeros((len(qdd), 0))
        rest = needed if tau is None else needed - tau
        free = ~self.held
        share = np.linalg.lstsq(np.hstack([motors, pull])[free], rest[free], rcond=1e-13)[0]
        efforts = motors @ share[: motors.shape[1]] if tau is None else tau
        return {"tau": efforts, "multipliers": share[motors.shape[1] :]}

    def _notes(self, linear: Linear, found: Mapping[str, np.ndarray]) -> tuple[str, ...]:
        notes = []
        labels, driven = linear.coordinates, self.equations.driven
        free = np.array([k for k in range(linear.size) if k not in driven], dtype=int)
        scale = 1.0 + np.abs(found.get("c", np.zeros(1))).max(initial=0.0)
        left = np.abs(linear.residual[free])
        if left.max(initial=0.0) > SMALL * scale:
            k = free[int(left.argmax())]
            notes.append(
                f"The operating point does not satisfy the equations: {linear.residual[k]:.3g} is left at {labels[k]}. "
                "The constant term is dropped."
            )
        moving = np.abs(linear.qdd0[free]).max(initial=0.0)
        if moving > SMALL * scale:
            k = free[int(np.abs(linear.qdd0[free]).argmax())]
            notes.append(
                f"Not an equilibrium: {labels[k]} accelerates with {linear.qdd0[k]:.3g}. "
                "The matrices hold for that instant."
            )
        if np.abs(found.get("acceleration", np.zeros(1))).max(initial=0.0) > SMALL * scale:
            notes.append("qdd0 does not keep the loops closed; the matrices suppose that it does.")
        if np.abs(found.get("z_dot", np.zeros(1))).max(initial=0.0) > SMALL:
            notes.append("Not an equilibrium: internal states of force elements change.")
        spans = {p.owner: slice(p.iv, p.iv + p.nv) for p in self.mech.slots}
        for joint in self.mech.joints:
            moved_by = joint.name if joint.mimic is None else joint.mimic.joint
            if joint.coulomb is not None and moved_by in spans and np.any(linear.qd0[spans[moved_by]] == 0):
                notes.append(f"Dry friction of joint {joint.name} has no derivative at rest and is left out.")
        return tuple(notes)
