"""`symbody convert`: a model file in another format, and what is lost on the way."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from symbody.show.cli.common import counted, load_model, print_json
from symbody.show.cli.options import AS_JSON, FORCE, LOOPS, MODEL
from symbody.show.cli.output_files import check_overwrite


def convert(
    model: MODEL,
    out: Annotated[
        str,
        typer.Argument(metavar="OUT", help="The file to write; its suffix says the format: .yaml, .urdf, .xml, ..."),
    ] = "",
    loops: LOOPS = None,
    force: FORCE = False,
    as_json: AS_JSON = False,
) -> None:
    """Write a model in another format, and say what is lost.

    What the reader left out of the file, and what the format of OUT has no words for, is listed. The written file is
    read again before the command ends.
    """
    from symbody.basics.errors import ModelError
    from symbody.model.load import load, write_file

    mechanism = load_model(model, loops)
    if not out:
        raise ModelError("convert was given no file to write; expected OUT, such as robot.yaml.")
    path = Path(out)
    check_overwrite(path, force)
    lost = write_file(mechanism, path)
    again = load(path)
    numbers = 0 if path.suffix.lower() in (".yaml", ".yml") else len(mechanism.parameters)
    if numbers:
        lost = [f"names of {counted(numbers, 'parameter')}: numbers stand for them", *lost]
    if again.nv != mechanism.nv:
        lost = [f"velocities: {mechanism.nv} became {again.nv}", *lost]
    if as_json:
        print_json({"model": mechanism.name, "file": str(path), "lost": lost, "ignored": list(mechanism.notes)})
        return
    sizes = f"{counted(len(again.bodies), 'body', 'bodies')}, {counted(again.nv, 'velocity', 'velocities')}"
    print(f"{mechanism.name}: wrote {path} ({sizes})")
    for title, lines in (("lost", lost), ("not read", mechanism.notes)):
        for k, line in enumerate(lines):
            print(f"{title if k == 0 else '':<11} {line}")
    if not lost:
        print("lost        nothing")
