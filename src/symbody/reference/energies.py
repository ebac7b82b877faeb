"""Energies and powers of a BodyMotion: kinetic, stored, given, lost; mass and centre of mass."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from symbody.reference.body_dynamics import BodyMotion
from symbody.reference.jets import Array


@dataclass(frozen=True, eq=False)
class Energies:
    """J and W, each (n,); com (n, 3) m. sizes: the terms of kinetic, potential, power, dissipated, without signs."""

    kinetic: Array
    potential: Array
    power: Array
    dissipated: Array
    mass: float
    com: Array
    sizes: dict[str, Array]


def energies(motion: BodyMotion, tau: Array) -> Energies:
    """Energies and powers of all bodies that move; tau (n, nv) are the efforts from outside."""
    n, model = motion.count, motion.model
    kinetic, potential, high = np.zeros(n), np.zeros(n), np.zeros(n)
    moment, mass = np.zeros((n, 3)), 0.0
    for part, pose, centre in zip(model.parts, motion.poses, motion.centres, strict=True):
        if not part.moves:
            continue
        kinetic += part.mass * np.sum(centre.x1**2, axis=-1) / 2
        kinetic += np.einsum("ni,nij,nj->n", pose.omega, motion.tensor(part, pose).x, pose.omega) / 2
        weight = part.mass * (centre.x @ model.gravity)
        potential -= weight
        high += np.abs(weight)
        moment += part.mass * centre.x
        mass += part.mass
    moving = np.array(kinetic)
    for reflected, part, step, axis, inertia, ratio in motion.rotors():
        spin = step.scale * ratio * motion.qd[:, step.first_v]
        carried = 0.0 if reflected else np.sum(motion.poses[part.parent].omega * axis.x, axis=-1)
        kinetic += inertia * (spin * spin / 2 + spin * carried)
        moving += np.abs(inertia * spin * carried) + inertia * spin * spin / 2
    lost = np.zeros(n)
    for _, _, _, q, qd, (stiffness, rest, viscous, coulomb) in motion.lawful():
        potential += stiffness * (q - rest) ** 2 / 2
        high += stiffness * (q - rest) ** 2 / 2
        lost += viscous * qd**2 + coulomb * np.abs(qd)
    loads = motion.loads
    work = np.einsum("nbi,nbi->n", loads.wrenches, np.stack([p.twist for p in motion.poses], axis=1))
    work = work + np.sum(loads.efforts * motion.qd, axis=-1)
    taken = loads.given - work - loads.storing
    power = np.sum(tau * motion.qd, axis=-1) + loads.given
    sizes = {
        "kinetic": moving,
        "potential": high + np.abs(loads.stored),
        "power": np.sum(np.abs(tau * motion.qd), axis=-1) + loads.throughput,
        "dissipated": lost + loads.throughput,
    }
    com = moment / mass if mass else moment * np.nan
    return Energies(kinetic, potential + loads.stored, power, lost + taken, mass, com, sizes)
