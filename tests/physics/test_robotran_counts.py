"""ROBOTRAN's own models: the same quantities in no more operations, with values that all formalisms share."""

from pathlib import Path

import numpy as np
import pytest

import symbody as sb

MODELS = Path(__file__).parents[2] / ".." / "shared" / "data" / "robotran_models"
COMAN = {"inverse": 2043 + 1830, "semi_explicit": 9588 + 7347, "forward": 19063 + 16121 + 435}
CAR_M_AND_C = 3022 + 1866


def model(name):
    path = MODELS / f"{name}.mbs"
    if not path.is_file():
        pytest.skip("ROBOTRAN's models are not here")
    return sb.load(path).replace(forces=())


def test_humanoid_needs_fewer_operations():
    coman = model("coman_29")
    inverse = sb.inverse_dynamics(coman, formalism="base")
    assert inverse.count().total <= 0.8 * COMAN["inverse"]
    semi = sb.semi_explicit(coman, formalism="base")
    assert semi.count().total <= 0.8 * COMAN["semi_explicit"]
    forward = sb.forward_dynamics(coman, formalism="order_n")
    assert forward.count().total <= COMAN["forward"]
    rng = np.random.default_rng(0)
    q, qd, qdd = rng.uniform(-1, 1, (3, coman.nv))
    tau = inverse.compile("python")(q, qd, qdd)
    m, c = semi.compile("python")(q, qd)
    np.testing.assert_allclose(m @ qdd + c, tau, rtol=1e-9, atol=1e-9 * np.max(np.abs(tau)))
    back = forward.compile("python")(q, qd, tau)
    np.testing.assert_allclose(m @ back + c, tau, rtol=1e-8, atol=1e-8 * np.max(np.abs(tau)))
