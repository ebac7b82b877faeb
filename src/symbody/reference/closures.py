"""Closed loops, measured on the poses of the frames of cuts: how far they are open, how fast, how they accelerate.

Rows may depend on each other: the reference takes ranks and least squares, and never chooses among them. All rows of a
cut are displacements in m or angles in rad; a rotation is compared by all nine entries of its matrix, an axis by its
three, so that no half turn is mistaken for closed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from symbody.basics.errors import ModelError
from symbody.model.record.mechanism import Coupling, Cut
from symbody.reference.bodies import BodyPose, NumericModel, coordinates, frame_pose, poses
from symbody.reference.body_dynamics import BodyMotion
from symbody.reference.expressions import power
from symbody.reference.jets import Array, Jet, apply, constant, cross_matrix, dot, stack, transpose
from symbody.reference.joint_steps import owns_coordinates

AXES = "xyz"
HALF_TURNS = [2.0 * np.outer(e, e) - np.eye(3) for e in np.eye(3)]
# rows of cuts in m: the first ones
LENGTHS = {"rod": 1, "ball": 3, "solid": 3, "revolute": 3, "prismatic": 2, "cylindrical": 2, "universal": 3}


@dataclass(frozen=True, eq=False)
class ClosureRows:
    """Residuals at n states. h (n, m) m, rad; hd, hdd (n, m + velocity rows): their rates along the motion."""

    h: Array
    hd: Array
    hdd: Array


class Closures:
    """The cuts and couplings of a NumericModel.

    turns: of each cut the half turn of its second frame with which it is closed best at the position `near` (nq,), if
    one is given; None: as it is. A solid cut joins frames as they are.
    """

    def __init__(self, model: NumericModel, near: Array | None = None) -> None:
        self.model = model
        self.turns: list[Array | None] = [None for _ in model.mechanism.cuts]
        if near is not None:
            self.turns = [self._best_turn(k, cut, near) for k, cut in enumerate(model.mechanism.cuts)]
        self.cuts = model.mechanism.cuts
        self.positions = [c for c in model.mechanism.couplings if c.kind == "position"]
        self.velocities = [c for c in model.mechanism.couplings if c.kind == "velocity"]

    @cached_property
    def owners(self) -> list[str]:
        """The name of the loop that each row of h belongs to."""
        found = [c.name for c in self.cuts for _ in range(_count(c))]
        return found + [c.name for c in self.positions]

    @cached_property
    def are_lengths(self) -> Array:
        """(m,) bool: rows of h in m; the others are angles, or couplings of no declared unit."""
        found: list[bool] = []
        for c in self.cuts:
            lengths = sum(r < 3 for r in c.rows) if c.kind == "rows" else LENGTHS[c.kind]
            found += [k < lengths for k in range(_count(c))]
        return np.array(found + [False] * len(self.positions), dtype=bool)

    def rows(self, motion: BodyMotion) -> ClosureRows:
        """Along a BodyMotion, whose time runs."""
        t = Jet(np.full(motion.count, motion.t), np.ones(motion.count), np.zeros(motion.count))
        h = self.along(motion.poses, motion.coordinates, t)
        flow = [self._velocity(c, motion, t) for c in self.velocities]
        hd = np.concatenate([h.x1, *(f.x[:, None] for f in flow)], axis=-1)
        return ClosureRows(h.x, hd, np.concatenate([h.x2, *(f.x1[:, None] for f in flow)], axis=-1))

    def along(self, at: list[BodyPose], q: Jet, t: Jet) -> Jet:
        """(..., m) rows of all cuts and position couplings along any curve of poses and coordinates."""
        like = at[0].position[..., 0]
        parts = [cut_rows(cut, *self._frames(k, at, like), self._length(cut, t)) for k, cut in enumerate(self.cuts)]
        for coupling in self.positions:
            found = self.model.number.jet(coupling.expression, {**self._coordinates(q), "t": t})
            parts.append(found.map(lambda a: np.asarray(a)[..., None]))
        return _joined(parts, q)

    def _frames(self, k: int, at: list[BodyPose], like: Jet) -> tuple[BodyPose, BodyPose]:
        """Both frames of a cut, the second one turned as it is closed."""
        cut, turned = self.model.mechanism.cuts[k], self.turns[k]
        one, two = (frame_pose(self.model, at, *end, like) for end in (cut.first, cut.second))
        return one, two if turned is None else two.moved(turned, np.zeros(3))

    def _best_turn(self, k: int, cut: Cut, near: Array) -> Array | None:
        """A half turn after which frames that are against each other at a position are close to each other."""
        if cut.kind in ("solid", "rod", "ball"):
            return None
        still = Jet(near[None], np.zeros_like(near[None]))
        one, two = self._frames(k, poses(self.model, still), still[..., 0])
        alike = np.swapaxes(one.rotation.x, -1, -2) @ two.rotation.x  # (1, 3, 3): the identity where nothing is turned
        axes = _held_axes(cut)
        best = max((None, *range(3)), key=lambda i: (round(float(_agree(alike, i, axes)), 6), i is None))
        return None if best is None else HALF_TURNS[best]

    def _length(self, cut: Cut, t: Jet) -> Jet:
        if cut.length is None:
            return constant(0.0, t)
        return self.model.number.jet(cut.length, {"t": t})

    def _coordinates(self, q: Jet) -> dict[str, Jet]:
        """q.<joint>, q.<joint>.2 ... along a curve; a follower has its leader's, scaled."""
        return self._named("q", lambda place, k: q[..., place[0] + k], 1)

    def _named(self, stem: str, pick: Callable[[tuple[int, int, int, int], int], Jet], size: int) -> dict[str, Jet]:
        out: dict[str, Jet] = {}
        places, number = self.model.places.of, self.model.number
        for joint in self.model.mechanism.joints:
            if owns_coordinates(joint):
                place = places[joint.name]
                count = place[size]
                for k in range(count):
                    out[f"{stem}.{joint.name}" if count == 1 else f"{stem}.{joint.name}.{k + 1}"] = pick(place, k)
        for joint in self.model.mechanism.joints:
            if joint.mimic is not None and joint.mode != "locked" and joint.kind != "ball":
                leader = out[f"{stem}.{joint.mimic.joint}"] * number(joint.mimic.ratio)
                out[f"{stem}.{joint.name}"] = leader + number(joint.mimic.offset) if stem == "q" else leader
        return out

    def _velocity(self, coupling: Coupling, motion: BodyMotion, t: Jet, seed: Array | None = None) -> Jet:
        """A velocity coupling with its rate; with a seed (nv,) its slope in that direction of velocities."""
        q = motion.coordinates
        here = Jet(q.x, q.x1 if seed is None else 0 * q.x1)
        qd = Jet(motion.qd, motion.qdd if seed is None else np.broadcast_to(seed, motion.qd.shape))
        clock = Jet(t.x, t.x1 if seed is None else 0 * t.x1)
        symbols = self._coordinates(here) | self._named("qd", lambda place, k: qd[..., place[2] + k], 3)
        found = self.model.number.jet(coupling.expression, {**symbols, "t": clock})
        return found.map(lambda a: np.broadcast_to(a, (motion.count,)))

    def jacobian(self, q: Array, t: float = 0.0, qd: Array | None = None) -> Array:
        """(n, m + velocity rows, nv) by velocities, from the poses along each of them."""
        n, nv = len(q), self.model.nv
        seeds = coordinates(self.model, q[:, None, :], np.broadcast_to(np.eye(nv), (n, nv, nv)))
        h = self.along(poses(self.model, seeds), seeds, Jet(np.full((n, 1), t), np.zeros((n, 1))))
        slopes = np.swapaxes(np.broadcast_to(h.x1, (n, nv, h.x.shape[-1])), 1, 2)
        if not self.velocities:
            return np.asarray(slopes)
        motion = BodyMotion(self.model, q, np.zeros((n, nv)) if qd is None else qd, t=t)
        clock = Jet(np.full(n, t), np.zeros(n))
        more = [[self._velocity(c, motion, clock, e).x1 for e in np.eye(nv)] for c in self.velocities]
        return np.concatenate([slopes, np.moveaxis(np.array(more), 2, 0)], axis=1)

    def gap(self, q: Array, t: float = 0.0) -> Array:
        """(n, m) how far the loops are open."""
        still = Jet(q, np.zeros_like(q))
        return self.along(poses(self.model, still), still, Jet(np.full(len(q), t), np.zeros(len(q)))).x

    def upright(self, q: Array) -> Array:
        """(n,) whether no single rotation row is closed by half a turn, which its right angle cannot tell."""
        still = Jet(q, np.zeros_like(q))
        at, good = poses(self.model, still), np.ones(len(q), dtype=bool)
        for place, cut in enumerate(self.cuts):
            turns = [r - 3 for r in cut.rows if r >= 3] if cut.kind == "rows" else []
            if len(turns) == 1:
                one, two = self._frames(place, at, still[..., 0])
                k = (turns[0] + 1) % 3
                good &= dot(one.rotation[..., k], two.rotation[..., k]).x > 0
        return good

    def body_maps(self, motion: BodyMotion) -> list[tuple[str, Array, Array]]:
        """(cut, H1, H2) with H (n, rows, 6): rates of a cut's rows by the twists of its two bodies."""
        out = []
        zero = Jet(np.zeros(motion.count), np.zeros(motion.count))
        t = Jet(np.full((motion.count, 1), motion.t), np.zeros((motion.count, 1)))
        flat = [BodyPose(*(Jet(j.x, 0 * j.x1) for j in (p.rotation, p.position))) for p in motion.poses]
        for place, cut in enumerate(self.cuts):
            one, two = self._frames(place, flat, zero)
            maps = []
            for moved in (one, two):
                pair = [_turned(p) if p is moved else _spread(p) for p in (one, two)]
                rows = cut_rows(cut, pair[0], pair[1], self._length(cut, t))
                maps.append(np.swapaxes(np.broadcast_to(rows.x1, (motion.count, 6, rows.x.shape[-1])), 1, 2))
            out.append((cut.name, maps[0], maps[1]))
        return out

    def coupling_maps(self, motion: BodyMotion) -> Array:
        """(n, couplings, nv): slopes of couplings alone, which act on joints and on no body."""
        slopes = self.jacobian(motion.q, motion.t, motion.qd)
        return slopes[:, sum(_count(c) for c in self.cuts) :]


def _spread(p: BodyPose) -> BodyPose:
    rotation, position = _pair(p)
    return BodyPose(rotation.map(lambda a: a[..., None, :, :]), position.map(lambda a: a[..., None, :]))


def _pair(p: BodyPose) -> tuple[Jet, Jet]:
    def leading(j: Jet, size: int) -> Jet:
        return j.map(lambda a: a if a.ndim > size else a[None])

    return leading(p.rotation, 2), leading(p.position, 1)


def _turned(p: BodyPose) -> BodyPose:
    """The pose (n, 6) for unit twists: three turns about the world's origin, three translations."""
    rotation, position = _pair(p)
    spins = np.concatenate([np.eye(3), np.zeros((3, 3))])
    slides = np.concatenate([np.zeros((3, 3)), np.eye(3)])
    r, x = rotation.x[..., None, :, :], position.x[..., None, :]
    return BodyPose(Jet(r, cross_matrix(spins) @ r), Jet(x, np.cross(spins, x) + slides))


def _held_axes(cut: Cut) -> list[int]:
    """Axes of the second frame that a cut holds to those of the first, all where it lets nothing turn."""
    if cut.kind in ("revolute", "cylindrical"):
        return [AXES.index(cut.axis)]
    if cut.kind == "prismatic":
        return [0, 1, 2]
    turns = [r - 3 for r in cut.rows if r >= 3] if cut.kind == "rows" else []
    if len(turns) == 1:
        return [(turns[0] + 1) % 3, (turns[0] + 2) % 3]
    return {2: [3 - sum(turns)], 3: [0, 1, 2]}.get(len(turns), [])


def _agree(alike: Array, half: int | None, axes: list[int]) -> float:
    """How well the held axes of two frames point the same way after a half turn of the second."""
    turned = alike if half is None else alike @ HALF_TURNS[half]
    return sum(float(turned[0, i, i]) for i in axes)


def _count(cut: Cut) -> int:
    """How many rows `cut_rows` gives."""
    one = BodyPose(Jet(np.eye(3), np.zeros((3, 3))), Jet(np.array([1.0, 0, 0]), np.zeros(3)))
    two = BodyPose(one.rotation, Jet(np.zeros(3), np.zeros(3)))
    return cut_rows(cut, one, two, Jet(1.0, 0.0)).x.shape[-1]


def _joined(parts: list[Jet], like: Jet) -> Jet:
    """Rows of several pieces, one behind the other."""

    def join(pick: Callable[[Jet], Array], lead: tuple[int, ...]) -> Array:
        if not parts:
            return np.zeros((*lead, 0))
        return np.concatenate([np.broadcast_to(pick(p), (*lead, np.shape(p.x)[-1])) for p in parts], axis=-1)

    second = None if like.x2 is None else join(lambda p: p.x2, like.x2.shape[:-1])
    return Jet(join(lambda p: p.x, like.x.shape[:-1]), join(lambda p: p.x1, like.x1.shape[:-1]), second)


def cut_rows(cut: Cut, one: BodyPose, two: BodyPose, length: Jet) -> Jet:
    """(..., k) rows of a cut between two frames: zero where it is closed."""
    gap = two.position - one.position
    if cut.kind == "rod":
        return stack([power(dot(gap, gap), 0.5) - length])
    local = apply(transpose(one.rotation), gap)  # as the first frame sees it
    axis = AXES.index(cut.axis)
    across = [k for k in range(3) if k != axis]

    def whole_turn() -> Jet:
        return (two.rotation - one.rotation).map(lambda a: a.reshape(*a.shape[:-2], 9)) * np.sqrt(0.5)

    def same_axis(k: int) -> Jet:
        return two.rotation[..., k] - one.rotation[..., k]

    def right_angle(of_first: int, of_second: int) -> Jet:
        return stack([dot(one.rotation[..., of_first], two.rotation[..., of_second])])

    if cut.kind == "ball":
        parts = [gap]
    elif cut.kind == "solid":
        parts = [gap, whole_turn()]
    elif cut.kind == "revolute":
        parts = [gap, same_axis(axis)]
    elif cut.kind == "prismatic":
        parts = [local[..., across], whole_turn()]
    elif cut.kind == "cylindrical":
        parts = [local[..., across], same_axis(axis)]
    elif cut.kind == "universal":
        parts = [gap, right_angle(axis, AXES.index(cut.axis2))]
    elif cut.kind == "rows":
        moves, turns = [r for r in cut.rows if r < 3], [r - 3 for r in cut.rows if r >= 3]
        parts = [local[..., moves]] if moves else []
        if len(turns) == 3:
            parts.append(whole_turn())
        elif len(turns) == 2:
            parts.append(same_axis(3 - sum(turns)))
        elif turns:
            # not turned about k: the axis before k of the first frame stays across the axis behind k of the second
            parts.append(right_angle((turns[0] + 2) % 3, (turns[0] + 1) % 3))
    else:
        raise ModelError(f"the reference does not know the kind {cut.kind!r} of cut {cut.name!r}.")
    return _joined(parts, gap)
