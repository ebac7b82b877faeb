"""Reading expressions from text: a precedence parser with an explicit stack, so that nesting has no bound.

    or   and   not   < <= > >= == !=   + -   * /   unary + -   ** ^ (from the right)   f(x, y)   (x)

A chain `a + b + c` makes one sum of three terms and `a*b/c` one product, as `to_text` writes them; parentheses nest.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise
from typing import Any

from symbody.basics.arguments import declared
from symbody.basics.errors import ExpressionError, NameLookupError, is_lost, nearest
from symbody.symbolic.expr.arithmetic import add, collect, divide, mul, multiply_all, power, raise_to
from symbody.symbolic.expr.call import as_nodes, call
from symbody.symbolic.expr.coefficients import as_float, negate, reciprocal_of, scale, times
from symbody.symbolic.expr.external import Piecewise
from symbody.symbolic.expr.function_row import AND, ANY, COMPARE, FUNCTIONS, NOT, OR, POWER, PRODUCT, SIGN, SUM
from symbody.symbolic.expr.functions import piecewise
from symbody.symbolic.expr.graph import Graph, current_graph
from symbody.symbolic.expr.infix_text import quote_name
from symbody.symbolic.expr.node import CONST, SYMBOL, Node, Number, Symbol
from symbody.symbolic.expr.tokens import LONGEST, Token, error_at, tokens

OPERATORS = {
    "or": OR, "and": AND, "<": COMPARE, "<=": COMPARE, ">": COMPARE, ">=": COMPARE, "==": COMPARE, "!=": COMPARE,
    "+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT, "**": POWER, "^": POWER,
}  # fmt: skip
COMPARE_AS = {
    str(row.text.pieces[1]).strip(): name
    for name, row in FUNCTIONS.items()
    if row.text is not None and row.text.strength == COMPARE
}
VALUES = {"pi": math.pi, "inf": math.inf, "nan": math.nan, "True": True, "False": False}
LARGEST_POWER = 100_000  # bits of a number raised to a number

OPERAND = "a number, a name, a function, '(' or a sign"


@declared
def parse(
    text: str,
    names: Mapping[str, Any] | None = None,
    graph: Graph | None = None,
    role: str = "input",
    strict: bool = False,
    limit: int = LONGEST,
) -> Node:
    """The expression that a text stands for.

    A name is looked up in `names` (nodes or numbers), then among the symbols of the Graph; an unknown one becomes a
    symbol of the given role, or is refused if `strict`. The Graph is that of the nodes in `names`, or the current one.
    Integers (7, 0xff) are exact, 1.5 and 1e-3 are floats, so is pi. `a name in backticks` may hold any character.
    """
    if graph is None:
        graph = next((v.graph for v in (names or {}).values() if v.__class__ is Node), None) or current_graph()
    return _ExpressionReader(text, names or {}, graph, role, strict, limit).read()


def symbol_named(graph: Graph, name: str, role: str, index: dict[str, list[Node]]) -> Node:
    """The symbol of this name and role, else the only one of this name, else a new one.

    `index` is empty at first and keeps what was found in the Graph, for the next call.
    """
    exact = graph.others.get((SYMBOL, Symbol(name, role)))
    if exact is not None:
        return exact
    if not index:
        for node in graph.others.values():
            if node.op is SYMBOL:
                index.setdefault(node.data.name, []).append(node)
    same = index.get(name, [])
    if len(same) > 1:
        differ = "; ".join(f"role {n.data.role}, scope {n.data.scope!r}, unit {n.data.unit!r}" for n in same[:4])
        raise ExpressionError(
            f"{len(same)} symbols are called {name!r} ({differ}). Say which one: names={{{name!r}: node}}."
        )
    return same[0] if same else graph.symbol(name, role)


class _OpenOperand:
    """What waits on the stack for its last operand: an operator, or an open parenthesis (strength ANY)."""

    __slots__ = ("kind", "parts", "pending", "strength", "token")

    def __init__(self, kind: str, strength: int, token: Token, parts: list[Any], pending: Any = None) -> None:
        self.kind = kind  # the operator, "sum", "product", "sign", "(", or "call"
        self.strength = strength
        self.token = token
        self.parts = parts  # operands so far: nodes, or (sign, node), or (divided, node)
        self.pending = pending  # sign, or divided, of the operand to come


class _ExpressionReader:
    """One reading of one text."""

    def __init__(self, text: str, names: Mapping[str, Any], graph: Graph, role: str, strict: bool, limit: int) -> None:
        self.text = text
        self.names = names
        self.graph = graph
        self.role = role
        self.strict = strict
        self.tokens = tokens(text, limit)
        self.at = 0
        self.stack: list[_OpenOperand] = []
        self.known: dict[str, Node] = {}
        self.symbols: dict[str, list[Node]] = {}

    def read(self) -> Node:
        while True:
            value: Any = self.operand()
            while True:  # closing parentheses and the end leave us after an operand
                token = self.next()
                if token.kind == "end":
                    return self.finish(value)
                if token.text == ")" and token.kind == "sign":
                    value = self.close(value, token)
                    continue
                if token.text == "," and token.kind == "sign":
                    value = self.reduce(value, ANY)
                    if not self.stack or self.stack[-1].kind != "call":
                        raise self.unexpected(token, self.after_operand())
                    self.stack[-1].parts.append(value)
                    self.lists()
                    if self.peek().text != ")":
                        break
                    value = None
                    continue
                if token.text in OPERATORS and token.kind != "quoted":
                    self.operator(token, value)
                    break
                raise self.unexpected(token, self.after_operand())

    # -- tokens

    def next(self) -> Token:
        token = self.tokens[self.at]
        if token.kind != "end":
            self.at += 1
        return token

    def peek(self) -> Token:
        return self.tokens[self.at]

    def unexpected(self, token: Token, expected: str) -> Exception:
        found = token.text if token.kind == "end" else repr(token.text)
        return error_at(self.text, token.place, f"found {found}, expected {expected}.")

    def after_operand(self) -> str:
        inside = next((o for o in reversed(self.stack) if o.strength == ANY), None)
        if inside is None:
            return "an operator or the end of the text"
        return "an operator, ',' or ')'" if inside.kind == "call" else "an operator or ')'"

    # -- operands

    def operand(self) -> Node:
        """Signs, `not`, and opening parentheses go on the stack until a number or name is found."""
        while True:
            token = self.next()
            if token.kind == "number":
                return self.number(token)
            if token.kind == "quoted":
                return self.lookup(token)
            if token.kind == "name":
                if token.text == "not":
                    if self.stack and self.stack[-1].strength > NOT:
                        raise error_at(self.text, token.place, "'not' after an operator must stand in parentheses.")
                    self.stack.append(_OpenOperand("not", NOT, token, []))
                    continue
                if token.text in OPERATORS:
                    raise self.unexpected(token, OPERAND)
                if self.peek().text != "(" or self.peek().kind != "sign":
                    return self.lookup(token)
                self.next()
                if token.text not in FUNCTIONS and token.text != "piecewise":
                    hint = nearest(token.text, [*FUNCTIONS, "piecewise"])
                    raise error_at(self.text, token.place, f"unknown function {token.text!r}. {hint}")
                self.stack.append(_OpenOperand("call", ANY, token, []))
            elif token.text == "(":
                self.stack.append(_OpenOperand("(", ANY, token, []))
            elif token.text in ("+", "-"):
                self.stack.append(_OpenOperand("sign", SIGN, token, [], -1 if token.text == "-" else 1))
            else:
                raise self.unexpected(token, OPERAND)

    def number(self, token: Token) -> Node:
        return as_nodes([self.graph.one, self.value(token)])[1]

    def value(self, token: Token, kind: type[int | float] = int) -> int | float:
        """The number of a token, of integers as this kind."""
        try:
            if token.text[:2] in ("0x", "0X"):
                value: int | float = int(token.text, 16)
            else:
                value = int(token.text) if token.text.isdigit() else float(token.text)
            value = as_float(value) if kind is float else value
        except ValueError:  # Python refuses integers of thousands of digits
            raise error_at(self.text, token.place, f"an integer of {len(token.text)} digits is too long.") from None
        if value == math.inf:
            raise error_at(self.text, token.place, f"{token.text} is too large for a float; they end at 1.8e308.")
        if is_lost(token.text, value):
            raise error_at(self.text, token.place, f"{token.text} is too small for a float; they begin at 4.9e-324.")
        return value

    def lookup(self, token: Token) -> Node:
        name = token.text
        node = self.known.get(name) if token.kind == "name" else None
        if node is None:
            node = self.find(name, token)
            if token.kind == "name":
                self.known[name] = node
        return node

    def find(self, name: str, token: Token) -> Node:
        if name in self.names:
            return as_nodes([self.graph.one, self.names[name]])[1]
        if token.kind == "name" and name in VALUES:
            return self.graph.number(VALUES[name])
        if self.strict:
            message = f"the name {name!r} is unknown. {nearest(name, self.names)}"
            raise error_at(self.text, token.place, message, NameLookupError)
        try:
            return symbol_named(self.graph, name, self.role, self.symbols)
        except ExpressionError as error:
            raise error_at(self.text, token.place, str(error)) from error

    def lists(self) -> None:
        """Lists of numbers after a comma: [0, 1.5, -2], arguments of `piecewise` only."""
        frame = self.stack[-1]
        while self.peek().text == "[" and self.peek().kind == "sign":
            start = self.next()
            if frame.token.text != "piecewise":
                raise self.unexpected(start, OPERAND)
            values: list[float] = []
            while True:
                token = self.next()
                sign = 1.0
                if token.text in ("-", "+"):
                    sign, token = (-1.0 if token.text == "-" else 1.0), self.next()
                if token.kind != "number":
                    raise self.unexpected(token, "a number")
                values.append(sign * self.value(token, float))
                token = self.next()
                if token.text == "]":
                    break
                if token.text != ",":
                    raise self.unexpected(token, "',' or ']'")
            frame.parts.append(tuple(values))
            if self.peek().text == ",":
                self.next()
            elif self.peek().text != ")":
                raise self.unexpected(self.peek(), "',' or ')'")

    # -- operators

    def operator(self, token: Token, value: Any) -> None:
        strength = OPERATORS[token.text]
        if strength in (SUM, PRODUCT):
            value = self.reduce(value, strength)
            kind = "sum" if strength == SUM else "product"
            first, pending = (1, -1 if token.text == "-" else 1) if strength == SUM else (False, token.text == "/")
            if self.stack and self.stack[-1].kind == kind:
                top = self.stack[-1]
                top.parts.append((top.pending, value))
                top.pending, top.token = pending, token
            else:
                self.stack.append(_OpenOperand(kind, strength, token, [(first, value)], pending))
            return
        # powers group from the right, the others from the left
        value = self.reduce(value, strength if strength in (POWER, COMPARE) else strength - 1)
        if strength == COMPARE and self.stack and self.stack[-1].strength == COMPARE:
            raise error_at(self.text, token.place, "comparisons cannot follow each other. Write a < b and b < c.")
        self.stack.append(_OpenOperand(token.text, strength, token, [value]))

    def reduce(self, value: Any, strength: int) -> Any:
        """Give `value` to all operators on the stack that bind stronger than `strength`."""
        while self.stack and self.stack[-1].strength > strength:
            top = self.stack.pop()
            try:
                value = _combine(top, value)
            except (ExpressionError, ArithmeticError, ValueError) as error:
                raise error_at(self.text, top.token.place, str(error)) from error
        return value

    def close(self, value: Any, token: Token) -> Node:
        value = self.reduce(value, ANY)
        if not self.stack:
            raise error_at(self.text, token.place, "this ')' closes nothing.")
        frame = self.stack.pop()
        if frame.kind == "(":
            return value
        if value is not None:
            frame.parts.append(value)
        name = frame.token.text
        try:
            if name == "piecewise":
                return _piecewise(frame.parts)
            if name == "pow" and len(frame.parts) == 2:
                _check_power(*frame.parts)
            return call(name, *frame.parts)
        except (ExpressionError, ArithmeticError, ValueError) as error:
            raise error_at(self.text, frame.token.place, str(error)) from error

    def finish(self, value: Any) -> Node:
        value = self.reduce(value, ANY)
        if self.stack:
            frame = self.stack[-1]
            what = f"the call of {quote_name(frame.token.text)}" if frame.kind == "call" else "this '('"
            raise error_at(self.text, frame.token.place, f"{what} is not closed; expected ')' before the end.")
        return value


def _combine(top: _OpenOperand, value: Node) -> Node:
    """The node of an operator whose last operand is `value`."""
    kind = top.kind
    if kind == "sum":
        top.parts.append((top.pending, value))
        return _sum(top.parts)
    if kind == "product":
        top.parts.append((top.pending, value))
        return _product(top.parts)
    if kind == "sign":
        return negate(value) if top.pending < 0 else value
    if kind == "not":
        return call("not", value)
    left = top.parts[0]
    if kind in ("**", "^"):
        _check_power(left, value)
        return raise_to(left, value)
    if kind in (">", ">="):
        return call("lt" if kind == ">" else "le", value, left)
    return call(COMPARE_AS.get(kind, kind), left, value)


def _sum(terms: list[tuple[int, Node]]) -> Node:
    if len(terms) == 2:
        (_, a), (sign, b) = terms
        return add(a, b if sign > 0 else negate(b))
    return collect(terms, terms[0][1].graph)


def _product(factors: list[tuple[bool, Node]]) -> Node:
    """Numbers make the coefficient, the rest one product."""
    graph = factors[0][1].graph
    numbers = [(divided, node) for divided, node in factors if node.op is CONST]
    rest = [power(node, -1) if divided else node for divided, node in factors if node.op is not CONST]
    value = graph.one
    if not rest:
        for divided, node in numbers:
            value = divide(value, node) if divided else mul(value, node)
        return value
    product = rest[0] if len(rest) == 1 else mul(*rest) if len(rest) == 2 else multiply_all(rest, graph)
    coefficient: Number = 1
    for divided, node in numbers:
        if divided and node.data == 0:
            return divide(product, node)  # which says what is wrong
        coefficient = times(coefficient, reciprocal_of(node.data) if divided else node.data)
    return scale(coefficient, product)


def _check_power(base: Node, exponent: Node) -> None:
    """9**9**9 is short to write and long to compute."""
    if base.op is CONST and exponent.op is CONST and exponent.data.__class__ is int:
        if base.data.__class__ in (int, Fraction):
            bits = max(base.data.numerator.bit_length(), base.data.denominator.bit_length())
            if bits > 1 and bits * abs(exponent.data) > LARGEST_POWER:
                raise ExpressionError("this power of numbers is too large to be written out. Use a float, such as 9.0.")


def _piecewise(parts: list[Any]) -> Node:
    """piecewise(x, [breakpoints], [c0 of each piece], [c1 ...], ...)."""
    if len(parts) < 3 or parts[0].__class__ is not Node or any(p.__class__ is not tuple for p in parts[1:]):
        raise ExpressionError("piecewise takes an expression, a list of breakpoints and lists of coefficients.")
    x, *c = parts[1:]
    if len(x) < 2 or any(b <= a for a, b in pairwise(x)) or any(len(row) != len(x) - 1 for row in c):
        raise ExpressionError(
            f"piecewise was given {len(x)} breakpoints and rows of {', '.join(str(len(r)) for r in c)} coefficients; "
            "expected increasing breakpoints and one coefficient a piece in each row."
        )
    return piecewise(parts[0], Piecewise(x, tuple(c)))
