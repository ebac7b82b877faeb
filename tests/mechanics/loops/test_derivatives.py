"""Derivatives through the implicit blocks that close loops, against differences of the values."""

import numpy as np
import pytest

import symbody as sb
from symbody.mechanics.verbs.certify.loop_checks import ClosedStates


@pytest.mark.parametrize("name", ["four_bar", "bricard", "multi_link_suspension"])
def test_accelerations_by_coordinates(name):
    """Blocks above size 3 (bricard, the suspension) are differentiated with their own factors: pivots chosen by
    structure alone may vanish, for the suspension at q = 0."""
    mech = sb.load(name)
    forward = sb.forward_dynamics(mech, "base")
    value, slope = forward.compile(), forward.jacobian("qdd", "q").compile()
    states = ClosedStates(mech, 3)
    positions = [*states.q, sb.assemble(mech)]
    for q, qd in zip(positions, [*states.qd, np.zeros(mech.nv)]):
        tau, step = np.zeros(mech.nv), 1e-4
        columns = []
        for e in np.eye(len(q)) * step:  # 4th order
            near, far = ([value(q + s * k * e, qd, tau) for s in (1, -1)] for k in (1, 2))
            columns.append((8 * (near[0] - near[1]) - (far[0] - far[1])) / (12 * step))
        want = np.array(columns).T
        np.testing.assert_allclose(slope(q, qd, tau), want, rtol=0, atol=1e-6 * max(1, np.abs(want).max()))
