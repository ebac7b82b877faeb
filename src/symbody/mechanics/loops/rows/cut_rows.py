"""Rows of cuts: which equations a kind of cut has, and each of them.

point rows       p2 - p1 = 0, all three in the axes of the ancestor, or some of them along axes of a frame of the cut
rotation rows    all three: small angles h_r = (-A_32, A_31, -A_21), A = R_1 R_2^T, with the angular velocity as
                 rate (robotran 3.11, corrected); some of them: a_1 . b_2 = 0 for axes a, b of the two frames
rod              ((p2 - p1)^2 - l^2) / 2 = 0; l may depend on time
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from symbody.mechanics.assembly.constraints import ConstraintRow, UnitWrench
from symbody.mechanics.formalisms import vec3 as t3
from symbody.mechanics.formalisms.frames import Frame
from symbody.mechanics.formalisms.tree import Tree
from symbody.mechanics.formalisms.vec3 import OTHERS, Vec
from symbody.mechanics.loops.rows.chains import CarriedVector, Columns, direction, point, spin
from symbody.model.record.mechanism import Cut
from symbody.symbolic.expr.arrays import is_one, is_zero
from symbody.symbolic.expr.derivative import jacobian
from symbody.symbolic.expr.node import Node
from symbody.symbolic.expr.walk import free_symbols

XYZ = "xyz"


def cut_rows(tree: Tree, cut: Cut, first: Frame, second: Frame, base: int) -> Iterator[ConstraintRow]:
    """Rows of a cut between two frames in the axes of the Link `base`, which carries both."""
    writer = _CutRowWriter(tree, cut, first, second, base)
    axis = XYZ.index(cut.axis)
    across = sorted(OTHERS[axis])
    if cut.kind == "rod":
        yield writer.rod()
    elif cut.kind in ("ball", "solid", "revolute", "universal"):
        yield from writer.point()
    elif cut.kind in ("prismatic", "cylindrical"):
        # both frames have the axis: that of a frame at rest is cheaper
        yield from writer.along(across, second if _at_rest(tree, second.link, base) else first)
    if cut.kind in ("solid", "prismatic"):
        yield from writer.rotation()
    elif cut.kind in ("revolute", "cylindrical"):
        yield from writer.aligned(axis, across)
    elif cut.kind == "universal":
        yield writer.perpendicular("r" + cut.axis + cut.axis2, axis, XYZ.index(cut.axis2), 1)
    elif cut.kind == "rows":
        moves, turns = sorted(r for r in cut.rows if r < 3), sorted(r - 3 for r in cut.rows if r >= 3)
        yield from writer.point() if len(moves) == 3 else writer.along(moves, first)
        if len(turns) == 3:
            yield from writer.rotation()
        elif len(turns) == 2:
            yield from writer.aligned(next(k for k in range(3) if k not in turns), turns)
        elif turns:
            yield writer.about(turns[0])


def _at_rest(tree: Tree, link: int, base: int) -> bool:
    """Whether a Link stands still on another: it is that, or kept joints that do not move lie between."""
    while link not in (base, -1) and not any(tree.links[link].columns):
        link = tree.links[link].parent
    return link == base


class _CutRowWriter:
    """The rows of one cut; what they share is computed once."""

    def __init__(self, tree: Tree, cut: Cut, first: Frame, second: Frame, base: int) -> None:
        self.tree, self.cut, self.base = tree, cut, base
        self.first, self.second = first, second
        self.bodies = (cut.first[0], cut.second[0])
        self.axes = "world axes" if base < 0 else f"axes of {tree.links[base].body or tree.links[base].joint!r}"

    # -- points

    def gap(self, rate: bool = True) -> CarriedVector:
        """p2 - p1 as the ancestor sees it; its rate is valid only if it is asked for."""
        return _difference(*(point(self.tree, f, self.base, rate) for f in (self.second, self.first)))

    def point(self) -> Iterator[ConstraintRow]:
        gap = self.gap(rate=False)
        for k, name in enumerate(XYZ):
            text = f"force on {self.bodies[1]!r} at {self.cut.name!r}, component {name} in {self.axes}, N"
            yield self.row(name, gap.value[k], _component(gap.columns, k), gap.bias[k], "m", text, force=t3.along(k, 1))

    def along(self, axes: list[int], f: Frame) -> Iterator[ConstraintRow]:
        """Components of p2 - p1 along axes of a frame of the cut, as that frame sees them: exact derivatives.

        Two axes that span a plane of the ancestor's axes are replaced by these: then nothing turns.
        """
        if not axes:
            return
        normal = self.constant_axis(f, next(k for k in range(3) if k not in axes)) if len(axes) == 2 else None
        gap = self.gap(rate=normal is None)
        if normal is not None:
            for name, k in zip(axes, sorted(OTHERS[normal]), strict=True):
                text = f"force on {self.bodies[1]!r} at {self.cut.name!r}, component {XYZ[k]} in {self.axes}, N"
                slopes = _component(gap.columns, k)
                yield self.row(XYZ[name], gap.value[k], slopes, gap.bias[k], "m", text, force=t3.along(k, 1))
            return
        for k in axes:
            e = direction(self.tree, f, self.base, t3.along(k, 1))
            h, slopes, bias = _dot(e, gap)
            which = "first" if f is self.first else "second"
            text = f"force on {self.bodies[1]!r} at {self.cut.name!r} along {XYZ[k]} of its {which} frame, N"
            yield self.row(XYZ[k], h, slopes, bias, "m", text, **self.push(e, gap, f))

    def push(self, e: CarriedVector, gap: CarriedVector, f: Frame) -> dict[str, Any]:
        """Force along an axis e of the frame f; an axis of the second turns with it: it acts where the first is."""
        return {"force": e.value} if f is self.first else {"force": e.value, "crossed": (e.value, gap.value)}

    def constant_axis(self, f: Frame, k: int) -> int | None:
        """Number of the ancestor's axis that axis k of a frame always lies along, by structure; None: it moves."""
        e = direction(self.tree, f, self.base, t3.along(k, 1)).value
        entries = [i for i in range(3) if not is_zero(e[i])]
        if len(entries) != 1 or not (is_one(e[entries[0]]) or is_one(t3.minus(0, e[entries[0]]))):
            return None
        return entries[0]

    def rod(self) -> ConstraintRow:
        gap = self.gap()
        length = self.tree.node(self.cut.length)
        h = t3.times(0.5, t3.minus(t3.dot(gap.value, gap.value), t3.times(length, length)))
        slopes = _nonzero({i: t3.dot(gap.value, c) for i, c in gap.columns.items()})
        bias = t3.plus(t3.dot(gap.rate, gap.rate), t3.dot(gap.value, gap.bias))
        rate, second = _time_derivatives(length)
        bias = t3.minus(bias, t3.plus(t3.times(rate, rate), t3.times(length, second)))
        text = f"thrust of rod {self.cut.name!r} divided by its length, N/m: positive pushes its ends apart"
        row = self.row("rod", h, slopes, bias, "m^2", text, force=gap.value)
        return replace(row, ht=t3.minus(0, t3.times(length, rate)))

    # -- rotations

    def rotation(self) -> Iterator[ConstraintRow]:
        """Three small angles of the second frame relative to the first, about axes of the ancestor."""
        r1, r2 = self.matrix(self.first), self.matrix(self.second)
        turn = _difference(*(spin(self.tree, f.link, self.base) for f in (self.second, self.first)))

        def entry(i: int, j: int) -> Any:
            return t3.dot(r1[i], r2[j])

        angles = (t3.minus(0, entry(2, 1)), entry(2, 0), t3.minus(0, entry(1, 0)))
        for k, h in enumerate(angles):
            text = f"torque on {self.bodies[1]!r} by {self.cut.name!r}, component {XYZ[k]} in {self.axes}, N m"
            slopes = _component(turn.columns, k)
            # half a turn about axis k, at which h vanishes too, turns the other axes over
            side = entry((k + 1) % 3, (k + 1) % 3)
            yield self.row("r" + XYZ[k], h, slopes, turn.bias[k], "rad", text, side, torque=t3.along(k, 1))

    def matrix(self, f: Frame) -> t3.Mat:
        """Frame axes to ancestor axes."""
        return t3.transposed(tuple(direction(self.tree, f, self.base, t3.along(k, 1)).value for k in range(3)))  # type: ignore[arg-type]

    def about(self, k: int) -> ConstraintRow:
        """No turn about axis k of the first frame: a small angle in a planar loop, else x_2 stays across y_1."""
        flat = self.constant_axis(self.first, k)
        if flat is not None:
            rows = list(self.rotation())
            if not any(rows[i].J or not is_zero(rows[i].h) for i in OTHERS[flat]):
                return replace(rows[flat], name=f"{self.cut.name}.r{XYZ[k]}")
        i, j = OTHERS[k]
        return self.perpendicular("r" + XYZ[k], j, i, 1)

    def aligned(self, axis: int, rows: list[int]) -> Iterator[ConstraintRow]:
        """No turn of the frames' common axis about the other axes, those in `rows`: a_1 . axis_2 = 0."""
        i, j = OTHERS[axis]
        for k in rows:
            # about axis i of the first frame: axis_2 leaves -j; about j: it goes to +i
            other, sign = (j, -1) if k == i else (i, 1)
            yield self.perpendicular("r" + XYZ[k], other, axis, sign, axis)

    def perpendicular(
        self, name: str, of_first: int, of_second: int, sign: int, parallel: int | None = None
    ) -> ConstraintRow:
        """sign a_1 . b_2 = 0; its rate is (omega_2 - omega_1) . (b_2 x a_1), an exact derivative."""
        a = direction(self.tree, self.first, self.base, t3.along(of_first, sign))
        b = direction(self.tree, self.second, self.base, t3.along(of_second, 1))
        h, slopes, bias = _dot(a, b)
        about = f"{XYZ[of_second]} of its second frame crossed with {XYZ[of_first]} of its first"
        text = f"torque on {self.bodies[1]!r} by {self.cut.name!r} about {about}, N m"
        side = None
        if parallel is not None:
            along = direction(self.tree, self.first, self.base, t3.along(parallel, 1))
            side = t3.dot(along.value, b.value)
        return self.row(name, h, slopes, bias, "rad", text, side, crossed=(b.value, a.value))

    def row(
        self,
        name: str,
        h: Any,
        slopes: dict[int, Any],
        bias: Any,
        unit: str,
        meaning: str,
        side: Any = None,
        force: Vec = t3.ZERO,
        torque: Vec = t3.ZERO,
        crossed: tuple[Vec, Vec] | None = None,
    ) -> ConstraintRow:
        cut = self.cut
        switch = f"s_{cut.name}" if cut.switched else None
        wrench = UnitWrench(force, torque, crossed)
        return ConstraintRow(f"{cut.name}.{name}", cut.name, h, slopes, 0, bias, switch, unit, meaning, side, wrench)


def _time_derivatives(x: Any) -> tuple[Any, Any]:
    """dx/dt and d2x/dt2 of an expression of parameters and the time."""
    time = next((s for s in free_symbols([x]) if s.data.role == "time"), None) if isinstance(x, Node) else None
    if time is None:
        return 0, 0
    rate = jacobian([x], [time])[0][0]
    return rate, jacobian([rate], [time])[0][0] if isinstance(rate, Node) else 0


# -- arithmetic of carried vectors


def _difference(a: CarriedVector, b: CarriedVector) -> CarriedVector:
    columns: Columns = dict(a.columns)
    for i, c in b.columns.items():
        columns[i] = t3.add(columns.get(i, t3.ZERO), t3.negative(c))

    def minus(u: Vec, v: Vec) -> Vec:
        return t3.add(u, t3.negative(v))

    return CarriedVector(minus(a.value, b.value), columns, minus(a.rate, b.rate), minus(a.bias, b.bias))


def _dot(a: CarriedVector, b: CarriedVector) -> tuple[Any, dict[int, Any], Any]:
    """a . b, its slopes by velocities and its bias."""
    slopes = {i: t3.dot(a.value, c) for i, c in b.columns.items()}
    for i, c in a.columns.items():
        slopes[i] = t3.plus(slopes.get(i, 0), t3.dot(c, b.value))
    twice = t3.times(2, t3.dot(a.rate, b.rate))
    bias = t3.total((t3.dot(a.bias, b.value), twice, t3.dot(a.value, b.bias)))
    return t3.dot(a.value, b.value), _nonzero(slopes), bias


def _component(columns: Columns, k: int) -> dict[int, Any]:
    return _nonzero({i: c[k] for i, c in columns.items()})


def _nonzero(slopes: dict[int, Any]) -> dict[int, Any]:
    return {i: slopes[i] for i in sorted(slopes) if not is_zero(slopes[i])}
