"""Families of planar linkages at random: drawn in the plane, closed by cuts of any kind, put anywhere in space."""

from __future__ import annotations

from typing import Any

import numpy as np

from mechanics.loops.maximal_records import turned
from mechanics.loops.random_draft import Draft

Z = np.array([0, 0, 1.0])
PINS = ("ball", "ball", "revolute", "rows", "solid", "universal", "cylindrical", "rows3")


def weight(rng: np.random.Generator) -> float:
    """Gravity of Earth, Mars or the Moon, m/s^2: most linkages run into a singular position within 1 s on Earth."""
    return float(rng.choice([9.81, 3.7, 1.6, 1.6]))


class Plane(Draft):
    """Bars in a plane: every body lies along its x axis at zero angle. poses: x, y, angle of every body.

    base: the body whose xy plane is the plane; its pose is (0, 0, 0)
    """

    def __init__(self, name: str, rng: np.random.Generator, nice: bool) -> None:
        super().__init__(name, rng, nice, (0, -weight(rng), 0))
        self.flat: dict[str, np.ndarray] = {}
        self.base = "world"
        where = rng.random()
        if where < 0.25:  # the plane stands obliquely in space
            self.base = "plane"
            self.bodies["plane"] = {"frames": {}}
            self.joint("plane", "fixed", "world", "plane", position=self.vector(), rotation=self.rotation().tolist())
        elif where < 0.35:  # the plane moves: it turns on the ground or slides
            self.base = self.body("carrier")
            self.joint(
                "carrier",
                str(rng.choice(["revolute", "prismatic"])),
                "world",
                "carrier",
                axis=str(rng.choice(list("xyz"))),
            )
        self.flat[self.base] = np.zeros(3)
        self.count = 0

    def point(self, low: float = -1.0, high: float = 1.0) -> np.ndarray:
        p = self.rng.uniform(low, high, 2)
        return np.round(p, 1) if self.nice else p

    def local(self, body: str, p: np.ndarray) -> np.ndarray:
        """A point of the plane in the axes of a body."""
        x, y, a = self.flat[body]
        d = p - [x, y]
        out = np.array([np.cos(a) * d[0] + np.sin(a) * d[1], -np.sin(a) * d[0] + np.cos(a) * d[1]])
        return np.where(np.abs(out) < 1e-15, 0.0, out)

    def at(self, body: str, p: Any) -> np.ndarray:
        """A point of a body in the plane."""
        x, y, a = self.flat[body]
        return np.array([x + np.cos(a) * p[0] - np.sin(a) * p[1], y + np.sin(a) * p[0] + np.cos(a) * p[1]])

    def link(
        self, parent: str, start: np.ndarray, angle: float, name: str = "", massless: bool = False, **more: Any
    ) -> str:
        """A bar on a pin of its parent at a point of the plane, along `angle` of the plane in the reference pose."""
        name = name or f"b{self.count}"
        self.count += 1
        self.body(name, massless, com=[float(self.rng.uniform(0.05, 0.3)), float(self.rng.uniform(-0.05, 0.05)), 0.0])
        self.flat[name] = np.array([start[0], start[1], angle])
        p = self.local(parent, start)
        turn = angle - self.flat[parent][2]
        laws: dict[str, Any] = {}
        if self.chance(0.15):
            laws = {"stiffness": float(self.rng.uniform(0.5, 5)), "rest": float(self.rng.uniform(-1, 1))}
        if self.chance(0.15):
            laws["viscous"] = float(self.rng.uniform(0.01, 0.3))
        self.joint(name, "revolute", parent, name, at=[turn], position=[*p, 0], **laws, **more)
        return name

    def slider(self, parent: str, start: np.ndarray, angle: float, travel: float, name: str = "") -> str:
        """A body that slides from `start` along `angle` of the plane; it has moved by `travel`, its axes stay."""
        name = name or f"s{self.count}"
        self.count += 1
        self.body(name, com=[0.0, 0.0, 0.0])
        a = self.flat[parent][2]
        self.flat[name] = np.array([*(start + travel * np.array([np.cos(angle), np.sin(angle)])), a])
        axis = [float(np.cos(angle - a)), float(np.sin(angle - a)), 0.0]
        axis = [0.0 if abs(x) < 1e-15 else x for x in axis]
        self.joint(name, "prismatic", parent, name, at=[travel], position=[*self.local(parent, start), 0], axis=axis)
        return name

    def plain(self, body: str, name: str, p: np.ndarray, angle: float) -> tuple[str, str]:
        """A frame of a body in the plane, written as a person would: place and one angle."""
        if body == "world":
            body = f"ground_{name}"
            self.bodies[body] = {"frames": {}}
            self.joints[body] = {"kind": "fixed", "parent": "world", "child": body}
            self.flat[body] = np.zeros(3)
        turn = angle - self.flat[body][2]
        place: Any = {"position": [*self.local(body, p), 0.0]}
        if abs(turn) > 1e-15:
            place["rotation"] = turned(Z, turn).tolist()
        self.bodies[body]["frames"][name] = place
        return body, name

    def pin(self, first: str, second: str, p: np.ndarray, kind: str = "") -> None:
        """A pin between two bodies at a point of the plane, cut: redundant rows unless it is a ball or two rows."""
        name = f"c{self.count}"
        self.count += 1
        kind = kind or str(self.rng.choice(PINS))
        more: dict[str, Any] = {}
        angle = self.angle()
        other = self.flat[second][2]
        if kind == "solid":  # the pin is a joint, and the body behind it is cut
            first = self.link(first, p, angle, massless=self.chance(0.5))
            other = angle
        if kind in ("rows", "rows3"):
            more["rows"] = [0, 1] if kind == "rows" else [0, 1, 2]
            kind, other = "rows", angle
        if kind == "universal":  # its axes lie so that turning about z stays free
            more = {"axis": "z", "axis2": str(self.rng.choice(["x", "y"]))}
        if kind in ("ball", "universal", "revolute", "cylindrical"):
            angle = self.flat[first][2]
        a, b = self.plain(first, f"{name}_1", p, angle), self.plain(second, f"{name}_2", p, other)
        self.extras.append(("cut", (name, kind, a, b), more))


def dyads(rng: np.random.Generator, nice: bool, name: str) -> Draft:
    """One or two cranks and one to four dyads (RRR, RRP, RPR) between bodies: four-bars, six-bars, eight-bars, ..."""
    d = Plane(name, rng, nice)
    cranks = [d.link(d.base, d.point(-0.3, 0.3), d.angle())]
    if rng.random() < 0.3:
        cranks.append(d.link(cranks[0] if rng.random() < 0.5 else d.base, d.point(), d.angle()))
    bodies = [d.base, *cranks]
    for _ in range(int(rng.choice([1, 1, 2, 2, 3, 4]))):
        first = str(rng.choice([b for b in bodies if b != d.base]))
        second = str(rng.choice([b for b in bodies if b != first]))
        start, end = d.at(first, [d.length(0.2, 0.8), 0.0]), d.point()
        if second != d.base:
            end = d.at(second, [d.length(0.2, 0.8), d.length(-0.1, 0.1)])
        if np.linalg.norm(end - start) < 0.15:
            end = np.add(end, [0.5, 0.3])
        middle = (start + end) / 2 + d.point(-0.5, 0.5) + [0.0, 0.3]
        bodies += dyad(d, first, second, start, middle, end)
    return d


def heading(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.arctan2(b[1] - a[1], b[0] - a[0]))


def dyad(d: Plane, first: str, second: str, start: np.ndarray, middle: np.ndarray, end: np.ndarray) -> list[str]:
    """Two bodies between two others; the cut is in the middle or at the end."""
    kind = str(d.rng.choice(["RRR", "RRR", "RRP", "RPR"]))
    if kind == "RRR":
        upper = d.link(first, start, heading(start, middle))
        if d.chance(0.5):
            lower = d.link(second, end, heading(end, middle))
            d.pin(upper, lower, middle)
        else:
            lower = d.link(upper, middle, heading(middle, end))
            d.pin(lower, second, end)
        return [upper, lower]
    if kind == "RRP":
        upper = d.link(first, start, heading(start, end))
        slide = d.slider(second, end, d.angle(), d.length(-0.3, 0.3))
        d.pin(upper, slide, d.flat[slide][:2])
        return [upper, slide]
    upper = d.link(first, start, heading(start, end))
    far = float(np.linalg.norm(end - start))
    slide = d.slider(upper, start, heading(start, end), far)
    d.pin(slide, second, end)
    return [upper, slide]


def scissor(rng: np.random.Generator, nice: bool, name: str) -> Draft:
    """Crossed pairs on a slider; all bars lie along x at q = 0, where the rank of J is special."""
    d = Plane(name, rng, nice)
    size, t = d.length(0.3, 0.8), float(rng.uniform(0.3, 1.2))
    left, foot = d.base, d.slider(d.base, np.zeros(2), 0.0, 2 * size * np.cos(t) / 2)
    a_parent, b_parent = left, foot
    a_start, b_start = np.zeros(2), d.flat[foot][:2]
    for _ in range(int(rng.integers(1, 4))):
        a = d.link(a_parent, a_start, t)
        b = d.link(b_parent, b_start, np.pi - t)
        d.pin(a, b, d.at(a, [size / 2, 0]), str(rng.choice(["ball", "ball", "revolute", "rows", "solid"])))
        a_parent, a_start, b_parent, b_start = b, d.at(b, [size, 0]), a, d.at(a, [size, 0])
    return d


def parallelogram(rng: np.random.Generator, nice: bool, name: str) -> Draft:
    """A platform on two or three parallel cranks, perhaps another one on top of it: redundant in the plane too."""
    d = Plane(name, rng, nice)
    parent = d.base
    for _ in range(int(rng.integers(1, 3))):
        size, angle, turn = d.length(0.3, 0.8), d.angle(), d.flat[parent][2]
        spots = [np.array([0.0, 0.0]), np.array([d.length(0.4, 0.9), d.length(-0.1, 0.1)])]
        if rng.random() < 0.5:
            spots.append(np.array([d.length(-0.5, -0.2), d.length(0.2, 0.4)]))
        reach = size * np.array([np.cos(angle), np.sin(angle)])
        cranks = [d.link(parent, d.at(parent, s), angle) for s in spots]
        platform = d.link(cranks[0], d.at(parent, spots[0]) + reach, turn)
        for crank, s in zip(cranks[1:], spots[1:]):
            d.pin(crank, platform, d.at(parent, s) + reach)
        parent = platform
    return d


def peaucellier(rng: np.random.Generator, nice: bool, name: str) -> Draft:
    """A Peaucellier cell: long bars from O, a rhombus, and a crank of the length of the ground bar."""
    d = Plane(name, rng, nice)
    ground, rhomb = d.length(0.2, 0.4), d.length(0.3, 0.5)
    turn = float(rng.choice([-0.5, 0.3, 0.6, 0.8])) if nice else float(rng.uniform(-0.9, 0.9))
    o, a = np.zeros(2), np.array([ground, 0.0])
    p = a + ground * np.array([np.cos(turn), np.sin(turn)])
    line = heading(o, p)
    beta = float(rng.uniform(0.5, 1.1))  # between the diagonal and a side of the rhombus
    q = p + 2 * rhomb * np.cos(beta) * np.array([np.cos(line), np.sin(line)])
    mid, side = (p + q) / 2, rhomb * np.sin(beta) * np.array([-np.sin(line), np.cos(line)])
    b, c = mid + side, mid - side
    crank = d.link(d.base, a, heading(a, p))
    ob, oc = d.link(d.base, o, heading(o, b)), d.link(d.base, o, heading(o, c))
    pb, pc = d.link(crank, p, heading(p, b)), d.link(crank, p, heading(p, c))
    bq, cq = d.link(ob, b, heading(b, q)), d.link(oc, c, heading(c, q))
    kind = str(rng.choice(["ball", "revolute", "rows"]))
    d.pin(pb, ob, b, kind)
    d.pin(pc, oc, c, kind)
    d.pin(bq, cq, q, kind)
    return d


def pantograph(rng: np.random.Generator, nice: bool, name: str) -> Draft:
    """A parallelogram of four bars, two of them prolonged; its far end slides on a line in half of the cases."""
    d = Plane(name, rng, nice)
    long, short, a = d.length(0.5, 0.9), d.length(0.2, 0.4), d.angle()
    b = a + (float(rng.choice([np.pi / 2, np.pi / 3])) if nice else float(rng.uniform(0.5, 2.6)))
    u, v = (np.array([np.cos(x), np.sin(x)]) for x in (a, b))
    first = d.link(d.base, np.zeros(2), a)
    second = d.link(first, long * u, b)
    third = d.link(first, short * u, b)
    fourth = d.link(second, long * u + short * v, a + np.pi)
    d.pin(third, fourth, short * u + short * v)
    if d.chance(0.5):
        end = long * u + 2 * short * v
        slide = d.slider(d.base, end, d.angle(), 0.0)
        d.pin(second, slide, end)
    return d


def platform(rng: np.random.Generator, nice: bool, name: str) -> Draft:
    """3-RRR or 3-RPR: a platform on three legs, some of them upright; on its first leg or on a planar joint."""
    d = Plane(name, rng, nice)
    corners = [np.array(x) for x in ((-0.2, -0.1), (0.25, -0.1), (0.0, 0.2))]
    centre = np.add(d.point(-0.2, 0.2), [0.5, 0.6])
    turn = float(rng.choice([0.0, 0.0, np.pi / 6])) if nice else float(rng.uniform(-0.5, 0.5))
    legs = []
    sliding = bool(rng.random() < 0.6)
    own = bool(rng.random() < 0.5)
    spin = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    ends = [centre + spin @ c for c in corners]
    feet = [
        np.array([0.0, 0.0]),
        np.array([1.1, 0.05]),
        ends[2] + ([0.0, 0.5] if rng.random() < 0.5 else d.point(0.2, 0.5)),
    ]
    if own:
        d.body("platform", com=[0.02, 0.01, 0.0])
        d.flat["platform"] = np.array([*centre, turn])
        d.joint("platform", "planar", d.base, "platform", at=[*centre, turn])
    for k in range(3):
        along = heading(feet[k], ends[k])
        if sliding:
            upper = d.link(d.base, feet[k], along)
            lower = d.slider(upper, feet[k], along, float(np.linalg.norm(ends[k] - feet[k])))
        else:
            middle = (feet[k] + ends[k]) / 2 + d.point(0.05, 0.3)
            upper = d.link(d.base, feet[k], heading(feet[k], middle))
            lower = d.link(upper, middle, heading(middle, ends[k]))
        legs.append(lower)
    kind = str(rng.choice(["ball", "ball", "revolute", "solid", "rows"]))
    if not own:
        d.link(legs[0], ends[0], turn, "platform")
        d.flat["platform"] = np.array([*ends[0], turn])
    for k in range(0 if own else 1, 3):
        d.pin(legs[k], "platform", ends[k], kind)
    return d


def slider_crank(rng: np.random.Generator, nice: bool, name: str) -> Draft:
    """Cranks with rods on sliders, one to three of them on one crank (an engine); bars align in dead points."""
    d = Plane(name, rng, nice)
    crank = d.link(d.base, np.zeros(2), d.angle())
    for _ in range(int(rng.integers(1, 4))):
        radius, line = d.length(0.15, 0.4), d.angle()
        pin = d.at(crank, [radius, 0.0] if nice else [radius, d.length(-0.1, 0.1)])
        along = np.array([np.cos(line), np.sin(line)])
        far = float(pin @ along) + d.length(0.5, 0.9)
        end = far * along
        if np.linalg.norm(end - pin) < 0.05:
            continue
        rod = d.link(crank, pin, heading(pin, end))
        slide = d.slider(d.base, np.zeros(2), line, far)
        d.pin(rod, slide, end)
    return d


FAMILIES = {
    "dyads": dyads, "scissor": scissor, "parallelogram": parallelogram, "peaucellier": peaucellier,
    "pantograph": pantograph, "platform": platform, "slider_crank": slider_crank,
}  # fmt: skip
