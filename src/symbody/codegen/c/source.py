"""The C target: a Program, or a Grouped one, as standalone C99 without allocation, globals or compiler extensions.

    NAME_setup(parameters, derived)                          once for each set of parameters
    NAME(inputs..., derived, outputs..., status)             at every call

`derived` holds what depends on parameters only, and the parameters that a call reads. `work` follows where the program
is cut into several functions, `externals` where it calls functions from outside. A Grouped program has NAME_step, which
fills the workspace, and one function a group.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from symbody.codegen.c.body import Body, restricted, write_body
from symbody.codegen.c.header import header
from symbody.codegen.c.module import Module, Part
from symbody.codegen.c.text import HELPERS, Names, comment, function_helpers, identifier, literal, table_arrays
from symbody.errors import DefinitionError
from symbody.lower.groups import Grouped
from symbody.lower.liveness import values_of
from symbody.lower.program import Program, operands


def emit_c(
    program: Program | Grouped, *, reuse_names: bool = False, certificate: str | None = None, chunk: int = 2000
) -> dict[str, str]:
    """Header and source, by file name; the same text for the same Program.

    reuse_names: variables shared by liveness in place of one constant a value.
    certificate: a text for the head of both files.
    chunk: the number of operations above which a function is cut into several.
    """
    if chunk < 1:
        raise DefinitionError(f"chunk is {chunk}; expected a positive number of operations.")
    source = program.program if isinstance(program, Grouped) else program
    parts = _parts(program)
    module = Module(source, c_name(source), _derived(source, parts), reuse_names, chunk)
    setup = _write_setup(module)
    for part in parts:
        _write_part(module, part)
    head = comment(f"{source.name}: emitted by symbody" + (f"\n\n{certificate}" if certificate else ""))
    return {
        f"{module.name}.h": header(module, head, setup, parts),
        f"{module.name}.c": _text(module, head, setup, parts),
    }


def c_name(program: Program) -> str:
    """The identifier of a Program: prefix of all that its files define."""
    return Names().unique(program.name)


def part_names(grouped: Grouped) -> dict[str, str]:
    """The C function of each group."""
    name = c_name(grouped.program)
    names = Names([f"{name}_setup", f"{name}_step"])
    return {group: names.unique(f"{name}_{identifier(group)}") for group in grouped.functions}


def _parts(program: Program | Grouped) -> list[Part]:
    if isinstance(program, Program):
        return [Part(c_name(program), program, program.main(), range(len(program.ops)))]
    step = program.step
    parts = [Part(f"{c_name(program.program)}_step", step, step.main(), program.step_origin)]
    for group, name in part_names(program).items():
        function = program.functions[group]
        parts.append(Part(name, function, function.main(), program.origins[group]))
    return parts


def _derived(source: Program, parts: Sequence[Part]) -> list[int]:
    """What the functions read of parameters and setup, in the numbers of the source: parameters first."""
    of_setup = values_of(source, source.setup)
    read: set[int] = set()
    for part in parts:
        p = part.program
        made = values_of(p, part.order)
        reads = {v for port in p.outputs for v in port.values}
        for v in made:
            reads.update(operands(p.ops[v], p.args[v]))
            if p.ops[v] == "solve":
                block = p.blocks[p.args[v][0]]
                reads.update(block.guess, block.ends)
        read.update(part.origin[v] for v in reads - made)
    parameters = [v for v in read if source.ops[v] == "parameter"]
    return sorted(parameters, key=lambda v: source.args[v][0]) + sorted(read & of_setup)


def _write_setup(module: Module) -> Part:
    source = module.source
    part = Part(f"{module.name}_setup", source, list(source.setup), range(len(source.ops)))
    pointers = {"parameters": "const double ", "derived": "double ", **module.last_pointers()}
    made = values_of(source, part.order)
    stores = {v: [(f"derived[{k}]", "derived")] for k, v in enumerate(module.derived)}

    def leaf(v: int) -> tuple[str, str] | None:
        return (f"parameters[{source.args[v][0]}]", "parameters") if source.ops[v] == "parameter" else None

    body = write_body(module, part.name, source, part.order, pointers, leaf, stores)
    _close(module, part, body, pointers, {v: t for v, t in stores.items() if v not in made}, leaf)
    return part


def _write_part(module: Module, part: Part) -> None:
    """Fills in the text of one function of step and call."""
    program = part.program
    names = Names(["derived", "status", "work", "externals", "parameters"], module.name)
    part.inputs = [(names.unique(p.name), p) for p in program.inputs]
    part.outputs = [(names.unique(p.name), p) for p in program.outputs]
    pointers = {argument: "const double " for argument, _ in part.inputs}
    pointers["derived"] = "const double "
    pointers.update((argument, "double ") for argument, _ in part.outputs)
    pointers.update(module.last_pointers())
    element = {p.start + k: (f"{argument}[{k}]", argument) for argument, p in part.inputs for k in range(p.size)}
    place = {v: k for k, v in enumerate(module.derived)}
    stores: dict[int, list[tuple[str, str]]] = {}
    for argument, port in part.outputs:
        for k, v in enumerate(port.values):
            stores.setdefault(v, []).append((f"{argument}[{k}]", argument))

    def leaf(v: int) -> tuple[str, str] | None:
        if program.ops[v] == "input":
            return element[program.args[v][0]]
        k = place.get(part.origin[v])
        return None if k is None else (f"derived[{k}]", "derived")

    body = write_body(module, part.name, program, part.order, pointers, leaf, stores)
    made = values_of(program, part.order)
    _close(module, part, body, pointers, {v: t for v, t in stores.items() if v not in made}, leaf)


def _close(
    module: Module,
    part: Part,
    body: Body,
    pointers: dict[str, str],
    copies: dict[int, list[tuple[str, str]]],
    leaf: Callable[[int], tuple[str, str] | None],
) -> None:
    """The definition of a function: its body, results that are leaves, and NaN in all results where a block failed."""
    program = part.program
    for v, targets in copies.items():
        found = (literal(program.args[v][0]), "") if program.ops[v] == "const" else leaf(v)
        assert found is not None
        body.pointers |= {found[1], *(pointer for _, pointer in targets)}
        body.lines += [f"    {target} = {found[0]};" for target, _ in targets]
    results = [(a, len(p.values)) for a, p in part.outputs] or [("derived", len(module.derived))]
    inside = values_of(program, part.order)
    solves = [program.args[v][0] for v in sorted(inside) if program.ops[v] == "solve"]
    if solves:
        body.lines.append(f"    if ({' || '.join(f'status[{k}] < 0' for k in solves)}) {{")
        body.lines += [f"        {module.name}_no_number({a}, {size});" for a, size in results if size]
        body.lines.append("    }")
        body.pointers |= {"status", *(a for a, size in results if size)}
    # parameters and status of setup come only when needed; a call always has the same form
    always = [*pointers][: -len(module.last_pointers())] + (["status"] if part.outputs else [])
    wanted = [p for p in pointers if p in always or p in body.pointers]
    part.pointers = {p: pointers[p] for p in wanted}
    part.work = body.work
    lines = [*body.lines, *(f"    (void){p};" for p in wanted if p not in body.pointers)]
    arguments = ", ".join(restricted(declaration, p) for p, declaration in part.pointers.items())
    part.text = "\n".join([*body.functions, f"void {part.name}({arguments})", "{", *lines, "}", ""])


def _text(module: Module, head: str, setup: Part, parts: Sequence[Part]) -> str:
    """The source: only the helpers, tables and externals that it uses."""
    name, source = module.name, module.source
    bodies = "".join(f"/* ==== {part.name} ==== */\n\n{part.text}\n" for part in (setup, *parts))
    helpers = "".join(text for text, called in module.definitions() if called in bodies)
    for k, table in enumerate(source.tables):
        if f"{name}_x{k}," in bodies:
            helpers += table_arrays(k, table, name) + "\n"
    for called, text in function_helpers(name):
        if f"{called}(" in bodies:
            helpers += text + "\n"
    for helper, text in HELPERS.items():
        if f"{name}_{helper}(" in bodies:
            helpers += text.format(name) + "\n"
    includes = f'#include "{name}.h"\n\n#include <math.h>\n\n'
    return f"{head}\n{includes}/* ==== helpers ==== */\n\n{helpers}{bodies}".rstrip("\n") + "\n"
