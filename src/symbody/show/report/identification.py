"""A page on an identification: measured against predicted efforts, residuals, parameters with uncertainties, and where
the identified model is valid."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from symbody.basics.arguments import declared
from symbody.basics.atomic_file import write_whole
from symbody.basics.errors import FormatError
from symbody.motion.trajectory.trajectory import Trajectory
from symbody.show.report.animation import MISSING, Animation, make_animation
from symbody.show.report.figures import figure_html
from symbody.show.report.page import Section, facts, page, sentences, table, text
from symbody.studies.identification.estimate import Estimate
from symbody.studies.identification.measured_equations import MeasuredEquations
from symbody.studies.identification.series import Series


@declared
def write_identification_report(
    estimate: Estimate,
    path: str | Path,
    validation: Sequence[tuple[str, MeasuredEquations]] = (),
    motion: Series | None = None,
    title: str | None = None,
) -> Path:
    """Write a page on an Estimate as one self-contained HTML file.

    validation  (name, equations of a record that the fit has not seen)
    motion      the record, for the range in which the model is valid and the 3-D view
    """
    if Path(path).suffix.lower() not in (".html", ".htm"):
        raise FormatError(f"{path} has the suffix {Path(path).suffix!r}; expected .html.")
    name = title or f"Identification of {estimate.model.mech.name if estimate.model else 'a linear model'}"
    doubt = [Section("doubt", "Before the values", sentences([estimate.unexplained]))] if estimate.unexplained else []
    sections = [_summary(estimate), *doubt, _parameters(estimate)]
    scripts: Sequence[str] = ()
    data: Sequence[tuple[str, str]] = ()
    if estimate.equations is not None:
        sections.append(Section("fit", "Measured and predicted", _figures(estimate, estimate.equations, "the record")))
    for label, equations in validation:
        sections.append(Section(f"v{len(sections)}", f"Validation: {label}", _figures(estimate, equations, label)))
    if motion is not None:
        sections.append(Section("range", "Range of validity", _range(motion)))
        view = _view(estimate, motion)
        sections.append(Section("motion", "Excitation in 3-D", sentences([MISSING]) if view is None else view.html))
        if view is not None:
            scripts, data = view.scripts, view.data
    if estimate.notes:
        sections.append(Section("notes", "Notes", sentences(estimate.notes)))
    lead = (
        f"<p>{text(estimate.method)}, {len(estimate.values)} parameters from {estimate.equations_count} equations</p>"
    )
    return write_whole(Path(path), page(name, lead, sections, scripts, data, "symbody"))


def _summary(e: Estimate) -> Section:
    rows = [
        ("relative residual", f"{e.relative:.3%}"),
        ("condition, columns of unit length", f"{e.condition:.4g}"),
        ("covariance", e.kind),
        ("rounds", e.iterations),
        ("held at zero", ", ".join(e.fixed) or "none"),
    ]
    by_row = table(
        ["row", "residual", "deviation", "correlation of neighbours"],
        [
            (
                r,
                f"{e.relative_of[r]:.3%}",
                f"{e.sigma[r]:.4g}",
                next((f"{w.correlation:+.2f}" for w in e.whiteness if w.row == r), ""),
            )
            for r in e.relative_of
        ],
        (1, 2, 3),
    )
    return Section("summary", "Summary", facts(rows) + by_row)


def _parameters(e: Estimate) -> Section:
    bounds = e.interval()
    prior = e.model.base_prior if e.model is not None and len(e.model.columns) == len(e.values) else None
    rows = []
    for k, n in enumerate(e.names):
        group = e.model.group(e.model.base_names.index(n)) if e.model is not None else n
        before = "" if prior is None else f"{prior[k]:.5g}"
        rows.append(
            (n, f"{e.values[k]:.6g}", f"{e.std[k]:.3g}", f"{100 * e.relative_std[k]:.2f}",
             f"[{bounds[k, 0]:.4g}, {bounds[k, 1]:.4g}]",              before, e.units[k], group)
        )  # fmt: skip
    head = ["parameter", "value", "std", "rel. %", "95 %", "before", "unit", "group"]
    return Section("parameters", "Parameters", table(head, rows, (1, 2, 3, 4, 5)))


def _figures(e: Estimate, equations: MeasuredEquations, label: str) -> str:
    from matplotlib.figure import Figure

    predicted = equations.y @ e.values
    keep = equations.mask
    rest = np.where(keep, equations.z - predicted, np.nan)
    n = len(equations.rows)
    figure = Figure(figsize=(9, 1.7 * n + 0.6), layout="constrained")
    axes = figure.subplots(n, 2, squeeze=False, sharex=True, width_ratios=(3, 2))
    for k, row in enumerate(equations.rows):
        left, right = axes[k]
        left.plot(equations.t, equations.z[:, k], color="0.45", lw=1.4, label="measured")
        left.plot(equations.t, predicted[:, k], color="tab:red", lw=0.8, label="predicted")
        left.set_ylabel(row, fontsize=8)
        right.plot(equations.t, rest[:, k], color="tab:blue", lw=0.7)
        right.axhline(0, color="0.7", lw=0.6)
        for axis in (left, right):
            axis.tick_params(labelsize=7)
    axes[0][0].legend(fontsize=7, loc="upper right", ncols=2)
    axes[0][0].set_title("effort, N m or N", fontsize=8)
    axes[0][1].set_title("residual", fontsize=8)
    for axis in axes[-1]:
        axis.set_xlabel("time, s", fontsize=8)
    z = np.where(keep, equations.z, 0.0)
    error = float(np.linalg.norm(np.where(keep, equations.z - predicted, 0.0)) / np.linalg.norm(z))
    told = f"{label}: relative error {error:.3%}"
    return f"<p>{text(told)}</p>{figure_html(figure, told)}"


def _range(motion: Series) -> str:
    labels = motion.labels or tuple(str(k + 1) for k in range(motion["q"].shape[1]))
    rows = []
    for k, label in enumerate(labels[: motion["q"].shape[1]]):
        cells: list[Any] = [label]
        for n in ("q", "qd", "qdd", "tau"):
            if n in motion and k < motion[n].shape[1]:
                cells.append(f"{motion[n][:, k].min():.3g} .. {motion[n][:, k].max():.3g}")
            else:
                cells.append("")
        rows.append(cells)
    told = "The model was identified in this range of motion; outside of it nothing was tested."
    return sentences([told]) + table(["joint", "q", "qd", "qdd", "tau"], rows, (1, 2, 3, 4))


def _view(estimate: Estimate, motion: Series) -> Animation | None:
    """The measured motion of the model, where the viewer's package is there and all coordinates were measured."""
    if estimate.model is None or motion["q"].shape[1] != estimate.model.mech.nq:
        return None
    return make_animation(estimate.model.mech, Trajectory(motion.t, {"q": np.asarray(motion["q"])}))
