"""Denavit-Hartenberg tables against products of their matrices, and identified from screws without loss of signs."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.linalg

from helpers.pinocchio_oracle import Peer
from symbody.basics.errors import ModelError
from symbody.mechanics.verbs.kinematics import kinematics
from symbody.model.build.dh import DhRow, dh_from_screws, from_dh, row_displacement
from symbody.model.spatial.displacement import Displacement, compose
from symbody.model.spatial.screws import couple, screw, slider
from symbody.symbolic.expr.arrays import skew

HALF = math.pi / 2


def turn(axis, angle, shift):
    """4 x 4 rotation about and translation along a coordinate axis."""
    out = np.eye(4)
    i, j = [(1, 2), (2, 0), (0, 1)][axis]
    out[i, i] = out[j, j] = math.cos(angle)
    out[i, j], out[j, i] = -math.sin(angle), math.sin(angle)
    out[axis, 3] = shift
    return out


def textbook(rows, q, convention):
    """Pose of the last frame by the printed matrices; rows are (kind, twist, length, angle, offset)."""
    pose = np.eye(4)
    for (kind, twist, length, angle, offset), x in zip(rows, q):
        about_x = turn(0, twist, length)
        about_z = turn(2, angle + x * (kind == "R"), offset + x * (kind == "P"))
        pose = pose @ (about_x @ about_z if convention == "modified" else about_z @ about_x)
    return pose


def matrix(d):
    out = np.eye(4)
    out[:3, :3], out[:3, 3] = np.asarray(d.rotation, float), np.asarray(d.translation, float)
    return out


def random_rows(seed):
    rng = np.random.default_rng(seed)
    kinds = rng.choice(["R", "R", "P"], size=6)
    rows = []
    for k in kinds:
        twist = rng.choice([0, HALF, -HALF, float(rng.uniform(-3, 3))])
        rows.append((str(k), float(twist), *(float(x) for x in rng.uniform(-1, 1, 3))))
    return rows


@pytest.mark.parametrize("convention", ["modified", "standard"])
@pytest.mark.parametrize("seed", range(3))
def test_mechanism_of_a_table_has_the_pose_of_the_product_of_its_matrices(convention, seed):
    rows = random_rows(seed)
    q = np.random.default_rng(seed + 9).uniform(-2, 2, 6)
    mech = from_dh(rows, convention)
    found = kinematics(mech, "link6.dh", order=0).compile("python")(q)
    expected = textbook(rows, q, convention)
    np.testing.assert_allclose(found.R_link6_dh, expected[:3, :3], atol=1e-12)
    np.testing.assert_allclose(found.p_link6_dh, expected[:3, 3], atol=1e-12)


def test_bodies_of_a_standard_table_are_given_in_its_frames():
    """The same two bodies by hand: mass at a point of the frame, torque of gravity by statics."""
    rows = [("R", HALF, 0.3, 0.2, 0.5), ("R", -0.7, 0.4, -0.3, 0.1)]
    com = np.array([[0.1, 0.2, 0.3], [-0.2, 0.1, 0.4]])
    tensors = [[1.0, 1.5, 2.0], [0.5, 0.6, 0.7]]
    bodies = [dict(mass=m, com=c.tolist(), inertia=t) for m, c, t in zip((2.0, 3.0), com, tensors)]
    mech = from_dh(rows, "standard", bodies=bodies)
    q, qd = np.array([0.4, -1.1]), np.array([0.7, -0.9])
    # kinetic energy by differences of the positions of the centres, and of the rotations of the frames
    h, kinetic = 1e-5, 0.0
    for k, (m, c, t) in enumerate(zip((2.0, 3.0), com, tensors), 1):

        def pose(s, k=k):
            return textbook(rows[:k], q + s * qd, "standard")

        rate = (pose(h) - pose(-h)) / (2 * h)
        v = rate[:3, :3] @ c + rate[:3, 3]
        w = pose(0)[:3, :3].T @ rate[:3, :3]
        w = np.array([w[2, 1], w[0, 2], w[1, 0]])
        kinetic += 0.5 * m * v @ v + 0.5 * w @ (np.array(t) * w)
    assert 0.5 * qd @ Peer(mech).mass_matrix(q) @ qd == pytest.approx(kinetic, rel=1e-8)


def test_acma_stands_where_it_should():
    """(25 sqrt 2, 50 + 25 sqrt 2, 10) cm (MEDUSA A5)."""
    rows = [DhRow("P"), DhRow("R"), DhRow("R", 0, "L3"), DhRow("R", 0, "L4"), DhRow("R", -HALF), DhRow("R", -HALF)]
    mech = from_dh(rows, parameters={"L3": 50, "L4": 50})
    q = [10, *[math.pi / 4] * 5]
    found = kinematics(mech, "link6", order=0).compile("python")(q)
    root = math.sqrt(2)
    np.testing.assert_allclose(found.p_link6, [25 * root, 50 + 25 * root, 10], atol=1e-12)


def test_trees_and_base_poses():
    base = Displacement(np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]]), np.array([1.0, 2, 3]))
    rows = [DhRow("R", name="trunk"), DhRow("R", HALF, 0.3, parent="trunk"), DhRow("P", -HALF, 0.2, parent="trunk")]
    mech = from_dh(rows, base=base)
    assert [j.parent for j in mech.joints] == ["world", "base", "trunk", "trunk"]
    q = [0.3, -0.4, 0.5]
    found = kinematics(mech, "link3", order=0).compile("python")(q)
    expected = matrix(compose(base, row_displacement(rows[0], 0.3), row_displacement(rows[2], 0.5)))
    np.testing.assert_allclose(found.p_link3, expected[:3, 3], atol=1e-13)


# -- identification


def generator(x):
    out = np.zeros((4, 4))
    out[:3, :3], out[:3, 3] = skew(x.resultant), x.moment
    return out


def random_screws(seed):
    """Six joint axes; some parallel, opposite, coincident or meeting, some prismatic or helical."""
    rng = np.random.default_rng(seed)
    out, direction, point = [], np.array([0, 0, 1.0]), np.zeros(3)
    for _ in range(6):
        how = rng.random()
        if how < 0.5:
            direction = rng.normal(size=3)
            direction /= np.linalg.norm(direction)
        elif how < 0.7:
            direction = -direction
        if rng.random() < 0.6:
            point = rng.normal(size=3)
        kind = rng.random()
        pitch = 0.3 if kind > 0.85 else 0
        out.append(couple(direction) if kind < 0.2 else slider(direction, point, pitch))
    return out


@pytest.mark.parametrize("seed", range(25))
def test_table_found_from_screws_moves_the_end_like_the_exponentials(seed):
    """exp(q1 X1) ... exp(q6 X6) end = base T1(q1) ... T6(q6) tool at random coordinates (MEDUSA A17)."""
    rng = np.random.default_rng(seed + 100)
    screws = random_screws(seed)
    end = np.eye(4)
    end[:3, :3], end[:3, 3] = scipy.linalg.expm(skew(rng.normal(size=3)).astype(float)), rng.normal(size=3)
    table = dh_from_screws(screws, Displacement(end[:3, :3], end[:3, 3]))
    q = rng.uniform(-3, 3, 6)
    expected = np.eye(4)
    for x, value in zip(screws, q):
        expected = expected @ scipy.linalg.expm(generator(x) * value)
    expected = expected @ end
    rows = [row_displacement(row, value) for row, value in zip(table.rows, q)]
    np.testing.assert_allclose(matrix(compose(table.base, *rows, table.tool)), expected, atol=1e-10)


def test_puma_is_identified_from_its_axes():
    """Twists and lengths of MEDUSA's table, up to the directions of the normals, which angles follow."""
    rows = [DhRow(), DhRow("R", -HALF), DhRow("R", 0, 0.4318, 0, 0.1254), DhRow("R", -HALF, 0.0203, 0, 0.4318)]
    rows += [DhRow("R", HALF), DhRow("R", -HALF)]
    pose, screws = np.eye(4), []
    for row in rows:
        pose = pose @ matrix(row_displacement(row))
        screws.append(slider(pose[:3, 2], pose[:3, 3]))
    table = dh_from_screws(screws)
    lengths = [abs(r.length) for r in table.rows]
    np.testing.assert_allclose(lengths, [0, 0, 0.4318, 0.0203, 0, 0], atol=1e-12)
    np.testing.assert_allclose([abs(r.twist) for r in table.rows], [0, HALF, 0, HALF, HALF, HALF], atol=1e-12)
    offsets = np.abs([r.offset for r in table.rows])
    # the offset of two parallel axes may stand on either: here it is moved to where it costs nothing
    assert offsets[3] == pytest.approx(0.4318)
    assert np.sum(offsets[:3]) == pytest.approx(0.1254)


def test_signs_of_twists_survive():
    """arccos would give the same twist for both (MEDUSA, eq. 3.60)."""
    first = slider([0, 0, 1], [0, 0, 0])
    found = []
    for angle in (0.6, -0.6):
        second = slider([0, -math.sin(angle), math.cos(angle)], [0.5, 0, 0])
        found.append(dh_from_screws([first, second]).rows[1])
    assert found[0].twist == pytest.approx(0.6)
    assert found[1].twist == pytest.approx(-0.6)
    assert found[0].length == found[1].length == pytest.approx(0.5)


def test_opposite_parallel_axes_have_a_half_turn_of_twist():
    table = dh_from_screws([slider([0, 0, 1], [0, 0, 0]), slider([0, 0, -1], [0, 2, 0])])
    assert abs(table.rows[1].twist) == pytest.approx(math.pi)
    assert table.rows[1].length == pytest.approx(2)
    assert table.rows[0].angle == pytest.approx(HALF)


def test_wrong_tables_are_refused():
    with pytest.raises(ModelError, match="convention"):
        from_dh([DhRow()], "classic")
    with pytest.raises(ModelError, match="kind 'Q'"):
        from_dh([DhRow("Q")])
    with pytest.raises(ModelError, match="row 2 stands on 'arm'"):
        from_dh([DhRow(), DhRow(parent="arm")])
    with pytest.raises(ModelError, match="alpha"):
        from_dh([{"kind": "R", "alpha": 1}])
    with pytest.raises(ModelError, match="2 bodies"):
        from_dh([DhRow()], bodies=[{}, {}])
    with pytest.raises(ModelError, match="screw 1 is zero"):
        dh_from_screws([screw([0, 0, 0], [0, 0, 0])])
