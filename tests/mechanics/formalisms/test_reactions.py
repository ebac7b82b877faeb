"""Wrenches in joints: as Pinocchio finds them, and their axial part is the effort."""

import numpy as np
import pytest

import symbody as sb
from helpers.pinocchio_oracle import Peer, pin
from symbody.basics.errors import ModelError
from symbody.mechanics.formalisms.joint_reactions import reaction
from symbody.mechanics.formalisms.tree import build_tree
from symbody.mechanics.verbs.closed_dynamics import closure
from symbody.symbolic.system.names import identifier


def stripped(name):
    """A bundled robot without friction, springs and rotors: the effort is then the wrench along the axis."""
    from dataclasses import replace

    mech = sb.load(name)
    joints = tuple(
        replace(j, viscous=None, coulomb=None, stiffness=None, rotor=None, elastic=None) for j in mech.joints
    )
    return mech.replace(joints=joints, forces=())


@pytest.mark.parametrize("name", ["puma560", "panda", "stanford_arm", "acma_h80"])
def test_joint_wrenches_are_those_of_pinocchio(name):
    mech = stripped(name)
    peer = Peer(mech)
    rng = np.random.default_rng(1)
    q, qd, qdd = rng.uniform(-1, 1, (3, mech.nv))
    found = sb.reactions(mech).compile("python")(q, qd, qdd)
    tau = sb.inverse_dynamics(mech, formalism="base").compile("python")(q, qd, qdd)
    pin.rnea(peer.model, peer.data, peer.q(q), peer.v(qd), peer.v(qdd))
    moving = [j for j in mech.joints if j.kind != "fixed"]
    for k, joint in enumerate(moving):
        index = next(i for i, n in enumerate(peer.model.names) if n == f"{joint.name}.0")
        force = peer.data.f[index]
        ours = found[f"reaction_{identifier(joint.name)}"] if len(moving) > 1 else found
        scale = np.max(np.abs(ours)) + 1
        np.testing.assert_allclose(ours, np.r_[force.angular, force.linear], atol=1e-10 * scale)
        axis = peer.array(joint.axis)
        along = ours[:3] if joint.kind == "revolute" else ours[3:]
        assert along @ axis == pytest.approx(tau[k], abs=1e-10 * scale)


def held(mech, name, value=0.0):
    """The same with a joint locked at a value."""
    from dataclasses import replace

    joints = tuple(
        replace(j, mode="locked", value=mech.graph.number(value)) if j.name == name else j for j in mech.joints
    )
    return mech.replace(joints=joints)


def loosened(mech, name):
    """The same with a fixed joint as a hinge about the axis of the first joint."""
    from dataclasses import replace

    joints = tuple(replace(j, kind="revolute", axis=mech.joints[0].axis) if j.name == name else j for j in mech.joints)
    return mech.replace(joints=joints)


def pinocchio_wrench(mech, joint, q, qd, qdd):
    peer = Peer(mech)
    pin.rnea(peer.model, peer.data, peer.q(q), peer.v(qd), peer.v(qdd))
    force = peer.data.f[peer.model.getJointId(f"{joint}.0")]
    return np.r_[force.angular, force.linear]


@pytest.mark.parametrize("parameters", ["setup", "runtime"])
def test_a_flange_transmits_what_a_hinge_in_its_place_holds(parameters):
    """Panda's hand is fixed to its last link: Pinocchio has a hinge there that does not turn."""
    mech = stripped("panda")
    rng = np.random.default_rng(2)
    q, qd, qdd = rng.uniform(-1, 1, (3, mech.nv))
    kernel = sb.reactions(mech, ["hand", "joint7"], parameters=parameters).compile("python")
    more = {n.name: mech.parameters[n.name].data.default for n in kernel.inputs if n.name in mech.parameters}
    found = kernel(q, qd, qdd, **more)
    still = [np.r_[x, 0.0] for x in (q, qd, qdd)]
    np.testing.assert_allclose(
        found.reaction_hand, pinocchio_wrench(loosened(mech, "hand"), "hand", *still), atol=1e-11
    )
    # the joint before carries the same as ever
    np.testing.assert_allclose(found.reaction_joint7, pinocchio_wrench(mech, "joint7", q, qd, qdd), atol=1e-11)


@pytest.mark.parametrize(("joint", "value"), [("joint1", 0.7), ("joint3", -0.4), ("joint6", 0.0)])
def test_a_locked_joint_transmits_what_it_would_if_it_were_held(joint, value):
    mech = stripped("puma560")
    rng = np.random.default_rng(3)
    q, qd, qdd = rng.uniform(-1, 1, (3, mech.nv))
    k = [j.name for j in mech.joints].index(joint)
    q[k], qd[k], qdd[k] = value, 0.0, 0.0
    rest = [np.delete(x, k) for x in (q, qd, qdd)]
    found = sb.reactions(held(mech, joint, value), [joint]).compile("python")(*rest)
    np.testing.assert_allclose(found, pinocchio_wrench(mech, joint, q, qd, qdd), atol=1e-11)


def test_a_cantilever_bears_weight_wrench_and_spring_at_its_wall():
    """Statics: the wall holds the weight at half the length, a wrench from outside and the pull of a spring."""
    b = sb.Mechanism.builder("cantilever")
    b.body("wall").body("beam", mass=3, com=(0.5, 0, 0), inertia=(0, 0.25, 0.25), frames={"tip": [1, 0, 0]})
    b.body("bob", mass=1).joint("floor", "fixed", "world", "wall")
    b.joint("weld", "fixed", "wall", "beam").joint("slide", "prismatic", "world", "bob", (1, 0, -1), axis="z")
    b.force("rope", "spring_damper", ["beam.tip", "bob"], stiffness=50, length=0.4)
    mech = b.done()
    kernel = sb.reactions(mech, ["weld", "floor"], wrenches=["beam"]).compile("python")
    outside = np.array([0.3, -0.2, 0.1, 4.0, 5.0, -6.0])
    found = kernel(np.array([0.1]), np.zeros(1), np.zeros(1), w_beam=outside)
    pull = 50 * (0.9 - 0.4)  # the bob hangs 0.9 m below the tip
    force = np.array([0, 0, 3 * 9.81 + pull]) - outside[3:]
    moment = -outside[:3] - np.cross([0.5, 0, 0], [0, 0, -3 * 9.81]) - np.cross([1, 0, 0], [0, 0, -pull])
    np.testing.assert_allclose(found.reaction_weld, np.r_[moment, force], atol=1e-12)
    np.testing.assert_allclose(found.reaction_floor, found.reaction_weld, atol=1e-12)


def test_a_load_on_the_coupler_of_a_closed_loop_pulls_as_its_motion_demands():
    """Newton and Euler of the load alone: m (a - g), and I alpha (planar) with the arm of its centre."""
    b = sb.Mechanism.builder("loaded_four_bar", gravity=(0, -9.81, 0))
    b.body("crank", mass=0.5, com=(0, 0.05, 0), inertia=(0, 0, 0.001))
    b.body("coupler", mass=1, com=(0.2, 0.1, 0), inertia=(0, 0, 0.02), frames={"end": [0.4, 0.2, 0]})
    b.body("rocker", mass=0.8, com=(0, 0.15, 0), inertia=(0, 0, 0.006), frames={"end": [0, 0.3, 0]})
    b.body("load", mass=2, com=(0.05, 0, 0), inertia=(0, 0, 0.03), frames={"centre": [0.05, 0, 0]})
    b.joint("crank", "revolute", "world", "crank")
    b.joint("coupler", "revolute", "crank", "coupler", (0, 0.1, 0), mode="passive")
    b.joint("rocker", "revolute", "world", "rocker", (0.4, 0, 0), mode="passive")
    b.joint("clamp", "fixed", "coupler", "load", (0.1, 0.3, 0), ("z", 0.5))
    b.cut("loop", "rows", "rocker.end", "coupler.end", rows=["x", "y"])
    mech = b.done()
    q, qd = closure(mech, ["crank"]).compile("python")(np.array([0.4, -0.3, 0.1]), np.array([2.0, 0, 0]))
    tau = np.array([1.5, 0, 0])
    found = sb.reactions(mech, ["clamp"]).compile("python")(q, qd, tau)
    held_by_clamp = found.reaction_clamp
    qdd = sb.forward_dynamics(mech, formulation="augmented").compile("python")(q, qd, tau)
    move = sb.kinematics(mech, ["load.centre"], loops=False).compile("python")(q, qd, qdd)
    force = move.R_load_centre.T @ (2 * (move.a_load_centre - np.array([0, -9.81, 0])))
    moment = np.cross([0.05, 0, 0], force) + np.array([0, 0, 0.03 * move.alpha_load_centre[2]])
    np.testing.assert_allclose(held_by_clamp, np.r_[moment, force], atol=1e-9)


def test_a_merged_joint_has_no_wrench_of_its_own():
    model = (
        sb.Mechanism.builder("two").body("a", mass=1, com=(1, 0, 0)).body("b", mass=1)
        .joint("turn", "revolute", "world", "a").joint("weld", "fixed", "a", "b").done()
    )  # fmt: skip
    with pytest.raises(ModelError, match=r"'weld'.*fixed.*kept="):
        reaction(build_tree(model), ["weld"])
    assert [link.joint for link in build_tree(model, kept=["weld"]).links] == ["turn", "weld"]
