"""`symbody animate`: a model, or its motion, as one HTML page that opens anywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from symbody.basics.errors import CompileError
from symbody.show.cli.commands.report import file_stem
from symbody.show.cli.common import advice, fail, load_model, print_json, reading_options
from symbody.show.cli.options import AS_JSON, LOOPS, MODEL, PARAMETER, PARTITION, Q0, QD0, SIMULATE
from symbody.show.cli.output_files import PAGES, check_target


def animate(
    model: MODEL,
    duration: SIMULATE = None,
    q0: Q0 = None,
    qd0: QD0 = None,
    parameter: PARAMETER = None,
    loops: LOOPS = None,
    partition: PARTITION = None,
    motion: Annotated[
        Path | None,
        typer.Option("--motion", metavar="FILE", help="Show a motion that `symbody simulate --out` wrote."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE.html", help="The page; NAME.html if not given.")
    ] = None,
    as_json: AS_JSON = False,
) -> None:
    """Show a model in 3-D, at rest or moving, as one HTML page that opens anywhere, without a network."""
    from symbody.basics.atomic_file import write_whole
    from symbody.model.record.typed_values import read_value
    from symbody.show.cli.assignments import parameter_values, partition_choice, state_values
    from symbody.show.report.notebook import animation_page

    if out is not None:
        check_target(out, "--out", PAGES)
    if duration is not None and motion is not None:
        raise typer.BadParameter("has no place beside --simulate: one motion is shown.", param_hint="--motion")
    with reading_options():
        seconds = None if duration is None else read_value(duration, "s", "--simulate")
    mechanism = load_model(model, loops)
    path = out if out is not None else Path(f"{file_stem(mechanism.name)}.html")
    check_target(path, "--out", PAGES)
    values, chosen = parameter_values(mechanism, parameter), partition_choice(mechanism, partition)
    q, qd = state_values(mechanism, "q0", "q", q0), state_values(mechanism, "qd0", "qd", qd0)
    trajectory: Any = None
    if seconds is not None:
        from symbody.motion.run.simulate import simulate

        trajectory = simulate(mechanism, seconds, q0=q, qd0=qd, parameters=values, partition=chosen)
    elif motion is not None:
        from symbody.motion.trajectory.trajectory_files import load_trajectory

        trajectory = load_trajectory(motion)
    elif q is not None or qd is not None:
        from symbody.show.report.notebook import standing

        trajectory = standing(mechanism, q, values)
    html = animation_page(mechanism, trajectory, values)
    if html is None:
        raise CompileError('there is no viewer without the package meshcat. Run: pip install "symbody[report]".')
    write_whole(path, html.encode("utf-8", errors="replace"))
    outcome = getattr(trajectory, "outcome", None)
    if as_json:
        told = None if outcome is None else {"code": outcome.name, "complete": outcome.ok, "text": outcome.value}
        print_json({"model": mechanism.name, "files": [str(path)], "outcome": told})
    else:
        print(f"wrote {path}")
    if outcome is not None and not outcome.ok:
        fail(advice(outcome.value))
