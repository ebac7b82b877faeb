"""Parameters whose default is an expression of others follow these, in every verb, unless they are given."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import symbody as sb
from symbody.basics.errors import ModelError
from symbody.model.record.parameter_values import given_numbers
from symbody.studies.linear.linearize import linearize

TEXT = """
symbody: 1
name: pair
parameters:
  a: 0.5
  l1: {default: 2*a, unit: m}
  l2: {default: 2*l1, unit: m, nonzero: true}
  m2: {default: 3*l2, unit: kg}
bodies:
  one: {mass: 2, com: [0, 0, -l1], inertia: [0.1, 0.1, 0.1]}
  two: {mass: m2, com: [0, 0, -l2/2], inertia: [0.1, 0.1, 0.1]}
joints:
  one: {kind: revolute, parent: world, child: one, axis: y}
  two: {kind: revolute, parent: world, child: two, axis: y}
keyframes:
  home: {q: {one: 0.3, two: l2/4}}
"""


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    path = tmp_path_factory.mktemp("followers") / "pair.yaml"
    path.write_text(TEXT)
    return sb.load(path)


def swing(length, mass, start):
    """(t) -> angle of the second pendulum after 0.5 s, by SciPy."""
    moment = 0.1 + mass * length**2 / 4

    def rate(t, x):
        return [x[1], -mass * 9.81 * length / 2 * np.sin(x[0]) / moment]

    return solve_ivp(rate, (0, 0.5), [start, 0], method="DOP853", rtol=1e-12, atol=1e-13).y[0, -1]


@pytest.mark.parametrize(
    ("given", "length", "mass"),
    [({}, 2.0, 6.0), ({"a": 0.6}, 2.4, 7.2), ({"l1": 0.8}, 1.6, 4.8), ({"a": 0.6, "l2": 1.0}, 1.0, 3.0),
     ({"l1": 0.8, "m2": 5.0}, 1.6, 5.0)],
)  # fmt: skip
def test_runs_and_keyframes_follow(pair, given, length, mass):
    run = sb.simulate(pair, 0.5, q0="home", parameters=given, tolerance=1e-10)
    assert run.q[0, 1] == pytest.approx(length / 4)
    assert run.q[-1, 1] == pytest.approx(swing(length, mass, length / 4), abs=1e-8)
    found = given_numbers(pair, given)
    assert {n: found.get(n) for n in ("l2", "m2")} == pytest.approx(
        {"l2": length, "m2": mass} if given else {"l2": None, "m2": None}
    )


def test_batches_follow_member_by_member(pair):
    run = sb.simulate(pair, 0.5, 1e-3, q0="home", parameters={"a": np.array([0.5, 0.6])})
    for k, length in enumerate((2.0, 2.4)):
        assert run.q[k][-1, 1] == pytest.approx(swing(length, 3 * length, length / 4), abs=1e-8)


def slope(f, x, h=1e-4):
    return (8 * (f(x + h) - f(x - h)) - (f(x + 2 * h) - f(x - 2 * h))) / (12 * h)


@pytest.mark.parametrize(("by", "held"), [("a", {}), ("l1", {}), ("l2", {}), ("a", {"m2": 6.0}), ("a", {"l2": 2.0})])
def test_derivatives_of_runs_follow(pair, by, held):
    """By a: l1 = 2 a, l2 = 4 a, m2 = 12 a; what is given does not follow. The start is given as numbers."""
    length = {"a": lambda x: 4 * x, "l1": lambda x: 2 * x, "l2": lambda x: x}[by]
    at = {"a": 0.5, "l1": 1.0, "l2": 2.0}[by]

    def angle(x):
        long = held.get("l2", length(x))
        return swing(long, held.get("m2", 3 * long), 0.5)

    wanted = slope(angle, at)
    options = {"q0": [0.3, 0.5], "step": 1e-3}
    f = sb.differentiable(pair, 0.5, [by], of=["q"], parameters=held, **options)
    np.testing.assert_allclose(f.jacobian(f.start)[1, 0], wanted, atol=1e-7)
    forward = sb.sensitivity(pair, 0.5, [by], values=held, **options)
    np.testing.assert_allclose(forward.of("q", by)[-1, 1], wanted, atol=1e-7)


def test_linear_models_follow(pair):
    """The second pendulum about its rest: -m g (l/2) / J of l2 and m2."""

    def stiffness(a):
        length, mass = 4 * a, 12 * a
        return mass * 9.81 * length / 2 / (0.1 + mass * length**2 / 4)

    assert linearize(pair, parameters={"a": 0.6}).A[3, 1] == pytest.approx(-stiffness(0.6))
    q0 = np.array([0.0, 0.2])
    varied = linearize(pair, q0, vary=["a"], qdd0=[0, 0])
    effort = slope(lambda a: 12 * a * 9.81 * 2 * a * np.sin(0.2), 0.5)
    assert varied.U[1, -1] == pytest.approx(effort)


def test_files_keep_the_expressions(pair, tmp_path):
    path = tmp_path / "again.yaml"
    sb.save(pair, path)
    again = sb.load(path)
    run, wanted = (sb.simulate(m, 0.1, 1e-3, q0="home", parameters={"a": 0.7}).q[-1] for m in (again, pair))
    np.testing.assert_allclose(run, wanted, rtol=1e-12)


def test_what_a_follower_cannot_be_is_refused(pair):
    with pytest.raises(ModelError, match="l2"):
        sb.simulate(pair, 0.1, parameters={"a": 0.0})


def test_closed_mechanisms_and_certificates_follow():
    b = sb.Mechanism.builder("gear")
    n = b.parameter("n", 2.0)
    b.parameter("m", "n*n")
    for name in ("p", "s"):
        b.body(name, mass=1, com=(0.1, 0, 0), inertia=(0.1, 0.1, 0.1)).joint(name, "revolute", "world", name, axis="y")
    mech = b.coupling("mesh", "q.p - m*q.s").done()
    assert n.data.default == 2.0
    q = sb.assemble(mech, {"s": 0.1}, parameters={"n": 3.0}, fixed=["s"])
    np.testing.assert_allclose(q, [0.9, 0.1], atol=1e-12)
    assert sb.verify(mech, states=1, parameters={"n": 3.0}).passed


def test_environments_follow(pair):
    """One step of the same copies, with what follows given by hand."""
    ends = []
    for given in ({"a": 0.6}, {"l1": 1.2, "l2": 2.4, "m2": 7.2}):
        env = sb.environment(pair, "q.two", {"q.two": 0.3}, step=0.05, actions=["one"], count=2, parameters=given)
        env.reset()
        ends.append(env.step(np.zeros((2, 1)))[0])
    np.testing.assert_allclose(ends[0], ends[1], rtol=1e-12)
