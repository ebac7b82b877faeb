"""Sums, products, powers. Rules at construction look no deeper than the direct children of an operand.

They are written by hand for speed; everything deeper is a pass (`rewrite`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING

from symbody.basics.errors import ExpressionError, is_finite
from symbody.symbolic.expr.call import call
from symbody.symbolic.expr.coefficients import (
    LONGEST_EXACT,
    as_float,
    exact_bits,
    mixed_graphs,
    negate,
    plain,
    plus,
    reciprocal_of,
    scale,
    times,
    well_held,
)
from symbody.symbolic.expr.node import ADD, CONST, MUL, POW, SCALE, Node, Number

if TYPE_CHECKING:
    from symbody.symbolic.expr.graph import Graph

LONGEST_POWER = 1 << 17  # bits of a power that is written out before it is rounded
LARGEST_WHOLE = 2.0**53  # above, every float is a whole number, and even
LONGEST_EXPONENT = 53  # bits of an exact exponent: a double holds it, and each bit is a multiplication
LARGEST_POWER = 64  # exponent up to which a coefficient is taken out of a power,
LARGEST_OUTSIDE = 1 << 64  # and how large, or small, its own power may be


def add(a: Node, b: Node) -> Node:
    """a + b."""
    graph = a.graph
    if b.graph is not graph:
        mixed_graphs(a, b)
    op_a, op_b = a.op, b.op
    if op_a is CONST:
        if op_b is CONST:
            return graph.number(plus(a.data, b.data))
        if a.data == 0:
            return b
    elif op_b is CONST and b.data == 0:
        return a
    ca: Number = 1
    cb: Number = 1
    xa, xb = a, b
    if op_a is SCALE:
        ca, xa = a.data, a.args[0]
        op_a = xa.op
    if op_b is SCALE:
        cb, xb = b.data, b.args[0]
        op_b = xb.op
    if xa is xb:
        return scale(plus(ca, cb), xa)
    if (op_a is ADD or op_b is ADD) and _share_a_term(xa, xb):
        return collect([(ca, xa), (cb, xb)], graph, open_sums=True)
    if op_a is MUL or op_a is POW:
        if op_b is MUL or op_b is POW:
            found = _trigonometric_sum(ca, xa, cb, xb)
            if found is not None:
                return found
    if op_a is CONST or op_b is CONST or (ca != 1 and ca != -1 and (ca == cb or ca == -cb)):
        return collect([(ca, xa), (cb, xb)], graph)
    # terms stand in the order of their bases, and the first coefficient is positive
    key = (a, b)
    if xa.id > xb.id:
        key = (b, a)
        ca = cb
    if ca < 0:
        return negate(sum_node(graph, (negate(key[0]), negate(key[1])), xa.flags | xb.flags))
    node = graph.adds.get(key)
    if node is None:
        node = graph.adds[key] = Node(graph, ADD, key, None, xa.flags | xb.flags)
    return node


def sum_node(graph: Graph, key: tuple[Node, ...], flags: int) -> Node:
    node = graph.adds.get(key)
    if node is None:
        node = graph.adds[key] = Node(graph, ADD, key, None, flags)
    return node


def _share_a_term(a: Node, b: Node) -> bool:
    """Whether the terms of a and b (themselves, if they are no sums) have a base in common."""
    if a.op is ADD:
        bases = [t.args[0] if t.op is SCALE else t for t in a.args]
        if b.op is not ADD:
            return b in bases or (b.op is CONST and any(t.op is CONST for t in bases))
        for t in b.args:
            base = t.args[0] if t.op is SCALE else t
            if base in bases or (base.op is CONST and any(u.op is CONST for u in bases)):
                return True
        return False
    return _share_a_term(b, a)


def collect(terms: Iterable[tuple[Number, Node]], graph: Graph, open_sums: bool = False) -> Node:
    """The canonical sum of coefficient * node terms: like terms merged, numbers added, common coefficient outside.

    With `open_sums` the terms of a term that is a sum are taken one by one.
    """
    merged: dict[Node, Number] = {}
    constant: Number = 0
    for coefficient, node in terms:
        if node.op is SCALE:
            coefficient, node = times(coefficient, node.data), node.args[0]
        inner: Iterable[Node] = node.args if open_sums and node.op is ADD else (node,)
        for term in inner:
            c = coefficient
            if term.op is SCALE:
                c, term = times(c, term.data), term.args[0]
            if term.op is CONST:
                constant = plus(constant, times(c, term.data))
            elif term in merged:
                merged[term] = plus(merged[term], c)
            else:
                merged[term] = c
    parts = sorted(((x, plain(c)) for x, c in merged.items() if c != 0), key=_id_of_first)
    if not parts:
        return graph.number(constant)
    if len(parts) == 1 and constant == 0:
        return scale(parts[0][1], parts[0][0])
    first = parts[0][1]
    size: Number = abs(first)  # type: ignore[assignment]
    # a common coefficient stays outside: 2a - 2b is 2(a-b); floats are compared, never divided
    if size != 1 and _common(size, parts, constant):
        outside = first
        parts = [(x, 1 if c == first else -1) for x, c in parts]
        constant = 0 if constant == 0 else (1 if constant == first else -1)
    elif first < 0:
        outside = -1
        parts = [(x, -c) for x, c in parts]
        constant = -constant
    else:
        outside = 1
    nodes = [scale(c, x) for x, c in parts]
    if constant != 0:
        number = graph.number(constant)
        nodes.append(number)
        nodes.sort(key=_id_of_base)
    flags = 0
    for node in nodes:
        flags |= node.flags
    return scale(outside, sum_node(graph, tuple(nodes), flags))


def _common(size: Number, parts: list[tuple[Node, Number]], constant: Number) -> bool:
    """Whether all coefficients have this size and taking it out pays: it is free inside a product with a parameter."""
    if any(abs(c) != size for _, c in parts) or (constant != 0 and abs(constant) != size):
        return False
    return not all(x.op is MUL and any(f.flags == 0 for f in x.args) for x, _ in parts)


def add_all(nodes: Iterable[Node], graph: Graph) -> Node:
    """The n-ary sum of nodes; sums among them stay closed."""
    return collect([(1, n) for n in nodes], graph)


def _id_of_first(part: tuple[Node, Number]) -> int:
    return part[0].id


def _id_of_base(node: Node) -> int:
    return node.args[0].id if node.op is SCALE else node.id


def _trigonometric_sum(ca: Number, a: Node, cb: Number, b: Node) -> Node | None:
    """c^2 + s^2 = 1, and the addition theorems: ca*a + cb*b for products or squares a, b of sines and cosines."""
    if ca != cb and ca != -cb:
        return None
    if a.op is POW:
        if b.op is not POW or a.data != 2 or b.data != 2:
            return None
        u, v = a.args[0], b.args[0]
        if ca == cb and u.args == v.args and {u.op, v.op} == {"sin", "cos"}:
            return a.graph.number(ca)
        return None
    if b.op is not MUL or len(a.args) != 2 or len(b.args) != 2:
        return None
    return addition_theorem(ca, a.args, cb, b.args)


def addition_theorem(ca: Number, a: tuple[Node, ...], cb: Number, b: tuple[Node, ...]) -> Node | None:
    """ca*a1*a2 + cb*b1*b2 as one sine or cosine of a sum of two angles, if it is one (|ca| = |cb|)."""
    (a1, a2), (b1, b2) = a, b
    pattern = (a1.op, a2.op, b1.op, b2.op)
    if any(op != "sin" and op != "cos" for op in pattern):
        return None
    x, y = a1.args[0], a2.args[0]
    if b1.args[0] is y and b2.args[0] is x:
        b1, b2 = b2, b1
    elif b1.args[0] is not x or b2.args[0] is not y:
        return None
    if x is y or a1.op == b1.op or a2.op == b2.op:
        return None

    if a1.op == a2.op:  # cos cos and sin sin
        c_cos = ca if a1.op == "cos" else cb
        angle = add(x, y) if ca == -cb else add(x, negate(y))
        return scale(c_cos, call("cos", angle))
    # sin x cos y and cos x sin y
    c_sin_x = ca if a1.op == "sin" else cb
    angle = add(x, y) if ca == cb else add(x, negate(y))
    return scale(c_sin_x, call("sin", angle))


def mul(a: Node, b: Node) -> Node:
    """a * b."""
    graph = a.graph
    if b.graph is not graph:
        mixed_graphs(a, b)
    op_a, op_b = a.op, b.op
    if op_a is CONST:
        return scale(a.data, b)
    if op_b is CONST:
        return scale(b.data, a)
    coefficient: Number = 1
    if op_a is SCALE:
        coefficient, a = a.data, a.args[0]
        op_a = a.op
    if op_b is SCALE:
        coefficient, b = times(coefficient, b.data), b.args[0]
        op_b = b.op
    if a is b:
        node = power(a, 2)
    elif op_a is POW or op_b is POW:
        node = _mul_power(a, b)
    else:
        key = (a, b) if a.id < b.id else (b, a)
        node = graph.muls.get(key)  # type: ignore[assignment]
        if node is None:
            node = graph.muls[key] = Node(graph, MUL, key, None, a.flags | b.flags)
            return node if coefficient == 1 else scale(coefficient, node)
    return node if coefficient == 1 else scale(coefficient, node)


def _mul_power(a: Node, b: Node) -> Node:
    """Product where a factor is a power: x^m x^n, and (x y) / x."""
    xa, ea = (a.args[0], a.data) if a.op is POW else (a, 1)
    xb, eb = (b.args[0], b.data) if b.op is POW else (b, 1)
    if xa is xb and _may_merge(ea, eb):
        return power(xa, ea + eb)
    for x, e, other in ((xa, ea, b), (xb, eb, a)):
        if e == -1 and other.op is MUL and x in other.args:
            rest = [f for f in other.args if f is not x]
            return multiply_all(rest, other.graph)
    key = (a, b) if a.id < b.id else (b, a)
    return product_node(a.graph, key, a.flags | b.flags)


def _may_merge(ea: Number, eb: Number) -> bool:
    """x^a x^b = x^(a+b) holds where both sides exist; a half power keeps its sign condition only if it stays a root."""
    whole = ea.__class__ is int and eb.__class__ is int
    return whole or (ea.__class__ is not float and eb.__class__ is not float and ea > 0 and eb > 0) or ea == -eb


def product_node(graph: Graph, key: tuple[Node, ...], flags: int) -> Node:
    node = graph.muls.get(key)
    if node is None:
        node = graph.muls[key] = Node(graph, MUL, key, None, flags)
    return node


def multiply_all(nodes: Iterable[Node], graph: Graph, open_products: bool = False) -> Node:
    """The canonical n-ary product: coefficients outside, equal bases merged; `open_products` opens inner products."""
    coefficient: Number = 1
    merged: dict[Node, Number] = {}
    apart: list[Node] = []
    todo = list(nodes)
    todo.reverse()
    while todo:
        node = todo.pop()
        if node.op is SCALE:
            coefficient = times(coefficient, node.data)
            node = node.args[0]
        if node.op is CONST:
            coefficient = times(coefficient, node.data)
            continue
        if node.op is MUL and open_products:
            todo.extend(reversed(node.args))
            continue
        x, e = (node.args[0], node.data) if node.op is POW else (node, 1)
        if x not in merged:
            merged[x] = e
        elif _may_merge(merged[x], e):
            merged[x] = merged[x] + e
        else:
            apart.append(node)
    factors = apart
    for x, e in merged.items():
        factor = power(x, plain(e))
        if factor.op is SCALE:
            coefficient = times(coefficient, factor.data)
            factor = factor.args[0]
        if factor.op is CONST:
            coefficient = times(coefficient, factor.data)
        elif factor.op is MUL and len(merged) + len(apart) == 1:
            return scale(plain(coefficient), factor)
        else:
            factors.append(factor)
    coefficient = plain(coefficient)
    if not factors or coefficient == 0:
        return graph.number(coefficient)
    if len(factors) == 1:
        return scale(coefficient, factors[0])
    factors.sort(key=_id)
    flags = 0
    for f in factors:
        flags |= f.flags
    return scale(coefficient, product_node(graph, tuple(factors), flags))


def _id(node: Node) -> int:
    return node.id


def divide(a: Node, b: Node) -> Node:
    """a / b; the divisor is kept as the power b^-1, a number as its reciprocal."""
    graph = a.graph
    if b.graph is not graph:
        mixed_graphs(a, b)
    if b.op is CONST:
        if b.data == 0:
            raise ExpressionError(
                f"division of {a} by zero: the divisor is structurally zero. Check the expression it comes from."
            )
        if a.op is CONST and (a.data.__class__ is float or b.data.__class__ is float) and well_held(b.data):
            return graph.number(as_float(a.data) / as_float(b.data))
        return scale(reciprocal_of(b.data), a)
    return mul(a, power(b, -1))


def raise_to(base: Node, exponent: Node) -> Node:
    """base ** exponent; a constant exponent makes a power node, any other the function pow."""
    if exponent.graph is not base.graph:
        mixed_graphs(base, exponent)
    if exponent.op is CONST:
        return power(base, exponent.data)

    return call("pow", base, exponent)


def power(base: Node, exponent: Number) -> Node:
    """base ** exponent for a number; floats that are whole or half become exact, but for those that are all whole."""
    graph = base.graph
    if exponent.__class__ is float and (2 * exponent).is_integer() and abs(exponent) < LARGEST_WHOLE:
        exponent = Fraction(exponent)
    if exponent.__class__ is not int and exponent.__class__ is not float:
        exponent = Fraction(exponent)
        if exponent.denominator == 1:
            exponent = exponent.numerator
    check_exponent(exponent)
    if exponent == 1:
        return base
    if exponent == 0:
        return graph.one
    op = base.op
    if op is CONST:
        return _constant_power(base, exponent)
    if exponent.__class__ is int:
        if op is SCALE:
            if base.data == -1:
                inner = power(base.args[0], exponent)
                return inner if exponent % 2 == 0 else negate(inner)
            c = base.data
            raised = None if c.__class__ is float else taken_out(c, exponent)
            if raised is not None:
                return scale(raised, power(base.args[0], exponent))
        elif op is POW and base.data.__class__ is not float:
            return power(base.args[0], base.data * exponent)
        elif op == "abs" and exponent % 2 == 0:
            return power(base.args[0], exponent)
    elif op is POW and base.data.__class__ is int and base.data % 2 == 0 and exponent == Fraction(1, 2):
        # sqrt(x^2) is |x|

        return call("abs", power(base.args[0], base.data // 2))
    return power_node(base, exponent)


def taken_out(coefficient: Number, exponent: int) -> Fraction | None:
    """The power of a coefficient that may stand before that of x: neither leaves the range of doubles alone."""
    if not is_finite(coefficient):
        return None
    exact = Fraction(coefficient)
    if abs(exponent) > min(LARGEST_POWER, LONGEST_EXACT // exact_bits(exact)):
        return None
    raised = exact**exponent
    return raised if max(abs(raised), 1 / abs(raised)) <= LARGEST_OUTSIDE else None


def rewritten_power(base: Node, exponent: Number) -> Node:
    """As `power`, where a rewriting has made the base: infinity for a divisor that it shows to be zero.

    The value may stand in a branch that is never taken; the author is told of a zero that he divides by himself.
    """
    if exponent < 0 and base.op is CONST and base.data == 0:
        return base.graph.number(math.inf)
    return power(base, exponent)


def check_exponent(exponent: Number) -> None:
    """ExpressionError where a power would take no end of multiplications, or has no value."""
    if isinstance(exponent, float):
        if not math.isfinite(exponent):
            raise ExpressionError(f"an exponent is {exponent}; expected a finite number.")
    elif exact_bits(exponent) > LONGEST_EXPONENT:
        bits = exact_bits(exponent)
        raise ExpressionError(f"an exponent has {bits} bits; expected {LONGEST_EXPONENT} at most, or a float.")


def power_node(base: Node, exponent: Number) -> Node:
    graph = base.graph
    key = (base, exponent.__class__, exponent)
    node = graph.pows.get(key)
    if node is None:
        node = graph.pows[key] = Node(graph, POW, (base,), exponent, base.flags)
    return node


def _constant_power(base: Node, exponent: Number) -> Node:
    graph, value = base.graph, base.data
    if value == 0 and exponent < 0:
        raise ExpressionError(f"zero cannot be raised to {exponent}: the divisor is structurally zero.")
    if exponent.__class__ is int:
        if value.__class__ is not float and exact_bits(value) * abs(exponent) <= LONGEST_POWER:
            return graph.number(plain(Fraction(value) ** exponent))
        try:
            return graph.number(as_float(value) ** exponent)
        except OverflowError:
            return graph.number(-math.inf if value < 0 and exponent % 2 else math.inf)
    if value.__class__ is float:
        if value < 0:
            raise ExpressionError(f"{value} cannot be raised to {exponent}: the result is not real.")
        return graph.number(value ** float(exponent))
    if value < 0:
        raise ExpressionError(f"{value} cannot be raised to {exponent}: the result is not real.")
    if exponent.__class__ is Fraction:
        root = _exact_root(Fraction(value), exponent.denominator)
        if root is not None:
            return graph.number(plain(root**exponent.numerator))
    return power_node(base, exponent)


def _exact_root(value: Fraction, degree: int) -> Fraction | None:
    def root(n: int) -> int | None:
        guess = round(n ** (1 / degree)) if n < 1 << 52 else 0
        return guess if guess**degree == n else None

    top, bottom = root(value.numerator), root(value.denominator)
    return None if top is None or bottom is None else Fraction(top, bottom)
