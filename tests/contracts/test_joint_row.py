"""Every kind of joint, by its row: sizes, words, files, motion, and the certificate of the reference."""

from __future__ import annotations

import numpy as np
import pytest

import symbody as sb
from symbody.model.record.joints import KINDS, coordinate_names

NAMES = list(KINDS)


def held_by(kind: str) -> sb.Mechanism:
    """A body on a joint of this kind, which carries a pendulum."""
    make = sb.Mechanism.builder(f"on_{kind}")
    more = {"pitch": 0.1} if kind in ("helical", "y") else {}
    make.body("first", mass=2.0, com=(0.1, -0.2, 0.3), inertia=(0.3, 0.4, 0.5))
    make.body("second", mass=1.0, com=(0.0, 0.1, -0.3), inertia=(0.02, 0.03, 0.04))
    make.joint("root", kind, "world", "first", position=(0.1, 0.2, 0.3), **more)
    return make.joint("swing", "revolute", "first", "second", position=(0.2, 0, 0), axis="y").done()


@pytest.mark.parametrize("kind", NAMES)
def test_sizes_and_words_agree(kind):
    mech = held_by(kind)
    joint = mech.joints[0]
    row = KINDS[kind]
    assert row.text
    assert mech.nq == row.nq(joint) + 1
    assert mech.nv == row.nv(joint) + 1
    assert len(coordinate_names(joint)) == row.nq(joint)


@pytest.mark.parametrize("kind", NAMES)
def test_a_file_keeps_it(kind, tmp_path):
    again = sb.load(sb.save(held_by(kind), tmp_path / "copy.yaml"))
    assert again.joints[0].kind == kind
    assert (again.nq, again.nv) == (held_by(kind).nq, held_by(kind).nv)


@pytest.mark.parametrize("kind", NAMES)
def test_energy_is_kept_in_free_motion(kind):
    """A fall from a start with all velocities: kinetic and potential energy exchange, their sum stays."""
    mech = held_by(kind)
    run = sb.simulate(mech, 0.5, qd0=np.linspace(-0.5, 0.7, mech.nv), formalism="base", rtol=1e-10, samples=11,
                      outputs=["energy", "kinetic"])  # fmt: skip
    assert run.outcome.ok
    assert np.ptp(run["energy"]) < 1e-8 * max(np.ptp(run["kinetic"]), 1.0)


@pytest.mark.parametrize("kind", [pytest.param(n, marks=pytest.mark.slow) for n in NAMES])
def test_its_programs_pass_the_certificate(kind):
    assert sb.verify(held_by(kind), states=2).passed


def test_an_unknown_kind_is_refused_with_those_that_exist():
    with pytest.raises(sb.SymbodyError, match="revolute"):
        held_by("revolut")
