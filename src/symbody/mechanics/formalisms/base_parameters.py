"""Base parameters: the combinations of inertial parameters that efforts depend on, as expressions of the geometry.

Relations come from the joints (`joint_relations.py`), exact. A check at random states then shows that what is left is
independent, or finds the relations that coupled coordinates hide, by numbers and reported as such.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from symbody.basics.errors import ModelError
from symbody.mechanics.formalisms.joint_relations import joint_relations
from symbody.mechanics.formalisms.numeric_relations import greedy_relations, random_regressor, rounded
from symbody.mechanics.formalisms.regressor import columns
from symbody.mechanics.formalisms.row_echelon import ONE, Row, RowEchelon, ValuedTerm, number
from symbody.mechanics.formalisms.tree import Tree
from symbody.symbolic.expr.arithmetic import collect
from symbody.symbolic.expr.arrays import Array, is_zero, zeros
from symbody.symbolic.expr.coefficients import split
from symbody.symbolic.expr.evaluate import evaluate
from symbody.symbolic.expr.graph import Graph
from symbody.symbolic.expr.node import CONST, Node, Number
from symbody.symbolic.expr.pickling import Packed
from symbody.symbolic.expr.walk import free_symbols, quiet_collector

UNCLEAR = 1e-2  # condition times tolerance, from which a rank is said to be uncertain
TOLERANCE = 1e-8  # direction cosines and lengths below it are zero; files are often rounded to nine digits

WRONG = 1e3  # times the tolerance: groups that leave more than that of a column at random states are refused

RelationTable = list[tuple[int, dict[int, float]]]  # what `greedy_relations` gives
# (columns kept, relations between them by numbers) -> (dependent, independent) -> expression of the coefficient
Geometry = Callable[[Sequence[int], RelationTable], dict[tuple[int, int], Node]]


@dataclass(frozen=True, eq=False)
class BaseParameters(Packed):
    """The base parameters of a Mechanism: base = matrix @ pi, and tau = Y[:, columns] @ base.

    columns     indices of the independent columns of the regressor, the first from left to right
    groups      one expression for each: its own parameter and those grouped with it, in the symbols of `names`
    matrix      (count, p) coefficients: numbers, or expressions of the geometry
    names       (p,) names of all linear parameters
    candidates  indices of those that were considered; the others are taken as known
    numeric     those of `columns` in whose groups some coefficients were found by numbers, not derived
    residual    largest entry of Y - Y[:, columns] matrix at random states, relative to the column's size
    condition   of the independent columns at random states, scaled to unit length: they are independent by 1/condition
    tolerance   below which a number counted as zero
    notes       sentences on what was found by numbers
    exact       rank of all columns that were considered, modulo a prime at random states with exact numbers: a second
                way, without tolerances; None where there is none (closed loops, see `mechanics/verbs/exact_rank.py`)
    gap         of closed loops: the last singular value of the columns that counts, by the next, the lesser one of two
                independent sets of states on the assembled branch, which agree on `count`; None of a tree
    """

    name: str
    columns: tuple[int, ...]
    groups: tuple[Node, ...]
    matrix: Array
    names: tuple[str, ...]
    candidates: tuple[int, ...]
    numeric: tuple[int, ...]
    residual: float
    condition: float
    tolerance: float
    notes: tuple[str, ...] = ()
    exact: int | None = None
    gap: float | None = None

    @property
    def count(self) -> int:
        return len(self.columns)

    @property
    def without_effect(self) -> tuple[str, ...]:
        """Parameters that no effort depends on, not even in a group."""
        return tuple(self.names[c] for c in self.candidates if all(is_zero(x) for x in self.matrix[:, c]))

    def matrix_at(self, values: Mapping[str, float] | None = None) -> np.ndarray:
        """The matrix in numbers: parameters at their defaults, or as `values` gives them by name."""
        return _numbers(self.matrix, values or {})

    def __str__(self) -> str:
        head = f"{self.name}: {self.count} base parameters of {len(self.candidates)}"
        head += "" if self.exact is None else f", exact rank {self.exact}"
        head += "" if self.gap is None else f", gap of singular values {self.gap:.0e}"
        lines = [f"  {self.names[c]:<24} {group}" for c, group in zip(self.columns, self.groups)]
        return "\n".join([head, *lines, *(f"  note: {n}" for n in self.notes)])


def find_base_parameters(
    tree: Tree,
    candidates: Sequence[int] | None = None,
    tolerance: float = TOLERANCE,
    seed: int = 0,
    sampled: Callable[[int], np.ndarray] | None = None,
    geometry: Geometry | None = None,
) -> BaseParameters:
    """Relations by the joints, then by numbers what is left, at the parameters' defaults.

    candidates  indices of the parameters to consider, all if None; the others are taken as known. A parameter without
                a default gets a number that depends on its name alone
    sampled     number of unknowns -> Y at random states (rows, p) of what the relations by numbers are taken of, where
                it is not the tree: closed loops, whose rank is judged there
    geometry    says what numbers found so are as expressions of the geometry, see `Geometry`
    """
    mechanism = tree.mechanism
    with quiet_collector():
        names = tuple(str(c) for c in columns(mechanism))
        chosen = sorted(set(range(len(names)) if candidates is None else candidates))
        relations = joint_relations(tree, lambda nodes: parameter_numbers(nodes, {}), tolerance, chosen)
        unknowns = len(chosen) - len(relations)
        if sampled is None:
            y = random_regressor(tree, lambda nodes: parameter_numbers(nodes, {}), unknowns, seed)
        else:
            y = sampled(unknowns)
        numeric, condition, notes = _add_numeric(relations, y, names, chosen, tolerance, geometry)
        if sampled is None and condition * tolerance > UNCLEAR:
            notes += (
                f"the independent columns have a condition of {condition:.1e} at random states: with a tolerance of "
                f"{tolerance:.0e} their number is not certain",
            )
        matrix = _matrix(relations, chosen, len(names))
        groups = _groups(tree.graph, matrix, names)
        kept = _kept(relations, chosen)
    base = BaseParameters(
        mechanism.name, tuple(kept), groups, matrix, names, tuple(chosen), tuple(c for c in kept if c in numeric),
        np.nan, condition, tolerance, notes,
    )  # fmt: skip
    return replace(base, residual=residual_at(base, y))


def residual_at(base: BaseParameters, y: np.ndarray) -> float:
    """The largest entry of Y - Y[:, columns] matrix for Y (rows, p), by the size of its column; a large one is
    refused."""
    size = np.linalg.norm(y, axis=0)
    size = np.maximum(size, base.tolerance * np.max(size, initial=1e-300))  # a column of rounding is zero
    chosen = list(base.candidates)
    error = (np.abs(y - y[:, list(base.columns)] @ base.matrix_at()) / size)[:, chosen]
    residual = float(np.max(error, initial=0.0))
    if not residual <= WRONG * base.tolerance:
        worst = base.names[chosen[int(np.argmax(np.max(error, axis=0)))]]
        raise ModelError(
            f"the groups of base parameters of {base.name} do not hold at random states, worst for '{worst}' "
            f"({residual:.1e} of its column): directions or lengths are nearly special. Write them exactly (pi/2, not "
            f"1.5708), or give another tolerance than {base.tolerance:g}."
        )
    return residual


def _add_numeric(
    relations: RowEchelon, y: np.ndarray, names: Sequence[str], candidates: Sequence[int], tolerance: float,
    geometry: Geometry | None = None,
) -> tuple[set[int], float, tuple[str, ...]]:  # fmt: skip
    """(columns with coefficients from numbers, condition, notes), after adding what numbers show to be dependent."""
    kept = _kept(relations, candidates)
    found, condition = greedy_relations(y[:, kept], tolerance)
    numeric: set[int] = set()
    notes = []
    known = {} if geometry is None or not found else geometry(kept, found)
    for dependent, weights in found:
        named = {k: known.get((dependent, k)) for k in weights}
        terms = {k: number(rounded(w)) if (t := named[k]) is None else ValuedTerm(t, w) for k, w in weights.items()}
        row: Row = {kept[dependent]: ONE, **{kept[k]: -term for k, term in terms.items()}}
        relations.insert(row, kept[dependent])
        numeric |= {kept[k] for k in weights if named[k] is None}
        if weights and all(t is not None for t in named.values()):
            notes.append(
                f"{names[kept[dependent]]} was grouped by numbers, whose expressions were checked at other lengths"
            )
            continue
        shown = ", ".join(names[kept[k]] for k in weights) or "nothing: it has no effect"
        notes.append(f"{names[kept[dependent]]} was grouped by numbers with {shown}")
    return numeric, condition, tuple(notes)


def _kept(relations: RowEchelon, candidates: Sequence[int]) -> list[int]:
    return [c for c in candidates if c not in relations.rows]


def _matrix(relations: RowEchelon, candidates: Sequence[int], size: int) -> Array:
    """(count, size): a column that depends on others adds to their parameters (symofros, eq. 4.6)."""
    kept = _kept(relations, candidates)
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
        shares: dict[Node, list[tuple[Number, Node]]] = {}
        for coefficient, s in zip(row, symbols):
            node = graph.number(coefficient) if not isinstance(coefficient, Node) else coefficient
            size, base = (node.data, graph.one) if node.op is CONST else split(node)
            if size:
                shares.setdefault(base, []).append((size, s))
        terms = list(shares.pop(graph.one, []))
        terms += [(1, base * collect(part, graph)) for base, part in shares.items()]
        out.append(collect(terms, graph))
    return tuple(out)


def parameter_numbers(nodes: Iterable[Node], given: Mapping[str, float]) -> dict[Node, float]:
    """Numbers for all parameters: given, default, or one in [0.5, 1.5] that depends on the name alone."""
    out = {}
    for s in free_symbols(nodes):
        digest = hashlib.sha256(s.data.name.encode()).digest()
        default = s.data.default if s.data.default is not None else 0.5 + int.from_bytes(digest[:4], "big") / 2**32
        out[s] = float(given.get(s.data.name, default))
    return out


def _numbers(matrix: Array, given: Mapping[str, float]) -> np.ndarray:
    nodes = list({x for x in matrix.flat if isinstance(x, Node)})
    value = dict(zip(nodes, evaluate(nodes, parameter_numbers(nodes, given))))
    entries = [float(value[x]) if isinstance(x, Node) else float(x) for x in matrix.flat]
    return np.array(entries).reshape(matrix.shape)
