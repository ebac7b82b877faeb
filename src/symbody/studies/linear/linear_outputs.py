"""Outputs of a linear model: what a text asks for, as nodes of a Tree.

"q", "qd", "qdd", "q.<joint>"        increments, velocities, accelerations
"p.<frame>", "v.", "a.", "omega.", "alpha."   motion of a body, a frame or a sensor in world axes; a bare name: p
"<element>_F", "<element>_Z" ...     what a force element observes
"tau", "u_<name>", "x_<name>"        inputs and internal states; of a driven joint the effort that its motion needs
any other text                       an expression of q.<joint>, qd.<joint>, qdd.<joint>, those above and parameters
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from symbody.basics.errors import ModelError, NameLookupError, nearest
from symbody.mechanics.formalisms.applied_forces import wrenches
from symbody.mechanics.formalisms.frame_kinematics import frame_motions
from symbody.mechanics.formalisms.frames import frame
from symbody.mechanics.formalisms.tree import Tree
from symbody.mechanics.verbs.problem import Problem
from symbody.model.record.coordinates import coordinate_labels, velocity_labels
from symbody.symbolic.expr.arrays import Array
from symbody.symbolic.expr.node import Node
from symbody.symbolic.expr.parse import parse

MOTIONS = {"p": "position", "v": "velocity", "a": "acceleration", "omega": "omega", "alpha": "alpha"}
ORDERS = {"p": 0, "v": 1, "omega": 1, "a": 2, "alpha": 2}


@dataclass
class Outputs:
    """Chosen outputs: names, nodes, and which of them are increments of q themselves (output -> index of velocity)."""

    names: list[str] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    increments: dict[int, int] = field(default_factory=dict)


class Chooser:
    """Finds outputs by text; what is asked for twice is computed once, as all nodes are interned."""

    def __init__(self, problem: Problem, needed: Mapping[int, Any] = MappingProxyType({})) -> None:
        """needed: velocity of a driven joint -> the effort that its motion needs; None where loops share in it."""
        self.problem, self.tree = problem, problem.tree
        tree: Tree = problem.tree
        labels = velocity_labels(tree.mechanism)
        self.velocities = {
            **{f"qd.{n}": x for n, x in zip(labels, tree.qd)},
            **{f"qdd.{n}": x for n, x in zip(labels, tree.qdd)},
            **{f"tau.{n}": x for n, x in zip(labels, tree.tau)},
        }
        self.velocities |= {f"tau.{labels[k]}": x for k, x in needed.items() if x is not None}
        self.shared = {f"tau.{labels[k]}" for k, x in needed.items() if x is None}
        self.increments = {f"q.{n}": k for k, n in enumerate(labels)}
        self.coordinates = {f"q.{n}": x for n, x in zip(coordinate_labels(tree.mechanism), tree.q)}
        own = [p for p in tree.mechanism.slots if p.plain]
        self.plain = {f"q.{labels[p.iv + k]}" for p in own for k in range(p.nv)}
        self.signals = {n: x for given in (problem.inputs, problem.states, problem.modes) for n, x in _each(given)}
        self.observed: dict[str, Any] = wrenches(tree).outputs if tree.mechanism.forces else {}
        self.outputs = Outputs()

    def choose(self, outputs: Any) -> Outputs:
        """outputs: None (all increments, then velocities), a text, a list of texts, or a mapping name -> text."""
        if outputs is None:
            outputs = ["q", "qd"] if len(self.tree.qd) else []
        if isinstance(outputs, Mapping):
            for name, text in outputs.items():
                before = len(self.outputs.names)
                self.add(text)
                made = len(self.outputs.names) - before
                self.outputs.names[before:] = [name] if made == 1 else [f"{name}.{k + 1}" for k in range(made)]
            return self.outputs
        for text in [outputs] if isinstance(outputs, str) else outputs:
            self.add(text)
        return self.outputs

    def add(self, text: str) -> None:
        if not isinstance(text, str):
            raise ModelError(f"output {text!r} was asked for; expected a text, such as 'q', 'p.tip' or 'q.elbow + 2'.")
        if text in self.shared:
            raise ModelError(
                f"output {text!r} is the effort of a driven joint in closed loops, which no linear model gives. Record "
                "tau in a simulation, or ask for the reactions."
            )
        if text in ("q", "qd", "qdd", "tau"):
            known = self.increments if text == "q" else self.velocities
            for name in [n for n in known if n.partition(".")[0] == text]:
                self.add(name)
        elif text in self.plain:
            self._put(text, self.coordinates[text])
        elif text in self.increments:
            # of a quaternion: measured from the operating point, where it is zero
            self.outputs.increments[len(self.outputs.nodes)] = self.increments[text]
            self._put(text, self.tree.graph.zero)
        elif text in self.velocities or text in self.signals or text in self.observed:
            self._put(text, {**self.velocities, **self.signals, **self.observed}[text])
        elif not self._motion(text):
            self._put(text, self._expression(text))

    def _put(self, name: str, value: Any) -> None:
        self.outputs.names.append(name)
        self.outputs.nodes.append(value if isinstance(value, Node) else self.tree.graph.number(value))

    def _motion(self, text: str) -> bool:
        """Whether the text was the motion of a frame, whose three components are put then."""
        quantity, _, name = text.partition(".")
        if quantity not in MOTIONS or not name:
            quantity, name = "p", text
        try:
            at = frame(self.tree, name)
        except NameLookupError:
            return False
        motion = frame_motions(self.tree, [at], order=ORDERS[quantity])[0]
        for axis, value in zip("xyz", getattr(motion, MOTIONS[quantity])):
            self._put(f"{quantity}.{name}.{axis}", value)
        return True

    def _expression(self, text: str) -> Node:
        parameters = {n: self.tree.node(s) for n, s in self.tree.mechanism.parameters.items()}
        names = {**parameters, **self.observed, **self.signals, **self.velocities, **self.coordinates}
        names["t"] = self.tree.graph.symbol("t", "time")
        try:
            return parse(text, names, self.tree.graph, strict=True)
        except NameLookupError as error:
            mech = self.tree.mechanism
            known = [*self.increments, *self.velocities, *self.signals, *self.observed]
            known += [f"p.{x.name}" for x in mech.sensors] + [f"p.{x.name}" for x in mech.bodies]
            hint = nearest(text, known)
            raise NameLookupError(f"output {text!r} of {mech.name} is not known: {error} {hint}") from None


def _each(arrays: Mapping[str, Array]) -> Iterable[tuple[str, Node]]:
    """Components by name: the array's own if it is a single one, else <name>.1, <name>.2 ..."""
    for name, array in arrays.items():
        flat = list(np.asarray(array, dtype=object).flat)
        if len(flat) == 1:
            yield name, flat[0]
        else:
            yield from ((f"{name}.{k + 1}", x) for k, x in enumerate(flat))


def component_names(arrays: Mapping[str, Array]) -> list[str]:
    """Names of all components, as they are asked for."""
    return [name for name, _ in _each(arrays)]
