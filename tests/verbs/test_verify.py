"""The certificate holds for right models and falls for wrong programs."""

import numpy as np
import pytest

import symbody as sb
from symbody.errors import ModelError
from symbody.verbs import verify as module


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
    assert failed == ["inverse dynamics by screw equals newton_euler"]
    assert "NOT CERTIFIED" in str(certificate)


def test_a_wrong_energy_is_found(monkeypatch):
    right = module.energy

    def wrong(mechanism):
        system = right(mechanism)
        return system.replace(outputs={**system.outputs, "kinetic": system.outputs["kinetic"] * 1.001})

    monkeypatch.setattr(module, "energy", wrong)
    certificate = module.verify(sb.load("pendulum2"), states=5)
    assert [c.text for c in certificate.checks if not c.passed] == ["power of the efforts is the rate of the energy"]


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
        with pytest.raises(ModelError, match="expected states"):
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
    model = builder.force("f", "spring_damper", [("b", "e"), ("g", "")], {"stifness": 30, "length": 0.5}).done()
    with pytest.raises(ModelError, match=r"'stifness'.*'stiffness'"):
        sb.inverse_dynamics(model)
