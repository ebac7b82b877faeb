"""Split long sums and products into nested ones, for compilers and readers that dislike long lines. The cost stays."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from symbody.errors import ExpressionError
from symbody.expr.arithmetic import add_all, multiply_all
from symbody.expr.node import ADD, MUL, POW, Node
from symbody.expr.walk import transform

SHAPES = ("balanced", "chained")

Combine = Callable[[list[Node]], Node]


def split_long(roots: Sequence[Node], limit: int = 20, shape: str = "balanced") -> list[Node]:
    """Nest sums and products of more than `limit` parts. balanced: in halves (symofros 3.3); chained: from the left."""
    if limit < 2 or shape not in SHAPES:
        raise ExpressionError(
            f"split_long was given limit={limit}, shape={shape!r}; expected at least 2 and one of {', '.join(SHAPES)}."
        )

    def change(node: Node, args: tuple[Node, ...]) -> Node | None:
        if len(args) <= limit or (node.op is not ADD and node.op is not MUL):
            return None
        graph = node.graph
        if node.op is ADD:
            return _split(node, args, limit, shape, lambda parts: add_all(parts, graph))
        # divisors stay in the outermost product: two products with divisors would be two divisions
        divisors = [a for a in args if a.op is POW and a.data < 0 and (a.flags or not node.flags)]
        others = [a for a in args if a not in divisors]
        inner = _split(node, others, max(limit - len(divisors), 2), shape, lambda parts: multiply_all(parts, graph))
        return multiply_all([inner, *divisors], graph) if divisors else inner

    return transform(roots, change)


def _split(node: Node, args: Sequence[Node], limit: int, shape: str, combine: Combine) -> Node:
    """The parts nested; values of parameters become one part, since they are computed apart."""
    fixed = [a for a in args if not a.flags]
    parts = list(args)
    if node.flags and len(fixed) > 1:
        parts = [_nest(fixed, limit, shape, combine), *[a for a in args if a.flags]]
    return _nest(parts, limit, shape, combine)


def _nest(parts: list[Node], limit: int, shape: str, combine: Combine) -> Node:
    if shape == "chained":
        while len(parts) > limit:
            parts = [combine(parts[:limit]), *parts[limit:]]
        return combine(parts)
    # halves of halves; the depth is the logarithm of the length
    if len(parts) <= limit:
        return combine(parts)
    middle = len(parts) // 2
    return combine([_nest(parts[:middle], limit, shape, combine), _nest(parts[middle:], limit, shape, combine)])
