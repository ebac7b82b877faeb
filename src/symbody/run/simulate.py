"""sb.simulate: the motion of a Mechanism, a System with states, or a Flow, as a Trajectory; sb.resume goes on."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from symbody.codegen.kernel.threads import check_threads
from symbody.derived.derived import derived_of
from symbody.derived.memory import memory_of
from symbody.errors import (
    DefinitionError,
    ModelError,
    Named,
    NameLookupError,
    ShapeError,
    argument,
    nearest,
    real_argument,
    whole_argument,
    wrong_argument,
)
from symbody.flow.augmented import Augmented
from symbody.flow.chosen_dynamics import is_reduced
from symbody.flow.connect import Connected, connect
from symbody.flow.dry_friction import SLOW
from symbody.flow.events import Prepared, When, element_events, prepare, system_events, with_switches
from symbody.flow.flow import Flow
from symbody.flow.formulation import formulated
from symbody.flow.initial_state import check_prescribed, initial_values, state_vector
from symbody.flow.loop_guards import Lookout, bounds_of
from symbody.flow.of_mechanism import mechanism_flow
from symbody.flow.of_system import system_flow
from symbody.flow.signals import Feed
from symbody.flow.sources import Assignment, Constant, Feedback, OfTime, read_inputs
from symbody.hybrid.energy_balance import Balance
from symbody.hybrid.impacts import check_switches, closed_loops, make_ready
from symbody.integrate.methods import METHODS, choose_method
from symbody.integrate.samples import read_samples
from symbody.model.record.mechanism import Mechanism
from symbody.model.record.parameter_values import check_given, massless
from symbody.run.progress import progress_bar
from symbody.run.recording import trajectory
from symbody.run.session import Session, Settings
from symbody.run.session_driver import driver_of, finish
from symbody.system.parameter_numbers import check_number, real_number
from symbody.system.system import System
from symbody.trajectory.trajectory import Trajectory
from symbody.verbs.limits import passed_limits

RTOL = 1e-8
CHECKPOINT_SECONDS = 5.0


def simulate(
    mech: Mechanism | Flow | System,
    duration: float,
    step: float | None = None,
    q0: Any = None,
    qd0: Any = None,
    inputs: Any = None,
    method: str = "auto",
    outputs: Any = None,
    *,
    parameters: Mapping[str, Any] | None = None,
    formalism: str | None = None,
    partition: Any = None,
    formulation: str = "auto",
    alpha: float = 0.0,
    beta: float = 0.0,
    rtol: float = RTOL,
    atol: float | None = None,
    samples: Any = None,
    events: Iterable[When] = (),
    period: float | None = None,
    states0: Mapping[str, Any] | None = None,
    progress: bool = False,
    checkpoint: str | Path | None = None,
    threads: int | None = None,
    max_steps: int = 10_000_000,
    t0: float = 0.0,
    slow: float = SLOW,
) -> Trajectory:
    """The motion from t0 over `duration` seconds.

    step        s; None: adaptive steps by rtol and atol (atol None: as rtol, in the units of each state)
    q0, qd0     arrays, or joint -> value (the others zero, unit quaternions); (b, n) arrays make a batch
    inputs      efforts and other inputs, see `inputs`; what is not given is zero
    method      "auto" or a name of `makers.METHODS`
    outputs     what to record besides states, inputs and qdd, see `quantities`
    parameters  name -> value other than the default; arrays (b,) make a batch. None that is declared nonzero may be 0,
                and no mass or inertia may become negative; 0 is legal where every motion still moves some mass
    partition   of closed loops: names of independent joints, "pivoting", ...; None: chosen. Where it becomes singular
                on the way another one takes over
    formulation "reduced" (by independent joints), "augmented" (all joints with multipliers), or "auto": reduced
                unless a loop opens and closes. Augmented loops are corrected after each step; with alpha, beta (1/s)
                not zero, Baumgarte's terms hold them instead
    samples     number of equidistant samples or their instants; None: every step, or 1001 of an adaptive run
    events      `When` records
    period      s, of Python controllers f(t, q, qd): they are held in between. None: the step. 0: asked at every
                evaluation of the rates
    states0     initial values of other states: those of force elements and of controllers
    checkpoint  file that is written every few seconds; `resume` goes on from it
    slow        rad/s, m/s: below it the dry friction of joints falls off to zero, so that integrators can follow; 0
                keeps its jump
    """
    check_numbers(duration, step, t0, rtol, atol)
    _check_limits(max_steps, slow)
    if threads is not None:
        check_threads(threads)
    settings = Settings(
        choose_method(method, step, rtol), float(t0), step, rtol, rtol if atol is None else atol, max_steps,
        read_samples(samples, t0, duration, step), period, threads, dict(parameters or {}),
        automatic=method == "auto" and step is None, slow=slow,
    )  # fmt: skip
    given = {"q": q0, "qd": qd0, **(states0 or {})}
    partition = formulated(mech, formalism, partition, formulation, alpha, beta)
    session = prepared(mech, settings, float(duration), given, inputs, outputs, formalism, _rules(events), partition)
    return _noted(mech, run(session, t0 + duration, progress, checkpoint))


def _noted(mech: Any, motion: Trajectory) -> Trajectory:
    """With notes on limits of joints that the motion passed: they do not act by themselves."""
    if not isinstance(mech, Mechanism):
        return motion
    return motion.replace(notes=(*motion.notes, *passed_limits(mech, motion.values)), mechanism=mech)


def _rules(events: Iterable[When]) -> list[When]:
    rules = list(events)
    for rule in rules:
        if not isinstance(rule, When):
            raise DefinitionError(f"events has {rule!r}; expected When(name, guard, ...) records.")
    return rules


def resume(
    source: Trajectory | str | Path,
    duration: float | None = None,
    *,
    inputs: Any = None,
    progress: bool = False,
    checkpoint: str | Path | None = None,
) -> Trajectory:
    """The same run, longer by `duration` seconds (None: up to the end that was asked for), as if never interrupted.

    source   a Trajectory of `simulate`, or a checkpoint file
    inputs   for a file: Python functions, which no file holds, again under the names that `simulate` was given
    """
    if isinstance(source, Trajectory):
        if source.session is None:
            raise DefinitionError("this trajectory was not made by simulate in this process; resume from a checkpoint.")
        if inputs is not None:
            raise DefinitionError("inputs are those of the trajectory; they can be given for a checkpoint file only.")
        session = _copy(source.session)
    else:
        from symbody.run.checkpoint import load_checkpoint

        if not isinstance(source, (str, Path)):
            raise DefinitionError(f"resume was given {source!r}; expected a Trajectory, or the path of a checkpoint.")
        session = load_checkpoint(source, inputs)
    goal = session.end if duration is None else _reached(session) + float(duration)
    if not math.isfinite(goal) or goal < _reached(session):
        raise wrong_argument("duration", duration, "a positive number of seconds")
    return run(session, goal, progress, checkpoint)


def _reached(session: Session) -> float:
    """What the run was asked for, or where it stopped if it did not get there."""
    return session.end if session.outcome.ok else session.t


def _copy(session: Session) -> Session:
    """A Session that may go on without changing the Trajectory that it was taken from."""
    twin = copy(session)
    twin.ts, twin.xs, twin.events = list(session.ts), list(session.xs), list(session.events)
    twin.statistics, twin.notes = dict(session.statistics), list(session.notes)
    twin.feed, twin.segments = session.feed.copied(), list(session.segments)
    twin.lookout = None if session.lookout is None else session.lookout.copied()
    twin.watch = None if session.watch is None else session.watch.copied(twin.lookout)
    twin.outcomes = None if session.outcomes is None else session.outcomes.copy()
    happened = session.happenings
    finish(twin, None if happened is None else happened.prepared)
    return twin


def run(session: Session, end: float, progress: bool, checkpoint: str | Path | None) -> Trajectory:
    """Advance a Session with all that goes on beside it."""
    from symbody.run.checkpoint import save_checkpoint

    settings = session.settings
    last = time.monotonic()
    with progress_bar(session.flow.name, settings.start, end, progress) as bar:

        def watch(now: Session) -> None:
            nonlocal last
            if bar is not None:
                bar(now)
            if checkpoint is not None and time.monotonic() - last > CHECKPOINT_SECONDS:
                save_checkpoint(now, checkpoint)
                last = time.monotonic()

        needs = watch if bar is not None or checkpoint is not None else None
        span = getattr(session.driver, "span", None)
        if span is not None:
            span(end)
        session.advance(end, needs, _give_way if settings.automatic else None)
    if checkpoint is not None:
        save_checkpoint(session, checkpoint)
    return trajectory(session)


# -- preparing


def check_numbers(duration: Any, step: Any, t0: Any, rtol: Any, atol: Any) -> None:
    """Positive, finite seconds and tolerances."""
    real_argument("duration", duration, "a positive number of seconds", above=0.0)
    real_argument("t0", t0, "a finite number of seconds")
    if step is not None:
        real_argument("step", step, "a positive number of seconds", above=0.0)
        if step > duration * (1 + 1e-9):
            long, whole = Named("step", f"{step:g}"), Named("duration", f"{duration:g}")
            raise DefinitionError(long, " is longer than ", whole, "; expected a part of it.")
    real_argument("rtol", rtol, "a positive number", above=0.0)
    if atol is not None:
        real_argument("atol", atol, "a positive number", above=0.0)


def _check_limits(max_steps: Any, slow: Any) -> None:
    whole_argument("max_steps", max_steps, 1)
    real_argument("slow", slow, "a speed in rad/s or m/s, or 0", least=0.0)


def open_flow(
    mech: Any, formalism: str | None, outputs: Any, inputs: Any, balance: bool = False, partition: Any = None,
    slow: float = SLOW,
) -> Flow:  # fmt: skip
    """The Flow of a model with all its inputs open."""
    loops = isinstance(mech, Mechanism) and bool(mech.cuts or mech.couplings)
    if partition is not None and not loops:
        name = getattr(mech, "name", "this model")
        raise DefinitionError(argument("partition", partition), f" is for closed loops; {name} has none. Leave it out.")
    known = (Iterable, Augmented)
    if partition is not None and not (isinstance(partition, known) or hasattr(partition, "independent")):
        raise wrong_argument("partition", partition, "a list of independent joints, or how to choose them")
    if isinstance(mech, Flow):
        return mech
    if isinstance(mech, Mechanism):
        chosen = "auto" if partition is None else partition
        return mechanism_flow(mech, formalism, _measured(mech, outputs, inputs), balance, chosen, slow)
    if isinstance(mech, System):
        # `system_events` makes events of its guards
        return memory_of(mech).get("flow", (), lambda: system_flow(mech).replace(guards=None))
    raise ModelError(f"simulate was given {mech!r}; expected a Mechanism (sb.load), a System with states, or a Flow.")


def _measured(mech: Mechanism, outputs: Any, inputs: Any) -> Any:
    """Outputs, and what controllers read besides states: sensors and frames."""
    given = [inputs] if isinstance(inputs, System) else list(inputs.values()) if isinstance(inputs, Mapping) else []
    names = []
    for system in given:
        if isinstance(system, System):
            names += [
                n for n in system.inputs if n not in system.states and n.partition(".")[0] in ("p", "v", "omega", "R")
            ]
    if not names:
        return outputs
    known = [outputs] if isinstance(outputs, (str, Mapping)) else list(outputs or ())
    return [*known, *(n for n in dict.fromkeys(names) if n not in known)]


def prepared(
    mech: Any, settings: Settings, duration: float, given: dict[str, Any], inputs: Any, outputs: Any,
    formalism: str | None, rules: list[When], partition: Any = None,
) -> Session:  # fmt: skip
    """A Session at its start. given: initial values of states by name, None where the default is meant."""

    def made(wanted: Any) -> tuple[Connected, Prepared | None, list[Assignment], dict[str, Any]]:
        return _connected(mech, settings, given, inputs, outputs, formalism, rules, wanted)

    notes = _massless(mech, settings.parameters) if isinstance(mech, Mechanism) else []
    connected, events, assignments, start = _first(made, partition)
    notes += connected.notes
    flow, t = connected.flow, settings.start
    known = {**(mech.parameters if isinstance(mech, Mechanism) else {}), **flow.parameters}
    check_parameters(flow, settings.parameters, known)
    start = {n: v for n, v in start.items() if v is not None}
    values, batch = initial_values(flow, start)
    batch = _batch(batch, settings.parameters, flow, assignments)
    if batch is not None:
        _check_batch(settings.method, bool(rules), [rule.name for rule in element_events(flow)])
    # the mass of what falls freely is a parameter of the model, but cancels from its motion
    settings = replace(settings, parameters={n: v for n, v in settings.parameters.items() if n in flow.parameters})
    feed = Feed(connected, t, settings.step, settings.period, batch)
    x = wished = state_vector(flow, values, batch)
    watch, look = None, None
    if isinstance(mech, Mechanism) and (mech.cuts or mech.couplings):
        from symbody.flow.closed_start import closed_start, say_changes

        check_switches(flow, assignments, batch)
        make_ready(flow, feed, t)
        u = np.broadcast_to(feed.at(t), (len(np.atleast_2d(x)), feed.size))
        closed = [closed_loops(flow, *pair) for pair in zip(np.atleast_2d(x), u)]
        x = closed_start(mech, flow, settings.parameters, start, x, t, closed)
        asked = partition
        partition = _for_branch(mech, formalism, asked, settings, np.atleast_2d(x)[:, flow.slices["q"]])
        if partition is not asked:
            connected, events = made(partition)[:2]
        look = _lookout(mech, partition, connected.flow, settings, feed)
        watch = _watch(
            mech, formalism, partition, asked is not None, connected, events, settings, x, notes,
            lambda p: made(p)[:2], look,
        )  # fmt: skip
        happening = [*element_events(flow), *rules]
        acted = bool(assignments) or any(r.acts for r in happening) or any(j.mode == "driven" for j in mech.joints)
        if watch is not None and not acted:
            watch.balance = Balance(mech, settings.parameters)
        if watch is not None:
            connected, events = watch.way.connected, watch.way.prepared
        x = _consistent(connected.flow, feed, settings.parameters, start, x, t, notes, watch)
        notes[:0] = say_changes(flow, start, np.atleast_2d(wished)[0], np.atleast_2d(x)[0])
        _check_closed(look, t, x)
        if x.ndim != 1:
            watch = None  # the members of a batch keep one partition to the end
            look.take(look.flow)  # and have no levels
    else:
        x = _consistent(connected.flow, feed, settings.parameters, start, x, t, notes)
    session = Session(connected, settings, feed, None, t, x, notes=notes, end=t + duration, lookout=look, watch=watch)
    finish(session, events)
    return session


def _connected(
    mech: Any, settings: Settings, given: dict[str, Any], inputs: Any, outputs: Any, formalism: str | None,
    rules: list[When], partition: Any,
) -> tuple[Connected, Prepared | None, list[Assignment], dict[str, Any]]:  # fmt: skip
    """The Flow of a model with its inputs and events; what was assigned; initial values, those of switches too."""
    flow = open_flow(mech, formalism, outputs, inputs, METHODS[settings.method].unsolved, partition, settings.slow)
    if isinstance(mech, System):
        rules = [*system_events(mech), *rules]
    flow, inputs, given = _switched(flow, [*element_events(flow), *rules], inputs, given)
    assignments = read_inputs(flow, inputs)
    connected = connect(flow, assignments, continuous=_continuous(settings, assignments))
    rules = [*element_events(connected.flow), *rules]
    if not rules:
        return connected, None, assignments, given
    events = prepare(connected.flow, rules)
    # guards take the same parameters as the other Systems
    guards = events.flow.guards
    assert guards is not None
    guards = guards.replace(parameters={**events.flow.rates.parameters, **guards.parameters})
    events = replace(events, flow=events.flow.replace(guards=guards))
    return replace(connected, flow=events.flow), events, assignments, given


def _first(made: Any, partition: Any) -> Any:
    """What is made of a partition; of the automatic one, where joints that were named do not fit the branch of the
    assembled position, as they may that of the start."""
    try:
        return made(partition)
    except ModelError:
        if partition is None or isinstance(partition, (str, Augmented)) or hasattr(partition, "independent"):
            raise
        return made(None)


def _for_branch(mech: Mechanism, formalism: str | None, partition: Any, settings: Settings, q: np.ndarray) -> Any:
    """What the user asked of the partition, or one for the branch of the positions q (k, nq) where that does not hold.

    Which constraints are redundant depends on the branch, and on the parameters.
    """
    from symbody.derived.partitions import partition_at, wanted_at
    from symbody.loops.partition.branches import holding
    from symbody.loops.partition.partition import Partition

    if any(c.switched for c in mech.cuts) or any(c.switched for c in mech.couplings):
        return partition  # which constraints are redundant changes with what is closed
    named = partition is not None and not isinstance(partition, Augmented)
    reduced = named or is_reduced(mech, formalism, "auto" if partition is None else partition)
    wanted = partition if named else "auto"

    def member(k: int) -> dict[str, float]:
        return {n: float(v if np.ndim(v) == 0 else np.asarray(v)[k]) for n, v in given.items()}

    given = {n: v for n, v in settings.parameters.items() if np.ndim(v) < 2}
    try:
        chosen = wanted_at(mech, q[0], wanted, member(0), settings.start)
        rows = partition_at(mech, q[0], chosen, member(0), settings.start).rows
    except ModelError:
        if reduced:
            raise
        return partition  # no joints can be solved for at all
    others = ~holding(derived_of(mech).constraints(), rows, q, given, settings.start)
    for k in np.flatnonzero(others[1:]) + 1:
        theirs = partition_at(mech, q[k], wanted, member(int(k)), settings.start).rows
        if set(theirs) != set(rows):
            raise ModelError(
                f"members 0 and {k} of the batch start on branches of {mech.name} with {len(rows)} and "
                f"{len(theirs)} independent constraints. Simulate them apart."
            )
    if not isinstance(chosen, Partition) or chosen is wanted:
        return partition
    if reduced:
        return chosen
    return replace(partition if isinstance(partition, Augmented) else Augmented(), branch=chosen)


def _watch(
    mech: Mechanism, formalism: str | None, partition: Any, asked: bool, connected: Connected, events: Prepared | None,
    settings: Settings, x: np.ndarray, notes: list[str], remake: Any, look: Lookout,
) -> Any:  # fmt: skip
    """Who looks after closed loops during the motion; None where loops open and close, or no partition exists."""
    from symbody.loops.partition.partition import Partition
    from symbody.run.partition_watch import Watch, Way

    wanted: Any = "auto" if partition is None else partition
    found = derived_of(mech).constraints()
    first = np.atleast_2d(x)[0]  # of a batch
    if is_reduced(mech, formalism, wanted):
        chosen = wanted if isinstance(wanted, Partition) else derived_of(mech).partition(wanted)
        watch = Watch(Way(found, chosen, connected, events), remake, settings.parameters, look)
    else:
        if any(row.switch is not None for row in found.rows):
            return None
        whole = wanted if isinstance(wanted, Augmented) else Augmented()
        try:
            chosen = whole.branch or derived_of(mech).partition()
        except ModelError:
            return None
        way = Way(found, chosen, connected, events, whole=True)
        remade = lambda p: remake(replace(whole, branch=p))  # noqa: E731
        watch, asked = Watch(way, remade, settings.parameters, look, whole.projects), False
    note = watch.begin(settings.start, first, given=asked)
    if note:
        notes.append(note)
    return watch


def _lookout(mech: Mechanism, partition: Any, flow: Flow, settings: Settings, feed: Feed) -> Lookout:
    """What is looked at after every step of a mechanism with closed loops."""
    from symbody.loops.closing.assembly import length_scale
    from symbody.loops.rows.numeric import Numeric

    plain = {n: float(v) for n, v in settings.parameters.items() if np.ndim(v) == 0}
    length = length_scale(Numeric(derived_of(mech).constraints(), plain, settings.start))
    loosely = isinstance(partition, Augmented) and not partition.projects
    return Lookout(flow, settings.parameters, bounds_of(flow.units["watch"], length, loosely), feed.at)


def _check_closed(look: Lookout, t: float, x: np.ndarray) -> None:
    """All rows are closed at the start, those too that the equations leave out."""
    for gap in np.atleast_2d(look.found(t, x)[1]):
        why = look.say_open(t, gap)
        if why:
            raise ModelError(f"the start of {look.flow.name} is not closed: {why}")


def _switched(
    flow: Flow, rules: Sequence[When], inputs: Any, given: dict[str, Any]
) -> tuple[Flow, Any, dict[str, Any]]:
    """Signals that events set become states; what `inputs` says of them is their value at the start."""
    keys = [k.partition(".")[0] for rule in rules for k in (*rule.reset, *(rule.rest or ()))]
    names = [n for n in dict.fromkeys(keys) if n in flow.signals]
    if not names:
        return flow, inputs, given
    given, rest = dict(given), inputs
    if inputs is not None:
        rest = {} if isinstance(inputs, Mapping) else inputs
        for a in read_inputs(flow, inputs):
            if a.name not in names:
                if isinstance(inputs, Mapping):
                    rest[a.key] = inputs[a.key]
                continue
            if not isinstance(a.source, Constant) or a.source.values.ndim > 1:
                raise DefinitionError(f"an event sets {a.name!r}; expected a number for {a.key!r} at the start.")
            shape = flow.rates.inputs[a.name].shape
            start = given.setdefault(a.name, np.array(np.broadcast_to(flow.start.get(a.name, 0.0), shape), dtype=float))
            start.reshape(-1)[list(a.places)] = a.source.values
    return with_switches(flow, names), rest, given


def _continuous(settings: Settings, assignments: Sequence[Assignment]) -> bool:
    """Whether Python functions are called inside of the equations: functions of time by adaptive and other methods."""
    feedback = any(isinstance(a.source, Feedback) for a in assignments)
    if feedback:
        return settings.period == 0
    of_time = any(isinstance(a.source, OfTime) for a in assignments)
    sampled = settings.step is not None and METHODS[settings.method].stages
    return of_time and not sampled


def check_parameters(flow: Flow, parameters: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    """Numbers of the right shape that `known` parameters can have; all that the equations contain have one."""
    for name, value in parameters.items():
        if name not in known:
            raise NameLookupError(f"{flow.name} has no parameter {name!r}. {nearest(name, known)}")
        array = real_number(name, value)
        check_number(name, array, all(s.data.nonzero for s in np.ravel(known[name])))
        core = np.shape(flow.parameters.get(name, 0.0))
        if array.shape[array.ndim - len(core) :] != core or array.ndim > len(core) + 1:
            raise ShapeError(f"parameter {name!r} has shape {array.shape}; expected {core}, or a batch of them.")
    for kind, system in flow.systems.items():
        missing = [n for n in system.parameters if n not in parameters and system.default(n) is None]
        if missing:
            told = ", ".join(missing)
            raise ModelError(f"{flow.name} ({kind}) has no value for {told}. Give ", Named("parameters", "{...}"), ".")


def _massless(mech: Mechanism, parameters: Mapping[str, Any]) -> list[str]:
    """Notes on bodies that lose their mass; numbers that the Mechanism cannot have are refused, before the equations.

    Names that it does not know may be those of the inputs: `check_parameters` looks at them.
    """
    given = check_given(mech, {n: v for n, v in parameters.items() if n in mech.parameters})
    return [
        f"body {name!r} has no mass with the given parameters; a motion that moves no mass has no finite acceleration."
        for name in massless(mech, given)
    ]


def _batch(
    batch: int | None, parameters: Mapping[str, Any], flow: Flow, assignments: Sequence[Assignment]
) -> int | None:
    """The size of the batch that initial values, parameters and constant inputs agree on."""
    sizes = {} if batch is None else {"initial values": batch}
    for name, value in parameters.items():
        array = np.asarray(value)
        if array.ndim > np.ndim(flow.parameters.get(name, 0)):
            sizes[f"parameter {name!r}"] = len(array)
    for a in assignments:
        if isinstance(a.source, Constant) and a.source.values.ndim == 2:
            sizes[f"input {a.name!r}"] = len(a.source.values)
    if len(set(sizes.values())) > 1:
        told = ", ".join(f"{what} {size}" for what, size in sizes.items())
        raise ShapeError(f"the members of the batch are counted differently: {told}.")
    return next(iter(sizes.values()), None)


def _check_batch(method: str, events: bool, own: Sequence[str]) -> None:
    if not METHODS[method].batches:
        raise DefinitionError(f"method {method!r} integrates one state at a time; a batch needs steps of fixed length.")
    if events:
        raise DefinitionError("events are followed for one state at a time; simulate the members of the batch apart.")
    if own:
        raise DefinitionError(
            f"force elements have events ({', '.join(own)}), which are followed for one state at a time; simulate the "
            "members of the batch apart."
        )


def _consistent(
    flow: Flow, feed: Feed, parameters: Mapping[str, Any], given: Mapping[str, Any], x: np.ndarray, t: float,
    notes: list[str], watch: Any = None,
) -> np.ndarray:  # fmt: skip
    """The start corrected: unit quaternions, closed loops, driven joints at their laws."""
    if flow.project is None:
        return x
    from symbody.integrate.native import Native

    helper = Native(flow, "rk4", feed, parameters)
    at = np.asarray(t, dtype=float)
    after = helper.project(at, x)
    bad = ~np.isfinite(np.atleast_2d(after)).all(axis=1)
    if bad.any():
        names = ", ".join(repr(n) for n in dict.fromkeys(flow.labels.get("gap", ())))
        loops = f", or loops ({names}) that do not close from there or are singular there" if names else ""
        why = f"a quaternion of length zero{loops}. Give q0 of another position."
        if watch is not None:
            why = watch.unclosed(np.atleast_2d(x)[bad][0, flow.slices["q"]], t)
        raise ModelError(f"the initial state of {flow.name} cannot be corrected: {why}")
    check_prescribed(flow, x, after, given, notes)
    return after


# -- methods that give way


def _give_way(session: Session) -> None:
    """Replace the explicit method of an automatic run where stability, not accuracy, limits its steps."""
    from symbody.run.stiffness import is_stiff

    if METHODS[session.settings.method].steps == "chosen" or session.t >= session.end or not is_stiff(session):
        return
    old = session.settings.method
    # radau is dearer where samples are dense, as it interpolates by a cubic; but it is projected at each step
    new = "lsoda" if session.flow.project is None else "radau"
    session.settings = replace(session.settings, method=new)
    happened = session.happenings
    events = None if happened is None else happened.prepared
    session.driver = driver_of(session.flow, session.settings, session.feed, events, session.lookout)
    session.driver.span(session.end)
    session.notes.append(f"stiff from t = {session.t:g} s on: {old} gave way to {new}.")
    session.drop_anchor()
