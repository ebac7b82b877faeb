"""Mechanisms whose joints are all fixed or locked: every verb gives what there is, or a sentence."""

from __future__ import annotations

import numpy as np
import pytest

import symbody as sb
from symbody.basics.errors import ModelError
from symbody.model.record.mechanism import Mechanism
from symbody.studies.identification import inverse_model


def still(kind: str) -> Mechanism:
    b = sb.Mechanism.builder(kind)
    b.body("a", mass=2, com=[0.1, 0, 0], inertia=[0.1, 0.1, 0.1], frames={"eye": [0, 0, 1]})
    how = {"mode": "locked", "value": 0.5} if kind == "locked" else {}
    b.joint("j", "revolute" if how else "fixed", "world", "a", axis="z", **how)
    if kind == "closed":
        b.body("g", frames={"hook": [0, 0, 1]}).joint("g", "fixed", "world", "g").cut("c", "ball", "a.eye", "g.hook")
    return b.done()


@pytest.mark.parametrize("kind", ["fixed", "locked", "closed"])
def test_what_does_not_move(kind: str) -> None:
    mech = still(kind)
    assert mech.nv == 0
    assert sb.verify(mech, states=2).passed
    assert sb.base_parameters(mech).count == 0
    with pytest.raises(ModelError, match="no joint that moves"):
        sb.simulate(mech, 0.1, 0.05)
    place = sb.kinematics(mech, "a.eye", quantities=["p"], loops=False).compile("python")()
    np.testing.assert_allclose(np.ravel(place), [0, 0, 1], atol=1e-15)
    for verb in (sb.center_of_mass, inverse_model):
        with pytest.raises(ModelError, match=r"nothing (that moves|of \w+ moves)"):
            verb(mech)
