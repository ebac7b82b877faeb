"""Base parameters: the combinations of inertial parameters that efforts depend on, as expressions of the geometry.

What a joint cannot feel is found joint by joint, by linear algebra in the ten parameters of one body (Gautier and Khalil
1990 list the cases; here they come out). A parameter vector on a Link can move to the parent if the energy that it gives
contains neither the joint's coordinate nor its speed, that is, for the joint's twists S in Link axes,

    S_a . I S_b = 0,    S_a . I w = 0 for every motion w that the parent can give,    f(D_a pi) = 0

where D_a pi is the rate of pi under S_a seen from the parent, and f runs over all that the parent's joints can feel.
Spaces of motions and of functionals are carried outward; both are closed under the joint's motions, so that no angle
occurs and the result is exact. Joints whose coordinates are not their own (mimic, gyroscopic rotors) may hide more
relations: those are found by numbers and reported as such.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from symbody.expr.arrays import Array, zeros
from symbody.expr.evaluate import evaluate
from symbody.expr.functions import as_nodes
from symbody.expr.graph import Graph
from symbody.expr.node import CONST, Node
from symbody.expr.walk import free_symbols, quiet_collector
from symbody.formalisms import triples as t3
from symbody.formalisms.numeric_relations import greedy_relations, random_regressor, rounded
from symbody.formalisms.regressor import TENSOR, columns, own_twists
from symbody.formalisms.row_echelon import ONE, ZERO, Echelon, Row, Term, add_to, closed, combination, number
from symbody.formalisms.tree import Link, Tree, build_tree
from symbody.model.mechanism import Mechanism

TOLERANCE = 1e-8  # direction cosines and offsets below it are zero; files are often rounded to nine digits
TEN = 10
ROTOR = TEN  # column of a joint's rotor, beside the ten of the Link
SLOT = {(i, k): 4 + n for n, pair in enumerate(TENSOR) for i, k in (pair, pair[::-1])}

Vector = tuple[Term, Term, Term]
Twist = dict[int, Term]  # 0..2 angular, 3..5 linear
Matrix = dict[int, Row]


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """The base parameters of a Mechanism: base = matrix @ pi, and tau = Y[:, columns] @ base.

    columns     indices of the independent columns of the regressor, the first from left to right
    groups      one expression for each: its own parameter and those grouped with it, in the symbols of `names`
    matrix      (count, p) coefficients: numbers, or expressions of the geometry
    names       (p,) names of all linear parameters
    numeric     those of `columns` in whose groups coefficients were found by numbers, not derived
    residual    largest entry of Y - Y[:, columns] matrix at random states, relative to the column's size
    condition   of the independent columns at random states, scaled to unit length
    tolerance   below which a number counted as zero
    notes       sentences on what was found by numbers
    """

    name: str
    columns: tuple[int, ...]
    groups: tuple[Node, ...]
    matrix: Array
    names: tuple[str, ...]
    numeric: tuple[int, ...]
    residual: float
    condition: float
    tolerance: float
    notes: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        return len(self.columns)

    @property
    def unidentifiable(self) -> tuple[str, ...]:
        """Parameters that no effort depends on, not even in a group."""
        used = [any(not t3.is_zero(x) for x in column) for column in self.matrix.T]
        return tuple(n for n, here in zip(self.names, used) if not here)

    def matrix_at(self, values: Mapping[str, float] | None = None) -> np.ndarray:
        """The matrix in numbers: parameters at their defaults, or as `values` gives them by name."""
        flat = list(self.matrix.flat)
        nodes = [x for x in flat if isinstance(x, Node)]
        found = iter(evaluate(nodes, _values(nodes, values or {})))
        entries = [float(next(found)) if isinstance(x, Node) else float(x) for x in flat]
        return np.array(entries).reshape(self.matrix.shape)

    def __str__(self) -> str:
        head = f"{self.name}: {self.count} base parameters of {len(self.names)}"
        lines = [f"  {self.names[c]:<24} {group}" for c, group in zip(self.columns, self.groups)]
        return "\n".join([head, *lines, *(f"  note: {n}" for n in self.notes)])


def find_base_parameters(mechanism: Mechanism, tolerance: float = TOLERANCE, seed: int = 0) -> BaseParameters:
    """Relations by the joints, then a check by numbers that finds what is left; see `BaseParameters`."""
    with quiet_collector():
        tree = build_tree(mechanism)
        names = tuple(str(c) for c in columns(mechanism))
        relations = _Relations(tree, tolerance).echelon(len(names))
        y = random_regressor(tree, lambda nodes: _values(nodes, {}), len(names) - len(relations), seed)
        independent = [c for c in range(len(names)) if c not in relations.rows]
        found, condition = greedy_relations(y[:, independent], tolerance)
        notes: list[str] = []
        numeric: set[int] = set()
        for dependent, weights in found:
            row: Row = {independent[dependent]: ONE}
            for k, weight in weights.items():
                row[independent[k]] = -number(rounded(weight))
                numeric.add(independent[k])
            relations.insert(row)
            shown = ", ".join(names[independent[k]] for k in weights) or "nothing: it has no effect"
            notes.append(f"{names[independent[dependent]]} was grouped by numbers with {shown}")
        matrix = _matrix(relations, len(names))
        kept = [c for c in range(len(names)) if c not in relations.rows]
        base = BaseParameters(
            mechanism.name, tuple(kept), _groups(tree.graph, matrix, names), matrix, names,
            tuple(sorted(numeric & set(kept))), 0.0, condition, tolerance, tuple(notes),
        )  # fmt: skip
        size = np.linalg.norm(y, axis=0)
        size = np.maximum(size, tolerance * np.max(size, initial=1e-300))  # a column of rounding is zero
        error = np.abs(y - y[:, kept] @ base.matrix_at()) / size
    object.__setattr__(base, "residual", float(np.max(error, initial=0.0)))
    return base


def _matrix(relations: Echelon, size: int) -> Array:
    """(count, size): a column that depends on others adds to their parameters (symofros, eq. 4.6)."""
    kept = [c for c in range(size) if c not in relations.rows]
    place = {c: k for k, c in enumerate(kept)}
    out = zeros(len(kept), size)
    for c, k in place.items():
        out[k, c] = 1
    for pivot, row in relations.rows.items():
        for c, entry in row.items():
            if c != pivot:
                out[place[c], pivot] = (-entry).node
    return out


def _groups(graph: Graph, matrix: Array, names: Sequence[str]) -> tuple[Node, ...]:
    """Sums of parameters that share a coefficient, times it: mx1 + l1 (m2 + m3)."""
    symbols = [graph.symbol(n, "parameter", scope="linear parameter") for n in names]
    out = []
    for row in matrix:
        shares: dict[Any, Any] = {}
        for coefficient, s in zip(row, symbols):
            if not t3.is_zero(coefficient):
                shares[coefficient] = t3.plus(shares.get(coefficient, 0), s)
        out.append(t3.total(t3.times(c, s) for c, s in shares.items()))
    return tuple(as_nodes(out)) if out else ()


def _values(nodes: Iterable[Node], given: Mapping[str, float]) -> dict[Node, float]:
    """Numbers for all parameters: given, default, or one in [0.5, 1.5] that depends on the name alone."""
    out = {}
    for s in free_symbols(nodes):
        digest = hashlib.sha256(s.data.name.encode()).digest()
        default = s.data.default if s.data.default is not None else 0.5 + int.from_bytes(digest[:4], "big") / 2**32
        out[s] = float(given.get(s.data.name, default))
    return out


# -- relations between columns, joint by joint


class _Relations:
    """Walks outward over the Links; each has the frame of its body, and its own ten columns.

    Columns of Links without a body (inside a joint) stand behind all others and are eliminated first.
    """

    def __init__(self, tree: Tree, tolerance: float) -> None:
        self.tree, self.tolerance = tree, tolerance
        bodies = tree.mechanism.bodies
        self.first = {body.name: TEN * k for k, body in enumerate(bodies)}
        names = columns(tree.mechanism)
        self.rotors = {c.owner: k for k, c in enumerate(names) if c.quantity == "rotor" and k >= TEN * len(bodies)}
        self.size = len(names)
        self.terms = _terms_of(tree, tolerance)
        self.started: set[str] = set()

    def echelon(self, size: int) -> Echelon:
        """All relations, each expressing its last column by columns before it; hidden columns are gone."""
        links = self.tree.links
        base = [self.first[k.body] if k.body else self.size + TEN * k.index for k in links]
        space = Echelon(last=True)
        motions: list[list[Twist]] = []
        felt: list[list[Row]] = []
        gravity = [{1 + k: g for k, g in enumerate(map(self.terms.get, self.tree.gravity)) if g is not None and g.value}]
        for link in links:
            parent = link.parent
            carried = motions[parent] if parent >= 0 else []
            known = felt[parent] if parent >= 0 else gravity
            rotation, position = self._pose(link)
            relations, moves, feels = self._joint(link, rotation, position, carried, known)
            motions.append(moves)
            felt.append(feels)
            to_parent = transport(rotation, position)
            for relation in relations:
                row = self._named(link, base[link.index], relation)
                if parent >= 0:
                    for k, functional in to_parent.items():
                        value = _pair(functional, relation)
                        if value.value:
                            row[base[parent] + k] = -value
                space.insert(row)
        for row in self._fixed(base):
            space.insert(row)
        for pivot in [p for p in space.rows if p >= size]:
            space.drop(pivot)
        return space

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
        moves = closed((_to_child(rotation, position, w) for w in carried), [bracket(s) for s in own])
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
        senses = Echelon([*rows, *mixed, *turned])
        size = TEN + (ROTOR in rows[0])
        bodily = [{k: x for k, x in row.items() if k < TEN} for row in [*rows, *mixed, *turned]]
        everything = Echelon([*bodily, *felt])
        return senses.null_space(size), list(Echelon([*own, *moves]).rows.values()), list(everything.rows.values())

    def _rotor(self, link: Link) -> Term:
        """ratio^2 of a reflected rotor on the first motion of a joint."""
        first = link.joint not in self.started
        self.started.add(link.joint)
        if not first or link.joint not in self.rotors or t3.is_zero(link.reflected):
            return ZERO
        rotor = self.tree.mechanism.joint(link.joint).rotor
        assert rotor is not None
        ratio = self.terms[self.tree.node(rotor.ratio)]
        return ratio * ratio

    # -- frames: of a Link that carries a body it is the body's, of any other its own

    def _pose(self, link: Link) -> tuple[list[Vector], Vector]:
        """Rotation (body to parent's body) and position of a Link's frame on its parent's, where its motion is zero."""
        parent = self.tree.links[link.parent] if link.parent >= 0 else None
        rotation = _product(self._matrix(link.rotation), self._matrix(link.body_rotation))
        position = self._vector(link.offset)
        if parent is not None and parent.body_rotation is not None:
            back = _transposed(self._matrix(parent.body_rotation))
            rotation, position = _product(back, rotation), _apply(back, position)
        return self._clean(rotation), position

    def _twists(self, link: Link) -> list[Twist]:
        back = _transposed(self._matrix(link.body_rotation))
        out = []
        for angular, linear in own_twists(link):
            parts = (*_apply(back, self._vector(angular)), *_apply(back, self._vector(linear)))
            out.append({k: x for k, x in enumerate(parts) if abs(x.value) > self.tolerance})
        return out

    def _fixed(self, base: Sequence[int]) -> Iterable[Row]:
        """A body that is fixed to another: its parameters are those of the Link, moved. On the world: no effect."""
        for name, (index, rotation, origin) in self.tree.places.items():
            if name not in self.first or (index >= 0 and self.tree.links[index].body == name):
                continue
            own = [{self.first[name] + k: ONE} for k in range(TEN)]
            if index >= 0:
                back = _transposed(self._matrix(self.tree.links[index].body_rotation))
                turn = self._clean(_product(back, self._matrix(rotation)))
                for k, functional in transport(turn, _apply(back, self._vector(origin))).items():
                    for column, entry in functional.items():
                        own[column][base[index] + k] = -entry
            yield from own

    def _vector(self, v: Any) -> Vector:
        return (self._term(v[0]), self._term(v[1]), self._term(v[2]))

    def _matrix(self, m: Any) -> list[Vector]:
        if m is None:
            return [(ONE, ZERO, ZERO), (ZERO, ONE, ZERO), (ZERO, ZERO, ONE)]
        return [self._vector(row) for row in m]

    def _term(self, x: Any) -> Term:
        return self.terms[x] if isinstance(x, Node) else number(x)

    def _clean(self, rotation: list[Vector]) -> list[Vector]:
        """Entries of a rotation that are zero or one but for rounding."""

        def snapped(x: Term) -> Term:
            if isinstance(x.node, Node):
                return x if abs(x.value) > self.tolerance else ZERO
            near = round(x.value)
            return number(near) if abs(x.value - near) <= self.tolerance else x

        return [(snapped(a), snapped(b), snapped(c)) for a, b, c in rotation]


def _terms_of(tree: Tree, tolerance: float) -> dict[Node, Term]:
    """Terms of all nodes of the geometry; lengths and direction cosines below the tolerance are zero."""
    nodes: list[Node] = [x for x in tree.gravity if isinstance(x, Node)]
    arrays: list[Any] = []
    for link in tree.links:
        arrays += [link.offset, link.rotation, link.body_rotation, np.array(link.pitch, dtype=object)]
    for _, rotation, origin in tree.places.values():
        arrays += [rotation, origin]
    nodes += [x for a in arrays if a is not None for x in a.flat if isinstance(x, Node)]
    nodes += [tree.node(j.rotor.ratio) for j in tree.mechanism.joints if j.rotor is not None]
    values = evaluate(nodes, _values(nodes, {}))
    out = {}
    for node, value in zip(nodes, values):
        exact = node.data if node.op is CONST else node
        out[node] = ZERO if abs(float(value)) <= tolerance else Term(exact, float(value))
    return out


# -- rigid motions on the ten parameters, on functionals of them, and on twists


def transport(rotation: Sequence[Vector], p: Vector) -> Matrix:
    """(10, 10) rows by new parameter: those of a body in a frame seen from another; p leads to the body's origin."""
    out: Matrix = {0: {0: ONE}}
    turned: list[Row] = []  # the first moment in new axes
    for a in range(3):
        turned.append({1 + i: x for i, x in enumerate(rotation[a]) if x.value})
        out[1 + a] = combination([(ONE, turned[a]), (p[a], {0: ONE})])
    for a, b in TENSOR:
        row: Row = {}
        for i in range(3):
            for k in range(3):
                add_to(row, SLOT[i, k], rotation[a][i] * rotation[b][k])
        if a == b:
            for c in t3.OTHERS[a]:
                twice = p[c] + p[c]
                row = combination([(ONE, row), (twice, turned[c]), (p[c] * p[c], {0: ONE})])
        else:
            row = combination([(ONE, row), (-p[a], turned[b]), (-p[b], turned[a]), (-(p[a] * p[b]), {0: ONE})])
        out[SLOT[a, b]] = row
    return out


def rate(s: Twist) -> Matrix:
    """(10, 10) rows by parameter: rate of the parameters of a body that moves by the twist s, in axes at rest."""
    w, v = _halves(s)
    out: Matrix = {}
    moments = [_cross_row(w, a) for a in range(3)]
    for a in range(3):
        out[1 + a] = combination([(ONE, {1 + k: x for k, x in moments[a].items()}), (v[a], {0: ONE})])
    for a, b in TENSOR:
        row: Row = {}
        for k, x in moments[a].items():
            add_to(row, SLOT[k, b], x)
        for k, x in moments[b].items():
            add_to(row, SLOT[a, k], x)
        if a == b:
            for c in t3.OTHERS[a]:
                add_to(row, 1 + c, v[c] + v[c])
        else:
            add_to(row, 1 + b, -v[a])
            add_to(row, 1 + a, -v[b])
        out[SLOT[a, b]] = row
    return out


def energy(first: Twist, second: Twist) -> Row:
    """The functional pi -> first . I second, twice the kinetic energy where both are one twist."""
    (w1, v1), (w2, v2) = _halves(first), _halves(second)
    row: Row = {}
    for k in range(3):
        add_to(row, 0, v1[k] * v2[k])
        a, b = t3.OTHERS[k]
        for v, w in ((v1, w2), (v2, w1)):
            add_to(row, 1 + k, v[a] * w[b] - v[b] * w[a])
    for i in range(3):
        for k in range(3):
            add_to(row, SLOT[i, k], w1[i] * w2[k])
    return row


def bracket(s: Twist) -> Matrix:
    """(6, 6) as rows that act from the right: twist w -> s x w, of motions."""
    ws, vs = _halves(s)
    out: Matrix = {k: {} for k in range(6)}
    for a in range(3):
        for k, x in _cross_row(ws, a).items():
            add_to(out[k], a, x)
            add_to(out[3 + k], 3 + a, x)
        for k, x in _cross_row(vs, a).items():
            add_to(out[k], 3 + a, x)
    return out


def _to_child(rotation: Sequence[Vector], p: Vector, twist: Twist) -> Twist:
    """A twist of the parent in the child's frame."""
    w, v = _halves(twist)
    moved = [v[a] + w[b] * p[c] - w[c] * p[b] for a, (b, c) in enumerate(t3.OTHERS)]
    back = _transposed(rotation)
    parts = (*_apply(back, w), *_apply(back, (moved[0], moved[1], moved[2])))
    return {k: x for k, x in enumerate(parts) if x.value}


def _halves(twist: Twist) -> tuple[Vector, Vector]:
    x = [twist.get(k, ZERO) for k in range(6)]
    return (x[0], x[1], x[2]), (x[3], x[4], x[5])


def _cross_row(w: Vector, a: int) -> Row:
    """Row a of the matrix of w x."""
    b, c = t3.OTHERS[a]
    return {k: x for k, x in ((c, w[b]), (b, -w[c])) if x.value}


def _pair(row: Mapping[int, Term], vector: Mapping[int, Term]) -> Term:
    total = ZERO
    for k, x in row.items():
        if k in vector:
            total = total + x * vector[k]
    return total


def _transposed(m: Sequence[Vector]) -> list[Vector]:
    return [(m[0][k], m[1][k], m[2][k]) for k in range(3)]


def _apply(m: Sequence[Vector], v: Vector) -> Vector:
    x = [row[0] * v[0] + row[1] * v[1] + row[2] * v[2] for row in m]
    return (x[0], x[1], x[2])


def _product(a: Sequence[Vector], b: Sequence[Vector]) -> list[Vector]:
    return _transposed([_apply(a, column) for column in _transposed(b)])
