"""Closed mechanisms made with the Builder: 3-RRR in four modellings, three planar loops, random trees with cuts."""

from __future__ import annotations

from typing import Any

import numpy as np

from symbody.model.build.builder import Builder
from symbody.model.record.coordinates import checked
from symbody.model.record.mechanism import Mechanism

BASES = ((0.0, 0.0), (3.0, 0.2), (1.3, 2.6))  # of the arms of the 3-RRR, m
CORNERS = ((-0.5, -0.3), (0.55, -0.3), (0.0, 0.6))  # of its platform


def three_rrr(model: int, centre: bool = False) -> Mechanism:
    """Modelling 1 to 4 of robotran 4.6, joints q1, q2, ... as numbered there. centre: of model 3, where it is cut."""
    b = _planar(f"rrr{model}")
    _lengths(b)
    corners = {f"corner{k}": (f"c{k}x", f"c{k}y", 0) for k in (1, 2, 3)}
    b.body("ground", frames={f"base{k}": _base(k) for k in (2, 3)}).joint("fixed", "fixed", "world", "ground")
    if model > 2:
        for k in (1, 2, 3):
            _arm(b, k, (2 * k - 1, 2 * k) if model == 4 else (3 * k - 2, 3 * k - 1))
            if model == 4:
                b.cut(f"pin{k}", "ball", f"platform.corner{k}", f"lower{k}.tip")
                continue
            at = (f"-c{k}x", f"-c{k}y", 0) if centre else (0, 0, 0)
            b.body(f"hand{k}", frames={"hold": at})
            b.joint(f"q{3 * k}", "revolute", f"lower{k}", f"hand{k}", position=(f"d{k}", 0, 0))
            ends = ("platform", f"hand{k}.hold") if centre else (f"platform.corner{k}", f"hand{k}")
            b.cut(f"hold{k}", "solid", *ends)
        _chain_of_platform(b, corners, first=7 if model == 4 else 10)
        return b.done()
    _arm(b, 1, (1, 2))
    b.body("platform", 2, (0.1, 0.1, 0), (0, 0, 0.3), frames=corners)
    # the platform's frame stands at its first corner
    b.joint("q3", "revolute", "lower1", "platform", position=("d1", 0, 0))
    for k in (2, 3):
        corner = (f"c{k}x - c1x", f"c{k}y - c1y", 0)
        if model == 2:  # short branches; the platform is cut, on the joints q6 and q9
            _arm(b, k, (3 * k - 2, 3 * k - 1))
            b.body(f"hand{k}").joint(f"q{3 * k}", "revolute", f"lower{k}", f"hand{k}", position=(f"d{k}", 0, 0))
            b.body(f"edge{k}").joint(f"edge{k}", "fixed", "platform", f"edge{k}", position=corner)
            b.cut(f"hold{k}", "solid", f"edge{k}", f"hand{k}")
        else:  # one chain; the ground is cut
            _bar(b, f"lower{k}", f"d{k}")
            b.joint(f"q{3 * k - 2}", "revolute", "platform", f"lower{k}", position=corner)
            _bar(b, f"upper{k}", f"l{k}")
            b.joint(f"q{3 * k - 1}", "revolute", f"lower{k}", f"upper{k}", position=(f"d{k}", 0, 0))
            b.body(f"foot{k}").joint(f"q{3 * k}", "revolute", f"upper{k}", f"foot{k}", position=(f"l{k}", 0, 0))
            b.cut(f"hold{k}", "solid", f"ground.base{k}", f"foot{k}")
    return b.done()


def _planar(name: str) -> Builder:
    return Builder(name, gravity=(0, -9.81, 0))


def _bar(b: Builder, name: str, length: str, frames: dict[str, Any] | None = None) -> None:
    b.body(name, 1, ("0.5*" + length, 0, 0), (0, 0, 0.1), frames={"tip": (length, 0, 0), **(frames or {})})


def _lengths(b: Builder) -> None:
    for k in (1, 2, 3):
        b.parameter(f"l{k}", 1.2, "m")
        b.parameter(f"d{k}", 1.1, "m")
        for axis, value in zip("xy", CORNERS[k - 1]):
            b.parameter(f"c{k}{axis}", value, "m")
        for axis, value in zip("xy", BASES[k - 1]):
            if k > 1:
                b.parameter(f"b{k}{axis}", value, "m")


def _base(k: int) -> tuple[Any, ...]:
    return (0, 0, 0) if k == 1 else (f"b{k}x", f"b{k}y", 0)


def _arm(b: Builder, k: int, numbers: tuple[int, int]) -> None:
    _bar(b, f"upper{k}", f"l{k}")
    _bar(b, f"lower{k}", f"d{k}")
    b.joint(f"q{numbers[0]}", "revolute", "world", f"upper{k}", position=_base(k))
    b.joint(f"q{numbers[1]}", "revolute", f"upper{k}", f"lower{k}", position=(f"l{k}", 0, 0))


def _chain_of_platform(b: Builder, corners: dict[str, Any], first: int) -> None:
    b.body("x").joint(f"q{first}", "prismatic", "world", "x", axis="x")
    b.body("y").joint(f"q{first + 1}", "prismatic", "x", "y", axis="y")
    b.body("platform", 2, (0.1, 0.1, 0), (0, 0, 0.3), frames=corners)
    b.joint(f"q{first + 2}", "revolute", "y", "platform")


def three_loops() -> Mechanism:
    """Planar mechanism with one degree of freedom and three loops, after robotran 4.5 (figure 2.6), joints q1 to q7.

    Rows 1-2 contain q1, q2, q3; rows 3-4 q1, q5, q6; rows 5-6 q2, q4, q5, q7.
    """
    b = _planar("three_loops")
    _bar(b, "a1", "0.8", {"mid": (0.5, 0.1, 0)})
    _bar(b, "a2", "1.1", {"mid": (0.4, 0.2, 0)})
    _bar(b, "a3", "0.9")
    _bar(b, "a4", "0.8")
    _bar(b, "a5", "1.0", {"mid": (0.5, 0.2, 0)})
    _bar(b, "a6", "1.3")
    _bar(b, "a7", "0.8")
    b.joint("q1", "revolute", "world", "a1")
    b.joint("q2", "revolute", "world", "a2", position=(1.5, 0, 0))
    b.joint("q3", "revolute", "a1", "a3", position=(0.8, 0, 0))
    b.joint("q4", "revolute", "a2", "a4", position=(1.1, 0, 0))
    b.joint("q5", "revolute", "world", "a5", position=(0.2, 1.6, 0))
    b.joint("q6", "revolute", "a1", "a6", position=(0.5, 0.1, 0))
    b.joint("q7", "revolute", "a5", "a7", position=(1.0, 0, 0))
    b.cut("c1", "ball", "a3.tip", "a2.mid")
    b.cut("c2", "ball", "a6.tip", "a5.mid")
    b.cut("c3", "ball", "a4.tip", "a7.tip")
    return b.done()


KINDS = (
    "revolute",
    "prismatic",
    "helical",
    "cylindrical",
    "universal",
    "spherical",
    "ball",
    "free",
    "floating",
    "planar",
)


def random_tree_with_cuts(seed: int, cuts: dict[str, str], rows: tuple[int, ...] = ()) -> Mechanism:
    """Branches on a common trunk, joints of random kinds; cuts: name -> kind, between random frames."""
    rng = np.random.default_rng(seed)
    b = Builder(f"random{seed}")

    def frame() -> dict[str, Any]:
        turn = [("x", rng.uniform(-2, 2)), ("z", rng.uniform(-2, 2))]
        return {"position": rng.uniform(-1, 1, 3).tolist(), "rotation": turn}

    for k, parent in enumerate(["world", "b0", "b1", "b2", "b1", "b4", "world", "b6"]):
        b.body(f"b{k}", 1, (0.1, 0.2, 0.3), (1, 1, 1), frames={"f": frame(), "g": frame()})
        name, kind, more = f"j{k}", str(rng.choice(KINDS)), {}
        axis = ["x", "y", "z", tuple(rng.uniform(0.2, 1, 3).tolist())][int(rng.integers(4))]
        if k == 0:
            name, kind = "lead", "revolute"
        elif k == 5:
            kind, more = "revolute", {"mimic": ("lead", 0.7, 0.2)}
        elif kind == "helical":
            more = {"pitch": 0.3}
        turn = None if rng.integers(2) else [("y", rng.uniform(-2, 2))]
        b.joint(name, kind, parent, f"b{k}", rng.uniform(-1, 1, 3).tolist(), turn, axis, **more)
    for name, kind in cuts.items():
        first, second = rng.choice(8, 2, replace=False)
        extra: dict[str, Any] = {"length": 1.3} if kind == "rod" else {"rows": rows} if kind == "rows" else {}
        axis, axis2 = str(rng.choice(list("xyz"))), str(rng.choice(list("xyz")))
        b.cut(name, kind, f"b{first}.f", f"b{second}.g", **extra, axis=axis, axis2=axis2)
    return b.done()


def random_state(mech: Mechanism, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates with unit quaternions, and velocities."""
    return checked(mech, rng.normal(size=mech.nq)), rng.normal(size=mech.nv)
