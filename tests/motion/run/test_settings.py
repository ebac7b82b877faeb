"""Settings that belong together are records; names of before mean their fields; no other name is taken."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import symbody as sb
from symbody.basics.errors import DefinitionError, NameLookupError
from symbody.motion.run.settings import OPTIONS

PAIRS = {
    "tolerance": (dict(tolerance=1e-5), dict(rtol=1e-5)),
    "both tolerances": (dict(tolerance=sb.Tolerance(1e-5, absolute=1e-7)), dict(rtol=1e-5, atol=1e-7)),
    "samples": (dict(sampling=7), dict(samples=7)),
    "instants": (dict(sampling=[0.0, 0.1, 0.25]), dict(samples=[0.0, 0.1, 0.25])),
    "joints": (dict(closing=["joint1"]), dict(partition=["joint1"])),
    "reduced": (dict(closing=sb.Reduced(["joint1"])), dict(formulation="reduced", partition=["joint1"])),
    "multipliers": (
        dict(closing=sb.Augmented(alpha=5.0, beta=5.0)),
        dict(formulation="augmented", alpha=5.0, beta=5.0),
    ),
}


def test_simulate_takes_at_most_fifteen_named_parameters():
    kinds = inspect.signature(sb.simulate).parameters.values()
    assert len([p for p in kinds if p.kind is not inspect.Parameter.VAR_KEYWORD]) <= 15


@pytest.mark.parametrize("case", PAIRS)
def test_names_of_before_are_fields_of_the_records(case):
    mech = sb.load("four_bar")
    first = mech.joints[0].name
    new, old = ({n: [first] if v == ["joint1"] else v for n, v in part.items()} for part in PAIRS[case])
    if case == "reduced":
        new["closing"] = sb.Reduced([first])
    runs = [sb.simulate(mech, 0.25, q0={first: 0.3}, **part) for part in (new, old)]
    assert (runs[0].t == runs[1].t).all()
    np.testing.assert_array_equal(runs[0].q, runs[1].q)


@pytest.mark.parametrize(
    ("wrong", "meant"), [("tolerence", "tolerance"), ("max_step", "max_steps"), ("theads", "threads"), ("qo", "q0")]
)
def test_unknown_names_are_refused_with_the_nearest(wrong, meant):
    with pytest.raises(NameLookupError, match=f"takes no '{wrong}'.*'{meant}'"):
        sb.simulate(sb.load("pendulum2"), 1.0, **{wrong: 1})


def test_a_record_and_its_field_by_name_say_the_same():
    for name, (default, record) in OPTIONS.items():
        if record:
            with pytest.raises(DefinitionError, match=f"{record}= and {name}= say the same"):
                sb.simulate(
                    sb.load("four_bar"), 1.0, **{record: sb.Augmented() if record == "closing" else 5, name: default}
                )


@pytest.mark.parametrize(("step", "t0"), [(1e-17, 0.0), (1e-320, 0.0), (1e-9, 1e8)])
def test_a_step_that_leaves_the_time_as_it_is_is_refused(step, t0):
    """Doubles near t lie eps |t| apart."""
    with pytest.raises(DefinitionError, match="is too short: doubles near"):
        sb.simulate(sb.load("pendulum2"), 0.5, step, t0=t0, sampling=5)


@pytest.mark.parametrize("step", [10**400, -(10**400)])
def test_whole_numbers_beyond_doubles_are_no_steps(step):
    with pytest.raises(DefinitionError, match="step"):
        sb.simulate(sb.load("pendulum2"), 0.5, step)
