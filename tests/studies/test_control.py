"""Controllability, observability and feedback: known cases, python-control."""

import numpy as np
import pytest
from scipy.linalg import block_diag

import symbody as sb
from symbody.basics.errors import ModelError, ShapeError
from symbody.studies.control.controllability import (
    controllability,
    controllability_matrix,
    gramian,
    minimal,
    observability,
    observability_matrix,
)
from symbody.studies.control.discretize import discretize
from symbody.studies.control.frequency import frequency_response
from symbody.studies.control.placement import lqr, place
from symbody.studies.linear.linearize import linearize
from symbody.studies.linear.state_space import StateSpace


def two_carts(push="both"):
    """Two equal carts joined by a spring; `push`: an actuator between them, or on the first."""
    builder = sb.Mechanism.builder("carts", gravity=[0, 0, 0])
    for i, place_ in ((1, 0.0), (2, 1.0)):
        builder.body(f"cart{i}", mass=2.0)
        builder.joint(f"x{i}", "prismatic", "world", f"cart{i}", position=[place_, 0, 0], axis="x", mode="passive")
    builder.force("spring", "spring_damper", [("cart1", ""), ("cart2", "")], stiffness=50.0, length=1.0)
    if push == "both":
        builder.force("motor", "actuator", [("cart1", ""), ("cart2", "")])
    else:
        builder.force("motor", "joint", ["cart1"], law="actuator")
    return linearize(builder.done())


def test_motor_is_controllable_and_observable():
    """hybrid 3.1 with C = [1, 0]: both ranks are 2 (the thesis prints 1 for the second)."""
    a0, a1, b0 = 200.0, 45.0, 600.0
    ss = StateSpace([[0, 1], [-a0, -a1]], [[0], [b0]], [[1, 0]], [[0]])
    assert controllability(ss).rank == 2
    assert observability(ss).rank == 2
    np.testing.assert_allclose(observability_matrix(ss), np.eye(2))
    np.testing.assert_allclose(controllability_matrix(ss), [[0, b0], [b0, -a1 * b0]])


def test_forces_between_two_carts_do_not_move_the_pair():
    found = controllability(two_carts())
    assert (found.rank, found.size) == (2, 4)
    np.testing.assert_allclose(found.eigenvalues, 0, atol=1e-6)
    assert not found.complete
    for k in range(2):  # sums of positions and of velocities
        size = np.abs(found.vectors[:, k])
        np.testing.assert_allclose(size[[0, 2]], size[[1, 3]], atol=1e-6)
    assert "q.x1" in repr(found) or "qd.x1" in repr(found)
    assert controllability(two_carts("first")).complete


def test_only_the_difference_is_seen():
    linear = two_carts("first")
    difference = linear.state_space.replace(C=[[1.0, -1, 0, 0]], D=[[0.0]], outputs=("gap",))
    found = observability(difference)
    assert found.rank == 2
    assert observability(linear).complete
    # the hidden motions are the common ones
    for k in range(2):
        v = found.vectors[:, k]
        np.testing.assert_allclose(v[0], v[1], atol=1e-6)
        np.testing.assert_allclose(difference.C @ v, 0, atol=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_hidden_blocks_are_found_after_any_change_of_coordinates(seed):
    rng = np.random.default_rng(seed)
    reached, hidden = rng.normal(size=(4, 4)), np.array([[-0.3, 2.0], [-2.0, -0.3]])
    A = block_diag(reached, hidden)
    A[:4, 4:] = rng.normal(size=(4, 2))
    B = np.vstack([rng.normal(size=(4, 1)), np.zeros((2, 1))])
    T = rng.normal(size=(6, 6))
    ss = StateSpace(T @ A @ np.linalg.inv(T), T @ B, rng.normal(size=(2, 6)), np.zeros((2, 1)))
    found = controllability(ss)
    assert found.rank == 4
    np.testing.assert_allclose(np.sort_complex(found.eigenvalues), [-0.3 - 2j, -0.3 + 2j], atol=1e-7)
    for s, w in zip(found.eigenvalues, found.vectors.T):  # Popov, Belevitch, Hautus
        np.testing.assert_allclose(w.conj() @ ss.A, s * w.conj(), atol=1e-6)
        np.testing.assert_allclose(w.conj() @ ss.B, 0, atol=1e-8)
    small = minimal(ss)
    assert len(small.states) == 4
    w = np.geomspace(0.1, 10, 7)
    np.testing.assert_allclose(frequency_response(small, w).values, frequency_response(ss, w).values, rtol=1e-6)


def test_ranks_agree_with_control():
    control = pytest.importorskip("control")
    linear = linearize(sb.load("pendulum2"))
    for i in range(2):
        one = linear.state_space.channel(i)
        assert controllability(one).rank == np.linalg.matrix_rank(control.ctrb(one.A, one.B))
        np.testing.assert_allclose(controllability_matrix(one), control.ctrb(one.A, one.B))
        np.testing.assert_allclose(observability_matrix(one), control.obsv(one.A, one.C))


def test_poles_are_placed_where_they_are_wanted():
    linear = linearize(sb.load("pendulum2"), q0=[np.pi, 0])
    wanted = np.array([-2 + 1j, -2 - 1j, -3, -4])
    for inputs in (None, [0]):
        gain = place(linear, wanted, inputs)
        closed = linear.state_space.channel(inputs).feedback(gain)
        np.testing.assert_allclose(np.sort_complex(closed.poles), np.sort_complex(wanted), rtol=1e-6)
        assert closed.stable


def test_one_input_places_a_pole_several_times():
    ss = StateSpace([[0, 1, 0], [0, 0, 1], [1, 2, 3.0]], [[0], [0], [1]], np.eye(3), np.zeros((3, 1)))
    gain = place(ss, [-2, -2, -2])
    np.testing.assert_allclose(np.poly(ss.A - ss.B @ gain), np.poly([-2, -2, -2]), rtol=1e-9)


def test_control_places_the_same_gain():
    control = pytest.importorskip("control")
    ss = two_carts("first").state_space
    poles = [-1, -2, -3, -4]
    np.testing.assert_allclose(place(ss, poles), control.acker(ss.A, ss.B, poles).reshape(1, 4), rtol=1e-6)


def test_placement_is_refused_with_the_modes_named():
    with pytest.raises(ModelError, match=r"2 of 4 modes are not reached by u_motor: .*x1"):
        place(two_carts(), [-1, -2, -3, -4])
    with pytest.raises(ShapeError, match="3 poles"):
        place(two_carts("first"), [-1, -2, -3])
    with pytest.raises(ModelError, match="conjugate pairs"):
        place(two_carts("first"), [-1 + 1j, -2, -3, -4])


def test_quadratic_regulator_agrees_with_control():
    control = pytest.importorskip("control")
    linear = linearize(sb.load("pendulum2"), q0=[np.pi, 0])
    Q, R = np.diag([10, 5, 1, 1.0]), 0.1 * np.eye(2)
    gain = lqr(linear, np.diag(Q), 0.1)
    np.testing.assert_allclose(gain, control.lqr(linear.A, linear.B_ss, Q, R)[0], rtol=1e-7)
    assert linear.state_space.feedback(gain).stable
    sampled = discretize(linear, 0.05)
    np.testing.assert_allclose(lqr(sampled, Q, R), control.dlqr(sampled.A, sampled.B, Q, R)[0], rtol=1e-7)
    with pytest.raises(ModelError, match="no stabilising feedback"):
        lqr(StateSpace([[1.0]], [[0.0]], [[1.0]], [[0.0]]), 1.0, 1.0)


def test_gramians_are_the_integrals():
    ss = StateSpace([[-1.0, 2], [0, -3]], [[1.0], [0.5]], [[1.0, 0]], [[0]])
    values, V = np.linalg.eig(ss.A)

    def integral(A_vectors, source):
        """Integral of exp(A t) source exp(A' t) over all times, mode by mode."""
        inside = np.linalg.solve(A_vectors, np.linalg.solve(A_vectors, source).T).T
        return (A_vectors @ (-inside / (values[:, None] + values)) @ A_vectors.T).real

    np.testing.assert_allclose(gramian(ss), integral(V, ss.B @ ss.B.T), atol=1e-12)
    np.testing.assert_allclose(gramian(ss, "observability"), integral(np.linalg.inv(V).T, ss.C.T @ ss.C), atol=1e-12)
    with pytest.raises(ModelError, match="stable"):
        gramian(two_carts())


@pytest.mark.parametrize(("Q", "R", "word"), [(-1.0, 1.0, "Q has the eigenvalue"), (1.0, 0.0, "R has the eigenvalue")])
def test_weights_of_a_quadratic_regulator_are_positive(Q, R, word):
    with pytest.raises(ModelError, match=word):
        lqr(([[0.0, 1.0], [1.0, 0.0]], [[0.0], [1.0]], np.eye(2), np.zeros((2, 1))), Q, R)
