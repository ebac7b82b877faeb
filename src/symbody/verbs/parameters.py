"""sb.regressor and sb.base_parameters: inverse dynamics as a product, and which of its parameters can be identified."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from symbody.derived.derived import derived_of
from symbody.errors import ModelError
from symbody.expr.call import as_nodes
from symbody.expr.evaluate import evaluate
from symbody.expr.walk import free_symbols, quiet_collector
from symbody.formalisms.base_parameters import TOLERANCE, BaseParameters, find_base_parameters
from symbody.formalisms.regressor import columns as column_list
from symbody.formalisms.regressor import known_efforts, parameters
from symbody.formalisms.regressor import regressor as regressor_matrix
from symbody.lower.optimize import optimize_system
from symbody.model.record.mechanism import Mechanism
from symbody.model.record.parameter_values import given_numbers
from symbody.system.names import identifier
from symbody.system.system import System
from symbody.verbs.assemble import has_loops
from symbody.verbs.problem import problem_of, rounds_for

SOURCE = "virtual power of the wrenches of unit parameters (Newton-Euler)"


def regressor(
    mech: Mechanism, parameters: str = "setup", columns: Sequence[int] | None = None, preset: str = "standard"
) -> System:
    """(q, qd, qdd) -> Y (nv, p) with tau = Y pi, where pi = `parameter_values(mech)` stands for what is linear in tau.

    pi: for every body m, mx, my, mz (mass times centre of mass), Ixx, Ixy, Iyy, Ixz, Iyz, Izz about the origin of the
    body frame, in its axes (Pinocchio's order); then rotor, viscous, coulomb, stiffness and elastic parameters of the
    joints that have them. `parameter_names(mech)` lists them; `origins["Y[:, k]"]` says the same in the System.
    With force elements there is a second output tau0 (nv,), what they add: tau = Y pi + tau0.
    Closed loops are opened: Y is that of the tree, at any q, qd, qdd, and Y pi = tau + J^T lam with the forces of the
    loops. Where these close, the columns of B^T Y are without them: B^T Y pi = B^T tau, B (nv, u) from `sb.closure`.

    columns     of Y to keep, such as `base_parameters(mech).columns`; None: all
    parameters  "setup", or "runtime": lengths and gravity are inputs of every call
    """
    problem = problem_of(mech, parameters)
    names = column_list(mech)
    chosen = _checked(columns, len(names), mech)
    with quiet_collector():
        outputs = {"Y": regressor_matrix(problem.tree, chosen)[:, chosen]}
        if mech.forces:
            outputs["tau0"] = known_efforts(problem.tree)
    system = problem.assemble("inverse", outputs, SOURCE)
    origins = {f"Y[:, {k}]": str(names[column]) for k, column in enumerate(chosen)}
    origins["Y"] = f"regressor of {mech.name}: {SOURCE}"
    if has_loops(mech):
        cut = ", ".join(repr(name) for name in [*(c.name for c in mech.cuts), *(c.name for c in mech.couplings)])
        origins["Y"] += f"; of the tree, {cut} opened: Y pi = tau + J^T lam"
    system = system.replace(name=f"{identifier(mech.name)}_regressor", origins=origins)
    return optimize_system(system, preset, rounds=rounds_for(problem.tree))


def _checked(columns: Sequence[int] | None, size: int, mech: Mechanism) -> list[int]:
    if columns is None:
        return list(range(size))
    out = [int(k) for k in columns]
    for k in out:
        if not 0 <= k < size:
            raise ModelError(f"column {k} was asked of the regressor of {mech.name}; expected 0 .. {size - 1}.")
    return out


def parameter_names(mech: Mechanism) -> list[str]:
    """Names of the entries of pi, the columns of Y: "body.m", "body.mx", ..., "joint.viscous"."""
    return [str(c) for c in column_list(mech)]


def parameter_values(mech: Mechanism, values: Mapping[str, float] | None = None) -> np.ndarray:
    """pi (p,) in numbers: parameters at their defaults, or as `values` gives them by name."""
    tree = derived_of(mech).tree()
    nodes = as_nodes([tree.graph.zero, *parameters(tree)])[1:]
    given = given_numbers(mech, values)
    at: dict[Any, float] = {}
    for s in free_symbols(nodes):
        value = given.get(s.data.name, s.data.default)
        if value is None:
            name = repr(s.data.name)
            raise ModelError(f"parameter {name} of {mech.name} has no default; expected values={{{name}: number}}.")
        at[s] = float(value)
    return np.array([float(x) for x in evaluate(nodes, at)])


def base_parameters(
    mech: Mechanism, candidates: Sequence[int] | None = None, tolerance: float = TOLERANCE
) -> BaseParameters:
    """The combinations of parameters that the efforts depend on: .count, .groups, .columns, .matrix.

    Independent columns are chosen from left to right, so a parameter is grouped with those of bodies before it.

    candidates  indices of the parameters to consider; the others are taken as known. None: all of `parameter_names`
    tolerance   what counts as zero among numbers, such as direction cosines in a file
    """
    chosen = None if candidates is None else _checked(candidates, len(column_list(mech)), mech)
    return find_base_parameters(derived_of(mech).tree(), chosen, tolerance)
