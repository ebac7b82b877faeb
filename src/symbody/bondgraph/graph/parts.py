"""Parts: sub-models with ports and physical fields, one row each. `symbody.extend.add_part` adds one.

A row builds a small bond graph; `builder.part("m1", "dc_motor", R=0.5)` puts it into another, and the section `parts`
of a file does the same. Laws are those of `symbody.model.library`: friction is the same in a graph and in a Mechanism.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from symbody.basics.errors import DefinitionError, add_row, nearest, remove_row
from symbody.bondgraph.graph.bond_graph import BondGraph
from symbody.bondgraph.graph.graph_builder import GraphBuilder, real
from symbody.model.library.force_element import Field
from symbody.model.library.friction import stribeck
from symbody.model.library.law_functions import exp, sqrt
from symbody.model.library.springs import cubic_spring
from symbody.model.record.origin import fault, place
from symbody.symbolic.expr.node import Node

Make = Callable[[GraphBuilder, Mapping[str, Node]], None]


@dataclass(frozen=True)
class Part:
    """A part.

    ports    name -> domain, in the order in which power passes; one with a dash in front counts power outward
    fields   name -> Field: default, unit, bound
    make     (builder, symbols of the fields): elements and bonds, the ports being there already
    example  values of the fields that have no default
    """

    name: str
    about: str
    ports: Mapping[str, str]
    fields: Mapping[str, Field]
    make: Make
    example: Mapping[str, float]


PARTS: dict[str, Part] = {}


def add_part_row(row: Part) -> Part:
    """One more part, under a name that is free."""
    if not isinstance(row, Part):
        raise DefinitionError(
            f"add_part was given {row!r}; expected a Part(name, about, ports, fields, make, example)."
        )
    return add_row(PARTS, row.name, row, "part")


def remove_part_row(name: str) -> None:
    """Take an added part out again."""
    remove_row(PARTS, name, BUILT_IN, "part")


def part_graph(kind: str, values: Mapping[str, Any], origin: str = "") -> tuple[BondGraph, dict[str, Any]]:
    """The graph of a part with open ports, and the values given for its parameters."""
    if kind not in PARTS:
        raise fault(origin, f"there is no part {kind!r}. {nearest(kind, PARTS)}")
    row = PARTS[kind]
    for key in values:
        if key not in row.fields:
            raise fault(place(origin, key), f"a {kind} has no {key!r}. {nearest(key, row.fields)}")
    made = GraphBuilder(kind)
    symbols = {}
    for name, f in row.fields.items():
        if f.needed and name not in values:
            raise fault(origin, f"a {kind} has no {name}; expected a value, {f.unit or 'a number'}.")
        given = values.get(name)
        if isinstance(given, (int, float)) and f.bound and not _holds(f.bound, real(given, name, place(origin, name))):
            raise fault(
                place(origin, name),
                f"{name} of a {kind} is {given}; expected a {f.bound} number, {f.unit or 'no unit'}.",
            )
        symbols[name] = made.parameter(
            name, f.default if f.default is None else float(f.default), f.unit, f.bound == "positive"
        )
    for name, domain in row.ports.items():
        made.element(name.lstrip("-"), "port", domain=domain)
    row.make(made, symbols)
    return made.done(), dict(values)


def _holds(bound: str, value: float) -> bool:
    return value > 0 if bound == "positive" else value >= 0 if bound == "not negative" else True


def _one(kind: str, field: str, change: Callable[[Node], Any] = lambda x: x) -> Make:
    """A one-port element whose modulus is a function of one field."""

    def make(b: GraphBuilder, v: Mapping[str, Node]) -> None:
        b.element(kind, kind, change(v[field]))
        b.bond("a", kind)

    return make


def _two(kind: str, field: str, change: Callable[[Node], Any] = lambda x: x) -> Make:
    """A TF or GY between ports a and b."""

    def make(b: GraphBuilder, v: Mapping[str, Node]) -> None:
        b.element(kind, kind, change(v[field]))
        b.bonds(f"a -> {kind} -> b")

    return make


def _law(
    law: Callable[[Mapping[str, Node], Node], Any], kind: str = "R", letter: str = "f", guess: float = 0.0
) -> Make:
    """A one-port with a nonlinear law of the library."""

    def make(b: GraphBuilder, v: Mapping[str, Node]) -> None:
        x = b.graph.symbol(letter, "input", scope=f"law of {kind}")
        b.element(kind, kind, law=law(v, x), guess=guess)
        b.bond("a", kind)

    return make


def _dc_motor(b: GraphBuilder, v: Mapping[str, Node]) -> None:
    b.one("current", "speed")
    b.element("R", "R", v["R"], domain="electrical")
    b.element("L", "I", v["L"], domain="electrical")
    b.element("K", "GY", v["K"], domain="electrical", domain2="rotation")
    b.element("J", "I", v["J"], domain="rotation")
    b.element("B", "R", v["B"], domain="rotation")
    b.bonds("electric -> current -> R", "current -> L", "current -> K -> speed -> J", "speed -> B", "speed -> shaft")


def _pump(b: GraphBuilder, v: Mapping[str, Node]) -> None:
    b.zero("outlet")
    b.element("D", "TF", v["D"])
    b.element("leak", "R", 1 / v["G"])
    b.bonds("shaft -> D -> outlet -> leak", "outlet -> line")


def _tank(b: GraphBuilder, v: Mapping[str, Node]) -> None:
    b.element("C", "C", v["A"] / (v["rho"] * v["g"]))
    b.bond("a", "C")


def _positive(unit: str, default: float | None = None) -> Field:
    return Field(needed=default is None, default=default, unit=unit, bound="positive")


_ROWS = (
    Part("resistor", "electrical resistance", {"a": "electrical"}, {"R": _positive("ohm")}, _one("R", "R"),
         {"R": 10.0}),
    Part("capacitor", "electrical capacity", {"a": "electrical"}, {"C": _positive("F")}, _one("C", "C"), {"C": 1e-6}),
    Part("inductor", "inductance", {"a": "electrical"}, {"L": _positive("H")}, _one("I", "L"), {"L": 1e-3}),
    Part("transformer", "voltages in the ratio of the turns", {"a": "electrical", "-b": "electrical"},
         {"n": _positive("")}, _two("TF", "n"), {"n": 2.0}),
    Part("diode", "current of a junction, Shockley's law", {"a": "electrical"},
         {"Is": _positive("A", 1e-12), "Vt": _positive("V", 0.02585)},
         _law(lambda v, e: v["Is"] * (exp(e / v["Vt"]) - 1), letter="e", guess=0.6), {}),
    Part("mass", "mass in translation", {"a": "translation"}, {"m": _positive("kg")}, _one("I", "m"), {"m": 1.0}),
    Part("spring", "linear spring", {"a": "translation"}, {"k": _positive("N/m")}, _one("C", "k", lambda k: 1 / k),
         {"k": 100.0}),
    Part("hardening_spring", "spring with a cubic part", {"a": "translation"},
         {"k": _positive("N/m"), "k3": Field(default=0, unit="N/m³")},
         _law(lambda v, q: -cubic_spring(q, 0, v["k"], cubic=v["k3"]), "C", "q"), {"k": 100.0}),
    Part("damper", "viscous damper", {"a": "translation"}, {"d": _positive("N s/m")}, _one("R", "d"), {"d": 1.0}),
    Part("friction", "Coulomb and Stribeck friction", {"a": "translation"},
         {"level": _positive("N"), "breakaway": _positive("N"), "speed": _positive("m/s", 0.01),
          "width": _positive("m/s", 1e-3)},
         _law(lambda v, f: -stribeck(f, v["level"], v["breakaway"], v["speed"], width=v["width"])),
         {"level": 1.0, "breakaway": 1.5}),
    Part("lever", "velocities in a ratio", {"a": "translation", "-b": "translation"}, {"n": _positive("")},
         _two("TF", "n"), {"n": 2.0}),
    Part("inertia", "moment of inertia", {"a": "rotation"}, {"J": _positive("kg m²")}, _one("I", "J"), {"J": 0.1}),
    Part("torsion_spring", "torsional spring", {"a": "rotation"}, {"k": _positive("N m/rad")},
         _one("C", "k", lambda k: 1 / k), {"k": 10.0}),
    Part("rotary_damper", "viscous damper in rotation", {"a": "rotation"}, {"d": _positive("N m s")}, _one("R", "d"),
         {"d": 0.1}),
    Part("gear", "speed b = n speed a", {"a": "rotation", "-b": "rotation"}, {"n": Field(needed=True, unit="")},
         _two("TF", "n"), {"n": 0.1}),
    Part("rack", "pinion of radius r: velocity = r speed", {"a": "rotation", "-b": "translation"},
         {"r": _positive("m")}, _two("TF", "r"), {"r": 0.05}),
    Part("dc_motor", "direct-current motor", {"electric": "electrical", "-shaft": "rotation"},
         {"R": _positive("ohm"), "L": _positive("H"), "K": _positive("N m/A"), "J": _positive("kg m²"),
          "B": _positive("N m s", 1e-6)}, _dc_motor, {"R": 1.0, "L": 1e-3, "K": 0.1, "J": 1e-4}),
    Part("tank", "open tank of cross-section A", {"a": "hydraulic"},
         {"A": _positive("m²"), "rho": _positive("kg/m³", 1000.0), "g": _positive("m/s²", 9.81)},
         _tank, {"A": 0.5}),
    Part("accumulator", "hydraulic compliance", {"a": "hydraulic"}, {"C": _positive("m³/Pa")}, _one("C", "C"),
         {"C": 1e-9}),
    Part("pipe", "laminar loss of pressure", {"a": "hydraulic"}, {"R": _positive("Pa s/m³")}, _one("R", "R"),
         {"R": 1e6}),
    Part("orifice", "turbulent loss: flow = k sqrt(pressure), linear below `small`", {"a": "hydraulic"},
         {"k": _positive("m³/(s √Pa)"), "small": _positive("Pa", 10.0)},
         _law(lambda v, e: v["k"] * e / sqrt(sqrt(e * e + v["small"] ** 2)), letter="e"), {"k": 1e-6}),
    Part("inertance", "inertia of a column of fluid", {"a": "hydraulic"}, {"I": _positive("kg/m⁴")}, _one("I", "I"),
         {"I": 1e7}),
    Part("cylinder", "piston of area A: velocity = flow / A", {"a": "hydraulic", "-b": "translation"},
         {"A": _positive("m²")}, _two("TF", "A", lambda A: 1 / A), {"A": 1e-3}),
    Part("pump", "displacement D per radian, with leakage G", {"shaft": "rotation", "-line": "hydraulic"},
         {"D": _positive("m³/rad"), "G": _positive("m³/(s Pa)")}, _pump, {"D": 1e-6, "G": 1e-12}),
    Part("heat_capacity", "stored heat", {"a": "thermal"}, {"C": _positive("J/K")}, _one("C", "C"), {"C": 500.0}),
    Part("heat_resistance", "conduction or convection", {"a": "thermal"}, {"R": _positive("K/W")}, _one("R", "R"),
         {"R": 0.5}),
)  # fmt: skip
for _row in _ROWS:
    add_part_row(_row)
BUILT_IN = frozenset(PARTS)
