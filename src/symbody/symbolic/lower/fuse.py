"""Contraction of a product and the sum that alone reads it into `fma`, which rounds once.

The choice is made here and not by a compiler, so that every target rounds in the same places. It depends on the order
of the values only: of two products in one sum the later one is fused, because the earlier one is ready to be added.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from symbody.symbolic.lower.program import Program, operands


def fuse_multiply_add(program: Program) -> Program:
    """The Program with `fma` in place of add/sub of a product (or its negative) that nothing else reads.

    Products are fused only inside their own run or block body. Value numbers stay; fused products leave their list and
    become unused constants.
    """
    ops, args = list(program.ops), list(program.args)
    uses = count_uses(program)
    gone: set[int] = set()
    for run in _regions(program):
        _fuse(run, ops, args, uses, gone)
    for v in gone:
        ops[v], args[v] = "const", (0,)
    return replace(
        program,
        ops=ops,
        args=args,
        setup=_without(program.setup, gone),
        step=_without(program.step, gone),
        call=_without(program.call, gone),
        blocks=tuple(replace(b, body=tuple(_without(b.body, gone))) for b in program.blocks),
        names={v: name for v, name in program.names.items() if v not in gone},
    )


def count_uses(program: Program) -> list[int]:
    """How often each value is read: by values in the lists, by outputs and by blocks (guess, residual, step)."""
    uses = [0] * len(program.ops)
    ops, args = program.ops, program.args
    for run in _regions(program):
        for v in run:
            for a in operands(ops[v], args[v]):
                uses[a] += 1
    for port in program.outputs:
        for v in port.values:
            uses[v] += 1
    for block in program.blocks:
        for v in (*block.guess, *block.residual, *block.ends):
            uses[v] += 1
    return uses


def _regions(program: Program) -> list[Sequence[int]]:
    return [program.setup, program.step, program.call, *(block.body for block in program.blocks)]


def _without(run: Sequence[int], gone: set[int]) -> list[int]:
    return [v for v in run if v not in gone]


def _fuse(run: Sequence[int], ops: list[str], args: list[tuple[Any, ...]], uses: list[int], gone: set[int]) -> None:
    # products that may be fused, by the value through which they are read: (position, sign, product, negation)
    products: dict[int, tuple[int, int, int, int]] = {}
    for position, v in enumerate(run):
        op = ops[v]
        if op == "mul":
            if uses[v] == 1:
                products[v] = (position, 1, v, v)
        elif op == "neg":
            found = products.pop(args[v][0], None)
            if found and uses[v] == 1 and found[2] == found[3]:
                products[v] = (found[0], -found[1], found[2], v)
        elif op == "add" or op == "sub":
            a, b = args[v]
            left, right = products.get(a), products.get(b)
            if (left is None and right is None) or a == b:
                continue
            sign = 1 if op == "add" else -1
            if right is None or (left is not None and left[0] > right[0]):
                assert left is not None
                _, product_sign, product, through = left
                addend, addend_sign = b, sign
            else:
                _, product_sign, product, through = right
                product_sign *= sign
                addend, addend_sign = a, 1
            ops[v], args[v] = "fma", (*args[product], addend, product_sign, addend_sign)
            gone.add(product)
            gone.add(through)
