"""The order of a chunk in which sines and cosines come together: several in one vector cost little more than one."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush

from symbody.symbolic.lower.program import Program, operands

TRIG = ("sin", "cos")


def in_waves(program: Program, values: Sequence[int]) -> Sequence[int]:
    """An order of the values in which sines and cosines wait until nothing else can be done; else near the order given.

    Blocks and external calls keep their places.
    """
    ops, args = program.ops, program.args
    if any(ops[v] in ("solve", "extern", "result") for v in values):
        return values
    place = {v: i for i, v in enumerate(values)}
    missing: list[int] = []
    users: list[list[int]] = [[] for _ in values]
    for i, v in enumerate(values):
        inside = {place[a] for a in operands(ops[v], args[v]) if a in place}
        missing.append(len(inside))
        for j in inside:
            users[j].append(i)
    plain = [i for i, n in enumerate(missing) if not n and ops[values[i]] not in TRIG]
    waiting = [i for i, n in enumerate(missing) if not n and ops[values[i]] in TRIG]
    heapify(plain)
    order: list[int] = []
    while plain or waiting:
        if plain:
            now = [heappop(plain)]
        else:
            now, waiting = sorted(waiting), []
        for i in now:
            order.append(values[i])
            for j in users[i]:
                missing[j] -= 1
                if missing[j]:
                    continue
                if ops[values[j]] in TRIG:
                    waiting.append(j)
                else:
                    heappush(plain, j)
    return order
