"""Force elements, a second time: each kind of docs/forces.md as a function of a NumericElement, in world axes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from symbody.basics.errors import ModelError
from symbody.reference import jets
from symbody.reference.expressions import power
from symbody.reference.jets import Array, Jet, dot
from symbody.reference.loads import ForeignPlace, Loads, NumericElement
from symbody.reference.wheels import contact, ramp, tyre, wheel

if TYPE_CHECKING:
    from symbody.reference.body_dynamics import BodyMotion


def loads(motion: BodyMotion) -> Loads:
    """Loads of all force elements of the Mechanism."""
    n, bodies = motion.count, len(motion.model.parts)

    def zero(*shape: int) -> Array:
        return np.zeros((n, *shape))

    out = Loads(zero(bodies, 6), zero(bodies), zero(bodies), zero(motion.model.nv), zero(), zero(), zero(), zero())
    for force in motion.model.mechanism.forces:
        element = NumericElement(motion, force, out)
        if force.kind in KINDS:
            KINDS[force.kind](element)
        elif force.kind in motion.model.foreign:
            foreign(element)
        else:
            raise ModelError(f"the reference does not know the kind {force.kind!r} of force {force.name!r}.")
    return out


# -- between two points


def distance(element: NumericElement) -> tuple[Jet, Array]:
    """(Z with its rate, unit vector from the second point to the first)."""
    z = element.points[0].position - element.points[1].position
    length = power(dot(z, z), 0.5)
    element.show("Z", length.x)
    element.show("Zd", length.x1)
    return length, z.x / length.x[:, None]


def along(element: NumericElement, direction: Array, force: Array) -> None:
    """A force that pushes the two points apart when it is positive."""
    element.show("F", force)
    vector, none = force[:, None] * direction, np.zeros_like(direction)
    element.push(0, vector, none)
    element.push(1, -vector, none)


def _unknown(element: NumericElement, law: str) -> ModelError:
    return ModelError(f"the reference does not know law {law!r} of {element.name!r}: nothing judges it.")


def spring_damper(element: NumericElement) -> None:
    z, direction = distance(element)
    k, d, free = element.number("stiffness", 0.0), element.number("damping", 0.0), element.number("length", 0.0)
    law = element.word("law", "linear")
    if law not in ("linear", "cubic", "pull", "push"):
        raise _unknown(element, law)
    k3 = element.number("stiffness3") if law == "cubic" else 0.0
    acting = {"pull": z.x > free, "push": z.x < free}.get(law, np.ones(len(z.x), dtype=bool))
    stretch = jets.where(acting, z - free, 0.0, z)
    force = -k * (z.x - free) - k3 * (z.x - free) ** 3 - d * z.x1
    if law == "pull":
        force = np.where(acting, np.minimum(force, 0), 0)
    elif law == "push":
        force = np.where(acting, np.maximum(force, 0), 0)
    energy = power(stretch, 2) * (k / 2) + power(stretch, 4) * (k3 / 4)
    element.show("E", energy.x)
    element.store(energy)
    along(element, direction, force)


def driven(element: NumericElement) -> Array:
    """Effort of an actuator: its input times the gain, behind a lag, softly limited."""
    effort = element.number("gain", 1.0) * element.input(f"u_{element.name}")
    if element.has("time_constant"):
        state = element.input(f"x_{element.name}")
        element.into.rates[f"x_{element.name}"] = (effort - state) / element.number("time_constant")
        effort = state
    if element.has("limit"):
        effort = element.number("limit") * np.tanh(effort / element.number("limit"))
    return effort


def source(element: NumericElement, force: Array, z: Jet, direction: Array) -> None:
    along(element, direction, force)
    element.give(force * z.x1)


def actuator(element: NumericElement) -> None:
    z, direction = distance(element)
    source(element, driven(element), z, direction)


def link(element: NumericElement) -> None:
    z, direction = distance(element)
    source(element, element.input(f"F_{element.name}"), z, direction)


# -- at one point


def given(element: NumericElement, parts: tuple[str, ...] = ("force", "moment")) -> None:
    """A force and a moment from the record, or inputs where it gives neither; in axes of the world or of the frame."""
    some = any(element.has(p) for p in parts)
    found: dict[str, Array] = {}
    for part, letter in (("force", "F"), ("moment", "M")):
        found[part] = np.zeros((element.motion.count, 3))
        if part in parts and element.has(part):
            found[part] = element.vector(part)
        elif part in parts and not some:
            found[part] = element.input(f"{letter}_{element.name}", 3)
    if element.word("axes", "world") == "body":
        turn = element.points[0].rotation.x
        found = {k: np.einsum("nij,nj->ni", turn, v) for k, v in found.items()}
    element.give(element.push(0, found["force"], found["moment"]))


def outside(element: NumericElement) -> None:
    """A function of the user, or inputs."""
    law, t = element.force.values.get("function"), np.asarray(element.motion.t)
    if len(element.points) == 2:
        z, direction = distance(element)
        if law is None:
            source(element, element.input(f"F_{element.name}"), z, direction)
        else:
            source(element, element.user(law, {"Z": z.x, "Zd": z.x1, "t": t})[0], z, direction)
        return
    if law is None:
        given(element)
        return
    pose = element.points[0]
    r, w = pose.rotation.x, pose.omega
    names = {f"p{k + 1}": pose.position.x[:, k] for k in range(3)}
    names |= {f"v{k + 1}": pose.position.x1[:, k] for k in range(3)}
    names |= {f"R{i + 1}{j + 1}": r[:, i, j] for i in range(3) for j in range(3)}
    names |= {f"w{k + 1}": w[:, k] for k in range(3)} | {"t": t}
    values = np.stack(element.user(law, names), axis=-1)
    moment = values[:, 3:] if values.shape[-1] == 6 else np.zeros((element.motion.count, 3))
    element.give(element.push(0, values[:, :3], moment))


def drag(element: NumericElement) -> None:
    """Each axis of the frame by itself: -(a + b |v|) v."""
    pose = element.points[0]
    still = np.zeros((element.motion.count, 3))
    wind = element.vector("wind") if element.has("wind") else still
    world = []
    for motion, slow, fast in (
        (pose.position.x1 - wind, "linear", "quadratic"),
        (pose.omega, "angular", "angular_quadratic"),
    ):
        own = np.einsum("nji,nj->ni", pose.rotation.x, motion)
        a, b = (element.vector(key) if element.has(key) else still for key in (slow, fast))
        world.append(np.einsum("nij,nj->ni", pose.rotation.x, -(a * own + b * own * np.abs(own))))
    element.push(0, world[0], world[1])


def ellipsoid_drag(element: NumericElement) -> None:
    """MuJoCo's fluid model of an ellipsoid, in its axes: momentum of the fluid, lift, drag."""
    pose, n = element.points[0], element.motion.count
    turn, nothing = pose.rotation.x, np.zeros((element.motion.count, 3))

    def vector(key: str) -> Array:
        return element.vector(key) if element.has(key) else nothing

    def size(x: Array) -> Array:
        return np.sqrt(np.sum(x * x, axis=-1))[:, None]

    v = np.einsum("nji,nj->ni", turn, pose.position.x1 - vector("wind"))
    w = np.einsum("nji,nj->ni", turn, pose.omega)
    s = element.vector("semiaxes")[0]
    rho, nu = element.number("density", 0.0), element.number("viscosity", 0.0)
    blunt, slender = element.number("blunt", 0.5), element.number("slender", 0.25)
    angular, kutta, magnus = (element.number(k, x) for k, x in (("angular", 1.5), ("kutta", 1.0), ("magnus", 1.0)))
    p, spin = vector("added_mass") * v, vector("added_inertia") * w
    volume, mean, ordered = 4 / 3 * np.pi * s.prod(), s.sum() / 3, np.sort(s)
    normal = (s.prod() / s) ** 2 * v
    over, under = np.sum(normal**2, axis=-1)[:, None], np.sum(normal * v, axis=-1)[:, None]
    area = np.pi * np.sqrt(over / np.maximum(under, 1e-200))
    slope = under / np.maximum(size(v) * over, 1e-200)
    force = np.cross(p, w) + magnus * rho * volume * np.cross(w, v)
    force += kutta * rho * slope * area * np.cross(np.cross(normal, v), v)
    drag_area = blunt * area + slender * (np.pi * ordered[2] * ordered[1] - area)
    force -= (6 * np.pi * nu * mean + rho * size(v) * drag_area) * v
    own = np.array([s[i] * max(s[i - 1], s[i - 2]) ** 4 for i in range(3)]) * 8 / 15 * np.pi
    largest = 8 / 15 * np.pi * ordered[1] * ordered[2] ** 4
    moment = np.cross(p, v) + np.cross(spin, w)
    moment -= (8 * np.pi * nu * mean**3 + rho * size((angular * own + slender * (largest - own)) * w)) * w
    assert force.shape == (n, 3)
    element.push(0, np.einsum("nij,nj->ni", turn, force), np.einsum("nij,nj->ni", turn, moment))


def bushing(element: NumericElement) -> None:
    """Towards the pose of the second frame, by the distance and the rotation vector."""
    one, two = element.points
    none = np.zeros((element.motion.count, 3))
    k, stiff = element.number("linear", 0.0), element.number("angular", 0.0)
    d, rate = one.position.x - two.position.x, one.position.x1 - two.position.x1
    turn = one.rotation.x @ np.swapaxes(two.rotation.x, -1, -2)  # in world axes
    half = np.sqrt(1 + np.trace(turn, axis1=-2, axis2=-1))[:, None] / 2
    axis = np.stack([turn[:, i, j] - turn[:, j, i] for i, j in ((2, 1), (0, 2), (1, 0))], axis=-1) / (4 * half)
    sine = np.sqrt(np.sum(axis**2, axis=-1))[:, None]
    small = np.abs(sine) < 1e-8
    v = np.where(small, 2.0, 2 * np.arctan(sine / half) / np.where(small, 1.0, sine)) * axis
    energy = (k * np.sum(d * d, axis=-1) + stiff * np.sum(v * v, axis=-1)) / 2
    element.show("E", energy)
    element.store(Jet(energy, k * np.sum(d * rate, axis=-1) + stiff * np.sum(v * (one.omega - two.omega), axis=-1)))
    element.push(0, -k * d, none - stiff * v)
    element.push(1, k * d, none + stiff * v)


# -- tendons


def tendon(element: NumericElement) -> None:
    """One force on a length: the line through the points, or a sum of coordinates."""
    n = element.motion.count
    length, acts = (_over_joints if element.has("joints") else _through_points)(element)
    element.show("Z", length.x)
    element.show("Zd", length.x1)
    if element.word("law", "spring") == "actuator":
        force = driven(element)
        element.give(force * length.x1)
    else:
        low = element.number("length", 0.0)
        high = low + element.number("slack", 0.0)
        k, d = element.number("stiffness", 0.0), element.number("damping", 0.0)
        above, below = length.x > high, length.x < low
        excess = np.where(above, length.x - high, np.where(below, length.x - low, 0.0))
        rate, speed = length.x1, np.abs(length.x1)
        k2, k3 = element.number("stiffness2", 0.0), element.number("stiffness3", 0.0)
        d2, d3 = element.number("damping2", 0.0), element.number("damping3", 0.0)
        pull = k * excess + k2 * excess**2 + k3 * excess**3
        element.store(Jet(k * excess**2 / 2 + k2 * excess**3 / 3 + k3 * excess**4 / 4, pull * rate))
        force = -pull - d * rate - d2 * rate * speed - d3 * rate**3
    element.show("F", np.broadcast_to(force, (n,)))
    for act in acts:
        act(force)


Acts = list[Callable[[Array], Any]]


def _through_points(element: NumericElement) -> tuple[Jet, Acts]:
    gaps = list(zip(element.points, element.points[1:]))
    given = element.force.values.get("divisors")
    divisors = np.ones(len(gaps)) if given is None else np.ravel(element.motion.model.number(list(given)))
    total, acts = element.zero, Acts()
    none = np.zeros((element.motion.count, 3))
    for k, ((first, second), divisor) in enumerate(zip(gaps, divisors)):
        if divisor == 0:
            continue
        z = first.position - second.position
        size = power(dot(z, z), 0.5)
        total = total + size * (1 / divisor)
        direction = z.x / size.x[:, None] / divisor

        def act(force: Array, k: int = k, direction: Array = direction) -> None:
            element.push(k, force[:, None] * direction, none)
            element.push(k + 1, -force[:, None] * direction, none)

        acts.append(act)
    return total, acts


def _on_velocity(element: NumericElement, iv: int, gain: float, force: Array) -> None:
    element.effort(iv, gain * force)


def _over_joints(element: NumericElement) -> tuple[Jet, Acts]:
    model, motion = element.motion.model, element.motion
    joints = {j.name: j for j in model.mechanism.joints}
    coefficients = np.ravel(model.number(list(element.force.values["coefficients"])))
    total, acts = element.zero, Acts()
    for name, coefficient in zip(element.force.values["joints"], coefficients):
        joint, gain, offset = joints[name], float(coefficient), 0.0
        if joint.mode == "locked":
            total = total + gain * (float(model.number(joint.values[0])) if joint.values else 0.0)
            continue
        if joint.mimic is not None:
            offset = gain * float(model.number(joint.mimic.offset))
            gain *= float(model.number(joint.mimic.ratio))
            name = joint.mimic.joint
        iq, _, iv, _ = model.places.of[str(name)]
        total = total + Jet(motion.q[:, iq], motion.qd[:, iv]) * gain + offset
        acts.append(partial(_on_velocity, element, iv, gain))
    return total, acts


# -- with memory, on a joint or between two points


def along_a_line(element: NumericElement) -> tuple[Jet, Callable[[Array], None]]:
    """(displacement with its rate, what puts a force there)."""
    if len(element.force.points) == 2 and not element.has("joint"):
        z, direction = distance(element)
        return z, lambda force: along(element, direction, force)
    iq, iv = _coordinate(element)

    def act(effort: Array) -> None:
        element.show("F", effort)
        element.effort(iv, effort)

    return Jet(element.motion.q[:, iq], element.motion.qd[:, iv]), act


def bristles(element: NumericElement) -> None:
    """Dahl's friction and LuGre: the share 1 - sigma z sign(v) / limit of the motion bends them."""
    x, act = along_a_line(element)
    v, z = x.x1, element.input(f"x_{element.name}_z")
    sigma, level, viscous = element.number("stiffness"), element.number("level"), 0.0
    limit, damping = np.full_like(v, level), np.zeros_like(v)
    if element.force.kind == "lugre":
        top, speed = element.number("breakaway"), element.number("speed")
        limit = level * (1 - np.exp(-((v / speed) ** 2))) + top * np.exp(-((v / speed) ** 2))
        damping = damping + element.number("damping", 0.0)
        viscous = element.number("coefficient", 0.0)
        if element.has("damping_speed"):
            damping = damping / np.exp((v / element.number("damping_speed")) ** 2)
    bend = v * (1 - np.sign(v) * sigma * z / limit)
    element.into.rates[f"x_{element.name}_z"] = bend
    element.store(Jet(0.5 * sigma * z**2, sigma * z * bend))
    act(-sigma * z - damping * bend - viscous * v)


def stiction(element: NumericElement) -> None:
    x, act = along_a_line(element)
    v, z, way = x.x1, element.input(f"x_{element.name}_z"), element.input(f"m_{element.name}")
    sigma, held = element.number("stiffness"), np.round(way) == 0
    bend = np.where(held, v, 0.0)
    element.into.rates[f"x_{element.name}_z"] = bend
    element.store(Jet(0.5 * sigma * z**2, sigma * z * bend))
    level, top = element.number("level"), element.number("breakaway")
    name, to = element.name, np.sign(z)
    # a guard that its mode has no use for is held off zero
    element.into.events |= {
        f"guard_{name}_breaks": np.where(held, np.abs(sigma * z) - top, -top),
        f"reset_{name}_breaks_m_{name}": to,
        f"reset_{name}_breaks_x_{name}_z": to * (level / sigma),
        f"guard_{name}_sticks": np.where(held, 1.0, v * way),
        f"reset_{name}_sticks_m_{name}": 0 * v,
    }
    sliding = level * way + element.number("coefficient", 0.0) * v
    act(-np.where(held, sigma * z + element.number("damping", 0.0) * v, sliding))


def maxwell(element: NumericElement) -> None:
    x, act = along_a_line(element)
    k, c, beside = element.number("stiffness"), element.number("damping"), element.number("parallel", 0.0)
    z = element.input(f"x_{element.name}_z")
    stretch = x - element.number("length", 0.0)
    creep = k / c * (stretch.x - z)
    element.into.rates[f"x_{element.name}_z"] = creep
    energy = power(stretch - Jet(z, creep), 2) * (k / 2) + power(stretch, 2) * (beside / 2)
    element.store(energy)
    element.show("E", energy.x)
    act(-k * (stretch.x - z) - beside * stretch.x)


# -- kinds without a transcription


def foreign(element: NumericElement) -> None:
    """A law that is called as it is, at a place of the reference's own kinematics; its account of energy is believed.

    The certificate names it, and judges its account by the power balance.
    """
    place, n = ForeignPlace(element), element.motion.count
    if place.where == "point":
        effect = place.row.law(place)
        force, moment = (
            np.stack([np.broadcast_to(x, (n,)) for x in v], axis=-1) for v in (effect.force, effect.moment)
        )
        for axis, k in zip("xyz", range(3)):
            element.show(f"F{axis}", force[:, k])
        done = element.push(0, force, moment)
    else:
        place.displacement, act = along_a_line(element)
        effect = place.row.law(place)
        force = np.broadcast_to(effect.force, (n,))
        act(force)
        done = force * place.v
    for name, rate in effect.rates.items():
        element.into.rates[place.full("x", name)] = np.broadcast_to(rate, (n,))
    for name, event in effect.events.items():
        own = f"{element.name}_{name}"
        element.into.events[f"guard_{own}"] = np.broadcast_to(event.guard, (n,))
        for target, value in event.reset.items():
            letter = "x" if target in place.row.states else "m"
            element.into.events[f"reset_{own}_{place.full(letter, target)}"] = np.broadcast_to(value, (n,))
    account = effect.account()
    element.into.stored += account.stored
    element.into.storing += account.given - account.lost - done
    element.give(account.given)
    element.into.foreign.append(element.force.name)


# -- on joints


def joint(element: NumericElement) -> None:
    iq, iv = _coordinate(element)
    q = Jet(element.motion.q[:, iq], element.motion.qd[:, iv])
    qd = q.x1
    law = element.word("law", "actuator")
    if law == "actuator":
        effort = driven(element)
        element.give(effort * qd)
    elif law == "bump_stop":
        lower, upper = element.number("lower"), element.number("upper")
        stiffness, width = element.number("stiffness"), element.number("width", 0.0)
        below, above = ramp(lower - q, width), ramp(q - upper, width)
        effort = stiffness * (below[0] - above[0])
        element.store((below[1] + above[1]) * stiffness)
    elif law == "limit":
        lower, upper, stiffness = (element.number(k) for k in ("lower", "upper", "stiffness"))
        loss, speed, braking = (
            element.number("dissipation", 0.0),
            element.number("speed", np.inf),
            element.number("braking", 0.0),
        )
        # penetrations with their rates; a stop pushes only, and its spring alone gives its energy back
        depths = [(lower - q.x, -qd), (q.x - upper, qd)]
        pushes = [np.where(d > 0, stiffness * d * np.maximum(1 + loss * rate, 0), 0) for d, rate in depths]
        effort = pushes[0] - pushes[1]
        if braking != 0:
            effort = effort - braking * np.sign(qd) * np.maximum(np.abs(qd) - speed, 0)
        below, above = ramp(lower - q, 0.0), ramp(q - upper, 0.0)
        element.store((below[1] + above[1]) * stiffness)
    elif law == "spring":
        stretch = q - element.number("length", 0.0)
        effort = -element.number("stiffness") * stretch.x - element.number("damping", 0.0) * qd
        element.store(power(stretch, 2) * (element.number("stiffness") / 2))
    elif law in FRICTION:
        effort = FRICTION[law](element, qd)
    else:
        raise _unknown(element, law)
    element.show("F", effort)
    element.effort(iv, effort)


def _sense(element: NumericElement, qd: Array) -> Array:
    width = element.number("width", 0.0)
    return np.sign(qd) if width == 0 else np.tanh(qd / width)


def _stribeck(element: NumericElement, qd: Array) -> Array:
    level, top, speed = (element.number(k) for k in ("level", "breakaway", "speed"))
    dry = level + (top - level) * np.exp(-((qd / speed) ** 2))
    return -dry * _sense(element, qd) - element.number("coefficient", 0.0) * qd


FRICTION: dict[str, Callable[[NumericElement, Array], Array]] = {
    "viscous": lambda e, qd: -e.number("coefficient") * qd,
    "coulomb": lambda e, qd: -e.number("level") * _sense(e, qd),
    "stribeck": _stribeck,
}


def _coordinate(element: NumericElement) -> tuple[int, int]:
    """Places in q and qd of the joint that is named, or that carries the element's body."""
    mechanism, wanted = element.motion.model.mechanism, element.force.values.get("joint")
    if wanted is None:
        wanted = next(j.name for j in mechanism.joints if (j.child, "") in element.force.points)
    iq, _, iv, _ = element.motion.model.places.of[str(wanted)]
    return iq, iv


KINDS: dict[str, Callable[[NumericElement], Any]] = {
    "spring_damper": spring_damper,
    "actuator": actuator,
    "link": link,
    "point_force": lambda e: given(e, ("force",)),
    "wrench": given,
    "drag": drag,
    "ellipsoid_drag": ellipsoid_drag,
    "bushing": bushing,
    "tendon": tendon,
    "contact": contact,
    "tyre": tyre,
    "wheel": wheel,
    "external": outside,
    "joint": joint,
    "dahl": bristles,
    "lugre": bristles,
    "stiction": stiction,
    "maxwell": maxwell,
}
