"""What a simulation can record of a Mechanism besides its states, by name, as nodes of the Flow's Graph.

    kinetic potential energy power dissipated com     energies (J, W) and centre of mass; energy = kinetic + potential;
                                                      power holds what driven joints and loops that move in time bring
    p.<frame> v. a. R. omega. alpha.                  motion of a body, frame or sensor, in world axes
    sensors                                           p and v of every sensor
    reaction.<joint>, reactions                       wrench of the parent on the child: moment, then force
    <element>_Z, <element>_F ...                      what force elements observe
    lam                                               multipliers of closed loops

An own quantity is an expression of t, q.<joint>, qd.<joint>, qdd.<joint>, inputs, states and parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from symbody.basics.errors import DefinitionError, ModelError, NameLookupError, SymbodyError, nearest
from symbody.mechanics.formalisms.applied_forces import wrenches
from symbody.mechanics.formalisms.solve_accelerations import driven_velocities
from symbody.mechanics.formalisms.wrenches import Wrenches
from symbody.mechanics.memoised.model_memory import derived_of
from symbody.mechanics.verbs.driven_efforts import driven_efforts
from symbody.mechanics.verbs.dynamics import forward_dynamics
from symbody.mechanics.verbs.energy import OUTPUTS as ENERGIES
from symbody.mechanics.verbs.kinematics import QUANTITIES as MOTIONS
from symbody.mechanics.verbs.kinematics import kinematics
from symbody.mechanics.verbs.reactions import reactions
from symbody.model.record.joints import KINDS
from symbody.model.record.mechanism import Mechanism
from symbody.motion.flow.coordinate_labels import labels_of
from symbody.motion.flow.dry_friction import energy_with_slope, with_slope
from symbody.symbolic.expr.arrays import Array
from symbody.symbolic.expr.evaluate import transplant
from symbody.symbolic.expr.graph import Graph
from symbody.symbolic.expr.node import Node
from symbody.symbolic.expr.parse import parse
from symbody.symbolic.expr.walk import free_symbols
from symbody.symbolic.system.names import identifier
from symbody.symbolic.system.system import System, node_array

WRENCH = ("mx", "my", "mz", "fx", "fy", "fz")


@dataclass(frozen=True, eq=False)
class Quantity:
    """Nodes of any shape, with labels of the components (where they are a vector) and their unit."""

    nodes: Array
    labels: tuple[str, ...] = ()
    unit: str | tuple[str, ...] = ""


@dataclass(eq=False)
class ChosenQuantities:
    """Chosen quantities by name, and whether they read the accelerations."""

    chosen: dict[str, Quantity] = field(default_factory=dict)
    reads_qdd: bool = False


def recorded(known: Quantities, outputs: Any) -> ChosenQuantities:
    """Inputs of the model, and what `outputs` names: a text, a list of texts, or name -> expression (or None)."""
    found = {n: Quantity(a) for n, a in {**known.signals, "tau": known.tau}.items()}
    for name, value in _wanted(outputs):
        if value is None:
            found.update(known.find(name))
        else:
            if name.partition(".")[0] in ("q", "qd", "qdd", "t", *known.inputs):
                raise DefinitionError(f"outputs calls an expression {name!r}, which is a state or an input. Rename it.")
            found[name] = Quantity(node_array(known.expression(value, name), known.graph))
    nodes = [x for quantity in found.values() for x in quantity.nodes.flat if isinstance(x, Node)]
    return ChosenQuantities(found, bool(set(free_symbols(nodes)) & set(known.qdd)))


def _wanted(outputs: Any) -> Iterable[tuple[str, Any]]:
    if outputs is None:
        return []
    if isinstance(outputs, str):
        return [(outputs, None)]
    if isinstance(outputs, Mapping):
        return list(outputs.items())
    if not isinstance(outputs, Iterable):
        raise ModelError(f"outputs is {outputs!r}; expected names, or a mapping of names to expressions.")
    out: list[tuple[str, Any]] = []
    for item in outputs:
        if isinstance(item, Mapping):
            out += item.items()
        elif isinstance(item, str):
            out.append((item, None))
        else:
            raise ModelError(f"outputs has {item!r}; expected names, or a mapping of names to expressions.")
    return out


class Quantities:
    """The quantities of a Mechanism over given nodes: inputs of the Flow, where q and qd may be laws of time."""

    def __init__(
        self,
        mech: Mechanism,
        graph: Graph,
        inputs: Mapping[str, Array],
        dynamics: System,
        partition: Any = "auto",
        slow: float = 0.0,
    ) -> None:
        self.mech, self.graph, self.inputs, self.dynamics = mech, graph, dict(inputs), dynamics
        self.slow = slow  # speed below which the dry friction of joints falls off in the motion
        self.partition = partition  # of closed loops: the one of the motion is regular where it is in force
        self.qdd: Array = np.array([graph.symbol(f"qdd{k + 1}", "acceleration") for k in range(mech.nv)], dtype=object)
        self.signals = {n: a for n, a in inputs.items() if n not in ("q", "qd", "t", *dynamics.states)}
        self.signals.setdefault("tau", node_array([0] * mech.nv, graph))

    def find(self, name: str) -> dict[str, Quantity]:
        """The quantities that a name stands for; most names stand for one."""
        if name in ("q", "qd", "qdd", "t") or name in self.inputs:
            return {}  # recorded anyway
        head, _, rest = name.partition(".")
        if name in ENERGIES or name == "energy":
            return {name: self._energy(name)}
        if name == "sensors":
            return {n: q for s in self.mech.sensors for k in "pv" for n, q in self.find(f"{k}.{s.name}").items()}
        if name == "reactions":
            moving = [j.name for j in self.mech.joints if j.mode != "locked" and KINDS[j.kind].motions(j)]
            return {f"reaction.{j}": self._reaction(j) for j in (*moving, *(c.name for c in self.mech.cuts))}
        if head == "reaction" and rest:
            return {name: self._reaction(rest)}
        if head in MOTIONS and rest:
            return {name: self._motion(head, rest)}
        if name in self._observed:
            return {name: self._observed[name]}
        if name == "lam" and (self.mech.cuts or self.mech.couplings):
            return {name: self._multipliers()}
        raise NameLookupError(f"{self.mech.name} has no quantity {name!r} to record. {nearest(name, self.names())}")

    def names(self) -> list[str]:
        """Names that may be recorded, for messages: of motions those of positions."""
        bodies = [f"p.{b.name}" for b in self.mech.bodies] + [f"p.{s.name}" for s in self.mech.sensors]
        joints = [f"reaction.{j.name}" for j in self.mech.joints] + [f"reaction.{c.name}" for c in self.mech.cuts]
        more = ["lam"] if self.mech.cuts or self.mech.couplings else []
        return [*ENERGIES, "energy", "sensors", "reactions", *bodies, *joints, *self._observed, *more]

    def expression(self, value: Any, name: str) -> Any:
        """A text of the names that are known here, a node of another Graph by the same names, or a number."""
        return expression(value, {**self.variables, **self.parameters}, self.graph, f"output {name!r}")

    @cached_property
    def variables(self) -> dict[str, Node]:
        """t, q.<joint>, qd.<joint>, qdd.<joint>, inputs and states as names of expressions."""
        arrays = {**self.inputs, **self.signals, "qdd": self.qdd, "tau": self.tau}
        return named_nodes(arrays, labels_of(self.mech))

    @cached_property
    def parameters(self) -> dict[str, Node]:
        """Parameters of the Mechanism in this Graph."""
        own = self.mech.parameters
        return dict(zip(own, transplant(own.values(), {}, self.graph)))

    # -- the kinds

    def _apply(self, system: System, **more: Array) -> dict[str, Array]:
        """Outputs of a System over the nodes of this Flow; more: other nodes for some of its inputs."""
        given = {"q": self.inputs["q"], "qd": self.inputs["qd"], "qdd": self.qdd, "tau": self.signals["tau"]}
        given = {**self.inputs, **self.signals, **given, **more}
        if "qdd_driven" in system.inputs:
            given["qdd_driven"] = self.qdd[driven_velocities(derived_of(self.mech).tree())]
        found = system.apply(**{n: given[n] for n in system.inputs})
        if len(system.outputs) == 1:
            found = {next(iter(system.outputs)): found}
        return {n: node_array(a, self.graph) for n, a in found.items()}

    @property
    def tau(self) -> Array:
        """(nv,) efforts: those that are given, and of driven joints those that their motion needs."""
        return self._efforts["tau"]

    @cached_property
    def _efforts(self) -> dict[str, Array]:
        """tau, and loop_power where loops depend on time."""
        pieces = [c.expression for c in self.mech.couplings]
        pieces += [c.length for c in self.mech.cuts if c.length is not None]
        moving = any(s.data.role == "time" for s in free_symbols(pieces))
        if not moving and not any(j.mode == "driven" for j in self.mech.joints):
            return {"tau": self.signals["tau"]}
        options = self._loops("formulation", "alpha", "beta") if self.mech.cuts or self.mech.couplings else {}
        return self._apply(with_slope(self.mech, driven_efforts(self.mech, **options), self.slow))

    @cached_property
    def _energies(self) -> dict[str, Array]:
        found = self._apply(energy_with_slope(self.mech, self.slow), tau=self.tau)
        if "loop_power" in self._efforts:
            found["power"] = node_array(found["power"][()] + self._efforts["loop_power"][()], self.graph)
        return found

    def _energy(self, name: str) -> Quantity:
        found = self._energies
        if name == "energy":
            return Quantity(node_array(found["kinetic"][()] + found["potential"][()], self.graph), unit="J")
        if name not in found:
            raise ModelError(f"{self.mech.name} has no {name}: nothing that moves has mass.")
        return Quantity(found[name], ("x", "y", "z") if name == "com" else (), ENERGIES[name][1])

    def _motion(self, kind: str, frame: str) -> Quantity:
        system = kinematics(self.mech, [frame], quantities=[kind], loops=False)
        (nodes,) = self._apply(system).values()
        labels = ("x", "y", "z") if nodes.shape == (3,) else ()
        return Quantity(nodes, labels, MOTIONS[kind][2])

    def _reaction(self, joint: str) -> Quantity:
        """Reaction of a joint or of a cut: wrench, N m and N."""
        cut = any(c.name == joint for c in self.mech.cuts)
        known = [*self.mech.joint_of, *(c.name for c in self.mech.cuts)]
        if joint not in known:
            raise NameLookupError(f"{self.mech.name} has no joint or cut {joint!r}. {nearest(joint, known)}")
        system = reactions(self.mech, [] if cut else [joint], **self._loops("formulation"))
        found = self._apply(with_slope(self.mech, system, self.slow))
        return Quantity(found[f"reaction_{identifier(joint)}"], WRENCH, ("N m",) * 3 + ("N",) * 3)

    @cached_property
    def _elements(self) -> tuple[Wrenches, Callable[[Any], Array]]:
        """Force elements on a Tree of their own, and how their nodes are carried into this Flow."""
        tree = derived_of(self.mech).tree()
        found = wrenches(tree)
        groups = (found.inputs, found.states, found.modes)
        places: list[tuple[Any, Any]] = [
            (tree.q, self.inputs["q"]),
            (tree.qd, self.inputs["qd"]),
            (tree.qdd, self.qdd),
            *((a, self.inputs[n]) for group in groups for n, a in group.items() if n in self.inputs),
        ]
        own = {s: v for symbols, values in places for s, v in zip(symbols.flat, values.flat)}
        own.update({s: self.inputs["t"].item() for s in tree.graph.others.values() if _is_time(s)})

        def carried(value: Any) -> Array:
            nodes = node_array(value, tree.graph)
            out = node_array(np.empty(nodes.shape), self.graph)
            for i, x in enumerate(transplant(nodes.flat, own, self.graph)):
                out.flat[i] = x
            return out

        return found, carried

    @cached_property
    def _observed(self) -> dict[str, Quantity]:
        """What force elements observe."""
        if not self.mech.forces:
            return {}
        found, carried = self._elements
        return {name: Quantity(carried(x), unit=found.units.get(name, "")) for name, x in found.outputs.items()}

    def events(self) -> tuple[dict[str, Array], dict[str, int]]:
        """Guards <event> and resets <event>.<state> of force elements at q and qd as they are; directions by event."""
        if not self.mech.forces:
            return {}, {}
        found, carried = self._elements
        nodes = {name: carried(event.guard) for name, event in found.events.items()}
        resets = {f"{e}.{n}": carried(x) for e, event in found.events.items() for n, x in event.reset.items()}
        return {**nodes, **resets}, {name: event.direction for name, event in found.events.items()}

    def _multipliers(self) -> Quantity:
        system = forward_dynamics(self.mech, "base", lam=True, **self._loops("formulation", "alpha", "beta"))
        return Quantity(self._apply(with_slope(self.mech, system, self.slow))["lam"])

    def _loops(self, *names: str) -> dict[str, Any]:
        """How the motion deals with closed loops, as options of a verb: its partition, or those of `names`."""
        found = getattr(self.partition, "options", None)
        return (
            {"partition": self.partition}
            if found is None
            else {n: found[n] for n in (*names, "partition") if n in found}
        )


def _is_time(node: Node) -> bool:
    return getattr(node.data, "role", "") == "time"


# -- expressions of named variables


def named_nodes(arrays: Mapping[str, Array], labels: Mapping[str, tuple[str, ...]]) -> dict[str, Node]:
    """Names that expressions may use: scalars by name, components as <name>.<label> or <name>.<number>."""
    out: dict[str, Node] = {}
    for name, array in arrays.items():
        if array.shape == ():
            out[name] = array.item()
            continue
        for k, x in enumerate(array.flat):
            out[f"{name}.{k + 1}"] = x
        for label, x in zip(labels.get(name, ()), array.flat):
            out[f"{name}.{label}"] = x
    return out


def expression(value: Any, names: Mapping[str, Node], graph: Graph, what: str) -> Node:
    """A text, a number, or a node of any Graph whose symbols have names among `names`, as a node of `graph`."""
    if isinstance(value, str):
        try:
            return parse(value, names, graph, strict=True)
        except SymbodyError as error:
            raise type(error)(f"{what}: {error}") from None
    if isinstance(value, Node):
        given = {}
        for s in free_symbols([value]):
            if s.data.name in names:
                given[s] = names[s.data.name]
            elif s.data.role != "parameter":
                raise NameLookupError(f"{what} contains {s.data.name!r}. {nearest(s.data.name, names)}")
        return transplant([value], given, graph)[0]
    node: Node = node_array(value, graph).item()
    return node
