"""The statements of a generated test program: fill the arrays, call every function, compare with the stored values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from symbody.codegen.printer.module_layout import EmittedModule, ModulePart
from symbody.codegen.printer.stored_values import samples

BOUND = {True: 1e-5, False: 1e-12}  # largest relative difference in single and in double precision


@dataclass
class Driver:
    """arrays: name -> size of each array of numbers; status: size of the one of integers; lines: statements."""

    arrays: dict[str, int] = field(default_factory=dict)
    status: int = 0
    lines: list[str] = field(default_factory=list)
    bound: float = 1e-12


def driver(module: EmittedModule, call: Callable[[ModulePart, list[str]], str], compare: str) -> Driver:
    """call: (part, names of the arrays of its arguments) -> statement; compare: statement of found {0}, stored {1}."""
    language, found = module.language, samples(module)
    out = Driver(bound=BOUND[bool(language.tolerance)])
    roles = {"parameters": "parameters", "derived": "derived", "work": "work", "status": "status"}

    def fill(name: str, values: list[float]) -> None:
        out.lines += [
            language.assign.format(language.element(name, k), language.literal(x)) for k, x in enumerate(values)
        ]

    def run(part: ModulePart, place: dict[str, str]) -> None:
        names = []
        for a in part.arguments.values():
            name = place.get(a.name) or roles.get(a.role) or "externals"
            names.append(name)
            if a.role == "status":
                out.status = max(out.status, a.size, 1)
            elif a.role != "externals":
                out.arrays[name] = max(a.size, out.arrays.get(name, 1))
        out.lines.append(call(part, names))

    if module.setup.of("parameters") and found.parameters:
        fill("parameters", found.parameters)
    run(module.setup, {})
    for inputs, outputs in zip(found.inputs, found.outputs):
        for number, part in enumerate(module.parts):
            place: dict[str, str] = {}
            for a in part.of("input", "output"):
                assert a.port is not None
                shared = a.port.name == "workspace"
                place[a.name] = "workspace" if shared else f"{'x' if a.role == 'input' else 'y'}{number}_{len(place)}"
                if a.role == "input" and not shared:
                    fill(place[a.name], inputs[a.port.name])
            run(part, place)
            for a in part.of("output"):
                assert a.port is not None
                if a.port.name != "workspace":
                    out.lines += [
                        compare.format(language.element(place[a.name], k), language.literal(x))
                        for k, x in enumerate(outputs[a.port.name])
                    ]
    return out
