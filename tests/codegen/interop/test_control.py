"""The bridge to python-control: models survive the way there and back, and both programs agree."""

import numpy as np
import pytest

import symbody as sb
from symbody.basics.errors import DefinitionError
from symbody.codegen.interop.control_bridge import from_control, to_control
from symbody.studies.control.discretize import discretize
from symbody.studies.control.frequency import frequency_response
from symbody.studies.linear.as_state_space import as_state_space
from symbody.studies.linear.linearize import linearize
from symbody.studies.linear.state_space import StateSpace
from symbody.studies.modal.modes import modes

control = pytest.importorskip("control")


@pytest.fixture(scope="module")
def linear():
    return linearize(sb.load("pendulum3"))


def test_models_survive_both_ways(linear):
    theirs = to_control(linear)
    assert theirs.isctime()
    back = as_state_space(theirs)
    for name in "ABCD":
        np.testing.assert_array_equal(getattr(back, name), getattr(linear.state_space, name))
    assert back.states == tuple(n.replace(".", "_") for n in linear.states)
    assert back.dt is None
    sampled = discretize(linear, 0.02)
    again = StateSpace(**from_control(to_control(sampled)))
    assert again.dt == 0.02
    np.testing.assert_array_equal(again.A, sampled.A)


def test_poles_and_frequency_response_agree(linear):
    theirs = to_control(linear)
    np.testing.assert_allclose(
        np.sort(np.abs(theirs.poles())), np.sort(np.abs(linear.state_space.poles)), rtol=1e-8, atol=1e-8
    )
    natural, _, _ = control.damp(theirs, doprint=False)
    np.testing.assert_allclose(np.sort(natural)[::2], modes(linear, "undamped").omegas, rtol=1e-8)
    w = np.geomspace(0.1, 50, 20)
    np.testing.assert_allclose(
        np.moveaxis(theirs(1j * w), -1, 0), frequency_response(linear, w).values, rtol=1e-8, atol=1e-10
    )


@pytest.mark.parametrize("method", ["zoh", "tustin"])
def test_discretisation_agrees(linear, method):
    theirs = control.c2d(to_control(linear), 0.05, method)
    made = discretize(linear, 0.05, method)
    for name in "ABCD":
        np.testing.assert_allclose(getattr(made, name), getattr(theirs, name), atol=1e-11)


def test_prewarped_tustin_agrees(linear):
    theirs = control.c2d(to_control(linear), 0.05, "bilinear", prewarp_frequency=3.0)
    np.testing.assert_allclose(discretize(linear, 0.05, "tustin", prewarp=3.0).A, theirs.A, atol=1e-11)


def test_a_transfer_function_is_realised():
    back = as_state_space(control.tf([2.0], [1, 3, 5]))
    np.testing.assert_allclose(frequency_response(back, 2.0).values[0, 0, 0], 2 / (5 - 4 + 6j))


def test_refusals(linear):
    with pytest.raises(DefinitionError, match="Linearise it first"):
        to_control(sb.load("pendulum2"))
    with pytest.raises(DefinitionError, match="no linear model of python-control"):
        from_control(3)
    with pytest.raises(DefinitionError, match="Rename a joint"):
        to_control(StateSpace(-np.eye(2), np.ones((2, 1)), np.eye(2), np.zeros((2, 1)), states=("a.b", "a_b")))
