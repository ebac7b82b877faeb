"""Runs on a device that is played by the processor: the motion is that of `simulate` without it."""

import numpy as np
import pytest

import symbody as sb
from helpers.cuda_on_host import needs_compiler, play
from symbody.basics.errors import DefinitionError, DeviceError
from symbody.motion.trajectory.outcome import Outcome

pytestmark = needs_compiler
RNG = np.random.default_rng(3)
STARTS = RNG.normal(0, 0.4, (5, 2))


def both(monkeypatch, model, *args, room=1 << 30, **options):
    """The same run on the processor and on the played device."""
    there = sb.simulate(model, *args, **options)
    play(monkeypatch, room=room)
    return there, sb.simulate(model, *args, device="cuda", **options)


def alike(there, here, rtol=1e-10):
    np.testing.assert_array_equal(here.t, there.t)
    assert here.values.keys() == there.values.keys()
    assert list(here.outcomes) == list(there.outcomes)
    for name, values in there.values.items():
        np.testing.assert_allclose(here[name], values, rtol=rtol, atol=rtol, err_msg=name)


@pytest.mark.parametrize("method", ["rk4", "euler", "dopri5", "semi_implicit_euler"])
def test_fixed_steps(monkeypatch, method):
    alike(*both(monkeypatch, sb.load("pendulum2"), 0.5, 1e-2, STARTS, method=method, sampling=11, outputs=["energy"]))


def test_parameters_and_inputs_differ_by_member(monkeypatch):
    masses, torques = RNG.uniform(0.5, 2, 5), RNG.normal(0, 1, (5, 1))
    inputs = {"joint1": torques, "joint2": "-0.3*qd.joint2 + 0.2*sin(3*t)"}
    alike(*both(monkeypatch, sb.load("pendulum2"), 0.3, 1e-2, STARTS, inputs=inputs, parameters={"m2": masses}))


def test_tables_linear_and_held(monkeypatch):
    times, values = np.array([0.0, 0.07, 0.2]), np.array([0.0, 2.0, -1.0])
    inputs = {"joint1": (times, values), "joint2": (np.array([0.0, 0.055, 0.1]), values, "hold")}
    alike(*both(monkeypatch, sb.load("pendulum2"), 0.3, 1e-2, STARTS, inputs=inputs))


def test_functions_of_time_are_tabulated(monkeypatch):
    alike(*both(monkeypatch, sb.load("pendulum2"), 0.2, 1e-2, STARTS, inputs={"joint1": np.sin}))


def sampled_controller() -> sb.System:
    """A sampled proportional-integral controller with memory."""
    q, total, k = sb.symbol("q1"), sb.symbol("total", "state"), sb.symbol("k", "parameter", default=3.0)
    return sb.System(
        "hold", inputs={"q.joint1": q, "total": total},
        outputs={"tau.joint1": -k * q - 2 * total, "next": total + q / 50},
        states={"total": "next"}, clocks={"period": 0.02},
    )  # fmt: skip


def test_sampled_systems_tick_on_the_device(monkeypatch):
    there, here = both(
        monkeypatch, sb.load("pendulum2"), 0.3, 1e-2, STARTS, inputs={"tau.joint1": sampled_controller()}
    )
    alike(there, here)
    longer = sb.resume(here, 0.1)
    np.testing.assert_allclose(longer.q, sb.resume(there, 0.1).q, rtol=1e-10, atol=1e-12)


def test_sampled_systems_and_held_tables_with_chosen_steps(monkeypatch):
    held = (np.array([0.0, 0.055, 0.1]), np.array([0.0, 2.0, -1.0]), "hold")
    inputs = {"tau.joint1": sampled_controller(), "joint2": held}
    options = dict(method="dopri5", tolerance=1e-9, sampling=16, inputs=inputs)
    there, here = both(monkeypatch, sb.load("pendulum2"), 0.3, None, STARTS, **options)
    alike(there, here, 1e-8)
    np.testing.assert_allclose(sb.resume(here, 0.1).q, sb.resume(there, 0.1).q, rtol=1e-7, atol=1e-8)


def falling_block() -> sb.Mechanism:
    """A foot that is pressed onto the ground and slides there."""
    b = sb.Mechanism.builder("block")
    b.body("block", mass=2, inertia=(0.01, 0.01, 0.01))
    b.joint("slide", "prismatic", "world", "block", axis="x", mode="passive")
    b.body("foot", mass=1).joint("fall", "prismatic", "block", "foot", axis="z", mode="passive")
    law = dict(stiffness=5e4, damping=800, friction=0.4, slowest=1e-3, width=1e-4)
    return b.force("sole", "contact", ["foot"], **law).done()


@pytest.mark.parametrize("how", [{"step": 5e-5}, {"step": 5e-5, "method": "semi_implicit_euler"}, {"method": "dopri5"}])
def test_contacts(monkeypatch, how):
    starts = dict(q0={"fall": np.linspace(0, 0.003, 4)}, qd0={"slide": np.linspace(0.5, 1, 4)})
    options = dict(outputs=["sole_Fn"], sampling=11, tolerance=None if "step" in how else 1e-8)
    there, here = both(monkeypatch, falling_block(), 0.05, **starts, **how, **options)
    assert there["sole_Fn"].max() > 9.81
    assert there["sole_Fn"].min() == pytest.approx(0, abs=0.1)
    alike(there, here, 1e-9)


@pytest.mark.parametrize(
    ("kind", "law"),
    [
        ("lugre", dict(stiffness=1e4, damping=80, coefficient=0.4, level=1, breakaway=1.5, speed=0.01)),
        ("dahl", dict(stiffness=1e3, level=1)),
        ("maxwell", dict(stiffness=200, damping=30, parallel=100)),
    ],
)
@pytest.mark.parametrize("how", [{"step": 1e-4}, {"method": "dopri5", "tolerance": 1e-7}])
def test_force_elements_with_states(monkeypatch, kind, law, how):
    b = sb.Mechanism.builder("slider", gravity=[3, 0, 0]).body("m", 1.0).joint("x", "prismatic", "world", "m", axis="x")
    slider = b.force("e", kind, joint="x", **law).done()
    starts = dict(qd0=np.linspace(-0.5, 0.5, 4)[:, None], states0={"x_e_z": np.linspace(0, 1e-4, 4)})
    alike(*both(monkeypatch, slider, 0.1, **starts, **how, outputs=["e_F"], sampling=11), 1e-9)


def test_quaternions_are_kept_at_unit_length(monkeypatch):
    top = sb.Mechanism.builder("top").body("top", 1.0, (0, 0, 0.3), (0.02, 0.03, 0.04))
    top = top.joint("fly", "free", "world", "top").done()
    for method in ("rk4", "semi_implicit_euler"):
        monkeypatch.undo()
        there, here = both(monkeypatch, top, 0.2, 1e-2, qd0=RNG.normal(0, 2, (4, 6)), method=method)
        alike(there, here)
        assert abs(np.linalg.norm(here.q[..., 3:], axis=-1) - 1).max() < 1e-12


def test_closed_loops_stay_closed(monkeypatch):
    starts = {"crank": np.array([0.4, 0.9, 1.3])}
    options = dict(qd0={"crank": np.array([2.0, -3.0, 1.0])}, sampling=6)
    there, here = both(monkeypatch, sb.load("four_bar"), 0.1, 2e-3, starts, **options)
    alike(there, here, 1e-9)


def test_steps_by_tolerance_are_those_of_each_member(monkeypatch):
    options = dict(method="dopri5", tolerance=1e-9, sampling=9, qd0=RNG.normal(0, 3, (5, 2)))
    there, here = both(monkeypatch, sb.load("pendulum2"), 1.0, None, STARTS, **options)
    np.testing.assert_allclose(here.q, there.q, rtol=1e-7, atol=1e-8)
    assert here.statistics["steps"] == pytest.approx(there.statistics["steps"], rel=0.05)
    assert here.statistics["rejected"] >= 0


def test_members_that_fail_have_their_outcome(monkeypatch):
    x = sb.symbol("x", "state")
    runaway = sb.System("runaway", inputs={"x": x}, states={"x": "dx"}, outputs={"dx": x**3})
    there, here = both(monkeypatch, runaway, 1.0, 0.01, states0={"x": np.array([0.1, 30.0, 0.5])})
    assert list(here.outcomes) == list(there.outcomes) == [Outcome.FINISHED, Outcome.NOT_FINITE, Outcome.FINISHED]
    np.testing.assert_allclose(here["x"], there["x"], rtol=1e-12)
    _, adaptive = None, sb.simulate(runaway, 1.0, states0={"x": np.array([0.1, 3.0])}, device="cuda")
    assert adaptive.outcomes[0] is Outcome.FINISHED
    assert not adaptive.outcomes[1].ok


def test_reductions_are_those_of_the_recorded_run(monkeypatch):
    there = sb.simulate(sb.load("pendulum2"), 0.5, 1e-2, STARTS)
    play(monkeypatch)
    here = sb.simulate(sb.load("pendulum2"), 0.5, 1e-2, STARTS, device="cuda", reduce=["mean", "min", "max"])
    np.testing.assert_allclose(here.q[:, -1], there.q[:, -1], rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(here["mean.qd"][:, 0], there.qd.mean(axis=1), rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(here["min.q"][:, 0], there.q.min(axis=1), rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(here["max.q"][:, 0], there.q.max(axis=1), rtol=1e-11, atol=1e-12)
    final = sb.simulate(sb.load("pendulum2"), 0.5, 1e-2, STARTS, device="cuda", reduce=["final"])
    np.testing.assert_array_equal(final.q, here.q)
    assert set(final.values) == {"q", "qd"}


def test_batches_are_cut_into_chunks_that_fit(monkeypatch):
    starts = RNG.normal(0, 0.3, (40, 2))
    there, here = both(monkeypatch, sb.load("pendulum2"), 0.1, 1e-2, starts, room=12_000)
    alike(there, here)


def test_single_precision_is_near(monkeypatch):
    there, here = both(monkeypatch, sb.load("pendulum2"), 0.3, 1e-2, STARTS)
    single = sb.simulate(sb.load("pendulum2"), 0.3, 1e-2, STARTS, device="cuda", precision="single")
    assert 1e-9 < abs(single.q - there.q).max() < 1e-4
    alike(there, here)


def test_what_a_device_does_not_do_is_refused_by_name(monkeypatch):
    play(monkeypatch)
    arm = sb.load("pendulum2")
    stop = sb.When("stop", "q.joint1", stop=True)
    with pytest.raises(DefinitionError, match=r"events \('stop'\), which are not followed on a device"):
        sb.simulate(arm, 0.1, 0.01, STARTS, events=[stop], device="cuda")
    with pytest.raises(DefinitionError, match="'radau' is not marched on a device"):
        sb.simulate(arm, 0.1, q0=STARTS, method="radau", device="cuda")
    with pytest.raises(DefinitionError, match="'verlet' is not marched on a device"):
        sb.simulate(arm, 0.1, 0.01, STARTS, method="verlet", device="cuda")
    with pytest.raises(DefinitionError, match="take dopri5 on a device"):
        sb.simulate(arm, 0.1, q0=STARTS, method="dopri8", device="cuda")
    with pytest.raises(DefinitionError, match="lies within a step"):
        sb.simulate(arm, 0.1, 0.01, STARTS, sampling=[0.0, 0.033, 0.1], device="cuda")
    with pytest.raises(DefinitionError, match=r"Python functions \(input_tau_1\) are asked at fixed steps"):
        sb.simulate(arm, 0.1, q0=STARTS, inputs={"joint1": np.sin}, device="cuda")
    with pytest.raises(DefinitionError, match="device='gpu'; expected 'cuda'"):
        sb.simulate(arm, 0.1, 0.01, STARTS, device="gpu")
    with pytest.raises(DefinitionError, match="precision='single' belongs to a run on a device"):
        sb.simulate(arm, 0.1, 0.01, STARTS, precision="single")
    with pytest.raises(DefinitionError, match="checkpoint"):
        sb.simulate(arm, 0.1, 0.01, STARTS, device="cuda", checkpoint="run.ckpt")


def test_without_a_device_the_run_says_what_is_missing():
    from symbody.codegen.cuda import driver

    if not driver.lacks():
        pytest.skip("there is a device")
    with pytest.raises(DeviceError, match=r"driver|device"):
        sb.simulate(sb.load("pendulum2"), 0.1, 0.01, STARTS, device="cuda")
