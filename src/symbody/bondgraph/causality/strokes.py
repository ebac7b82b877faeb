"""Causal strokes bond by bond: the rules of junctions, TF and GY, propagated as one does on paper (SCAP).

The stroke stands at the end that receives the effort. 0: one stroke at the junction; 1: all but one; TF: one; GY: none
or two. These rules know nothing of moduli: a causality that they allow may still be impossible, by a loop of gain one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from symbody.bondgraph.graph.flat import Flat

BUDGET = 20_000  # trials of the search for bonds that propagation leaves open

Stroke = dict[int, int]  # scalar bond -> place of the node at whose end it stands; PORT: at the element's
PORT = -1


@dataclass
class Board:
    """Strokes under way: for every scalar bond, the node that receives the effort."""

    flat: Flat
    touching: list[list[int]] = field(default_factory=list)  # scalar bond -> nodes
    stroke: Stroke = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.touching = [[] for _ in range(self.flat.size)]
        for k, node in enumerate(self.flat.nodes):
            for b, _ in node.bonds:
                self.touching[b].append(k)

    def copy(self) -> Board:
        return Board(self.flat, stroke=dict(self.stroke)) if not self.touching else _twin(self)

    def put(self, bond: int, end: int) -> bool:
        """Set a stroke and all that follows from it; False where the rules contradict each other."""
        waiting = [(bond, end)]
        while waiting:
            b, at = waiting.pop()
            known = self.stroke.get(b)
            if known is not None:
                if known != at:
                    return False
                continue
            self.stroke[b] = at
            for k in self.touching[b]:
                found = self.follows(k)
                if found is None:
                    return False
                waiting += found
        return True

    def give(self, port: int, gives: str) -> bool:
        """The causality of a port: an element that gives the flow receives the effort."""
        b = self.flat.ports[port].bond
        return self.put(b, PORT if gives == "f" else self.touching[b][0])

    def follows(self, k: int) -> list[tuple[int, int]] | None:
        """What the rule of a node makes of the strokes that are there; None for a contradiction."""
        node = self.flat.nodes[k]
        here = [b for b, _ in node.bonds if self.stroke.get(b) == k]
        away = [b for b, _ in node.bonds if b in self.stroke and self.stroke[b] != k]
        left = [b for b, _ in node.bonds if b not in self.stroke]
        if node.kind == "GY":
            if here and away:
                return None
            return [(b, k if here else self.far(b, k)) for b in left] if here or away else []
        few = here if node.kind in ("0", "TF") else away
        if len(few) > 1 or (not left and not few):
            return None
        if few:
            return [(b, self.far(b, k) if node.kind in ("0", "TF") else k) for b in left]
        if len(left) == 1:
            return [(left[0], k if node.kind in ("0", "TF") else self.far(left[0], k))]
        return []

    def far(self, bond: int, k: int) -> int:
        """The other end of a bond."""
        return next((n for n in self.touching[bond] if n != k), PORT)

    def open_bonds(self) -> list[int]:
        return [b for b in range(self.flat.size) if b not in self.stroke]


def _twin(board: Board) -> Board:
    made = Board.__new__(Board)
    made.flat, made.touching, made.stroke = board.flat, board.touching, dict(board.stroke)
    return made


def complete(board: Board) -> Board | None:
    """Strokes for all bonds that are still open, by search; None where there are none, or none was found in time."""
    budget = BUDGET
    stack = [board]
    while stack and budget:
        budget -= 1
        now = stack.pop()
        left = now.open_bonds()
        if not left:
            return now
        b = min(left, key=lambda x: sum(len(now.flat.nodes[k].bonds) for k in now.touching[x]))
        for end in now.touching[b]:
            trial = _twin(now)
            if trial.put(b, end):
                stack.append(trial)
    return None


def strokes_for(flat: Flat, gives: Sequence[str]) -> Board | None:
    """Strokes of all bonds for a causality of the ports."""
    board = Board(flat)
    for port, give in enumerate(gives):
        if give and not board.give(port, give):
            return None
    return complete(board)


def scap(flat: Flat, wishes: Iterable[tuple[int, str]]) -> tuple[Board, dict[int, str]] | None:
    """The sequential procedure by the rules alone: each wish in turn if propagation allows it, else the opposite.

    None where even the opposite is refused, or the bonds inside cannot be completed.
    """
    board, gives = Board(flat), {}
    for port, wish in wishes:
        if port in gives:
            continue
        for give in (wish, "f" if wish == "e" else "e"):
            trial = _twin(board)
            if trial.give(port, give):
                board, gives[port] = trial, give
                break
        else:
            return None
    done = complete(board)
    return None if done is None else (done, gives)
