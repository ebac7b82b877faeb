r"""LaTeX of expressions, for people: fractions, roots, Greek names, rates (`qd1` is \dot{q}_{1}). Not read back."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import islice

from symbody.symbolic.expr.coefficients import well_held
from symbody.symbolic.expr.function_row import ANY, ATOM, FUNCTIONS, POWER, PRODUCT, SIGN, SUM, Notation
from symbody.symbolic.expr.infix_text import Piece, decimal_parts, filled, fraction_parts, integer_text, is_divisor
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

DOTS = r"\ldots"

GREEK = frozenset({
    "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu", "nu", "xi",
    "pi", "rho", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega", "Gamma", "Delta", "Theta", "Lambda", "Xi",
    "Pi", "Sigma", "Upsilon", "Phi", "Psi", "Omega",
})  # fmt: skip
SPELLED = {"lam": "lambda", "eps": "epsilon"}
SPECIAL = {**{c: "\\" + c for c in "_#$%&{}"}, "\\": r"\backslash ", "^": r"\wedge ", "~": r"\sim "}

_RATE = re.compile(r"(?P<stem>q|x|y|z|Z|[A-Za-z]{2,}?)(?P<rate>dd?)")
_NAME = re.compile(r"(?P<stem>[A-Za-z]+?)_?(?P<index>[0-9]*(?:_[A-Za-z0-9_]+)?|_[A-Za-z0-9_]+)")
_MOMENT = re.compile(r"I_?(?P<axes>[xyz]{2})_?(?P<index>[0-9]*)")


def to_latex(node: Node, limit: int = 4000) -> str:
    r"""The expression in LaTeX, without $ signs. After about `limit` characters, what is left is written as \ldots."""
    out: list[str] = []
    length = 0
    stack: list[Piece] = [(node, ANY)]
    while stack:
        piece = stack.pop()
        if isinstance(piece, str):
            out.append(piece)
            length += len(piece)
            continue
        inner, need = piece
        if length > limit:
            # the braces that are open still have to be closed, so the rest is replaced, not cut
            out.append(DOTS)
            continue
        strength, pieces = _pieces(inner, limit)
        if strength < need:
            stack.append(r"\right)")
            stack.extend(reversed(pieces))
            stack.append(r"\left(")
        else:
            stack.extend(reversed(pieces))
    text = "".join(out)
    if length > limit:
        text = re.sub(r"\\ldots(( [-+] |\\,|, )\\ldots)+", lambda _: DOTS, text)
    return text


def latex_name(name: str) -> str:
    r"""A name with its index below: m1 -> m_{1}, theta_x -> \theta_{x}, qdd2 -> \ddot{q}_{2}, mass -> \mathrm{mass}."""
    moment = _MOMENT.fullmatch(name)
    if moment:
        return "I_{" + ", ".join(part for part in moment.groups() if part) + "}"
    found = _NAME.fullmatch(name)
    if found is None:
        return r"\mathrm{" + _escape(name) + "}"
    stem, index = found["stem"], found["index"].strip("_")
    return _stem(stem) + (f"_{{{_escape(index)}}}" if index else "")


def _stem(stem: str) -> str:
    rate = _RATE.fullmatch(stem)
    if rate and stem not in GREEK and (len(rate["stem"]) == 1 or _greek(rate["stem"])):
        accent = r"\dot" if rate["rate"] == "d" else r"\ddot"
        return f"{accent}{{{_stem(rate['stem'])}}}"
    if len(stem) == 1:
        return stem
    return _greek(stem) or rf"\mathrm{{{stem}}}"


def _greek(word: str) -> str:
    word = SPELLED.get(word, word)
    return "\\" + word if word in GREEK else ""


def _escape(name: str) -> str:
    return "".join(SPECIAL.get(c, c) for c in name)


def _number(value: Number) -> str:
    if value.__class__ is Fraction:
        if not well_held(value):
            digits, power = decimal_parts(value)
            return rf"{digits} \cdot 10^{{{power}}}"
        return rf"\frac{{{integer_text(value.numerator)}}}{{{integer_text(value.denominator)}}}"
    if value.__class__ is bool:
        return r"\mathrm{true}" if value else r"\mathrm{false}"
    if value.__class__ is int:
        return integer_text(value)
    text = repr(value)
    if "e" in text:
        digits, _, exponent = text.partition("e")
        return rf"{digits} \cdot 10^{{{int(exponent)}}}"
    return {"inf": r"\infty", "nan": r"\mathrm{nan}"}.get(text, text)


def _pieces(node: Node, limit: int) -> tuple[int, list[Piece]]:
    """Strength of a node's text, and its pieces in order; of a long chain only as many operands as can be shown."""
    op, args = node.op, node.args
    if op is SYMBOL or op is ALIAS:
        return ATOM, [latex_name(node.data.name)]
    if op is CONST:
        if node.data < 0:
            return SUM, ["-", _number(-node.data)]
        text = _number(node.data)
        return (PRODUCT if "10^" in text else ATOM), [text]
    if op is ADD:
        return SUM, _sum(node, limit)
    if op is SCALE:
        base = args[0]
        product = _product(abs(node.data), base.args if base.op is MUL else (base,), limit)
        return (SUM, ["-", *product]) if node.data < 0 else (PRODUCT, product)
    if op is MUL:
        return PRODUCT, _product(1, args, limit)
    if op is POW:
        return (PRODUCT, _product(1, (node,), limit)) if is_divisor(node) else _power(args[0], node.data)
    row = FUNCTIONS.get(op)
    if row is not None and isinstance(row.latex, Notation):
        return row.latex.strength, filled(row.latex, node)
    return ATOM, _call(node, limit)


def _function_name(op: str) -> str:
    """How a function is named before its parentheses, "" where LaTeX has no name of its own."""
    row = FUNCTIONS.get(op)
    return row.latex if row is not None and isinstance(row.latex, str) else ""


def _call(node: Node, limit: int) -> list[Piece]:
    op, args = node.op, node.args
    if op is RESULT:
        return [(args[0], ANY), f"_{{{node.data}}}" if args[0].data.results > 1 else ""]
    if op is AT:
        # the bar ends what it belongs to but does not begin it: sums and products need their parentheses
        return [r"\left.", (args[1], ATOM), rf"\right|_{{{latex_name(args[0].data.name)}}}"]
    if op is SOLVE:
        return [rf"\operatorname{{solve}}\left({latex_name(node.data.name)}\right)"]
    name = node.data.name if op is EXTERN else "table" if op is TABLE else op
    pieces: list[Piece] = [_function_name(name) or rf"\operatorname{{{_escape(name)}}}", r"\left("]
    for k, a in enumerate(islice(args, limit)):
        if k:
            pieces.append(", ")
        pieces.append((a, ANY))
    pieces.append(r"\right)")
    return pieces


def _sum(node: Node, limit: int) -> list[Piece]:
    pieces: list[Piece] = []
    numbers = [t for t in node.args if t.op is CONST] if len(node.args) <= limit else []
    for term in [t for t in islice(node.args, limit) if t.op is not CONST] + numbers:
        negative = (term.op is SCALE or term.op is CONST) and term.data < 0
        if pieces:
            pieces.append(" - " if negative else " + ")
        elif negative:
            pieces.append("-")
        if negative and term.op is SCALE:
            base = term.args[0]
            pieces.extend(_product(-term.data, base.args if base.op is MUL else (base,), limit))
        elif negative:
            pieces.append(_number(-term.data))
        else:
            pieces.append((term, PRODUCT))
    return pieces


def _product(coefficient: Number, factors: tuple[Node, ...], limit: int) -> list[Piece]:
    """coefficient * factors, as one fraction if there are divisors or the coefficient is one."""
    top, bottom = fraction_parts(coefficient)
    over: list[list[Piece]] = []
    under: list[list[Piece]] = [[_number(bottom)]] if bottom != 1 else []
    shown = list(islice(factors, limit))
    divisors = [f for f in shown if is_divisor(f)]
    # a factor that stands alone over or under the bar needs no parentheses
    alone_over = len(shown) - len(divisors) + (top != 1) == 1 and bool(divisors or under)
    alone_under = len(divisors) + len(under) == 1
    for f in shown:
        if not is_divisor(f):
            over.append([(f, ANY if alone_over else SIGN)])
            continue
        base, exponent = f.args[0], -f.data
        under.append([(base, ANY if alone_under else SIGN)] if exponent == 1 else _power(base, exponent)[1])
    if top != 1 or not over:
        over.insert(0, [_number(top)])
    if not under:
        return _chain(over)
    return [r"\frac{", *_chain(over), "}{", *_chain(under), "}"]


def _chain(parts: list[list[Piece]]) -> list[Piece]:
    out: list[Piece] = []
    for k, part in enumerate(parts):
        if k:
            out.append(r"\,")
        out.extend(part)
    return out


def _power(base: Node, exponent: Number) -> tuple[int, list[Piece]]:
    if exponent.__class__ is Fraction and exponent.numerator == 1:
        degree = exponent.denominator
        return ATOM, [r"\sqrt{" if degree == 2 else rf"\sqrt[{degree}]{{", (base, ANY), "}"]
    text = f"{exponent.numerator}/{exponent.denominator}" if exponent.__class__ is Fraction else repr(exponent)
    name = _function_name(base.op)
    if name and len(base.args) == 1 and exponent.__class__ is int and exponent > 0:
        return POWER, [f"{name}^{{{text}}}", r"\left(", (base.args[0], ANY), r"\right)"]
    return POWER, [(base, ATOM), f"^{{{text}}}"]
