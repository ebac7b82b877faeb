"""Runs in the hands of others: SciPy, JAX, CasADi, PyTorch, each judged by its own checker."""

import sys

import numpy as np
import pytest

import symbody as sb
from helpers.derivative_oracles import differences
from helpers.simulation_models import ball
from symbody.basics.errors import DefinitionError, ShapeError, SymbodyError
from symbody.motion.derivatives import casadi_function, jax_function, torch_function

# PyTorch calls what it deprecates itself
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:DeprecationWarning")
WEIGHTS = [0.5, 1.0]


@pytest.fixture(scope="module")
def swing():
    """Two numbers of a swing, and its cost, of three points of torque."""
    return sb.differentiable(
        sb.load("pendulum2"), 0.2, ["joint1"], of=["q.joint1"], integrals={"cost": "q.joint1^2 + 0.01*tau.joint1^2"},
        step=0.01, q0={"joint1": 0.5}, inputs={"joint1": ([0.0, 0.1, 0.2], [0.3, -0.2, 0.5])},
    )  # fmt: skip


@pytest.fixture(scope="module")
def bounces():
    """A height after a bounce: its steps depend on the start."""
    rule = sb.When("bounce", "q.z", direction=-1, reset={"qd.z": "-0.8*qd.z"})
    return sb.differentiable(ball(), 0.7, ["q.z", "qd.z"], of=["q"], step=0.01, q0={"z": 1.0}, events=[rule])


@pytest.fixture(scope="module")
def thetas(swing):
    return swing.start + 0.1 * np.random.default_rng(0).normal(size=(4, 3))


def test_scipy_minimises_a_cost(swing):
    from scipy.optimize import check_grad, minimize

    cost = swing.objective([0.0, 1.0])
    assert check_grad(cost.value, cost.gradient, swing.start) < 1e-7
    found = minimize(cost, swing.start, jac=True, method="BFGS", options={"gtol": 1e-9})
    assert found.fun < cost.value(swing.start)
    assert np.abs(found.jac).max() < 1e-7
    newton = minimize(cost, swing.start, jac=True, hessp=cost.hessp, method="trust-ncg", options={"gtol": 1e-9})
    assert newton.success
    np.testing.assert_allclose(newton.x, found.x, atol=1e-5)
    assert newton.nit < found.nit


@pytest.mark.parametrize(
    ("package", "make"), [("torch", torch_function), ("jax", jax_function), ("casadi", casadi_function)]
)
def test_a_missing_package_is_named_with_what_to_install(swing, monkeypatch, package, make):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(SymbodyError, match=rf"{package} is needed here.*symbody\[learning\]"):
        make(swing)


# -- PyTorch


@pytest.mark.slow
def test_torch_differentiates_through_a_run_twice(swing, thetas):
    torch = pytest.importorskip("torch")
    run = torch_function(swing)
    one = torch.tensor(swing.start, requires_grad=True)
    many = torch.tensor(thetas, requires_grad=True)
    for theta in (one, many):
        assert torch.autograd.gradcheck(run, (theta,), check_forward_ad=True)
        assert torch.autograd.gradgradcheck(run, (theta,))
    (run(2 * one) ** 2).sum().backward()
    wanted = differences(lambda x: np.array([(swing(2 * x) ** 2).sum()]), swing.start)[0]
    np.testing.assert_allclose(one.grad.numpy(), wanted, rtol=1e-6)


def test_torch_maps_and_transforms(swing, thetas):
    torch = pytest.importorskip("torch")
    run = torch_function(swing)
    w = torch.tensor(WEIGHTS, dtype=torch.float64)
    rows = torch.tensor(thetas)
    found = torch.func.vmap(torch.func.grad(lambda x: run(x) @ w))(rows)
    for k, theta in enumerate(thetas):
        np.testing.assert_array_equal(found[k].numpy(), swing.gradient(theta, WEIGHTS)[1])
    second = torch.func.hessian(lambda x: run(x) @ w)(rows[0])
    np.testing.assert_allclose(second.numpy(), swing.hessian(thetas[0], WEIGHTS), rtol=1e-9, atol=1e-15)
    single = run(rows.to(torch.float32))
    assert single.dtype is torch.float32
    with pytest.raises(ShapeError, match=r"theta has shape \(4, 2\); expected \(3,\)"):
        run(rows[:, :2])
    with pytest.raises((DefinitionError, RuntimeError), match="third derivatives"):
        torch.func.jacrev(torch.func.hessian(lambda x: run(x) @ w))(rows[0])


def test_torch_through_events(bounces):
    torch = pytest.importorskip("torch")
    start = torch.tensor(bounces.start, requires_grad=True)
    assert torch.autograd.gradcheck(torch_function(bounces), (start,), check_forward_ad=True)


# -- JAX


@pytest.mark.slow
def test_jax_differentiates_through_a_run_twice(swing, thetas):
    jax = pytest.importorskip("jax")
    from jax.test_util import check_grads

    jax.config.update("jax_enable_x64", True)
    run = jax_function(swing)
    theta, rows = jax.numpy.array(swing.start), jax.numpy.array(thetas)
    tight = dict(order=2, modes=["fwd", "rev"], atol=1e-6, rtol=1e-6)
    check_grads(run, (theta,), **tight)
    check_grads(jax.jit(run), (theta,), **tight)
    check_grads(jax.vmap(run), (rows,), **tight)
    check_grads(run, (rows,), **tight)


def test_jax_maps_and_transforms(swing, thetas):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    run = jax_function(swing)
    w = jax.numpy.array(WEIGHTS)
    rows = jax.numpy.array(thetas)
    found = jax.jit(jax.vmap(jax.grad(lambda x: run(x) @ w)))(rows)
    for k, theta in enumerate(thetas):
        np.testing.assert_array_equal(found[k], swing.gradient(theta, WEIGHTS)[1])
    wanted = swing.hessian(thetas[0], WEIGHTS)
    for second in (jax.hessian, lambda g: jax.jacrev(jax.jacrev(g)), lambda g: jax.jacrev(jax.jacfwd(g))):
        np.testing.assert_allclose(second(lambda x: run(x) @ w)(rows[0]), wanted, rtol=1e-9, atol=1e-15)
    # one direction for many runs: what is not mapped is summed over
    along = jax.grad(lambda v: jax.vmap(lambda x: jax.jvp(run, (x,), (v,))[1] @ w)(rows).sum())(rows[0])
    np.testing.assert_allclose(along, sum(swing.gradient(x, WEIGHTS)[1] for x in thetas), rtol=1e-9)
    with pytest.raises(ShapeError, match="theta has shape"):
        run(rows[:, :2])
    with pytest.raises(DefinitionError, match="third derivatives"):
        jax.jacfwd(jax.hessian(lambda x: run(x) @ w))(rows[0])


# -- CasADi


def test_casadi_differentiates_through_a_run_twice(swing):
    casadi = pytest.importorskip("casadi")
    run = casadi_function(swing)
    x = casadi.MX.sym("x", 3)
    cost = casadi.sumsqr(run(2 * x))
    gradient = casadi.Function("g", [x], [casadi.gradient(cost, x)])
    wanted = differences(lambda x: np.array([(swing(2 * x) ** 2).sum()]), swing.start)[0]
    np.testing.assert_allclose(np.array(gradient(swing.start)).ravel(), wanted, rtol=1e-6)
    jacobian = casadi.Function("j", [x], [casadi.jacobian(run(x), x)])
    np.testing.assert_array_equal(np.array(jacobian(swing.start)), swing.jacobian(swing.start))
    hessian = casadi.Function("h", [x], [casadi.hessian(cost, x)[0]])
    by_gradients = differences(lambda x: np.array(gradient(x)).ravel(), swing.start, 1e-4)
    np.testing.assert_allclose(np.array(hessian(swing.start)), by_gradients, rtol=1e-6, atol=1e-9)


def test_casadi_checks_the_callback_itself(swing):
    """CasADi's own differences of the callback (`enable_fd`), beside the derivatives that it is given."""
    casadi = pytest.importorskip("casadi")
    run = casadi_function(swing)
    options = {"enable_fd": True, "enable_forward": False, "enable_reverse": False, "enable_jacobian": False}
    x = casadi.MX.sym("x", 3)
    plain = casadi.Function("plain", [x], [run(x)], options)
    theirs = casadi.Function("t", [x], [casadi.jacobian(plain(x), x)])
    own = casadi.Function("o", [x], [casadi.jacobian(run(x), x)])
    np.testing.assert_allclose(np.array(own(swing.start)), np.array(theirs(swing.start)), atol=1e-6)


def test_casadi_solves_with_exact_hessians(swing):
    casadi = pytest.importorskip("casadi")
    run = casadi_function(swing)
    x = casadi.MX.sym("x", 3)
    problem = {"x": x, "f": run(x)[1], "g": run(x)[0]}
    quiet = {"ipopt.print_level": 0, "print_time": False, "ipopt.tol": 1e-10}
    solver = casadi.nlpsol("s", "ipopt", problem, quiet)
    found = solver(x0=swing.start, lbg=0.48, ubg=0.48)
    assert solver.stats()["success"]
    assert abs(float(found["g"]) - 0.48) < 1e-9
    # at the optimum the gradients of cost and constraint are parallel
    theta = np.array(found["x"]).ravel()
    cost, end = swing.gradient(theta, [0.0, 1.0])[1], swing.gradient(theta, [1.0, 0.0])[1]
    np.testing.assert_allclose(cost + float(found["lam_g"]) * end, 0.0, atol=1e-8)
