"""An elastic joint whose motor has no inertia is refused by name; with a rotor it moves as two inertias on a spring."""

from __future__ import annotations

import numpy as np
import pytest

import symbody as sb
from symbody.basics.errors import ModelError


def arm(rotor=None):
    b = sb.Mechanism.builder("arm", gravity=(0, 0, 0))
    b.body("link", mass=1.0, inertia=(0.02, 0.02, 0.02))
    return b.joint("drive", "revolute", "world", "link", elastic=(100.0, 0.0), rotor=rotor).done()


@pytest.mark.parametrize(
    "verb", [sb.forward_dynamics, sb.linearize, lambda m: sb.simulate(m, 0.1, 1e-3)], ids=["forward", "linear", "run"]
)
def test_a_motor_without_inertia_is_named(verb):
    with pytest.raises(ModelError, match=r"the motor of elastic joint 'drive' of arm has no inertia.*a rotor"):
        verb(arm())


def test_with_a_rotor_it_swings_at_the_frequency_of_two_inertias():
    """omega^2 = k (1/J_motor + 1/J_link), the motor's as seen behind its gear."""
    mech = arm(rotor=(0.001, 2.0))
    omega = np.sqrt(100.0 * (1 / 0.004 + 1 / 0.02))
    run = sb.simulate(mech, 0.1, 1e-4, q0=[0.0, 0.01])
    np.testing.assert_allclose(run.q[:, 1], 0.01 * np.cos(omega * run.t), atol=1e-6)
