"""Wrenches: what the force elements of a Mechanism do to its Tree, and what they add to a System."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from symbody.errors import ModelError, nearest
from symbody.expr.arrays import Array, zeros
from symbody.expr.external import External
from symbody.expr.functions import extern
from symbody.expr.node import Node
from symbody.expr.parse import parse
from symbody.formalisms import triples as t3
from symbody.formalisms.accounts import Account, total
from symbody.formalisms.frames import Frame
from symbody.formalisms.kinematics import Motion
from symbody.formalisms.points import frame_of, to_frame, world_motions
from symbody.formalisms.poses import Pose, poses
from symbody.formalisms.tree import Tree
from symbody.formalisms.triples import Vec
from symbody.model.mechanism import Force
from symbody.model.pieces import identifier


@dataclass(eq=False)
class Wrenches:
    """Forces on Links, and the inputs, states and observed quantities that come with them.

    links        Link index -> (force (3,) N, moment about the Link's origin (3,) N m), in Link axes
    efforts      (nv,) efforts of elements that act on joints, N m or N; they add to tau
    inputs       name -> symbols of role input
    states       name -> symbols of role state; derivatives: name -> their time derivatives
    outputs      name -> observed nodes: <element>_Z, <element>_F ...; units: name -> unit
    accounts     energies and powers of the elements, made when `account` asks for them
    """

    tree: Tree
    links: dict[int, tuple[Vec, Vec]] = field(default_factory=dict)
    efforts: Array = field(default_factory=lambda: zeros(0))
    inputs: dict[str, Array] = field(default_factory=dict)
    states: dict[str, Array] = field(default_factory=dict)
    derivatives: dict[str, Array] = field(default_factory=dict)
    outputs: dict[str, Any] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)
    accounts: list[Callable[[], Account]] = field(default_factory=list)

    @cached_property
    def places(self) -> list[Pose]:
        """Poses of all Links, shared by the elements."""
        return poses(self.tree)

    def push(self, link: int, force: Vec, moment: Vec) -> None:
        """Add a wrench at the origin of a Link, in Link axes; what acts on the world acts on nothing."""
        if link < 0:
            return
        old_force, old_moment = self.links.get(link, (t3.ZERO, t3.ZERO))
        self.links[link] = (t3.add(old_force, force), t3.add(old_moment, moment))

    def push_at(self, frame: Frame, force: Vec, moment: Vec = t3.ZERO) -> None:
        """Add a force that acts at the origin of a frame, and a moment; both in Link axes."""
        self.push(frame.link, force, t3.add(moment, t3.cross(frame.position, force)))

    def input(self, name: str, size: int | None = None, unit: str = "") -> Any:
        """A new input: one symbol, or `size` of them."""
        made = [
            self.tree.graph.symbol(name if size is None else f"{name}{k + 1}", "input", unit=unit)
            for k in range(size or 1)
        ]
        self.inputs[name] = np.array(made, dtype=object) if size else scalar(made[0])
        self.units[name] = unit
        return made[0] if size is None else tuple(made)

    def state(self, name: str, unit: str = "") -> Node:
        """A new internal state; its derivative goes to `derivatives`."""
        symbol = self.tree.graph.symbol(name, "state", unit=unit)
        self.states[name] = scalar(symbol)
        self.units[name] = unit
        return symbol

    def observe(self, name: str, value: Any, unit: str = "") -> None:
        self.outputs[name] = value
        self.units[name] = unit

    def account(self) -> Account:
        """Energy stored in all elements, power that they give and lose."""
        with self.tree.graph:
            return total(make() for make in self.accounts)


def scalar(node: Any) -> Array:
    """An array of shape ()."""
    out = np.empty((), dtype=object)
    out[()] = node
    return out


@dataclass(eq=False)
class Element:
    """A Force record on its Tree: values as nodes of the Tree's Graph, points as Frames."""

    force: Force
    wrenches: Wrenches
    frames: tuple[Frame, ...]
    motions: tuple[Motion, ...] = ()  # world motions of the frames, for elements that ask for them

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

    def value(self, name: str, default: Any = None) -> Any:
        """A number of the element as a node; the default where it is not given, an error if there is none."""
        given = self.force.values.get(name)
        if given is None:
            if default is None:
                raise self.fault(f"has no {name!r}. {nearest(name, self.force.values)}")
            return default
        if not isinstance(given, (Node, int, float)) or isinstance(given, bool):
            raise self.fault(f"has {name} {given!r}; expected a number or an expression.")
        return self.tree.node(given)

    def given(self, name: str) -> bool:
        return self.force.values.get(name) is not None

    def values(self, name: str, size: int) -> tuple[Any, ...]:
        """Several numbers of the element as nodes."""
        given = self.force.values.get(name)
        if not isinstance(given, (Sequence, np.ndarray)) or isinstance(given, str) or len(given) != size:
            raise self.fault(f"has {name} {given!r}; expected a list of {size} numbers.")
        return tuple(self.tree.node(v) for v in given)

    def option(self, name: str, choices: Sequence[str]) -> str:
        """A text among the choices; the first is the default."""
        given = self.force.values.get(name, choices[0])
        if given not in choices:
            raise self.fault(f"has {name} {given!r}; expected one of {', '.join(choices)}.")
        return str(given)

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
        elif callable(function):
            result = function(*arguments)
        else:
            raise self.fault(f"has function {function!r}; expected an External, a Python function or a text.")
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

    def power_world(self, force: Vec, moment: Vec = t3.ZERO, k: int = 0) -> Any:
        """Power of a force at the origin of the k-th frame and a moment, both in world axes, W."""
        return t3.plus(t3.dot(force, self.motions[k].velocity), t3.dot(moment, self.motions[k].omega))

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
        return tuple(tuple(t3.dot(row, turn) for turn in f.rotation) for row in m.rotation)

    def fault(self, text: str) -> ModelError:
        origin = str(self.force.origin)
        return ModelError(
            f"{origin + ': ' if origin else ''}force {self.force.name!r} of kind {self.force.kind!r} {text}"
        )


def elements(tree: Tree, forces: Sequence[Force], moving: Collection[str], into: Wrenches) -> list[Element]:
    """The Elements of Force records; those whose names are in `moving` get world motions, found in one pass for all."""
    made = [Element(f, into, tuple(frame_of(tree, p) for p in f.points)) for f in forces]
    movers = [e for e in made if e.force.name in moving]
    found = iter(world_motions(tree, [f for e in movers for f in e.frames], order=1))
    for e in movers:
        e.motions = tuple(next(found) for _ in e.frames)
    return made
