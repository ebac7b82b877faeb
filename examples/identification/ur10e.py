"""Identification of an arm from motor currents, and its drive gains from a known load (UR10e, Mamedov and Mikhel 2020).

    python examples/identification/ur10e.py [FOLDER FOR THE PICTURE [FOLDER OF THE DATA]]

Trained on one Fourier record, it predicts others and a point-to-point motion. The drive gains follow from the same
motion with
and without a payload of 2.805 kg.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from measured import data_folder, picture

import symbody as sb
from symbody.identify import WLS, DriveGains, Series, drive_gains, inverse_model, prepare

GAINS = np.array([14.87, 13.26, 11.13, 10.62, 11.03, 11.47])  # N m/A, literature
WINDOWS = {"ident_50s_14h_noload": (195, 4967), "ident_50s_14h_load": (308, 5072)}  # valid samples of full recordings
PAYLOAD = 2.805  # kg


def record(folder: Path, name: str, labels: tuple[str, ...]) -> Series:
    with np.load(folder / f"{name}.npz") as d:
        part = slice(*WINDOWS.get(name, (None,)))
        values = {"q": d["q"][part], "tau": GAINS * d["current"][part], "current": d["current"][part]}
        return prepare(Series(np.ravel(d["t"])[part], values, labels, source=name))


def main(out: str | None = None, data: str | None = None) -> tuple[int, dict[str, float], DriveGains]:
    """(inertial base parameters with rotors, relative errors by record, drive gains)."""
    folder = data_folder("ur10e", data)
    robot = sb.load(folder / "ur10e.urdf")
    model = inverse_model(robot, rotor=True)
    inertial = sum(n.rpartition(".")[2] not in ("viscous", "coulomb", "offset") for n in model.base_names)
    print(model, f"\n{inertial} inertial base parameters with rotors, {inverse_model(robot, ()).base.count} without")
    fit = WLS(model).fit(record(folder, "ident_30s_12h", model.labels))
    errors = {"ident_30s_12h": fit.estimate_.relative}
    for name in ("valid_ptp10", "ident_40s_12h", "ident_50s_12h"):
        unseen = record(folder, name, model.labels)
        errors[name] = fit.relative_error(unseen)
        if name == "valid_ptp10" and out is not None:
            picture(fit.estimate_, fit.equations(unseen), Path(out) / "ur10e.png", "UR10e: point to point, not seen")
    for name, error in errors.items():
        print(f"{name:<16} {error:.2%}")
    gains = drive_gains(model, *(record(folder, n, model.labels) for n in WINDOWS), PAYLOAD, body="wrist_3_link")
    print(gains)
    return inertial, errors, gains


if __name__ == "__main__":
    main(*sys.argv[1:3])
