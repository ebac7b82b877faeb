"""Contraction into fused multiply-add."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from helpers.programs import Builder, random_inputs, random_program
from symbody.symbolic.lower.fuse import fuse_multiply_add
from symbody.symbolic.lower.interpret import interpret
from symbody.symbolic.lower.program import Program


def products(form: str) -> Program:
    """y by one sum of products of four inputs."""
    b = Builder()
    w, x, y, z = b.input("x", (4,))
    p, q = b.make("mul", w, x), b.make("mul", y, z)
    value = {
        "p+w": lambda: b.make("add", p, w),
        "w-p": lambda: b.make("sub", w, p),
        "p-w": lambda: b.make("sub", p, w),
        "p-q": lambda: b.make("sub", p, q),
        "p+q": lambda: b.make("add", p, q),
        "w+(-p)": lambda: b.make("add", w, b.make("neg", p)),
        "(-p)-w": lambda: b.make("sub", b.make("neg", p), w),
    }[form]()
    b.output("y", [value] if "q" in form else [value, q])
    return b.program()


@pytest.mark.parametrize("form", ["p+w", "w-p", "p-w", "p+q", "w+(-p)", "(-p)-w"])
def test_a_fused_sum_is_the_same_exactly(form: str) -> None:
    program = products(form)
    fused = fuse_multiply_add(program)
    assert [fused.ops[v] for v in fused.step].count("fma") == 1
    x = [[Fraction(k, 7) for k in (3, -5, 2, 11)]]
    np.testing.assert_array_equal(interpret(fused, x)["y"], interpret(program, x)["y"])


def test_a_fused_sum_rounds_once() -> None:
    x = [1 + 2.0**-30, 1 - 2.0**-30, 1.0, 1.0]
    program = products("p-q")
    assert interpret(program, [x])["y"] == 0.0
    exact = float(Fraction(x[0]) * Fraction(x[1]) - 1)
    b = Builder()
    w, y, z = b.input("x", (3,))
    b.output("y", [b.make("sub", b.make("mul", w, y), z)], ())
    assert interpret(fuse_multiply_add(b.program()), [x[:3]])["y"] == exact != 0.0


def test_of_two_products_the_later_one_is_fused() -> None:
    fused = fuse_multiply_add(products("p+q"))
    assert [fused.ops[v] for v in fused.step] == ["mul", "fma"]
    assert fused.args[fused.step[1]][3:] == (1, 1)


def test_of_a_difference_of_products_none_is_fused() -> None:
    program = products("p-q")
    assert fuse_multiply_add(program).ops == program.ops
    b = Builder()
    w, x, y, z = b.input("x", (4,))
    b.output("y", [b.make("add", b.make("neg", b.make("mul", w, x)), b.make("mul", y, z))])
    program = b.program()
    assert fuse_multiply_add(program).ops == program.ops


@pytest.mark.parametrize("read_by", ["sqrt", "neg sqrt", "p* sqrt", "lt", "mul"])
def test_a_sum_of_products_that_a_function_reads_is_kept_whole(read_by: str) -> None:
    """x x - 2 x y + y y is 0 at x = y in every order of the same roundings; alone it is contracted."""
    b = Builder()
    x, y, p = b.input("x", (3,))
    middle = b.make("sub", b.make("mul", x, x), b.make("mul", b.make("mul", b.const(2.0), x), y))
    total = b.make("add", middle, b.make("mul", y, y))
    value = {
        "sqrt": lambda: b.make("sqrt", total),
        "neg sqrt": lambda: b.make("sqrt", b.make("neg", total)),
        "p* sqrt": lambda: b.make("sqrt", b.make("mul", p, total)),
        "lt": lambda: b.make("lt", total, p),
        "mul": lambda: b.make("mul", total, p),
    }[read_by]()
    b.output("y", [value])
    assert ("fma" in fuse_multiply_add(b.program()).ops) == (read_by == "mul")


def test_a_product_that_is_read_twice_or_put_out_stays() -> None:
    b = Builder()
    x, y = b.input("x", (2,))
    p, q = b.make("mul", x, x), b.make("mul", y, y)
    b.output("z", [b.make("add", p, x), b.make("add", p, y), b.make("add", q, x), q])
    program = b.program()
    assert list(fuse_multiply_add(program).ops) == program.ops


def test_products_are_not_moved_from_setup_to_step() -> None:
    b = Builder()
    (x,), (m,) = b.input("x"), b.parameter("m", (), (2.0,))
    b.output("z", [b.make("add", x, b.make("mul", m, m))], ())
    assert "fma" not in fuse_multiply_add(b.program()).ops


@pytest.mark.parametrize("seed", range(20))
def test_random_programs_keep_their_results(seed: int) -> None:
    program = random_program(seed, 150)
    fused = fuse_multiply_add(program)
    x = random_inputs(program, seed)
    expected = interpret(program, x)
    for name, value in interpret(fused, x).items():
        np.testing.assert_allclose(value, expected[name], rtol=1e-9, atol=1e-9)
    assert fuse_multiply_add(fused).ops == fused.ops
