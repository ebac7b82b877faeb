"""Robots of example-robot-data: every quantity as Pinocchio computes it from the same file."""

import numpy as np
import pytest

import symbody as sb
from helpers.robots import DESCRIPTIONS, descriptions, pinocchio_state, random_q
from symbody.basics.errors import ModelError
from symbody.model.files import urdf
from symbody.symbolic.system.names import identifier

TOLERANCE = 1e-10


def relative(ours, theirs):
    return float(np.max(np.abs(ours - theirs)) / max(1.0, float(np.max(np.abs(theirs)))))


@pytest.mark.parametrize("name", DESCRIPTIONS, ids=[d.split("/")[0] for d in DESCRIPTIONS])
def test_robot_moves_as_in_pinocchio(name):
    pin = pytest.importorskip("pinocchio")
    path = descriptions() / name
    model = pin.buildModelFromUrdf(str(path))
    model.armature[:] = 0
    # numeric parameters: the point here is the file, not the symbols
    mech = urdf.read(path, symbolic=False, ignore=("mimic", "dynamics"))
    rng = np.random.default_rng(0)
    q = random_q(mech, rng)
    theirs_q, order = pinocchio_state(model, mech, q)
    qd, qdd = rng.uniform(-1, 1, (2, mech.nv))
    v, a = qd[order], qdd[order]
    data = model.createData()

    tau = sb.inverse_dynamics(mech, formalism="newton_euler").compile("python")(q, qd, qdd)
    assert relative(tau[order], pin.rnea(model, data, theirs_q, v, a)) < TOLERANCE

    m, c = sb.semi_explicit(mech, formalism="base").compile("python")(q, qd)
    upper = np.triu(pin.crba(model, data, theirs_q))
    assert relative(m[np.ix_(order, order)], upper + np.triu(upper, 1).T) < TOLERANCE
    assert relative(c[order], pin.nonLinearEffects(model, data, theirs_q, v)) < TOLERANCE

    if np.min(np.diag(m)) == 0:  # a finger without inertia: nothing determines its acceleration, and symbody says so
        with pytest.raises(ModelError, match="not determined"):
            sb.forward_dynamics(mech, formalism="order_n")
    else:
        accelerations = sb.forward_dynamics(mech, formalism="order_n").compile("python")(q, qd, tau)
        # M amplifies rounding in qdd: compare as efforts
        assert relative(m @ accelerations + c, tau) < TOLERANCE
        aba = pin.aba(model, data, theirs_q, v, tau[order])
        assert relative(m[np.ix_(order, order)] @ aba, (m @ accelerations)[order]) < 1e-9

    body = mech.joints[-1].child
    outputs = sb.kinematics(mech, frames=[body], order=1).compile("python")(q, qd)
    frame = model.getFrameId(body)
    tip = identifier(body)
    pin.computeJointJacobians(model, data, theirs_q)
    pin.updateFramePlacements(model, data)
    jacobian = pin.getFrameJacobian(model, data, frame, pin.LOCAL_WORLD_ALIGNED)
    ours = outputs[f"J_{tip}"][:, order]
    assert relative(ours, np.vstack([jacobian[3:], jacobian[:3]])) < TOLERANCE
    assert relative(outputs[f"p_{tip}"], data.oMf[frame].translation) < TOLERANCE

    energies = sb.energy(mech).compile("python")(q, qd, np.zeros(mech.nv))
    assert energies["kinetic"] == pytest.approx(pin.computeKineticEnergy(model, data, theirs_q, v), rel=1e-10)
    # Pinocchio counts the height of all that moves from the world's origin, as we do
    potential = pin.computePotentialEnergy(model, data, theirs_q)
    assert energies["potential"] == pytest.approx(potential, rel=1e-10, abs=1e-10)


def test_the_program_for_the_panda_stays_small():
    """Its shipped choice needs 564 multiplications, additions and divisions; a change that costs more is a loss."""
    assert sb.inverse_dynamics(sb.load("panda")).count().total < 600
