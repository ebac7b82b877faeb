"""The bundled PUMA 560 against the published table of its torques (Armstrong, Khatib and Burdick 1986)."""

import json
from pathlib import Path

import numpy as np
import pytest

import symbody as sb

TABLE = Path(__file__).parents[2] / ".." / "shared" / "data" / "puma560" / "puma560.json"


@pytest.fixture(scope="module")
def reference():
    if not TABLE.is_file():
        pytest.skip("the published table is not here")
    return json.loads(TABLE.read_text())["reference_at_qn"]


@pytest.fixture(scope="module")
def kernels():
    robot = sb.load("puma560")
    verbs = (sb.inverse_dynamics, sb.semi_explicit, sb.forward_dynamics)
    return [verb(robot, formalism="base").compile() for verb in verbs]


QN = np.array([0, np.pi / 4, np.pi, 0, np.pi / 4, 0])
ZERO, ONE = np.zeros(6), np.ones(6)


def test_torques_are_the_published_ones(kernels, reference):
    inverse = kernels[0]
    for qd, qdd, key in ((ZERO, ZERO, "gravity_load"), (ZERO, ONE, "rne_qd0_qdd1"), (ONE, ONE, "rne_qd1_qdd1"),
                         (ONE, ZERO, "rne_qd1_qdd0")):  # fmt: skip
        np.testing.assert_allclose(inverse(QN, qd, qdd), reference[key], atol=1e-4)


def test_inertia_matrix_includes_the_motors(kernels, reference):
    m, _ = kernels[1](QN, ZERO)
    np.testing.assert_allclose(m, reference["inertia"], atol=1e-4)


def test_accelerations_are_the_published_ones(kernels, reference):
    given = reference["accel"]
    qdd = kernels[2](QN, np.array(given["qd"]), np.array(given["torque"]))
    np.testing.assert_allclose(qdd, given["qdd"], atol=1e-4)
