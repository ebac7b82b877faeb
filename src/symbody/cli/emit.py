"""`symbody emit`: source files of a model's equations."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from symbody.cli import completion
from symbody.cli.common import (
    budget_choice,
    check_formalism,
    generate,
    load_model,
    print_json,
    quantity,
    search_line,
)
from symbody.cli.options import AS_JSON, BUDGET, FORMALISM, LOOPS, MODEL, PARTITION, QUANTITY
from symbody.errors import ModelError

if TYPE_CHECKING:
    from symbody.codegen.target_row import Source, Target
    from symbody.model.record.mechanism import Mechanism
    from symbody.system.system import System

STATES = 5  # closed states at which a program for closed loops is compared with plain Newton-Euler
ALLOWED = 1e-8


def emit(
    model: MODEL,
    name: QUANTITY = "inverse",
    formalism: FORMALISM = "auto",
    target: Annotated[
        str,
        typer.Option(
            "--target", "-t", autocompletion=completion.targets, help="What to write: c, c_header, llvm, text, ..."
        ),
    ] = "c",
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FOLDER", help="Folder for the files, made if needed.")
    ] = Path("."),
    certify: Annotated[bool, typer.Option("--certify", help="Verify first; write the certificate along.")] = False,
    loops: LOOPS = None,
    partition: PARTITION = None,
    budget: BUDGET = "quick",
    as_json: AS_JSON = False,
) -> None:
    """Write a model's equations as source files: standalone C99 (a header and a source), or another target."""
    from symbody.atomic_file import write_whole
    from symbody.cli.assignments import partition_choice
    from symbody.codegen.target_row import Source
    from symbody.codegen.targets import target_to_emit
    from symbody.lower.count import count_program

    row = target_to_emit(target)
    quantity(name)
    formalism = formalism or "auto"
    check_formalism(formalism)
    if out.exists() and not out.is_dir():
        raise ModelError(f"{out} is a file; expected a folder for the emitted files.")
    wanted = budget_choice(budget)
    mechanism = load_model(model, loops)
    chosen = partition_choice(mechanism, partition) or "auto"
    with search_line() as tell:
        system = generate(mechanism, name, formalism, chosen, wanted, tell)
    source = Source(system)
    files = _files(row, source, _certificate(mechanism, name, system, chosen) if certify else None)
    out.mkdir(parents=True, exist_ok=True)
    paths = [str(write_whole(out / file, text.encode())) for file, text in files.items()]
    counts = count_program(source.program)
    if as_json:
        print_json({"model": mechanism.name, "program": system.name, "files": paths, "total": counts.total})
        return
    print(f"{system.name}: {counts}")
    for p in paths:
        print(p)


def _files(row: Target, source: Source, certificate: str | None) -> dict[str, str]:
    """Files of the target; a certificate that they cannot carry stands beside them."""
    from symbody.codegen.printer.language import identifier

    assert row.emit is not None
    if certificate is None:
        return row.emit(source)
    if row.certificate:
        return row.emit(source, certificate=certificate)
    return {**row.emit(source), f"{identifier(source.system.name)}_certificate.txt": f"{certificate}\n"}


def _certificate(mechanism: Mechanism, name: str, system: System, partition: Any) -> str:
    """The model's certificate, and how far this very program is from plain Newton-Euler."""
    from symbody.system.save import fingerprint
    from symbody.verbs.certify.verify import verify
    from symbody.verbs.smallest.check_program import check_against_newton_euler

    certificate = verify(mechanism, partition=partition)
    if not certificate.passed:
        raise ModelError(f"nothing was written, because the certificate failed:\n{certificate}")
    closed = bool(mechanism.cuts or mechanism.couplings)
    distance = (
        _from_plain(mechanism, name, system, partition)
        if closed
        else check_against_newton_euler(mechanism, name, "setup", (), system)
    )
    return f"{certificate}\n  this program {fingerprint(system)[:16]} agrees with Newton-Euler to {distance:.1e}"


def _from_plain(mechanism: Mechanism, name: str, system: System, partition: Any) -> float:
    """Largest relative difference to Newton-Euler at closed states."""
    import numpy as np

    from symbody.verbs.certify.certificate import difference
    from symbody.verbs.certify.loops import ClosedStates

    point = ClosedStates(mechanism, STATES, partition=partition)
    reference = generate(mechanism, name, "newton_euler", partition)
    made, plain = (point.evaluate(s, tau=point.tau, t=0.0) for s in (system, reference))
    pairs = zip(made, plain) if len(system.outputs) > 1 else [(made, plain)]
    worst = max(difference(np.asarray(a), np.asarray(b)) for a, b in pairs)
    if not worst <= ALLOWED:
        raise ModelError(f"nothing was written: the program differs from Newton-Euler by {worst:.1e} at closed states.")
    return worst
