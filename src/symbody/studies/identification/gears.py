"""Motors behind gears: records taken to the side of the joints, and columns of what sits on the side of the motors.

Speeds of the motors are G qd, with G (n, n) diagonal for plain gears; a coupled wrist has entries beside the diagonal.
Efforts on the joints are G^T of those of the motors: a rotor Im, a viscous and a dry friction of motor k act as

    G_k^T (Im_k G_k qdd + fv_k G_k qd + fc_k sign(G_k qd)),   G_k the k-th row
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from symbody.basics.errors import DefinitionError, ShapeError, word_argument
from symbody.model.record.coordinates import velocity_labels
from symbody.model.record.mechanism import Mechanism
from symbody.studies.identification.extra_columns import Extra
from symbody.studies.identification.series import Series
from symbody.symbolic.system.names import identifier

MOTOR_LAWS = {"rotor": ("qdd", "kg m^2"), "viscous": ("qd", "N m s/rad"), "coulomb": ("sign", "N m")}


def gear_matrix(mech: Mechanism, gear: Any) -> np.ndarray:
    """G (nv, nv) from ratios by joint (motor turns for a turn of the joint, 1 where none is given), or a matrix."""
    labels = velocity_labels(mech)
    if isinstance(gear, Mapping):
        for name in gear:
            word_argument("gear", name, labels)
        given = np.diag([float(gear.get(x, 1.0)) for x in labels])
    else:
        whole: np.ndarray = np.asarray(gear, dtype=float)
        given = np.diag(whole) if whole.ndim == 1 else whole
    if given.shape != (len(labels), len(labels)):
        raise ShapeError(
            f"gear has the shape {given.shape}; {mech.name} has {len(labels)} velocities ({', '.join(labels)}): "
            "expected that many ratios, or a square matrix."
        )
    if not np.all(np.isfinite(given)) or np.linalg.cond(given) > 1e12:
        raise DefinitionError("gear is singular or not finite: the speeds of the motors do not determine the joints.")
    return given


def joint_side(mech: Mechanism, series: Series, gear: Any) -> Series:
    """A record of motor positions q (and qd, qdd) and efforts tau as one of the joints: q = G^-1 q, tau = G^T tau."""
    g = gear_matrix(mech, gear)
    out = {n: np.linalg.solve(g, series[n].T).T for n in ("q", "qd", "qdd") if n in series}
    if "tau" in series:
        out["tau"] = series["tau"] @ g
    return series.with_values("taken from the side of the motors to that of the joints", **out)


def gear_columns(
    mech: Mechanism, gear: Any, laws: Collection[str] = ("rotor", "viscous", "coulomb"), motors: Collection[str] = ()
) -> list[Extra]:
    """Columns "<joint>.motor_<law>" of motors behind gears, for `inverse_model(..., extra=...)`.

    laws     rotor, viscous, coulomb on the side of the motor; motors   labels of their joints; empty: all
    A column that a law of the joint has already, as of a plain gear, is grouped with it.
    """
    g, labels = gear_matrix(mech, gear), velocity_labels(mech)
    for law in laws:
        word_argument("laws", law, MOTOR_LAWS)
    for name in motors:
        word_argument("motors", name, labels)
    out = []
    for k, label in enumerate(labels):
        if motors and label not in motors:
            continue
        used = [j for j in range(len(labels)) if g[k, j]]
        for law in laws:
            signal, unit = MOTOR_LAWS[law]
            speed = " + ".join(
                f"({float(g[k, j])!r})*{'qdd' if law == 'rotor' else 'qd'}_{identifier(labels[j])}" for j in used
            )
            entry = f"sign({speed})" if signal == "sign" else f"({speed})"
            rows = {labels[j]: f"({float(g[k, j])!r})*{entry}" for j in used}
            out.append(Extra(f"{label}.motor_{law}", rows, unit))
    return out
