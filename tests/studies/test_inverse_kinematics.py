"""Inverse kinematics against the analytic arm of two rods, and forward kinematics by Pinocchio for robots."""

from __future__ import annotations

import numpy as np
import pytest

import symbody as sb
from symbody.basics.errors import SymbodyError
from symbody.studies.inverse.ik_problem import rotation_vector
from symbody.studies.inverse.inverse_kinematics import inverse_kinematics, inverse_kinematics_along


def planar(n=2, limits=None, length=1.0):
    build = sb.Mechanism.builder("planar")
    parent, at = "world", [0, 0, 0]
    for k in range(n):
        build.body(f"rod{k}", mass=1.0, com=[length / 2, 0, 0], frames={"end": [length, 0, 0]})
        build.joint(f"hinge{k}", "revolute", parent, f"rod{k}", axis="z", position=at, limits=limits)
        parent, at = f"rod{k}", [length, 0, 0]
    return build.done()


@pytest.mark.parametrize("elbow", [1, -1])
def test_two_rods_reach_a_point_by_the_law_of_cosines(elbow):
    x, y = 0.9, 0.7
    found = inverse_kinematics(planar(), {"rod1.end": [x, y, 0]}, q0=[0.3, 0.5 * elbow])
    second = elbow * np.arccos((x * x + y * y - 2) / 2)
    first = np.arctan2(y, x) - np.arctan2(np.sin(second), 1 + np.cos(second))
    assert found.ok
    assert found.q == pytest.approx([first, second], abs=1e-9)


def test_out_of_reach_leaves_the_remaining_distance():
    found = inverse_kinematics(planar(), {"rod1.end": [3.0, 0.0, 0.0]}, q0=[0.3, 0.2])
    assert not found.ok
    assert found.errors["rod1.end"][0] == pytest.approx(1.0, abs=1e-4)
    assert "rod1.end" in found.sentence
    assert "1 m" in found.sentence


def test_joint_limits_hold_and_are_named():
    target = {"rod1.end": [0.9, 0.7, 0]}
    found = inverse_kinematics(planar(limits=(-0.5, 0.5)), target)
    assert not found.ok
    assert np.all(np.abs(found.q) <= 0.5)
    assert found.limited
    assert "limits" in found.sentence
    assert inverse_kinematics(planar(limits=(-0.5, 0.5)), target, limits=False).ok


def test_redundant_arm_stays_nearest_to_its_start():
    from scipy.optimize import minimize

    mech, q0, goal = planar(4), np.array([0.2, 0.4, 0.3, 0.5]), np.array([1.5, 2.2])
    found = inverse_kinematics(mech, {"rod3.end": [*goal, 0]}, q0=q0)
    assert found.ok

    def tip(q):
        a = np.cumsum(q)
        return np.array([np.cos(a).sum(), np.sin(a).sum()])

    oracle = minimize(
        lambda q: (q - q0) @ (q - q0), found.q, constraints=[{"type": "eq", "fun": lambda q: tip(q) - goal}], tol=1e-14
    )
    assert np.linalg.norm(found.q - q0) == pytest.approx(np.linalg.norm(oracle.x - q0), rel=1e-6)


def test_several_targets_and_weights():
    mech = planar(4)
    q = np.array([0.4, 0.5, -0.3, 0.6])
    angles = np.cumsum(q)
    middle = [np.cos(angles[:2]).sum(), np.sin(angles[:2]).sum(), 0]
    end = [np.cos(angles).sum(), np.sin(angles).sum(), 0]
    found = inverse_kinematics(mech, {"rod1.end": middle, "rod3.end": end}, q0=[0.1, 0.1, 0.1, 0.1])
    assert found.ok
    assert set(found.errors) == {"rod1.end", "rod3.end"}
    # two places for one point: the weights decide where it goes
    pull = {"rod1": [1.0, 0.0, 0.0], "rod1.end": [9.0, 0.0, 0.0]}
    far = inverse_kinematics(mech, pull, weights={"rod1": 100.0}, starts=1)
    assert far.errors["rod1"][0] < 1e-3


@pytest.mark.parametrize("name", ["ur5", "panda"])
def test_random_reachable_poses_are_reached(name):
    from helpers.pinocchio_oracle import Peer

    mech = sb.load(name)
    peer = Peer(mech)
    frame = mech.bodies[-1].name
    rng = np.random.default_rng(3)
    joints = [j for j in mech.joints if j.kind != "fixed"]
    lower, upper = (np.array([getattr(j.limits, side) for j in joints]) for side in ("lower", "upper"))
    rest = np.zeros(mech.nv)
    reached, count = 0, 25
    for _ in range(count):
        q = rng.uniform(lower, upper)
        wanted = peer.motion(frame, q, rest, rest)
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = wanted["R"], wanted["p"]
        found = inverse_kinematics(mech, {frame: pose})
        reached += found.ok
        assert ((found.q >= lower - 1e-12) & (found.q <= upper + 1e-12)).all()
        if found.ok:  # by a program that nobody here wrote
            there = peer.motion(frame, found.q, rest, rest)
            assert np.abs(there["p"] - wanted["p"]).max() < 1e-8
            assert np.abs(there["R"] - wanted["R"]).max() < 1e-8
    assert reached > 0.95 * count


def test_orientation_alone_and_quaternions():
    mech = sb.load("ur5")
    turn = np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1.0]])
    found = inverse_kinematics(mech, {"wrist_3": turn})
    assert found.ok
    assert np.isnan(found.errors["wrist_3"][0])
    pose = [0.3, 0.2, 0.4, np.sqrt(0.5), 0, 0, np.sqrt(0.5)]  # the same turn about z as (w, x, y, z)
    both = inverse_kinematics(mech, {"wrist_3": pose})
    kernel = sb.kinematics(mech, ["wrist_3"], order=0).compile()
    made = kernel(both.q)
    assert np.allclose(made.R_wrist_3, turn, atol=1e-8)
    assert np.allclose(made.p_wrist_3, pose[:3], atol=1e-8)


def test_free_body_with_a_quaternion_goes_to_its_pose():
    build = sb.Mechanism.builder("stone")
    build.body("stone", mass=1.0, inertia=[1, 1, 1], frames={"tip": [0.2, 0, 0]})
    build.joint("free", "free", "world", "stone")
    turn = np.array([[0, 0, 1.0], [1, 0, 0], [0, 1, 0]])
    found = inverse_kinematics(build.done(), {"stone.tip": {"p": [1, 2, 3], "R": turn}})
    assert found.ok
    assert found.q[:3] == pytest.approx(np.array([1, 2, 3]) - turn @ [0.2, 0, 0])
    assert np.linalg.norm(found.q[3:]) == pytest.approx(1)


def test_closed_loops_stay_closed():
    mech = sb.load("delta")
    frame = next(b.name for b in mech.bodies if "platform" in b.name)
    from symbody.mechanics.verbs.assemble import assemble

    q = assemble(mech)
    here = np.ravel(sb.kinematics(mech, [frame], quantities=["p"], loops=False).compile()(q))
    found = inverse_kinematics(mech, {frame: np.add(here, [0.03, -0.02, -0.04])}, q0=q)
    assert found.ok
    assert found.gap < 1e-9


def test_path_is_followed_from_instant_to_instant():
    mech = planar(3)
    t = np.linspace(0, 1, 61)
    circle = np.stack([1.2 + 0.4 * np.cos(2 * np.pi * t), 0.4 * np.sin(2 * np.pi * t), 0 * t], axis=1)
    made = inverse_kinematics_along(mech, t, {"rod2.end": circle}, q0=[0.5, 0.5, 0.5])
    assert made["error"].max() < 1e-8
    assert np.abs(np.diff(made["q"], axis=0)).max() < 0.3  # no jumps
    jacobian = sb.kinematics(mech, ["rod2.end"], quantities=["v"]).compile()
    speed = jacobian(made["q"], made["qd"])
    wanted = 0.8 * np.pi * np.stack([-np.sin(2 * np.pi * t), np.cos(2 * np.pi * t), 0 * t], axis=1)
    assert np.abs(speed - wanted)[3:-3].max() < 1e-2


def test_path_out_of_reach_says_when():
    t = np.linspace(0, 1, 8)
    line = np.stack([1.6 + 0.8 * t, 0 * t, 0 * t], axis=1)
    made = inverse_kinematics_along(planar(), t, {"rod1.end": line}, q0=[0.5, -1.0])
    assert not made.outcome.ok
    assert "not reached" in made.notes[-1]
    assert made["error"][0, 0] < 1e-8
    assert made["error"][-1, 0] == pytest.approx(0.4, abs=1e-3)


def test_rotation_vector_inverts_the_exponential_up_to_half_turns():
    from scipy.spatial.transform import Rotation

    rng = np.random.default_rng(0)
    for angle in (0.0, 1e-9, 1e-4, 1.0, 3.0, np.pi - 1e-9):
        axis = rng.normal(size=3)
        vector = angle * axis / np.linalg.norm(axis)
        assert rotation_vector(Rotation.from_rotvec(vector).as_matrix()) == pytest.approx(vector, abs=1e-12)


def test_senseless_targets_are_refused():
    mech = planar()
    for targets in ({}, {"rod1.end": [1, 2]}, {"rod9": [1, 2, 3]}, {"rod1": {"x": 1}}, {"rod1": 2 * np.eye(3)}):
        with pytest.raises(SymbodyError):
            inverse_kinematics(mech, targets)
    with pytest.raises(SymbodyError, match="hinge"):
        inverse_kinematics(mech, {"rod1.end": [1, 1, 0]}, fixed=["hing0"])


def test_a_transposed_pose_is_refused_and_the_pose_itself_is_reached():
    """A pose takes columns (x, y, z, 1); that of the convention of rows would be answered at the wrong place."""
    mech = planar()
    q = np.array([0.4, 0.9])
    pose = np.eye(4)
    pose[:2, :2] = [[np.cos(1.3), -np.sin(1.3)], [np.sin(1.3), np.cos(1.3)]]
    pose[:2, 3] = np.cos(q[0]) + np.cos(1.3), np.sin(q[0]) + np.sin(1.3)
    assert inverse_kinematics(mech, {"rod1.end": pose}, q0=[0.3, 0.5]).q == pytest.approx(q, abs=1e-8)
    with pytest.raises(SymbodyError, match=r"'rod1.end' is a pose \(4, 4\) whose last row .* transposed: give pose.T"):
        inverse_kinematics(mech, {"rod1.end": pose.T}, q0=[0.3, 0.5])
    for last in ([0, 0, 0, 2], [0.1, 0, 0, 1], [0, 0, 0, 0], [np.nan, 0, 0, 1]):
        wrong = pose.copy()
        wrong[3] = last
        with pytest.raises(SymbodyError, match=r"expected \[0, 0, 0, 1\]"):
            inverse_kinematics(mech, {"rod1.end": wrong}, q0=[0.3, 0.5])
    with pytest.raises(SymbodyError, match="last row"):
        inverse_kinematics_along(mech, [0.0, 1.0], {"rod1.end": np.array([pose, pose.T])})


@pytest.mark.parametrize("far", [1e10, 1e150, 1e200, 1.7e308])
def test_targets_of_any_size_are_answered_in_a_sentence(far, capfd):
    found = inverse_kinematics(planar(), {"rod1.end": [far, 0, 0]}, starts=3)
    assert not found.ok
    assert found.errors["rod1.end"][0] == pytest.approx(far, rel=1e-9)
    assert np.isfinite(found.q).all()
    assert capfd.readouterr() == ("", "")  # LAPACK says nothing
