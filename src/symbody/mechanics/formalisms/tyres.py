"""Tyres: a wheel on the ground with a law for its forces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from symbody.mechanics.formalisms.element_energy import contact_account, rate_along_motion
from symbody.mechanics.formalisms.frame_kinematics import column
from symbody.mechanics.formalisms.vec3 import ZERO, cross, dot, minus, sum_of, times
from symbody.mechanics.formalisms.wheel import Contact, Sliding, on_ground, sliding
from symbody.mechanics.formalisms.wrenches import TreeElement
from symbody.model.library import contact, grounds
from symbody.model.library.actuators import first_order
from symbody.model.library.force_element import Account
from symbody.model.library.linear_tyre import linear_tyre
from symbody.model.library.magic_formula import magic_formula
from symbody.model.library.magic_formula_data import CAR_TYRE, NAMES, SYMMETRIC_TYRE, MagicFormula
from symbody.model.library.point_elements import LINEAR_TYRE
from symbody.symbolic.expr.call import call

SETS = {"car": CAR_TYRE, "symmetric": SYMMETRIC_TYRE}


def tyre(element: TreeElement) -> None:
    """A wheel: the point's frame is its centre, the frame's y axis (or `axle`) its axle, pointing to the left.

    radius (free, m), stiffness (N/m), damping (N s/m), slowest (m/s), ground and its numbers. Laws:
    linear          coefficients as in `library.linear_tyre`
    magic_formula   `tyre` is car | symmetric or a MagicFormula; values under .tir names override it, and radius,
                    stiffness and damping come from it where they are not given
    external        (Fx, Fy, Fz, Mx, My, Mz) = function(penetration, slip angle, camber, slip, penetration rate, t)
    relaxation_x, relaxation_y (m): the slips follow over these lengths of travel; states x_<name>_slip, x_<name>_side.
    """
    law = element.option("law")
    record = _record(element) if law == "magic_formula" else None
    place, slide = wheel_contact(element)
    kappa = _relaxed(element, slide, "x", "slip", slide.kappa)
    alpha = _relaxed(element, slide, "y", "side", slide.alpha)
    depth = _penetration(element, place, record)
    if law == "external":
        names = {"penetration": depth, "slip_angle": call("atan", alpha), "camber": place.camber, "slip": kappa}
        names |= {"rate": -slide.lift, "t": element.time}
        Fx, Fy, Fz, Mx, My, Mz = element.call(element.force.values.get("function"), names, (6,))
    else:
        Fz = _load(element, depth, slide, record)
        if record is None:
            numbers = element.coefficients(LINEAR_TYRE)
            Fx, Fy, Mx, My, Mz = linear_tyre(
                Fz, kappa, call("atan", alpha), place.camber, radius=place.radius, **numbers
            )
        else:
            f = magic_formula(Fz, kappa, alpha, place.camber, slide.travel, slide.speed / slide.travel, record)
            Fx, Fy, Mx, My, Mz = f.Fx, f.Fy, f.Mx, f.My, f.Mz
    for name, value, unit in (("Fx", Fx, "N"), ("Fy", Fy, "N"), ("Fz", Fz, "N"), ("Mz", Mz, "N m")):
        element.observe(name, value, unit)
    push_at_contact(element, place, (Fx, Fy, Fz), (Mx, My, Mz))

    def account() -> Account:
        power = contact_power(element, place, slide, (Fx, Fy, Fz), (Mx, My, Mz))
        if law == "external":
            return Account(given=power)
        rate = _penetration_rate(element, place, slide, depth, record)
        return contact_account(depth, rate, _stiffness(element, record), element.value("width"), power)

    element.account(account)


def _relaxed(element: TreeElement, slide: Sliding, axis: str, name: str, slip: Any) -> Any:
    """A slip, or the state that follows it: x' = |v_x| / length (slip - x) (Pacejka 2012, section 7.2)."""
    if not element.given(f"relaxation_{axis}"):
        return slip
    x = element.state(name)
    element.rates({name: first_order(x, slip, element.value(f"relaxation_{axis}") / slide.travel)})
    return x


def wheel_input(element: TreeElement) -> None:
    """A wheel whose contact wrench is the input W_<name>: (Fx, Fy, Fz, Mx, My, Mz) along S1, S2, S3 at Q."""
    place, slide = wheel_contact(element)
    wrench = element.wrenches.input(f"W_{element.name}", 6)
    push_at_contact(element, place, wrench[:3], wrench[3:])
    element.account(lambda: Account(given=contact_power(element, place, slide, wrench[:3], wrench[3:])))


def wheel_contact(element: TreeElement) -> tuple[Contact, Sliding]:
    """Geometry and sliding of the wheel, observed: slip, slip angle, camber, radius, velocities."""
    m = element.motions[0]
    axis = element.option("axle")
    axle = column(m.rotation, "xyz".index(axis))
    place = on_ground(m.position, axle, ground_of(element), element.tree.graph, element.name)
    slide = sliding(place, m.velocity, m.omega, element.value("slowest"))
    for name, value, unit in (
        ("slip", slide.kappa, ""), ("slip_angle", slide.slip_angle, "rad"), ("camber", place.camber, "rad"),
        ("radius", place.radius, "m"), ("sliding_x", slide.along, "m/s"), ("sliding_y", slide.across, "m/s"),
    ):  # fmt: skip
        element.observe(name, value, unit)
    return place, slide


def push_at_contact(element: TreeElement, place: Contact, force: Sequence[Any], moment: Sequence[Any]) -> None:
    """Force and moment along S1, S2, S3 at the contact point, as a wrench on the wheel."""
    frame = (place.forward, place.side, place.normal)

    def world(v: Sequence[Any]) -> Any:
        total = ZERO
        for x, d in zip(v, frame):
            total = total + x * d
        return total

    f = world(force)
    arm = -(place.radius * place.up)
    element.push_world(f, world(moment) + cross(arm, f))


def contact_power(
    element: TreeElement, place: Contact, slide: Sliding, force: Sequence[Any], moment: Sequence[Any]
) -> Any:
    """Power of a force and a moment along S1, S2, S3 at the contact point, W."""
    spin = [dot(element.motions[0].omega, d) for d in (place.forward, place.side, place.normal)]
    pairs = zip((*force, *moment), (slide.along, slide.across, slide.lift, *spin))
    return sum_of(times(f, v) for f, v in pairs)


def _penetration(element: TreeElement, place: Contact, record: MagicFormula | None) -> Any:
    """cos(camber) (free radius - radius), m: positive in contact (robotran's ps with the sign that pushes up)."""
    depth = place.camber_cos * (_free_radius(element, record) - place.radius)
    element.observe("penetration", depth, "m")
    return depth


def _penetration_rate(
    element: TreeElement, place: Contact, slide: Sliding, depth: Any, record: MagicFormula | None
) -> Any:
    """Rate of the depth, m/s; on a plane -lift + (free radius - radius) n . (omega x T3), with the change of camber."""
    if ground_of(element).normal is None:
        return rate_along_motion(element.tree, depth)
    leaning = dot(place.normal, cross(element.motions[0].omega, place.up))
    return minus(times(_free_radius(element, record) - place.radius, leaning), slide.lift)


def _free_radius(element: TreeElement, record: MagicFormula | None) -> Any:
    return element.value("radius", None if record is None else record.UNLOADED_RADIUS)


def _stiffness(element: TreeElement, record: MagicFormula | None) -> Any:
    return element.value("stiffness", None if record is None else record.VERTICAL_STIFFNESS)


def _load(element: TreeElement, depth: Any, slide: Sliding, record: MagicFormula | None) -> Any:
    """Normal force of the road, N."""
    damping = element.value("damping", 0 if record is None else record.VERTICAL_DAMPING)
    return contact.normal_force(depth, -slide.lift, _stiffness(element, record), damping, element.value("width"))


def _record(element: TreeElement) -> MagicFormula:
    given = element.force.values.get("tyre", "car")
    if not isinstance(given, MagicFormula):
        given = SETS[element.option("tyre")]
    own = element.coefficients(NAMES)
    if element.given("radius"):
        own.setdefault("UNLOADED_RADIUS", element.value("radius"))
    return replace(given, **own)


def ground_of(element: TreeElement) -> grounds.Ground:
    """ground: a name with its numbers, a Ground, or a function (x, y) -> height of nodes.

    flat: height | slope: slope_x, slope_y, height | sinusoid: amplitude, wavelength, phase, heading, height |
    profile: positions, heights (numbers along x)
    """
    given = element.force.values.get("ground", "flat")
    if isinstance(given, grounds.Ground):
        return given
    if callable(given):
        return grounds.Ground(given)
    kind = element.option("ground")
    v = element.value
    if kind == "flat":
        return grounds.flat(v("height"))
    if kind == "slope":
        return grounds.slope(v("slope_x"), v("slope_y"), v("height"))
    if kind == "sinusoid":
        return grounds.sinusoid(v("amplitude"), v("wavelength"), v("phase"), v("heading"), v("height"))
    return grounds.profile(_numbers(element, "positions"), _numbers(element, "heights"))


def _numbers(element: TreeElement, name: str) -> list[float]:
    return [float(getattr(v, "data", v)) for v in element.force.values.get(name, ())]
