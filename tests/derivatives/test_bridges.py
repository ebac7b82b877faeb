"""Runs in the hands of others: SciPy, JAX, CasADi, PyTorch; many at once; second derivatives."""

import numpy as np
import pytest

import symbody as sb
from derivative_oracles import differences
from symbody.derivatives.bridges import casadi_function, jax_function, torch_function
from symbody.errors import ShapeError


@pytest.fixture(scope="module")
def swing():
    """Two numbers of a swing, and its cost, of three points of torque."""
    return sb.differentiable(
        sb.load("pendulum2"), 0.2, ["joint1"], of=["q.joint1"], integrals={"cost": "q.joint1^2 + 0.01*tau.joint1^2"},
        step=0.01, q0={"joint1": 0.5}, inputs={"joint1": ([0.0, 0.1, 0.2], [0.3, -0.2, 0.5])},
    )  # fmt: skip


def test_scipy_minimises_a_cost(swing):
    from scipy.optimize import minimize

    weights = [0.0, 1.0]
    found = minimize(swing.objective(weights), swing.start, jac=True, method="BFGS", options={"gtol": 1e-9})
    assert found.fun < swing.gradient(swing.start, weights)[0]
    assert np.abs(found.jac).max() < 1e-7


def test_jax_differentiates_through_a_run(swing):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    run = jax_function(swing)
    theta = jax.numpy.array(swing.start)
    gradient = jax.grad(lambda x: jax.numpy.sum(jax.jit(run)(2 * x) ** 2))(theta)
    wanted = differences(lambda x: np.array([(swing(2 * x) ** 2).sum()]), swing.start)[0]
    np.testing.assert_allclose(gradient, wanted, rtol=1e-6)
    many = jax.vmap(run)(jax.numpy.stack([theta, 2 * theta]))
    np.testing.assert_array_equal(many[1], swing(2 * swing.start))


def test_casadi_differentiates_through_a_run(swing):
    casadi = pytest.importorskip("casadi")
    run = casadi_function(swing)
    x = casadi.MX.sym("x", 3)
    gradient = casadi.Function("g", [x], [casadi.gradient(casadi.sumsqr(run(2 * x)), x)])
    wanted = differences(lambda x: np.array([(swing(2 * x) ** 2).sum()]), swing.start)[0]
    np.testing.assert_allclose(np.array(gradient(swing.start)).ravel(), wanted, rtol=1e-6)


def test_torch_differentiates_through_a_run(swing):
    torch = pytest.importorskip("torch")
    theta = torch.tensor(swing.start, dtype=torch.float64, requires_grad=True)
    (torch_function(swing)(2 * theta) ** 2).sum().backward()
    wanted = differences(lambda x: np.array([(swing(2 * x) ** 2).sum()]), swing.start)[0]
    np.testing.assert_allclose(theta.grad.numpy(), wanted, rtol=1e-6)


def test_many_gradients_have_the_bits_of_each(swing):
    thetas = swing.start + 0.1 * np.random.default_rng(0).normal(size=(5, 3))
    values, gradients = swing.gradients(thetas, [1.0, 2.0], threads=2)
    for k, theta in enumerate(thetas):
        value, gradient = swing.gradient(theta, [1.0, 2.0])
        assert values[k] == value
        np.testing.assert_array_equal(gradients[k], gradient)
    with pytest.raises(ShapeError, match="thetas have shape"):
        swing.gradients(np.zeros(3))


def test_second_derivatives_along_a_direction(swing):
    way, w = np.array([1.0, -0.5, 0.2]), [0.5, 1.0]
    wanted = differences(lambda x: swing.gradient(x, w)[1], swing.start, 1e-4) @ way
    found = swing.hessian_vector(swing.start, way, w)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-9)
    # symmetric: a^T H b = b^T H a
    other = np.array([0.3, 0.7, -1.0])
    np.testing.assert_allclose(other @ found, way @ swing.hessian_vector(swing.start, other, w), rtol=1e-7)
