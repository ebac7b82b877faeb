"""Coefficients of the Magic Formula, under the names of tyre property files (.tir, FITTYP 52 and 61 without pressure).

The defaults are the passenger car tyre 205/60R15 91V at 2.2 bar of Pacejka, Tyre and Vehicle Dynamics, 2nd edition
2006, Table A3.1, ISO signs (negative cornering stiffness); coefficients that the table does not list are 0.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True)
class MagicFormula:
    """P..: pure slip, R..: combined slip, Q.., SSZ.: moments, L..: scaling factors (1 leaves the measured tyre)."""

    # nominal load, N; unloaded radius, m; reference speed, m/s
    FNOMIN: Any = 4000.0
    UNLOADED_RADIUS: Any = 0.313
    LONGVL: Any = 16.67
    # vertical: stiffness, N/m, such that the nominal load deflects it as the table's qFz1 and qFz2 say; damping, N s/m
    VERTICAL_STIFFNESS: Any = 183626.0
    VERTICAL_DAMPING: Any = 0
    # longitudinal force, pure slip: shape, peak, curvature, stiffness, shifts
    PCX1: Any = 1.685
    PDX1: Any = 1.210
    PDX2: Any = -0.037
    PDX3: Any = 0
    PEX1: Any = 0.344
    PEX2: Any = 0.095
    PEX3: Any = -0.020
    PEX4: Any = 0
    PKX1: Any = 21.51
    PKX2: Any = -0.163
    PKX3: Any = 0.245
    PHX1: Any = -0.002
    PHX2: Any = 0.002
    PVX1: Any = 0
    PVX2: Any = 0
    # longitudinal force, combined slip
    RBX1: Any = 12.35
    RBX2: Any = -10.77
    RBX3: Any = 0
    RCX1: Any = 1.092
    REX1: Any = 0
    REX2: Any = 0
    RHX1: Any = 0.007
    # lateral force, pure slip
    PCY1: Any = 1.193
    PDY1: Any = -0.990
    PDY2: Any = 0.145
    PDY3: Any = -11.23
    PEY1: Any = -1.003
    PEY2: Any = -0.537
    PEY3: Any = -0.083
    PEY4: Any = -4.787
    PEY5: Any = 0
    PKY1: Any = -14.95
    PKY2: Any = 2.130
    PKY3: Any = -0.028
    PKY4: Any = 2
    PKY5: Any = 0
    PKY6: Any = -0.92
    PKY7: Any = -0.24
    PHY1: Any = 0.003
    PHY2: Any = -0.001
    PVY1: Any = 0.045
    PVY2: Any = -0.024
    PVY3: Any = -0.532
    PVY4: Any = 0.039
    # lateral force, combined slip
    RBY1: Any = 6.461
    RBY2: Any = 4.196
    RBY3: Any = -0.015
    RBY4: Any = 0
    RCY1: Any = 1.081
    REY1: Any = 0
    REY2: Any = 0
    RHY1: Any = 0.009
    RHY2: Any = 0
    RVY1: Any = 0.053
    RVY2: Any = -0.073
    RVY3: Any = 0.517
    RVY4: Any = 35.44
    RVY5: Any = 1.9
    RVY6: Any = -10.71
    # aligning moment: trail and residual moment, arm of Fx
    QBZ1: Any = 8.964
    QBZ2: Any = -1.106
    QBZ3: Any = -0.842
    QBZ5: Any = -0.227
    QBZ6: Any = 0
    QBZ9: Any = 18.47
    QBZ10: Any = 0
    QCZ1: Any = 1.180
    QDZ1: Any = 0.100
    QDZ2: Any = -0.001
    QDZ3: Any = 0.007
    QDZ4: Any = 13.05
    QDZ6: Any = -0.008
    QDZ7: Any = 0
    QDZ8: Any = -0.296
    QDZ9: Any = -0.009
    QDZ10: Any = 0
    QDZ11: Any = 0
    QEZ1: Any = -1.609
    QEZ2: Any = -0.359
    QEZ3: Any = 0
    QEZ4: Any = 0.174
    QEZ5: Any = -0.896
    QHZ1: Any = 0.007
    QHZ2: Any = -0.002
    QHZ3: Any = 0.147
    QHZ4: Any = 0.004
    SSZ1: Any = 0.043
    SSZ2: Any = 0.001
    SSZ3: Any = 0.731
    SSZ4: Any = -0.238
    # overturning moment; rolling resistance
    QSX1: Any = 0
    QSX2: Any = 0
    QSX3: Any = 0
    QSY1: Any = 0.01
    QSY2: Any = 0
    QSY3: Any = 0
    QSY4: Any = 0
    # scaling factors
    LFZO: Any = 1
    LCX: Any = 1
    LMUX: Any = 1
    LEX: Any = 1
    LKX: Any = 1
    LHX: Any = 1
    LVX: Any = 1
    LCY: Any = 1
    LMUY: Any = 1
    LEY: Any = 1
    LKY: Any = 1
    LKYC: Any = 1
    LKZC: Any = 1
    LHY: Any = 1
    LVY: Any = 1
    LTR: Any = 1
    LRES: Any = 1
    LXAL: Any = 1
    LYKA: Any = 1
    LVYKA: Any = 1
    LS: Any = 1
    LMX: Any = 1
    LVMX: Any = 1
    LMY: Any = 1


CAR_TYRE = MagicFormula()
NAMES = {f.name: f.default for f in fields(MagicFormula)}

# what makes a tyre pull or turn at zero slip and zero camber: conicity and ply steer
_SHIFTS = (
    "PHX1 PHX2 PVX1 PVX2 PHY1 PHY2 PVY1 PVY2 RHX1 RHY1 RHY2 RBY3 RVY1 RVY2 QDZ6 QDZ7 QHZ1 QHZ2 SSZ1 QSX1 PEY3 QEZ4"
)
SYMMETRIC_TYRE = MagicFormula(**dict.fromkeys(_SHIFTS.split(), 0))


def from_tir(text: str) -> MagicFormula:
    """Coefficients from the text of a tyre property file; keys that the formulas do not use are left out.

    A coefficient that the file does not give is 0, a scaling factor 1.
    """
    found: dict[str, Any] = {n: v if n.startswith("L") else 0 for n, v in NAMES.items() if n != "LONGVL"}
    for line in text.splitlines():
        key, equals, rest = line.partition("=")
        key = key.strip().upper()
        if equals and key in NAMES:
            value = float(rest.split("$")[0].split("!")[0].strip(" '\""))
            found[key] = int(value) if value in (0.0, 1.0) else value
    if not found["PKY4"]:
        found["PKY4"] = 2  # fixed in the formulas before 2002
    return MagicFormula(**found)
