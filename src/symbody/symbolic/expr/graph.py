"""Graph: the arena in which nodes are interned, and the choice of the Graph that user symbols live in."""

from __future__ import annotations

import gc
import re
import weakref
from collections.abc import Hashable
from contextvars import ContextVar
from dataclasses import fields
from fractions import Fraction
from numbers import Real
from typing import Any, NoReturn

from symbody.basics.arguments import declared
from symbody.basics.errors import ExpressionError, shown
from symbody.symbolic.expr.node import CONST, ROLES, SYMBOL, Node, Number, Symbol

RARELY = 50_000  # new objects between two young collections while a Graph is being built
WAITING = 256  # Graphs beyond twice those in use, at which the collector is asked


DETAILS = tuple(one.name for one in fields(Symbol))[2:]  # name and role are no details
_ARRAYS = 'An array of symbols is np.array(sb.symbols("a1:7")).reshape(2, 3).'


class Graph:
    """Interned nodes. `with Graph():` makes the symbols of its block live apart from all others.

    A node key never mixes 1, 1.0 and True, nor 0.0 and -0.0. Nodes live as long as their Graph; inside the `with`,
    Python's cyclic collector runs less often, since it would visit every node again and again and free none.

    exact: floats that enter expressions become the rational numbers that their text says, and folding stays exact.
    """

    __slots__ = (
        "__weakref__", "adds", "consts", "divided", "evaluations", "exact", "functions", "integers", "muls", "name",
        "one", "others", "pows", "scales", "size", "undivided", "unknowns", "zero",
    )  # fmt: skip

    def __init__(self, name: str = "", exact: bool = False) -> None:
        _alive.add(self)
        self.name = name
        self.exact = exact
        self.size = 0
        self.adds: dict[tuple[Node, ...], Node] = {}
        self.muls: dict[tuple[Node, ...], Node] = {}
        self.pows: dict[tuple[Any, ...], Node] = {}
        self.scales: dict[tuple[Any, ...], Node] = {}
        self.functions: dict[tuple[Any, ...], Node] = {}
        self.others: dict[tuple[Any, ...], Node] = {}
        self.divided: dict[Node, Node] = {}  # the memory of `quotients.with_divisions`,
        self.undivided: dict[Node, Node] = {}  # and of what its results were made, for texts
        self.unknowns: dict[Node, frozenset[Node]] = {}  # the memory of `walk.unknowns_below`
        self.consts: dict[tuple[type, Any], Node] = {}
        self.integers: dict[int, Node] = {}
        self.evaluations: dict[tuple[Node, ...], Any] = {}  # functions of nodes that are asked for with many numbers
        self.zero = self.number(0)
        self.one = self.number(1)

    def number(self, value: Number) -> Node:
        """The constant node of an int, Fraction, float or bool; a Fraction that is whole becomes an int."""
        kind = value.__class__
        if kind is int:
            node = self.integers.get(value)  # type: ignore[arg-type]
            if node is None:
                node = self.integers[value] = Node(self, CONST, (), value, 0)  # type: ignore[index]
            return node
        if kind is Fraction and value.denominator == 1:  # type: ignore[union-attr]
            return self.number(value.numerator)  # type: ignore[union-attr]
        # repr tells 0.0 from -0.0 and makes nan equal to itself
        key = (kind, repr(value) if value == 0 or value != value else value)
        node = self.consts.get(key)
        if node is None:
            node = self.consts[key] = Node(self, CONST, (), value, 0)
        return node

    def symbol(self, name: str, role: str = "input", **details: Any) -> Node:
        """The symbol of this name, role and details (scope, unit, origin, default, nonzero)."""
        if role not in ROLES:
            raise ExpressionError(f"symbol {name!r} has role {role!r}; expected one of {', '.join(ROLES)}.")
        if not isinstance(name, str):
            raise ExpressionError(f"a symbol has the name {name!r}; expected a text.")
        default = details.get("default")
        if not isinstance(default, Real | None):
            raise ExpressionError(f"symbol {name!r} has the default {default!r}; expected a number.")
        try:
            return self.intern(SYMBOL, (), Symbol(name, role, **details), ROLES[role])
        except TypeError:  # an unknown detail, or one that is no key
            wrong = next(n for n, v in details.items() if n not in DETAILS or not isinstance(v, Hashable))
            raise ExpressionError(
                f"symbol {name!r} was given {wrong}={shown(details[wrong])}; expected some of {', '.join(DETAILS)}, as "
                f"texts and numbers. {_ARRAYS}"
            ) from None

    def intern(self, op: str, args: tuple[Node, ...], data: Any, flags: int) -> Node:
        """The node of (op, data, args), made if it is new. Arithmetic and functions have faster tables of their own."""
        key = (op, data, *args)
        node = self.others.get(key)
        if node is None:  # another thread may have made it by now: a symbol must be one node
            node = self.others.setdefault(key, Node(self, op, args, data, flags))
        return node

    def __enter__(self) -> Graph:
        _current.set((*_current.get(), self))
        _collector.enter(self)
        return self

    def __exit__(self, *error: object) -> None:
        entered = _current.get()
        # not always the last one: a generator that has entered may be closed at any time
        at = next((k for k in reversed(range(len(entered))) if entered[k] is self), len(entered))
        _current.set(entered[:at] + entered[at + 1 :])
        _collector.leave()

    def __copy__(self) -> Graph:
        return self  # nodes are themselves in a copy, and they belong to one Graph

    def __deepcopy__(self, memo: dict[int, Any]) -> Graph:
        return self

    def __reduce__(self) -> NoReturn:
        raise ExpressionError("a Graph cannot be pickled. Pickle a System or Mechanism over it, which takes it along.")

    def __len__(self) -> int:
        return self.size

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"Graph({self.name!r}, {self.size} nodes)" if self.name else f"Graph({self.size} nodes)"


class _Collector:
    """How often Python's collector runs: rarely while any thread is inside a Graph, as before when none is any more.

    Without a lock, which a fork could find held by a thread that the child has not: appending and popping are atomic.
    """

    rare = (RARELY, 20, 50)

    def __init__(self) -> None:
        self.inside: list[Graph] = []
        self.before = gc.get_threshold()

    def enter(self, graph: Graph) -> None:
        now = gc.get_threshold()
        if 0 < now[0] < RARELY:
            self.before = now
            gc.set_threshold(*self.rare)
        self.inside.append(graph)

    def leave(self) -> None:
        self.inside.pop()
        if not self.inside and gc.get_threshold()[0] == RARELY:  # Python 3.14 does not tell the others again
            gc.set_threshold(*self.before)


class _Alive:
    """All Graphs of the process. Those that nobody can reach any more are freed before they are too many.

    A Graph and its nodes hold each other, so that they wait for Python's cyclic collector. It cannot look into NumPy's
    arrays of nodes: it takes a Graph for one in use until the record with such arrays is gone, and counts it among the
    oldest objects by then, to which it comes rarely. Left alone, hundreds of Graphs wait, at times more than ever.
    """

    def __init__(self) -> None:
        self.known: weakref.WeakSet[Graph] = weakref.WeakSet()
        self.most = WAITING

    def add(self, graph: Graph) -> None:
        """Note a new Graph. As many as are in use may wait, so that sweeps stay rare where thousands are in use."""
        if len(self.known) >= self.most and gc.isenabled():
            gc.collect()  # the records
            gc.collect()  # the Graphs that their arrays held
            self.most = 2 * len(self.known) + WAITING
        self.known.add(graph)


_alive = _Alive()
_collector = _Collector()
_current: ContextVar[tuple[Graph, ...]] = ContextVar("symbody_graph", default=())  # those entered, innermost last
_default: list[Graph] = []


def forget_evaluations() -> None:
    """Functions made of nodes hold the rows of what they call."""
    for graph in list(_alive.known):
        graph.evaluations.clear()


def current_graph() -> Graph:
    """The Graph of the innermost `with Graph():`, else the default one."""
    entered = _current.get()
    if entered:
        return entered[-1]
    if not _default:
        _default.append(Graph("default"))
    return _default[0]


@declared
def symbol(name: str, role: str = "input", **details: Any) -> Node:
    """One symbol in the current Graph."""
    return current_graph().symbol(name, role, **details)


@declared
def symbols(names: str, role: str = "input", **details: Any) -> Any:
    """`symbols("x y z")` gives a list of nodes, one name a single node; `symbols("q1:7")` counts q1 .. q6.

    role: coordinate, velocity, acceleration, input, parameter, time or state.
    """
    graph = current_graph()
    if any(c in names for c in "[](){}"):
        raise ExpressionError(
            f"symbols() was given {shown(names)}; expected names with blanks or commas between. {_ARRAYS} "
            "A name with brackets is one of sb.symbol(...)."
        )
    wanted = [n for part in names.replace(",", " ").split() for n in _count_up(part)]
    if not wanted:
        raise ExpressionError('symbols() was given no name; expected a text such as "x y z".')
    made = [graph.symbol(n, role, **details) for n in wanted]
    return made if len(made) > 1 else made[0]


_COUNT = re.compile("[0-9]{1,6}")


def _count_up(part: str) -> list[str]:
    """`q1:4` -> q1 q2 q3, as Python ranges count; any other name as it is."""
    if ":" not in part:
        return [part]
    head, _, stop = part.partition(":")
    stem = head.rstrip("0123456789")
    first = head[len(stem) :]
    if not _COUNT.fullmatch(first) or not _COUNT.fullmatch(stop) or not stem:
        raise ExpressionError(f"symbols() cannot count {part[:60]!r}; expected a form such as 'q1:4' for q1, q2, q3.")
    return [f"{stem}{k}" for k in range(int(first), int(stop))]
