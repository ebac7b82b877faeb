"""simulate(formulation=...): the same motion by independent joints, and by all joints with multipliers."""

import numpy as np
import pytest

import symbody as sb

MODELS = ["four_bar", "slider_crank"]


@pytest.mark.parametrize("name", MODELS)
def test_both_formulations_give_one_motion(name):
    mech = sb.load(name)
    given = dict(qd0={mech.joints[0].name: 0.5}, rtol=1e-10, samples=11, outputs=["energy", "lam"])
    reduced, augmented = (sb.simulate(mech, 0.3, formulation=f, **given) for f in ("reduced", "augmented"))
    for which in ("q", "qd", "lam"):
        np.testing.assert_allclose(augmented[which], reduced[which], atol=1e-7)
    assert np.ptp(augmented["energy"]) < 1e-8


@pytest.mark.parametrize("choice", [{"step": 2e-3}, {"rtol": 1e-6}])
def test_projection_keeps_augmented_loops_closed(choice):
    mech = sb.load("four_bar")
    run = sb.simulate(mech, 20.0, qd0={"crank": 5.0}, formulation="augmented", samples=201, **choice)
    closed = sb.closure(mech).compile()(run.q, run.qd)
    np.testing.assert_allclose(run.q, closed.q, atol=1e-11)
    np.testing.assert_allclose(run.qd, closed.qd, atol=1e-9)


def test_baumgarte_holds_loops_approximately_and_nothing_lets_them_drift():
    mech = sb.load("four_bar")
    close = sb.closure(mech).compile()

    def gap(**options):
        run = sb.simulate(mech, 5.0, step=2e-3, qd0={"crank": 5.0}, formulation="augmented", samples=101, **options)
        return np.abs(run.q - close(run.q, run.qd).q).max()

    soft, stiff = gap(alpha=1.0, beta=1.0), gap(alpha=30.0, beta=30.0)
    assert 1e-12 < stiff < soft < 1e-3


def test_a_reset_of_augmented_loops_is_made_consistent():
    """A blow on the crank turns the whole linkage."""
    mech = sb.load("four_bar")
    blow = sb.When("blow", "t - 0.1", direction=1, reset={"qd.crank": "qd.crank + 2"})
    run = sb.simulate(mech, 0.2, qd0={"crank": 1.0}, formulation="augmented", events=[blow], step=1e-3)
    after = np.flatnonzero(run.t == run.events[0].t)[-1]
    closed = sb.closure(mech).compile()(run.q[after], run.qd[after])
    np.testing.assert_allclose(run.qd[after], closed.qd, atol=1e-12)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"formulation": "augmentd"}, "Did you mean 'augmented'"),
        ({"alpha": 3.0}, "formulation='augmented'"),
        ({"formulation": "augmented", "partition": ["crank"]}, "partition belongs to"),
        ({"formulation": "augmented", "alpha": -1.0}, "expected a rate"),
    ],
)
def test_contradictory_wishes_are_refused(options, words):
    with pytest.raises(sb.SymbodyError, match=words):
        sb.simulate(sb.load("four_bar"), 0.1, **options)


def test_a_tree_has_no_formulation_of_loops():
    with pytest.raises(sb.SymbodyError, match="has none"):
        sb.simulate(sb.load("pendulum2"), 0.1, formulation="augmented")
