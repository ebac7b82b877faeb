"""Equations of a System for people: shared parts get names, sums and products are opened, long sums are broken.

What is shown is the program itself, only written differently: regrouped parameters, then named parts, then outputs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from symbody.symbolic.expr.arithmetic import collect, multiply_all
from symbody.symbolic.expr.function_row import FUNCTIONS, is_truth
from symbody.symbolic.expr.latex_form import latex_name, to_latex
from symbody.symbolic.expr.node import ADD, ALIAS, AT, CONST, MUL, POW, SCALE, SOLVE, SYMBOL, Node
from symbody.symbolic.expr.walk import free_symbols, rebuild, topological, transform
from symbody.symbolic.system.system import System

LONGEST = 20_000  # characters of LaTeX after which an equation is cut off
SHORT = 300  # characters of LaTeX up to which an output is written without named parts
FUNCTION = 60  # characters of LaTeX from which on a function that is used again has a name
WIDTH = 74  # letters, digits and signs of one line of a sum
DEEPEST = 4  # parentheses inside which a line is still broken
CLOSED = (ALIAS, SOLVE)  # what is inside belongs to them
LETTERS = ("z", "w", "e", "h", "y", "x")


@dataclass(frozen=True)
class Equation:
    """left = value; `kind` is "parameter" (computed once), "part" or "output"; `symbol` stands for it below."""

    kind: str
    left: str
    value: Node
    symbol: Node | None = None

    def latex(self, width: int = WIDTH) -> str:
        """One equation; a long sum over several lines."""
        lines = broken(to_latex(self.value, LONGEST), width)
        if len(lines) == 1:
            return f"{self.left} = {lines[0]}"
        rows = [f"{self.left} & = {lines[0]}", *(rf"& \, {line}" for line in lines[1:])]
        return r"\begin{aligned} " + r" \\ ".join(rows) + r" \end{aligned}"


def equations(system: System, names: Sequence[str] | None = None) -> list[Equation]:
    """Outputs of a System as equations: parameters made of others, named parts, outputs (of M the upper triangle)."""
    chosen = list(system.outputs) if names is None else list(names)
    lefts: list[str] = []
    roots: list[Node] = []
    for name in chosen:
        array: Any = system.outputs[name]
        for index in np.ndindex(*array.shape):
            if name == "M" and index[0] > index[1]:
                continue
            node = array[index]
            if node.op is CONST and node.data == 0 and array.ndim > 1:
                continue  # the pattern of zeros is told apart
            lefts.append(_left(name, index))
            roots.append(node)
    roots = _at_the_solution(roots)
    parts: list[tuple[Node, Node]] = []
    opened = _opened(roots)
    if any(len(to_latex(x, 4 * SHORT)) > SHORT for x in opened):
        parts, opened = _named_parts(roots, system)
    groups = [n for n in topological([*(x for _, x in parts), *opened]) if n.op is ALIAS]
    out = [Equation("parameter", latex_name(n.data.name), _opened([n.args[0]])[0], n) for n in groups]
    out += [Equation("part", latex_name(symbol.data.name), value, symbol) for symbol, value in parts]
    return out + [Equation("output", left, value) for left, value in zip(lefts, opened)]


def _at_the_solution(roots: list[Node]) -> list[Node]:
    """What is read at the solution of an implicit block, in its unknowns: below, these stand for the solution."""
    return transform(roots, lambda node, args: args[1] if node.op is AT else None, lambda node: node.op is SOLVE)


def _left(name: str, index: tuple[int, ...]) -> str:
    text = latex_name(name)
    if not index:
        return text
    places = [str(k + 1) for k in index]
    return f"{text}_{{{''.join(places) if all(len(p) == 1 for p in places) else ','.join(places)}}}"


def _opened(roots: list[Node]) -> list[Node]:
    """Nested sums and products merged, and names of mere multiples (twice_7 = 2 l) replaced by what they stand for."""

    def change(node: Node, args: tuple[Node, ...]) -> Node | None:
        if node.op is ADD:
            return collect([(1, a) for a in args], node.graph, open_sums=True)
        if node.op is MUL:
            return multiply_all(args, node.graph, open_products=True)
        if node.op is SCALE and node.data == -1 and args[0].op is ADD:
            return collect([(-1, args[0])], node.graph, open_sums=True)
        return args[0] if node.op is ALIAS else None

    return transform(roots, change, lambda n: n.op is ALIAS and _inside(n.args[0]).op not in (SYMBOL, CONST))


def _named_parts(roots: list[Node], system: System) -> tuple[list[tuple[Node, Node]], list[Node]]:
    """(symbol, definition) of every part that is used twice or more, and the roots in terms of them."""
    order = topological(roots, lambda n: n.op in CLOSED)
    uses = Counter(child for n in order if n.op is not SCALE for child in _operands(n))
    uses.update(_inside(r) for r in roots)
    shared = [n for n in order if uses[n] > 1 and _is_worth_a_name(n)]
    letter = _free_letter(system)
    symbols = {n: n.graph.symbol(f"{letter}{k + 1}", "input", scope="report") for k, n in enumerate(shared)}
    new: dict[Node, Node] = {}
    values = []
    for node in order:  # operands come first, so each part is written in terms of those before it
        args = tuple(new.get(a, a) for a in node.args)
        made = node if args == node.args else rebuild(node, args)
        if node in symbols:
            values.append(made)
        new[node] = symbols.get(node, made)
    opened = _opened([*values, *(new.get(r, r) for r in roots)])
    return list(zip(symbols.values(), opened)), opened[len(values) :]


def _inside(node: Node) -> Node:
    """A node without its sign and numeric coefficient, which are free."""
    return node.args[0] if node.op is SCALE else node


def _operands(node: Node) -> set[Node]:
    return {_inside(a) for a in node.args}


def _is_worth_a_name(node: Node) -> bool:
    """Sums, products and powers, but for a power of a plain name; of functions those that are long to write."""
    if node.op in (ADD, MUL):
        return True
    if node.op is POW:
        return any(a.op not in (SYMBOL, CONST, ALIAS) for a in node.args)
    return node.op in FUNCTIONS and not is_truth(node.op) and len(to_latex(node, 4 * FUNCTION)) > FUNCTION


def _free_letter(system: System) -> str:
    """A letter that, with a number, names nothing in the System."""
    taken = {s.data.name for s in free_symbols(system.expressions())}
    return next(x for x in (*LETTERS, "part_") if not any(re.fullmatch(rf"{x}[0-9]+", t) for t in taken))


def broken(latex: str, width: int = WIDTH) -> list[str]:
    """The lines of a sum, each of about `width` drawn signs: broken between its terms, and inside terms that are wider.

    Parentheses that open on one line and close on another are plain signs there, which LaTeX and MathML allow.
    """
    lines = [latex]
    for depth in range(DEEPEST + 1):
        if all(_drawn(line) <= width for line in lines):
            break
        lines = [
            part for line in lines for part in (_packed(_terms(line, depth), width) if _drawn(line) > width else [line])
        ]
    return [_matched(line) for line in lines]


def _terms(latex: str, deepest: int) -> list[str]:
    """Pieces that begin with signs inside at most so many parentheses, and outside all braces and tables."""
    terms, depth, inside, start = [], 0, 0, 0
    for found in re.finditer(r"\\(left|right|begin|end)\b|(?<!\\)[{}]| [+-] ", latex):
        token = found[0]
        if token in (" + ", " - "):
            if depth <= deepest and not inside and found.start() > start:
                terms.append(latex[start : found.start()])
                start = found.start()
        elif token in (r"\left", r"\right"):
            depth += 1 if token == r"\left" else -1
        else:
            inside += 1 if token in ("{", r"\begin") else -1
    return [*terms, latex[start:]]


def _packed(terms: list[str], width: int) -> list[str]:
    lines = [""]
    for term in terms:
        if lines[-1] and _drawn(lines[-1]) + _drawn(term) > width:
            lines.append("")
        lines[-1] += term
    return [line.strip() for line in lines]


def _matched(line: str) -> str:
    r"""A line whose \left and \right have their partners on it; those without one are plain signs."""
    open_at: list[re.Match[str]] = []
    alone: list[re.Match[str]] = []
    for found in re.finditer(r"\\(left|right)(\\[A-Za-z]+|.)", line):
        if found[1] == "left":
            open_at.append(found)
        elif open_at:
            open_at.pop()
        else:
            alone.append(found)
    for found in sorted([*open_at, *alone], key=lambda m: -m.start()):
        line = line[: found.start()] + ("" if found[2] == "." else found[2]) + line[found.end() :]
    return line


def _drawn(latex: str) -> int:
    """About how many signs are seen: names of functions count as they are, other commands as one sign or none."""
    plain = re.sub(r"\\(left|right|frac|mathrm|operatorname|dot|ddot|sqrt|begin|end|,)|[{}_^ ]", "", latex)
    return len(re.sub(r"\\(sin|cos|tan|arc[a-z]+|ln|min|max)|\\[A-Za-z]+", lambda m: m[1] or ".", plain))
