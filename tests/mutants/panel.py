"""The panel: small Mechanisms that together use every kind of joint, force element, cut and coupling.

Outputs of the changed sources on these models tell whether a change has an effect, and `sb.verify` must refuse one of
them then. Numbers have no pattern (no axis, mass or length equals another), so that an exchange shows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

PASSIVE = {"mode": "passive"}


def _builder(name: str, gravity: Any = (1.1, -2.3, -9.2)) -> Any:
    from symbody.model.build.builder import Builder

    return Builder(name, gravity=gravity)


def _tensor(k: int) -> list[float]:
    """[Ixx, Ixy, Iyy, Ixz, Iyz, Izz] of body k, with all products."""
    a, b, c = 0.021 + 0.003 * k, 0.027 + 0.002 * k, 0.033 + 0.0015 * k
    return [a, 0.0011 * (k + 1), b, -0.0007 * (k + 1), 0.0013, c]


def _body(b: Any, k: int, name: str, **frames: Any) -> None:
    com = [0.07 + 0.01 * k, -0.04 + 0.013 * k, 0.05 - 0.009 * k]
    b.body(name, 0.9 + 0.23 * k, com, _tensor(k), frames=frames)


def _bar(b: Any, name: str, length: Any, mass: float = 1.0, **frames: Any) -> None:
    """A bar of a planar linkage along its x axis, with the frame `tip`."""
    b.body(name, mass, (f"0.45*({length})", 0.013, 0), (0, 0, 0.08 * mass), frames={"tip": (length, 0, 0), **frames})


# -- trees


def arm() -> Any:
    """Revolute, prismatic and helical joints about any axes, with rotors, friction, springs; fixed and locked ones."""
    b = _builder("arm", gravity=(0.7, -1.9, "g_z"))
    b.parameter("g_z", -9.3)
    b.parameter("l2", 0.41, nonzero=True)
    b.parameter("m2", 1.27, nonzero=True)
    b.parameter("Jm", 2.1e-3)
    _body(b, 0, "base", tool=dict(position=(0.11, 0.05, 0.21), rotation=[("x", 0.7), ("z", -0.4)]))
    b.body("upper", "m2", ("0.4*l2", 0.02, -0.03), _tensor(1), frames={"tip": ("l2", 0.03, 0)})
    _body(b, 2, "slider")
    _body(b, 3, "hand", pen=(0.03, -0.06, 0.12))
    _body(b, 4, "load")
    _body(b, 5, "branch")
    _body(b, 6, "held")
    b.joint("turn", "revolute", "world", "base", (0.1, 0.2, 0.3), [("y", 0.3)], viscous=0.13, rotor=("Jm", 31.0))
    b.joint("lift", "revolute", "base", "upper", (0.05, -0.1, 0.25), [("x", "90*deg")], axis="y",
            rotor=(1.3e-3, 17.0, True), coulomb=0.4)  # fmt: skip
    b.joint("slide", "prismatic", "upper", "slider", ("l2", 0, 0.02), axis=(0.48, 0.6, 0.64), stiffness=33.0,
            rest=0.12, viscous=0.7)  # fmt: skip
    b.joint("screw", "helical", "slider", "hand", (0.02, 0.07, -0.03), [("z", 0.9), ("x", -0.5)], axis=(0, 0.6, 0.8),
            pitch=0.05)  # fmt: skip
    b.joint("weld", "fixed", "hand", "load", (0.04, 0.02, 0.09), [("y", 0.6)])
    b.joint("side", "revolute", "base", "branch", (-0.2, 0.1, 0.07), axis="-x")
    b.joint("lock", "revolute", "branch", "held", (0.1, 0, 0.02), axis="z", mode="locked", value=0.37)
    b.sensor("pen", "hand", "pen")
    return b.done()


def satellite() -> Any:
    """A free base with a ball joint and an arm."""
    b = _builder("satellite")
    _body(b, 0, "base", antenna=dict(position=(0.1, 0.2, -0.3), rotation=[("z", 0.8)]))
    _body(b, 1, "wrist")
    _body(b, 2, "tool", tip=(0.2, 0.03, 0.1))
    b.joint("free", "free", "world", "base", (0.1, 0, 0.2), [("x", 0.4)])
    b.joint("ball", "ball", "base", "wrist", (0.2, -0.1, 0.15), [("y", -0.6)])
    b.joint("hinge", "revolute", "wrist", "tool", (0.1, 0.05, 0.02), axis=(0.36, 0.48, 0.8), viscous=0.2)
    return b.done()


def compound() -> Any:
    """Joints of several coordinates: cylindrical, universal, spherical."""
    b = _builder("compound")
    _body(b, 0, "a")
    _body(b, 1, "b", eye=(0.1, 0.02, 0.05))
    _body(b, 2, "c")
    b.joint("cylinder", "cylindrical", "world", "a", (0.1, 0.2, 0.05), [("x", 0.3)], axis=(0.6, 0, 0.8))
    b.joint("cardan", "universal", "a", "b", (0.2, 0.03, -0.1), sequence="zx")
    b.joint("sphere", "spherical", "a", "c", (-0.1, 0.15, 0.06), sequence="zyx")
    return b.done()


def plates() -> Any:
    """Joints of several coordinates: planar, y, translation2."""
    b = _builder("plates")
    _body(b, 0, "a")
    _body(b, 1, "b")
    _body(b, 2, "c")
    b.joint("plane", "planar", "world", "a", (0.1, 0.2, 0.05), [("x", 0.5)])
    b.joint("carriage", "translation2", "a", "b", (0.2, 0.03, -0.1), [("y", 0.4)])
    b.joint("thread", "y", "b", "c", (0.03, 0.1, 0.07), [("x", -0.7)], pitch=0.04)
    return b.done()


def floats() -> Any:
    """Joints of several coordinates: floating, schoenflies, translation3."""
    b = _builder("floats")
    _body(b, 0, "ship", mast=(0.05, 0.1, 0.4))
    _body(b, 1, "crane")
    _body(b, 2, "cargo")
    b.joint("sea", "floating", "world", "ship", (0.1, 0.2, 0.05), sequence="zyx")
    b.joint("crane", "schoenflies", "ship", "crane", (0.2, 0.03, 0.1), [("y", 0.4)])
    b.joint("hoist", "translation3", "crane", "cargo", (0.03, 0.1, 0.07), [("x", -0.7)])
    return b.done()


def laws() -> Any:
    """A mimic joint before and one after its leader, driven joints with laws of time, elastic joints."""
    b = _builder("laws")
    for k, name in enumerate(("carrier", "leader", "follower", "flexible", "tail")):
        _body(b, k, name, end=(0.2, 0.05, 0.03 * k))
    b.parameter("w", 1.7)
    b.joint("base", "revolute", "world", "carrier", (0, 0.1, 0.2), [("x", 0.4)], axis="y", mode="driven",
            value="0.3*sin(w*t) + 0.1*t")  # fmt: skip
    b.joint("lead", "revolute", "carrier", "leader", (0.2, 0, 0.1), axis=(0.6, 0.8, 0), viscous=0.3)
    b.joint(
        "follow", "prismatic", "leader", "follower", (0.1, 0.05, 0), [("z", 0.3)], axis="x", mimic=("lead", 0.4, 0.05)
    )
    b.joint("soft", "revolute", "follower", "flexible", (0.1, 0.02, 0.05), axis="y", elastic=(41.0, 0.6),
            rotor=(1.1e-3, 13.0))  # fmt: skip
    b.joint("end", "revolute", "flexible", "tail", (0.07, 0.01, 0.15), axis="x", mimic=("lead", -0.7, 0.2))
    return b.done()


def random_tree(seed: int, size: int = 4) -> Any:
    """A tree of random shape with joints of random kinds."""
    rng = np.random.default_rng(seed)
    b = _builder(f"random_tree_{seed}", gravity=tuple(np.round(rng.normal(size=3) * 5, 3).tolist()))
    kinds = ("revolute", "prismatic", "helical", "universal", "revolute", "cylindrical", "ball")

    def some(n: int, size: float) -> list[float]:
        return np.round(rng.uniform(-size, size, n), 4).tolist()

    for k in range(size):
        spread = np.round(rng.uniform(0.01, 0.03, 3), 4)
        a, c, d = (float(x) for x in spread)  # second moments along the axes
        tensor = [c + d, 0.001, a + d, -0.002, 0.0015, a + c]
        b.body(f"b{k}", round(float(rng.uniform(0.5, 2)), 3), some(3, 0.2), tensor, frames={"f": some(3, 0.3)})
        kind = str(rng.choice(kinds))
        parent = "world" if k == 0 else f"b{int(rng.integers(k))}"
        axis = some(3, 1.0) if rng.integers(2) else str(rng.choice(["x", "y", "z", "-y"]))
        more = {"pitch": 0.07} if kind == "helical" else {}
        turn = [("x", some(1, 2)[0]), ("z", some(1, 2)[0])] if rng.integers(2) else None
        b.joint(f"j{k}", kind, parent, f"b{k}", some(3, 0.4), turn, axis, **more)
    return b.done()


# -- force elements


def springs() -> Any:
    """All laws between two points and on joints."""
    b = _builder("springs")
    b.body("ground", frames={"a": (0.3, 0.1, 0.9), "b": (-0.5, 0.3, 0.6)})
    b.joint("ground", "fixed", "world", "ground")
    _body(b, 0, "swing", low=(0.2, 0.07, -0.1), high=(-0.1, 0.06, 0.2))
    _body(b, 1, "slide", eye=(0.1, -0.05, 0.13))
    _body(b, 2, "fin", tip=(0.25, 0.02, 0.06))
    b.joint("swing", "revolute", "world", "swing", (0, 0.1, 0.2), [("x", 0.5)], axis="y")
    b.joint("slide", "prismatic", "swing", "slide", (0.15, 0, 0.1), axis=(0.6, 0, 0.8))
    b.joint("fin", "revolute", "slide", "fin", (0.05, 0.1, 0), axis="x")
    b.parameter("k1", 210.0)
    b.force("coil", "spring_damper", ["ground.a", "swing.low"], stiffness="k1", damping=7.0, length=0.31)
    b.force("cube", "spring_damper", ["ground.b", "fin.tip"], law="cubic", stiffness=80.0, damping=3.0, length=0.4,
            stiffness3=1900.0)  # fmt: skip
    b.force("rope", "spring_damper", ["ground.b", "slide.eye"], law="pull", stiffness=60.0, damping=2.0, length=0.35)
    b.force("buffer", "spring_damper", ["swing.high", "fin.tip"], law="push", stiffness=70.0, damping=1.0, length=0.9)
    b.force("jack", "actuator", ["ground.a", "slide.eye"], gain=23.0, time_constant=0.07, limit=40.0)
    b.force("cable", "link", ["swing.low", "fin.tip"])
    b.force("own", "external", ["ground.b", "swing.high"], function="12*Z - 3*Zd + 0.5*t")
    return b.done()


def joint_laws() -> Any:
    """All laws on the coordinate of a joint, and given forces and moments."""
    b = _builder("joint_laws")
    for k in range(4):
        _body(b, k, f"b{k}", f=dict(position=(0.1, 0.03 * k, 0.05), rotation=[("z", 0.4), ("x", 0.3)]))
        b.joint(f"j{k}", "prismatic" if k == 2 else "revolute", "world" if k == 0 else f"b{k - 1}", f"b{k}",
                (0.2, 0.1, 0.03 * k), [("y", 0.2 + 0.1 * k)], axis="xyzx"[k])  # fmt: skip
    b.force("motor", "joint", ["b0"], law="actuator", gain=11.0, limit=30.0)
    b.force("lag", "joint", ["b1"], law="actuator", gain=5.0, time_constant=0.2)
    b.force("grease", "joint", ["b1"], law="viscous", coefficient=0.45)
    b.force("dry", "joint", ["b0"], law="coulomb", level=0.8, width=0.3)
    b.force("stick", "joint", ["b2"], law="stribeck", level=1.1, breakaway=1.9, speed=0.4, coefficient=0.2, width=0.1)
    b.force("stop", "joint", ["b3"], law="bump_stop", lower=-0.3, upper=0.2, stiffness=90.0, width=0.05)
    b.force("coil", "joint", ["b3"], joint="j3", law="spring", stiffness=17.0, damping=0.6, length=0.25)
    b.force("push", "point_force", ["b1.f"], force=[3.0, -2.0, 1.5], axes="world")
    b.force("thrust", "point_force", ["b2.f"], force=[1.0, 4.0, -2.5], axes="body")
    b.force("couple", "wrench", ["b3.f"], force=[0.5, -1.5, 2.0], moment=[0.3, 0.7, -0.4], axes="body")
    b.force("hand", "wrench", ["b0.f"])
    return b.done()


def memories() -> Any:
    """Force elements with states and modes, on joints and between points."""
    b = _builder("memories")
    _body(b, 0, "cart", eye=dict(position=(0.3, 0.1, 0.2)))
    b.joint("go", "prismatic", "world", "cart", (0.1, 0.2, 0.3), [("y", 0.3)], axis="x")
    _body(b, 1, "arm", tip=dict(position=(0.2, 0.3, -0.1)))
    b.joint("turn", "revolute", "cart", "arm", (0.2, 0, 0.1), [("x", 0.4)], axis="y")
    b.body("ground", frames={"pin": [1.4, 0.8, -0.6]}).joint("ground", "fixed", "world", "ground")
    b.force("brush", "lugre", joint="turn", stiffness=3.0, level=1.2, breakaway=1.9, speed=0.6, damping=0.4,
            coefficient=0.2, damping_speed=1.3)  # fmt: skip
    b.force("felt", "dahl", ["arm.tip", "ground.pin"], stiffness=2.5, level=1.1)
    b.force("dry", "stiction", joint="go", level=1.3, breakaway=2.1, stiffness=7.0, damping=0.8, coefficient=0.3)
    b.force("grip", "stiction", ["cart.eye", "ground.pin"], level=0.9, breakaway=1.4, stiffness=5.0)
    b.force("gum", "maxwell", ["cart.eye", "ground.pin"], stiffness=11.0, damping=2.3, length=0.8, parallel=1.7)
    return b.done()


def wheel() -> Any:
    """A wheel with a linear tyre on a slope, and one on a wave that a function of the road gives; contacts."""
    b = _builder("wheel", gravity=(0.1, 0.2, -9.7))
    _body(b, 0, "hub", skid=(0.2, 0.1, -0.55))
    _body(b, 1, "rim")
    b.joint("z", "prismatic", "world", "hub", (0, 0, 0.55), axis="z")
    b.joint("camber", "revolute", "hub", "rim", (0.02, 0.03, -0.3), axis="x")
    _body(b, 2, "tyre")
    b.joint("spin", "revolute", "rim", "tyre", (0, 0, 0), axis="y")
    b.force("road", "tyre", ["tyre"], law="linear", radius=0.3, stiffness=9e3, damping=120.0, slip_stiffness=4e3,
            cornering_stiffness=3e3, camber_stiffness=300.0, trail=0.03, rolling_resistance=0.02, friction=0.9,
            relaxation_x=0.2, relaxation_y=0.3, width=0.02, ground="slope", slope_x=0.05, slope_y=-0.08,
            height=0.01)  # fmt: skip
    b.force("skid", "contact", ["hub.skid"], stiffness=5e3, damping=40.0, friction=0.6, width=0.01, ground="sinusoid",
            amplitude=0.02, wavelength=1.3, phase=0.4, heading=0.3, height=0.02)  # fmt: skip
    return b.done()


def tyre() -> Any:
    """A wheel with Pacejka's formula on a wavy ground."""
    b = _builder("tyre", gravity=(0.1, 0.2, -9.7))
    _body(b, 0, "hub")
    _body(b, 1, "rim")
    b.joint("xy", "translation3", "world", "hub", (0, 0, 0.31))
    b.joint("steer", "universal", "hub", "rim", (0.0, 0.03, 0.0), sequence="zy")
    b.force("road", "tyre", ["rim"], law="magic_formula", ground="flat", height=0.02)
    b.force("other", "wheel", ["rim"], ground="slope", slope_x=0.03, slope_y=0.02, height=-0.1)
    return b.done()


# -- closed loops


def linkage() -> Any:
    """A four-bar linkage with symbolic lengths and a damper; the coupler holds a rod to a slider: two loops."""
    b = _builder("linkage", gravity=(0.4, -9.81, 0))
    for name, value in (("a", 0.31), ("c", 0.83), ("d", 0.62)):
        b.parameter(name, value, nonzero=True)
    b.body("ground", frames={"o": (0.7, 0.1, 0)})
    b.joint("ground", "fixed", "world", "ground")
    _bar(b, "crank", "a", 1.1)
    _bar(b, "coupler", "c", 0.8, point=(0.4, 0.21, 0))
    _bar(b, "rocker", "d", 1.3)
    b.body("slider", 0.7, frames={"pin": (0, 0, 0)})
    b.joint("crank", "revolute", "world", "crank", viscous=0.2, rotor=(1e-3, 7.0))
    b.joint("coupler", "revolute", "crank", "coupler", ("a", 0, 0), **PASSIVE)
    b.joint("rocker", "revolute", "world", "rocker", (0.7, 0.1, 0), viscous=0.3, **PASSIVE)
    b.joint("slide", "prismatic", "world", "slider", (0.5, 1.2, 0), axis="x", **PASSIVE)
    b.cut("pin", "ball", "coupler.tip", "rocker.tip")
    b.cut("rod", "rod", "coupler.point", "slider.pin", length=0.66)
    b.force("spring", "spring_damper", ["ground.o", "coupler.point"], stiffness=90.0, damping=4.0, length=0.4)
    return b.done()


def held(kind: str, other: str, joint: str = "free") -> Any:
    """A crank and a lever hold a block: two cuts of different kinds."""
    b = _builder(f"held_{kind}_{other}", gravity=(1.0, -2.0, -9.0))
    turned = [("x", 0.3), ("y", -0.5)]
    _body(b, 0, "crank", pin=dict(position=(0.3, 0.1, 0.2), rotation=turned))
    _body(b, 1, "block", pin=dict(position=(0.1, 0.04, 0.02), rotation=[("z", 0.6)]), eye=(0.1, -0.2, 0.13))
    b.joint("crank", "revolute", "world", "crank", (0.02, 0.1, 0), axis=(0, 0.6, 0.8))
    b.joint("block", joint, "world", "block", **PASSIVE)
    more: dict[str, Any] = {"rows": ("x", "z", "ry")} if kind == "rows" else {"axis": "x"} if kind != "solid" else {}
    b.cut("hold", kind, ("crank", "pin"), ("block", "pin"), **more)
    if other == "rod":
        _body(b, 2, "lever", eye=(0.2, 0.1, 0.05))
        b.joint("lever", "revolute", "world", "lever", (0.5, -0.3, 0.2), axis="y", viscous=0.4)
        b.cut("stay", "rod", "block.eye", "lever.eye", length=0.45)
    return b.done()


def gears() -> Any:
    """Couplings of positions and of velocities, one of them with time."""
    b = _builder("gears", gravity=(0.5, -9.81, 0.3))
    for k, name in enumerate(("a", "b", "c")):
        _body(b, k, name)
        b.joint(name, "revolute", "world", name, (0.3 * k, 0.1, 0.05), [("y", 0.3 * k)], axis="z",
                **(PASSIVE if k else {}))  # fmt: skip
    _body(b, 3, "skate")
    b.joint("s", "planar", "world", "skate", (0.1, 0.3, 0.2), [("x", 0.2)])
    b.parameter("n", 2.3)
    b.coupling("gear", "n*q.a - q.b + 0.1*sin(q.a)")
    b.coupling("cam", "q.c - 0.3*(1 - cos(q.a)) - 0.05*sin(1.3*t)")
    b.coupling("blade", "cos(q.s.3)*qd.s.2 - sin(q.s.3)*qd.s.1", kind="velocity")
    return b.done()


def driven_loop() -> Any:
    """A four-bar linkage with a driven crank, an elastic rocker, a mimic joint, and a rod whose length changes."""
    b = _builder("driven_loop", gravity=(0.4, -9.81, 0))
    _bar(b, "crank", 0.3, 1.1)
    _bar(b, "coupler", 0.8, 0.7)
    _bar(b, "rocker", 0.6, 1.3)
    _bar(b, "arm", 0.4, 0.6)
    _bar(b, "flag", 0.2, 0.2)
    b.joint("crank", "revolute", "world", "crank", mode="driven", value="0.4 + 0.9*t + 0.1*sin(2*t)")
    b.joint("coupler", "revolute", "crank", "coupler", (0.3, 0, 0), **PASSIVE)
    b.joint("rocker", "revolute", "world", "rocker", (0.7, 0, 0), **PASSIVE)
    b.joint("arm", "revolute", "rocker", "arm", (0.6, 0, 0), viscous=0.1)
    b.joint("flag", "revolute", "arm", "flag", (0.4, 0, 0), mimic=("arm", 0.5, 0.1))
    b.cut("rod", "rod", "coupler.tip", "rocker.tip", length="0.2 + 0.03*sin(t)")
    return b.done()


def random_closed(seed: int) -> Any:
    """A spatial chain of revolute joints, whose end a ball cut or a rod holds to the ground."""
    rng = np.random.default_rng(seed)

    def some(n: int, size: float) -> list[float]:
        return np.round(rng.uniform(-size, size, n), 4).tolist()

    b = _builder(f"random_closed_{seed}", gravity=tuple(some(3, 8)))
    b.body("ground", frames={"end": (0.35, 0.2, 0.15)})
    b.joint("ground", "fixed", "world", "ground")
    for k in range(5):
        _body(b, k, f"b{k}", f=dict(position=[0.3, *some(2, 0.1)], rotation=[("x", some(1, 1)[0])]))
        b.joint(f"j{k}", "revolute" if k != 2 else "prismatic", "world" if k == 0 else f"b{k - 1}", f"b{k}",
                [0.3 * (k > 0), *some(2, 0.1)], [("x", some(1, 1.5)[0])], axis=some(3, 1.0))  # fmt: skip
    b.cut("end", "ball", "ground.end", "b4.f")
    return b.done()


def bundled(name: str) -> Any:
    """A model that comes with symbody."""
    import symbody as sb

    return sb.load(name)


PANEL: dict[str, Callable[[], Any]] = {
    "pendulum2": lambda: bundled("pendulum2"),
    "compound": compound,
    "plates": plates,
    "joint_laws": joint_laws,
    "springs": springs,
    "memories": memories,
    "wheel": wheel,
    "random_tree_1": lambda: random_tree(1),
    "random_tree_2": lambda: random_tree(2),
    "arm": arm,
    "laws": laws,
    "satellite": satellite,
    "tyre": tyre,
    "floats": floats,
    "gears": gears,
    "slider_crank": lambda: bundled("slider_crank"),
    "driven_loop": driven_loop,
    "linkage": linkage,
    "held_revolute": lambda: held("revolute", ""),
    "held_universal_rod": lambda: held("universal", "rod", "floating"),
    "held_rows": lambda: held("rows", "rod"),
    "held_cylindrical": lambda: held("cylindrical", ""),
    "held_prismatic": lambda: held("prismatic", ""),
    "held_solid": lambda: held("solid", "rod"),
    "random_closed_2": lambda: random_closed(2),
    "random_closed_3": lambda: random_closed(3),
}
