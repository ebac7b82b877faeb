"""The same motion at every size: what counts as closed is a share of the mechanism's lengths."""

import numpy as np
import pytest

import symbody as sb

LENGTHS = [1.0, 1e-3, 1e-6, 1e-9, 1e3, 1e6]


def _rod(b, name, parent, length, mass, at=(0, 0, 0)):
    inertia = mass * length**2 / 12
    b.body(name, mass=mass, com=[length / 2, 0, 0], inertia=[0, inertia, inertia], frames={"end": [length, 0, 0]})
    b.joint(f"at_{name}", "revolute", parent, name, position=list(at))


def _slider_crank(size, mass):
    b = sb.Mechanism.builder("slider", gravity=(0, -9.81 * size, 0))
    _rod(b, "crank", "world", 0.3 * size, mass)
    _rod(b, "rod", "crank", 0.9 * size, mass, (0.3 * size, 0, 0))
    b.body("piston", mass=mass).joint("slide", "prismatic", "world", "piston", axis="x")
    return b.cut("pin", "ball", "rod.end", "piston").done(), [1.0, -1.3, size], [1, 1, size]


def _four_bar(size, mass):
    b = sb.Mechanism.builder("four_bar", gravity=(0, -9.81 * size, 0))
    _rod(b, "crank", "world", 0.3 * size, mass)
    _rod(b, "coupler", "crank", 0.9 * size, mass, (0.3 * size, 0, 0))
    _rod(b, "rocker", "world", 0.8 * size, mass, (size, 0, 0))
    return b.cut("pin", "ball", "coupler.end", "rocker.end").done(), [1.0, 0.3, 2.0], [1, 1, 1]


@pytest.mark.parametrize("make", [_slider_crank, _four_bar])
def test_a_mechanism_moves_alike_at_every_size(make):
    motions = []
    for size in LENGTHS:
        mech, guess, unit = make(size, size**3)
        q0 = sb.assemble(mech, guess, fixed=["at_crank"])
        motion = sb.simulate(mech, 0.5, 1e-3, q0, {"at_crank": 5})
        motions.append(motion.q / unit)
    assert np.ptp(motions[0][:, 0]) > 1
    for size, motion in zip(LENGTHS, motions, strict=True):
        assert np.allclose(motion, motions[0], rtol=0, atol=1e-10), size


@pytest.mark.parametrize("size", [1e-3, 1e3])
def test_mechanisms_of_millimetres_and_of_numbers_in_millimetres_are_certified(size):
    certificate = sb.verify(_slider_crank(size, size**3)[0])
    assert certificate.passed, certificate


def test_a_gap_that_is_large_beside_a_small_mechanism_is_refused():
    mech, guess, _ = _four_bar(1e-6, 1e-18)
    b = sb.Mechanism.builder("open", gravity=(0, 0, 0))
    for name, place in (("a", 0.0), ("b", 3e-6)):
        _rod(b, name, "world", 1e-6, 1e-18, (place, 0, 0))
    with pytest.raises(sb.errors.SolveError, match="cannot be assembled"):
        sb.assemble(b.cut("pin", "ball", "a.end", "b.end").done())
    q = sb.assemble(mech, guess)
    closed = sb.closure(mech, partition=["at_crank"]).compile()(q, [1.0, 0, 0])[0]
    assert np.allclose(closed, q, rtol=0, atol=1e-12)
