"""Force elements with memory: friction of bristles (Dahl, LuGre), friction that sticks, and a spring behind a damper.

Each acts on a joint or between two points. z is the deflection of the bristles, or the extension of the damper, in the
unit of the displacement x; v is the rate of x.
"""

from __future__ import annotations

from typing import Any

from symbody.model.library.force_element import Account, Effect, Event, Field, ForceElement, Mode, Place, State
from symbody.model.library.law_functions import absolute, exp, select, sign

STICKS, FORWARD, BACK = 0.0, 1.0, -1.0
ALONG_A_LINE = ("joint", "link")


# -- friction of bristles


def bristle_rate(z: Any, v: Any, stiffness: Any, limit: Any) -> Any:
    """z' = v - stiffness |v| z / limit: at a constant speed the bristles carry the force `limit` against the motion."""
    return v - stiffness * absolute(v) * z / limit


def dahl(place: Place) -> Effect:
    """Dahl's friction: bristles that bend and slip, F = -stiffness z; hysteresis before sliding, `level` at speed.

    P. R. Dahl, A solid friction model, Aerospace Corporation TOR-158(3107-18), 1968 (with the exponent 1).
    """
    z, v, stiffness, level = place.state("z"), place.v, place.value("stiffness"), place.value("level")
    force = -stiffness * z

    def account() -> Account:
        # stiffness z (v - z') = (stiffness z)^2 |v| / level
        return Account(stored=stiffness * z * z / 2, lost=force * force * absolute(v) / level)

    return Effect(force, rates={"z": bristle_rate(z, v, stiffness, level)}, account=account)


def lugre(place: Place) -> Effect:
    """The LuGre model: bristles whose limit falls from `breakaway` to `level` with the speed, as Stribeck found.

    z' = v - stiffness |v| z / g(v),  g(v) = level + (breakaway - level) exp(-(v / speed)^2)
    F = -(stiffness z + damping z' + coefficient v)

    C. Canudas de Wit, H. Olsson, K. J. Astrom and P. Lischinsky, A new model for control of systems with friction,
    IEEE Transactions on Automatic Control 40(3), 1995. With damping_speed the damping of the bristles falls off as
    exp(-(v / damping_speed)^2) (H. Olsson, Control systems with friction, 1996), which keeps fast motion passive: with
    a constant damping the element may give energy at speeds above 4 g(v) (damping + coefficient) / damping^2.
    """
    z, v, stiffness, level = place.state("z"), place.v, place.value("stiffness"), place.value("level")
    swift = v / place.value("speed")
    limit = level + (place.value("breakaway") - level) * exp(-(swift * swift))
    damping = place.value("damping")
    if place.given("damping_speed"):
        fast = v / place.value("damping_speed")
        damping = damping * exp(-(fast * fast))
    z_dot = bristle_rate(z, v, stiffness, limit)
    force = -(stiffness * z + damping * z_dot + place.value("coefficient") * v)

    def account() -> Account:
        return Account(stored=stiffness * z * z / 2, lost=-(force * v) - stiffness * z * z_dot)

    return Effect(force, rates={"z": z_dot}, account=account)


# -- friction that sticks


def stiction(place: Place) -> Effect:
    """Dry friction that sticks: a bristle holds until it carries `breakaway`, then it slides with `level`.

    sticks  F = -(stiffness z + damping v), z' = v; breaks where stiffness |z| reaches breakaway
    slides  F = -(level d + coefficient v) in the direction d = 1 or -1, z' = 0; sticks where v comes to rest

    Sliding bristles stay bent by level / stiffness, so that the force is continuous where sliding ends; what they lose
    at once where they break, (breakaway^2 - level^2) / (2 stiffness), is heat. The motion is that of ideal stiction in
    the limit of a large stiffness; the guard on z, not on the whole force, makes the direction of sliding sure.
    After the reset integrator of D. A. Haessig and B. Friedland, On the modeling and simulation of friction, Journal of
    Dynamic Systems, Measurement and Control 113(3), 1991.
    """
    z, v, mode = place.state("z"), place.v, place.mode()
    stiffness, level, breakaway = place.value("stiffness"), place.value("level"), place.value("breakaway")
    damping, coefficient = place.value("damping"), place.value("coefficient")
    sticking = absolute(mode) < 0.5
    force = select(sticking, -(stiffness * z + damping * v), -(level * mode + coefficient * v))
    events = {
        "breaks": Event(
            select(sticking, stiffness * absolute(z) - breakaway, -breakaway),
            1,
            {"": sign(z), "z": sign(z) * level / stiffness},
        ),
        "sticks": Event(select(sticking, 1, mode * v), -1, {"": STICKS}),
    }

    def account() -> Account:
        heat = select(sticking, damping * v * v, (level * mode + coefficient * v) * v)
        return Account(stored=stiffness * z * z / 2, lost=heat)

    return Effect(force, rates={"z": select(sticking, v, 0)}, events=events, account=account)


# -- a spring behind a damper


def maxwell(place: Place) -> Effect:
    """Maxwell's element: a spring and a damper one behind the other; held still, its force decays as exp(-k t / c).

    z is the extension of the damper: c z' = k (x - length - z) = -F. With `parallel` (a spring beside it) it is Zener's
    standard linear solid. W. Fluegge, Viscoelasticity, 2nd edition, Springer 1975, chapter 1.
    """
    z, stiffness, damping = place.state("z"), place.value("stiffness"), place.value("damping")
    stretch = place.x - place.value("length")
    pull = stiffness * (stretch - z)
    beside = place.value("parallel") * stretch
    stored = stiffness * (stretch - z) * (stretch - z) / 2 + beside * stretch / 2
    place.observe("E", stored, "J")
    return Effect(
        -(pull + beside),
        rates={"z": pull / damping},
        account=lambda: Account(stored=stored, lost=pull * pull / damping),
    )


# -- the rows


def _bent(about: str) -> dict[str, State]:
    return {"z": State(about, "{x}")}


_BRISTLE = Field(needed=True, unit="{F}/{x}", bound="positive", about="of the bristles")
_LEVEL = Field(needed=True, unit="{F}", bound="positive", about="sliding friction")
_BREAK = Field(needed=True, unit="{F}", bound="positive", about="friction that holds at rest")
_VISCOUS = Field(default=0, unit="{F} s/{x}", bound="not negative", about="viscous friction")
_DAMPING = Field(default=0, unit="{F} s/{x}", bound="not negative", about="of the bristles")

ROWS = (
    ForceElement(
        "dahl",
        "friction of bristles (Dahl)",
        ALONG_A_LINE,
        dahl,
        {"stiffness": _BRISTLE, "level": _LEVEL},
        states=_bent("deflection of the bristles"),
        drawing="damper",
        example={"stiffness": 900.0, "level": 3.0},
    ),
    ForceElement(
        "lugre",
        "friction of bristles with Stribeck's fall (LuGre)",
        ALONG_A_LINE,
        lugre,
        {
            "stiffness": _BRISTLE,
            "level": _LEVEL,
            "breakaway": _BREAK,
            "speed": Field(needed=True, unit="{x}/s", bound="positive", about="of Stribeck"),
            "damping": _DAMPING,
            "coefficient": _VISCOUS,
            "damping_speed": Field(unit="{x}/s", bound="positive", about="at which the damping falls off"),
        },
        states=_bent("deflection of the bristles"),
        drawing="damper",
        example={"stiffness": 900.0, "level": 3.0, "breakaway": 4.0, "speed": 0.3, "damping": 2.0, "coefficient": 0.5},
    ),
    ForceElement(
        "stiction",
        "dry friction that sticks and slides",
        ALONG_A_LINE,
        stiction,
        {
            "level": _LEVEL,
            "breakaway": _BREAK,
            "stiffness": _BRISTLE,
            "damping": _DAMPING,
            "coefficient": _VISCOUS,
        },
        states=_bent("deflection of the bristles"),
        modes={"": Mode("sticks or slides", {STICKS: "sticks", FORWARD: "slides forward", BACK: "slides back"})},
        events={"breaks": "the bristles break, and sliding begins", "sticks": "sliding comes to rest"},
        drawing="damper",
        example={"level": 2.0, "breakaway": 3.0, "stiffness": 4000.0, "damping": 20.0, "coefficient": 0.1},
    ),
    ForceElement(
        "maxwell",
        "a spring and a damper one behind the other",
        ALONG_A_LINE,
        maxwell,
        {
            "stiffness": Field(needed=True, unit="{F}/{x}", bound="positive"),
            "damping": Field(needed=True, unit="{F} s/{x}", bound="positive"),
            "length": Field(default=0, unit="{x}", about="free length, or the coordinate at rest"),
            "parallel": Field(default=0, unit="{F}/{x}", about="a spring beside both"),
        },
        states=_bent("extension of the damper"),
        drawing="strut",
        example={"stiffness": 200.0, "damping": 30.0, "length": 0.5, "parallel": 20.0},
    ),
)
