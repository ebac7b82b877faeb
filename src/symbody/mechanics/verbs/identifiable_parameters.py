"""sb.regressor and sb.base_parameters: inverse dynamics as a product, and which of its parameters can be identified."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from symbody.basics.arguments import declared
from symbody.basics.errors import ModelError, real_argument, word_argument
from symbody.mechanics.formalisms.base_parameters import TOLERANCE, BaseParameters, find_base_parameters
from symbody.mechanics.formalisms.energy_regressor import energy_row
from symbody.mechanics.formalisms.regressor import columns as column_list
from symbody.mechanics.formalisms.regressor import known_efforts, parameters
from symbody.mechanics.formalisms.regressor import regressor as regressor_matrix
from symbody.mechanics.memoised.model_memory import derived_of
from symbody.mechanics.memoised.partitions import Chosen
from symbody.mechanics.verbs.closed_regressor import ClosedSamples
from symbody.mechanics.verbs.exact_rank import exact_rank
from symbody.mechanics.verbs.problem import problem_of, rounds_for
from symbody.mechanics.verbs.regressors import base_wrench_regressor, projected_regressor
from symbody.mechanics.verbs.system_of_tree import has_loops
from symbody.model.record.mechanism import Mechanism
from symbody.model.record.parameter_values import given_numbers
from symbody.symbolic.expr.arrays import matmul
from symbody.symbolic.expr.call import as_nodes
from symbody.symbolic.expr.evaluate import evaluate
from symbody.symbolic.expr.walk import free_symbols, quiet_collector
from symbody.symbolic.lower.optimize import optimize_system
from symbody.symbolic.system.names import identifier
from symbody.symbolic.system.system import System

MODELS = ("effort", "projected", "power", "energy", "base_wrench")
SOURCE = "virtual power of the wrenches of unit parameters (Newton-Euler)"


@declared
def regressor(
    mech: Mechanism,
    parameters: str = "setup",
    columns: Sequence[int] | None = None,
    preset: str = "standard",
    model: str = "effort",
    partition: Chosen = "auto",
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
    model       "effort": Y as above. "projected": that of closed loops, B^T Y at the closed state, with B as second
                output and q, qd, qdd of dependent joints as in `inverse_dynamics`: Y pi = B^T tau (robotran 3.14).
                "power": Y (1, p) = qd^T Y, with Y pi = qd^T tau. "energy": h (p,) of (q, qd) with h pi = kinetic +
                potential energy. "base_wrench": Y (6, p), the moment and force that the ground exerts at the world's
                origin, in world axes: what a force plate measures (external method)
    partition   of closed loops, for "projected"
    """
    word_argument("model", model, MODELS)
    names = column_list(mech)
    chosen = _checked(columns, len(names), mech)
    if model != "effort":
        return optimize_system(_other(mech, model, parameters, chosen, partition), preset)
    problem = problem_of(mech, parameters)
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


def _other(mech: Mechanism, model: str, parameters: str, chosen: list[int], partition: Chosen) -> System:
    """The System of another model than that of the efforts."""
    names = column_list(mech)
    output = "h" if model == "energy" else "Y"
    if model == "projected":
        system = projected_regressor(mech, parameters, chosen, partition)
    elif model == "base_wrench":
        system = base_wrench_regressor(mech, parameters, chosen)
    else:
        problem = problem_of(mech, parameters).without_states()
        tree = problem.tree
        with quiet_collector():
            if model == "energy":
                outputs = {"h": energy_row(tree)[chosen]}
            else:
                outputs = {"Y": matmul(tree.qd[None, :], regressor_matrix(tree, chosen)[:, chosen])}
        system = problem.assemble("energy" if model == "energy" else "inverse", outputs, SOURCE)
    columns = {f"Y[:, {k}]" if output == "Y" else f"h[{k}]": str(names[c]) for k, c in enumerate(chosen)}
    origins = {**system.origins, output: f"{model} model of {mech.name}", **columns}
    return system.replace(name=f"{identifier(mech.name)}_{model}_regressor", origins=origins)


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


@declared
def base_parameters(
    mech: Mechanism,
    candidates: Sequence[int] | None = None,
    tolerance: float = TOLERANCE,
    loops: bool = True,
    partition: Chosen = "auto",
    seed: int = 0,
) -> BaseParameters:
    """The combinations of parameters that the efforts depend on: .count, .groups, .columns, .matrix.

    Independent columns are chosen from left to right, so a parameter is grouped with those of bodies before it. Their
    number is that of QR at random states; of trees the rank modulo a prime stands beside it (`exact`), and a note says
    where they differ.

    candidates  indices of the parameters to consider; the others are taken as known. None: all of `parameter_names`
    tolerance   what counts as zero among numbers, such as direction cosines in a file
    loops       whether closed loops are closed: the efforts are those on the independent velocities then, on which
                fewer parameters act. What loops add is found by numbers at states all along the branch of the
                assembled position, and said in `notes`; coefficients that are products of powers of lengths are
                recognised as such. Two sets of states must agree on the number, with a gap of six decades of
                singular values (`gap`), else it is refused
    partition   of closed loops: it is checked; the parameters do not depend on it
    seed        of the random states
    """
    real_argument("tolerance", tolerance, "a small number above 0", above=0.0)
    chosen = None if candidates is None else _checked(candidates, len(column_list(mech)), mech)
    if loops and has_loops(mech) and mech.nv:
        return ClosedSamples(mech, partition, seed).base_parameters(chosen, tolerance)
    return _with_exact_rank(mech, find_base_parameters(derived_of(mech).tree(), chosen, tolerance, seed))


def _with_exact_rank(mech: Mechanism, base: BaseParameters) -> BaseParameters:
    exact = exact_rank(mech, base.candidates, base.tolerance)
    if exact is None or exact == base.count:
        return replace(base, exact=exact)
    note = (
        f"with the numbers as they are written the rank is {exact}, by the tolerance {base.tolerance:g} it is "
        f"{base.count}: directions or lengths are nearly special. Write them exactly, or change the tolerance"
    )
    return replace(base, exact=exact, notes=(*base.notes, note))
