"""Expressions of a Mechanism as numbers and Jets, by an evaluator of their own."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from symbody.basics.errors import ModelError
from symbody.reference.jets import Array, Jet, compose, constant, where
from symbody.symbolic.expr.external import External, Piecewise
from symbody.symbolic.expr.function_row import FUNCTIONS
from symbody.symbolic.expr.graph import Graph
from symbody.symbolic.expr.node import ADD, ALIAS, CONST, EXTERN, MUL, POW, RESULT, SCALE, SYMBOL, TABLE, Node

# name -> value, first and second derivative at x
CURVES: dict[str, Callable[[Array], tuple[Any, Any, Any]]] = {
    "exp": lambda x: (np.exp(x),) * 3,
    "log": lambda x: (np.log(x), 1 / x, -1 / x**2),
    "sin": lambda x: (np.sin(x), np.cos(x), -np.sin(x)),
    "cos": lambda x: (np.cos(x), -np.sin(x), -np.cos(x)),
    "tan": lambda x: (np.tan(x), 1 / np.cos(x) ** 2, 2 * np.tan(x) / np.cos(x) ** 2),
    "asin": lambda x: (np.arcsin(x), (1 - x * x) ** -0.5, x * (1 - x * x) ** -1.5),
    "acos": lambda x: (np.arccos(x), -((1 - x * x) ** -0.5), -x * (1 - x * x) ** -1.5),
    "atan": lambda x: (np.arctan(x), 1 / (1 + x * x), -2 * x / (1 + x * x) ** 2),
    "sinh": lambda x: (np.sinh(x), np.cosh(x), np.sinh(x)),
    "cosh": lambda x: (np.cosh(x), np.sinh(x), np.cosh(x)),
    "tanh": lambda x: (np.tanh(x), 1 / np.cosh(x) ** 2, -2 * np.tanh(x) / np.cosh(x) ** 2),
    "asinh": lambda x: (np.arcsinh(x), (1 + x * x) ** -0.5, -x * (1 + x * x) ** -1.5),
    "acosh": lambda x: (np.arccosh(x), (x * x - 1) ** -0.5, -x * (x * x - 1) ** -1.5),
    "atanh": lambda x: (np.arctanh(x), 1 / (1 - x * x), 2 * x / (1 - x * x) ** 2),
    "abs": lambda x: (np.abs(x), np.sign(x), 0 * x),
    "sign": lambda x: (np.sign(x), 0 * x, 0 * x),
    "floor": lambda x: (np.floor(x), 0 * x, 0 * x),
    "ceil": lambda x: (np.ceil(x), 0 * x, 0 * x),
    "not": lambda x: (np.where(x == 0, 1.0, 0.0), 0 * x, 0 * x),
}
TRUTHS: dict[str, Callable[[Array, Array], Array]] = {
    "lt": np.less, "le": np.less_equal, "eq": np.equal, "ne": np.not_equal,
    "and": lambda a, b: (a != 0) & (b != 0), "or": lambda a, b: (a != 0) | (b != 0),
}  # fmt: skip


class ParameterNumbers:
    """Numbers for the parameters of a Mechanism, by name: those given, else the defaults."""

    def __init__(self, given: Mapping[str, float]) -> None:
        self.given = dict(given)

    def __call__(self, value: Any) -> Any:
        """A node, a number, or an array or list of them, as floats."""
        if isinstance(value, (np.ndarray, list, tuple)):
            return np.array([self(v) for v in value], dtype=float)
        if not isinstance(value, Node):
            return float(value)
        return float(self.jet(value, {}).x)

    def jet(self, node: Node, symbols: Mapping[str, Jet]) -> Jet:
        """An expression of parameters and of the named symbols, along their curves."""
        like = next(iter(symbols.values()), Jet(0.0, 0.0, 0.0))
        memo: dict[Node, Any] = {}
        stack = [node]
        with np.errstate(all="ignore"):
            while stack:
                top = stack[-1]
                waiting = [a for a in top.args if a not in memo]
                if top in memo or not waiting:
                    stack.pop()
                    if top not in memo:
                        memo[top] = self._value(top, [memo[a] for a in top.args], symbols, like)
                else:
                    stack += waiting
        found: Jet = memo[node]
        return found

    def _value(self, node: Node, args: list[Any], symbols: Mapping[str, Jet], like: Jet) -> Any:
        op = node.op
        if op is CONST:
            return constant(float(node.data), like)
        if op is SYMBOL:
            name = node.data.name
            if name in symbols:
                return symbols[name]
            number = self.given.get(name, node.data.default)
            if number is None:
                raise ModelError(f"parameter {name!r} has no value; expected one by name, or a default.")
            return constant(float(number), like)
        if op is ADD or op is MUL:
            total = args[0]
            for a in args[1:]:
                total = total + a if op is ADD else total * a
            return total
        if op is SCALE:
            return args[0] * float(node.data)
        if op is POW:
            return power(args[0], float(node.data))
        if op is ALIAS:
            return args[0]
        if op is TABLE:
            return piecewise(node.data, args[0])
        if op is EXTERN:
            return external(node.data, args, like)
        if op is RESULT:
            return args[0][node.data]
        return function(op, args, like)


def function(name: str, args: list[Jet], like: Jet) -> Jet:
    """A function of the model language by name."""
    if name in CURVES:
        return compose(args[0], *CURVES[name](args[0].x))
    if name in TRUTHS:
        return constant(np.where(TRUTHS[name](args[0].x, args[1].x), 1.0, 0.0), like)
    if name == "select":
        return where(args[0].x != 0, args[1], args[2], like)
    row = FUNCTIONS.get(name)
    if row is not None and row.curve is not None:
        return compose(args[0], *row.curve(args[0].x))
    if len(args) != 2:
        raise ModelError(f"the reference does not know the function {name!r}. Give its row curve=...")
    a, b = args
    if name in ("min", "max"):
        first = a.x <= b.x if name == "min" else a.x >= b.x
        return where(first, a, b, like)
    if name == "quotient":
        return a / b
    if name == "hypot":
        return power(a * a + b * b, 0.5)
    if name == "atan2":
        # d atan2(a, b) = (b da - a db) / (a^2 + b^2)
        size = a * a + b * b
        first = (b.x * a.x1 - a.x * b.x1) / size.x
        second = None
        if a.x2 is not None and b.x2 is not None and size.x2 is not None:
            second = (b.x * a.x2 - a.x * b.x2) / size.x - first * size.x1 / size.x
        return Jet(np.arctan2(a.x, b.x), first, second)
    if name == "pow":
        return compose(compose(a, *CURVES["log"](a.x)) * b, *CURVES["exp"](np.log(a.x) * b.x))
    if name == "mod":
        return a - b * np.floor(a.x / b.x)
    raise ModelError(f"the reference does not know the function {name!r}.")


def power(a: Jet, n: float) -> Jet:
    """a^n for a constant exponent."""
    x = a.x
    if n == int(n) and n >= 0:
        n = int(n)
        return compose(a, x**n, n * x ** max(n - 1, 0), n * (n - 1) * x ** max(n - 2, 0))
    return compose(a, np.power(x, n), n * np.power(x, n - 1), n * (n - 1) * np.power(x, n - 2))


def piecewise(polynomial: Piecewise, a: Jet) -> Jet:
    """A piecewise polynomial; the end pieces extend outward."""
    x, c = np.asarray(polynomial.x), np.asarray(polynomial.c)
    piece = np.clip(np.searchsorted(x, a.x, side="right") - 1, 0, len(x) - 2)
    d = a.x - x[piece]
    terms = [[c[k][piece] for k in range(len(c))]]
    for _ in range(2):
        terms.append([k * t for k, t in enumerate(terms[-1])][1:])
    value, slope, bend = (sum((t * d**k for k, t in enumerate(row)), 0 * d) for row in terms)
    return compose(a, value, slope, bend)


def external(record: External, args: list[Jet], like: Jet) -> list[Jet]:
    """Results of a function from outside, from its values and slopes by each argument.

    Slopes are those that the author gives where differences confirm them. Others are differences, whose own rates are
    not known.
    """
    shape = np.broadcast_shapes(*(np.shape(a.x) for a in args))
    at = [np.broadcast_to(a.x, shape) for a in args]
    here, found = _values(record, at), _differences(record, at)
    slopes = _given_slopes(record, args)
    if slopes is not None:
        told = np.array([[np.broadcast_to(s.x, shape) for s in row] for row in slopes]).reshape(found.shape)
        small = 1e-5 * (np.abs(told) + np.abs(found)) + 1e-8 * (1 + np.abs(here[:, None]))
        if not np.all(np.abs(told - found) <= small):
            slopes = None
    if slopes is None:
        unknown = None if like.x2 is None else np.nan
        slopes = [[Jet(s, np.full_like(s, np.nan), unknown) for s in row] for row in found]
    out = []
    for value, row in zip(here, slopes, strict=True):
        first = sum((s.x * a.x1 for s, a in zip(row, args, strict=True)), 0 * like.x1)
        second = None
        if like.x2 is not None:
            second = sum((s.x1 * a.x1 + s.x * a.x2 for s, a in zip(row, args, strict=True)), 0 * like.x2)
        out.append(Jet(value, first, second))
    return out


def _values(record: External, at: list[Array]) -> Array:
    """(results, ...) at arguments of one shape."""
    call, shape = caller(record), np.shape(at[0]) if at else ()
    out = np.empty((record.results, *shape))
    for i in np.ndindex(*shape):
        out[(slice(None), *i)] = call([float(a[i]) for a in at])
    return out


def _differences(record: External, at: list[Array]) -> Array:
    """(results, arguments, ...) slopes by central differences."""
    out = np.empty((record.results, len(at), *(np.shape(at[0]) if at else ())))
    for k, a in enumerate(at):
        step = 1e-6 * (1 + np.abs(a))
        ends = [_values(record, [*at[:k], a + sign * step, *at[k + 1 :]]) for sign in (1, -1)]
        out[:, k] = (ends[0] - ends[1]) / (2 * step)
    return out


def _given_slopes(record: External, args: list[Jet]) -> list[list[Jet]] | None:
    """The author's slopes, one row a result, along the curves of the arguments."""
    if record.derivative is None:
        return None
    graph = Graph()
    symbols = [graph.symbol(f"x{k}", "input") for k in range(len(args))]
    curves = {s.data.name: Jet(a.x, a.x1) for s, a in zip(symbols, args, strict=True)}
    number = ParameterNumbers({})
    rows = record.derivative(*symbols)
    return [
        [number.jet(x, curves) if isinstance(x, Node) else constant(float(x), args[0]) for x in row] for row in rows
    ]


def caller(record: External) -> Callable[[list[float]], list[float]]:
    """Numbers to numbers, by the Python function or by the C function at its address."""
    if record.function is not None:
        made = record.function

        def by_python(args: list[float]) -> list[float]:
            out = made(*args)
            return [float(x) for x in out] if isinstance(out, (list, tuple, np.ndarray)) else [float(out)]

        return by_python
    if record.address is None:
        raise ModelError(f"external function {record.name!r} has neither a Python function nor an address to call.")
    kind = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_double), ctypes.POINTER(ctypes.c_double))
    native = kind(record.address)

    def by_address(args: list[float]) -> list[float]:
        given, out = (ctypes.c_double * len(args))(*args), (ctypes.c_double * record.results)()
        native(given, out)
        return list(out)

    return by_address
