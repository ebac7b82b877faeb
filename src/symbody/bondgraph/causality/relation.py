"""What the junction structure asks of the efforts and flows at its ports, and which of them may be given.

The n rows over the 2 n variables of n ports span a Lagrangian subspace: power is conserved. So whatever variables of
some ports can be results together can be extended by one variable of every other port; a greedy choice in the order of
preference is the best one (a delta-matroid, Bouchet 1987). This is the assignment of causality, exact also where loops
of gain one make a causality impossible that looks possible.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic

from symbody.bondgraph.causality.scalars import S
from symbody.bondgraph.graph.bond_graph import TWO_PORTS, BondGraph
from symbody.bondgraph.graph.flat import Coefficient, Flat, effort, flow
from symbody.model.record.origin import fault

Matrix = dict[int, dict[int, S]]  # result -> {given: coefficient}, places of ports


@dataclass
class Relation(Generic[S]):
    """Rows over the variables of ports, 2 k the effort and 2 k + 1 the flow of port k."""

    rows: list[dict[int, S]]
    size: int


def relation_of(flat: Flat, scalar: Callable[[Coefficient], S]) -> Relation[S]:
    """The rows at the ports, bonds inside eliminated; loops of junctions that leave a bond undetermined are refused."""
    place = {p.bond: p.index for p in flat.ports}
    inside = [v for b in range(flat.size) if b not in place for v in (effort(b), flow(b))]
    rows = [{v: scalar(c) for v, c in row.items()} for row in flat.rows()]
    left = _eliminate([{v: c for v, c in r.items() if c} for r in rows], inside, flat)
    names = {w: 2 * k + s for b, k in place.items() for s, w in enumerate((effort(b), flow(b)))}
    return Relation([{names[v]: c for v, c in row.items()} for row in left if row], len(flat.ports))


def _eliminate(rows: list[dict[int, S]], inside: Sequence[int], flat: Flat) -> list[dict[int, S]]:
    """Rows without the variables inside, shortest columns first."""
    columns: dict[int, set[int]] = {v: set() for v in inside}
    for i, row in enumerate(rows):
        for v in row:
            if v in columns:
                columns[v].add(i)
    queue = [(len(found), v) for v, found in columns.items()]
    heapq.heapify(queue)
    done: set[int] = set()
    while queue:
        count, v = heapq.heappop(queue)
        if v in done or count != len(columns[v]):
            if v not in done:
                heapq.heappush(queue, (len(columns[v]), v))
            continue
        if not count:
            raise _undetermined(flat, [w for w in inside if w not in done and not columns[w]] or [v])
        done.add(v)
        r = min(columns[v], key=lambda i: (rows[i][v].rank, len(rows[i]), i))
        pivot, rows[r] = rows[r], {}
        for w in pivot:
            if w in columns:
                columns[w].discard(r)
        head = pivot.pop(v)
        for i in sorted(columns[v]):
            factor = rows[i].pop(v) / head
            _subtract(rows[i], pivot, factor, columns, i)
        columns[v] = set()
    return rows


def _subtract(row: dict[int, S], pivot: dict[int, S], factor: S, columns: dict[int, set[int]], i: int) -> None:
    for w, c in pivot.items():
        old = row.get(w)
        new = -(factor * c) if old is None else old - factor * c
        if new:
            row[w] = new
            if w in columns:
                columns[w].add(i)
        elif old is not None:
            del row[w]
            if w in columns:
                columns[w].discard(i)


def _undetermined(flat: Flat, variables: Iterable[int]) -> Exception:
    numbers = sorted({flat.ends[v // 2][0] for v in variables} - {0})
    ring = _ring(flat.graph, numbers[0]) if numbers else []
    bonds = ", ".join(str(flat.graph.bonds[n - 1]) for n in sorted(ring or numbers))
    return fault(
        "",
        f"bonds {bonds} form a loop of junctions without elements, in which something may circulate that no element "
        "determines; expected an element in the loop, or one path less.",
    )


def _ring(graph: BondGraph, number: int) -> list[int]:
    """Numbers of bonds of a shortest ring through a bond that passes junctions, TF and GY only; [] if there is none."""
    inner = {e.name for e in graph.elements.values() if e.is_junction or e.kind in TWO_PORTS}
    first = graph.bonds[number - 1]
    came: dict[str, tuple[str, int]] = {first.tail: ("", 0)}
    waiting = [first.tail]
    while waiting and first.head not in came:
        name = waiting.pop(0)
        for b in graph.bonds:
            if (
                b.number != number
                and name in (b.tail, b.head)
                and (other := b.other(name)) in inner
                and other not in came
            ):
                came[other] = (name, b.number)
                waiting.append(other)
    if first.head not in came:
        return []
    ring, at = [number], first.head
    while came[at][0]:
        ring.append(came[at][1])
        at = came[at][0]
    return ring


@dataclass(frozen=True)
class PortCausality:
    """A causality of all ports.

    gives      port -> "e" or "f", what the element gives to the junction structure
    refused    ports that did not get what was preferred -> ports whose choices stood in the way
    """

    gives: tuple[str, ...]
    refused: dict[int, tuple[int, ...]]


def choose(relation: Relation[S], wishes: Sequence[tuple[int, str]]) -> PortCausality:
    """The causality that grants the wishes (port, what its element gives) in their order as far as possible."""
    rows = [dict(row) for row in relation.rows]
    columns: dict[int, set[int]] = {v: set() for v in range(2 * relation.size)}
    for i, row in enumerate(rows):
        for v in row:
            columns[v].add(i)
    owner: dict[int, int] = {}  # row that is done -> port
    gives, refused = [""] * relation.size, {}
    for port, wish in wishes:
        if gives[port]:
            continue
        result = 2 * port + (wish == "e")  # the element gives e, the structure answers with f
        free = [i for i in columns[result] if i not in owner]
        if not free:
            refused[port] = tuple(sorted(owner[i] for i in columns[result]))
            result ^= 1
            wish = "f" if wish == "e" else "e"
            free = [i for i in columns[result] if i not in owner]
        r = min(free, key=lambda i: (rows[i][result].rank, len(rows[i]), i))
        owner[r], gives[port] = port, wish
        head = rows[r][result]
        rows[r] = {v: c / head for v, c in rows[r].items()}
        pivot = {v: c for v, c in rows[r].items() if v != result}
        for i in sorted(columns[result] - {r}):
            factor = rows[i].pop(result)
            _subtract(rows[i], pivot, factor, columns, i)
        columns[result] = {r}
    return PortCausality(tuple(gives), refused)


def solved(relation: Relation[S], gives: Sequence[str]) -> Matrix[S]:
    """The matrix of the junction structure for a causality: what each port is given, from what the elements give.

    The rows are ordered for little fill; the causality must be possible.
    """
    rows = [dict(row) for row in relation.rows]
    results = {2 * k + (give == "e"): k for k, give in enumerate(gives)}
    columns: dict[int, set[int]] = {v: set() for v in range(2 * relation.size)}
    for i, row in enumerate(rows):
        for v in row:
            columns[v].add(i)
    waiting = set(range(len(rows)))
    left = set(results)
    home: dict[int, int] = {}
    queue = [(len([v for v in row if v in left]), i) for i, row in enumerate(rows)]
    heapq.heapify(queue)
    while queue:
        count, i = heapq.heappop(queue)
        if i not in waiting:
            continue
        own = [v for v in rows[i] if v in left]
        if len(own) != count:
            heapq.heappush(queue, (len(own), i))
            continue
        if not own:
            raise ZeroDivisionError("the causality is not possible")
        v = min(own, key=lambda w: (rows[i][w].rank, len(columns[w]), w))
        waiting.discard(i)
        left.discard(v)
        home[v] = i
        head = rows[i][v]
        rows[i] = {w: c / head for w, c in rows[i].items()}
        pivot = {w: c for w, c in rows[i].items() if w != v}
        for k in sorted(columns[v] - {i}):
            factor = rows[k].pop(v)
            _subtract(rows[k], pivot, factor, columns, k)
            if k in waiting:
                heapq.heappush(queue, (len([w for w in rows[k] if w in left]), k))
        columns[v] = {i}
    return {results[v]: {w // 2: -c for w, c in rows[i].items() if w != v} for v, i in home.items()}
