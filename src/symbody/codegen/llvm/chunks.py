"""Chunks: a run of values cut into functions of bounded size, with places in a frame for what crosses between them.

Compile time per operation grows with the size of a function, so a large run becomes a list of chunks. A value that is
read in another function than its own is written to a slot of the frame, an array that the caller provides; a slot is
used again once nothing reads its value any more. The body of a `solve` block becomes chunks of its own, called in the
block's loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from symbody.symbolic.expr.function_row import FUNCTIONS
from symbody.symbolic.lower.program import Program, operands

CHUNK = 500
WHOLE = 1200
# Rough size of a value in instructions, where it is not 1; functions have theirs in their rows.
WEIGHTS = {"table": 4, "extern": 8, "solve": 8}


@dataclass(slots=True)
class Chunk:
    """Values computed by one function. `inside` are the blocks whose iteration it belongs to, outermost first."""

    values: list[int]
    inside: tuple[int, ...]
    time: int = 0


@dataclass(slots=True)
class ChunkedRun:
    """Functions of a run and its frame. Slots are counted in values: a frame has `frame_size` times the lanes doubles.

    chunks: all functions; top: those of the run itself in order; bodies: those of each block. home: value -> its chunk.
    slots, outcomes, externs: first slot of a value, of a block's outcome, of an external call.
    """

    chunks: list[Chunk] = field(default_factory=list)
    top: list[int] = field(default_factory=list)
    bodies: dict[int, list[int]] = field(default_factory=dict)
    home: dict[int, int] = field(default_factory=dict)
    slots: dict[int, int] = field(default_factory=dict)
    outcomes: dict[int, int] = field(default_factory=dict)
    externs: dict[int, int] = field(default_factory=dict)
    frame_size: int = 0


def partition(program: Program, values: Sequence[int], outputs: Sequence[int], width: int) -> ChunkedRun:
    """Cut `values` (a run in order, with `solve` values whose blocks are cut too) for code of `width` lanes."""
    p = ChunkedRun()
    p.top = _cut(program, p, values, (), None)
    last_read = _crossings(program, p)
    for v in outputs:
        # outputs made inside a block are copied at the end of the run
        if v >= 0 and v in p.home and p.chunks[p.home[v]].inside:
            last_read[v] = len(p.top)
    _place(program, p, last_read, width)
    return p


def _cut(
    program: Program, p: ChunkedRun, values: Sequence[int], inside: tuple[int, ...], time: int | None
) -> list[int]:
    """Append the chunks of a run (and of the blocks in it); their indices in order. time: None for the run itself."""
    weights = {**{name: row.weight for name, row in FUNCTIONS.items()}, **WEIGHTS}
    limit = CHUNK if len(values) > WHOLE else len(values) * max(weights.values()) + 1
    ops, args, home = program.ops, program.args, p.home
    made: list[int] = []
    current: list[int] = []
    weight = limit  # forces a first chunk
    index = -1
    solves: list[tuple[int, int]] = []
    for v in values:
        op = ops[v]
        if weight >= limit:
            current, index, weight = [], len(p.chunks), 0
            p.chunks.append(Chunk(current, inside, len(made) if time is None else time))
            made.append(index)
        current.append(v)
        home[v] = index
        weight += weights.get(op, 1)
        if op == "solve":
            solves.append((args[v][0], index))
    if not made:
        made.append(len(p.chunks))
        p.chunks.append(Chunk([], inside, time or 0))
    for b, at in solves:
        block = program.blocks[b]
        p.bodies[b] = _cut(program, p, block.body, (*inside, b), p.chunks[at].time)
    return made


def _crossings(program: Program, p: ChunkedRun) -> dict[int, int]:
    """For each value that needs a slot, the time (position of a top chunk) at which it is last read."""
    ops, args, home = program.ops, program.args, p.home
    last: dict[int, int] = {}
    for index, chunk in enumerate(p.chunks):
        time = chunk.time
        for v in chunk.values:
            op = ops[v]
            if op == "result" or op == "solve":
                continue
            for u in args[v] if op in _PLAIN else operands(op, args[v]):
                if home.get(u, index) != index and last.get(u, -1) < time:
                    last[u] = time
    for b, body in p.bodies.items():
        block = program.blocks[b]
        time = p.chunks[body[0]].time
        for u in (*block.guess, *block.ends):
            if u in home:
                last[u] = max(last.get(u, -1), time)
    return last


_PLAIN = frozenset(("add", "sub", "mul", "div", "neg", "sin", "cos", "sqrt", "select", "lt", "le", "min", "max"))


def _place(program: Program, p: ChunkedRun, last_read: dict[int, int], width: int) -> None:
    """Give slots: reused ones to values of the top chunks, lasting ones to values of blocks and external calls."""
    slots, size = p.slots, 0
    free: list[int] = []
    ending: dict[int, list[int]] = {}
    top = set(p.top)
    for time, index in enumerate(p.top):
        for v in p.chunks[index].values:
            until = last_read.get(v)
            if until is None:
                continue
            if free:
                slot = free.pop()
            else:
                slot, size = size, size + 1
            slots[v] = slot
            ending.setdefault(until, []).append(slot)
        free.extend(ending.pop(time, ()))

    for index, chunk in enumerate(p.chunks):
        for v in chunk.values:
            op = program.ops[v]
            if op == "extern":
                f = program.externals[program.args[v][0]]
                # operands, results, and room for one lane's operands and results laid end to end
                p.externs[v], size = size, size + f.arity + f.results + -(-(f.arity + f.results) // width)
            elif index not in top and v in last_read:
                slots[v], size = size, size + 1
    for b in p.bodies:
        p.outcomes[b], size = size, size + 1
        for u in program.blocks[b].unknowns:
            slots[u], size = size, size + 1
    p.frame_size = size
