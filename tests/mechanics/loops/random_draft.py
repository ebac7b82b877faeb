"""Draft: a mechanism that is drawn in a reference pose, so that its loops are closed there by construction.

Bodies, joints and reference coordinates are collected first; `pose` gives the pose of any body by the oracle's own
kinematics, and `cut` places two frames so that they meet the conditions of the cut in that pose.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import symbody as sb
from mechanics.loops.maximal import Maximal
from mechanics.loops.maximal_records import CHAINS, turned
from symbody.model.record.mechanism import Mechanism

CUTS = ("solid", "ball", "rod", "revolute", "prismatic", "universal", "cylindrical", "rows")
ROWS = {"solid": 6, "ball": 3, "rod": 1, "revolute": 5, "prismatic": 5, "universal": 4, "cylindrical": 4}
NICE = np.array([0.0, 0.0, np.pi / 6, np.pi / 4, np.pi / 3, np.pi / 2, -np.pi / 2, np.pi, -np.pi / 4, 2 * np.pi / 3])


class Draft:
    """nice: poses and lengths are round numbers, so that bars align and angles are right ones."""

    def __init__(self, name: str, rng: np.random.Generator, nice: bool = False, gravity: Any = None) -> None:
        self.name, self.rng, self.nice = name, rng, nice
        self.gravity = gravity if gravity is not None else (0, 0, -9.81)
        self.bodies: dict[str, dict[str, Any]] = {}
        self.joints: dict[str, dict[str, Any]] = {}
        self.q: dict[str, list[float]] = {}
        self.extras: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []
        self._poses: dict[str, tuple[np.ndarray, np.ndarray]] = {}

    # -- numbers at random

    def length(self, low: float = 0.2, high: float = 1.0) -> float:
        x = float(self.rng.uniform(low, high))
        return round(x, 1) if self.nice else x

    def angle(self) -> float:
        return float(self.rng.choice(NICE)) if self.nice else float(self.rng.uniform(-np.pi, np.pi))

    def vector(self, size: float = 0.5) -> list[float]:
        v = self.rng.uniform(-size, size, 3)
        return [round(float(x), 1) for x in v] if self.nice else [float(x) for x in v]

    def rotation(self) -> np.ndarray:
        r = turned(np.array([0, 0, 1.0]), self.angle()) @ turned(np.array([1.0, 0, 0]), self.angle())
        r = r @ turned(np.array([0, 0, 1.0]), self.angle())
        if self.nice:
            r = np.where(np.abs(r) < 1e-12, 0.0, np.where(np.abs(np.abs(r) - 1) < 1e-12, np.round(r), r))
        return r

    def axis(self) -> Any:
        if self.nice or self.rng.random() < 0.5:
            return str(self.rng.choice(list("xyz")))
        v = self.rng.normal(size=3)
        return [float(x) for x in v / np.linalg.norm(v)]

    def chance(self, p: float) -> bool:
        return bool(self.rng.random() < p)

    # -- pieces

    def body(self, name: str, massless: bool = False, com: Any = None) -> str:
        """A body with a mass and inertia of some distribution of mass."""
        r = self.rng
        if massless:
            self.bodies[name] = {"frames": {}}
            return name
        a, b, c = r.uniform(0.002, 0.03, 3)
        inertia = np.diag([b + c, a + c, a + b])
        if self.chance(0.5):
            turn = turned(np.array([0, 0, 1.0]), r.uniform(-1, 1)) @ turned(np.array([1.0, 0, 0]), r.uniform(-1, 1))
            inertia = turn @ inertia @ turn.T
            inertia = (inertia + inertia.T) / 2
        place = [float(x) for x in r.uniform(-0.2, 0.2, 3)] if com is None else com
        self.bodies[name] = {
            "mass": float(r.uniform(0.3, 2.0)), "com": place, "inertia": inertia.tolist(), "frames": {}
        }  # fmt: skip
        return name

    def joint(self, name: str, kind: str, parent: str, child: str, at: Any = None, **more: Any) -> None:
        """at: reference coordinates; None: random ones."""
        self.joints[name] = {"kind": kind, "parent": parent, "child": child, **more}
        if more.get("mode") == "locked" or more.get("mimic") is not None or kind == "fixed":
            return
        self.q[name] = self.coordinates(kind) if at is None else list(at)
        self._poses = {}

    def coordinates(self, kind: str) -> list[float]:
        out: list[float] = []
        for motion in CHAINS[kind].split():
            if motion[0] == "F":
                out += self.vector()
            if motion[0] in "BF":
                v = self.rng.normal(size=4)
                quaternion = [1.0, 0, 0, 0] if self.nice else (v / np.linalg.norm(v)).tolist()
                out += quaternion
            elif motion[0] == "T":
                out.append(self.length(-0.4, 0.6))
            else:
                out.append(self.angle())
        return out

    def size(self, kind: str) -> int:
        """Velocities of a kind of joint."""
        return sum({"B": 3, "F": 6}.get(m[0], 1) for m in CHAINS[kind].split())

    def pose(self, body: str) -> tuple[np.ndarray, np.ndarray]:
        """(R, p) of a body in world axes in the reference pose."""
        if not self._poses:
            world = Maximal(self._built(frames=False, extras=False))
            s = world.state(self.reference(world), np.zeros(world.nv))
            self._poses = {b: (s.R[k], s.p[k]) for b, k in world.index.items()}
        return self._poses[body]

    def reference(self, world: Maximal) -> np.ndarray:
        out = np.zeros(world.nq)
        for name, values in self.q.items():
            start = world.places[name][0]
            out[start : start + len(values)] = values
        return out

    def frame(self, body: str, name: str, R: np.ndarray, p: np.ndarray) -> tuple[str, str]:
        """A frame of a body that has the world pose (R, p) in the reference pose. The world has none: a fixed body."""
        if body == "world":
            body = f"ground_{name}"
            self.bodies[body] = {"frames": {}}
            self.joints[body] = {"kind": "fixed", "parent": "world", "child": body}
            self._poses = {}
        Rb, pb = self.pose(body)
        rotation, position = Rb.T @ R, Rb.T @ (p - pb)
        if self.nice:  # zeros that a person would have written
            rotation = np.where(np.abs(rotation) < 1e-14, 0.0, rotation)
            rotation = np.where(np.abs(np.abs(rotation) - 1) < 1e-14, np.round(rotation), rotation)
            position = np.where(np.abs(position) < 1e-14, 0.0, position)
        self.bodies[body]["frames"][name] = {"position": position.tolist(), "rotation": rotation.tolist()}
        return body, name

    def cut(
        self, name: str, kind: str, first: str, second: str, at: Any = None, rows: Any = None, axis: int | None = None
    ) -> None:
        """A cut that is closed in the reference pose. at: (R, p) of the first frame in world axes; axis: 0, 1 or 2."""
        r = self.rng
        if at is None:
            (Ra, pa), (_, pb) = self.pose(first), self.pose(second)
            at = (Ra @ self.rotation(), (pa + pb) / 2 + Ra @ np.array(self.vector(0.3)))
        R, p = at
        more: dict[str, Any] = {}
        axis = int(r.integers(3)) if axis is None else axis
        e = np.eye(3)
        R2, p2 = R, p
        if kind == "rod":
            p2 = p + R @ (np.add(self.vector(0.4), [0.3, 0, 0]))
            R2 = R @ self.rotation()
            more["length"] = float(np.linalg.norm(p2 - p))
        elif kind == "ball":
            R2 = R @ self.rotation()
        elif kind in ("revolute", "cylindrical", "prismatic"):
            more["axis"] = "xyz"[axis]
            if kind != "prismatic":
                R2 = R @ turned(e[axis], self.angle())
            if kind != "revolute":
                p2 = p + R[:, axis] * self.length(-0.4, 0.4)
        elif kind == "universal":
            other = (axis + 1 + int(r.integers(2))) % 3
            more["axis"], more["axis2"] = "xyz"[axis], "xyz"[other]
            # axis `other` of the second frame stays across `axis` of the first
            R2 = R @ turned(e[axis], self.angle()) @ turned(e[other], self.angle())
        elif kind == "rows":
            chosen = rows if rows is not None else self.chosen_rows()
            more["rows"] = [int(k) for k in chosen]
            R2, p2 = self.within_rows(R, p, more["rows"])
        a, b = self.frame(first, f"{name}_1", R, p), self.frame(second, f"{name}_2", R2, p2)
        self.extras.append(("cut", (name, kind, a, b), more))

    def chosen_rows(self) -> list[int]:
        k = int(self.rng.integers(1, 5))
        return sorted(int(x) for x in self.rng.choice(6, k, replace=False))

    def within_rows(self, R: np.ndarray, p: np.ndarray, rows: list[int]) -> tuple[np.ndarray, np.ndarray]:
        """A pose of the second frame that the chosen rows allow."""
        moves, turns = [r for r in rows if r < 3], [r - 3 for r in rows if r >= 3]
        shift = np.array([0.0 if k in moves else self.length(-0.3, 0.3) for k in range(3)])
        e = np.eye(3)
        turn = np.eye(3)
        if len(turns) == 2:
            turn = turned(e[next(k for k in range(3) if k not in turns)], self.angle())
        elif len(turns) == 1:  # the next axis of the second frame stays across the one after it of the first
            k = turns[0]
            turn = turned(e[(k + 2) % 3], self.angle() / 2) @ turned(e[(k + 1) % 3], self.angle() / 2)
        elif not turns:
            turn = self.rotation()
        return R @ turn, p + R @ shift

    def coupling(self, name: str, expression: str, kind: str = "position") -> None:
        self.extras.append(("coupling", (name, expression, kind), {}))

    def spring(self, name: str, first: str, second: str) -> None:
        """A spring-damper between random points of two bodies."""
        (Ra, pa), (Rb, pb) = self.pose(first), self.pose(second)
        a = self.frame(first, f"{name}_1", Ra, pa + Ra @ np.array(self.vector(0.3)))
        b = self.frame(second, f"{name}_2", Rb, pb + Rb @ (np.add(self.vector(0.3), [0.05, 0.05, 0.45])))
        more = {"stiffness": float(self.rng.uniform(5, 50)), "length": float(self.rng.uniform(0.1, 0.5))}
        if self.chance(0.5):
            more["damping"] = float(self.rng.uniform(0.1, 1.0))
        self.extras.append(("force", (name, "spring_damper", [a, b]), more))

    # -- the Mechanism

    def done(self) -> tuple[Mechanism, np.ndarray]:
        """The Mechanism and its reference coordinates, at which all loops are closed."""
        mech = self._built()
        return mech, self.reference(Maximal(mech))

    def _built(self, frames: bool = True, extras: bool = True) -> Mechanism:
        b = sb.Mechanism.builder(self.name, gravity=self.gravity)
        for name, body in self.bodies.items():
            b.body(name, **{**body, "frames": body["frames"] if frames else {}})
        for name, joint in self.joints.items():
            b.joint(name, **joint)
        for verb, given, more in self.extras if extras else ():
            getattr(b, verb)(*given, **more)
        return b.done()
