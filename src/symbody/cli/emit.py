"""`symbody emit`: source files of a model's equations."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from symbody.cli.common import AS_JSON, MODEL, generate, print_json, quantity, sentences
from symbody.errors import ModelError, NameLookupError, nearest
from symbody.model.mechanism import Mechanism
from symbody.system.system import System
from symbody.verbs.dynamics import FORMALISMS


@sentences
def emit(
    model: MODEL,
    name: Annotated[str, typer.Option("--quantity", "-q", help="inverse, semi_explicit or forward.")] = "inverse",
    formalism: Annotated[str, typer.Option("--formalism", "-f", help="auto, newton_euler, base, ...")] = "auto",
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the files, made if needed.")] = Path("."),
    certify: Annotated[bool, typer.Option("--certify", help="Verify first; write the certificate along.")] = False,
    as_json: AS_JSON = False,
) -> None:
    """Write a model's equations as standalone C99: a header and a source file."""
    from symbody.codegen.c import emit_c
    from symbody.lower.count import count_program
    from symbody.lower.lowering import lower
    from symbody.model.load import load

    quantity(name)
    if formalism not in FORMALISMS:
        raise NameLookupError(f"unknown formalism {formalism!r}. {nearest(formalism, FORMALISMS)}")
    mechanism = load(model)
    system = generate(mechanism, name, formalism)
    program = lower(system)
    files = emit_c(program, certificate=_certificate(mechanism, name, system) if certify else None)
    if out.exists() and not out.is_dir():
        raise ModelError(f"{out} is a file; expected a folder for the emitted files.")
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


def _certificate(mechanism: Mechanism, name: str, system: System) -> str:
    """The model's certificate, and how far this very program is from plain Newton-Euler."""
    from symbody.system.save import fingerprint
    from symbody.verbs.check import check_against_newton_euler
    from symbody.verbs.verify import verify

    certificate = verify(mechanism)
    if not certificate.passed:
        raise ModelError(f"nothing was written, because the certificate failed:\n{certificate}")
    distance = check_against_newton_euler(mechanism, name, "setup", (), system)
    return f"{certificate}\n  this program {fingerprint(system)[:16]} agrees with Newton-Euler to {distance:.1e}"
