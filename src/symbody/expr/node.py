"""Node: the one node type. Structurally equal means identical (`a is b`), because a Graph makes each node once.

An op is a string; most are the name of a function. The others:

    const     data = int, Fraction, float or bool
    symbol    data = Symbol
    scale     args = (x,), data = number        a coefficient: it stays outside x, so a-b and b-a share one sum
    add       args = (t1, t2, ...)              two terms or more, ordered by id; the first coefficient is positive
    mul       args = (f1, f2, ...)              two factors or more, ordered by id, never const or scale, no base twice
    power     args = (x,), data = int | Fraction | float       constant exponent, never 0 or 1
    table     args = (x,), data = Piecewise
    extern    args = inputs, data = External    not a number: read it with result
    result    args = (extern,), data = index
    alias     args = (definition,), data = Alias    a named stage: same value, opaque to rewriting
    solve     args = residual + guess + step + checks, data = SolveInfo     not a number: read it with at
    at        args = (solve, body)              value of a body expression where the block has converged
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NoReturn

from symbody.errors import ExpressionError

if TYPE_CHECKING:
    from symbody.expr.graph import Graph

Number = int | float | Fraction
Pivots = tuple[tuple[int, int], ...]

CONST, SYMBOL, SCALE, ADD, MUL, POW = "const", "symbol", "scale", "add", "mul", "power"
TABLE, EXTERN, RESULT, ALIAS, SOLVE, AT = "table", "extern", "result", "alias", "solve", "at"

# Rates are bits, so that the rate of a node is the union of its operands' rates.
SETUP, STEP, CALL = 0, 1, 3
BOUND = 4  # depends on an unknown of an implicit block

ROLES = {
    "parameter": SETUP,
    "time": STEP,
    "coordinate": STEP,
    "velocity": STEP,
    "state": STEP,
    "acceleration": CALL,
    "input": CALL,
    "unknown": STEP | BOUND,
}


@dataclass(frozen=True, slots=True)
class Symbol:
    """What a symbol node carries; two symbols are one node only if all of it is equal.

    `scope` keeps the symbols of two models apart, `origin` says where it was written (file and line, quantity, body).
    `nonzero` lets a rewriting divide by it.
    """

    name: str
    role: str = "input"
    scope: str = ""
    unit: str = ""
    origin: str = ""
    default: float | None = None
    nonzero: bool = False


@dataclass(frozen=True, slots=True)
class Alias:
    """Name of a masked component and the stage at which it was named."""

    name: str
    stage: int = 0


@dataclass(frozen=True, slots=True)
class Check:
    """What must hold where a block has ended: |value| <= limit ("below"), or |value| > limit ("above").

    value and limit are two arguments of the block. NaN holds nowhere. words: what it means where it does not hold.
    """

    kind: str
    words: str


@dataclass(frozen=True, slots=True)
class SolveInfo:
    """An implicit block: its unknowns are symbols of role `unknown` that occur in no other block's scope.

    One without unknowns iterates nothing: it is its checks, and what is read at it counts only if they hold.
    """

    name: str
    unknowns: tuple[Node, ...]
    tolerance: float = 1e-12
    max_iterations: int = 25
    pivots: Pivots | None = None  # of the LU in Newton's step, (row, column) pairs; None: chosen by structure
    remedy: str = ""  # sentences on what may be wrong, and what to do, where no solution is found
    checks: tuple[Check, ...] = ()  # each has two arguments after the steps: value, limit


# An unknown counts with at most REACH * (1 + |guess|) where Newton's steps are measured against it.
REACH = 1e6


class Node:
    """A value of one Graph. Made by operators and functions, never directly."""

    __slots__ = ("args", "data", "flags", "graph", "id", "minus", "op")

    op: str
    args: tuple[Node, ...]
    data: Any
    graph: Graph
    id: int
    flags: int  # rate bits, and BOUND
    minus: Node | None  # the node of -self, once it was asked for

    def __init__(self, graph: Graph, op: str, args: tuple[Node, ...], data: Any, flags: int) -> None:
        self.graph = graph
        self.op = op
        self.args = args
        self.data = data
        self.flags = flags
        self.id = graph.size
        graph.size += 1
        self.minus = None

    # -- arithmetic: numbers become constants, arrays are left to NumPy

    def __add__(self, other: Any) -> Node:
        if other.__class__ is not Node:
            other = coerce(self.graph, other)
            if other is None:
                return NotImplemented
        return add(self, other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Node:
        if other.__class__ is not Node:
            other = coerce(self.graph, other)
            if other is None:
                return NotImplemented
        return add(self, negate(other))

    def __rsub__(self, other: Any) -> Node:
        other = coerce(self.graph, other)
        if other is None:
            return NotImplemented
        return add(other, negate(self))

    def __mul__(self, other: Any) -> Node:
        kind = other.__class__
        if kind is not Node:
            if kind is int or (kind is float and not self.graph.exact):
                return scale(other, self)
            other = coerce(self.graph, other)
            if other is None:
                return NotImplemented
        return mul(self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Node:
        if other.__class__ is not Node:
            other = coerce(self.graph, other)
            if other is None:
                return NotImplemented
        return divide(self, other)

    def __rtruediv__(self, other: Any) -> Node:
        other = coerce(self.graph, other)
        if other is None:
            return NotImplemented
        return divide(other, self)

    def __pow__(self, other: Any) -> Node:
        if other.__class__ is not Node:
            other = coerce(self.graph, other)
            if other is None:
                return NotImplemented
        return raise_to(self, other)

    def __rpow__(self, other: Any) -> Node:
        other = coerce(self.graph, other)
        if other is None:
            return NotImplemented
        return raise_to(other, self)

    def __mod__(self, other: Any) -> Node:
        return call("mod", self, other)

    def __neg__(self) -> Node:
        return negate(self)

    def __pos__(self) -> Node:
        return self

    def __abs__(self) -> Node:
        return call("abs", self)

    # -- comparisons make nodes; == stays identity, so that nodes are keys of dictionaries

    def __lt__(self, other: Any) -> Node:
        return call("lt", self, other)

    def __le__(self, other: Any) -> Node:
        return call("le", self, other)

    def __gt__(self, other: Any) -> Node:
        return call("lt", other, self)

    def __ge__(self, other: Any) -> Node:
        return call("le", other, self)

    def __and__(self, other: Any) -> Node:
        return call("and", self, other)

    def __or__(self, other: Any) -> Node:
        return call("or", self, other)

    def __invert__(self) -> Node:
        return call("not", self)

    def __bool__(self) -> NoReturn:
        raise ExpressionError(
            f"the truth of the expression {self} is not known while it is symbolic. "
            "Use sb.select(condition, a, b) for a choice inside the expression, or `a is b` to compare structure."
        )

    # -- NumPy calls these on arrays of nodes: np.sin(array)

    def sin(self) -> Node:
        return call("sin", self)

    def cos(self) -> Node:
        return call("cos", self)

    def tan(self) -> Node:
        return call("tan", self)

    def sqrt(self) -> Node:
        return call("sqrt", self)

    def exp(self) -> Node:
        return call("exp", self)

    def log(self) -> Node:
        return call("log", self)

    def arctan2(self, other: Any) -> Node:
        return call("atan2", self, other)

    # -- identity, display

    def __copy__(self) -> Node:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Node:
        return self

    def __reduce__(self) -> NoReturn:
        raise ExpressionError("an expression cannot be pickled. Put it into a System and use system.save(path).")

    def __repr__(self) -> str:
        from symbody.expr.text import to_text

        return to_text(self, limit=400)

    def _repr_latex_(self) -> str:
        from symbody.expr.latex import to_latex

        return f"${to_latex(self)}$"

    @property
    def name(self) -> str:
        """Name of a symbol or alias; other nodes have none."""
        if self.op in (SYMBOL, ALIAS):
            return str(self.data.name)
        raise ExpressionError(f"{self} has no name: it is neither a symbol nor a named stage.")

    @property
    def role(self) -> str:
        if self.op is SYMBOL:
            return str(self.data.role)
        raise ExpressionError(f"{self} has no role: it is not a symbol.")


# The constructors need Node and Node's operators need the constructors: the cycle is closed here, and `expr/__init__`
# imports this module first.
from symbody.expr.arithmetic import add, coerce, divide, mul, negate, raise_to, scale  # noqa: E402
from symbody.expr.functions import call  # noqa: E402
