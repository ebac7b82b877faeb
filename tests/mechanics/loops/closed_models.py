"""Closed mechanisms for tests: planar ones, the four modellings of the 3-RRR manipulator, and spatial ones.

`closed_state` gives a state of any of them at which all loops are closed, by the reference, not by the library.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mechanics.loops.reference import LoopWorld
from symbody.model.build.builder import Builder
from symbody.model.record.mechanism import Mechanism

PASSIVE = {"mode": "passive"}


def four_bar(crank_mode: str = "actuated", damping: Any = None) -> Mechanism:
    """Crank, coupler and rocker in the xy plane; the ball cut between coupler and rocker leaves one freedom."""
    b = Mechanism.builder("four_bar", gravity=(0, -9.81, 0))
    b.body("crank", mass=1.0, com=(0.1, 0.01, 0), inertia=(0.01, 0.01, 0.012))
    b.body("coupler", mass=2.0, com=(0.3, -0.02, 0), inertia=(0.01, 0.05, 0.052), frames={"tip": (0.6, 0, 0)})
    b.body("rocker", mass=1.5, com=(0.2, 0, 0), inertia=(0.01, 0.03, 0.031), frames={"tip": (0.5, 0, 0)})
    law = "0.3*t" if crank_mode == "driven" else None
    b.joint("a", "revolute", "world", "crank", mode=crank_mode, value=law)
    b.joint("b", "revolute", "crank", "coupler", position=(0.2, 0, 0), viscous=damping, **PASSIVE)
    b.joint("c", "revolute", "world", "rocker", position=(0.55, 0, 0), **PASSIVE)
    b.cut("loop", "ball", ("coupler", "tip"), ("rocker", "tip"))
    return b.done()


def slider_crank() -> Mechanism:
    """Crank and rod, and a slider along x; the joint between rod and slider is cut."""
    b = Mechanism.builder("slider_crank", gravity=(0, -9.81, 0))
    b.parameter("r", 0.15)
    b.parameter("l", 0.5)
    b.body("crank", mass=0.8, com=("r/2", 0, 0), inertia=(0.001, 0.002, 0.003))
    b.body("rod", mass=0.5, com=("l/3", 0, 0), inertia=(0.001, 0.01, 0.011), frames={"pin": ("l", 0, 0)})
    b.body("slider", mass=1.2)
    b.joint("crank", "revolute", "world", "crank")
    b.joint("rod", "revolute", "crank", "rod", position=("r", 0, 0), **PASSIVE)
    b.joint("slider", "prismatic", "world", "slider", axis="x", **PASSIVE)
    b.cut("pin", "revolute", ("rod", "pin"), "slider")
    return b.done()


# 3-RRR manipulator (robotran 4.6): bases, platform corners about its centre, lengths of the two links of each arm
BASES = [(0.0, 0.0), (1.6, 0.1), (0.75, 1.5)]
CORNERS = [(-0.2, -0.2), (0.2, -0.2), (0.0, 0.25)]
UPPER, LOWER = [0.52, 0.54, 0.56], [0.52, 0.49, 0.46]
CENTRE = (0.8, 0.55, 0.1)  # x, y and angle of the platform in the reference position


def _link(b: Builder, name: str, frames: dict[str, Any] | None = None, length: str = "") -> None:
    """A bar along x. length: its centre of mass is measured from the other end."""
    com = f"{length}-c_{name}x" if length else f"c_{name}x"
    b.body(name, mass=f"m_{name}", com=(com, 0, 0), inertia=(0, 0, f"I_{name}zz"), frames=frames)


def _numbers(b: Builder) -> None:
    """All masses, lengths and places are parameters: the program must not profit from their values."""
    for i in range(3):
        for kind, k in (("A", 0), ("B", 1)):
            b.parameter(f"m_{kind}{i + 1}", 1.1 + 0.2 * i - 0.3 * k)
            b.parameter(f"c_{kind}{i + 1}x", 0.2 + 0.03 * i + 0.02 * k)
            b.parameter(f"I_{kind}{i + 1}zz", 0.02 + 0.004 * i)
        b.parameter(f"l{i + 1}", UPPER[i])
        b.parameter(f"k{i + 1}", LOWER[i])
        b.parameter(f"px{i + 1}", CORNERS[i][0])
        b.parameter(f"py{i + 1}", CORNERS[i][1])
        if i:
            b.parameter(f"bx{i + 1}", BASES[i][0])
            b.parameter(f"by{i + 1}", BASES[i][1])
    b.parameter("m_P", 2.0)
    b.parameter("I_Pzz", 0.05)
    b.parameter("g", 9.81)


def rrr(model: int, points: str = "joints") -> Mechanism:
    """The 3-RRR manipulator in the plane xy, by modelling 1 to 4 of robotran 4.6; names q1, q2 ... as there.

    1  chain base - arm - platform - two arms, cut at their bases    2  three arms, the platform cut twice
    3  platform on a fictitious chain x, y, angle, cut three times (points: "joints" or "centre")
    4  the same with three joint cuts
    """
    b = Mechanism.builder(f"rrr{model}", gravity=(0, "-g", 0))
    _numbers(b)
    bases = [(0, 0, 0), ("bx2", "by2", 0), ("bx3", "by3", 0)]
    if model in (1, 2):
        corner = [(f"px{i}-px1", f"py{i}-py1", 0) for i in (1, 2, 3)]
        _link(b, "A1")
        _link(b, "B1")
        frames = {"centre": ("-px1", "-py1", 0), "p2": corner[1], "p3": corner[2]}
        b.body("P", mass="m_P", com=("-px1", "-py1", 0), inertia=(0, 0, "I_Pzz"), frames=frames)
        b.joint("q1", "revolute", "world", "A1")
        b.joint("q2", "revolute", "A1", "B1", position=("l1", 0, 0), **PASSIVE)
        b.joint("q3", "revolute", "B1", "P", position=("k1", 0, 0), **PASSIVE)
        for i, (x, y, z) in ((2, ("q4", "q5", "q6")), (3, ("q7", "q8", "q9"))):
            b.body(f"E{i}")
            if model == 1:
                # links run from the platform outward
                _link(b, f"B{i}", length=f"k{i}")
                _link(b, f"A{i}", length=f"l{i}")
                b.body(f"W{i}")
                b.joint(f"w{i}", "fixed", "world", f"W{i}", position=bases[i - 1])
                b.joint(x, "revolute", "P", f"B{i}", position=corner[i - 1], **PASSIVE)
                b.joint(y, "revolute", f"B{i}", f"A{i}", position=(f"k{i}", 0, 0), **PASSIVE)
                b.joint(z, "revolute", f"A{i}", f"E{i}", position=(f"l{i}", 0, 0))
                b.cut(f"c{i}", "solid", f"W{i}", f"E{i}")
            else:
                _link(b, f"A{i}")
                _link(b, f"B{i}")
                b.joint(x, "revolute", "world", f"A{i}", position=bases[i - 1])
                b.joint(y, "revolute", f"A{i}", f"B{i}", position=(f"l{i}", 0, 0), **PASSIVE)
                b.joint(z, "revolute", f"B{i}", f"E{i}", position=(f"k{i}", 0, 0), **PASSIVE)
                b.cut(f"c{i}", "solid", ("P", f"p{i}"), f"E{i}")
        return b.done()
    arms = [("q1", "q2", "q3"), ("q4", "q5", "q6"), ("q7", "q8", "q9")]
    absolute = ("q10", "q11", "q12")
    if model == 4:
        arms, absolute = [("q1", "q2", ""), ("q3", "q4", ""), ("q5", "q6", "")], ("q7", "q8", "q9")
    for i, (x, y, z) in enumerate(arms, 1):
        _link(b, f"A{i}")
        _link(b, f"B{i}", {"tip": (f"k{i}", 0, 0)})
        b.joint(x, "revolute", "world", f"A{i}", position=bases[i - 1])
        b.joint(y, "revolute", f"A{i}", f"B{i}", position=(f"l{i}", 0, 0), **PASSIVE)
        if z:
            b.body(f"E{i}", frames={"centre": (f"-px{i}", f"-py{i}", 0)})
            b.joint(z, "revolute", f"B{i}", f"E{i}", position=(f"k{i}", 0, 0), **PASSIVE)
    b.body("X").body("Y")
    frames = {"centre": (0, 0, 0), **{f"p{i}": (f"px{i}", f"py{i}", 0) for i in (1, 2, 3)}}
    b.body("P", mass="m_P", inertia=(0, 0, "I_Pzz"), frames=frames)
    b.joint(absolute[0], "prismatic", "world", "X", axis="x", **PASSIVE)
    b.joint(absolute[1], "prismatic", "X", "Y", axis="y", **PASSIVE)
    b.joint(absolute[2], "revolute", "Y", "P", **PASSIVE)
    for i in (1, 2, 3):
        if model == 4:
            b.cut(f"c{i}", "ball", ("P", f"p{i}"), (f"B{i}", "tip"))
        elif points == "centre":
            b.cut(f"c{i}", "solid", ("P", "centre"), (f"E{i}", "centre"))
        else:
            b.cut(f"c{i}", "solid", ("P", f"p{i}"), f"E{i}")
    return b.done()


def rrr_angles() -> list[tuple[float, float, float]]:
    """For each arm: angles of upper link, lower link and platform against the x axis, in the reference position."""
    x, y, theta = CENTRE
    out = []
    for (bx, by), (px, py), upper, lower, elbow in zip(BASES, CORNERS, UPPER, LOWER, (1, -1, 1)):
        dx = x + np.cos(theta) * px - np.sin(theta) * py - bx
        dy = y + np.sin(theta) * px + np.cos(theta) * py - by
        d = np.hypot(dx, dy)
        first = np.arctan2(dy, dx) + elbow * np.arccos((upper**2 + d**2 - lower**2) / (2 * upper * d))
        second = np.arctan2(dy - upper * np.sin(first), dx - upper * np.cos(first))
        out.append((float(first), float(second), theta))
    return out


def rrr_position(model: int) -> np.ndarray:
    """(nq,) closed coordinates of the reference position, by plane trigonometry."""
    (a1, b1, t), (a2, b2, _), (a3, b3, _) = rrr_angles()
    chain = [a1, b1 - a1, t - b1]
    if model == 1:
        outward = [[b + np.pi - t, a - b, -a - np.pi] for a, b in ((a2, b2), (a3, b3))]
        return np.array([*chain, *outward[0], *outward[1]])
    if model == 2:
        return np.array([*chain, a2, b2 - a2, t - b2, a3, b3 - a3, t - b3])
    arms = [[a, b - a, t - b] for a, b, _ in rrr_angles()]
    if model == 3:
        return np.array([*arms[0], *arms[1], *arms[2], *CENTRE])
    return np.array([*arms[0][:2], *arms[1][:2], *arms[2][:2], *CENTRE])


def spatial_four_bar() -> Mechanism:
    """RSSR: crank, coupler on a ball joint (quaternion), rocker about another axis; the coupler may spin freely."""
    b = Mechanism.builder("rssr")
    b.body("crank", mass=1.0, com=(0.1, 0, 0.02), inertia=(0.01, 0.011, 0.012))
    b.body("coupler", mass=0.7, com=(0.25, 0.01, 0), inertia=(0.004, 0.02, 0.021), frames={"tip": (0.6, 0, 0)})
    b.body("rocker", mass=1.5, com=(0.2, 0, 0), inertia=(0.02, 0.03, 0.031), frames={"tip": (0.45, 0, 0.05)})
    b.joint("crank", "revolute", "world", "crank", axis="z")
    b.joint("coupler", "ball", "crank", "coupler", position=(0.2, 0, 0), **PASSIVE)
    b.joint("rocker", "revolute", "world", "rocker", position=(0.5, 0.1, 0.05), axis="y", **PASSIVE)
    b.cut("loop", "ball", ("coupler", "tip"), ("rocker", "tip"))
    return b.done()


def held_body(kind: str = "solid") -> Mechanism:
    """A free body (quaternion) that a cut holds on a crank: with "solid" all of its coordinates are dependent."""
    b = Mechanism.builder(f"held_{kind}", gravity=(1.0, -2.0, -9.0))
    b.body("crank", mass=1.0, com=(0.1, 0.05, 0.02), inertia=(0.01, 0.011, 0.012), frames={"pin": (0.3, 0.1, 0.2)})
    b.body("block", mass=0.7, com=(0.05, 0.01, 0.04), inertia=(0.004, 0.005, 0.006), frames={"pin": (0.1, 0, 0.02)})
    b.joint("crank", "revolute", "world", "crank", axis=(0, 0.6, 0.8))
    b.joint("block", "free", "world", "block", **PASSIVE)
    b.cut("hold", kind, ("crank", "pin"), ("block", "pin"))
    return b.done()


def geared_arms(law: str = "2*q.a - q.b") -> Mechanism:
    """Two arms on the ground, coupled by a condition on their angles."""
    b = Mechanism.builder("geared", gravity=(0, -9.81, 0))
    for name, mass in (("a", 1.0), ("b", 0.6)):
        b.body(name, mass=mass, com=(0.3, 0, 0), inertia=(0.01, 0.02, 0.03))
    b.joint("a", "revolute", "world", "a")
    b.joint("b", "revolute", "world", "b", position=(1, 0, 0), **PASSIVE)
    b.coupling("gear", law)
    return b.done()


def skate(kind: str = "velocity") -> Mechanism:
    """A body in the plane with a blade along its x axis under the origin: no sideways velocity (non-holonomic)."""
    b = Mechanism.builder("skate", gravity=(0, -2.0, 0))
    b.body("skate", mass=1.3, com=(0.1, 0.05, 0), inertia=(0.01, 0.02, 0.03))
    b.joint("s", "planar", "world", "skate")
    # x and y are measured along the axes of the ground, the angle turns them into the body
    b.coupling("blade", "cos(q.s.3)*qd.s.2 - sin(q.s.3)*qd.s.1", kind=kind)
    return b.done()


# -- states

GUESS = {"four_bar": [0.7, 0.1, 1.4], "slider_crank": [0.7, -0.3, 0.6]}


def closed_position(mech: Mechanism) -> tuple[LoopWorld, np.ndarray]:
    """The world that judges a mechanism of this file, and closed coordinates (nq,)."""
    world = LoopWorld(mech)
    start = rrr_position(int(mech.name[3])) if mech.name.startswith("rrr") else GUESS.get(mech.name)
    return world, world.assemble(None if start is None else np.array(start))


def closed_state(mech: Mechanism, seed: int = 1) -> tuple[LoopWorld, np.ndarray, np.ndarray, np.ndarray]:
    """(world, q, qd, tau): a closed position and velocity, and efforts on all joints."""
    world, q = closed_position(mech)
    rng = np.random.default_rng(seed)
    qd = world.project(q, rng.normal(size=mech.nv))
    return world, q, qd, rng.normal(size=mech.nv)


def operations(system: Any) -> int:
    """Operations of one call with one iteration of every block."""
    counts = system.count()
    return counts.total + sum(block.total for block in counts.blocks)
