"""Points and directions as an ancestor sees them: position, Jacobian columns, velocity and bias acceleration.

Regressive (robotran 3.2): a vector is carried from the Link that owns it inward to the ancestor, and with it the
columns of the Links passed, which are sparsest where they arise: a rotation gives axis x arm, a permutation with signs.
Links whose axes stay parallel make a run, through which vectors turn once, by the sum of the angles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from symbody.mechanics.formalisms.frames import Frame, path
from symbody.mechanics.formalisms.link_motion import joint_drift, joint_twist
from symbody.mechanics.formalisms.tree import Link, Tree
from symbody.mechanics.formalisms.vec3 import (
    ZERO,
    Mat,
    Vec,
    axis_vector,
    cross,
    is_null,
    mat,
    plus,
    rotate,
    sum_of,
    times,
    vec,
)
from symbody.symbolic.expr.arrays import cos_sin

Columns = dict[int, Vec]  # index of a velocity -> vector per unit of it
Turn = Callable[[Vec], Vec]


@dataclass(frozen=True, eq=False, slots=True)
class CarriedVector:
    """A vector in the axes of an ancestor: a point (arm from the ancestor's origin) or a direction fixed to a Link.

    columns of its rate; rate, bias: first derivative, and second one at qdd = 0, as the ancestor sees them.
    """

    value: Vec
    columns: Columns = field(default_factory=dict)
    rate: Vec = ZERO
    bias: Vec = ZERO


def point(tree: Tree, f: Frame, base: int, rate: bool = True) -> CarriedVector:
    """The origin of a frame as the Link `base` sees it, m. Without `rate` its rate is not asked for, and not valid."""
    return _carry(tree, f.link, base, f.position, True, rate)


def direction(tree: Tree, f: Frame, base: int, v: Vec) -> CarriedVector:
    """A vector v that is fixed in a frame, given in the frame's axes, as the Link `base` sees it."""
    return _carry(tree, f.link, base, v if f.rotation is None else f.rotation @ v, False, True)


def spin(tree: Tree, link: int, base: int) -> CarriedVector:
    """Angular motion of a Link relative to `base`, in its axes: rate omega (rad/s), bias alpha at qdd = 0; no value."""
    out = CarriedVector(ZERO)
    for run in reversed(list(_runs(tree, path(tree, link, base)))):
        out = _spin_through(run, out)
    return out


# -- runs of Links with parallel axes


@dataclass(frozen=True, eq=False, slots=True)
class _AxisRun:
    """Links, outward, that turn about one axis of their common stem (or slide); stem axes to parent axes: fixed."""

    links: list[Link]
    fixed: Mat | None


def _runs(tree: Tree, links: list[int]) -> Iterator[_AxisRun]:
    run: list[Link] = []
    axis: int | None = None
    for k in links:
        link = tree.links[k]
        own = link.axis if link.motion.about_axis else None  # a slide fits any run
        joins = bool(run) and link.rotation is None and link.motion.axial and run[-1].motion.axial
        if joins and (own is None or axis is None or own == axis):
            run.append(link)
            axis = own if axis is None else axis
            continue
        if run:
            yield _run(run)
        run, axis = [link], own
    if run:
        yield _run(run)


def _run(links: list[Link]) -> _AxisRun:
    rotation = links[0].rotation
    return _AxisRun(links, None if rotation is None else mat(rotation))


# -- inward


def _carry(tree: Tree, link: int, base: int, v: Vec, is_point: bool, rate: bool) -> CarriedVector:
    out = CarriedVector(v)
    for run in reversed(list(_runs(tree, path(tree, link, base)))):
        axial = run.links[0].motion.axial
        ends = run.links[0].parent == base and not rate
        out = _through(run, out, is_point, ends) if axial else _through_columns(run.links[0], out, is_point)
        out = _turned(out, _matrix(run.fixed))
        if is_point:
            out = CarriedVector(vec(run.links[0].offset) + out.value, out.columns, out.rate, out.bias)
    return out


def _through(run: _AxisRun, m: CarriedVector, is_point: bool, ends: bool) -> CarriedVector:
    """From the axes of the last Link of a run to the stem's; the origin becomes that of the first joint frame."""
    axis, angles, rates = _axis(run), [ZERO[0]], [ZERO[0]]
    for link in run.links:
        turns = link.motion.turns
        angles.append(plus(angles[-1], link.q) if turns else angles[-1])
        rates.append(plus(rates[-1], link.qd) if turns else rates[-1])
    m = _turned(m, _rotation(axis, angles[-1]))
    value, rate, bias, columns = m.value, m.rate, m.bias, dict(m.columns)
    # what turns with the last Link: its Coriolis and centripetal terms; then each arm with its own angle and rate
    rate, bias = _spun(axis, rates[-1], value, rate, bias, ends)
    for k in reversed(range(len(run.links))):
        link, before = run.links[k], _rotation(axis, angles[k])
        if link.motion.turns:
            _add_column(columns, link, 0, cross(axis_vector(axis, 1), value))
        if is_point and link.motion.slides:
            along = before(axis_vector(link.axis, 1))
            pitch = link.advance
            _add_column(columns, link, 0, pitch * along)
            slide, speed = times(pitch, link.q) * along, times(pitch, link.qd) * along
            value = value + slide
            if link.motion.is_slide:
                turned = _spun(axis, rates[k], slide, speed, ZERO, ends)
                rate, bias = rate + turned[0], bias + turned[1]
            else:
                rate = rate + speed
        if is_point and k > 0 and not is_null(vec(link.offset)):
            arm = before(vec(link.offset))
            value = value + arm
            turned = _spun(axis, rates[k], arm, ZERO, ZERO, ends)
            rate, bias = rate + turned[0], bias + turned[1]
    return CarriedVector(value, columns, rate, bias)


def _spun(axis: int, omega: Any, value: Vec, rate: Vec, bias: Vec, ends: bool) -> tuple[Vec, Vec]:
    """Rate and bias of a vector in axes that turn with the constant rate omega about an axis, seen from outside.

    ends: nobody asks for the rate; then a centripetal term alone goes by the square of omega.
    """
    if ends and is_null(rate):
        square = times(omega, omega)
        across = (0 if k == axis else value[k] for k in range(3))
        return ZERO, bias - square * vec(list(across))
    outside = rate + cross(axis_vector(axis, omega), value)
    return outside, bias + cross(axis_vector(axis, omega), outside + rate)


def _through_columns(link: Link, m: CarriedVector, is_point: bool) -> CarriedVector:
    """From the axes of a Link that is not axial, in which the columns of its twist are written, to the stem's."""
    columns, (omega, speed) = dict(m.columns), joint_twist(link, link.qd)
    for k, (angular, linear) in enumerate(link.twists):
        across = cross(angular, m.value)
        _add_column(columns, link, k, across + linear if is_point else across)
    lift = cross(omega, m.value)
    rate, bias = m.rate + lift, m.bias + cross(omega, lift + 2 * m.rate)
    drift = joint_drift(link, link.qd)
    bias = bias + cross(drift[0], m.value)
    if is_point and link.motion.slides:
        rate, bias = rate + speed, bias + (cross(omega, speed) + drift[1])
    rotation, shift = link.displacement
    out = _turned(CarriedVector(m.value, columns, rate, bias), _matrix(rotation))
    if not is_point or not link.motion.slides:
        return out
    return CarriedVector(shift + out.value, out.columns, out.rate, out.bias)


def _spin_through(run: _AxisRun, m: CarriedVector) -> CarriedVector:
    """Angular velocity and its bias, from the axes of a run's last Link to those of its parent."""
    first, columns = run.links[0], dict(m.columns)
    if not first.motion.axial:
        (omega, _), turn = joint_twist(first, first.qd), _matrix(first.displacement[0])
        for k, (angular, _) in enumerate(first.twists):
            _add_column(columns, first, k, angular)
        bias = m.bias + cross(omega, m.rate) + joint_drift(first, first.qd)[0]
        m = CarriedVector(ZERO, columns, m.rate + omega, bias)
        return _turned(_turned(m, turn), _matrix(run.fixed))
    turning = [k for k in run.links if k.motion.turns]
    if not turning:
        return _turned(m, _matrix(run.fixed))
    axis = _axis(run)
    m = _turned(m, _rotation(axis, sum_of(k.q for k in turning)))
    columns, own = dict(m.columns), axis_vector(axis, sum_of(k.qd for k in turning))
    for link in turning:
        _add_column(columns, link, 0, axis_vector(axis, 1))
    m = CarriedVector(ZERO, columns, m.rate + own, m.bias + cross(own, m.rate))
    return _turned(m, _matrix(run.fixed))


# -- turns


def _axis(run: _AxisRun) -> int:
    return next((k.axis for k in run.links if k.motion.about_axis), 0)


def _rotation(axis: int, angle: Any) -> Turn:
    if isinstance(angle, int):
        return lambda v: v  # no turn yet
    c, s = cos_sin(angle)
    return lambda v: rotate(axis, c, s, v)


def _matrix(m: Mat | None) -> Turn:
    return (lambda v: v) if m is None else (lambda v: m @ v)


def _turned(m: CarriedVector, turn: Turn) -> CarriedVector:
    return CarriedVector(turn(m.value), {i: turn(c) for i, c in m.columns.items()}, turn(m.rate), turn(m.bias))


def _add_column(columns: Columns, link: Link, component: int, v: Vec) -> None:
    """The column of a Link's velocity component, given to the velocities of the Mechanism that it is made of."""
    if is_null(v):
        return
    for i, factor in link.columns[component]:
        columns[i] = columns.get(i, ZERO) + factor * v
