"""Springs, friction, actuators, contact, grounds, the linear tyre: characteristic points and physical inequalities."""

import numpy as np
import pytest

import symbody as sb
from symbody.model.library import actuators, contact, friction, grounds, springs
from symbody.model.library.linear_tyre import linear_tyre

Z = np.linspace(0.2, 1.8, 33)
V = np.linspace(-2, 2, 41)


def test_a_compressed_spring_pushes_and_a_stretched_one_pulls():
    assert springs.spring_damper(0.4, 0.0, stiffness=100.0, length=0.5) == pytest.approx(10)
    assert springs.spring_damper(0.6, 0.0, stiffness=100.0, length=0.5) == pytest.approx(-10)


@pytest.mark.parametrize("cubic", [0.0, 300.0])
def test_spring_force_is_minus_the_slope_of_its_energy(cubic):
    h = 1e-30
    slope = springs.energy(Z + 1j * h, 120.0, 0.7, cubic).imag / h
    np.testing.assert_allclose(springs.cubic_spring(Z, 0.0, 120.0, 0.0, 0.7, cubic), -slope, rtol=1e-14, atol=1e-14)


def test_dampers_and_friction_never_give_power():
    for force in (
        springs.spring_damper(1.0, V, 0.0, 3.0, 1.0),
        friction.viscous(V, 2.0),
        friction.coulomb(V, 2.0),
        friction.coulomb(V, 2.0, 0.1),
        friction.stribeck(V, 2.0, 3.0, 0.2, 0.5, 0.01),
    ):
        assert (force * V <= 0).all()


def test_ropes_only_pull_and_buffers_only_push():
    rates = np.array([[-5.0], [0.0], [5.0]])
    assert (springs.rope(Z, rates, 100.0, 20.0, 1.0) <= 0).all()
    assert (springs.rope(Z[Z < 1], 0.0, 100.0, 20.0, 1.0) == 0).all()
    assert (springs.buffer(Z, rates, 100.0, 20.0, 1.0) >= 0).all()
    assert (springs.buffer(Z[Z > 1], 0.0, 100.0, 20.0, 1.0) == 0).all()


def test_bump_stops_act_outside_their_range_only():
    x = np.array([-1.5, -1.0, 0.0, 1.0, 1.5])
    np.testing.assert_allclose(springs.bump_stop(x, -1.0, 1.0, 10.0), [5, 0, 0, 0, -5])
    np.testing.assert_allclose(springs.bump_stop(x, -1.0, 1.0, 10.0, exponent=2), [2.5, 0, 0, 0, -2.5])
    smooth = springs.bump_stop(x, -1.0, 1.0, 10.0, width=1e-6)
    np.testing.assert_allclose(smooth, [5, 5e-6, 0, -5e-6, -5], atol=1e-11)


def test_stribeck_friction_falls_from_breakaway_to_coulomb_level():
    near, far = (-friction.stribeck(v, 2.0, 3.0, 0.1) for v in (1e-6, 1.0))
    assert near == pytest.approx(3)
    assert far == pytest.approx(2)
    assert -friction.stribeck(0.1, 2.0, 3.0, 0.1) == pytest.approx(2 + np.exp(-1))
    assert -friction.stribeck(0.2, 2.0, 3.0, 0.1, shape=1) == pytest.approx(2 + np.exp(-2))


def test_a_lag_reaches_its_command_in_time():
    x, step = 0.0, 1e-4
    for _ in range(10_000):
        x += step * actuators.first_order(x, 5.0, 0.2)
    assert x == pytest.approx(5 * (1 - np.exp(-1 / 0.2)), rel=1e-3)


def test_limits_hold():
    assert abs(actuators.soft_limit(1e3, 7.0)) <= 7
    h = 1e-30
    assert actuators.soft_limit(1j * h, 7.0).imag / h == pytest.approx(1)


@pytest.mark.parametrize("width", [0, 1e-4])
def test_the_ground_pushes_and_never_pulls(width):
    depth, rate = np.meshgrid(np.linspace(-0.01, 0.02, 61), np.linspace(-3, 3, 61))
    force = contact.normal_force(depth, rate, 1e4, 300.0, width)
    assert (force >= 0).all()
    assert contact.normal_force(0.02, 0.0, 1e4, 300.0, width) == pytest.approx(200, rel=1e-2)
    assert contact.normal_force(-0.02, 0.0, 1e4, 300.0, width) == pytest.approx(0, abs=1e-2)


def test_linear_tyre_signs():
    common = dict(slip_stiffness=1e5, cornering_stiffness=6e4, camber_stiffness=3e3, trail=0.03)
    fx, fy, _, _, mz = linear_tyre(4000.0, 0.01, 0.02, 0.1, **common)
    assert fx == pytest.approx(1000)
    assert fy == pytest.approx(-1200 - 300)
    assert mz == pytest.approx(0.03 * 1500)
    _, _, _, my, _ = linear_tyre(4000.0, 0.0, 0.0, rolling_resistance=0.01, radius=0.3)
    assert my == pytest.approx(-12)


def test_linear_tyre_within_the_friction_circle():
    fx, fy, *_ = linear_tyre(1000.0, 0.5, 0.5, slip_stiffness=1e5, cornering_stiffness=1e5, friction=0.8)
    assert np.hypot(fx, fy) == pytest.approx(800, rel=1e-3)
    assert linear_tyre(0.0, 0.5, 0.5, slip_stiffness=1e5, cornering_stiffness=1e5, friction=0.8)[0] == 0


def _normals(ground, points):
    """Unit normals of a ground by complex step on its height, as an oracle that knows no derivative rules."""
    h = 1e-20
    x, y = points
    slopes = (ground.height(x + 1j * h, y).imag / h, ground.height(x, y + 1j * h).imag / h)
    n = np.array([-slopes[0], -slopes[1], 1.0])
    return n / np.linalg.norm(n)


@pytest.mark.parametrize(
    "ground",
    [grounds.slope(0.2, -0.1, 0.5), grounds.sinusoid(0.1, 2.0, 0.3, 0.4), grounds.sinusoid(0.1, 2.0)],
    ids=["slope", "oblique waves", "waves"],
)
def test_normals_are_orthogonal_to_the_ground(ground):
    x, y = sb.symbols("x y")
    height, normal = grounds.surface(ground, x, y)
    for point in np.random.default_rng(2).uniform(-2, 2, (5, 2)):
        at = dict(zip((x, y), point))
        found = [float(sb.evaluate(n, at)) if isinstance(n, sb.Node) else n for n in normal]
        np.testing.assert_allclose(found, _normals(ground, point), rtol=1e-13, atol=1e-14)
        assert sb.evaluate(height, at) == pytest.approx(ground.height(*point))


def test_a_profile_passes_through_its_points_with_smooth_normals():
    xs, zs = [0.0, 1.0, 2.0, 3.0], [0.0, 0.1, -0.1, 0.0]
    ground = grounds.profile(xs, zs)
    np.testing.assert_allclose(ground.height(np.array(xs), 0.0), zs, atol=1e-15)
    x, y = sb.symbols("x y")
    _, normal = grounds.surface(ground, x, y)
    left, right = (sb.evaluate(normal[0], {x: 1 + e, y: 0.0}) for e in (-1e-9, 1e-9))
    assert left == pytest.approx(right, abs=1e-7)
    assert sb.evaluate(normal[1], {x: 0.3, y: 0.0}) == 0


@pytest.mark.parametrize(
    ("law", "numbers"),
    [
        (springs.rope, (1.2, 0.1, 100.0, 2.0, 1.0)),
        (springs.bump_stop, (1.3, -1.0, 1.0, 10.0)),
        (friction.stribeck, (0.13, 2.0, 3.0, 0.1, 0.4, 0.02)),
        (contact.normal_force, (0.01, 0.1, 1e4, 100.0)),
        (contact.normal_force, (0.01, 0.1, 1e4, 100.0, 1e-3)),
        (actuators.soft_limit, (3.0, 2.0)),
    ],
)
def test_laws_of_nodes_equal_laws_of_floats(law, numbers):
    with sb.Graph():
        nodes = [sb.symbol(f"x{k}") for k in range(len(numbers))]
        value = sb.evaluate(law(*nodes), dict(zip(nodes, numbers)))
    assert value == pytest.approx(law(*numbers), rel=1e-14)
