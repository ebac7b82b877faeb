"""The certificate of parameters: columns of the regressor, and programs with parameters as inputs."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.pinocchio_oracle import Peer, pin
from mechanics.formalisms.patterns import random_state, random_tree
from mechanics.formalisms.test_dynamics import moving_tree
from symbody.mechanics.formalisms import regressor as formulas
from symbody.mechanics.verbs import problem
from symbody.mechanics.verbs.certify.parameter_checks import parameter_checks
from symbody.mechanics.verbs.certify.states import States
from symbody.mechanics.verbs.identifiable_parameters import parameter_values
from symbody.model.record.joints import KINDS
from symbody.reference.bodies import NumericModel
from symbody.reference.body_dynamics import BodyMotion
from symbody.reference.linear_parameters import effort_columns, linear_parameters, parameter_count


def defaults(mech):
    return {name: s.data.default for name, s in mech.parameters.items()}


def checks_of(mech):
    point = States(mech, 4)
    return {c.text: c for c in parameter_checks(mech, point, point.motion(), [], True)}


@pytest.mark.parametrize("seed", range(4))
def test_columns_of_the_reference_are_those_of_pinocchio(seed):
    kinds = [k for k in KINDS if k != "fixed"]
    mech = random_tree(seed + 200, 1 + seed, kinds, couplings=False, rotors=False, plain=True)
    q, qd, qdd = random_state(mech, seed)
    peer, model = Peer(mech), NumericModel(mech, defaults(mech))
    theirs = pin.computeJointTorqueRegressor(peer.model, peer.data, peer.q(q), peer.v(qd), peer.v(qdd))
    theirs = peer.back(np.asarray(theirs).T).T
    ours = effort_columns(BodyMotion(model, q, qd, qdd), range(parameter_count(model)))[0][0]
    for k, body in enumerate(mech.bodies):
        joint = next(j for j in mech.joints if j.child == body.name)
        index = peer.model.getJointId(f"{joint.name}.{len(KINDS[joint.kind].motions(joint)) - 1}")
        wanted = theirs[:, 10 * (index - 1) : 10 * index]
        assert ours[:, 10 * k : 10 * k + 10] == pytest.approx(wanted, abs=1e-11 * np.abs(theirs).max())


@pytest.mark.parametrize("seed", range(4))
def test_columns_times_parameters_are_the_efforts(seed):
    """Rotors of both sorts, springs, friction, elasticity, mimic joints and fixed bodies among them."""
    mech, (q, qd, qdd) = moving_tree(seed, 3 + seed)
    model = NumericModel(mech, defaults(mech))
    motion = BodyMotion(model, q, qd, qdd)
    y, rest = effort_columns(motion, range(parameter_count(model)))
    assert (y @ linear_parameters(model) + rest)[0] == pytest.approx(motion.efforts()[0], rel=1e-10, abs=1e-10)
    assert linear_parameters(model) == pytest.approx(parameter_values(mech), rel=1e-12, abs=1e-12)


def test_an_unchanged_tree_is_certified():
    checks = checks_of(moving_tree(5, 5)[0])
    assert len(checks) == 4
    assert all(c.passed for c in checks.values())


def test_a_column_that_no_parameter_of_the_model_shows_is_judged(monkeypatch):
    """A product of inertia that is zero hides its column in Y pi: columns are compared one by one."""
    right = formulas.wrench_columns

    def wrong(motion):
        forces, moments = right(motion)
        moments[5] = tuple(2 * x for x in moments[5])
        return forces, moments

    monkeypatch.setattr(formulas, "wrench_columns", wrong)
    assert not checks_of(moving_tree(5, 5)[0])["columns of the regressor equal the reference"].passed


def test_programs_with_parameters_as_inputs_are_judged(monkeypatch):
    right = problem.equations

    def doubled(tree, quantity, choice):
        return {name: 2 * x for name, x in right(tree, quantity, choice).items()}

    monkeypatch.setattr(problem, "equations", doubled)
    found = checks_of(moving_tree(5, 5)[0])
    assert not found["inverse dynamics with parameters as inputs equals the reference"].passed
    assert not found["forward dynamics with parameters as inputs inverts the reference"].passed
