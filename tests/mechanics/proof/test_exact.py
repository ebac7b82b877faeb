"""The exact twin of a Mechanism: rational rotations and axes, numbers as they are written, the same motion."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import symbody as sb
from symbody.mechanics.formalisms.tree import _align_z_exactly
from symbody.mechanics.proof.exact import exact_axis, exact_rotation, exact_twin, has_floats
from symbody.mechanics.proof.prove import prove_equal
from symbody.mechanics.verbs.certify.proofs import Made, all_programs, made_again, proofs
from symbody.model.record.pose import about, from_quaternion
from symbody.model.record.snapping import snapped
from symbody.symbolic.expr.node import CONST, SCALE
from symbody.symbolic.expr.walk import topological


def numeric_arm(angle: float = 0.3) -> sb.Mechanism:
    """Three joints about skew axes, a body that is fixed to another one, all numbers floats."""
    b = sb.Mechanism.builder("numeric_arm", gravity=(0, 0, -9.81))
    b.body("a", 1.3, (0.1, 0.02, -0.03), (0.011, 0.001, 0.02, 0.0003, -0.0007, 0.025))
    b.body("b", 0.7, (0.13, 0.0, 0.1), (0.011, 0.02, 0.025))
    b.body("c", 0.9, (0.1, -0.07, 0.05), (0.011, 0.02, 0.025))
    b.body("d", 0.2, (0.1, -0.07, 0.05), (0.0011, 0.002, 0.0025))
    b.joint("j1", "revolute", "world", "a", axis=(0.3, 0.5, 0.8))
    b.joint("j2", "revolute", "a", "b", position=(0.1, 0.2, 0.31), rotation={"rpy": (angle, 0.2, 0.7)})
    b.joint(
        "j3", "revolute", "b", "c", position=(0.1, 0.2, 0.31), rotation=[("x", "30*deg"), ("z", 0.7)], axis=(1, 1, 0)
    )
    b.joint("f", "fixed", "c", "d", position=(0.1, 0.2, 0.31), rotation={"rpy": (0.1, 0.2, 0.3)})
    return b.done()


@pytest.mark.parametrize("seed", range(40))
def test_a_rational_rotation_is_orthonormal_and_keeps_zeros_and_ones(seed):
    rng = np.random.default_rng(seed)
    right = rng.choice([0.5, 1.0, 1.5]) * np.pi
    given = snapped(
        [
            from_quaternion(rng.normal(size=4)),
            about(rng.integers(3), rng.uniform(-4, 4)),
            about(0, rng.uniform(-4, 4)) @ about(rng.integers(1, 3), rng.uniform(-4, 4)),
            about(rng.integers(3), right) @ about(rng.integers(3), rng.uniform(-4, 4)) @ about(rng.integers(3), right),
        ][seed % 4]
    )
    exact = np.array(exact_rotation(given), dtype=object)
    assert np.all(exact @ exact.T == np.eye(3, dtype=int))
    assert np.abs(exact.astype(float) - given).max() < 1e-15
    assert np.all((exact == 0) == (given == 0))
    assert np.all((abs(exact) == 1) == (abs(given) == 1))


@pytest.mark.parametrize("angle", [1.5707963, 1.57079632, 1.570796326, 3.1415926, -1.5707963, 1e-9, 3e-7])
def test_a_quarter_turn_with_few_digits_has_a_rational_twin(angle):
    """As files write it: floats round the sine to 1 while the cosine stays, which no rotation has exactly."""
    for given in (about(1, angle), about(0, angle) @ about(2, 1.57079632), about(2, angle) @ about(0, 0.3)):
        exact = np.array(exact_rotation(snapped(given)), dtype=object)
        assert np.all(exact @ exact.T == np.eye(3, dtype=int))
        assert np.abs(exact.astype(float) - given).max() < 1e-12


def test_an_arm_with_such_turns_is_certified():
    b = sb.Mechanism.builder("few_digits")
    b.body("a", 1.3, (0.1, 0.02, -0.03), (0.011, 0.02, 0.025))
    b.body("b", 0.7, (0.13, 0.0, 0.1), (0.011, 0.02, 0.025))
    b.joint("j1", "revolute", "world", "a", rotation={"rpy": (-1.5707963, 0, 1.57079632)})
    b.joint("j2", "revolute", "a", "b", position=(0.1, 0, 0.3), rotation={"rpy": (0, 1.570796326, 0)}, axis="y")
    certificate = sb.verify(b.done(), states=2)
    assert certificate.passed, certificate


@pytest.mark.parametrize("seed", range(20))
def test_a_rational_axis_has_unit_length_and_a_rational_frame(seed):
    rng = np.random.default_rng(seed)
    u = rng.normal(size=3)
    u[rng.integers(3)] *= seed % 2
    u /= np.linalg.norm(u)
    exact = exact_axis(list(u))
    frame = _align_z_exactly([Fraction(x) for x in exact])
    assert np.abs(np.array(exact, dtype=float) - u).max() < 1e-15
    assert frame is not None
    assert np.all(frame @ frame.T == np.eye(3, dtype=int))
    assert np.all(frame[:, 2] == exact)


def test_no_constant_of_the_twin_is_rounded():
    twin = exact_twin(numeric_arm())
    assert has_floats(numeric_arm())
    assert not has_floats(twin)
    for formalism in ("newton_euler", "base", "screw"):
        system = sb.forward_dynamics(twin, formalism=formalism)
        numbers = [n.data for n in topological(system.expressions()) if n.op is CONST or n.op is SCALE]
        assert numbers
        assert not any(isinstance(x, float) for x in numbers)


def test_the_twin_moves_as_the_mechanism():
    mech = numeric_arm()
    state = {"q": [0.3, -0.5, 0.7], "qd": [1.0, 0.2, -0.4], "tau": [0.1, 0.2, 0.3]}
    one, two = (
        sb.forward_dynamics(m, formalism="newton_euler").compile("python")(**state) for m in (mech, exact_twin(mech))
    )
    np.testing.assert_allclose(one, two, rtol=1e-13)


def test_programs_of_rounded_constants_are_proved_with_exact_numbers_and_the_rounding_is_measured():
    made, _ = all_programs(numeric_arm(), ("base", "screw"), ("standard",))
    statements = proofs(numeric_arm(), made)
    assert all(s.proof.proved for s in statements), "\n".join(map(str, statements))
    rounded = [s for s in statements if s.exact]
    assert len(rounded) >= 4
    assert all(s.rounding is not None and 1e-18 < s.rounding < 1e-14 for s in rounded)
    assert "with exact numbers; rounded constants change it by" in str(rounded[0])


def test_a_wrong_program_of_rounded_constants_is_not_proved():
    """1e-3 off one effort: numbers tell it from rounding."""
    mech = numeric_arm()
    system = sb.inverse_dynamics(mech, formalism="base")
    tau = np.array(list(system.outputs["tau"]), dtype=object)
    tau[1] = tau[1] * 1.001
    (statement,) = proofs(mech, [Made("inverse", "base", system.replace(outputs={"tau": tau}))])
    assert statement.proof.verdict == "different"
    assert "tau[1]" in statement.proof.entries


def test_auto_on_the_twin_takes_the_same_choices():
    """The unit length may be a number: 9.81 there, 981/100 here."""
    mech = sb.load("pendulum2")
    made, _ = all_programs(mech, ("auto",), ("full",), ("inverse",))
    (statement,) = proofs(mech, made)
    assert statement.proof.proved
    assert not statement.exact  # a coefficient 1/9.81 is not rounded, so numbers of the model do
    again = made_again(mech, exact_twin(mech), made[0])
    assert again.count() == made[0].system.count()
    assert prove_equal(made[0].system, again).proved
