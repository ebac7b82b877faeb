"""`symbody emit`: source files of a model's equations."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from symbody.basics.errors import DefinitionError, ModelError, NameLookupError, nearest
from symbody.show.cli import completion
from symbody.show.cli.common import (
    budget_choice,
    check_formalism,
    generate,
    load_model,
    print_json,
)
from symbody.show.cli.options import AS_JSON, BUDGET, FORCE, FORMALISM, LOOPS, MODEL, PARTITION, Q0, QD0
from symbody.show.cli.working import search_line

if TYPE_CHECKING:
    from symbody.codegen.target_row import Source, Target
    from symbody.model.record.mechanism import Mechanism
    from symbody.symbolic.system.system import System

STATES = 5  # closed states at which a program for closed loops is compared with plain Newton-Euler
ALLOWED = 1e-8
METHODS = ("euler", "rk4", "dopri5")
MARK = b"symbody"  # what every emitted file says of itself


def emit(
    model: MODEL,
    names: Annotated[
        str,
        typer.Option(
            "--quantity",
            "-q",
            autocompletion=completion.quantities,
            help="One or more with commas: inverse, semi_explicit, forward, kinematics, position, velocity, "
            "acceleration, jacobian, energy, regressor, reactions, linear, closure, driven_efforts; jacobian:hand "
            "names a frame, jacobian:hand+elbow two.",
        ),
    ] = "inverse",
    formalism: FORMALISM = "auto",
    target: Annotated[
        str,
        typer.Option(
            "--target",
            "-t",
            autocompletion=completion.targets,
            help="What to write: c, cpp, fortran77, fortran2008, python, fmu2, fmu3, ...",
        ),
    ] = "c",
    group: Annotated[
        list[str] | None,
        typer.Option(
            "--group",
            "-g",
            metavar="NAME:OUTPUTS",
            help="A function of its own, such as control:M,c; what the groups share is computed once a step. May be "
            "repeated.",
        ),
    ] = None,
    precision: Annotated[str, typer.Option("--precision", help="double or single.")] = "double",
    called: Annotated[
        str,
        typer.Option("--names", help="How values are called in C: plain (numbers), staged (readable) or compact."),
    ] = "plain",
    single: Annotated[
        bool, typer.Option("--single-header", help="C in one header, with a bound of the stack, for microcontrollers.")
    ] = False,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FOLDER", help="Folder for the files, made if needed.")
    ] = Path("."),
    main: Annotated[
        bool, typer.Option("--main", help="A stand-alone C program that integrates the model and writes a table.")
    ] = False,
    method: Annotated[
        str, typer.Option("--method", help="Of what integrates (--main, fmu2, fmu3): euler, rk4 or dopri5.")
    ] = "dopri5",
    step: Annotated[float, typer.Option("--step", help="Its step, s.")] = 1e-3,
    output: Annotated[
        list[str] | None,
        typer.Option(
            "--output", metavar="NAME", help="What it gives besides the states, as in simulate. May be repeated."
        ),
    ] = None,
    q0: Q0 = None,
    qd0: QD0 = None,
    bare: Annotated[
        bool, typer.Option("--bare", help="The source alone, without test program, stored values and build file.")
    ] = False,
    certify: Annotated[bool, typer.Option("--certify", help="Verify first; write the certificate along.")] = False,
    loops: LOOPS = None,
    partition: PARTITION = None,
    budget: BUDGET = "quick",
    force: FORCE = False,
    as_json: AS_JSON = False,
) -> None:
    """Write a model's equations as source files: standalone C99 (a header and a source), or another target."""
    from symbody.basics.atomic_file import write_whole
    from symbody.codegen.targets import target_to_emit
    from symbody.show.cli.assignments import partition_choice
    from symbody.show.cli.emitted_quantities import wanted_quantities
    from symbody.show.cli.motion_options import motion_source
    from symbody.symbolic.lower.count import count_program

    row = target_to_emit(target)
    wanted = wanted_quantities(names)
    formalism = formalism or "auto"
    check_formalism(formalism)
    groups = _groups(group)
    _check_target(row, precision, groups, called, single)
    if main and target != "c":
        raise DefinitionError(f"--main writes a C program; expected --target c, not {target!r}.")
    moves = main or row.motion
    if moves and method not in METHODS:
        raise NameLookupError(f"there is no method {method!r} to write. {nearest(method, METHODS)}")
    if out.exists() and not out.is_dir():
        raise ModelError(f"{out} is a file; expected a folder for the emitted files.")
    search = budget_choice(budget)
    mechanism = load_model(model, loops)
    chosen = partition_choice(mechanism, partition) or "auto"
    if moves:
        start = _start(mechanism, q0, qd0)
        source = motion_source(mechanism, None if formalism == "auto" else formalism, output, chosen, start)
        certificate = _certificate(mechanism, {}, chosen) if certify else None
        files = _motion_files(row, source, main, certificate, method, step)
    else:
        with search_line() as tell:
            systems = {
                key: _system(mechanism, name, frames, formalism, chosen, search, tell)
                for key, (name, frames) in wanted.items()
            }
        verbs = {wanted[k][0]: s for k, s in systems.items()}
        certificate = _certificate(mechanism, verbs, chosen) if certify else None
        source = _source(mechanism, systems, groups)
        options: dict[str, Any] = {} if precision == "double" else {"precision": precision}
        options |= {} if called == "plain" else {"names": called}
        options |= {"single_header": True} if single else {}
        files = _files(row, source, certificate, options, not bare)
    _check_folder(out, files, force)
    for file in files:
        (out / file).parent.mkdir(parents=True, exist_ok=True)
    paths = [str(write_whole(out / file, text)) for file, text in files.items()]
    counts = count_program(source.program)
    if as_json:
        print_json({"model": mechanism.name, "program": source.system.name, "files": paths, "total": counts.total})
        return
    print(f"{source.system.name}: {counts}")
    for line in _renames(files):
        print(line)
    for p in paths:
        print(p)


def _start(
    mechanism: Mechanism, q0: Sequence[str] | None, qd0: Sequence[str] | None
) -> dict[str, Mapping[str, float] | None]:
    """Initial coordinates and velocities by the names of their joints."""
    from symbody.show.cli.assignments import state_values

    return {name: state_values(mechanism, f"{name}0", name, given) for name, given in (("q", q0), ("qd", qd0))}


def _motion_files(
    row: Target, source: Source, main: bool, certificate: str | None, method: str, step: float
) -> dict[str, Any]:
    """An FMU, or a program and what it includes."""
    if not main:
        assert row.emit is not None
        return row.emit(source, method=method, step=step, certificate=certificate)
    from symbody.codegen.fmu.description import Stepping
    from symbody.codegen.fmu.fmu_model import motion_of
    from symbody.codegen.fmu.standalone_program import program_files

    motion = motion_of(source.system, source.labels, source.units, source.start, derivatives=False)
    return program_files(motion, Stepping(method, step))


def _renames(files: Mapping[str, Any]) -> list[str]:
    """What the heads of the files say of names that the language reserves."""
    found: dict[str, None] = {}
    for text in files.values():
        if isinstance(text, str):
            found |= dict.fromkeys(re.findall(r"renamed here: [^\n]*", text[:4000]))
    return list(found)


def _groups(given: Sequence[str] | None) -> dict[str, list[str]] | None:
    """--group control:M,c as function -> outputs."""
    if not given:
        return None
    found = {}
    for text in given:
        name, colon, outputs = text.partition(":")
        listed = [o.strip() for o in outputs.split(",") if o.strip()]
        if not (colon and name and listed):
            raise DefinitionError(f"--group {text}: expected NAME:OUTPUTS, such as control:M,c.")
        found[name] = listed
    return found


def _check_target(row: Target, precision: str, groups: Mapping[str, Any] | None, names: str, single: bool) -> None:
    """Refuse what a target cannot express before any work."""
    if precision not in row.precisions:
        raise DefinitionError(f"target {row.name!r} writes {' or '.join(row.precisions)} precision, not {precision!r}.")
    if names not in row.names:
        raise DefinitionError(f"target {row.name!r} has {' or '.join(row.names)} names, not {names!r}.")
    if single and not row.single:
        raise DefinitionError(f"target {row.name!r} has no single header; leave out --single-header, or use target c.")
    if groups and not row.groups:
        raise DefinitionError(f"target {row.name!r} has no groups of functions; leave out --group.")


def _system(
    mechanism: Mechanism, name: str, frames: Sequence[str], formalism: str, partition: Any, budget: Any, tell: Any
) -> System:
    from symbody.show.cli.emitted_quantities import QUANTITIES

    make = QUANTITIES[name].make
    if make is None:
        return generate(mechanism, name, formalism, partition, budget, tell)
    return make(mechanism, frames, partition)


def _source(mechanism: Mechanism, systems: Mapping[str, System], groups: Mapping[str, Sequence[str]] | None) -> Source:
    """What a target is given: one System of all quantities, with the names of all components."""
    from symbody.codegen.target_row import Source
    from symbody.motion.flow.coordinate_labels import labels_of, units_of
    from symbody.symbolic.system.names import identifier
    from symbody.symbolic.system.together import together

    name = (
        next(iter(systems.values())).name if len(systems) == 1 else f"{identifier(mechanism.name)}_{'_'.join(systems)}"
    )
    system = together(name[:60], systems)
    labels, units = dict(labels_of(mechanism)), dict(units_of(mechanism))
    if "tau" in labels:
        labels["c"], units["c"] = labels["tau"], units["tau"]
    return Source(system, groups, labels, units)


def _files(
    row: Target, source: Source, certificate: str | None, options: dict[str, Any], project: bool
) -> dict[str, Any]:
    """Files of the target; a certificate that they cannot carry stands beside them."""
    from symbody.codegen.printer.language import identifier

    assert row.emit is not None
    if row.check and project:
        options = {**options, "project": True}
    if certificate is None:
        return row.emit(source, **options)
    if row.certificate:
        return row.emit(source, certificate=certificate, **options)
    return {**row.emit(source, **options), f"{identifier(source.system.name)}_certificate.txt": f"{certificate}\n"}


def _check_folder(out: Path, files: Mapping[str, Any], force: bool) -> None:
    """Files that symbody did not write are not replaced, unless --force says so."""
    if force:
        return
    foreign = [n for n in files if (out / n).exists() and not _written_by_symbody(out / n)]
    if foreign:
        raise ModelError(
            f"{out} has {', '.join(foreign)}, which symbody did not write. Choose another folder, or say --force."
        )


def _written_by_symbody(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return MARK in file.read(2000) or path.suffix == ".fmu"


def _certificate(mechanism: Mechanism, systems: Mapping[str, System], partition: Any) -> str:
    """The model's certificate, and how far each program of equations of motion is from plain Newton-Euler."""
    from symbody.mechanics.verbs.certify.verify import verify
    from symbody.mechanics.verbs.smallest.check_program import check_against_newton_euler
    from symbody.show.cli.emitted_quantities import DYNAMICS
    from symbody.symbolic.system.save import fingerprint

    certificate = verify(mechanism, partition=partition)
    if not certificate.passed:
        raise ModelError(
            f"nothing was written, because {mechanism.name} is not certified. {certificate.failure}. symbody verify "
            "prints them all; without --certify the files are written."
        )
    closed = bool(mechanism.cuts or mechanism.couplings)
    lines = [str(certificate)]
    for name, system in systems.items():
        if name in DYNAMICS:
            distance = (
                _from_plain(mechanism, name, system, partition)
                if closed
                else check_against_newton_euler(mechanism, name, "setup", (), system)
            )
            what = "this program" if len(systems) == 1 else f"{name},"
            lines.append(f"  {what} {fingerprint(system)[:16]} agrees with Newton-Euler to {distance:.1e}")
    return "\n".join(lines)


def _from_plain(mechanism: Mechanism, name: str, system: System, partition: Any) -> float:
    """Largest relative difference to Newton-Euler at closed states."""
    import numpy as np

    from symbody.mechanics.verbs.certify.certificate import difference
    from symbody.mechanics.verbs.certify.loop_checks import ClosedStates

    point = ClosedStates(mechanism, STATES, partition=partition)
    reference = generate(mechanism, name, "newton_euler", partition)
    made, plain = (point.evaluate(s, tau=point.tau, t=0.0) for s in (system, reference))
    pairs = zip(made, plain) if len(system.outputs) > 1 else [(made, plain)]
    worst = max(difference(np.asarray(a), np.asarray(b)) for a, b in pairs)
    if not worst <= ALLOWED:
        raise ModelError(f"nothing was written: the program differs from Newton-Euler by {worst:.1e} at closed states.")
    return worst
