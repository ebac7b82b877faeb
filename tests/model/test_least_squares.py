"""One solver for nonlinear least squares: known minima, bounds, redundant rows, curved spaces, and when it ends."""

from __future__ import annotations

import numpy as np
import pytest

import symbody as sb
from symbody.model.record.coordinates import checked, increment, retract
from symbody.model.record.retracted_least_squares import (
    Directions,
    LeastSquaresProblem,
    ResidualPoint,
    StoppingRules,
    damped_step,
    least_squares,
    newton,
)


def flat(residual, jacobian, **more):
    return LeastSquaresProblem(lambda x: ResidualPoint(residual(x), lambda: jacobian(x)), lambda x, s: x + s, **more)


def rosenbrock():
    return flat(
        lambda x: np.array([10 * (x[1] - x[0] ** 2), 1 - x[0]]),
        lambda x: np.array([[-20 * x[0], 10.0], [-1.0, 0.0]]),
    )


def test_rosenbrocks_valley_is_followed_to_its_end():
    found = least_squares(rosenbrock(), np.array([-1.2, 1.0]), StoppingRules(tolerance=1e-12, longest=2.0))
    assert found.x == pytest.approx([1, 1], abs=1e-10)
    assert found.point.largest < 1e-12


def test_a_redundant_row_does_not_slow_it():
    """Twice the same circle: J has no full rank, and the residual falls quadratically all the same."""
    problem = flat(lambda x: np.array([x @ x - 1, x @ x - 1]), lambda x: np.array([2 * x, 2 * x]))
    found = least_squares(problem, np.array([2.0, 1.0]), StoppingRules(tolerance=1e-14))
    assert np.linalg.norm(found.x) == pytest.approx(1, abs=1e-14)
    assert found.steps < 12


def test_the_least_remainder_is_found_where_not_all_can_vanish():
    """x = 0 and x = 1 at once: the mean, and the search ends because it stalls."""
    problem = flat(lambda x: np.array([x[0], x[0] - 1]), lambda x: np.ones((2, 1)))
    found = least_squares(
        problem, np.array([5.0]), StoppingRules(tolerance=1e-12, longest=10.0, stalled=1e-6, damping=1e-3)
    )
    assert found.x == pytest.approx([0.5], abs=1e-4)
    assert found.steps < 30


def test_bounds_are_kept_by_the_move_and_left_out_of_the_steps():
    """The nearest point of a box to (3, 0.5): a coordinate at its bound does not take part."""

    def inside(x, point):
        free = np.array([x[0] < 1.0, True])
        return Directions(np.eye(2)[:, free])

    goal = np.array([3.0, 0.5])
    problem = LeastSquaresProblem(
        lambda x: ResidualPoint(x - goal, lambda: np.eye(2)), lambda x, s: np.minimum(x + s, 1.0), directions=inside
    )
    found = least_squares(problem, np.zeros(2), StoppingRules(tolerance=1e-12, damping=1e-6, stalled=1e-9, longest=5.0))
    assert found.x == pytest.approx([1.0, 0.5], abs=1e-5)


def test_no_step_is_longer_than_allowed():
    moves = []
    problem = flat(lambda x: x - 100.0, lambda x: np.eye(1))
    tracked = LeastSquaresProblem(problem.at, lambda x, s: (moves.append(float(np.abs(s).max())), x + s)[1])
    least_squares(tracked, np.zeros(1), StoppingRules(tolerance=1e-9, longest=0.7, damping=1e-9, steps=20))
    assert max(moves) <= 0.7 + 1e-15
    assert len(moves) == 20


def test_components_that_are_not_bounded_go_as_far_as_they_like():
    problem = flat(lambda x: x - 100.0, lambda x: np.eye(2), bounded=np.array([True, False]))
    start = np.array([100.0, 0.0])
    assert least_squares(problem, start, StoppingRules(tolerance=1e-9, damping=1e-12)).steps <= 3


def test_a_residual_that_is_no_number_is_not_stepped_to():
    with np.errstate(invalid="ignore"):
        problem = flat(lambda x: np.sqrt(x) - 0.1, lambda x: np.array([[0.5 / np.sqrt(x[0])]]))
        found = least_squares(problem, np.array([4.0]), StoppingRules(tolerance=1e-12, longest=10.0))
    assert found.x == pytest.approx([0.01], abs=1e-9)


def test_newton_does_not_mind_the_scales_of_rows():
    """The same equations with one row a million times larger: the same path."""

    def problem(scale):
        return flat(
            lambda x: np.array([x[0] ** 2 + x[1] - 3, scale * (x[1] ** 2 - x[0] - 1)]),
            lambda x: np.array([[2 * x[0], 1.0], [-scale, 2 * scale * x[1]]]),
        )

    ends = [
        newton(problem(s), np.array([1.0, 2.0]), StoppingRules(tolerance=1e-10, trials=8, flat=1e-15))
        for s in (1.0, 1e6)
    ]
    assert ends[0].x == pytest.approx(ends[1].x, abs=1e-9)
    assert ends[0].point.largest < 1e-10


def test_directions_in_which_nothing_acts_do_not_move():
    problem = flat(lambda x: np.array([x[0] - 1]), lambda x: np.array([[1.0, 0.0]]))
    for method in (least_squares, newton):
        assert method(problem, np.array([0.0, 7.0]), StoppingRules(tolerance=1e-12, flat=1e-8)).x[1] == 7.0


def test_the_damped_step_solves_the_normal_equations():
    rng = np.random.default_rng(0)
    J, r, mu = rng.normal(size=(5, 3)), rng.normal(size=5), 0.3
    expected = -np.linalg.solve(J.T @ J + mu * np.eye(3), J.T @ r)
    assert damped_step(J, r, mu) == pytest.approx(expected, abs=1e-13)


def test_on_a_free_body_steps_are_retracted():
    """A pose is found by its points: coordinates of a free joint, J by differences of the retraction."""
    mech = sb.Mechanism.builder("free").body("a", 1.0).joint("j", "free", "world", "a").done()
    points = np.random.default_rng(1).normal(size=(4, 3))
    wanted = checked(mech, [0.3, -0.2, 0.5, 0.2, -0.6, 0.3, 0.7])

    def placed(q):
        w, u = q[3], q[4:]
        return np.array([q[:3] + p + 2 * w * np.cross(u, p) + 2 * np.cross(u, np.cross(u, p)) for p in points]).ravel()

    def at(q):
        def slopes():
            h = 1e-6
            ways = [placed(retract(mech, q, h * e)) - placed(retract(mech, q, -h * e)) for e in np.eye(6)]
            return np.array(ways).T / (2 * h)

        return ResidualPoint(placed(q) - placed(wanted), slopes)

    start = checked(mech, [0, 0, 0, 1, 0, 0, 0])
    found = least_squares(
        LeastSquaresProblem(at, lambda q, s: retract(mech, q, s)), start, StoppingRules(tolerance=1e-12, longest=1.0)
    )
    assert np.abs(increment(mech, found.x, wanted)).max() < 1e-11
