"""Interned expressions: nodes, their construction, evaluation, derivatives, text."""

from symbody.expr import operators as _operators  # noqa: F401  attaches the operators of Node
from symbody.expr import ops as _ops  # noqa: F401  enters the rows of all functions
