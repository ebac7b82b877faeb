"""Force elements along the line of two points, or on the coordinate of a joint, whose laws have no memory but a lag."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from symbody.model.library import friction, springs
from symbody.model.library.actuators import first_order, soft_limit
from symbody.model.library.force_element import Account, Effect, Field, ForceElement, Place, State, numbers
from symbody.model.library.law_functions import absolute, maximum, minimum

MOTOR = {"gain": Field(default=1), "time_constant": Field(unit="s"), "limit": Field(unit="{F}")}
LAG = {"": State("effort behind the lag", "N", when="time_constant")}


def spring_damper(place: Place) -> Effect:
    """stiffness (N/m), damping (N s/m), length (free, m); law: linear, cubic (stiffness3, N/m^3), pull, push.

    Observed: Z, Zd, F, and the stored energy E.
    """
    law = place.option("law")
    values = {"stiffness": place.value("stiffness"), "length": place.value("length")}
    if law == "cubic":
        values["cubic"] = place.value("stiffness3")
    # a rope stores nothing while it is slack, a buffer nothing while it is free
    bounded = {"pull": maximum, "push": minimum}.get(law, lambda Z, _: Z)
    energy = springs.energy(bounded(place.x, values["length"]), **values)
    place.observe("E", energy, "J")
    force = springs.LAWS[law](place.x, place.v, damping=place.value("damping"), **values)

    def account() -> Account:
        spring = springs.LAWS[law](place.x, place.v, damping=0, **values)
        return Account(stored=energy, lost=(spring - force) * place.v)

    return Effect(force, account=account)


def actuator(place: Place) -> Effect:
    """An input u_<name>: the effort gain * u, through a first-order lag where a time_constant (s) is given.

    limit bounds the effort softly: limit * tanh(effort / limit).
    """
    effort = place.value("gain") * place.input("u")
    rates = {}
    if place.given("time_constant"):
        lagging = place.state()
        rates[""] = first_order(lagging, effort, place.value("time_constant"))
        effort = lagging
    if place.given("limit"):
        effort = soft_limit(effort, place.value("limit"))
    return Effect(effort, rates=rates, account=lambda: Account(given=effort * place.v))


def tendon(place: Place) -> Effect:
    """A force on the length Z of a line through points, or on a sum of coordinates.

    spring: stiffness, damping; free from `length` to `length + slack`. With the stretch x and its rate v the force is
    -(stiffness x + stiffness2 x^2 + stiffness3 x^3) - (damping + damping2 abs(v) + damping3 v^2) v. actuator: an input
    u_<name>, as of an actuator.
    """
    if place.option("law") == "actuator":
        return actuator(place)
    stiffness, low = place.value("stiffness"), place.value("length")
    stretch = place.x - low
    if place.given("slack"):
        stretch = maximum(place.x - (low + place.value("slack")), 0) + minimum(stretch, 0)
    pull, stored = stiffness * stretch, stiffness * stretch**2 / 2
    for degree in (2, 3):
        if place.given(f"stiffness{degree}"):
            more = place.value(f"stiffness{degree}")
            pull, stored = pull + more * stretch**degree, stored + more * stretch ** (degree + 1) / (degree + 1)
    gain = place.value("damping")
    if place.given("damping2"):
        gain = gain + place.value("damping2") * absolute(place.v)
    if place.given("damping3"):
        gain = gain + place.value("damping3") * place.v**2
    loss = gain * place.v
    return Effect(-pull - loss, account=lambda: Account(stored=stored, lost=loss * place.v))


def link_input(place: Place) -> Effect:
    """A link whose force is the input F_<name>: a law that somebody else computes from Z and Zd."""
    force = place.input("F", unit="N")
    return Effect(force, account=lambda: Account(given=force * place.v))


# -- joints

JOINT_LAWS: dict[str, tuple[Callable[..., Any], tuple[str, ...], tuple[str, ...]]] = {
    # law -> (function, what it is a function of, numbers it takes)
    "viscous": (friction.viscous, ("v",), ("coefficient",)),
    "coulomb": (friction.coulomb, ("v",), ("level", "width")),
    "stribeck": (friction.stribeck, ("v",), ("level", "breakaway", "speed", "coefficient", "width")),
    "bump_stop": (springs.bump_stop, ("x",), ("lower", "upper", "stiffness", "width")),
    "limit": (
        springs.limit,
        ("x", "v"),
        ("lower", "upper", "stiffness", "dissipation", "speed", "braking"),
    ),
    "spring": (springs.spring_damper, ("x", "v"), ("stiffness", "damping", "length")),
}


def joint(place: Place) -> Effect:
    """A law on the coordinate of `joint`, or of the joint that carries the body given as point; the effort adds to tau.

    law: actuator, viscous, coulomb, stribeck, bump_stop, limit, spring, with the numbers of the library.
    """
    law = place.option("law")
    if law == "actuator":
        return actuator(place)
    function, arguments, names = JOINT_LAWS[law]
    given = {n: place.value(n) for n in names if place.given(n)}
    effort = function(*({"x": place.x, "v": place.v}[a] for a in arguments), **given)
    return Effect(effort, account=lambda: _joint_account(law, place.x, place.v, effort, given))


def _joint_account(law: str, q: Any, qd: Any, effort: Any, values: dict[str, Any]) -> Account:
    """Springs and stops store; what dampers and friction take is lost."""
    if law == "bump_stop":
        width = values.get("width", 0)
        below, above = springs.ramp_energy(values["lower"] - q, width), springs.ramp_energy(q - values["upper"], width)
        return Account(stored=values["stiffness"] * (below + above))
    if law == "limit":
        below, above = springs.ramp_energy(values["lower"] - q), springs.ramp_energy(q - values["upper"])
        elastic = springs.bump_stop(q, values["lower"], values["upper"], values["stiffness"])
        return Account(stored=values["stiffness"] * (below + above), lost=(elastic - effort) * qd)
    if law == "spring":
        spring = {n: x for n, x in values.items() if n != "damping"}
        slack = springs.spring_damper(q, qd, **spring) - effort
        return Account(stored=springs.energy(q, **spring), lost=slack * qd)
    return Account(lost=-(effort * qd))


ROWS = (
    ForceElement(
        "spring_damper",
        "spring and damper between two points",
        ("link",),
        spring_damper,
        numbers(stiffness=0, damping=0, length=0),
        {"law": {"linear": {}, "cubic": numbers("stiffness3"), "pull": {}, "push": {}}},
        drawing="strut",
        example={"stiffness": 300.0, "damping": 4.0, "length": 0.7},
    ),
    ForceElement(
        "actuator", "force between two points from an input", ("link",), actuator, MOTOR, states=LAG,
        example={"gain": 2.0, "time_constant": 0.1, "limit": 50.0},
    ),
    ForceElement("link", "force between two points that is an input", ("link",), link_input),
    ForceElement(
        "joint",
        "a law on the coordinate of a joint",
        ("joint",),
        joint,
        variants={
            "law": {
                "actuator": MOTOR,
                "viscous": numbers("coefficient"),
                "coulomb": numbers("level", "width"),
                "stribeck": numbers("level breakaway speed", "coefficient width"),
                "bump_stop": numbers("lower upper stiffness", "width"),
                "limit": numbers("lower upper stiffness", "dissipation speed braking"),
                "spring": numbers("stiffness", "damping length"),
            }
        },
        states=LAG,
        drawing="",
        example={"law": "stribeck", "level": 3.0, "breakaway": 4.0, "speed": 0.1, "width": 0.05},
    ),
    ForceElement(
        "tendon",
        "a line through several points, or over several joints",
        ("path", "joints"),
        tendon,
        {"joints": Field("joints"), "coefficients": Field("numbers"), "divisors": Field("numbers")},
        {
            "law": {
                "spring": numbers(
                    "", "stiffness2 stiffness3 damping2 damping3", stiffness=0, damping=0, length=0, slack=0
                ),
                "actuator": MOTOR,
            }
        },
        states=LAG,
        drawing="",
        example={
            "stiffness": 300.0, "damping": 4.0, "length": 0.7, "slack": 0.1, "stiffness2": 9.0, "stiffness3": 7.0,
            "damping2": 3.0, "damping3": 2.0,
        },
    ),
)  # fmt: skip
