"""A sampled System has values of its own, whatever the model calls its parameters, by every way of marching."""

import numpy as np
import pytest

import symbody as sb

WAYS = {
    "steps": {"step": 1e-3},
    "tolerance": {},
    "other code": {"method": "radau"},
    "implicit": {"step": 1e-3, "method": "sdirk3"},
}


def _controller(mass=1.0):
    q, qd, m1 = np.array(sb.symbols("q_0 q_1")), np.array(sb.symbols("d_0 d_1")), sb.symbols("m1")
    law = {"outputs": {"tau": -3 * m1 * q - qd}, "parameters": {"m1": m1}, "defaults": {"m1": mass}}
    return sb.System("pd", inputs={"q": q, "qd": qd}, clocks={"period": 0.01}, **law)


def _end(parameters, controller, **options):
    motion = sb.simulate(
        sb.load("pendulum2"), 0.3, q0=[0.5, 0.2], inputs={"tau": controller}, parameters=parameters, **options
    )
    return motion.q[-1]


@pytest.mark.parametrize("way", WAYS)
def test_a_parameter_of_the_model_is_not_that_of_a_sampled_system_of_the_same_name(way):
    own = _end({"m1": 2.0}, _controller(), **WAYS[way])
    assert np.array_equal(own, _end({"m1": 2.0, "pd.m1": 1.0}, _controller(), **WAYS[way]))
    other = _end({"m1": 2.0, "pd.m1": 2.0}, _controller(), **WAYS[way])
    assert np.array_equal(other, _end({"m1": 2.0}, _controller(2.0), **WAYS[way]))
    assert np.abs(own - other).max() > 1e-3


def test_members_of_a_batch_have_masses_of_their_own_and_one_controller():
    masses = np.array([1.0, 2.0, 3.0])
    motion = sb.simulate(
        sb.load("pendulum2"), 0.3, 1e-3, q0=[0.5, 0.2], inputs={"tau": _controller()}, parameters={"m1": masses}
    )
    for k, mass in enumerate(masses):
        assert np.array_equal(motion.q[k, -1], _end({"m1": mass}, _controller(), step=1e-3))


@pytest.mark.parametrize("way", ["steps", "tolerance"])
def test_the_first_sample_of_a_batch_has_what_each_member_begins_with(way):
    starts = np.random.default_rng(0).normal(0, 0.4, (5, 2))
    motion = sb.simulate(sb.load("pendulum2"), 0.05, q0=starts, inputs={"tau": _controller()}, **WAYS[way])
    assert np.allclose(motion["tau"][:, 0], -3 * starts)
