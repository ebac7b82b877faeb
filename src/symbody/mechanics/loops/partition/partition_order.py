"""Orders given by hand: of the rows and columns of J_v, of its blocks, and of the pivots inside a block.

Everything is said by name and checked by structure before a program is made. An order goes into the blocks themselves:
the k-th row is solved for the k-th column, so that given pivots lie on the diagonal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from symbody.basics.errors import ModelError, NameLookupError, SymbodyError, nearest
from symbody.mechanics.assembly.constraints import Constraints
from symbody.mechanics.loops.closing.factors import CLOSED, factors
from symbody.mechanics.loops.partition.partition import Partition
from symbody.mechanics.loops.partition.structure import Block, match
from symbody.model.record.coordinates import velocity_labels

Pair = tuple[int, int]  # row of the Constraints, velocity


def ordered(
    found: Constraints,
    partition: Partition,
    rows: Sequence[str] = (),
    columns: Sequence[str] = (),
    pivots: Sequence[tuple[str, str]] = (),
) -> Partition:
    """The Partition with an order by hand for the blocks that are named; the others stay as they are.

    rows      constraints, all those of a block: they are solved in this order, each for its velocity
    columns   velocities, all those of a block. With rows and columns the k-th row is solved for the k-th column
    pivots    pairs (constraint, velocity) in place of both; up to three of a block may be left out, which a formula
              solves. The pair that is eliminated first comes first
    Blocks come in the order in which they are named.
    """
    of_row = _places(partition, "rows")
    of_column = _places(partition, "columns")
    lines = [_line(found, partition, r) for r in rows]
    velocities = [_velocity(found, partition, c) for c in columns]
    pairs = [_pair(found, partition, p) for p in pivots]
    orders: dict[int, list[Pair]] = {}
    for k in dict.fromkeys([*(of_row[r] for r in lines), *(of_column[c] for c in velocities)]):
        orders[k] = _diagonal(found, partition, k, lines, velocities)
    by_pivots: dict[int, list[Pair]] = {}
    for r, c in pairs:
        if of_row[r] != of_column[c]:
            raise ModelError(
                f"the pivot ({_row(found, r)}, {_column(found, c)}) lies outside the blocks: the row belongs to "
                f"{_say(found, partition, of_row[r])}, the joint to {_say(found, partition, of_column[c])}."
            )
        by_pivots.setdefault(of_row[r], []).append((r, c))
    for k in by_pivots:
        if k in orders:
            raise ModelError(f"both pivots and rows or columns name {_say(found, partition, k)}; expected one of them.")
        _check_once(found, partition, k, by_pivots[k])
    orders |= by_pivots
    chains = [[of_row[r] for r in lines], [of_column[c] for c in velocities], [of_row[r] for r, _ in pairs]]
    return _rearranged(found, partition, orders, chains)


def check_partition(found: Constraints, partition: Partition) -> None:
    """A Partition belongs to these Constraints, solves each row once, and its given pivots are there."""
    mine = (found.names, velocity_labels(found.tree.mechanism))
    if partition.names != mine:
        other = ", ".join(partition.names[0]) or "none"
        raise ModelError(
            f"the Partition was made for other constraints ({other}) or joints than those of "
            f"{found.tree.mechanism.name} ({', '.join(found.names)}). Make one for this mechanism."
        )
    taken = sorted(c for b in partition.blocks for c in b.columns)
    if taken != sorted(partition.dependent) or len(set(partition.rows)) != len(partition.rows):
        raise ModelError(
            "the blocks of the Partition do not hold each dependent joint and each row once; change its order by "
            "`partition(mechanism, this, rows=..., columns=..., pivots=...)`."
        )
    for k in partition.given:
        block = partition.blocks[k]
        order = [(block.rows[r], block.columns[c]) for r, c in partition.pivots.get(k, ())]
        _check_once(found, partition, k, order)
        _filled(found, partition, k, order)


# -- names


def _line(found: Constraints, partition: Partition, name: str) -> int:
    """A row that is solved, by name."""
    if name not in found.names:
        raise NameLookupError(
            f"the order names row {name!r}, which is no constraint. {nearest(str(name), found.names)}"
        )
    r = found.names.index(name)
    if r not in partition.rows:
        why = "redundant" if r in partition.redundant else "open"
        raise ModelError(f"the order names row {name!r}, which is {why} and not solved. Leave it out.")
    return r


def _velocity(found: Constraints, partition: Partition, name: str) -> int:
    """A dependent velocity by name."""
    names = velocity_labels(found.tree.mechanism)
    if name not in names:
        raise NameLookupError(f"the order names {name!r}, which is no velocity of a joint. {nearest(str(name), names)}")
    c = names.index(name)
    if c not in partition.dependent:
        raise ModelError(
            f"the order names {name!r}, which is independent; expected some of "
            f"{', '.join(names[i] for i in partition.dependent)}."
        )
    return c


def _pair(found: Constraints, partition: Partition, pair: tuple[str, str]) -> Pair:
    if isinstance(pair, str) or len(pair) != 2:
        raise ModelError(f"a pivot is {pair!r}; expected a pair (constraint, joint).")
    return _line(found, partition, pair[0]), _velocity(found, partition, pair[1])


def _row(found: Constraints, r: int) -> str:
    return found.rows[r].name


def _column(found: Constraints, c: int) -> str:
    return velocity_labels(found.tree.mechanism)[c]


def _say(found: Constraints, partition: Partition, k: int) -> str:
    block = partition.blocks[k]
    names = velocity_labels(found.tree.mechanism)
    rows, columns = ", ".join(_row(found, r) for r in block.rows), ", ".join(names[c] for c in block.columns)
    return f"block {k} (rows {rows} for {columns})"


def _places(partition: Partition, side: str) -> dict[int, int]:
    """Row or velocity -> number of its block."""
    return {x: k for k, b in enumerate(partition.blocks) for x in getattr(b, side)}


# -- checks


def _diagonal(found: Constraints, partition: Partition, k: int, lines: list[int], velocities: list[int]) -> list[Pair]:
    """Pairs of a block from the order of its rows, of its columns, or of both."""
    block = partition.blocks[k]
    mine = [r for r in lines if r in block.rows]
    theirs = [c for c in velocities if c in block.columns]
    named = {r: _row(found, r) for r in block.rows}, {c: _column(found, c) for c in block.columns}
    for what, given, members, names in (
        ("rows", mine, block.rows, named[0]),
        ("columns", theirs, block.columns, named[1]),
    ):
        if given and sorted(given) != sorted(members):
            raise ModelError(
                f"{what} names {', '.join(names[x] for x in given)} of {_say(found, partition, k)}; expected each of "
                f"{', '.join(names[x] for x in members)} once."
            )
    if not theirs:
        return [(r, block.columns[block.rows.index(r)]) for r in mine]
    if not mine:
        return [(block.rows[block.columns.index(c)], c) for c in theirs]
    return list(zip(mine, theirs, strict=True))


def _check_once(found: Constraints, partition: Partition, k: int, order: Sequence[Pair]) -> None:
    """Each row and column at most once, and not more left out than a formula solves."""
    for what, given in (("row", [_row(found, r) for r, _ in order]), ("joint", [_column(found, c) for _, c in order])):
        for x in given:
            if given.count(x) > 1:
                raise ModelError(f"{what} {x} is in two pivots of {_say(found, partition, k)}; expected one.")
    left = partition.blocks[k].size - len(order)
    if left > CLOSED:
        raise ModelError(
            f"{len(order)} pivots are given for {_say(found, partition, k)}, which leaves {left}; a formula solves up "
            f"to {CLOSED}. Give {left - CLOSED} or more in addition."
        )


def _filled(found: Constraints, partition: Partition, k: int, order: Sequence[Pair]) -> np.ndarray:
    """The pattern (m, nv) after elimination; every pivot is there when its turn comes, by structure and by algebra."""
    block = partition.blocks[k]
    there = found.pattern
    outside = [c for c in range(there.shape[1]) if c not in block.columns]
    there[:, outside] = False
    there[[r for r in range(len(there)) if r not in block.rows]] = False
    for step, (r, c) in enumerate(order, 1):
        if not there[r, c]:
            raise ModelError(
                f"the pivot of row {_row(found, r)} and joint {_column(found, c)}, number {step} of "
                f"{_say(found, partition, k)}, is zero by structure. Give another order of pivots."
            )
        there |= np.outer(there[:, c], there[r])
        there[r], there[:, c] = False, False
    entries = [[found.rows[r].J.get(c, 0) for c in block.columns] for r in block.rows]
    places = [(block.rows.index(r), block.columns.index(c)) for r, c in order]
    try:
        factors(np.array(entries, dtype=object), places, given=True)
    except SymbodyError as error:
        raise ModelError(f"{_say(found, partition, k)} cannot be solved in the order given: {error}") from None
    return there


# -- the new Partition


def _rearranged(
    found: Constraints, partition: Partition, orders: dict[int, list[Pair]], chains: list[list[int]]
) -> Partition:
    if not orders:
        return partition
    made = {k: _block(found, partition, k, order) for k, order in orders.items()}
    sequence = _sequence(found, partition, chains)
    place = {k: n for n, k in enumerate(sequence)}
    blocks, pivots = [], {}
    for k in sequence:
        block = made.get(k, partition.blocks[k])
        blocks.append(replace(block, after=tuple(sorted(place[a] for a in block.after))))
        if k in orders:
            pivots[place[k]] = tuple((n, n) for n in range(len(orders[k])))
        elif k in partition.pivots:
            pivots[place[k]] = partition.pivots[k]
    spare = {place[k]: rows for k, rows in partition.spare.items() if k not in orders}
    position, position_pivots = list(partition.position), dict(partition.position_pivots)
    position_spare = dict(partition.position_spare)
    if partition.position == partition.blocks:
        position, position_pivots, position_spare = list(blocks), dict(pivots), dict(spare)
    else:  # rows on velocities only: blocks that find coordinates too take the order over
        for k, order in orders.items():
            for n, old in enumerate(position):
                if old.matches(made[k]):
                    position[n] = replace(made[k], after=old.after)
                    position_pivots[n] = tuple((i, i) for i in range(len(order)))
                    position_spare.pop(n, None)
    given = {place[k] for k in {*orders, *partition.given}}
    words = "; ".join(", ".join(f"{_row(found, r)} for {_column(found, c)}" for r, c in o) for o in orders.values())
    return replace(
        partition,
        blocks=tuple(blocks),
        pivots=pivots,
        position=tuple(position),
        position_pivots=position_pivots,
        spare=spare,
        position_spare=position_spare,
        given=frozenset(given),
        explanation=f"{partition.explanation} Pivots by hand: {words}.".strip(),
    )


def _block(found: Constraints, partition: Partition, k: int, order: list[Pair]) -> Block:
    """The block with its pivots on the diagonal; what they leave is matched after them."""
    old = partition.blocks[k]
    there = _filled(found, partition, k, order)
    rows = [r for r in old.rows if r not in {r for r, _ in order}]
    columns = [c for c in old.columns if c not in {c for _, c in order}]
    partners = [columns[i] for i in match(there[np.ix_(rows, columns)])] if rows else []
    return Block((*(r for r, _ in order), *rows), (*(c for _, c in order), *partners), old.after)


def _sequence(found: Constraints, partition: Partition, chains: list[list[int]]) -> list[int]:
    """Numbers of the blocks in the order in which they are named, after those that they need."""
    before = {k: {*b.after} for k, b in enumerate(partition.blocks)}
    for chain in chains:
        named = list(dict.fromkeys(chain))
        for first, then in pairwise(named):
            before[then].add(first)
    out: list[int] = []
    while len(out) < len(before):
        ready = next((k for k in before if k not in out and before[k] <= set(out)), None)
        if ready is None:
            stuck = [k for k in dict.fromkeys(x for c in chains for x in c) if k not in out]
            raise ModelError(
                f"the order names {_say(found, partition, stuck[0])} too early: it needs another one that is named "
                f"after it. In the order of need: {', '.join(_row(found, r) for r in partition.rows)}."
            )
        out.append(ready)
    return out
