"""The identified model: a Mechanism with the parameters that were found, to be saved as YAML or URDF."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from symbody.basics.arguments import declared
from symbody.basics.errors import DataError
from symbody.model.record.mechanism import Body, Mechanism
from symbody.studies.identification.estimate import Estimate
from symbody.studies.identification.estimators.consistent import inconsistent_bodies
from symbody.studies.identification.extra_columns import OF_MECHANISM
from symbody.studies.identification.linear_inverse import InverseModel


def all_parameters(estimate: Estimate) -> np.ndarray:
    """(p,) parameters of the Mechanism with the base parameters of the estimate, nearest to the model as it is.

    Of a physically consistent estimate those that it found. Otherwise a shift of least size from the prior;
    parameters that
    no row feels stay as they are.
    """
    model = _model(estimate)
    if estimate.pi is not None:
        return estimate.pi
    values = model.base_prior.copy()
    for n, v in zip(estimate.names, estimate.values):
        values[model.base_names.index(n)] = v
    shift, *_ = np.linalg.lstsq(model.matrix, values - model.base_prior, rcond=None)
    return np.asarray(model.prior + shift)


@declared
def identified_mechanism(estimate: Estimate, allow_unphysical: bool = False) -> Mechanism:
    """The Mechanism with the identified numbers; notes say where they come from.

    allow_unphysical: also where bodies got parameters that no rigid body has; programs of the efforts are right with
    them, files for other simulators are not.
    """
    model = _model(estimate)
    mech, pi = model.mech, all_parameters(estimate)
    bad = inconsistent_bodies(model, pi)
    if bad and not allow_unphysical:
        raise DataError(
            f"{', '.join(bad)} got parameters that no rigid body has. Fit with PhysicallyConsistent (--method "
            "consistent on the command line), which finds the nearest ones that exist, or take allow_unphysical=True "
            "for the efforts alone."
        )
    number = mech.graph.number
    bodies = []
    for k, body in enumerate(mech.bodies):
        own = pi[10 * k : 10 * k + 10]
        bodies.append(
            body
            if np.array_equal(own, model.prior[10 * k : 10 * k + 10])
            else _body(body, own, number, body.name in bad)
        )
    laws = dict(zip(model.names, pi))
    joints = []
    for joint in mech.joints:
        changes: dict[str, Any] = {}
        for law in OF_MECHANISM:
            value = laws.get(f"{joint.name}.{law}")
            if value is None:
                continue
            value = max(float(value), 0.0) if law != "stiffness" else float(value)
            if law == "rotor" and joint.rotor is not None:
                changes["rotor"] = dataclasses.replace(joint.rotor, inertia=number(value))
            elif law != "rotor":
                changes[law] = number(value)
        joints.append(dataclasses.replace(joint, **changes))
    lost = [n for n in model.names if n.rpartition(".")[2] in ("offset", "coulomb_minus", "stribeck")]
    told = [f"parameters identified by {estimate.method}, residual {estimate.relative:.2%}"]
    if lost:
        told.append(f"no part of the model, kept in the estimate: {', '.join(lost)}")
    return mech.replace(bodies=tuple(bodies), joints=tuple(joints), notes=(*mech.notes, *told))


def _body(body: Body, pi: np.ndarray, number: Any, unphysical: bool) -> Body:
    m = float(pi[0])
    if m <= 0:
        raise DataError(
            f"body {body.name!r} got the mass {m:.4g} kg, with which no centre of mass exists. Fit with "
            "PhysicallyConsistent, or with Prior and a smaller spread."
        )
    com = pi[1:4] / m
    xx, xy, yy, xz, yz, zz = pi[4:]
    origin = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    tensor = origin - m * (com @ com * np.eye(3) - np.outer(com, com))
    nodes = np.vectorize(lambda x: number(float(x)), otypes=[object])
    return dataclasses.replace(
        body,
        mass=number(m),
        com=nodes(com),
        inertia=nodes(tensor),
        physical=body.physical and not unphysical,
        origin=f"{body.origin} (identified)".strip(),
    )


def _model(estimate: Estimate) -> InverseModel:
    if estimate.model is None:
        raise DataError("this estimate was made of a matrix, without a model; expected an estimator with model=...")
    return estimate.model
