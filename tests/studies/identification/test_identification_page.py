"""The fifteen lines of docs/identification.md as a new user runs them: an arm, a record in degrees, a model."""

from __future__ import annotations

import csv

import numpy as np
import pytest

import symbody as sb
from helpers.pages import ROOT, run_page


def arm() -> sb.Mechanism:
    b = sb.Mechanism.builder("arm", gravity=(0, 0, -9.81))
    b.body("upper", 3.0, (0.02, 0, 0.2), (0.05, 0.05, 0.01))
    b.body("lower", 1.5, (0.0, 0.01, 0.15), (0.02, 0.02, 0.005))
    b.joint("shoulder", "revolute", "world", "upper", axis="y")
    b.joint("elbow", "revolute", "upper", "lower", position=(0, 0, 0.4), axis="x")
    return b.done()


def record(mech: sb.Mechanism, path, rate: float = 200.0) -> None:
    """Twelve seconds of two sums of sines, q in degrees, with friction, rotors, and noise of encoders and currents."""
    t = np.arange(0, 12, 1 / rate)
    w = 2 * np.pi * np.array([0.21, 0.47, 0.9])
    size, phase = np.array([[0.9, 0.5, 0.2], [0.7, 0.6, 0.25]]), np.array([[0.0, 1.0, 2.0], [0.5, 1.7, 0.3]])
    angle = np.multiply.outer(t, w)[:, None, :] + phase
    q, qd = (size * np.sin(angle)).sum(-1), (size * w * np.cos(angle)).sum(-1)
    qdd = -(size * w**2 * np.sin(angle)).sum(-1)
    tau = np.asarray(sb.inverse_dynamics(mech, "newton_euler").compile("python")(q, qd, qdd))
    tau = tau + 0.8 * np.sign(qd) + 0.5 * qd + 0.02 * qdd + [0.1, -0.05]
    rng = np.random.default_rng(0)
    q, tau = q + 2e-6 * rng.normal(size=q.shape), tau + 0.02 * rng.normal(size=tau.shape)
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["t", "q.shoulder", "q.elbow", "tau.shoulder", "tau.elbow"])
        out.writerows(np.column_stack([t, np.degrees(q), tau]).tolist())


def test_the_fifteen_lines_of_the_page_run(tmp_path, monkeypatch, capsys):
    pytest.importorskip("cvxpy")
    monkeypatch.chdir(tmp_path)
    mech = arm()
    sb.save(mech, tmp_path / "arm.urdf")
    record(mech, tmp_path / "record.csv")
    run_page(ROOT / "docs" / "identification.md")
    printed = capsys.readouterr().out
    assert "base parameters of" in printed
    found = sb.load(tmp_path / "identified.yaml")
    rng = np.random.default_rng(1)
    states = [rng.uniform(-1, 1, (20, 2)) for _ in range(3)]
    true, ours = (np.asarray(sb.inverse_dynamics(m, "newton_euler").compile("python")(*states)) for m in (mech, found))
    laws = 0.8 * np.sign(states[1]) + 0.5 * states[1] + 0.02 * states[2]
    assert np.abs(ours - true - laws).max() < 0.05 * np.abs(true).max()
