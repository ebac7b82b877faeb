"""The operators of Node, its display, and the methods by which NumPy applies functions to arrays of nodes.

They need the constructors, and the constructors need Node: so they are attached to it here, when `expr` is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from symbody.basics.errors import ExpressionError
from symbody.symbolic.expr.arithmetic import add, divide, mul, raise_to
from symbody.symbolic.expr.call import as_condition, call
from symbody.symbolic.expr.coefficients import coerce, negate, scale
from symbody.symbolic.expr.node import Node

# -- arithmetic: numbers become constants, arrays are left to NumPy


def _add(self: Node, other: Any) -> Node:
    if other.__class__ is not Node:
        other = coerce(self.graph, other)
        if other is None:
            return NotImplemented
    return add(self, other)


def _sub(self: Node, other: Any) -> Node:
    if other.__class__ is not Node:
        other = coerce(self.graph, other)
        if other is None:
            return NotImplemented
    return add(self, negate(other))


def _rsub(self: Node, other: Any) -> Node:
    other = coerce(self.graph, other)
    if other is None:
        return NotImplemented
    return add(other, negate(self))


def _mul(self: Node, other: Any) -> Node:
    kind = other.__class__
    if kind is not Node:
        if kind is int or (kind is float and not self.graph.exact):
            return scale(other, self)
        other = coerce(self.graph, other)
        if other is None:
            return NotImplemented
    return mul(self, other)


def _truediv(self: Node, other: Any) -> Node:
    if other.__class__ is not Node:
        other = coerce(self.graph, other)
        if other is None:
            return NotImplemented
    return divide(self, other)


def _rtruediv(self: Node, other: Any) -> Node:
    other = coerce(self.graph, other)
    if other is None:
        return NotImplemented
    return divide(other, self)


def _pow(self: Node, other: Any) -> Node:
    if other.__class__ is not Node:
        other = coerce(self.graph, other)
        if other is None:
            return NotImplemented
    return raise_to(self, other)


def _rpow(self: Node, other: Any) -> Node:
    other = coerce(self.graph, other)
    if other is None:
        return NotImplemented
    return raise_to(other, self)


def _pos(self: Node) -> Node:
    return self


# -- functions by name


def _of_one(name: str) -> Callable[[Node], Node]:
    def method(self: Node) -> Node:
        return call(name, self)

    return method


def _of_two(name: str) -> Callable[[Node, Any], Node]:
    def method(self: Node, other: Any) -> Node:
        return call(name, self, other)

    return method


def _of_two_reversed(name: str) -> Callable[[Node, Any], Node]:
    def method(self: Node, other: Any) -> Node:
        return call(name, other, self)

    return method


def _logic(name: str) -> Callable[[Node, Any], Node]:
    def method(self: Node, other: Any) -> Node:
        return call(name, self, as_condition("&" if name == "and" else "|", other))

    return method


# -- display


def _repr(self: Node) -> str:
    from symbody.symbolic.expr.infix_text import to_text

    return to_text(self, limit=400)


def _repr_latex(self: Node) -> str:
    from symbody.symbolic.expr.latex_form import to_latex

    return f"${to_latex(self)}$"


def _diff(self: Node, *variables: Node) -> Node:
    """The derivative by a symbol, then by the next one if more are given: f.diff(x, x) is the second by x."""
    from symbody.symbolic.expr.derivative import gradient

    for x in variables:
        if x.__class__ is not Node:
            raise ExpressionError(f"diff was given {x!r}; expected symbols.")
        (self,) = gradient(self, [x])
    return self


def _subs(self: Node, replacement: Any, value: Any = None) -> Node:
    """Nodes replaced by nodes or numbers, all at once: f.subs({x: 1.0, y: x}), or f.subs(x, 1.0) for one."""
    from symbody.symbolic.expr.walk import substitute

    table = replacement if isinstance(replacement, Mapping) else {replacement: value}
    for old, new in table.items():
        if old.__class__ is not Node or new is None:
            raise ExpressionError(f"subs was given {old!r}: {new!r}; expected a symbol and what replaces it.")
    return substitute([self], table)[0]


for _name, _operator in {
    "__add__": _add,
    "__radd__": _add,
    "__sub__": _sub,
    "__rsub__": _rsub,
    "__mul__": _mul,
    "__rmul__": _mul,
    "__truediv__": _truediv,
    "__rtruediv__": _rtruediv,
    "__pow__": _pow,
    "__rpow__": _rpow,
    "__mod__": _of_two("mod"),
    "__neg__": negate,
    "__pos__": _pos,
    "__abs__": _of_one("abs"),
    # comparisons make nodes; == stays identity, so that nodes are keys of dictionaries
    "__lt__": _of_two("lt"),
    "__le__": _of_two("le"),
    "__gt__": _of_two_reversed("lt"),
    "__ge__": _of_two_reversed("le"),
    "__and__": _logic("and"),
    "__rand__": _logic("and"),
    "__or__": _logic("or"),
    "__ror__": _logic("or"),
    "__invert__": _of_one("not"),
    # NumPy calls these on arrays of nodes: np.sin(array)
    **{name: _of_one(name) for name in ("sin", "cos", "tan", "sqrt", "exp", "log")},
    "arctan2": _of_two("atan2"),
    "__repr__": _repr,
    "_repr_latex_": _repr_latex,
    "diff": _diff,
    "subs": _subs,
}.items():
    setattr(Node, _name, _operator)
