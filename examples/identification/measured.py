"""What the identification examples share: where measured records lie, and a picture of measured and predicted
efforts."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from symbody.identify import Estimate, MeasuredEquations

HERE = Path(__file__).resolve().parent


def data_folder(name: str, given: str | None = None) -> Path:
    """The folder of a data set: given, or shared/data/<name> beside the checkout."""
    folder = Path(given) if given else HERE.parents[2] / "shared" / "data" / name
    if not folder.is_dir():
        sys.exit(f"there is no folder {folder}; give the folder of the data set {name!r}")
    return folder


def picture(estimate: Estimate, equations: MeasuredEquations, path: Path, title: str, unit: str = "N m") -> None:
    """Measured and predicted efforts of a record, one panel a joint."""
    from matplotlib.figure import Figure

    predicted = equations.y @ estimate.values
    n = len(equations.rows)
    figure = Figure(figsize=(9, 1.5 * n + 1), layout="constrained")
    axes = np.atleast_1d(figure.subplots(n, 1, sharex=True))
    for k, axis in enumerate(axes):
        axis.plot(equations.t, equations.z[:, k], color="0.5", lw=1.6, label="measured")
        axis.plot(equations.t, predicted[:, k], color="tab:red", lw=0.9, label="predicted")
        axis.plot(equations.t, equations.z[:, k] - predicted[:, k], color="tab:blue", lw=0.6, label="residual")
        axis.set_ylabel(equations.rows[k], fontsize=8)
        axis.tick_params(labelsize=7)
    axes[0].legend(fontsize=7, ncols=3, loc="upper right")
    axes[0].set_title(title, fontsize=10)
    axes[-1].set_xlabel("time, s", fontsize=8)
    figure.supylabel(f"effort, {unit}", fontsize=8)
    figure.savefig(path, dpi=110)
