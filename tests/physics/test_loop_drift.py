"""Long motions of closed loops: they stay closed, keep their energy, and need few iterations."""

import numpy as np
import pytest

import symbody as sb
from symbody.mechanics.assembly.numeric import Numeric
from symbody.mechanics.formalisms.tree import build_tree
from symbody.mechanics.loops.rows.constraint_rows import constraints

SECONDS = 100.0


def floating(name: str) -> sb.Mechanism:
    """A bundled model without weight: where nothing drives it, it moves on for ever."""
    mech = sb.load(name)
    return mech.replace(gravity=mech.gravity * 0)


def gaps(mech: sb.Mechanism, traj: sb.Trajectory) -> tuple[float, float]:
    """Largest residuals of the loops (m, rad) and of their rates."""
    numeric = Numeric(constraints(build_tree(mech)))
    rates = np.einsum("kij,kj->ki", numeric.J(traj.q), traj.qd)
    return float(np.abs(numeric.h(traj.q)).max()), float(np.abs(rates).max())


SLOW = pytest.mark.slow
LONG = [
    ("four_bar", False, {"crank": 20.0}),
    ("slider_crank", False, {"crank": 20.0}),
    pytest.param("three_rrr_4", True, {"platform.3": 0.3, "platform.1": 0.05}, marks=SLOW),
    pytest.param("stewart", True, {"platform.3": 0.02, "platform.4": 0.1}, marks=SLOW),
    pytest.param("delta", True, {"platform.3": 0.05}, marks=SLOW),
    pytest.param("three_loops", False, None, marks=SLOW),
]


@pytest.mark.parametrize(("name", "weightless", "rates"), LONG)
def test_loops_stay_closed_and_energy_stays_for_a_hundred_seconds(name, weightless, rates):
    mech = floating(name) if weightless else sb.load(name)
    traj = sb.simulate(mech, SECONDS, qd0=rates, rtol=1e-12, samples=1001, outputs=["energy"])
    assert traj.outcome.ok
    assert traj.t[-1] == SECONDS
    position, velocity = gaps(mech, traj)
    assert position < 1e-9
    assert velocity < 1e-9
    energy = traj["energy"]
    assert np.ptp(energy) < 1e-7 * np.abs(energy).max()


def test_loops_stay_closed_with_steps_of_fixed_length():
    """The gap does not depend on the error of the integrator, which loses energy here."""
    mech = sb.load("four_bar")
    traj = sb.simulate(mech, SECONDS, 1e-3, qd0={"crank": 20.0}, samples=2001, outputs=["energy"])
    position, velocity = gaps(mech, traj)
    assert position < 1e-9
    assert velocity < 1e-9
    assert np.ptp(traj["energy"]) < 1e-4 * np.abs(traj["energy"]).max()


STEADY = [("four_bar", {"crank": 10.0}), ("slider_crank", {"crank": 10.0}), ("bricard", None)]


@pytest.mark.parametrize(("name", "rates"), [*STEADY, pytest.param("stewart", {"platform.3": 0.1}, marks=SLOW)])
def test_two_iterations_close_the_loops_in_steady_motion(name, rates):
    """Steps of 1 ms done by hand. An evaluation that finds its step small enough is no iteration."""
    step = 1e-3
    mech = sb.load(name)
    traj = sb.simulate(mech, 0.06, step, qd0=rates)
    flow = traj.run.last.plan.flow
    kernels = {"rates": flow.rates.compile(), "project": flow.project.compile()}
    counts: dict[str, list[int]] = {kind: [] for kind in kernels}

    def called(kind: str, x: np.ndarray) -> np.ndarray:
        given = {"q": x[: mech.nq], "qd": x[mech.nq :], "t": 0.0}
        found, status = kernels[kind].call_with_status(*(given[p.name] for p in kernels[kind].inputs))
        assert (np.asarray(status) > 0).all()
        counts[kind].append(int(np.max(status)) - 1)
        return np.concatenate(list(found))

    x = np.concatenate([traj.q[10], traj.qd[10]])
    for _ in range(40):
        k1 = called("rates", x)
        k2 = called("rates", x + step / 2 * k1)
        k3 = called("rates", x + step / 2 * k2)
        k4 = called("rates", x + step * k3)
        x = called("project", x + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4))
    np.testing.assert_allclose(x, np.concatenate([traj.q[50], traj.qd[50]]), atol=1e-12)
    assert max(counts["rates"]) <= 2
    assert max(counts["project"]) <= 1
