"""Every elementary motion, by its row: pose and twist, retraction and exponential, labels and units.

Two more rows are listed beside symbody's own, so that the contract holds for rows that authors add: a car that follows
a track, and a point that moves on a sphere.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import expm

from symbody.basics.errors import DefinitionError
from symbody.model.record.elementary_motions import MOTIONS, Motion, Setting
from symbody.model.record.motion_check import check_motion
from symbody.model.spatial.scalar import atan, cos, sin, sqrt


def track_pose(q, at):
    a = atan(at.pitch * q[0])
    return [[cos(a), -sin(a), 0], [sin(a), cos(a), 0], [0, 0, 1]], [q[0], at.pitch * q[0] ** 2 / 2, 0]


def track_twist(q, at):
    n = 1 + (at.pitch * q[0]) ** 2
    return (([0, 0, at.pitch / n], [sqrt(n), 0, 0]),)


TRACK = Motion(
    name="track", text="along a parabola, turned with it", units=("m",), rates=("m/s",), words=("along the track (m)",),
    pose=track_pose, twist=track_twist, pitched=True,
)  # fmt: skip


def sphere_pose(q, at):
    a, b = q
    return None, [cos(a) * cos(b) - 1, sin(a) * cos(b), sin(b)]


def sphere_twist(q, at):
    a, b = q
    return (
        ([0, 0, 0], [-sin(a) * cos(b), cos(a) * cos(b), 0]),
        ([0, 0, 0], [-cos(a) * sin(b), -sin(a) * sin(b), cos(b)]),
    )


SPHERE = Motion(
    name="sphere", text="on a sphere, by longitude and latitude", units=("rad",) * 2, rates=("rad/s",) * 2,
    words=("longitude (rad)", "latitude (rad)"), pose=sphere_pose, twist=sphere_twist, turns=False,
)  # fmt: skip

ROWS = [*MOTIONS.values(), TRACK, SPHERE]
each = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)


def states(row, n=5):
    """(q, where) of random states; quaternions of unit length."""
    rng = np.random.default_rng(3)
    for _ in range(n):
        q = rng.uniform(-1, 1, row.nq)
        if row.quaternion is not None:
            part = slice(row.quaternion, row.quaternion + 4)
            q[part] /= np.linalg.norm(q[part])
        yield q, Setting(int(rng.integers(3)), float(rng.uniform(0.1, 1)))


def matrix(row, q, at):
    """(4, 4) pose in numbers."""
    turn, shift = row.pose(list(q), at)
    out = np.eye(4, dtype=np.asarray(shift, dtype=complex).dtype)
    out[:3, :3] = np.eye(3) if turn is None else np.asarray(turn, dtype=complex)
    out[:3, 3] = np.asarray(shift, dtype=complex)
    return out


def wedge(twist):
    """(4, 4) of (angular, linear)."""
    (x, y, z), v = (np.asarray(part, dtype=float) for part in twist)
    out = np.zeros((4, 4))
    out[:3, :3] = [[0, -z, y], [z, 0, -x], [-y, x, 0]]
    out[:3, 3] = v
    return out


@each
def test_motion_twist_is_derivative_of_pose(row):
    """g^-1 dg/dt along q_dot = N(q) qd is the twist in child axes, for every velocity."""
    for q, at in states(row):
        N = np.asarray(row.map_of_rates(q), dtype=float)
        g = matrix(row, q, at).real
        for k, twist in enumerate(row.twist(q, at)):
            moved = matrix(row, q + 1e-30j * N[:, k], at)
            assert np.linalg.inv(g) @ (moved.imag / 1e-30) == pytest.approx(wedge(twist), abs=1e-13)


@each
def test_the_neutral_child_stands_on_the_joint_frame(row):
    q = np.array(row.neutral)
    assert matrix(row, q, Setting(1, 0.3)).real == pytest.approx(np.eye(4), abs=0)
    if row.quaternion is not None:
        assert np.linalg.norm(q[row.turned_by]) == 1


@each
def test_no_increment_moves_nothing(row):
    for q, _ in states(row):
        assert row.retract(q, np.zeros(row.nv)) == pytest.approx(q, abs=1e-15)


@each
def test_retraction_and_increment_are_inverse(row):
    rng = np.random.default_rng(5)
    for q, _ in states(row):
        d = rng.uniform(-1, 1, row.nv)
        assert row.increment(q, row.retract(q, d)) == pytest.approx(d, abs=1e-12)


@each
def test_retraction_follows_the_velocity(row):
    """The pose after a small increment d is that of unit time at qd = d, to first order; to second for a half twice."""
    rng = np.random.default_rng(7)
    for q, at in states(row):
        d = 1e-5 * rng.uniform(-1, 1, row.nv)
        twist = sum(wedge(t) * x for t, x in zip(row.twist(q, at), d))
        g, moved = matrix(row, q, at).real, matrix(row, row.retract(q, d), at).real
        assert np.linalg.inv(g) @ moved == pytest.approx(np.eye(4) + twist, abs=1e-9)


@pytest.mark.parametrize("row", [r for r in ROWS if r.body_axes], ids=lambda row: row.name)
def test_retraction_of_velocities_in_child_axes_is_the_exponential(row):
    rng = np.random.default_rng(9)
    at = Setting()
    for size in (1e-12, 1e-3, 0.3, 1.0, 3.0):
        for q, _ in states(row, 3):
            d = size * rng.uniform(-1, 1, row.nv)
            twist = sum(wedge(t) * x for t, x in zip(row.twist(q, at), d))
            expected = matrix(row, q, at).real @ expm(twist)
            assert matrix(row, row.retract(q, d), at).real == pytest.approx(expected, abs=1e-14 * (1 + size) * 10)


@each
def test_many_states_are_retracted_at_once(row):
    rng = np.random.default_rng(11)
    q = np.array([x for x, _ in states(row, 6)])
    d = rng.uniform(-1, 1, (6, row.nv))
    one_by_one = np.array([row.retract(x, y) for x, y in zip(q, d)])
    assert row.retract(q, d) == pytest.approx(one_by_one, abs=1e-15)


@each
def test_normalising_twice_is_normalising_once(row):
    rng = np.random.default_rng(13)
    for _ in range(5):
        once = np.asarray(row.normalise(rng.uniform(0.2, 2, row.nq)), dtype=float)
        assert np.asarray(row.normalise(once), dtype=float) == pytest.approx(once, abs=1e-15)
        if row.quaternion is not None:
            assert np.linalg.norm(once[row.turned_by]) == pytest.approx(1, abs=1e-15)


@each
def test_velocities_are_found_again_in_the_rates(row):
    rng = np.random.default_rng(15)
    for q, _ in states(row):
        qd = rng.uniform(-1, 1, row.nv)
        rates = np.asarray(row.map_of_rates(q), dtype=float) @ qd
        assert np.asarray(row.velocities_of(q, rates), dtype=float) == pytest.approx(qd, abs=1e-14)


@each
def test_the_bracket_is_that_of_twists(row):
    """ad(x) y of the velocities is the commutator of their (4, 4) matrices; plain motions have none."""
    rng = np.random.default_rng(17)
    x, y = rng.uniform(-1, 1, (2, row.nv))
    if not row.body_axes:
        assert not row.bracket(x).any()
        return
    columns = row.twist(np.array(row.neutral), Setting())

    def algebra(v):
        return sum(wedge(t) * c for t, c in zip(columns, v))

    expected = algebra(x) @ algebra(y) - algebra(y) @ algebra(x)
    assert algebra(row.bracket(x) @ y) == pytest.approx(expected, abs=1e-14)


@each
def test_names_and_units_have_one_entry_a_component(row):
    assert len(row.units) == len(row.words) == len(row.neutral) == row.nq
    assert len(row.rates) == row.nv
    assert all(u in ("rad", "m", "") for u in row.units)
    assert all(u in ("rad/s", "m/s", "1/s") for u in row.rates)
    assert all(row.coordinate_words("x"))
    assert row.text
    if row.axial:
        assert (row.nq, row.nv) == (1, 1)


@each
def test_a_right_row_is_accepted(row):
    check_motion(row)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"twist": lambda q, at: (([0, 0, at.pitch], [1, 0, 0]),)}, "angular part of twist 1"),
        ({"words": ()}, "0 words"),
        ({"units": ("m", "m"), "words": ("a", "b")}, "rate_map"),
        ({"twist": lambda q, at: ()}, "0 columns"),
        ({"turns": False}, "turns=False"),
        ({"pose": lambda q, at: (track_pose(q, at)[0], [q[0], at.pitch * q[0] ** 2 / 2, 1])}, "neutral"),
    ],
)
def test_a_wrong_row_is_refused(change, words):
    with pytest.raises(DefinitionError, match=words):
        check_motion(replace(TRACK, **change))
