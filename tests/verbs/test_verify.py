"""The certificate holds for right models and falls for wrong programs."""

import numpy as np
import pytest

import symbody as sb
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
