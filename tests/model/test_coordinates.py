"""Coordinates of a Mechanism: slots, labels, units, and the one retraction."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm

import symbody as sb
from symbody.basics.errors import ShapeError
from symbody.model.record.coordinates import (
    checked,
    coordinate_labels,
    coordinate_units,
    coordinates_by_velocity,
    increment,
    neutral,
    part_of,
    parts,
    retract,
    sliding,
    transport,
    velocity_labels,
    velocity_owners,
    velocity_units,
    with_mode,
)


@pytest.fixture(scope="module")
def mech():
    b = sb.Mechanism.builder("all")
    for name in "abcdefg":
        b.body(name, 1.0, (0.1, 0, 0), (0.1, 0.1, 0.1))
    b.joint("float", "free", "world", "a")
    b.joint("hinge", "revolute", "a", "b", elastic=(100.0, 1.0))
    b.joint("lock", "prismatic", "b", "c", mode="locked", value=0.3)
    b.joint("ball", "ball", "c", "d", mode="passive")
    b.joint("rail", "cylindrical", "d", "e")
    b.joint("follow", "revolute", "e", "f", mimic=("lead", 2.0, 0.1))
    b.joint("lead", "prismatic", "world", "g", mode="driven", value="sin(t)")
    return b.done()


def test_every_entry_of_q_has_one_owner(mech):
    assert [(s.owner, s.iq, s.iv, s.nq, s.nv) for s in mech.slots] == [
        ("float", 0, 0, 7, 6), ("hinge", 7, 6, 2, 2), ("ball", 9, 8, 4, 3), ("rail", 13, 11, 2, 2),
        ("lead", 15, 13, 1, 1),
    ]  # fmt: skip
    assert (mech.nq, mech.nv) == (16, 14)
    assert [k for s in mech.slots for p in s.parts for k in range(p.iq, p.q.stop)] == list(range(16))
    assert [k for p in parts(mech) for k in p.velocities] == sorted(part_of(mech)) == list(range(14))


def test_labels_and_units_follow_the_owners(mech):
    assert coordinate_labels(mech)[6:10] == ("float.7", "hinge.1", "hinge.2", "ball.1")
    assert velocity_labels(mech)[5:9] == ("float.6", "hinge.1", "hinge.2", "ball.1")
    assert velocity_owners(mech)[13] == coordinate_labels(mech)[15] == "lead"
    assert coordinate_units(mech) == ("m",) * 3 + ("",) * 4 + ("rad",) * 2 + ("",) * 4 + ("m", "rad", "m")
    assert [u == "m/s" for u in velocity_units(mech)] == sliding(mech).tolist()
    assert np.flatnonzero(sliding(mech)).tolist() == [3, 4, 5, 11, 13]
    assert with_mode(mech, "driven") == [13]
    assert with_mode(mech, "passive") == [8, 9, 10]


def test_neutral_is_zero_with_unit_quaternions(mech):
    q = neutral(mech)
    assert np.flatnonzero(q).tolist() == [3, 9]
    stretched = q.copy()
    stretched[3:7] *= 3.0
    assert checked(mech, stretched) == pytest.approx(q)
    with pytest.raises(ShapeError, match="nq = 16"):
        checked(mech, q[1:])


def test_retraction_moves_batches_and_comes_back(mech):
    rng = np.random.default_rng(0)
    q = np.array([checked(mech, x) for x in rng.normal(size=(5, 16))])
    d = rng.uniform(-1, 1, (5, 14))
    moved = retract(mech, q, d)
    for a, b, c in zip(q, d, moved):
        assert retract(mech, a, b) == pytest.approx(c, abs=1e-15)
        assert increment(mech, a, c) == pytest.approx(b, abs=1e-12)
    assert retract(mech, q, 0 * d) == pytest.approx(q, abs=1e-15)


def rigid(q):
    w, x, y, z = q[3:7]
    out = np.eye(4)
    out[:3, :3] = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    out[:3, 3] = q[:3]
    return out


def test_a_free_joint_moves_by_the_exponential_of_its_twist(mech):
    """0.3, 0.2, 0.1 rad and 1, 0.5, 0.2 m: a screw motion; straight line and turn end 22 mm away in a coordinate."""
    d = np.zeros(14)
    d[:6] = 0.3, 0.2, 0.1, 1.0, 0.5, 0.2
    q = retract(mech, neutral(mech), d)
    x, y, z = d[:3]
    twist = np.array([[0, -z, y, d[3]], [z, 0, -x, d[4]], [-y, x, 0, d[5]], [0, 0, 0, 0]])
    assert rigid(q) == pytest.approx(expm(twist), abs=1e-15)
    assert np.abs(q[:3] - d[3:6]).max() == pytest.approx(0.022, abs=1e-3)


def test_retraction_is_where_a_constant_velocity_leads():
    """The same by an integrator: no forces but the efforts that keep the velocity of a free body constant."""
    b = sb.Mechanism.builder("free", gravity=(0, 0, 0)).body("a", 1.0, inertia=(1.0, 1.0, 1.0))
    mech = b.joint("j", "free", "world", "a").done()
    d = np.array([0.3, 0.2, 0.1, 1.0, 0.5, 0.2])
    w, v = d[:3], d[3:]
    run = sb.simulate(mech, 1.0, qd0=d, inputs={"tau": [0, 0, 0, *np.cross(w, v)]}, rtol=1e-12, formalism="base")
    assert run["qd"][-1] == pytest.approx(d, abs=1e-10)
    assert run["q"][-1] == pytest.approx(retract(mech, neutral(mech), d), abs=1e-9)


def test_increments_are_carried_along_a_motion_by_the_bracket(mech):
    """d(dtheta)/dt = d(qd) + T dtheta, by differences of two neighbouring motions of constant velocities."""
    rng = np.random.default_rng(3)
    q, qd = checked(mech, rng.normal(size=16)), rng.uniform(-1, 1, 14)
    change, h = 1e-5 * rng.uniform(-1, 1, 14), 1e-4
    near = retract(mech, q, change)
    rate = (increment(mech, retract(mech, q, h * qd), retract(mech, near, h * qd)) - change) / h
    assert rate == pytest.approx(transport(mech, qd) @ change, abs=1e-8)


def test_a_number_for_each_velocity_says_where_a_joint_stands(mech):
    q = neutral(mech)
    q[3:7] = np.cos(0.2), 0, np.sin(0.2), 0
    q[:3] = 1, 2, 3
    q[13] = 0.7
    found = coordinates_by_velocity(mech, q)
    assert found[:6] == pytest.approx([0, 0.4, 0, 1, 2, 3])
    assert found[11] == 0.7
