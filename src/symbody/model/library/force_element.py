"""ForceElement: the row that says all about a kind of force element, and the records that it is made of.

A law is a function of a `Place` and returns an `Effect`. It is written once, over any scalar: nodes where programs are
made, complex numbers and arrays where laws are tested. Functions of scalars come from `law_functions.py`.

    def law(place):
        z = place.state("z")
        force = -place.value("stiffness") * z
        return Effect(force, rates={"z": place.v}, account=lambda: Account(stored=...))

Signs: on a joint the force is the effort that adds to tau; on a link it pushes the two points apart when positive; the
power is force times v in both cases. At a point it is a vector in world axes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from symbody.basics.errors import DefinitionError

PLACES = ("joint", "link", "point", "wheel", "frames", "path", "joints")
FORMS = {
    "number": "a number or an expression",
    "vector": "a list of 3 numbers",
    "numbers": "a list of numbers",
    "function": "an External, a Python function or a text",
    "joint": "the name of a joint",
    "joints": "a list of names of joints",
    "word": "one of its words",
}
LEAST = {"positive": "above 0", "not negative": "of at least 0"}


@dataclass(frozen=True, eq=False)
class Field:
    """A value of an element.

    form     number, vector (3 numbers), numbers, function, joint, joints, or word: one of `words`, the first is meant
             if none is given
    default  what is meant where none is given (a number); needed: there is none, so it must be given
    unit     {x} stands for the unit of the displacement (m or rad), {F} for that of the force (N or N m)
    bound    "", "positive" or "not negative": checked where the value is a number
    open     of a word: a record or a function may stand in its place
    """

    form: str = "number"
    needed: bool = False
    words: tuple[str, ...] = ()
    open: bool = False
    default: Any = None
    unit: str = ""
    bound: str = ""
    about: str = ""


Fields = Mapping[str, Field]
MakeFields = Callable[[], Fields]  # fields that take long to list, made when their word is given


@dataclass(frozen=True, eq=False)
class State:
    """A continuous state z of an element, with zdot = f(motion, z, inputs, parameters); unit as of a Field.

    start  initial value; when: the value of the element that must be given for the state to exist ("": it always does)
    """

    about: str
    unit: str = ""
    start: float = 0.0
    when: str = ""


@dataclass(frozen=True, eq=False)
class Mode:
    """A number that only events change. values: what it may be -> in words; the first one is its initial value."""

    about: str
    values: Mapping[float, str]

    @property
    def start(self) -> float:
        return float(next(iter(self.values)))


@dataclass(frozen=True, eq=False)
class Event:
    """An event: `guard` crosses zero (direction 1: rising only, -1: falling only, 0: both), then `reset` applies.

    reset: state or mode of the element -> its value after the event, from the values before. A guard without meaning in
    some mode is kept off zero there (`select`).
    """

    guard: Any
    direction: int = 0
    reset: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Account:
    """Where the work of an element goes: energy stored (J), power given by sources and power lost (W).

    Along a motion: power of its forces = given - lost - d stored / dt.
    """

    stored: Any = 0
    given: Any = 0
    lost: Any = 0


@dataclass(frozen=True, eq=False)
class Effect:
    """What an element does.

    force    N or N m: a scalar on joints and links; at a point (3,) in world axes; moment: (3,) N m at a point
    rates    state -> its time derivative, for every state that the law asked for
    events   name -> Event, those that the row declares
    account  makes the Account; called where energies are asked for
    """

    force: Any
    moment: Any = (0, 0, 0)
    rates: Mapping[str, Any] = field(default_factory=dict)
    events: Mapping[str, Event] = field(default_factory=dict)
    account: Callable[[], Account] = Account


class Place(Protocol):
    """What a law sees.

    x, v       joint: coordinate and its rate; link: distance Z of the points and its rate
    position, velocity, omega (3,), rotation (3, 3)   at a point: of its frame, in world axes
    time       s
    """

    x: Any
    v: Any

    @property
    def position(self) -> Any: ...
    @property
    def velocity(self) -> Any: ...
    @property
    def rotation(self) -> Any: ...
    @property
    def omega(self) -> Any: ...
    @property
    def time(self) -> Any: ...

    def value(self, name: str) -> Any:
        """A number of the element, or its default."""

    def given(self, name: str) -> bool:
        """Whether a value is given."""

    def option(self, name: str) -> str:
        """A word of the element, or the first one."""

    def state(self, name: str = "") -> Any:
        """A state that the row declares."""

    def mode(self, name: str = "") -> Any:
        """A mode that the row declares."""

    def input(self, letter: str, unit: str = "") -> Any:
        """The input <letter>_<element>."""

    def observe(self, name: str, value: Any, unit: str = "") -> None:
        """Show a quantity as <element>_<name>."""


Law = Callable[[Any], Effect | None]


@dataclass(frozen=True, eq=False)
class ForceElement:
    """A kind of force element.

    where     of joint, link, point, wheel, frames (two, the first against the second), path (a line through several
              points), joints (a sum of their coordinates).
              With several, what the element is given decides: the value `joint` or `joints`, two points, or one point
    law       function of a Place. A text "module:function" names one that acts on an Element of `formalisms` by itself
    fields    values by name; variants: word field -> word -> further fields; open: word fields that may hold a record
    states, modes, events   by name; the name "" stands for x_<element> and m_<element> themselves. events: -> in words
    drawing   "strut" (spring, damper or both, by its values), "spring", "damper", "link", "wheel"
    example   values with which tests and pages show it
    """

    kind: str
    about: str
    where: tuple[str, ...]
    law: Law | str
    fields: Fields = field(default_factory=dict)
    variants: Mapping[str, Mapping[str, Fields | MakeFields]] = field(default_factory=dict)
    open: tuple[str, ...] = ()
    states: Mapping[str, State] = field(default_factory=dict)
    modes: Mapping[str, Mode] = field(default_factory=dict)
    events: Mapping[str, str] = field(default_factory=dict)
    drawing: str = "link"
    example: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.kind.isidentifier() or not self.about:
            raise DefinitionError(f"force element {self.kind!r} needs a name of letters, digits and _, and an `about`.")
        if not self.where or any(w not in PLACES for w in self.where):
            raise DefinitionError(f"force element {self.kind!r} acts at {self.where!r}; expected {', '.join(PLACES)}.")
        for kind in ("states", "modes", "events"):
            for name in getattr(self, kind):
                if name and not name.isidentifier():
                    raise DefinitionError(f"{kind} of force element {self.kind!r} have the name {name!r}.")
        if set(self.states) & set(self.modes):
            raise DefinitionError(f"force element {self.kind!r} has a state and a mode of the same name.")
        for name, one in self._all_fields():
            if one.form not in FORMS or one.bound not in ("", *LEAST):
                raise DefinitionError(f"{name!r} of force element {self.kind!r} has form {one.form!r}, {one.bound!r}.")

    def _all_fields(self) -> list[tuple[str, Field]]:
        groups = [self.fields, *(f for words in self.variants.values() for f in words.values())]
        return [pair for group in groups if not callable(group) for pair in group.items()]

    @property
    def points(self) -> tuple[int, ...]:
        """How many points an element may have; none: any number."""
        if self.where == ("joint",) or "path" in self.where:
            return ()
        counts = {"joint": (0, 1), "link": (2,), "frames": (2,), "point": (1,), "wheel": (1,)}
        return tuple(sorted({n for w in self.where for n in counts[w]}))

    def place_of(self, points: Sequence[Any], values: Mapping[str, Any]) -> str:
        """Where an element with these points and values acts."""
        if len(self.where) == 1:
            return self.where[0]
        if "joints" in self.where:
            return "joints" if values.get("joints") is not None else "path"
        if "joint" in self.where and (values.get("joint") is not None or not points):
            return "joint"
        if len(points) == 2 and "link" in self.where:
            return "link"
        return next((w for w in self.where if w in ("point", "wheel")), "joint")

    def fields_for(self, values: Mapping[str, Any]) -> dict[str, Field]:
        """The fields of an element, by the words that it gives. A word that is none of the row's adds no fields."""
        known = dict(self.fields)
        if "joint" in self.where:
            known["joint"] = Field("joint", about="on which it acts")
        for key, words in self.variants.items():
            known[key] = Field("word", words=tuple(words), open=key in self.open)
            word = values.get(key)
            word = next(iter(words)) if word is None else word
            more = words.get(word, {}) if isinstance(word, str) else {}
            known |= more() if callable(more) else more
        return known


def numbers(needed: str = "", others: str = "", **defaults: Any) -> dict[str, Field]:
    """Fields of plain numbers by name."""
    out = {n: Field(needed=True) for n in needed.split()} | {n: Field() for n in others.split()}
    return out | {n: Field(default=x) for n, x in defaults.items()}
