"""Forms of the equations beside x' = f(x, u): the implicit one, the second order, Kalman's, judged by numbers."""

from __future__ import annotations

import numpy as np
import pytest

import symbody as sb
from helpers.random_bond_graphs import random_graph
from symbody.bondgraph.graph.bond_graph import BondGraph
from symbody.bondgraph.graph.graph_files import bundled_names
from symbody.studies.control.controllability import controllability
from symbody.studies.control.kalman import kalman_form
from symbody.studies.linear.state_space import StateSpace


def nonlinear_drive() -> BondGraph:
    """A motor on a rigid gear with a diode's loop, a hardening spring and a saturating inertia that is dependent."""
    b = BondGraph.builder("drive")
    b.element("u", "Se"), b.one("i", "w", "v"), b.element("R", "R", 0.8), b.element("L", "I", 0.05)
    b.zero("n"), b.element("D", "R", law="0.2*e + 0.1*e^3"), b.element("P", "R", law="2*tanh(f) + f")
    b.element("K", "GY", 0.6), b.element("J", "I", 0.02), b.element("g", "TF", 0.5)
    b.element("m", "I", law="asinh(p)"), b.element("k", "C", law="4*q + 3*q^3"), b.element("d", "R", 0.3)
    b.bonds("u -> i -> R", "i -> L", "i -> P", "i -> n -> D", "n -> K -> w -> J", "w -> g -> v -> m", "v -> k")
    b.bonds("v -> d")
    b.element("speed", "Df", on="v")
    return b.done()


def test_the_implicit_form_of_a_nonlinear_graph_has_the_motion_of_the_explicit_one():
    """F(t, x, x', w, u) = 0 by the backward differences of second order and Newton's iteration, against simulate."""
    graph = nonlinear_drive()
    dae = graph.dae()
    assert graph.causality().derivative == ("m",)
    assert (list(dae.bounds), dae.index) == (["p_m_bound"], 1)
    assert len(dae.residual) == len(dae.x) + len(dae.w)
    kernel = dae.system().compile()
    names, n, k = [*dae.system().inputs], len(dae.x), len(dae.w)
    rows = len(dae.residual)

    def residual(x, dx, w, u):
        values = dict(zip([*dae.x, *dae.dx, *dae.w], (*x, *dx, *w))) | {"u": u}
        return np.array([float(v) for v in kernel(*(values[name] for name in names))[:rows]])

    end, steps = 0.4, 200
    h, unknown = end / steps, np.zeros(n + k)
    before, past = np.zeros(n), np.zeros(n)

    def missed(z, first, u):
        x = z[:n]
        dx = (x - before) / h if first else (1.5 * x - 2 * before + 0.5 * past) / h
        return residual(x, dx, z[n:], u)

    for j in range(steps):
        at = (j == 0, 5 * np.sin(9 * (j + 1) * h))
        for _ in range(8):
            r = missed(unknown, *at)
            if np.abs(r).max() < 1e-11:
                break
            step = 1e-6 * np.eye(n + k)
            J = np.array([missed(unknown + e, *at) - missed(unknown - e, *at) for e in step]).T / 2e-6
            unknown = unknown - np.linalg.solve(J, r)
        past, before = before, unknown[:n]
    motion = sb.simulate(graph.system(), end, inputs={"u": "5*sin(9*t)"}, rtol=1e-10, atol=1e-12)
    for name in ("p_L", "p_J", "q_k"):
        assert before[[*dae.x].index(name)] == pytest.approx(motion[name][-1], abs=1e-3 * np.ptp(motion[name]))


@pytest.mark.parametrize("name", bundled_names())
def test_the_implicit_form_vanishes_at_what_the_state_equations_say(name):
    """Every row is zero, to rounding, for the states, rates and losses of the explicit form at a random state."""
    graph, rng = BondGraph.load(name), np.random.default_rng(3)
    dae = graph.dae()
    losses = [n.replace("_", ".", 1) for n in dae.w]
    late = graph.causality().derivative
    system = graph.system(outputs=[*losses, *(f"{k}.{n}" for n in late for k in "ef")])
    given = {n: rng.normal() for n in system.inputs}
    found = {n: float(v) for n, v in system.compile().call_named(*given.values()).items()}
    moduli = {n: p.data.default for n, p in graph.parameters.items()}
    values = {**given, **found}
    for n in late:  # linear here: p = I f and p' = e, or q = C e and q' = f
        letter, z, rate = ("p", "f", "e") if graph.elements[n].kind == "I" else ("q", "e", "f")
        values[f"{letter}_{n}"], values[f"{letter}_{n}_dot"] = moduli[n] * found[f"{z}_{n}"], found[f"{rate}_{n}"]
    implicit = dae.system()
    rows = implicit.compile().call_named(*(values[n] for n in implicit.inputs))
    scale = max(abs(v) for v in values.values())
    for row in dae.residual:
        assert abs(float(rows[row])) < 1e-12 * (1 + scale), row


def test_second_order_forms_answer_as_the_state_equations():
    """s (s^2 M + s R + K)^-1 (B + J / s) is the transfer matrix to the co-energies, on random graphs and both kinds."""
    seen = {"displacement": 0, "impulse": 0}
    for seed in range(60):
        graph = random_graph(seed, 40)
        if graph is None or not graph.of_kind("I", "C"):
            continue
        m = graph.matrices()
        for of, kind in (("displacement", "I"), ("impulse", "C")):
            try:
                form = m.second_order(of)
            except sb.SymbodyError:
                continue
            names = ("M", "R", "K", "B", "J")
            system = sb.System("form", {}, {n: getattr(form, n) for n in names if getattr(form, n).size})
            v = {n: np.asarray(a, float).reshape(getattr(form, n).shape)
                 for n, a in system.compile().call_named().items()}  # fmt: skip
            if "B" not in v:
                continue
            ss, s = m.numbers(), 0.4 + 0.9j
            states = np.linalg.solve(s * np.eye(len(ss.A)) - ss.A, ss.B)
            own = [p for p in m.equations.structure.groups["integral"] if p.kind == kind]
            rows = [m.states.index(f"{'p' if kind == 'I' else 'q'}_{p.label}") for p in own]
            moduli = [graph.parameters[p.label].data.default for p in own]
            ours = s * np.linalg.solve(s**2 * v["M"] + s * v["R"] + v["K"], v["B"] + v["J"] / s)
            theirs = states[rows] / np.array(moduli)[:, None]
            assert np.abs(ours - theirs).max() < 1e-8 * (1 + np.abs(theirs).max()), (seed, of)
            seen[of] += 1
    assert min(seen.values()) > 8


def test_second_order_entries_are_those_of_the_textbook():
    """Quarter car and gear: each modulus once, no I (1/I) left."""
    car = BondGraph.load("quarter_car").matrices().second_order()
    assert str(car.M.tolist()) == "[[m_wheel, 0], [0, m_body]]"
    assert str(car.R.tolist()) == "[[d_susp, -d_susp], [-d_susp, d_susp]]"
    assert str(car.K.tolist()) == "[[1/k_tyre + 1/k_susp, -1/k_susp], [-1/k_susp, 1/k_susp]]"
    gear = BondGraph.load("gear_train").matrices().second_order()
    assert str(gear.R.tolist()) == "[[d1 + n*(n*d2)]]"


def test_kalman_s_form_finds_the_parts_that_were_put_in():
    """Random models in the pattern of the theorem, hidden by a change of coordinates."""
    rng = np.random.default_rng(0)
    for _ in range(40):
        sizes = tuple(int(k) for k in rng.integers(0, 4, size=4))
        n, first = sum(sizes), np.cumsum((0, *sizes))
        at = [slice(a, b) for a, b in zip(first, first[1:])]  # noqa: RUF007
        A, B, C, D = (rng.normal(size=shape) for shape in ((n, n), (n, 2), (2, n), (2, 2)))
        for i, j in ((0, 1), (0, 3), (2, 0), (2, 1), (2, 3), (3, 0), (3, 1)):
            A[at[i], at[j]] = 0
        B[at[2]] = B[at[3]] = 0
        C[:, at[1]] = C[:, at[3]] = 0
        T = rng.normal(size=(n, n))
        inverse = np.linalg.inv(T)
        form = kalman_form(StateSpace(T @ A @ inverse, T @ B, C @ inverse, D))
        assert form.sizes == sizes
        small, s = form.minimal, 0.3 + 1.7j
        whole = C @ np.linalg.solve(s * np.eye(n) - A, B)
        part = small.C @ np.linalg.solve(s * np.eye(len(small.A)) - small.A, small.B)
        assert np.allclose(whole, part, rtol=1e-7, atol=1e-8)


def test_kalman_s_form_of_a_graph_is_its_structural_one():
    for name in bundled_names():
        graph = BondGraph.load(name)
        found, numbers = graph.analysis(expand=False), graph.matrices().kalman()
        k = found.kalman
        assert numbers.sizes == (k.both, k.controllable, k.observable, k.neither), name
        assert controllability(graph.matrices().numbers()).index == found.reached.index
