"""Large closed mechanisms: the car, a hundred loops' equations on a chain, ROBOTRAN's own car."""

from pathlib import Path

import numpy as np
import pytest

import symbody as sb
from mechanics.loops.closed_models import operations
from mechanics.loops.reference import LoopWorld
from symbody.mechanics.verbs.assemble import assemble
from symbody.model.record.mechanism import Mechanism

MODELS = Path(__file__).parents[3] / ".." / "shared" / "data" / "robotran_models"

pytestmark = pytest.mark.slow


def four_bars_on_chains(chains: int, units: int) -> Mechanism:
    """Chains of bars in a plane, a four-bar loop on each bar: four joints, two constraints, two freedoms each."""
    b = Mechanism.builder("four_bars_on_chains", gravity=(0, -9.81, 0))
    for chain in range(chains):
        parent = "world"
        for k in range(units):
            n = f"_{chain}_{k}"
            b.body(f"bar{n}", mass=1.0, com=(0.2, 0, 0), inertia=(0.01, 0.02, 0.02))
            b.body(f"crank{n}", mass=1.0, com=(0.1, 0.01, 0), inertia=(0.01, 0.01, 0.012))
            b.body(f"rod{n}", mass=2.0, com=(0.3, 0, 0), inertia=(0.01, 0.05, 0.05), frames={"tip": (0.6, 0, 0)})
            b.body(f"rocker{n}", mass=1.5, com=(0.2, 0, 0), inertia=(0.01, 0.03, 0.03), frames={"tip": (0.5, 0, 0)})
            b.joint(f"j{n}", "revolute", parent, f"bar{n}", position=(0.5 if k else chain, 0, 0))
            b.joint(f"a{n}", "revolute", f"bar{n}", f"crank{n}")
            b.joint(f"b{n}", "revolute", f"crank{n}", f"rod{n}", position=(0.2, 0, 0), mode="passive")
            b.joint(f"c{n}", "revolute", f"bar{n}", f"rocker{n}", position=(0.55, 0, 0), mode="passive")
            b.cut(f"loop{n}", "ball", (f"rod{n}", "tip"), (f"rocker{n}", "tip"))
            parent = f"bar{n}"
    return b.done()


def unbalanced(mech: Mechanism, jacobian: np.ndarray, q, qd, qdd, tau) -> float:
    """Efforts that the opened tree needs beyond tau, J^T lam left out, relative to tau and weight."""
    opened = sb.inverse_dynamics(mech, "newton_euler", loops=False).compile("python")
    efforts = opened(q, qd, qdd) - tau
    lam = np.linalg.lstsq(jacobian.T, efforts, rcond=None)[0]
    return float(np.abs(efforts - jacobian.T @ lam).max() / np.abs(efforts).max())


@pytest.mark.parametrize(("chains", "units", "bound"), [(10, 5, 16_000), (1, 50, 135_000)])
def test_a_hundred_constraints_and_a_hundred_freedoms(chains, units, bound):
    mech = four_bars_on_chains(chains, units)
    system = sb.forward_dynamics(mech, "base")
    assert operations(system) <= bound
    assert mech.nv == 200
    q = sb.closure(mech).compile("python")(np.tile([0.1, 0.7, 0.1, 1.4], 50), np.zeros(200)).q
    rng = np.random.default_rng(0)
    world = LoopWorld(mech)
    assert np.abs(world.residual(q)).max() < 1e-10
    jacobian = world.jacobian(q)
    assert np.linalg.matrix_rank(jacobian) == 100
    qd, tau = np.zeros(200), rng.normal(size=200)
    qdd = system.compile("python")(q, qd, tau)
    scale = np.abs(qdd).max()
    assert np.abs(jacobian @ qdd).max() < 1e-9 * scale
    assert unbalanced(mech, jacobian, q, qd, qdd, tau) < 1e-9


def test_the_car_takes_less_than_half_of_the_published_operations():
    """About 30 000 published with full optimisation (robotran 4.8). Accelerations against plain Newton-Euler with all
    joints and multipliers at once, which shares neither partition nor reduction."""
    mech = sb.load("car")
    system = sb.forward_dynamics(mech)
    assert operations(system) <= 12_600
    other = sb.forward_dynamics(mech, "newton_euler", formulation="augmented").compile()
    project = sb.closure(mech).compile()
    rng = np.random.default_rng(2)
    kernel = system.compile()
    for _ in range(3):
        q, qd = project(0.02 * rng.normal(size=mech.nv), rng.normal(size=mech.nv))
        tau = rng.normal(size=mech.nv)
        want = other(q, qd, tau)
        np.testing.assert_allclose(kernel(q, qd, tau), want, rtol=1e-7, atol=1e-7 * np.abs(want).max())


def test_the_car_changes_lanes_with_at_most_two_iterations():
    """robotran 4.8 and T15: RK4 at 1 ms; loops closed at every instant, one or two evaluations of each block."""
    mech = sb.load("car_lane_change")
    h = 1e-3
    motion = sb.simulate(mech, 8.0, step=h, method="rk4")
    names = [j.name for j in mech.joints if j.mode != "locked"]
    assert np.ptp(motion.q[:, names.index("y")]) > 0.5  # it leaves its lane
    system = sb.forward_dynamics(mech)
    stage = motion.q[1:-1] + h / 2 * motion.qd[1:-1]  # where the second stage of RK4 starts the iteration
    given = {n: np.zeros(a.shape) for n, a in system.inputs.items()}
    given.update(q=stage, qd=motion.qd[1:-1])
    _, evaluations = system.compile().call_with_status(**given)
    assert evaluations.min() >= 1
    assert evaluations.max() <= 2
    world = LoopWorld(mech)
    for k in range(0, len(motion.q), 1000):
        assert np.abs(world.residual(motion.q[k])).max() < 1e-9


@pytest.mark.skipif(not (MODELS / "car_43.mbs").exists(), reason="ROBOTRAN's models are not there")
def test_robotrans_own_car_moves_with_its_redundant_cuts():
    """43 joints, ten ball cuts of which two rows are redundant. Its laws of forces are user functions, hence inputs
    here and zero: in free fall with moving wheels and suspensions the energy stays."""
    mech = sb.load(MODELS / "car_43.mbs")
    system = sb.forward_dynamics(mech)
    assert operations(system) <= 7_700
    rng = np.random.default_rng(1)
    start = assemble(mech)
    motion = sb.simulate(mech, 1.0, step=1e-3, method="rk4", q0=start, qd0=0.5 * rng.normal(size=mech.nv))
    world = LoopWorld(mech)
    energies = []
    for k in (0, 250, 500, 750, 1000):
        assert np.abs(world.residual(motion.q[k])).max() < 1e-9
        energies.append(world.energy(motion.q[k], motion.qd[k]))
    np.testing.assert_allclose(energies, energies[0], rtol=1e-6, atol=1e-6 * abs(energies[0]))
