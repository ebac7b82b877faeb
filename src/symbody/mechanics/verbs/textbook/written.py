"""Collected sums as text, as LaTeX and as nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from symbody.mechanics.verbs.textbook.collected import NamedSum, Product, Sum, magnitude
from symbody.mechanics.verbs.textbook.terms import Angle, Wave, wave_node
from symbody.symbolic.expr.arithmetic import collect, multiply_all, power
from symbody.symbolic.expr.graph import Graph
from symbody.symbolic.expr.infix_text import to_text
from symbody.symbolic.expr.latex_form import latex_name, to_latex
from symbody.symbolic.expr.node import SYMBOL, Node, Number

DIGITS = 6  # significant, of numbers that are written


@dataclass(frozen=True)
class Script:
    """How things are written: symbols and functions of symbols, names, numbers, products, powers, parentheses."""

    atom: Callable[[Node], str]
    name: Callable[[str], str]
    number: Callable[[Number], str]
    product: str
    power: Callable[[str, str], str]
    wave: Callable[[str, str, str], str]
    fraction: Callable[[str, str], str]
    open: str
    close: str


def _plain_number(x: Number) -> str:
    if isinstance(x, Fraction):
        return f"{x.numerator}/{x.denominator}"
    return str(x) if isinstance(x, int) else f"{x:.{DIGITS}g}"


def _latex_number(x: Number) -> str:
    text = _plain_number(x)
    head, _, exponent = text.partition("e")
    return rf"{head} \cdot 10^{{{int(exponent)}}}" if exponent else text


def _symbol_text(node: Node) -> str:
    text = to_text(node).replace("**", "^")
    return text if node.op is SYMBOL or (text.endswith(")") and "(" in text and " " not in text) else f"({text})"


TEXT = Script(
    atom=_symbol_text,
    name=str,
    number=_plain_number,
    product="*",
    power=lambda base, e: f"{base}^{e}" if e.isdigit() else f"{base}^({e})",
    wave=lambda kind, angle, e: f"{kind}({angle})" + (f"^{e}" if e else ""),
    fraction=lambda top, below: f"{top}/{below}",
    open="(",
    close=")",
)
LATEX = Script(
    atom=lambda node: to_latex(node) if node.op is SYMBOL else rf"\left({to_latex(node)}\right)",
    name=latex_name,
    number=_latex_number,
    product=r"\,",
    power=lambda base, e: f"{base}^{{{e}}}",
    wave=lambda kind, angle, e: rf"\{kind}" + (f"^{{{e}}}" if e else "") + rf"\left({angle}\right)",
    fraction=lambda top, below: rf"\frac{{{top}}}{{{below}}}",
    open=r"\left(",
    close=r"\right)",
)


def write(value: Sum, script: Script = TEXT) -> str:
    """The sum in a line."""
    out = ""
    for product in value.products:
        negative, text = product.coefficient < 0, _product(product, script)
        sign = (" - " if negative else " + ") if out else "-" if negative else ""
        out += sign + text
    return out or "0"


def _product(product: Product, script: Script) -> str:
    """Without its sign."""
    size = magnitude(product.coefficient)
    above: list[str] = []
    below: list[str] = []
    top: Number = size.numerator if isinstance(size, Fraction) else size
    if isinstance(size, Fraction):
        below.append(script.number(size.denominator))
    for base, e in product.factors:
        divided = isinstance(e, (int, Fraction)) and e < 0
        (below if divided else above).append(_factor(base, -e if divided else e, script))
    if top != 1 or not above:
        above.insert(0, script.number(top))
    joined = script.product.join(above)
    if not below:
        return joined
    many = len(below) > 1 and script is TEXT
    under = script.product.join(below)
    return script.fraction(joined, f"({under})" if many else under)


def _factor(base: Node | Wave | Sum | NamedSum, e: Number, script: Script) -> str:
    exponent = "" if e == 1 else script.number(e)
    if isinstance(base, Wave):
        return script.wave(base.kind, _angle(base.angle, script), exponent)
    if isinstance(base, NamedSum):
        text = script.name(base.name)
    elif isinstance(base, Sum):
        text = f"{script.open}{write(base, script)}{script.close}"
    else:
        text = script.atom(base)
    return script.power(text, exponent) if exponent else text


def _angle(angle: Angle, script: Script) -> str:
    return write(Sum(tuple(Product(f, ((s, 1),)) for s, f in angle)), script)


def node_of(value: Sum, graph: Graph) -> Node:
    """The sum as a node, groups opened: the same nesting, so that it evaluates as it is written."""
    parts = []
    for product in value.products:
        factors = [_raised(base, e, graph) for base, e in product.factors]
        parts.append((product.coefficient, multiply_all(factors, graph) if factors else graph.one))
    return collect(parts, graph) if parts else graph.zero


def _raised(base: Node | Wave | Sum | NamedSum, e: Number, graph: Graph) -> Node:
    if isinstance(base, Wave):
        node = wave_node(base, graph)
    elif isinstance(base, NamedSum):
        node = node_of(base.value, graph)
    else:
        node = node_of(base, graph) if isinstance(base, Sum) else base
    return node if e == 1 else power(node, e)
