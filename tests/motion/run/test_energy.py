"""Motions without forcing keep their energy, as far as the order of the method promises."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.simulation_models import brick, chain
from symbody.motion.run.simulate import simulate


def drift(n: int, step: float, duration: float = 10.0) -> float:
    """Spread of the energy of a chain whose rods all start 0.5 rad from the vertical, relative to its start."""
    q0 = np.zeros(n)
    q0[0] = 0.5
    energy = simulate(chain(n), duration, step, q0=q0, outputs="energy", samples=501).energy
    return float(np.ptp(energy) / abs(energy[0]))


@pytest.mark.parametrize("n", [2, 4, 7, 10])
def test_unforced_chain_keeps_its_energy_over_10_s_of_1_ms_steps(n):
    assert drift(n, 1e-3) < 1e-9


@pytest.mark.parametrize("n", [2, 5, 10])
def test_energy_drift_falls_16_times_when_the_step_is_halved(n):
    coarse, fine = drift(n, 4e-3), drift(n, 2e-3)
    assert fine > 1e-13  # above rounding
    assert coarse / fine >= 16


@pytest.mark.slow
@pytest.mark.parametrize("n", range(2, 11))
def test_every_chain_keeps_its_energy_and_converges(n):
    drifts = [drift(n, step) for step in (2e-3, 1e-3)]
    assert drifts[1] < 1e-9
    assert drifts[0] / drifts[1] >= 16


@pytest.mark.parametrize("n", [2, 3])
def test_violent_motion_keeps_its_energy_at_tight_tolerance(n):
    traj = simulate(chain(n), 10.0, q0=np.full(n, 2.5), method="dopri8", rtol=1e-13, atol=1e-13, outputs="energy")
    assert traj.outcome.ok
    assert np.ptp(traj.energy) / abs(traj.energy[0]) < 1e-9


@pytest.mark.parametrize("method", ["verlet", "symplectic4", "midpoint"])
def test_symplectic_methods_do_not_lose_energy_in_the_long_run(method):
    """On a pendulum the error of the energy oscillates: the second half of a run is no worse than the first."""
    traj = simulate(chain(1), 200.0, 0.02, q0=[1.0], method=method, outputs="energy")
    error = np.abs(traj.energy - traj.energy[0])
    half = len(error) // 2
    assert error[half:].max() < 1.05 * error[:half].max()
    square = 1.5 * 9.81  # of the frequency of small swings of a rod of 1 m
    assert error.max() < 0.02**2 * square * abs(traj.energy[0])


def test_torque_free_body_keeps_energy_angular_momentum_and_unit_quaternion():
    """Spin about the middle axis is unstable: the body tumbles, its angular momentum in world axes stays."""
    traj = simulate(
        brick(), 10.0, 1e-3, qd0={"base": [0.01, 4.0, 0.01, 1.0, 0.0, 3.0]}, samples=1001,
        outputs=["kinetic", "R.brick", "omega.brick"],
    )  # fmt: skip
    assert np.ptp(traj.qd[:, 1]) > 7  # it turned over
    assert np.abs(np.linalg.norm(traj["q"][:, 3:], axis=1) - 1).max() < 4e-16
    inertia = np.diag([0.1, 0.2, 0.27])
    R = traj["R.brick"]
    momentum = np.einsum("nij,jk,nlk,nl->ni", R, inertia, R, traj["omega.brick"])
    assert np.abs(momentum - momentum[0]).max() < 1e-9 * np.linalg.norm(momentum[0])


def test_power_of_efforts_is_the_change_of_energy():
    """Work of the efforts, by Simpson's rule over the samples, equals the gain of energy."""
    from scipy.integrate import simpson

    traj = simulate(
        chain(3), 2.0, 1e-3, inputs={"tau.j1": "5*sin(3*t)", "j3": "-0.4*qd.j3"}, outputs=["energy", "power"]
    )
    work = simpson(traj.power, x=traj.t)
    assert work == pytest.approx(traj.energy[-1] - traj.energy[0], rel=1e-8)
