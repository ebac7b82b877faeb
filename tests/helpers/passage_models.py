"""Planar linkages whose motion passes dead points, or positions in which branches of motion meet."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import symbody as sb

GRAVITY = (0, -9.81, 0)


def bar(make: Any, name: str, length: float, mass: float = 1.0, **frames: Any) -> None:
    """A slender bar along the x axis of its frame, with a frame `end`."""
    make.body(
        name, mass=mass, com=[length / 2, 0, 0], inertia=[0, 0, mass * length**2 / 12],
        frames={"end": [length, 0, 0], **frames},
    )  # fmt: skip


def slider_crank(crank: float, rod: float, gravity: tuple[float, ...] = GRAVITY) -> sb.Mechanism:
    """The slider runs along x through the axis of the crank; with rod = crank branches meet where it stands there."""
    make = sb.Mechanism.builder("slider_crank_linkage", gravity=gravity)
    bar(make, "crank", crank)
    bar(make, "rod", rod, 0.5)
    make.body("slider", mass=0.4, inertia=[0, 0, 0.001])
    make.joint("crank", "revolute", "world", "crank")
    make.joint("rod", "revolute", "crank", "rod", position=[crank, 0, 0], mode="passive")
    make.joint("slide", "prismatic", "world", "slider", axis="x", mode="passive")
    return make.cut("pin", "rows", "rod.end", "slider", rows=["x", "y"]).done()


def four_bar(
    crank: float, coupler: float, rocker: float, ground: float, gravity: tuple[float, ...] = GRAVITY, name: str = "bars"
) -> sb.Mechanism:
    """Angles from x; the rocker stands at x = ground."""
    make = sb.Mechanism.builder(name, gravity=gravity)
    bar(make, "crank", crank)
    bar(make, "coupler", coupler, 0.6)
    bar(make, "rocker", rocker, 0.8)
    make.joint("crank", "revolute", "world", "crank")
    make.joint("coupler", "revolute", "crank", "coupler", position=[crank, 0, 0], mode="passive")
    make.joint("rocker", "revolute", "world", "rocker", position=[ground, 0, 0], mode="passive")
    return make.cut("pin", "rows", "coupler.end", "rocker.end", rows=["x", "y"]).done()


def parallelogram() -> sb.Mechanism:
    """Opposite bars equal: flat, it may go on as a parallelogram or crossed."""
    return four_bar(0.2, 0.5, 0.2, 0.5, name="parallelogram")


CRANK, PLATFORM = 0.2, 2.0  # m, kg: of `three_cranks`


def three_cranks(feet: tuple[tuple[float, float], ...] = ((0.5, 0.0), (0.2, 0.3))) -> sb.Mechanism:
    """A platform on three equal parallel cranks, at the origin and at `feet`: it never turns, and one row of the two
    loops follows from the others; which one may be left out depends on the position."""
    make = sb.Mechanism.builder("three_cranks", gravity=GRAVITY)
    frames = {f"pin{k}": [*foot, 0] for k, foot in enumerate(feet)}
    make.body("platform", mass=PLATFORM, inertia=[0, 0, 0.05], frames=frames)
    for k, foot in enumerate([(0.0, 0.0), *feet]):
        bar(make, f"crank{k}", CRANK)
        make.joint(f"crank{k}", "revolute", "world", f"crank{k}", position=[*foot, 0], mode="passive")
    make.joint("platform", "revolute", "crank0", "platform", position=[CRANK, 0, 0], mode="passive")
    for k in range(len(feet)):
        make.cut(f"loop{k}", "rows", f"crank{k + 1}.end", f"platform.pin{k}", rows=["x", "y"])
    return make.done()


def crossed(angle: float = 1.0) -> tuple[sb.Mechanism, np.ndarray]:
    """The same bars crossed (an antiparallelogram), and closed coordinates at an angle of the crank."""
    mech = parallelogram()
    x, y = 0.2 * math.cos(angle), 0.2 * math.sin(angle)
    # the far end lies so that the rocker is not parallel to the crank
    dx, dy = 0.5 - x, -y
    far = math.hypot(dx, dy)
    alpha = math.acos((0.2**2 + far**2 - 0.5**2) / (2 * 0.2 * far))
    base = math.atan2(-dy, -dx)
    best = None
    for sign in (1, -1):
        rocker = base + sign * alpha
        px, py = 0.5 + 0.2 * math.cos(rocker), 0.2 * math.sin(rocker)
        coupler = math.atan2(py - y, px - x) - angle
        apart = abs(math.remainder(rocker - angle, 2 * math.pi))
        if best is None or apart > best[0]:
            best = (apart, np.array([angle, coupler, rocker]))
    assert best is not None
    return mech, best[1]


def watt() -> sb.Mechanism:
    """Two arms of 1 m, 2.0 m apart across and 0.8 m up, and a coupler between their ends."""
    make = sb.Mechanism.builder("watt", gravity=GRAVITY)
    bar(make, "left", 1.0)
    bar(make, "coupler", 0.8, 0.5)
    bar(make, "right", 1.0)
    make.joint("left", "revolute", "world", "left")
    make.joint("coupler", "revolute", "left", "coupler", position=[1.0, 0, 0], mode="passive")
    make.joint("right", "revolute", "world", "right", position=[2.0, 0.8, 0], mode="passive")
    return make.cut("pin", "rows", "coupler.end", "right.end", rows=["x", "y"]).done()


def pantograph() -> sb.Mechanism:
    """Two long arms from a moving pivot, two short ones that make a parallelogram with them; one arm on the ground.

    Freedoms: 2. Flat, the parallelogram may cross.
    """
    make = sb.Mechanism.builder("pantograph", gravity=GRAVITY)
    bar(make, "a", 0.6, 0.8, half=[0.3, 0, 0])
    bar(make, "b", 0.6, 0.8, half=[0.3, 0, 0])
    bar(make, "c", 0.3, 0.4)
    bar(make, "d", 0.3, 0.4)
    make.joint("a", "revolute", "world", "a")
    make.joint("b", "revolute", "a", "b", position=[0.6, 0, 0], mode="passive")
    make.joint("c", "revolute", "a", "c", position=[0.3, 0, 0], mode="passive")
    make.joint("d", "revolute", "b", "d", position=[0.3, 0, 0], mode="passive")
    return make.cut("pin", "rows", "c.end", "d.end", rows=["x", "y"]).done()


def five_bar() -> sb.Mechanism:
    """Two chains of two bars that share their ends; freedoms: 2."""
    make = sb.Mechanism.builder("five_bar", gravity=GRAVITY)
    for name, length, mass in (("a1", 0.2, 0.5), ("a2", 0.3, 0.4), ("b1", 0.22, 0.55), ("b2", 0.28, 0.45)):
        bar(make, name, length, mass)
    make.joint("a1", "revolute", "world", "a1", position=[-0.1, 0, 0])
    make.joint("a2", "revolute", "a1", "a2", position=[0.2, 0, 0], mode="passive")
    make.joint("b1", "revolute", "world", "b1", position=[0.1, 0, 0])
    make.joint("b2", "revolute", "b1", "b2", position=[0.22, 0, 0], mode="passive")
    return make.cut("tip", "ball", "a2.end", "b2.end").done()
