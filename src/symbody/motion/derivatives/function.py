"""RunFunction: a run as a differentiable function theta -> y, made by one call; what other packages take in hand.

theta holds what is differentiated by (`variables`), y the quantities that are asked for, then the integrals.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from symbody.basics.arguments import declared
from symbody.basics.errors import (
    DefinitionError,
    NameLookupError,
    ShapeError,
    array_argument,
    real_argument,
    word_argument,
    wrong_argument,
)
from symbody.model.record.followers import following
from symbody.model.record.mechanism import Mechanism
from symbody.motion.derivatives.carried import ALPHA, carries
from symbody.motion.derivatives.linearised import Linearised, Requested
from symbody.motion.derivatives.machine import Machine, machine_of, method_table
from symbody.motion.derivatives.many import Many
from symbody.motion.derivatives.objective import RunObjective
from symbody.motion.derivatives.observed import ObservedQuantity, read_quantities, recorded_nodes, with_integrals
from symbody.motion.derivatives.second_derivatives import HessianVector, differences, exact_products, why_not_exact
from symbody.motion.derivatives.starts import LoopStart
from symbody.motion.derivatives.stretches import taped
from symbody.motion.derivatives.variables import Variable, Variables, read_variables, start_matrix
from symbody.motion.events.impacts import switched_loops
from symbody.motion.events.plan import Plan
from symbody.motion.events.state import RunState
from symbody.motion.flow.event_rules import names_of
from symbody.motion.flow.flow import Flow
from symbody.motion.flow.loop_treatment import Reduced
from symbody.motion.flow.of_mechanism import projection_written_out
from symbody.motion.flow.sources import Control, Feedback, find_input, read_inputs
from symbody.motion.march.run import Signals
from symbody.motion.methods.methods import METHODS
from symbody.motion.run.run_equations import open_flow, written
from symbody.motion.run.side_by_side import SideBySide
from symbody.motion.run.simulate import recorded_call, simulate
from symbody.motion.trajectory.trajectory import Trajectory

NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?![\w.(])")  # of an expression: neither a function nor a part of another
MEMORY = 256e6  # bytes of states that are kept for the way back, unless another bound is given


class RunFunction:
    """theta -> y of one run, and its derivatives.

    variables   what theta is made of; theta where nothing else is given is `start`
    names       of what y is made of: name -> (slice of y, shape)
    """

    def __init__(
        self,
        model: Any,
        duration: float,
        by: Sequence[str] | str,
        of: Any = (),
        integrals: Mapping[str, str] | None = None,
        at: str = "end",
        memory: float = MEMORY,
        **options: Any,
    ) -> None:
        """model, duration, options   as `simulate` takes them; with a step

        by          names of parameters, states at the start, inputs; see `variables`
        of          names of states and recorded quantities, or name -> expression
        integrals   name -> expression whose integral over the run is asked for
        at          "end": quantities where the run ends; "samples": at all instants of `sampling`
        memory      bytes that states may take on the way; beyond it they are computed again
        """
        self._arguments = {"model": model, "duration": duration, "by": by, "of": of, "integrals": integrals, "at": at,
                       "memory": memory, **options}  # fmt: skip
        word_argument("at", at, ("end", "samples"))
        real_argument("memory", memory, "a number of bytes", above=0.0)
        if isinstance(model, Mechanism):  # what follows a parameter changes with it
            named = [by] if isinstance(by, str) else list(by)
            model = following(model, {n.partition(".")[0] for n in named} | set(options.get("parameters") or {}))
        self.model, self.duration, self.memory, self.at = model, duration, float(memory), at
        self.options = dict(options)
        self.options["parameters"] = dict(options.get("parameters") or {})
        if "checkpoint" in options or "stream" in options:
            raise DefinitionError("a run that is differentiated takes no checkpoint and no stream; leave them out.")
        texts = dict(integrals or {})
        self.integrals = tuple((str(n), t) for n, t in texts.items())
        self.options["outputs"] = self._outputs(of, options.get("outputs"))
        self.options["inputs"] = self._inputs([by] if isinstance(by, str) else list(by))
        self._base = plan, state = self._made(self.options)
        self.loop_start: LoopStart | None = None
        if isinstance(model, Mechanism) and (model.cuts or model.couplings):
            self._base = plan, state = self._kept_start(plan, state)
        flow = plan.flow
        self.quantities: tuple[ObservedQuantity, ...] = read_quantities(flow, of)
        with_integrals(flow, self.integrals)  # whoever writes them wrong hears it now
        if not self.quantities and not self.integrals:
            raise DefinitionError("nothing is asked for: name quantities in of=..., or give integrals={...}.")
        known = {**(model.parameters if isinstance(model, Mechanism) else {}), **flow.parameters}
        found = written(self._batch(self.options).model, plan.settings, {}, self._batch(self.options).partition)
        given = self.options["parameters"]
        sources = [one.line.source for one in plan.signals.sampled]
        self.sampled = {s.system.name: s.system for s in sources if isinstance(s, Control)}
        self.variables: Variables = read_variables(
            by, flow, self._opened(), state.x, given, found.assignments, known, list(self.sampled.values())
        )

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """For pickle and copy: what it was made of; loaded code stays in its process."""
        return _again, (self.__class__, self._arguments)

    def _outputs(self, of: Any, outputs: Any) -> Any:
        """What must be recorded: names that are asked for, and not states."""
        wanted = [] if outputs is None else [outputs] if isinstance(outputs, (str, Mapping)) else list(outputs)
        if not isinstance(self.model, Mechanism):
            return wanted or None
        items = [of] if isinstance(of, (str, Mapping)) else list(of or ())
        texts = [t for item in items if isinstance(item, Mapping) for t in item.values()]
        texts += [t for _, t in self.integrals]
        flow = self._made({**self.options, "outputs": wanted or None})[0].flow
        known = recorded_nodes(flow)
        for item in items:
            if isinstance(item, str) and item not in known and item.partition(".")[0] not in flow.states:
                stem = item.partition(".")[0]
                wanted.append(item if stem not in known else stem)
        named = {n for text in texts if isinstance(text, str) for n in NAME.findall(text)}
        return [*wanted, *(n for n in sorted(named - set(known) - set(names_of(flow))) if self._recordable(n))] or None

    def _recordable(self, name: str) -> bool:
        """Whether a name in an expression is that of a quantity which a run records where it is asked to."""
        try:
            self._made({**self.options, "outputs": [name]})
        except NameLookupError:
            return False
        return True

    def _opened(self) -> Flow:
        """The Flow of the model with all its inputs."""
        batch = self._batch(self.options)
        return open_flow(self.model, batch.model.formalism, None, None, partition=batch.partition)

    def _inputs(self, by: Sequence[str]) -> Any:
        """Inputs with zeros for those that are differentiated by and were not given, which the equations leave out."""
        inputs, flow = self.options.get("inputs"), self._opened()
        taken = {(a.name, k) for a in read_inputs(flow, inputs) for k in a.places}
        more: dict[str, Any] = {}
        for name in by:
            try:
                owner, places = find_input(flow, name)
            except NameLookupError:
                continue
            if name not in flow.parameters and name.partition(".")[0] not in flow.states:
                if not taken & {(owner, k) for k in places}:
                    more[name] = 0.0 if len(places) == 1 else np.zeros(len(places))
        if not more:
            return inputs
        if inputs is not None and not isinstance(inputs, Mapping):
            raise DefinitionError(
                f"inputs are given without names; name them, as in inputs={{{next(iter(more))!r}: 0}}."
            )
        return {**(inputs or {}), **more}

    def _kept_start(self, plan: Plan, state: RunState) -> tuple[Plan, RunState]:
        """The run from its independent joints as they are: whatever changes, these start so, the others follow."""
        flow = plan.flow
        if switched_loops(flow):  # they start as near to what was given as loops that are closed allow
            self.options |= {f"{name}0": np.array(state.x[flow.slices[name]]) for name in ("q", "qd")}
            return self._made(self.options)
        way = state.marks["loops"].choice if "loops" in state.marks else None
        if way is None or way.whole:  # multipliers for all joints: which of them are independent, a partition tells
            reduced, begun = self._made({**self.options, "closing": Reduced()})
            flow, way = reduced.flow, begun.marks["loops"].choice
        self.loop_start = LoopStart(self.model, flow, way.partition, state.x, plan.settings.start)
        self.options |= self.loop_start.options(plan.settings.parameters)
        again, found = self._made(self.options)
        if not np.allclose(found.x, state.x, rtol=1e-7, atol=1e-7):
            raise DefinitionError(
                f"the start of {plan.flow.name} cannot be had with its independent joints as they are. Give q0 of "
                "another position."
            )
        return again, found

    # -- sizes and names

    @property
    def start(self) -> np.ndarray:
        """(n,) theta as the options of the run give it."""
        return self.variables.start

    # -- runs

    def _batch(self, options: Mapping[str, Any]) -> Any:
        own = dict(options)
        named = {n: own.pop(n) for n in _NAMED if n in own}
        return recorded_call(self.model, self.duration, **named, options=own)[0]

    def _made(self, options: Mapping[str, Any]) -> tuple[Plan, RunState]:
        made = self._batch(options).made()
        if isinstance(made, SideBySide) or made[1].x.ndim > 1:
            raise ShapeError("the options of a run that is differentiated make a batch; give those of one run.")
        plan, state = made
        _check(plan)
        return plan, state

    def _given(self, theta: np.ndarray) -> dict[str, Any]:
        """Options of the run at theta."""
        out = dict(self.options)
        parameters = dict(out["parameters"])
        starts: dict[str, dict[int, float]] = {}
        inputs = dict(out["inputs"]) if isinstance(out.get("inputs"), Mapping) else out.get("inputs")
        for v, place in zip(self.variables.items, self.variables.slices().values(), strict=True):
            part = theta[place]
            if v.kind == "parameter":
                if v.known:
                    parameters[v.owner] = _placed(parameters.get(v.owner), self._default(v.owner), v.places, part)
            elif v.kind == "controller":
                own, _, name = v.owner.partition(".")
                default = np.asarray(self.sampled[own].default(name), dtype=float)
                parameters[v.owner] = _placed(parameters.get(v.owner), default, v.places, part)
            elif v.kind == "start":
                starts.setdefault(v.owner, {}).update(zip(v.places, map(float, part)))
            else:
                inputs = _with_input(inputs, v, part)
        out["parameters"], out["inputs"] = parameters, inputs
        return self._with_starts(out, starts)

    def _default(self, name: str) -> np.ndarray:
        flow = self._base[0].flow
        system = next(s for s in flow.systems.values() if name in s.parameters)
        return np.asarray(system.default(name), dtype=float).reshape(system.parameters[name].shape)

    def _with_starts(self, out: dict[str, Any], starts: Mapping[str, Mapping[int, float]]) -> dict[str, Any]:
        plan, state = self._base
        flow = plan.flow
        if self.loop_start is not None:
            out |= self.loop_start.options(out["parameters"], starts)
        for name, values in starts.items():
            shape = flow.rates.inputs[name].shape
            if self.loop_start is not None and name in ("q", "qd"):
                continue
            whole = np.array(state.x[flow.slices[name]])
            for k, value in values.items():
                whole[k] = value
            if name in ("q", "qd"):
                out[f"{name}0"] = whole
            else:
                out["states0"] = {**(out.get("states0") or {}), name: whole.reshape(shape)}
        return out

    def linearise(self, theta: Any = None) -> Linearised:
        """The run at theta (n,), with its derivatives."""
        options = self.options
        if theta is not None:
            options = self._given(self._theta(theta))
        plan, state = self._made(options)
        table = method_table(plan.settings.method, getattr(plan.stepper, "method", None))
        parameters = dict(plan.settings.parameters)

        def machines(flow: Flow, method: str = "") -> Machine:
            own = method_table(method, None) if method else table
            if flow.impact is not None and flow.project is not None:
                flow = projection_written_out(self.model, flow, tape.branches.get(id(flow)))
            return machine_of(flow, self.integrals, method or plan.settings.method, own)

        def step(flow: Flow, t: float, h: float, x: np.ndarray, u: np.ndarray) -> np.ndarray:
            m = machine_of(flow, self.integrals, plan.settings.method, table)
            wide = np.concatenate([x, np.zeros(m.nx - m.n_states)])
            signals = Signals([t], plan.signals.at(t, u)) if plan.signals.size else None
            if plan.signals.moving:
                signals = Signals(*plan.signals.grid(u, t, t + h, np.array([t, t + h / 2, t + h])))
            have = {p.name for k in m.march.ports.kernels.values() for p in k.parameters}
            known = {n: v for n, v in parameters.items() if n in have} or None
            run = m.march.fixed(m.table, wide, t, h, 1, 1, signals=signals, parameters=known)
            return np.asarray(run.x_end)[: m.n_states]

        tape = taped(plan, state, self.memory, step)
        instants = None
        if self.at == "samples":
            s = plan.settings
            instants = s.sampling.times(s.start, s.start + self.duration, s.step)
            instants = instants[instants <= tape.t_end + 1e-12]
        wanted = Requested(self.quantities, self.integrals, instants)
        notes = [*self.variables.notes, *tape.notes]
        start = None if self.loop_start is None else self.loop_start.flow
        if start is None and isinstance(self.model, Mechanism) and (self.model.cuts or self.model.couplings):
            start = machines(tape.pieces[0].flow if tape.pieces else tape.plan.flow).plain
        given = self._given_start(tape.start, theta)
        return Linearised(tape, machines, self.variables, wanted, parameters, notes, start, given)

    def _given_start(self, start: np.ndarray, theta: Any) -> np.ndarray:
        """(nx,) before its correction: quaternions may be given in any length. Loops take their guesses as they are."""
        if theta is None or (isinstance(self.model, Mechanism) and (self.model.cuts or self.model.couplings)):
            return start
        flow, out = self._base[0].flow, np.array(start)
        placed = start_matrix(self.variables, flow, self.variables.size)
        own = placed.any(axis=1)
        out[own] = (placed @ np.asarray(theta, dtype=float))[own]
        return out

    def _theta(self, theta: Any) -> np.ndarray:
        array = array_argument("theta", theta, f"numbers ({self.variables.size},)")
        if array.shape != (self.variables.size,):
            raise ShapeError(f"theta has shape {array.shape}; expected ({self.variables.size},).")
        if not np.isfinite(array).all():
            raise wrong_argument("theta", theta, "finite numbers")
        return array

    def __call__(self, theta: Any = None) -> np.ndarray:
        """(ny,) y at theta."""
        return self.linearise(theta).y

    def gradient(self, theta: Any = None, weights: Any = None) -> tuple[float, np.ndarray]:
        """Value and gradient (n,) of w^T y; y must have one number where no weights are given."""
        run = self.linearise(theta)
        w = self.weights_of(run.y, weights)
        return float(w @ run.y), run.vjp(w)

    def gradients(self, thetas: Any, weights: Any = None, threads: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Values (b,) and gradients (b, n) at many theta (b, n): each the very numbers of `gradient`; see `many`."""
        rows = self._thetas(thetas)
        if not len(rows):
            return np.zeros(0), np.zeros_like(rows)
        runs = self.many(rows, threads)
        return runs.gradients(self.weights_of(runs.first.y, weights))

    def many(self, thetas: Any, threads: int | None = None) -> Many:
        """The runs at many theta (b, n), b at least 1, side by side: their `y` (b, ny) and `vjp` of weights (b, ny)."""
        return Many(self, self._thetas(thetas), threads)

    def _thetas(self, thetas: Any) -> np.ndarray:
        rows = array_argument("thetas", thetas, f"numbers (b, {self.variables.size})")
        if rows.ndim != 2 or rows.shape[1] != self.variables.size:
            raise ShapeError(f"thetas have shape {rows.shape}; expected (b, {self.variables.size}).")
        if not np.isfinite(rows).all():
            raise wrong_argument("thetas", thetas, "finite numbers")
        return rows

    def hessian_vector(self, theta: Any, direction: Any, weights: Any = None) -> HessianVector:
        """Second derivative of w^T y along a direction (n,), or along several (k, n) at once: how its gradient changes.

        Exactly that of the steps as they were taken where the run is smooth; with events or sampled controllers by
        extrapolated differences of adjoint gradients. The result says which.
        """
        return self.products(self.linearise(theta), theta, direction, weights)

    def products(self, run: Linearised, theta: Any, direction: Any, weights: Any = None) -> HessianVector:
        """`hessian_vector` of a run at theta that was linearised already."""
        w = self.weights_of(run.y, weights)
        way = array_argument("direction", direction, f"numbers ({self.variables.size},)")
        n = self.variables.size
        if way.ndim not in (1, 2) or way.shape[-1] != n:
            raise ShapeError(f"the direction has shape {way.shape}; expected ({n},) or (k, {n}).")
        if not np.isfinite(way).all():
            raise wrong_argument("direction", direction, "finite numbers")
        rows = np.atleast_2d(way)
        reason = why_not_exact(run)
        if reason is None:
            found = exact_products(run, rows, w, self.memory)
            return replace(found, product=found.product.reshape(way.shape))
        at, name = self.start if theta is None else self._theta(theta), self._base[0].flow.name
        made = [differences(lambda s: self.gradient(s, w)[1], at, row, name) for row in rows]
        note = f"by differences of gradients, to about 1e-6 of the largest component: {reason}."
        return HessianVector(np.array(made).reshape(way.shape), run.vjp(w), False, note)

    def hessian(self, theta: Any = None, weights: Any = None) -> np.ndarray:
        """(n, n) second derivatives of w^T y, symmetric; see `hessian_vector`."""
        rows = self.hessian_vector(theta, np.eye(self.variables.size), weights).product
        return (rows + rows.T) / 2

    def weights_of(self, y: np.ndarray, weights: Any) -> np.ndarray:
        """(ny,) of one number of y, or of w^T y."""
        if weights is None:
            if y.size != 1:
                raise ShapeError(f"y has {y.size} numbers; a gradient is that of one. Give weights, or a jacobian.")
            return np.ones(1)
        w = array_argument("weights", weights, f"{y.size} numbers")
        if not np.isfinite(w).all():
            raise wrong_argument("weights", weights, "finite numbers")
        if w.size != y.size:
            raise ShapeError(f"weights have shape {w.shape}; expected {y.shape}, one for each number of y.")
        return w.reshape(y.shape)

    def objective(self, weights: Any = None) -> RunObjective:
        """theta -> (w^T y, gradient), for `scipy.optimize.minimize(f, x0, jac=True, hessp=f.hessp)`."""
        return RunObjective(self, weights)

    def jacobian(self, theta: Any = None, mode: str = "auto") -> np.ndarray:
        """(ny, n) dy/dtheta. mode: "forward", "adjoint", or whichever is cheaper."""
        run = self.linearise(theta)
        return jacobian_by(run, mode)

    def trajectory(self, theta: Any = None) -> Trajectory:
        """The motion itself, as `simulate` gives it."""
        options = self.options if theta is None else self._given(self._theta(theta))
        return simulate(self.model, self.duration, **options)


def _again(cls: type[RunFunction], asked: Mapping[str, Any]) -> RunFunction:
    return cls(**asked)


def jacobian_by(run: Linearised, mode: str) -> np.ndarray:
    """(ny, n) by directions that go along, or by weights that go back; "auto": by the fewer."""
    word_argument("mode", mode, ("forward", "adjoint", "auto"))
    ny = run.y.size
    if mode == "auto":
        mode = "adjoint" if ny < run.n or not run.supply.only_constants else "forward"
    if mode == "forward":
        return run.jacobian()
    return np.array([run.vjp(w) for w in np.eye(ny)]).reshape(ny, run.n)


_NAMED = (
    "step", "q0", "qd0", "inputs", "method", "outputs", "parameters", "events", "closing", "tolerance", "sampling",
    "states0",
)  # fmt: skip


def _check(plan: Plan) -> None:
    """Refuse what is not differentiated."""
    s = plan.settings
    name = plan.flow.name
    for one in plan.signals.sampled:
        if isinstance(one.line.source, Feedback):
            raise DefinitionError(
                f"the input for {one.line.text} is a Python function that is asked at ticks, and has no derivative. "
                "Give a law, a System (with clocks={'period': s} a sampled one), numbers or a table."
            )
    if plan.connected.inside:
        raise DefinitionError(f"{name} calls Python functions in its equations, which have no derivative.")
    method_table(s.method, getattr(plan.stepper, "method", None))
    if carries(s.method) and s.method != ALPHA and plan.signals.moving:
        told = ", ".join(line.text for line in plan.signals.moving)
        raise DefinitionError(
            f"method {s.method!r} is differentiated with constant inputs and laws alone; {told} is given as a function "
            "or a table of time. Take 'rk4'."
        )
    assert s.method in METHODS


def _placed(given: Any, default: np.ndarray, places: Sequence[int], values: np.ndarray) -> Any:
    whole = np.array(default if given is None else given, dtype=float)
    flat = whole.reshape(-1)
    flat[list(places)] = values
    return float(whole) if whole.ndim == 0 else whole


def _with_input(inputs: Any, v: Variable, part: np.ndarray) -> dict[str, Any]:
    """Inputs with other numbers for one of them."""
    if inputs is None:
        inputs = {}
    elif not isinstance(inputs, Mapping):
        inputs = {v.key: inputs}
    out = dict(inputs)
    within = list(v.within)
    if v.table is not None:
        given = out[v.key]
        values = np.array(given["values"] if isinstance(given, Mapping) else given[1], dtype=float)
        values = values.reshape(len(v.table.times), -1)
        values[:, within] = part.reshape(len(values), -1)
        out[v.key] = {"times": v.table.times, "values": values, "hold": v.table.hold}
        return out
    old: Any = out.get(v.key, 0.0)
    if v.key not in out or len(within) == np.size(old):
        out[v.key] = part if np.ndim(old) or len(part) > 1 else float(part[0])
    else:  # some components of what was given together, or one number for all
        whole = np.array(np.broadcast_to(old, (max(np.size(old), max(within) + 1),)), dtype=float)
        whole[within] = part
        out[v.key] = whole
    return out


@declared
def differentiable(
    model: Any,
    duration: float,
    by: Sequence[str] | str,
    of: Any = (),
    integrals: Mapping[str, str] | None = None,
    at: str = "end",
    memory: float = MEMORY,
    **options: Any,
) -> RunFunction:
    """A run as a differentiable function theta -> y: `f(theta)`, `f.gradient(theta)`, `f.jacobian(theta)`.

    by          names of parameters, of states at the start ("q.shoulder"), of inputs ("tau.elbow": a constant, or the
                values of a table); theta holds their values end to end, `f.start` those of this run
    of          names of states and recorded quantities, or name -> expression; y holds their values where the run ends
    integrals   name -> expression; y ends with their integrals over the run
    at          "end", or "samples": quantities at all instants of `sampling`
    memory      bytes that states may take on the way back; beyond it they are computed again
    options     those of `simulate`: step, q0, qd0, inputs, method, events, parameters, ...
    """
    return RunFunction(model, duration, by, of, integrals, at, memory, **options)
