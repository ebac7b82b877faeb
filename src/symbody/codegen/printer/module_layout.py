"""What the functions of one emitted module are: setup, the call, or the step and its groups; their arguments.

What depends on parameters alone is computed once for each set of them, by setup, which hands it on in `derived`; the
rest runs at every call. With groups of outputs, the step makes what they share, and each group is a function.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from symbody.basics.errors import NameLookupError, nearest
from symbody.codegen.printer.language import FunctionText, Language, Names, identifier
from symbody.symbolic.lower.groups import Grouped
from symbody.symbolic.lower.liveness import reuse_names, values_of
from symbody.symbolic.lower.program import OutputPort, Program, operands
from symbody.symbolic.system.ports import Port

# plain: values have numbers, but for those that a System names; staged: parameters and what setup makes have their
# names in all functions; compact: short names, for short text
NAMES = ("plain", "staged", "compact")
SHORT = {"parameters": "p", "derived": "d"}

CHUNK = 2000  # operations above which a function is cut into several: compilers take more than linear time


@dataclass(frozen=True)
class Argument:
    """An array, or the functions from outside, that a function is handed.

    role: input, output, parameters, derived, status, work or externals; size: number of elements
    """

    name: str
    role: str
    size: int
    written: bool = False
    port: Port | OutputPort | None = None


@dataclass
class ModulePart:
    """One public function: what it runs of which Program, where its values come from, and, when written, its text."""

    name: str
    program: Program
    order: list[int]
    origin: Sequence[int]  # numbers of the values in the Program that setup belongs to
    arguments: dict[str, Argument] = field(default_factory=dict)
    functions: list[FunctionText] = field(default_factory=list)  # its parts, in the order in which they must stand
    text: FunctionText | None = None
    setup: bool = False
    angles: list[str] = field(default_factory=list)  # texts of those whose sines and cosines are taken together

    def of(self, *roles: str) -> list[Argument]:
        return [a for a in self.arguments.values() if a.role in roles]

    @property
    def work(self) -> int:
        return sum(a.size for a in self.of("work"))


@dataclass
class EmittedModule:
    """Options and shared names; `derived` lists the values of `source` that setup hands to the other functions."""

    source: Program
    name: str
    language: Language
    derived: list[int]
    parts: list[ModulePart]
    setup: ModulePart
    externals: list[str]  # identifiers of the functions from outside
    chunk: int | None = CHUNK
    reuse: bool = False
    names: str = "plain"  # a row of NAMES
    renamed: dict[str, str] = field(default_factory=dict)

    @property
    def compact(self) -> bool:
        return self.names == "compact"

    @property
    def prefix(self) -> str:
        return self.language.prefix.format(self.name)

    def array(self, role: str) -> str:
        """The name of the array of parameters, or of what setup made of them."""
        return SHORT[role] if self.compact else role

    @property
    def every(self) -> list[ModulePart]:
        return [self.setup, *self.parts]


def plan(
    program: Program | Grouped,
    language: Language,
    chunk: int | None = CHUNK,
    reuse: bool = False,
    names: str = "plain",
) -> EmittedModule:
    """The module of a Program, or of a Grouped one; its functions are written by `write.write`. names: of NAMES."""
    if names not in NAMES:
        raise NameLookupError(f"there are no names {names!r}. {nearest(names, NAMES)}")
    source = program.program if isinstance(program, Grouped) else program
    name = module_name(source, language)
    parts = _parts(program, name, language)
    setup = ModulePart(f"{name}_setup", source, list(source.setup), range(len(source.ops)), setup=True)
    outer = Names((), None, language.taken, language.one_case)
    externals = [outer.unique(e.name) for e in source.externals]
    module = EmittedModule(
        source, name, language, _derived(source, parts), parts, setup, externals, chunk, reuse, names
    )
    given, made = module.array("parameters"), module.array("derived")
    setup.arguments = {
        given: Argument(given, "parameters", source.parameter_size),
        made: Argument(made, "derived", len(module.derived), written=True),
        **_last(len(source.blocks)),
    }
    for part in parts:
        _name_arguments(module, part)
    return module


def module_name(program: Program, language: Language) -> str:
    """The identifier of a Program: prefix of all that its files define."""
    return Names((), None, language.taken, language.one_case).unique(program.name)


def part_names(grouped: Grouped, language: Language) -> dict[str, str]:
    """The function of each group."""
    name = module_name(grouped.program, language)
    names = Names([f"{name}_setup", f"{name}_step"], None, language.taken, language.one_case)
    return {group: names.unique(f"{name}_{identifier(group)}") for group in grouped.functions}


def _parts(program: Program | Grouped, name: str, language: Language) -> list[ModulePart]:
    if isinstance(program, Program):
        return [ModulePart(name, program, program.main(), range(len(program.ops)))]
    step = program.step
    parts = [ModulePart(f"{name}_step", step, step.main(), program.step_origin)]
    for group, called in part_names(program, language).items():
        function = program.functions[group]
        parts.append(ModulePart(called, function, function.main(), program.origins[group]))
    return parts


def _derived(source: Program, parts: Sequence[ModulePart]) -> list[int]:
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


def _last(blocks: int) -> dict[str, Argument]:
    return {
        "status": Argument("status", "status", blocks, written=True),
        "work": Argument("work", "work", 0, written=True),
        "externals": Argument("externals", "externals", 0),
    }


def _name_arguments(module: EmittedModule, part: ModulePart) -> None:
    language = module.language
    taken = [module.array("derived"), "status", "work", "externals", module.array("parameters")]
    names = Names(taken, module.name, language.taken, language.one_case)
    program = part.program
    inputs = [Argument(names.unique(p.name), "input", p.size, port=p) for p in program.inputs]
    outputs = [Argument(names.unique(p.name), "output", len(p.values), True, p) for p in program.outputs]
    derived = Argument(module.array("derived"), "derived", len(module.derived))
    part.arguments = {a.name: a for a in (*inputs, derived, *outputs)}
    part.arguments.update(_last(len(program.blocks)))
    module.renamed.update(names.renamed)


def slots(module: EmittedModule, program: Program) -> dict[int, int] | None:
    """Variables shared by liveness, if asked for."""
    return reuse_names(program).slot if module.reuse else None
