"""Numbers of symbolic constraints: h, J and bias at configurations, and steps of coordinates along velocities."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from symbody.errors import ModelError, Named, ShapeError
from symbody.expr.evaluate import evaluate
from symbody.expr.node import Node
from symbody.expr.walk import free_symbols
from symbody.loops.constraints import Constraints
from symbody.model.joints import KINDS
from symbody.model.mechanism import Mechanism, has_coordinates

SIZES = {"B": (4, 3), "F": (7, 6)}  # coordinates and velocities of motions; all others have one of each


class Numeric:
    """Constraints with numbers for the parameters: their defaults, or those given by name (arrays for a batch of q)."""

    def __init__(self, found: Constraints, parameters: Mapping[str, Any] | None = None, time: float = 0.0) -> None:
        self.found = found
        self.tree = found.tree
        self.time = time
        self.values = self._constants(dict(parameters or {}), time)
        self._entries = [(i, j) for i, row in enumerate(found.rows) for j in row.J]
        self._J = [x for row in found.rows for x in row.J.values()]

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
        return self._at([0 if r.h is None else r.h for r in self.found.rows], q)

    def sides(self, q: np.ndarray) -> np.ndarray:
        """(..., m) positive where a row is closed the right way round."""
        return self._at([1 if r.side is None else r.side for r in self.found.rows], q)

    def J(self, q: np.ndarray) -> np.ndarray:
        """(..., m, nv)"""
        return self._placed(self._at(self._J, q))

    def h_and_J(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Both at once: they have most of their parts in common."""
        m = len(self.found.rows)
        both = self._at([*(0 if r.h is None else r.h for r in self.found.rows), *self._J], q)
        return both[..., :m], self._placed(both[..., m:])

    def _placed(self, entries: np.ndarray) -> np.ndarray:
        out = np.zeros((*entries.shape[:-1], len(self.found.rows), len(self.tree.qd)))
        for k, (i, j) in enumerate(self._entries):
            out[..., i, j] = entries[..., k]
        return out

    def bias(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """(..., m)"""
        return self._at([r.bias for r in self.found.rows], q, qd)

    def ht(self, q: np.ndarray) -> np.ndarray:
        return self._at([r.ht for r in self.found.rows], q)

    def _at(self, nodes: Sequence[Any], q: np.ndarray, qd: np.ndarray | None = None) -> np.ndarray:
        """(..., n) values of n nodes or numbers."""
        q = np.asarray(q, dtype=float)
        values: dict[Any, Any] = dict(self.values)
        values.update(zip(self.tree.q, np.moveaxis(q, -1, 0), strict=True))
        if qd is not None:
            values.update(zip(self.tree.qd, np.moveaxis(np.asarray(qd, dtype=float), -1, 0), strict=True))
        real = [k for k, n in enumerate(nodes) if isinstance(n, Node)]
        found = evaluate([nodes[k] for k in real], values) if real else []
        out = np.zeros((*q.shape[:-1], len(nodes)))
        for k, n in enumerate(nodes):
            if not isinstance(n, Node):
                out[..., k] = n
        for k, x in zip(real, found, strict=True):
            out[..., k] = x
        return out


# -- coordinates


def motions(mechanism: Mechanism) -> Iterator[tuple[str, int, int, str]]:
    """(letter, place in q, place in qd, joint) of every elementary motion that owns coordinates."""
    iq = iv = 0
    for joint in mechanism.joints:
        if not has_coordinates(joint):
            continue
        letters = [kind for kind, _ in KINDS[joint.kind].motions(joint)]
        for letter in [*letters, *(letters[-1:] if joint.elastic is not None else ())]:
            yield letter, iq, iv, joint.name
            nq, nv = SIZES.get(letter, (1, 1))
            iq, iv = iq + nq, iv + nv


def velocity_owners(mechanism: Mechanism) -> list[tuple[str, str]]:
    """(joint, letter of the motion) of each velocity."""
    return [(joint, letter) for letter, _, _, joint in motions(mechanism) for _ in range(SIZES.get(letter, (1, 1))[1])]


def sliding(mechanism: Mechanism) -> np.ndarray:
    """(nv,) bool: velocities in m/s, not rad/s."""
    out = np.zeros(mechanism.nv, dtype=bool)
    for letter, _, iv, _ in motions(mechanism):
        if letter == "T":
            out[iv] = True
        elif letter == "F":
            out[iv + 3 : iv + 6] = True
    return out


def neutral(mechanism: Mechanism) -> np.ndarray:
    """(nq,) zeros, and unit quaternions."""
    q = np.zeros(mechanism.nq)
    for letter, iq, _, _ in motions(mechanism):
        if letter in "BF":
            q[iq + (3 if letter == "F" else 0)] = 1
    return q


def checked(mechanism: Mechanism, q: Any) -> np.ndarray:
    """(nq,) coordinates, with quaternions of unit length."""
    out = np.array(q, dtype=float)
    if out.shape != (mechanism.nq,):
        raise ShapeError(f"q has shape {out.shape}; {mechanism.name} has nq = {mechanism.nq} coordinates.")
    for letter, iq, _, _ in motions(mechanism):
        if letter in "BF":
            part = slice(iq + (3 if letter == "F" else 0), iq + (7 if letter == "F" else 4))
            out[part] /= np.linalg.norm(out[part])
    return out


def advanced(mechanism: Mechanism, q: np.ndarray, step: np.ndarray) -> np.ndarray:
    """(..., nq) coordinates after tangent increments (..., nv): quaternions turn by a rotation vector, child axes."""
    out = np.array(q, dtype=float)
    plain = [(iq, iv) for letter, iq, iv, _ in motions(mechanism) if letter not in "BF"]
    if plain:
        at, by = (list(x) for x in zip(*plain))
        out[..., at] += step[..., by]
    for letter, iq, iv, _ in motions(mechanism):
        if letter not in "BF":
            continue
        k = iq + (3 if letter == "F" else 0)
        w, u = out[..., k : k + 1].copy(), out[..., k + 1 : k + 4].copy()
        turn = step[..., iv : iv + 3]
        angle = np.linalg.norm(turn, axis=-1, keepdims=True)
        c, s = np.cos(angle / 2), (np.sinc(angle / 2 / np.pi) / 2) * turn
        if letter == "F":
            move = step[..., iv + 3 : iv + 6]
            out[..., iq : iq + 3] += move + 2 * w * np.cross(u, move) + 2 * np.cross(u, np.cross(u, move))
        turned = np.concatenate([w * c - (u * s).sum(axis=-1, keepdims=True), w * s + c * u + np.cross(u, s)], axis=-1)
        out[..., k : k + 4] = turned / np.linalg.norm(turned, axis=-1, keepdims=True)
    return out
