"""sb.equations: what a textbook prints, equal to the generated programs, or a sentence."""

from __future__ import annotations

import time

import numpy as np
import pytest

import symbody as sb
from mechanics.formalisms.patterns import random_state, random_tree
from symbody.basics.errors import ModelError
from symbody.mechanics.assembly.numeric import Numeric
from symbody.mechanics.memoised.model_memory import derived_of

PENDULUM = """pendulum2: M(q) qdd + C(q, qd) qd + g(q) = tau
  q1 joint1, q2 joint2
  g = 9.81 m/s^2

M11 = m1*l1^2/3 + m2*(l1^2 + l2^2/3) + m2*l1*l2*cos(q2)
M12 = M21 = m2*l2^2/3 + m2*l1*l2*cos(q2)/2
M22 = m2*l2^2/3

C11 = -m2*l1*l2*sin(q2)*qd2/2
C12 = -m2*l1*l2*sin(q2)*(qd1 + qd2)/2
C21 = m2*l1*l2*sin(q2)*qd1/2
other entries of C are zero

g1 = (m1/2 + m2)*l1*g*sin(q1) + m2*l2*g*sin(q1 + q2)/2
g2 = m2*l2*g*sin(q1 + q2)/2"""


def planar_arm():
    """Three links with centres of mass, inertias and lengths of their own, as every robotics textbook has it."""
    b = sb.Mechanism.builder("arm3", gravity=(0, -9.81, 0))
    parent, place = "world", 0
    for k in (1, 2, 3):
        m, l, c, inertia = (
            b.parameter(f"{n}{k}", v, unit=u)
            for n, v, u in zip(("m", "l", "r", "I"), (2, 0.7, 0.3, 0.1), ("kg", "m", "m", "kg m^2"))
        )
        b.body(f"link{k}", m, (c, 0, 0), (0, 0, inertia))
        b.joint(f"j{k}", "revolute", parent, f"link{k}", position=(place, 0, 0), axis="z")
        parent, place = f"link{k}", l
    return b.done()


def spatial_arm():
    b = sb.Mechanism.builder("turret")
    b.body("base", 3, (0, 0, 0.1), (0.1, 0.1, 0.2))
    m, l = b.parameter("m", 2.0, unit="kg"), b.parameter("l", 0.5, unit="m")
    b.body("barrel", m, (l / 2, 0, 0), (0.01, 0.05, 0.06))
    b.joint("turn", "revolute", "world", "base", axis="z", viscous=0.3)
    b.joint("raise", "revolute", "base", "barrel", position=(0, 0, 0.3), axis="y", stiffness=5, rest=0.2)
    b.joint("recoil", "prismatic", "barrel", "tube", axis="x")
    b.body("tube", 1.0, (0.1, 0, 0), (0.01, 0.01, 0.01))
    b.force("spring", "spring_damper", [("tube", ""), ("base", "")], stiffness=100.0, damping=2.0, length=0.4)
    return b.done()


MODELS = {
    name: (lambda name=name: sb.load(name))
    for name in ("pendulum2", "pendulum3", "four_bar", "slider_crank", "three_loops")
}
MODELS |= {"planar 3R": planar_arm, "spatial": spatial_arm, "tree": lambda: random_tree(3, 2)}


def agree(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12 * max(1.0, np.abs(expected).max()))


def test_double_pendulum_is_what_a_textbook_prints():
    assert str(sb.equations(sb.load("pendulum2"))) == PENDULUM


@pytest.mark.parametrize("name", MODELS)
def test_written_equations_equal_the_generated_programs(name):
    mech = MODELS[name]()
    equations = sb.equations(mech)
    system = equations.system()
    kernel = system.compile()
    program = sb.semi_explicit(mech, formalism="newton_euler", loops=False)
    expected = program.compile()
    for seed in range(3):
        q, qd, _ = random_state(mech, seed)
        found = kernel(**{n: {"q": q, "qd": qd}.get(n, 0.3) for n in system.inputs})
        tree = expected(**{n: {"q": q, "qd": qd}.get(n, 0.3) for n in program.inputs})
        agree(found.M, tree.M)
        agree(found.C @ qd + found.g + getattr(found, "d", 0.0), tree.c)
        if mech.cuts:
            numeric = Numeric(derived_of(mech).constraints())
            agree(found.h, numeric.h(q))
            agree(found.J, numeric.J(q))


@pytest.mark.parametrize("name", ["pendulum3", "planar 3R", "four_bar", "slider_crank"])
def test_small_mechanisms_fit_on_a_page(name):
    lines = str(sb.equations(MODELS[name]())).splitlines()
    assert len(lines) <= 60
    assert max(map(len, lines)) <= 110


def test_sums_of_angles_are_found_and_parameters_collected():
    text = str(sb.equations(planar_arm()))
    assert "cos(q1 + q2 + q3)" in text
    assert "sin(q2 + q3)*(qd1 + qd2 + qd3)" in text
    assert "g3 = m3*r3*g*cos(q1 + q2 + q3)" in text


def test_products_of_cosines_stay_products():
    """A turret's M11 holds cos(q2)^2, not cos(2 q2)."""
    text = str(sb.equations(spatial_arm()))
    assert "cos(q2)^2" in text
    assert "cos(2*q2)" not in text.split("C11")[0]
    assert "d1 = 0.3*qd1" in text


def test_sums_of_parameters_that_occur_often_have_a_name():
    b = sb.Mechanism.builder("masses")
    names = [b.parameter(f"m{k}", 1.0, unit="kg") for k in range(1, 6)]
    total = sum(names[1:], names[0])
    b.joint("x", "prismatic", "world", "cart", axis="x").joint("t", "revolute", "cart", "arm", axis="y")
    b.body("cart", names[0], (0, 0, 0), (0, 0, 0))
    b.body("arm", total, (1, 0, 0), (0, 0, 0))
    equations = sb.equations(b.done())
    assert [g.name for g in equations.groups] == ["a1"]
    assert "a1 = m1 + m2 + m3 + m4 + m5" in str(equations)
    assert "M12 = M21 = -a1*sin(q2)" in str(equations)


def test_latex_and_sympy_say_the_same():
    sympy = pytest.importorskip("sympy")
    equations = sb.equations(sb.load("pendulum2"))
    assert (
        r"M_{12} & = \frac{m_{2}\,l_{2}^{2}}{3} + \frac{m_{2}\,l_{1}\,l_{2}\,\cos\left(q_{2}\right)}{2}"
        in equations.latex()
    )
    matrices = equations.sympy()
    m2, l1, l2, q2, qd1, qd2 = sympy.symbols("m2 l1 l2 q2 qd1 qd2")
    expected = -m2 * l1 * l2 * sympy.sin(q2) * (qd1 + qd2) / 2
    assert sympy.simplify(matrices["C"][0, 1] - expected) == 0
    assert equations._repr_latex_().startswith("$$")


def test_large_robots_are_refused_with_a_sentence():
    with pytest.raises(ModelError, match="the equations of puma560 are too long to be read"):
        sb.equations(sb.load("puma560"))
    with pytest.raises(ModelError, match="more than 100"):
        sb.equations(sb.load("pendulum2"), longest=100)


def test_what_is_too_long_is_refused_before_it_is_written():
    """The text of a tyre's law as a tree has more than 2e7 characters: it is not made."""
    b = sb.Mechanism.builder("wheel")
    for k, (kind, axis) in enumerate((("prismatic", "x"), ("revolute", "y"), ("revolute", "z"))):
        b.body(f"b{k}", mass="auto", inertia=["auto"] * 3)
        b.joint(f"j{k}", kind, "world" if k == 0 else f"b{k - 1}", f"b{k}", axis=axis)
    b.force("tyre", "tyre", ["b2"], law="magic_formula", tyre="car", radius=0.3, stiffness=1e5, damping=10)
    began = time.process_time()
    with pytest.raises(ModelError, match="more than 12000 characters"):
        sb.equations(b.done())
    assert time.process_time() - began < 20


@pytest.mark.parametrize("name", ["pendulum2", "pendulum3", "slider_crank", "four_bar"])
def test_the_bound_that_refuses_is_below_the_text(name):
    """Texts of exactly the length that is allowed are written, roots of springs among them."""
    mech = sb.load(name)
    size = len(sb.equations(mech).text())
    assert len(sb.equations(sb.load(name), longest=size).text()) == size
    with pytest.raises(ModelError, match="characters"):
        sb.equations(sb.load(name), longest=size - 1)


def test_roots_count_as_they_are_written():
    b = sb.Mechanism.builder("hung")
    b.body("a", mass=2, com=[0.1, 0, 0], inertia=[0.1, 0.1, 0.1], frames={"eye": [0.4, 0, 0]})
    b.joint("j", "revolute", "world", "a", axis="y")
    b.force("f", "spring_damper", [("a", "eye"), "world"], stiffness=20, damping=0.3, length=0.2)
    size = len(sb.equations(b.done()).text())
    assert len(sb.equations(b.done(), longest=size).text()) == size
