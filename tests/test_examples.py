"""Every example runs, and shows what physics says."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import symbody as sb
from helpers.pages import ROOT

EXAMPLES = ROOT / "examples"
TESTED = {
    "demo", "desk_lamp", "controller", "bouncing", "monte_carlo", "closed_loop", "swing_up", "shooting", "reaching",
}  # fmt: skip


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_example_is_tested_and_listed():
    scripts = {p.stem for p in EXAMPLES.glob("*.py")}
    assert scripts == TESTED
    page = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert all(f"{name}.py" in page for name in scripts)


def test_demo_ends_with_a_report(tmp_path, capsys):
    example("demo").main(folder=tmp_path)  # it checks itself, and would leave with an error
    assert {p.suffix for p in tmp_path.iterdir()} == {".html", ".png", ".c"}
    assert "report" in capsys.readouterr().out


def test_desk_lamp_rests_where_springs_carry_the_weight(tmp_path):
    rest, motion = example("desk_lamp").main(str(tmp_path))
    assert rest.ok
    assert rest.stable
    assert np.all(np.abs(rest.q) < math.pi / 2)
    # it is pushed out of the rest and swings about it
    assert motion.outcome.ok
    assert motion["q.lower"].min() < rest.q[0] < motion["q.lower"].max()
    assert (tmp_path / "desk_lamp.svg").is_file()


def test_integral_control_leaves_no_error(tmp_path):
    module = example("controller")
    smooth, held = module.main(str(tmp_path))
    assert np.abs(smooth.q[-1] - module.GOAL).max() < 1e-5
    assert np.abs(held.q[-1] - module.GOAL).max() < 1e-3


def test_ball_bounces_at_the_instants_of_the_closed_form():
    module = example("bouncing")
    motion = module.main()
    e, fall = module.RESTITUTION, math.sqrt(2 * module.HEIGHT / 9.81)
    instants = fall * np.concatenate([[1.0], 1.0 + 2 * np.cumsum(e ** np.arange(1, 10))])
    assert [event.t for event in motion.events[:10]] == pytest.approx(instants, abs=1e-7)
    assert motion.q[-1] == pytest.approx(0.0, abs=1e-9)
    assert motion.qd[-1] == pytest.approx(0.0, abs=1e-9)


def test_batch_members_move_as_they_do_alone(tmp_path):

    module = example("monte_carlo")
    motion = module.main(str(tmp_path), members=40)
    rng = np.random.default_rng(1)
    start = np.array([1.2, 0.0]) + rng.normal(0.0, 0.01, (40, 2))
    m1, m2 = rng.normal(1.0, 0.02, 40), rng.normal(1.0, 0.02, 40)
    k = 17
    alone = sb.simulate(sb.load("pendulum2"), 6.0, q0=start[k], parameters={"m1": m1[k], "m2": m2[k]}, samples=2)
    assert motion.q[k, -1] == pytest.approx(alone.q[-1], abs=1e-6)


def test_motor_of_the_pump_does_the_work_of_the_pressure(capsys):
    motion = example("closed_loop").main()
    assert motion.outcome.ok
    assert np.ptp(motion["q.slide"]) == pytest.approx(0.14, rel=1e-4)  # twice the crank
    text = capsys.readouterr().out
    work = float(text.partition("revolution: ")[2].partition(" J")[0])
    assert work == pytest.approx(28.0, rel=0.01)


@pytest.mark.parametrize("path", sorted((EXAMPLES / "models").glob("*.yaml")), ids=lambda p: p.stem)
def test_example_models_are_certified(path: Path):

    assert sb.verify(sb.load(path), states=3).passed


def test_a_few_generations_swing_the_pole_higher(capsys):
    swing = example("swing_up")
    env = swing.make(100, None)
    _, best = swing.train(env, 3)
    assert max(best) > -110  # hanging still earns -150
    assert "generation" in capsys.readouterr().out


@pytest.mark.slow
def test_a_pendulum_swings_up_by_single_and_by_multiple_shooting():
    pytest.importorskip("casadi")
    found = example("shooting").main()
    for effort, motion in found.values():
        assert effort < 9.5  # 2 s of 2.1 N m; its weight alone takes 4.9 N m to hold at the side
        np.testing.assert_allclose([motion.q[-1, 0], motion.qd[-1, 0]], [math.pi, 0.0], atol=1e-5)
    assert abs(found["single"][0] - found["multiple"][0]) < 1e-2


@pytest.mark.slow
def test_a_network_learns_to_reach_through_a_simulation():
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)
    reaching = example("reaching")
    net, losses, off = reaching.train()
    assert losses[-1] < 0.01 * losses[0]
    assert off < 0.06  # rad; goals lie up to 1.2 rad away, 0.69 rms
    # the run that the loss was made of is that of `simulate`
    goal = torch.tensor([[0.8, -0.5]], dtype=torch.float64)
    torques = reaching.TORQUE * net(goal).detach().numpy().reshape(2, -1)
    times = np.linspace(0, reaching.DURATION, reaching.POINTS)
    inputs = {f"joint{k + 1}": (times, torques[k]) for k in range(2)}
    motion = sb.simulate(sb.load("pendulum2"), reaching.DURATION, reaching.STEP, inputs=inputs)
    np.testing.assert_allclose(motion.q[-1], goal.numpy()[0], atol=0.2)
