"""Reuse of names by liveness."""

from __future__ import annotations

import pytest

from helpers.programs import Builder, nested_roots, pendulum, random_program, square_root
from symbody.symbolic.lower.fuse import fuse_multiply_add
from symbody.symbolic.lower.liveness import reuse_names, values_of
from symbody.symbolic.lower.program import Program, operands


def chain(length: int) -> Program:
    b = Builder()
    (x,) = b.input("x")
    v = x
    for _ in range(length):
        v = b.make("sin", v)
    b.output("y", [v], ())
    return b.program()


def test_a_chain_needs_one_name() -> None:
    assert reuse_names(chain(1000)).main == 1


def test_pendulum_needs_few_names() -> None:
    slots = reuse_names(pendulum())
    assert (slots.setup, slots.main) == (2, 2)


def run_with_slots(program: Program, order: list[int], slot: dict[int, int], rounds: int = 2) -> None:
    """Walks a run as a target would, blocks in two rounds, and checks that each read finds what was made."""
    holds: dict[int, int] = {}

    def read(v: int) -> None:
        if v in slot and v in made:
            assert holds[slot[v]] == v

    made = values_of(program, order)

    def walk(values: list[int]) -> None:
        for v in values:
            op, args = program.ops[v], program.args[v]
            if op == "solve":
                block = program.blocks[args[0]]
                for x, guess in zip(block.unknowns, block.guess):
                    read(guess)
                    holds[slot[x]] = x
                for _ in range(rounds):
                    walk(list(block.body))
                    for x in (*block.step, *block.unknowns):
                        read(x)
                continue
            for a in operands(op, args):
                if op != "result":
                    read(a)
            if op == "extern":  # results are made by the call
                for r in order_of_results.get(v, ()):
                    holds[slot[r]] = r
            elif op != "result":
                holds[slot[v]] = v

    order_of_results: dict[int, list[int]] = {}
    for v in made:
        if program.ops[v] == "result":
            order_of_results.setdefault(program.args[v][0], []).append(v)
    walk(order)


@pytest.mark.parametrize("seed", range(40))
def test_no_value_is_overwritten_while_it_is_needed(seed: int) -> None:
    for program in (random_program(seed, 150, blocks=3), fuse_multiply_add(random_program(seed))):
        slots = reuse_names(program)
        run_with_slots(program, program.main(), slots.slot)
        run_with_slots(program, list(program.setup), slots.slot)


def test_blocks_keep_what_they_read() -> None:
    for program in (square_root(), nested_roots()):
        run_with_slots(program, program.main(), reuse_names(program).slot, 3)
