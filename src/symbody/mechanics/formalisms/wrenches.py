"""Wrenches: what the force elements of a Mechanism do to its Tree, and what they add to a System."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from symbody.basics.errors import ModelError
from symbody.mechanics.formalisms.element_energy import total
from symbody.mechanics.formalisms.frame_kinematics import FrameMotion
from symbody.mechanics.formalisms.frames import Frame
from symbody.mechanics.formalisms.link_poses import LinkPose, poses
from symbody.mechanics.formalisms.point_motions import frame_of, to_frame, world_motions
from symbody.mechanics.formalisms.tree import Tree
from symbody.mechanics.formalisms.vec3 import ZERO, Mat, Vec, cross, dot, plus, unit_matrix
from symbody.model.build.piece_forms import identifier
from symbody.model.library.force_element import Account, Event, ForceElement
from symbody.model.library.force_elements import FORCE_ELEMENTS
from symbody.model.record.mechanism import Force
from symbody.symbolic.expr.arrays import Array, scalar_array, zeros
from symbody.symbolic.expr.external import External
from symbody.symbolic.expr.functions import extern
from symbody.symbolic.expr.node import Node
from symbody.symbolic.expr.parse import parse


@dataclass(eq=False)
class Wrenches:
    """Forces on Links, and the inputs, states and observed quantities that come with them.

    links        Link index -> (force (3,) N, moment about the Link's origin (3,) N m), in Link axes
    efforts      (nv,) efforts of elements that act on joints, N m or N; they add to tau
    inputs       name -> symbols of role input
    states       name -> symbols of role state; derivatives: name -> their time derivatives
    modes        name -> symbols of role input, numbers that only events change; a symbol's default is its initial value
    events       name -> what happens where a guard crosses zero; resets by the names of states and modes
    outputs      name -> observed nodes: <element>_Z, <element>_F ...; units: name -> unit
    accounts     energies and powers of the elements, made when `account` asks for them
    """

    tree: Tree
    links: dict[int, tuple[Vec, Vec]] = field(default_factory=dict)
    efforts: Array = field(default_factory=lambda: zeros(0))
    inputs: dict[str, Array] = field(default_factory=dict)
    states: dict[str, Array] = field(default_factory=dict)
    derivatives: dict[str, Array] = field(default_factory=dict)
    modes: dict[str, Array] = field(default_factory=dict)
    events: dict[str, Event] = field(default_factory=dict)
    outputs: dict[str, Any] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)
    accounts: list[Callable[[], Account]] = field(default_factory=list)

    @cached_property
    def places(self) -> list[LinkPose]:
        """Poses of all Links, shared by the elements."""
        return poses(self.tree)

    def push(self, link: int, force: Vec, moment: Vec) -> None:
        """Add a wrench at the origin of a Link, in Link axes; what acts on the world acts on nothing."""
        if link < 0:
            return
        old_force, old_moment = self.links.get(link, (ZERO, ZERO))
        self.links[link] = (old_force + force, old_moment + moment)

    def push_at(self, frame: Frame, force: Vec, moment: Vec = ZERO) -> None:
        """Add a force that acts at the origin of a frame, and a moment; both in Link axes."""
        self.push(frame.link, force, moment + cross(frame.position, force))

    def input(self, name: str, size: int | None = None, unit: str = "") -> Any:
        """A new input: one symbol, or `size` of them."""
        made = [
            self.tree.graph.symbol(name if size is None else f"{name}{k + 1}", "input", unit=unit)
            for k in range(size or 1)
        ]
        self.inputs[name] = np.array(made, dtype=object) if size else scalar_array(made[0])
        self.units[name] = unit
        return made[0] if size is None else tuple(made)

    def state(self, name: str, unit: str = "", start: float = 0.0) -> Node:
        """A new internal state; its derivative goes to `derivatives`."""
        return self._held(self.states, name, "state", unit, start)

    def mode(self, name: str, start: float = 0.0) -> Node:
        """A new mode."""
        return self._held(self.modes, name, "input", "", start)

    def _held(self, group: dict[str, Array], name: str, role: str, unit: str, start: float) -> Node:
        more = {"default": start} if start else {}  # zero is what is meant where there is none
        symbol = self.tree.graph.symbol(name, role, unit=unit, **more)
        group[name] = scalar_array(symbol)
        self.units[name] = unit
        return symbol

    def observe(self, name: str, value: Any, unit: str = "") -> None:
        self.outputs[name] = value
        self.units[name] = unit

    def account(self) -> Account:
        """Energy stored in all elements, power that they give and lose."""
        with self.tree.graph:
            return total(make() for make in self.accounts)


@dataclass(eq=False)
class TreeElement:
    """A Force record on its Tree: values as nodes of the Tree's Graph, points as Frames; the Place that laws see.

    Values were checked when the Mechanism was made; here they are read.

    where    joint, link, point or wheel
    x, v     of a joint or link: displacement and its rate
    """

    force: Force
    wrenches: Wrenches
    frames: tuple[Frame, ...]
    motions: tuple[FrameMotion, ...] = ()  # world motions of the frames, for elements that ask for them
    x: Any = None
    v: Any = None
    length_unit: str = "m"

    @cached_property
    def row(self) -> ForceElement:
        return FORCE_ELEMENTS[self.force.kind]

    @cached_property
    def where(self) -> str:
        return self.row.place_of(self.force.points, self.force.values)

    @cached_property
    def _fields(self) -> dict[str, Any]:
        return self.row.fields_for(self.force.values)

    @property
    def name(self) -> str:
        """The element's name as part of the names of inputs, states and outputs."""
        return identifier(self.force.name)

    @property
    def tree(self) -> Tree:
        return self.wrenches.tree

    @property
    def time(self) -> Node:
        return self.tree.graph.symbol("t", "time")

    @property
    def position(self) -> Vec:
        return self.motions[0].position

    @property
    def velocity(self) -> Vec:
        return self.motions[0].velocity

    @property
    def omega(self) -> Vec:
        return self.motions[0].omega

    @property
    def rotation(self) -> Mat:
        turn = self.motions[0].rotation
        return turn if turn is not None else unit_matrix()

    def unit(self, text: str) -> str:
        """A unit of the row at this place."""
        return text.format(x=self.length_unit, F="N" if self.length_unit == "m" else "N m")

    def value(self, name: str, default: Any = None) -> Any:
        """A number of the element as a node; where it is not given, the default here or that of the row."""
        given = self.force.values.get(name)
        if given is not None:
            return self.tree.node(given)
        return self._fields[name].default if default is None else default

    def given(self, name: str) -> bool:
        return self.force.values.get(name) is not None

    def values(self, name: str) -> tuple[Any, ...]:
        """Several numbers of the element as nodes."""
        return tuple(self.tree.node(v) for v in self.force.values.get(name, ()))

    def option(self, name: str) -> str:
        """A word of the element; the first one that its row lists where none is given."""
        given = self.force.values.get(name)
        return str(self._fields[name].words[0] if given is None else given)

    def state(self, name: str = "") -> Node:
        """A state that the row declares; its rate is part of the Effect."""
        declared = self.row.states[name]
        return self.wrenches.state(self.full("x", name), self.unit(declared.unit), declared.start)

    def mode(self, name: str = "") -> Node:
        """A mode that the row declares."""
        return self.wrenches.mode(self.full("m", name), self.row.modes[name].start)

    def input(self, letter: str, unit: str = "") -> Node:
        """A new input <letter>_<element>."""
        node: Node = self.wrenches.input(self.full(letter), unit=unit)
        return node

    def full(self, letter: str, name: str = "") -> str:
        """Name of an input, state or mode of the element among those of the System."""
        return f"{letter}_{self.name}_{name}" if name else f"{letter}_{self.name}"

    def add_events(self, events: Mapping[str, Event]) -> None:
        """Events of the element, with the names of its states and modes in full."""
        if set(events) != set(self.row.events):
            raise self.fault(f"has the events {sorted(events)}; its row declares {sorted(self.row.events)}.")
        for name, event in events.items():
            reset = {self.full("x" if n in self.row.states else "m", n): x for n, x in event.reset.items()}
            unknown = [n for n in reset if n not in self.wrenches.states and n not in self.wrenches.modes]
            if unknown:
                raise self.fault(f"has the event {name!r} that sets {', '.join(unknown)}, no state or mode of its own.")
            self.wrenches.events[f"{self.name}_{name}"] = replace(event, reset=reset)

    def rates(self, rates: Mapping[str, Any]) -> None:
        """Rates of the states that the law asked for."""
        for name, rate in rates.items():
            self.wrenches.derivatives[self.full("x", name)] = rate
        own = [self.full("x", n) for n in self.row.states]
        missing = [n for n in own if n in self.wrenches.states and n not in self.wrenches.derivatives]
        if missing:
            raise self.fault(f"has a law without rates for {', '.join(missing)}; expected one for every state.")

    def coefficients(self, names: Iterable[str]) -> dict[str, Any]:
        """Those of the named numbers that the element gives."""
        return {n: self.value(n) for n in names if self.given(n)}

    def call(self, function: Any, names: Mapping[str, Any], sizes: tuple[int, ...]) -> list[Any]:
        """Results of a user's function of the named nodes: an External, a Python function of nodes, or a text."""
        arguments = list(names.values())
        if isinstance(function, External):
            result = extern(function, *arguments)
        elif isinstance(function, str):
            result = parse(function, dict(names), self.tree.graph, strict=True)
        else:
            result = function(*arguments)
        values = list(result) if isinstance(result, (list, tuple)) else [result]
        if len(values) not in sizes:
            expected = " or ".join(map(str, sizes))
            raise self.fault(f"has a function with {len(values)} results; expected {expected}.")
        return values

    def observe(self, name: str, value: Any, unit: str = "") -> None:
        self.wrenches.observe(f"{self.name}_{name}", value, unit)

    def account(self, make: Callable[[], Account]) -> None:
        """Say where the work of the element goes; `make` is called if energies are wanted."""
        self.wrenches.accounts.append(make)

    def power_world(self, force: Vec, moment: Vec = ZERO, k: int = 0) -> Any:
        """Power of a force at the origin of the k-th frame and a moment, both in world axes, W."""
        return plus(dot(force, self.motions[k].velocity), dot(moment, self.motions[k].omega))

    def push_world(self, force: Vec, moment: Vec, k: int = 0) -> None:
        """A force at the origin of the k-th frame and a moment, both given in world axes."""
        rotation = self.link_rotation(k)
        self.wrenches.push_at(self.frames[k], to_frame(rotation, force), to_frame(rotation, moment))

    def link_rotation(self, k: int = 0) -> Any:
        """Rotation from the Link's axes to world axes."""
        f, m = self.frames[k], self.motions[k]
        if f.rotation is None or m.rotation is None:
            return m.rotation
        # R_wl = R_wf R_lf^T
        return Mat(Vec(dot(row, turn) for turn in f.rotation) for row in m.rotation)

    def fault(self, text: str) -> ModelError:
        origin = str(self.force.origin)
        return ModelError(
            f"{origin + ': ' if origin else ''}force {self.force.name!r} of kind {self.force.kind!r} {text}"
        )


def elements(tree: Tree, forces: Sequence[Force], into: Wrenches) -> list[TreeElement]:
    """The Elements of Force records; those at points, wheels and frames get world motions, found in one pass."""
    made = [TreeElement(f, into, tuple(frame_of(tree, p) for p in f.points)) for f in forces]
    movers = [e for e in made if e.where in ("point", "wheel", "frames")]
    found = iter(world_motions(tree, [f for e in movers for f in e.frames], order=1))
    for e in movers:
        e.motions = tuple(next(found) for _ in e.frames)
    return made
