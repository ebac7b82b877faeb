"""A fluid around an ellipsoid: added mass, lift and drag, as MuJoCo's fluid model of ellipsoids has them.

Andersen, Pesavento, Wang (2005) for the forces of plates, Tuckerman (1925) for the added mass of ellipsoids; MuJoCo's
documentation, "Fluid forces", for how they are put together.
"""

from __future__ import annotations

from math import pi
from typing import Any

from symbody.mechanics.formalisms.point_motions import from_frame, to_frame
from symbody.mechanics.formalisms.vec3 import ZERO, Vec, cross, dot, times, vec
from symbody.mechanics.formalisms.wrenches import TreeElement
from symbody.model.library.force_element import Account
from symbody.symbolic.expr.call import call

STILL = 1e-200  # beside a square: a norm at rest then has the derivative 0; and the least divisor


def ellipsoid_drag(element: TreeElement) -> None:
    """Force and moment at the origin of the frame, whose axes are those of the ellipsoid.

    v (3,) m/s is the velocity of the frame's origin in the fluid, whose own velocity in world axes is `wind`; w (3,)
    rad/s its angular velocity. The parts of added mass that are proportional to accelerations are left out.
    """
    m, f = element.motions[0], element.frames[0]
    wind = vec(element.values("wind")) if element.given("wind") else ZERO
    v = to_frame(m.rotation, m.velocity - wind)
    w = to_frame(m.rotation, m.omega)
    force, moment = _added_mass(element, v, w)
    lift, turning = _viscous(element, v, w)
    force, moment = force + lift, moment + turning
    element.wrenches.push_at(f, from_frame(f.rotation, force), from_frame(f.rotation, moment))
    element.account(
        lambda: Account(lost=-element.power_world(from_frame(m.rotation, force), from_frame(m.rotation, moment)))
    )


def _added_mass(element: TreeElement, v: Vec, w: Vec) -> tuple[Vec, Vec]:
    """p x w, and p x v + L x w, with the momenta p and L of the fluid that moves along."""
    p, spin = (
        vec([times(a, b) for a, b in zip(element.values(name), x)]) if element.given(name) else ZERO
        for name, x in (("added_mass", v), ("added_inertia", w))
    )
    return cross(p, w), cross(p, v) + cross(spin, w)


def _viscous(element: TreeElement, v: Vec, w: Vec) -> tuple[Vec, Vec]:
    """Stokes' drag of the sphere of mean radius, quadratic drag by the projected area, and the lift of Kutta and
    Magnus."""
    a, b, c = element.values("semiaxes")
    rho, nu = element.value("density"), element.value("viscosity")
    blunt, slender, angular, kutta, magnus = (
        element.value(n) for n in ("blunt", "slender", "angular", "kutta", "magnus")
    )
    longest, shortest = call("max", call("max", a, b), c), call("min", call("min", a, b), c)
    middle = a + b + c - longest - shortest
    # squares of the semiaxes' products: the ellipsoid's shadow in the direction of v
    shadows = [(b * c) ** 2, (c * a) ** 2, (a * b) ** 2]
    normal = vec([times(s, x) for s, x in zip(shadows, v)])
    over, under = dot(normal, normal), dot(normal, v)
    speed = _norm(v)
    area = pi * call("sqrt", (over + STILL) / call("max", under, STILL))
    slope = under / call("max", speed * over, STILL)
    lift = kutta * rho * slope * area * cross(cross(normal, v), v)
    spin = magnus * rho * (4 * pi / 3) * a * b * c * cross(w, v)
    diameter = (a + b + c) * 2 / 3
    along = nu * 3 * pi * diameter + rho * speed * (area * blunt + slender * (pi * longest * middle - area))
    # moments of second degree of area, about each axis, and the largest
    largest = 8 / 15 * pi * middle * longest**4
    own = [8 / 15 * pi * x * call("max", y, z) ** 4 for x, y, z in ((a, b, c), (b, c, a), (c, a, b))]
    braking = vec([times(x, angular * i + slender * (largest - i)) for x, i in zip(w, own)])
    about = nu * pi * diameter**3 + rho * _norm(braking)
    return lift + spin + -along * v, -about * w


def _norm(v: Vec) -> Any:
    return call("sqrt", dot(v, v) + STILL)
