"""Interned expressions: nodes, their construction, evaluation, derivatives, text."""

from symbody.expr import node as _node  # noqa: F401  first: it closes the cycle between Node and its constructors
from symbody.expr import ops as _ops  # noqa: F401  enters the rows of all functions
