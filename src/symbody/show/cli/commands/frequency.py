"""`symbody frequency`: the frequency response of a model about an operating point."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from symbody.basics.errors import ModelError, nearest
from symbody.show.cli.commands.linearize import linear_model
from symbody.show.cli.common import load_model, print_json, reading_options
from symbody.show.cli.options import AS_JSON, EQUILIBRIUM, INPUT, LOOPS, MODEL, PARAMETER, PARTITION, Q0, QD0
from symbody.show.cli.output_files import PICTURES, check_target, save_figure

if TYPE_CHECKING:
    from symbody.studies.control.frequency import Response

HERTZ = "1/s"


def frequency(
    model: MODEL,
    q0: Q0 = None,
    qd0: QD0 = None,
    inputs: INPUT = None,
    parameter: PARAMETER = None,
    equilibrium: EQUILIBRIUM = False,
    loops: LOOPS = None,
    partition: PARTITION = None,
    output: Annotated[
        list[str] | None,
        typer.Option(
            "--output", metavar="NAME", help="What answers: q, qd, p.<frame>, an expression. May be repeated."
        ),
    ] = None,
    channel: Annotated[
        list[str] | None,
        typer.Option("--from", metavar="INPUT", help="What excites: tau.<joint> or another input; all if not given."),
    ] = None,
    low: Annotated[
        str | None, typer.Option("--low", metavar="FREQUENCY", help="Lowest frequency, such as 0.1Hz.")
    ] = None,
    high: Annotated[
        str | None, typer.Option("--high", metavar="FREQUENCY", help="Highest frequency, such as 1e3.")
    ] = None,
    points: Annotated[int, typer.Option("--points", min=2, max=100_000, help="Number of frequencies.")] = 400,
    plot: Annotated[Path | None, typer.Option("--bode", metavar="FILE", help="Draw it: .png, .svg or .pdf.")] = None,
    table: Annotated[Path | None, typer.Option("--table", metavar="FILE", help="Write all values as .csv.")] = None,
    as_json: AS_JSON = False,
) -> None:
    """Frequency response of small motions: gain at rest, resonances, and a Bode plot on request."""
    import numpy as np

    from symbody.studies.control.frequency import default_range, frequency_response
    from symbody.studies.linear.as_state_space import as_state_space

    if plot is not None:
        check_target(plot, "--bode", PICTURES)
    if table is not None:
        check_target(table, "--table", (".csv",))
    bounds = [_hertz(low, "--low"), _hertz(high, "--high")]
    mechanism = load_model(model, loops)
    linear = linear_model(mechanism, q0, qd0, inputs, parameter, output, equilibrium, partition)
    with reading_options():
        for name in channel or ():
            if name not in linear.inputs:
                raise ModelError(f"--from {name} is no input of {linear.model}. {nearest(name, linear.inputs)}")
        usual = default_range(as_state_space(linear))
        first, last = (b if b is not None else x for b, x in zip(bounds, (usual[0], usual[-1])))
        if not 0 < first < last:
            raise ModelError(f"frequencies go from {first:g} to {last:g} rad/s; expected --low below --high.")
    found = frequency_response(linear, np.geomspace(first, last, points), channel or None)
    written = []
    if plot is not None:
        save_figure(found.plot(), plot)
        written.append(str(plot))
    if table is not None:
        _write(found, table)
        written.append(str(table))
    facts = {**response_facts(found), "model": linear.model, "notes": linear.notes, "files": written}
    if as_json:
        print_json({**facts, "frequency": found.frequency, "values": found.values})
        return
    print(
        f"{linear.model}: {len(found.omega)} frequencies from {found.frequency[0]:.4g} to {found.frequency[-1]:.4g} Hz"
    )
    for note in linear.notes:
        print(f"note: {note}")
    print(found.table())
    for path in written:
        print(f"wrote {path}")


def _hertz(text: str | None, option: str) -> float | None:
    """Angular frequency, rad/s, of 10, 10Hz or 5rad/s."""
    from math import pi

    from symbody.model.record.typed_values import is_value, read_value

    with reading_options():
        if text is None:
            return None
        if is_value(text) and text.replace(" ", "").endswith(("rad/s", "rpm")):
            return read_value(text, "rad/s", option)
        return 2 * pi * read_value(text, HERTZ, option)


def response_facts(found: Response) -> dict[str, Any]:
    """Gain at the lowest frequency and resonances of each channel, ready for JSON."""
    return {
        "inputs": found.inputs,
        "outputs": found.outputs,
        "channels": [
            {"input": i, "output": o, "low": low, "peaks": [{"frequency": f, "magnitude": m} for f, m in peaks]}
            for i, o, low, peaks in found.peaks()
        ],
    }


def _write(found: Response, path: Path) -> None:
    """One row a frequency: Hz, then magnitude and phase (deg) of each channel."""
    import numpy as np

    from symbody.basics.atomic_file import write_whole

    pairs = [(o, i) for o in range(len(found.outputs)) for i in range(len(found.inputs))]
    heads = ["frequency [Hz]"]
    columns = [found.frequency]
    for o, i in pairs:
        name = f"{found.outputs[o]}/{found.inputs[i]}"
        heads += [f"|{name}|", f"phase {name} [deg]"]
        columns += [found.magnitude[:, o, i], np.degrees(found.phase[:, o, i])]
    rows = [",".join(f'"{h}"' if "," in h else h for h in heads)]
    rows += [",".join(repr(float(x)) for x in row) for row in zip(*columns)]
    write_whole(path, "\n".join(rows) + "\n")
