"""What can be said of a Mechanism with motions that the reference has no transcription of: never a certificate.

Rows that authors add (`symbody.extend`) are judged by nothing written apart from them. The formalisms are compared with
each other, which shows faults of programs but none of the row itself, and the motions are named.
"""

from __future__ import annotations

import numpy as np

from symbody.basics.errors import ModelError, SymbodyError
from symbody.mechanics.memoised.kernels import kernel_of
from symbody.mechanics.verbs.certify.certificate import Certificate, Check, difference
from symbody.mechanics.verbs.dynamics import forward_dynamics, inverse_dynamics
from symbody.model.record.coordinates import checked
from symbody.model.record.mechanism import Mechanism
from symbody.reference.joint_steps import Z, kinds_of

AGREE = 1e-9
LAGRANGE_LIMIT = 6  # velocities


def untranscribed(mechanism: Mechanism) -> list[str]:
    """Joints and bodies whose motions the reference does not know, in words."""
    out = []
    for joint in mechanism.joints:
        try:
            kinds_of(joint, Z)
        except ModelError:
            out.append(f"joint {joint.name!r} of kind {joint.kind!r}")
    return out + [f"body {b.name!r} with coordinates {b.coordinates!r}" for b in mechanism.bodies if b.coordinates]


def among_themselves(mechanism: Mechanism, states: int, seed: int, unknown: list[str]) -> Certificate:
    """Not a certificate: formalisms against each other at random states, and what nothing judges."""
    rng = np.random.default_rng(seed)
    q = np.array([checked(mechanism, row) for row in rng.uniform(-1, 1, (states, mechanism.nq))])
    qd, qdd = rng.uniform(-1, 1, (2, states, mechanism.nv))
    given = {"q": q, "qd": qd, "qdd": qdd, "t": 0.0}
    refused = [f"{x}: not transcribed in symbody.reference, so that nothing judges it" for x in unknown]
    checks = [Check("every motion is transcribed in the reference", float(len(unknown)), 0.0)]
    tau: np.ndarray | None = None
    for formalism in ("newton_euler", "barycentric", "base", "order_n", "screw", "lagrange"):
        if formalism == "lagrange" and mechanism.nv > LAGRANGE_LIMIT:
            continue
        try:
            system = inverse_dynamics(mechanism, formalism=formalism, loops=False)
            kernel = kernel_of(system, "python")
            found = np.asarray(kernel(**{n: given.get(n, np.zeros(a.shape)) for n, a in system.inputs.items()}))
        except SymbodyError as error:
            refused.append(f"{formalism}: {error}")
            continue
        if tau is None:
            tau = found
        else:
            checks.append(Check(f"inverse dynamics by {formalism} equals newton_euler", difference(found, tau), AGREE))
    for formalism in ("base", "order_n") if tau is not None else ():
        system = forward_dynamics(mechanism, formalism=formalism, loops=False)
        known = {**given, "tau": tau, "qdd_driven": None}
        if any(known.get(n, 0) is None for n in system.inputs):
            continue
        kernel = kernel_of(system, "python")
        found = np.asarray(kernel(**{n: known.get(n, np.zeros(a.shape)) for n, a in system.inputs.items()}))
        checks.append(Check(f"forward dynamics by {formalism} inverts newton_euler", difference(found, qdd), 1e-6))
    return Certificate(mechanism.name, states, seed, tuple(checks), tuple(refused))
