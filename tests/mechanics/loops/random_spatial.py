"""Families of spatial closed mechanisms at random: any joints, any cuts, couplings, overconstrained classics."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from mechanics.loops.maximal_records import turned
from mechanics.loops.random_draft import CUTS, ROWS, Draft
from mechanics.loops.random_planar import weight

KINDS = (
    "revolute", "revolute", "revolute", "prismatic", "cylindrical", "universal", "spherical", "ball", "planar",
    "helical", "free", "floating", "translation2", "schoenflies",
)  # fmt: skip


def _laws(d: Draft, kind: str) -> dict[str, Any]:
    more: dict[str, Any] = {}
    if kind == "helical":
        more["pitch"] = 0.1 if d.nice else float(d.rng.uniform(0.05, 0.3))
    if d.chance(0.1) and kind in ("revolute", "prismatic"):
        more["stiffness"] = float(d.rng.uniform(0.5, 5))
    if d.chance(0.1):
        more["viscous"] = float(d.rng.uniform(0.01, 0.2))
    if d.chance(0.3):
        more["mode"] = "passive"
    return more


def _add(d: Draft, parent: str, kind: str, at: Any = None, **more: Any) -> str:
    """A body on a joint of its parent, at random."""
    name = f"b{len(d.bodies)}"
    d.body(name)
    turn = None if d.chance(0.3) else d.rotation().tolist()
    place = {"position": d.vector(), "rotation": turn, "axis": d.axis(), **_laws(d, kind), **more}
    d.joint(f"j{len(d.joints)}", kind, parent, name, at=at, **place)
    return name


def _chain(d: Draft, start: str, wanted: int, most: int = 99) -> list[str]:
    """Bodies on joints of random kinds with at least `wanted` velocities."""
    out, n = [start], 0
    while n < wanted:
        kind = str(d.rng.choice(KINDS))
        if d.size(kind) > most - n + 1 or (d.size(kind) > 3 and len(out) > 1):
            continue
        out.append(_add(d, out[-1], kind))
        n += d.size(kind)
        if d.chance(0.05):
            out.append(_add(d, out[-1], "revolute", mode="locked", value=d.angle()))
    return out


def mixed(rng: np.random.Generator, nice: bool, name: str) -> Draft:
    """One to four loops: each a chain with as many velocities as its cut has rows, between random bodies."""
    d = Draft(name, rng, nice)
    bodies = ["world", _add(d, "world", str(rng.choice(["revolute", "prismatic", "cylindrical", "universal"])))]
    loops = int(rng.choice([1, 1, 2, 2, 3, 4]))
    small = loops > 2
    chains = []
    for k in range(loops):
        kind = str(rng.choice(["ball", "rod", "rows", "universal", "revolute"] if small else CUTS))
        rows = d.chosen_rows() if kind == "rows" else None
        start = str(rng.choice(bodies))
        need = ROWS.get(kind, len(rows or ()))
        chain = _chain(d, start, need)
        others = [b for b in bodies if b != start]
        chains.append((f"c{k}", kind, chain[-1], str(rng.choice(others)), rows))
        bodies += chain[1:]
    for cut, kind, first, second, rows in chains:
        ends = (first, second) if d.chance(0.5) else (second, first)
        d.cut(cut, kind, *ends, rows=rows)
    return d


def held(rng: np.random.Generator, nice: bool, name: str) -> Draft:
    """A body on a free, floating or ball joint, held on cranks by cuts of any kind."""
    d = Draft(name, rng, nice)
    cranks = [_add(d, "world", "revolute") for _ in range(int(rng.integers(1, 4)))]
    block = _add(d, "world", str(rng.choice(["free", "free", "floating"])))
    left = 6
    for k, crank in enumerate(cranks):
        fit = [x for x in CUTS if ROWS.get(x, 6) <= left]
        if not fit:
            break
        kind = str(rng.choice(fit))
        d.cut(f"c{k}", kind, *((crank, block) if d.chance(0.5) else (block, crank)))
        left -= ROWS.get(kind, 6)
    return d


def rods(rng: np.random.Generator, nice: bool, name: str) -> Draft:
    """A platform on rods, or on legs that slide (a Stewart platform with fewer legs)."""
    d = Draft(name, rng, nice)
    top = _add(d, "world", str(rng.choice(["free", "floating", "spherical", "ball"])))
    most = 5 if d.size(d.joints[f"j{len(d.joints) - 1}"]["kind"]) == 6 else 2
    for k in range(int(rng.integers(1, most + 1))):
        if d.chance(0.75) or k > 2:
            d.cut(f"c{k}", "rod", "world" if d.chance(0.7) else top, top if d.chance(0.7) else "world")
            cut = d.extras[-1]
            if cut[1][2][0] == cut[1][3][0]:  # both ends on one body
                d.extras.pop()
        else:
            leg = _add(d, _add(d, "world", "universal"), "prismatic")
            d.cut(f"c{k}", "ball", leg, top)
    if not d.extras:
        d.cut("c", "rod", "world", top)
    return d


def four_bars(rng: np.random.Generator, nice: bool, name: str) -> Draft:
    """Spatial four-bars: crank and rocker about skew axes, the coupler between them on joints and a cut of any kind."""
    d = Draft(name, rng, nice)
    kinds = [
        ("ball", "ball"), ("spherical", "ball"), ("universal", "ball"), ("ball", "universal"),
        ("cylindrical", "cylindrical"), ("spherical", "universal"), ("cylindrical", "ball"), ("ball", "rod"),
    ]  # fmt: skip
    rocker = "world"
    for k in range(int(rng.integers(1, 4))):
        joint, cut = kinds[int(rng.integers(len(kinds)))]
        crank = _add(d, rocker, "revolute")
        coupler = _add(d, crank, joint)
        rocker = _add(
            d, rocker if d.chance(0.5) else "world", "cylindrical" if joint == cut == "cylindrical" else "revolute"
        )
        d.cut(f"c{k}", cut, coupler, rocker)
    return d


def spherical(rng: np.random.Generator, nice: bool, name: str) -> Draft:
    """Spherical linkages: all axes meet in the origin, so that a revolute cut has three redundant rows."""
    d = Draft(name, rng, nice)
    ends = []
    for _ in range(2):
        parent = "world"
        for _ in range(int(rng.integers(1, 3))):
            parent = _add(d, parent, "revolute", position=[0, 0, 0], rotation=d.rotation().tolist(), axis="z")
        ends.append(parent)
    if len(d.bodies) < 3:
        ends[0] = _add(d, ends[0], "revolute", position=[0, 0, 0], rotation=d.rotation().tolist(), axis="z")
    kind = str(rng.choice(["revolute", "revolute", "solid"]))
    if kind == "solid":
        ends[0] = _add(d, ends[0], "revolute", position=[0, 0, 0], rotation=d.rotation().tolist(), axis="z")
    d.cut("c0", kind, ends[0], ends[1], at=(d.rotation(), np.zeros(3)))
    return d


def bennett(rng: np.random.Generator, nice: bool, name: str) -> Draft:
    """Bennett's linkage: four revolute joints, opposite bars equal, sin(alpha) / a = sin(beta) / b; one freedom."""
    d = Draft(name, rng, nice)
    alpha = float(rng.choice([np.pi / 6, np.pi / 4])) if nice else float(rng.uniform(0.3, 1.2))
    beta = float(rng.choice([np.pi / 3, np.pi / 2])) if nice else float(rng.uniform(1.3, 1.9))
    a = d.length(0.3, 0.6)
    b = a * np.sin(beta) / np.sin(alpha)
    first = float(rng.uniform(0.5, 2.5))
    # tan(first/2) tan(second/2) = sin((alpha + beta)/2) / sin((beta - alpha)/2); opposite angles are opposite
    second = 2 * np.arctan(np.sin((alpha + beta) / 2) / np.sin((beta - alpha) / 2) / np.tan(first / 2))
    angles = [first, second, -first, -second]
    parent, place, turn = "world", np.zeros(3), np.eye(3)
    for k in range(3):
        size, twist = ((a, alpha), (b, beta))[k % 2]
        body = d.body(f"b{k}")
        d.joint(f"j{k}", "revolute", parent, body, at=[angles[k]], position=place.tolist(), rotation=turn.tolist())
        parent, place, turn = body, np.array([size, 0, 0]), turned(np.array([1.0, 0, 0]), twist)
    R, p = d.pose(parent)
    # the fourth axis is carried by the last bar; the bar from it to the ground is the ground
    d.cut("c0", "revolute", parent, "world", at=(R @ turn, p + R @ place), axis=2)
    return d


def sarrus(rng: np.random.Generator, nice: bool, name: str) -> Draft:
    """Sarrus' linkage: two or three folding pairs of plates in different planes; the top moves straight."""
    d = Draft(name, rng, nice, (0, 0, -weight(rng)))
    size, fold = d.length(0.3, 0.6), float(rng.uniform(0.4, 1.1))
    ends = []
    for k in range(int(rng.integers(2, 4))):
        around = 2 * np.pi * k / 3 if not nice else np.pi / 2 * k
        turn = turned(np.array([0, 0, 1.0]), around) @ turned(np.array([1.0, 0, 0]), np.pi / 2)
        foot = turned(np.array([0, 0, 1.0]), around) @ np.array([0.4, 0, 0])
        lower, upper = d.body(f"low{k}"), d.body(f"up{k}")
        d.joint(f"low{k}", "revolute", "world", lower, at=[fold], position=foot.tolist(), rotation=turn.tolist())
        d.joint(f"up{k}", "revolute", lower, upper, at=[np.pi - 2 * fold], position=[size, 0, 0])
        ends.append(upper)
    top = d.body("top")
    d.joint("top", "revolute", ends[0], top, at=[fold - np.pi], position=[size, 0, 0])
    for k, end in enumerate(ends[1:]):
        R, p = d.pose(end)
        d.cut(f"c{k}", "revolute", end, top, at=(R, p + R @ [size, 0, 0]), axis=2)
    return d


def chained(rng: np.random.Generator, nice: bool, name: str) -> Draft:
    """Four-bars one behind the other in different planes, closed by solid cuts: later loops hang on earlier ones."""
    d = Draft(name, rng, nice)
    base = "world"
    for k in range(int(rng.integers(1, 4))):
        plane = {"rotation": d.rotation().tolist()}
        crank = d.body(f"crank{k}", com=[0.1, 0, 0])
        d.joint(f"crank{k}", "revolute", base, crank, position=d.vector(0.2), **plane)
        coupler = d.body(f"coupler{k}", com=[0.2, 0, 0])
        d.joint(f"coupler{k}", "revolute", crank, coupler, position=[d.length(0.2, 0.4), 0, 0])
        hinge = d.body(f"hinge{k}", massless=d.chance(0.5))
        d.joint(f"hinge{k}", "revolute", coupler, hinge, position=[d.length(0.4, 0.7), 0, 0])
        # the rocker turns about the same direction as the crank: in the reference pose it carries the hinge's frame
        R, p = d.pose(hinge)
        Rb, pb = d.pose(base)
        foot = d.pose(crank)[1] + d.pose(crank)[0] @ np.array([*d.vector(0.6)[:2], 0.0])
        rocker = d.body(f"rocker{k}", com=[0.1, 0.05, 0])
        turn = Rb.T @ d.pose(crank)[0]
        d.joint(f"rocker{k}", "revolute", base, rocker, position=(Rb.T @ (foot - pb)).tolist(), rotation=turn.tolist())
        d.cut(f"c{k}", "solid", *((hinge, rocker) if d.chance(0.5) else (rocker, hinge)), at=(R, p))
        base = str(rng.choice([rocker, rocker, coupler]))
    return d


def geared(rng: np.random.Generator, nice: bool, name: str) -> Draft:
    """Arms whose coordinates are coupled by gears, cams and rolling, some of them with a loop besides."""
    d = mixed(rng, nice, name) if rng.random() < 0.4 else Draft(name, rng, nice)
    names = []
    for _ in range(int(rng.integers(2, 5))):
        kind = str(rng.choice(["revolute", "revolute", "prismatic", "helical"]))
        _add(d, str(rng.choice(["world", *(b for b in d.bodies if not b.startswith("ground"))])), kind)
        names.append(next(reversed(d.joints)))
    for k, (a, b) in enumerate(pairwise(names)):
        ratio = float(rng.choice([1.0, -2.0, 0.5])) if nice else float(rng.uniform(-2, 2))
        x, y = d.q[a][0], d.q[b][0]
        law, value = [
            (f"q.{b} - {ratio!r}*q.{a}", y - ratio * x),
            (f"q.{b} - {ratio!r}*sin(q.{a})", y - ratio * np.sin(x)),
            (f"q.{b} + 0.3*q.{b}^3 - {ratio!r}*q.{a}", y + 0.3 * y**3 - ratio * x),
            (f"sin(q.{b})*cos(q.{a}) + q.{a} + 0.5*q.{b}", np.sin(y) * np.cos(x) + x + 0.5 * y),
            (f"qd.{b} - {ratio!r}*qd.{a}*cos(q.{b})", None),
        ][int(rng.integers(5))]
        if value is None:
            d.coupling(f"g{k}", law, "velocity")
        else:
            d.coupling(f"g{k}", f"{law} - ({float(value)!r})")
    return d


FAMILIES = {
    "mixed": mixed, "held": held, "rods": rods, "four_bars": four_bars, "spherical": spherical, "bennett": bennett,
    "sarrus": sarrus, "chained": chained, "geared": geared,
}  # fmt: skip
