"""Loops that open and close during the motion: a mass on a rope that is let go, and caught again."""

import numpy as np
import pytest

import symbody as sb

G = 9.81


def swing():
    """A point mass of 1 kg that a rope of 1 m may hold to the origin."""
    make = sb.Mechanism.builder("swing", gravity=(0, 0, -G))
    make.body("ball", mass=1, com=(0, 0, 0), inertia=(0.1, 0.1, 0.1))
    make.joint("place", "translation3", "world", "ball")
    make.cut("rope", "rod", "world", "ball", length=1.0, switched=True)
    return make.done()


@pytest.mark.parametrize("choice", [{"step": 1e-3}, {"rtol": 1e-10}])
def test_a_mass_let_go_at_the_lowest_point_flies_on_a_parabola(choice):
    release = sb.When("release", "q.place.1", direction=-1, reset={"s_rope": 0.0})
    run = sb.simulate(
        swing(), 1.2, q0=[1.0, 0, 0], inputs={"s_rope": 1.0}, events=[release], outputs=["energy"], **choice
    )
    (event,) = run.events
    held, flown = run.t < event.t, run.t[-1] - event.t
    np.testing.assert_allclose(np.linalg.norm(run.q[held], axis=1), 1.0, atol=1e-6)
    speed = np.sqrt(2 * G)  # m g l = m v^2 / 2
    np.testing.assert_allclose(run.q[-1], [-speed * flown, 0, -1 - G * flown**2 / 2], atol=1e-6)
    assert np.ptp(run["energy"]) < 1e-6


def test_an_open_loop_carries_no_force():
    system = sb.forward_dynamics(swing(), lam=True).compile()
    state = (np.array([1.0, 0, 0]), np.array([0, 0, 2.0]), np.zeros(3))
    closed, open_ = (system(*state, s_rope=s) for s in (1.0, 0.0))
    np.testing.assert_allclose(open_.qdd, [0, 0, -G], atol=1e-12)
    np.testing.assert_allclose(open_.lam, 0, atol=1e-12)
    np.testing.assert_allclose(closed.qdd, [-4.0, 0, -G], atol=1e-12)  # v^2 / l towards the centre
