"""Closed loops in cascade: positions by Newton's iteration, velocities and accelerations by the same factors.

Block by block (robotran 3.13), with q_u independent and q_v dependent:

    position      h^K(q_u, q^I .. q^K) = 0
    velocity      J^K B^K = -J_u^K - sum J^{K,L} B^L,          qd_v = B qd_u + b
    acceleration  J^K b'^K = -(Jdot qd)^K - sum J^{K,L} b'^L,  qdd_v = B qdd_u + b'

Only diagonal blocks are factored. Everything is written in the symbols of the Tree, as if the dependent coordinates
were known; a ClosurePlan then puts their solutions in.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from symbody.mechanics.assembly.constraints import ConstraintRow, Constraints
from symbody.mechanics.assembly.numeric import usual_unit
from symbody.mechanics.formalisms.tree import Tree
from symbody.mechanics.formalisms.vec3 import plus
from symbody.mechanics.loops.closing.binding import Binder
from symbody.mechanics.loops.closing.factors import Factors, Spare, factors
from symbody.mechanics.loops.closing.soundness import (
    BRANCH,
    VELOCITIES,
    bounds,
    closed_rows,
    guard,
    remedy,
    right_side,
    same_branch,
    sound_factors,
)
from symbody.mechanics.loops.closing.unknowns import Unknowns, unknowns
from symbody.mechanics.loops.partition.partition import Partition
from symbody.mechanics.loops.partition.structure import Block, strong_order
from symbody.model.record.coordinates import part_of
from symbody.symbolic.expr.arrays import Array, difference, is_zero, sum_of_products, zeros
from symbody.symbolic.expr.call import as_nodes
from symbody.symbolic.expr.implicit import Condition
from symbody.symbolic.expr.node import BlockCheck, Node, Pivots
from symbody.symbolic.expr.walk import at, free_symbols, quiet_collector, substitute
from symbody.symbolic.rewrite.presets import optimize


@dataclass(frozen=True, eq=False)
class BlockGroup:
    """Blocks whose coordinates are found by one iteration: the h of each may read coordinates of all of them.

    J_v is solved block by block all the same: rotation rows of a cut read joints that their J does not contain.
    """

    blocks: tuple[Block, ...]
    factored: tuple[Factors, ...]

    @property
    def rows(self) -> tuple[int, ...]:
        return tuple(r for block in self.blocks for r in block.rows)

    @property
    def columns(self) -> tuple[int, ...]:
        return tuple(c for block in self.blocks for c in block.columns)


def cascade(
    found: Constraints, blocks: Sequence[Block], factored: Sequence[Factors], right: Mapping[int, Any]
) -> dict[int, Any]:
    """x of J_v x = right block by block; right: constraint row -> value. Returns velocity -> value."""
    x: dict[int, Any] = {}
    for block, mine in zip(blocks, factored, strict=True):
        values = []
        for r in block.rows:
            known = sum_of_products((e, x[k]) for k, e in found.rows[r].J.items() if k in x)
            values.append(difference(right.get(r, 0), known))
        x.update(zip(block.columns, mine.solve(values), strict=True))
    return x


@dataclass(frozen=True, eq=False)
class Closure:
    """Constraints of a Tree with a Partition of its velocities, ready to be solved.

    blocks     diagonal blocks in the order of solution, with their factors
    located    groups of those that find coordinates, each found by one iteration. Their blocks are the same, unless
               some constraints are on velocities only
    u, v       indices of the independent and of the dependent velocities (v in the order of the blocks)
    """

    constraints: Constraints
    partition: Partition
    blocks: tuple[Block, ...]
    factored: tuple[Factors, ...]
    located: tuple[BlockGroup, ...]

    @property
    def tree(self) -> Tree:
        return self.constraints.tree

    @property
    def u(self) -> tuple[int, ...]:
        return self.partition.independent

    @cached_property
    def v(self) -> tuple[int, ...]:
        return tuple(k for block in self.blocks for k in block.columns)

    @cached_property
    def place(self) -> dict[int, int]:
        """Dependent velocity -> its row in B and b'."""
        return {k: i for i, k in enumerate(self.v)}

    def solve(self, right: Mapping[int, Any]) -> dict[int, Any]:
        """x of J_v x = right block by block; right: constraint row -> value. Returns velocity -> value."""
        return cascade(self.constraints, self.blocks, self.factored, right)

    def solve_transposed(self, right: Mapping[int, Any]) -> dict[int, Any]:
        """y of J_v^T y = right, last block first; right: velocity -> value. Returns constraint row -> value."""
        y: dict[int, Any] = {}
        for block, found in zip(reversed(self.blocks), reversed(self.factored), strict=True):
            values = []
            for k in block.columns:
                known = sum_of_products(
                    (self.constraints.rows[r].J[k], y[r]) for r in y if k in self.constraints.rows[r].J
                )
                values.append(difference(right.get(k, 0), known))
            y.update(zip(block.rows, found.solve_transposed(values), strict=True))
        return y

    @cached_property
    def B(self) -> Array:
        """(v, u): qd_v = B qd_u, where no constraint depends on time."""
        out = zeros(len(self.v), len(self.u))
        for j, k in enumerate(self.u):
            column = {r: difference(0, row.J[k]) for r, row in self._rows() if k in row.J}
            if column:
                for i, value in self.solve(column).items():
                    out[self.place[i], j] = value
        return out

    @cached_property
    def E(self) -> Array:
        """(v, m): J_v^-1, dependent velocities for unit rates of the constraints; 0 for rows that were left out."""
        out = zeros(len(self.v), len(self.constraints.rows))
        for r, _ in self._rows():
            for i, value in self.solve({r: 1}).items():
                out[self.place[i], r] = value
        return out

    @cached_property
    def rates(self) -> dict[Node, Any]:
        """Symbol of a dependent velocity -> its value, as an expression of the independent ones (by B)."""
        drift = self.solve({r: difference(0, row.ht) for r, row in self._rows() if not is_zero(row.ht)})
        qd = self.tree.qd
        out = {}
        for k, i in self.place.items():
            value = sum_of_products(zip(self.B[i], qd[list(self.u)]))
            out[qd[k]] = value if is_zero(drift[k]) else drift[k] + value
        return out

    @cached_property
    def direct_rates(self) -> dict[Node, Any]:
        """As `rates`, without B: one right-hand side."""
        qd, independent = self.tree.qd, set(self.u)
        right = {}
        for r, row in self._rows():
            moved = sum_of_products((e, qd[k]) for k, e in row.J.items() if k in independent)
            right[r] = difference(difference(0, row.ht), moved)
        return {qd[k]: value for k, value in self.solve(right).items()}

    @cached_property
    def bias(self) -> Array:
        """(v,) b': dependent accelerations at zero independent ones."""
        found = self.solve({r: difference(0, row.bias) for r, row in self._rows()})
        return np.array([found[k] for k in self.v], dtype=object)

    @cached_property
    def solved_rows(self) -> tuple[int, ...]:
        """Rows of the constraints in the order of the blocks; redundant ones are left out."""
        return tuple(r for block in self.blocks for r in block.rows)

    def _rows(self) -> list[tuple[int, ConstraintRow]]:
        return [(r, self.constraints.rows[r]) for r in self.solved_rows]

    def _unlocated(self) -> list[Condition]:
        """What must hold of factors that no iteration uses: of velocities, where these have blocks of their own."""
        own = {id(factors) for group in self.located for factors in group.factored}
        pairs = zip(self.blocks, self.factored, strict=True)
        return [x for b, f in pairs if id(f) not in own for x in sound_factors(self.constraints, b, f)]

    @cached_property
    def _guarded(self) -> tuple[list[Condition], str]:
        """What must hold besides where all blocks have ended, and what to do where it does not."""
        unlocated = [*self._unlocated(), *self._iterations[2]]
        rows, left = self.constraints.rows, self.partition.redundant
        rates = {}
        for r in left:
            moved = [(rows[r].J.get(k, 0), self.B[:, j]) for j, k in enumerate(self.u)]
            by_v = [(e, self.place[k]) for k, e in rows[r].J.items() if k in self.place]
            rates[r] = [plus(own, sum_of_products((e, column[i]) for e, i in by_v)) for own, column in moved]
        branch = [
            *right_side(self.constraints, [*self.solved_rows, *left]),
            *same_branch(self.constraints, left, rates),
        ]
        advice = [VELOCITIES] * bool(unlocated) + [BRANCH] * bool(branch)
        return [*unlocated, *branch], " ".join(advice)

    @cached_property
    def _iterations(self) -> tuple[tuple[tuple[str, Unknowns], ...], list[Any], list[Condition]]:
        """Name and unknowns of each group; of all groups residuals, steps, and value and limit of their checks; and the
        checks that must wait until all groups are solved.

        The same for all outputs: many programs are written about one Closure before the smallest is taken.
        """
        owners = part_of(self.tree.mechanism)
        solved, roots, late = [], [], list[Condition]()
        for i, group in enumerate(self.located):
            h = [self.constraints.rows[r].h for r in group.rows]
            w = cascade(
                self.constraints, group.blocks, group.factored, {r: difference(0, x) for r, x in zip(group.rows, h)}
            )
            mine = unknowns(self.tree, group.columns, w, owners, usual_unit(self.constraints))
            mine.remedy = remedy(self.constraints, group.rows, group.columns)
            mine.checks = [*closed_rows(self.constraints, group.blocks)]
            for block, factored in zip(group.blocks, group.factored, strict=True):
                mine.checks += sound_factors(self.constraints, block, factored)
            # the scale of a pivot may read lengths that its rows do not: of slides along an axis that drops out of them
            later = {c for other in self.located[i + 1 :] for c in other.columns}
            if not later.isdisjoint(_read(self.tree, [x for _, *pair in mine.checks for x in pair])):
                waits = [not later.isdisjoint(_read(self.tree, pair)) for _, *pair in mine.checks]
                late += [check for check, wait in zip(mine.checks, waits, strict=True) if wait]
                mine.checks = [check for check, wait in zip(mine.checks, waits, strict=True) if not wait]
            solved.append((_block_name(self.constraints, group), mine))
            roots += [*h, *mine.step, *(x for _, *pair in mine.checks for x in pair)]
        return tuple(solved), roots, late

    # -- outputs at the solution

    def plan(
        self, outputs: Mapping[str, Any], preset: str = "standard", direct: bool = False, rounds: int = 3
    ) -> ClosurePlan:
        """Outputs (expressions of the Tree's symbols) and the iterations, rewritten together by a preset.

        direct: whether dependent velocities are solved for without B.
        """
        with quiet_collector():
            solved, steps, _ = self._iterations
            apart, advice = self._guarded
            roots = [*steps, *(x for _, *pair in apart for x in pair)]
            arrays = {n: np.array(a, dtype=object) for n, a in outputs.items()}
            nodes = as_nodes([self.tree.graph.zero, *roots, *(x for a in arrays.values() for x in a.flat)])[1:]
            nodes = substitute(nodes, self.direct_rates if direct else self.rates)
            if preset != "none":
                nodes, _ = optimize(nodes, preset, rounds=rounds)
            return ClosurePlan(
                solved, {n: a.shape for n, a in arrays.items()}, nodes, tuple(c for c, *_ in apart), advice
            )

    def bound(
        self, outputs: Mapping[str, Any], preset: str = "standard", direct: bool = False, rounds: int = 3
    ) -> dict[str, Array]:
        """Outputs at the closed position and velocity; the dependent part of q is a guess, that of qd is not read."""
        return self.plan(outputs, preset, direct, rounds).bound()


@dataclass(frozen=True, eq=False)
class ClosurePlan:
    """A program in which dependent coordinates still are symbols.

    nodes: of each block its residuals, steps, and value and limit of its checks; those of the guard, which belong to no
    block; then the outputs.
    """

    solved: tuple[tuple[str, Unknowns], ...]
    shapes: dict[str, tuple[int, ...]]
    nodes: list[Node]
    guard: tuple[BlockCheck, ...] = ()
    advice: str = ""

    @property
    def outputs(self) -> list[Node]:
        before = sum(2 * len(mine.symbols) + 2 * len(mine.checks) for _, mine in self.solved)
        return self.nodes[before + 2 * len(self.guard) :]

    def bound(self) -> dict[str, Array]:
        """The outputs at the solutions of the blocks."""
        with quiet_collector():
            binder, start = Binder({s for _, mine in self.solved for s in (*mine.symbols, *mine.values)}), 0
            for name, mine in self.solved:
                n, end = len(mine.symbols), start + 2 * len(mine.symbols) + 2 * len(mine.checks)
                h, step = self.nodes[start : start + n], self.nodes[start + n : start + 2 * n]
                binder.add_block(name, h, step, mine, self.nodes[start + 2 * n : end])
                start = end
            found = binder.at_solution(self.nodes[start:])
            if self.guard:
                block = guard("sound_loops", list(zip(self.guard, found[::2], found[1::2])), self.advice)
                found = found[2 * len(self.guard) :]
                found = found if block is None else [at(block, x) for x in found]
            rest = iter(found)
        out = {}
        for name, shape in self.shapes.items():
            out[name] = np.empty(shape, dtype=object)
            for i in range(out[name].size):
                out[name].flat[i] = next(rest)
        return out


def close(found: Constraints, partition: Partition) -> Closure:
    """The Closure of constraints by a partition."""
    moved = _factored(found, partition.blocks, partition.pivots, partition.spare, partition.given)
    holonomic = all(found.rows[r].h is not None for r in partition.rows)
    if holonomic:
        located = moved
    else:
        by_hand = {partition.blocks[k] for k in partition.given}
        same = {k for k, b in enumerate(partition.position) if any(b.matches(other) for other in by_hand)}
        spare = partition.position_spare
        located = _factored(found, partition.position, partition.position_pivots, spare, same)
    return Closure(found, partition, tuple(b for b, _ in moved), tuple(f for _, f in moved), _groups(found, located))


def _groups(found: Constraints, located: Sequence[tuple[Block, Factors]]) -> tuple[BlockGroup, ...]:
    """Blocks that wait for each other by what their h and J read; each group needs only earlier ones.

    The entries of J count too: rows of a turn may be written in axes that another joint turns, which leaves h as it is,
    but not the velocities that the factors of J are used for.

    A finite turn couples the three increments of a quaternion: blocks that hold parts of one wait for each other too.
    """
    owner = {c: k for k, (block, _) in enumerate(located) for c in block.columns}
    needs = np.zeros((len(located), len(located)), dtype=bool)
    for k, (block, _) in enumerate(located):
        for r in block.rows:
            row = found.rows[r]
            for c in {*row.J, *_read(found.tree, (row.h, *row.J.values()))} & owner.keys():
                needs[k, owner[c]] = True
    owners = part_of(found.tree.mechanism)
    for c, k in owner.items():
        if not owners[c].motion.plain:
            needs[k, [owner[j] for j in owners[c].velocities if j in owner]] = True
    return tuple(
        BlockGroup(tuple(located[k][0] for k in members), tuple(located[k][1] for k in members))
        for members in strong_order(needs)
    )


def _read(tree: Tree, expressions: Sequence[Any]) -> set[int]:
    """Velocities of the coordinates in expressions."""
    inside = free_symbols([x for x in expressions if isinstance(x, Node)])
    places = {s: k for k, s in enumerate(tree.q)}
    read = {places[s] for s in inside if s in places}
    return {k for k, part in part_of(tree.mechanism).items() if not read.isdisjoint(part.coordinates(k))}


def _factored(
    found: Constraints,
    blocks: tuple[Block, ...],
    pivots: Mapping[int, Pivots],
    spare: Mapping[int, Spare],
    given: Collection[int],
) -> tuple[tuple[Block, Factors], ...]:
    out, magnitude = [], bounds(found)
    for k, block in enumerate(blocks):
        rows = [[found.rows[r].J.get(c, 0) for c in block.columns] for r in block.rows]
        entries = np.array(rows, dtype=object)
        out.append((block, factors(entries, pivots.get(k), k in given, magnitude, spare.get(k, ()))))
    return tuple(out)


def _block_name(found: Constraints, block: BlockGroup) -> str:
    loops = dict.fromkeys(found.rows[r].loop for r in block.rows)
    return "close_" + "_".join("".join(c if c.isalnum() else "_" for c in name) for name in loops)
