"""Numbers of symbolic constraints: h, J and bias at configurations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from symbody.errors import ModelError, Named
from symbody.expr.evaluate import Evaluation
from symbody.expr.node import Node
from symbody.expr.walk import free_symbols
from symbody.loops.rows.constraints import Constraints


class Numeric:
    """Constraints with numbers for the parameters: their defaults, or those given by name (arrays for a batch of q)."""

    def __init__(self, found: Constraints, parameters: Mapping[str, Any] | None = None, time: float = 0.0) -> None:
        self.found = found
        self.tree = found.tree
        self.time = time
        self.values = self._constants(dict(parameters or {}), time)
        self._entries = [(i, j) for i, row in enumerate(found.rows) for j in row.J]
        self._J = [x for row in found.rows for x in row.J.values()]
        # quantity -> (evaluation of its nodes, their places, numbers and their places)
        self._ready: dict[str, tuple[Evaluation, list[int], list[tuple[int, Any]]]] = {}

    def _constants(self, given: dict[str, Any], time: float) -> dict[Node, Any]:
        known = {*self.tree.q, *self.tree.qd}
        rows = self.found.rows
        nodes = [x for r in rows for x in (r.h, r.ht, r.bias, r.side, *r.J.values()) if isinstance(x, Node)]
        out: dict[Node, Any] = {}
        for s in free_symbols(nodes):
            if s in known:
                continue
            value = time if s.data.role == "time" else given.get(s.data.name, s.data.default)
            if value is None:
                raise ModelError(
                    f"parameter {s.data.name!r} of {self.tree.mechanism.name} has no value. Give it a default, or "
                    "pass ",
                    Named("parameters", f"{{{s.data.name!r}: ...}}"),
                    ".",
                )
            out[s] = float(value) if np.ndim(value) == 0 else np.asarray(value, dtype=float)
        return out

    def h(self, q: np.ndarray) -> np.ndarray:
        """(..., m) residuals; 0 for velocity constraints."""
        return self._at("h", q)

    def sides(self, q: np.ndarray) -> np.ndarray:
        """(..., m) positive where a row is closed the right way round."""
        return self._at("sides", q)

    def J(self, q: np.ndarray) -> np.ndarray:
        """(..., m, nv)"""
        return self._placed(self._at("J", q))

    def h_and_J(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Both at once: they have most of their parts in common."""
        m = len(self.found.rows)
        both = self._at("h_and_J", q)
        return both[..., :m], self._placed(both[..., m:])

    def _placed(self, entries: np.ndarray) -> np.ndarray:
        out = np.zeros((*entries.shape[:-1], len(self.found.rows), len(self.tree.qd)))
        for k, (i, j) in enumerate(self._entries):
            out[..., i, j] = entries[..., k]
        return out

    def bias(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """(..., m)"""
        return self._at("bias", q, qd)

    def ht(self, q: np.ndarray) -> np.ndarray:
        return self._at("ht", q)

    def _nodes(self, what: str) -> list[Any]:
        """Nodes or numbers of a quantity, row by row."""
        rows = self.found.rows
        if what == "J":
            return list(self._J)
        if what == "h_and_J":
            return [*self._nodes("h"), *self._J]
        if what == "sides":
            return [1 if r.side is None else r.side for r in rows]
        if what == "h":
            return [0 if r.h is None else r.h for r in rows]
        return [getattr(r, what) for r in rows]

    def _at(self, what: str, q: np.ndarray, qd: np.ndarray | None = None) -> np.ndarray:
        """(..., n) values of the n entries of a quantity; their order of evaluation is found once."""
        if what not in self._ready:
            nodes = self._nodes(what)
            real = [k for k, n in enumerate(nodes) if isinstance(n, Node)]
            numbers = [(k, n) for k, n in enumerate(nodes) if not isinstance(n, Node)]
            self._ready[what] = Evaluation([nodes[k] for k in real]), real, numbers
        evaluation, real, numbers = self._ready[what]
        q = np.asarray(q, dtype=float)
        values: dict[Any, Any] = dict(self.values)
        values.update(zip(self.tree.q, np.moveaxis(q, -1, 0), strict=True))
        if qd is not None:
            values.update(zip(self.tree.qd, np.moveaxis(np.asarray(qd, dtype=float), -1, 0), strict=True))
        out = np.zeros((*q.shape[:-1], len(real) + len(numbers)))
        for k, n in numbers:
            out[..., k] = n
        for k, x in zip(real, evaluation(values), strict=True):
            out[..., k] = x
        return out
