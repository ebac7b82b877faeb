"""Checks of blocks: the same outcome on every target, one of their own where they fail, counted apart."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symbody as sb
from codegen.test_c import build, sections, total
from symbody.basics.errors import SolveError
from symbody.codegen.c.c_source import emit_c
from symbody.codegen.kernel.compile_program import compile_program
from symbody.symbolic.expr.derivative import gradient, jacobian
from symbody.symbolic.expr.evaluate import evaluate
from symbody.symbolic.expr.graph import Graph
from symbody.symbolic.expr.implicit import check_block
from symbody.symbolic.expr.node import BlockCheck, Node, SolveInfo
from symbody.symbolic.expr.walk import at, solve_node
from symbody.symbolic.lower.count import count_program
from symbody.symbolic.lower.groups import group
from symbody.symbolic.lower.interpret import interpret
from symbody.symbolic.lower.lowering import lower
from symbody.symbolic.lower.optimize import optimize_system
from symbody.symbolic.lower.program import Program
from symbody.symbolic.system.save import fingerprint
from symbody.symbolic.system.system import System

needs_compiler = pytest.mark.skipif(not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler here")


def scalar_array(x: Node) -> np.ndarray:
    return np.array(x, dtype=object)


SLOPE = BlockCheck("above", "the slope vanishes")
SIZE = BlockCheck("below", "the root is too large")
APART = BlockCheck("above", "a and b are too close")


def checked_root() -> System:
    """y = sqrt(a) by Newton's iteration, with |2 y| > limit and |y| <= 10; then y / (a - b), with |a - b| > |a| / 1000.

    Outcomes: block 0, the check alone, fails as -2, block 1 as -26 (slope) and -27 (size).
    """
    g = Graph("checked")
    a, b = g.symbol("a", "input"), g.symbol("b", "input")
    limit = g.symbol("limit", "parameter", default=1e-3)
    y = g.symbol("y", "unknown", scope="root#0")
    step = (a - y * y) / (2 * y)
    info = SolveInfo("root", (y,), checks=(SLOPE, SIZE), remedy="Take another a.")
    block = solve_node((y * y - a, a, step, -2 * y, limit, y, g.number(10)), info)
    guard = check_block("apart", [(APART, a - b, abs(a) / 1000)], "Move b.")
    out = at(guard, at(block, y) / (a - b))
    return System("checked", inputs={"a": scalar_array(a), "b": scalar_array(b)}, outputs={"z": scalar_array(out)})


CASES = np.array(
    [(4.0, 1.0), (1e-8, 1.0), (400.0, 1.0), (4.0, 4.001), (4.0, 4.0), (-1.0, 1.0), (np.nan, 1.0), (4.0, np.nan)] * 3
)
OUTCOMES = [(True, True), (True, -26), (True, -27), (-2, True), (-2, True), (True, False), (-2, False), (-2, True)] * 3


def outcome_fits(found: np.ndarray) -> bool:
    def fits(k: int, wanted: Any) -> bool:
        return k > 0 if wanted is True else -25 <= k < 0 if wanted is False else k == wanted

    return all(fits(k, w) for row, wanted in zip(found, OUTCOMES) for k, w in zip(row, wanted))


def same(a: Any, b: Any) -> bool:
    return np.array_equal(np.asarray(a, dtype=float).view(np.int64), np.asarray(b, dtype=float).view(np.int64))


@pytest.fixture(scope="module")
def program() -> Program:
    return lower(checked_root())


def test_a_check_that_fails_is_an_outcome_of_its_own(program: Program) -> None:
    found, status = interpret(program, CASES.T, status=True)
    assert outcome_fits(status)
    assert np.array_equal(np.isnan(found["z"]), (status < 0).any(axis=1))
    for row, (a, b) in zip(status, CASES):
        _one, alone = interpret(program, (a, b), status=True)
        np.testing.assert_array_equal(alone, row)


def test_scalar_code_lanes_and_threads_agree_with_the_interpreter(program: Program) -> None:
    kernel = compile_program(program).wait()
    expected, outcome = interpret(program, CASES.T, status=True)
    many = np.tile(CASES, (400, 1))
    for lanes in (1, None):
        for threads in (1, 2):
            found, status = kernel.call_with_status(*many.T, lanes=lanes, threads=threads)
            np.testing.assert_array_equal(status, np.tile(outcome, (400, 1)))
            assert same(found, np.tile(expected["z"], 400))


@needs_compiler
@pytest.mark.parametrize("options", [{}, {"reuse_names": True}, {"chunk": 3}], ids=str)
def test_emitted_c_agrees_with_the_interpreter(program: Program, options: dict[str, Any]) -> None:
    found, status = build(program, **options).call_with_status(*CASES.T)
    expected, outcome = interpret(program, CASES.T, status=True)
    np.testing.assert_array_equal(status, outcome)
    assert same(found, expected["z"])


@pytest.mark.parametrize(
    ("case", "words"), [(1, "the slope vanishes. Take another a."), (4, "a and b are too close. M")]
)
def test_the_sentence_says_which_check_failed(program: Program, case: int, words: str) -> None:
    kernel = compile_program(program)
    for call in (lambda x: interpret(program, x), lambda x: kernel(*x), lambda x: value(checked_root(), *x)):
        with pytest.raises(SolveError, match=re.escape(words)):
            call(tuple(map(float, CASES[case])))


def value(system: System, a: float, b: float) -> Any:
    names = dict(zip("ab", (a, b)))
    symbols: dict[Node, Any] = {array[()]: names[n] for n, array in system.inputs.items()}
    symbols |= {array[()]: array[()].data.default for array in system.parameters.values()}
    return evaluate(system.outputs["z"][()], symbols)


def test_what_serves_checks_alone_is_counted_apart(program: Program) -> None:
    counts = count_program(program)
    assert counts.checks == 3 * 2 + 2  # |a|/1000 serves one alone
    assert (counts.mul, counts.add, counts.div, counts.other) == (0, 1, 1, 0)
    assert [b.checks for b in counts.blocks] == [0, 1]  # 2 y, which no step needs in this form
    assert str(counts).startswith("0 mul, 1 add, 1 div = 2; 0 trig; 8 checks")


def test_operators_in_the_text_are_those_counted(program: Program) -> None:
    counts, text = count_program(program), emit_c(program)["checked.c"]
    marked = re.findall(r"^.*/\* check \*/$", text, re.MULTILINE)
    assert (
        len(marked) + len(re.findall(r"!checked_(?:below|above)\(", text)) * 2
        == counts.checks + counts.blocks[1].checks
    )
    found = sections(re.sub(r"^.*/\* check \*/$", "", text, flags=re.MULTILINE))
    assert total(found["checked"]) == (counts.mul, counts.add, counts.div)


def test_checks_survive_rewriting_renaming_files_and_groups(tmp_path: Path) -> None:
    system = checked_root()
    path = tmp_path / "checked.json"
    system.save(path)
    for other in (optimize_system(system, "full"), System.load(path)):
        _, outcome = interpret(lower(other), CASES.T, status=True)
        assert outcome_fits(outcome)
    assert fingerprint(System.load(path)) == fingerprint(system)
    grouped = group(lower(system), {"f": ["z"]})
    _, outcome = interpret(grouped.functions["f"], {"a": 4.0, "b": 4.0, "workspace": []}, status=True)
    assert (outcome < 0).any()


def test_checks_survive_being_applied_to_other_expressions() -> None:
    system = checked_root()
    g = Graph("around")
    u, w = g.symbol("u", "input"), g.symbol("w", "input")
    found = system.apply(a=4 * u, b=w, limit=g.symbol("limit", "parameter", default=1e-3))
    z = found["z"] if isinstance(found, dict) else found
    made = System(
        "around", inputs={"u": scalar_array(u), "w": scalar_array(w)}, outputs={"z": np.array(z, dtype=object)}
    )
    _, status = interpret(lower(made), (CASES[:, 0] / 4, CASES[:, 1]), status=True)
    assert outcome_fits(status)


def test_derivatives_stay_tied_to_the_checks() -> None:
    system = checked_root()
    (z,) = system.outputs["z"].flat
    variables = [array[()] for array in system.inputs.values()]
    for rows in (jacobian([z], variables)[0], gradient(z, variables)):
        made = System("slopes", inputs=system.inputs, outputs={"d": np.array(list(rows), dtype=object)})
        found, status = interpret(lower(made), CASES.T, status=True)
        assert outcome_fits(status)
        np.testing.assert_allclose(found["d"][0], [2 / 4 / 3 / 2 - 2 / 9, 2 / 9], rtol=1e-12)


def test_a_block_of_a_user_has_no_checks() -> None:
    x, p = sb.symbols("x p")
    found = sb.solve([x * x - p], [x], [p])
    assert found.node.data.checks == ()
    assert len(found.node.args) == 3


def test_a_block_inside_what_a_check_watches_inside_a_block() -> None:
    """x - y/2 = c with y = sqrt(x) from a block of its own, read only where that y is above 1/2.

    y = (1/2 + sqrt(1/4 + 4 c)) / 2; outcomes in the order of `blocks`, the check without unknowns among them.
    """
    with Graph("nested"):
        x, y, c = sb.symbol("x"), sb.symbol("y"), sb.symbol("c")
        root = sb.solve([y * y - x], [y], [1.0], name="root").x[0]
        guard = check_block("above", [(BlockCheck("above", "y is too small"), root, root.graph.number(0.5))])
        outer = sb.solve([at(guard, x - root / 2 - c)], [x], [c + 1], name="outer")
        system = System("nested", inputs={"c": scalar_array(c)}, outputs={"x": scalar_array(outer.x[0])})
    program = lower(system)
    values = np.array([0.3, 2.0, 7.5, -0.03])
    expected = ((0.5 + np.sqrt(0.25 + 4 * values)) / 2) ** 2
    found, status = interpret(program, values[None], status=True)
    np.testing.assert_allclose(found["x"][:3], expected[:3], rtol=1e-13)
    held = [b.name for b in program.blocks].index("above")
    assert (status[:3] > 0).all()
    assert status[3, held] < 0
    assert np.isnan(found["x"][3])
    kernel = compile_program(program).wait()
    for lanes in (1, None):
        assert same(kernel.call_with_status(values, lanes=lanes)[0], found["x"])
    slope = system.jacobian("x", "c").compile("native")(0.3)
    assert slope == pytest.approx(1 / (1 - 1 / (4 * np.sqrt(expected[0]))), rel=1e-12)
