"""What the head of an emitted file says: counts and certificate, and every argument with its components."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from symbody.codegen.printer.module_layout import Argument, EmittedModule, ModulePart
from symbody.codegen.printer.remarks import one_line
from symbody.symbolic.lower.count import count_program
from symbody.symbolic.lower.program import OutputPort
from symbody.symbolic.system.ports import Port

Labels = Mapping[str, Sequence[str]]

ROLES = {
    "parameters": "the parameter vector, see above",
    "derived": "what depends on parameters only, filled by setup",
    "status": "one integer a solve block: k converged after k evaluations, negative: failed (all results are NaN then)",
    "work": "scratch array, its contents mean nothing between calls",
    "externals": "functions from outside: pure, numbers in, numbers out",
}


@dataclass(frozen=True)
class Heading:
    """What is known of a module beside its Program.

    labels        name of an argument or result -> the name of each of its components (joints of q, qd, tau)
    units         likewise -> the unit of each component, or one for all
    origins       name of a result -> where it comes from: quantity, body, formula
    certificate   a text, or None
    """

    labels: Labels = field(default_factory=dict)
    units: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    origins: Mapping[str, str] = field(default_factory=dict)
    certificate: str | None = None


def head_lines(module: EmittedModule, heading: Heading) -> list[str]:
    """The comment at the head of a file: what it computes and at what cost."""
    source = module.source
    lines = [f"{source.name}: emitted by symbody", ""]
    lines += [f"operations: {count_program(source)}"]
    if heading.certificate:
        lines += ["", *heading.certificate.splitlines()]
    renamed = {old: new for old, new in module.renamed.items() if old not in (new, "")}
    if renamed:
        lines += ["", "renamed here: " + ", ".join(f"{old} is {new}" for old, new in renamed.items())]
    return [one_line(line) for line in lines]


def parameter_lines(module: EmittedModule, base: int = 0) -> list[str]:
    """The place of each parameter in the vector, its unit and its default."""
    if not module.source.parameters:
        return []
    lines = ["parameters: place, name, unit, default"]
    for port in module.source.parameters:
        unit = f" [{port.unit}]" if port.unit else ""
        given = "" if port.default is None else "  " + ", ".join(repr(float(x)) for x in port.default)
        lines.append(f"  {port.start + base:>4}  {port.name}{shape_text(port)}{unit}{given}")
    return [one_line(line) for line in lines]


def default_parameters(module: EmittedModule) -> list[float]:
    """The parameter vector of the defaults; NaN where there is none."""
    return [
        float(x)
        for port in module.source.parameters
        for x in (port.default if port.default is not None else [float("nan")] * port.size)
    ]


def shape_text(port: Port | OutputPort) -> str:
    return "".join(f"[{n}]" for n in port.shape)


def argument_lines(part: ModulePart, heading: Heading, base: int = 0, width: int = 110) -> list[str]:
    """One entry an argument: role, shape, unit, where it comes from, and the name of every component."""
    lines = []
    for argument in part.arguments.values():
        lines += textwrap.wrap(
            one_line(f"{argument.name:<12} {_argument_text(argument, heading, base)}"),
            width,
            initial_indent="  ",
            subsequent_indent=" " * 15,
            break_long_words=False,
        )
    return lines


def _argument_text(argument: Argument, heading: Heading, base: int) -> str:
    port = argument.port
    if port is None:
        return ROLES[argument.role]
    role = port.role if isinstance(port, Port) else "result"
    units = heading.units.get(port.name, "")
    each = list(units) if not isinstance(units, str) and len(set(units)) > 1 else []
    unit = port.unit or (units if isinstance(units, str) else "" if each else next(iter(units), ""))
    told = f"{role} {shape_text(port) or '[1]'}{f' [{unit}]' if unit else ''}"  # a number is an array of one
    origin = heading.origins.get(port.name)
    if origin:
        told += f", {origin}"
    labels = heading.labels.get(port.name, ())
    if len(labels) == argument.size and (argument.size > 1 or tuple(labels) != (port.name,)):
        names = [f"{k + base} {label}{f' [{each[k]}]' if each else ''}" for k, label in enumerate(labels)]
        told += ": " + ", ".join(names)
    return told
