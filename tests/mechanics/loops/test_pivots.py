"""Pivots that vanish at ordinary poses: blocks above size 3 against NumPy, and the status where none can be solved."""

from __future__ import annotations

import shutil
from typing import Any

import numpy as np
import pytest

import symbody as sb
from symbody.basics.errors import SolveError
from symbody.codegen.c.build import build_c
from symbody.codegen.c.c_source import emit_c
from symbody.codegen.kernel.compile_program import compile_program
from symbody.mechanics.loops.closing.elimination import Elimination, _exchanging
from symbody.mechanics.loops.closing.factors import factors
from symbody.mechanics.loops.closing.soundness import VANISHING
from symbody.mechanics.verbs.closed_dynamics import projection
from symbody.model.record.mechanism import Mechanism
from symbody.motion.trajectory.outcome import Outcome
from symbody.symbolic.expr.call import as_nodes
from symbody.symbolic.expr.graph import Graph
from symbody.symbolic.expr.implicit import check_block
from symbody.symbolic.expr.node import BlockCheck
from symbody.symbolic.expr.walk import at
from symbody.symbolic.lower.fuse import fuse_multiply_add
from symbody.symbolic.lower.interpret import interpret
from symbody.symbolic.lower.lowering import lower
from symbody.symbolic.lower.program import Program
from symbody.symbolic.system.system import System

needs_compiler = pytest.mark.skipif(not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler here")


# -- matrices whose static pivots vanish


def solver(pattern: np.ndarray, transposed: bool = False) -> Program:
    """x of A x = b, or of A^T x = b, rows exchanged wherever the structure says nothing, with all checks."""
    n = len(pattern)
    g = Graph("block")
    a = np.array([[g.symbol(f"a{i}_{j}", "input") for j in range(n)] for i in range(n)], dtype=object)
    b = np.array([g.symbol(f"b{i}", "input") for i in range(n)], dtype=object)
    entries = np.where(pattern, a, 0)
    plan = _exchanging(entries, None)
    found = factors(entries, plan.pivots, spare=plan.spare)
    x = as_nodes([g.zero, *(found.solve_transposed(b) if transposed else found.solve(b))])[1:]
    checks = [(BlockCheck("above", "singular"), *as_nodes([d.value, VANISHING * d.scale])) for d in found.divisors]
    block = check_block("sound", checks)
    return lower(System("block", inputs={"a": a, "b": b}, outputs={"x": np.array([at(block, v) for v in x])}))


def patterns() -> list[np.ndarray]:
    """Full and sparse ones of size 4 to 8, structurally regular."""
    rng = np.random.default_rng(5)
    out = [np.ones((n, n), dtype=bool) for n in (4, 5, 8)]
    for n in (4, 6, 7, 8):
        sparse = rng.random((n, n)) < 2.2 / n
        sparse[np.arange(n), rng.permutation(n)] = True
        sparse[np.arange(n), rng.permutation(n)] = True
        out.append(sparse)
    return out


def matrices(pattern: np.ndarray, count: int) -> np.ndarray:
    """Well conditioned ones; in most of them entries of every column are 0 or rounding where others are not."""
    rng, out = np.random.default_rng(7), []
    while len(out) < count:
        a = np.where(pattern, rng.normal(size=pattern.shape), 0.0)
        small = rng.random(pattern.shape) < 0.35 * (len(out) % 3)
        a[small] *= rng.choice([0.0, 1e-17, -6e-17], size=int(small.sum()))
        if np.linalg.cond(a) < 1e4:
            out.append(a)
    return np.array(out)


@pytest.mark.parametrize("transposed", [False, True], ids=["solve", "transposed"])
@pytest.mark.parametrize("pattern", patterns(), ids=lambda p: f"{len(p)}x{len(p)}_{int(p.sum())}")
def test_rows_are_exchanged_where_pivots_vanish(pattern: np.ndarray, transposed: bool) -> None:
    a = matrices(pattern, 60)
    b = np.random.default_rng(3).normal(size=(60, len(pattern)))
    found, status = interpret(solver(pattern, transposed), (a, b), status=True)
    assert (status > 0).all()
    want = np.linalg.solve(a.transpose(0, 2, 1) if transposed else a, b[:, :, None])[:, :, 0]
    np.testing.assert_allclose(found["x"], want, rtol=0, atol=1e-9 * np.abs(want).max())


@pytest.mark.parametrize("pattern", patterns()[:4], ids=lambda p: f"{len(p)}x{len(p)}_{int(p.sum())}")
def test_a_singular_matrix_is_a_status_and_no_number(pattern: np.ndarray) -> None:
    a = matrices(pattern, 40)
    for k, one in enumerate(a):  # two rows that are one, but for rounding
        i, j = np.random.default_rng(k).choice(len(one), 2, replace=False)
        one[i] = np.where(pattern[i] & pattern[j], one[j], 0.0) * (1 + 1e-16 * (k % 2))
        one[j] = np.where(pattern[i] & pattern[j], one[j], 0.0)
    found, status = interpret(solver(pattern), (a, np.ones((40, len(pattern)))), status=True)
    assert (status < 0).all()
    assert np.isnan(found["x"]).all()


def test_every_target_chooses_the_same_rows_also_of_equal_ones_and_with_nan() -> None:
    pattern = patterns()[5]
    n = len(pattern)
    a, b = matrices(pattern, 48), np.random.default_rng(2).normal(size=(48, n))
    a[:12] = np.where(pattern, np.sign(a[:12]), 0.0)  # ties everywhere
    a[12:24][:, pattern] = np.where(np.random.default_rng(1).random((12, int(pattern.sum()))) < 0.1, np.nan, 1.0)
    program = fuse_multiply_add(solver(pattern))
    expected, outcome = interpret(program, (a, b), status=True)
    bits = expected["x"].view(np.int64)
    assert (outcome < 0).any()
    assert (outcome > 0).any()
    kernel = compile_program(program).wait()
    for lanes in (1, None):
        for threads in (1, 2):
            found, status = kernel.call_with_status(a, b, lanes=lanes, threads=threads)
            np.testing.assert_array_equal(status, outcome)
            np.testing.assert_array_equal(np.asarray(found).view(np.int64), bits)
    for one in (0, 5, 13, 30):
        alone, status = interpret(program, (a[one], b[one]), status=True)
        np.testing.assert_array_equal(status, outcome[one])
        np.testing.assert_array_equal(alone["x"].view(np.int64), bits[one])


@needs_compiler
def test_emitted_c_chooses_the_same_rows() -> None:
    pattern = patterns()[5]
    a, b = matrices(pattern, 30), np.random.default_rng(2).normal(size=(30, len(pattern)))
    a[:12] = np.where(pattern, np.sign(a[:12]), 0.0)
    a[12, pattern] = np.nan
    program = solver(pattern)
    expected, outcome = interpret(program, (a, b), status=True)
    flags = ("-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-O2", "-ffp-contract=off")
    found, status = build_c(emit_c(program), program, flags=flags).call_with_status(a, b)
    np.testing.assert_array_equal(status, outcome)
    np.testing.assert_array_equal(np.asarray(found).view(np.int64), expected["x"].view(np.int64))


def test_a_plan_sees_pivots_that_are_small_somewhere() -> None:
    turn = np.linspace(0.0, 2 * np.pi, 400)
    a = np.zeros((400, 4, 4))
    a[:] = np.eye(4)
    a[:, 0, 0], a[:, 0, 1], a[:, 1, 0], a[:, 1, 1] = np.cos(turn), -np.sin(turn), np.sin(turn), np.cos(turn)
    static = Elimination(((0, 0), (1, 1), (2, 2), (3, 3)))
    assert np.abs(static.shares(a)).min() < 1e-2
    assert np.abs(Elimination(static.pivots, ((1,), ())).shares(a)).min() > 0.7


def test_a_plan_sees_pivots_that_vanish_between_two_positions() -> None:
    a = np.array([np.eye(4), np.eye(4)])
    a[1, :2, :2] = [[-1.0, 0.3], [0.3, 1.0]]
    static = Elimination(((0, 0), (1, 1), (2, 2), (3, 3)))
    assert np.abs(static.shares(a)).min() > 0.9
    assert (static.least(a) == 0).all()


# -- the mechanism: legs that stand vertical or lie horizontal


def rpr(legs: int = 3) -> Mechanism:
    """A platform on `legs` legs, each a revolute and a prismatic joint, in a plane; all cuts but the first are cut."""
    b = Mechanism.builder(f"rpr{legs}", gravity=(0, -9.81, 0))
    corners = [(0.12 * np.cos(2.0 * k + 0.3), 0.12 * np.sin(2.0 * k + 0.3), 0.0) for k in range(legs)]
    b.body("plate", mass=2.0, inertia=(0.02, 0.02, 0.03), frames={f"c{k}": corners[k] for k in range(legs)})
    for k in range(legs):
        base = (0.6 * np.cos(2.1 * k), 0.6 * np.sin(2.1 * k), 0.0)
        b.body(f"tube{k}", mass=0.4, com=(0.1, 0, 0), inertia=(0.001, 0.004, 0.004))
        b.body(f"rod{k}", mass=0.3, com=(-0.1, 0, 0), inertia=(0.001, 0.003, 0.003))
        b.joint(f"r{k}", "revolute", "world", f"tube{k}", position=base, mode="passive")
        b.joint(f"s{k}", "prismatic", f"tube{k}", f"rod{k}", axis="x")
    b.joint("w", "revolute", "rod0", "plate", mode="passive")
    # the plate hangs by its corner 0 on the first leg: its frame is there
    for k in range(1, legs):
        b.cut(f"k{k}", "revolute", ("plate", f"c{k}"), f"rod{k}")
    return b.done()


def posed(mech: Mechanism, centre: Any, angle: float, legs: int = 3) -> np.ndarray:
    """q with the plate's frame at `centre`, turned by `angle`."""
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    q = []
    for k in range(legs):
        base = np.array([0.6 * np.cos(2.1 * k), 0.6 * np.sin(2.1 * k)])
        corner = 0.12 * np.array([np.cos(2.0 * k + 0.3), np.sin(2.0 * k + 0.3)]) if k else np.zeros(2)
        way = np.asarray(centre) + turn @ corner - base
        q += [np.arctan2(way[1], way[0]), np.hypot(*way)]
    return np.array([*q, angle - q[0]])


def centre_with(leg: int, direction: int, angle: float) -> np.ndarray:
    """The plate's place where a leg points along +y, -x, -y (direction 1, 2, 3)."""
    base = np.array([0.6 * np.cos(2.1 * leg), 0.6 * np.sin(2.1 * leg)])
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    corner = turn @ (0.12 * np.array([np.cos(2.0 * leg + 0.3), np.sin(2.0 * leg + 0.3)])) if leg else np.zeros(2)
    way = 0.45 * np.array([np.cos(direction * np.pi / 2), np.sin(direction * np.pi / 2)])
    return base + way - corner


PARTITIONS = (["s0", "s1", "s2"], ["r0", "r1", "r2"], ["s0", "r1", "w"], ["r0", "s0", "w"], ["s0", "s1", "r2"], "auto")


@pytest.mark.parametrize("partition", PARTITIONS, ids=str)
def test_legs_in_line_with_the_axes_move_as_any_other(partition: Any) -> None:
    mech = rpr()
    forward = sb.forward_dynamics(mech, partition=partition, formalism="newton_euler").compile()
    close = sb.closure(mech, partition=partition).compile()
    augmented = sb.forward_dynamics(mech, formulation="augmented", formalism="newton_euler").compile()
    first = sb.closure(mech, partition=["r0", "s0", "w"]).compile()
    tried = solved = 0
    for leg in range(3):
        for direction in (1, 2, 3):
            for angle in (0.2, -0.4):
                q = posed(mech, centre_with(leg, direction, angle), angle)
                v = np.zeros(7)
                v[[0, 1, 6]] = 0.3, 0.2, -0.5
                start, status = first.call_with_status(q, v)
                if (status < 0).any():
                    continue
                found, status = close.call_with_status(start.q, start.qd)
                qdd, other = forward.call_with_status(start.q, start.qd, np.ones(7))
                want, reference = augmented.call_with_status(start.q, start.qd, np.ones(7))
                tried += 1
                assert (reference > 0).all()
                assert ((status > 0).all()) == ((other > 0).all())
                if (status < 0).any():
                    continue
                solved += 1
                assert np.abs(found.qd - start.qd).max() < 1e-9
                assert np.abs(qdd - want).max() < 1e-8 * np.abs(want).max()
    assert tried >= 15
    assert solved >= tried - 1


def parallelogram() -> Mechanism:
    """Closed and upright at q = 0; flat, where J loses a row, with all links along x."""
    b = Mechanism.builder("parallelogram", gravity=(0, -9.81, 0))
    b.body("crank", mass=1.0, com=(0, 0.1, 0), inertia=(0.01, 0.01, 0.012))
    b.body("coupler", mass=2.0, com=(0.25, 0, 0), inertia=(0.01, 0.05, 0.052), frames={"tip": (0.5, 0, 0)})
    b.body("rocker", mass=1.5, com=(0, 0.1, 0), inertia=(0.01, 0.03, 0.031), frames={"tip": (0, 0.2, 0)})
    b.joint("a", "revolute", "world", "crank")
    b.joint("b", "revolute", "crank", "coupler", position=(0, 0.2, 0), mode="passive")
    b.joint("c", "revolute", "world", "rocker", position=(0.5, 0, 0), mode="passive")
    b.cut("loop", "ball", ("coupler", "tip"), ("rocker", "tip"))
    return b.done()


def test_rows_that_depend_on_each_other_are_a_status_of_multipliers_and_projections() -> None:
    mech, flat, upright = parallelogram(), np.array([-np.pi / 2, np.pi / 2, -np.pi / 2]), np.array([0.3, -0.3, 0.3])
    kernel = sb.forward_dynamics(mech, formulation="augmented", formalism="newton_euler").compile()
    found, status = kernel.call_with_status(np.array([upright, flat]), np.zeros((2, 3)), np.zeros((2, 3)))
    assert [s > 0 for s in status[:, 0]] == [True, False]
    assert np.isnan(found[1]).all()
    want = sb.forward_dynamics(mech, partition=["a"], formalism="newton_euler").compile()
    np.testing.assert_allclose(found[0], want(upright, np.zeros(3), np.zeros(3)), rtol=1e-10)
    with pytest.raises(SolveError, match=r"a pivot vanishes: loop\.x .*start from another position"):
        kernel(flat, np.zeros(3), np.zeros(3))
    nearest = projection(mech).compile()
    found, status = nearest.call_with_status(np.array([upright + 1e-3, flat]), np.ones((2, 3)))
    assert [s > 0 for s in status[:, 0]] == [True, False]
    assert np.isnan(found.qd[1]).all()


def test_a_lost_pivot_is_said() -> None:
    """Crank and rod in line: they cannot be solved for at a given slide."""
    mech = sb.load("slider_crank")
    q = sb.assemble(mech, {"crank": -np.pi / 2})
    kernel = sb.closure(mech, partition=["slide"]).compile()
    _, status = kernel.call_with_status(q, np.zeros(3))
    assert (status < 0).any()
    with pytest.raises(SolveError, match=r"a pivot vanishes: 'wrist' cannot be solved for crank, rod here.*partition="):
        kernel(q, np.zeros(3))


# -- what a determinant is measured by


def screwed_loop(sign: str) -> Mechanism:
    """A screw, a ball and a hinge closed by two rows; the axes of screw and hinge point one way or the other."""
    b = sb.Mechanism.builder("three", gravity=(0.3, 0, -9.81))
    quarter = ["x", "90*deg"]
    b.body("g", frames={"cut": {"position": [0.642, 0.533, 0.509], "rotation": quarter}})
    b.joint("g", "fixed", "world", "g")
    b.body("b0", mass=0.694, com=[0, 0.128, 0.135], inertia=[0.4, 0.5, 0.6])
    b.joint("j0", "helical", "world", "b0", position=[0.342, 0, 0.267], axis=f"{sign}y", pitch=0.248)
    b.body("b1", mass=2.073, com=[0.143, 0, 0.239], inertia=[0.387, 0.407, 0.337])
    b.joint("j1", "ball", "b0", "b1", position=[0, 0.333, 0.142], rotation=quarter)
    b.body("b2", mass=2.992, inertia=[0.4, 0.5, 0.6], frames={"cut": [0.3, 0.1, -0.2]})
    b.joint("j2", "revolute", "b1", "b2", axis=f"{sign}y")
    return b.cut("c", "rows", "b2.cut", "g.cut", rows=["z", "x"]).done()


def test_axes_that_point_back_change_signs_and_nothing_else():
    """The determinant of j0, j1.3 is 0.0248 at the assembled start: sound, whatever expression its entries have."""
    ahead, back = screwed_loop(""), screwed_loop("-")
    signs, starts = np.array([-1.0, 1, 1, 1, -1]), np.array([-1.0, 1, 1, 1, 1, -1])
    q = sb.assemble(ahead)
    run, other = (sb.simulate(m, 0.2, 0.002, q0=q0, outputs=["energy"]) for m, q0 in ((ahead, q), (back, starts * q)))
    assert run.outcome is other.outcome is Outcome.FINISHED
    np.testing.assert_allclose(other.q, run.q * starts, atol=1e-9)
    np.testing.assert_allclose(other.qd, run.qd * signs, atol=1e-8)
    for one in (run, other):
        np.testing.assert_allclose(one["energy"], one["energy"][0], atol=1e-8)
