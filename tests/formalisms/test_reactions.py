"""Wrenches in joints: as Pinocchio finds them, and their axial part is the effort."""

import numpy as np
import pytest

import symbody as sb
from pinocchio_oracle import Peer, pin
from symbody.errors import ModelError
from symbody.verbs.assemble import identifier


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


def test_a_fixed_joint_has_no_wrench_of_its_own():
    model = (
        sb.Mechanism.builder("two").body("a", mass=1, com=(1, 0, 0)).body("b", mass=1)
        .joint("turn", "revolute", "world", "a").joint("weld", "fixed", "a", "b").done()
    )  # fmt: skip
    with pytest.raises(ModelError, match=r"'weld'.*fixed"):
        sb.reactions(model, ["weld"])
