"""Kinematics of frames against Pinocchio, and against derivatives of positions, rotations and Jacobians in time."""

from __future__ import annotations

import math

import numpy as np
import pytest

import symbody as sb
from helpers.pinocchio_oracle import Peer, pin
from mechanics.formalisms.patterns import random_state, random_tree
from mechanics.formalisms.reference import World
from symbody.basics.errors import ModelError, NameLookupError
from symbody.mechanics.formalisms.frame_kinematics import frame_motions, kinematic_map, normalised
from symbody.mechanics.formalisms.frames import common_ancestor, frame
from symbody.mechanics.formalisms.jacobians import frame_jacobians
from symbody.mechanics.formalisms.tree import build_tree
from symbody.mechanics.verbs.kinematics import kinematics
from symbody.model.build.builder import Builder
from symbody.model.record.joints import KINDS

QUANTITIES = ("R", "p", "omega", "v", "alpha", "a", "J", "Jd")


def tooled_tree():
    """A tree with named frames, a sensor, and branches that share a trunk."""
    b = Builder("tooled")
    tilt = [("x", 0.4), ("y", -0.8)]
    b.body("trunk", 2, (0.1, 0, 0.2), (1, 2, 2.5))
    b.body("left", 1, (0, 0.1, 0), (1, 1, 1.5), frames={"tip": {"position": (0.2, -0.1, 0.5), "rotation": tilt}})
    b.body("right", 1, (0, 0.1, 0), (1, 1, 1.5), frames={"tip": (0.1, 0, 0), "tool": (0, 0, 0.3)})
    b.body("hand", 1, (0, 0.1, 0), (1, 1, 1.5))
    b.joint("base", "free", "world", "trunk")
    b.joint("shoulder", "universal", "trunk", "left", (0.3, 0, 1), ("z", 0.3))
    b.joint("slide", "cylindrical", "trunk", "right", (-0.3, 0.1, 1), axis=(1, 2, -2))
    b.joint("wrist", "ball", "right", "hand", (0, 0, 0.4), ("y", 1.1))
    b.sensor("camera", "left", "tip")
    return b.done()


def advance(peer: Peer, q, qd, t):
    """Coordinates after moving with constant qd for the time t, by Pinocchio, in symbody's order."""
    out = np.empty(len(q))
    out[peer.q_order] = pin.integrate(peer.model, peer.q(q), peer.v(qd) * t)
    return out


@pytest.mark.parametrize("seed", range(8))
def test_every_body_moves_as_in_pinocchio(seed):
    mech = random_tree(seed, 7, couplings=False, plain=True)
    peer, state = Peer(mech), random_state(mech, seed)
    found = kinematics(mech, preset="none").compile("python")(*state)
    for body in mech.bodies:
        expected = peer.motion(body.name, *state)
        for k in QUANTITIES:
            np.testing.assert_allclose(getattr(found, f"{k}_{body.name}"), expected[k], atol=1e-11, err_msg=k)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_joint_moves_as_in_pinocchio(kind):
    b = Builder("one", gravity=(1, 2, 3))
    b.body("arm", 1, (0.1, 0.2, 0.3), (1, 2, 2.5))
    b.body("hand", 1, (0.1, 0.2, 0.3), (1, 2, 2.5))
    pitch = {"pitch": 0.3} if KINDS[kind].text.find("screw") >= 0 or kind == "helical" else {}
    b.joint("first", "revolute", "world", "arm", (0, 0.5, 0), ("x", 0.7), "y")
    b.joint("second", kind, "arm", "hand", (0.4, 0, 0.2), ("y", -0.4), (2, -1, 2), **pitch)
    mech = b.done()
    peer, state = Peer(mech), random_state(mech, 3)
    found = kinematics(mech, "hand").compile("python")(*state)
    expected = peer.motion("hand", *state)
    for k in QUANTITIES:
        np.testing.assert_allclose(getattr(found, f"{k}_hand"), expected[k], atol=1e-12, err_msg=k)


def test_named_frames_and_sensors_move_as_in_pinocchio():
    mech = tooled_tree()
    peer, state = Peer(mech), random_state(mech, 1)
    names = ["left.tip", "right.tip", "tool", "camera", "hand"]
    found = kinematics(mech, names).compile("python")(*state)
    for name, peer_name in zip(names, ["left.tip", "right.tip", "right.tool", "left.tip", "hand"]):
        expected = peer.motion(peer_name, *state)
        for k in QUANTITIES:
            np.testing.assert_allclose(getattr(found, f"{k}_{name.replace('.', '_')}"), expected[k], atol=1e-12)


def test_omega_is_the_derivative_of_the_rotation_and_v_that_of_the_position():
    mech = tooled_tree()
    q, qd, qdd = random_state(mech, 2)
    world, h = World(mech), 1e-30
    kernel = kinematics(mech, "hand").compile("python")
    now = kernel(q, qd, qdd)
    pose = kinematics(mech, "hand", order=0)
    symbols = [s.name for s in pose.inputs["q"]]
    later = dict(zip(symbols, world.advance(q, qd, 1j * h)))
    rd, v = (
        np.array(sb.evaluate(list(pose.outputs[n].flat), later)).imag.reshape(pose.outputs[n].shape) / h
        for n in ("R_hand", "p_hand")
    )
    spin = rd @ now.R_hand.T
    np.testing.assert_allclose([spin[2, 1], spin[0, 2], spin[1, 0]], now.omega_hand, atol=1e-13)
    np.testing.assert_allclose(v, now.v_hand, atol=1e-13)


def test_jd_is_the_time_derivative_of_j():
    mech = tooled_tree()
    peer, (q, qd, qdd) = Peer(mech), random_state(mech, 4)
    kernel = kinematics(mech, "hand", quantities=["J", "Jd"]).compile("python")
    h = 1e-3
    value = {k: kernel(advance(peer, q, qd, k * h), qd, qdd).J_hand for k in (-2, -1, 1, 2)}
    derivative = (value[-2] - 8 * value[-1] + 8 * value[1] - value[2]) / (12 * h)
    np.testing.assert_allclose(kernel(q, qd, qdd).Jd_hand, derivative, atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_schemes_agree_also_for_joints_that_follow_others(seed):
    """Mimic joints, locked ones, rotors: progressive against regressive, and J against velocities."""
    mech = random_tree(seed + 50, 8)
    state = random_state(mech, seed)
    tree = build_tree(mech)
    frames = [frame(tree, b.name) for b in mech.bodies]
    found = {s: frame_motions(tree, frames, order=2, scheme=s) for s in ("progressive", "regressive")}
    jacobians = {s: frame_jacobians(tree, frames, scheme=s) for s in ("progressive", "hybrid")}
    values = dict(zip((s.name for a in (tree.q, tree.qd, tree.qdd) for s in a), np.concatenate(state)))

    def numbers(nodes):
        return np.array([float(sb.evaluate(x, values)) if isinstance(x, sb.Node) else float(x) for x in nodes])

    for k in range(len(frames)):
        one, other = (found[s][k] for s in ("progressive", "regressive"))
        for field in ("position", "omega", "velocity", "alpha", "acceleration"):
            a, b = numbers(getattr(one, field)), numbers(getattr(other, field))
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-11)
        (j, jd), (j2, jd2) = (jacobians[s][k] for s in ("progressive", "hybrid"))
        j, jd = numbers(j.flat).reshape(6, -1), numbers(jd.flat).reshape(6, -1)
        np.testing.assert_allclose(j, numbers(j2.flat).reshape(6, -1), atol=1e-12)
        np.testing.assert_allclose(jd, numbers(jd2.flat).reshape(6, -1), rtol=1e-12, atol=1e-11)
        velocity = numbers([*one.omega, *one.velocity])
        np.testing.assert_allclose(j @ state[1], velocity, rtol=1e-12, atol=1e-11)
        acceleration = numbers([*one.alpha, *one.acceleration])
        np.testing.assert_allclose(j @ state[2] + jd @ state[1], acceleration, rtol=1e-12, atol=1e-10)


@pytest.mark.parametrize("scheme", ["progressive", "regressive"])
@pytest.mark.parametrize(
    ("name", "reference"), [("left.tip", "hand"), ("hand", "trunk"), ("trunk", "hand"), ("left.tip", "right.tool")]
)
def test_relative_motion_is_what_the_reference_sees(name, reference, scheme):
    """Positions in the reference's coordinates by Pinocchio, differentiated twice in time."""
    mech = tooled_tree()
    peer, (q, qd, _) = Peer(mech), random_state(mech, 5)
    qdd = np.zeros(mech.nv)  # the path below has constant qd

    def pose(t):
        at = advance(peer, q, qd, t)
        one, other = (peer.motion(n, at, qd, qdd) for n in (name, reference))
        return other["R"].T @ one["R"], other["R"].T @ (one["p"] - other["p"])

    system = kinematics(mech, name, reference=reference, scheme=scheme)
    found = system.compile("python")(q, qd, qdd)
    tag = name.replace(".", "_")
    value = {k: getattr(found, f"{k}_{tag}") for k in QUANTITIES}
    r, p = pose(0.0)
    np.testing.assert_allclose(value["R"], r, atol=1e-13)
    np.testing.assert_allclose(value["p"], p, atol=1e-13)
    h = 2e-3
    at = {k: pose(k * h) for k in (-2, -1, 0, 1, 2)}
    v = (at[-2][1] - 8 * at[-1][1] + 8 * at[1][1] - at[2][1]) / (12 * h)
    a = (-at[-2][1] + 16 * at[-1][1] - 30 * at[0][1] + 16 * at[1][1] - at[2][1]) / (12 * h * h)
    np.testing.assert_allclose(value["v"], v, atol=1e-8)
    np.testing.assert_allclose(value["a"], a, atol=1e-6)
    spin = (at[-2][0] - 8 * at[-1][0] + 8 * at[1][0] - at[2][0]) / (12 * h) @ r.T
    np.testing.assert_allclose(value["omega"], [spin[2, 1], spin[0, 2], spin[1, 0]], atol=1e-8)
    np.testing.assert_allclose(value["J"] @ qd, [*value["omega"], *value["v"]], atol=1e-12)
    np.testing.assert_allclose(value["Jd"] @ qd, [*value["alpha"], *value["a"]], atol=1e-12)


def test_relative_motion_ignores_what_moves_both():
    mech = tooled_tree()
    tree = build_tree(mech)
    assert common_ancestor(tree, [frame(tree, n).link for n in ("left", "hand")]) == frame(tree, "trunk").link
    system = kinematics(mech, "hand", reference="left")
    free = {s.name for s in tree.q[:7]} | {s.name for s in tree.qd[:6]}
    used = {s.name for a in system.outputs.values() for x in a.flat for s in _symbols(x)}
    assert not used & free


def _symbols(node):
    from symbody.symbolic.expr.walk import free_symbols

    return free_symbols([node])


def test_tree_of_medusa_has_its_predecessors_and_paths():
    """Eight bodies, three end effectors (MEDUSA, Table 3.2): i-(1..8) = 0, 1, 1, 2, 3, 4, 4, 5."""
    parents = [0, 1, 1, 2, 3, 4, 4, 5]
    b = Builder("medusa_tree")
    for k, p in enumerate(parents, 1):
        b.body(f"C{k}", 1)
        b.joint(f"J{k}", "revolute", f"C{p}" if p else "world", f"C{k}", (0.1 * k, 0, 0.2), axis="xyz"[k % 3])
    tree = build_tree(b.done())
    assert [link.parent + 1 for link in tree.links] == parents
    assert {k: [c + 1 for c in tree.children(k - 1)] for k in range(9)} == {
        0: [1],
        1: [2, 3],
        2: [4],
        3: [5],
        4: [6, 7],
        5: [8],
        6: [],
        7: [],
        8: [],
    }
    ranks = [len(tree.ancestors(k)) for k in range(8)]
    assert ranks == [1, 2, 2, 3, 3, 4, 4, 4]
    paths = {k: [i + 1 for i in reversed(tree.ancestors(k - 1))] for k in (6, 7, 8)}
    assert paths == {6: [1, 2, 4, 6], 7: [1, 2, 4, 7], 8: [1, 3, 5, 8]}


def test_rates_of_coordinates_follow_from_velocities():
    mech = random_tree(3, 6, kinds=["free", "ball", "revolute", "planar"])
    q, qd, _ = random_state(mech, 7)
    tree = build_tree(mech)
    n = kinematic_map(tree)
    values = dict(zip((s.name for s in tree.q), q))
    n = np.array([float(sb.evaluate(x, values)) if isinstance(x, sb.Node) else float(x) for x in n.flat])
    h = 1e-30
    expected = World(mech).advance(q, qd, 1j * h).imag / h
    np.testing.assert_allclose(n.reshape(mech.nq, mech.nv) @ qd, expected, atol=1e-13)


def test_normalisation_touches_quaternions_only():
    mech = random_tree(3, 6, kinds=["free", "ball", "revolute", "planar"])
    q, _, _ = random_state(mech, 7)
    tree = build_tree(mech)
    stretched = q.copy()
    first = {s: k for k, s in enumerate(tree.q)}
    for link in tree.links:
        if link.motion.quaternion is not None:
            k = first[link.q[-4]]
            stretched[k : k + 4] *= 1.7
    np.testing.assert_allclose(np.asarray(normalised(tree, stretched), float), q, atol=1e-14)


def five_dof_arm(axes):
    """Five revolute joints with links along z."""
    b = Builder("arm5")
    parent = "world"
    for k, axis in enumerate(axes, 1):
        b.parameter(f"d{k}", 0.1 * k)
        b.body(f"b{k}", frames={"tip": (0, 0, "d1")} if k == 5 else None)
        b.joint(f"j{k}", "revolute", parent, f"b{k}", (0, 0, f"d{k}"), axis=axis)
        parent = f"b{k}"
    return b.done()


def operations(arm, quantities, scheme="auto"):
    """Operations and trigonometric functions, as the thesis counts."""
    counts = kinematics(arm, "b5.tip", quantities=quantities, scheme=scheme).count()
    return counts.total + counts.trig


@pytest.mark.parametrize("quantities", [["p"], ["p", "v"]])
def test_regressive_scheme_wins_for_the_position_and_velocity_of_one_frame(quantities):
    arm = five_dof_arm("zxyxz")
    counts = {s: operations(arm, quantities, s) for s in ("progressive", "regressive", "auto")}
    assert counts["auto"] == counts["regressive"] < counts["progressive"]


@pytest.mark.parametrize(
    ("quantities", "published"),
    [
        (["p"], 43),
        (["p", "R"], 73),
        (["p", "v"], 87),
        (["p", "R", "v", "omega"], 122),
        (["p", "R", "v", "omega", "a", "alpha"], 247),
        (["p", "J"], 100),
        (["p", "v", "omega", "J"], 149),
    ],
)
def test_arm_with_parallel_axes_needs_fewer_operations_than_the_published_arm(quantities, published):
    """Robotran, Tables 1.1 and 1.2: the better of its two schemes for an arm whose axes it does not give.

    So this is information on the order of size, on the common arm R3 R1 R1 R1 R3.
    """
    assert operations(five_dof_arm("zxxxz"), quantities) <= published


def test_pose_of_a_body_on_the_world_is_constant():
    b = Builder("post")
    b.body("post")
    b.body("arm", 1)
    b.joint("bolt", "fixed", "world", "post", (1, 2, 3), ("z", math.pi / 2))
    b.joint("pin", "revolute", "post", "arm")
    found = kinematics(b.done(), "post").compile("python")([0.3], [1.0], [2.0])
    np.testing.assert_allclose(found.p_post, [1, 2, 3])
    np.testing.assert_allclose(found.R_post, [[0, -1, 0], [1, 0, 0], [0, 0, 1]])
    np.testing.assert_allclose(found.J_post, 0)


def test_names_are_checked():
    mech = tooled_tree()
    with pytest.raises(NameLookupError, match="hand"):
        kinematics(mech, "hnad")
    with pytest.raises(NameLookupError, match=r"left\.tip"):
        kinematics(mech, "tip")
    with pytest.raises(ModelError, match="order"):
        kinematics(mech, order=3)
    with pytest.raises(ModelError, match="quantity"):
        kinematics(mech, quantities=["w"])
    with pytest.raises(ModelError, match="scheme"):
        kinematics(mech, "hand", scheme="sideways")
