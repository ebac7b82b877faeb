"""Many gradients at once: lanes and threads, with the bits of single runs."""

import numpy as np
import pytest

import symbody as sb
from helpers.simulation_models import ball, brick
from symbody.basics.errors import DefinitionError, ShapeError


def same_bits(f, lanes, count=9, spread=0.02, seed=0):
    """Values and gradients at thetas beside the start: each equals that of its own run, however many threads."""
    rng = np.random.default_rng(seed)
    n = f.variables.size
    thetas = f.start * (1 + spread * rng.uniform(-1, 1, (count, n))) + spread * (f.start == 0) * rng.normal(size=n)
    w = rng.normal(size=f().size)
    single = [f.gradient(theta, w) for theta in thetas]
    assert f.many(thetas).lanes is lanes
    for threads in (1, 2):
        values, gradients = f.gradients(thetas, w, threads=threads)
        np.testing.assert_array_equal(values, [value for value, _ in single])
        np.testing.assert_array_equal(gradients, [gradient for _, gradient in single])


def test_puma_by_all_its_parameters():
    mech = sb.load("puma560")
    names = [n for n in mech.parameters if n != "d1"]
    f = sb.differentiable(
        mech, 0.05, [*names, "q", "qd"], of=["q"], integrals={"s": "q.joint1^2"}, step=1e-3, slow=0.5,
        q0=np.full(6, 0.3), qd0=[0.8, -0.7, 0.9, 1.1, -0.8, 0.7],
    )  # fmt: skip
    same_bits(f, True, spread=0.005)


def test_bouncing_balls():
    rule = sb.When("bounce", "q.z", direction=-1, reset={"qd.z": "-0.8*qd.z"})
    f = sb.differentiable(ball(), 1.2, ["q.z", "qd.z"], of=["q"], step=0.01, q0={"z": 1.0}, events=[rule])
    same_bits(f, False, spread=0.1)


def test_a_sampled_loop():
    q, qd = sb.symbol("q.joint1"), sb.symbol("qd.joint1")
    system = sb.System(
        "pd", inputs={"q.joint1": q, "qd.joint1": qd}, outputs={"tau": -4 * q - qd}, clocks={"period": 0.02}
    )
    f = sb.differentiable(
        sb.load("pendulum2"), 0.3, ["m2", "q.joint1"], of=["q"], step=0.01, q0={"joint1": 0.5},
        inputs={"joint1": system},
    )  # fmt: skip
    same_bits(f, False)


@pytest.mark.parametrize("kind", ["linear", "hold"])
def test_tables_of_torques(kind):
    f = sb.differentiable(
        sb.load("pendulum2"), 0.2, ["joint1", "q", "m2"], of=["q", "energy"], at="samples", sampling=3, step=0.01,
        integrals={"w": "tau.joint1*qd.joint1"},
        inputs={"joint1": ([0.0, 0.1, 0.2], [0.3, -0.2, 0.5], kind), "joint2": "sin(3*t) - 0.5*qd.joint2"},
    )  # fmt: skip
    same_bits(f, True, count=40)


def test_starts_that_are_corrected():
    f = sb.differentiable(brick(), 0.2, ["q", "qd"], of=["q", "qd"], step=0.01, qd0=[1.0, 2.0, 0.5, 0.1, 0.0, 0.3])
    same_bits(f, True, spread=0.1)


def test_groups_of_lanes_that_fit_the_memory():
    f = sb.differentiable(
        sb.load("pendulum2"), 0.2, ["q", "m2"], of=["q"], integrals={"s": "q.joint1^2"}, step=0.01, q0=[0.5, 0.0],
        memory=2500,
    )  # fmt: skip
    same_bits(f, True)
    assert len(f.many(f.start + np.zeros((9, 1)))._groups) == 3


def test_what_is_asked_wrongly():
    f = sb.differentiable(sb.load("pendulum2"), 0.1, ["m2", "q"], of=["q"], step=0.01)
    with pytest.raises(ShapeError, match="thetas have shape"):
        f.gradients(np.zeros(3))
    with pytest.raises(DefinitionError, match="finite numbers"):
        f.gradients(np.full((2, 3), np.nan), [1.0, 1.0])
    values, gradients = f.gradients(np.zeros((0, 3)))
    assert values.shape == (0,)
    assert gradients.shape == (0, 3)
