"""One contract for every chart of rotations, judged by SciPy and by derivatives of matrices in complex steps."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import symbody as sb
from symbody.basics.errors import NameLookupError
from symbody.model.spatial import quaternion, rodrigues
from symbody.model.spatial.charts import BRYANT, Chart, chart, euler, is_singular
from symbody.model.spatial.dual import Dual, parts, translation_of
from symbody.model.spatial.rotations import about_axis, is_rotation
from symbody.symbolic.expr.arrays import matmul

SEQUENCES = ["".join(s) for s in itertools.product("xyz", repeat=3) if s[0] != s[1] and s[1] != s[2]]
CHARTS = [*(euler(s) for s in SEQUENCES), *(chart(n) for n in ("bryant", "quaternion", "rodrigues", "rotation_vector"))]
by_name = pytest.mark.parametrize("member", CHARTS, ids=lambda c: c.name)


def coordinates(member: Chart, rng: np.random.Generator) -> np.ndarray:
    """Regular coordinates in the chart's main range."""
    if member.name == "quaternion":
        q = rng.normal(size=4)
        return q / np.linalg.norm(q) * np.sign(q[0])
    q = rng.uniform(-1.4, 1.4, size=3)
    if member.name.startswith("euler") and member.name[6] == member.name[8]:
        q[1] = abs(q[1]) + 0.1
    return q


def matrix(member: Chart, q) -> np.ndarray:
    return np.array(member.matrix(list(q)).tolist())


def rate(member: Chart, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    """dR/dt by a complex step."""
    h = 1e-30
    return matrix(member, [complex(a, h * b) for a, b in zip(q, qd)]).imag / h


@by_name
def test_matrix_is_a_rotation_and_coordinates_come_back(member):
    rng = np.random.default_rng(1)
    for _ in range(20):
        q = coordinates(member, rng)
        r = matrix(member, q)
        assert is_rotation(r)
        np.testing.assert_allclose(np.asarray(member.coordinates(r), float), q, atol=1e-12)


@by_name
def test_any_rotation_has_coordinates(member):
    for r in Rotation.random(30, random_state=5).as_matrix():
        np.testing.assert_allclose(matrix(member, member.coordinates(r)), r, atol=1e-12)


@by_name
@pytest.mark.parametrize("axes", ["body", "reference"])
def test_velocity_map_gives_the_derivative_of_the_matrix(member, axes):
    rng = np.random.default_rng(2)
    for _ in range(5):
        q = coordinates(member, rng)
        # a rate of a quaternion must keep its length
        omega = rng.normal(size=3)
        qd = np.asarray(member.rate_map(q, axes), float) @ omega
        np.testing.assert_allclose(np.asarray(member.velocity_map(q, axes), float) @ qd, omega, atol=1e-12)
        r, rd = matrix(member, q), rate(member, q, qd)
        spin = r.T @ rd if axes == "body" else rd @ r.T
        np.testing.assert_allclose([spin[2, 1], spin[0, 2], spin[1, 0]], omega, atol=1e-12)
        np.testing.assert_allclose(spin + spin.T, 0, atol=1e-12)


@by_name
def test_nodes_and_floats_agree(member):
    rng = np.random.default_rng(4)
    q = coordinates(member, rng)
    with sb.Graph():
        names = [f"q{k}" for k in range(member.size)]
        symbols = [sb.symbol(n) for n in names]
        values = dict(zip(names, q))
        r = member.matrix(symbols)
        for nodes, floats in [
            (r, member.matrix(q)),
            (member.velocity_map(symbols), member.velocity_map(q)),
            (member.rate_map(symbols), member.rate_map(q)),
            (member.coordinates(r), q),
            (np.array([member.singularity(symbols)]), [member.singularity(q)]),
        ]:
            found = [float(sb.evaluate(x, values)) if isinstance(x, sb.Node) else float(x) for x in nodes.flat]
            np.testing.assert_allclose(found, np.asarray(floats, float).ravel(), atol=1e-12)


@pytest.mark.parametrize("sequence", SEQUENCES)
def test_sequences_mean_what_scipy_means(sequence):
    q = np.random.default_rng(6).uniform(-1, 1, 3)
    expected = Rotation.from_euler(sequence.upper(), q).as_matrix()
    np.testing.assert_allclose(matrix(euler(sequence), q), expected, atol=1e-14)


def test_other_charts_mean_what_scipy_means():
    rotation = Rotation.random(random_state=8)
    r = rotation.as_matrix()
    x, y, z, w = rotation.as_quat(canonical=True)
    np.testing.assert_allclose(np.asarray(chart("quaternion").coordinates(r), float), [w, x, y, z], atol=1e-14)
    vector = rotation.as_rotvec()
    np.testing.assert_allclose(np.asarray(chart("rotation_vector").coordinates(r), float), vector, atol=1e-14)
    angle = np.linalg.norm(vector)
    gibbs = np.tan(angle / 2) * vector / angle
    np.testing.assert_allclose(np.asarray(chart("rodrigues").coordinates(r), float), gibbs, atol=1e-13)


def test_small_and_half_turns_keep_their_digits():
    member = chart("rotation_vector")
    for angle in (0.0, 1e-14, 1e-9, 1e-5, 1e-2, math.pi - 1e-7, math.pi):
        v = angle * np.array([2, -1, 2]) / 3
        r = Rotation.from_rotvec(v).as_matrix()
        found = np.asarray(member.coordinates(r), float)
        np.testing.assert_allclose(Rotation.from_rotvec(found).as_matrix(), r, atol=1e-14)
        np.testing.assert_allclose(np.linalg.norm(found), angle, atol=2e-8 if angle > 3 else 1e-15)


def test_singular_sets_are_reported():
    assert is_singular(euler("zyz"), [0.3, 0.0, 0.2])
    assert is_singular(euler("zyz"), [0.3, math.pi, 0.2])
    assert is_singular(BRYANT, [0.3, math.pi / 2, 0.2])
    assert not is_singular(BRYANT, [0.3, 0.0, 0.2])
    assert is_singular(chart("rotation_vector"), [2 * math.pi, 0, 0])
    assert not is_singular(chart("rotation_vector"), [0.0, 0, 0])
    assert is_singular(chart("rodrigues"), [1e6, 0, 0])
    assert not any(is_singular(chart("quaternion"), q) for q in np.eye(4))


@by_name
def test_singularity_is_where_the_velocity_map_loses_rank(member):
    if member.size != 3:
        return
    rng = np.random.default_rng(9)
    q = coordinates(member, rng)
    determinant = np.linalg.det(np.asarray(member.velocity_map(q), float))
    size = abs(float(member.singularity(q)))
    # of Rodrigues parameters the determinant is 8 cos^4, it vanishes with cos^2
    expected = 8 * size**2 if member.name == "rodrigues" else size
    assert abs(determinant) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("sequence", SEQUENCES)
def test_angles_of_a_singular_matrix_still_give_that_matrix(sequence):
    member = euler(sequence)
    second = [0.0, math.pi] if sequence[0] == sequence[2] else [math.pi / 2, -math.pi / 2]
    for q2 in second:
        r = matrix(member, [0.4, q2, -0.9])
        q = member.coordinates(r)
        assert q[2] == 0
        np.testing.assert_allclose(matrix(member, q), r, atol=1e-12)


def test_products_of_quaternions_and_of_rodrigues_parameters_are_products_of_rotations():
    a, b = Rotation.random(2, random_state=3)
    product = (a * b).as_matrix()
    p, q = (quaternion.quaternion_from_matrix(r.as_matrix()) for r in (a, b))
    np.testing.assert_allclose(
        quaternion.matrix_from_quaternion(quaternion.multiply(p, q)).astype(float), product, atol=1e-14
    )
    back = quaternion.multiply(quaternion.conjugate(p), p)
    np.testing.assert_allclose(np.asarray(back, float), [1, 0, 0, 0], atol=1e-14)
    r, s = (rodrigues.rodrigues_from_matrix(m.as_matrix()) for m in (a, b))
    composed = rodrigues.matrix_from_rodrigues(rodrigues.compose(r, s))
    np.testing.assert_allclose(composed.astype(float), product, atol=1e-13)


# -- dual angles (MEDUSA, section 3.5)


def random_dual_angles(rng):
    return [Dual(a, b) for a, b in zip(rng.uniform(0.2, 1.2, 3), rng.normal(size=3))]


@pytest.mark.parametrize("sequence", ["zyx", "zyz", "xyz", "zxz"])
def test_dual_angles_come_back_from_the_dual_matrix(sequence):
    """Rotation and shift about each of three axes, found again from the displacement (MEDUSA A18)."""
    angles = random_dual_angles(np.random.default_rng(12))
    found = euler(sequence).coordinates(euler(sequence).matrix(angles))
    for a, b in zip(found, angles):
        assert a.re == pytest.approx(b.re, abs=1e-13)
        assert a.du == pytest.approx(b.du, abs=1e-12)


def test_dual_bryant_angles_follow_the_corrected_formulas():
    """c, b, a of MEDUSA eq. 3.26 with its misprints corrected (the spec's section 3.5)."""
    displaced = BRYANT.matrix(random_dual_angles(np.random.default_rng(13)))
    r, d = (np.asarray(p, float) for p in parts(displaced))
    rho = r[0, 0] ** 2 + r[1, 0] ** 2
    c = (r[0, 0] * d[1, 0] - r[1, 0] * d[0, 0]) / rho
    numerator = d[2, 0] * rho - r[2, 0] * (d[0, 0] * r[0, 0] + d[1, 0] * r[1, 0])
    b = -numerator / (math.sqrt(rho) * (rho + r[2, 0] ** 2))
    a = (d[2, 1] * r[2, 2] - r[2, 1] * d[2, 2]) / (r[2, 1] ** 2 + r[2, 2] ** 2)
    np.testing.assert_allclose([x.du for x in BRYANT.coordinates(displaced)], [c, b, a], atol=1e-13)


def test_pitch_does_not_depend_on_a_yaw_that_comes_first():
    """Bryant pitch of RD3(a) A RD3(b): free of the left factor's angle and shift (MEDUSA, section 7)."""
    rng = np.random.default_rng(14)
    middle = BRYANT.matrix(random_dual_angles(rng))
    right = about_axis("z", Dual(math.pi / 3, 0.4))
    pitches = [BRYANT.coordinates(matmul(about_axis("z", left), middle, right))[1] for left in random_dual_angles(rng)]
    for p in pitches[1:]:
        assert p.re == pytest.approx(pitches[0].re, abs=1e-14)
        assert p.du == pytest.approx(pitches[0].du, abs=1e-13)


def acma_row(twist, length, angle, offset):
    """[D*] = R1(twist + eps length) R3(angle + eps offset) (MEDUSA, eq. 3.58)."""
    return matmul(about_axis("x", Dual(twist, length)), about_axis("z", Dual(angle, offset)))


def acma_rows():
    """(twist, length, angle, offset) at q1 = 10 cm and q2 .. q6 = pi/4, lengths in cm (MEDUSA, appendices B and C)."""
    q, half = math.pi / 4, math.pi / 2
    return [(0, 0, 0, 10), (0, 0, q, 0), (0, 50, q, 0), (0, 50, q, 0), (-half, 0, q, 0), (-half, 0, q, 0)]


def assert_dual_euler(displaced, phi, theta, psi):
    """Spin phi, nutation theta and precession psi; real parts modulo pi, because the thesis uses arctan."""
    found = euler("zyz").coordinates(displaced)
    for angle, expected in zip(found, (psi, theta, phi)):
        assert math.remainder(angle.re - expected.re, math.pi) == pytest.approx(0, abs=1e-12)
        assert angle.du == pytest.approx(expected.du, abs=1e-12)
    for again, given in zip(parts(euler("zyz").matrix(found)), parts(displaced)):
        np.testing.assert_allclose(np.asarray(again, float), np.asarray(given, float), atol=1e-12)


def test_acma_pose_and_its_dual_euler_angles():
    """The true pose: the product in the order 1 .. 6 (MEDUSA A5; the thesis prints the other order)."""
    pose = matmul(*(acma_row(*row) for row in acma_rows()))
    root = math.sqrt(2)
    origin = np.asarray(translation_of(pose), float)
    np.testing.assert_allclose(origin, [25 * root, 50 + 25 * root, 10], atol=1e-12)
    quarter = math.pi / 4
    assert_dual_euler(
        pose, Dual(quarter, -50), Dual(3 * quarter, 50 + 25 * root), Dual(-quarter, 10 - 25 * root)
    )  # fmt: skip


def test_acma_product_in_the_printed_order_gives_the_printed_angles():
    """An exercise of algebra, not the pose of the robot (MEDUSA A4)."""
    printed = matmul(*(acma_row(*row) for row in reversed(acma_rows())))
    root = math.sqrt(2)
    assert_dual_euler(printed, Dual(0, 10 - 25 * root), Dual(-math.pi / 4, 50 + 25 * root), Dual(0, -50))


def test_unknown_charts_are_refused():
    with pytest.raises(NameLookupError, match="quaternion"):
        chart("quaternions")
    with pytest.raises(NameLookupError):
        chart("zzx")
