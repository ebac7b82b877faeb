"""`symbody modes`: frequencies, damping and shapes of small motions about an operating point."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from symbody.basics.errors import ModelError
from symbody.show.cli.commands.linearize import linear_model
from symbody.show.cli.common import load_model, print_json, reading_options
from symbody.show.cli.options import AS_JSON, EQUILIBRIUM, INPUT, LOOPS, MODEL, PARAMETER, PARTITION, Q0, QD0
from symbody.show.cli.output_files import PAGES, check_target

if TYPE_CHECKING:
    from symbody.studies.modal.modes import Modes


def modes(
    model: MODEL,
    q0: Q0 = None,
    qd0: QD0 = None,
    inputs: INPUT = None,
    parameter: PARAMETER = None,
    equilibrium: EQUILIBRIUM = False,
    loops: LOOPS = None,
    partition: PARTITION = None,
    kind: Annotated[str, typer.Option("--kind", help="auto, undamped (K and M alone) or damped.")] = "auto",
    animate: Annotated[
        Path | None, typer.Option("--animate", metavar="FILE.html", help="Write a page that shows a mode moving.")
    ] = None,
    mode: Annotated[
        int, typer.Option("--mode", min=1, help="Which one --animate shows, as numbered in the table.")
    ] = 1,
    amplitude: Annotated[float, typer.Option("--amplitude", help="Of its largest coordinate, rad or m.")] = 0.2,
    as_json: AS_JSON = False,
) -> None:
    """Modes of small motions: frequency, damping, and which coordinates take part."""
    from symbody.studies.modal.modes import modes as library

    if animate is not None:
        check_target(animate, "--animate", PAGES)
    mechanism = load_model(model, loops)
    found = library(linear_model(mechanism, q0, qd0, inputs, parameter, None, equilibrium, partition), kind)
    if animate is not None:
        _animate(mechanism, found, mode, amplitude, animate)
    if as_json:
        print_json({**modes_facts(found), "files": [str(animate)] if animate is not None else []})
        return
    print(found.table() if len(found) else f"{found.model} has no modes: nothing of it moves freely.")
    if animate is not None:
        print(f"wrote {animate}")


@reading_options()
def _animate(mechanism: Any, found: Modes, number: int, amplitude: float, path: Path) -> None:
    import math

    from symbody.show.report.model_report import write_report
    from symbody.studies.modal.mode_motion import mode_trajectory

    if number > len(found):
        raise ModelError(f"--mode {number} was given; modes of {found.model} are numbered from 1 to {len(found)}.")
    if not math.isfinite(amplitude) or amplitude == 0:
        raise ModelError(f"--amplitude {amplitude} was given; expected a number other than 0.")
    motion = mode_trajectory(mechanism, found, number - 1, amplitude)
    title = f"{found.model}: mode {number}, {found.frequencies[number - 1]:.4g} Hz"
    write_report(mechanism, path, motion, modes=found, title=title, formalisms=(), equations=None)


def modes_facts(found: Modes) -> dict[str, Any]:
    """Modes, ready for JSON."""
    rows = [
        {
            "mode": k + 1,
            "eigenvalue": found.eigenvalues[k],
            "frequency": found.frequencies[k],
            "damped_frequency": found.damped_frequencies[k],
            "damping": found.damping[k],
            "rigid": bool(found.rigid[k]),
            "grows": bool(found.unstable[k]),
            "participation": found.participation[k],
            "shape": [complex(x) for x in found.shapes[:, k]],
        }
        for k in range(len(found))
    ]
    facts = {"model": found.model, "kind": found.kind, "coordinates": found.coordinates, "q0": found.q0}
    return {**facts, "modes": rows, "notes": found.notes}
