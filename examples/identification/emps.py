"""Identification of a prismatic axis from measured positions and voltages (EMPS benchmark, Janot, Gautier and Brunot
2019).

    python examples/identification/emps.py [FOLDER FOR THE PICTURE [FOLDER OF THE DATA]]

Mass, viscous and dry friction and offset by least squares on the estimation record, checked on the record with pulses
that the fit has not seen; then with dry friction that falls off with speed (Stribeck).
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from measured import data_folder, picture

import symbody as sb
from symbody.identify import OLS, Estimate, Series, inverse_model, prepare

PUBLISHED = {"carriage.m": 95.1089, "slide.viscous": 203.5034, "slide.coulomb": 20.3935, "slide.offset": -3.1648}


def axis() -> sb.Mechanism:
    """One carriage on a slide; the mass is a guess."""
    b = sb.Mechanism.builder("emps")
    b.body("carriage", 100.0)
    b.joint("slide", "prismatic", "world", "carriage", axis="x")
    return b.done()


def record(path: Path) -> Series:
    """Position, m, and force = drive gain times voltage, N."""
    with np.load(path) as d:
        force = float(np.ravel(d["gtau"])[0]) * np.ravel(d["vir"])
        return Series(np.ravel(d["t"]), {"q": np.ravel(d["qm"]), "tau": force}, ("slide",), source=path.name)


def main(out: str | None = None, data: str | None = None) -> tuple[Estimate, float, Estimate, float]:
    """(estimate, error on the pulses, the same with Stribeck friction)."""
    folder = data_folder("emps", data)
    train, pulses = (prepare(record(folder / f"emps_{n}.npz")) for n in ("estimation", "validation_pulses"))
    model = inverse_model(axis())
    fit = OLS(model, factor=33).fit(train)
    error = fit.relative_error(pulses)
    print(fit.estimate_)
    print(f"on the pulses, which it has not seen: {error:.2%}")
    # dry friction that falls off with speed, within a tenth of the largest speed
    slow = 0.1 * float(np.abs(train["qd"]).max())
    other = OLS(inverse_model(axis(), stribeck=slow), factor=33).fit(train)
    second = other.relative_error(pulses)
    print(f"with Stribeck friction: {other.estimate_.relative:.2%}, on the pulses {second:.2%}")
    for name, value in PUBLISHED.items():
        print(f"{name:<14} {fit.estimate_[name]:9.4f}  published {value:9.4f}")
    if out is not None:
        title = "EMPS: pulses, not seen by the fit"
        picture(fit.estimate_, fit.equations(pulses), Path(out) / "emps.png", title, "N")
    return fit.estimate_, error, other.estimate_, second


if __name__ == "__main__":
    main(*sys.argv[1:3])
