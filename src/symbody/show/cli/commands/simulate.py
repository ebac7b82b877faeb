"""`symbody simulate`: the motion of a model, as text, files, plots and reports."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from symbody.show.cli import completion
from symbody.show.cli.common import advice, complain, load_model, print_json, reading_options
from symbody.show.cli.options import AS_JSON, DURATION, FORMALISM, LOOPS, OPTIONAL_MODEL, PARAMETER, PARTITION, Q0, QD0
from symbody.show.cli.output_files import PAGES, PICTURES, TABLES, check_distinct, check_target, save_figure, write_all

if TYPE_CHECKING:
    from symbody.model.record.mechanism import Mechanism
    from symbody.motion.flow.event_rules import When
    from symbody.motion.trajectory.trajectory import Trajectory

_COMPARED = re.compile(r"([^<>=]+)(<=|>=|==|<|>)([^<>=]+)")


def simulate(
    model: OPTIONAL_MODEL = "",
    duration: DURATION = None,
    step: Annotated[
        str | None, typer.Option("--step", metavar="TIME", help="Fixed step, such as 1ms; else tolerances choose it.")
    ] = None,
    method: Annotated[
        str, typer.Option("--method", "-m", autocompletion=completion.methods, help="auto, rk4, dopri5, radau, ...")
    ] = "auto",
    q0: Q0 = None,
    qd0: QD0 = None,
    inputs: Annotated[
        list[str] | None,
        typer.Option(
            "--input",
            "-i",
            metavar="NAME=VALUE",
            autocompletion=completion.inputs,
            help="Effort of a joint or another input: a number (10N), an expression of t, q.<joint>, qd.<joint>, "
            "parameters, or a .csv table with t in its first column. May be repeated.",
        ),
    ] = None,
    parameter: PARAMETER = None,
    output: Annotated[
        list[str] | None,
        typer.Option(
            "--output",
            metavar="NAME",
            help="What to record besides coordinates, velocities and efforts: energy, p.<body>, reaction.<joint>, "
            "sensors, name=expression. May be repeated.",
        ),
    ] = None,
    samples: Annotated[
        int | None, typer.Option("--samples", min=2, max=10_000_000, help="Number of recorded instants.")
    ] = None,
    rtol: Annotated[float, typer.Option("--rtol", help="Relative tolerance of an adaptive method.")] = 1e-8,
    atol: Annotated[float | None, typer.Option("--atol", help="Absolute tolerance; as rtol if not given.")] = None,
    max_steps: Annotated[
        int | None, typer.Option("--max-steps", min=1, help="End after so many steps; 10 million if not given.")
    ] = None,
    slow: Annotated[
        float | None,
        typer.Option(
            "--slow",
            min=0.0,
            metavar="SPEED",
            help="Below this speed (rad/s, m/s) dry friction falls off to zero, 1e-3 if not given; 0 keeps its jump.",
        ),
    ] = None,
    stop_when: Annotated[
        list[str] | None,
        typer.Option(
            "--stop-when",
            metavar="EXPRESSION",
            help="End where this happens: 'q.elbow > 1.2', or an expression that crosses zero. May be repeated.",
        ),
    ] = None,
    out: Annotated[
        list[Path] | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="Write the motion: .csv, .parquet, .h5 or .npz. May be repeated."
        ),
    ] = None,
    plot: Annotated[Path | None, typer.Option("--plot", metavar="FILE", help="Draw it: .png, .svg or .pdf.")] = None,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", help="Write an HTML page with an animation.")
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            "--checkpoint", metavar="FILE", help="Keep a file, every few seconds, from which --resume goes on."
        ),
    ] = None,
    resume: Annotated[Path | None, typer.Option("--resume", metavar="FILE", help="Go on from a checkpoint.")] = None,
    limits: Annotated[
        bool, typer.Option("--limits", help="Let the limits of the joints act: stops, brakes, efforts cut off.")
    ] = False,
    loops: LOOPS = None,
    partition: PARTITION = None,
    formalism: FORMALISM = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
    as_json: AS_JSON = False,
) -> None:
    """Simulate a model from an initial state.

    Coordinates, velocities and inputs that are not given are zero; loops are closed from there. Ctrl-C ends the run,
    writes the files with what was computed, and gives the exit status 130. The status is 1 if the run did not reach its
    end.
    """
    from symbody.show.cli.assignments import output_names
    from symbody.show.cli.summary import trajectory_facts, trajectory_text

    for path in out or ():
        check_target(path, "--out", TABLES)
    if plot is not None:
        check_target(plot, "--plot", PICTURES)
    if report is not None:
        check_target(report, "--report", PAGES)
    if checkpoint is not None:
        check_target(checkpoint, "--checkpoint")
    files = [*(("--out", path) for path in out or ()), ("--plot", plot), ("--report", report)]
    for kept in (("--checkpoint", checkpoint), ("--resume", resume)):
        check_distinct([kept, *files])
    outputs = output_names(output)
    shown = sys.stderr.isatty() and not quiet
    if resume is not None:
        given = {
            "--step": step, "--q0": q0, "--qd0": qd0, "--input": inputs, "--parameter": parameter, "--output": output,
            "--samples": samples, "--stop-when": stop_when, "--formalism": formalism, "--atol": atol,
            "--max-steps": max_steps, "--slow": slow, "--partition": partition, "--limits": limits or None,
        }  # fmt: skip
        mechanism, traj = _resumed(model, loops, resume, duration, checkpoint, report, shown, given)
    else:
        if not model:
            raise typer.BadParameter("give a model, or --resume FILE.", param_hint="MODEL")
        if duration is None:
            raise typer.BadParameter("say how long, such as --duration 2.", param_hint="--duration")
        from symbody.motion.run.simulate import simulate as run
        from symbody.show.cli.assignments import input_values, parameter_values, partition_choice, state_values

        seconds, distance = _time(duration, "--duration"), _time(step, "--step")
        _check_tolerances(rtol, atol)
        bounds: dict[str, Any] = {"max_steps": max_steps, "slow": slow}
        bounds = {name: value for name, value in bounds.items() if value is not None}
        mechanism = load_model(model, loops)
        given_inputs = input_values(mechanism, inputs) or None
        if limits:
            from symbody.mechanics.verbs.limits import saturated, with_limits

            mechanism, given_inputs = with_limits(mechanism), saturated(mechanism, given_inputs)
        traj = run(
            mechanism,
            seconds,
            distance,
            state_values(mechanism, "q0", "q", q0),
            state_values(mechanism, "qd0", "qd", qd0),
            given_inputs,
            method,
            _with_swing(outputs) or None,
            parameters=parameter_values(mechanism, parameter),
            formalism=formalism,
            partition=partition_choice(mechanism, partition),
            rtol=rtol,
            atol=atol,
            samples=samples,
            events=stop_rules(stop_when or ()),
            progress=shown,
            checkpoint=checkpoint,
            **bounds,
        )
    names = [n for o in outputs for n in ([o] if isinstance(o, str) else o)]
    jobs = _jobs(mechanism, traj, out or [], plot, report, names)
    written, failed = write_all(jobs)
    written += [str(checkpoint)] if checkpoint is not None else []
    facts = trajectory_facts(traj, written)
    if as_json:
        print_json(facts)
    elif not quiet:
        print(trajectory_text(facts, names))
    _leave(traj, failed, checkpoint)


def _with_swing(outputs: list[Any]) -> list[Any]:
    """Kinetic energy beside the total: what a drift of energy is compared with."""
    return [*outputs, "kinetic"] if "energy" in outputs and "kinetic" not in outputs else outputs


def _leave(traj: Trajectory, failed: int, checkpoint: Path | None) -> None:
    """The exit status: 130 after an interrupt, 1 if the run or a file failed."""
    from symbody.motion.trajectory.outcome import Outcome

    if traj.outcome is Outcome.INTERRUPTED:
        further = f" Go on: symbody simulate --resume {checkpoint}" if checkpoint is not None else ""
        print(f"interrupted at t = {traj.t[-1] if len(traj.t) else 0.0:.6g} s.{further}", file=sys.stderr)
        raise typer.Exit(130)
    if not traj.outcome.ok:
        complain(advice(traj.outcome.value))
    if failed or not traj.outcome.ok:
        raise typer.Exit(1)


def _resumed(
    model: str,
    loops: Path | None,
    path: Path,
    duration: str | None,
    checkpoint: Path | None,
    report: Path | None,
    shown: bool,
    given: dict[str, Any],
) -> tuple[Mechanism | None, Trajectory]:
    """Go on from a checkpoint, which holds the equations and all choices of the first run."""
    from symbody.basics.errors import ModelError
    from symbody.motion.run.simulate import resume

    extra = [option for option, value in given.items() if value is not None]
    if extra:
        raise typer.BadParameter("belongs to the first run; a checkpoint holds it already.", param_hint=extra[0])
    for option, value in (("--report", report), ("--loops", loops)):
        if value is not None and not model:
            raise typer.BadParameter("needs the model besides the checkpoint.", param_hint=option)
    mechanism = load_model(model, loops) if model else None
    traj = resume(path, _time(duration, "--duration"), progress=shown, checkpoint=checkpoint)
    if mechanism is not None and mechanism.name != traj.model:
        raise ModelError(f"{path} is a checkpoint of {traj.model}, not of {mechanism.name}.")
    return mechanism, traj


def _jobs(
    mechanism: Any, traj: Trajectory, out: list[Path], plot: Path | None, report: Path | None, names: list[str]
) -> list[tuple[Path, Callable[[], Any]]]:
    """What writes each file. mechanism: needed for a report only."""
    from symbody.motion.trajectory.trajectory_files import save_trajectory

    jobs: list[tuple[Path, Callable[[], Any]]] = [(p, functools.partial(save_trajectory, traj, p)) for p in out]
    if plot is not None:
        jobs.append((plot, functools.partial(_draw, traj, plot, names)))
    if report is not None:
        from symbody.show.report.model_report import write_report

        jobs.append((report, functools.partial(write_report, mechanism, report, traj, formalisms=(), equations=None)))
    return jobs


def _draw(traj: Trajectory, path: Path, names: list[str]) -> None:
    from symbody.motion.trajectory.plot import plot

    wanted = [n for n in traj.values if n in ("q", "qd") or n in names or n.partition(".")[0] in ("p", "v", "reaction")]
    save_figure(plot(traj, wanted or None), path)


def stop_rules(texts: list[str] | tuple[str, ...]) -> list[When]:
    """Stop conditions: a comparison stops where it becomes true, another expression where it crosses zero."""
    from symbody.motion.flow.event_rules import When

    rules = []
    for text in dict.fromkeys(t.strip() for t in texts):
        compared = _COMPARED.fullmatch(text)
        guard = f"{compared[1].strip()} - ({compared[3].strip()})" if compared else text
        direction = {">": 1, "<": -1}.get(compared[2][0], 0) if compared else 0
        rules.append(When(text, guard, direction, stop=True))
    return rules


def _time(text: str | None, option: str) -> Any:
    """Seconds of 2, 500ms, 3min; None if nothing was given."""
    from symbody.model.record.typed_values import read_value

    with reading_options():
        return None if text is None else read_value(text, "s", option)


def _check_tolerances(rtol: float, atol: float | None) -> None:
    for option, value in (("--rtol", rtol), ("--atol", atol)):
        if value is not None and not 1e-15 <= value < 1:
            raise typer.BadParameter(
                f"{value:g} was given; expected a number from 1e-15, which doubles resolve, to 1.", param_hint=option
            )
