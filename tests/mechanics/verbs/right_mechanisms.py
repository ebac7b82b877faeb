"""Random mechanisms that are right by construction: couplings, cams, screws, racks, rolling, drives, locked joints.

Every one is drawn from a seed and can move; nothing in it is near a singular position by design. As a script: what the
certificate refuses of a range of seeds.

    python tests/mechanics/verbs/right_mechanisms.py 0 40
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import pairwise

import numpy as np

import symbody as sb
from symbody.model.record.mechanism import Mechanism

AXES = ("x", "y", "z")


class Draft:
    """A Builder with random bodies on random joints; names count up. size: m, of the mechanism."""

    def __init__(self, seed: int, name: str) -> None:
        self.rng = np.random.default_rng([29, seed])
        self.builder = sb.Mechanism.builder(f"{name}{seed}")
        self.count = 0
        self.size = float(self.rng.choice([1.0, 1.0, 0.3, 10.0]))

    def number(self, low: float, high: float, digits: int = 3) -> float:
        """A number that a text can say, never 0."""
        return round(float(self.rng.uniform(low, high)), digits) or high

    def signed(self, low: float, high: float) -> float:
        return self.number(low, high) * (1 if self.rng.random() < 0.5 else -1)

    def place(self, reach: float) -> list[float]:
        """A point (3,) within reach times the size."""
        return [self.signed(0.0, reach) * self.size for _ in range(3)]

    def axis(self) -> str:
        return str(self.rng.choice(AXES))

    def part(self, kind: str, parent: str = "world", massless: bool = False, **more: object) -> str:
        """A body on a joint of the same name."""
        self.count += 1
        name = f"{kind[0]}{self.count}"
        moment = self.number(0.05, 0.4) * self.size**2
        solid = {"mass": self.number(0.2, 3.0), "com": self.place(0.2), "inertia": [moment, 1.1 * moment, 1.3 * moment]}
        self.builder.body(name, **({} if massless else solid), frames={"tip": self.place(0.5)})
        if kind in ("revolute", "prismatic", "helical", "cylindrical"):
            more = {"axis": self.axis(), **more}
        if kind == "helical":
            more = {"pitch": self.signed(0.005, 0.1) * self.size, **more}
        self.builder.joint(name, kind, parent, name, **{"position": self.place(0.5), **more})
        return name

    def ease(self, name: str) -> None:
        """A spring or damper between the world and a body, now and then."""
        if self.rng.random() < 0.3:
            values = {"stiffness": self.number(5, 50), "damping": self.number(0, 2), "length": 0.2 * self.size}
            self.builder.force(f"spring_{name}", "spring_damper", [("world"), (name, "tip")], **values)


def gears(d: Draft) -> None:
    """Wheels that mesh in a row, on one carrier or on the ground."""
    carrier = "world" if d.rng.random() < 0.5 else d.part("revolute")
    wheels = [d.part("revolute", carrier) for _ in range(int(d.rng.integers(2, 5)))]
    for a, b in pairwise(wheels):
        d.builder.coupling(f"mesh_{a}", f"{d.signed(0.2, 5.0)}*q.{a} - q.{b} + {d.number(0, 1)}")
    d.ease(wheels[0])


def differential(d: Draft) -> None:
    arms = [d.part("revolute", mode="passive" if k else "actuated") for k in range(3)]
    d.builder.coupling("sum", f"q.{arms[0]} + q.{arms[1]} - 2*q.{arms[2]}")


CAMS = (
    "{h}*(1 - cos(q.{a}))",
    "{h}*sin({n}*q.{a}) + {g}*q.{a}",
    "{h}*q.{a}**2",
    "{h}*tanh({n}*q.{a})",
    "{h}*exp(-q.{a}**2)",
    "{h}*atan2(sin(q.{a}), 2 + cos(q.{a}))",
    "sqrt({h} + 0.1*q.{a}**2)",
    "{h}*q.{a}**3 - {g}*q.{a}",
)


def cams(d: Draft) -> None:
    """A shaft that lifts one or two followers; a follower may carry a pendulum."""
    shaft = d.part("revolute")
    for k in range(int(d.rng.integers(1, 3))):
        lift = d.part("prismatic", mode="passive")
        text = str(d.rng.choice(CAMS)).format(
            h=d.number(0.01, 0.3) * d.size, n=d.number(1, 3), g=d.signed(0.01, 0.1) * d.size, a=shaft
        )
        d.builder.coupling(f"cam{k}", f"q.{lift} - ({text})")
        if d.rng.random() < 0.5:
            d.ease(d.part("revolute", lift))


def racks(d: Draft) -> None:
    """A pinion on a rack, a nut on a screw: small leads, which mix rad and m."""
    turn = d.part("revolute")
    lift = d.part("prismatic", mode="passive")
    lead = d.number(0.002, 0.08, 4) * d.size
    d.builder.coupling("lead", str(d.rng.choice([f"{lead}*q.{turn} - q.{lift}", f"q.{turn} - q.{lift}/{lead}"])))
    d.ease(d.part("revolute", lift))


def screws(d: Draft) -> None:
    """Two screws of the same nut, or a screw that is geared to a slide."""
    first = d.part("helical")
    if d.rng.random() < 0.5:
        second = d.part("helical", mode="passive")
        d.builder.coupling("geared", f"q.{second} - {d.signed(0.2, 3.0)}*q.{first}")
    else:
        slide = d.part("prismatic", first)
        d.builder.coupling("fed", f"q.{slide} + {d.signed(0.01, 0.2) * d.size}*q.{first}")
    d.ease(first)


def screw_jack(d: Draft) -> None:
    """A screw along z whose nut is held from turning: revolute and helical about one line, closed by a slide."""
    spindle = d.part("revolute", axis="z", position=[0, 0, 0])
    d.builder.body(
        "nut",
        mass=d.number(0.5, 2),
        com=[d.signed(0, 0.1), 0, 0.1],
        inertia=[0.02, 0.03, 0.04],
        frames={"side": [0.3, 0, 0]},
    )
    d.builder.joint("thread", "helical", spindle, "nut", axis="z", pitch=d.signed(0.005, 0.05), mode="passive")
    d.builder.body("guide", frames={"side": [0.3, 0, 0]}).joint("guide", "fixed", "world", "guide")
    d.builder.cut("slide", "prismatic", "nut.side", "guide.side", axis="z")


def rolling(d: Draft) -> None:
    """A wheel that rolls on a rail, or couples speeds alone with gains that depend on places or the time."""
    slide = d.part("prismatic", axis="x")
    wheel = d.part("revolute", slide, axis="y", mode=str(d.rng.choice(["passive", "actuated"])))
    gain = d.number(0.1, 0.6) * d.size
    texts = (
        f"qd.{slide} - {gain}*qd.{wheel}",
        f"qd.{slide} - {gain}*(1 + 0.3*q.{slide}**2)*qd.{wheel}",
        f"qd.{slide} - {gain}*cos(q.{wheel}/5)*qd.{wheel}",
        f"qd.{slide} - {gain}*qd.{wheel} - 0.1*cos(3*t)",
    )
    d.builder.coupling("roll", str(d.rng.choice(texts)), kind="velocity")
    if d.rng.random() < 0.4:
        d.ease(d.part("revolute", wheel))


def disc(d: Draft) -> None:
    """A wheel that stays upright and rolls without slip on a plane: position (x, y), heading, roll."""
    b = d.builder
    b.body("base", mass=d.number(0.5, 2), inertia=[0.05, 0.06, 0.07])
    b.joint("base", "planar", "world", "base")
    b.body("wheel", mass=d.number(0.5, 2), inertia=[0.05, 0.1, 0.05]).joint(
        "roll", "revolute", "base", "wheel", axis="y"
    )
    r = d.number(0.1, 0.5)
    b.coupling("along", f"qd.base.1*cos(q.base.3) + qd.base.2*sin(q.base.3) - {r}*qd.roll", kind="velocity")
    b.coupling("across", "-qd.base.1*sin(q.base.3) + qd.base.2*cos(q.base.3)", kind="velocity")
    if d.rng.random() < 0.5:
        d.part("revolute", "base")


def sleigh(d: Draft) -> None:
    """Chaplygin's: a plane body on a knife edge, beside a position coupling of what it carries."""
    d.builder.body("sleigh", mass=d.number(0.5, 2), com=[d.signed(0.05, 0.3), 0, 0], inertia=[0.05, 0.06, 0.1])
    d.builder.joint("plane", "planar", "world", "sleigh")
    d.builder.coupling("edge", "qd.plane.2*cos(q.plane.3) - qd.plane.1*sin(q.plane.3)", kind="velocity")
    if d.rng.random() < 0.5:
        one, two = (d.part("revolute", "sleigh") for _ in range(2))
        d.builder.coupling("mesh", f"q.{one} - {d.signed(0.5, 3)}*q.{two}")


def lookup(x: float) -> float:
    """A curve that has no formula here."""
    return float(0.2 * np.sin(x) ** 2 + 0.05 * x)


def externals(d: Draft) -> None:
    """A cam whose curve is a function from outside, with its derivative."""
    shaft, lift = d.part("revolute"), d.part("prismatic", mode="passive")
    curve = sb.External("curve", 1, function=lookup, derivative=lambda x: [[0.4 * sb.sin(x) * sb.cos(x) + 0.05]])
    at = {n: d.builder.coordinate(n) for n in (shaft, lift)}
    d.builder.coupling("cam", at[lift] - sb.extern(curve, at[shaft]))
    d.ease(lift)


def drives(d: Draft) -> None:
    """A carrier without mass that is driven, what it carries coupled to it or to each other."""
    kind = str(d.rng.choice(["revolute", "prismatic"]))
    law = f"{d.number(0.1, 0.5)}*sin({d.number(1, 4)}*t + {d.number(0, 1)})"
    carrier = d.part(kind, massless=bool(d.rng.random() < 0.7), mode="driven", value=law)
    one = d.part("revolute", carrier)
    two = d.part(str(d.rng.choice(["revolute", "prismatic"])), one, mode="passive")
    leader = str(d.rng.choice([one, carrier]))
    d.builder.coupling("led", f"q.{two} - {d.signed(0.1, 2)}*q.{leader}")
    if d.rng.random() < 0.5:
        d.part("revolute", carrier)


def carriers(d: Draft) -> None:
    """Driven stages without mass in a tree or at its end: what a machine's table, or a sensor on an arm, is."""
    law = f"{d.number(0.1, 0.5)}*sin({d.number(1, 4)}*t)"
    table = d.part("prismatic", massless=True, mode="driven", value=law)
    arm = d.part("revolute", d.part("revolute", table))
    d.part(str(d.rng.choice(["revolute", "prismatic"])), arm, massless=True, mode="driven", value=law)
    if d.rng.random() < 0.4:
        led = d.part("revolute", arm, mode="passive")
        d.builder.coupling("led", f"q.{led} - {d.signed(0.3, 3)}*q.{arm}")


def timed(d: Draft) -> None:
    """Couplings that a law of time moves."""
    arm, fore = d.part("revolute"), None
    fore = d.part("revolute", arm, mode="passive")
    d.builder.coupling("law", f"q.{fore} - {d.number(0.1, 0.5)}*sin({d.number(1, 4)}*t) - {d.number(0, 0.5)}*q.{arm}")
    d.part(str(d.rng.choice(["revolute", "prismatic"])), fore)


def four_bar(d: Draft) -> None:
    """A crank and rocker that mesh with, lift or roll something."""
    b = d.builder
    crank, coupler = d.number(0.2, 0.3), d.number(0.7, 0.9)
    for name, length in (("crank", crank), ("coupler", coupler), ("rocker", 0.6)):
        b.body(
            name,
            mass=d.number(0.2, 2),
            com=[length / 2, 0, 0],
            inertia=[0.01, 0.02, 0.02],
            frames={"pin": [length, 0, 0]},
        )
    b.joint("crank", "revolute", "world", "crank", axis="y")
    b.joint("coupler", "revolute", "crank", "coupler", axis="y", position=[crank, 0, 0], mode="passive")
    b.joint("rocker", "revolute", "world", "rocker", axis="y", position=[0.8, 0, 0], mode="passive")
    b.cut("pin", "revolute", "coupler.pin", "rocker.pin", axis="y")
    what = int(d.rng.integers(3))
    if what == 0:
        b.coupling("gear", f"q.{d.part('revolute', mode='passive')} - {d.signed(0.5, 4)}*q.rocker")
    elif what == 1:
        b.coupling("cam", f"q.{d.part('prismatic', mode='passive')} - {d.number(0.02, 0.2)}*sin(q.rocker)")
    else:
        b.coupling(
            "roll", f"qd.{d.part('prismatic', mode='passive')} - {d.number(0.02, 0.2)}*qd.crank", kind="velocity"
        )


def locked(d: Draft) -> None:
    """A loop that locks some joints of a body, while another still moves."""
    mover = d.part(str(d.rng.choice(["prismatic", "revolute"])))
    cut = [d.number(-0.3, 0.3) for _ in range(3)]
    b = d.builder
    b.body("held", mass=1.7, com=[0, d.number(0, 0.1), 0.05], inertia=[0.3, 0.4, 0.5], frames={"cut": cut})
    b.body("seat", frames={"cut": cut}).joint("seat", "fixed", mover, "seat")
    kind = str(d.rng.choice(["ball", "revolute", "spherical"]))
    b.joint("hold", kind, mover, "held", mode="passive", **({"axis": d.axis()} if kind == "revolute" else {}))
    b.cut("weld", "solid" if d.rng.random() < 0.5 else "revolute", "held.cut", "seat.cut", axis="y")
    d.part("revolute", mover)


FAMILIES: tuple[Callable[[Draft], None], ...] = (
    gears, differential, cams, racks, screws, screw_jack, rolling, disc, sleigh, externals, drives, carriers, timed,
    four_bar, locked,
)  # fmt: skip


def right_mechanism(seed: int) -> Mechanism:
    """The mechanism of a seed; families take turns."""
    family = FAMILIES[seed % len(FAMILIES)]
    draft = Draft(seed, family.__name__)
    family(draft)
    return draft.builder.done()


def main() -> None:
    first, last = (int(x) for x in sys.argv[1:3])
    states = int(sys.argv[3]) if len(sys.argv) > 3 else 2
    for seed in range(first, last):
        try:
            found = sb.verify(right_mechanism(seed), states=states, seed=seed % 7)
            lines = [c.text + f" {c.error:.1e} > {c.allowed:.0e}" for c in found.checks if not c.passed]
        except Exception as error:
            lines = [f"{type(error).__name__}: {error}"]
        if lines:
            print(seed, FAMILIES[seed % len(FAMILIES)].__name__, *(f"\n    {x[:200]}" for x in lines), flush=True)


if __name__ == "__main__":
    main()
