"""What the oracle of `maximal.py` reads of a Mechanism: elementary motions, bodies, frames and rows as numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mechanics.loops.jets import Jet, jet, seeds

XYZ = "xyz"
AXES = {"x": np.array([1.0, 0, 0]), "y": np.array([0, 1.0, 0]), "z": np.array([0, 0, 1.0])}
# kinds of joints as chains of a letter (R turn, T slide, H screw, B ball, F free) and an axis; u: the joint's own
CHAINS = {
    "fixed": "", "revolute": "Ru", "prismatic": "Tu", "helical": "Hu", "cylindrical": "Tu Ru", "universal": "Rx Ry",
    "planar": "Tx Ty Rz", "translation2": "Tx Ty", "translation3": "Tx Ty Tz", "spherical": "Rx Ry Rz", "ball": "B",
    "y": "Tx Ty Hz", "schoenflies": "Tx Ty Tz Rz", "floating": "Tx Ty Tz Rx Ry Rz", "free": "F",
}  # fmt: skip
WIDTH_Q, WIDTH_V = {"B": 4, "F": 7}, {"B": 3, "F": 6}


# -- small algebra


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a x b over the last axis."""
    return a[..., [1, 2, 0]] * b[..., [2, 0, 1]] - a[..., [2, 0, 1]] * b[..., [1, 2, 0]]


def dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a * b).sum(axis=-1)


def hat(v: np.ndarray) -> np.ndarray:
    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


def turned(u: np.ndarray, angle: float) -> np.ndarray:
    """Rotation matrix about the unit vector u."""
    k = hat(u)
    return np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * (k @ k)


def of_quaternion(q: np.ndarray) -> np.ndarray:
    k = hat(q[1:])
    return np.eye(3) + 2 * q[0] * k + 2 * k @ k


def rotation_vector(a: np.ndarray) -> np.ndarray:
    """Axis times angle of a rotation matrix, up to and at half a turn."""
    sine = np.array([a[2, 1] - a[1, 2], a[0, 2] - a[2, 0], a[1, 0] - a[0, 1]]) / 2
    size, cosine = float(np.linalg.norm(sine)), (np.trace(a) - 1) / 2
    if size > 1e-6:
        return sine * (np.arctan2(size, cosine) / size)
    if cosine > 0:
        return sine
    axis = np.linalg.svd(a + np.eye(3))[0][:, 0]
    return np.pi * axis


# -- records


@dataclass(frozen=True)
class Motion:
    """An elementary motion from the body `parent` to the body `child`, both by number; 0 is the world.

    how: "own" (places q, v in the vectors), "follows" (a mimic joint: places of its leader), "locked" (at offset)
    """

    joint: str
    parent: int
    child: int
    letter: str
    axis: np.ndarray
    pitch: float
    rotation: np.ndarray
    position: np.ndarray
    how: str
    q: int = -1
    v: int = -1
    ratio: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True)
class Row:
    """One equation between frames i and j (numbers); a, b: axes in these frames; size: length or pitch."""

    name: str
    kind: str
    i: int
    j: int
    a: np.ndarray
    b: np.ndarray
    size: Any = 0.0


class Records:
    """A Mechanism with numbers for its parameters."""

    def __init__(self, mech: Any) -> None:
        self.mech = mech
        self.values = {n: s.data.default for n, s in mech.parameters.items()}
        self.gravity = self.numbers(mech.gravity)
        self.index: dict[str, int] = {"world": 0}
        self.motions: list[Motion] = []
        self.places: dict[str, tuple[int, int]] = {}
        self.names_q: list[str] = []
        self.names_v: list[str] = []
        self.nq = self.nv = 0
        self.n = 1
        self._joints()
        for m in self.followers:
            self._follow(*m)
        self.motions.sort(key=lambda m: m.child)
        # `child` numbers grow along every chain, because joints stand in an order in which parents come first
        self.frames: list[tuple[int, np.ndarray, np.ndarray]] = []
        self.joint_rows = [r for m in self.motions for r in self._of_motion(m)]
        self.cut_rows = [r for c in mech.cuts for r in self._of_cut(c)]
        self._bodies()
        self.links = [self._link(f) for f in mech.forces]
        self.driven = self._driven()
        self.free = np.array([k for k in range(self.nv) if k not in self.driven], dtype=int)
        self._packs = {"cuts": self._pack(self.cut_rows), "joints": self._pack(self.joint_rows)}

    # -- reading

    def number(self, x: Any) -> float:
        return jet(x, {}, self.values, 0).value if hasattr(x, "op") else float(x)

    def numbers(self, a: Any) -> np.ndarray:
        a = np.asarray(a, dtype=object)
        return np.array([self.number(x) for x in a.flat], dtype=float).reshape(a.shape)

    def _joints(self) -> None:
        self.followers: list[tuple[Any, ...]] = []
        self.laws: list[tuple[int, int, float, float, float]] = []  # v, q (or -1), stiffness, rest, viscous
        for j in self.mech.joints:
            chain = CHAINS[j.kind].split()
            if j.sequence:
                chain = [c for c in chain if c[0] == "T"] + [f"R{x}" for x in j.sequence]
            if j.rotor is not None or j.elastic is not None or j.coulomb is not None:
                raise NotImplementedError(f"the oracle knows no rotor, elasticity or dry friction ({j.name})")
            at, rotation, position = (
                self.index[j.parent], self.numbers(j.placement.rotation), self.numbers(j.placement.position)
            )  # fmt: skip
            pitch = 0.0 if j.pitch is None else self.number(j.pitch)
            own = j.kind != "fixed" and j.mode != "locked" and j.mimic is None
            if own:
                self.places[j.name] = (self.nq, self.nv)
            held = [self.number(x) for x in j.values] if j.mode == "locked" and j.values else []
            first_q, first_v = self.nq, self.nv
            for k, motion in enumerate(chain or ["X"]):
                letter, axis = motion[0], self.numbers(j.axis) if motion[1:] == "u" else AXES.get(motion[1:], AXES["z"])
                parts = (j.name, at, self.n, letter, axis, pitch, rotation, position)
                if letter == "X" or j.mode == "locked":
                    if letter in "BF":
                        raise NotImplementedError("the oracle knows no locked ball or free joint")
                    self.motions.append(Motion(*parts, "locked", offset=held[k] if k < len(held) else 0.0))
                elif j.mimic is not None:
                    self.followers.append((parts, j))
                else:
                    self.motions.append(Motion(*parts, "own", self.nq, self.nv))
                    if j.stiffness is not None or j.viscous is not None:
                        self._law(j, letter)
                    self.nq += WIDTH_Q.get(letter, 1)
                    self.nv += WIDTH_V.get(letter, 1)
                at, rotation, position = self.n, np.eye(3), np.zeros(3)
                self.n += 1
            self.index[j.child] = at
            for stem, first, last, names in (
                ("q", first_q, self.nq, self.names_q),
                ("qd", first_v, self.nv, self.names_v),
            ):
                many = last - first > 1
                names += [f"{stem}.{j.name}" + (f".{k + 1}" if many else "") for k in range(last - first)]

    def _law(self, j: Any, letter: str) -> None:
        k, rest, c = (0.0 if x is None else self.number(x) for x in (j.stiffness, j.rest, j.viscous))
        for i in range(WIDTH_V.get(letter, 1)):
            self.laws.append((self.nv + i, self.nq if letter in "RTH" else -1, k, rest, c))

    def _follow(self, parts: tuple[Any, ...], j: Any) -> None:
        q, v = self.places[j.mimic.joint]
        ratio, offset = self.number(j.mimic.ratio), self.number(j.mimic.offset)
        self.motions.append(Motion(*parts, "follows", q, v, ratio, offset))
        if j.stiffness is not None or j.viscous is not None:
            raise NotImplementedError("the oracle knows no laws of mimic joints")

    def _bodies(self) -> None:
        """Mass (n,), com (n, 3) and inertia (n, 3, 3) in body axes."""
        self.mass, self.com, self.inertia = np.zeros(self.n), np.zeros((self.n, 3)), np.zeros((self.n, 3, 3))
        for b in self.mech.bodies:
            k = self.index[b.name]
            self.mass[k], self.com[k], self.inertia[k] = (
                self.number(b.mass), self.numbers(b.com), self.numbers(b.inertia)
            )  # fmt: skip

    def _link(self, f: Any) -> tuple[int, int, float, float, float]:
        if f.kind != "spring_damper" or "law" in f.values:
            raise NotImplementedError(f"the oracle knows no force {f.kind}")
        k, c, length = (self.number(f.values.get(n, 0.0)) for n in ("stiffness", "damping", "length"))
        return self._frame(f.points[0]), self._frame(f.points[1]), k, c, length

    def _driven(self) -> dict[int, tuple[int, Any]]:
        """Velocity -> (coordinate, law of time)."""
        out = {}
        for j in self.mech.joints:
            if j.mode == "driven":
                q, v = self.places[j.name]
                out.update({v + k: (q + k, law) for k, law in enumerate(j.values)})
        return out

    def prescribed(self, k: int, t: float) -> Jet:
        """Coordinate, velocity and acceleration of the driven velocity k: value, g[0], h[0, 0]."""
        return jet(self.driven[k][1], seeds(["t"], np.array([t])), self.values, 1)

    # -- frames and rows

    def _frame(self, end: tuple[str, str]) -> int:
        body, name = end
        rotation, position = np.eye(3), np.zeros(3)
        if name:
            place = self.mech.body(body).frames[name]
            rotation, position = self.numbers(place.rotation), self.numbers(place.position)
        self.frames.append((self.index[body], rotation, position))
        return len(self.frames) - 1

    def _of_motion(self, m: Motion) -> list[Row]:
        """What an elementary motion forbids between its joint frame (on the parent) and the child."""
        self.frames.append((m.parent, m.rotation, m.position))
        held = np.zeros(3)
        if m.how == "locked":  # a fixed frame beside the joint frame
            place = turned(m.axis, m.offset) if m.letter in "RH" else np.eye(3)
            held = m.axis * (m.offset * {"T": 1.0, "H": m.pitch}.get(m.letter, 0.0))
            self.frames[-1] = (m.parent, m.rotation @ place, m.position + m.rotation @ held)
        self.frames.append((m.child, np.eye(3), np.zeros(3)))
        i, j, name = len(self.frames) - 2, len(self.frames) - 1, m.joint
        if m.how == "locked":
            return self._points(name, i, j) + self._turns(name, i, j)
        if m.letter == "F":
            return []
        if m.letter == "B":
            return self._points(name, i, j)
        side = np.linalg.svd(m.axis[None])[2][1:]  # two axes across
        aligned = [Row(name, "cross", i, j, s, m.axis) for s in side]
        across = [Row(name, "along", i, j, s, s) for s in side]
        if m.letter == "R":
            return self._points(name, i, j) + aligned
        if m.letter == "T":
            return across + self._turns(name, i, j)
        return [*across, *aligned, Row(name, "screw", i, j, m.axis, m.axis, m.pitch)]

    def _of_cut(self, cut: Any) -> list[Row]:
        if cut.switched:
            raise NotImplementedError("the oracle knows no switched cuts")
        i, j, name = self._frame(cut.first), self._frame(cut.second), cut.name
        axis = XYZ.index(cut.axis)
        across = [k for k in range(3) if k != axis]
        e = np.eye(3)
        if cut.kind == "rod":
            return [Row(name, "rod", i, j, e[0], e[0], cut.length)]
        moves = {"prismatic": across, "cylindrical": across, "rows": sorted(r for r in cut.rows if r < 3)}.get(
            cut.kind, [0, 1, 2]
        )
        rows = self._points(name, i, j) if len(moves) == 3 else [Row(name, "along", i, j, e[k], e[k]) for k in moves]
        turns = {
            "solid": [0, 1, 2], "prismatic": [0, 1, 2], "revolute": across, "cylindrical": across,
            "rows": sorted(r - 3 for r in cut.rows if r >= 3),
        }.get(cut.kind, [])  # fmt: skip
        if cut.kind == "universal":
            return [*rows, Row(name, "cross", i, j, e[axis], e[XYZ.index(cut.axis2)])]
        if len(turns) == 3:
            return rows + self._turns(name, i, j)
        if len(turns) == 2:  # the axis that is not named stays common
            common = next(k for k in range(3) if k not in turns)
            return rows + [Row(name, "cross", i, j, e[k], e[common]) for k in turns]
        # one turn about k: the axis after k of the second frame stays across the one before k of the first
        return rows + [Row(name, "cross", i, j, e[(k + 2) % 3], e[(k + 1) % 3]) for k in turns]

    @staticmethod
    def _points(name: str, i: int, j: int) -> list[Row]:
        return [Row(name, "point", i, j, e, e) for e in np.eye(3)]

    @staticmethod
    def _turns(name: str, i: int, j: int) -> list[Row]:
        return [Row(name, "turn", i, j, e, e) for e in np.eye(3)]

    def _pack(self, rows: list[Row]) -> dict[str, np.ndarray]:
        kind = np.array([r.kind for r in rows])
        place = self.frames
        out = {
            "i": np.array([place[r.i][0] for r in rows], dtype=int),
            "j": np.array([place[r.j][0] for r in rows], dtype=int),
            "Ri": np.array([place[r.i][1] for r in rows]).reshape(-1, 3, 3),
            "ri": np.array([place[r.i][2] for r in rows]).reshape(-1, 3),
            "Rj": np.array([place[r.j][1] for r in rows]).reshape(-1, 3, 3),
            "rj": np.array([place[r.j][2] for r in rows]).reshape(-1, 3),
            "a": np.array([r.a for r in rows]).reshape(-1, 3), "b": np.array([r.b for r in rows]).reshape(-1, 3),
        }  # fmt: skip
        for name in ("point", "along", "cross", "turn", "rod", "screw"):
            out[name] = np.flatnonzero(kind == name)
        return out
