"""Where a wheel touches the ground, and how it slides there (robotran 3.9, signs corrected).

The wheel is a thin disc about its axle j, with the contact point Q on its edge and one tangent T1 common to disc and
ground. Frames: T1 forward, j, T3 from Q to the centre; S1 = T1, S2 = n x S1 to the left, S3 = n the ground's normal.
n = sin(camber) j + cos(camber) T3: camber is positive when the top leans to the right.
Only the axle is used, never the wheel's angle, so that no joint of the wheel needs to be known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from symbody.mechanics.formalisms.vec3 import Vec, axis_vector, cross, dot, minus, vec
from symbody.model.library.grounds import Ground, surface
from symbody.symbolic.expr.call import call
from symbody.symbolic.expr.graph import Graph
from symbody.symbolic.expr.implicit import solve


@dataclass(frozen=True, eq=False)
class Contact:
    """Contact of a disc with the ground, in world axes.

    radius            from the centre to the contact point Q, m: smaller than the free radius where the tyre is pressed
    point             Q (3,), m
    forward           T1 = S1; side: S2; normal: S3; up: T3 (all (3,), unit)
    axle              j (3,), unit
    camber_sin, camber_cos   of the angle between disc and normal
    """

    radius: Any
    point: Vec
    forward: Vec
    side: Vec
    normal: Vec
    up: Vec
    axle: Vec
    camber_sin: Any
    camber_cos: Any

    @property
    def camber(self) -> Any:
        return call("atan2", self.camber_sin, self.camber_cos)


def on_plane(centre: Vec, axle: Vec, normal: Vec, offset: Any) -> Contact:
    """Contact with the plane n . p = offset, in closed form."""
    across = cross(axle, normal)
    lean = dot(axle, normal)
    level: Any = call("sqrt", dot(across, across))
    forward = 1 / level * across
    up = cross(forward, axle)
    radius = minus(dot(normal, centre), offset) / level
    point = centre - radius * up
    return Contact(radius, point, forward, cross(normal, forward), normal, up, axle, lean, level)


def on_ground(centre: Vec, axle: Vec, ground: Ground, graph: Graph, name: str = "wheel") -> Contact:
    """Contact with any smooth ground: an implicit block for x, y of Q, the angle of T1 and the radius.

    robotran (1.64), (1.65): Q lies on disc and ground, and T1 is tangent to both. The guess is the contact with a
    level plane at the height below the centre.
    """
    if ground.normal is not None:
        return on_plane(centre, axle, vec(ground.normal), ground.offset)
    level = on_plane(centre, axle, axis_vector(2, 1), ground.height(centre[0], centre[1]))
    x, y, angle, radius = (graph.symbol(n, "input", scope=name) for n in ("x", "y", "angle", "radius"))
    c: Any = call("cos", angle)
    s: Any = call("sin", angle)
    # T1 and T3 of the level plane, turned about the axle
    forward = c * level.forward - s * level.up
    up = s * level.forward + c * level.up
    height, across = surface(ground, x, y)
    normal = vec(across)
    gap = centre - (radius * up + Vec((x, y, height)))
    found = solve(
        [*gap, dot(forward, normal)],
        [x, y, angle, radius],
        [level.point[0], level.point[1], 0, level.radius],
        name=f"{name}_contact",
    )

    def at(v: Vec) -> Vec:
        return vec(found.at(list(v)))

    n, t1, up = at(normal), at(forward), at(up)
    return Contact(
        found.x[3], Vec((found.x[0], found.x[1], found.at(height))), t1, cross(n, t1), n, up, axle,
        dot(axle, n), dot(up, n),
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Sliding:
    """Velocities at the contact point, m/s, and slips.

    along, across, lift   of the wheel's material at Q, along S1, S2, S3: along and across are zero when it rolls
    speed                 of Q itself along S1, without the wheel's spin (v_geo)
    travel                |speed|, rounded near rest
    kappa, alpha          slip -along/travel, and tangent of the slip angle across/travel
    slip_angle            rad, positive when the wheel slides to the left
    """

    along: Any
    across: Any
    lift: Any
    speed: Any
    travel: Any
    kappa: Any
    alpha: Any

    @property
    def slip_angle(self) -> Any:
        return call("atan", self.alpha)


def sliding(contact: Contact, velocity: Vec, omega: Vec, slowest: Any) -> Sliding:
    """Velocities at Q from those of the wheel (centre velocity m/s, omega rad/s, world axes).

    v_ct = v + omega x (-r T3); v_geo = v_ct + spin r T1 (robotran (1.71), sign corrected), spin = omega . j: the whole
    angular velocity along the axle, so that a pitching carrier makes no slip. |v_x| is sqrt(v_x^2 + slowest^2).
    """
    arm = -(contact.radius * contact.up)
    v = velocity + cross(omega, arm)
    along, across, lift = (dot(v, d) for d in (contact.forward, contact.side, contact.normal))
    speed = along + dot(omega, contact.axle) * contact.radius
    travel = call("sqrt", speed * speed + slowest * slowest)
    return Sliding(along, across, lift, speed, travel, -along / travel, across / travel)
