"""`symbody identify`: which parameters can be identified, a motion that excites them, their values from records."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from symbody.basics.errors import DataError, ModelError, word_argument
from symbody.show.cli.common import complain, load_model, print_json
from symbody.show.cli.options import AS_JSON, LOOPS, MODEL
from symbody.show.cli.output_files import PAGES, check_target

if TYPE_CHECKING:
    from symbody.studies.identification.estimators.contract import Estimator
    from symbody.studies.identification.linear_inverse import InverseModel

TASKS = ("base", "excite", "fit", "report")
METHODS = {
    "ols": ("least_squares", "OLS"),
    "wls": ("least_squares", "WLS"),
    "huber": ("least_squares", "Huber"),
    "tls": ("least_squares", "TLS"),
    "prior": ("least_squares", "Prior"),
    "consistent": ("consistent", "PhysicallyConsistent"),
}


def identify(
    task: Annotated[
        str, typer.Argument(metavar="TASK", help="base, excite, fit or report.", autocompletion=lambda: list(TASKS))
    ],
    model: MODEL,
    data: Annotated[
        list[Path] | None,
        typer.Option(
            "--data", metavar="FILE", help="A record with t, q and tau: CSV, Parquet, NPZ, MAT, HDF5. May be repeated."
        ),
    ] = None,
    validate: Annotated[
        list[Path] | None,
        typer.Option("--validate", metavar="FILE", help="A record that the fit does not see. May be repeated."),
    ] = None,
    signal: Annotated[
        list[str] | None,
        typer.Option(
            "--signal", metavar="NAME=COLUMN", help="What a signal is called in the files, such as q=position."
        ),
    ] = None,
    unit: Annotated[
        list[str] | None,
        typer.Option("--unit", metavar="NAME=UNIT", help="Of a signal that is not in SI, such as q=deg."),
    ] = None,
    law: Annotated[
        list[str] | None,
        typer.Option("--law", help="viscous, coulomb, offset, rotor, stiffness ... or none; may be repeated."),
    ] = None,
    method: Annotated[str, typer.Option("--method", help=f"Of fit and report: {', '.join(METHODS)}.")] = "wls",
    cutoff: Annotated[
        float | None, typer.Option("--cutoff", help="Of the filter of q, Hz. Default: from the record.")
    ] = None,
    factor: Annotated[int | None, typer.Option("--factor", help="Of decimation. Default: from the cutoff.")] = None,
    least_speed: Annotated[
        float, typer.Option("--least-speed", help="Rows of slower joints are left out, rad/s or m/s.")
    ] = 0.0,
    duration: Annotated[float, typer.Option("--duration", "-t", help="Of the motion of excite, s.")] = 10.0,
    order: Annotated[int, typer.Option("--order", help="Harmonics of the motion of excite.")] = 5,
    velocity: Annotated[
        float | None, typer.Option("--velocity", help="Limit of joints that have none, rad/s or m/s.")
    ] = None,
    acceleration: Annotated[
        float | None, typer.Option("--acceleration", help="Limit of all joints, rad/s^2 or m/s^2.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="The motion as .csv; the identified model as .yaml or .urdf; the page as .html.",
        ),
    ] = None,
    loops: LOOPS = None,
    as_json: AS_JSON = False,
) -> None:
    """Identify dynamic parameters.

    base: which parameters can be identified, alone or in groups. excite: a motion that tells them apart. fit: their
    values
    from records. report: a page on the fit.
    """
    from symbody.studies.identification.extra_columns import USUAL
    from symbody.studies.identification.linear_inverse import inverse_model

    word_argument("task", task, TASKS)
    word_argument("method", method, METHODS)
    _check_out(task, out)
    mech = load_model(model, loops)
    laws = () if law == ["none"] else tuple(law) if law else (() if task == "base" else USUAL)
    made = inverse_model(mech, laws)
    if task == "base":
        _base(made, as_json)
    elif task == "excite":
        _excite(made, duration, order, velocity, acceleration, out, as_json)
    else:
        _fit(made, task, data, validate, signal, unit, method, cutoff, factor, least_speed, out, as_json)


def _check_out(task: str, out: Path | None) -> None:
    if task == "report" and out is None:
        raise ModelError("identify report was given no file; expected --out page.html.")
    if out is None:
        return
    suffixes: dict[str, tuple[str, ...]] = {"excite": (".csv",), "fit": (".yaml", ".urdf"), "report": PAGES}
    if task == "base":
        raise ModelError("identify base writes no file; leave --out away.")
    check_target(out, "--out", suffixes[task])


def _base(model: InverseModel, as_json: bool) -> None:
    alone: list[tuple[str, str]] = []
    groups: list[tuple[str, str]] = []
    for k, name in enumerate(model.base_names):
        text = _symbolic(model, k)
        (alone if text == name else groups).append((name, text))
    gone = [n for k, n in enumerate(model.names) if not model.matrix[:, k].any()]
    if as_json:
        facts = {
            "task": "base", "model": model.mech.name, "parameters": len(model.names), "count": len(model.columns),
            "alone": [n for n, _ in alone], "groups": dict(groups), "without_effect": gone, "notes": list(model.notes),
            "exact_rank": model.base.exact,
        }  # fmt: skip
        print_json(facts)
        return
    print(f"{model.mech.name}: {len(model.columns)} base parameters of {len(model.names)}")
    print(f"\nidentifiable alone ({len(alone)}):\n  " + (", ".join(n for n, _ in alone) or "none"))
    print(f"\nidentifiable in combination only ({len(groups)}):")
    for _, text in groups:
        print(f"  {text}")
    print(f"\nnot identifiable, no effort depends on them ({len(gone)}):\n  " + (", ".join(gone) or "none"))
    if model.base.exact is not None:
        print(f"\nrank modulo a prime, with exact numbers: {model.base.exact}, by QR: {model.base.count}")
    for note in model.notes:
        print(f"note: {note}")


def _symbolic(model: InverseModel, k: int) -> str:
    """The group with its symbols where it is the Mechanism's own."""
    column = model.columns[k]
    if column in model.base.columns:
        return str(model.base.groups[model.base.columns.index(column)])
    return model.group(k)


def _excite(
    model: InverseModel,
    duration: float,
    order: int,
    velocity: float | None,
    acceleration: float | None,
    out: Path | None,
    as_json: bool,
) -> None:
    from symbody.studies.identification.exciting import excitation

    found = excitation(model, duration=duration, order=order, velocity=velocity, acceleration=acceleration)
    files = [str(found.save(out, rate=100.0))] if out is not None else []
    if as_json:
        print_json({
            "task": "excite", "model": model.mech.name, "condition": found.condition,
            "scaled_condition": found.scaled_condition,
            "random": list(found.starts), "evaluations": found.evaluations, "use": dict(found.use), "files": files,
        })  # fmt: skip
        return
    print(found)
    for name in files:
        print(f"wrote {name}")


def _fit(
    model: InverseModel,
    task: str,
    data: list[Path] | None,
    validate: list[Path] | None,
    signal: list[str] | None,
    unit: list[str] | None,
    method: str,
    cutoff: float | None,
    factor: int | None,
    least_speed: float,
    out: Path | None,
    as_json: bool,
) -> None:
    from importlib import import_module

    from symbody.studies.identification.data_files import read_series
    from symbody.studies.identification.filtering import prepare
    from symbody.studies.identification.measured_equations import joined_equations

    if not data:
        raise DataError(f"identify {task} was given no record; expected --data FILE.")
    signals, units = _pairs(signal, "--signal"), _pairs(unit, "--unit")

    def prepared(path: Path) -> Any:
        from symbody.studies.identification.series import Series

        series: Series = read_series(path, units=units)
        if signals:
            series = read_series(path, {**{n: n for n in series.values}, **signals}, units=units)
        return prepare(series, cutoff=cutoff)

    module, name = METHODS[method]
    kind = getattr(import_module(f"symbody.studies.identification.estimators.{module}"), name)
    estimator: Estimator = kind(model, factor=factor, least_speed=least_speed)
    records = [prepared(p) for p in data]
    estimator.fit(joined_equations([estimator.equations(r) for r in records]))
    checks = [(p.name, estimator.equations(prepared(p))) for p in validate or []]
    errors = {n: estimator.relative_error(e) for n, e in checks}
    files = _written(estimator, task, out, checks, records)
    if as_json:
        facts = {"task": task, "model": model.mech.name, **estimator.estimate_.as_dict(), "validation": errors}
        print_json({**facts, "files": files})
        return
    print(estimator.estimate_)
    for n, e in errors.items():
        print(f"validation {n}: relative error {e:.2%}")
    for n in files:
        print(f"wrote {n}")


def _written(estimator: Estimator, task: str, out: Path | None, checks: Any, records: Any) -> list[str]:
    if out is None:
        return []
    if task == "report":
        from symbody.show.report.identification import write_identification_report

        return [str(write_identification_report(estimator.estimate_, out, checks, records[0]))]
    from symbody.model.load import save
    from symbody.studies.identification.identified import identified_mechanism

    save(identified_mechanism(estimator.estimate_), out)
    if estimator.estimate_.pi is None:
        complain(
            "the file has the parameters nearest to the model with the identified efforts; --method consistent "
            "bounds them."
        )
    return [str(out)]


def _pairs(texts: list[str] | None, option: str) -> dict[str, str]:
    out = {}
    for text in texts or []:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise ModelError(f"{option} {text} was given; expected NAME=VALUE, such as q=position.")
        out[name] = value
    return out
