"""Places for the elements of a bond graph: a spine of junctions, elements above and below, branches in bands.

The longest way through junctions, TF and GY is the spine, from left to right. What hangs on a junction has slots in the
row above or below it; a branch leaves through a slot and is a spine of its own in a band that has room. A bond that
closes a ring leaves through a slot and runs between two bands. So texts never share a place.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise

from symbody.bondgraph.graph.bond_graph import BondGraph

Place = tuple[float, float]  # column, row; rows grow downward
BAND = 3  # rows of a spine: elements above, spine, elements below


@dataclass
class BondLayout:
    """Places of elements, and corners of bonds that are not straight, by number."""

    places: dict[str, Place] = field(default_factory=dict)
    corners: dict[int, list[Place]] = field(default_factory=dict)


@dataclass
class _Slot:
    """Something in the row beside a spine: a leaf, a branch, the way to the parent, or the end of a ring's bond."""

    kind: str  # leaf, branch, entry, ring
    bond: int
    name: str = ""


@dataclass
class _Spine:
    """A chain of inner elements; `up` and `down` hold the slots of each."""

    names: list[str]
    up: dict[str, list[_Slot]]
    down: dict[str, list[_Slot]]

    def width(self, name: str) -> float:
        return float(max(1, len(self.up[name]), len(self.down[name])))


class _Placer:
    def __init__(self, graph: BondGraph) -> None:
        self.graph = graph
        self.links: dict[str, list[tuple[str, int]]] = {n: [] for n in graph.elements}
        for b in graph.bonds:
            self.links[b.tail].append((b.head, b.number))
            self.links[b.head].append((b.tail, b.number))
        self.inner = {n for n, found in self.links.items() if len(found) > 1}
        self.out = BondLayout()
        self.taken: dict[int, list[tuple[float, float]]] = {}  # band -> intervals of columns
        self.rings: list[tuple[int, Place, int]] = []  # bond, place of the slot, band
        self.lane = 0
        self.main: set[str] = set()

    # -- the tree of inner elements

    def tree(self, start: str) -> tuple[dict[str, list[tuple[str, int]]], set[int]]:
        """(name -> children with bonds, bonds of the tree), breadth first."""
        children: dict[str, list[tuple[str, int]]] = {start: []}
        used: set[int] = set()
        waiting = [start]
        while waiting:
            name = waiting.pop(0)
            for other, bond in self.links[name]:
                if other in self.inner and other not in children:
                    children[other] = []
                    children[name].append((other, bond))
                    used.add(bond)
                    waiting.append(other)
        return children, used

    def deepest(self, children: dict[str, list[tuple[str, int]]], start: str) -> list[str]:
        """The longest way down from an element."""
        best: dict[str, list[str]] = {}
        order, stack = [], [start]
        while stack:
            name = stack.pop()
            order.append(name)
            stack += [c for c, _ in children[name]]
        for name in reversed(order):
            ways = [best[c] for c, _ in children[name]]
            best[name] = [name, *max(ways, key=len, default=[])]
        return best[start]

    # -- placing

    def place(self, start: str, origin: float) -> float:
        """Place the piece of the graph around an element; returns the first free column to its right."""
        if start not in self.inner:
            other, _ = self.links[start][0]
            if other not in self.inner:  # two elements face each other
                self.out.places |= {start: (origin, 0.0), other: (origin + 1, 0.0)}
                return origin + 3
            start = other
        children, _ = self.tree(start)
        first = self.deepest(children, start)[-1]
        children, _ = self.tree(first)
        root = self.upstream(self.deepest(children, first))
        children, used = self.tree(root)
        self.main = set(self.deepest(children, root))
        rings = [b for n in children for o, b in self.links[n] if o in self.inner and b not in used]
        ring_bonds = list(dict.fromkeys(rings))
        self.spine(children, used, ring_bonds, root, origin, 0, 0)
        right = max(x for name, (x, _) in self.out.places.items() if self.belongs(name, children))
        for x in (c[0] for cs in self.out.corners.values() for c in cs):
            right = max(right, x)
        self.close(ring_bonds)
        return right + 2

    def upstream(self, names: list[str]) -> str:
        """The end of a chain from which more of its bonds point away: power runs from left to right."""
        ways = {(b.tail, b.head) for b in self.graph.bonds}
        forward = sum((a, b) in ways for a, b in pairwise(names))
        return names[0] if 2 * forward >= len(names) - 1 else names[-1]

    def belongs(self, name: str, children: dict[str, list[tuple[str, int]]]) -> bool:
        return name in children or any(o in children for o, _ in self.links[name])

    def spine(
        self,
        children: dict[str, list[tuple[str, int]]],
        used: set[int],
        rings: list[int],
        first: str,
        column: float,
        band: int,
        entry: int,
    ) -> None:
        """Place a chain with all that hangs on it. entry: -1 the parent is above, 1 below, 0 there is none."""
        names = self.deepest(children, first)
        spine = _Spine(names, {n: [] for n in names}, {n: [] for n in names})
        if entry:
            (spine.up if entry < 0 else spine.down)[first].append(_Slot("entry", 0))
        branches = []
        for k, name in enumerate(names):
            after = names[k + 1] if k + 1 < len(names) else ""
            slots = [_Slot("branch", bond, c) for c, bond in children[name] if c != after]
            branches += [(name, s) for s in slots]
            leaves = [_Slot("leaf", bond, o) for o, bond in self.links[name] if o not in self.inner]
            loops = [_Slot("ring", bond) for _, bond in self.links[name] if bond in rings]
            # branches go away from the parent, the rest to the emptier side
            for s in [*slots, *loops, *leaves]:
                up, down = spine.up[name], spine.down[name]
                if s.kind == "branch":
                    (down if entry <= 0 else up).append(s)
                elif s.kind == "ring":
                    b = self.graph.bonds[s.bond - 1]
                    on_main = (b.tail in self.main) + (b.head in self.main)
                    (up if on_main == 2 or (on_main == 1 and name not in self.main) else down).append(s)
                else:
                    (up if len(up) <= len(down) else down).append(s)
        row = float(BAND * band)
        x = column + (0 if entry else spine.width(first) / 2)
        pending: list[tuple[_Slot, float, int]] = []
        for k, name in enumerate(names):
            if k:
                x += (spine.width(names[k - 1]) + spine.width(name)) / 2
            self.out.places[name] = (x, row)
            for side, found in ((-1, spine.up[name]), (1, spine.down[name])):
                self.slots(found, x, row, side, band, pending)
        wide = (self.out.places[first][0] - spine.width(first) / 2, x + spine.width(names[-1]) / 2)
        self.taken.setdefault(band, []).append(wide)
        for s, at, side in pending:
            self.branch(children, used, rings, s, at, band, side)

    def slots(
        self, found: list[_Slot], x: float, row: float, side: int, band: int, pending: list[tuple[_Slot, float, int]]
    ) -> None:
        """Columns of slots, the way to the parent in the middle."""
        entry = [s for s in found if s.kind == "entry"]
        others = [s for s in found if s.kind != "entry"]
        branches = [s for s in others if s.kind == "branch"]
        rest = [s for s in others if s.kind != "branch"]
        middle = len(others) // 2
        order = [*rest[:middle], *entry, *branches, *rest[middle:]] if entry or branches else rest
        for k, s in enumerate(order):
            at = x + k - (len(order) - 1) / 2
            if s.kind == "leaf":
                self.out.places[s.name] = (at, row + side)
            elif s.kind == "branch":
                pending.append((s, at, side))
            elif s.kind == "ring":
                self.rings.append((s.bond, (at, row + side), side))

    def branch(
        self,
        children: dict[str, list[tuple[str, int]]],
        used: set[int],
        rings: list[int],
        s: _Slot,
        at: float,
        band: int,
        side: int,
    ) -> None:
        """Find a band with room for a branch that leaves at column `at`, and place it there."""
        width = self.extent(children, s.name)
        target = band + side
        while not self.is_free(target, at - width[0], at + width[1]):
            self.taken.setdefault(target, []).append((at - 0.4, at + 0.4))
            target += side
        parent = next(n for n, found in children.items() if (s.name, s.bond) in found)
        corner = (at, self.out.places[parent][1] + side)
        if abs(corner[0] - self.out.places[parent][0]) > 1e-6:
            self.out.corners[s.bond] = [corner]
        self.spine(children, used, rings, s.name, at, target, -side)

    def extent(self, children: dict[str, list[tuple[str, int]]], first: str) -> tuple[float, float]:
        """Columns that a branch takes to the left and to the right of where it begins."""
        names = self.deepest(children, first)
        widths = []
        for k, n in enumerate(names):
            hanging = len(self.links[n]) - (1 if k + 1 < len(names) else 0) - (1 if k else 0)
            widths.append(max(1.0, float(-(-hanging // 2)) + 1))
        return widths[0] / 2 + 0.4, sum(widths) - widths[0] / 2 + 0.4

    def is_free(self, band: int, left: float, right: float) -> bool:
        return all(right <= a or left >= b for a, b in self.taken.get(band, ()))

    def close(self, rings: Iterable[int]) -> None:
        """Ways for bonds that close rings: out of a slot, along the corridor between two bands, into a slot."""
        right = max(x for x, _ in self.out.places.values()) + 0.7
        for bond in rings:
            ends = [(place, side) for number, place, side in self.rings if number == bond]
            if len(ends) != 2:
                continue
            self.lane += 1
            b = self.graph.bonds[bond - 1]
            tail = min(
                ends,
                key=lambda e: abs(e[0][0] - self.out.places[b.tail][0]) + abs(e[0][1] - self.out.places[b.tail][1]),
            )
            head = ends[1] if tail is ends[0] else ends[0]
            (a, row_a), (c, row_c) = tail[0], head[0]
            ya = row_a + tail[1] * (0.5 + 0.12 * (self.lane - 1) * (tail[1] < 0))
            yc = row_c + head[1] * 0.5
            if abs(ya - yc) < 0.6:
                self.out.corners[bond] = [(a, row_a), (a, ya), (c, ya), (c, row_c)]
            else:
                far = right + 0.3 * self.lane
                self.out.corners[bond] = [(a, row_a), (a, ya), (far, ya), (far, yc), (c, yc), (c, row_c)]


def layout(graph: BondGraph) -> BondLayout:
    """Places of all elements, in columns and rows."""
    placer = _Placer(graph)
    column = 0.0
    for name in graph.elements:
        if name not in placer.out.places:
            placer.taken.clear()
            column = placer.place(name, column)
    return placer.out
