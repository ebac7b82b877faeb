"""Function groups."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.programs import Builder, nested_roots, random_inputs, random_program, square_root
from symbody.basics.errors import DefinitionError, NameLookupError
from symbody.symbolic.lower.count import count_program
from symbody.symbolic.lower.fuse import fuse_multiply_add
from symbody.symbolic.lower.groups import Grouped, group
from symbody.symbolic.lower.interpret import interpret
from symbody.symbolic.lower.program import Program


def evaluate(grouped: Grouped, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """All outputs: step first, then each function on the workspace."""
    found: dict[str, np.ndarray] = {}
    work = interpret(grouped.step, {p.name: inputs[p.name] for p in grouped.step.inputs})["workspace"]
    for function in grouped.functions.values():
        given = {p.name: work if p.name == "workspace" else inputs[p.name] for p in function.inputs}
        found.update(interpret(function, given))
    return found


def check(program: Program, groups: dict[str, list[str]], seed: int, loop: tuple[int, ...] = ()) -> Grouped:
    inputs = dict(zip((p.name for p in program.inputs), random_inputs(program, seed, loop)))
    grouped = group(program, groups)
    expected, found = interpret(program, inputs), evaluate(grouped, inputs)
    for name in (name for names in groups.values() for name in names):
        # a function of parameters alone has no loop dimensions
        np.testing.assert_array_equal(np.broadcast_to(found[name], expected[name].shape), expected[name])
    return grouped


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("fused", [False, True])
def test_grouped_results_are_bit_for_bit_the_same(seed: int, fused: bool) -> None:
    program = random_program(seed, 120, blocks=3, outputs=4)
    if fused:
        program = fuse_multiply_add(program)
    check(program, {"f": ["x_out", "rest"], "g": ["y_out"], "h": ["z_out", "a_out"]}, seed)
    check(program, {"f": ["x_out"], "g": ["rest"]}, seed, (3,))


def two_functions() -> Program:
    """f = m s + u, g = s^2 and h = u s^2 m with s = sin(q) + q: s is shared, s^2 in step as well, u only in call."""
    b = Builder("two")
    (q,), (qd,), (u,) = b.input("q"), b.input("qd"), b.input("u", (), "input")
    (m,) = b.parameter("m", (), (2.0,))
    mm = b.make("mul", m, m)
    s = b.make("add", b.make("sin", q), q)
    square = b.make("mul", s, s)
    b.output("f", [b.make("add", b.make("mul", mm, s), u)], ())
    b.output("g", [square], ())
    b.output("h", [b.make("mul", b.make("mul", u, mm), square)], ())
    b.output("k", [b.make("mul", qd, qd)], ())
    return b.program()


def test_shared_values_of_the_step_run_make_the_workspace() -> None:
    grouped = check(two_functions(), {"f": ["f"], "gh": ["g", "h"]}, 1)
    assert [p.name for p in grouped.step.inputs] == ["q"]
    assert grouped.step.outputs[0].shape == (1,)  # s; its square is of one function only, sin(q) is read inside only
    assert count_program(grouped.step).trig == 1
    assert [p.name for p in grouped.functions["f"].inputs] == ["u", "workspace"]
    assert count_program(grouped.functions["gh"]).total == 3


def test_regrouping_needs_only_the_program() -> None:
    grouped = check(two_functions(), {"f": ["f"], "g": ["g"], "h": ["h"], "k": ["k"]}, 1)
    assert grouped.step.outputs[0].shape == (2,)
    assert [p.name for p in grouped.functions["k"].inputs] == ["qd", "workspace"]
    again = check(grouped.program, {"all": ["f", "g", "h"]}, 1)
    assert again.step.outputs[0].shape == (0,)
    assert again.step.step == []


def test_a_shared_block_is_solved_in_step_and_its_values_are_exported() -> None:
    grouped = group(square_root(), {"f": ["x"], "g": ["slope", "echo"]})
    assert len(grouped.step.blocks) == 1
    assert grouped.functions["f"].blocks == grouped.functions["g"].blocks == ()
    found = evaluate(grouped, {"a": np.array(2.0)})
    expected = interpret(square_root(), [2.0])
    assert found == expected


def test_nested_blocks_stay_whole() -> None:
    grouped = group(nested_roots(), {"f": ["x"], "g": ["y"]})
    assert len(grouped.step.blocks) == 2
    assert evaluate(grouped, {"a": np.array(5.0)}) == interpret(nested_roots(), [5.0])


def test_an_unknown_output_is_refused_with_the_nearest() -> None:
    with pytest.raises(NameLookupError, match="Did you mean 'slope'"):
        group(square_root(), {"f": ["slop"]})
    with pytest.raises(DefinitionError, match="'step'"):
        group(square_root(), {"step": ["x"]})
