"""Interned expressions: nodes, their construction, evaluation, derivatives, text."""

from symbody.expr import node as _node  # noqa: F401  first: it closes the cycle between Node and its constructors
