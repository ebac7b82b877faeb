"""Derivatives of runs whose steps a tolerance chooses: of the steps that were accepted."""

import numpy as np
import pytest

import symbody as sb
from derivative_oracles import both_modes, close, differences
from simulation_models import ball
from symbody.errors import DefinitionError


@pytest.mark.parametrize("method", ["dopri5", "dopri8"])
def test_accepted_steps_approach_the_derivative_of_the_motion(method):
    mech, names = sb.load("pendulum2"), ["m2", "q.joint1", "tau.joint2"]
    options = dict(q0={"joint1": 1.0}, inputs={"joint1": ([0.0, 0.5], [0.0, 1.0])})
    chosen = sb.differentiable(mech, 0.5, names, of=["q", "qd"], method=method, tolerance=1e-11, **options)
    found = both_modes(chosen)
    fine = sb.differentiable(mech, 0.5, names, of=["q", "qd"], method="dopri8", step=1e-2, **options)
    close(found, both_modes(fine), 1e-7)
    close(found, differences(chosen, chosen.start, 1e-5), 1e-6)
    assert any("tolerance chose" in note for note in chosen.linearise().notes)


def test_what_is_differentiated_with_a_step_only_says_so():
    bounce = sb.When("bounce", "q.z", direction=-1, reset={"qd.z": "-0.8*qd.z"})
    f = sb.differentiable(ball(), 1.0, ["q.z"], of=["q"], q0={"z": 1.0}, events=[bounce])
    with pytest.raises(DefinitionError, match="differentiated with a step only"):
        f(f.start)
    with pytest.raises(DefinitionError, match="radau"):
        sb.differentiable(ball(), 1.0, ["q.z"], of=["q"], method="radau")
    sampled = sb.differentiable(sb.load("pendulum2"), 0.1, ["m2"], of=["q"], at="samples", sampling=5)
    with pytest.raises(DefinitionError, match="between two steps"):
        sampled(np.ones(1))
