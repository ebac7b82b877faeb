"""Names reused by liveness: values whose lives do not overlap share one variable (ROBOTRAN, section 3.10 e6).

A value lives from where it is made to where it is last read. A solve block is a loop: what it reads from outside lives
until it ends, and so do its unknowns. Setup and main (step, then call) are two runs with slots of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from symbody.symbolic.lower.program import LEAVES, Program, operands


@dataclass(frozen=True, slots=True)
class Slots:
    """`slot[v]` is the variable of value v in its run; `setup` and `main` are the numbers of variables of the runs."""

    slot: dict[int, int]
    setup: int
    main: int


def reuse_names(program: Program) -> Slots:
    """A slot for every value that is a number, in linear time."""
    setup_values = values_of(program, program.setup)
    main = _LiveRun(program, {v for p in program.outputs for v in p.values})
    main.walk(program.main(), None)
    # what main reads of setup is stored when it is made
    setup = _LiveRun(program, {v for v in (*main.read, *main.kept) if v in setup_values})
    setup.walk(program.setup, None)
    first, second = setup.allocate(), main.allocate()
    return Slots({**first, **second}, _width(first), _width(second))


def values_of(program: Program, order: Iterable[int]) -> set[int]:
    """The values of a run with the unknowns and bodies of its blocks."""
    found: set[int] = set()
    waiting = list(order)
    while waiting:
        v = waiting.pop()
        found.add(v)
        if program.ops[v] == "solve":
            block = program.blocks[program.args[v][0]]
            found.update(block.unknowns)
            waiting.extend(block.body)
    return found


def _width(slots: dict[int, int]) -> int:
    return max(slots.values(), default=-1) + 1


class _LiveRun:
    """Positions of one run, bodies of blocks in line: what is made and last read at each."""

    def __init__(self, program: Program, kept: set[int]) -> None:
        self.program, self.kept = program, kept
        self.made: list[Sequence[int]] = []
        self.loads_first: list[bool] = []
        self.last: dict[int, int] = {}
        self.born: dict[int, int] = {}
        self.read: set[int] = set()

    def walk(self, order: Iterable[int], outermost: list[int] | None) -> None:
        """Appends positions; `outermost` collects the values made inside the outermost block that is open."""
        ops, args = self.program.ops, self.program.args
        for v in order:
            op = ops[v]
            if op == "solve":
                self._walk_block(args[v][0], outermost)
            elif op == "extern":
                self._place((), operands(op, args[v]))
                self.born[v] = len(self.made) - 1  # its results are made here, see below
            elif op == "result":
                self.born[v] = self.born[args[v][0]]
                self.made[self.born[v]] = (*self.made[self.born[v]], v)
                self.last[v] = max(self.last.get(v, 0), self.born[v])
            else:
                self._place((v,), operands(op, args[v]))
            if outermost is not None:
                outermost.append(v)

    def _walk_block(self, index: int, outermost: list[int] | None) -> None:
        block = self.program.blocks[index]
        inside: list[int] = [] if outermost is None else outermost
        start = len(self.made)
        self._place(block.unknowns, block.guess, loads_first=False)
        inside.extend(block.unknowns)
        self.walk(block.body, inside)
        end = len(self.made)
        self._place((), (*block.ends, *block.residual, *block.unknowns))
        # the loop comes back to its start: what was made before it and is read in it must stay until it ends
        for v in {v for v in self._reads(block.body) if self.born.get(v, end) < start}:
            self.last[v] = end
        if outermost is None:
            for v in inside:  # results are stored after the outermost block
                if v in self.kept:
                    self.last[v] = max(self.last[v], end)

    def _reads(self, body: Iterable[int]) -> Iterable[int]:
        for v in body:
            op, args = self.program.ops[v], self.program.args[v]
            if op == "solve":
                inner = self.program.blocks[args[0]]
                yield from inner.guess
                yield from self._reads(inner.body)
            yield from operands(op, args)

    def _place(self, made: Sequence[int], read: Sequence[int], loads_first: bool = True) -> None:
        position = len(self.made)
        for v in read:
            self.last[v] = position
            self.read.add(v)
        for v in made:
            self.born[v] = self.last[v] = position
        self.made.append(made)
        self.loads_first.append(loads_first)

    def allocate(self) -> dict[int, int]:
        ops = self.program.ops
        ends: list[list[int]] = [[] for _ in self.made]
        for v, position in self.last.items():
            if v in self.born and (ops[v] not in LEAVES or ops[v] == "unknown") and ops[v] != "extern":
                ends[position].append(v)
        slot: dict[int, int] = {}
        free: list[int] = []
        count = 0
        for position, made in enumerate(self.made):
            # an operand that dies here may give its slot to the result, unless several are loaded one after another
            dying = [v for v in ends[position] if v not in made]
            if self.loads_first[position]:
                free.extend(slot[v] for v in dying)
            for v in made:
                if free:
                    slot[v] = free.pop()
                else:
                    slot[v] = count
                    count += 1
            if not self.loads_first[position]:
                free.extend(slot[v] for v in dying)
            free.extend(slot[v] for v in ends[position] if v in made)
        return slot
