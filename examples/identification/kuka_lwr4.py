"""Identification of a 7-axis arm with torque sensors (KUKA LWR4+, records of Bethge et al. 2017).

    python examples/identification/kuka_lwr4.py [FOLDER FOR THE PICTURE [FOLDER OF THE DATA]]

Three runs: plain least squares on each, predictions of the others; a fit with the model's own inertias as a prior,
which carries
over to the faster run; and one whose bodies can all exist.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from measured import data_folder, picture

import symbody as sb
from symbody.identify import OLS, PhysicallyConsistent, Prior, Series, inverse_model, prepare
from symbody.studies.identification.estimators.consistent import inconsistent_bodies


def main(out: str | None = None, data: str | None = None) -> dict[str, float]:
    """Relative errors by name: "ols 1" on run 1 itself, "ols 1->2" of its prediction of run 2, ..."""
    folder = data_folder("kuka_lwr4", data)
    model = inverse_model(sb.load(folder / "kuka_lwr4.urdf"))
    print(model, f"\n{model.base.count - 14} inertial base parameters")  # 14: viscous and dry friction of seven joints
    runs = {}
    for k in (1, 2, 3):
        with np.load(folder / f"lwr4_run{k}.npz") as d:
            runs[k] = prepare(Series(np.ravel(d["t"]), {"q": d["q"], "tau": d["tau"]}, model.labels, source=f"run {k}"))
    errors: dict[str, float] = {"inertial": model.base.count - 14}
    methods = {"ols": OLS(model), "prior": Prior(model), "consistent": PhysicallyConsistent(model)}
    for name, method in methods.items():
        for k, run in runs.items():
            fit = method.fit(run)
            errors[f"{name} {k}"] = fit.estimate_.relative
            for j, other in runs.items():
                if j != k:
                    errors[f"{name} {k}->{j}"] = fit.relative_error(other)
            if fit.estimate_.pi is not None:
                errors[f"{name} {k} bodies that cannot exist"] = len(inconsistent_bodies(model, fit.estimate_.pi))
            if name == "ols" and k == 1 and out is not None:
                picture(fit.estimate_, fit.equations(runs[2]), Path(out) / "kuka_lwr4.png", "LWR4+: run 2 from run 1")
    for key, value in errors.items():
        print(f"{key:<36} {value:.2%}" if "->" in key or key[-2:-1] == " " else f"{key:<36} {value:g}")
    return errors


if __name__ == "__main__":
    main(*sys.argv[1:3])
