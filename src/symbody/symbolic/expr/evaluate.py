"""Evaluation of nodes over floats, arrays, complex numbers, exact Fractions, and nodes of another Graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from symbody.basics.errors import ExpressionError, NameLookupError, ShapeError, SolveError, is_finite, nearest
from symbody.symbolic.expr.call import as_nodes
from symbody.symbolic.expr.coefficients import as_float, factors, halves, well_held
from symbody.symbolic.expr.external import call_external
from symbody.symbolic.expr.function_row import FUNCTIONS, Function, row_of
from symbody.symbolic.expr.functions import evaluate_piecewise
from symbody.symbolic.expr.graph import Graph
from symbody.symbolic.expr.node import (
    ADD,
    ALIAS,
    AT,
    CONST,
    EXTERN,
    MUL,
    POW,
    REACH,
    RESULT,
    SCALE,
    SOLVE,
    SYMBOL,
    TABLE,
    BlockCheck,
    Node,
)
from symbody.symbolic.expr.walk import (
    Rebuilt,
    at,
    free_symbols,
    quiet_collector,
    rebuild,
    rename_unknowns,
    renewed,
    topological,
)


def evaluate(nodes: Any, values: Mapping[Any, Any], exact: bool = False) -> Any:
    """Values of a node or of a list of nodes.

    values: symbol (or its name) -> float, complex, array, or, with `exact`, int or Fraction. Arrays broadcast.
    Implicit blocks are iterated as in a Kernel, for one state; a block that does not converge raises SolveError.
    """
    single = isinstance(nodes, Node)
    roots: list[Node] = [nodes] if single else list(nodes)
    given = values if exact else {k: _real(v) for k, v in values.items()}
    by_name = {k: v for k, v in given.items() if isinstance(k, str)}
    memo: dict[Node, Any] = {k: v for k, v in given.items() if isinstance(k, Node)}

    def symbol(node: Node) -> Any:
        if node.data.name in by_name:
            return by_name[node.data.name]
        known = [*by_name, *(k.data.name for k in values if isinstance(k, Node) and k.op is SYMBOL)]
        raise NameLookupError(f"no value was given for symbol {node.data.name!r}. {nearest(node.data.name, known)}")

    with np.errstate(all="ignore"):
        _evaluate_into(roots, memo, symbol, _exact if exact else _numeric)
    out = [memo[r] for r in roots]
    missing = next((v for v in out if v.__class__ is _NoValue), None)
    if missing is not None:
        raise ExpressionError(missing.reason)
    return out[0] if single else out


class Evaluation:
    """Nodes as one Python function, for many evaluations over floats and arrays: the bits of `evaluate`, in less time.

    symbols   those that occur, in the order of the values that `function` takes; inputs: their names and defaults
    """

    def __init__(self, nodes: Iterable[Node]) -> None:
        self.roots = list(nodes)
        order = topological(self.roots)
        # bodies of implicit blocks are evaluated where their unknowns are known, not in this order
        self.plain = not any(n.op is SOLVE for n in order)
        self.symbols = [n for n in order if n.op is SYMBOL] if self.plain else free_symbols(self.roots)
        self.inputs = [(s.data.name, s.data.default) for s in self.symbols]
        self.function: Callable[[Sequence[Any]], list[Any]] = self._solved
        if self.plain:
            self.function = _compiled(order, self.roots)

    def __call__(self, values: Mapping[Node, Any]) -> list[Any]:
        """Values of the nodes; values: of all symbols by node, floats or arrays that broadcast."""
        if any(node not in values for node in self.symbols):
            return list(evaluate(self.roots, values))  # which also says what is missing
        with np.errstate(all="ignore"):
            return self.function([_real(values[node]) for node in self.symbols])

    def __reduce__(self) -> tuple[type[Evaluation], tuple[list[Node]]]:
        return Evaluation, (self.roots,)

    def _solved(self, values: Sequence[Any]) -> list[Any]:
        return list(evaluate(self.roots, dict(zip(self.symbols, values, strict=True))))


def _compiled(order: Sequence[Node], roots: Sequence[Node]) -> Callable[[Sequence[Any]], list[Any]]:
    """One line a node, over numbers of lines alone: no text of a model becomes code."""
    place = {n: i for i, n in enumerate(order)}
    known: dict[str, Any] = {"sqrt": np.sqrt, "divide": np.divide, "power": np.power}
    lines = ["def values(x):"]
    symbols = [f"v{i}" for i, n in enumerate(order) if n.op is SYMBOL]
    if symbols:
        lines.append(f" {', '.join(symbols)}, = x")
    for i, node in enumerate(order):
        args = [f"v{place[a]}" for a in node.args]
        if node.op is SYMBOL:
            continue
        if node.op is CONST:
            known[f"v{i}"] = as_float(node.data)  # a global of the function
            continue
        if node.op is ADD and not all(a.op is not CONST or well_held(a.data) for a in node.args):
            known[f"f{i}"] = partial(_numeric, node)
            text = f"f{i}([{', '.join(args)}])"
        elif node.op is ADD or node.op is MUL:
            text = (" + " if node.op is ADD else " * ").join(args)
        elif node.op is SCALE:
            known.update((f"c{i}_{k}", c) for k, c in enumerate(factors(node.data)))
            text = " * ".join([*(f"c{i}_{k}" for k in range(len(factors(node.data)))), args[0]][::-1])
        elif node.op is POW:
            text = _power_text(args[0], node.data)
        elif node.op is ALIAS:
            text = args[0]
        elif node.op in (TABLE, EXTERN, RESULT):
            known[f"f{i}"] = partial(_numeric, node)
            text = f"f{i}([{', '.join(args)}])"
        else:
            known[f"f_{node.op}"] = np.abs if node.op == "abs" else row_of(node.op).arrays  # of real numbers
            text = f"f_{node.op}({', '.join(args)})"
        lines.append(f" v{i} = {text}")
    lines.append(f" return [{', '.join(f'v{place[r]}' for r in roots)}]")
    exec(compile("\n".join(lines), "<evaluation>", "exec"), known)
    found: Callable[[Sequence[Any]], list[Any]] = known["values"]
    return found


def _power_text(x: str, exponent: Any) -> str:
    """As `_float_power`."""
    if exponent.__class__ is int:
        return f"divide(1.0, {x}**{-exponent})" if exponent < 0 else f"{x}**{exponent}"
    if exponent == Fraction(1, 2):
        return f"sqrt({x})"
    if exponent == Fraction(-1, 2):
        return f"divide(1.0, sqrt({x}))"
    return f"power({x}, {float(exponent)!r})"


def _real(value: Any) -> Any:
    """Numbers as doubles, as Kernels take them: NumPy computes in the type that it is given, be it of 16 bits.

    Integers would wrap around silently. Lists as arrays: + would join them.
    """
    if isinstance(value, (int, np.integer)):
        if not is_finite(value):
            raise ExpressionError("evaluate was given a whole number beyond all doubles; give exact=True for such.")
        return float(value)
    if isinstance(value, (list, tuple)):
        value = _array(value)
    if isinstance(value, np.ndarray) and value.dtype.kind in "iubfc":
        return value.astype(complex if value.dtype.kind == "c" else float, copy=False)
    if isinstance(value, (np.floating, np.complexfloating)) and not isinstance(value, (float, complex)):
        return complex(value) if isinstance(value, np.complexfloating) else float(value)
    return value


def _array(values: Sequence[Any]) -> np.ndarray:
    try:
        return np.array(values)
    except ValueError:
        raise ShapeError("evaluate was given rows of different lengths; expected numbers or arrays of them.") from None


def _evaluate_into(
    roots: Iterable[Node], memo: dict[Node, Any], symbol: Callable[[Node], Any], operate: Callable[..., Any]
) -> None:
    """Fill memo for all roots. Bodies of implicit blocks are evaluated in a memo of their own."""
    stack = list(roots)
    stack.reverse()
    while stack:
        node = stack[-1]
        if node in memo:
            stack.pop()
            continue
        children = node.args
        if node.op is AT:
            children = node.args[:1]
        elif node.op is SOLVE:
            n = len(node.data.unknowns)
            children = node.args[n : 2 * n]
        waiting = [c for c in children if c not in memo]
        if waiting:
            stack.extend(reversed(waiting))
            continue
        stack.pop()
        if node.op is SYMBOL:
            memo[node] = symbol(node)
        elif node.op is SOLVE:
            memo[node] = _newton(node, [memo[c] for c in children], memo, symbol, operate)
        elif node.op is AT:
            inner = memo[node.args[0]]
            _evaluate_into([node.args[1]], inner, symbol, operate)
            memo[node] = inner[node.args[1]]
        else:
            memo[node] = operate(node, [memo[c] for c in children])


def holds(check: BlockCheck, value: Any, limit: Any) -> Any:
    """Whether a check holds, of one number or of each of an array."""
    return np.abs(value) <= limit if check.kind == "below" else np.abs(value) > limit


def _newton(
    node: Node, guess: list[Any], memo: dict[Node, Any], symbol: Callable[[Node], Any], operate: Callable[..., Any]
) -> dict[Node, Any]:
    """Values of unknowns and body at the solution, found as `SolveBlock` says."""
    info, n = node.data, len(node.data.unknowns)
    if operate is _exact and n:
        raise ExpressionError(f"implicit block {info.name!r} has no exact value; evaluate it over floats.")
    steps, watched = node.args[2 * n : 3 * n], node.args[3 * n :]
    x = list(guess)
    far = [np.minimum(REACH * (1 + np.abs(g)), info.span) for g in guess]
    size = np.inf
    for _ in range(info.max_iterations):
        inner = {**memo, **dict(zip(info.unknowns, x, strict=True))}
        _evaluate_into(steps, inner, symbol, operate)
        delta = [inner[s] for s in steps]
        limits = [1 + np.minimum(np.abs(v), f) for v, f in zip(x, far, strict=True)]
        size = max((float(np.max(np.abs(d) / m)) for d, m in zip(delta, limits, strict=True)), default=0.0)
        if not np.isfinite(size):
            break
        if size <= info.tolerance:
            _evaluate_into(watched, inner, symbol, operate)
            for check, value, limit in zip(info.checks, watched[::2], watched[1::2], strict=True):
                if inner[value].__class__ is _NoValue or inner[limit].__class__ is _NoValue:
                    return inner  # as the values behind the check
                if not np.all(holds(check, inner[value], inner[limit])):
                    raise SolveError(f"implicit block {info.name!r}: {check.words}. {info.remedy}".rstrip())
            return inner
        x = [v + d for v, d in zip(x, delta, strict=True)]
    raise SolveError(
        f"implicit block {info.name!r} did not converge in {info.max_iterations} iterations (last step {size:.3g}). "
        f"{info.remedy or 'Give a better guess or check that a solution exists.'}"
    )


def _numeric(node: Node, args: list[Any]) -> Any:
    op = node.op
    if op is CONST:
        return as_float(node.data)
    if op is ADD:
        numbers = [n.data for n in node.args if n.op is CONST]
        if numbers and not well_held(numbers[0]):
            args = [a for n, a in zip(node.args, args) if n.op is not CONST] + list(halves(numbers[0]))
        total = args[0]
        for a in args[1:]:
            total = total + a
        return total
    if op is MUL:
        total = args[0]
        for a in args[1:]:
            total = total * a
        return total
    if op is SCALE:
        value = args[0]
        for c in factors(node.data):
            value = c * value
        return value
    if op is POW:
        return _float_power(args[0], node.data)
    if op is ALIAS:
        return args[0]
    if op is TABLE:
        return np.vectorize(lambda x: evaluate_piecewise(node.data, x), otypes=[float])(args[0])
    if op is EXTERN:
        return call_external(node.data, args)
    if op is RESULT:
        return args[0][node.data]
    return row_of(op).arrays(*args)


def _float_power(x: Any, exponent: Any) -> Any:
    if exponent.__class__ is int:
        return np.divide(1.0, x**-exponent) if exponent < 0 else x**exponent
    if exponent == Fraction(1, 2):
        return np.sqrt(x)
    if exponent == Fraction(-1, 2):
        return np.divide(1.0, np.sqrt(x))
    return np.power(x, float(exponent))


@dataclass(frozen=True)
class _NoValue:
    """In place of an exact value where there is none: the branch of a select that is not taken needs none."""

    reason: str


def _exact(node: Node, args: list[Any]) -> Any:
    if node.op == "select" and args[0].__class__ is not _NoValue:
        chosen = args[1] if args[0] else args[2]
        return chosen if chosen.__class__ is _NoValue else Fraction(chosen)
    missing = next((a for a in args if a.__class__ is _NoValue), None)
    if missing is not None:
        return missing
    try:
        return _exact_value(node, args)
    except ExpressionError as error:
        return _NoValue(str(error))


def _exact_value(node: Node, args: list[Any]) -> Any:
    op = node.op
    if op is CONST:
        return Fraction(node.data)
    if op is SCALE:
        return Fraction(node.data) * args[0]
    if op is ADD:
        return sum(args)
    if op is POW and node.data.__class__ is int:
        if args[0] == 0 and node.data < 0:
            raise ExpressionError(f"0 is raised to {node.data}: exact numbers have no infinity; use float inputs.")
        return Fraction(args[0]) ** node.data
    if op is MUL:
        total = Fraction(1)
        for a in args:
            total *= a
        return total
    if op is ALIAS:
        return args[0]
    row = FUNCTIONS.get(op)
    if row is not None and row.rational:
        return exact_value(row, args)
    raise ExpressionError(f"{op} has no exact rational value; evaluate over floats instead.")


def exact_value(row: Function, args: Sequence[Any]) -> Fraction:
    """A rational function of exact numbers."""
    assert row.fold is not None
    try:
        return Fraction(row.fold(*args))
    except ZeroDivisionError:
        shown = ", ".join(map(str, args))
        raise ExpressionError(
            f"{row.name}({shown}) divides by zero: exact numbers have no infinity; use float inputs."
        ) from None


def transplant(roots: Iterable[Node], given: Mapping[Node, Any], target: Graph) -> list[Node]:
    """Copies of expressions in the Graph `target`, their symbols replaced by nodes of it or numbers, all at once."""
    roots = list(roots)
    new: dict[Node, Node] = {}
    renamed: dict[Node, dict[Node, Node]] = {}
    inside: dict[Node, Rebuilt] = {}  # block -> what was renamed in the values that are read at its solution
    with quiet_collector():
        for node in topological(roots):
            if node in given:
                value = given[node]
                new[node] = value if isinstance(value, Node) else as_nodes([target.zero, value])[1]
                if new[node].graph is not target:
                    raise ExpressionError(f"{value} belongs to {value.graph}, expected {target}.")
            elif node.op is CONST:
                new[node] = target.number(node.data)
            elif node.op is SYMBOL:
                new[node] = target.intern(SYMBOL, (), node.data, node.flags)
            elif node.op is SOLVE:
                unknowns = tuple(target.intern(SYMBOL, (), u.data, u.flags) for u in node.data.unknowns)
                args = tuple(new[a] for a in node.args)
                new[node], renamed[node] = renewed(args, replace(node.data, unknowns=unknowns))
            elif node.op is AT:
                solve, body = node.args
                renewed_body = rename_unknowns([new[body]], renamed[solve], inside.setdefault(solve, Rebuilt()))[0]
                new[node] = at(new[solve], renewed_body)
            else:
                new[node] = rebuild(node, tuple(new[a] for a in node.args))
    return [new[r] for r in roots]
