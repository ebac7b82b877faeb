"""Which graphs are legal at a stage. Used in tests and debug mode: a pass that breaks the form is found at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise

from symbody.basics.errors import ExpressionError
from symbody.symbolic.expr.node import ADD, CONST, MUL, POW, SCALE, Node
from symbody.symbolic.expr.walk import topological, uses

Check = Callable[[Node, dict[Node, int]], bool]  # whether the node is legal


@dataclass(frozen=True, slots=True)
class OperationRule:
    """What nodes of one operation must fulfil."""

    name: str
    op: str
    holds: Check


@dataclass(frozen=True, slots=True)
class Stage:
    name: str
    laws: tuple[OperationRule, ...]


def _base(node: Node) -> Node:
    return node.args[0] if node.op is SCALE else node


def _bare_base(node: Node) -> Node:
    """The node without its sign; a coefficient keeps the node apart."""
    return node.args[0] if node.op is SCALE and node.data == -1 else node


def _distinct(nodes: Iterable[Node]) -> bool:
    nodes = list(nodes)
    return len(set(nodes)) == len(nodes)


def _ascending(numbers: Iterable[int]) -> bool:
    return all(a < b for a, b in pairwise(numbers))


CANONICAL = Stage(
    "canonical",
    (
        OperationRule("a sum has two terms or more", ADD, lambda n, u: len(n.args) > 1),
        OperationRule(
            "terms stand in the order of their bases", ADD, lambda n, u: _ascending(_base(a).id for a in n.args)
        ),
        OperationRule("a base occurs once", ADD, lambda n, u: _distinct(_base(a) for a in n.args)),
        OperationRule("the first term is positive", ADD, lambda n, u: n.args[0].op is not SCALE or n.args[0].data > 0),
        OperationRule("a sum holds one number at most", ADD, lambda n, u: sum(a.op is CONST for a in n.args) < 2),
        OperationRule("a product has two factors or more", MUL, lambda n, u: len(n.args) > 1),
        OperationRule("factors stand in order", MUL, lambda n, u: _ascending(a.id for a in n.args)),
        OperationRule(
            "no number is a factor", MUL, lambda n, u: all(a.op is not CONST and a.op is not SCALE for a in n.args)
        ),
        OperationRule("a coefficient does something", SCALE, lambda n, u: n.data not in (0, 1)),
        OperationRule("one coefficient", SCALE, lambda n, u: n.args[0].op is not SCALE and n.args[0].op is not CONST),
        OperationRule("an exponent does something", POW, lambda n, u: n.data not in (0, 1)),
    ),
)

# values of parameters alone are not flattened: they are computed apart
FLAT = Stage(
    "flat",
    (
        *CANONICAL.laws,
        OperationRule(
            "no sum is the term of one sum only",
            ADD,
            lambda n, u: not any(_bare_base(a).op is ADD and a.flags and _single(a, u) for a in n.args),
        ),
        OperationRule(
            "no product is the factor of one product only",
            MUL,
            lambda n, u: not any(a.op is MUL and a.flags and u[a] == 1 for a in n.args),
        ),
    ),
)


def _single(node: Node, counts: dict[Node, int]) -> bool:
    return counts[node] == 1 and counts[_bare_base(node)] == 1


def problems(roots: Iterable[Node], stage: Stage) -> list[str]:
    """One sentence for each node that breaks a law of the stage."""
    roots = list(roots)
    counts = uses(roots)
    laws: dict[str, list[OperationRule]] = {}
    for law in stage.laws:
        laws.setdefault(law.op, []).append(law)
    out = []
    for node in topological(roots):
        for law in laws.get(node.op, ()):
            if not law.holds(node, counts):
                out.append(f"{node!r}: {law.name}")
    return out


def verify(roots: Iterable[Node], stage: Stage) -> None:
    """Raise ExpressionError if a node below the roots is not legal at this stage."""
    found = problems(roots, stage)
    if found:
        raise ExpressionError(f"not a graph of the stage {stage.name!r}: {found[0]} ({len(found)} in all).")
