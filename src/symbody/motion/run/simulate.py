"""sb.simulate: the motion of a Mechanism, a System with states, or a Flow, as a Trajectory; sb.resume goes on.

Arguments become a Batch, what was asked for as one record (`batch.py`); `prepare.py` makes of it a Plan (equations,
stepper, hooks) and a RunState, which `loop.py` advances. Members of a batch go together, or side by side where each
needs a course of its own. docs/simulation.md draws the whole.
"""

from __future__ import annotations

import inspect
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from symbody.basics.arguments import declared
from symbody.basics.errors import DefinitionError, argument, wrong_argument
from symbody.mechanics.verbs.coincident_links import coincident_links
from symbody.mechanics.verbs.limits import passed_limits
from symbody.model.record.followers import completed
from symbody.model.record.keyframes import named_state
from symbody.model.record.mechanism import Mechanism
from symbody.motion.events.hooks import BUILT_IN
from symbody.motion.events.plan import Plan, Settings
from symbody.motion.events.queries import Asking
from symbody.motion.events.state import RunState
from symbody.motion.flow.closed_formulation import formulated
from symbody.motion.flow.controller_parameters import of_controllers
from symbody.motion.flow.event_rules import When
from symbody.motion.flow.flow import Flow
from symbody.motion.methods.methods import choose_method
from symbody.motion.methods.sample_times import read_samples
from symbody.motion.run.batch import Batch
from symbody.motion.run.ensemble import Ensemble, advance_all, timed
from symbody.motion.run.loop import Reached, advance, interrupts
from symbody.motion.run.on_device import read_device, reduced
from symbody.motion.run.progress_bar import counted, progress_bar
from symbody.motion.run.recording import RecordedEnd, trajectory
from symbody.motion.run.run_equations import RunModel
from symbody.motion.run.settings import Tolerance, check_limits, check_long_enough, check_numbers, read_options
from symbody.motion.run.side_by_side import SideBySide, side_by_side
from symbody.motion.trajectory.outcome import Outcome
from symbody.motion.trajectory.stream import Stream, send, stream_of
from symbody.motion.trajectory.trajectory import Trajectory
from symbody.symbolic.system.system import System

CHECKPOINT_SECONDS = 5.0


@declared
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
    events: Iterable[When] = (),
    closing: Any = None,
    tolerance: float | Tolerance | None = None,
    sampling: Any = None,
    states0: Mapping[str, Any] | None = None,
    checkpoint: str | Path | None = None,
    **options: Any,
) -> Trajectory:
    """The motion over `duration` seconds.

    step        s; None: adaptive steps by the tolerance
    q0, qd0     arrays, or joint -> value (the others zero, unit quaternions); (b, n) arrays make a batch; the name of a
                keyframe of the Mechanism stands for its values
    inputs      efforts and other inputs, see `sources`; what is not given is zero
    method      "auto" or a name of `methods.METHODS`
    outputs     what to record besides states, inputs and qdd, see `quantities`
    parameters  name -> value other than the default; arrays (b,) make a batch. None that is declared nonzero may be 0,
                and no mass or inertia may become negative; 0 is legal where every motion still moves some mass
    events      `When` records
    closing     of closed loops: names of independent joints, "pivoting", a Partition, `sb.Reduced(...)`, or
                `sb.Augmented(...)`: all joints with multipliers. None: reduced to joints that are chosen, unless a loop
                opens and closes. Where a partition becomes singular on the way another one takes over
    tolerance   relative one, or `sb.Tolerance(relative, absolute)`
    sampling    number of equidistant samples, their instants, or `sb.Sampling(samples, period)`, with the period of
                Python controllers. None: every step, or 1001 samples of an adaptive run
    states0     initial values of other states: those of force elements and of controllers
    checkpoint  file that is written every few seconds; `resume` goes on from it

    options:
    t0          s, where time begins
    formalism   of the equations; None: a small one
    slow        rad/s, m/s: below it the dry friction of joints falls off to zero, so that integrators can follow; 0
                keeps its jump
    stream      of a batch: a .parquet file, a function of (first member, Trajectory), or a `Stream`, to which the
                members go chunk by chunk: what is returned has outcomes but no values, and memory does not grow
    device      "cuda" or "cuda:1": the batch is marched on that GPU ([gpu.md]); precision: double, single or fast there
    reduce      of a device: some of "mean", "min", "max", "final": of the states over all steps, without recording them
    max_steps   after which this call ends; `resume` takes as many again. Methods that choose their steps count those
                that they reject, and a batch those of each member
    threads     of a batch; progress: whether a bar is shown

    rtol, atol, samples, period, partition, formulation, alpha and beta are fields of the records above, given one by
    one.
    """
    batch, o = recorded_call(
        mech, duration, step, q0, qd0, inputs, method, outputs, parameters, events, closing, tolerance, sampling,
        states0, options,
    )  # fmt: skip
    if batch.settings.device is not None:
        _check_no_checkpoint(checkpoint, "is written by runs on the processor; leave it or device out.")
        if o["reduce"]:
            return reduced(batch.made(), tuple(o["reduce"]))
    if o["stream"] is not None:
        _check_no_checkpoint(
            checkpoint, "cannot be written while a batch is streamed; give the batch in parts instead."
        )
        return _streamed(batch, stream_of(o["stream"]), o["progress"])
    if checkpoint is not None and batch.model.closed is not None:
        from symbody.motion.run.closed_checkpoint import stored_call

        stored_call(batch)  # what a file cannot hold is told before the run
    made = batch.made()
    if isinstance(made, SideBySide):
        if batch.model.closed is None:
            _check_no_checkpoint(
                checkpoint, "is for one state, and for batches whose members advance together, which these cannot."
            )
        return _noted(mech, _one_by_one(batch, made, checkpoint=checkpoint))
    return _noted(mech, run(*made, o["progress"], checkpoint, None if batch.model.closed is None else batch))


def recorded_call(
    mech: Any,
    duration: Any,
    step: Any = None,
    q0: Any = None,
    qd0: Any = None,
    inputs: Any = None,
    method: str = "auto",
    outputs: Any = None,
    parameters: Mapping[str, Any] | None = None,
    events: Iterable[When] = (),
    closing: Any = None,
    tolerance: Any = None,
    sampling: Any = None,
    states0: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
) -> tuple[Batch, Mapping[str, Any]]:
    """What the arguments of `simulate` ask for, checked; and its options by name."""
    o = read_options(dict(options or {}), NAMED, tolerance, sampling, closing)
    duration, step, t0, rtol, atol = check_numbers(duration, step, o["t0"], o["rtol"], o["atol"])
    max_steps, slow, threads, period = check_limits(o["max_steps"], o["slow"], o["threads"], o["period"])
    device = read_device(o["device"], o["precision"], o["reduce"])
    if device is not None and method == "auto" and step is None:
        method = "dopri5"
    inputs, values = of_controllers(inputs, parameters or {})
    if isinstance(mech, Mechanism):
        values = completed(mech, values)
    settings = Settings(
        choose_method(method, step, rtol), float(t0), step, rtol, atol, max_steps,
        read_samples(o["samples"], t0, duration, step), period, threads, values,
        automatic=method == "auto" and step is None, slow=slow, device=device, precision=o["precision"],
    )  # fmt: skip
    given = {"q": named_state(mech, q0, "q", values), "qd": named_state(mech, qd0, "qd", values), **(states0 or {})}
    partition = formulated(mech, o["formalism"], o["partition"], o["formulation"], o["alpha"], o["beta"])
    model = RunModel(mech, o["formalism"], inputs, outputs, _rules(events))
    return Batch(model, settings, duration, given, partition), o


NAMED = tuple(n for n in inspect.signature(simulate).parameters if n != "options")


def _noted(mech: Any, motion: Trajectory) -> Trajectory:
    """With notes on limits of joints that the motion passed: they do not act by themselves; and on links that had no
    direction where a run ended."""
    if not isinstance(mech, Mechanism):
        return motion
    notes = (*motion.notes, *passed_limits(mech, motion.values), *_without_direction(mech, motion))
    return motion.replace(notes=notes, mechanism=mech)


def _without_direction(mech: Mechanism, motion: Trajectory) -> tuple[str, ...]:
    """Which links have both points at one place where a rate of one run was no number."""
    if motion.outcome is not Outcome.NOT_FINITE or motion.outcomes is not None or motion.run is None:
        return ()
    end = motion.run.last.state
    numbers = motion.run.last.plan.settings.parameters
    why = coincident_links(mech, motion.values["q"][-1], numbers, float(end.t))
    return () if why is None else (f"{why}.",)


def _check_no_checkpoint(checkpoint: str | Path | None, why: str) -> None:
    if checkpoint is not None:
        raise DefinitionError(argument("checkpoint", str(checkpoint)), f" {why}")


def _one_by_one(
    batch: Batch,
    apart: SideBySide,
    first: int = 0,
    whole: SideBySide | None = None,
    checkpoint: str | Path | None = None,
) -> Trajectory:
    """Members of a batch run one by one, from member `first` of `whole`; with closed loops they go side by side, each
    with a partition of its own.
    """
    of = whole or apart
    if batch.model.closed is None:
        return side_by_side(apart.count, lambda k: _member(batch, of, first + k), batch.wanted)
    if checkpoint is not None:
        made = batch.made(first, of)
        assert not isinstance(made, SideBySide)
        _check_hooks(made[0], checkpoint)
    return _run_ensemble(batch, [batch.making(first + k, of) for k in range(apart.count)], checkpoint)


def _run_ensemble(batch: Batch, making: Sequence[Asking[Any]], checkpoint: str | Path | None) -> Trajectory:
    """Runs of a batch of a closed mechanism, to their ends."""
    from symbody.motion.run.checkpoint import save_checkpoint

    began = time.perf_counter()
    saved = time.monotonic()

    def keep(runs: Callable[[], Sequence[RecordedEnd | None]]) -> None:
        nonlocal saved
        if checkpoint is not None and time.monotonic() - saved > CHECKPOINT_SECONDS:
            save_checkpoint(Ensemble(batch, tuple(runs())), checkpoint)
            saved = time.monotonic()

    with interrupts() as interrupted:
        runs = advance_all(making, interrupted, keep)
    seconds = (time.perf_counter() - began) / max(len(runs), 1)
    members = Ensemble(batch, tuple(timed(run, seconds) for run in runs))
    if checkpoint is not None:
        save_checkpoint(members, checkpoint)
    wanted = batch.settings.sampling.times(batch.settings.start, members.goal, batch.settings.step)
    begun = members.started
    return side_by_side(len(begun), lambda k: trajectory(begun[k]), wanted).replace(run=members)


def _member(batch: Batch, whole: SideBySide, k: int) -> Trajectory:
    """The run of member k by itself, on the processor."""
    alone = replace(batch, settings=replace(batch.settings, device=None))
    made = alone.made(k, whole)
    assert not isinstance(made, SideBySide)
    return run(*made, False, None)


def _streamed(batch: Batch, stream: Stream, progress: bool) -> Trajectory:
    """Chunk by chunk, of which only one is in memory at a time."""
    whole = batch.made(split=True)
    if not isinstance(whole, SideBySide):
        raise DefinitionError("stream is for batches; this is one state. Save its Trajectory instead.")
    flow = whole.flow
    recorded = 0 if flow.record is None else sum(a.size for a in flow.record.outputs.values())
    size = stream.size(len(batch.wanted), 2 * flow.nx + recorded + 4)

    def chunks() -> Iterator[tuple[int, Trajectory]]:
        with counted(flow.name, whole.count, progress) as bar:
            for first in range(0, whole.count, size):
                last = min(first + size, whole.count)
                made = batch.made(slice(first, last), whole)
                if isinstance(made, SideBySide):
                    yield first, _one_by_one(batch, made, first, whole)
                else:
                    yield first, run(*made, False, None)
                bar(last)

    return send(stream, chunks())


def _rules(events: Iterable[When]) -> tuple[When, ...]:
    rules = tuple(events)
    for rule in rules:
        if not isinstance(rule, When):
            raise DefinitionError(f"events has {rule!r}; expected When(name, guard, ...) records.")
    return rules


@declared
def resume(
    source: Trajectory | str | Path,
    duration: float | None = None,
    *,
    inputs: Any = None,
    progress: bool = False,
    checkpoint: str | Path | None = None,
) -> Trajectory:
    """Continues a run by `duration` seconds (None: up to the end that was asked for), as if never interrupted.

    source   a Trajectory of `simulate`, or a checkpoint file
    inputs   for a file: Python functions, which no file holds, again under the names that `simulate` was given
    """
    if isinstance(source, Trajectory):
        if source.run is None:
            raise DefinitionError("this trajectory was not made by simulate in this process; resume from a checkpoint.")
        if inputs is not None:
            raise DefinitionError("inputs are those of the trajectory; they can be given for a checkpoint file only.")
        ended: RecordedEnd | Ensemble = source.run
    else:
        from symbody.motion.run.checkpoint import load_checkpoint

        if not isinstance(source, (str, Path)):
            raise DefinitionError(f"resume was given {source!r}; expected a Trajectory, or the path of a checkpoint.")
        ended = load_checkpoint(source, inputs)
    goal = ended.goal if duration is None else ended.reached + float(duration)
    if not math.isfinite(goal) or goal < ended.reached:
        raise wrong_argument("duration", duration, "a positive number of seconds")
    if duration:
        check_long_enough("duration", float(duration), ended.reached)
    if isinstance(ended, Ensemble):
        motion = _run_ensemble(ended.batch, [_going_on(ended, k, goal) for k in range(len(ended.runs))], checkpoint)
        return _noted(ended.batch.model.model, motion)
    return run(*_further(ended, goal), progress, checkpoint, ended.batch)


def _further(ended: RecordedEnd, goal: float) -> tuple[Plan, RunState]:
    """It ended between two steps as it was told; a longer run goes on from the last place that both pass."""
    plan, state, last = ended.anchor.plan, ended.anchor.state, ended.last.state
    seconds = last.counts.get("seconds", 0.0)
    return plan, replace(
        state, end=goal, counts={**state.counts, "seconds": seconds}, since=(ended.reached, last.tried)
    )


def _going_on(members: Ensemble, k: int, goal: float) -> Asking[Any]:
    """Plan and state of member k up to `goal` (s); a member that has not started is made as it would have been."""
    ended = members.runs[k]
    if ended is not None:
        return _further(ended, goal)
    made = yield from members.batch.making(k, members.layout)
    assert not isinstance(made, SideBySide)
    return made[0], replace(made[1], end=goal)


def _check_hooks(plan: Plan, checkpoint: str | Path | None) -> None:
    if checkpoint is None:
        return
    from symbody.motion.run.checkpoint import check_storable

    added = [hook.name for hook in plan.hooks if hook.name not in BUILT_IN]
    if added:
        _check_no_checkpoint(checkpoint, f"cannot hold what the hook {added[0]!r} remembers, which was added.")
    check_storable(plan)


def run(
    plan: Plan, state: RunState, progress: bool, checkpoint: str | Path | None, batch: Batch | None = None
) -> Trajectory:
    """The run up to `state.end`, with all that goes on beside it. batch: what a closed mechanism was asked for."""
    from symbody.motion.run.checkpoint import save_checkpoint

    _check_hooks(plan, checkpoint)
    began = time.perf_counter()
    saved = time.monotonic()
    last = anchor = Reached(plan, state)
    with progress_bar(plan.flow.name, plan.settings.start, state.end, progress) as bar, interrupts() as interrupted:
        for last in advance(plan, state, interrupted):
            if bar is not None:
                bar(last.state.t)
            if last.outcome is not None:
                break
            anchor = last
            if checkpoint is not None and time.monotonic() - saved > CHECKPOINT_SECONDS:
                save_checkpoint(RecordedEnd(last, anchor, batch), checkpoint)
                saved = time.monotonic()
    seconds = last.state.counts.get("seconds", 0.0) + time.perf_counter() - began
    timed_state = replace(last.state, counts={**last.state.counts, "seconds": seconds})
    ended = RecordedEnd(replace(last, state=timed_state), anchor, batch)
    if checkpoint is not None:
        save_checkpoint(ended, checkpoint)
    return trajectory(ended)
