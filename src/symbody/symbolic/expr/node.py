"""Node: the one node type. Structurally equal means identical (`a is b`), because a Graph makes each node once.

Interning (Ershov 1958) makes common subexpressions shared from the start and comparison free.

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

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NoReturn

from symbody.basics.errors import ExpressionError
from symbody.basics.lazy import imported

if TYPE_CHECKING:
    from symbody.symbolic.expr.graph import Graph

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
class BlockCheck:
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
    checks: tuple[BlockCheck, ...] = ()  # each has two arguments after the steps: value, limit
    span: float = math.inf  # an unknown counts with at most this where Newton's steps are measured against it


# ... and with at most REACH * (1 + |guess|)
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

    if TYPE_CHECKING:
        # attached by `symbolic/expr/operators.py`, which imports the constructors: those need Node

        def __add__(self, other: Any) -> Node: ...
        def __radd__(self, other: Any) -> Node: ...
        def __sub__(self, other: Any) -> Node: ...
        def __rsub__(self, other: Any) -> Node: ...
        def __mul__(self, other: Any) -> Node: ...
        def __rmul__(self, other: Any) -> Node: ...
        def __truediv__(self, other: Any) -> Node: ...
        def __rtruediv__(self, other: Any) -> Node: ...
        def __pow__(self, other: Any) -> Node: ...
        def __rpow__(self, other: Any) -> Node: ...
        def __mod__(self, other: Any) -> Node: ...
        def __neg__(self) -> Node: ...
        def __pos__(self) -> Node: ...
        def __abs__(self) -> Node: ...
        def __lt__(self, other: Any) -> Node: ...
        def __le__(self, other: Any) -> Node: ...
        def __gt__(self, other: Any) -> Node: ...
        def __ge__(self, other: Any) -> Node: ...
        def __and__(self, other: Any) -> Node: ...
        def __or__(self, other: Any) -> Node: ...
        def __invert__(self) -> Node: ...
        def _repr_latex_(self) -> str: ...
        def diff(self, *variables: Node) -> Node: ...
        def subs(self, replacement: Any, value: Any = None) -> Node: ...
        def sin(self) -> Node: ...
        def cos(self) -> Node: ...
        def tan(self) -> Node: ...
        def sqrt(self) -> Node: ...
        def exp(self) -> Node: ...
        def log(self) -> Node: ...
        def arctan2(self, other: Any) -> Node: ...

    def _sympy_(self) -> Any:
        """SymPy's functions take expressions: sympy.simplify(node), sympy.latex(node)."""
        return imported("codegen.interop.sympy_bridge", "to_sympy")(self)

    def __bool__(self) -> NoReturn:
        raise ExpressionError(
            f"the truth of the expression {self} is not known while it is symbolic. "
            "Use sb.select(condition, a, b) for a choice inside the expression, or `a is b` to compare structure."
        )

    # -- identity, display

    def __copy__(self) -> Node:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Node:
        return self

    def __reduce__(self) -> NoReturn:
        raise ExpressionError("an expression cannot be pickled. Put it into a System and use system.save(path).")

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
