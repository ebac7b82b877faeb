"""`symbody report`: a model, its equations and its motion as one HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from symbody.show.cli.common import advice, fail, load_model, print_json, reading_options
from symbody.show.cli.options import AS_JSON, LOOPS, MODEL, PARAMETER, PARTITION, Q0, QD0, SIMULATE
from symbody.show.cli.output_files import PAGES, check_target


def report(
    model: MODEL,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE.html", help="The page; NAME.html if not given.")
    ] = None,
    duration: SIMULATE = None,
    q0: Q0 = None,
    qd0: QD0 = None,
    parameter: PARAMETER = None,
    loops: LOOPS = None,
    partition: PARTITION = None,
    certificate: Annotated[
        bool, typer.Option("--certificate/--no-certificate", help="Verify the model and show the certificate.")
    ] = True,
    equations: Annotated[
        bool, typer.Option("--equations/--no-equations", help="Show M and c, and operation counts.")
    ] = True,
    animation: Annotated[bool, typer.Option("--animation/--no-animation", help="Show the model in 3-D.")] = True,
    linear: Annotated[bool, typer.Option("--linear", help="Add the linear model at q0, and its modes.")] = False,
    as_json: AS_JSON = False,
) -> None:
    """Write a report on a model as one HTML page that opens anywhere, without a network."""
    from symbody.model.record.typed_values import read_value
    from symbody.show.cli.assignments import independent_increments, parameter_values, partition_choice, state_values
    from symbody.show.report.model_report import write_report

    if out is not None:
        check_target(out, "--out", PAGES)
    with reading_options():
        seconds = None if duration is None else read_value(duration, "s", "--simulate")
    mechanism = load_model(model, loops)
    path = out if out is not None else Path(f"{file_stem(mechanism.name)}.html")
    check_target(path, "--out", PAGES)
    given: dict[str, Any] = {"parameters": parameter_values(mechanism, parameter)}
    q, qd = state_values(mechanism, "q0", "q", q0), state_values(mechanism, "qd0", "qd", qd0)
    values, chosen = given["parameters"], partition_choice(mechanism, partition)
    kept = independent_increments(mechanism, partition) if linear else None
    if seconds is not None:
        from symbody.motion.run.simulate import simulate

        options: dict[str, Any] = {"parameters": values, "partition": chosen}
        given["trajectory"] = simulate(mechanism, seconds, q0=q, qd0=qd, outputs=["energy"], **options)
    if linear:
        from symbody.studies.linear.linearize import linearize
        from symbody.studies.modal.modes import modes

        given["linear"] = linearize(mechanism, q, qd, parameters=values, independent=kept)
        given["modes"] = modes(given["linear"])
    if not equations:
        given.update(equations=None, formalisms=())
    if certificate:
        from symbody.mechanics.verbs.certify.verify import verify

        given["certificate"] = verify(mechanism, parameters=values, partition=chosen or "auto")
    write_report(mechanism, path, animation=animation, **given)
    trajectory = given.get("trajectory")
    outcome = None if trajectory is None else trajectory.outcome
    if as_json:
        told = None if outcome is None else {"code": outcome.name, "complete": outcome.ok, "text": outcome.value}
        print_json({"model": mechanism.name, "files": [str(path)], "outcome": told})
    else:
        print(f"wrote {path}")
    if outcome is not None and not outcome.ok:
        fail(advice(outcome.value))


def file_stem(name: str) -> str:
    """A model's name as the name of a file."""
    return "".join(c if c.isalnum() or c in "-_." else "_" for c in name).strip(".") or "report"
