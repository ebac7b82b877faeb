"""Regressors of many samples beside Pinocchio in a Python loop and beside figaroh, and how long base parameters take.

Robots come from the package example-robot-data; all programs read the same URDF. Where figaroh is not importable here,
FIGAROH names an interpreter that has it:

    python3 -m venv peer && peer/bin/pip install figaroh
    FIGAROH=peer/bin/python make bench ARGS="--only identification"
"""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import symbody as sb
from benchmarks.record import Claim, Missing, Options, Section
from benchmarks.timing import TooSlow, limited
from symbody.mechanics.verbs.identifiable_parameters import base_parameters, regressor
from symbody.studies.identification import inverse_model

PEER = Path(__file__).resolve().parent / "identification_peer.py"
ROBOTS = {"ur5": "ur_description/urdf/ur5_robot.urdf", "xarm7": "xarm_description/urdf/xarm7.urdf",
          "z1": "z1_description/urdf/z1.urdf"}  # fmt: skip
SAMPLES, FEW = 100_000, 10_000  # figaroh gets few, and its time is scaled up


def run(options: Options) -> Section:
    """Seconds for the torque regressor of 10^5 samples, parameters of moving bodies."""
    columns = [
        "robot", "velocities", "symbody s", "its CPU s", "all columns s", "Pinocchio loop s", "ratio", "of CPU",
        "of all columns", "figaroh s", "figaroh ratio", "base parameters", "figaroh's", "base s",
    ]  # fmt: skip
    section = Section("identification", "Regressor of 10^5 samples", columns)
    folder = _folder()
    if folder is None:
        section.notes = ["example-robot-data is not installed"]
        return section
    for name in list(ROBOTS)[: 1 if options.quick else None]:
        section.rows.append(_row(name, folder / ROBOTS[name], options))
    section.notes = [
        "symbody s: the stacked regressor of the base parameters, in a new array, each entry judged to be a number; all"
        " columns: ten for each moving body, as Pinocchio and figaroh give them; their time does not hold the choice of"
        f" base columns. Entries are compared first. symbody computes on all cores ({os.cpu_count()} here) as it does"
        " by default; of CPU: processor time of all of them against the loop's",
        "a new array costs what the system takes to hand out empty memory: of symbody's CPU time about a half",
        "base parameters: symbolic groups, verified by QR and modulo a prime; parameters of bodies alone",
    ]
    for text, column, limit in (("Pinocchio in a Python loop / symbody", "ratio", 20.0),
                                ("figaroh / symbody", "figaroh ratio", 5.0)):  # fmt: skip
        found = [r[column] for r in section.rows if isinstance(r.get(column), float)]
        if found:
            section.claims.append(Claim(text, min(found), limit, at_least=True))
    section.claims.append(Claim("seconds for base parameters", max(r["base s"] for r in section.rows), 1.0))
    return section


def _folder() -> Path | None:
    if find_spec("pinocchio") is None:
        return None
    for base in map(Path, sys.path):
        found = base / "cmeel.prefix/share/example-robot-data/robots"
        if (found / ROBOTS["ur5"]).is_file():
            return found
    return None


def _row(name: str, path: Path, options: Options) -> dict[str, Any]:
    import pinocchio as pin

    mech = sb.load(path)
    model = pin.buildModelFromUrdf(str(path))
    data = model.createData()
    order = [j.child for label in model.names[1:] for j in mech.joints if j.name == label]
    place = {b.name: k for k, b in enumerate(mech.bodies)}
    columns = [10 * place[child] + k for child in order for k in range(10)]
    kernel = regressor(mech, columns=columns).compile()
    bare = replace(mech, joints=tuple(replace(j, viscous=None, coulomb=None) for j in mech.joints))
    model_of_base = inverse_model(bare, ())  # without friction, which Pinocchio's regressor does not have
    rng = np.random.default_rng(0)
    q, v, a = (rng.uniform(-1, 1, (SAMPLES, model.nv)) for _ in range(3))
    for k in range(3):
        theirs = pin.computeJointTorqueRegressor(model, data, q[k], v[k], a[k])
        np.testing.assert_allclose(np.asarray(kernel(q[k], v[k], a[k])), theirs, atol=1e-9)
    (ours, processor), (whole, _) = (
        _best(f, 5) for f in (lambda: model_of_base.regressor(q, v, a), lambda: kernel(q, v, a))
    )

    def loop() -> np.ndarray:
        """Stacked, as least squares asks for it; a second pass would choose the base columns."""
        out = np.empty((SAMPLES, model.nv, len(columns)))
        for k in range(SAMPLES):
            out[k] = pin.computeJointTorqueRegressor(model, data, q[k], v[k], a[k])
        return out

    slow, _ = _best(loop, 3)
    inertial = list(range(10 * len(mech.bodies)))
    fresh = sb.load(path)
    start = time.process_time()
    count = base_parameters(fresh, inertial).count
    row: dict[str, Any] = {
        "robot": name, "velocities": model.nv, "symbody s": ours, "its CPU s": processor, "all columns s": whole,
        "Pinocchio loop s": slow, "ratio": slow / ours, "of CPU": slow / processor, "of all columns": slow / whole,
        "base parameters": count, "base s": time.process_time() - start,
    }  # fmt: skip
    try:
        found = _peer(path, 10 * options.budget)
    except TooSlow as why:
        row["figaroh s"] = Missing(str(why))
        return row
    taken = found["seconds"] * SAMPLES / FEW
    return {**row, "figaroh s": taken, "figaroh ratio": taken / ours, "figaroh's": found["count"]}


def _best(function: Any, times: int) -> tuple[float, float]:
    """(seconds, processor seconds) of the quickest of so many calls."""
    found = []
    for _ in range(times):
        start, clock = time.perf_counter(), time.process_time()
        function()
        found.append((time.perf_counter() - start, time.process_time() - clock))
    return min(found)


def _peer(path: Path, limit: float) -> dict[str, Any]:
    python = os.environ.get("FIGAROH") or (sys.executable if find_spec("figaroh") else "")
    if not python:
        raise TooSlow("figaroh is not installed")
    status, out, err = limited([python, str(PEER), str(path), str(FEW)], limit)
    if status:
        raise TooSlow(f"failed: {(err.strip().splitlines() or ['?'])[-1][:100]}")
    found: dict[str, Any] = json.loads(out.splitlines()[-1])
    return found
