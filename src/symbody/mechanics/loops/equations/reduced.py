"""Equations of motion of a closed mechanism in its independent velocities (robotran 3.14).

    Mcal = M_uu + M_uv B + B^T (M_vu + M_vv B)                         (2.45)
    Fcal = c_u - tau_u + M_uv b' + B^T (c_v - tau_v + M_vv b')         (2.46)
    Mcal qdd_u + Fcal = 0, driven joints on the right-hand side         (2.48 - 2.50)

M and c are those of the opened tree, in its symbols; `Closure.bound` puts the closed position and velocity in. The same
equations are written in several ways, of which the shortest depends on the mechanism: see Route.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from symbody.basics.errors import ModelError, word_argument
from symbody.mechanics.formalisms.solve_accelerations import accelerations
from symbody.mechanics.formalisms.vec3 import minus, plus
from symbody.mechanics.loops.closing.closure import Closure
from symbody.mechanics.loops.equations.tree_equations import Opened
from symbody.symbolic.expr.arrays import Array, difference, is_zero, matmul, sum_of_products, transpose, zeros
from symbody.symbolic.expr.call import as_nodes
from symbody.symbolic.expr.walk import substitute


@dataclass(frozen=True)
class Route:
    """How the equations are reduced.

    over    "joints": by B. "rows": in two steps, with w = -J_u qd_u (the rates that the dependent velocities must make
            good) between qd_v = E w, E = J_v^-1, and the projection by J_u, which is often sparse or constant:
            M_uw = M_uv E, M_ww = E^T M_vv E, F_w = E^T F_v, then -J_u in place of B
    forces  "products": c + M b'. "recursion": Newton-Euler at the accelerations b', which never forms these products
    mass    "composite": the products of (2.45). "columns": Newton-Euler at rest, at the accelerations (1, B) of each
            independent velocity that moves dependent ones; over joints only
    """

    over: str = "joints"
    forces: str = "products"
    mass: str = "composite"

    def __post_init__(self) -> None:
        for name, allowed in CHOICES.items():
            word_argument(name, getattr(self, name), allowed, error=ModelError)
        if self.over == "rows" and self.mass == "columns":
            raise ModelError("mass='columns' is written over joints; expected over='joints', or mass='composite'.")


CHOICES = {"over": ("joints", "rows"), "forces": ("products", "recursion"), "mass": ("composite", "columns")}
PLAIN = Route()
PRODUCTS = (PLAIN, Route(over="rows"))  # what M and c suffice for
USUAL = (PLAIN, Route(forces="recursion"), Route(forces="recursion", mass="columns"))  # shortest of large mechanisms
ROUTES = (*USUAL, Route(over="rows"), Route(over="rows", forces="recursion"), Route(mass="columns"))


@dataclass(frozen=True, eq=False)
class ReducedEquations:
    """Mcal (u, u) and Fcal (u,) of Mcal qdd_u + Fcal = 0, and what the eliminated velocities need.

    With the projection P (B, or -J_u by rows) and x the eliminated velocities (qd_v, or w by rows):
    driven     places in u of velocities whose accelerations are given; they are in F, not in the columns of M
    drift      (x,) accelerations of x where the free independent ones are zero: b', with the share of driven ones
    coupling   (x, u) M_xu + M_xx P
    rest       (x,) efforts on x at the accelerations `drift`
    """

    closure: Closure
    route: Route
    driven: tuple[int, ...]
    given: Array
    M: Array
    F: Array
    project: Array
    drift: Array
    coupling: Array
    rest: Array

    @property
    def free(self) -> list[int]:
        return [j for j in range(len(self.closure.u)) if j not in self.driven]


def reduce(
    closure: Closure, opened: Opened, tau: Array, route: Route = PLAIN, driven: Sequence[int] = (), given: Any = None
) -> ReducedEquations:
    """Reduced equations from those of the opened tree and the efforts tau (nv,).

    driven: velocities whose accelerations are entries of `given` (nv,).
    """
    u, v = list(closure.u), list(closure.v)
    fixed = tuple(j for j, k in enumerate(u) if k in set(driven))
    known = zeros(len(u))
    for j in fixed:
        known[j] = given[u[j]]
    rates = _rates_made_good(closure, known)
    mass, bias = opened.mass, opened.bias
    uu, ux, xx = mass[np.ix_(u, u)], mass[np.ix_(u, v)], mass[np.ix_(v, v)]
    if route.over == "joints":
        project, drift = closure.B, _solved(closure, rates)
    else:
        e = closure.E
        project, drift = _row_projection(closure), rates
        ux, xx = product(ux, e), congruence(xx, e)
    if route.forces == "recursion":
        start = zeros(len(tau))
        start[u], start[v] = known, drift if route.over == "joints" else _solved(closure, rates)
        bias = opened.efforts(start)
    force, rest = subtract(bias[u], tau[u]), subtract(bias[v], tau[v])
    if route.over == "rows":
        rest = product(transpose(e), rest)
    if route.forces == "products":
        force = add(force, add(product(uu, known), product(ux, drift)))
        rest = add(rest, add(product(transpose(ux), known), product(xx, drift)))
    if route.mass == "composite":
        coupling = add(transpose(ux), product(xx, project))
        reduced = symmetric(uu, ux, project, coupling)
    else:
        coupling, reduced = _columns(closure, opened, uu, ux)
    force = add(force, product(transpose(project), rest))
    return ReducedEquations(closure, route, fixed, known, reduced, force, project, drift, coupling, rest)


def _columns(closure: Closure, opened: Opened, uu: Array, uv: Array) -> tuple[Array, Array]:
    """(coupling (v, u), Mcal (u, u)): where column j of B has entries, by inverse dynamics at accelerations (1, B)."""
    u, v, B = list(closure.u), list(closure.v), closure.B
    coupling, out = transpose(uv).copy(), uu.copy()
    moving = [j for j in range(len(u)) if any(not is_zero(x) for x in B[:, j])]
    for n, j in enumerate(moving):
        unit = zeros(len(closure.tree.qd))
        unit[u[j]], unit[v] = 1, B[:, j]
        efforts = opened.inertial(unit)
        coupling[:, j] = efforts[v]
        for i in (i for i in range(len(u)) if i not in moving[:n]):
            out[i, j] = out[j, i] = plus(efforts[u[i]], sum_of_products(zip(B[:, i], efforts[v])))
    return coupling, out


def _rates_made_good(closure: Closure, known: Array) -> Array:
    """(m,) -bias - J_u qdd_u at known independent accelerations (u,); zero for rows that were left out."""
    rows, out = closure.constraints.rows, zeros(len(closure.constraints.rows))
    for r in closure.solved_rows:
        moved = sum_of_products((rows[r].J[k], x) for k, x in zip(closure.u, known) if k in rows[r].J)
        out[r] = difference(difference(0, rows[r].bias), moved)
    return out


def _solved(closure: Closure, rates: Array) -> Array:
    """(v,) J_v^-1 rates."""
    found = closure.solve({r: rates[r] for r in closure.solved_rows})
    return np.array([found[k] for k in closure.v], dtype=object)


def _row_projection(closure: Closure) -> Array:
    """-J_u (m, u); zero for rows that were left out."""
    rows = closure.constraints.rows
    project = zeros(len(rows), len(closure.u))
    for r in closure.solved_rows:
        for j, k in enumerate(closure.u):
            if k in rows[r].J:
                project[r, j] = difference(0, rows[r].J[k])
    return project


def independent_accelerations(reduced: ReducedEquations) -> Array:
    """qdd_u (u,), the driven ones among them."""
    free, out = reduced.free, np.array(reduced.given, dtype=object)
    none = zeros(len(free))
    out[free] = accelerations(reduced.M[np.ix_(free, free)], reduced.F[free], none, [], none)
    return out


def all_accelerations(reduced: ReducedEquations, qdd_u: Array) -> Array:
    """qdd (nv,) of the tree from the independent ones: qdd_v = B qdd_u + b', or J_v^-1 (-bias - J_u qdd_u)."""
    closure, free = reduced.closure, reduced.free
    out = zeros(len(closure.tree.qd))
    out[list(closure.u)] = qdd_u
    dependent = add(product(reduced.project[:, free], qdd_u[free]), reduced.drift)
    if reduced.route.over == "rows":
        dependent = _solved(closure, dependent)
    out[list(closure.v)] = dependent
    return out


def accelerations_for(closure: Closure, qdd_u: Array) -> Array:
    """qdd (nv,) of the tree at given independent accelerations (u,), by B and b'."""
    out = zeros(len(closure.tree.qd))
    out[list(closure.u)] = qdd_u
    out[list(closure.v)] = add(product(closure.B, qdd_u), closure.bias)
    return out


def closed_motion(closure: Closure, outputs: Mapping[str, Array]) -> dict[str, Array]:
    """Quantities of the tree with dependent accelerations put in; Jacobians J_<frame> (6, nv) become (6, u)."""
    tree, u, v = closure.tree, list(closure.u), list(closure.v)
    projected = {n: add(a[:, u], product(a[:, v], closure.B)) if n.startswith("J_") else a for n, a in outputs.items()}
    qdd = as_nodes([tree.graph.zero, *accelerations_for(closure, tree.qdd[u])])[1:]
    flat = as_nodes([tree.graph.zero, *(x for a in projected.values() for x in a.flat)])[1:]
    moved = iter(substitute(flat, {tree.qdd[k]: qdd[k] for k in v}))
    out = {}
    for n, a in projected.items():
        out[n] = np.empty(a.shape, dtype=object)
        for i in range(a.size):
            out[n].flat[i] = next(moved)
    return out


def multipliers(reduced: ReducedEquations, qdd_u: Array) -> Array:
    """lam (m,) of J_v^T lam = (M_vu + M_vv B) qdd_u + c_v - tau_v + M_vv b' (2.52); 0 for rows that were left out."""
    closure, free = reduced.closure, reduced.free
    right = add(product(reduced.coupling[:, free], qdd_u[free]), reduced.rest)
    if reduced.route.over == "rows":
        return right
    found = closure.solve_transposed(dict(zip(closure.v, right, strict=True)))
    out = zeros(len(closure.constraints.rows))
    for r, value in found.items():
        out[r] = value
    return out


# -- sums and products without structural zeros


def congruence(a: Array, e: Array) -> Array:
    """E^T A E of a symmetric A, each pair of entries once."""
    n = e.shape[1]
    return symmetric(zeros(n, n), zeros(n, len(a)), e, product(a, e))


def symmetric(uu: Array, uv: Array, b: Array, coupling: Array) -> Array:
    """M_uu + M_uv B + B^T coupling, each pair of entries once."""
    n = len(uu)
    out = zeros(n, n)
    for i in range(n):
        for j in range(i + 1):
            value = plus(uu[i, j], sum_of_products(zip(uv[i], b[:, j])))
            out[i, j] = out[j, i] = plus(value, sum_of_products(zip(b[:, i], coupling[:, j])))
    return out


def product(a: Array, b: Array) -> Array:
    if 0 in a.shape or 0 in b.shape:
        return zeros(*(a.shape[:1] + b.shape[1:]))
    return np.array(matmul(a, b), dtype=object)


def add(a: Array, b: Array) -> Array:
    out = np.empty(a.shape, dtype=object)
    for i, (x, y) in enumerate(zip(a.flat, b.flat, strict=True)):
        out.flat[i] = plus(x, y)
    return out


def subtract(a: Array, b: Array) -> Array:
    out = np.empty(a.shape, dtype=object)
    for i, (x, y) in enumerate(zip(a.flat, b.flat, strict=True)):
        out.flat[i] = 0 if is_zero(x) and is_zero(y) else minus(x, y)
    return out
