"""Operation counts."""

from __future__ import annotations

from helpers.programs import Builder, pendulum, random_program, square_root
from symbody.symbolic.lower.count import Counts, count_program
from symbody.symbolic.lower.fuse import fuse_multiply_add


def test_pendulum_counts() -> None:
    counts = count_program(pendulum())
    assert counts == Counts(mul=2, add=1, trig=1, setup=3)
    assert counts.total == 3
    assert str(counts) == "2 mul, 1 add, 0 div = 3; 1 trig; 3 setup"


def test_sub_is_an_add_and_neg_is_free() -> None:
    b = Builder()
    x, y = b.input("x", (2,))
    b.output("z", [b.make("sub", b.make("neg", x), b.make("div", x, y)), b.make("sin", x), b.make("cos", x)])
    assert count_program(b.program()) == Counts(add=1, div=1, trig=2)


def test_blocks_are_counted_per_iteration_and_apart() -> None:
    counts = count_program(square_root())
    assert (counts.mul, counts.add) == (1, 1)
    assert counts.blocks == (Counts(mul=1, add=2, div=1),)


def test_fusing_changes_no_count() -> None:
    for seed in range(20):
        program = random_program(seed)
        assert count_program(fuse_multiply_add(program)) == count_program(program)


def test_counts_add_up() -> None:
    a, b = count_program(pendulum()), count_program(square_root())
    assert (a + b).total == a.total + b.total
    assert (a + b).blocks == b.blocks
