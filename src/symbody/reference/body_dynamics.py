"""Newton's and Euler's laws of every body by itself: rates of momentum, wrenches of joints, efforts, mass matrix.

Rates of momentum are derivatives of Jets. A joint's wrench is what its body and all bodies on it need; its effort is
the power of that wrench per unit of velocity (d'Alembert). World axes, wrenches about the world's origin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np

from symbody.model.record.mechanism import Joint
from symbody.reference.bodies import WORLD, BodyPart, BodyPose, NumericModel, coordinates, poses, twist_maps
from symbody.reference.element_laws import loads
from symbody.reference.jets import Array, Jet, apply, constant, matmul, transpose
from symbody.reference.joint_steps import JointStep
from symbody.reference.loads import Loads

Inputs = Callable[[str, tuple[int, ...]], Array]  # value of an input or a state of a force element, by name and shape


def nothing(name: str, shape: tuple[int, ...]) -> Array:
    """No input: all are zero."""
    return np.zeros(shape)


class BodyMotion:
    """States (n, nq), (n, nv), (n, nv) of a NumericModel at time t, and what follows from them, computed once."""

    def __init__(
        self,
        model: NumericModel,
        q: Array,
        qd: Array,
        qdd: Array | None = None,
        t: float = 0.0,
        inputs: Inputs = nothing,
    ) -> None:
        self.model, self.t, self.inputs = model, t, inputs
        self.q, self.qd = np.atleast_2d(q), np.atleast_2d(qd)
        self.qdd = np.zeros_like(self.qd) if qdd is None else np.atleast_2d(qdd)

    @property
    def count(self) -> int:
        return len(self.q)

    @cached_property
    def coordinates(self) -> Jet:
        return coordinates(self.model, self.q, self.qd, self.qdd)

    @cached_property
    def poses(self) -> list[BodyPose]:
        return poses(self.model, self.coordinates)

    @cached_property
    def maps(self) -> Array:
        """(n, bodies, 6, nv)"""
        return twist_maps(self.model, self.q)

    @cached_property
    def loads(self) -> Loads:
        """What the force elements do."""
        return loads(self)

    def of(self, index: int, k: int) -> Array:
        """(n, 6) twist of a BodyPart for a unit of velocity k; of the world zero."""
        return np.zeros((self.count, 6)) if index == WORLD else self.maps[:, index, :, k]

    @cached_property
    def relative(self) -> Array:
        """(n, bodies, 6, nv): twists of bodies relative to their parents."""
        parents = [p.parent for p in self.model.parts]
        below = np.concatenate([self.maps, np.zeros_like(self.maps[:, :1])], axis=1)
        return self.maps - below[:, parents]

    # -- momentum

    @cached_property
    def centres(self) -> list[Jet]:
        """Centres of mass (n, 3)."""
        return [pose.point(part.com) for part, pose in zip(self.model.parts, self.poses, strict=True)]

    @cached_property
    def spin_rates(self) -> Array:
        """(n, bodies, 3) rates of angular momentum about the centre of mass: d/dt (R I R^T omega)."""
        out = np.zeros((self.count, len(self.model.parts), 3))
        for b, (part, pose) in enumerate(zip(self.model.parts, self.poses, strict=True)):
            tensor = self.tensor(part, pose)
            out[:, b] = _apply(tensor.x1, pose.omega) + _apply(tensor.x, pose.alpha)
        for _, part, step, axis, inertia, ratio in self.rotors():
            if part.parent != WORLD:
                speed, rate = step.scale * self.qd[:, step.first_v], step.scale * self.qdd[:, step.first_v]
                momentum = inertia * ratio * (rate[:, None] * axis.x + speed[:, None] * axis.x1)
                out[:, part.parent] += momentum
        return out

    @cached_property
    def spin_terms(self) -> Array:
        """(n, bodies): the sizes of all that is added up in `spin_rates`; of a rotor that spins evenly these cancel."""
        out = np.zeros((self.count, len(self.model.parts)))
        for b, (part, pose) in enumerate(zip(self.model.parts, self.poses, strict=True)):
            size = float(np.linalg.norm(part.inertia))
            out[:, b] = size * (2 * _norm(pose.omega) ** 2 + _norm(pose.alpha))
        for _, part, step, axis, inertia, ratio in self.rotors():
            if part.parent != WORLD:
                speed, rate = np.abs(self.qd[:, step.first_v]), np.abs(self.qdd[:, step.first_v])
                out[:, part.parent] += abs(step.scale * inertia * ratio) * (rate + speed * _norm(axis.x1))
        return out

    def tensor(self, part: BodyPart, pose: BodyPose) -> Jet:
        """Inertia tensor about the centre of mass in world axes."""
        local = constant(part.inertia, pose.rotation)
        return matmul(matmul(pose.rotation, local), transpose(pose.rotation))

    @cached_property
    def inertia_wrenches(self) -> Array:
        """(n, bodies, 6): rates of momentum."""
        out = np.zeros((self.count, len(self.model.parts), 6))
        for b, (part, centre) in enumerate(zip(self.model.parts, self.centres, strict=True)):
            force = part.mass * centre.x2
            out[:, b, 3:] = force
            out[:, b, :3] = np.cross(centre.x, force) + self.spin_rates[:, b]
        return out

    @cached_property
    def given_wrenches(self) -> Array:
        """(n, bodies, 6): weight and force elements."""
        out = np.array(self.loads.wrenches)
        for b, (part, centre) in enumerate(zip(self.model.parts, self.centres, strict=True)):
            weight = part.mass * self.model.gravity
            out[:, b, 3:] += weight
            out[:, b, :3] += np.cross(centre.x, weight)
        return out

    def joint_wrenches(self, more: Array | None = None) -> Array:
        """(n, bodies, 6) of the parent on the child, about the world's origin; more: further given wrenches."""
        out = self.inertia_wrenches - self.given_wrenches
        if more is not None:
            out = out - more
        for b in reversed(range(len(self.model.parts))):
            parent = self.model.parts[b].parent
            if parent != WORLD:
                out[:, parent] += out[:, b]
        return out

    def efforts(self, more: Array | None = None) -> Array:
        """(n, nv) that the motion needs on each velocity besides laws and force elements."""
        tau = np.einsum("nbik,nbi->nk", self.relative, self.joint_wrenches(more))
        for at_world, part, step, axis, inertia, ratio in self.rotors():
            rate = step.scale * self.qdd[:, step.first_v] * ratio
            if not at_world:
                rate = rate + np.sum(self.poses[part.parent].alpha * axis.x, axis=-1)
            tau[:, step.first_v] += step.scale * ratio * inertia * rate
        return np.asarray(tau - self.laws - self.loads.efforts)

    def effort_terms(self) -> Array:
        """(n, nv): the sizes of all that is added up in `efforts`, by which its rounding is measured."""
        out = np.abs(self.laws) + np.abs(self.loads.efforts)
        for b, (part, centre) in enumerate(zip(self.model.parts, self.centres, strict=True)):
            load = self.loads.wrenches[:, b]
            force = part.mass * (_norm(centre.x2) + float(np.linalg.norm(self.model.gravity))) + self.loads.sizes[:, b]
            arm = np.cross(centre.x, load[:, 3:])
            torque = self.spin_terms[:, b] + _norm(load[:, :3] - arm) + self.loads.turning[:, b]
            turns = self.maps[:, b, :3]
            moves = self.maps[:, b, 3:] + np.cross(turns, centre.x[:, :, None], axis=1)
            out += force[:, None] * np.linalg.norm(moves, axis=1) + torque[:, None] * np.linalg.norm(turns, axis=1)
        return np.asarray(out + np.einsum("nij,nj->ni", np.abs(self.mass_matrix), np.abs(self.qdd)))

    def wrench_terms(self) -> Array:
        """(n, bodies, 2): sizes of all that a joint's wrench is the sum of: moment about the child's origin, force."""
        out = np.zeros((self.count, len(self.model.parts), 2))
        for b, (part, centre) in enumerate(zip(self.model.parts, self.centres, strict=True)):
            force = part.mass * (_norm(centre.x2) + float(np.linalg.norm(self.model.gravity))) + self.loads.sizes[:, b]
            moment = self.spin_terms[:, b] + self.loads.turning[:, b]
            for k in self.model.ancestry[b]:
                out[:, k, 0] += moment + force * _norm(centre.x - self.poses[k].position.x)
                out[:, k, 1] += force
        return out

    def rotors(self) -> Iterator[tuple[bool, BodyPart, JointStep, Jet, float, float]]:
        """(whether only reflected, BodyPart of the joint, its first motion, axis in the world, inertia, ratio)."""
        for part in self.model.parts:
            rotor = part.joint.rotor
            if rotor is None or not part.steps or part.steps[0].value is not None:
                continue
            carried = part.parent != WORLD and self.model.parts[part.parent].moves
            reflected = not (rotor.gyroscopic and carried)
            axis = constant(part.rotation @ part.steps[0].axis, self.poses[0].position)
            if part.parent != WORLD:
                axis = apply(self.poses[part.parent].rotation, axis)
            inertia, ratio = self.model.number(rotor.inertia), self.model.number(rotor.ratio)
            if reflected:
                axis = axis * 0.0
            yield reflected, part, part.steps[0], axis, inertia, ratio

    @cached_property
    def mass_matrix(self) -> Array:
        """(n, nv, nv), from the kinetic energy of the bodies."""
        out = np.zeros((self.count, self.model.nv, self.model.nv))
        for b, (part, pose, centre) in enumerate(zip(self.model.parts, self.poses, self.centres, strict=True)):
            turns = self.maps[:, b, :3]
            moves = self.maps[:, b, 3:] + np.cross(turns, centre.x[:, :, None], axis=1)
            out += part.mass * np.einsum("nik,nil->nkl", moves, moves)
            out += np.einsum("nik,nij,njl->nkl", turns, self.tensor(part, pose).x, turns)
        for reflected, part, step, axis, inertia, ratio in self.rotors():
            spin = np.zeros((self.count, self.model.nv))
            spin[:, step.first_v] = step.scale * ratio
            if not reflected:
                carried = np.einsum("ni,nik->nk", axis.x, self.maps[:, part.parent, :3])
                mixed = spin[:, :, None] * carried[:, None, :]
                out += inertia * (mixed + np.swapaxes(mixed, 1, 2))
            out += inertia * spin[:, :, None] * spin[:, None, :]
        return out

    @cached_property
    def laws(self) -> Array:
        """(n, nv) efforts of the joints' own laws on the joint."""
        out = np.zeros((self.count, self.model.nv))
        for _, iv, scale, q, qd, law in self.lawful():
            stiffness, rest, viscous, coulomb = law
            out[:, iv] -= scale * (stiffness * (q - rest) + viscous * qd + coulomb * np.sign(np.real(qd)))
        return out

    def lawful(self) -> Iterator[tuple[Joint, int, float, Array, Array, tuple[float, float, float, float]]]:
        """(joint, velocity, scale, coordinate, rate, (stiffness, rest, viscous, coulomb)) of all joint laws."""
        number = self.model.number
        for part in self.model.parts:
            joint = part.joint
            law = tuple(
                0.0 if x is None else number(x) for x in (joint.stiffness, joint.rest, joint.viscous, joint.coulomb)
            )
            steps = [s for s in part.steps if s.value is None]
            for k, step in enumerate(steps):
                iq, iv = step.first_q, step.first_v
                if step.kind in ("ball", "free"):
                    for c in range(3 if step.kind == "ball" else 6):
                        # no stiffness: a quaternion has no coordinate for each velocity
                        yield joint, iv + c, 1.0, self.qd[:, iv] * 0, self.qd[:, iv + c], (0.0, 0.0, law[2], law[3])
                    continue
                own = law
                if joint.elastic is not None and k == len(steps) - 1:
                    own = (number(joint.elastic[0]), 0.0, number(joint.elastic[1]), 0.0)
                q, qd = step.scale * self.q[:, iq] + step.shift, step.scale * self.qd[:, iv]
                yield joint, iv, step.scale, q, qd, (own[0], own[1], own[2], own[3])


def _apply(m: Array, v: Array) -> Array:
    return np.asarray(np.einsum("...ij,...j->...i", m, v))


def _norm(v: Array) -> Array:
    return np.asarray(np.linalg.norm(v, axis=-1))
