"""Identification of an industrial arm with a coupled wrist from motor currents (Staubli TX40, after Gautier and
co-workers).

    python examples/identification/staubli_tx40.py [FOLDER FOR THE PICTURE [FOLDER OF THE DATA]]

Motor positions and torques are taken to the side of the joints; the coupling of joints 5 and 6 adds three columns.
Without
them the residuals of these two joints rise.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from measured import data_folder, picture

import symbody as sb
from symbody.identify import WLS, Estimate, Extra, Series, inverse_model, prepare

COUPLING = (
    Extra("Iam6", {"joint_5": "qdd_joint_6", "joint_6": "qdd_joint_5"}, "kg m^2"),
    Extra("fvm6", {"joint_5": "qd_joint_6", "joint_6": "qd_joint_5"}, "N m s/rad"),
    Extra("fsm6", dict.fromkeys(("joint_5", "joint_6"), "sign(qd_joint_5 + qd_joint_6)"), "N m"),
)


def record(path: Path, labels: tuple[str, ...]) -> Series:
    """On the side of the joints, in the zero position of the URDF."""
    with np.load(path) as d:
        gear = np.ravel(d["gear"]).astype(float)
        down, up = np.diag(gear), np.diag(gear)
        down[5, 4] = up[4, 5] = gear[5]
        q = np.linalg.solve(down, d["motor_position"].T).T
        tau = d["motor_torque"] @ up.T
        t = float(np.ravel(d["ts"])[0]) * np.arange(len(q))
    q[:, 1] -= np.pi / 2
    q[:, 2] += np.pi / 2
    return Series(t, {"q": q, "tau": tau}, labels, source=path.name)


def main(out: str | None = None, data: str | None = None) -> tuple[Estimate, Estimate]:
    """(estimate with, without the coupling of the wrist)."""
    folder = data_folder("staubli_tx40", data)
    robot = sb.load(folder / "tx40_mdh.urdf")
    published = json.loads((folder / "tx40_published_parameters.json").read_text())
    model = inverse_model(robot, rotor=True, extra=COUPLING)
    series = prepare(record(folder / "tx40_record.npz", model.labels), cutoff=100.0)
    # below these speeds dry friction is not what its law says
    least = dict(zip(model.rows, published["velocity_threshold_rad_s"]))
    equations = model.equations(series, 100, least)
    fit = WLS(model).fit(equations)
    print(model, fit.estimate_, sep="\n")
    plain = inverse_model(robot, rotor=True)
    without = WLS(plain).fit(plain.equations(series, 100, least))
    for row in ("joint_5", "joint_6"):
        print(
            f"{row}: {fit.estimate_.relative_of[row]:.1%}, without the coupling "
            f"{without.estimate_.relative_of[row]:.1%}"
        )
    if out is not None:
        picture(fit.estimate_, equations, Path(out) / "staubli_tx40.png", "TX40 with the coupling of its wrist")
    return fit.estimate_, without.estimate_


if __name__ == "__main__":
    main(*sys.argv[1:3])
