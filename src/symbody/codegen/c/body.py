"""Bodies of C functions: a run of a Program as statements, one operation each, cut into functions of bounded size.

Compilers take more than linear time on long functions, so a long run becomes several static functions. A value that
is read in another function than its own travels in the array `work`, which the caller owns. A solve block is a loop; a
body that is too long for one function is cut as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from symbody.codegen.c.module import Module
from symbody.codegen.c.text import Names, comment, expression, literal, table_call
from symbody.expr.node import REACH
from symbody.lower.count import serving_checks
from symbody.lower.program import Program, SolveBlock, operands


@dataclass(eq=False)
class Loop:
    """A solve value and what its body consists of."""

    value: int
    block: int
    items: list[int | Loop | Unit]


@dataclass(eq=False)
class Unit:
    """A function: values, loops, and calls of other units, in order."""

    items: list[int | Loop | Unit]
    name: str = ""
    pointers: set[str] = field(default_factory=set)


@dataclass
class Body:
    """What `write_body` gives: static functions to put before, lines of the body, and the sizes of what it needs."""

    functions: list[str]
    lines: list[str]
    work: int
    pointers: set[str]


def write_body(
    module: Module,
    name: str,
    program: Program,
    order: Sequence[int],
    pointers: Mapping[str, str],
    leaf: Callable[[int], tuple[str, str] | None],
    stores: Mapping[int, Sequence[tuple[str, str]]],
) -> Body:
    """The statements of a run.

    pointers: C declaration of every pointer argument by name, in the order of the arguments.
    leaf: text and pointer name of a value that is not made here, None for one that is.
    stores: where to put a value once it is made: left sides with their pointer names.
    """
    writer = _Writer(module, name, program, pointers, leaf, stores)
    main = Unit(_split(program, order, module.chunk))
    writer.place(main)
    lines = writer.write_unit(main)
    return Body(writer.functions, lines, writer.work_size(), main.pointers)


def _split(program: Program, order: Sequence[int], chunk: int) -> list[int | Loop | Unit]:
    """The items of a run: values and loops, or calls of units when there are too many."""
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
    return [Unit(_items(program, part, chunk)) for part in parts]


def _items(program: Program, order: Iterable[int], chunk: int) -> list[int | Loop | Unit]:
    items: list[int | Loop | Unit] = []
    for v in order:
        if program.ops[v] == "solve":
            index = program.args[v][0]
            items.append(Loop(v, index, _split(program, program.blocks[index].body, chunk)))
        else:
            items.append(v)
    return items


def _weight(program: Program, v: int, chunk: int) -> int:
    """Operations that a value brings into its function: a long body has functions of its own."""
    if program.ops[v] != "solve":
        return 1
    body = sum(_weight(program, w, chunk) for w in program.blocks[program.args[v][0]].body)
    return body if body <= chunk else 1


class _Writer:
    def __init__(
        self,
        module: Module,
        name: str,
        program: Program,
        pointers: Mapping[str, str],
        leaf: Callable[[int], tuple[str, str] | None],
        stores: Mapping[int, Sequence[tuple[str, str]]],
    ) -> None:
        self.program, self.name, self.prefix, self.pointers = program, name, module.name, pointers
        self.leaf, self.stores, self.external_calls = leaf, stores, module.external_calls
        self.slots = module.slots(program)
        self.names = Names(pointers, module.name)
        self.apart = serving_checks(program).difference(program.setup)
        self.functions: list[str] = []
        self.home: dict[int, Unit] = {}
        self.loops: dict[int, tuple[Loop, ...]] = {}  # the loops around a value in its unit, outermost first
        self.used: set[int] = set()
        self.early: set[int] = set()  # made in a loop and read after it in the same unit
        self.work: dict[int, int] = {}
        self.results: dict[int, list[int]] = {}
        self.local: dict[int, str] = {}

    # ---- planning: where values are made, and which are read elsewhere

    def place(self, main: Unit) -> None:
        self._home(main, main.items, ())
        self._reads(main, main.items, ())

    def _home(self, unit: Unit, items: list[int | Loop | Unit], around: tuple[Loop, ...]) -> None:
        for item in items:
            if isinstance(item, Unit):
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

    def _settle(self, v: int, unit: Unit, around: tuple[Loop, ...]) -> None:
        self.home[v], self.loops[v] = unit, around
        if self.slots is None or v not in self.slots:
            given = self.program.names.get(v)
            self.local[v] = self.names.unique(given) if given else f"t{v}"
        else:
            self.local[v] = f"w{self.slots[v]}"

    def _reads(self, unit: Unit, items: list[int | Loop | Unit], around: tuple[Loop, ...]) -> None:
        ops, args = self.program.ops, self.program.args
        for item in items:
            if isinstance(item, Unit):
                self._reads(item, item.items, ())
            elif isinstance(item, Loop):
                block = self.program.blocks[item.block]
                for v in block.guess:
                    self._read(v, unit, around)
                self._reads(unit, item.items, (*around, item))
                for v in block.step:
                    self._read(v, unit, (*around, item))
                for v in (*block.watched, *block.limits):
                    self._read(v, unit, around)
                if not around:
                    for v in self._inside(item):
                        if v in self.stores:
                            self._read(v, unit, ())
            elif ops[item] != "result":
                for v in operands(ops[item], args[item]):
                    self._read(v, unit, around)

    def _inside(self, loop: Loop) -> Iterable[int]:
        """All values made by a loop, in any unit."""
        yield from self.program.blocks[loop.block].unknowns
        waiting = list(reversed(loop.items))
        while waiting:
            item = waiting.pop()
            if isinstance(item, int):
                yield item
            elif isinstance(item, Unit):
                waiting.extend(reversed(item.items))
            else:
                yield from self._inside(item)

    def _read(self, v: int, unit: Unit, around: tuple[Loop, ...]) -> None:
        home = self.home.get(v)
        if home is None:
            return
        self.used.add(v)
        if home is not unit:
            self.work.setdefault(v, self.slots[v] if self.slots is not None else len(self.work))
            return
        # an unknown is declared before its loop, a body value inside it
        made_in = self.loops[v][:-1] if self.program.ops[v] == "unknown" else self.loops[v]
        if around[: len(made_in)] != made_in:
            self.early.add(v)

    def work_size(self) -> int:
        return max(self.work.values(), default=-1) + 1

    # ---- writing

    def write_unit(self, unit: Unit) -> list[str]:
        lines = self._write_items(unit, unit.items, (), "    ")
        if self.slots is not None:
            variables = sorted({self.slots[v] for v, home in self.home.items() if home is unit and self._in_slot(v)})
            for k in range(0, len(variables), 16):
                lines.insert(k // 16, "    double " + ", ".join(f"w{n}" for n in variables[k : k + 16]) + ";")
        return lines

    def _in_slot(self, v: int) -> bool:
        assert self.slots is not None
        return v in self.slots and not (self.program.ops[v] == "unknown" and v in self.work)

    def _write_items(
        self, unit: Unit, items: list[int | Loop | Unit], around: tuple[Loop, ...], indent: str
    ) -> list[str]:
        lines: list[str] = []
        for item in items:
            if isinstance(item, Unit):
                inside = self.program.blocks[around[-1].block].name if around else None
                lines.append(indent + self._call(unit, item, inside))
            elif isinstance(item, Loop):
                lines += self._write_loop(unit, item, around, indent)
            else:
                lines += [indent + line for line in self._statement(unit, item, around)]
        return lines

    def _call(self, unit: Unit, called: Unit, block: str | None) -> str:
        """Writes a unit as a static function before all others that call it, and gives the call."""
        body = self.write_unit(called)
        called.name = f"{self.name}_part{len(self.functions) + 1}"
        unit.pointers |= called.pointers
        wanted = [p for p in self.pointers if p in called.pointers]
        declarations = ", ".join(restricted(self.pointers[p], p) for p in wanted) or "void"
        text = f"static void {called.name}({declarations})\n{{\n" + "\n".join(body) + "\n}\n"
        if block is not None:  # a part of a loop: its operations are counted with the iteration
            text = f"{comment(f'solve {block}')}{text}{comment(f'end of solve {block}')}"
        self.functions.append(text)
        return f"{called.name}({', '.join(wanted)});"

    def _name(self, v: int, unit: Unit) -> str:
        """How a unit writes a value: a leaf, a local variable, or an element of the work array."""
        if v in self.home:
            if self.home[v] is unit and not (self.program.ops[v] == "unknown" and v in self.work):
                return self.local[v]
            unit.pointers.add("work")
            return f"work[{self.work[v]}]"
        if self.program.ops[v] == "const":
            return literal(self.program.args[v][0])
        found = self.leaf(v)
        assert found is not None, f"value {v} is read before it is made"
        text, pointer = found
        unit.pointers.add(pointer)
        return text

    def _statement(self, unit: Unit, v: int, around: tuple[Loop, ...]) -> list[str]:
        op, args = self.program.ops[v], self.program.args[v]
        if op == "result":
            return []  # made by its call

        def name(a: int) -> str:
            return self._name(a, unit)

        if op == "extern":
            function, pointer = self.external_calls[args[0]]
            if pointer:
                unit.pointers.add(pointer)
            given = ", ".join(name(a) for a in args[1:]) or "0.0"
            lines = [
                f"const double in{v}[{max(len(args) - 1, 1)}] = {{{given}}};",
                f"double out{v}[{max(self.program.externals[args[0]].results, 1)}];",
                f"{function}(in{v}, out{v});",
            ]
            for r in self.results.get(v, []):
                lines += self._assign(unit, r, f"out{v}[{self.program.args[r][1]}]", around)
            return lines
        if op == "table":
            text = table_call(args[0], self.program.tables[args[0]], name(args[1]), self.prefix)
        else:
            text = expression(op, args, name, self.prefix)
        return self._assign(unit, v, text, around)

    def _assign(self, unit: Unit, v: int, text: str, around: tuple[Loop, ...]) -> list[str]:
        variable = self.local[v]
        declared = v in self.early or self.slots is not None
        mark = " /* check */" if v in self.apart else ""
        lines = [f"{'' if declared else 'const double '}{variable} = {text};{mark}"]
        if v in self.work:
            unit.pointers.add("work")
            lines.append(f"work[{self.work[v]}] = {variable};")
        if not around:
            lines += self._store(unit, v)
        if v not in self.used and not (v in self.stores and not around):
            lines.append(f"(void){variable};")
        return lines

    def _store(self, unit: Unit, v: int) -> list[str]:
        lines = []
        for target, pointer in self.stores.get(v, ()):
            unit.pointers.add(pointer)
            lines.append(f"{target} = {self._name(v, unit)};")
        return lines

    def _write_loop(self, unit: Unit, loop: Loop, around: tuple[Loop, ...], indent: str) -> list[str]:
        block = self.program.blocks[loop.block]
        unit.pointers.add("status")
        status, far = f"status[{loop.block}]", f"far{loop.value}"
        what = "Newton iteration, an evaluation of the body a pass" if block.unknowns else "checks"
        lines = [comment(f"solve {block.name}: {what}").rstrip()]
        if not around and self.slots is None:
            # what is read after the outermost loop must be declared before it
            lines += [f"double {self.local[v]};" for v in self._inside(loop) if self._early_here(v, unit)]
        for v, guess in zip(block.unknowns, block.guess):
            target = self._name(v, unit)
            declared = v in self.early or v in self.work or self.slots is not None
            lines.append(f"{'' if declared else 'double '}{target} = {self._name(guess, unit)};")
        if block.unknowns and not self._bounded(block):
            bounds = ", ".join(f"{self.prefix}_far({self._name(v, unit)})" for v in block.unknowns)
            lines.append(f"const double {far}[] = {{{bounds}}};")
        pairs = [(self._name(v, unit), self._name(s, unit)) for v, s in zip(block.unknowns, block.step)]
        lines += self._iteration(unit, loop, around, pairs) if pairs else [f"{status} = 1;"]
        lines += self._checks(unit, loop.block)
        if pairs:
            lines.append(f"if ({status} < 0) {{")
            lines += [f"    {x} = NAN;" for x, _ in pairs]
            lines.append("}")
        lines.append(comment(f"end of solve {block.name}").rstrip())
        if not around:
            for v in self._inside(loop):
                lines += self._store(unit, v)
        return [indent + line for line in lines]

    def _checks(self, unit: Unit, index: int) -> list[str]:
        block, status = self.program.blocks[index], f"status[{index}]"
        lines = []
        for j, (check, value, limit) in enumerate(zip(block.checks, block.watched, block.limits, strict=True)):
            test = f"{self.prefix}_{check.kind}({self._name(value, unit)}, {self._name(limit, unit)})"
            lines += [f"if ({status} > 0 && !{test})", f"    {status} = -{block.max_iterations + 1 + j};"]
        return lines

    def _iteration(
        self, unit: Unit, loop: Loop, around: tuple[Loop, ...], pairs: Sequence[tuple[str, str]]
    ) -> list[str]:
        block, far = self.program.blocks[loop.block], f"far{loop.value}"
        status, count = f"status[{loop.block}]", f"k{loop.value}"
        lines = [f"for (int {count} = 1;; ++{count}) {{"]
        body = self._write_items(unit, loop.items, (*around, loop), "    ")
        finite = " && ".join(f"isfinite({s})" for _, s in pairs) or "1"
        fars = [literal(block.span) if self._bounded(block) else f"{far}[{i}]" for i in range(len(pairs))]
        tests = [f"{s}, {x}, {f}, {literal(block.tolerance)}" for (x, s), f in zip(pairs, fars, strict=True)]
        small = " && ".join(f"{self.prefix}_small({test})" for test in tests) or "1"
        body += [
            f"    {status} = -{count};",
            f"    if (!({finite}))",
            "        break;",
            f"    if ({small}) {{",
            f"        {status} = {count};",
            "        break;",
            "    }",
            f"    if ({count} == {block.max_iterations})",
            "        break;",
            *(f"    {x} = {self.prefix}_next({x}, {s});" for x, s in pairs),
        ]
        return [*lines, *body, "}"]

    @staticmethod
    def _bounded(block: SolveBlock) -> bool:
        """The size that unknowns count with is bounded by a number, whatever the guess."""
        return block.span <= REACH

    def _early_here(self, v: int, unit: Unit) -> bool:
        return v in self.early and self.home[v] is unit and not (self.program.ops[v] == "unknown" and v in self.work)


def restricted(declaration: str, name: str) -> str:
    """The definition of a pointer argument; arguments never overlap."""
    return f"{declaration}*restrict {name}"
