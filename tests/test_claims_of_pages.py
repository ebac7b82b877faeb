"""What pages state in words, held against numbers."""

from __future__ import annotations

import re
import tomllib

import numpy as np
import pytest

import symbody as sb
from helpers.pages import ROOT
from symbody.basics.errors import DefinitionError, ModelError, NameLookupError, SolveError
from symbody.model.library import waveforms


def test_result_on_the_first_page_is_what_its_code_prints(capsys):
    text = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    code, printed = re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", text, flags=re.DOTALL).groups()
    exec(code, {})
    assert capsys.readouterr().out == printed


def test_first_pages_state_version_and_python_of_the_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for page in ("README.md", "docs/index.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        assert f"Version {project['version']}, alpha" in text
        assert f"Python {project['requires-python'].removeprefix('>=')} or newer" in text
    assert "Development Status :: 3 - Alpha" in project["classifiers"]


def test_coordinates_follow_the_joints_that_carry_them():
    b = sb.Mechanism.builder("chain")
    for name in ("outer", "inner"):
        b.body(name, mass=1, inertia=(1, 1, 1))
    b.joint("second", "revolute", "inner", "outer").joint("weld", "fixed", "outer", "plate")
    b.body("plate", mass=1, inertia=(1, 1, 1)).joint("first", "revolute", "world", "inner")
    chain = b.done()
    assert [j.name for j in chain.joints if j.kind != "fixed"] == ["first", "second"]
    assert chain.nq == 2


def test_reduced_equations_have_the_projected_efforts():
    """notation.md: Mcal qdd_u + Fcal = B^T tau."""
    linkage = sb.load("four_bar")
    step = 1e-6
    before, q, behind = (np.asarray(sb.assemble(linkage, {"crank": 0.4 + s})) for s in (-step, 0.0, step))
    through = (behind - before) / (2 * step)  # B: velocities of all joints where the crank turns with 1 rad/s
    qd, tau = 2 * through, np.array([1.3, 0.2, -0.4])
    found = sb.semi_explicit(linkage).compile()(q, qd)
    qdd = sb.forward_dynamics(linkage).compile()(q, qd, tau)
    left = float(np.squeeze(found.M)) * qdd[0] + float(np.squeeze(found.c))
    assert left == pytest.approx(through @ tau, rel=1e-6)


def test_multiplier_of_a_rod_is_a_force_for_each_metre():
    """notation.md: h = (d.d - L^2)/2 in m^2; a mass of 1 kg hangs on a rod of 2 m, which pulls with 9.81 N."""
    b = sb.Mechanism.builder("hanging")
    b.body("ball", mass=1).joint("place", "translation3", "world", "ball", mode="passive")
    b.cut("rod", "rod", "world", "ball", length=2.0)
    motion = sb.simulate(b.done(), 0.01, q0={"place": [0, 0, -2]}, outputs=["lam"])
    assert abs(motion["lam"][0, 0]) == pytest.approx(9.81 / 2, rel=1e-6)


@pytest.mark.parametrize(("kind", "nq", "nv"), [("free", 7, 6), ("ball", 4, 3), ("spherical", 3, 3)])
def test_only_quaternions_have_more_coordinates_than_velocities(kind, nq, nv):
    one = sb.Mechanism.builder("one").body("a", mass=1, inertia=(1, 1, 1)).joint("j", kind, "world", "a").done()
    assert (one.nq, one.nv) == (nq, nv)


def reading(name: str, size: int, outputs: list[str]) -> object:
    x = np.array([sb.symbol(f"x{k}") for k in range(size)], dtype=object) if size else sb.symbol("x")
    first = x[0] if size else x
    system = sb.System("c", inputs={name: x}, outputs={"tau": [1e-3 * first, 0 * first]})
    return sb.simulate(sb.load("pendulum2"), 0.01, step=0.01, inputs=system, outputs=outputs)


def test_controllers_read_what_their_page_lists():
    for name, size, outputs in (("q.joint1", 0, []), ("p.rod2", 3, []), ("v.rod2", 3, []), ("energy", 0, ["energy"])):
        reading(name, size, outputs)
    for name, size, outputs in (("energy", 0, []), ("qdd.joint1", 0, []), ("tau.joint1", 0, []), ("a.rod2", 3, [])):
        with pytest.raises(NameLookupError):
            reading(name, size, outputs)
    with pytest.raises(DefinitionError, match="depends"):
        reading("a.rod2", 3, ["a.rod2"])


def test_longest_expression_of_a_model():
    def heavy(terms: int) -> sb.Mechanism:
        return (
            sb.Mechanism.builder("heavy")
            .body("a", mass="+".join(["1"] * terms))
            .joint("j", "prismatic", "world", "a")
            .done()
        )

    assert heavy(20_000).nq == 1  # 39 999 characters
    with pytest.raises(ModelError, match="40000"):
        heavy(20_001)


def test_augmented_equations_at_a_singular_position():
    flat = np.array([1, 1, 1, -1, -1]) * np.pi / 2
    forward = sb.forward_dynamics(sb.load("n_four_bar"), formulation="augmented").compile()
    with pytest.raises(SolveError):
        forward(flat, np.zeros(5), np.zeros(5))
    assert np.all(np.isnan(forward(np.stack([flat, flat]), np.zeros(5), np.zeros(5))))


def test_periods_begin_and_end_where_the_docstring_says():
    for name in ("triangle", "trapezoidal", "quarter_sine", "parabolic"):
        assert getattr(waveforms, name)(0.0, 1.0) == pytest.approx(0, abs=1e-12)
        assert getattr(waveforms, name)(1 - 1e-9, 1.0) == pytest.approx(0, abs=1e-7)
    assert (waveforms.square(0.0, 1.0), waveforms.square(0.9, 1.0)) == (1, 0)
    assert waveforms.sawtooth(0.0, 1.0) == 0
    assert waveforms.sawtooth(1 - 1e-9, 1.0) == pytest.approx(1)
