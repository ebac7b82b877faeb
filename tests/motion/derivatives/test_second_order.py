"""Second derivatives of runs: exactly those of the steps as they are taken; differences where these are not there."""

import numpy as np
import pytest

import symbody as sb
from helpers.derivative_oracles import STEP, complex_run, differences
from helpers.simulation_models import ball, brick
from symbody.basics.errors import DefinitionError, ShapeError
from symbody.motion.flow.of_mechanism import mechanism_flow

METHODS = ["euler", "rk4", "dopri5", "semi_implicit_euler", "midpoint"]


def curvature(value, theta, a, b, size=1e-3):
    """a^T H b: complex steps along a, exact to roundings, of which differences along b are extrapolated twice."""

    def slope(e):
        return value(theta + e * b + 1j * STEP * a).imag / STEP

    def change(e):
        return (slope(e) - slope(-e)) / (2 * e)

    coarse, middle, fine = change(size), change(size / 2), change(size / 4)
    first, second = (4 * middle - coarse) / 3, (4 * fine - middle) / 3
    return (16 * second - first) / 15


def judged(mech, flow, names, q0, qd0, step, count, seed, **options):
    """Hessians by names and starts against the interpreter over complex numbers, to 1e-9 of the largest number."""
    rng = np.random.default_rng(seed)
    f = sb.differentiable(
        mech, step * count, [*names, "q", "qd"], of=["q", "qd"], step=step, q0=q0, qd0=qd0, **options
    )  # fmt: skip
    w, k = rng.normal(size=f().size), len(names)
    u = {n: np.zeros(flow.rates.inputs[n].shape) for n in flow.signals}

    def value(theta):
        return complex_run(flow, theta[k:], step, count, dict(zip(names, theta[:k])), u) @ w

    # directions of a few per cent of each number, so that all of them stay physical and count
    scale = np.where(f.start != 0, np.abs(f.start), 1.0)
    ways = scale * rng.uniform(-1, 1, size=(3, f.variables.size))
    found = f.hessian_vector(f.start, ways, w)
    assert found.exact
    wanted = [curvature(value, f.start.astype(complex), a, b) for a in ways for b in ways]
    products = [a @ row for a in ways for row in found.product]
    np.testing.assert_allclose(products, wanted, atol=1e-9 * np.abs(wanted).max(), rtol=0)
    np.testing.assert_allclose(found.gradient, f.gradient(f.start, w)[1], rtol=1e-9, atol=1e-12)


def test_two_rods_against_complex_steps():
    mech = sb.load("pendulum2")
    q0, qd0 = np.array([1.0, -0.4]), np.array([0.2, 0.3])
    judged(mech, mechanism_flow(mech), ["m1", "m2", "l1", "l2"], q0, qd0, 0.01, 20, 1)


@pytest.mark.slow
def test_puma_by_all_its_parameters_against_complex_steps():
    mech = sb.load("puma560")
    flow = mechanism_flow(mech, slow=0.5)
    names = [n for n in mech.parameters if n in flow.parameters]
    q0, qd0 = 0.3 * np.ones(6), np.array([0.8, -0.7, 0.9, 1.1, -0.8, 0.7])
    judged(mech, flow, names, q0, qd0, 1e-3, 10, 2, slow=0.5)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_is_differentiated_twice_as_it_steps(method):
    f = sb.differentiable(
        sb.load("pendulum2"), 0.2, ["m2", "q.joint1", "qd.joint2", "tau.joint1"], of=["q", "energy"],
        integrals={"cost": "q.joint1^2 + 0.1*tau.joint1*qd.joint2"}, step=0.01, q0={"joint1": 1.0}, method=method,
        inputs={"joint1": 0.1, "joint2": "-0.2*qd.joint2 + 0.1*t"},
    )  # fmt: skip
    agrees(f)


def agrees(f, part=1e-7):
    """The Hessian is that of differences of gradients, and symmetric to roundings."""
    w = np.linspace(0.5, 1.5, f().size)
    found = f.hessian_vector(f.start, np.eye(f.variables.size), w)
    assert found.exact, found.note
    wanted = differences(lambda x: f.gradient(x, w)[1], f.start, 1e-4)
    largest = np.abs(wanted).max()
    np.testing.assert_allclose(found.product, wanted, atol=part * largest, rtol=0)
    np.testing.assert_allclose(found.product, found.product.T, atol=1e-12 * largest, rtol=0)


def test_a_four_bar_twice():
    mech = sb.load("four_bar")
    agrees(
        sb.differentiable(
            mech, 0.05, ["q.crank", "qd.crank", *list(mech.parameters)[:3]], of=["q", "qd"],
            integrals={"s": "q.rocker^2"}, step=1e-3, q0={"crank": 0.8}, qd0={"crank": 1.0},
        )
    )  # fmt: skip


def test_quaternions_of_any_length():
    f = sb.differentiable(brick(), 0.2, ["q", "qd"], of=["q", "qd"], step=0.01, qd0=[1.0, 2.0, 0.5, 0.1, 0.0, 0.3])
    agrees(f)
    theta = f.start.copy()
    theta[3:7] = [1.4, 0.2, -0.3, 0.1]
    wanted = differences(f, theta)
    np.testing.assert_allclose(f.jacobian(theta, "adjoint"), wanted, atol=1e-8)
    np.testing.assert_allclose(f.jacobian(theta, "forward"), wanted, atol=1e-8)


@pytest.mark.parametrize("kind", ["linear", "hold"])
def test_points_of_a_table_twice(kind):
    table = ([0.0, 0.1, 0.2049, 0.3], [0.0, 0.8, 0.9, 0.1], kind)
    agrees(
        sb.differentiable(
            sb.load("pendulum2"), 0.3, ["joint1", "m2"], of=["q", "qd"], integrals={"w": "tau.joint1^2*qd.joint1"},
            step=0.01, inputs={"joint1": table},
        )
    )  # fmt: skip


def test_samples_with_little_memory():
    options = dict(step=0.01, q0={"joint1": 1.0}, sampling=6, inputs={"joint1": 0.1}, at="samples")
    wanted = {"of": ["q.joint1", {"tip": "q.joint1 + q.joint2"}], "integrals": {"c": "q.joint1^2"}}
    kept = sb.differentiable(sb.load("pendulum2"), 0.5, ["m2", "q.joint1", "joint1"], **wanted, **options)
    again = sb.differentiable(sb.load("pendulum2"), 0.5, ["m2", "q.joint1", "joint1"], memory=300, **wanted, **options)
    agrees(kept)
    w = np.ones(13)
    np.testing.assert_allclose(again.hessian(weights=w), kept.hessian(weights=w), rtol=1e-12)


def test_a_parameter_with_the_name_of_the_step():
    x, h = sb.symbol("x"), sb.symbol("h", "parameter", default=0.7)
    decay = sb.System("decay", inputs={"x": x}, outputs={"x_dot": -h * x * x}, states={"x": "x_dot"})
    agrees(sb.differentiable(decay, 0.5, ["h", "x"], of=["x"], step=0.05, states0={"x": 1.0}))


def test_events_are_differenced_and_it_is_said():
    bounce = sb.When("bounce", "q.z", direction=-1, reset={"qd.z": "-0.8*qd.z"})
    f = sb.differentiable(ball(), 0.8, ["q.z", "qd.z"], of=["q"], step=0.01, q0={"z": 1.0}, events=[bounce])
    found = f.hessian_vector(f.start, [1.0, 0.5])
    assert not found.exact
    assert "differences of gradients" in found.note
    assert "event at t = 0.45" in found.note

    def end(theta):
        """Falls, bounces, flies on: in closed form."""
        g = 9.81
        hit = (theta[1] + np.sqrt(theta[1] ** 2 + 2 * g * theta[0])) / g
        up = -0.8 * (theta[1] - g * hit)
        return up * (0.8 - hit) - g / 2 * (0.8 - hit) ** 2

    wanted = [curvature(end, f.start, a, np.array([1.0, 0.5])) for a in np.eye(2)]
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_what_is_asked_wrongly():
    f = sb.differentiable(sb.load("pendulum2"), 0.1, ["m2", "q"], of=["q"], step=0.01)
    with pytest.raises(ShapeError, match=r"the direction has shape \(2,\); expected \(3,\)"):
        f.hessian_vector(f.start, [1.0, 2.0], [1.0, 1.0])
    with pytest.raises(ShapeError, match="Give weights"):
        f.hessian_vector(f.start, np.ones(3))
    with pytest.raises(ShapeError, match="weights have shape"):
        f.gradient(f.start, np.ones(5))
    with pytest.raises(DefinitionError, match="finite numbers"):
        f.hessian_vector(f.start, [1.0, np.nan, 0.0], [1.0, 1.0])


@pytest.mark.parametrize("name", ["h", "w_", "w_1", "along_x", "rate_x"])
@pytest.mark.parametrize("role", ["state", "parameter", "input"])
def test_no_name_is_that_of_a_derivative(name, role):
    """x' = -p x^2, x = 1/(1/x0 + p t): two derivatives at t = 1 by x0, or by p as parameter or held input."""
    own = sb.symbol(name, "parameter" if role == "parameter" else "input", default=1.0 if role == "parameter" else None)
    x = own if role == "state" else sb.symbol("x")
    p = 1 if role == "state" else own
    inputs = {x.name: x} | ({name: p} if role == "input" else {})
    system = sb.System("decay", inputs=inputs, outputs={"x_dot": -p * x * x}, states={x.name: "x_dot"})
    given = {"inputs": {name: 1.0}} if role == "input" else {}
    for method in ("rk4", "midpoint"):
        f = sb.differentiable(
            system, 1.0, [name], of=[x.name], step=0.01, method=method, states0={x.name: 1.0}, **given
        )
        first, second = (0.25, -0.25) if role == "state" else (-0.25, 0.25)
        np.testing.assert_allclose([f.jacobian(f.start).item(), f.hessian(f.start).item()], [first, second], atol=2e-5)
