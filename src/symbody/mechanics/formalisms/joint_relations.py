"""Which inertial parameters joints cannot tell apart: exact relations between the columns of a regressor.

They are found joint by joint, by linear algebra in the ten parameters of one body (Gautier and Khalil 1990 list the
cases; here they come out). Parameters pi on a Link can move to its parent if the energy that they give contains neither
the joint's coordinate nor its speed. For the joint's twists S in Link axes, with the inertia matrix I of pi,

    S_a . I S_b = 0,    S_a . I w = 0 for every motion w that the parent can give,    f(D_a pi) = 0

where D_a pi is the rate of pi under S_a seen from the parent, and f runs over all that the parent's joints can feel:
at the world, weight. Motions and functionals are carried outward as spaces that the joint's motions keep, so that no
angle occurs. For a leaf the conditions are necessary, since no other body has its coordinate; what moved to the parent
belongs to the parent's Link, so by induction all relations of a tree are found. They hold, but may not be all, where
coordinates are shared (mimic, gyroscopic rotors).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import numpy as np

from symbody.mechanics.formalisms.link_motion import joint_twists
from symbody.mechanics.formalisms.regressor import columns
from symbody.mechanics.formalisms.rigid_maps import (
    Twist,
    Vector,
    apply,
    bracket,
    energy,
    pair,
    product,
    rate,
    to_child,
    transport,
    transposed,
)
from symbody.mechanics.formalisms.row_echelon import (
    ONE,
    ZERO,
    Row,
    RowEchelon,
    ValuedTerm,
    add_to,
    closed,
    combination,
    number,
)
from symbody.mechanics.formalisms.tree import Link, Tree
from symbody.symbolic.expr.evaluate import evaluate
from symbody.symbolic.expr.node import CONST, Node

TEN = 10
ROTOR = TEN  # column of a joint's rotor, beside the ten of the Link

Values = Callable[[list[Node]], dict[Node, float]]


def joint_relations(tree: Tree, values: Values, tolerance: float, candidates: Collection[int]) -> RowEchelon:
    """Relations among some columns of `regressor(tree)`, each expressing its last column by columns before it.

    values     numbers for the symbols of some nodes, by which zeros are told from the rest
    tolerance  below which a direction cosine, or a length in m, is zero
    """
    return JointRelations(tree, values, tolerance, candidates).echelon()


class JointRelations:
    """Relations between the columns of the regressor of a Tree, by one walk outward over its Links.

    A Link has the frame of its body. Columns of Links without a body (inside a joint) and those that are no candidates
    stand behind all others and are eliminated first.
    """

    def __init__(self, tree: Tree, values: Values, tolerance: float, candidates: Collection[int]) -> None:
        self.tree, self.tolerance = tree, tolerance
        bodies = tree.mechanism.bodies
        self.first = {body.name: TEN * k for k, body in enumerate(bodies)}
        names = columns(tree.mechanism)
        self.rotors = {c.owner: k for k, c in enumerate(names) if c.quantity == "rotor" and k >= TEN * len(bodies)}
        self.size = len(names)
        self.candidates = set(candidates)
        self.terms = _terms_of(tree, values, tolerance)
        self.leading: dict[str, Link] = {}  # first motion of each joint
        for link in tree.links:
            self.leading.setdefault(link.joint, link)

    def echelon(self) -> RowEchelon:
        """All relations, each expressing its last column by columns before it; hidden columns are gone."""
        links = self.tree.links
        base = [self.first[k.body] if k.body else self.size + TEN * k.index for k in links]
        space = RowEchelon(last=True, hidden=self.size)
        behind = self.size + TEN * len(links)
        place = self._outward()

        def insert(row: Row) -> None:
            space.insert({place[c] if c in self.candidates else behind + c: entry for c, entry in row.items()})

        motions: list[list[Twist]] = []
        felt: list[list[Row]] = []
        weight = {1 + k: g for k, g in enumerate(self._vector(self.tree.gravity)) if g.value}
        for link in links:
            parent = link.parent
            carried = motions[parent] if parent >= 0 else []
            known = felt[parent] if parent >= 0 else [weight]
            rotation, position = self._pose(link)
            relations, moves, feels = self._joint(link, rotation, position, carried, known)
            motions.append(moves)
            felt.append(feels)
            to_parent = transport(rotation, position)
            for relation in relations:
                row = self._named(link, base[link.index], relation)
                if parent >= 0:
                    for k, functional in to_parent.items():
                        value = pair(functional, relation)
                        if value.value:
                            row[base[parent] + k] = -value
                insert(row)
        for row in self._fixed(base):
            insert(row)
        for pivot in [p for p in space.rows if p >= self.size]:
            space.drop(pivot)
        return space.renamed({p: c for c, p in place.items()})

    def _outward(self) -> dict[int, int]:
        """Column -> its place, as the Mechanism has them except that a body comes after the one that carries it:
        parameters are grouped inward. Files may list links in any order."""
        order: dict[str, int] = {}
        for body in self.tree.mechanism.bodies:
            inward, name = [], body.name
            while name and name not in order:
                inward.append(name)
                name = self._carrier(name)
            for n in reversed(inward):
                order[n] = len(order)
        place = {self.first[n] + k: TEN * i + k for n, i in order.items() for k in range(TEN)}
        return {**place, **{c: c for c in range(TEN * len(order), self.size)}}

    def _carrier(self, body: str) -> str:
        """The body that carries another, through a joint or fixed to it; "" for the world."""
        links, index = self.tree.links, self.tree.places[body][0]
        if index >= 0 and links[index].body == body:
            index = links[index].parent
        while index >= 0 and not links[index].body:
            index = links[index].parent
        return links[index].body if index >= 0 else ""

    def _named(self, link: Link, base: int, relation: Row) -> Row:
        """A relation over the Link's ten and its rotor, with their columns."""
        return {self.rotors[link.joint] if k == ROTOR else base + k: entry for k, entry in relation.items()}

    def _joint(
        self, link: Link, rotation: Sequence[Vector], position: Vector, carried: list[Twist], known: list[Row]
    ) -> tuple[list[Row], list[Twist], list[Row]]:
        """(what can move to the parent, motions of the Link, what is felt of it)."""
        own = self._twists(link)
        maps = [rate(s) for s in own]
        # what the parent does and feels, in Link axes
        moves = closed((to_child(rotation, position, w) for w in carried), [bracket(s) for s in own])
        if len(known) == TEN:
            felt: list[Row] = known  # all of it, in any axes
        else:
            pull = transport(rotation, position)
            felt = closed((combination((x, pull[k]) for k, x in f.items()) for f in known), maps)
        rows = [energy(a, b) for i, a in enumerate(own) for b in own[i:]]
        if len(own) == 1 and (square := self._rotor(link)).value:
            add_to(rows[0], ROTOR, square)
        mixed = [energy(a, w) for a in own for w in moves]
        turned = [combination((x, m.get(k, {})) for k, x in f.items()) for f in felt for m in maps]
        senses = RowEchelon([*rows, *mixed, *turned])
        size = TEN + (ROTOR in rows[0])
        bodily = [{k: x for k, x in row.items() if k < TEN} for row in [*rows, *mixed, *turned]]
        everything = RowEchelon([*bodily, *felt])
        return senses.null_space(size), list(RowEchelon([*own, *moves]).rows.values()), list(everything.rows.values())

    def _rotor(self, link: Link) -> ValuedTerm:
        """ratio^2 of a reflected rotor on the first motion of a joint."""
        gyroscopic = f"{link.joint}.rotor" in self.leading
        if self.leading[link.joint] is not link or link.joint not in self.rotors or gyroscopic:
            return ZERO
        rotor = self.tree.mechanism.joint(link.joint).rotor
        assert rotor is not None
        ratio = self.terms[self.tree.node(rotor.ratio)]
        return ratio * ratio

    # -- frames: of a Link that carries a body it is the body's, of any other its own

    def _pose(self, link: Link) -> tuple[list[Vector], Vector]:
        """Rotation (body to parent's body) and position of a Link's frame on its parent's, where its motion is zero."""
        parent = self.tree.links[link.parent] if link.parent >= 0 else None
        rotation = product(self._matrix(link.rotation), self._matrix(link.body_rotation))
        position = self._vector(link.offset)
        if parent is not None and parent.body_rotation is not None:
            back = transposed(self._matrix(parent.body_rotation))
            rotation, position = product(back, rotation), apply(back, position)
        return self._clean(rotation), position

    def _twists(self, link: Link) -> list[Twist]:
        if link.twist_rates:  # columns that turn with the coordinates: any motion, so that no relation is taken for one
            return [{k: ONE} for k in range(6)]
        back = transposed(self._matrix(link.body_rotation))
        out = []
        for angular, linear in joint_twists(link):
            parts = (*apply(back, self._vector(angular)), *apply(back, self._vector(linear)))
            out.append({k: x for k, x in enumerate(parts) if abs(x.value) > self.tolerance})
        return out

    def _fixed(self, base: Sequence[int]) -> Iterable[Row]:
        """A body that is fixed to another: its parameters are those of the Link, moved. On the world: no effect."""
        for name, (index, rotation, origin) in self.tree.places.items():
            if name not in self.first or (index >= 0 and self.tree.links[index].body == name):
                continue
            own = [{self.first[name] + k: ONE} for k in range(TEN)]
            if index >= 0:
                back = transposed(self._matrix(self.tree.links[index].body_rotation))
                turn = self._clean(product(back, self._matrix(rotation)))
                for k, functional in transport(turn, apply(back, self._vector(origin))).items():
                    for column, entry in functional.items():
                        own[column][base[index] + k] = -entry
            yield from own

    def _vector(self, v: Any) -> Vector:
        return (self._term(v[0]), self._term(v[1]), self._term(v[2]))

    def _matrix(self, m: Any) -> list[Vector]:
        if m is None:
            return [(ONE, ZERO, ZERO), (ZERO, ONE, ZERO), (ZERO, ZERO, ONE)]
        return [self._vector(row) for row in m]

    def _term(self, x: Any) -> ValuedTerm:
        return self.terms[x] if isinstance(x, Node) else number(x)

    def _clean(self, rotation: list[Vector]) -> list[Vector]:
        """Entries of a rotation that are zero or one but for rounding."""

        def snapped(x: ValuedTerm) -> ValuedTerm:
            if isinstance(x.node, Node):
                return x if abs(x.value) > self.tolerance else ZERO
            near = round(x.value)
            return number(near) if abs(x.value - near) <= self.tolerance else x

        return [(snapped(a), snapped(b), snapped(c)) for a, b, c in rotation]


def _terms_of(tree: Tree, values: Values, tolerance: float) -> dict[Node, ValuedTerm]:
    """Terms of all nodes of the geometry; lengths and direction cosines below the tolerance are zero."""
    nodes: list[Node] = [x for x in tree.gravity if isinstance(x, Node)]
    arrays: list[Any] = []
    for link in tree.links:
        arrays += [link.offset, link.rotation, link.body_rotation, np.array(link.pitch, dtype=object)]
    for _, rotation, origin in tree.places.values():
        arrays += [rotation, origin]
    nodes += [x for a in arrays if a is not None for x in a.flat if isinstance(x, Node)]
    nodes += [tree.node(j.rotor.ratio) for j in tree.mechanism.joints if j.rotor is not None]
    out = {}
    for node, value in zip(nodes, evaluate(nodes, values(nodes))):
        exact = node.data if node.op is CONST else node
        out[node] = ZERO if abs(float(value)) <= tolerance else ValuedTerm(exact, float(value))
    return out
