"""Statements of a run of a Program in any language, cut into functions of bounded size.

A value that is read once is written where it is read, as long as the expression stays readable; others are statements.
Compilers take more than linear time on long functions, so a long run becomes several. A value that is read in another
function than its own travels in the array `work`, which the caller owns. A solve block is a loop; a body that is too
long for one function is cut as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Union

from symbody.basics.errors import CompileError
from symbody.codegen.printer.angles import Angles
from symbody.codegen.printer.language import (
    ATOM,
    LOOSE,
    POWER,
    PRODUCT,
    SIGN,
    SUM,
    FunctionText,
    Language,
    Names,
    needs_of,
    strength_of,
)
from symbody.codegen.printer.module_layout import Argument, EmittedModule, ModulePart, slots
from symbody.codegen.printer.section_remarks import Remarks
from symbody.symbolic.expr.function_row import FUNCTIONS
from symbody.symbolic.expr.function_row import Function as Row
from symbody.symbolic.expr.node import REACH
from symbody.symbolic.lower.count import serving_checks
from symbody.symbolic.lower.program import Program, SolveBlock, operands

Item = Union[int, "Loop", "FunctionUnit", Angles]
SIGNS = {"add": "+", "sub": "-", "mul": "*"}
Leaf = tuple[str, str]  # text and the argument that it reads, "" for none


@dataclass(eq=False)
class Loop:
    """A solve value and what its body consists of."""

    value: int
    block: int
    items: list[Item]


@dataclass(eq=False)
class FunctionUnit:
    """A function: values, loops, and calls of other units, in order."""

    items: list[Item]
    arguments: set[str] = field(default_factory=set)
    reals: list[str] = field(default_factory=list)
    integers: list[str] = field(default_factory=list)
    arrays: list[tuple[str, int]] = field(default_factory=list)


def split(program: Program, order: Sequence[int], chunk: int | None) -> list[Item]:
    """The items of a run: values and loops, or calls of units when there are too many."""
    if chunk is None:
        return _items(program, order, None)
    weights = [_weight(program, v, chunk) for v in order]
    if sum(weights) <= chunk:
        return _items(program, order, chunk)
    parts: list[list[int]] = [[]]
    size = 0
    for v, weight in zip(order, weights):
        # results stay with their call
        if size + weight > chunk and parts[-1] and program.ops[v] != "result":
            parts.append([])
            size = 0
        parts[-1].append(v)
        size += weight
    return [FunctionUnit(_items(program, part, chunk)) for part in parts]


def _items(program: Program, order: Iterable[int], chunk: int | None) -> list[Item]:
    items: list[Item] = []
    for v in order:
        if program.ops[v] == "solve":
            index = program.args[v][0]
            items.append(Loop(v, index, split(program, program.blocks[index].body, chunk)))
        else:
            items.append(v)
    return items


def _weight(program: Program, v: int, chunk: int) -> int:
    """Operations that a value brings into its function: a long body has functions of its own."""
    if program.ops[v] != "solve":
        return 1
    body = sum(_weight(program, w, chunk) for w in program.blocks[program.args[v][0]].body)
    return body if body <= chunk else 1


def bounded(block: SolveBlock) -> bool:
    """The size that unknowns count with is bounded by a number, whatever the guess."""
    return block.span <= REACH


@lru_cache(maxsize=1000)
def _template(language: Language, op: str, row: Row | None) -> tuple[str, int, tuple[int, ...]]:
    """Text of a function, how tightly it holds together, and how tightly its arguments must.

    row: that of the name now; a name may have had another one before
    """
    if row is not None and language.template is not None:
        return language.template(row)
    text = "" if row is None else row.text_in(language.functions)
    if not text and language.fallback is not None:
        text = language.fallback(op)
    if row is None or not text:
        column = "c=..." if language.functions == "c" else f"texts={{{language.functions!r}: ...}}"
        raise CompileError(
            f"the function {op!r} has no text in {language.functions}. Give its row {column}, for example "
            f'"{op}({{0}})".'
        )
    text = language.adapt(text)
    return text, strength_of(text), needs_of(text, row.arity)


class StatementWriter:
    """Writes one part: first where values are made and read, then the lines."""

    def __init__(
        self, module: EmittedModule, part: ModulePart, leaves: Mapping[int, Leaf], stores: Mapping[int, Sequence[Leaf]]
    ) -> None:
        self.module, self.part, self.program, self.language = module, part, part.program, module.language
        self.leaves, self.stores = dict(leaves), stores
        self.slots = slots(module, part.program)
        taken = [*part.arguments, *module.externals]
        self.names = Names(taken, module.name, self.language.taken, self.language.one_case)
        self.serving = serving_checks(self.program).difference(self.program.setup)
        self.functions: list[FunctionText] = []
        self.home: dict[int, FunctionUnit] = {}
        self.loops: dict[int, tuple[Loop, ...]] = {}  # the loops around a value in its unit, outermost first
        self.uses: dict[int, int] = {}
        self.early: set[int] = set()  # made in a loop and read after it in the same unit
        self.work: dict[int, int] = {}
        self.results: dict[int, list[int]] = {}
        self.local: dict[int, str] = {}
        self.whole: set[int] = set()  # values that are read where no expression can stand, or in another loop
        self.waiting: dict[int, tuple[str, int]] = {}  # texts of values that are written where they are read
        self.count = 0  # loops so far
        self.heads: list[str] = []  # definitions at the head of the function
        self.remarks = Remarks()
        self.angles: list[str] = []  # texts of the angles whose sines and cosines are taken together

    # ---- planning: where values are made, and which are read elsewhere

    def place(self, main: FunctionUnit) -> None:
        self._home(main, main.items, ())
        self._reads(main, main.items, ())
        if self.module.compact and self.slots is None:
            # those that have names of their own come first: short numbers for what is written
            own = [v for v, name in self.local.items() if name == f"t{v}"]
            for number, v in enumerate(sorted(own, key=lambda v: self._waits(v, ()))):
                self.local[v] = f"t{number}"

    def _home(self, unit: FunctionUnit, items: list[Item], around: tuple[Loop, ...]) -> None:
        for item in items:
            if isinstance(item, Angles):
                for v, (function, k) in item.of.items():
                    self.home[v], self.loops[v] = unit, around
                    self.local[v] = self.language.element("sn" if function == "sin" else "cs", k)
            elif isinstance(item, FunctionUnit):
                self._home(item, item.items, ())
            elif isinstance(item, Loop):
                inner = (*around, item)
                for v in self.program.blocks[item.block].unknowns:
                    self._settle(v, unit, inner)
                self._home(unit, item.items, inner)
            else:
                if self.program.ops[item] == "result":
                    self.results.setdefault(self.program.args[item][0], []).append(item)
                self._settle(item, unit, around)

    def _settle(self, v: int, unit: FunctionUnit, around: tuple[Loop, ...]) -> None:
        self.home[v], self.loops[v] = unit, around
        if self.slots is None or v not in self.slots:
            given = self.program.names.get(v)
            self.local[v] = self.names.unique(given) if given and not self.module.compact else f"t{v}"
        else:
            self.local[v] = f"w{self.slots[v]}"

    def _reads(self, unit: FunctionUnit, items: list[Item], around: tuple[Loop, ...]) -> None:
        ops, args = self.program.ops, self.program.args
        for item in items:
            if isinstance(item, Angles):
                for v in item.values:
                    self._read(v, unit, around)
            elif isinstance(item, FunctionUnit):
                self._reads(item, item.items, ())
            elif isinstance(item, Loop):
                block = self.program.blocks[item.block]
                for v in block.guess:
                    self._read(v, unit, around, True)
                self._reads(unit, item.items, (*around, item))
                for v in block.step:
                    self._read(v, unit, (*around, item), True)
                for v in (*block.watched, *block.limits):
                    self._read(v, unit, around, True)
                if not around:
                    for v in self.inside(item):
                        if v in self.stores:
                            self._read(v, unit, (), True)
            elif ops[item] != "result":
                for v in operands(ops[item], args[item]):
                    self._read(v, unit, around)

    def inside(self, loop: Loop) -> Iterable[int]:
        """All values made by a loop, in any unit."""
        yield from self.program.blocks[loop.block].unknowns
        waiting = list(reversed(loop.items))
        while waiting:
            item = waiting.pop()
            if isinstance(item, int):
                yield item
            elif isinstance(item, FunctionUnit):
                waiting.extend(reversed(item.items))
            elif isinstance(item, Loop):
                yield from self.inside(item)

    def _read(self, v: int, unit: FunctionUnit, around: tuple[Loop, ...], whole: bool = False) -> None:
        home = self.home.get(v)
        if home is None:
            return
        self.uses[v] = self.uses.get(v, 0) + 1
        if home is not unit:
            self.whole.add(v)
            self.work.setdefault(v, self.slots[v] if self.slots is not None else len(self.work))
            return
        if whole or around != self.loops[v]:
            self.whole.add(v)
        # an unknown is declared before its loop, a body value inside it
        made_in = self.loops[v][:-1] if self.program.ops[v] == "unknown" else self.loops[v]
        if around[: len(made_in)] != made_in:
            self.early.add(v)

    def work_size(self) -> int:
        return max(self.work.values(), default=-1) + 1

    # ---- writing

    def name_leaves(self, unit: FunctionUnit, names: Mapping[int, str]) -> None:
        """Local names of values that arguments hold, for those that are read."""
        read = _all_reads(self.program, self.part.order) | set(self.stores)
        for v, name in names.items():
            if v in read and v in self.leaves and not any(isinstance(i, FunctionUnit) for i in unit.items):
                text, argument = self.leaves[v]
                own = self.names.unique(name)
                unit.arguments.add(argument)
                unit.reals.append(own)
                self.heads.append(self.language.define.format(own, text))
                self.leaves[v] = own, argument

    def unit_lines(self, unit: FunctionUnit) -> list[str]:
        lines = [self.language.indent + line for line in self.heads]
        self.heads = []
        lines += self.item_lines(unit, unit.items, (), self.language.indent)
        if self.slots is not None:
            variables = sorted({self.slots[v] for v, home in self.home.items() if home is unit and self._in_slot(v)})
            names = [f"w{n}" for n in variables]
            unit.reals += names
            early = [self.language.indent + self.language.early.format(n) for n in names if self.language.early]
            lines = early + lines
        return lines

    def _in_slot(self, v: int) -> bool:
        assert self.slots is not None
        return v in self.slots and not (self.program.ops[v] == "unknown" and v in self.work)

    def item_lines(self, unit: FunctionUnit, items: list[Item], around: tuple[Loop, ...], indent: str) -> list[str]:
        lines: list[str] = []
        top = not around and unit.items is items
        if top and self.remarks.first and items:
            lines.append(indent + self.language.said(self.remarks.first))
        for item in items:
            if top and self.remarks.call and self._called(item):
                lines.append(indent + self.language.said(self.remarks.call))
                self.remarks.call = ""
            if isinstance(item, Angles):
                lines += [indent + line for line in self._angle_lines(unit, item)]
            elif isinstance(item, FunctionUnit):
                inside = self.program.blocks[around[-1].block].name if around else ""
                lines.append(indent + self._call(unit, item, inside))
            elif isinstance(item, Loop):
                lines += [indent + line for line in self.loop_lines(unit, item, around)]
            else:
                lines += [indent + line for line in self.statement(unit, item, around)]
        return lines

    def _called(self, item: Item) -> bool:
        value = item.value if isinstance(item, Loop) else item
        return value in self.remarks.calls

    def _angle_lines(self, unit: FunctionUnit, angles: Angles) -> list[str]:
        """Sines and cosines of several angles; those that are results are put there."""
        self.angles = [self._spelled(v, unit) for v in angles.values]
        names = [self.name(v, unit) for v in angles.values]
        told = {"n": len(names), "p": self.module.prefix, "list": ", ".join(names)}
        lines: list[str] = []
        for form in self.language.angles:
            if form.startswith("@"):
                lines += [form[1:].format(k=k, angle=a, **told) for k, a in enumerate(names)]
            else:
                lines.append(form.format(**told))
        for v in angles.of:
            lines += self.stored(unit, v)
        return lines

    def _spelled(self, v: int, unit: FunctionUnit) -> str:
        """An angle written out, down to arguments of the function."""
        if v not in self.home:
            return self.name(v, unit)
        op, args = self.program.ops[v], [self._spelled(a, unit) for a in self.program.args[v]]
        return f"(-{args[0]})" if op == "neg" else f"({args[0]} {SIGNS[op]} {args[1]})"

    def _call(self, unit: FunctionUnit, called: FunctionUnit, block: str) -> str:
        """Writes a unit as a function that stands before all others that call it, and gives the call."""
        body = self.unit_lines(called)
        name = f"{self.part.name}_part{len(self.functions) + 1}"
        called.arguments.discard("")
        unit.arguments |= called.arguments
        wanted = [a for n, a in self.part.arguments.items() if n in called.arguments]
        size = self.work_size()
        wanted = [Argument(a.name, a.role, size, True) if a.role == "work" else a for a in wanted]
        self.functions.append(FunctionText(name, wanted, body, called.reals, called.integers, called.arrays, block))
        return self.language.call.format(name, ", ".join(a.name for a in wanted))

    def name(self, v: int, unit: FunctionUnit) -> str:
        """How a unit writes a value: a leaf, a local variable, or an element of the work array."""
        return self.piece(v, unit)[0]

    def piece(self, v: int, unit: FunctionUnit) -> tuple[str, int]:
        """The text of a value, and how tightly it holds together."""
        waiting = self.waiting.pop(v, None)
        if waiting is not None:
            return waiting
        if v in self.home:
            if self.home[v] is unit and not (self.program.ops[v] == "unknown" and v in self.work):
                return self.local[v], ATOM
            unit.arguments.add("work")
            return self.language.element("work", self.work[v]), ATOM
        if self.program.ops[v] == "const":
            return self.language.literal(self.program.args[v][0]), ATOM
        found = self.leaves.get(v)
        assert found is not None, f"value {v} is read before it is made"
        text, argument = found
        unit.arguments.add(argument)
        return text, ATOM

    def held(self, v: int, unit: FunctionUnit, need: int) -> str:
        text, strength = self.piece(v, unit)
        return text if strength >= need else self.language.group.format(text)

    def expression(self, unit: FunctionUnit, v: int) -> tuple[str, int]:
        """The right side for one value, with operators only where the counter counts."""
        op, args = self.program.ops[v], self.program.args[v]
        if op in ("add", "sub"):
            # a changed sign may stand first in a sum, and nowhere else
            left, right = self.held(args[0], unit, SUM), self.held(args[1], unit, PRODUCT)
            return f"{left} {'+' if op == 'add' else '-'} {right}", SUM
        if op in ("mul", "div"):
            form = self.language.product if op == "mul" else self.language.quotient
            loose = op == "div" and self.language.fractions
            left, right = (self.held(a, unit, LOOSE if loose else n) for a, n in zip(args, (PRODUCT, POWER)))
            return form.format(left, right), POWER if loose else PRODUCT
        if op == "neg":
            return f"-{self.held(args[0], unit, PRODUCT)}", SIGN
        if op == "fma":
            if not self.language.fused:
                raise CompileError(f"{self.language.functions} has no fused multiply-add; emit the Program unfused.")
            a, b, c = (self.held(k, unit, ATOM) for k in args[:3])
            a, c = a if args[3] > 0 else f"(-{a})", c if args[4] > 0 else f"(-{c})"
            return self.language.fused.format(a, b, c), ATOM
        if op == "table":
            table = self.program.tables[args[0]]
            return self.language.table(args[0], table, self.held(args[1], unit, LOOSE), self.module.prefix), ATOM
        text, strength, needs = _template(self.language, op, FUNCTIONS.get(op))
        given = [self.held(a, unit, need) for a, need in zip(args, needs)]
        return text.format(*given, p=self.module.prefix.removesuffix("_")), strength

    def statement(self, unit: FunctionUnit, v: int, around: tuple[Loop, ...]) -> list[str]:
        op = self.program.ops[v]
        if op == "result":
            return []  # made by its call
        if op == "extern":
            return self._extern(unit, v, around)
        text, strength = self.expression(unit, v)
        if self._waits(v, around) and len(text) <= self.language.width:
            self.waiting[v] = text, strength
            return []
        return self.made(unit, v, text, around)

    def _waits(self, v: int, around: tuple[Loop, ...]) -> bool:
        """Whether a value is written where it is read: read once, in the same function and loop, and without a name."""
        return (
            self.slots is None
            and self.uses.get(v) == 1
            and v not in self.whole
            and v not in self.stores
            and (v not in self.program.names or self.module.compact)
            and v not in self.serving
        )

    def _extern(self, unit: FunctionUnit, v: int, around: tuple[Loop, ...]) -> list[str]:
        language, args = self.language, self.program.args[v]
        external = self.program.externals[args[0]]
        given = [self.held(a, unit, LOOSE) for a in args[1:]]
        lines = []
        if language.array:
            sizes = (max(len(given), 1), max(external.results, 1))
            unit.arrays += [(f"in{v}", sizes[0]), (f"out{v}", sizes[1])]
            if language.given:
                lines.append(language.given.format(f"in{v}", sizes[0], ", ".join(given) or language.literal(0)))
            else:
                lines += [
                    language.assign.format(language.element(f"in{v}", k), text)
                    for k, text in enumerate(given or [language.literal(0)])
                ]
            lines.append(language.array.format(f"out{v}", sizes[1]))
            lines = [line for line in lines if line]
        called, argument = self.external_call(args[0])
        unit.arguments.add(argument)
        lines.append(language.extern.format(called, f"in{v}", f"out{v}", ", ".join(given)))
        for r in self.results.get(v, []):
            lines += self.made(unit, r, language.element(f"out{v}", self.program.args[r][1]), around)
        return lines

    def external_call(self, index: int) -> tuple[str, str]:
        """How to call an external function, and the argument that this needs."""
        name = self.module.externals[index]
        if self.language.functions != "c":
            return name, "" if self.language.linked else "externals"
        if self.program.externals[index].c_body is not None:
            return f"{self.module.name}_external_{name}", ""
        return f"externals->{name}", "externals"

    def made(self, unit: FunctionUnit, v: int, text: str, around: tuple[Loop, ...]) -> list[str]:
        """The statements that make a value and put it where it is wanted."""
        language, variable = self.language, self.local[v]
        stores = self.stores.get(v, ()) if not around else ()
        named = v in self.program.names and not self.module.compact
        if len(stores) == 1 and v not in self.uses and not named and self.slots is None:
            unit.arguments.add(stores[0][1])
            return self.assigned(stores, text, "")
        if len(stores) == 1 and self.part.setup and self.module.compact and v not in self.work and self.slots is None:
            # read again from where it was put
            unit.arguments.add(stores[0][1])
            self.local[v] = stores[0][0]
            return self.assigned(stores, text, "")
        declared = v in self.early or self.slots is not None
        if not declared:
            unit.reals.append(variable)
        mark = " " + language.said("check") if v in self.serving else ""
        lines = [(language.assign if declared else language.define).format(variable, text) + mark]
        if v in self.work:
            unit.arguments.add("work")
            lines.append(language.assign.format(language.element("work", self.work[v]), variable))
        if not around:
            lines += self.stored(unit, v)
        if language.unused and v not in self.uses and not stores:
            lines.append(language.unused.format(variable))
        return lines

    def stored(self, unit: FunctionUnit, v: int) -> list[str]:
        targets = self.stores.get(v, ())
        unit.arguments.update(name for _, name in targets)
        return self.assigned(targets, self.name(v, unit), "") if targets else []

    def assigned(self, targets: Sequence[Leaf], text: str, indent: str | None = None) -> list[str]:
        indent = self.language.indent if indent is None else indent
        lines = []
        for target, name in targets:
            told = self.remarks.results.pop(name, "")
            lines += [indent + self.language.said(told)] if told else []
            lines.append(indent + self.language.assign.format(target, text))
        return lines

    # ---- solve blocks

    def loop_lines(self, unit: FunctionUnit, loop: Loop, around: tuple[Loop, ...]) -> list[str]:
        """A solve block as a loop; its outcome goes to `status`."""
        language, block = self.language, self.program.blocks[loop.block]
        unit.arguments.add("status")
        status = language.element("status", loop.block)
        what = "Newton iteration, an evaluation of the body a pass" if block.unknowns else "checks"
        lines = [language.said(f"solve {block.name}: {what}")]
        if not around and self.slots is None:
            # what is read after the outermost loop must be declared before it
            for v in self.inside(loop):
                if self._early_here(v, unit):
                    unit.reals.append(self.local[v])
                    lines += [language.early.format(self.local[v])] if language.early else []
        for v, guess in zip(block.unknowns, block.guess):
            target = self.name(v, unit)
            declared = v in self.early or v in self.work or self.slots is not None
            if not declared:
                unit.reals.append(target)
            lines.append((language.assign if declared else language.variable).format(target, self.name(guess, unit)))
        pairs = [(self.name(v, unit), self.name(s, unit)) for v, s in zip(block.unknowns, block.step)]
        p = self.module.prefix
        for i, (x, _) in enumerate(() if bounded(block) else pairs):
            unit.reals.append(f"far{loop.value}_{i}")
            lines.append(language.define.format(f"far{loop.value}_{i}", f"{p}far({x})"))
        lines += self._iteration(unit, loop, around, pairs) if pairs else [language.assign.format(status, "1")]
        lines += self._checks(unit, loop.block)
        if pairs:
            lines.append(language.when.format(language.compare.format(status, "<", 0)))
            lines += [language.indent + language.assign.format(x, language.nan.format(p)) for x, _ in pairs]
            lines.append(language.end_when)
        lines.append(language.said(f"end of solve {block.name}"))
        if not around:
            for v in self.inside(loop):
                lines += self.stored(unit, v)
        return [line for line in lines if line]

    def _checks(self, unit: FunctionUnit, index: int) -> list[str]:
        language, block = self.language, self.program.blocks[index]
        status, lines = language.element("status", index), []
        for j, (check, value, limit) in enumerate(zip(block.checks, block.watched, block.limits, strict=True)):
            form = language.below if check.kind == "below" else language.above
            test = form.format(self.name(value, unit), self.name(limit, unit), p=self.module.prefix)
            condition = language.compare.format(status, ">", 0) + language.both + language.negate.format(test)
            outcome = f"-{block.max_iterations + 1 + j}"
            lines += [language.when.format(condition), language.indent + language.assign.format(status, outcome)]
            lines.append(language.end_when)
        return lines

    def _iteration(
        self, unit: FunctionUnit, loop: Loop, around: tuple[Loop, ...], pairs: Sequence[tuple[str, str]]
    ) -> list[str]:
        language, block, p = self.language, self.program.blocks[loop.block], self.module.prefix
        status, k = language.element("status", loop.block), f"k{loop.value}"
        self.count += 1
        labels = {"k": k, "n": 10 * self.count, "after": 10 * self.count + 1, "limit": block.max_iterations}
        unit.integers.append(k)
        stop = language.stop.format(**labels)
        body = self.item_lines(unit, loop.items, (*around, loop), language.indent)
        tolerance = language.literal(max(block.tolerance, language.tolerance))
        finite = language.both.join(language.finite.format(s, p=p) for _, s in pairs)
        finite = f"({finite})" if len(pairs) > 1 else finite
        span = language.literal(block.span) if bounded(block) else ""
        tests = [(s, x, span or f"far{loop.value}_{i}", tolerance) for i, (x, s) in enumerate(pairs)]
        small = language.both.join(language.small.format(*test, p=p) for test in tests)
        inner = [
            language.assign.format(status, f"-{k}"),
            language.when.format(language.negate.format(finite)),
            language.indent + stop,
            language.end_when,
            language.when.format(small),
            language.indent + language.assign.format(status, k),
            language.indent + stop,
            language.end_when,
            language.when.format(language.compare.format(k, "==", block.max_iterations)),
            language.indent + stop,
            language.end_when,
            *(language.assign.format(x, f"{p}next({x}, {s})") for x, s in pairs),
        ]
        head = [line.format(**labels) for line in language.loop]
        tail = [line.format(**labels) for line in language.end_loop]
        return [*head, *body, *(language.indent + line for line in inner if line), *tail]

    def _early_here(self, v: int, unit: FunctionUnit) -> bool:
        return v in self.early and self.home[v] is unit and not (self.program.ops[v] == "unknown" and v in self.work)

    def failed(self, unit: FunctionUnit, solves: Sequence[int]) -> list[str]:
        """NaN in all results where a block failed."""
        language, p = self.language, self.module.prefix
        results = [a for a in self.part.of("output") if a.size] or self.part.of("derived")
        results = [a for a in results if a.size]
        unit.arguments |= {"status", *(a.name for a in results)}
        tests = [language.compare.format(language.element("status", k), "<", 0) for k in solves]
        lines = [language.when.format(language.either.join(tests))]
        lines += [language.indent + language.call.format(f"{p}no_number", f"{a.name}, {a.size}") for a in results]
        lines.append(language.end_when)
        return [language.indent + line for line in lines if line]


def _all_reads(program: Program, order: Iterable[int]) -> set[int]:
    """Values that some others read, those in blocks included."""
    found: set[int] = set()
    for v in order:
        found.update(operands(program.ops[v], program.args[v]))
        if program.ops[v] == "solve":
            block = program.blocks[program.args[v][0]]
            found.update(block.guess, block.ends, _all_reads(program, block.body))
    return found
