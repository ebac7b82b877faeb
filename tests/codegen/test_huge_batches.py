"""Batches that no memory holds get a sentence, at once, from every target and from runs."""

from __future__ import annotations

import numpy as np
import pytest

import symbody as sb
from symbody.basics.errors import DefinitionError, ShapeError

MECH = sb.load("pendulum2")
HUGE = 10**12  # as a view of one number


@pytest.mark.parametrize("target", ["native", "python", "c"])
def test_a_kernel_says_that_a_batch_is_too_large(target):
    state = np.broadcast_to(np.array([0.1, 0.2]), (HUGE, 2))
    with pytest.raises(ShapeError, match=f"{HUGE} states.*parts of them"):
        sb.inverse_dynamics(MECH).compile(target)(state, state, state)


@pytest.mark.parametrize(
    "options", [{"q0": np.broadcast_to(0.1, (HUGE, 2))}, {"parameters": {"m1": np.broadcast_to(1.0, HUGE)}}]
)
def test_a_run_says_that_a_batch_is_too_large(options):
    with pytest.raises(ShapeError, match="does not fit into memory; run it in parts"):
        sb.simulate(MECH, 1.0, 0.01, **options)


def test_a_run_says_that_instants_are_too_many():
    with pytest.raises(DefinitionError, match="expected at most 2e"):
        sb.simulate(MECH, 1.0, 0.01, sampling=np.broadcast_to(0.5, HUGE))
