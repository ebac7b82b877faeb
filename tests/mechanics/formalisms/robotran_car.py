"""The car whose programs ROBOTRAN's published counts were taken from: 43 joints, 28 bodies, most of them massless.

Source: the generated files mbs_invdyna_car.py and mbs_dirdyna_car.py (MBsysTran 8.1, 2026-04-08) of the public
repository maximemchlt/Robotran_Mazda_MX5. Joint types, and which offsets, masses and inertias are not zero, are read
from these files; no other numbers stand in them. The model car_43.mbs of the same repository, beside which these counts
are printed, is a later car: all its bodies have mass, centre and inertia, and its own programs are twice as long.
"""

from __future__ import annotations

from typing import Any

from mechanics.formalisms.patterns import Maker, diagonal
from symbody.model.record.mechanism import Mechanism

# joint: type, parent, components of its offset that are not zero, index of the offset in the file, M mass, I inertia
JOINTS = """
1  T1 world -   -  -     2  T2 1  -   -  -     3  T3 2  -   -  -     4  R3 3  -   -  -     5  R1 4  -   -  -
6  R2 5  -   -  MI    7  R1 6  xyz 1  -     8  R2 7  y   16 -     9  R1 8  -   -  -     10 R3 9  -   -  M
11 R2 10 z   20 MI    12 R1 6  xyz 2  -     13 R2 12 y   22 -     14 R1 13 -   -  -     15 R3 14 -   -  M
16 R2 15 z   25 MI    17 R1 6  y   3  -     18 R1 6  y   4  -     19 R1 6  xy  5  -     20 R1 6  xy  7  -
21 R2 6  xz  8  -     22 R1 21 xy  36 -     23 R2 22 -   -  -     24 R2 21 -   -  -     25 R1 24 xy  39 -
26 R2 25 -   -  -     27 T2 6  xz  9  M     28 R1 27 y   41 -     29 R3 28 -   -  -     30 R1 27 y   42 -
31 R3 30 -   -  -     32 R1 6  xyz 12 -     33 R1 32 y   45 M     34 R2 33 z   48 MI    35 R1 6  xyz 13 -
36 R1 35 y   50 M     37 R2 36 z   52 MI    38 R2 6  xz  15 -     39 R2 38 -   -  -     40 R1 39 xy  57 -
41 R2 40 -   -  -     42 R1 38 xy  56 -     43 R2 42 -   -  -
"""
# the last joint of every body; on each of them ROBOTRAN's program takes a force and a moment
BODIES = (6, 7, 10, 11, 12, 15, 16, 17, 18, 19, 20, 21, 23, 24, 26, 27, 29, 31, 32, 33, 34, 35, 36, 37, 38, 39, 41, 43)
F2 = 859 + 740  # inverse dynamics
F1 = 3022 + 1866  # M and c


def robotran_car() -> Mechanism:
    m = Maker("robotran_car")
    words = JOINTS.split()
    for k in range(0, len(words), 6):
        joint, kind, parent, offset, index, what = words[k : k + 6]
        place: list[Any] = [f"d{a}{index}" if a in offset else 0 for a in "xyz"]
        body: dict[str, Any] = {}
        if "M" in what:
            body["mass"] = f"m{joint}"
        if "I" in what:
            body["inertia"] = diagonal(int(joint))
        if joint == "6":
            body["com"] = ("c16", 0, "c36")
        m.body(
            f"b{joint}",
            {"T": "prismatic", "R": "revolute"}[kind[0]],
            parent if parent == "world" else f"b{parent}",
            "xyz"[int(kind[1]) - 1],
            place,
            **body,
        )
    return m.done()
