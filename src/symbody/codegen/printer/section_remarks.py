"""What a reader of emitted text is told on the way: what a section computes, of what, and whose formulas these are."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from symbody.codegen.printer.heading import Heading
from symbody.codegen.printer.module_layout import EmittedModule, ModulePart

WORDS = {
    "coordinate": "positions",
    "velocity": "velocities",
    "acceleration": "accelerations",
    "state": "states",
    "time": "time",
    "input": "inputs",
    "effort": "efforts",
}


@dataclass
class Remarks:
    """first: before all; call: before the first value that needs more than states; results: before a first element."""

    first: str = ""
    call: str = ""
    calls: frozenset[int] = frozenset()
    results: dict[str, str] = field(default_factory=dict)


def remarks(part: ModulePart, heading: Heading | None) -> Remarks:
    """Remarks for the text of one function."""
    program = part.program
    if part.setup or not part.order:
        return Remarks()
    told = Remarks()
    first = part.of("input")
    if program.step and program.call:
        early = {r: None for a in first if (r := _role(a.port)) in ("coordinate", "velocity", "state", "time")}
        names = [a.name for a in first if _role(a.port) in early]
        told.first = (
            f"{' and '.join(WORDS[r] for r in early)}: what depends on {', '.join(names)} only" if names else ""
        )
        told.call = f"what depends on {', '.join(a.name for a in first)}" if names else ""
        told.calls = frozenset(program.call)
    for a in part.of("output"):
        origin = heading.origins.get(a.port.name, "") if heading is not None and a.port is not None else ""
        origin = re.sub(
            r"[:,]? *[\[{].*", "", origin, flags=re.DOTALL
        ).strip()  # settings of a search stand in the head
        unit = heading.units.get(a.port.name, "") if heading is not None and a.port is not None else ""
        one = unit if isinstance(unit, str) else next(iter(unit), "") if len(set(unit)) == 1 else ""
        if origin:
            told.results[a.name] = f"{a.name}{f' [{one}]' if one else ''}: {origin}"
    return told


def _role(port: object) -> str:
    return getattr(port, "role", "")


def readable(module: EmittedModule, part: ModulePart) -> dict[int, str]:
    """Names of parameters, and of what setup makes of them, where a System gives one: value of the part -> name."""
    source = module.source
    ports = {
        p.start + k: f"{p.name}_{k + 1}" if p.size > 1 else p.name for p in source.parameters for k in range(p.size)
    }
    names: dict[int, str] = {}
    for v in range(len(part.program.ops)):
        at = v if part.setup else part.origin[v]
        if at < len(source.ops) and source.ops[at] == "parameter":
            names[v] = ports[source.args[at][0]]
        elif not part.setup and at in source.names and at in module.derived:
            names[v] = source.names[at]
    return names
