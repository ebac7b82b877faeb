"""Numbers of symbolic constraints: h, J and bias at configurations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from symbody.basics.errors import ModelError, Named
from symbody.basics.memory import memory_of
from symbody.mechanics.assembly.constraints import Constraints, Turned
from symbody.symbolic.expr.evaluate import Evaluation
from symbody.symbolic.expr.node import Node
from symbody.symbolic.expr.walk import free_symbols


class Entries:
    """Nodes and numbers as a function of a list of values: those of given symbols, in their order."""

    def __init__(self, nodes: Sequence[Any], symbols: Sequence[Node]) -> None:
        real = [k for k, n in enumerate(nodes) if isinstance(n, Node)]
        evaluation = Evaluation([nodes[k] for k in real])
        place = {s: k for k, s in enumerate(symbols)}
        self.size = len(nodes)
        self._real = real
        self._needed = [place[s] for s in evaluation.symbols]
        self._function = evaluation.function
        self._template = np.array([0.0 if isinstance(n, Node) else float(n) for n in nodes])
        self._numbers = [(k, n) for k, n in enumerate(nodes) if not isinstance(n, Node)]

    def __call__(self, values: Sequence[Any], shape: tuple[int, ...]) -> np.ndarray:
        """(*shape, n)"""
        with np.errstate(all="ignore"):
            found = self._function([values[k] for k in self._needed])
        if not shape:
            one = self._template.copy()
            one[self._real] = found
            return one
        out = np.zeros((*shape, self.size))
        for k, n in self._numbers:
            out[..., k] = n
        for k, x in zip(self._real, found, strict=True):
            out[..., k] = x
        return out


class ConstraintFunctions:
    """The constraints as functions, made once for all Numeric of them.

    constants   symbols that are no coordinates: parameters and time
    moving      whether the constraints depend on time
    """

    def __init__(self, found: Constraints) -> None:
        rows, tree = found.rows, found.tree
        coordinates = {*tree.q, *tree.qd}
        nodes = [x for r in rows for x in (r.h, r.ht, r.bias, r.side, r.sense, *r.J.values()) if isinstance(x, Node)]
        self.constants = [s for s in free_symbols(nodes) if s not in coordinates]
        self.names = [None if s.data.role == "time" else s.data.name for s in self.constants]
        self.defaults = [s.data.default for s in self.constants]
        shaping = [x for r in rows for x in (r.h, r.ht, *r.J.values()) if isinstance(x, Node)]
        self.moving = any(s.data.role == "time" for s in free_symbols(shaping))
        self.entries = [(i, j) for i, row in enumerate(rows) for j in row.J]
        places = np.array(self.entries, dtype=int).reshape(-1, 2)
        self.places = places[:, 0], places[:, 1]
        self.shape = (len(rows), len(tree.qd))
        self.loops = [row.loop for row in rows]
        self.units = np.array([row.unit for row in rows])
        self._constraints = found
        self._symbols = [*self.constants, *tree.q, *tree.qd]
        self._ready: dict[str, Entries] = {}
        self._lengths: list[tuple[Evaluation, list[Any]]] | None = None
        self.latest: tuple[Any, Numeric] | None = None

    def of(self, what: str) -> Entries:
        """The function of a quantity: "h", "J", "h_and_J", "sides", "senses", "ht", "bias"."""
        if what not in self._ready:
            self._ready[what] = Entries(self._nodes(what), self._symbols)
        return self._ready[what]

    def _nodes(self, what: str) -> list[Any]:
        """Nodes or numbers of a quantity, row by row."""
        rows = self._constraints.rows
        if what == "J":
            return [x for row in rows for x in row.J.values()]
        if what == "h_and_J":
            return [*self._nodes("h"), *self._nodes("J")]
        if what == "sides":
            return [1 if r.side is None else r.side for r in rows]
        if what == "senses":
            return [1 if r.sense is None else r.sense for r in rows]
        if what == "h":
            return [0 if r.h is None else r.h for r in rows]
        return [getattr(r, what) for r in rows]

    def lengths(self, values: Mapping[Node, Any]) -> list[float]:
        """m, distances between neighbouring joints that are known; values: of constants."""
        if self._lengths is None:
            nodes = [[x for x in link.offset if isinstance(x, Node)] for link in self._constraints.tree.links]
            made = [Evaluation(own) for own in nodes if own]
            self._lengths = [(e, [s.data.default for s in e.symbols]) for e in made]
        out = []
        for evaluation, defaults in self._lengths:
            own = [values.get(s, d) for s, d in zip(evaluation.symbols, defaults, strict=True)]
            if all(v is not None for v in own):
                out.append(float(np.linalg.norm(evaluation.function(own))))
        return out


def length_unit(length: float) -> float:
    """The unit that suits lengths of this order, m: 1 for those of 3 cm to 30 m, else 1e-3, 1e-6, 1e3, ...

    What counts as closed is a share of it: a gap of 1e-12 m closes a robot, and leaves a linkage of micrometres open.
    """
    return float(10.0 ** (3 * round(np.log10(length) / 3))) if length > 0 else 1.0


def usual_unit(found: Constraints) -> float:
    """`length_unit` at the defaults of the parameters: what programs are made for."""

    def make() -> float:
        known = [x for x in rows_of(found).lengths({}) if x > 0]
        return length_unit(float(np.mean(known))) if known else 1.0

    return memory_of(found).get("usual_unit", (), make)


def rows_of(found: Constraints) -> ConstraintFunctions:
    """The one ConstraintFunctions of a Constraints, which never changes."""
    return memory_of(found).get("rows", (), lambda: ConstraintFunctions(found))


def numeric_of(found: Constraints, parameters: Mapping[str, Any] | None = None, time: float = 0.0) -> Numeric:
    """A Numeric, which never changes; that of the latest numbers is at hand: a start asks for it several times."""
    given = parameters or {}
    if any(type(v) is not float for v in given.values()):
        return Numeric(found, parameters, time)
    rows = rows_of(found)
    key = (tuple(given.items()), time)
    if rows.latest is None or rows.latest[0] != key:
        rows.latest = (key, Numeric(found, parameters, time))
    return rows.latest[1]


class Numeric:
    """Constraints with numbers for the parameters: their defaults, or those given by name (arrays for a batch of q)."""

    def __init__(self, found: Constraints, parameters: Mapping[str, Any] | None = None, time: Any = 0.0) -> None:
        """time: s, or (k,) for a batch of q."""
        self.constraints = found
        self.tree = found.tree
        self.time = time
        self.rows = rows_of(found)
        self._constants = self._numbers(parameters or {}, time)
        self._length: float | None = None

    @property
    def values(self) -> dict[Node, Any]:
        """Numbers of parameters and time by symbol."""
        return dict(zip(self.rows.constants, self._constants, strict=True))

    def _numbers(self, given: Mapping[str, Any], time: Any) -> list[Any]:
        out: list[Any] = []
        for name, default in zip(self.rows.names, self.rows.defaults, strict=True):
            value = time if name is None else given.get(name, default)
            if value is None:
                raise ModelError(
                    f"parameter {name!r} of {self.tree.mechanism.name} has no value. Give it a default, or pass ",
                    Named("parameters", f"{{{name!r}: ...}}"),
                    ".",
                )
            out.append(float(value) if np.ndim(value) == 0 else np.asarray(value, dtype=float))
        return out

    def h(self, q: np.ndarray) -> np.ndarray:
        """(..., m) residuals; 0 for velocity constraints."""
        return self._at("h", q)

    def sides(self, q: np.ndarray) -> np.ndarray:
        """(..., m) positive where a row is closed the right way round."""
        return self._at("sides", q)

    def turned(self, q: np.ndarray) -> Turned:
        """Rows that are turned over at the closed position q (nq,), of cuts that may be.

        A hinge holds either way round, and a planar slot; a solid cut joins frames as they are, and after half a turn
        about an axis of the ancestor three rotation rows vanish where no joint holds.
        """
        sides, rows = self.sides(q), self.constraints.rows
        over = {rows[i].loop for i in np.flatnonzero(sides < 0)}
        if not over:
            return ()
        turns = [row.loop for row in rows if row.sense is not None]
        over -= {x for x in over if turns.count(x) > 1}
        over -= {cut.name for cut in self.tree.mechanism.cuts if cut.kind == "solid"}
        senses = self._at("senses", q)
        return tuple(
            (row.name, 1 if sides[i] > 0 else -1, 1 if senses[i] > 0 else -1)
            for i, row in enumerate(rows)
            if row.loop in over
        )

    def J(self, q: np.ndarray) -> np.ndarray:
        """(..., m, nv)"""
        return self._placed(self._at("J", q))

    def h_and_J(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Both at once: they have most of their parts in common."""
        m = self.rows.shape[0]
        both = self._at("h_and_J", q)
        return both[..., :m], self._placed(both[..., m:])

    def _placed(self, entries: np.ndarray) -> np.ndarray:
        out = np.zeros((*entries.shape[:-1], *self.rows.shape))
        i, j = self.rows.places
        out[..., i, j] = entries
        return out

    def bias(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """(..., m)"""
        return self._at("bias", q, qd)

    def ht(self, q: np.ndarray) -> np.ndarray:
        return self._at("ht", q)

    def length(self) -> float:
        """A length of the order of the mechanism's, m: the mean distance between neighbouring joints."""
        if self._length is None:
            positive = [x for x in self.rows.lengths(self.values) if x > 0]
            self._length = float(np.mean(positive)) if positive else 1.0
        return self._length

    def units(self) -> np.ndarray:
        """(m,) by which gaps of the rows are measured: 1 rad, `length_unit` or its square."""
        unit = length_unit(self.length())
        return np.array([{"m": unit, "m^2": unit * unit}.get(u, 1.0) for u in self.rows.units])

    def gap(self, h: np.ndarray) -> float:
        """How far residuals (m,) leave the loops open, in rad and units of length."""
        return float(np.abs(h / self.units()).max(initial=0.0))

    def _at(self, what: str, q: np.ndarray, qd: np.ndarray | None = None) -> np.ndarray:
        """(..., n) values of the n entries of a quantity."""
        q = np.asarray(q, dtype=float)
        values = [*self._constants, *_components(q)]
        if qd is not None:
            values += list(_components(np.asarray(qd, dtype=float)))
        return self.rows.of(what)(values, q.shape[:-1])


def _components(q: np.ndarray) -> Any:
    """Numbers, or arrays (...), of the last dimension one by one."""
    return q if q.ndim == 1 else np.moveaxis(q, -1, 0)
