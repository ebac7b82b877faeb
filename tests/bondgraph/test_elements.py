"""Elements and their laws: nonlinear ones, fields, multibonds, sub-models, switches, signals, inverse models."""

from __future__ import annotations

import numpy as np
import pytest

import symbody as sb
from symbody.basics.errors import ModelError
from symbody.bondgraph.causality.switching import causality_by_mode
from symbody.bondgraph.graph.bond_graph import BondGraph
from symbody.bondgraph.graph.parts import PARTS, part_graph


def test_duffing_s_oscillator_keeps_its_energy():
    b = BondGraph.builder("duffing")
    b.one("v"), b.element("m", "I", 2.0), b.element("k", "C", law="3*q + 5*q^3"), b.bonds("v -> m", "v -> k")
    motion = sb.simulate(b.done().system(), 4.0, states0={"q_k": 0.7}, rtol=1e-11)
    p, q = motion["p_m"], motion["q_k"]
    energy = p**2 / 4 + 1.5 * q**2 + 1.25 * q**4
    assert np.ptp(energy) < 1e-8 * energy[0]


def test_a_nonlinear_algebraic_loop_is_an_implicit_block():
    """Source, resistor and diode: Kirchhoff's law at the node holds to rounding."""
    b = BondGraph.builder("clip")
    b.element("u", "Se"), b.one("i"), b.element("R", "R", 100.0), b.zero("n"), b.part("D", "diode")
    b.element("L", "R", 1e4), b.bonds("u -> i -> R", "i -> n -> D", "n -> L"), b.element("v", "De", on="n")
    kernel = b.done().system().compile()
    for u in (0.05, 0.4, 1.0, 5.0):
        v = float(kernel(u))
        assert (u - v) / 100 - 1e-12 * (np.exp(v / 0.02585) - 1) - v / 1e4 == pytest.approx(0, abs=1e-13)


def test_a_law_is_inverted_where_causality_asks_for_it():
    """Friction written as force of speed, in a place where the force is given: f of e by iteration."""
    b = BondGraph.builder("creep")
    b.element("F", "Se"), b.element("d", "R", law="2*f + f^3"), b.bonds("F -> d")
    kernel = b.done().system(outputs=["f.d"]).compile()
    for force in (-3.0, 0.5, 12.0):
        v = float(kernel(force))
        assert 2 * v + v**3 == pytest.approx(force, abs=1e-10)


def test_a_dependent_storage_with_a_nonlinear_law():
    """Two bodies on one shaft, one with p = v + v^3: (m + 1 + 3 v^2) v' = F."""
    b = BondGraph.builder("pair")
    (
        b.element("F", "Se"),
        b.one("v"),
        b.element("m", "I", 2.0),
        b.element("n", "I", law="asinh(p)"),
        b.bonds("F -> v -> m", "v -> n"),
    )
    graph = b.done()
    assert graph.causality().derivative == ("n",)
    kernel = graph.system().compile()
    p, force = 0.8, 1.5
    v = p / 2
    assert float(kernel(p, force)) == pytest.approx(2 * force / (2 + np.cosh(v)), rel=1e-10)


def test_a_field_of_two_inertias_and_vector_bonds():
    """M v' = F - K q with a full matrix M on a bond of dimension 2."""
    b = BondGraph.builder("field")
    for n, v in (("m1", 2.0), ("mc", 0.3), ("m2", 1.0)):
        b.parameter(n, v)
    b.element("F", "Se"), b.one("v"), b.element("M", "I", [["m1", "mc"], ["mc", "m2"]]), b.element("K", "C", 0.5)
    b.bond("F", "v", 2), b.bond("v", "M", 2), b.bond("v", "K", 2)
    m = b.done().matrices().numbers()
    M = np.array([[2, 0.3], [0.3, 1]])
    assert np.allclose(m.A, np.block([[np.zeros((2, 2)), -np.eye(2) / 0.5], [np.linalg.inv(M), np.zeros((2, 2))]]))
    assert m.inputs == ("F_1", "F_2")


def test_a_field_that_is_integral_on_one_bond_and_derivative_on_the_other():
    """Coupled coils, the current of the first given: d/dt (M i) with i1 = s."""
    b = BondGraph.builder("coils")
    for n, v in (("m1", 2.0), ("mc", 0.3), ("m2", 1.0)):
        b.parameter(n, v)
    b.element("i1", "Sf"), b.one("a", "c"), b.element("M", "I", [["m1", "mc"], ["mc", "m2"]]), b.element("R", "R", 0.7)
    b.element("u", "Se"), b.bonds("i1 -> a -> M", "u -> c -> M", "c -> R"), b.element("y", "Df", on="c")
    graph = b.done()
    assert graph.causality().derivative == ("M_1",)
    m = graph.matrices().numbers()
    s = 0.4 + 1.1j
    ours = m.C @ np.linalg.solve(s * np.eye(1) - m.A, m.B) + m.at_once(s)
    # s (mc i1 + m2 i2) = u - R i2
    assert np.allclose(ours, np.array([[-s * 0.3, 1]]) / (s * 1.0 + 0.7))


def test_a_matrix_transformer():
    """A mass seen through f2 = T f1: T^t m T on two inertias."""
    b = BondGraph.builder("modal")
    b.parameter("r", 0.5), b.one("v"), b.element("F", "Se"), b.element("M", "I", 2.0), b.element("T", "TF", [[1, "r"]])
    b.one("w"), b.element("k", "C", 0.1)
    b.bond("F", "v", 2), b.bond("v", "M", 2), b.bond("v", "T", 2), b.bonds("T -> w -> k")
    m = b.done().matrices().numbers()
    T = np.array([[1, 0.5]])
    assert np.allclose(m.A, np.block([[np.zeros((2, 2)), -T.T / 0.1], [T / 2.0, np.zeros((1, 1))]]))


def test_a_modulated_transformer_with_a_signal():
    """Slider-crank: the slider's velocity is -r sin(angle) times the speed; energy is kept, with the mass dependent."""
    b = BondGraph.builder("crank")
    b.parameter("r", 0.2), b.one("crank", "slider"), b.element("J", "I", 0.05), b.element("m", "I", 1.5)
    b.element("T", "TF", "-r*sin(angle)"), b.bonds("crank -> J", "crank -> T -> slider -> m")
    b.element("w", "Df", on="crank"), b.integral("angle", "w", "rad")
    graph = b.done()
    assert graph.causality().derivative == ("m",)
    motion = sb.simulate(graph.system(outputs=["energy"]), 3.0, states0={"p_J": 0.05, "angle": 0.4}, rtol=1e-11)
    assert np.ptp(motion["angle"]) > 1
    assert np.ptp(motion["energy"]) < 1e-8 * motion["energy"][0]


def test_a_feedback_by_signals():
    """A modulated source u = -k v stabilises as a resistor would."""
    b = BondGraph.builder("feedback")
    b.one("v"), b.element("m", "I", 2.0), b.element("u", "Se", "-3*speed"), b.element("speed", "Df", on="v")
    b.bonds("u -> v -> m")
    assert pytest.approx(-1.5) == b.done().matrices().numbers().A


def amplifier(gain: str) -> BondGraph:
    """An operational amplifier with two resistors: out = -gain of the voltage at its input, fed back at once."""
    b = BondGraph.builder("amplifier")
    b.element("u", "Se"), b.element("out", "Se", gain), b.one("i", "j"), b.zero("n")
    b.element("R1", "R", 1e3), b.element("R2", "R", 1e4), b.element("C", "C", 1e-6), b.zero("o")
    b.element("Rl", "R", 50.0), b.one("l")
    b.bonds("u -> i -> R1", "i -> n -> j -> R2", "j -> o", "out -> o -> l -> Rl", "l -> C")
    b.element("v", "De", on="n"), b.element("y", "De", on="o")
    return b.done()


def test_signals_that_feed_each_other_at_once_are_solved_together():
    """An inverting amplifier has the gain -R2/R1 / (1 + (1 + R2/R1)/A); of one that saturates Kirchhoff's law holds."""
    graph = amplifier("-1e5*v")
    m = graph.matrices().numbers()
    assert m.D[m.outputs.index("y"), 0] == pytest.approx(-10 / (1 + 11 / 1e5), rel=1e-12)
    assert not graph.analysis().disagreements
    kernel = amplifier("-15*tanh(1e2*v)").system().compile()
    for u in (0.01, 0.5, -3.0):
        found = kernel.call_named(0.0, u)
        v, y = float(found["v"]), float(found["y"])
        assert y == pytest.approx(-15 * np.tanh(1e2 * v), rel=1e-9)
        assert (u - v) / 1e3 == pytest.approx((v - y) / 1e4, abs=1e-12)
    b = BondGraph.builder("ring")
    b.element("u", "Se", "y"), b.one("i"), b.element("R", "R", 2.0), b.element("L", "R", 1.0)
    b.bonds("u -> i -> R", "i -> L"), b.element("w", "Se"), b.bond("w", "i"), b.element("y", "De", on="R")
    graph = b.done()
    assert pytest.approx(2.0) == graph.matrices().numbers().D  # e_R (1 + L/R - 1) = w
    b = BondGraph.builder("gain_one")
    (
        b.element("u", "Se", "y"),
        b.one("i"),
        b.element("R", "R", 2.0),
        b.bonds("u -> i -> R"),
        b.element("y", "De", on="R"),
    )
    with pytest.raises(ModelError, match="the signal loop of y cannot be solved: its gain is 1"):
        b.done().system()


def switched() -> BondGraph:
    b = BondGraph.builder("switched")
    b.element("u", "Se"), b.one("i"), b.element("L", "I", 0.1), b.element("S", "Sw"), b.zero("n")
    b.element("R", "R", 4.0), b.element("C", "C", 0.01)
    b.bonds("u -> i -> L", "i -> n -> C", "n -> R", "n -> S")
    return b.done()


def test_a_switch_changes_causality_from_mode_to_mode():
    found = {modes["S"]: c for modes, c in causality_by_mode(switched())}
    assert found[False].integral == ("L", "C")
    assert found[True].derivative == ("C",)  # shorted


def test_a_switched_resistor_by_a_parameter_and_by_a_condition():
    b = BondGraph.builder("branch")
    b.element("u", "Se"), b.one("i", "k"), b.element("L", "I", 0.5), b.zero("n"), b.element("R1", "R", 2.0)
    b.element("S", "Sw"), b.element("R2", "R", 3.0)
    b.bonds("u -> i -> L", "i -> n -> R1", "n -> k -> R2", "k -> S")
    system = b.done().system()
    p, u = 0.25, 7.0
    rates = [float(system.compile()(p, u, parameters={"s_S": on})) for on in (1.0, 0.0)]
    current = p / 0.5
    assert np.allclose(rates, [u - current * 2 * 3 / 5, u - current * 2])


def test_an_inductor_keeps_its_current_where_a_condition_switches():
    b = BondGraph.builder("timer")
    b.element("u", "Se"), b.one("i", "k"), b.element("L", "I", 0.5), b.zero("n"), b.element("R1", "R", 2.0)
    b.element("S", "Sw", "t > 0.3"), b.element("R2", "R", 3.0)
    b.bonds("u -> i -> L", "i -> n -> R1", "n -> k -> R2", "k -> S")
    motion = sb.simulate(b.done().system(), 0.6, states0={"p_L": 1.0}, rtol=1e-10, samples=[0.0, 0.3, 0.6])
    first = np.exp(-2 / 0.5 * 0.3)
    assert np.allclose(motion["p_L"], [1, first, first * np.exp(-1.2 / 0.5 * 0.3)], rtol=1e-7)


def test_sub_models_by_ports():
    """A motor as a part, and the same graph written out, have the same matrices."""
    b = BondGraph.builder("drive")
    (
        b.element("u", "Se"),
        b.part("m", "dc_motor", R=1.2, L=2e-3, K=0.06, J=6e-5, B=2e-5),
        b.one("w"),
        b.element("load", "Se"),
    )
    b.bonds("u -> m.electric", "m.shaft -> w", "load -> w"), b.element("omega", "Df", on="w")
    ours, theirs = b.done().matrices().numbers(), BondGraph.load("dc_motor").matrices().numbers()
    assert np.allclose(ours.A, theirs.A)
    assert np.allclose(ours.B, theirs.B)
    motor, _ = part_graph("dc_motor", PARTS["dc_motor"].example)
    assert [(p.name, p.domain, p.into) for p in motor.ports] == [
        ("electric", "electrical", True), ("shaft", "rotation", False),
    ]  # fmt: skip
    with pytest.raises(ModelError, match="open port 'electric'"):
        motor.system()
    closed = motor.with_ports({"electric": "effort", "shaft": "flow"})
    system = closed.system(outputs=["f.electric", "e.shaft"])
    assert "electric" in system.inputs
    assert "shaft" in system.inputs


def test_inverse_model_gives_back_the_input():
    """dc_motor with one source: what voltage makes this speed? The inverse, fed with its second derivative, says so."""
    b = BondGraph.builder("motor")
    b.element("u", "Se"), b.part("m", "dc_motor", R=1.2, L=0.02, K=0.06, J=6e-4, B=2e-4), b.one("w")
    b.bonds("u -> m.electric", "m.shaft -> w", "w -> d"), b.element("d", "R", 1e-3), b.element("omega", "Df", on="w")
    graph = b.done()
    back = graph.inverse()
    assert back.degrees == {"omega": 2}
    assert back.lines["u", "omega"][0] == 1
    forward = sb.simulate(graph.system(), 0.5, inputs={"u": "sin(20*t)"}, rtol=1e-10, samples=101)
    rates = graph.system().compile()
    A, B, C = (getattr(graph.matrices().numbers(), n) for n in "ABC")
    del rates
    x = np.stack([forward[n] for n in graph.matrices().states], axis=1)
    second = (C @ (A @ A @ x.T + A @ B * np.sin(20 * forward.t)))[0]
    kernel = back.system.compile()
    found = [kernel.call_named(*row, value)["u"] for row, value in zip(x, second)]
    assert np.allclose(found, np.sin(20 * forward.t), atol=1e-8)


def test_outputs_that_share_their_way_have_no_inverse():
    b = BondGraph.builder("shared")
    b.element("u", "Se"), b.element("w", "Se"), b.one("v"), b.element("m", "I", 1.0), b.bonds("u -> v -> m", "w -> v")
    b.element("y", "Df", on="v"), b.element("z", "Df", on="m")
    with pytest.raises(ModelError, match="share their way, so that outputs cannot be asked for independently"):
        b.done().inverse()


@pytest.mark.parametrize("name", list(PARTS))
def test_every_part_builds_and_conserves_what_it_should(name):
    """A part with its example values closes on sources, has equations, and reads back from its file."""
    row = PARTS[name]
    graph, _ = part_graph(name, row.example)
    ways = ("flow", "effort")
    for way in ways:
        closed = graph.with_ports({p.name: way for p in graph.ports})
        try:
            closed.causality()
        except ModelError:  # both ends of a transformer cannot be given the same way
            ports = [p.name for p in graph.ports]
            closed = graph.with_ports({ports[0]: "flow", ports[-1]: "effort"})
        letter = {p.name: "e" if closed.elements[p.name].kind == "Sf" else "f" for p in graph.ports}
        system = closed.system(outputs=[f"{letter[n]}.{n}" for n in letter])
        assert set(system.outputs)
    assert set(row.fields) == set(graph.parameters)


def test_a_graph_drives_a_joint_of_a_mechanism():
    """A motor without rotor inertia on a pendulum, against the same equations written by hand."""
    from scipy.integrate import solve_ivp

    b = BondGraph.builder("motor")
    b.element("u", "Se", "sin(3*t)"), b.one("i", "w"), b.element("R", "R", 1.5), b.element("L", "I", 0.1)
    b.element("K", "GY", 0.8), b.element("d", "R", 0.05), b.element("shaft", "port", domain="rotation")
    b.bonds("u -> i -> R", "i -> L", "i -> K -> w -> d", "w -> shaft")
    system = b.done().drive({"shaft": "hinge"})
    assert set(system.inputs) == {"p_L", "t", "qd.hinge"}
    make = sb.Mechanism.builder("pendulum")
    make.body("rod", mass=2.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.01))
    make.joint("hinge", "revolute", "world", "rod", axis="y")
    motion = sb.simulate(make.done(), 2.0, q0=[0.3], inputs=system, rtol=1e-10, samples=21)

    def right(t, x):
        q, v, i = x
        torque = 0.8 * i - 0.05 * v
        return [v, (torque - 2 * 9.81 * 0.5 * np.sin(q)) / (0.1 + 2 * 0.25), (np.sin(3 * t) - 1.5 * i - 0.8 * v) / 0.1]

    exact = solve_ivp(right, (0, 2), [0.3, 0, 0], rtol=1e-11, atol=1e-12, t_eval=motion.t)
    assert np.allclose(motion.q[:, 0], exact.y[0], atol=1e-7)
    assert np.allclose(motion["p_L"] / 0.1, exact.y[2], atol=1e-7)


def test_a_rotor_on_a_rigid_shaft_asks_for_the_acceleration_and_is_refused():
    motor, _ = part_graph("dc_motor", PARTS["dc_motor"].example)
    with pytest.raises(ModelError, match=r"needs the acceleration at the port 'shaft'.*Give its inertia to the joint"):
        motor.with_ports({"electric": "effort"}).drive({"shaft": "hinge"})
