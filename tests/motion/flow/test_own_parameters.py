"""Controllers made from a nominal model: equal parameters are shared, others are the controller's own."""

from __future__ import annotations

import numpy as np
import pytest

import symbody as sb
from symbody.basics.errors import DefinitionError, NameLookupError, ShapeError

YAML = """
name: two_link
parameters:
  l1: {default: 0.4, unit: m, nonzero: true}
  m1: {default: 3, unit: kg, nonzero: true}
bodies:
  upper: {mass: m1, com: [l1/2, 0, 0], inertia: [0, m1*l1^2/12, m1*l1^2/12]}
joints:
  shoulder: {kind: revolute, parent: world, child: upper, axis: y}
"""
GOAL = 0.7


def in_code(m1=3.0, l1=0.4, unit="kg"):
    b = sb.Mechanism.builder("two_link")
    m, l = b.parameter("m1", m1, unit, True), b.parameter("l1", l1, "m", True)
    b.body("upper", mass=m, com=(l / 2, 0, 0), inertia=(0, m * l**2 / 12, m * l**2 / 12))
    b.joint("shoulder", "revolute", "world", "upper", axis="y")
    return b.done()


def in_file(tmp_path):
    (tmp_path / "two.yaml").write_text(YAML)
    return sb.load(tmp_path / "two.yaml")


def controller(robot, name="hold"):
    """Weight compensation by the robot's model, and a PD law."""
    q, qd = sb.symbols("q"), sb.symbols("qd")
    weight = sb.gravity(robot).apply(q=[q])
    return sb.System(name, inputs={"q": [q], "qd": [qd]}, outputs={"tau": [weight[0] + 50 * (GOAL - q) - 8 * qd]})


def rest(robot, **options):
    motion = sb.simulate(robot, 8.0, rtol=1e-9, **options)
    return motion.q[-1, 0], motion


def test_a_controller_of_the_file_drives_the_robot_of_the_code(tmp_path):
    """The same robot, described twice: weight is compensated exactly, and a note says what is shared."""
    end, motion = rest(in_code(), inputs=controller(in_file(tmp_path)))
    assert end == pytest.approx(GOAL, abs=1e-6)
    assert any("shares parameters" in note and "m1" in note and "l1" in note for note in motion.notes)


def test_shared_parameters_change_together(tmp_path):
    end, _ = rest(in_code(), inputs=controller(in_file(tmp_path)), parameters={"m1": 5.0})
    assert end == pytest.approx(GOAL, abs=1e-6)


def test_a_model_that_differs_keeps_its_own_values(tmp_path):
    """The plant carries 4 kg, the model knows of 3: the arm sags until the PD law makes up for the rest."""
    end, motion = rest(in_code(m1=4.0), inputs=controller(in_file(tmp_path)))
    sag = (4 - 3) * 9.81 * 0.2 * np.cos(end) / 50
    assert end == pytest.approx(GOAL + sag, abs=1e-6)
    assert any("hold.m1 = 3" in note for note in motion.notes)


def test_values_of_the_controller_are_reached_by_its_name(tmp_path):
    plant, nominal = in_code(m1=4.0), controller(in_file(tmp_path))
    end, _ = rest(plant, inputs=nominal, parameters={"hold.m1": 4.0})
    assert end == pytest.approx(GOAL, abs=1e-6)
    with pytest.raises(NameLookupError, match=r"no parameter 'hold.m2'.*'hold.m1'"):
        sb.simulate(plant, 1.0, inputs=nominal, parameters={"hold.m2": 4.0})


def test_a_value_given_for_the_controller_parts_what_was_shared():
    """Also of the very same Mechanism: a plant whose controller knows another mass."""
    robot = in_code()
    for name in ("hold.m1", "controller.m1"):
        end, motion = rest(robot, inputs=controller(robot), parameters={name: 2.0})
        assert end == pytest.approx(GOAL + (3 - 2) * 9.81 * 0.2 * np.cos(end) / 50, abs=1e-6)
        assert any("hold.m1" in note for note in motion.notes)
    end, _ = rest(robot, inputs=controller(robot))  # the next run shares again
    assert end == pytest.approx(GOAL, abs=1e-6)
    with pytest.raises(NameLookupError, match=r"no parameter 'controller.m2'"):
        sb.simulate(robot, 1.0, inputs=controller(robot), parameters={"controller.m2": 4.0})


def test_a_sampled_controller_takes_values_of_its_own(tmp_path):
    plant, nominal = in_code(m1=4.0), controller(in_file(tmp_path)).replace(clocks={"period": 1e-3})
    sagged, _ = rest(plant, inputs=nominal)
    assert sagged > GOAL + 0.01
    for name in ("hold.m1", "controller.m1"):
        end, _ = rest(plant, inputs=nominal, parameters={name: 4.0})
        assert end == pytest.approx(GOAL, abs=1e-6)
    with pytest.raises(ShapeError, match=r"'hold.m1' of a sampled controller has shape \(2,\)"):
        sb.simulate(plant, 1.0, inputs=nominal, parameters={"hold.m1": [3.0, 4.0]})


def test_parameters_of_another_unit_are_not_shared(tmp_path):
    _, motion = rest(in_code(unit=""), inputs=controller(in_file(tmp_path)))
    assert any("hold.m1" in note for note in motion.notes)


def test_a_controller_of_the_same_mechanism_needs_no_note():
    robot = in_code()
    end, motion = rest(robot, inputs=controller(robot))
    assert end == pytest.approx(GOAL, abs=1e-6)
    assert not motion.notes


def test_a_batch_changes_what_a_name_means(tmp_path):
    motion = sb.simulate(
        in_code(m1=4.0), 8.0, step=1e-2, inputs=controller(in_file(tmp_path)),
        parameters={"hold.m1": np.array([3.0, 4.0])},
    )  # fmt: skip
    ends = motion.q[:, -1, 0]
    assert ends[1] == pytest.approx(GOAL, abs=1e-4)
    assert ends[0] > GOAL + 0.01


def test_two_robots_in_one_controller_never_merge(tmp_path):
    q = sb.symbols("q")
    weights = [sb.gravity(robot).apply(q=[q])[0] for robot in (in_code(m1=4.0), in_file(tmp_path))]
    with pytest.raises(DefinitionError, match="two parameters"):
        sb.System("both", inputs={"q": [q]}, outputs={"tau": [weights[0] - weights[1]]})
