"""Contacts with the ground, a second time: points that are pushed out, and wheels with their tyres."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from symbody.reference import jets
from symbody.reference.expressions import function, power
from symbody.reference.jets import Array, Jet, constant, cross, dot, scaled, stack
from symbody.reference.loads import NumericElement
from symbody.reference.tyre_formula import coefficients, forces
from symbody.symbolic.expr.graph import Graph

# -- grounds


@dataclass(frozen=True, eq=False)
class Surface:
    """A plane (normal, offset), or the height above (x, y) with its slopes, all as Jets."""

    normal: Array | None = None
    offset: float = 0.0
    height: Callable[[Jet, Jet], tuple[Jet, Jet, Jet]] | None = None

    def at(self, x: Jet, y: Jet) -> tuple[Jet, Jet]:
        """(height, unit normal)."""
        if self.normal is not None:
            n = self.normal
            return (self.offset - x * n[0] - y * n[1]) * (1 / n[2]), constant(np.broadcast_to(n, (*x.x.shape, 3)), x)
        assert self.height is not None
        z, along_x, along_y = self.height(x, y)
        size = power(1 + along_x * along_x + along_y * along_y, -0.5)
        return z, stack([-along_x * size, -along_y * size, size])


def surface(element: NumericElement) -> Surface:
    """The ground that an element stands on."""
    given = element.force.values.get("ground", "flat")
    if not isinstance(given, str):
        return _foreign(element, given)
    if given == "flat":
        return Surface(np.array([0.0, 0.0, 1.0]), element.number("height", 0.0))
    if given == "slope":
        up = np.array([-element.number("slope_x", 0.0), -element.number("slope_y", 0.0), 1.0])
        size = float(np.linalg.norm(up))
        return Surface(up / size, element.number("height", 0.0) / size)
    if given == "sinusoid":
        amplitude, wave = element.number("amplitude"), 2 * np.pi / element.number("wavelength")
        phase, base = element.number("phase", 0.0), element.number("height", 0.0)
        heading = element.number("heading", 0.0)
        c, s = float(np.cos(heading)), float(np.sin(heading))

        def waves(x: Jet, y: Jet) -> tuple[Jet, Jet, Jet]:
            angle = (x * c + y * s) * wave + phase
            slope = jets.cos(angle) * (amplitude * wave)
            return jets.sin(angle) * amplitude + base, slope * c, slope * s

        return Surface(height=waves)
    from scipy.interpolate import CubicSpline

    number = element.motion.model.number
    spline = CubicSpline(
        number(list(element.force.values["positions"])),
        number(list(element.force.values["heights"])),
        bc_type="natural",
    )

    def profile(x: Jet, y: Jet) -> tuple[Jet, Jet, Jet]:
        z, slope, bend, last = (spline(x.x, nu=k) for k in range(4))
        return jets.compose(x, z, slope, bend), jets.compose(x, slope, bend, last), x * 0.0

    return Surface(height=profile)


def _foreign(element: NumericElement, given: Any) -> Surface:
    """A ground of the user: a record with normal and offset, or a function of nodes (x, y) -> height."""
    element.into.foreign.append(f"{element.force.name} (ground)")
    number = element.motion.model.number
    if getattr(given, "normal", None) is not None:
        return Surface(number(list(given.normal)), float(number(given.offset)))
    make = getattr(given, "height", given)
    graph = Graph("ground")
    symbols = [graph.symbol(n, "input") for n in ("x", "y")]
    with graph:
        node = make(*symbols)

    def height(x: Jet, y: Jet) -> tuple[Jet, Jet, Jet]:
        def along(dx: float, dy: float) -> Jet:
            one = np.ones_like(x.x)
            paths = {"x": Jet(x.x, dx * one, 0 * one), "y": Jet(y.x, dy * one, 0 * one)}
            found: Jet = number.jet(node, paths)
            return found

        fx, fy, both = along(1, 0), along(0, 1), along(1, 1)
        mixed = (both.x2 - fx.x2 - fy.x2) / 2  # polarisation
        z = Jet(fx.x, fx.x1 * x.x1 + fy.x1 * y.x1)
        return z, Jet(fx.x1, fx.x2 * x.x1 + mixed * y.x1), Jet(fy.x1, mixed * x.x1 + fy.x2 * y.x1)

    return Surface(height=height)


# -- a point


def ramp(x: Jet, width: float) -> tuple[Array, Jet]:
    """(max(x, 0) with a corner rounded over width, its integral)."""
    if width == 0:
        above = jets.where(x.x > 0, x, 0.0, x)
        return above.x, power(above, 2) * 0.5
    s = power(x * x + width**2, 0.5)
    arc = function("asinh", [x * (1 / width)], x)
    return (x.x + s.x) / 2, (x * x + x * s + arc * width**2) * 0.25


def pressing(depth: Array, rate: Array, stiffness: float, damping: float, width: float) -> Array:
    """Normal force, never negative: sharp, or smooth after Hunt and Crossley."""
    if width == 0:
        return np.where(depth > 0, np.maximum(stiffness * depth + damping * rate, 0.0), 0.0)
    d = (depth + np.sqrt(depth**2 + width**2)) / 2
    spring = stiffness + damping * rate / (d + width)
    return d * (spring + np.sqrt(spring**2 + (stiffness / 100) ** 2)) / 2


def compressed(depth: Jet, stiffness: float, width: float) -> Jet:
    """Energy of the elastic part: the integral of `pressing` at rest."""
    share = stiffness
    if width != 0:
        share = (stiffness + float(np.hypot(stiffness, stiffness / 100))) / 2
    return ramp(depth, width)[1] * share


def contact(element: NumericElement) -> None:
    """A point that the ground pushes out, with friction."""
    at, ground = element.points[0].position, surface(element)
    z, n = ground.at(at[..., 0], at[..., 1])
    depth = ground.offset - dot(n, at) if ground.normal is not None else n[..., 2] * (z - at[..., 2])
    velocity = at.x1
    lift = np.sum(n.x * velocity, axis=-1)
    stiffness, width = element.number("stiffness"), element.number("width", 0.0)
    load = pressing(depth.x, -lift, stiffness, element.number("damping", 0.0), width)
    force = load[:, None] * n.x
    if element.has("friction"):
        sliding = velocity - lift[:, None] * n.x
        speed = np.sqrt(np.sum(sliding**2, axis=-1) + element.number("slowest", 0.01) ** 2)
        force = force - (element.number("friction") * load / speed)[:, None] * sliding
    element.show("depth", depth.x)
    element.show("Fn", load)
    element.push(0, force, np.zeros_like(force))
    element.store(compressed(depth, stiffness, width))


# -- a wheel


@dataclass(frozen=True, eq=False)
class Rolling:
    """Where a wheel touches the ground and how it slides there; Jets where rates are needed."""

    radius: Jet
    forward: Array
    side: Array
    normal: Array
    up: Array
    cosine: Jet
    camber: Array
    along: Array
    across: Array
    lift: Array
    speed: Array
    travel: Array


def rolling(element: NumericElement) -> Rolling:
    """Geometry of a thin disc on the ground, and its slips."""
    pose, ground = element.points[0], surface(element)
    axle = pose.rotation[..., "xyz".index(element.word("axle", "y"))]
    if ground.normal is not None:
        normal = constant(np.broadcast_to(ground.normal, pose.position.x.shape), pose.position)
        radius, forward, up = _on_plane(pose.position, axle, normal, constant(ground.offset, pose.position[..., 0]))
    else:
        radius, forward, up, normal = _on_surface(pose.position, axle, ground)
    arm = -radius.x[:, None] * up.x
    w = pose.omega
    v = pose.position.x1 + np.cross(w, arm)
    side = np.cross(normal.x, forward.x)
    along, across, lift = (np.sum(v * d, axis=-1) for d in (forward.x, side, normal.x))
    speed = along + radius.x * np.sum(w * axle.x, axis=-1)
    travel = np.hypot(speed, element.number("slowest", 0.1))
    cosine = dot(up, normal)
    camber = np.arctan2(np.sum(axle.x * normal.x, axis=-1), cosine.x)
    for name, value in (
        ("slip", -along / travel),
        ("slip_angle", np.arctan(across / travel)),
        ("camber", camber),
        ("radius", radius.x),
        ("sliding_x", along),
        ("sliding_y", across),
    ):
        element.show(name, value)
    return Rolling(radius, forward.x, side, normal.x, up.x, cosine, camber, along, across, lift, speed, travel)


def _on_plane(centre: Jet, axle: Jet, normal: Jet, offset: Jet) -> tuple[Jet, Jet, Jet]:
    """(radius, T1, T3): T1 is tangent to the disc and to the plane."""
    across = cross(axle, normal)
    level = power(dot(across, across), 0.5)
    forward = scaled(across, 1 / level)
    return (dot(normal, centre) - offset) / level, forward, cross(forward, axle)


def _on_surface(centre: Jet, axle: Jet, ground: Surface) -> tuple[Jet, Jet, Jet, Jet]:
    """(radius, T1, T3, normal) by Newton's iteration for x, y of the contact point, the angle about the axle, radius.

    The last step is taken with Jets: Newton's step at the solution gives the rates of the solution.
    """
    level = constant(np.broadcast_to(np.array([0.0, 0.0, 1.0]), centre.x.shape), centre)
    base, _ = ground.at(centre[..., 0], centre[..., 1])
    radius, forward, up = _on_plane(centre, axle, level, base)
    point = centre - scaled(up, radius)

    def residual(x: Jet) -> tuple[Jet, Jet, Jet, Jet]:
        c, s = jets.cos(x[..., 2]), jets.sin(x[..., 2])
        t1, t3 = scaled(forward, c) - scaled(up, s), scaled(forward, s) + scaled(up, c)
        z, n = ground.at(x[..., 0], x[..., 1])
        gap = centre - scaled(t3, x[..., 3]) - stack([x[..., 0], x[..., 1], z])
        return stack([gap[..., 0], gap[..., 1], gap[..., 2], dot(t1, n)]), t1, t3, n

    def slopes(x: Array) -> Array:
        """(n, 4, 4) by a central difference, which only steers the iteration."""
        out = np.empty((*x.shape, 4))
        for k in range(4):
            step = np.zeros(4)
            step[k] = 1e-6
            there, here = (residual(constant(x + s * step, centre))[0].x for s in (1, -1))
            out[..., k] = (there - here) / 2e-6
        return out

    x = np.stack([point.x[:, 0], point.x[:, 1], 0 * radius.x, radius.x], axis=-1)
    for _ in range(40):
        f = residual(constant(x, centre))[0].x
        if not np.any(np.abs(f) > 1e-15):
            break
        x = x - np.linalg.solve(slopes(x), f[..., None])[..., 0]
    rate = -np.linalg.solve(slopes(x), residual(constant(x, centre))[0].x1[..., None])[..., 0]
    for _ in range(3):  # slopes by differences leave 1e-10; the residual of the rates is exact
        left = residual(Jet(x, rate))[0].x1
        rate = rate - np.linalg.solve(slopes(x), left[..., None])[..., 0]
    found = Jet(x, rate)
    _, t1, t3, n = residual(found)
    return found[..., 3], t1, t3, n


def press_on(element: NumericElement, at: Rolling, force: Array, moment: Array) -> Array:
    """A force and a moment (n, 3) along S1, S2, S3 at the contact point; their power, W."""
    axes = np.stack([at.forward, at.side, at.normal], axis=1)
    world, torque = (np.einsum("nki,nk->ni", axes, v) for v in (force, moment))
    point = element.points[0].position.x - at.radius.x[:, None] * at.up
    return element.push(0, world, torque, point)


def wheel(element: NumericElement) -> None:
    """The contact wrench is an input."""
    at = rolling(element)
    wrench = element.input(f"W_{element.name}", 6)
    element.give(press_on(element, at, wrench[:, :3], wrench[:, 3:]))


def tyre(element: NumericElement) -> None:
    """A wheel with a law for its forces."""
    law = element.word("law", "linear")
    record = coefficients(element) if law == "magic_formula" else {}
    at = rolling(element)
    kappa = _relaxed(element, at, "relaxation_x", "slip", -at.along / at.travel)
    tangent = _relaxed(element, at, "relaxation_y", "side", at.across / at.travel)
    free = element.number("radius", record.get("UNLOADED_RADIUS"))
    depth = at.cosine * (free - at.radius)
    element.show("penetration", depth.x)
    if law == "external":
        names = {"penetration": depth.x, "slip_angle": np.arctan(tangent), "camber": at.camber, "slip": kappa}
        names |= {"rate": -at.lift, "t": np.asarray(element.motion.t)}
        values = element.user(element.force.values["function"], names)
    else:
        stiffness = element.number("stiffness", record.get("VERTICAL_STIFFNESS"))
        damping, width = element.number("damping", record.get("VERTICAL_DAMPING", 0.0)), element.number("width", 0.0)
        load = pressing(depth.x, -at.lift, stiffness, damping, width)
        element.store(compressed(depth, stiffness, width))
        if law == "linear":
            fx, fy, mx, my, mz = _linear(element, load, kappa, np.arctan(tangent), at)
        else:
            fx, fy, mx, my, mz = forces(record, load, kappa, tangent, at.camber, at.travel, at.speed / at.travel)
        values = [fx, fy, load, mx, my, mz]
    for name, k in (("Fx", 0), ("Fy", 1), ("Fz", 2), ("Mz", 5)):
        element.show(name, values[k])
    stacked = np.stack([np.broadcast_to(v, (element.motion.count,)) for v in values], axis=-1)
    power_in = press_on(element, at, stacked[:, :3], stacked[:, 3:])
    if law == "external":
        element.give(power_in)


def _relaxed(element: NumericElement, at: Rolling, key: str, name: str, slip: Array) -> Array:
    """A slip, or the state that follows it over a length of travel."""
    if not element.has(key):
        return slip
    state = f"x_{element.name}_{name}"
    x = element.input(state)
    element.into.rates[state] = at.travel * (slip - x) / element.number(key)
    return x


def _linear(element: NumericElement, load: Array, kappa: Array, alpha: Array, at: Rolling) -> tuple[Array, ...]:
    """Stiffnesses for slip, slip angle and camber, with a soft limit of their resultant."""
    stiff = {k: element.number(f"{k}_stiffness", 0.0) for k in ("slip", "cornering", "camber")}
    pair = np.stack([stiff["slip"] * kappa, -stiff["cornering"] * alpha - stiff["camber"] * at.camber])
    if element.has("friction"):
        limit = element.number("friction") * load
        pair = pair * limit / np.sqrt(limit**2 + np.sum(pair**2, axis=0) + 1e-12)
    else:
        pair = np.where(load > 0, pair, 0.0)
    resistance = -element.number("rolling_resistance", 0.0) * at.radius.x * load
    return pair[0], pair[1], np.zeros_like(load), resistance, -element.number("trail", 0.0) * pair[1]
