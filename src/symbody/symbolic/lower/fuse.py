"""Contraction of a product and the sum that alone reads it into `fma`, which rounds once.

The choice is made here and not by a compiler, so that every target rounds in the same places. It depends on the order
of the values only: of two products in one sum the later one is fused, because the earlier one is ready to be added.

Equal products must cancel: x^2 - y^2 is 0 at x = y only if both squares are rounded, or none. So of a difference of two
products neither is fused, and none of several products in a sum that a function reads: sqrt(x^2 - 2 x y + y^2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from symbody.symbolic.lower.program import LEAVES, Program, operands

SUMS = ("add", "sub")
PRODUCTS = ("mul", "div")
STRAIGHT = frozenset((*LEAVES, "add", "sub", "mul", "div", "neg", "fma", "solve", "result"))


def fuse_multiply_add(program: Program) -> Program:
    """The Program with `fma` in place of add/sub of a product (or its negative) that nothing else reads.

    Products are fused only inside their own run or block body. Value numbers stay; fused products leave their list and
    become unused constants.
    """
    ops, args = list(program.ops), list(program.args)
    uses = count_uses(program)
    gone: set[int] = set()
    whole = sums_kept_whole(program)
    for run in _regions(program):
        _fuse(run, ops, args, uses, gone, whole)
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


def sums_kept_whole(program: Program) -> set[int]:
    """Sums of several products that a function reads, perhaps times a factor, with the sums that are their terms."""
    ops, args = program.ops, program.args
    waiting: list[int] = []
    for run in _regions(program):
        for v in run:
            if ops[v] not in STRAIGHT:
                waiting.extend(operands(ops[v], args[v]))
    read = [_behind_signs(v, ops, args) for v in waiting]
    read += [_behind_signs(factor, ops, args) for v in read if ops[v] == "mul" for factor in args[v]]
    found: set[int] = set()
    for v in read:
        if v not in found and ops[v] in SUMS:
            sums, products = _terms(v, ops, args)
            if products > 1:
                found |= sums
    return found


def _behind_signs(v: int, ops: Sequence[str], args: Sequence[tuple[Any, ...]]) -> int:
    while ops[v] == "neg":
        v = args[v][0]
    return v


def _terms(top: int, ops: Sequence[str], args: Sequence[tuple[Any, ...]]) -> tuple[set[int], int]:
    """A sum with the sums among its terms, and how many products are terms of them."""
    found: set[int] = set()
    products = 0
    stack = [top]
    while stack:
        v = stack.pop()
        products += ops[v] in PRODUCTS
        if v not in found and (ops[v] in SUMS or ops[v] == "neg"):
            found.add(v)
            stack.extend(args[v])
    return found, products


def _regions(program: Program) -> list[Sequence[int]]:
    return [program.setup, program.step, program.call, *(block.body for block in program.blocks)]


def _without(run: Sequence[int], gone: set[int]) -> list[int]:
    return [v for v in run if v not in gone]


def _fuse(
    run: Sequence[int], ops: list[str], args: list[tuple[Any, ...]], uses: list[int], gone: set[int], whole: set[int]
) -> None:
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
            if (left is None and right is None) or a == b or v in whole:
                continue
            sign = 1 if op == "add" else -1
            first, second = _sign_of_product(a, ops, args), _sign_of_product(b, ops, args)
            if first and first * second * sign < 0:
                continue
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


def _sign_of_product(v: int, ops: Sequence[str], args: Sequence[tuple[Any, ...]]) -> int:
    """1 for a product or quotient, -1 for the negative of one, 0 for any other value."""
    if ops[v] == "neg":
        return -1 if ops[args[v][0]] in PRODUCTS else 0
    return 1 if ops[v] in PRODUCTS else 0
