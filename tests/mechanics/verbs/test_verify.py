"""The certificate holds for right models and falls for wrong programs."""

from dataclasses import replace

import numpy as np
import pytest

import symbody as sb
from symbody.basics.errors import ModelError, ShapeError
from symbody.mechanics.formalisms import jacobians, tree
from symbody.mechanics.loops.rows import constraint_rows as loop_constraints
from symbody.mechanics.loops.rows import cut_rows
from symbody.mechanics.verbs.certify import derivatives as verify_derivatives
from symbody.mechanics.verbs.certify import loop_checks as verify_loops
from symbody.mechanics.verbs.certify import verify as module
from symbody.mechanics.verbs.certify.certificate import Certificate, Check, backward
from symbody.mechanics.verbs.certify.loop_checks import ClosedStates
from symbody.mechanics.verbs.certify.states import States
from symbody.mechanics.verbs.certify.tree_checks import tree_checks as reference_checks
from symbody.model.library import springs
from symbody.model.record.mechanism import Force
from symbody.model.spatial import inertia
from symbody.symbolic.expr.arrays import zeros


@pytest.mark.parametrize("name", ["pendulum2", "acma_h80"])
def test_bundled_models_are_certified(name):
    certificate = sb.verify(sb.load(name), states=8)
    assert certificate.passed, str(certificate)
    assert len(certificate.checks) >= 12


@pytest.mark.slow
@pytest.mark.parametrize("name", ["puma560", "stanford_arm", "panda", "ur5", "motorcycle", "satellite_arm", "human"])
def test_large_bundled_models_are_certified(name):
    certificate = sb.verify(sb.load(name), states=8)
    assert certificate.passed, str(certificate)


def test_a_wrong_formalism_is_found(monkeypatch):
    """One term of one torque changed by a thousandth: the certificate must not pass."""
    right = module.inverse_dynamics

    def wrong(mechanism, formalism="auto", **options):
        system = right(mechanism, formalism=formalism, **options)
        if formalism != "screw":
            return system
        tau = system.outputs["tau"].copy()
        tau[0] = tau[0] + system.graph.number(1e-3) * system.inputs["qdd"][0]
        return system.replace(outputs={"tau": tau})

    monkeypatch.setattr(module, "inverse_dynamics", wrong)
    certificate = module.verify(sb.load("pendulum2"), states=5)
    failed = [c.text for c in certificate.checks if not c.passed]
    measured, proved = failed
    assert measured == "inverse dynamics by screw equals newton_euler"
    assert proved == "inverse dynamics by screw (standard) equals newton_euler: tau[0] differs"
    assert "NOT CERTIFIED" in str(certificate)


def test_a_wrong_energy_is_found(monkeypatch):
    right = module.energy

    def wrong(mechanism, **options):
        system = right(mechanism, **options)
        return system.replace(outputs={**system.outputs, "kinetic": system.outputs["kinetic"] * 1.001})

    monkeypatch.setattr(module, "energy", wrong)
    certificate = module.verify(sb.load("pendulum2"), states=5)
    assert [c.text for c in certificate.checks if not c.passed] == ["power of the efforts is the rate of the energy"]


def sprung():
    """Two rods, a spring-damper to the ground that is far from rest, and a motor with an input."""
    b = sb.Mechanism.builder("sprung")
    for name in ("a", "b"):
        b.body(name, mass=2, com=(0.4, 0, 0), inertia=(0.1, 0.2, 0.3), frames={"end": (0.8, 0, 0)})
    b.body("ground", frames={"hook": (0.3, 0.2, 1.0)}).joint("floor", "fixed", "world", "ground")
    b.joint("one", "revolute", "world", "a", axis="y", viscous=0.3)
    b.joint("two", "revolute", "a", "b", (0.8, 0, 0), axis="z")
    b.force("strut", "spring_damper", ["ground.hook", "b.end"], stiffness=300, damping=20, length=0.5)
    return b.force("motor", "joint", ["b"], law="actuator").done()


def test_force_elements_take_part_in_the_power_balance(monkeypatch):
    """What a spring stores, a damper takes and a motor gives adds up; a stiffness that differs by 1 % does not."""
    mech = sprung()
    point, plain = States(mech, 5), sb.inverse_dynamics(mech, formalism="newton_euler")
    assert module._power_balance(mech, point, plain) < 1e-13
    right = module.energy

    def stiffer(mechanism, **options):
        force = mechanism.forces[0]
        values = {**force.values, "stiffness": mechanism.graph.number(303)}
        return right(mechanism.replace(forces=(replace(force, values=values), *mechanism.forces[1:])), **options)

    monkeypatch.setattr(module, "energy", stiffer)
    assert module._power_balance(mech, point, plain) > 1e-4


@pytest.mark.parametrize(
    ("name", "verb", "fails"),
    [
        ("pendulum2", "jacobian_system", {"derivatives of efforts by q equal differences",
                                          "derivatives of efforts by qd equal differences"}),
        ("patterns/motorcycle_tree", "jvp_system", {"derivatives of efforts by q equal differences",
                                           "derivatives of efforts by qd equal differences"}),
        ("pendulum2", "kinematics", {"the Jacobian of rod2 equals differences of its pose",
                                     "its rate equals differences of the Jacobian"}),
    ],
)  # fmt: skip
def test_wrong_derivatives_are_found(monkeypatch, name, verb, fails):
    """Derivatives, or a Jacobian, that are too large by a thousandth."""
    right = getattr(verify_derivatives, verb)

    def wrong(*args, **options):
        system = right(*args, **options)
        scaled = {k: x if k[:2] in ("R_", "p_", "Jd") else x * 1.001 for k, x in system.outputs.items()}
        return system.replace(outputs=scaled)

    monkeypatch.setattr(verify_derivatives, verb, wrong)
    assert {c.text for c in tree_checks(name) if not c.passed} == fails


def tree_checks(name):
    mech = sb.load(name)
    plain = sb.inverse_dynamics(mech, formalism="newton_euler")
    refused = []
    checks = list(verify_derivatives.tree_derivatives(mech, States(mech, 3), plain, refused))
    assert len(checks) == 4
    assert not refused
    return checks


@pytest.mark.parametrize("name", ["pendulum2", "patterns/motorcycle_tree", "satellite_arm"])
def test_derivatives_are_certified(name):
    assert all(c.passed for c in tree_checks(name))


@pytest.mark.parametrize("scale", [1, 1.001])
def test_derivatives_through_loops_are_certified(monkeypatch, scale):
    mech = sb.load("slider_crank")
    point = ClosedStates(mech, 4, partition=["crank"])
    forward = sb.forward_dynamics(mech, formalism="newton_euler", partition=["crank"])
    right = verify_derivatives.jacobian_system

    def scaled(*args):
        made = right(*args)
        return made.replace(outputs={k: x * scale for k, x in made.outputs.items()})

    monkeypatch.setattr(verify_derivatives, "jacobian_system", scaled)
    refused = []
    (check,) = verify_derivatives.closed_derivatives(point, forward, {"tau": point.tau}, refused)
    assert check.passed == (scale == 1)
    assert not refused


def test_a_certificate_is_the_same_again():
    first, second = (sb.verify(sb.load("pendulum2"), states=4, seed=3) for _ in range(2))
    assert first.fingerprint == second.fingerprint
    assert np.array_equal([c.error for c in first.checks], [c.error for c in second.checks])


def test_a_body_without_inertia_is_not_certified():
    model = sb.Mechanism.builder("empty").body("b").joint("j", "revolute", "world", "b").done()
    failed = {c.text for c in sb.verify(model, states=2).checks if not c.passed}
    assert failed == {"M is positive definite", "some formalism gives forward dynamics"}


def test_wrong_arguments_are_refused():
    model = sb.load("pendulum2")
    for options in ({"states": 0}, {"states": 2.5}, {"seed": -1}):
        with pytest.raises(ModelError, match=r"verify: (states|seed)=.*; expected a whole number from"):
            sb.verify(model, **options)
    for verb in (sb.verify, sb.inverse_dynamics, sb.kinematics, sb.energy):
        with pytest.raises(ModelError, match=r"sb\.load"):
            verb("pendulum2")


def test_open_loops_are_named():
    link = {"mass": 1, "com": (0.5, 0, 0), "inertia": (0.1, 0.1, 0.1)}
    model = (
        sb.Mechanism.builder("bar").body("a", **link, frames={"end": (1, 0, 0)}).body("ground")
        .joint("j", "revolute", "world", "a", axis="y").joint("g", "fixed", "world", "ground")
        .cut("pin", "ball", ("a", "end"), ("ground", "")).done()
    )  # fmt: skip
    assert any("opened tree" in text for text in sb.verify(model, states=2, loops=False).refused)


def test_a_misspelt_value_of_a_force_is_refused():
    builder = sb.Mechanism.builder("s").body("b", mass=1, com=(0.5, 0, 0), frames={"e": (1, 0, 0)})
    builder.joint("j", "revolute", "world", "b", axis="y", position=(0, 0, 1))
    builder.body("g").joint("f", "fixed", "world", "g")
    builder.force("f", "spring_damper", [("b", "e"), ("g", "")], {"stifness": 30, "length": 0.5})
    with pytest.raises(ModelError, match=r"'stifness'.*'stiffness'"):
        builder.done()


# -- faults that a certificate must refuse


def skew_arm(damping=20):
    """Three skew joints with offsets, a rotor, and a strut between the first body and the last."""
    b = sb.Mechanism.builder("skew_arm")
    tensor = ((0.2, 0.01, 0.02), (0.01, 0.3, -0.03), (0.02, -0.03, 0.25))
    for name in ("a", "b"):
        b.body(name, mass=2, com=(0.1, 0.4, -0.2), inertia=tensor, frames={"end": (0.3, -0.5, 0.2)})
    b.joint("j1", "revolute", "world", "a", (0.1, 0.2, 0.3), rotation=("x", 0.5), axis=(1, 2, 2), viscous=0.3)
    b.joint("j2", "revolute", "a", "b", (0.2, 0.1, 0.4), axis="-x", rotor=(1e-3, 20, True))
    b.body("ground", frames={"hook": (1, 0.2, 0.3)}).joint("g", "fixed", "world", "ground")
    return b.force(
        "strut", "spring_damper", ["ground.hook", "b.end"], stiffness=300, damping=damping, length=0.5
    ).done()


def no_steiner(patch):
    patch.setattr(inertia, "steiner", lambda mass, p: zeros(3, 3))


def axis_without_sign(patch):
    right = tree._axis
    patch.setattr(tree, "_axis", lambda *given: (*right(*given)[:2], 1))


def offsets_with_the_other_sign(patch):
    right = tree._turn
    patch.setattr(tree, "_turn", lambda rotation, v: -right(rotation, v))


def half_a_damper(patch):
    right = springs.LAWS["linear"]
    patch.setitem(springs.LAWS, "linear", lambda Z, Zd, **given: right(Z, Zd / 2, **given))


def jacobian_of_zeros(patch):
    patch.setattr(jacobians, "_assemble", lambda tree, columns: (zeros(6, len(tree.qd)), zeros(6, len(tree.qd))))


@pytest.mark.slow
def test_the_skew_arm_is_certified():
    certificate = sb.verify(skew_arm(), states=3, at=[[0.4, -0.2], [3.0, 1.0]])
    assert certificate.passed, str(certificate)
    assert certificate.given == 2
    assert "and 2 given" in str(certificate)


@pytest.mark.parametrize(
    "fault", [no_steiner, axis_without_sign, offsets_with_the_other_sign, half_a_damper, jacobian_of_zeros]
)
def test_faults_of_trees_are_refused(monkeypatch, fault):
    """Faults that all formalisms share: only what is written apart sees them."""
    assert not refusals(skew_arm())
    fault(monkeypatch)
    assert refusals(skew_arm())


def refusals(mech):
    """What the reference refuses of frames, energies, forces, reactions and inverse dynamics."""
    point = States(mech, 3)
    motion = point.motion()
    tau = point.evaluate(sb.inverse_dynamics(mech, formalism="newton_euler", preset="none"))
    checks = [Check("inverse dynamics", backward(tau, motion.efforts(), motion.effort_terms()), 1e-10)]
    return {c.text for c in (*checks, *reference_checks(mech, point, motion, [])) if not c.passed}


def scaled_cut_frame(patch):
    right = loop_constraints._frame

    def wrong(*given):
        found = right(*given)
        return replace(found, position=1.01 * found.position)

    patch.setattr(loop_constraints, "_frame", wrong)


def closure_shifted_by_a_millimetre(patch):
    right = cut_rows._CutRowWriter.row

    def wrong(self, name, h, slopes, bias, unit, *given, **more):
        return right(self, name, h + 1e-3 if unit == "m" else h, slopes, bias, unit, *given, **more)

    patch.setattr(cut_rows._CutRowWriter, "row", wrong)


@pytest.mark.parametrize("fault", [scaled_cut_frame, closure_shifted_by_a_millimetre])
def test_faults_of_loops_are_refused(monkeypatch, fault):
    fault(monkeypatch)
    refused = []
    mech = sb.load("slider_crank")
    point = ClosedStates(mech, 3, partition=["crank"])
    made = sb.closure(mech, partition=["crank"])
    checks = [*verify_loops._constraints(mech, point), *verify_loops._closure(point, made, refused)]
    failed = {c.text for c in checks if not c.passed}
    assert "constraints hold where the frames of cuts meet (m, rad)" in failed
    assert "the loops are closed, measured on the frames of cuts (m, rad)" in failed


def scissor():
    """Two crossed pairs of bars on a slider: one degree of freedom, all bars along x at q = 0."""
    length = 0.4
    b = sb.Mechanism.builder("scissor", gravity=(0, -9.81, 0))
    for n in ("a1", "b1", "a2", "b2"):
        b.body(n, mass=0.3, com=(length / 2, 0, 0), inertia=(0, 0, 0.004), frames={"mid": (length / 2, 0, 0)})
    b.body("sl", mass=0.2)
    b.joint("a1", "revolute", "world", "a1").joint("sl", "prismatic", "world", "sl", axis="x")
    b.joint("b1", "revolute", "sl", "b1").joint("a2", "revolute", "b1", "a2", position=(length, 0, 0))
    b.joint("b2", "revolute", "a1", "b2", position=(length, 0, 0))
    return b.cut("m1", "ball", "a1.mid", "b1.mid").cut("m2", "ball", "a2.mid", "b2.mid").done()


def test_too_many_degrees_of_freedom_are_refused():
    """A partition that leaves a needed row out: two independent joints where the scissor has one."""
    mech, refused = scissor(), []
    right = sb.partition(mech, "pivoting")
    point = ClosedStates(mech, 4, partition=replace(right, independent=(0, 3)))
    checks = list(verify_loops._freedom(point, "", refused))
    assert not checks[-1].passed
    assert "but 1 at" in checks[-1].text


def test_a_position_of_the_user_is_closed_and_judged():
    mech, t = scissor(), 0.6
    at = [t, 0.4 * np.cos(t), np.pi - t, 2 * t - np.pi, np.pi - 2 * t]
    point = ClosedStates(mech, 2, at=at)
    assert len(point.independent) == 1
    np.testing.assert_allclose(point.q[0], at, atol=1e-9)
    with pytest.raises(ShapeError, match="nq = 2"):
        sb.verify(skew_arm(), states=1, at=[0.0])


def test_laws_of_the_user_are_named_as_not_transcribed():
    b = sb.Mechanism.builder("own").body("a", mass=1, com=(0.5, 0, 0), inertia=(0, 0.1, 0.1), frames={"e": (1, 0, 0)})
    b.joint("j", "revolute", "world", "a", axis="y").body("g", frames={"h": (0, 0, 1)}).joint(
        "f", "fixed", "world", "g"
    )
    own = Force("rubber", "external", (("g", "h"), ("a", "e")), {"function": lambda Z, Zd, t: -80 * Z**3 - Zd})
    certificate = sb.verify(b.done().replace(forces=(own,)), states=3)
    assert certificate.passed, str(certificate)
    assert any("not transcribed" in text and "rubber" in text for text in certificate.refused)


def test_a_proved_statement_says_so():
    proved = Check("all formalisms are equal", 0.0, 0.0, "proved")
    assert "ok                      proved  all formalisms are equal" in str(Certificate("m", 1, 0, (proved,)))
