"""Linear models of all bundled closed mechanisms against differences of their forward dynamics."""

import numpy as np
import pytest

import symbody as sb
from symbody.model.record.coordinates import velocity_labels

QUICK = ["three_rrr_1", "three_rrr_2", "three_rrr_3", "three_rrr_3_centre", "three_rrr_4", "bricard"]
SLOW = [pytest.param(n, marks=pytest.mark.slow) for n in ("andrews_squeezer", "multi_link_suspension", "bogie", "car")]


@pytest.mark.parametrize("name", [*QUICK, *SLOW])
def test_state_matrix_equals_central_differences_of_forward_dynamics(name):
    mech, rng = sb.load(name), np.random.default_rng(4)
    linear = sb.linearize(mech, q0=rng.uniform(-0.02, 0.02, mech.nv), qd0=rng.uniform(-0.1, 0.1, mech.nv))
    kept = [velocity_labels(mech).index(label) for label in linear.coordinates]
    system = sb.forward_dynamics(mech, "newton_euler", partition=list(linear.coordinates))
    kernel = system.compile()

    def accelerations(change):
        given = {n: np.zeros(a.shape) for n, a in system.inputs.items()}
        given["q"], given["qd"] = linear.q0.copy(), linear.qd0.copy()
        given["q"][kept] += change[: linear.size]
        given["qd"][kept] += change[linear.size :]
        found = kernel(**given)
        return np.asarray(getattr(found, "qdd", found))[kept]

    n, step = linear.size, 1e-5
    steps = step * np.eye(2 * n)
    slopes = np.array([(accelerations(e) - accelerations(-e)) / (2 * step) for e in steps]).T
    rows = linear.A[n : 2 * n, : 2 * n]
    np.testing.assert_allclose(rows, slopes, rtol=0, atol=1e-6 * np.abs(rows).max())
