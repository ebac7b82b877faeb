"""The pattern models of operation counting (section 2 of that study) as Mechanisms, and random trees."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from symbody.model.record.joints import KINDS
from symbody.model.record.mechanism import Body, Joint, Mechanism, Mimic, Placement, Rotor
from symbody.symbolic.expr.graph import Graph
from symbody.symbolic.expr.node import Node


class Maker:
    """Bodies and joints one by one. Every parameter gets a default away from zero; lengths are declared nonzero."""

    def __init__(self, name: str, gravity: Any = None, seed: int = 1) -> None:
        self.graph, self.name = Graph(name), name
        self.bodies: list[Body] = []
        self.joints: list[Joint] = []
        self.rng = np.random.default_rng(seed)
        self.gravity = self.array(gravity if gravity is not None else (0, 0, "-g"))

    def parameter(self, name: str, default: float | None = None) -> Node:
        if default is None:
            key = sum((k + 1) * ord(ch) for k, ch in enumerate(name))
            default = 0.4 + (key * 0.6180339887) % 1.0
        if name.startswith("m") and name[1:].isdigit():
            default += 3.0
        if name.startswith("I") and name[1] == name[2]:
            default += 2.0
        return self.graph.symbol(name, "parameter", default=default, nonzero=name[0] in "dlLDrRscg")

    def node(self, x: Any) -> Node:
        if isinstance(x, Node):
            return x
        if isinstance(x, str):
            return -self.parameter(x[1:]) if x.startswith("-") else self.parameter(x)
        return self.graph.number(x)

    def array(self, values: Any) -> np.ndarray:
        a = np.array(values, dtype=object)
        out = np.empty(a.shape, dtype=object)
        for i, x in enumerate(a.flat):
            out.flat[i] = self.node(x)
        return out

    def body(
        self, name: str, kind: str, parent: str, axis: Any = (0, 0, 1), offset: Any = (0, 0, 0), rotation: Any = None,
        mass: Any = 0, com: Any = (0, 0, 0), inertia: Any = None, **joint: Any,
    ) -> str:  # fmt: skip
        axis = {"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1)}.get(axis, axis) if isinstance(axis, str) else axis
        rotation = np.eye(3, dtype=int).astype(object) if rotation is None else rotation
        place = Placement(self.array(rotation), self.array(offset))
        self.joints.append(Joint(f"j_{name}", kind, parent, name, place, self.array(axis), **joint))
        inertia = np.zeros((3, 3), dtype=int) if inertia is None else inertia
        self.bodies.append(Body(name, self.node(mass), self.array(com), self.array(inertia)))
        return name

    def done(self) -> Mechanism:
        return Mechanism(self.name, tuple(self.bodies), tuple(self.joints), self.gravity, self.graph)


def diagonal(k: int, which: str = "111") -> list[list[Any]]:
    return [[f"I{a + 1}{a + 1}_{k}" if a == b and which[a] == "1" else 0 for b in range(3)] for a in range(3)]


def full(k: int) -> list[list[Any]]:
    return [[f"I{min(a, b) + 1}{max(a, b) + 1}_{k}" for b in range(3)] for a in range(3)]


def com(k: int, which: str = "111") -> list[Any]:
    return [f"c{a + 1}{k}" if which[a] == "1" else 0 for a in range(3)]


def chain(m: Maker, rows: list[dict[str, Any]]) -> Mechanism:
    parent = "world"
    for k, row in enumerate(rows):
        row = dict(row)
        kind = {"R": "revolute", "T": "prismatic"}[row.pop("kind", "R")]
        parent = m.body(f"b{k + 1}", kind, row.pop("parent", parent), row.pop("axis", "z"), **row)
    return m.done()


def p1() -> Mechanism:
    """PUMA of the ROBOTRAN thesis: R3 R1 R1 R3 R1 R3."""
    return chain(Maker("P1"), [
        dict(axis="z", inertia=diagonal(1, "001")),
        dict(axis="x", mass="m2", com=(0, 0, "l32"), inertia=diagonal(2)),
        dict(axis="x", offset=(0, 0, "d33"), mass="m3", com=(0, 0, "l33"), inertia=diagonal(3)),
        dict(axis="z", offset=(0, 0, "d34"), mass="m4", inertia=diagonal(4)),
        dict(axis="x"),
        dict(axis="z", mass="m6", com=(0, 0, "l36"), inertia=diagonal(6)),
    ])  # fmt: skip


def about_x(c: Any, s: Any, minus_s: Any) -> list[list[Any]]:
    return [[1, 0, 0], [0, c, minus_s], [0, s, c]]


def _twisted(m: Maker, rows: list[tuple[int, Any]]) -> Mechanism:
    """(twist in quarter turns about x, offset in the parent), full inertias."""
    out = []
    for k, (quarter, offset) in enumerate(rows, 1):
        rotation = None if quarter == 0 else about_x(0, quarter, -quarter)
        out.append(dict(rotation=rotation, offset=offset, mass=f"m{k}", com=com(k), inertia=full(k)))
    return chain(m, out)


def p2() -> Mechanism:
    """PUMA 560 of MEDUSA: modified Denavit-Hartenberg, W0 = (0, 0, g)."""
    # modified DH: l along x of the parent, then d along the own z axis, which is (0, -sin, cos) in the parent
    return _twisted(Maker("P2"), [
        (0, (0, 0, 0)), (-1, (0, 0, 0)), (0, ("L3", 0, "D3")), (-1, ("L4", "D4", 0)), (1, (0, 0, 0)), (-1, (0, 0, 0)),
    ])  # fmt: skip


def p3(n: int = 6) -> Mechanism:
    """General nR: twist alpha about x by symbolic cosine and sine, offset (d, 0, r) in the parent."""
    m, rows = Maker("P3"), []
    for k in range(1, n + 1):
        row: dict[str, Any] = dict(mass=f"m{k}", com=com(k), inertia=full(k))
        if k > 1:
            angle = 0.3 + 0.11 * k
            c, s = m.parameter(f"ca{k}", math.cos(angle)), m.parameter(f"sa{k}", math.sin(angle))
            row.update(rotation=about_x(c, s, -s), offset=(f"d{k}", 0, f"r{k}" if k > 2 else 0))
        rows.append(row)
    return chain(m, rows)


def p4(n: int = 5) -> Mechanism:
    """Planar pendulum of n links."""
    return chain(Maker("P4"), [
        dict(axis="y", offset=(0, 0, f"d{k}" if k > 1 else 0), mass=f"m{k}", com=(0, 0, f"l{k}"),
             inertia=diagonal(k, "010"))
        for k in range(1, n + 1)
    ])  # fmt: skip


def p5() -> Mechanism:
    """Motorcycle: joint 10 locked at a constant angle."""
    m = Maker("P5")

    def inertia(k: int) -> list[list[Any]]:
        j = diagonal(k)
        j[0][2] = j[2][0] = f"I13_{k}"
        return j

    def v(stem: str, x: int = 1, z: int = 1) -> tuple[Any, Any, Any]:
        return (f"{stem}1" if x else 0, 0, f"{stem}3" if z else 0)

    for k, a in enumerate("xyz", 1):
        m.body(f"b{k}", "prismatic", "world" if k == 1 else f"b{k - 1}", a)
    m.body("b4", "revolute", "b3", "z")
    m.body("b5", "revolute", "b4", "x")
    m.body("b6", "revolute", "b5", "y", mass="m6", com=v("l6"), inertia=inertia(6))
    m.body("b7", "revolute", "b6", "y", v("d7"), mass="m7", com=v("l7"), inertia=inertia(7))
    m.body("b8", "revolute", "b7", "y", v("d8", 1, 0), mass="m8", inertia=diagonal(8))
    m.body("b9", "revolute", "b6", "x", v("d9"), mass="m9", com=v("l9"), inertia=inertia(9))
    m.body("b10", "revolute", "b6", "y", v("d10"), mode="locked", value=m.parameter("q10", 0.4))
    m.body("b11", "revolute", "b10", "x")
    m.body("b12", "revolute", "b11", "z", mass="m12", com=v("l12"), inertia=inertia(12))
    m.body("b13", "prismatic", "b12", "z", v("d13", 1, 0), mass="m13", com=v("l13"), inertia=inertia(13))
    m.body("b14", "revolute", "b13", "y", v("d14"), mass="m14", inertia=diagonal(14))
    return m.done()


def p6a() -> Mechanism:
    """RX90 type."""
    return _twisted(Maker("P6a"), [
        (0, (0, 0, 0)), (1, (0, 0, 0)), (0, ("D3", 0, 0)), (-1, (0, "RL4", 0)), (1, (0, 0, 0)), (-1, (0, 0, 0)),
    ])  # fmt: skip


def p6c(simple: bool = False) -> Mechanism:
    """Stanford: R3 R1 T3 R3 R1 R3; simple: diagonal inertias and centres of mass on z (P6d)."""
    return chain(Maker("P6d" if simple else "P6c"), [
        dict(kind="T" if k == 3 else "R", axis="x" if k in (2, 5) else "z",
             offset=("r2", 0, 0) if k == 2 else (0, 0, 0), mass=f"m{k}", com=com(k, "001" if simple else "111"),
             inertia=diagonal(k) if simple else full(k))
        for k in range(1, 7)
    ])  # fmt: skip


def p6d() -> Mechanism:
    return p6c(simple=True)


PATTERNS = dict(P1=p1, P2=p2, P3=p3, P4=p4, P5=p5, P6a=p6a, P6c=p6c, P6d=p6d)


# -- random trees


def random_rotation(rng: np.random.Generator) -> np.ndarray:
    q = rng.normal(size=4)
    w, x, y, z = q / np.linalg.norm(q)
    return np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ])  # fmt: skip


def random_inertia(rng: np.random.Generator) -> list[list[float]]:
    # of a cloud of points, so that the triangle inequalities hold
    points = rng.normal(size=(5, 3))
    points -= points.mean(axis=0)
    tensor = sum(float(p @ p) * np.eye(3) - np.outer(p, p) for p in points)
    return [[float(x) for x in row] for row in np.asarray(tensor)]


SKEW = [(0.6, 0.0, 0.8), (1 / 3, -2 / 3, 2 / 3), (-0.6, 0.8, 0.0)]


def random_tree(
    seed: int, n: int, kinds: list[str] | None = None, couplings: bool = True, rotors: bool = True, plain: bool = False,
    massless: bool = True,
) -> Mechanism:  # fmt: skip
    """n bodies on random parents, joints of all kinds; couplings: mimic joints and gyroscopic rotors as well."""
    rng = np.random.default_rng(seed)
    m = Maker(f"tree{seed}", gravity=[float(x) for x in rng.normal(size=3) * 5])
    kinds = kinds or list(KINDS)
    names = ["world"]
    for k in range(n):
        kind = str(rng.choice(kinds))
        axes: list[Any] = ["x", "y", "z", (-1, 0, 0), (0, 0, -1), *SKEW]
        axis = axes[int(rng.integers(len(axes)))]
        which = int(rng.integers(3))
        rotation = [None, about_x(0, 1, -1), [[float(x) for x in r] for r in random_rotation(rng)]][which]
        extra: dict[str, Any] = {}
        if kind == "helical":
            extra["pitch"] = m.node(0.3)
        if kind in ("universal",):
            extra["sequence"] = "xz"
        single = kind in ("revolute", "prismatic", "helical")
        if not plain and kind not in ("fixed", "ball", "free") and rng.random() < 0.3:
            extra.update(stiffness=m.node(2.0), rest=m.node(0.3), viscous=m.node(0.4))
        if not plain and kind not in ("fixed",) and rng.random() < 0.2:
            extra["coulomb"] = m.node(0.7)
        if single and rotors and rng.random() < 0.3:
            extra["rotor"] = Rotor(
                m.node(0.05), m.node(8), gyroscopic=couplings and kind == "revolute" and rng.random() < 0.5
            )
        if single and couplings and rng.random() < 0.25:
            others = [
                j
                for j in m.joints
                if j.kind in ("revolute", "prismatic", "helical")
                and j.mimic is None
                and j.mode == "actuated"
                and j.elastic is None
            ]
            if others:
                extra["mimic"] = Mimic(others[int(rng.integers(len(others)))].name, m.node(-1.5), m.node(0.2))
        if single and not plain and "mimic" not in extra and rng.random() < 0.1:
            extra.update(mode="locked", value=m.node(0.6))
        if single and not plain and not extra and rng.random() < 0.2:
            extra["elastic"] = (m.node(30.0), m.node(0.5))
        empty = k < n - 1 and rng.random() < 0.1 and massless
        parent = names[int(rng.integers(max(0, len(names) - 4), len(names)))]
        names.append(m.body(
            f"b{k + 1}", kind, parent, axis, [float(x) for x in rng.normal(size=3)], rotation,
            mass=0 if empty else float(rng.uniform(0.5, 2)),
            com=(0, 0, 0) if empty else [float(x) for x in rng.normal(size=3)],
            inertia=None if empty else random_inertia(rng), **extra,
        ))  # fmt: skip
    return m.done()


def random_state(mech: Mechanism, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q (unit quaternions), qd, qdd."""
    rng = np.random.default_rng(seed + 1000)
    q: list[float] = []
    for j in mech.joints:
        if j.mode == "locked" or j.mimic is not None:
            continue
        for letter in (motion.key for motion, _ in KINDS[j.kind].motions(j)):
            if letter == "F":
                q += list(rng.normal(size=3))
            if letter in "BF":
                x = rng.normal(size=4)
                q += list(x / np.linalg.norm(x))
            else:
                q.append(float(rng.uniform(-2, 2)))
        if j.elastic is not None:
            q.append(float(rng.uniform(-1, 1)))
    nv = mech.nv
    return np.array(q), rng.uniform(-2, 2, nv), rng.uniform(-2, 2, nv)
