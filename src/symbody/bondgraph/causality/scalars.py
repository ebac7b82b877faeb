"""Scalars for elimination: residues modulo a prime, and twins of an expression and its residue.

Both know exactly whether they are zero, which an expression alone does not: (a b)/b - a is zero and does not look like
it. A residue at a random point is zero for a formula that is not with a chance of its degree over 2^61.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

import numpy as np

from symbody.mechanics.proof.field_tape import tape_of
from symbody.mechanics.proof.points import RandomPoint, Relations
from symbody.mechanics.proof.prime_field import NoValue, P, inverse
from symbody.mechanics.proof.tape_values import values_at
from symbody.symbolic.expr.arrays import scalar_array
from symbody.symbolic.expr.graph import Graph
from symbody.symbolic.expr.node import Node
from symbody.symbolic.expr.walk import free_symbols
from symbody.symbolic.system.system import System, node_array

TRIES = 8  # points without a value before it is said that there is none


S = TypeVar("S", bound="Scalar")


class Scalar(Protocol):
    """What elimination asks of a number."""

    def __bool__(self) -> bool: ...
    def __add__(self: S, other: S) -> S: ...
    def __sub__(self: S, other: S) -> S: ...
    def __mul__(self: S, other: S) -> S: ...
    def __truediv__(self: S, other: S) -> S: ...
    def __neg__(self: S) -> S: ...
    @property
    def rank(self) -> int: ...


class Residue:
    """An element of the field of 2^61 - 1."""

    __slots__ = ("r",)

    def __init__(self, r: int) -> None:
        self.r = r

    def __bool__(self) -> bool:
        return self.r != 0

    def __add__(self, other: Residue) -> Residue:
        return Residue((self.r + other.r) % P)

    def __sub__(self, other: Residue) -> Residue:
        return Residue((self.r - other.r) % P)

    def __mul__(self, other: Residue) -> Residue:
        return Residue(self.r * other.r % P)

    def __truediv__(self, other: Residue) -> Residue:
        r = other.r
        return Residue(self.r if r == 1 else -self.r % P if r == P - 1 else self.r * inverse(r) % P)

    def __neg__(self) -> Residue:
        return Residue(-self.r % P)

    @property
    def rank(self) -> int:
        """0 for +-1, which make no operations; 1 else."""
        return 0 if self.r == 1 or self.r == P - 1 else 1

    def __repr__(self) -> str:
        return str(self.r)


class Twin:
    """An expression with its residue; where the residue is zero, so is the expression."""

    __slots__ = ("node", "r")

    def __init__(self, node: Any, r: int) -> None:
        self.r = r % P
        self.node = node if self.r else 0

    def __bool__(self) -> bool:
        return self.r != 0

    def __add__(self, other: Twin) -> Twin:
        if not self.r:
            return other
        return Twin(self.node + other.node, self.r + other.r) if other.r else self

    def __sub__(self, other: Twin) -> Twin:
        if not other.r:
            return self
        return Twin(self.node - other.node, self.r - other.r) if self.r else -other

    def __mul__(self, other: Twin) -> Twin:
        return Twin(self.node * other.node, self.r * other.r) if self.r and other.r else ZERO

    def __truediv__(self, other: Twin) -> Twin:
        if not self.r:
            return ZERO
        if other.node.__class__ is int and abs(other.node) == 1:
            return self if other.node == 1 else -self
        return Twin(self.node / other.node, self.r * inverse(other.r))

    def __neg__(self) -> Twin:
        return Twin(-self.node, -self.r)

    @property
    def rank(self) -> int:
        return 0 if self.node.__class__ is int and abs(self.node) == 1 else 1

    def __repr__(self) -> str:
        return f"{self.node}"


ZERO = Twin(0, 0)
ONE = Twin(1, 1)


def _arrays(nodes: dict[str, Node]) -> dict[str, np.ndarray]:
    return {n: scalar_array(s) for n, s in nodes.items()}


def residues(nodes: Sequence[Node | int], graph: Graph, seed: Any = 0) -> list[int]:
    """Values of expressions at one random point of their symbols; the same point for the same seed.

    Functions other than arithmetic, sine and cosine are unknown functions there: what holds, holds for all of them.
    """
    found: dict[Node, int] = {}
    wanted = list(dict.fromkeys(n for n in nodes if isinstance(n, Node)))
    if wanted:
        symbols = sorted(free_symbols(wanted), key=lambda s: s.id)
        labels = {s: f"{s.data.role} {s.data.scope} {s.data.name}" for s in symbols}
        arguments = {labels[s]: s for s in symbols if s.data.role != "parameter"}
        constants = {labels[s]: s for s in symbols if s.data.role == "parameter"}
        system = System("residues", _arrays(arguments), {"r": node_array(wanted, graph)}, _arrays(constants))
        tape = tape_of(system)
        if tape.refusal:
            raise NoValue(tape.refusal)
        halved = dict(tape.halvings)
        for attempt in range(TRIES):
            try:
                values = values_at(tape, RandomPoint((seed, attempt), Relations(), None, halved))
                break
            except NoValue:
                if attempt == TRIES - 1:
                    raise
        found = dict(zip(wanted, values, strict=True))
    return [found[n] if isinstance(n, Node) else n % P for n in nodes]


def cleaned(matrix: np.ndarray, graph: Graph) -> np.ndarray:
    """Entries that are zero modulo the prime as zeros; all of them nodes."""
    nodes: np.ndarray = node_array(matrix, graph)
    for k, r in zip(np.ndindex(nodes.shape), residues(list(nodes.flat), graph)):
        if not r:
            nodes[k] = graph.zero
    return nodes
