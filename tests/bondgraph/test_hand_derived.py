"""Hand-derived equations of textbook graphs, as identities of formulas; numbers of Sueur's thesis (1990)."""

from __future__ import annotations

import numpy as np
import pytest

import symbody as sb
from symbody.bondgraph.graph.bond_graph import BondGraph
from symbody.mechanics.proof.prove import prove_equal

sympy = pytest.importorskip("sympy")


def same(matrix, rows) -> None:
    """A matrix of expressions equals hand-written formulas, entry by entry, as rational functions."""
    from symbody.codegen.interop.sympy_bridge import to_sympy

    ours = to_sympy(np.asarray(matrix, dtype=object))
    theirs = sympy.Matrix(rows).applyfunc(lambda x: sympy.sympify(str(x), locals=NAMES))
    assert ours.shape == theirs.shape
    assert (ours - theirs).applyfunc(sympy.cancel) == sympy.zeros(*ours.shape), (ours, theirs)


NAMES = {n: sympy.Symbol(n) for n in ("I", "C", "S", "N", "E", "Q", "R", "L", "C1", "C2", "C3", "n")}


def test_rlc():
    m = BondGraph.load("rlc").matrices()
    assert m.states == ("p_L", "q_C")
    same(m.A, [["-R/L", "-1/C"], ["1/L", 0]])
    same(m.B, [[1], [0]])
    same(m.C, [[0, "1/C"]])
    same(BondGraph.load("rlc").matrices(variables="coenergy").A, [["-R/L", "-1/L"], ["1/C", 0]])
    second = m.second_order()
    assert second.coordinates == ("f_L",)
    for matrix, formula in ((second.M, "L"), (second.R, "R"), (second.K, "1/C"), (second.B, "1"), (second.J, "0")):
        same(matrix, [[formula]])
    A, B = second.phase()
    same(A, [[0, 1], ["-1/(L*C)", "-R/L"]])
    same(B, [[0, 0], ["1/L", 0]])


def test_the_dual_second_order_form_is_that_of_the_charge_s_impulse():
    """C y'' + y/L ... of a parallel circuit: a current source, C, L and R at one node."""
    b = BondGraph.builder("parallel")
    b.element("i", "Sf")
    b.zero("n")
    b.element("C", "C"), b.element("L", "I"), b.element("R", "R")
    b.bonds("i -> n -> C", "n -> L", "n -> R")
    second = b.done().matrices().second_order("impulse")
    assert second.coordinates == ("e_C",)
    for matrix, formula in ((second.M, "C"), (second.R, "1/R"), (second.K, "1/L"), (second.B, "1"), (second.J, "0")):
        same(matrix, [[formula]])


def test_dc_motor():
    m = BondGraph.load("dc_motor").matrices()
    assert m.states == ("p_L", "p_J")
    assert m.inputs == ("u", "load")
    same(m.A, [["-R/L", "-K/J"], ["K/L", "-B/J"]])
    same(m.B, [[1, 0], [0, 1]])
    same(m.C, [[0, "1/J"], ["1/L", 0]])
    same(m.blocks()["A_pp"], [["-R/L", "-K/J"], ["K/L", "-B/J"]])
    assert m.blocks()["B_pe"].shape == (2, 2)
    transfer = m.transfer("u", "omega")
    numbers = transfer.compile("python").call_named()
    ss = m.numbers()
    s = 3.0 + 1.0j
    ours = np.polyval(numbers["numerator"], s) / np.polyval(numbers["denominator"], s)
    assert np.isclose(ours, (ss.C @ np.linalg.solve(s * np.eye(2) - ss.A, ss.B))[0, 0])


def test_two_inertias_through_a_rigid_gear_move_as_one():
    """(J1 + n^2 J2) w' = T - (d1 + n^2 d2) w: the second storage is in derivative causality."""
    graph = BondGraph.load("gear_train")
    assert graph.causality().derivative == ("J2",)
    m = graph.matrices()
    same(m.A, [["-(d1 + n**2*d2)/(J1 + n**2*J2)"]])
    same(m.B, [["J1/(J1 + n**2*J2)"]])
    same(m.C, [["n/J1"]])
    other = graph.matrices(first=["J2"])
    assert other.states == ("p_J2",)
    assert np.allclose(other.numbers().poles, m.numbers().poles)
    second = m.second_order()
    same(second.M, [["J1 + n**2*J2"]])
    same(second.R, [["d1 + n**2*d2"]])
    same(second.B, [[1]])


def test_r_r_loop_of_the_thesis():
    """E4: two capacitors behind R1 and R2 on a node with R3 to ground: an algebraic loop of resistors."""
    b = BondGraph.builder("loop")
    b.zero("node")
    b.one("a", "b")
    b.element("C1", "C"), b.element("C2", "C")
    b.element("R1", "R"), b.element("R2", "R"), b.element("R3", "R")
    b.bonds("node -> a -> C1", "a -> R1", "node -> b -> C2", "b -> R2", "node -> R3")
    m = b.done().matrices()
    below = "(R3*(R1 + R2) + R1*R2)"
    # power is counted into both branches, so that R3 couples them with the sign opposite to the thesis
    rows = [[f"-(R2 + R3)/({below}*C1)", f"R3/({below}*C2)"], [f"R3/({below}*C1)", f"-(R1 + R3)/({below}*C2)"]]
    same(m.A, rows)
    R, C, eps = 2.0, 0.5, 0.125
    poles = m.numbers({"R1": eps * R, "R2": eps * R, "R3": R, "C1": C, "C2": C}).poles
    assert np.allclose(sorted(poles), sorted([-1 / ((2 + eps) * R * C), -1 / (eps * R * C)]), rtol=1e-12)


def test_rc_ladder_with_the_printed_eigenvalues():
    """Section 4.3 and table III.1.1, full system."""
    m = BondGraph.load("rc_ladder").matrices()
    rows = [["-1/(R1*C1)", "1/(R1*C2)", 0],
            ["1/(R1*C1)", "-(1/R1 + 1/R2)/C2", "1/(R2*C3)"],
            [0, "1/(R2*C2)", "-(1/R2 + 1/R3)/C3"]]  # fmt: skip
    same(m.A, rows)
    same(m.B, np.eye(3, dtype=int).tolist())
    assert np.allclose(sorted(m.numbers().poles), [-3.0173, -1.0512, -0.0315], atol=5e-5)
    assert np.allclose(sorted(m.numbers({"C1": 1.0}).poles), [-3.2470, -1.5550, -0.1981], atol=5e-5)


def test_mechanical_chain_with_its_frequencies():
    """(III.2.17), and the frequencies 0.70129001 and 3.96965897 rad/s."""
    m = BondGraph.load("mass_chain").matrices()
    order = [m.states.index(n) for n in ("p_I1", "p_I2", "q_C1", "q_C2", "q_C3")]
    rows = [[0, 0, "1/C1", 0, "-1/C3"], [0, 0, 0, "-1/C2", "1/C3"], ["-1/I1", 0, 0, 0, 0], [0, "1/I2", 0, 0, 0],
            ["1/I1", "-1/I2", 0, 0, 0]]  # fmt: skip
    same(m.A[np.ix_(order, order)], rows)
    same(m.B[order], [[0], [0], [1], [0], [0]])
    found = np.sort(np.abs(m.numbers().poles.imag))[[1, 3]]
    assert np.allclose(found, [0.70129001, 3.96965897], atol=5e-9)


def test_hydraulic_tanks_and_a_heated_house():
    m = BondGraph.load("three_tanks").matrices()
    c = [f"(T{k}_A/(T{k}_rho*T{k}_g))" for k in (1, 2, 3)]
    same(m.A, [[f"-1/(P12_R*{c[0]})", f"1/(P12_R*{c[1]})", 0],
               [f"1/(P12_R*{c[0]})", f"-(1/P12_R + 1/P23_R)/{c[1]}", f"1/(P23_R*{c[2]})"],
               [0, f"1/(P23_R*{c[1]})", f"-(1/P23_R + 1/out_R)/{c[2]}"]])  # fmt: skip
    house = BondGraph.load("heated_house").matrices()
    same(house.A, [["-(1/R_in + 1/R_win)/air", "1/(R_in*mass)"], ["1/(R_in*air)", "-(1/R_in + 1/R_out)/mass"]])
    same(house.B, [[1, "1/R_win"], [0, "1/R_out"]])


def test_a_source_that_drives_a_dependent_storage_has_its_derivative_removed():
    """Two masses whose velocities differ by that of the source: m1 v1' + m2 (v1' + u') = F - R v1."""
    c = BondGraph.builder("lever")
    c.element("u", "Sf"), c.zero("z"), c.one("a", "d")
    c.element("m1", "I"), c.element("m2", "I"), c.element("R", "R"), c.element("F", "Se")
    c.bonds("u -> z", "F -> a -> z", "a -> m1", "z -> d -> m2", "a -> R")
    c.element("y", "Df", on="m2")
    graph = c.done()
    assert graph.causality().derivative == ("m2",)
    m = graph.matrices()
    same(m.A, [["-R/(m1 + m2)"]])
    assert list(m.shift) == ["p_m1"]
    s = 0.7 + 0.2j
    n = {"m1": 2.0, "m2": 3.0, "R": 0.5}
    ss = m.numbers(n)
    ours = ss.C @ np.linalg.solve(s * np.eye(1) - ss.A, ss.B) + ss.D
    v1 = np.array([-n["m2"] * s, 1.0]) / ((n["m1"] + n["m2"]) * s + n["R"])
    assert np.allclose(ours, v1 + np.array([1, 0]))
    assert "removes rates of sources" in next(iter(graph.system().origins.values()))


def test_the_structural_example_of_the_thesis_has_its_equations():
    """Section 4.2 with signs restored."""
    m = BondGraph.load("four_inertias").matrices()
    rows = [[0, 0, 0, 0, 0, "-a/C2"], [0, 0, 0, 0, "-b/C1", 0], [0, 0, 0, 0, "1/(c*C1)", "(a - 1)/(c*C2)"],
            [0, 0, 0, 0, 0, "1/C2"], [0, "b/I2", "-1/(c*I3)", 0, 0, 0],
            ["a/I1", 0, "-(a - 1)/(c*I3)", "-1/I4", 0, 0]]  # fmt: skip
    same(m.A, rows)


def test_the_system_has_the_matrices_as_its_jacobian():
    """The program that runs and the matrices come from one writing, by two ways: proved equal."""
    from symbody.studies.linear.linear_system import jacobian_matrices

    for name in ("dc_motor", "gear_train", "quarter_car", "robot_joint"):
        graph = BondGraph.load(name)
        m, made = graph.matrices(), jacobian_matrices(graph.system())
        for letter, ours in (("A", m.A), ("B", m.B), ("C", m.C)):
            left = sb.System("left", {}, {"x": ours})
            right = sb.System("right", {}, {"x": made[letter]})
            assert prove_equal(left, right).proved, (name, letter)
