"""A program is believed after it has agreed with plain Newton-Euler at random states: wrong ones are often cheaper.

Programs are compared by backward error: a difference of efforts counts beside the terms that were added to make them,
|M| |qdd| + |c| + |tau| row by row, not beside their sum, which may be small by chance or because a motor hardly acts.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from symbody.basics.errors import ModelError
from symbody.mechanics.formalisms.formulation import Choice, equations
from symbody.mechanics.formalisms.solve_accelerations import driven_velocities
from symbody.mechanics.formalisms.tree import Tree
from symbody.mechanics.verbs.problem import problem_of
from symbody.model.record.mechanism import Mechanism
from symbody.symbolic.expr.call import as_nodes
from symbody.symbolic.expr.evaluate import evaluate
from symbody.symbolic.expr.node import ADD, ALIAS, CONST, MUL, POW, SCALE, Node
from symbody.symbolic.expr.walk import free_symbols
from symbody.symbolic.system.system import DIGITS_LOST, NOTE, System

T = TypeVar("T")

AGREE = 1e-9  # largest backward error of a program that is believed
SWIFT = 2.0**30  # accelerations beside which c is small, so that M does not suffer from its digits
EPS = float(np.finfo(float).eps)
NOISE = 8 * EPS / AGREE  # share of the magnitudes inside Newton-Euler that counts as a term: its own rounding


def check_against_newton_euler(
    mech: Mechanism, quantity: str, parameters: str, wrenches: tuple[str, ...], system: System
) -> float:
    """The largest backward error beside plain Newton-Euler at random states; an error if it is not rounding."""
    worst = disagreement(mech, quantity, parameters, wrenches, system)
    if not worst <= AGREE:
        raise ModelError(
            f"the program {system.name} differs from Newton-Euler by {worst:.1e} (allowed {AGREE:.0e}): parameters of "
            f"{mech.name} are too different in size for it. Use formalism='newton_euler', and please report the model."
        )
    return worst


def digits_lost(error: float) -> float:
    """Decimal digits that a backward error costs: log10 of its ratio to the spacing of floats, 2.2e-16."""
    return max(0.0, math.log10(error / EPS)) if error > 0 else 0.0


def with_digits(system: System, error: float, notes: Sequence[str] = ()) -> System:
    """The System with what is known of its exactness: origins["digits_lost"], and origins["note"] if there is one."""
    more = {DIGITS_LOST: f"{digits_lost(error):.1f}", **({NOTE: " ".join(notes)} if notes else {})}
    return system.replace(origins={**system.origins, **more})


def first_exact(
    programs: Iterable[T], error: Callable[[T], float], total: Callable[[T], int], name: str
) -> tuple[T, float, list[str]]:
    """(the first program that agrees with Newton-Euler to `AGREE`, else the most exact one; its error; notes).

    programs: in the order in which they are wanted, one at least; error, total: backward error and operations of one
    """
    tried: list[tuple[T, float]] = []
    for program in programs:
        tried.append((program, error(program)))
        if tried[-1][1] <= AGREE:
            break
    best, least = tried[-1] if tried[-1][1] <= AGREE else min(tried, key=lambda row: row[1])
    notes = [
        f"A program of {total(other)} operations was not taken: it differs from Newton-Euler by {worse:.1e} of its "
        f"terms (allowed {AGREE:.0e})."
        for other, worse in tried
        if other is not best and total(other) < total(best)
    ]
    if not least <= AGREE:
        notes.append(
            f"Every program of {name} that was tried differs from Newton-Euler by {least:.1e} of its terms or more: "
            "parameters are very different in size. This is the most exact one."
        )
    return best, least, notes


def disagreement(mech: Mechanism, quantity: str, parameters: str, wrenches: tuple[str, ...], system: System) -> float:
    """The largest backward error of a System for a quantity at random states; infinite where it has no value."""
    return Comparison(mech, quantity, parameters, wrenches).error(system)


class Comparison:
    """Plain Newton-Euler of a Mechanism at random states, against which programs for one quantity are held."""

    def __init__(
        self, mech: Mechanism, quantity: str, parameters: str, wrenches: tuple[str, ...], states: int = 2
    ) -> None:
        self.quantity = quantity
        problem = problem_of(mech, parameters, wrenches)
        self.tree = problem.tree
        tau = equations(self.tree, "inverse", Choice())["tau"]
        self.tau = as_nodes([self.tree.graph.zero, *tau])[1:]
        self.states = [random_values([*self.tau, *self.tree.tau], self.tree, seed) for seed in range(states)]
        driven = set(driven_velocities(self.tree))
        self.free = [i for i in range(len(self.tree.qd)) if i not in driven]
        self._linear = [self._mass_and_bias(values) for values in self.states]

    def error(self, system: System) -> float:
        """The largest backward error of a program over the states."""
        worst = 0.0
        for values, (mass, c) in zip(self.states, self._linear):
            by_name = {(s.data.name, s.data.scope): v for s, v in values.items()}
            given = {s: by_name.get((s.data.name, s.data.scope), 0.5) for s in free_symbols(system.expressions())}
            found = np.array([float(x) for x in evaluate(system.expressions(), given)])
            if not np.all(np.isfinite(found)):
                return math.inf
            worst = max(worst, self._error(values, mass, c, found))
        return worst

    def _error(self, values: Mapping[Node, float], mass: np.ndarray, c: np.ndarray, found: np.ndarray) -> float:
        tree, n = self.tree, len(self.tree.qd)
        qdd = np.array([values[s] for s in tree.qdd])
        if self.quantity == "inverse":
            got, want, outside = found[:n], self._efforts(values, qdd), np.zeros(n)
        elif self.quantity == "semi_explicit":
            got_mass, got_c = found[: n * n].reshape(n, n), found[n * n : n * n + n]
            got, want, outside = got_c, c, np.zeros(n)
            # a mass matrix has its own scale, sqrt(M_ii M_jj)
            size = np.sqrt(np.abs(np.outer(np.diag(mass), np.diag(mass))))
            noise = NOISE * self._magnitudes(values, np.ones(n))[:, None]
            by_mass = _ratio(got_mass - mass, size + noise)
            # c alone may vanish: it counts beside the efforts of accelerations of unit size
            return max(by_mass, self._ratio(values, got - want, mass, c, np.ones(n), outside))
        else:
            # accelerations are put back into the equations of motion: M may be badly conditioned
            qdd = found[:n]
            got, want = self._efforts(values, qdd), np.array([values[s] for s in tree.tau])
            outside = np.abs(want)
        return self._ratio(values, (got - want), mass, c, qdd, outside)

    def _ratio(
        self,
        values: Mapping[Node, float],
        difference: np.ndarray,
        mass: np.ndarray,
        c: np.ndarray,
        qdd: np.ndarray,
        outside: np.ndarray,
    ) -> float:
        """|difference| over |M| |qdd| + |c| + |efforts from outside|, the worst row."""
        rows = self.free if self.quantity == "forward" else list(range(len(difference)))
        scale = np.abs(mass) @ np.abs(qdd) + np.abs(c) + outside + NOISE * self._magnitudes(values, qdd)
        return _ratio(difference[rows], scale[rows])

    def _efforts(self, values: Mapping[Node, float], qdd: np.ndarray) -> np.ndarray:
        at = {**values, **dict(zip(self.tree.qdd, qdd))}
        return np.array([float(x) for x in evaluate(self.tau, at)])

    def _mass_and_bias(self, values: Mapping[Node, float]) -> tuple[np.ndarray, np.ndarray]:
        """M (nv, nv) and c (nv,) from the efforts at zero and at single accelerations, all in one evaluation."""
        n = len(self.tree.qdd)
        columns = np.hstack([np.zeros((n, 1)), SWIFT * np.eye(n)])
        found = evaluate(self.tau, {**values, **dict(zip(self.tree.qdd, columns))})
        table = np.array([np.broadcast_to(x, (n + 1,)) for x in found], dtype=float).reshape(n, n + 1)
        return (table[:, 1:] - table[:, :1]) / SWIFT, table[:, 0]

    def _magnitudes(self, values: Mapping[Node, float], qdd: np.ndarray) -> np.ndarray:
        return magnitudes(self.tau, {**values, **dict(zip(self.tree.qdd, qdd))})


def _ratio(difference: np.ndarray, scale: np.ndarray) -> float:
    """The largest |difference| / scale; equal numbers agree whatever their scale."""
    size = np.abs(difference)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.where(size > 0, size / scale, 0.0)
    return float(np.max(found, initial=0.0)) if np.all(np.isfinite(size)) else math.inf


def magnitudes(nodes: Sequence[Node], values: Mapping[Any, Any]) -> np.ndarray:
    """What the terms of each node would add up to if none cancelled: sums and products of absolute values.

    It bounds the rounding of a program: about one spacing of floats of it for each operation (Higham 2002, 3.1).
    """

    def inner(node: Node) -> bool:
        return node.op in (ADD, MUL, SCALE, ALIAS) or (node.op is POW and node.data.__class__ is int and node.data > 0)

    order: list[Node] = []
    seen: set[Node] = set()
    stack = [(node, False) for node in nodes]
    while stack:
        node, ready = stack.pop()
        if ready:
            order.append(node)
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            if inner(node):
                stack.extend((a, False) for a in node.args)
    leaves = [n for n in order if not inner(n) and n.op is not CONST]
    size: dict[Node, float] = {n: abs(float(x)) for n, x in zip(leaves, evaluate(leaves, values))}
    for n in order:
        if n.op is CONST:
            size[n] = abs(float(n.data))
        elif n.op is ADD:
            size[n] = math.fsum(size[a] for a in n.args)
        elif n.op is MUL:
            size[n] = math.prod(size[a] for a in n.args)
        elif n.op is SCALE:
            size[n] = abs(float(n.data)) * size[n.args[0]]
        elif n.op is ALIAS:
            size[n] = size[n.args[0]]
        elif n.op is POW and inner(n):
            size[n] = size[n.args[0]] ** n.data
    return np.array([size[n] for n in nodes])


def random_values(roots: list[Node], tree: Tree, seed: int) -> dict[Node, float]:
    """Values for all symbols: defaults, or numbers from the name and the seed; quaternions have unit length."""
    out: dict[Node, float] = {}
    for s in {*free_symbols(roots), *tree.q, *tree.qd, *tree.qdd}:
        digest = hashlib.sha256(f"{seed} {s.data.name}".encode()).digest()
        draw = int.from_bytes(digest[:4], "big") / 2**32
        default = s.data.default
        out[s] = default if default is not None else (0.5 + draw if s.data.role == "parameter" else 2 * draw - 1)
    for link in tree.links:
        if len(link.quaternion):
            size = float(np.sqrt(sum(out[s] ** 2 for s in link.quaternion)))
            out.update({s: out[s] / size for s in link.quaternion})
    return out
