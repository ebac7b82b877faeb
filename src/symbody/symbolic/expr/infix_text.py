"""Infix text of expressions. `parse` reads it back to the same node.

A chain `a + b + c` is one sum of three terms, `(a + b) + c` a sum of a sum: the parentheses that are left say how the
nodes are nested. Named stages, external functions and implicit blocks are written by their names, not opened.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from decimal import MAX_EMAX, MIN_EMIN, Decimal, localcontext
from fractions import Fraction
from itertools import islice

from symbody.basics.errors import ExpressionError
from symbody.symbolic.expr.coefficients import FEW_BITS, exact_bits, well_held
from symbody.symbolic.expr.coefficients import over as quotient_of_doubles
from symbody.symbolic.expr.function_row import ANY, ATOM, COMPARE, FUNCTIONS, POWER, PRODUCT, SIGN, SUM, WORDS, Notation
from symbody.symbolic.expr.node import (
    ADD,
    ALIAS,
    AT,
    CONST,
    EXTERN,
    MUL,
    POW,
    RESULT,
    SCALE,
    SOLVE,
    SYMBOL,
    TABLE,
    Node,
    Number,
)
from symbody.symbolic.expr.tokens import raised
from symbody.symbolic.expr.walk import topological

LONGEST = 20_000_000  # characters; a shared graph written as a tree can grow without bound
LONGEST_WRITTEN = 512  # bits of a number beyond the range of doubles that is written by its digits

_PLAIN_NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")

Piece = str | tuple[Node, int]  # text as it is, or a node and the strength its surroundings ask for


def to_text(node: Node, limit: int | None = None) -> str:
    """The expression in infix notation, at most `limit` characters; a longer text ends in "..."."""
    return write(node, {}, limit)


def to_assignments(nodes: Iterable[Node] | Mapping[str, Node]) -> list[str]:
    """Lines `t1 = ...`, one for each value that is used more than once, then one for each of the nodes.

    The nodes are named by the mapping, else f1, f2, ... Named stages keep their names.
    """
    if isinstance(nodes, Mapping):
        names, roots = list(nodes), list(nodes.values())
    else:
        roots = list(nodes)
        names = [f"f{k}" for k in range(1, len(roots) + 1)]
    order = topological(roots)
    taken = {n.name for n in order if n.op is SYMBOL or n.op is ALIAS} | set(names)
    counts = _uses(order, roots)
    named: dict[Node, str] = {}
    lines: list[str] = []
    number = 0
    for node in order:
        if node.op is ALIAS:
            named[node] = quote_name(node.name)
            lines.append(f"{named[node]} = {write(node.args[0], named)}")
        elif node.args and counts.get(node, 0) > 1 and node.op not in (SCALE, EXTERN, SOLVE):
            number += 1
            while f"t{number}" in taken:
                number += 1
            text = write(node, named)
            named[node] = f"t{number}"
            lines.append(f"t{number} = {text}")
    lines.extend(f"{quote_name(name)} = {write(root, named)}" for name, root in zip(names, roots))
    return lines


def _uses(order: list[Node], roots: list[Node]) -> dict[Node, int]:
    """Uses of each node; those of c*x count for x, because a coefficient is written where it is used."""
    counts: dict[Node, int] = {}
    for root in roots:
        counts[root] = counts.get(root, 0) + 1
    for node in reversed(order):
        times = counts.get(node, 0) if node.op is SCALE else 1
        for a in node.args:
            counts[a] = counts.get(a, 0) + times
    return counts


def write(node: Node, named: Mapping[Node, str], limit: int | None = None) -> str:
    """The text of a node in which the nodes of `named` stand by their names."""
    bound = LONGEST if limit is None else max(limit, 3)
    out: list[str] = []
    length = 0
    stack: list[Piece] = [(node, ANY)]
    while stack:
        piece = stack.pop()
        if isinstance(piece, str):
            out.append(piece)
            length += len(piece)
            if length > bound:
                break
            continue
        inner, need = piece
        name = named.get(inner)
        if name is not None:
            stack.append(name)
            continue
        strength, pieces = _pieces(inner, bound)
        pieces = _with_plain_quotients(inner, pieces, named)
        if strength < need:
            stack.append(")")
            stack.extend(reversed(pieces))
            stack.append("(")
        else:
            stack.extend(reversed(pieces))
    text = "".join(out)
    if length <= bound:
        return text
    if limit is None:
        raise ExpressionError(
            f"the text of this expression has more than {LONGEST} characters: as a tree, its shared parts repeat. "
            "Use to_text(node, limit=...) for its beginning, or to_assignments([node]) for all of it."
        )
    return text[: bound - 3] + "..."


def _with_plain_quotients(node: Node, pieces: list[Piece], named: Mapping[Node, str]) -> list[Piece]:
    """Where quotients become divisions by themselves, the operands of which they were made: floor(x/49)."""
    row = FUNCTIONS.get(node.op)
    steps = node.args[: row.steps] if row is not None else ()
    plain = {a: node.graph.undivided[a] for a in steps if a in node.graph.undivided and a not in named}
    return [p if isinstance(p, str) else (plain.get(p[0], p[0]), p[1]) for p in pieces] if plain else pieces


def quote_name(name: str) -> str:
    """A name as the parser reads it: plain, or `between backticks` if it is not a word or has another meaning."""
    plain = _PLAIN_NAME.fullmatch(name) and (name.isascii() or not any(map(raised, name)))
    if plain and name not in FUNCTIONS and name not in WORDS:
        return name
    return "`" + name.replace("`", "``") + "`"


def number_text(value: Number) -> str:
    """An integer, a/b, or the shortest float text that gives the same float."""
    if value.__class__ is not float and not well_held(value) and exact_bits(value) > LONGEST_WRITTEN:
        factors = _factors_of_ten(value)
        if value.__class__ is Fraction or math.prod(map(Fraction, map(float, factors))) == value:
            return "*".join(factors)
    if value.__class__ is Fraction:
        return f"{integer_text(value.numerator)}/{integer_text(value.denominator)}"
    return integer_text(value) if value.__class__ is int else repr(value)


def _factors_of_ten(value: Number) -> list[str]:
    """Texts of floats whose product is a number beyond the range of doubles, to 17 digits: 1e-200, 1e-200."""
    digits, exponent = decimal_parts(value)
    steps = [math.copysign(min(200, abs(exponent) - k), exponent) for k in range(0, abs(exponent), 200)]
    return [*([] if digits == "1.0" else [digits]), *(f"1e{step:.0f}" for step in steps)]


def decimal_parts(value: Number) -> tuple[str, int]:
    """17 digits and the exponent of ten of a number that may be beyond all doubles."""
    exact = Fraction(value)
    with localcontext(prec=17, Emin=MIN_EMIN, Emax=MAX_EMAX):
        exponent = (Decimal(exact.numerator) / exact.denominator).adjusted()
    size = float(exact / Fraction(10) ** exponent)
    return (repr(size), exponent) if abs(size) < 10 else (repr(size / 10), exponent + 1)


def fraction_parts(value: Number) -> tuple[Number, Number]:
    """(n, d) as which a coefficient is written: whole numbers of few digits, else what was divided by what."""
    if value.__class__ is not Fraction:
        return value, 1
    whole = value.numerator, value.denominator
    if exact_bits(value) <= FEW_BITS:
        return whole
    return quotient_of_doubles(value) or (whole if well_held(value) else (value, 1))


def integer_text(value: int) -> str:
    """Decimal digits; hexadecimal ones where Python refuses to convert so many."""
    try:
        return str(value)
    except ValueError:
        return hex(value)


def _pieces(node: Node, bound: int) -> tuple[int, list[Piece]]:
    """Strength of a node's text, and its pieces in order. At most `bound` operands are read: each writes something."""
    op = node.op
    if op is SYMBOL or op is ALIAS:
        return ATOM, [quote_name(node.data.name)]
    if op is CONST:
        return _constant(node.data)
    if op is ADD:
        return SUM, _sum(node, bound)
    if op is SCALE:
        coefficient, base = node.data, node.args[0]
        product = _product(abs(coefficient), base.args if base.op is MUL else (base,), bound)
        return (SUM, ["-", *product]) if coefficient < 0 else (PRODUCT, product)
    if op is MUL:
        return PRODUCT, _product(1, node.args, bound)
    if op is POW:
        if is_divisor(node):
            return PRODUCT, _product(1, (node,), bound)
        return _power(node.args[0], node.data)
    row = FUNCTIONS.get(op)
    # a call of pow with a constant exponent is not read back from x**2, which is a power
    if row is not None and row.text is not None and not (op == "pow" and node.args[1].op is CONST):
        return row.text.strength, filled(row.text, node)
    return ATOM, _call(node, bound)


def filled(notation: Notation, node: Node) -> list[Piece]:
    """The pieces of a Notation with the arguments of a node; x == 1 reads better than 1 == x."""
    args = node.args
    if notation.strength == COMPARE and FUNCTIONS[node.op].commutative and args[0].op is CONST:
        args = args[::-1]
    return [piece if isinstance(piece, str) else (args[piece[0]], piece[1]) for piece in notation.pieces]


def _call(node: Node, bound: int) -> list[Piece]:
    op, args = node.op, node.args
    if op is TABLE:
        rows = "".join(f", [{', '.join(map(repr, row))}]" for row in (node.data.x, *node.data.c))
        return ["piecewise(", (args[0], ANY), rows, ")"]
    if op is RESULT:
        several = args[0].data.results > 1
        return [(args[0], ANY), f"[{node.data}]"] if several else [(args[0], ANY)]
    if op is AT:
        return [f"at({quote_name(args[0].data.name)}, ", (args[1], ANY), ")"]
    if op is SOLVE:
        return [f"solve({quote_name(node.data.name)})"]
    pieces: list[Piece] = [f"{quote_name(node.data.name) if op is EXTERN else op}("]
    for k, a in enumerate(islice(args, bound)):
        if k:
            pieces.append(", ")
        pieces.append((a, ANY))
    pieces.append(")")
    return pieces


def _constant(value: Number) -> tuple[int, list[Piece]]:
    text = number_text(value)
    if text.startswith("-"):
        return SUM, [text]
    return (PRODUCT if value.__class__ is Fraction else ATOM), [text]


def _sum(node: Node, bound: int) -> list[Piece]:
    """Terms with their signs; a number stands last."""
    pieces: list[Piece] = []
    numbers = [t for t in node.args if t.op is CONST] if len(node.args) <= bound else []
    terms = [t for t in islice(node.args, bound) if t.op is not CONST]
    for term in terms + numbers:
        negative = (term.op is SCALE or term.op is CONST) and term.data < 0
        if pieces:
            pieces.append(" - " if negative else " + ")
        elif negative:
            pieces.append("-")
        if negative and term.op is SCALE:
            base = term.args[0]
            pieces.extend(_product(-term.data, base.args if base.op is MUL else (base,), bound))
        elif negative:
            pieces.append(number_text(-term.data))
        else:
            pieces.append((term, PRODUCT))
    return pieces


def _product(coefficient: Number, factors: tuple[Node, ...], bound: int) -> list[Piece]:
    """coefficient * factors as one chain: what is divided by stands last, each divisor by itself."""
    over: list[list[Piece]] = []
    under: list[list[Piece]] = []
    for factor in islice(factors, bound):
        if is_divisor(factor):
            base, exponent = factor.args[0], -factor.data
            under.append([(base, SIGN)] if exponent == 1 else _power(base, exponent)[1])
        else:
            over.append([(factor, SIGN)])
    top, bottom = fraction_parts(coefficient)
    if bottom != 1 and ((top == 1 and over) or exact_bits(coefficient) > FEW_BITS):
        under.insert(0, [number_text(bottom)])
        if top != 1 or not over:
            over.insert(0, [number_text(top)])
    elif coefficient != 1 or not over:
        over.insert(0, [number_text(coefficient)])
    pieces: list[Piece] = []
    for k, part in enumerate(over):
        if k:
            pieces.append("*")
        pieces.extend(part)
    for part in under:
        pieces.append("/")
        pieces.extend(part)
    return pieces


def is_divisor(node: Node) -> bool:
    """Whether x^-e is written as a division by x^e: where reading 1/x^e gives x^-e again."""
    if node.op is not POW or node.data.__class__ is float or node.data >= 0:
        return False
    # 1 / sqrt(x^2) would be read as 1 / |x|
    return not (node.data == Fraction(-1, 2) and node.args[0].op is POW)


def _power(base: Node, exponent: Number) -> tuple[int, list[Piece]]:
    if exponent == Fraction(1, 2):
        return ATOM, ["sqrt(", (base, ANY), ")"]
    text = number_text(exponent)
    return POWER, [(base, ATOM), "**", f"({text})" if exponent.__class__ is Fraction else text]
