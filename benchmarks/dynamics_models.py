"""The robots and chains that the dynamics benchmarks share, as Mechanisms and as plain numbers for the peers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from symbody.model.build.builder import Builder
from symbody.model.load import load
from symbody.model.record.mechanism import WORLD, Mechanism
from symbody.model.record.numbers import numbers_of

INPUTS = {"inverse": ("q", "qd", "qdd"), "forward": ("q", "qd", "tau"), "semi_explicit": ("q", "qd")}


@dataclass(frozen=True)
class Body:
    """One moving body in numbers; its frame is the joint's, and the joint turns about axis 0, 1 or 2 of it.

    rotation (3, 3) takes joint to parent coordinates at q = 0, position (3,) m in the parent frame; inertia (3, 3)
    about the centre of mass com (3,), kg m^2; armature: rotor inertia seen at the joint, kg m^2.
    """

    parent: int
    axis: int
    rotation: np.ndarray
    position: np.ndarray
    mass: float
    com: np.ndarray
    inertia: np.ndarray
    armature: float

    def at_origin(self) -> tuple[np.ndarray, np.ndarray]:
        """First moment (3,) and inertia (3, 3) about the frame's origin."""
        c = self.com
        return self.mass * c, self.inertia + self.mass * (c @ c * np.eye(3) - np.outer(c, c))


@dataclass(frozen=True)
class Robot:
    """A Mechanism without friction, and the same numbers for libraries that know nothing of it."""

    name: str
    mechanism: Mechanism
    bodies: tuple[Body, ...]
    gravity: np.ndarray

    @property
    def n(self) -> int:
        return len(self.bodies)

    def sample(self, states: int, seed: int = 1) -> dict[str, np.ndarray]:
        """Random states (states, n), rad, rad/s, rad/s^2."""
        rng = np.random.default_rng(seed)
        return {
            "q": rng.uniform(-np.pi, np.pi, (states, self.n)),
            "qd": rng.uniform(-1, 1, (states, self.n)),
            "qdd": rng.uniform(-1, 1, (states, self.n)),
        }


def robot(name: str) -> Robot:
    """A bundled model, or chain<n>, tree<n>. Friction is left out, as Pinocchio's rnea has none; all have rotors."""
    stem = name.rstrip("0123456789")
    if stem in ("chain", "tree") and stem != name:
        mechanism = chain(int(name[len(stem) :]), branching=2 if stem == "tree" else 1)
    else:
        mechanism = load(name)
        joints = tuple(replace(j, viscous=None, coulomb=None) for j in mechanism.joints)
        mechanism = mechanism.replace(joints=joints)
    return Robot(name, mechanism, tuple(_bodies(mechanism)), _numbers(mechanism.gravity))


def chain(n: int, branching: int = 1) -> Mechanism:
    """n bodies on revolute joints about y and z in turn; every inertial parameter is a symbol of its own.

    branching: children of each body, 1 for a chain.
    """
    b = Builder(f"chain{n}" if branching == 1 else f"tree{n}")
    rng = np.random.default_rng(n)
    for i in range(1, n + 1):

        def parameter(stem: str, value: float, nonzero: bool = False, i: int = i) -> Any:
            return b.parameter(f"{stem}{i}", default=round(float(value), 4), nonzero=nonzero)

        half = rng.uniform(0.05, 0.2, 3)  # a box of these half sides, with small products of inertia
        mass = rng.uniform(0.5, 2.0)
        moments = mass / 3 * (np.sum(half**2) - half**2)
        xx, yy, zz = (parameter(f"I{k}", m) for k, m in zip(("xx", "yy", "zz"), moments))
        xy, xz, yz = (parameter(f"I{k}", rng.uniform(-0.1, 0.1) * min(moments)) for k in ("xy", "xz", "yz"))
        com = [parameter(f"c{k}", rng.uniform(-0.1, 0.1)) for k in "xyz"]
        body = parameter("m", mass, nonzero=True)
        b.body(f"body{i}", mass=body, com=com, inertia=[xx, xy, yy, xz, yz, zz])
        parent = f"body{(i - 2) // branching + 1}" if i > 1 else WORLD
        position = [0, 0, parameter("d", 0.3, nonzero=True)] if i > 1 else [0, 0, 0]
        b.joint(f"joint{i}", "revolute", parent, f"body{i}", position=position, axis="zy"[i % 2])
    return b.done()


def _bodies(mechanism: Mechanism) -> list[Body]:
    """Bodies on revolute joints, with what is fixed to them."""
    found: list[Body] = []
    # body name -> (index of the moving body that carries it, its rotation and position there)
    places: dict[str, tuple[int, np.ndarray, np.ndarray]] = {WORLD: (-1, np.eye(3), np.zeros(3))}
    for joint in mechanism.joints:
        parent, turn, origin = places[joint.parent]
        rotation = turn @ _numbers(joint.placement.rotation)
        position = origin + turn @ _numbers(joint.placement.position)
        body = mechanism.body(joint.child)
        mass, com, tensor = float(_numbers([body.mass])[0]), _numbers(body.com), _numbers(body.inertia)
        if joint.kind == "fixed":
            places[joint.child] = (parent, rotation, position)
            if parent >= 0:
                found[parent] = _joined(found[parent], mass, position + rotation @ com, rotation @ tensor @ rotation.T)
            continue
        axis = _numbers(joint.axis)
        if joint.kind != "revolute" or sorted(axis) != [0.0, 0.0, 1.0] or joint.mimic is not None:
            raise ValueError(
                f"{mechanism.name}: joint {joint.name} is no revolute joint about a positive axis x, y or z"
            )
        armature = 0.0
        if joint.rotor is not None:
            inertia, ratio = _numbers([joint.rotor.inertia, joint.rotor.ratio])
            armature = float(inertia * ratio**2)
        places[joint.child] = (len(found), np.eye(3), np.zeros(3))
        found.append(Body(parent, int(np.argmax(axis)), rotation, position, mass, com, tensor, armature))
    return found


def _joined(body: Body, mass: float, com: np.ndarray, tensor: np.ndarray) -> Body:
    """One body of two, given in one frame."""
    total = body.mass + mass
    centre = (body.mass * body.com + mass * com) / total

    def moved(m: float, c: np.ndarray, inertia: np.ndarray) -> np.ndarray:
        d = c - centre
        return inertia + m * (d @ d * np.eye(3) - np.outer(d, d))

    inertia = moved(body.mass, body.com, body.inertia) + moved(mass, com, tensor)
    return replace(body, mass=total, com=centre, inertia=inertia)


def _numbers(nodes: Any) -> np.ndarray:
    values = numbers_of(nodes)
    if values is None:
        raise ValueError("a model of the benchmarks has a parameter without a default")
    return values
