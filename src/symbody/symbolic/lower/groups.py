"""Function groups: what several functions share is computed once a step, into a workspace (SYMOFROS, section 3.7).

A value goes to the workspace if at least two functions use it and it does not depend on accelerations or inputs, which
may change within a step: in a Program these are the values of the `step` run. An implicit block and the results of an
external call stay together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from symbody.basics.errors import DefinitionError, NameLookupError, nearest
from symbody.symbolic.lower.program import OutputPort, Program, SolveBlock, operands
from symbody.symbolic.system.ports import Port

WORKSPACE = "workspace"


@dataclass(frozen=True, slots=True)
class Grouped:
    """A Program cut into a `step` that fills the workspace and functions that read it.

    `step` reads states and gives the one output "workspace"; each function reads what it needs of the original inputs
    and the whole workspace. All have the parameters of the original. `step_origin[v]` and `origins[name][v]` are the
    numbers in `program` of their values.
    """

    program: Program
    step: Program
    functions: dict[str, Program]
    step_origin: tuple[int, ...]
    origins: dict[str, tuple[int, ...]]


def group(program: Program, groups: Mapping[str, Sequence[str]]) -> Grouped:
    """Cuts a Program into functions, each with the outputs listed; bit for bit the same results."""
    for name in ("step", "setup"):
        if name in groups:
            raise DefinitionError(
                f"A group cannot be called '{name}': every Grouped program has that function already."
            )
    ports = {name: _outputs(program, wanted) for name, wanted in groups.items()}
    units = _units(program)
    shared = _shared(program, units, list(ports.values()))
    live = {name: _live(program, _values(outputs), shared) for name, outputs in ports.items()}
    exports = sorted({v for found in live.values() for v in found if v in shared})
    where = {v: k for k, v in enumerate(exports)}
    workspace = OutputPort(WORKSPACE, (len(exports),), tuple(exports))
    step, step_origin = _extract(program, f"{program.name}_step", (workspace,), _live(program, exports, set()), None)
    functions, origins = {}, {}
    for name, outputs in ports.items():
        functions[name], origins[name] = _extract(program, f"{program.name}_{name}", outputs, live[name], where)
    return Grouped(program, step, functions, step_origin, origins)


def _outputs(program: Program, wanted: Sequence[str]) -> tuple[OutputPort, ...]:
    known = {p.name: p for p in program.outputs}
    for name in wanted:
        if name not in known:
            raise NameLookupError(f"Program '{program.name}' has no output '{name}'. {nearest(name, known)}")
    return tuple(known[name] for name in wanted)


def _values(outputs: Iterable[OutputPort]) -> list[int]:
    return [v for port in outputs for v in port.values]


def _inside(program: Program, block: SolveBlock) -> tuple[list[int], list[int]]:
    """All values of a block and of the blocks in it, and all that they read."""
    inside, reads = [*block.unknowns, *block.body], [*block.guess, *block.residual, *block.ends]
    for v in block.body:
        reads += operands(program.ops[v], program.args[v])
        if program.ops[v] == "solve":
            more, others = _inside(program, program.blocks[program.args[v][0]])
            inside += more
            reads += others
    return inside, reads


def _units(program: Program) -> dict[int, int]:
    """The value that stands for others in a run: a solve for its block's values, an external call for its results."""
    units: dict[int, int] = {}
    for v in (*program.setup, *program.main()):
        if program.ops[v] == "result":
            units[v] = program.args[v][0]
        elif program.ops[v] == "solve":
            units.update(dict.fromkeys(_inside(program, program.blocks[program.args[v][0]])[0], v))
    return units


def _shared(program: Program, units: dict[int, int], functions: list[tuple[OutputPort, ...]]) -> set[int]:
    """The values of the step run, and those inside its blocks, that at least two functions use."""
    users = [0] * len(program.ops)  # one bit a function
    for k, outputs in enumerate(functions):
        for v in _values(outputs):
            users[units.get(v, v)] |= 1 << k
    for v in reversed(program.main()):
        if users[v]:
            for a in _reads(program, v):
                users[units.get(a, a)] |= users[v]
    in_step = {v for v in program.step if users[units.get(v, v)].bit_count() >= 2}
    return in_step | {v for v, unit in units.items() if unit in in_step}


def _reads(program: Program, v: int) -> Sequence[int]:
    op, args = program.ops[v], program.args[v]
    return _inside(program, program.blocks[args[0]])[1] if op == "solve" else operands(op, args)


def _live(program: Program, roots: Iterable[int], given: set[int]) -> set[int]:
    """All values, leaves and bodies included, needed for the roots when those in `given` need not be computed."""
    live = set(roots)
    for v in (*reversed(program.call), *reversed(program.step), *reversed(program.setup)):
        if v in given:
            continue
        if program.ops[v] == "solve":
            inside, reads = _inside(program, program.blocks[program.args[v][0]])
            # a block without unknowns goes with what it watches
            if not live.isdisjoint(inside or program.blocks[program.args[v][0]].watched):
                live.add(v)
                live.update(inside, reads)
        elif v in live:
            live.update(operands(program.ops[v], program.args[v]))
    return live


def _extract(
    program: Program, name: str, outputs: tuple[OutputPort, ...], live: set[int], where: dict[int, int] | None
) -> tuple[Program, tuple[int, ...]]:
    """The Program of the live values, and their original numbers; those in `where` are read from a workspace."""
    origin = sorted(live)
    number = {v: k for k, v in enumerate(origin)}
    given = where or {}
    inputs, element = _inputs(program, [program.args[v][0] for v in origin if program.ops[v] == "input"])
    if where is not None:
        start = sum(p.size for p in inputs)
        inputs.append(Port(WORKSPACE, (len(where),), start, "workspace"))
    solved = {program.args[v][0] for v in live if program.ops[v] == "solve" and v not in given}
    block_number = {k: i for i, k in enumerate(sorted(solved))}
    ops: list[str] = []
    args: list[tuple[Any, ...]] = []
    for v in origin:
        op, old = program.ops[v], program.args[v]
        new: tuple[Any, ...] = old
        if v in given:
            op, new = "input", (start + given[v],)
        elif op == "input":
            new = (element[old[0]],)
        elif op in ("unknown", "solve"):
            new = (block_number[old[0]], *old[1:])
        elif op in ("table", "extern"):
            new = (old[0], *(number[a] for a in old[1:]))
        elif op not in ("const", "parameter"):
            read = len(operands(op, old))
            new = (*(number[a] for a in old[:read]), *old[read:])
        ops.append(op)
        args.append(new)

    def renumbered(values: Iterable[int]) -> tuple[int, ...]:
        return tuple(number[v] for v in values)

    def run(order: Iterable[int]) -> list[int]:
        return [number[v] for v in order if v in number and v not in given]

    blocks = tuple(
        replace(
            block,
            unknowns=renumbered(block.unknowns),
            guess=renumbered(block.guess),
            body=renumbered(block.body),
            residual=renumbered(block.residual),
            step=renumbered(block.step),
            watched=renumbered(block.watched),
            limits=renumbered(block.limits),
        )
        for block in (program.blocks[k] for k in block_number)
    )
    cut = Program(
        name,
        tuple(inputs),
        program.parameters,
        tuple(replace(port, values=renumbered(port.values)) for port in outputs),
        ops,
        args,
        run(program.setup),
        run(program.step),
        run(program.call),
        blocks=blocks,
        tables=program.tables,
        externals=program.externals,
        names={number[v]: text for v, text in program.names.items() if v in number},
    )
    return cut, tuple(origin)


def _inputs(program: Program, read: list[int]) -> tuple[list[Port], dict[int, int]]:
    """The ports of which an element is read, laid end to end anew, and the new place of each of their elements."""
    wanted = set(read)
    ports: list[Port] = []
    element: dict[int, int] = {}
    start = 0
    for port in program.inputs:
        places = range(port.start, port.start + port.size)
        if wanted.isdisjoint(places):
            continue
        ports.append(replace(port, start=start))
        element.update((k, start + k - port.start) for k in places)
        start += port.size
    return ports, element
