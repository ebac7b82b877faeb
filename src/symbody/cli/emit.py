"""`symbody emit`: source files of a model's equations."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from symbody.cli.common import AS_JSON, MODEL, generate, print_json, sentences


@sentences
def emit(
    model: MODEL,
    name: Annotated[str, typer.Option("--quantity", "-q", help="inverse, semi_explicit or forward.")] = "inverse",
    formalism: Annotated[str, typer.Option("--formalism", "-f", help="auto, newton_euler, base, ...")] = "auto",
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the files, made if needed.")] = Path("."),
    as_json: AS_JSON = False,
) -> None:
    """Write a model's equations as standalone C99: a header and a source file."""
    from symbody.codegen.c import emit_c
    from symbody.lower.count import count_program
    from symbody.lower.lowering import lower
    from symbody.model.load import load

    system = generate(load(model), name, formalism)
    program = lower(system)
    files = emit_c(program)
    out.mkdir(parents=True, exist_ok=True)
    paths = []
    for file, text in files.items():
        path = out / file
        path.write_text(text, encoding="utf-8")
        paths.append(str(path))
    counts = count_program(program)
    if as_json:
        print_json({"files": paths, "total": counts.total})
        return
    print(f"{system.name}: {counts}")
    for p in paths:
        print(p)
