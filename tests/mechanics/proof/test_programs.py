"""Every formalism, preset and `auto` equals plain Newton-Euler as a formula; changed programs do not."""

from __future__ import annotations

import random
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import symbody as sb
from symbody.mechanics.proof.exact import exact_twin
from symbody.mechanics.proof.prove import Formulas, prove_equal
from symbody.mechanics.proof.relations import relations_of
from symbody.mechanics.verbs.certify import proofs as verify_proofs
from symbody.mechanics.verbs.certify.proofs import Made, all_programs, proofs
from symbody.mechanics.verbs.dynamics import FORMALISMS
from symbody.symbolic.expr.call import call
from symbody.symbolic.expr.evaluate import evaluate
from symbody.symbolic.expr.node import ADD, MUL, SCALE, Node
from symbody.symbolic.expr.walk import free_symbols, rebuild, topological
from symbody.symbolic.system.system import System

BUNDLED = Path(sb.__file__).parent / "model" / "bundled"
PATTERNS = sorted(f"patterns/{p.stem}" for p in (BUNDLED / "patterns").glob("*.yaml"))
MODELS = sorted(p.stem for p in BUNDLED.glob("*.yaml"))
NAMED = [f for f in FORMALISMS if f != "auto"]


def statements_of(mech: sb.Mechanism, made: list[Made]) -> list[str]:
    """Those that are not proved."""
    return [str(s) for s in proofs(mech, made) if not s.proof.proved]


@pytest.mark.parametrize("name", PATTERNS)
def test_formalisms_of_pattern_models_are_equal(name):
    mech = sb.load(name)
    made, _ = all_programs(mech, [f for f in NAMED if f != "lagrange"], ("none", "standard"), ("inverse",))
    more, _ = all_programs(mech, ("base", "order_n"), ("none",), ("forward",))
    assert len(made + more) == 12
    assert statements_of(mech, made + more) == []


@pytest.mark.parametrize("name", ["satellite_arm"])
def test_all_quantities_formalisms_and_presets_are_equal(name):
    """With quaternions, sliding joints, tuned choices of `auto` and the oracle by Lagrange."""
    mech = sb.load(name)
    made, refused = all_programs(mech, FORMALISMS, ("standard",))
    assert len(made) == 20
    assert len(refused) == 1
    assert "never forms the mass matrix" in refused[0]
    assert statements_of(mech, made) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", [*PATTERNS, *MODELS])
def test_everything_is_proved_in_less_time_than_generating_it(name):
    """Closed models: their opened trees. Above 14 velocities without the longest rewriting and the oracle."""
    mech = sb.load(name)
    small = mech.nv <= 14
    start = time.process_time()
    made, _ = all_programs(
        mech,
        [f for f in FORMALISMS if small or f != "lagrange"],
        verify_proofs.PRESETS if small else ("none", "standard"),
    )
    middle = time.process_time()
    left = statements_of(mech, made)
    end = time.process_time()
    assert left == []
    assert end - middle < middle - start


def test_ball_and_free_joints_have_unit_quaternions():
    b = sb.Mechanism.builder("chain")
    for n in ("m1", "m2"):
        b.parameter(n, 1.5)
    b.body("a", "m1", (0, 0, -0.3), (0.1, 0.2, 0.3))
    b.body("b", "m2", (0.1, 0, -0.2), (0.1, 0.2, 0.3))
    b.joint("slide", "prismatic", "world", "a", axis="x")
    b.joint("ball", "ball", "a", "b", position=(0, 0, -0.5))
    mech = b.done()
    assert relations_of(mech).quaternions == ((("q", 1), ("q", 2), ("q", 3), ("q", 4)),)
    made, _ = all_programs(mech, NAMED, ("standard",))
    assert statements_of(mech, made) == []
    # without the length of the quaternion the formalisms differ
    one, two = (sb.inverse_dynamics(mech, formalism=f) for f in ("newton_euler", "lagrange"))
    assert prove_equal(one, two).verdict == "different"


def test_rotations_of_nine_parameters_are_orthonormal():
    b = sb.Mechanism.builder("turned")
    names = [[f"r{i}{j}" for j in range(3)] for i in range(3)]
    for k, n in enumerate(x for row in names for x in row):
        b.parameter(n, float(np.eye(3).flat[k]))
    b.body("a", 1, (0, 0, -0.3), (0.1, 0.2, 0.3))
    b.body("b", 2, (0.1, 0.2, -0.2), (0.1, 0.2, 0.3))
    b.joint("j1", "revolute", "world", "a", axis="x")
    b.joint("j2", "revolute", "a", "b", position=(0, 0, -0.5), rotation=names, axis="y")
    mech = b.done()
    assert len(relations_of(mech).rotations) == 1
    made, _ = all_programs(mech, NAMED, ("standard",))
    assert statements_of(mech, made) == []


# -- changed programs


def changed(system: System, node: Node, new: Node) -> System:
    """The System with one node replaced, wherever it is read."""
    made: dict[Node, Node] = {}
    for n in topological(system.expressions()):
        made[n] = new if n is node else rebuild(n, tuple(made[a] for a in n.args)) if n.args else n
    return system.with_outputs(made[n] for n in system.expressions())


def differs(a: System, b: System) -> bool:
    """In numbers, by much."""
    rng = np.random.default_rng(0)
    values = {s: s.data.default or rng.uniform(0.5, 1.5) for s in free_symbols([*a.expressions(), *b.expressions()])}
    one, two = (np.array(evaluate(s.expressions(), values)) for s in (a, b))
    return bool(np.abs(one - two).max() > 1e-6 * np.abs(one).max())


@pytest.mark.parametrize(
    ("name", "verb"),
    [("patterns/rx90", sb.inverse_dynamics), ("ur5", sb.inverse_dynamics), ("ur5", sb.forward_dynamics)],
)
def test_every_changed_coefficient_sign_and_sine_is_caught(name, verb):
    """In programs of symbols, and of exact numbers."""
    mech = exact_twin(sb.load(name))
    system, relations = verb(mech, formalism="base"), relations_of(mech)
    right = Formulas(verb(mech, formalism="newton_euler", preset="none"))
    rng = random.Random(1)
    nodes = [n for n in topological(system.expressions()) if n.op in (ADD, MUL, SCALE, "sin", "cos")]
    coefficients = signs = 0
    for node in rng.sample(nodes, 16):
        # some nodes are identically zero, or cancel: what has no effect at all is no change
        if differs(system, changed(system, node, 2 * node)):
            coefficients += 1
            wrong = changed(system, node, node * (1 + Fraction(1, 10**15)))  # a rational number
            assert prove_equal(right, wrong, relations).verdict == "different", node
        turned = changed(system, node, -node)
        if differs(system, turned):
            signs += 1
            assert prove_equal(right, turned, relations).verdict == "different", node
    assert coefficients > 10
    assert signs > 6
    for node in [n for n in nodes if n.op == "sin"]:
        wrong = changed(system, node, call("cos", node.args[0]))
        assert prove_equal(right, wrong, relations).verdict == "different", node


def test_the_certificate_tells_what_is_proved(monkeypatch):
    certificate = sb.verify(sb.load("pendulum3"), states=2)
    proved = [c for c in certificate.checks if c.kind == "proved"]
    assert certificate.passed
    assert len(proved) >= 12
    assert all(c.passed for c in proved)
    assert "proved  M qdd + c equals inverse dynamics" in str(certificate)
    assert {c["kind"] for c in certificate.as_dict()["checks"]} == {"measured", "proved"}


def test_a_program_that_is_wrong_by_less_than_numbers_show_is_refused():
    """One part in 10^15 of an effort: measured checks allow 1e-10, the proof allows nothing."""
    mech = sb.load("patterns/pendulum5")
    system = sb.inverse_dynamics(mech, formalism="base")
    tau = np.array(list(system.outputs["tau"]), dtype=object)
    tau[2] = tau[2] * (1 + Fraction(1, 10**15))
    refused: list[str] = []
    made = [Made("inverse", "base", system.replace(outputs={"tau": tau}))]
    (check,) = verify_proofs.proved_checks(mech, made, refused)
    assert not check.passed
    assert check.kind == "proved"
    assert "tau[2] differs" in check.text
    assert refused == []
