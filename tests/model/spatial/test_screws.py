"""Screws and displacements against the exponential of 4 x 4 matrices and against what the field of a screw means."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

import symbody as sb
from symbody.basics.errors import ExpressionError
from symbody.model.spatial import displacement as dis
from symbody.model.spatial import screws as sc
from symbody.model.spatial.dual import Dual, join, parts
from symbody.model.spatial.rotations import exponential
from symbody.symbolic.expr.arrays import skew

rng = np.random.default_rng(11)


def random_screw():
    return sc.screw(rng.normal(size=3), rng.normal(size=3))


def random_displacement():
    return dis.exponential_of(random_screw())


def same(a, b, atol=1e-13):
    np.testing.assert_allclose(np.asarray(a, float), np.asarray(b, float), atol=atol)


def same_screw(x, y, atol=1e-13):
    same(x.resultant, y.resultant, atol)
    same(x.moment, y.moment, atol)


def homogeneous(d):
    out = np.eye(4)
    out[:3, :3], out[:3, 3] = d.rotation, d.translation
    return out


def generator(x):
    out = np.zeros((4, 4))
    out[:3, :3], out[:3, 3] = skew(x.resultant), x.moment
    return out


@pytest.mark.parametrize("size", [3.0, 0.4, 1e-3, 1e-9])
def test_exponential_of_a_screw_is_the_matrix_exponential(size):
    x = sc.screw(size * rng.normal(size=3), rng.normal(size=3))
    same(homogeneous(dis.exponential_of(x)), scipy.linalg.expm(generator(x)))


def test_exponential_of_a_couple_is_a_translation():
    d = dis.exponential_of(sc.couple([0.3, -1, 2]))
    same(d.rotation, np.eye(3))
    same(d.translation, [0.3, -1, 2])


@pytest.mark.parametrize("couple", [False, True])
def test_dual_rodrigues_formula_gives_the_adjoint_of_the_exponential(couple):
    """One formula over dual numbers, also for couples, against the 4 x 4 exponential (MEDUSA A2)."""
    x = sc.couple(rng.normal(size=3)) if couple else random_screw()
    m = scipy.linalg.expm(generator(x))
    re, du = parts(exponential(join(x.resultant, x.moment)))
    same(re, m[:3, :3])
    same(du, skew(m[:3, 3]).astype(float) @ m[:3, :3])


def test_klein_form_and_bracket_do_not_depend_on_the_frame():
    x, y, d = random_screw(), random_screw(), random_displacement()
    assert sc.klein(dis.move(d, x), dis.move(d, y)) == pytest.approx(sc.klein(x, y), abs=1e-12)
    same_screw(sc.bracket(dis.move(d, x), dis.move(d, y)), dis.move(d, sc.bracket(x, y)), 1e-12)


def test_bracket_is_the_commutator_of_generators():
    x, y = random_screw(), random_screw()
    commutator = generator(x) @ generator(y) - generator(y) @ generator(x)
    same(generator(sc.bracket(x, y)), commutator)


def test_klein_form_of_coplanar_lines_vanishes():
    common = rng.normal(size=3)
    lines = [sc.slider(rng.normal(size=3), common) for _ in range(2)]
    assert sc.klein(*lines) == pytest.approx(0, abs=1e-12)
    parallel = [sc.slider([0, 0.6, 0.8], rng.normal(size=3)) for _ in range(2)]
    assert sc.klein(*parallel) == pytest.approx(0, abs=1e-12)


def test_klein_form_of_a_twist_and_a_wrench_is_power():
    """A force at a point works with the velocity of that point."""
    twist, point, force = random_screw(), rng.normal(size=3), rng.normal(size=3)
    wrench = sc.screw(force, np.cross(point, force))
    assert sc.klein(twist, wrench) == pytest.approx(float(force @ (twist.moment + np.cross(twist.resultant, point))))


def test_adjoint_is_a_representation():
    d, e, x = random_displacement(), random_displacement(), random_screw()
    same_screw(dis.move(dis.compose(d, e), x), dis.move(d, dis.move(e, x)), 1e-12)
    same_screw(dis.move_back(d, dis.move(d, x)), x, 1e-12)
    same(homogeneous(dis.compose(d, dis.inverse(d))), np.eye(4))


def test_columns_of_the_adjoint_are_the_axes_of_the_frame():
    """ξ(M) = i x OM: the axes of a moved frame as sliders (MEDUSA, eqs. 2.13, 3.11)."""
    d = random_displacement()
    for k in range(3):
        axis = sc.slider(np.asarray(d.rotation)[:, k], d.translation)
        same_screw(sc.Screw(*parts(dis.adjoint(d)[:, k])), axis)


def test_cylindrical_motion_is_the_exponential_of_a_dual_multiple():
    zeta = sc.slider([0, 0, 1], [0, 0, 0])
    d = dis.about("z", 0.7, 0.2)
    same(homogeneous(d), scipy.linalg.expm(generator(zeta.scaled(Dual(0.7, 0.2)))))


def test_nodes_and_floats_agree():
    with sb.Graph():
        names = sb.symbols("a b c d e f")
        d = dis.exponential_of(sc.screw(names[:3], names[3:]))
        for scale in (1.0, 0.1):
            values = scale * rng.normal(size=6)
            found = sb.evaluate([*d.rotation.flat, *d.translation], dict(zip("abcdef", values)))
            m = scipy.linalg.expm(generator(sc.screw(values[:3], values[3:])))
            same(found, [*m[:3, :3].flat, *m[:3, 3]])


def test_couples_have_no_pitch():
    with pytest.raises(ExpressionError, match="pitch"):
        sc.pitch(sc.couple([1, 0, 0]))


def test_pitch_of_a_slider_is_what_it_was_given():
    assert sc.pitch(sc.slider([0.6, 0, 0.8], [1, 2, 3], 0.25)) == pytest.approx(0.25)
    assert sc.magnitude(sc.slider([0.6, 0, 0.8], [1, 2, 3])) == pytest.approx(1.0)
