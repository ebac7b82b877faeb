"""The functions of a module, written: where values come from and go to, and what a function needs beside its body."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from symbody.codegen.printer.angles import with_angles
from symbody.codegen.printer.heading import Heading
from symbody.codegen.printer.language import FunctionText
from symbody.codegen.printer.module_layout import Argument, EmittedModule, ModulePart
from symbody.codegen.printer.section_remarks import readable, remarks
from symbody.codegen.printer.statements import FunctionUnit, Leaf, StatementWriter, split
from symbody.symbolic.lower.liveness import values_of


def write(module: EmittedModule, heading: Heading | None = None) -> None:
    """Write all functions of a module; each part has its text then. heading: what remarks tell of results."""
    source = module.source
    place = {v: k for k, v in enumerate(module.derived)}
    element = module.language.element
    given, made = module.array("parameters"), module.array("derived")
    for part in module.every:
        program = part.program
        leaves: dict[int, Leaf] = {}
        stores: dict[int, list[Leaf]] = {}
        if part.setup:
            leaves = {
                v: (element(given, source.args[v][0]), given) for v, op in enumerate(source.ops) if op == "parameter"
            }
            stores = {v: [(element(made, k), made)] for v, k in place.items()}
        else:
            ports = [(a.name, a.port.start, a.size) for a in part.of("input") if a.port is not None]  # type: ignore[union-attr]
            at = {start + k: (element(name, k), name) for name, start, size in ports for k in range(size)}
            for v, op in enumerate(program.ops):
                if op == "input":
                    leaves[v] = at[program.args[v][0]]
                elif part.origin[v] in place:
                    leaves[v] = (element(made, place[part.origin[v]]), made)
            for a, port in zip(part.of("output"), program.outputs):
                for k, v in enumerate(port.values):
                    stores.setdefault(v, []).append((element(a.name, k), a.name))
        _write_part(module, part, leaves, stores, heading)


def _write_part(
    module: EmittedModule,
    part: ModulePart,
    leaves: Mapping[int, Leaf],
    stores: Mapping[int, Sequence[Leaf]],
    heading: Heading | None,
) -> None:
    """One function: its body, results that are leaves, and NaN in all results where a block failed."""
    program, language = part.program, module.language
    writer = (language.writer or StatementWriter)(module, part, leaves, stores)
    main = FunctionUnit(split(program, part.order, module.chunk))
    if (
        language.angles
        and not part.setup
        and not module.reuse
        and not any(isinstance(i, FunctionUnit) for i in main.items)
    ):
        main.items = with_angles(program, main.items, language.few_angles)
    if not module.compact:
        writer.remarks = remarks(part, heading)
    if module.names == "staged":
        writer.name_leaves(main, readable(module, part))
    writer.place(main)
    lines = writer.unit_lines(main)
    made = values_of(program, part.order)
    for v, targets in stores.items():
        if v not in made:
            const = program.ops[v] == "const"
            text, argument = (language.literal(program.args[v][0]), "") if const else writer.leaves[v]
            main.arguments |= {argument, *(name for _, name in targets)}
            lines += writer.assigned(targets, text)
    solves = [program.args[v][0] for v in sorted(made) if program.ops[v] == "solve"]
    if solves:
        lines += writer.failed(main, solves)
    if "work" in part.arguments:
        part.arguments["work"] = Argument("work", "work", writer.work_size(), written=True)
    # parameters, work and externals come only when needed; a call always has the same form otherwise
    main.arguments.discard("")
    always = {a.name for a in part.of("input", "derived", "output")} | ({"status"} if not part.setup else set())
    if part.setup:
        always |= {a.name for a in part.of("parameters")}
    part.arguments = {n: a for n, a in part.arguments.items() if n in always or n in main.arguments}
    if language.spare:
        part.arguments = {n: a for n, a in part.arguments.items() if a.size or a.role == "externals"}
    if language.idle:
        lines += [language.indent + language.idle.format(n) for n in part.arguments if n not in main.arguments]
    part.functions, part.angles = writer.functions, writer.angles
    part.text = FunctionText(part.name, [*part.arguments.values()], lines, main.reals, main.integers, main.arrays)
