r"""The target "latex": a document of all equations in the order in which they are computed, in physical names.

A component has the name of its joint or body (\dot{q}_{\text{elbow}}), a table says which symbol is which component.
Solve blocks are written as the iteration that they are, tables as cases.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from symbody.codegen.printer.heading import Heading, head_lines
from symbody.codegen.printer.language import ATOM, LOOSE, POWER, PRODUCT, SUM, FunctionText, Language
from symbody.codegen.printer.module_layout import Argument, EmittedModule, plan
from symbody.codegen.printer.statements import FunctionUnit, Loop, StatementWriter, bounded
from symbody.codegen.printer.write import write
from symbody.codegen.target_row import Source, Target
from symbody.symbolic.expr.external import Piecewise
from symbody.symbolic.expr.function_row import Function as Row
from symbody.symbolic.expr.function_row import Notation
from symbody.symbolic.expr.latex_form import latex_name
from symbody.symbolic.lower.program import OutputPort
from symbody.symbolic.system.ports import Port

SPECIAL = {**{c: "\\" + c for c in "_#$%&{}"}, "\\": r"\textbackslash{}", "^": r"\^{}", "~": r"\~{}"}
# strengths of notations (`symbolic/expr/function_row.py`) as those of the printer: any, or, and, not, compare, sum, ...
STRENGTH = (LOOSE, LOOSE, LOOSE, LOOSE, LOOSE, SUM, PRODUCT, PRODUCT, POWER, ATOM)
NEED = (LOOSE, SUM, SUM, SUM, SUM, SUM, PRODUCT, POWER, POWER, ATOM)
LEFT, RIGHT = r"\left(", r"\right)"


def escaped(text: str) -> str:
    """A text outside of formulas."""
    return "".join(SPECIAL.get(c, c) for c in text)


def literal(number: Any) -> str:
    value = float(number)
    if not math.isfinite(value):
        text = r"\mathrm{nan}" if math.isnan(value) else r"\infty"
    else:
        digits, _, exponent = repr(abs(value)).partition("e")
        text = digits + (rf" \cdot 10^{{{int(exponent)}}}" if exponent else "")
    return rf"{LEFT}-{text}{RIGHT}" if value < 0 else text


def _template(row: Row) -> tuple[str, int, tuple[int, ...]]:
    """The notation of a function, as the printer takes it."""
    if isinstance(row.latex, Notation):
        text, needs = "", [LOOSE] * row.arity
        for piece in row.latex.pieces:
            if isinstance(piece, str):
                text += piece.replace("{", "{{").replace("}", "}}")
            else:
                text += f"{{{piece[0]}}}"
                needs[piece[0]] = NEED[piece[1]]
        return text, STRENGTH[row.latex.strength], tuple(needs)
    name = (row.latex or rf"\operatorname{{{row.name}}}").replace("{", "{{").replace("}", "}}")
    given = ", ".join(f"{{{k}}}" for k in range(row.arity))
    return rf"{name}\left({given}\right)", ATOM, (LOOSE,) * row.arity


def _table_name(index: int) -> str:
    return rf"\operatorname{{table}}_{{{index}}}"


@dataclass(eq=False)
class Symbols:
    """One symbol a component, each once."""

    elements: dict[tuple[str, int], str] = field(default_factory=dict)
    taken: set[str] = field(default_factory=lambda: {"e", r"\mathrm{nan}"})  # e^{x} is the exponential function

    def element(self, array: str, k: int) -> str:
        return self.elements[array, k]

    def new(self, symbol: str, name: str) -> str:
        """`symbol`, or where another one looks alike, the name in letters."""
        if symbol in self.taken:
            symbol = rf"\mathit{{{escaped(name)}}}"
        assert symbol not in self.taken, f"two values are called {name}"
        self.taken.add(symbol)
        return symbol

    def components(self, name: str, port: Port | OutputPort, labels: Sequence[str]) -> list[str]:
        shape = port.shape
        size = math.prod(shape)
        if not shape or (size == 1 and not labels):
            return [self.new(latex_name(name), name)]
        if len(labels) == size:
            marks = [rf"\text{{{escaped(label)}}}" for label in labels]
        else:
            marks = [",".join(str(i + 1) for i in _place(k, shape)) for k in range(size)]
        return [self.new(_marked(latex_name(name), m), f"{name}{k + 1}") for k, m in enumerate(marks)]


def _place(k: int, shape: Sequence[int]) -> list[int]:
    found: list[int] = []
    for n in reversed(shape):
        found.insert(0, k % n)
        k //= n
    return found


def _marked(symbol: str, mark: str) -> str:
    """A mark below a symbol, after what stands there already."""
    return f"{symbol[:-1]}, {mark}}}" if re.search(r"_\{[^{}]*\}$", symbol) else f"{symbol}_{{{mark}}}"


class LatexWriter(StatementWriter):
    """Equations: lines that begin with "= " stand in formulas, others are sentences."""

    def _settle(self, v: int, unit: FunctionUnit, around: tuple[Loop, ...]) -> None:
        super()._settle(v, unit, around)
        name = self.local[v]
        language = self.language
        assert isinstance(language, LatexLanguage)
        index = re.fullmatch(r"t(\d+)", name)
        self.local[v] = language.symbols.new(f"t_{{{index[1]}}}" if index else latex_name(name), name)

    def _extern(self, unit: FunctionUnit, v: int, around: tuple[Loop, ...]) -> list[str]:
        args = self.program.args[v]
        given = ", ".join(self.held(a, unit, LOOSE) for a in args[1:])
        name = escaped(self.module.externals[args[0]])
        lines = []
        for r in self.results.get(v, []):
            called = rf"\operatorname{{{name}}}_{{{self.program.args[r][1] + 1}}}{LEFT}{given}{RIGHT}"
            lines += self.made(unit, r, called, around)
        return lines

    def loop_lines(self, unit: FunctionUnit, loop: Loop, around: tuple[Loop, ...]) -> list[str]:
        block, language = self.program.blocks[loop.block], self.language
        lines = [r"\begin{quote}", rf"\textbf{{Solve {escaped(block.name)}}}"]
        if block.unknowns:
            pairs = [(self.local[v], self.name(s, unit)) for v, s in zip(block.unknowns, block.step)]
            guesses = [self.name(g, unit) for g in block.guess]
            lines[-1] += " by Newton's iteration, from"
            lines += [rf"= {x} &\leftarrow {g}" for (x, _), g in zip(pairs, guesses)]
            lines += ["with, at each pass,", *self.item_lines(unit, loop.items, (*around, loop), "")]
            tolerance, stops = language.literal(block.tolerance), []
            for (x, s), g in zip(pairs, guesses):
                far = (
                    language.literal(block.span)
                    if bounded(block)
                    else rf"1000000.0 \, \left(1 + \left|{g}\right|\right)"
                )
                size = rf"\min\left(\left|{x}\right|, {far}\right)"
                stops.append(rf"\left|{s}\right| \le {tolerance} \, \left(1 + {size}\right)")
            lines += [f"until ${'$ and $'.join(stops)}$; else"]
            lines += [rf"= {x} &\leftarrow {x} + {s}" for x, s in pairs]
            lines += [f"in at most {block.max_iterations} passes."]
        else:
            lines[-1] += " is sound or not."
        for check, value, limit in zip(block.checks, block.watched, block.limits, strict=True):
            sign = r"\le" if check.kind == "below" else ">"
            lines.append(rf"Needed: $\left|{self.name(value, unit)}\right| {sign} {self.name(limit, unit)}$.")
        lines.append(r"\end{quote}")
        if not around:
            for v in self.inside(loop):
                lines += self.stored(unit, v)
        return lines

    def failed(self, unit: FunctionUnit, solves: Sequence[int]) -> list[str]:
        return ["Where a block has no solution, no result has a value."]


def _no_frame(function: FunctionText, module: EmittedModule) -> str:
    raise AssertionError("a document is not cut into functions")


@dataclass(frozen=True, kw_only=True)
class LatexLanguage(Language):
    """The row of LaTeX, with the symbols of one document."""

    symbols: Symbols


def _language(symbols: Symbols) -> LatexLanguage:
    return LatexLanguage(
        symbols=symbols,
        functions="latex",
        taken=frozenset(),
        literal=literal,
        element=symbols.element,
        define="= {0} &= {1}",
        variable="= {0} &= {1}",
        assign="= {0} &= {1}",
        remark="% {0}",
        product=r"{0} \, {1}",
        quotient=r"\frac{{{0}}}{{{1}}}",
        fractions=True,
        group=LEFT + "{0}" + RIGHT,
        extern="",
        table=lambda index, table, x, prefix: _table_name(index) + LEFT + x + RIGHT,
        indent="",
        width=150,
        writer=LatexWriter,
        template=_template,
        frame=_no_frame,
    )


def emit_latex(source: Source, *, certificate: str | None = None) -> dict[str, str]:
    """NAME.tex: a document that stands by itself."""
    symbols = Symbols()
    module = plan(source.parts, _language(symbols), chunk=None)
    heading = replace(source.heading, certificate=certificate)
    part = module.parts[0]
    rows = _name_parameters(module, symbols)
    for a in part.of("input", "output"):
        rows += _name_components(a, symbols, heading)
    write(module, source.heading)
    lines = [r"\section*{Symbols}", r"\begin{longtable}{llll}", r"symbol & component & unit & default \\ \hline"]
    lines += [*rows, r"\end{longtable}"]
    for k, table in enumerate(module.source.tables):
        lines += [rf"\section*{{Table {k}}}"] if k == 0 else []
        lines += [r"\begin{align*}", _cases(k, table), r"\end{align*}"]
    for title, each in (("Once for each set of parameters", module.setup), ("At every call", part)):
        assert each.text is not None
        body = _displayed(each.text.lines)
        lines += [rf"\section*{{{title}}}", *body] if body else []
    head = "".join(f"% {line}".rstrip() + "\n" for line in head_lines(module, heading))
    text = "\n".join([
        r"\documentclass{article}", r"\usepackage{amsmath, longtable}", r"\usepackage[margin=20mm]{geometry}",
        r"\allowdisplaybreaks", r"\begin{document}", rf"\section*{{{escaped(module.source.name)}}}",
        *(escaped(line) + r"\par" for line in head_lines(module, heading)[2:] if line), *lines, r"\end{document}", "",
    ])  # fmt: skip
    return {f"{module.name}.tex": head + text}


def _row(symbol: str, name: str, unit: str, default: str = "") -> str:
    return rf"${symbol}$ & \verb|{name}| & {escaped(unit)} & {default} \\"


def _name_parameters(module: EmittedModule, symbols: Symbols) -> list[str]:
    """Symbols of parameters, and of what setup hands over: rows of the table."""
    rows, elements = [], symbols.elements
    for port in module.source.parameters:
        found = symbols.components(port.name, port, ())
        for k, symbol in enumerate(found):
            elements["parameters", port.start + k] = symbol
            given = "" if port.default is None else f"${literal(port.default[k])}$"
            rows.append(_row(symbol, f"parameters[{port.start + k}]", port.unit, given))
    source = module.source
    for k, v in enumerate(module.derived):
        own = elements["parameters", source.args[v][0]] if source.ops[v] == "parameter" else ""
        elements["derived", k] = own or symbols.new(f"d_{{{k + 1}}}", f"derived{k + 1}")
    return rows


def _name_components(a: Argument, symbols: Symbols, heading: Heading) -> list[str]:
    port = a.port
    assert port is not None
    labels = heading.labels.get(port.name, ())
    units = heading.units.get(port.name, "")
    each = [port.unit or units] * a.size if isinstance(units, str) else list(units)
    each = each if len(each) == a.size else [port.unit] * a.size
    rows = []
    for k, symbol in enumerate(symbols.components(port.name, port, labels if len(labels) == a.size else ())):
        symbols.elements[a.name, k] = symbol
        rows.append(_row(symbol, f"{a.name}[{k}]", each[k]))
    return rows


def _displayed(lines: Iterable[str]) -> list[str]:
    """Lines of a body: runs of equations become displays."""
    found: list[str] = []
    run: list[str] = []

    def end() -> None:
        if run:
            found.extend([r"\begin{align*}", *(f"{line} \\\\" for line in run[:-1]), run[-1], r"\end{align*}"])
            run.clear()

    for line in lines:
        if line.strip().startswith("= "):
            equation = line.strip()[2:]
            left, _, right = equation.partition(" &= ")
            if left != right:  # a parameter that a call reads as it is
                run.append(equation)
        elif line.strip():
            end()
            found.append(line.strip())
    end()
    return found


def _cases(index: int, table: Piecewise) -> str:
    """A table: a polynomial in x - x_i, innermost factor last, on each piece; the outer ones extend outward."""
    cases = []
    for i in range(len(table.x) - 1):
        offset = rf"\left(x - {literal(table.x[i])}\right)"
        text = literal(table.c[-1][i])
        for row in table.c[-2::-1]:
            text = rf"{literal(row[i])} + {offset} \, {LEFT}{text}{RIGHT}"
        last = i == len(table.x) - 2
        cases.append(f"{text} & " + (r"\text{otherwise}" if last else rf"\text{{if }} x < {literal(table.x[i + 1])}"))
    body = r" \\ ".join(cases)
    return rf"{_table_name(index)}\left(x\right) &= \begin{{cases}} {body} \end{{cases}}"


LATEX = Target(
    name="latex",
    about="a LaTeX document of the equations in the order of computation, in physical names",
    emit=emit_latex,
    shown=".tex",
    certificate=True,
    groups=False,
)
