"""Open ports of a graph: closed by inputs, so that it runs by itself, or joined to joints of a Mechanism."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from symbody.basics.errors import DefinitionError, ModelError, NameLookupError, nearest, word_argument
from symbody.bondgraph.equations.state_equations import as_system, write_equations
from symbody.bondgraph.graph.bond_graph import Bond, BondGraph, Element
from symbody.bondgraph.graph.check_graph import check_graph
from symbody.symbolic.expr.arrays import scalar_array
from symbody.symbolic.lower.optimize import optimize_system
from symbody.symbolic.system.system import System


def with_ports(graph: BondGraph, given: Mapping[str, str]) -> BondGraph:
    """Each named port becomes a source: "effort" or "flow" comes from outside, as an input of the port's name.

    What the graph answers is the other variable, graph.system(outputs=["f.<port>"]) or "e.<port>", with power counted
    into the graph: of a port whose bond leads outward the effort, or flow, is given as it is there and the answer has
    the opposite sign, that of the reaction.
    """
    ports = {p.name: p for p in graph.ports}
    elements, bonds = dict(graph.elements), list(graph.bonds)
    for name, way in given.items():
        if name not in ports:
            raise NameLookupError(f"{graph.name} has no open port {name!r}. {nearest(name, ports)}")
        word_argument("way", way, ("effort", "flow"))
        old = elements[name]
        elements[name] = Element(name, "Se" if way == "effort" else "Sf", domain=old.domain, origin=old.origin)
        if not ports[name].into:  # power was counted outward: the source counts it inward, with the sign of the flow
            k = next(i for i, b in enumerate(bonds) if name in (b.tail, b.head))
            bonds[k : k + 1] = _turned(bonds[k], name, elements)
    made = replace(graph, elements=elements, bonds=tuple(replace(b, number=i + 1) for i, b in enumerate(bonds)))
    check_graph(made)
    return made


def _turned(b: Bond, name: str, elements: dict[str, Element]) -> list[Bond]:
    """A junction in the bond, so that the source may count power inward: what is given is that of the bond outward."""
    kind = "1" if elements[name].kind == "Sf" else "0"
    at = f"{name}_at"
    elements[at] = Element(at, kind)
    return [replace(b, head=at), replace(b, tail=name, head=at)]


def drive(graph: BondGraph, joints: Mapping[str, str]) -> System:
    """A graph that drives joints of a Mechanism by its ports, as a System for `sb.simulate(mech, ..., inputs=system)`.

    joints   open port -> joint. The joint's velocity is the flow of the port, and the effort of the port acts on it:
             inputs qd.<joint>, outputs tau.<joint>. The states of the graph become states of the run.

    What would follow the velocity at once, such as the inertia of a rotor without an elastic shaft, asks for the
    acceleration and is refused: give it to the joint (`rotor`), or put a spring between.
    """
    if not joints:
        raise DefinitionError(f"{graph.name}.drive was given no joints; expected port -> joint.")
    closed = with_ports(graph, dict.fromkeys(joints, "flow"))
    made = write_equations(closed, [f"e.{port}" for port in joints])
    rates = [n for n in made.inputs if n.endswith("_dot") and n[:-4] in joints]
    if rates or made.shift:
        port = rates[0][:-4] if rates else next(iter(joints))
        raise ModelError(
            f"{graph.name} needs the acceleration at the port {port!r}: a storage there follows the joint at once. "
            "Give its inertia to the joint as rotor, or put a spring between."
        )
    system = as_system(made)
    names = {port: f"qd.{joint}" for port, joint in joints.items()}
    inputs = {names.get(n, n): a for n, a in system.inputs.items()}
    outputs = {n: a for n, a in system.outputs.items() if n not in {f"e_{port}" for port in joints}}
    for port, joint in joints.items():
        outputs[f"tau.{joint}"] = scalar_array(-system.outputs[f"e_{port}"].item())
    return optimize_system(system.replace(inputs=inputs, outputs=outputs, units={}, origins={}), "standard")
