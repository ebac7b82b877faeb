"""The PUMA 560 of MEDUSA (appendix D) with the test data of its reference torques, as a Denavit-Hartenberg table."""

from __future__ import annotations

import math

import numpy as np

from symbody.model.build.dh import DhRow, from_dh
from symbody.model.record.mechanism import Mechanism

HALF = math.pi / 2
LENGTHS = {"L3": 0.4318, "D3": 0.1254, "L4": 0.0203, "D4": 0.4318}
ROWS = [
    DhRow("R"),
    DhRow("R", -HALF),
    DhRow("R", 0, "L3", 0, "D3"),
    DhRow("R", -HALF, "L4", 0, "D4"),
    DhRow("R", HALF),
    DhRow("R", -HALF),
]

# q_i = 0.1 i, qd_i = 0.2 i, qdd_i = 0.3 i; the same at rest; all zero. By Luh-Walker-Paul, checked against MEDUSA's 4.7
PUBLISHED = {
    "moving": [0.1186225068, -24.7953961607, 17.6756011461, 1.2905083067, 3.1611573956, 2.8700538823],
    "at rest": [0, -36.3597920280, 6.5066511213, -2.0349319770, -1.3489029385, -0.3018753015],
    "at zero": [0, -48.4594380000, -5.1188580000, 0, -1.5696000000, 0],
}
MASS_DIAGONAL = [6.32100407592, 7.201331204581, 4.903460362679, 2.650935397561, 1.847113716663, 0.918]
MASS_EIGENVALUES = [0.525409088641, 0.858233219601, 1.232092704735, 1.733329368605, 7.563965941491, 11.928814434331]


def state(case: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    i, none = np.arange(1, 7), np.zeros(6)
    return (0.1 * i if case != "at zero" else none), (0.2 * i if case == "moving" else none), (
        0.3 * i if case == "moving" else none
    )  # fmt: skip


def puma(symbolic: bool = False) -> Mechanism:
    """With numbers for masses and inertias, or with a parameter for each of them."""
    bodies = []
    for i in range(1, 7):
        tensor = [
            [0.5 + 0.1 * i, -0.01 * i, 0.02],
            [-0.01 * i, 0.4 + 0.1 * i, -0.03],
            [0.02, -0.03, 0.3 + 0.1 * i],
        ]
        data = dict(mass=7 - i, com=(0.01 * i, -0.02 * i, 0.03 * i), inertia=tensor)
        bodies.append(dict.fromkeys(data, "auto") if symbolic else data)
    return from_dh(ROWS, name="puma", bodies=bodies, parameters=LENGTHS)
