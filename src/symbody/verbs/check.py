"""A program is believed after it has agreed with plain Newton-Euler at random states: wrong ones are often cheaper."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from symbody.errors import ModelError
from symbody.expr.evaluate import evaluate
from symbody.expr.functions import as_nodes
from symbody.expr.node import Node
from symbody.expr.walk import free_symbols
from symbody.formalisms.choices import Choice, equations
from symbody.formalisms.explicit import driven_velocities
from symbody.formalisms.tree import Tree
from symbody.model.mechanism import Mechanism
from symbody.system.system import System
from symbody.verbs.dynamics import Problem

AGREE = 1e-9  # relative to the largest effort


def check_against_newton_euler(
    mech: Mechanism, quantity: str, parameters: str, wrenches: tuple[str, ...], system: System
) -> float:
    """The largest relative difference to plain Newton-Euler at random states; an error if it is not rounding."""
    worst = disagreement(mech, quantity, parameters, wrenches, system)
    if not worst <= AGREE:
        raise ModelError(
            f"the program {system.name} differs from Newton-Euler by {worst:.1e} (allowed {AGREE:.0e}): parameters of "
            f"{mech.name} are too different in size for it. Use formalism='newton_euler', and please report the model."
        )
    return worst


def disagreement(
    mech: Mechanism, quantity: str, parameters: str, wrenches: tuple[str, ...], system: System, states: int = 2
) -> float:
    """How far a System for a quantity is from plain Newton-Euler at random states, relative to the largest effort."""
    plain = Problem(mech, parameters, wrenches)
    tau = equations(plain.tree, "inverse", Choice())["tau"]
    worst = 0.0
    for seed in range(states):
        values = random_values([*_nodes(plain.tree, tau), *plain.tree.tau], plain.tree, seed)
        by_name = {(s.data.name, s.data.scope): v for s, v in values.items()}
        given = {s: by_name.get((s.data.name, s.data.scope), 0.5) for s in free_symbols(system.expressions())}
        found = [float(x) for x in evaluate(system.expressions(), given)]
        worst = max(worst, _difference(plain.tree, tau, values, quantity, found))
    return worst


def random_values(roots: list[Node], tree: Tree, seed: int) -> dict[Node, float]:
    """Values for all symbols: defaults, or numbers from the name and the seed; quaternions have unit length."""
    out: dict[Node, float] = {}
    for s in {*free_symbols(roots), *tree.q, *tree.qd, *tree.qdd}:
        digest = hashlib.sha256(f"{seed} {s.data.name}".encode()).digest()
        draw = int.from_bytes(digest[:4], "big") / 2**32
        default = s.data.default
        out[s] = default if default is not None else (0.5 + draw if s.data.role == "parameter" else 2 * draw - 1)
    for link in tree.links:
        if link.kind in "BF":
            size = float(np.sqrt(sum(out[s] ** 2 for s in link.q[-4:])))
            out.update({s: out[s] / size for s in link.q[-4:]})
    return out


def _nodes(tree: Tree, array: Any) -> list[Node]:
    return as_nodes([tree.graph.zero, *array])[1:]


def _difference(tree: Tree, tau: Any, values: dict[Node, float], quantity: str, found: list[float]) -> float:
    """How far a program's outputs are from Newton-Euler: efforts are compared, since M may be badly conditioned."""
    n = len(tree.qd)

    def efforts(qdd: Any) -> np.ndarray:
        at = {**values, **dict(zip(tree.qdd, qdd))}
        return np.array([float(x) for x in evaluate(_nodes(tree, tau), at)])

    qdd = np.array([values[s] for s in tree.qdd])
    if quantity == "inverse":
        want, got = efforts(qdd), np.array(found[:n])
    elif quantity == "semi_explicit":
        mass, c = np.array(found[: n * n]).reshape(n, n), np.array(found[n * n : n * n + n])
        want, got = efforts(qdd), mass @ qdd + c
    else:
        free = [i for i in range(n) if i not in set(driven_velocities(tree))]
        want = np.array([values[s] for s in tree.tau])[free]
        got = efforts(found[:n])[free]
    return float(np.max(np.abs(got - want), initial=0.0) / max(1.0, float(np.max(np.abs(want), initial=0.0))))
